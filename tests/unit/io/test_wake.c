#include "io/wake.h"

#include "support/cmocka.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "support/oom_sweep.h"

typedef struct Fixture {
    IoLoop *loop;
    IoWake *wake;
    size_t n_woken;
} Fixture;

static void on_wake(void *context)
{
    Fixture *f = context;

    f->n_woken++;
    io_loop_stop(f->loop);
}

static void fixture_init(Fixture *f)
{
    *f = (Fixture){.n_woken = 0};
    assert_int_equal(io_loop_new(&f->loop), 0);
    assert_int_equal(io_wake_new(&f->wake, f->loop, on_wake, f), 0);
}

static void fixture_deinit(Fixture *f)
{
    f->wake = io_wake_free(f->wake);
    f->loop = io_loop_free(f->loop);
}

static void it_keeps_no_loop_running(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(io_loop_run(f.loop), 0);
    assert_int_equal(f.n_woken, 0);
    fixture_deinit(&f);
}

static void sends_before_the_loop_runs_are_one_wake(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    io_loop_hold(f.loop);
    io_wake_send(f.wake);
    io_wake_send(f.wake);
    assert_int_equal(f.n_woken, 0);
    assert_int_equal(io_loop_run(f.loop), 0);
    assert_int_equal(f.n_woken, 1);
    io_wake_send(f.wake);
    assert_int_equal(io_loop_run(f.loop), 0);
    assert_int_equal(f.n_woken, 2);
    io_loop_release(f.loop);
    fixture_deinit(&f);
}

static void *send_from_thread(void *context)
{
    io_wake_send(context);
    return NULL;
}

static void another_thread_wakes_a_loop_that_waits(void **state)
{
    pthread_t thread;
    Fixture f;

    (void)state;
    fixture_init(&f);
    io_loop_hold(f.loop);
    assert_int_equal(pthread_create(&thread, NULL, send_from_thread, f.wake), 0);
    assert_int_equal(io_loop_run(f.loop), 0);
    assert_int_equal(f.n_woken, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    io_loop_release(f.loop);
    fixture_deinit(&f);
}

/* What the handler wakes. */
static _Atomic(IoWake *) handled;

static void on_signal(int signum)
{
    (void)signum;
    errno = EDOM;
    io_wake_send(atomic_load(&handled));
    if (errno != EDOM) {
        atomic_store(&handled, NULL);
    }
}

static void a_signal_handler_wakes_it_and_errno_stays(void **state)
{
    struct sigaction before;
    Fixture f;

    (void)state;
    fixture_init(&f);
    io_loop_hold(f.loop);
    atomic_store(&handled, f.wake);
    assert_int_equal(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, &before), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(io_loop_run(f.loop), 0);
    assert_int_equal(f.n_woken, 1);
    assert_ptr_equal(atomic_load(&handled), f.wake);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    io_loop_release(f.loop);
    fixture_deinit(&f);
}

static void nothing_comes_after_free(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    io_wake_send(f.wake);
    f.wake = io_wake_free(f.wake);
    assert_int_equal(io_loop_run(f.loop), 0);
    assert_int_equal(f.n_woken, 0);
    assert_null(io_wake_free(NULL));
    fixture_deinit(&f);
}

static int make_one(void *context)
{
    Fixture f = {.n_woken = 0};
    int r = io_loop_new(&f.loop);

    (void)context;
    if (r == 0) {
        r = io_wake_new(&f.wake, f.loop, on_wake, &f);
    }
    fixture_deinit(&f);
    return r;
}

static void failed_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    test_oom_sweep(make_one, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_keeps_no_loop_running),
        cmocka_unit_test(sends_before_the_loop_runs_are_one_wake),
        cmocka_unit_test(another_thread_wakes_a_loop_that_waits),
        cmocka_unit_test(a_signal_handler_wakes_it_and_errno_stays),
        cmocka_unit_test(nothing_comes_after_free),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
