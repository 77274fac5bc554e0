/* What a process has from the start; declared in io/loop.h and io/loop_internal.h. */
#include "io/loop_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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
