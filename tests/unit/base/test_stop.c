#include "support/cmocka.h"

#include "base/stop.h"

static bool count_asks(const void *context)
{
    size_t *const *n = context;

    (**n)++;
    return false;
}

static void nobody_asks_to_stop(void **state)
{
    size_t next = 0;

    (void)state;
    assert_false(stop_is_asked(STOP_NEVER));
    assert_false(stop_is_asked_at(STOP_NEVER, 0));
    assert_false(stop_is_asked_in(STOP_NEVER, 0, &next));
}

static void flag_asks_as_soon_as_it_is_up(void **state)
{
    atomic_bool flag = false;
    Stop stop = stop_at_flag(&flag);

    (void)state;
    assert_false(stop_is_asked(stop));
    atomic_store(&flag, true);
    assert_true(stop_is_asked(stop));
}

static void loop_asks_at_its_first_step_and_each_thousand(void **state)
{
    size_t n = 0;
    size_t *at = &n;
    Stop stop = {.is_asked = count_asks, .context = &at};

    (void)state;
    assert_false(stop_is_asked_at(stop, 0));
    assert_int_equal(n, 1);
    for (size_t i = 1; i <= 3 * STOP_STEPS; i++) {
        assert_false(stop_is_asked_at(stop, i));
    }
    assert_int_equal(n, 4);
}

/* However long its steps are. */
static void text_asks_at_its_beginning_and_each_64_kilobytes(void **state)
{
    size_t n = 0;
    size_t *counter = &n;
    Stop stop = {.is_asked = count_asks, .context = &counter};
    size_t next = 0;

    (void)state;
    for (size_t at = 0; at < 4 * STOP_BYTES; at += 100) {
        assert_false(stop_is_asked_in(stop, at, &next));
    }
    assert_int_equal(n, 4);
    assert_false(stop_is_asked_in(stop, 100 * STOP_BYTES, &next));
    assert_int_equal(n, 5);
    assert_int_equal(next, 101 * STOP_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_asks_to_stop),
        cmocka_unit_test(flag_asks_as_soon_as_it_is_up),
        cmocka_unit_test(loop_asks_at_its_first_step_and_each_thousand),
        cmocka_unit_test(text_asks_at_its_beginning_and_each_64_kilobytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
