#include "io/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/error.h"
#include "io/descriptor.h"

/* The first descriptor that is not one of the standard three. */
#define STDIO_FIRST_FREE 3

static void stdio_close(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* What else we were started with is nobody's business but ours. Older kernels lack the call; then
 * children get what they always got. */
static void stdio_keep_from_children(void)
{
#ifdef CLOSE_RANGE_CLOEXEC
    (void)close_range(STDIO_FIRST_FREE, UINT_MAX, CLOSE_RANGE_CLOEXEC);
#endif
}

/* /dev/null, above the standard descriptors even if one of these is closed. */
static int stdio_open_null(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int moved;

    if (fd < 0 || fd >= STDIO_FIRST_FREE) {
        return fd < 0 ? -errno : fd;
    }
    moved = fcntl(fd, F_DUPFD_CLOEXEC, STDIO_FIRST_FREE);
    if (moved < 0) {
        moved = -errno;
    }
    stdio_close(fd);
    return moved;
}

/* The descriptor `to` becomes a twin of `from`, both open: can only be interrupted, or race with an
 * open that is under way. */
static void stdio_point(int to, int from)
{
    while (dup2(from, to) < 0 && (errno == EINTR || errno == EBUSY)) {
    }
}

int io_stdio_claim(int *ret_in_fd, int *ret_out_fd)
{
    int in_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDIO_FIRST_FREE);
    int out_fd = -1;
    int null_fd = -1;
    int r = 0;

    if (in_fd < 0) {
        return err_raise(-errno);
    }
    out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDIO_FIRST_FREE);
    if (out_fd < 0) {
        r = err_raise(-errno);
        goto out;
    }
    null_fd = stdio_open_null();
    if (null_fd < 0) {
        r = err_raise(null_fd);
        goto out;
    }
    /* A closed 2 would become the next file that anybody opens, and then receive our log. */
    if (fcntl(STDERR_FILENO, F_GETFD) < 0) {
        stdio_point(STDERR_FILENO, null_fd);
    }
    stdio_point(STDIN_FILENO, null_fd);
    stdio_point(STDOUT_FILENO, STDERR_FILENO);
    io_descriptor_widen(out_fd);
    stdio_keep_from_children();
    *ret_in_fd = in_fd;
    *ret_out_fd = out_fd;
    in_fd = -1;
    out_fd = -1;
out:
    stdio_close(null_fd);
    stdio_close(out_fd);
    stdio_close(in_fd);
    return r;
}
