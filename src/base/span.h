/* base/span.h: borrowed bytes, a pointer and a length. Not NUL-terminated; owns nothing. Thread:
 * any. */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct Span {
    const char *p;
    size_t n;
} Span;

#define SPAN_NULL ((Span){NULL, 0})

/* A string literal as a Span: SPAN("tools/call"). */
#define SPAN(literal) ((Span){(literal), sizeof(literal) - 1})

/* The same as an initialiser, for constant tables, where C wants no compound literal. */
#define SPAN_INIT(literal)                                                                         \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

TW_INLINE Span span_make(const char *p, size_t n)
{
    return (Span){p, n};
}

/* Borrows the NUL-terminated s (not NULL). */
TW_INLINE Span span_from_str(const char *s)
{
    return (Span){s, strlen(s)};
}

TW_INLINE bool span_equals(Span a, Span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

TW_INLINE bool span_starts_with(Span s, Span prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

TW_INLINE bool span_ends_with(Span s, Span suffix)
{
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + (s.n - suffix.n), suffix.p, suffix.n) == 0);
}

/* Byte order; a prefix sorts before what it begins. < 0, 0, > 0. */
TW_INLINE int span_compare(Span a, Span b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n == 0 ? 0 : memcmp(a.p, b.p, n);

    if (c != 0) {
        return c;
    }
    return a.n < b.n ? -1 : a.n > b.n;
}
