/* git's patterns; declared in toolkit/glob.h.
 *
 * A '*' that does not fit takes one character more; when it would pass a slash, the last '**' takes
 * one name more. Never is an earlier one tried again: what comes before the last '*' of a name, or
 * before the last '**', has been matched as early as it can be, and a later place leaves less text
 * for the rest. So each part of the pattern meets each part of the text once. */
#include "toolkit/glob.h"

#include "toolkit/glob_class.h"

/* No place to go back to. */
#define WILD_NONE ((size_t)-1)

typedef struct Wild {
    Span pattern;
    Span text;
    size_t at;   /* in the pattern */
    size_t seen; /* in the text */
    bool no_case;
    size_t star; /* behind the last '*' of this name */
    size_t star_seen;
    size_t far_star; /* behind the last '**' and its slash */
    size_t far_seen;
} Wild;

static unsigned char wild_small(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c - 'A' + 'a') : c;
}

static bool wild_pattern_is(const Wild *wild, size_t at, char c)
{
    return at < wild->pattern.n && wild->pattern.p[at] == c;
}

/* The next names begin behind the next slash. False if there is none. */
static bool wild_far_step(Wild *wild)
{
    Span text = wild->text;
    const char *slash = wild->far_seen < text.n
                            ? memchr(text.p + wild->far_seen, '/', text.n - wild->far_seen)
                            : NULL;

    if (slash == NULL) {
        return false;
    }
    wild->far_seen = (size_t)(slash - text.p) + 1;
    wild->seen = wild->far_seen;
    wild->at = wild->far_star;
    wild->star = WILD_NONE;
    return true;
}

/* At a '*'. False if the whole cannot match any more; *ret_done: it does. */
static bool wild_open_star(Wild *wild, bool *ret_done)
{
    size_t begin = wild->at;
    size_t end = begin;
    bool is_far;

    while (wild_pattern_is(wild, end, '*')) {
        end++;
    }
    is_far = end - begin > 1 && (begin == 0 || wild->pattern.p[begin - 1] == '/') &&
             (end == wild->pattern.n || wild_pattern_is(wild, end, '/') ||
              (wild_pattern_is(wild, end, '\\') && wild_pattern_is(wild, end + 1, '/')));
    if (!is_far) {
        wild->star = end;
        wild->star_seen = wild->seen;
        wild->at = end;
        return true;
    }
    if (end == wild->pattern.n) {
        *ret_done = true;
        return true;
    }
    /* A slash that is escaped must be in the text; the other may be left out with what it ends. */
    wild->far_seen = wild->seen;
    wild->star = WILD_NONE;
    if (wild->pattern.p[end] == '\\') {
        wild->far_star = end + 2;
        return wild_far_step(wild);
    }
    wild->far_star = end + 1;
    wild->at = end + 1;
    return true;
}

/* One character of the text and what the pattern says of it. */
static bool wild_step(Wild *wild)
{
    unsigned char c = (unsigned char)wild->text.p[wild->seen];
    unsigned char said = (unsigned char)wild->pattern.p[wild->at];
    size_t end = wild->at + 1;
    bool fits;

    if (wild->no_case) {
        c = wild_small(c);
        said = wild_small(said);
    }
    switch (said) {
    case '?':
        fits = c != '/';
        break;
    case '[':
        fits = glob_class_has(wild->pattern, wild->at, c, wild->no_case, &end) && c != '/';
        break;
    case '\\':
        fits = end < wild->pattern.n && c == (unsigned char)wild->pattern.p[end];
        end++;
        break;
    default:
        fits = c == said;
        break;
    }
    if (!fits) {
        return false;
    }
    if (c == '/') {
        wild->star = WILD_NONE; /* the name before it is matched */
    }
    wild->at = end;
    wild->seen++;
    return true;
}

/* Lets the last star take more. False if there is none that can. */
static bool wild_go_back(Wild *wild)
{
    if (wild->star != WILD_NONE && wild->star_seen < wild->text.n &&
        wild->text.p[wild->star_seen] != '/') {
        wild->seen = ++wild->star_seen;
        wild->at = wild->star;
        return true;
    }
    return wild->far_star != WILD_NONE && wild_far_step(wild);
}

static bool wild_match(Span pattern, Span text, bool no_case)
{
    Wild wild = {.pattern = pattern,
                 .text = text,
                 .no_case = no_case,
                 .star = WILD_NONE,
                 .far_star = WILD_NONE};
    bool is_done = false;

    while (!is_done) {
        if (wild_pattern_is(&wild, wild.at, '*')) {
            if (!wild_open_star(&wild, &is_done)) {
                return false;
            }
        } else if (wild.at == pattern.n && wild.seen == text.n) {
            is_done = true;
        } else if ((wild.at >= pattern.n || wild.seen == text.n || !wild_step(&wild)) &&
                   !wild_go_back(&wild)) {
            return false;
        }
    }
    return true;
}

bool toolkit_wildmatch(Span pattern, Span text)
{
    return wild_match(pattern, text, false);
}

bool toolkit_wildmatch_nocase(Span pattern, Span text)
{
    return wild_match(pattern, text, true);
}
