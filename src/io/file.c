#include "io/file.h"

#include <errno.h>

#include "base/error.h"
#include "io/descriptor_look.h"

/* Bytes asked of the system at a time. */
#define IO_FILE_STEP ((size_t)64 * 1024)

/* As io_file_read_fd, but on failure out may have grown. */
static int file_read_all(Bytes *out, int fd)
{
    for (;;) {
        size_t room = out->max_bytes - out->n;
        size_t want = room < IO_FILE_STEP ? room : IO_FILE_STEP;
        char probe;
        int64_t n;
        int r = bytes_reserve(out, want);

        if (r != 0) {
            return err_fold(r);
        }
        /* A buffer that is full does not yet mean a file that is too long. */
        n = want > 0 ? io_file_read_some(fd, out->data + out->n, want)
                     : io_file_read_some(fd, &probe, 1);
        if (n < 0) {
            return err_pass((int)n);
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
    int fd = -1;
    int r = io_file_open(path, &fd);

    if (r != 0) {
        return err_pass(r);
    }
    r = io_file_read_fd(out, fd);
    io_fd_close(fd);
    return r;
}
