/* Finding things beneath a root where the system has no openat2: each name is opened in the folder
 * before it, and none of them may be a link. As none is, a ".." takes back the name before it, and
 * the path can be put in order before anything is opened. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "io/beneath_impl.h"

/* Puts the path in order: no "", "." or ".." is left; "" is the root. 0, -EXDEV, -ENAMETOOLONG. */
static int walk_normalise(const char *path, char out[PATH_MAX])
{
    size_t n_out = 0;

    while (*path != '\0') {
        size_t n = strcspn(path, "/");

        if (n == 2 && path[0] == '.' && path[1] == '.') {
            if (n_out == 0) {
                return -EXDEV;
            }
            while (n_out > 0 && out[--n_out] != '/') {
            }
        } else if (n > 0 && !(n == 1 && path[0] == '.')) {
            if (n_out + n + 2 > PATH_MAX) {
                return -ENAMETOOLONG;
            }
            if (n_out > 0) {
                out[n_out++] = '/';
            }
            memcpy(out + n_out, path, n);
            n_out += n;
        }
        path += n;
        path += strspn(path, "/");
    }
    out[n_out] = '\0';
    return 0;
}

/* A link has no folder behind it for us; the system says of both that there is none. */
static int walk_explain(int fd, const char *name, int error)
{
    struct stat info;

    if ((error == ENOTDIR || error == ELOOP) &&
        fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode)) {
        return -ELOOP;
    }
    return -error;
}

/* The last name, with the flags that were asked for. */
static int walk_open_last(int fd, const char *name, int flags, int *ret_fd)
{
    int opened = openat(fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;

    if (opened < 0) {
        return walk_explain(fd, name, errno);
    }
    /* O_PATH opens the link itself. */
    if (fstat(opened, &info) != 0 || S_ISLNK(info.st_mode)) {
        (void)close(opened);
        return -ELOOP;
    }
    *ret_fd = opened;
    return 0;
}

int beneath_walk(int root, const char *path, int flags, int *ret_fd)
{
    char text[PATH_MAX];
    char *at = text;
    int folder = root;
    int r = walk_normalise(path, text);

    while (r == 0) {
        size_t n = strcspn(at, "/");
        int next = -1;

        if (at[n] == '\0') {
            r = walk_open_last(folder, n == 0 ? "." : at, flags, ret_fd);
            break;
        }
        at[n] = '\0';
        r = walk_open_last(folder, at, O_PATH | O_DIRECTORY, &next);
        if (r == 0) {
            if (folder != root) {
                (void)close(folder);
            }
            folder = next;
            at += n + 1;
        }
    }
    if (folder != root) {
        (void)close(folder);
    }
    return r;
}
