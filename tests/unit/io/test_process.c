#include "io/process.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

/* For a test that would wait for ever; nothing is measured by it. */
#define WATCHDOG_S 30

typedef struct Child {
    IoLoop *loop;
    IoProcess *process;
    int fds[3];
    int n_exits;
    IoProcessExit how;
    bool free_at_exit;
    IoTimer *timer;
    Diag diag;
} Child;

static int setup(void **state)
{
    Child *child = calloc(1, sizeof(*child));

    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_non_null(child);
    assert_int_equal(io_loop_new(&child->loop), 0);
    child->fds[0] = child->fds[1] = child->fds[2] = -1;
    *state = child;
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static int teardown(void **state)
{
    Child *child = *state;

    for (int i = 0; i < 3; i++) {
        close_fd(&child->fds[i]);
    }
    child->process = io_process_free(child->process);
    child->loop = io_loop_free(child->loop);
    assert_int_equal(alloc_testing()->n_live, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child, dead or alive, is left */
    assert_int_equal(errno, ECHILD);
    free(child);
    return 0;
}

static void on_exit_seen(void *context, IoProcessExit how)
{
    Child *child = context;

    child->n_exits++;
    child->how = how;
    if (child->free_at_exit) {
        child->process = io_process_free(child->process);
    }
}

static int spawn(Child *child, const IoProcessSpec *spec)
{
    return io_process_spawn(&child->process, child->loop, spec, on_exit_seen, child, &child->fds[0],
                            &child->fds[1], &child->fds[2], &child->diag);
}

/* Starts a script by the shell. */
static void spawn_shell(Child *child, const char *script, IoProcessWire wire)
{
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    IoProcessSpec spec = {.argv = argv, .wire = wire};

    assert_int_equal(spawn(child, &spec), 0);
}

/* Signals (children end) interrupt the wait. */
static void wait_readable(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int n;

    do {
        n = poll(&wait, 1, -1);
    } while (n < 0 && errno == EINTR);
    assert_int_equal(n, 1);
}

/* All that comes until the end. */
static void read_all(int fd, char *text, size_t size)
{
    size_t n = 0;

    for (;;) {
        ssize_t part;

        wait_readable(fd);
        part = read(fd, text + n, size - 1 - n);
        assert_true(part >= 0);
        if (part == 0) {
            text[n] = '\0';
            return;
        }
        n += (size_t)part;
    }
}

/* One line, or what there is of it. */
static void read_line(int fd, char *text, size_t size)
{
    size_t n = 0;

    while (n < size - 1) {
        wait_readable(fd);
        if (read(fd, text + n, 1) != 1 || text[n] == '\n') {
            break;
        }
        n++;
    }
    text[n] = '\0';
}

static void exit_status_is_reported(void **state)
{
    Child *child = *state;

    spawn_shell(child, "exit 7", IO_PROCESS_PIPES);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->n_exits, 1);
    assert_int_equal(child->how.status, 7);
    assert_int_equal(child->how.signum, 0);
}

/* Set back at the end, for the tests that follow. */
static void a_child_may_open_as_many_as_before_its_starter_took_more(void **state)
{
    Child *child = *state;
    struct rlimit before;
    struct rlimit low;
    struct rlimit raised;
    char text[64];

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){.rlim_cur = 256, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    io_allow_many_descriptors();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &raised), 0);
    assert_int_equal(raised.rlim_cur, before.rlim_max);
    spawn_shell(child, "ulimit -Sn", IO_PROCESS_PIPES);
    read_line(child->fds[1], text, sizeof(text));
    assert_string_equal(text, "256");
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void a_signal_is_reported(void **state)
{
    Child *child = *state;

    spawn_shell(child, "kill -USR1 $$", IO_PROCESS_PIPES);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->how.status, -1);
    assert_int_equal(child->how.signum, SIGUSR1);
}

static void the_three_wires_are_apart(void **state)
{
    static const IoProcessWire wires[] = {IO_PROCESS_PIPES, IO_PROCESS_SOCKETS};

    for (size_t i = 0; i < TW_ARRAY_SIZE(wires); i++) {
        Child *child = *state;
        char text[64];

        spawn_shell(child, "read x; echo out $x; echo err >&2", wires[i]);
        for (int k = 0; k < 3; k++) {
            assert_true((fcntl(child->fds[k], F_GETFL) & O_NONBLOCK) != 0);
            assert_int_equal(fcntl(child->fds[k], F_GETFD), FD_CLOEXEC);
        }
        assert_int_equal(write(child->fds[0], "word\n", 5), 5);
        read_all(child->fds[1], text, sizeof(text));
        assert_string_equal(text, "out word\n");
        read_all(child->fds[2], text, sizeof(text));
        assert_string_equal(text, "err\n");
        assert_int_equal(io_loop_run(child->loop), 0);
        assert_int_equal(child->how.status, 0);
        for (int k = 0; k < 3; k++) {
            close_fd(&child->fds[k]);
        }
        child->process = io_process_free(child->process);
    }
}

/* Whatever becomes of us: nothing of ours runs between its start and what it has read. */
static void its_input_is_there_before_it_begins(void **state)
{
    static const size_t sizes[] = {1, 4096, 65536, 65537, (size_t)3 * 1024 * 1024};
    const char *argv[] = {"/bin/sh", "-c", "cat | wc -c", NULL};
    Child *child = *state;
    char *input = malloc(sizes[4]);
    char text[64];
    char expected[64];

    assert_non_null(input);
    memset(input, 'x', sizes[4]);
    for (size_t i = 0; i < 5; i++) {
        IoProcessSpec spec = {.argv = argv, .input = span_make(input, sizes[i])};

        child->n_exits = 0;
        assert_int_equal(spawn(child, &spec), 0);
        assert_int_equal(child->fds[0], -1);
        read_all(child->fds[1], text, sizeof(text));
        (void)snprintf(expected, sizeof(expected), "%zu\n", sizes[i]);
        assert_string_equal(text, expected);
        assert_int_equal(io_loop_run(child->loop), 0);
        assert_int_equal(child->n_exits, 1);
        assert_int_equal(child->how.status, 0);
        child->process = io_process_free(child->process);
        close_fd(&child->fds[1]);
        close_fd(&child->fds[2]);
    }
    free(input);
}

/* By its name, too. */
static void its_input_can_be_opened(void **state)
{
    const char *argv[] = {"/bin/sh", "-c", "head -c 4 /dev/stdin", NULL};
    char input[100000];
    Child *child = *state;
    IoProcessSpec spec = {.argv = argv};
    char text[64];

    memset(input, 'x', sizeof(input));
    memcpy(input, "abcd", 4);
    for (size_t n = 8; n <= sizeof(input); n += sizeof(input) - 8) {
        spec.input = span_make(input, n);
        assert_int_equal(spawn(child, &spec), 0);
        read_all(child->fds[1], text, sizeof(text));
        assert_string_equal(text, "abcd");
        assert_int_equal(io_loop_run(child->loop), 0);
        child->process = io_process_free(child->process);
        close_fd(&child->fds[1]);
        close_fd(&child->fds[2]);
    }
}

static void pipes_can_be_opened_by_name(void **state)
{
    Child *child = *state;
    char text[64];

    spawn_shell(child, "cat /dev/stdin > /dev/stdout", IO_PROCESS_PIPES);
    assert_int_equal(write(child->fds[0], "word\n", 5), 5);
    close_fd(&child->fds[0]);
    read_all(child->fds[1], text, sizeof(text));
    assert_string_equal(text, "word\n");
    assert_int_equal(io_loop_run(child->loop), 0);
}

static void the_child_sees_blocking_wires_and_nothing_else_of_ours(void **state)
{
    Child *child = *state;
    char text[64];
    char script[256];
    int ours[3] = {-1, -1, -1};
    int n = 0;

    /* The numbers that the wires get now are those that a child would find open. */
    for (int i = 0; i < 3; i++) {
        ours[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    for (int i = 0; i < 3; i++) {
        n += snprintf(script + n, sizeof(script) - (size_t)n, "[ -e /proc/$$/fd/%d ] && echo leak;",
                      ours[i]);
        (void)close(ours[i]);
    }
    (void)snprintf(script + n, sizeof(script) - (size_t)n, "grep flags /proc/self/fdinfo/0");
    spawn_shell(child, script, IO_PROCESS_PIPES);
    read_all(child->fds[1], text, sizeof(text));
    assert_int_equal(strtol(text + strlen("flags:"), NULL, 8) & O_NONBLOCK, 0);
    assert_int_equal(strncmp(text, "flags:", 6), 0);
    assert_int_equal(io_loop_run(child->loop), 0);
}

/* 32 and 33, which glibc keeps for itself: no program can set them, and what was started by GNU
 * make (posix_spawn of some versions) has them ignored. */
#define INTERNAL_SIGNALS 0x180000000ull

/* The set on the line of /proc/self/status that begins with name, without the above. */
static unsigned long long signal_set(const char *status, const char *name)
{
    const char *line = strstr(status, name);

    assert_non_null(line);
    return strtoull(line + strlen(name), NULL, 16) & ~INTERNAL_SIGNALS;
}

static void the_child_gets_ordinary_signals(void **state)
{
    Child *child = *state;
    char text[256];
    sigset_t blocked;
    sigset_t before;

    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
    io_ignore_sigpipe();
    io_ignore_sigxfsz();
    spawn_shell(child, "grep -E 'Sig(Blk|Ign)' /proc/self/status", IO_PROCESS_PIPES);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    read_all(child->fds[1], text, sizeof(text));
    assert_int_equal(signal_set(text, "SigBlk:\t"), 0);
    assert_int_equal(signal_set(text, "SigIgn:\t"), 0);
    assert_int_equal(io_loop_run(child->loop), 0);
}

static void environment_and_folder_are_what_was_said(void **state)
{
    Child *child = *state;
    static const char *const argv[] = {"sh", "-c", "echo $WORD $HOME; pwd", NULL};
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "WORD=yes", NULL};
    IoProcessSpec spec = {.argv = argv, .environment = environment, .folder = "/usr"};
    char text[64];

    assert_int_equal(spawn(child, &spec), 0);
    read_all(child->fds[1], text, sizeof(text));
    assert_string_equal(text, "yes\n/usr\n");
    assert_int_equal(io_loop_run(child->loop), 0);
}

static void a_program_is_looked_up_in_the_given_path(void **state)
{
    Child *child = *state;
    static const char *const argv[] = {"sh", NULL};
    static const char *const environment[] = {"PATH=/nowhere", NULL};
    IoProcessSpec spec = {.argv = argv, .environment = environment};

    assert_int_equal(spawn(child, &spec), IO_PROCESS_E_CANNOT_START);
    assert_int_equal(child->diag.code, IO_PROCESS_E_CANNOT_START);
    assert_string_equal(child->diag.message, "cannot start sh: no such file or directory");
    assert_null(child->process);
    assert_int_equal(child->fds[0], -1);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->n_exits, 0);
}

static void what_cannot_be_started_is_explained(void **state)
{
    Child *child = *state;
    static const char *const no_program[] = {"/etc/passwd", NULL};
    static const char *const fine[] = {"/bin/true", NULL};
    IoProcessSpec spec = {.argv = no_program};

    assert_int_equal(spawn(child, &spec), IO_PROCESS_E_CANNOT_START);
    assert_string_equal(child->diag.message, "cannot start /etc/passwd: permission denied");
    spec = (IoProcessSpec){.argv = fine, .folder = "/nowhere/at/all"};
    assert_int_equal(spawn(child, &spec), IO_PROCESS_E_CANNOT_START);
    assert_non_null(strstr(child->diag.message, "its folder /nowhere/at/all"));
}

static void an_inherited_stderr_has_no_descriptor(void **state)
{
    Child *child = *state;
    static const char *const argv[] = {"/bin/true", NULL};
    IoProcessSpec spec = {.argv = argv, .inherit_stderr = true};

    child->fds[2] = 99;
    assert_int_equal(spawn(child, &spec), 0);
    assert_int_equal(child->fds[2], -1);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->how.status, 0);
}

static bool is_alive(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static void ending_reaches_the_grandchildren(void **state)
{
    Child *child = *state;
    char text[64];

    spawn_shell(child, "sleep 1000 & echo $!; wait", IO_PROCESS_PIPES);
    read_line(child->fds[1], text, sizeof(text));
    assert_true(is_alive((pid_t)strtol(text, NULL, 10)));
    io_process_end(child->process, 60000);
    io_process_end(child->process, 60000);
    /* The end of the output is the proof: nobody holds the pipe any more. */
    read_all(child->fds[1], text, sizeof(text));
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->how.signum, SIGTERM);
    assert_int_equal(child->n_exits, 1);
}

static void what_ignores_term_is_killed(void **state)
{
    Child *child = *state;
    char text[64];

    spawn_shell(child, "trap '' TERM; sh -c 'echo ready; exec sleep 1000'; exec sleep 1000",
                IO_PROCESS_PIPES);
    read_line(child->fds[1], text, sizeof(text));
    assert_string_equal(text, "ready");
    io_process_end(child->process, 5);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->how.signum, SIGKILL);
    read_all(child->fds[1], text, sizeof(text));
}

/* Looks every millisecond whether the output has ended. */
static void look_for_end(void *context)
{
    Child *child = context;
    struct pollfd wait = {.fd = child->fds[1]};

    (void)poll(&wait, 1, 0);
    if ((wait.revents & POLLHUP) == 0) {
        io_timer_start_at(child->timer, io_loop_now_ms(child->loop) + 1);
    }
}

static void end_stubborn_grandchild(Child *child, bool free_it)
{
    char text[64];

    spawn_shell(child,
                "sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1000; done' & "
                "wait",
                IO_PROCESS_PIPES);
    read_line(child->fds[1], text, sizeof(text));
    io_process_end(child->process, 5);
    assert_int_equal(io_loop_run(child->loop), 0); /* until the child has exited */
    assert_int_equal(child->how.signum, SIGTERM);
    if (free_it) {
        child->process = io_process_free(child->process);
    } else {
        IoTimer *timer = NULL;

        /* Keeps the loop running while the grandchild lives. */
        assert_int_equal(io_timer_new(&timer, child->loop, false, look_for_end, child), 0);
        child->timer = timer;
        look_for_end(child);
        assert_int_equal(io_loop_run(child->loop), 0);
        timer = io_timer_free(timer);
    }
    read_all(child->fds[1], text, sizeof(text));
}

static void a_stubborn_grandchild_is_killed_when_its_time_is_over(void **state)
{
    end_stubborn_grandchild(*state, false);
}

static void a_stubborn_grandchild_is_killed_by_free(void **state)
{
    end_stubborn_grandchild(*state, true);
}

/* Until the grandchild has closed the output; keeps the loop running meanwhile. */
static void run_until_output_ends(Child *child)
{
    assert_int_equal(io_timer_new(&child->timer, child->loop, false, look_for_end, child), 0);
    look_for_end(child);
    assert_int_equal(io_loop_run(child->loop), 0);
    child->timer = io_timer_free(child->timer);
}

static void what_a_retired_child_left_is_told_to_end(void **state)
{
    Child *child = *state;
    char text[64];

    /* It waits without starting anything: what it started in the moment of TERM would not get it.
     */
    spawn_shell(child,
                "exec 3<&0; sh -c 'trap \"echo told; exit\" TERM; echo ready; read x <&3' & exit 3",
                IO_PROCESS_PIPES);
    read_line(child->fds[1], text, sizeof(text));
    assert_string_equal(text, "ready");
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->how.status, 3);
    child->process = io_process_retire(child->process, 60000);
    assert_int_equal(io_loop_run(child->loop), 0); /* does not wait for the time to pass */
    read_all(child->fds[1], text, sizeof(text));
    assert_string_equal(text, "told\n");
    assert_int_equal(child->n_exits, 1);
}

/* A child that has exited and left a process that does not listen to TERM. */
static void leave_stubborn_grandchild(Child *child)
{
    char text[64];

    spawn_shell(child, "sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1000; done' & read x",
                IO_PROCESS_PIPES);
    read_line(child->fds[1], text, sizeof(text));
    assert_string_equal(text, "ready");
    close_fd(&child->fds[0]);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->n_exits, 1);
}

static void what_a_retired_child_left_is_killed_when_its_time_is_over(void **state)
{
    Child *child = *state;
    char text[64];

    leave_stubborn_grandchild(child);
    child->process = io_process_retire(child->process, 5);
    run_until_output_ends(child);
    read_all(child->fds[1], text, sizeof(text));
}

static void what_a_retired_child_left_is_killed_with_the_loop(void **state)
{
    Child *child = *state;
    char text[64];

    leave_stubborn_grandchild(child);
    child->process = io_process_retire(child->process, 60000);
    child->loop = io_loop_free(child->loop);
    read_all(child->fds[1], text, sizeof(text));
}

static void retiring_goes_on_with_an_end_that_has_begun(void **state)
{
    Child *child = *state;
    char text[64];

    spawn_shell(child,
                "sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1000; done' & "
                "wait",
                IO_PROCESS_PIPES);
    read_line(child->fds[1], text, sizeof(text));
    io_process_end(child->process, 5);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->how.signum, SIGTERM);
    child->process = io_process_retire(child->process, 60000); /* not a new start */
    run_until_output_ends(child);
    read_all(child->fds[1], text, sizeof(text));
}

static void a_child_that_runs_is_killed_when_it_is_retired(void **state)
{
    Child *child = *state;
    char text[64];

    spawn_shell(child, "trap '' TERM; sleep 1000 & echo ready; wait", IO_PROCESS_PIPES);
    read_line(child->fds[1], text, sizeof(text));
    child->process = io_process_retire(child->process, 60000);
    read_all(child->fds[1], text, sizeof(text));
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->n_exits, 0);
}

static void a_child_that_left_nothing_is_retired_at_once(void **state)
{
    Child *child = *state;

    assert_null(io_process_retire(NULL, 1));
    spawn_shell(child, "exit 0", IO_PROCESS_PIPES);
    assert_int_equal(io_loop_run(child->loop), 0);
    child->process = io_process_retire(child->process, 60000);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(alloc_testing()->n_live, 1); /* the loop */
}

static void freeing_a_running_child_kills_and_reaps_it(void **state)
{
    Child *child = *state;
    char text[64];
    pid_t pid;

    spawn_shell(child, "trap '' TERM; sleep 1000 & echo ready; wait", IO_PROCESS_PIPES);
    read_line(child->fds[1], text, sizeof(text));
    pid = (pid_t)io_process_pid(child->process);
    assert_true(is_alive(pid));
    child->process = io_process_free(child->process);
    read_all(child->fds[1], text, sizeof(text));
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_false(is_alive(pid));
    assert_int_equal(child->n_exits, 0);
}

static void a_child_may_be_freed_when_it_exits(void **state)
{
    Child *child = *state;

    child->free_at_exit = true;
    spawn_shell(child, "exit 0", IO_PROCESS_PIPES);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->n_exits, 1);
    assert_null(child->process);
}

static void a_grandchild_that_keeps_the_pipe_does_not_delay_the_exit(void **state)
{
    Child *child = *state;
    char text[64];

    spawn_shell(child, "sleep 1000 & echo $!", IO_PROCESS_PIPES);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->n_exits, 1);
    read_line(child->fds[1], text, sizeof(text));
    assert_int_equal(kill((pid_t)strtol(text, NULL, 10), SIGKILL), 0);
}

static void a_child_that_somebody_else_has_reaped_has_ended_too(void **state)
{
    Child *child = *state;
    pid_t pid;

    spawn_shell(child, "exit 7", IO_PROCESS_PIPES);
    pid = (pid_t)io_process_pid(child->process);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)alarm(WATCHDOG_S);
    assert_int_equal(io_loop_run(child->loop), 0);
    (void)alarm(0);
    assert_int_equal(child->n_exits, 1);
    assert_int_equal(child->how.status, -1);
    assert_int_equal(child->how.signum, 0);
}

/* Two children that have ended before the loop looks. */
typedef struct Pair {
    IoProcess *processes[2];
    int n_exits;
    bool frees; /* the first that is told of frees the other */
} Pair;

static void on_exit_of_either(void *context, IoProcessExit how)
{
    Pair *pair = context;

    (void)how;
    pair->n_exits++;
    if (pair->frees) {
        pair->processes[0] = io_process_free(pair->processes[0]);
        pair->processes[1] = io_process_free(pair->processes[1]);
    }
}

/* Gives how many exits were told. */
static int run_pair(Child *child, bool frees)
{
    static const char *const argv[] = {"/bin/true", NULL};
    IoProcessSpec spec = {.argv = argv};
    Pair pair = {.frees = frees};
    sigset_t blocked;

    /* One signal for both: the second would only repair what the first did wrong. */
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(io_process_spawn(&pair.processes[i], child->loop, &spec, on_exit_of_either,
                                          &pair, &child->fds[0], &child->fds[1], &child->fds[2],
                                          &child->diag),
                         0);
        for (int k = 0; k < 3; k++) {
            close_fd(&child->fds[k]);
        }
    }
    for (int i = 0; i < 2; i++) {
        siginfo_t info;
        int r;

        do {
            r = waitid(P_PID, (id_t)io_process_pid(pair.processes[i]), &info, WEXITED | WNOWAIT);
        } while (r != 0 && errno == EINTR);
        assert_int_equal(r, 0);
    }
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &blocked, NULL), 0);
    (void)alarm(WATCHDOG_S);
    assert_int_equal(io_loop_run(child->loop), 0);
    (void)alarm(0);
    pair.processes[0] = io_process_free(pair.processes[0]);
    pair.processes[1] = io_process_free(pair.processes[1]);
    return pair.n_exits;
}

static void children_that_end_together_are_told_one_by_one(void **state)
{
    assert_int_equal(run_pair(*state, false), 2);
    assert_int_equal(run_pair(*state, true), 1);
}

/* In a process without standard descriptors of its own: 0 if the wires are right all the same. */
static int use_low_descriptors(void)
{
    static const char *const argv[] = {"/bin/sh", "-c", "read x; echo out $x; echo err >&2", NULL};
    IoProcessSpec spec = {.argv = argv};
    Child child = {.fds = {-1, -1, -1}};
    char text[64];

    if (io_loop_new(&child.loop) != 0) {
        return 1;
    }
    for (int fd = 0; fd < 3; fd++) {
        (void)close(fd);
    }
    if (spawn(&child, &spec) != 0 || write(child.fds[0], "word\n", 5) != 5) {
        return 2;
    }
    read_all(child.fds[1], text, sizeof(text));
    if (strcmp(text, "out word\n") != 0) {
        return 3;
    }
    read_all(child.fds[2], text, sizeof(text));
    return strcmp(text, "err\n") == 0 ? 0 : 4;
}

static void wires_may_have_the_numbers_that_they_are_to_replace(void **state)
{
    pid_t pid = fork();
    int status = -1;

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(use_low_descriptors());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#ifdef __linux__
/* Starts a child that says when its input has ended, and is killed itself, which ends that input.
 */
static void start_and_die(int err_fd, bool dies_with_thread)
{
    static const char *const argv[] = {"/bin/sh", "-c", "trap '' TERM HUP; read x; echo alive >&2",
                                       NULL};
    IoProcessSpec spec = {
        .argv = argv, .inherit_stderr = true, .dies_with_thread = dies_with_thread};
    Child child = {.fds = {-1, -1, -1}};

    (void)dup2(err_fd, STDERR_FILENO);
    if (io_loop_new(&child.loop) == 0 && spawn(&child, &spec) == 0) {
        if (dies_with_thread) {
            /* Its input stays open for a while, so that nothing but the signal ends it. */
            (void)fcntl(child.fds[0], F_SETFD, 0);
            if (fork() == 0) {
                (void)close(STDOUT_FILENO);
                (void)close(STDERR_FILENO);
                (void)close(err_fd);
                (void)execl("/bin/sleep", "sleep", "5", (char *)NULL);
                _exit(1);
            }
        }
        (void)kill(getpid(), SIGKILL);
    }
    _exit(1);
}

static void check_end_of_starter(bool dies_with_thread, const char *expected)
{
    int fds[2];
    char text[64];
    int status;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        start_and_die(fds[1], dies_with_thread);
    }
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    read_all(fds[0], text, sizeof(text)); /* nobody has it any more */
    assert_string_equal(text, expected);
    assert_int_equal(close(fds[0]), 0);
}

static void a_child_dies_with_its_starter_if_asked_to(void **state)
{
    (void)state;
    check_end_of_starter(true, "");
    check_end_of_starter(false, "alive\n");
}
#endif

static int spawn_true(void *context)
{
    static const char *const argv[] = {"/bin/true", NULL};
    IoProcessSpec spec = {.argv = argv};
    Child child = {.fds = {-1, -1, -1}};
    int r = io_loop_new(&child.loop);

    (void)context;
    if (r == 0) {
        r = spawn(&child, &spec);
    }
    if (r == 0) {
        r = io_loop_run(child.loop);
    }
    for (int i = 0; i < 3; i++) {
        close_fd(&child.fds[i]);
    }
    child.process = io_process_free(child.process);
    child.loop = io_loop_free(child.loop);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(spawn_true, NULL);
}

static void signals_have_names(void **state)
{
    (void)state;
    assert_string_equal(io_process_signal_name(SIGTERM), "TERM");
    assert_null(io_process_signal_name(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_have_names),
        cmocka_unit_test_setup_teardown(exit_status_is_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(a_signal_is_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_may_open_as_many_as_before_its_starter_took_more,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(the_three_wires_are_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(pipes_can_be_opened_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(its_input_is_there_before_it_begins, setup, teardown),
        cmocka_unit_test_setup_teardown(its_input_can_be_opened, setup, teardown),
        cmocka_unit_test_setup_teardown(the_child_sees_blocking_wires_and_nothing_else_of_ours,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(the_child_gets_ordinary_signals, setup, teardown),
        cmocka_unit_test_setup_teardown(environment_and_folder_are_what_was_said, setup, teardown),
        cmocka_unit_test_setup_teardown(a_program_is_looked_up_in_the_given_path, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_started_is_explained, setup, teardown),
        cmocka_unit_test_setup_teardown(an_inherited_stderr_has_no_descriptor, setup, teardown),
        cmocka_unit_test_setup_teardown(ending_reaches_the_grandchildren, setup, teardown),
        cmocka_unit_test_setup_teardown(what_ignores_term_is_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stubborn_grandchild_is_killed_when_its_time_is_over,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_stubborn_grandchild_is_killed_by_free, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_retired_child_left_is_told_to_end, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_retired_child_left_is_killed_when_its_time_is_over,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_retired_child_left_is_killed_with_the_loop, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(retiring_goes_on_with_an_end_that_has_begun, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_child_that_runs_is_killed_when_it_is_retired, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_child_that_left_nothing_is_retired_at_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(freeing_a_running_child_kills_and_reaps_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_child_may_be_freed_when_it_exits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_grandchild_that_keeps_the_pipe_does_not_delay_the_exit,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_that_somebody_else_has_reaped_has_ended_too, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(children_that_end_together_are_told_one_by_one, setup,
                                        teardown),
        cmocka_unit_test(wires_may_have_the_numbers_that_they_are_to_replace),
#ifdef __linux__
        cmocka_unit_test(a_child_dies_with_its_starter_if_asked_to),
#endif
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
