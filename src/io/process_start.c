#include "io/process_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/error.h"
#include "io/loop_internal.h"

/* What a shell says of a command that it cannot run; nobody sees it, the errno is read first. */
#define START_EXIT_STATUS 127

/* What a child is given besides its spec. */
typedef struct ChildPlace {
    const int *theirs; /* three */
    pid_t parent;
    IoGuardEntry *entry;
} ChildPlace;

/* ---- In the child, until exec: only what may be called in a signal handler, since another thread
 * may have held any lock in the moment of the fork. (execvp is not on POSIX's list; glibc's and
 * musl's search PATH on the stack, and libuv calls it here as well.) ---- */

static void child_reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int signum = 1; signum < NSIG; signum++) {
        (void)sigaction(signum, &action, NULL); /* some cannot be set, and have not been */
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Out of the way of 0, 1 and 2, which are about to be replaced. */
static int child_lift(int *fd)
{
    if (*fd <= STDERR_FILENO) {
        *fd = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    }
    return *fd < 0 ? -errno : 0;
}

/* One after the other, but none may be overwritten that is still to be used. */
static int child_take_descriptors(const int theirs[3], int *report_fd)
{
    int fds[3];
    int r = child_lift(report_fd);

    for (int i = 0; r == 0 && i < 3; i++) {
        fds[i] = theirs[i];
        if (fds[i] >= 0) {
            r = child_lift(&fds[i]);
        }
    }
    for (int i = 0; r == 0 && i < 3; i++) {
        if (fds[i] < 0) {
            (void)fcntl(i, F_SETFD, 0); /* none there: then the child has none either */
        } else if (dup2(fds[i], i) < 0) {
            r = -errno;
        }
    }
    return r;
}

/* A parent that died before the request was made is noticed by its absence. */
static int child_die_with(pid_t parent)
{
#ifdef __linux__
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        return -errno;
    }
#endif
    return getppid() == parent ? 0 : -ESRCH;
}

/* exec takes strings that it does not change, but is not declared so. */
static char **child_strings(const char *const *strings)
{
    union {
        const char *const *in;
        char **out;
    } same = {.in = strings};

    return same.out;
}

/* Returns only if it fails: a negative errno. */
static int child_exec(const IoProcessSpec *spec, const ChildPlace *place, int *report_fd)
{
    int r;

    child_reset_signals();
    io_allow_given_descriptors();
    (void)setsid(); /* cannot fail: a new process leads no group */
    r = child_take_descriptors(place->theirs, report_fd);
    if (r == 0 && spec->folder != NULL && chdir(spec->folder) != 0) {
        r = -errno;
    }
    if (r == 0 && spec->dies_with_thread) {
        r = child_die_with(place->parent);
    }
    if (r == 0) {
        /* By the child, so that it is never there without its entry; and not before it is sure to
         * be killed with us, since a guard that is at work already does not look for new ones. */
        io_guard_set_group(place->entry, getpid());
    }
    if (r == 0 && spec->confine != NULL) {
        r = io_confine_enter(spec->confine);
    }
    if (r == 0) {
        if (spec->environment != NULL) {
            environ = child_strings(spec->environment); /* PATH is looked up in it */
        }
        (void)execvp(spec->argv[0], child_strings(spec->argv));
        r = -errno;
    }
    return r;
}

/* ---- In the parent ---- */

/* With every signal blocked: a handler that ran in the child would write into pipes that are ours.
 * 0 and *ret_pid, or a negative errno. */
static int start_fork(const IoProcessSpec *spec, const ChildPlace *place, int report_fd,
                      pid_t *ret_pid)
{
    sigset_t all;
    sigset_t before;
    int r = 0;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    *ret_pid = fork();
    if (*ret_pid == 0) {
        r = child_exec(spec, place, &report_fd);
        (void)!write(report_fd, &r, sizeof(r));
        _exit(START_EXIT_STATUS);
    }
    if (*ret_pid < 0) {
        r = -errno;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

/* What the child reports: nothing if it got as far as exec, which closes its end. */
static int start_read_report(int fd)
{
    int report = 0;
    ssize_t n;

    do {
        n = read(fd, &report, sizeof(report));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(report) ? report : 0;
}

/* Until the program runs. 0, or a negative errno: nothing is left to reap. */
static int start_program(const IoProcessSpec *spec, const ChildPlace *place, pid_t *ret_pid)
{
    int report[2];
    pid_t pid;
    int r;

    if (pipe2(report, O_CLOEXEC) != 0) {
        return err_raise(-errno);
    }
    r = start_fork(spec, place, report[1], &pid);
    (void)close(report[1]);
    if (r != 0) {
        (void)close(report[0]);
        return err_raise(r);
    }
    r = start_read_report(report[0]);
    (void)close(report[0]);
    if (r != 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        return err_raise(r);
    }
    *ret_pid = pid;
    return 0;
}

int io_process_start(const IoProcessSpec *spec, const int theirs[3], pid_t *ret_pid,
                     IoGuardEntry **ret_entry)
{
    ChildPlace place = {.theirs = theirs,
                        .parent = getpid(),
                        .entry = spec->dies_with_thread ? io_guard_take() : NULL};
    int r = start_program(spec, &place, ret_pid);

    if (r != 0) {
        (void)io_guard_release(place.entry);
        return err_pass(r);
    }
    *ret_entry = place.entry;
    return 0;
}
