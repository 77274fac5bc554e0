#include "support/cmocka.h"

#include "oauth/scope.h"

static void lists_are_compared_word_by_word(void **state)
{
    (void)state;
    assert_true(oauth_scope_has(SPAN("a bc d"), SPAN("bc")));
    assert_false(oauth_scope_has(SPAN("a bc d"), SPAN("b")));
    assert_false(oauth_scope_has(SPAN_NULL, SPAN("b")));
    assert_true(oauth_scope_covers(SPAN("a b c"), SPAN("c  a")));
    assert_true(oauth_scope_covers(SPAN_NULL, SPAN(" ")));
    assert_false(oauth_scope_covers(SPAN("a b"), SPAN("a c")));
}

static void union_has_each_word_once(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 16);
    assert_int_equal(oauth_scope_add(&out, SPAN("  a b")), 0);
    assert_int_equal(oauth_scope_add(&out, SPAN("b c a c")), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("a b c")));
    assert_int_equal(oauth_scope_add(&out, SPAN("far-too-long-for-it")), BYTES_E_FULL);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_compared_word_by_word),
        cmocka_unit_test(union_has_each_word_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
