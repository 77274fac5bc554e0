#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"

/* Bytes asked of the system at a time. */
#define IO_FILE_STEP ((size_t)64 * 1024)

/* As io_file_read_fd, but on failure out may have grown. */
static int file_read_all(Bytes *out, int fd)
{
    for (;;) {
        size_t room = out->max_bytes - out->n;
        size_t want = room < IO_FILE_STEP ? room : IO_FILE_STEP;
        char probe;
        ssize_t n;
        int r = bytes_reserve(out, want);

        if (r != 0) {
            return err_fold(r);
        }
        /* A buffer that is full does not yet mean a file that is too long. */
        n = want > 0 ? read(fd, out->data + out->n, want) : read(fd, &probe, 1);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return err_raise(-errno);
        }
        if (n == 0) {
            return 0;
        }
        if (want == 0) {
            return BYTES_E_FULL;
        }
        out->n += (size_t)n;
    }
}

int io_file_read_fd(Bytes *out, int fd)
{
    size_t n_before = out->n;
    int r = file_read_all(out, fd);

    if (r != 0) {
        out->n = n_before;
    }
    return r;
}

int io_file_read(Bytes *out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int r;

    if (fd < 0) {
        return err_raise(-errno);
    }
    r = io_file_read_fd(out, fd);
    (void)close(fd);
    return r;
}
