/* What a process has from the start; declared in io/loop.h and io/loop_internal.h. */
#include "io/loop_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"

/* Descriptors 0, 1 and 2 are taken before the loop makes its own: a program that was started with
 * one of them closed would find the loop's epoll or pipe there, read from it and print into it; and
 * libuv refuses to close what has such a number, by an assertion. Children get them too, as they
 * would get the real ones. */
int io_take_standard_descriptors(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        int fd;

        if (fcntl(i, F_GETFD) >= 0) {
            continue;
        }
        fd = open("/dev/null", O_RDWR); /* the lowest free number: i */
        if (fd < 0) {
            return err_raise(-errno);
        }
        if (fd > STDERR_FILENO) {
            (void)close(fd); /* another thread was faster, and has taken i */
        }
    }
    return 0;
}

void io_ignore_sigpipe(void)
{
    struct sigaction action = {.sa_handler = SIG_IGN};

    (void)sigaction(SIGPIPE, &action, NULL);
}

void io_ignore_sigxfsz(void)
{
    struct sigaction action = {.sa_handler = SIG_IGN};

    (void)sigaction(SIGXFSZ, &action, NULL);
}

/* What this process was given, if it took more; 0: it did not. Like the limit itself it belongs to
 * the process, and a child that is being started can look nowhere else. */
static _Atomic rlim_t given_descriptors;

void io_allow_many_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        atomic_store(&given_descriptors, limit.rlim_cur);
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void io_allow_given_descriptors(void)
{
    struct rlimit limit;
    rlim_t given = atomic_load(&given_descriptors);

    if (given != 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = given;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}
