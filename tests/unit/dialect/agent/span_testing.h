/* A span beside the text that it should be. */
#pragma once

#include "support/cmocka.h"

#include <string.h>

#include "base/span.h"

static inline void assert_span(Span span, const char *expected)
{
    if (span.n != strlen(expected) || (span.n > 0 && memcmp(span.p, expected, span.n) != 0)) {
        print_error("expected %s\ngot      %.*s\n", expected, (int)span.n,
                    span.n > 0 ? span.p : "");
        fail();
    }
}
