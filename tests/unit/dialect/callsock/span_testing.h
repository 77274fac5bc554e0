/* A comparison of spans that shows both. */
#pragma once

#include "support/cmocka.h"

#include "base/bytes.h"
#include "base/span.h"

static inline void assert_span(Span actual, const char *expected)
{
    if (!span_equals(actual, span_from_str(expected))) {
        print_error("expected %s\n     got %.*s\n", expected, (int)actual.n, actual.p);
        fail();
    }
}

/* The message with its lent part in place is the one that was expected. */
static inline void assert_same_with_lent(Span message, BytesLent lent, Span expected)
{
    assert_int_equal(message.n + lent.span.n, expected.n);
    if (lent.span.p == NULL) {
        assert_memory_equal(message.p, expected.p, expected.n);
        return;
    }
    assert_true(lent.at > 0 && lent.at < message.n);
    assert_memory_equal(message.p, expected.p, lent.at);
    assert_memory_equal(lent.span.p, expected.p + lent.at, lent.span.n);
    assert_memory_equal(message.p + lent.at, expected.p + lent.at + lent.span.n,
                        message.n - lent.at);
}
