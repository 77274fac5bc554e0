#include "io/work.h"

#include "support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define FAN_MAX 16

typedef struct Fan {
    atomic_size_t n_calls;
    atomic_size_t n_arrived;
    size_t n_awaited; /* each call waits until so many are there */
    atomic_bool seen[FAN_MAX];
    pthread_t threads[FAN_MAX];
} Fan;

static void on_fan(void *context, size_t i)
{
    Fan *fan = context;

    atomic_fetch_add(&fan->n_arrived, 1);
    while (atomic_load(&fan->n_arrived) < fan->n_awaited) {
    }
    assert_true(i < FAN_MAX);
    assert_false(atomic_exchange(&fan->seen[i], true));
    fan->threads[i] = pthread_self();
    atomic_fetch_add(&fan->n_calls, 1);
}

static void all_calls_are_made_at_once_and_are_over_at_return(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 4; n++) {
        Fan fan = {.n_awaited = n};

        io_work_fan(n, on_fan, &fan);
        assert_int_equal(atomic_load(&fan.n_calls), n);
        if (n > 0) {
            assert_true(pthread_equal(fan.threads[n - 1], pthread_self()));
        }
        if (n > 1) {
            assert_false(pthread_equal(fan.threads[0], pthread_self()));
        }
    }
    assert_int_equal(alloc_testing()->n_live, 0);
}

static void without_memory_the_calls_come_one_after_the_other(void **state)
{
    Fan fan = {.n_awaited = 1};

    (void)state;
    alloc_testing_reset(0);
    io_work_fan(3, on_fan, &fan);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(atomic_load(&fan.n_calls), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(pthread_equal(fan.threads[i], pthread_self()));
    }
}

static void there_is_a_core(void **state)
{
    (void)state;
    assert_true(io_work_cores() >= 1);
    assert_true(io_work_cores() < 100000);
}

typedef struct One {
    pthread_t worked_on;
    pthread_t done_on;
    int n_worked;
    int n_done;
    IoLoop *loop;
    bool is_again;
} One;

static void on_work(void *context)
{
    One *one = context;

    one->worked_on = pthread_self();
    one->n_worked++;
}

static void on_done(void *context)
{
    One *one = context;

    assert_int_equal(one->n_worked, one->n_done + 1);
    one->done_on = pthread_self();
    one->n_done++;
    if (one->is_again) {
        one->is_again = false;
        assert_int_equal(io_work_start(one->loop, on_work, on_done, one), 0);
    }
}

static void the_loop_waits_for_work_and_hears_of_its_end(void **state)
{
    One one = {.is_again = true};

    (void)state;
    assert_int_equal(io_loop_new(&one.loop), 0);
    assert_int_equal(io_work_start(one.loop, on_work, on_done, &one), 0);
    assert_int_equal(one.n_done, 0);
    assert_int_equal(io_loop_run(one.loop), 0);
    assert_int_equal(one.n_worked, 2);
    assert_int_equal(one.n_done, 2);
    assert_false(pthread_equal(one.worked_on, pthread_self()));
    assert_true(pthread_equal(one.done_on, pthread_self()));
    (void)io_loop_free(one.loop);
    assert_int_equal(alloc_testing()->n_live, 0);
}

static void a_loop_that_is_freed_waits_for_its_work(void **state)
{
    One one = {.n_done = 0};

    (void)state;
    assert_int_equal(io_loop_new(&one.loop), 0);
    assert_int_equal(io_work_start(one.loop, on_work, on_done, &one), 0);
    (void)io_loop_free(one.loop);
    assert_int_equal(one.n_done, 1);
    assert_int_equal(alloc_testing()->n_live, 0);
}

static int sweep(void *context)
{
    One one = {.n_done = 0};
    int r;

    one.loop = context;
    r = io_work_start(one.loop, on_work, on_done, &one);
    assert_int_equal(io_loop_run(one.loop), 0);
    assert_int_equal(one.n_done, r == 0 ? 1 : 0);
    return r;
}

static void without_memory_no_work_is_begun(void **state)
{
    IoLoop *loop = NULL;

    (void)state;
    assert_int_equal(io_loop_new(&loop), 0);
    test_oom_sweep(sweep, loop);
    (void)io_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_calls_are_made_at_once_and_are_over_at_return),
        cmocka_unit_test(without_memory_the_calls_come_one_after_the_other),
        cmocka_unit_test(there_is_a_core),
        cmocka_unit_test(the_loop_waits_for_work_and_hears_of_its_end),
        cmocka_unit_test(a_loop_that_is_freed_waits_for_its_work),
        cmocka_unit_test(without_memory_no_work_is_begun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
