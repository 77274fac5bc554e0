#include "base/random.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"

int random_fill_from(const char *path, void *p, size_t n)
{
    char *out = p;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = 0;

    if (fd < 0) {
        return err_raise(-errno);
    }
    while (n > 0) {
        ssize_t got = read(fd, out, n);

        if (got > 0) {
            out += got;
            n -= (size_t)got;
        } else if (got == 0) {
            r = err_raise(-EIO);
            break;
        } else if (errno != EINTR) {
            r = err_raise(-errno);
            break;
        }
    }
    (void)close(fd);
    return r;
}

int random_fill(void *p, size_t n)
{
    char *out = p;

    while (n > 0) {
        ssize_t got = getrandom(out, n, 0);

        if (got >= 0) {
            out += got;
            n -= (size_t)got;
        } else if (errno == ENOSYS) {
            return random_fill_from("/dev/urandom", out, n);
        } else if (errno != EINTR) {
            return err_raise(-errno);
        }
    }
    return 0;
}
