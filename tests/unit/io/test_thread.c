#include "io/thread.h"

#include "support/cmocka.h"

#include <stdint.h>

typedef struct Fixture {
    IoMutex lock;
    IoCondition condition;
    IoSemaphore there;
    IoSemaphore back;
    IoThread thread;
    size_t n;
    bool is_self;
    bool is_ready;
} Fixture;

static void fixture_init(Fixture *f)
{
    *f = (Fixture){.n = 0};
    assert_int_equal(io_mutex_init(&f->lock), 0);
    assert_int_equal(io_condition_init(&f->condition), 0);
    assert_int_equal(io_semaphore_init(&f->there), 0);
    assert_int_equal(io_semaphore_init(&f->back), 0);
}

static void fixture_deinit(Fixture *f)
{
    io_semaphore_deinit(&f->back);
    io_semaphore_deinit(&f->there);
    io_condition_deinit(&f->condition);
    io_mutex_deinit(&f->lock);
}

#define ROUNDS 10000

static void count_up(void *context)
{
    Fixture *f = context;

    for (int i = 0; i < ROUNDS; i++) {
        io_mutex_lock(&f->lock);
        f->n++;
        io_mutex_unlock(&f->lock);
    }
}

static void one_at_a_time_holds_a_lock(void **state)
{
    IoThread threads[3];
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(io_thread_start(&threads[i], count_up, &f), 0);
    }
    for (int i = 0; i < 3; i++) {
        io_thread_join(&threads[i]);
    }
    assert_int_equal(f.n, 3 * ROUNDS);
    fixture_deinit(&f);
}

static void look_at_self(void *context)
{
    Fixture *f = context;

    io_semaphore_wait(&f->there); /* f->thread is set by then */
    f->is_self = io_thread_is_self(&f->thread);
}

static void a_thread_knows_itself(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(io_thread_start(&f.thread, look_at_self, &f), 0);
    assert_false(io_thread_is_self(&f.thread));
    io_semaphore_post(&f.there);
    io_thread_join(&f.thread);
    assert_true(f.is_self);
    fixture_deinit(&f);
}

static void answer_posts(void *context)
{
    Fixture *f = context;

    for (int i = 0; i < 100; i++) {
        io_semaphore_wait(&f->there);
        f->n++;
        io_semaphore_post(&f->back);
    }
}

static void each_post_lets_one_wait_go_on(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    io_semaphore_post(&f.there); /* before anybody waits */
    io_semaphore_post(&f.there);
    assert_int_equal(io_thread_start(&f.thread, answer_posts, &f), 0);
    io_semaphore_wait(&f.back);
    io_semaphore_wait(&f.back);
    for (size_t i = 2; i < 100; i++) {
        assert_int_equal(f.n, i); /* it waits, and only we change that */
        io_semaphore_post(&f.there);
        io_semaphore_wait(&f.back);
    }
    io_thread_join(&f.thread);
    fixture_deinit(&f);
}

static void wait_until_ready(void *context)
{
    Fixture *f = context;

    io_mutex_lock(&f->lock);
    io_semaphore_post(&f->back);
    while (!f->is_ready) {
        io_condition_wait(&f->condition, &f->lock);
    }
    f->n++;
    io_mutex_unlock(&f->lock);
}

static void a_condition_wakes_one_and_all(void **state)
{
    IoThread threads[3];
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (int round = 0; round < 2; round++) {
        int n_threads = round == 0 ? 1 : 3;

        f.is_ready = false;
        f.n = 0;
        for (int i = 0; i < n_threads; i++) {
            assert_int_equal(io_thread_start(&threads[i], wait_until_ready, &f), 0);
            io_semaphore_wait(&f.back);
        }
        io_mutex_lock(&f.lock); /* each has let it go only by waiting */
        f.is_ready = true;
        if (round == 0) {
            io_condition_signal(&f.condition);
        } else {
            io_condition_broadcast(&f.condition);
        }
        io_mutex_unlock(&f.lock);
        for (int i = 0; i < n_threads; i++) {
            io_thread_join(&threads[i]);
        }
        assert_int_equal(f.n, n_threads);
    }
    fixture_deinit(&f);
}

static void a_wait_ends_with_its_time(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    io_mutex_lock(&f.lock);
    while (io_condition_wait_for(&f.condition, &f.lock, 1000 * 1000)) {
        /* woken without a reason: again */
    }
    io_mutex_unlock(&f.lock);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time_holds_a_lock),
        cmocka_unit_test(a_thread_knows_itself),
        cmocka_unit_test(each_post_lets_one_wait_go_on),
        cmocka_unit_test(a_condition_wakes_one_and_all),
        cmocka_unit_test(a_wait_ends_with_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
