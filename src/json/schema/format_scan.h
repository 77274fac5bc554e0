/* json/schema/format_scan.h: reading a text from the left, for the format checks. */
#pragma once

#include "base/compiler.h"
#include "base/span.h"

#include <stdbool.h>

TW_INLINE bool scan_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

TW_INLINE bool scan_is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

TW_INLINE bool scan_is_hex(char c)
{
    return scan_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Part of a multi-byte character: the text is known to be valid UTF-8. */
TW_INLINE bool scan_is_wide(char c)
{
    return (unsigned char)c >= 0x80;
}

/* Is c, which may be NUL, one of the characters of set? */
TW_INLINE bool scan_is_in(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

TW_INLINE bool scan_at(Span s, char c)
{
    return s.n > 0 && s.p[0] == c;
}

TW_INLINE Span scan_skip(Span s, size_t n)
{
    return span_make(s.p + n, s.n - n);
}

/* Takes c if it is next. */
TW_INLINE bool scan_take(Span *s, char c)
{
    if (!scan_at(*s, c)) {
        return false;
    }
    *s = scan_skip(*s, 1);
    return true;
}

/* How many digits come next. */
TW_INLINE size_t scan_digits(Span s)
{
    size_t n = 0;

    while (n < s.n && scan_is_digit(s.p[n])) {
        n++;
    }
    return n;
}

/* Takes exactly n digits (n <= 9) as a number. */
TW_INLINE bool scan_number(Span *s, size_t n, int *ret)
{
    int value = 0;

    if (s->n < n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!scan_is_digit(s->p[i])) {
            return false;
        }
        value = value * 10 + (s->p[i] - '0');
    }
    *s = scan_skip(*s, n);
    *ret = value;
    return true;
}

/* "%41" */
TW_INLINE bool scan_is_percent(Span s)
{
    return s.n > 2 && s.p[0] == '%' && scan_is_hex(s.p[1]) && scan_is_hex(s.p[2]);
}
