/* A comparison of spans that shows both. */
#pragma once

#include "support/cmocka.h"

#include "base/span.h"

static inline void assert_span(Span actual, const char *expected)
{
    if (!span_equals(actual, span_from_str(expected))) {
        print_error("expected %s\n     got %.*s\n", expected, (int)actual.n, actual.p);
        fail();
    }
}
