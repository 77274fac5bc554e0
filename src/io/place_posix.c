/* Paths as POSIX has them; declared in io/place.h. */
#include "io/place.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#define PLACE_NAP_NS 1000000

bool io_place_is_slash(char c)
{
    return c == '/';
}

const char *io_place_last_slash(const char *path)
{
    return strrchr(path, '/');
}

bool io_place_is_absolute(const char *path)
{
    return path[0] == '/';
}

bool io_place_is_pipe_name(const char *path)
{
    (void)path;
    return false;
}

int io_place_absolute(char **ret, const char *path)
{
    char folder[PATH_MAX] = "";
    size_t n_path = strlen(path);
    size_t n_folder;
    char *absolute;

    if (!io_place_is_absolute(path) && getcwd(folder, sizeof(folder)) == NULL) {
        return err_raise(-errno);
    }
    n_folder = strlen(folder);
    absolute = mem_alloc(n_folder + 1 + n_path + 1);
    if (absolute == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(absolute, folder, n_folder);
    /* The root is the one folder whose path ends in a slash. */
    if (n_folder > 1) {
        absolute[n_folder++] = '/';
    }
    memcpy(absolute + n_folder, path, n_path + 1);
    *ret = absolute;
    return 0;
}

int io_place_real(char **ret, const char *path)
{
    char *real = mem_alloc(PATH_MAX);
    int r;

    if (real == NULL) {
        return err_raise(-ENOMEM);
    }
    if (realpath(path, real) == NULL) {
        r = -errno;
        (void)mem_free(real);
        return err_raise(r);
    }
    *ret = real;
    return 0;
}

bool io_place_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool io_place_is_file(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool io_place_is_same_name(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool io_place_is(const char *path, uint64_t device, uint64_t inode)
{
    struct stat info;

    return lstat(path, &info) == 0 && info.st_dev == device && info.st_ino == inode;
}

void io_place_nap(void)
{
    struct timespec nap = {.tv_nsec = PLACE_NAP_NS};

    (void)nanosleep(&nap, NULL);
}
