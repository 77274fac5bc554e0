#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static void assert_content(const Bytes *b, const char *expected)
{
    assert_int_equal(b->n, strlen(expected));
    if (b->n > 0) {
        assert_memory_equal(b->data, expected, b->n);
    }
}

static void appends_in_order(void **state)
{
    Bytes b;

    (void)state;
    bytes_init(&b, 100);
    assert_int_equal(bytes_append(&b, "ab", 2), 0);
    assert_int_equal(bytes_append_span(&b, SPAN("cd")), 0);
    assert_int_equal(bytes_append_byte(&b, 'e'), 0);
    assert_int_equal(bytes_append_format(&b, "-%d-%s", 42, "x"), 0);
    assert_int_equal(bytes_append(&b, NULL, 0), 0);
    assert_content(&b, "abcde-42-x");
    assert_true(span_equals(bytes_span(&b), SPAN("abcde-42-x")));
    bytes_deinit(&b);
}

static void empty_buffer_allocates_nothing(void **state)
{
    Bytes b;

    (void)state;
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    bytes_init(&b, 100);
    assert_int_equal(bytes_append_span(&b, SPAN_NULL), 0);
    bytes_deinit(&b);
    assert_int_equal(alloc_testing()->n_calls, 0);
}

static void append_to_the_maximum_passes_and_one_more_does_not(void **state)
{
    char block[1000];

    (void)state;
    memset(block, 'x', sizeof(block));
    for (size_t max = 0; max <= sizeof(block); max += max < 300 ? 1 : 100) {
        Bytes b;

        bytes_init(&b, max);
        for (size_t i = 0; i < max; i++) {
            assert_int_equal(bytes_append_byte(&b, 'y'), 0);
        }
        assert_int_equal(bytes_append_byte(&b, 'z'), BYTES_E_FULL);
        assert_int_equal(b.n, max);
        assert_true(b.cap <= max);
        bytes_clear(&b);
        assert_int_equal(bytes_append(&b, block, max), 0);
        assert_int_equal(bytes_append(&b, block, 1), BYTES_E_FULL);
        assert_int_equal(bytes_reserve(&b, SIZE_MAX), BYTES_E_FULL);
        assert_int_equal(b.n, max);
        bytes_deinit(&b);
    }
}

static void growth_is_geometric(void **state)
{
    Bytes b;

    (void)state;
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    bytes_init(&b, 1 << 20);
    for (int i = 0; i < 1 << 20; i++) {
        assert_int_equal(bytes_append_byte(&b, (char)i), 0);
    }
    assert_in_range(alloc_testing()->n_calls, 2, 14);
    for (int i = 0; i < 1 << 20; i++) {
        if (b.data[i] != (char)i) {
            fail_msg("byte %d", i);
        }
    }
    bytes_deinit(&b);
}

static void reserve_makes_room_without_changing_the_content(void **state)
{
    Bytes b;
    char *before;

    (void)state;
    bytes_init(&b, 5000);
    assert_int_equal(bytes_append(&b, "abc", 3), 0);
    assert_int_equal(bytes_reserve(&b, 4000), 0);
    assert_true(b.cap >= 4003);
    assert_content(&b, "abc");
    before = b.data;
    assert_int_equal(bytes_reserve(&b, 4000), 0);
    assert_ptr_equal(b.data, before);
    bytes_deinit(&b);
}

static void long_formatted_text_is_appended_whole(void **state)
{
    char expected[2000];
    Bytes b;

    (void)state;
    memset(expected, 'q', sizeof(expected) - 1);
    expected[sizeof(expected) - 1] = '\0';
    for (size_t n = 254; n <= 258; n++) {
        bytes_init(&b, n);
        assert_int_equal(bytes_append_format(&b, "%.*s", (int)n, expected), 0);
        assert_int_equal(b.n, n);
        assert_memory_equal(b.data, expected, n);
        bytes_deinit(&b);
    }
    bytes_init(&b, sizeof(expected));
    assert_int_equal(bytes_append_format(&b, "%s", expected), 0);
    assert_content(&b, expected);
    bytes_deinit(&b);
}

static void formatted_text_over_the_maximum_is_refused_before_it_is_made(void **state)
{
    char text[1000];
    Bytes b;

    (void)state;
    memset(text, 'q', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    bytes_init(&b, 998);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(bytes_append_format(&b, "%s", text), BYTES_E_FULL);
    assert_int_equal(alloc_testing()->n_calls, 0);
    assert_int_equal(b.n, 0);
    bytes_deinit(&b);
}

static void clear_keeps_storage_and_clear_keep_bounds_it(void **state)
{
    Bytes b;

    (void)state;
    bytes_init(&b, 1 << 20);
    assert_int_equal(bytes_reserve(&b, 10000), 0);
    b.n = 10000;
    bytes_clear(&b);
    assert_int_equal(b.n, 0);
    assert_true(b.cap >= 10000);
    bytes_clear_keep(&b, b.cap);
    assert_true(b.cap >= 10000);
    bytes_clear_keep(&b, 9999);
    assert_int_equal(b.cap, 0);
    assert_null(b.data);
    assert_int_equal(bytes_append(&b, "again", 5), 0);
    assert_content(&b, "again");
    bytes_deinit(&b);
}

static void drop_front_moves_the_rest(void **state)
{
    Bytes b;

    (void)state;
    bytes_init(&b, 100);
    assert_int_equal(bytes_append(&b, "abcdef", 6), 0);
    bytes_drop_front(&b, 0);
    assert_content(&b, "abcdef");
    bytes_drop_front(&b, 2);
    assert_content(&b, "cdef");
    bytes_drop_front(&b, 4);
    assert_content(&b, "");
    bytes_deinit(&b);
}

static void deinit_twice_leaves_a_buffer_that_takes_nothing(void **state)
{
    Bytes b;

    (void)state;
    bytes_init(&b, 100);
    assert_int_equal(bytes_append(&b, "x", 1), 0);
    bytes_deinit(&b);
    bytes_deinit(&b);
    assert_int_equal(bytes_append(&b, "x", 1), BYTES_E_FULL);
}

static int oom_scenario(void *context)
{
    char text[400];
    Bytes b;
    int r = 0;

    (void)context;
    memset(text, 'q', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    bytes_init(&b, 1 << 16);
    for (int i = 0; i < 50 && r == 0; i++) {
        size_t before = b.n;

        r = bytes_append_format(&b, "%s", text);
        r = r == 0 ? bytes_append(&b, text, 100) : r;
        if (r != 0) {
            assert_true(b.n == before || b.n == before + 399);
        }
    }
    bytes_deinit(&b);
    return r;
}

static void out_of_memory_leaves_the_content(void **state)
{
    (void)state;
    test_oom_sweep(oom_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_in_order),
        cmocka_unit_test(empty_buffer_allocates_nothing),
        cmocka_unit_test(append_to_the_maximum_passes_and_one_more_does_not),
        cmocka_unit_test(growth_is_geometric),
        cmocka_unit_test(reserve_makes_room_without_changing_the_content),
        cmocka_unit_test(long_formatted_text_is_appended_whole),
        cmocka_unit_test(formatted_text_over_the_maximum_is_refused_before_it_is_made),
        cmocka_unit_test(clear_keeps_storage_and_clear_keep_bounds_it),
        cmocka_unit_test(drop_front_moves_the_rest),
        cmocka_unit_test(deinit_twice_leaves_a_buffer_that_takes_nothing),
        cmocka_unit_test(out_of_memory_leaves_the_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
