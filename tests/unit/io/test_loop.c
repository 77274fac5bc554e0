#include "io/loop.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define N_THREADS 4
#define N_POSTS   1000

static int setup(void **state)
{
    IoLoop *loop = NULL;

    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(io_loop_new(&loop), 0);
    *state = loop;
    return 0;
}

static int teardown(void **state)
{
    *state = io_loop_free(*state);
    assert_int_equal(alloc_testing()->n_live, 0);
    return 0;
}

static void an_idle_loop_ends_at_once(void **state)
{
    assert_int_equal(io_loop_run(*state), 0);
    assert_int_equal(io_loop_run(*state), 0);
}

typedef struct Note {
    IoTask task; /* first: a task is its note */
    IoLoop *loop;
    int *order;
    int *n_order;
    int number;
    int posts_left;
} Note;

static void note_run(IoTask *task)
{
    Note *note = (Note *)task;

    note->order[(*note->n_order)++] = note->number;
    if (note->posts_left > 0) {
        note->posts_left--;
        io_loop_post(note->loop, task);
    }
}

static void posted_tasks_run_in_order(void **state)
{
    int order[8];
    int n_order = 0;
    Note notes[3];

    for (int i = 0; i < 3; i++) {
        notes[i] = (Note){.task = {.fn = note_run},
                          .loop = *state,
                          .order = order,
                          .n_order = &n_order,
                          .number = i,
                          .posts_left = i == 1};
        io_loop_post(*state, &notes[i].task);
    }
    assert_int_equal(io_loop_run(*state), 0);
    assert_int_equal(n_order, 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(order[i], i);
    }
    assert_int_equal(order[3], 1); /* what a task posts comes after what was there */
}

static void a_task_left_over_runs_when_the_loop_is_freed(void **state)
{
    int order[1];
    int n_order = 0;
    Note note = {.task = {.fn = note_run}, .order = order, .n_order = &n_order};
    IoLoop *loop = NULL;

    (void)state;
    assert_int_equal(io_loop_new(&loop), 0);
    io_loop_post(loop, &note.task);
    loop = io_loop_free(loop);
    assert_int_equal(n_order, 1);
}

typedef struct Poster {
    IoLoop *loop;
    int *n_seen;     /* touched by the loop thread only */
    int *n_released; /* posters that are done */
    int last;
    pthread_t thread;
    struct PostedTask {
        IoTask task;
        struct Poster *poster;
        int number;
    } tasks[N_POSTS];
} Poster;

static void posted_run(IoTask *task)
{
    struct PostedTask *posted = (struct PostedTask *)task;
    Poster *poster = posted->poster;

    assert_int_equal(posted->number, poster->last + 1);
    poster->last = posted->number;
    (*poster->n_seen)++;
    if (posted->number == N_POSTS - 1) {
        io_loop_release(poster->loop);
    }
}

static void *poster_main(void *context)
{
    Poster *poster = context;

    for (int i = 0; i < N_POSTS; i++) {
        poster->tasks[i].task.fn = posted_run;
        poster->tasks[i].poster = poster;
        poster->tasks[i].number = i;
        io_loop_post(poster->loop, &poster->tasks[i].task);
    }
    return NULL;
}

static void other_threads_post_while_the_loop_is_held(void **state)
{
    Poster *posters = calloc(N_THREADS, sizeof(*posters));
    int n_seen = 0;

    assert_non_null(posters);
    for (int i = 0; i < N_THREADS; i++) {
        posters[i].loop = *state;
        posters[i].n_seen = &n_seen;
        posters[i].last = -1;
        io_loop_hold(*state);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&posters[i].thread, NULL, poster_main, &posters[i]), 0);
    }
    assert_int_equal(io_loop_run(*state), 0);
    assert_int_equal(n_seen, N_THREADS * N_POSTS);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(posters[i].thread, NULL), 0);
    }
    free(posters);
}

typedef struct Clock {
    IoLoop *loop;
    IoTimer *timer;
    IoTimer *other;
    int n_fired;
    int64_t fired_at_ms;
} Clock;

static void clock_fire(void *context)
{
    Clock *clock = context;

    clock->n_fired++;
    clock->fired_at_ms = io_loop_now_ms(clock->loop);
}

static void a_timer_fires_once_and_not_early(void **state)
{
    Clock clock = {.loop = *state};
    int64_t due_ms = io_loop_now_ms(*state) + 5;

    assert_int_equal(io_timer_new(&clock.timer, *state, false, clock_fire, &clock), 0);
    io_timer_start_at(clock.timer, due_ms);
    io_timer_start_at(clock.timer, due_ms);
    assert_int_equal(io_loop_run(*state), 0);
    assert_int_equal(clock.n_fired, 1);
    assert_true(clock.fired_at_ms >= due_ms);
    io_timer_start_at(clock.timer, due_ms); /* long past: at the next turn */
    assert_int_equal(io_loop_run(*state), 0);
    assert_int_equal(clock.n_fired, 2);
    clock.timer = io_timer_free(clock.timer);
}

static void a_stopped_timer_does_not_fire(void **state)
{
    Clock clock = {.loop = *state};

    assert_int_equal(io_timer_new(&clock.timer, *state, false, clock_fire, &clock), 0);
    io_timer_start_at(clock.timer, io_loop_now_ms(*state));
    io_timer_start_at(clock.timer, INT64_MAX);
    assert_int_equal(io_loop_run(*state), 0);
    io_timer_start_at(clock.timer, io_loop_now_ms(*state));
    io_timer_stop(clock.timer);
    assert_int_equal(io_loop_run(*state), 0);
    assert_int_equal(clock.n_fired, 0);
    clock.timer = io_timer_free(clock.timer);
}

static void clock_free_other(void *context)
{
    Clock *clock = context;

    clock->n_fired++;
    clock->timer = io_timer_free(clock->timer);
    clock->other = io_timer_free(clock->other);
}

static void no_callback_comes_after_free(void **state)
{
    Clock clock = {.loop = *state};

    assert_int_equal(io_timer_new(&clock.timer, *state, false, clock_free_other, &clock), 0);
    assert_int_equal(io_timer_new(&clock.other, *state, false, clock_free_other, &clock), 0);
    io_timer_start_at(clock.timer, io_loop_now_ms(*state));
    io_timer_start_at(clock.other, io_loop_now_ms(*state));
    assert_int_equal(io_loop_run(*state), 0);
    assert_int_equal(clock.n_fired, 1);
}

static void a_background_timer_does_not_keep_the_loop_running(void **state)
{
    Clock clock = {.loop = *state};

    assert_int_equal(io_timer_new(&clock.timer, *state, true, clock_fire, &clock), 0);
    io_timer_start_at(clock.timer, io_loop_now_ms(*state) + 3600000);
    assert_int_equal(io_loop_run(*state), 0);
    assert_int_equal(clock.n_fired, 0);
    clock.timer = io_timer_free(clock.timer);
}

static void clock_stop_loop(void *context)
{
    Clock *clock = context;

    clock->n_fired++;
    io_loop_stop(clock->loop);
}

static void stop_ends_a_loop_that_has_more_to_do(void **state)
{
    Clock clock = {.loop = *state};

    assert_int_equal(io_timer_new(&clock.timer, *state, false, clock_stop_loop, &clock), 0);
    io_loop_hold(*state);
    io_timer_start_at(clock.timer, io_loop_now_ms(*state));
    assert_int_equal(io_loop_run(*state), 0);
    assert_int_equal(clock.n_fired, 1);
    io_loop_stop(*state); /* before a run: that run ends at once */
    assert_int_equal(io_loop_run(*state), 0);
    io_loop_release(*state);
    clock.timer = io_timer_free(clock.timer);
    io_loop_stop(*state); /* and does not confuse free */
}

static void time_can_be_read_again(void **state)
{
    int64_t before_ms = io_loop_now_ms(*state);

    io_loop_update_now(*state);
    assert_true(io_loop_now_ms(*state) >= before_ms);
}

typedef struct Hook {
    IoLoop *loop;
    IoBeforeWait *self;
    IoBeforeWait *other;
    IoTimer *timer;
    int n_calls;
    int starts_left;
} Hook;

static void hook_timer_fire(void *context)
{
    (void)context;
}

static void hook_call(void *context)
{
    Hook *hook = context;

    hook->n_calls++;
    if (hook->starts_left > 0) {
        hook->starts_left--;
        io_timer_start_at(hook->timer, io_loop_now_ms(hook->loop));
    }
}

static void hooks_run_also_when_the_loop_is_about_to_end(void **state)
{
    Hook hook = {.loop = *state, .starts_left = 1};

    assert_int_equal(io_timer_new(&hook.timer, *state, false, hook_timer_fire, NULL), 0);
    assert_int_equal(io_before_wait_new(&hook.self, *state, hook_call, &hook), 0);
    assert_int_equal(io_loop_run(*state), 0);
    assert_true(hook.n_calls >= 2); /* the work that it began made another turn */
    hook.self = io_before_wait_free(hook.self);
    hook.timer = io_timer_free(hook.timer);
}

static void hook_free_both(void *context)
{
    Hook *hook = context;

    hook->n_calls++;
    hook->self = io_before_wait_free(hook->self);
    hook->other = io_before_wait_free(hook->other);
}

static void a_hook_may_free_itself_and_others(void **state)
{
    Hook hook = {.loop = *state};

    assert_int_equal(io_before_wait_new(&hook.self, *state, hook_free_both, &hook), 0);
    assert_int_equal(io_before_wait_new(&hook.other, *state, hook_free_both, &hook), 0);
    assert_int_equal(io_loop_run(*state), 0);
    assert_int_equal(hook.n_calls, 1);
}

typedef struct Order {
    IoLoop *loop;
    char text[8];
    size_t n;
} Order;

static void order_note(Order *order, char which)
{
    assert_true(io_loop_is_settling(order->loop));
    order->text[order->n++ % sizeof(order->text)] = which;
    io_loop_stop(order->loop);
}

static void order_first(void *context)
{
    order_note(context, '1');
}

static void order_second(void *context)
{
    order_note(context, '2');
}

static void the_hook_that_was_made_first_comes_last(void **state)
{
    Order order = {.loop = *state};
    IoBeforeWait *first = NULL;
    IoBeforeWait *second = NULL;

    assert_int_equal(io_before_wait_new(&first, *state, order_first, &order), 0);
    assert_int_equal(io_before_wait_new(&second, *state, order_second, &order), 0);
    io_loop_hold(*state);
    assert_int_equal(io_loop_run(*state), 0);
    io_loop_release(*state);
    assert_false(io_loop_is_settling(*state));
    assert_string_equal(order.text, "21");
    first = io_before_wait_free(first);
    second = io_before_wait_free(second);
}

typedef struct Signals {
    IoLoop *loop;
    int n_seen;
    int signum;
} Signals;

static void signals_seen(void *context, int signum)
{
    Signals *signals = context;

    signals->n_seen++;
    signals->signum = signum;
    io_loop_stop(signals->loop);
}

static void a_signal_reaches_the_loop(void **state)
{
    Signals signals = {.loop = *state};
    IoSignal *signal = NULL;

    assert_int_equal(io_signal_new(&signal, *state, SIGUSR1, signals_seen, &signals), 0);
    assert_int_equal(io_loop_run(*state), 0); /* does not keep it running */
    assert_int_equal(signals.n_seen, 0);
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    io_loop_hold(*state);
    assert_int_equal(io_loop_run(*state), 0);
    io_loop_release(*state);
    assert_int_equal(signals.n_seen, 1);
    assert_int_equal(signals.signum, SIGUSR1);
    signal = io_signal_free(signal);
}

static void a_signal_that_cannot_be_caught_is_refused(void **state)
{
    IoSignal *signal = NULL;

    assert_int_equal(io_signal_new(&signal, *state, SIGKILL, signals_seen, NULL), -EINVAL);
    assert_null(signal);
}

/* Runs in a grandchild whose parent has ended: tells through the pipe that it has noticed. */
static void parent_gone(void *context)
{
    IoLoop *loop = context;

    io_loop_stop(loop);
}

static void orphan_main(int ready_fd, int out_fd)
{
    IoLoop *loop = NULL;
    IoParentWatch *watch = NULL;
    char c = 'x';

    if (io_loop_new(&loop) != 0 || io_parent_watch_new(&watch, loop, 1, parent_gone, loop) != 0) {
        _exit(1);
    }
    (void)!write(ready_fd, &c, 1); /* from here on the parent may go */
    io_loop_hold(loop);
    (void)io_loop_run(loop);
    (void)!write(out_fd, "gone", 4);
    _exit(0);
}

static void the_end_of_the_parent_is_noticed(void **state)
{
    int ready[2];
    int out[2];
    char text[8] = {0};
    pid_t middle;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(out), 0);
    middle = fork();
    assert_true(middle >= 0);
    if (middle == 0) {
        char c;
        pid_t child = fork();

        if (child == 0) {
            (void)close(out[0]);
            orphan_main(ready[1], out[1]);
        }
        (void)!read(ready[0], &c, 1);
        _exit(child > 0 ? 0 : 1);
    }
    (void)close(out[1]);
    assert_int_equal(waitpid(middle, NULL, 0), middle);
    assert_int_equal(read(out[0], text, sizeof(text)), 4);
    assert_string_equal(text, "gone");
    (void)close(out[0]);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

static void a_living_parent_is_no_news(void **state)
{
    IoParentWatch *watch = NULL;

    assert_int_equal(io_parent_watch_new(&watch, *state, 1, parent_gone, *state), 0);
    assert_int_equal(io_loop_run(*state), 0); /* background */
    watch = io_parent_watch_free(watch);
}

static void nothing_to_free_is_fine(void **state)
{
    (void)state;
    assert_null(io_loop_free(NULL));
    assert_null(io_timer_free(NULL));
    assert_null(io_signal_free(NULL));
    assert_null(io_before_wait_free(NULL));
    assert_null(io_parent_watch_free(NULL));
}

static int make_all(void *context)
{
    IoLoop *loop = NULL;
    IoTimer *timer = NULL;
    IoSignal *signal = NULL;
    IoBeforeWait *hook = NULL;
    IoParentWatch *watch = NULL;
    int r = io_loop_new(&loop);

    if (r == 0) {
        r = io_timer_new(&timer, loop, false, clock_fire, context);
    }
    if (r == 0) {
        r = io_signal_new(&signal, loop, SIGUSR2, signals_seen, context);
    }
    if (r == 0) {
        r = io_before_wait_new(&hook, loop, hook_call, context);
    }
    if (r == 0) {
        r = io_parent_watch_new(&watch, loop, 1000, parent_gone, loop);
    }
    watch = io_parent_watch_free(watch);
    hook = io_before_wait_free(hook);
    signal = io_signal_free(signal);
    timer = io_timer_free(timer);
    loop = io_loop_free(loop);
    return r;
}

/* In a child: which = the standard descriptors to close. 0 if the loop works without them. */
static int check_closed_standard(unsigned which)
{
    struct stat null_info;
    struct stat info;
    IoLoop *loop = NULL;
    Signals signals = {.n_seen = 0};
    IoSignal *signal = NULL;
    char c;

    for (int fd = 0; fd < 3; fd++) {
        if ((which & 1u << fd) != 0) {
            (void)close(fd);
        }
    }
    if (io_loop_new(&loop) != 0 || io_signal_new(&signal, loop, SIGUSR1, signals_seen, &signals)) {
        return 1;
    }
    if (stat("/dev/null", &null_info) != 0) {
        return 2;
    }
    for (int fd = 0; fd < 3; fd++) {
        bool is_null = fstat(fd, &info) == 0 && info.st_rdev == null_info.st_rdev;

        if ((which & 1u << fd) != 0 && (!is_null || fcntl(fd, F_GETFD) != 0 ||
                                        read(fd, &c, 1) != 0 || write(fd, "", 1) != 1)) {
            return 3 + fd;
        }
    }
    signal = io_signal_free(signal);
    loop = io_loop_free(loop); /* libuv asserts that it closes none of the three */
    return 0;
}

static void standard_descriptors_that_are_closed_are_not_the_loops(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 8; which++) {
        int status = -1;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            _exit(check_closed_standard(which));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(make_all, NULL);
}

/* What stops a loop: an event, or the hook itself. */
typedef struct Stopper {
    IoTask task; /* first: a task is its stopper */
    IoLoop *loop;
    bool has_stopped;
    bool stops_in_hook;
    int n_hooks;
    int n_after; /* hooks since it has stopped */
} Stopper;

static void stopper_stop(void *context)
{
    Stopper *stopper = context;

    stopper->has_stopped = true;
    io_loop_stop(stopper->loop);
}

static void stopper_task(IoTask *task)
{
    stopper_stop(task);
}

static void stopper_hook(void *context)
{
    Stopper *stopper = context;

    stopper->n_hooks++;
    stopper->n_after += stopper->has_stopped;
    if (stopper->stops_in_hook) {
        io_loop_stop(stopper->loop);
    }
}

/* Whatever version of libuv calls timers when: what an event has set going is settled before a loop
 * that it stopped ends; and a stop from that hook does not stop the next run. */
static void hooks_run_after_the_event_that_stops_the_loop(void **state)
{
    Stopper stopper = {.task = {.fn = stopper_task}, .loop = *state};
    IoTimer *timer = NULL;
    IoBeforeWait *hook = NULL;

    assert_int_equal(io_timer_new(&timer, *state, false, stopper_stop, &stopper), 0);
    assert_int_equal(io_before_wait_new(&hook, *state, stopper_hook, &stopper), 0);
    for (int i = 0; i < 4; i++) {
        stopper.stops_in_hook = i >= 2;
        stopper.has_stopped = false;
        stopper.n_after = 0;
        if (i % 2 == 0) {
            io_timer_start_at(timer, io_loop_now_ms(*state));
        } else {
            io_loop_hold(*state);
            io_loop_post(*state, &stopper.task);
        }
        for (int turns = 0; !stopper.has_stopped && turns < 10; turns++) {
            assert_int_equal(io_loop_run(*state), 0);
        }
        if (i % 2 != 0) {
            io_loop_release(*state);
        }
        assert_true(stopper.has_stopped);
        assert_int_equal(stopper.n_after, 1);
    }
    timer = io_timer_free(timer);
    hook = io_before_wait_free(hook);
}

static void a_timer_that_is_due_does_not_keep_the_loop_from_its_descriptors(void **state)
{
    Stopper reader = {.task = {.fn = stopper_task}, .loop = *state};
    Stopper stopper = {.loop = *state};
    IoTimer *timer = NULL;

    assert_int_equal(io_timer_new(&timer, *state, false, stopper_stop, &stopper), 0);
    io_loop_post(*state, &reader.task); /* wakes the loop by a descriptor */
    io_timer_start_at(timer, io_loop_now_ms(*state));
    assert_int_equal(io_loop_run(*state), 0);
    assert_true(reader.has_stopped);
    timer = io_timer_free(timer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_idle_loop_ends_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(posted_tasks_run_in_order, setup, teardown),
        cmocka_unit_test(a_task_left_over_runs_when_the_loop_is_freed),
        cmocka_unit_test_setup_teardown(other_threads_post_while_the_loop_is_held, setup, teardown),
        cmocka_unit_test_setup_teardown(a_timer_fires_once_and_not_early, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stopped_timer_does_not_fire, setup, teardown),
        cmocka_unit_test_setup_teardown(no_callback_comes_after_free, setup, teardown),
        cmocka_unit_test_setup_teardown(a_background_timer_does_not_keep_the_loop_running, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(stop_ends_a_loop_that_has_more_to_do, setup, teardown),
        cmocka_unit_test_setup_teardown(time_can_be_read_again, setup, teardown),
        cmocka_unit_test_setup_teardown(hooks_run_also_when_the_loop_is_about_to_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(hooks_run_after_the_event_that_stops_the_loop, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_timer_that_is_due_does_not_keep_the_loop_from_its_descriptors, setup, teardown),
        cmocka_unit_test_setup_teardown(the_hook_that_was_made_first_comes_last, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hook_may_free_itself_and_others, setup, teardown),
        cmocka_unit_test_setup_teardown(a_signal_reaches_the_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(a_signal_that_cannot_be_caught_is_refused, setup, teardown),
        cmocka_unit_test(the_end_of_the_parent_is_noticed),
        cmocka_unit_test_setup_teardown(a_living_parent_is_no_news, setup, teardown),
        cmocka_unit_test(standard_descriptors_that_are_closed_are_not_the_loops),
        cmocka_unit_test(nothing_to_free_is_fine),
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
