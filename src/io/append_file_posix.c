/* Files of lines as POSIX has them; declared in io/append_file.h. */
#include "io/append_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* False also if that cannot be found out. */
static bool append_is_torn(int fd, off_t n_bytes)
{
    char last;

    return n_bytes > 0 && pread(fd, &last, 1, n_bytes - 1) == 1 && last != '\n';
}

int append_file_open(AppendFile *ret, const char *path)
{
    /* Non-blocking: a pipe that has the name must not be waited for. Reading: the last byte. */
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                  S_IRUSR | S_IWUSR);
    struct stat info;
    int r = 0;

    if (fd < 0) {
        return err_raise(-errno);
    }
    if (fstat(fd, &info) != 0) {
        r = -errno;
    } else if (!S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode)) {
        r = -EINVAL;
    }
    if (r != 0) {
        (void)close(fd);
        return err_raise(r);
    }
    *ret = (AppendFile){.fd = fd, .is_regular = S_ISREG(info.st_mode)};
    if (ret->is_regular) {
        ret->n_bytes = (uint64_t)info.st_size;
        ret->is_torn = append_is_torn(fd, info.st_size);
    }
    return 0;
}

void append_file_close(AppendFile *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    *file = APPEND_FILE_NULL;
}

/* 0, or a negative errno; *ret_n is what was written in either case. */
static int append_bytes(int fd, Span bytes, size_t *ret_n)
{
    *ret_n = 0;
    while (*ret_n < bytes.n) {
        ssize_t n = write(fd, bytes.p + *ret_n, bytes.n - *ret_n);

        if (n > 0) {
            *ret_n += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            return err_raise(n == 0 ? -EIO : -errno);
        }
    }
    return 0;
}

int append_file_write(AppendFile *file, Span lines)
{
    size_t n;
    int r;

    if (file->is_torn) {
        r = append_bytes(file->fd, SPAN("\n"), &n);
        if (r != 0) {
            return r;
        }
        file->is_torn = false;
        file->n_bytes += n;
    }
    r = append_bytes(file->fd, lines, &n);
    if (r == 0) {
        file->n_bytes += n;
    } else if (n > 0 && file->is_regular && ftruncate(file->fd, (off_t)file->n_bytes) != 0) {
        file->n_bytes += n;
        file->is_torn = lines.p[n - 1] != '\n';
    }
    return r;
}

int append_file_rename(const char *from, const char *to)
{
    return rename(from, to) == 0 ? 0 : -errno;
}
