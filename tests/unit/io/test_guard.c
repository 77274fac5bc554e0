/* What ends our children's groups when we are killed. Each test starts a process that stands for
 * us, and gets all that it leaves behind as children of its own (a subreaper), so that it can wait
 * for their ends and see what ended them. */
#include "io/guard.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/child.h"
#include "io/process.h"

/* Only ends a test that would hang. */
#define HANG_MS 20000
#define LOOK_MS 5

/* ---- what is left behind ---- */

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The first line of a file of /proc/PID; "" if it has gone. */
static void read_line(pid_t pid, const char *file, char *ret, size_t size)
{
    char path[64];
    FILE *f;

    ret[0] = '\0';
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    f = fopen(path, "r");
    if (f != NULL) {
        if (fgets(ret, (int)size, f) == NULL) {
            ret[0] = '\0';
        }
        (void)fclose(f);
    }
    ret[strcspn(ret, "\n")] = '\0';
}

/* The guards among our children: those that our children have left us. */
static size_t find_guards(pid_t *ret, size_t max)
{
    char path[64];
    char text[4096] = "";
    char *rest = text;
    size_t n = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "r");
    assert_non_null(f);
    (void)!fread(text, 1, sizeof(text) - 1, f);
    (void)fclose(f);
    for (;;) {
        char *end;
        pid_t pid = (pid_t)strtol(rest, &end, 10);
        char name[32];

        if (end == rest) {
            return n;
        }
        rest = end;
        read_line(pid, "comm", name, sizeof(name));
        if (strcmp(name, "toolwire-guard") == 0) {
            assert_true(n < max);
            ret[n++] = pid;
        }
    }
}

static pid_t find_guard(void)
{
    pid_t pids[2];

    assert_int_equal(find_guards(pids, 2), 1);
    return pids[0];
}

/* What waitpid says of it; it must be left to us, and end, before long. */
static int wait_for(pid_t pid)
{
    int64_t due_ms = now_ms() + HANG_MS;
    int status = -1;
    pid_t r = 0;

    while (r != pid && now_ms() < due_ms) {
        r = waitpid(pid, &status, WNOHANG);
        if (r != pid) {
            (void)poll(NULL, 0, LOOK_MS);
        }
    }
    assert_int_equal(r, pid);
    return status;
}

static void assert_ended_by(pid_t pid, int signum)
{
    int status = wait_for(pid);

    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), signum);
}

static void assert_left(pid_t pid)
{
    int status = wait_for(pid);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Whoever reaps it. */
static void wait_gone(pid_t pid)
{
    int64_t due_ms = now_ms() + HANG_MS;

    while (kill(pid, 0) == 0 && now_ms() < due_ms) {
        (void)waitpid(pid, NULL, WNOHANG);
        (void)poll(NULL, 0, LOOK_MS);
    }
    assert_int_equal(kill(pid, 0), -1);
}

static void assert_nobody_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* ---- who stands for us ---- */

typedef struct Us {
    pid_t pid;
    int from_fd; /* what is printed there */
    int to_fd;   /* when that closes it goes on */
} Us;

static Us us;

/* Runs act in a process of its own, whose stdout we read. */
static void begin(void (*act)(void))
{
    int from[2];
    int to[2];

    assert_int_equal(pipe(from), 0);
    assert_int_equal(pipe(to), 0);
    us.pid = fork();
    assert_true(us.pid >= 0);
    if (us.pid == 0) {
        (void)dup2(from[1], STDOUT_FILENO);
        (void)close(from[1]);
        (void)close(from[0]);
        (void)close(to[1]);
        us.to_fd = to[0];
        act();
        _exit(0);
    }
    assert_int_equal(close(from[1]), 0);
    assert_int_equal(close(to[0]), 0);
    us.from_fd = from[0];
    us.to_fd = to[1];
}

/* In us: until we are told to go on. */
static void stay(void)
{
    char byte;

    (void)!read(us.to_fd, &byte, 1);
}

/* In us: a number for the test. */
static void tell(pid_t pid)
{
    (void)!write(STDOUT_FILENO, &pid, sizeof(pid));
}

static pid_t hear(void)
{
    pid_t pid = 0;

    assert_int_equal(read(us.from_fd, &pid, sizeof(pid)), sizeof(pid));
    assert_true(pid > 0);
    return pid;
}

static void kill_us(void)
{
    assert_int_equal(kill(us.pid, SIGKILL), 0);
    assert_ended_by(us.pid, SIGKILL);
    us.pid = 0;
}

/* In us: a process that leads a group, or is in that of another; it ignores signum. */
static pid_t start_sleeper(pid_t group, int ignored)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (ignored != 0) {
            (void)signal(ignored, SIG_IGN);
        }
        (void)setpgid(0, group);
        (void)alarm(3 * HANG_MS / 1000); /* after a failure */
        for (;;) {
            (void)pause();
        }
    }
    (void)setpgid(pid, group == 0 ? pid : group);
    return pid;
}

/* ---- with processes ---- */

static void on_exited(void *context, IoProcessExit how)
{
    (void)context;
    (void)how;
}

/* A shell that starts one that ignores TERM and one that does not, in its group, says who is there,
 * and becomes one that reaps nobody. None reads its input. */
static IoProcess *start_family(IoLoop **ret_loop, bool dies_with_us)
{
    static const char *const argv[] = {
        "/bin/sh", "-c",
        "sleep 1000 & a=$!; trap '' TERM HUP; sleep 1000 & echo $$ $a $!; exec sleep 1000", NULL};
    IoProcessSpec spec = {.argv = argv, .inherit_stderr = true, .dies_with_thread = dies_with_us};
    IoProcess *process = NULL;
    char text[64];
    size_t n = 0;
    char *at = text;
    int fds[3];

    if (io_loop_new(ret_loop) != 0 || io_process_spawn(&process, *ret_loop, &spec, on_exited, NULL,
                                                       &fds[0], &fds[1], &fds[2], NULL) != 0) {
        _exit(1);
    }
    (void)fcntl(fds[1], F_SETFL, 0);
    do {
        ssize_t r = read(fds[1], text + n, sizeof(text) - 1 - n);

        n += r > 0 ? (size_t)r : 0;
        text[n] = '\0';
    } while (strchr(text, '\n') == NULL);
    for (int i = 0; i < 3; i++) {
        tell((pid_t)strtol(at, &at, 10));
    }
    return process;
}

static void start_family_and_stay(void)
{
    IoLoop *loop;

    (void)start_family(&loop, true);
    stay();
}

static void what_a_child_has_started_ends_when_we_are_killed(void **state)
{
    pid_t shell;
    pid_t polite;
    pid_t stubborn;
    pid_t guard;
    int64_t begun_ms;

    (void)state;
    begin(start_family_and_stay);
    shell = hear();
    polite = hear();
    stubborn = hear();
    guard = find_guard();
    begun_ms = now_ms();
    kill_us();
    assert_ended_by(shell, SIGKILL); /* by the system, at once */
    assert_ended_by(polite, SIGTERM);
    assert_ended_by(stubborn, SIGKILL);
    assert_true(now_ms() - begun_ms >= GUARD_GRACE_MS);
    assert_left(guard);
    assert_nobody_left();
}

static void end_family_in_order(void)
{
    IoLoop *loop;
    IoProcess *process = start_family(&loop, true);

    io_process_end(process, 50);
    if (io_loop_run(loop) != 0) {
        _exit(1);
    }
    (void)io_process_retire(process, 50);
    (void)io_loop_free(loop);
    stay();
}

static void an_orderly_end_leaves_no_guard(void **state)
{
    pid_t members[3];
    pid_t guard;
    int64_t begun_ms;

    (void)state;
    begin(end_family_in_order);
    for (int i = 0; i < 3; i++) {
        members[i] = hear();
    }
    for (int i = 0; i < 3; i++) {
        wait_gone(members[i]);
    }
    guard = find_guard();
    begun_ms = now_ms();
    assert_int_equal(close(us.to_fd), 0);
    us.to_fd = -1;
    assert_left(us.pid);
    us.pid = 0;
    assert_left(guard);
    assert_true(now_ms() - begun_ms < GUARD_GRACE_MS); /* it had nobody to wait for */
    assert_nobody_left();
}

static int keep_output(void *context, const char *p, size_t n)
{
    char *text = context; /* 16, zeroed */
    size_t at = strlen(text);

    memcpy(text + at, p, n < 15 - at ? n : 15 - at);
    return 0;
}

/* io_child_run, too, and what is to stay stays: here a process that its child has left. */
static void run_to_the_end(void)
{
    static const char *const argv[] = {"/bin/sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!",
                                       NULL};
    char text[16] = "";
    IoChildSpec spec = {.argv = argv, .output = keep_output, .context = text};
    IoProcessExit how;

    if (io_child_run(&spec, NULL, &how, NULL) != 0) {
        _exit(1);
    }
    tell((pid_t)strtol(text, NULL, 10));
    stay();
}

static void what_was_left_in_peace_stays(void **state)
{
    pid_t guard;
    pid_t left;

    (void)state;
    begin(run_to_the_end);
    left = hear();
    guard = find_guard();
    kill_us();
    assert_left(guard);
    assert_int_equal(waitpid(left, NULL, WNOHANG), 0);
    assert_int_equal(kill(left, SIGKILL), 0);
    assert_ended_by(left, SIGKILL);
    assert_nobody_left();
}

/* ---- the guard itself ---- */

static void take_and_stay(void)
{
    (void)io_guard_take();
    (void)io_guard_take();
    tell(getpid());
    stay();
}

static void it_holds_nothing_of_ours(void **state)
{
    static const char *const expected[] = {"/dev/null", "/dev/null", "/dev/null", "pipe:[",
                                           "pidfd"};
    char path[64];
    char target[128];
    pid_t guard;
    ssize_t n;

    (void)state;
    begin(take_and_stay);
    (void)hear();
    guard = find_guard();
    for (int fd = 0; fd < 64; fd++) {
        (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)guard, fd);
        n = readlink(path, target, sizeof(target) - 1);
        assert_true((n > 0) == (fd < 5));
        target[n > 0 ? n : 0] = '\0';
        assert_true(fd >= 5 || strstr(target, expected[fd]) != NULL);
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)guard);
    n = readlink(path, target, sizeof(target));
    assert_true(n == 1 && target[0] == '/');
    assert_int_not_equal(getsid(guard), getsid(us.pid));
    assert_int_not_equal(getpgid(guard), getpgid(us.pid));
    assert_int_not_equal(getsid(guard), guard); /* can never get a terminal */
    kill_us();
    assert_left(guard);
    assert_nobody_left();
}

static void no_signal_ends_it_but_kill(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGALRM};
    pid_t guard;

    (void)state;
    begin(take_and_stay);
    (void)hear();
    guard = find_guard();
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        assert_int_equal(kill(guard, signals[i]), 0);
    }
    assert_int_equal(waitpid(guard, NULL, WNOHANG), 0);
    kill_us();
    assert_left(guard);
    assert_nobody_left();
}

static void take_twice(void)
{
    pid_t sleeper = start_sleeper(0, 0);

    io_guard_set_group(io_guard_take(), sleeper);
    tell(sleeper);
    stay();
    tell(io_guard_take() != NULL ? 1 : 2);
    for (;;) {
        (void)pause();
    }
}

static void one_that_was_killed_is_replaced_and_knows_all(void **state)
{
    pid_t sleeper;
    pid_t guard;

    (void)state;
    begin(take_twice);
    sleeper = hear();
    guard = find_guard();
    assert_int_equal(kill(guard, SIGKILL), 0);
    assert_ended_by(guard, SIGKILL);
    assert_int_equal(close(us.to_fd), 0);
    us.to_fd = -1;
    assert_int_equal(hear(), 1);
    assert_int_not_equal(find_guard(), guard);
    guard = find_guard();
    kill_us();
    assert_ended_by(sleeper, SIGTERM);
    assert_left(guard);
    assert_nobody_left();
}

/* ---- the list ---- */

/* Five groups: one on the list; one that was taken off; one whose leader was reaped, as we say, but
 * whose number somebody has: a stranger; one without a leader; an entry without a group. */
static void make_a_list(void)
{
    IoGuardEntry *entry;
    pid_t leader;

    (void)io_guard_take();
    leader = start_sleeper(0, 0);
    io_guard_set_group(io_guard_take(), leader);
    tell(leader);

    leader = start_sleeper(0, 0);
    entry = io_guard_take();
    io_guard_set_group(entry, leader);
    (void)io_guard_release(entry);
    tell(leader);

    leader = start_sleeper(0, 0);
    entry = io_guard_take();
    io_guard_set_group(entry, leader);
    io_guard_set_leaderless(entry);
    tell(leader);

    leader = start_sleeper(0, 0);
    entry = io_guard_take();
    io_guard_set_group(entry, leader);
    tell(start_sleeper(leader, 0));
    (void)kill(leader, SIGKILL);
    (void)waitpid(leader, NULL, 0);
    io_guard_set_leaderless(entry);
    tell(getpid());
    stay();
}

static void only_what_is_on_the_list_ends(void **state)
{
    pid_t listed;
    pid_t released;
    pid_t stranger;
    pid_t member;
    pid_t guard;

    (void)state;
    begin(make_a_list);
    listed = hear();
    released = hear();
    stranger = hear();
    member = hear();
    assert_int_equal(hear(), us.pid);
    guard = find_guard();
    kill_us();
    assert_ended_by(listed, SIGTERM);
    assert_ended_by(member, SIGTERM);
    assert_left(guard);
    assert_int_equal(waitpid(released, NULL, WNOHANG), 0);
    assert_int_equal(waitpid(stranger, NULL, WNOHANG), 0);
    assert_int_equal(kill(released, SIGKILL), 0);
    assert_int_equal(kill(stranger, SIGKILL), 0);
    assert_ended_by(released, SIGKILL);
    assert_ended_by(stranger, SIGKILL);
    assert_nobody_left();
}

static void take_all(void)
{
    IoGuardEntry *first = io_guard_take();
    int n = first != NULL;

    while (io_guard_take() != NULL) {
        n++;
    }
    tell(n);
    (void)io_guard_release(first);
    tell(io_guard_take() == first ? 1 : 2);
    stay();
}

static void entries_are_bounded_and_used_again(void **state)
{
    pid_t guard;

    (void)state;
    begin(take_all);
    assert_int_equal(hear(), GUARD_MAX_GROUPS);
    assert_int_equal(hear(), 1);
    guard = find_guard();
    kill_us();
    assert_left(guard);
    assert_nobody_left();
}

/* We have a guard, and so has a copy of us, for itself: it ends, and what is ours stays. */
static void copy_us(void)
{
    pid_t sleeper = start_sleeper(0, 0);
    pid_t copy;

    io_guard_set_group(io_guard_take(), sleeper);
    tell(sleeper);
    copy = fork();
    if (copy == 0) {
        sleeper = start_sleeper(0, 0);
        io_guard_set_group(io_guard_take(), sleeper);
        tell(sleeper);
        (void)alarm(3 * HANG_MS / 1000); /* after a failure */
        (void)pause();
        _exit(1);
    }
    tell(copy);
    stay();
}

static void a_copy_of_us_has_its_own(void **state)
{
    pid_t guards[3];
    pid_t of_copy = 0;
    pid_t ours;
    pid_t copy = 0;

    (void)state;
    begin(copy_us);
    ours = hear();
    for (int i = 0; i < 2; i++) { /* in either order */
        pid_t pid = hear();

        if (getpgid(pid) == pid) {
            of_copy = pid;
        } else {
            copy = pid;
        }
    }
    assert_int_equal(find_guards(guards, 3), 2);
    assert_int_equal(kill(copy, SIGKILL), 0);
    assert_ended_by(of_copy, SIGTERM);
    assert_int_equal(kill(ours, 0), 0);
    kill_us();
    assert_ended_by(copy, SIGKILL); /* was ours to reap */
    assert_ended_by(ours, SIGTERM);
    assert_left(guards[0]);
    assert_left(guards[1]);
    assert_nobody_left();
}

static int setup(void **state)
{
    (void)state;
    us = (Us){.from_fd = -1, .to_fd = -1};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)close(us.from_fd);
    (void)close(us.to_fd);
    if (us.pid > 0 && kill(us.pid, SIGKILL) == 0) {
        (void)waitpid(us.pid, NULL, 0); /* after a failure */
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_child_has_started_ends_when_we_are_killed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_orderly_end_leaves_no_guard, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_left_in_peace_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(it_holds_nothing_of_ours, setup, teardown),
        cmocka_unit_test_setup_teardown(no_signal_ends_it_but_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_was_killed_is_replaced_and_knows_all, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(only_what_is_on_the_list_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(entries_are_bounded_and_used_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_copy_of_us_has_its_own, setup, teardown),
    };

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
