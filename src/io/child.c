/* A program run to its end, as POSIX has it; the other half is windows/child.c.
 *
 * The thread that calls does everything: poll on the pipes, and waitpid for this very child, so
 * that it gets into no loop's way (io/process.c waits for its own children by their numbers, too).
 * Every CHILD_TICK_MS it looks up from the pipes, at the cancel flag and at the child: one that has
 * ended may have left somebody who holds its stdout. */
#include "io/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <uv.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/process_start.h"

#define CHILD_TICK_MS 10

/* Bytes asked of the system at a time; and what a pipe holds, so that the child seldom waits. */
#define CHILD_STEP ((size_t)64 * 1024)
#define CHILD_PIPE (1024 * 1024)

/* Between TERM and KILL: a program that has files to put away needs less. */
#define CHILD_GRACE_MS 20

#define CHILD_NAP_FIRST_NS 100000L
#define CHILD_NAP_LAST_NS  (CHILD_TICK_MS * 1000000L)

typedef struct Child {
    const IoChildSpec *spec;
    Bytes *errors;
    char *buffer;  /* CHILD_STEP bytes */
    int ours[3];   /* -1: closed */
    int theirs[3]; /* until it is started */
    Span input;    /* still to be written */
    pid_t pid;
    IoGuardEntry *guarded;
    bool has_ended; /* may be reaped */
} Child;

static void child_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static void child_deinit(Child *child)
{
    for (int i = 0; i < 3; i++) {
        child_close(&child->ours[i]);
        child_close(&child->theirs[i]);
    }
    child->buffer = mem_free(child->buffer);
}

/* ---- its wires ---- */

static int child_open_wire(Child *child, int index)
{
    int ours = index == 0 ? 1 : 0;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0) {
        return err_raise(-errno);
    }
    child->ours[index] = fds[ours];
    child->theirs[index] = fds[1 - ours];
    if (fcntl(fds[ours], F_SETFL, fcntl(fds[ours], F_GETFL) | O_NONBLOCK) != 0) {
        return err_raise(-errno);
    }
    return 0;
}

static int child_open_null(Child *child, int index)
{
    child->theirs[index] = open("/dev/null", (index == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
    return child->theirs[index] < 0 ? err_raise(-errno) : 0;
}

static int child_open_wires(Child *child)
{
    int r = child->input.n > 0 ? child_open_wire(child, 0) : child_open_null(child, 0);

    if (r == 0) {
        r = child_open_wire(child, 1);
    }
    if (r == 0) {
        r = child->errors != NULL ? child_open_wire(child, 2) : child_open_null(child, 2);
    }
#ifdef F_SETPIPE_SZ
    if (r == 0) {
        /* More than the system lets a user have: then it stays as it is. */
        (void)fcntl(child->ours[1], F_SETPIPE_SZ, CHILD_PIPE);
    }
#endif
    return r;
}

/* What could not be started, and why. */
static int child_explain(const IoChildSpec *spec, int r, Diag *reterr_diag)
{
    struct stat info;

    if (r == -ENOMEM || r == -EMFILE || r == -ENFILE) {
        return err_raise(r);
    }
    if (spec->folder != NULL && (stat(spec->folder, &info) != 0 || !S_ISDIR(info.st_mode))) {
        return diag_set(reterr_diag, IO_CHILD_E_CANNOT_START,
                        "cannot start %s: its folder %s cannot be entered (%s)", spec->argv[0],
                        spec->folder, uv_strerror(r));
    }
    return diag_set(reterr_diag, IO_CHILD_E_CANNOT_START, "cannot start %s: %s", spec->argv[0],
                    uv_strerror(r));
}

static int child_start(Child *child, Diag *reterr_diag)
{
    IoProcessSpec spec = {
        .argv = child->spec->argv,
        .environment = child->spec->environment,
        .folder = child->spec->folder,
        .dies_with_thread = true, /* which is here until the child has gone */
        .confine = child->spec->confine,
    };
    int r;

    child->buffer = mem_alloc(CHILD_STEP);
    if (child->buffer == NULL) {
        return err_raise(-ENOMEM);
    }
    r = child_open_wires(child);
    if (r != 0) {
        return err_pass(r);
    }
    r = io_process_start(&spec, child->theirs, &child->pid, &child->guarded);
    for (int i = 0; i < 3; i++) {
        child_close(&child->theirs[i]);
    }
    return r == 0 ? 0 : child_explain(child->spec, r, reterr_diag);
}

/* ---- what passes through the wires ---- */

/* write, without the signal that a child which does not read would bring to the whole process. */
static ssize_t child_write(int fd, Span data)
{
    const struct timespec now = {.tv_nsec = 0};
    sigset_t pipe_signal;
    sigset_t before;
    sigset_t pending;
    ssize_t n;
    int error;

    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    (void)sigpending(&pending);
    n = write(fd, data.p, data.n);
    error = errno;
    if (n < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
        while (sigtimedwait(&pipe_signal, NULL, &now) < 0 && errno == EINTR) {
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}

static void child_feed(Child *child)
{
    ssize_t n = child_write(child->ours[0], child->input);

    if (n > 0) {
        child->input.p += n;
        child->input.n -= (size_t)n;
    }
    /* A child that does not want it all is no fault. */
    if (child->input.n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        child_close(&child->ours[0]);
    }
}

/* Keeps the beginning. 0, -ENOMEM. */
static int child_keep_errors(Child *child, size_t n)
{
    size_t room = child->errors->max_bytes - child->errors->n;
    int r = bytes_append(child->errors, child->buffer, n < room ? n : room);

    return r == 0 ? 0 : err_fold(r);
}

/* Reads once; *ret_more: there may be more at once. Closes at the end. 0, a negative errno,
 * IO_CHILD_E_STOPPED. */
static int child_read(Child *child, int index, bool *ret_more)
{
    ssize_t n = read(child->ours[index], child->buffer, CHILD_STEP);

    *ret_more = n > 0 || (n < 0 && errno == EINTR);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : err_raise(-errno);
    }
    if (n == 0) {
        child_close(&child->ours[index]);
        return 0;
    }
    if (index == 2) {
        return child_keep_errors(child, (size_t)n);
    }
    return child->spec->output(child->spec->context, child->buffer, (size_t)n) == 0
               ? 0
               : IO_CHILD_E_STOPPED;
}

static bool child_is_cancelled(const Child *child)
{
    return child->spec->cancel != NULL && atomic_load(child->spec->cancel);
}

/* What is in the pipe of one that has ended. */
static int child_drain(Child *child, int index)
{
    bool has_more = child->ours[index] >= 0;
    int r = 0;

    while (r == 0 && has_more) {
        r = child_is_cancelled(child) ? IO_CHILD_E_CANCELLED : child_read(child, index, &has_more);
    }
    return r;
}

/* Waits for the wires, a tick at the most, and serves those that are ready. */
static int child_turn(Child *child)
{
    struct pollfd wires[3];
    bool has_more;
    int r = 0;

    for (int i = 0; i < 3; i++) {
        wires[i] = (struct pollfd){.fd = child->ours[i], .events = i == 0 ? POLLOUT : POLLIN};
    }
    if (poll(wires, 3, CHILD_TICK_MS) < 0) {
        return errno == EINTR ? 0 : err_raise(-errno);
    }
    if (wires[0].revents != 0) {
        child_feed(child);
    }
    for (int i = 1; r == 0 && i < 3; i++) {
        if (wires[i].revents != 0) {
            r = child_read(child, i, &has_more);
        }
    }
    return r;
}

/* ---- its end ---- */

/* Whether it can be reaped; it keeps its number, and its group, until it is. */
static bool child_look(Child *child)
{
    siginfo_t info = {.si_pid = 0};
    int r;

    if (child->has_ended) {
        return true;
    }
    do {
        r = waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    } while (r < 0 && errno == EINTR);
    child->has_ended = r < 0 || info.si_pid != 0;
    return child->has_ended;
}

/* Short at first: a child that has closed its output ends at once, as a rule. */
static void child_nap(long *ns)
{
    struct timespec nap = {.tv_nsec = *ns};

    (void)nanosleep(&nap, NULL);
    *ns = *ns * 2 < CHILD_NAP_LAST_NS ? *ns * 2 : CHILD_NAP_LAST_NS;
}

static int64_t child_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* TERM and KILL to its group, which is there as long as the child is not reaped. */
static void child_kill(Child *child)
{
    int64_t due_ms = child_now_ms() + CHILD_GRACE_MS;
    long nap_ns = CHILD_NAP_FIRST_NS;

    (void)kill(-child->pid, SIGTERM);
    while (!child_look(child) && child_now_ms() < due_ms) {
        child_nap(&nap_ns);
    }
    (void)kill(-child->pid, SIGKILL);
}

static IoProcessExit child_reap(Child *child)
{
    int status = 0;
    pid_t pid;

    /* Before its number can be a stranger's. What is left of its group is to stay. */
    child->guarded = io_guard_release(child->guarded);
    do {
        pid = waitpid(child->pid, &status, 0);
    } while (pid < 0 && errno == EINTR);
    if (pid < 0) {
        return (IoProcessExit){.status = -1}; /* reaped by somebody else in this program */
    }
    if (WIFSIGNALED(status)) {
        return (IoProcessExit){.status = -1, .signum = WTERMSIG(status)};
    }
    return (IoProcessExit){.status = WEXITSTATUS(status)};
}

/* Until the child has ended and all that it has printed is read. */
static int child_serve(Child *child)
{
    long nap_ns = CHILD_NAP_FIRST_NS;
    int r = 0;

    while (r == 0) {
        bool is_quiet = child->ours[1] < 0 && child->ours[2] < 0;

        if (child_is_cancelled(child)) {
            return IO_CHILD_E_CANCELLED;
        }
        /* Looked at before the pipes: what it printed before its end is then in them. */
        if (child_look(child)) {
            break;
        }
        if (is_quiet && child->ours[0] < 0) {
            child_nap(&nap_ns);
        } else {
            r = child_turn(child);
        }
    }
    for (int i = 1; r == 0 && i < 3; i++) {
        r = child_drain(child, i);
    }
    return r;
}

int io_child_run(const IoChildSpec *spec, Bytes *errors, IoProcessExit *ret_exit, Diag *reterr_diag)
{
    Child child = {
        .spec = spec,
        .errors = errors,
        .ours = {-1, -1, -1},
        .theirs = {-1, -1, -1},
        .input = spec->input,
    };
    IoProcessExit how;
    int r = child_start(&child, reterr_diag);

    if (r == 0) {
        r = child_serve(&child);
        if (r != 0) {
            child_kill(&child);
        } else if (spec->ends_group) {
            (void)kill(-child.pid, SIGKILL); /* not reaped yet: the number is still its group's */
        }
        how = child_reap(&child);
        if (r == 0) {
            *ret_exit = how;
        }
    }
    child_deinit(&child);
    return r;
}
