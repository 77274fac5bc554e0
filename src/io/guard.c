#include "io/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* What an entry is when it is no group: 1 leads no group of ours, and kill(-1) is for everybody. A
 * group without a leader is its number below zero. */
#define ENTRY_FREE  0
#define ENTRY_TAKEN 1

/* The only descriptors of a guard that are not /dev/null: its end of the pipe; and us, as a file
 * that can be read when we have ended. */
#define GUARD_WIRE_FD  3
#define GUARD_OWNER_FD 4

/* How often it looks whether all have gone. */
#define GUARD_NAP_NS 20000000L

/* How long we wait for it to begin; it takes less than one as a rule. */
#define GUARD_READY_MS 1000

/* What is closed one by one where the system has no call for it; more are not open as a rule. */
#define GUARD_MAX_FDS 65536

/* One for the process, since what it is about is the end of the process. */
static pthread_mutex_t guard_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the three below */
static IoGuardEntry *guard_entries;                             /* shared with the guard */
static int guard_wire_fd = -1; /* nothing is written: what it tells is that an end of it closes */
static pid_t guard_owner;      /* a copy of us that was forked has these variables, and no guard */

/* ---- In the guard, which was forked from a process that may have threads: only what may be called
 * in a signal handler ---- */

static void guard_close_from(int first)
{
    long n = sysconf(_SC_OPEN_MAX);

#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0) {
        return;
    }
#endif
    for (int fd = first; fd < (n > 0 && n < GUARD_MAX_FDS ? (int)n : GUARD_MAX_FDS); fd++) {
        (void)close(fd);
    }
}

/* Lets go of all that was ours. owner_fd: -1: the system has no such thing. */
static void guard_leave_us(int wire_fd, int owner_fd)
{
    int null_fd;

    (void)!chdir("/");
#ifdef __linux__
    (void)prctl(PR_SET_NAME, "toolwire-guard");
#endif
    /* Out of the way of the numbers that are about to be replaced. */
    wire_fd = fcntl(wire_fd, F_DUPFD, GUARD_OWNER_FD + 1);
    owner_fd = fcntl(owner_fd, F_DUPFD, GUARD_OWNER_FD + 1);
    null_fd = open("/dev/null", O_RDWR | O_NOCTTY);
    for (int fd = 0; fd < GUARD_WIRE_FD; fd++) {
        if (null_fd < 0) {
            (void)close(fd);
        } else {
            (void)dup2(null_fd, fd);
        }
    }
    (void)dup2(wire_fd, GUARD_WIRE_FD);
    (void)close(GUARD_OWNER_FD);
    (void)dup2(owner_fd, GUARD_OWNER_FD);
    guard_close_from(GUARD_OWNER_FD + 1); /* last: we wait for it */
}

/* Until we have ended. The pipe ends then, or when we execute another program. Whoever was forked
 * from us and has executed none holds it open, and may outlive us: so we are watched as well. */
static void guard_wait(void)
{
    struct pollfd ends[2] = {{.fd = GUARD_WIRE_FD}, {.fd = GUARD_OWNER_FD, .events = POLLIN}};

    if (fcntl(GUARD_OWNER_FD, F_GETFD) < 0) {
        ends[1].fd = -1;
    }
    while (poll(ends, 2, -1) < 0 && errno == EINTR) {
    }
}

static bool guard_finds_process(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

/* Sends it to one group. False if nobody is left, or may be sent anything: off the list. */
static bool guard_signal(pid_t group, bool has_leader, int signum)
{
    return (has_leader || !guard_finds_process(group)) && kill(-group, signum) == 0;
}

/* signum 0: only looks. How many groups are left. */
static int guard_signal_all(IoGuardEntry *entries, int signum)
{
    int n_left = 0;

    for (int i = 0; i < GUARD_MAX_GROUPS; i++) {
        pid_t value = atomic_load(&entries[i]);
        pid_t group = abs(value);

        if (group <= ENTRY_TAKEN) {
            continue;
        }
        if (!guard_signal(group, value > 0, signum)) {
            atomic_store(&entries[i], ENTRY_FREE);
            continue;
        }
        if (value > 0 && !guard_finds_process(group)) {
            atomic_store(&entries[i], -group);
        }
        n_left++;
    }
    return n_left;
}

static int64_t guard_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static _Noreturn void guard_run(IoGuardEntry *entries)
{
    const struct timespec nap = {.tv_nsec = GUARD_NAP_NS};
    int64_t due_ms;
    int n_left;

    guard_wait();
    due_ms = guard_now_ms() + GUARD_GRACE_MS;
    n_left = guard_signal_all(entries, SIGTERM);
    while (n_left > 0 && guard_now_ms() < due_ms) {
        (void)nanosleep(&nap, NULL);
        n_left = guard_signal_all(entries, 0);
    }
    (void)guard_signal_all(entries, SIGKILL);
    _exit(0);
}

/* ---- In us ---- */

static void guard_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static int guard_open_us(void)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, getpid(), 0u);
#else
    return -1;
#endif
}

/* In the child between. What others have asked to be called after a fork (libuv does) may open
 * descriptors: so all are closed after the last one. */
static _Noreturn void guard_begin(IoGuardEntry *entries, int wire_fd, int owner_fd)
{
    (void)setsid(); /* cannot fail: a new process leads no group */
    if (fork() == 0) {
        guard_leave_us(wire_fd, owner_fd);
        guard_run(entries);
    }
    _exit(0);
}

/* The guard is a child of a child that ends at once: nobody here has to reap it, or is surprised by
 * a child that he did not start. Returns when it holds nothing of ours any more, of which ready_fd
 * was a part; or when it takes strangely long. */
static void guard_fork(IoGuardEntry *entries, int wire_fd, int ready[2])
{
    struct pollfd is_ready = {.fd = ready[0]};
    int owner_fd = guard_open_us();
    sigset_t all;
    sigset_t before;
    pid_t pid;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* and so it stays in the guard */
    pid = fork();
    if (pid == 0) {
        guard_begin(entries, wire_fd, owner_fd);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    guard_close(&owner_fd);
    guard_close(&ready[1]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    while (poll(&is_ready, 1, GUARD_READY_MS) < 0 && errno == EINTR) {
    }
}

/* Its end of the pipe is closed by its death alone. */
static bool guard_is_there(void)
{
    struct pollfd wire = {.fd = guard_wire_fd};

    return guard_wire_fd >= 0 && poll(&wire, 1, 0) == 0;
}

/* Who has copied us by fork keeps the old list, of which it may hold entries, and makes a new one.
 */
static bool guard_have_entries(void)
{
    void *page;

    if (guard_owner == getpid()) {
        return true;
    }
    page = mmap(NULL, sizeof(*guard_entries) * GUARD_MAX_GROUPS, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return false;
    }
    guard_close(&guard_wire_fd);
    guard_entries = page;
    guard_owner = getpid();
    return true;
}

/* The list with somebody who watches; NULL if that cannot be had. */
static IoGuardEntry *guard_have(void)
{
    int wire[2] = {-1, -1};
    int ready[2] = {-1, -1};

    if (!guard_have_entries()) {
        return NULL;
    }
    if (guard_is_there()) {
        return guard_entries;
    }
    guard_close(&guard_wire_fd);
    if (pipe2(wire, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0) {
        guard_fork(guard_entries, wire[0], ready);
    }
    guard_close(&wire[0]);
    guard_close(&ready[0]);
    guard_close(&ready[1]);
    guard_wire_fd = wire[1];
    return guard_is_there() ? guard_entries : NULL;
}

IoGuardEntry *io_guard_take(void)
{
    IoGuardEntry *entries;

    (void)pthread_mutex_lock(&guard_mutex);
    entries = guard_have();
    (void)pthread_mutex_unlock(&guard_mutex);
    for (int i = 0; entries != NULL && i < GUARD_MAX_GROUPS; i++) {
        pid_t expected = ENTRY_FREE;

        if (atomic_compare_exchange_strong(&entries[i], &expected, ENTRY_TAKEN)) {
            return &entries[i];
        }
    }
    return NULL;
}

void io_guard_set_group(IoGuardEntry *entry, pid_t group)
{
    if (entry != NULL) {
        atomic_store(entry, group);
    }
}

void io_guard_set_leaderless(IoGuardEntry *entry)
{
    if (entry != NULL) {
        atomic_store(entry, -abs(atomic_load(entry)));
    }
}

IoGuardEntry *io_guard_release(IoGuardEntry *entry)
{
    if (entry != NULL) {
        atomic_store(entry, ENTRY_FREE);
    }
    return NULL;
}
