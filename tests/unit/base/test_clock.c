#include "support/cmocka.h"

#include <time.h>

#include "base/clock.h"

static void wall_clock_is_the_systems(void **state)
{
    int64_t before = (int64_t)time(NULL);
    int64_t now = clock_now_ms();

    (void)state;
    /* time() may lag by a tick; the machine's clock is not set back in between. */
    assert_true(now >= (before - 1) * 1000);
    assert_true(now <= ((int64_t)time(NULL) + 2) * 1000);
}

static void monotonic_clock_never_goes_back_and_moves(void **state)
{
    uint64_t start = clock_monotonic_ns();
    uint64_t last = start;

    (void)state;
    /* Ends after a millisecond of real time, by the clock under test itself. */
    while (last - start < 1000000) {
        uint64_t now = clock_monotonic_ns();

        assert_true(now >= last);
        last = now;
    }
}

/* It stands while others work, so it may lag behind the time; never is it in front. */
static void thread_clock_counts_this_threads_work(void **state)
{
    uint64_t real = clock_monotonic_ns();
    uint64_t start = clock_thread_ns();
    uint64_t last = start;

    (void)state;
    while (last - start < 1000000) {
        uint64_t now = clock_thread_ns();

        assert_true(now >= last);
        last = now;
    }
    /* Up to the grain of the clocks. */
    assert_true(last - start <= clock_monotonic_ns() - real + 20000000);
}

static void both_units_show_the_same_clock(void **state)
{
    uint64_t before = clock_monotonic_ns() / 1000000;
    int64_t ms = clock_monotonic_ms();
    uint64_t after = clock_monotonic_ns() / 1000000;

    (void)state;
    assert_true((uint64_t)ms >= before);
    assert_true((uint64_t)ms <= after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wall_clock_is_the_systems),
        cmocka_unit_test(monotonic_clock_never_goes_back_and_moves),
        cmocka_unit_test(thread_clock_counts_this_threads_work),
        cmocka_unit_test(both_units_show_the_same_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
