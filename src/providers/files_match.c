/* Lines of a text. */
#include <string.h>

#include "providers/files_impl.h"

static unsigned char match_lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static bool match_is_here(const char *p, Span wanted)
{
    for (size_t i = 0; i < wanted.n; i++) {
        if (match_lower(p[i]) != match_lower(wanted.p[i])) {
            return false;
        }
    }
    return true;
}

/* The next place at or behind `at` where a match may begin: the first byte of wanted, in both of
 * its cases; text.n: nowhere. */
static size_t match_next_start(Span text, size_t at, char first, bool no_case)
{
    unsigned char lower = match_lower(first);
    bool is_letter = no_case && lower >= 'a' && lower <= 'z';

    if (!is_letter) {
        const char *found = at < text.n ? memchr(text.p + at, first, text.n - at) : NULL;

        return found == NULL ? text.n : (size_t)(found - text.p);
    }
    while (at < text.n && match_lower(text.p[at]) != lower) {
        at++;
    }
    return at;
}

/* Where wanted begins at or behind `at`; text.n: nowhere. Time in the product of both at the most,
 * and wanted is short. */
static size_t match_find(Span text, Span wanted, size_t at, bool no_case)
{
    for (;;) {
        at = match_next_start(text, at, wanted.p[0], no_case);
        if (text.n - at < wanted.n) {
            return text.n;
        }
        if (no_case ? match_is_here(text.p + at, wanted)
                    : memcmp(text.p + at, wanted.p, wanted.n) == 0) {
            return at;
        }
        at++;
    }
}

static size_t match_line_end(Span text, size_t at)
{
    const char *end = memchr(text.p + at, '\n', text.n - at);

    return end == NULL ? text.n : (size_t)(end - text.p);
}

/* At most so long, and between characters. */
static Span match_cut(Span line)
{
    if (line.n > 0 && line.p[line.n - 1] == '\r') {
        line.n--;
    }
    if (line.n > FILES_MATCH_BYTES) {
        line.n = FILES_MATCH_BYTES;
        while (line.n > 0 && ((unsigned char)line.p[line.n] & 0xC0u) == 0x80u) {
            line.n--;
        }
    }
    return line;
}

bool files_matcher_next(FilesMatcher *matcher, FilesMatch *ret)
{
    Span text = matcher->text;
    size_t found;
    size_t end;

    if (matcher->wanted.n == 0 || memchr(matcher->wanted.p, '\n', matcher->wanted.n) != NULL) {
        return false;
    }
    found = match_find(text, matcher->wanted, matcher->at, matcher->no_case);
    if (found == text.n) {
        return false;
    }
    /* The line that it is in begins behind the last end before it. */
    for (;;) {
        end = match_line_end(text, matcher->at);
        matcher->line++;
        if (end >= found) {
            break;
        }
        matcher->at = end + 1;
    }
    *ret = (FilesMatch){.line = matcher->line,
                        .text = match_cut(span_make(text.p + matcher->at, end - matcher->at))};
    matcher->at = end < text.n ? end + 1 : text.n;
    return true;
}

Span files_lines(Span text, size_t first, size_t n, size_t *ret_n_all)
{
    size_t begin = text.n;
    size_t end = text.n;
    size_t line = 0;
    size_t at = 0;

    while (at < text.n) {
        size_t next = match_line_end(text, at);

        line++;
        if (line == first) {
            begin = at;
        }
        at = next < text.n ? next + 1 : text.n;
        if (line >= first && line - first + 1 == n) {
            end = at;
        }
    }
    *ret_n_all = line;
    return n == 0 || begin >= end ? span_make(text.p, 0) : span_make(text.p + begin, end - begin);
}
