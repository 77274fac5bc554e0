#include "support/cmocka.h"

#include "base/span.h"

static void literal_and_string_have_their_length(void **state)
{
    (void)state;
    assert_int_equal(SPAN("abc").n, 3);
    assert_int_equal(SPAN("a\0c").n, 3);
    assert_int_equal(SPAN("").n, 0);
    assert_int_equal(span_from_str("abc").n, 3);
    assert_int_equal(span_make("abc", 2).n, 2);
}

static void equality_compares_all_bytes(void **state)
{
    (void)state;
    assert_true(span_equals(SPAN("a\0b"), SPAN("a\0b")));
    assert_false(span_equals(SPAN("a\0b"), SPAN("a\0c")));
    assert_false(span_equals(SPAN("ab"), SPAN("abc")));
    assert_false(span_equals(SPAN("ab"), SPAN("AB")));
    assert_true(span_equals(SPAN_NULL, SPAN("")));
}

static void prefix_and_suffix(void **state)
{
    (void)state;
    assert_true(span_starts_with(SPAN("tools/call"), SPAN("tools/")));
    assert_true(span_starts_with(SPAN("abc"), SPAN("abc")));
    assert_true(span_starts_with(SPAN("abc"), SPAN_NULL));
    assert_true(span_starts_with(SPAN_NULL, SPAN_NULL));
    assert_false(span_starts_with(SPAN("ab"), SPAN("abc")));
    assert_false(span_starts_with(SPAN("xabc"), SPAN("abc")));
    assert_true(span_ends_with(SPAN("file.json"), SPAN(".json")));
    assert_true(span_ends_with(SPAN("abc"), SPAN("abc")));
    assert_true(span_ends_with(SPAN("abc"), SPAN_NULL));
    assert_false(span_ends_with(SPAN("bc"), SPAN("abc")));
    assert_false(span_ends_with(SPAN("abcx"), SPAN("abc")));
}

static void order_is_by_unsigned_bytes_and_then_length(void **state)
{
    (void)state;
    assert_int_equal(span_compare(SPAN("abc"), SPAN("abc")), 0);
    assert_int_equal(span_compare(SPAN_NULL, SPAN("")), 0);
    assert_true(span_compare(SPAN("ab"), SPAN("abc")) < 0);
    assert_true(span_compare(SPAN("abc"), SPAN("ab")) > 0);
    assert_true(span_compare(SPAN("b"), SPAN("abc")) > 0);
    assert_true(span_compare(SPAN("\x7F"), SPAN("\x80")) < 0);
    assert_true(span_compare(SPAN_NULL, SPAN("a")) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal_and_string_have_their_length),
        cmocka_unit_test(equality_compares_all_bytes),
        cmocka_unit_test(prefix_and_suffix),
        cmocka_unit_test(order_is_by_unsigned_bytes_and_then_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
