#include "io/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESCRIPTOR_PIPE_BYTES (1024 * 1024)

/* "/proc/self/fd/" and any int. */
#define DESCRIPTOR_PATH_SIZE 32

/* The master side of a pseudo-terminal: opening that anew makes another terminal. */
static bool descriptor_is_pty_master(int fd)
{
#ifdef TIOCGPTN
    unsigned number;

    return ioctl(fd, TIOCGPTN, &number) == 0;
#else
    (void)fd;
    return true;
#endif
}

static int descriptor_reopen(int fd, int mode)
{
    char path[DESCRIPTOR_PATH_SIZE];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void io_descriptor_open(IoDescriptor *d, int fd, bool reads, bool writes)
{
    struct stat info;
    int flags = fcntl(fd, F_GETFL);
    bool is_fifo;
    int fresh;

    *d = IO_DESCRIPTOR_NULL;
    d->fd = fd;
    if (flags < 0 || fstat(fd, &info) != 0) {
        return; /* waiting for it will fail, and say why */
    }
    if (S_ISSOCK(info.st_mode)) {
        d->kind = IO_DESCRIPTOR_SOCKET;
        return;
    }
    is_fifo = S_ISFIFO(info.st_mode);
    if (!is_fifo && isatty(fd) == 1) {
        d->kind = IO_DESCRIPTOR_TERMINAL;
    }
    if ((flags & O_NONBLOCK) != 0 || (!is_fifo && d->kind != IO_DESCRIPTOR_TERMINAL) ||
        (!is_fifo && descriptor_is_pty_master(fd))) {
        return;
    }
    fresh = descriptor_reopen(fd, reads && writes ? O_RDWR : reads ? O_RDONLY : O_WRONLY);
    if (fresh >= 0) {
        d->fd = fresh;
        d->given_fd = fd;
        d->must_try = is_fifo && reads;
    }
}

void io_descriptor_settle(IoDescriptor *d, int flags_before)
{
    if (flags_before < 0 || (flags_before & O_NONBLOCK) != 0) {
        return;
    }
    if (d->kind == IO_DESCRIPTOR_SOCKET) {
        (void)fcntl(d->fd, F_SETFL, flags_before);
    } else {
        d->flags = flags_before;
    }
}

void io_descriptor_abandon(IoDescriptor *d)
{
    if (d->flags >= 0) {
        (void)fcntl(d->fd, F_SETFL, d->flags);
    }
    if (d->given_fd >= 0) {
        (void)close(d->fd);
    }
    *d = IO_DESCRIPTOR_NULL;
}

void io_descriptor_close(IoDescriptor *d)
{
    int given_fd = d->given_fd >= 0 ? d->given_fd : d->fd;

    io_descriptor_abandon(d);
    if (given_fd >= 0) {
        (void)close(given_fd);
    }
}

ssize_t io_descriptor_read(const IoDescriptor *d, char *p, size_t n)
{
    ssize_t n_read;

    do {
        n_read =
            d->kind == IO_DESCRIPTOR_SOCKET ? recv(d->fd, p, n, MSG_DONTWAIT) : read(d->fd, p, n);
    } while (n_read < 0 && errno == EINTR);
    return n_read < 0 ? -errno : n_read;
}

ssize_t io_descriptor_write(const IoDescriptor *d, struct iovec *slices, size_t n_slices)
{
    ssize_t n_written;

    do {
        if (n_slices == 1) {
            /* What one answer is; the kernel need not fetch the vector. */
            n_written =
                d->kind == IO_DESCRIPTOR_SOCKET
                    ? send(d->fd, slices->iov_base, slices->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL)
                    : write(d->fd, slices->iov_base, slices->iov_len);
        } else if (d->kind == IO_DESCRIPTOR_SOCKET) {
            struct msghdr message = {.msg_iov = slices, .msg_iovlen = n_slices};

            n_written = sendmsg(d->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        } else {
            n_written = writev(d->fd, slices, (int)n_slices);
        }
    } while (n_written < 0 && errno == EINTR);
    return n_written < 0 ? -errno : n_written;
}

void io_descriptor_widen(int fd)
{
#ifdef F_SETPIPE_SZ
    struct stat info;

    if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode)) {
        (void)fcntl(fd, F_SETPIPE_SZ, DESCRIPTOR_PIPE_BYTES);
    }
#else
    (void)fd;
#endif
}
