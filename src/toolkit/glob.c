/* Patterns that people write; declared in toolkit/glob.h.
 *
 * Alternatives nest and multiply, so nothing is tried one after the other: all places of the
 * pattern where matching may stand are followed at once, through the text, one character at a time.
 * A place is a byte of the pattern; its end is one, too. */
#include "toolkit/glob.h"

#include <stdint.h>

#include "toolkit/glob_class.h"

#define GLOB_NONE UINT16_MAX

/* What a byte of the pattern is. */
typedef enum GlobByte {
    GLOB_PLAIN,     /* a character, or the beginning of a bracket expression or an escape */
    GLOB_OPEN,      /* '{' of a brace that has its end */
    GLOB_COMMA,     /* between the alternatives of one */
    GLOB_CLOSE,     /* and its end */
    GLOB_STAR,      /* the first of some: any characters but slashes */
    GLOB_FAR,       /* '**': any characters */
    GLOB_FAR_SLASH, /* '**' and a slash: nothing, or any characters and a slash */
} GlobByte;

typedef struct GlobSet {
    bool has[TOOLKIT_GLOB_MAX + 1];
    uint16_t places[TOOLKIT_GLOB_MAX + 1];
    size_t n;
} GlobSet;

typedef struct Glob {
    Span pattern;
    uint8_t bytes[TOOLKIT_GLOB_MAX]; /* GlobByte */
    /* OPEN, COMMA: the next COMMA, or the CLOSE. */
    uint16_t next[TOOLKIT_GLOB_MAX];
    /* COMMA: the CLOSE; stars: behind them, and behind the slash of FAR_SLASH. */
    uint16_t end[TOOLKIT_GLOB_MAX];
    /* COMMA: the OPEN. */
    uint16_t begin[TOOLKIT_GLOB_MAX];
    GlobSet sets[2];
    GlobSet *now;
    GlobSet *then;
    uint16_t work[TOOLKIT_GLOB_MAX + 1];
} Glob;

/* ---- the pattern ---- */

/* What follows the bracket expression, escaped or plain character at `at`. */
static size_t glob_element_end(Span pattern, size_t at)
{
    size_t end = at + 1;

    if (pattern.p[at] == '[') {
        (void)glob_class_has(pattern, at, 'x', false, &end);
    } else if (pattern.p[at] == '\\') {
        end++;
    }
    return end < pattern.n ? end : pattern.n;
}

/* A brace has its end: from the last comma back to its beginning, which each has in next. */
static void glob_close_brace(Glob *glob, uint16_t last, uint16_t close)
{
    uint16_t later = close;
    uint16_t place = last;

    glob->bytes[close] = GLOB_CLOSE;
    while (place != GLOB_NONE) {
        uint16_t before = glob->next[place];

        glob->bytes[place] = before == GLOB_NONE ? GLOB_OPEN : GLOB_COMMA;
        glob->end[place] = close;
        glob->next[place] = later;
        later = place;
        place = before;
    }
    for (place = glob->next[later]; place != close; place = glob->next[place]) {
        glob->begin[place] = later;
    }
}

static void glob_read_braces(Glob *glob)
{
    Span pattern = glob->pattern;
    uint16_t *open = glob->work; /* the last '{' or ',' of each brace that is open */
    size_t depth = 0;

    memset(glob->bytes, GLOB_PLAIN, pattern.n);
    memset(glob->end, 0, pattern.n * sizeof(glob->end[0]));
    memset(glob->next, 0, pattern.n * sizeof(glob->next[0]));
    for (size_t at = 0; at < pattern.n; at = glob_element_end(pattern, at)) {
        char c = pattern.p[at];

        if (c == '{') {
            glob->next[at] = GLOB_NONE;
            open[depth++] = (uint16_t)at;
        } else if (c == ',' && depth > 0) {
            glob->next[at] = open[depth - 1];
            open[depth - 1] = (uint16_t)at;
        } else if (c == '}' && depth > 0) {
            depth--;
            glob_close_brace(glob, open[depth], (uint16_t)at);
        }
    }
}

/* Does a name begin here: at the pattern's beginning, behind a slash, or as an alternative where
 * one does? */
static bool glob_begins_name(const Glob *glob, size_t at)
{
    while (at > 0 && (glob->bytes[at - 1] == GLOB_OPEN || glob->bytes[at - 1] == GLOB_COMMA)) {
        at = glob->bytes[at - 1] == GLOB_OPEN ? at - 1 : glob->begin[at - 1];
    }
    return at == 0 || glob->pattern.p[at - 1] == '/';
}

/* Stars, after the braces. */
static void glob_read_stars(Glob *glob)
{
    Span pattern = glob->pattern;
    size_t at = 0;

    while (at < pattern.n) {
        size_t end = at;
        bool is_far;

        while (end < pattern.n && pattern.p[end] == '*') {
            end++;
        }
        if (end == at) {
            at = glob_element_end(pattern, at);
            continue;
        }
        is_far = end - at > 1 && glob_begins_name(glob, at);
        if (is_far && end < pattern.n && pattern.p[end] == '/') {
            glob->bytes[at] = GLOB_FAR_SLASH;
            end++;
        } else if (is_far && (end == pattern.n || glob->bytes[end] == GLOB_COMMA ||
                              glob->bytes[end] == GLOB_CLOSE)) {
            glob->bytes[at] = GLOB_FAR;
        } else {
            glob->bytes[at] = GLOB_STAR;
        }
        glob->end[at] = (uint16_t)end;
        at = end;
    }
}

/* Without what only says that it begins at the project's folder; true: there was such a thing. */
static bool glob_skip_root(Span *pattern)
{
    const char *begin = pattern->p;

    while (span_starts_with(*pattern, SPAN("./"))) {
        *pattern = span_make(pattern->p + 2, pattern->n - 2);
    }
    if (span_starts_with(*pattern, SPAN("/"))) {
        *pattern = span_make(pattern->p + 1, pattern->n - 1);
    }
    return pattern->p != begin;
}

/* One element, for toolkit_glob_fault. */
static const char *glob_element_fault(Span pattern, size_t at, size_t *depth)
{
    switch (pattern.p[at]) {
    case '[':
        return glob_class_is_whole(pattern, at) ? NULL
                                                : "a bracket has no end, or an unknown kind in it";
    case '\\':
        return at + 1 < pattern.n ? NULL : "it ends in a backslash";
    case '{':
        (*depth)++;
        return NULL;
    case '}':
        *depth -= *depth > 0; /* without a beginning it is a character */
        return NULL;
    default:
        return NULL;
    }
}

const char *toolkit_glob_fault(Span pattern)
{
    const char *fault = NULL;
    size_t depth = 0;

    (void)glob_skip_root(&pattern);
    if (pattern.n == 0 || span_equals(pattern, SPAN("/"))) {
        return "it is empty";
    }
    if (pattern.n > TOOLKIT_GLOB_MAX) {
        return "it is longer than 1024 bytes";
    }
    for (size_t at = 0; fault == NULL && at < pattern.n; at = glob_element_end(pattern, at)) {
        fault = glob_element_fault(pattern, at, &depth);
    }
    return fault == NULL && depth > 0 ? "a brace has no end" : fault;
}

static void glob_read(Glob *glob, Span pattern)
{
    glob->pattern = pattern;
    for (size_t i = 0; i < 2; i++) {
        memset(glob->sets[i].has, 0, pattern.n + 1);
        glob->sets[i].n = 0;
    }
    glob->now = &glob->sets[0];
    glob->then = &glob->sets[1];
    glob_read_braces(glob);
    glob_read_stars(glob);
}

/* ---- matching ---- */

static bool glob_mark(GlobSet *set, size_t place)
{
    if (set->has[place]) {
        return false;
    }
    set->has[place] = true;
    set->places[set->n++] = (uint16_t)place;
    return true;
}

static void glob_clear(GlobSet *set)
{
    while (set->n > 0) {
        set->has[set->places[--set->n]] = false;
    }
}

/* The place that is reached from one without a character of the text; itself if none is, or many
 * are (OPEN). */
static size_t glob_onward(const Glob *glob, size_t place)
{
    switch (glob->bytes[place]) {
    case GLOB_COMMA: /* an alternative is over */
        return (size_t)glob->end[place] + 1;
    case GLOB_CLOSE:
        return place + 1;
    case GLOB_STAR:
    case GLOB_FAR:
    case GLOB_FAR_SLASH:
        return glob->end[place];
    default:
        return place;
    }
}

/* Adds a place and all that are reached from it without a character. */
static void glob_add(Glob *glob, GlobSet *set, size_t place)
{
    uint16_t *work = glob->work;
    size_t n = 0;

    if (glob_mark(set, place)) {
        work[n++] = (uint16_t)place;
    }
    while (n > 0) {
        size_t from = work[--n];
        size_t to;

        if (from == glob->pattern.n) {
            continue;
        }
        to = glob_onward(glob, from);
        if (to != from && glob_mark(set, to)) {
            work[n++] = (uint16_t)to;
        }
        for (to = from; glob->bytes[from] == GLOB_OPEN && to != glob->end[from];
             to = glob->next[to]) {
            if (glob_mark(set, to + 1)) {
                work[n++] = (uint16_t)(to + 1);
            }
        }
    }
}

/* Whether c is what the pattern says at a PLAIN place; *ret_end: where it goes on. */
static bool glob_fits(Span pattern, size_t place, char c, size_t *ret_end)
{
    *ret_end = place + 1;
    switch (pattern.p[place]) {
    case '?':
        return c != '/';
    case '[':
        return c != '/' && glob_class_has(pattern, place, (unsigned char)c, false, ret_end);
    case '\\':
        *ret_end = place + 2;
        return place + 1 < pattern.n && pattern.p[place + 1] == c;
    default:
        return pattern.p[place] == c;
    }
}

/* Where a place leads to by the character c. */
static void glob_step(Glob *glob, size_t place, char c)
{
    size_t end;

    if (place == glob->pattern.n) {
        return;
    }
    switch (glob->bytes[place]) {
    case GLOB_PLAIN:
        if (glob_fits(glob->pattern, place, c, &end)) {
            glob_add(glob, glob->then, end);
        }
        return;
    case GLOB_STAR:
        if (c != '/') {
            glob_add(glob, glob->then, place);
        }
        return;
    case GLOB_FAR:
        glob_add(glob, glob->then, place);
        return;
    case GLOB_FAR_SLASH:
        /* It stays, and goes on behind a slash only. */
        (void)glob_mark(glob->then, place);
        if (c == '/') {
            glob_add(glob, glob->then, glob->end[place]);
        }
        return;
    default:
        return; /* braces and their commas stand for no character */
    }
}

/* What must follow in the text where the pattern ends. */
typedef enum GlobEnd {
    GLOB_END,            /* nothing */
    GLOB_END_OR_BENEATH, /* nothing or a slash */
    GLOB_BENEATH,        /* a slash */
} GlobEnd;

static bool glob_ends(const Glob *glob, Span text, size_t at, GlobEnd end)
{
    if (!glob->now->has[glob->pattern.n]) {
        return false;
    }
    return at == text.n ? end != GLOB_BENEATH : end != GLOB_END && text.p[at] == '/';
}

/* From the beginning of the text to its end, or a slash in it. */
static bool glob_run(Glob *glob, Span text, GlobEnd end)
{
    glob_clear(glob->now);
    glob_add(glob, glob->now, 0);
    for (size_t at = 0; glob->now->n > 0; at++) {
        GlobSet *then = glob->then;

        if (glob_ends(glob, text, at, end)) {
            return true;
        }
        if (at == text.n) {
            return false;
        }
        glob_clear(then);
        for (size_t i = 0; i < glob->now->n; i++) {
            glob_step(glob, glob->now->places[i], text.p[at]);
        }
        glob->then = glob->now;
        glob->now = then;
    }
    return false;
}

/* Each name on the way, and the last, which is a file's. */
static bool glob_run_names(Glob *glob, Span path, bool for_folder)
{
    size_t begin = 0;

    for (size_t at = 0; at <= path.n; at++) {
        if (at < path.n && path.p[at] != '/') {
            continue;
        }
        if ((at < path.n || !for_folder) &&
            glob_run(glob, span_make(path.p + begin, at - begin), GLOB_END)) {
            return true;
        }
        begin = at + 1;
    }
    return false;
}

bool toolkit_glob_matches(Span pattern, Span path)
{
    bool for_folder = false;
    bool for_name = !glob_skip_root(&pattern);
    Glob glob;

    if (span_ends_with(pattern, SPAN("/"))) {
        pattern.n--;
        for_folder = true;
    }
    if (pattern.n == 0 || pattern.n > TOOLKIT_GLOB_MAX) {
        return false;
    }
    for_name = for_name && memchr(pattern.p, '/', pattern.n) == NULL;
    glob_read(&glob, pattern);
    if (for_name) {
        return glob_run_names(&glob, path, for_folder);
    }
    return glob_run(&glob, path, for_folder ? GLOB_BENEATH : GLOB_END_OR_BENEATH);
}
