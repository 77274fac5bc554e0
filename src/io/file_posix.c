/* Opening and reading as POSIX has it; declared in io/file.h. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"

int io_file_open(const char *path, int *ret_fd)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0) {
        return err_raise(-errno);
    }
    *ret_fd = fd;
    return 0;
}

int64_t io_file_read_some(int fd, char *p, size_t n)
{
    ssize_t n_read;

    do {
        n_read = read(fd, p, n);
    } while (n_read < 0 && errno == EINTR);
    return n_read < 0 ? err_raise(-errno) : n_read;
}
