#include "io/process_wires.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

static void wires_close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

void io_process_close_wires(int fds[3])
{
    for (int i = 0; i < 3; i++) {
        wires_close_fd(&fds[i]);
    }
}

/* One wire; index 0 flows to the child, the others from it. */
static int wires_open_wire(IoProcessWires *wires, int index, IoProcessWire kind)
{
    int fds[2]; /* [0] is read */
    int ours = index == 0 ? 1 : 0;
    int r;

    if (kind == IO_PROCESS_SOCKETS) {
        r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
    } else {
        r = pipe2(fds, O_CLOEXEC);
    }
    if (r != 0) {
        return err_raise(-errno);
    }
    wires->ours[index] = fds[ours];
    wires->theirs[index] = fds[1 - ours];
    /* Our end only: a program does not expect its standard input to be non-blocking. */
    if (fcntl(fds[ours], F_SETFL, fcntl(fds[ours], F_GETFL) | O_NONBLOCK) != 0) {
        return err_raise(-errno);
    }
    return 0;
}

#ifdef __linux__
/* A file without a name that holds the input, to be read from its start; or a negative errno. */
static int wires_input_file(Span input)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    size_t n = 0;

    while (fd >= 0 && n < input.n) {
        ssize_t n_written = write(fd, input.p + n, input.n - n);

        if (n_written < 0 && errno == EINTR) {
            continue;
        }
        if (n_written <= 0) {
            wires_close_fd(&fd);
            break;
        }
        n += (size_t)n_written;
    }
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        wires_close_fd(&fd);
    }
    return fd;
}

/* Before the child is there. A new pipe takes all of its size at once. What cannot be placed is
 * left to the caller. */
static void wires_place_input(IoProcessWires *wires, Span input)
{
    int size = fcntl(wires->ours[0], F_GETPIPE_SZ);
    int fd;

    if (size >= 0 && input.n <= (size_t)size &&
        (input.n == 0 || write(wires->ours[0], input.p, input.n) == (ssize_t)input.n)) {
        wires_close_fd(&wires->ours[0]);
        return;
    }
    fd = wires_input_file(input);
    if (fd >= 0) {
        wires_close_fd(&wires->ours[0]);
        wires_close_fd(&wires->theirs[0]);
        wires->theirs[0] = fd;
    }
}
#else
static void wires_place_input(IoProcessWires *wires, Span input)
{
    (void)wires;
    (void)input;
}
#endif

int io_process_open_wires(IoProcessWires *wires, const IoProcessSpec *spec)
{
    int r = wires_open_wire(wires, 0, spec->wire);

    if (r == 0) {
        r = wires_open_wire(wires, 1, spec->wire);
    }
    /* Always a pipe: programs open /dev/stderr, and nothing fast travels there. */
    if (r == 0 && !spec->inherit_stderr) {
        r = wires_open_wire(wires, 2, IO_PROCESS_PIPES);
    }
    if (r == 0 && spec->input.p != NULL) {
        wires_place_input(wires, spec->input);
    }
    return r;
}
