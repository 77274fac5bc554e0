#include "io/watchdog.h"

#include "support/cmocka.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/thread.h"
#include "support/alloc_testing.h"

/* Short, so that the tests are: what is compared is whether, not when. */
#define TURN_MS  40
#define QUIET_MS 200
#define LONG_MS  ((int64_t)3600 * 1000)

/* What no test takes unless what it waits for does not come. */
#define DEADLINE_MS 30000

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;

    assert_int_equal(clock_gettime(clock, &now), 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pause_for(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&time, NULL);
}

/* ---- turns ---- */

typedef struct Lines {
    IoMutex mutex;
    char text[1024];
} Lines;

static void lines_write(void *context, const char *line, size_t n)
{
    Lines *lines = context;
    size_t used;

    io_mutex_lock(&lines->mutex);
    used = strlen(lines->text);
    if (n < sizeof(lines->text) - used) {
        memcpy(lines->text + used, line, n);
        lines->text[used + n] = '\0';
    }
    io_mutex_unlock(&lines->mutex);
}

static bool lines_have(Lines *lines, const char *words)
{
    bool has;

    io_mutex_lock(&lines->mutex);
    has = strstr(lines->text, words) != NULL;
    io_mutex_unlock(&lines->mutex);
    return has;
}

typedef struct Rig {
    IoLoop *loop;
    Lines lines;
    LogSink log;
} Rig;

static int setup(void **state)
{
    Rig *rig = calloc(1, sizeof(*rig));

    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_non_null(rig);
    assert_int_equal(io_mutex_init(&rig->lines.mutex), 0);
    rig->log =
        (LogSink){.level = LOGSINK_LEVEL_WARN, .write_fn = lines_write, .context = &rig->lines};
    assert_int_equal(io_loop_new(&rig->loop), 0);
    assert_int_equal(
        io_watchdog_start(rig->loop, &(IoWatchdogConfig){.log = &rig->log, .turn_ms = TURN_MS}), 0);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    Rig *rig = *state;

    rig->loop = io_loop_free(rig->loop);
    assert_int_equal(alloc_testing()->n_live, 0);
    io_mutex_deinit(&rig->lines.mutex);
    free(rig);
    return 0;
}

/* Runs, until the turn is over. */
static bool burn(Rig *rig, const IoTurnName *name)
{
    int64_t from_ms = clock_ms(CLOCK_MONOTONIC);

    while (!io_turn_is_over(rig->loop, name)) {
        if (clock_ms(CLOCK_MONOTONIC) - from_ms > DEADLINE_MS) {
            return false;
        }
    }
    return true;
}

static void a_turn_that_runs_too_long_is_over_and_its_name_is_logged(void **state)
{
    Rig *rig = *state;
    const IoTurnName *one = io_turn_name(rig->loop, "one");
    const IoTurnName *two = io_turn_name(rig->loop, "two");

    assert_ptr_equal(io_turn_name(rig->loop, "one"), one);
    assert_false(io_turn_is_over(rig->loop, one));
    io_turn_begin(rig->loop, one);
    assert_true(burn(rig, one));
    assert_false(io_turn_is_over(rig->loop, two));
    io_turn_begin(rig->loop, two); /* in it */
    assert_false(io_turn_is_over(rig->loop, two));
    io_turn_end(rig->loop);
    assert_true(io_turn_is_over(rig->loop, one));
    io_turn_end(rig->loop);
    assert_false(io_turn_is_over(rig->loop, one));
    /* The next one begins from nothing. */
    io_turn_begin(rig->loop, one);
    assert_false(io_turn_is_over(rig->loop, one));
    io_turn_end(rig->loop);
    /* The log is written after the turn was marked. */
    for (int64_t from_ms = clock_ms(CLOCK_MONOTONIC);
         !lines_have(&rig->lines, "the turn of one takes longer than 40 ms");) {
        assert_true(clock_ms(CLOCK_MONOTONIC) - from_ms < DEADLINE_MS);
    }
    assert_false(lines_have(&rig->lines, "two"));
}

/* As in a process that is stopped, or on a disk that is slow. */
static void a_turn_that_waits_is_not_over(void **state)
{
    Rig *rig = *state;
    const IoTurnName *name = io_turn_name(rig->loop, "one");

    io_turn_begin(rig->loop, name);
    pause_for(5 * TURN_MS);
    assert_false(io_turn_is_over(rig->loop, name));
    io_turn_end(rig->loop);
    assert_false(lines_have(&rig->lines, "turn"));
}

static void many_short_turns_are_not_one(void **state)
{
    Rig *rig = *state;
    const IoTurnName *name = io_turn_name(rig->loop, "one");
    int64_t from_ms = clock_ms(CLOCK_THREAD_CPUTIME_ID);

    while (clock_ms(CLOCK_THREAD_CPUTIME_ID) - from_ms < 5 * TURN_MS) {
        io_turn_begin(rig->loop, name);
        assert_false(io_turn_is_over(rig->loop, name));
        io_turn_end(rig->loop);
    }
    assert_false(lines_have(&rig->lines, "turn"));
}

static void a_watchdog_that_slept_is_woken_by_a_turn(void **state)
{
    Rig *rig = *state;
    const IoTurnName *name = io_turn_name(rig->loop, "one");

    for (int i = 0; i < 3; i++) {
        pause_for(5 * TURN_MS);
        io_turn_begin(rig->loop, name);
        assert_true(burn(rig, name));
        io_turn_end(rig->loop);
    }
}

/* ---- the end ---- */

typedef struct Victim {
    IoLoop *loop;
    IoTask task;
    bool ends; /* it does what the signal asks for */
    int ready; /* a descriptor: one byte when it has begun */
} Victim;

static void victim_spin(IoTask *task)
{
    Victim *victim = (Victim *)(void *)((char *)task - offsetof(Victim, task));

    (void)!write(victim->ready, "r", 1);
    for (;;) {
        (void)clock_ms(CLOCK_MONOTONIC); /* a call: the thread sanitizer delivers signals there */
    }
}

static void victim_wait(IoTask *task)
{
    Victim *victim = (Victim *)(void *)((char *)task - offsetof(Victim, task));

    (void)!write(victim->ready, "r", 1);
}

static void victim_on_signal(void *context, int signum)
{
    Victim *victim = context;

    (void)signum;
    if (victim->ends) {
        io_loop_stop(victim->loop);
    }
}

/* A process with a loop; exits with 7 when the loop has ended. */
static void victim_run(const IoWatchdogConfig *config, void (*fn)(IoTask *), bool ends, int ready)
{
    static const int signals[] = {SIGTERM, SIGINT};
    LogSink log = LOGSINK_STDERR;
    IoWatchdogConfig all = *config;
    IoSignal *on_signal = NULL;
    Victim victim = {.task = {.fn = fn}, .ends = ends, .ready = ready};

    all.log = &log;
    all.turn_ms = TURN_MS;
    all.signals = signals;
    all.n_signals = 2;
    if (io_loop_new(&victim.loop) != 0 ||
        io_signal_new(&on_signal, victim.loop, SIGTERM, victim_on_signal, &victim) != 0 ||
        io_watchdog_start(victim.loop, &all) != 0) {
        _exit(1);
    }
    io_loop_hold(victim.loop);
    io_loop_post(victim.loop, &victim.task);
    (void)io_loop_run(victim.loop);
    io_loop_release(victim.loop);
    on_signal = io_signal_free(on_signal);
    (void)io_loop_free(victim.loop);
    _exit(7);
}

/* What it printed on stderr in *words; its status. It is sent SIGTERM once, or until it ends. */
static int victim_status(const IoWatchdogConfig *config, void (*fn)(IoTask *), bool ends,
                         bool is_repeated, char *words, size_t size)
{
    int ready[2];
    int errors[2];
    int status = -1;
    ssize_t n;
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(errors), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(DEADLINE_MS / 1000);
        (void)dup2(errors[1], STDERR_FILENO);
        victim_run(config, fn, ends, ready[1]);
    }
    (void)close(ready[1]);
    (void)close(errors[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGTERM), 0);
    while (is_repeated && waitpid(pid, &status, WNOHANG) == 0) {
        (void)kill(pid, SIGTERM);
        pause_for(10);
    }
    if (!is_repeated) {
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    n = read(errors[0], words, size - 1);
    words[n > 0 ? n : 0] = '\0';
    (void)close(ready[0]);
    (void)close(errors[0]);
    return status;
}

static void a_signal_ends_a_process_whose_loop_does_not_come_round(void **state)
{
    char words[512];
    int status = victim_status(&(IoWatchdogConfig){.quiet_ms = QUIET_MS, .end_ms = LONG_MS},
                               victim_spin, true, false, words, sizeof(words));

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    assert_non_null(strstr(words, "signal 15 asked for the end, and the loop does not come round"));
}

static void a_second_signal_does_not_wait(void **state)
{
    char words[512];
    int status = victim_status(&(IoWatchdogConfig){.quiet_ms = LONG_MS, .end_ms = LONG_MS},
                               victim_spin, true, true, words, sizeof(words));

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    assert_non_null(strstr(words, "was repeated"));
}

static void an_end_that_does_not_come_in_time_is_made(void **state)
{
    char words[512];
    int status = victim_status(&(IoWatchdogConfig){.quiet_ms = LONG_MS, .end_ms = QUIET_MS},
                               victim_wait, false, false, words, sizeof(words));

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    assert_non_null(strstr(words, "it has not come in time"));
}

static void a_process_that_ends_by_itself_is_left_alone(void **state)
{
    char words[512];
    int status = victim_status(&(IoWatchdogConfig){.end_ms = LONG_MS}, victim_wait, true, false,
                               words, sizeof(words));

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_string_equal(words, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_turn_that_runs_too_long_is_over_and_its_name_is_logged,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_turn_that_waits_is_not_over, setup, teardown),
        cmocka_unit_test_setup_teardown(many_short_turns_are_not_one, setup, teardown),
        cmocka_unit_test_setup_teardown(a_watchdog_that_slept_is_woken_by_a_turn, setup, teardown),
        cmocka_unit_test(a_signal_ends_a_process_whose_loop_does_not_come_round),
        cmocka_unit_test(a_second_signal_does_not_wait),
        cmocka_unit_test(an_end_that_does_not_come_in_time_is_made),
        cmocka_unit_test(a_process_that_ends_by_itself_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
