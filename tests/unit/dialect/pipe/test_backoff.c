#include "dialect/pipe/backoff.h"

#include "support/cmocka.h"

#include "base/compiler.h"

#include <stddef.h>

static void attempts_come_after_1_2_4_8_16_30_30_seconds(void **state)
{
    static const int64_t expected[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};
    PipeBackoff b;

    (void)state;
    pipe_backoff_init(&b, 0, 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(expected); i++) {
        assert_int_equal(pipe_backoff_next(&b), expected[i]);
    }
}

static void a_success_begins_again(void **state)
{
    PipeBackoff b;

    (void)state;
    pipe_backoff_init(&b, 0, 0);
    for (int i = 0; i < 7; i++) {
        (void)pipe_backoff_next(&b);
    }
    pipe_backoff_reset(&b);
    assert_int_equal(pipe_backoff_next(&b), 1000);
    assert_int_equal(pipe_backoff_next(&b), 2000);
}

static void both_ends_can_be_set(void **state)
{
    PipeBackoff b;

    (void)state;
    pipe_backoff_init(&b, 5, 12);
    assert_int_equal(pipe_backoff_next(&b), 5);
    assert_int_equal(pipe_backoff_next(&b), 10);
    assert_int_equal(pipe_backoff_next(&b), 12);
    assert_int_equal(pipe_backoff_next(&b), 12);
    /* The maximum holds from the beginning. */
    pipe_backoff_init(&b, 50, 12);
    assert_int_equal(pipe_backoff_next(&b), 12);
}

static void it_does_not_overflow(void **state)
{
    PipeBackoff b;

    (void)state;
    pipe_backoff_init(&b, INT64_MAX / 2 + 1, INT64_MAX);
    assert_int_equal(pipe_backoff_next(&b), INT64_MAX / 2 + 1);
    assert_int_equal(pipe_backoff_next(&b), INT64_MAX);
    assert_int_equal(pipe_backoff_next(&b), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_come_after_1_2_4_8_16_30_30_seconds),
        cmocka_unit_test(a_success_begins_again),
        cmocka_unit_test(both_ends_can_be_set),
        cmocka_unit_test(it_does_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
