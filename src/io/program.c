#include "io/program.h"

#include <errno.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

int io_program_path(char **ret)
{
    char *path = mem_alloc(PATH_MAX);
    ssize_t n;
    int r;

    if (path == NULL) {
        return err_raise(-ENOMEM);
    }
    n = readlink("/proc/self/exe", path, PATH_MAX);
    if (n < 0 || n == PATH_MAX) {
        r = n < 0 ? -errno : -ENAMETOOLONG;
        (void)mem_free(path);
        return err_raise(r);
    }
    path[n] = '\0';
    *ret = path;
    return 0;
}

long io_program_pid(void)
{
    return (long)getpid();
}

bool io_terminal_is(int fd)
{
    return isatty(fd) == 1;
}

int io_terminal_columns(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
