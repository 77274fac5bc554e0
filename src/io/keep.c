/* Kept files as POSIX has them; the other half is windows/keep.c. */
#include "io/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "io/file.h"
#include "io/place.h"

/* Names tried for a temporary file, and the room for what is added to the path. */
#define KEEP_TEMP_TRIES 100
#define KEEP_TEMP_SIZE  32

static char *keep_join(const char *base, const char *rest)
{
    size_t n_base = strlen(base);
    size_t n_rest = strlen(rest);
    char *path = mem_alloc(n_base + n_rest + 1);

    if (path != NULL) {
        memcpy(path, base, n_base);
        memcpy(path + n_base, rest, n_rest + 1);
    }
    return path;
}

/* Users without a home (/nonexistent) are not given one. */
static bool keep_is_home(const char *home)
{
    struct stat info;

    return home != NULL && home[0] == '/' && stat(home, &info) == 0 && S_ISDIR(info.st_mode);
}

int io_keep_folder(char **ret)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *path;

    /* The specification wants a relative one to be passed over. */
    if (state != NULL && state[0] == '/') {
        path = keep_join(state, "/toolwire");
    } else if (keep_is_home(home)) {
        path = keep_join(home, "/.local/state/toolwire");
    } else {
        return err_raise(-ENOENT);
    }
    if (path == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret = path;
    return 0;
}

int io_keep_read(const char *path, Bytes *out)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat info;
    int r = 0;

    if (fd < 0) {
        return err_raise(errno == ELOOP ? -EPERM : -errno);
    }
    if (fstat(fd, &info) != 0) {
        r = -errno;
    } else if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
               (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        r = -EPERM;
    }
    if (r == 0) {
        r = io_file_read_fd(out, fd);
    }
    (void)close(fd);
    return r;
}

int io_keep_make_folders(const char *path)
{
    CLEANUP(mem_freep) char *copy = keep_join(path, "");

    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    for (char *at = copy + 1; copy[0] != '\0' && *at != '\0'; at++) {
        if (*at != '/') {
            continue;
        }
        *at = '\0';
        /* One that cannot be made may be there all the same, above folders that are ours. */
        if (mkdir(copy, S_IRWXU) != 0 && errno != EEXIST && access(copy, F_OK) != 0) {
            return err_raise(-errno);
        }
        *at = '/';
    }
    return 0;
}

/* Opens a file of a name that nobody has, beside path. Gives *ret_fd. */
static int keep_open_temp(const char *path, char *temp, int *ret_fd)
{
    size_t n_folder = io_place_folder_length(path);

    memcpy(temp, path, n_folder);
    for (int i = 0; i < KEEP_TEMP_TRIES; i++) {
        uint64_t number = 0;
        int r = random_fill(&number, sizeof(number));

        if (r != 0) {
            return err_pass(r);
        }
        (void)snprintf(temp + n_folder, KEEP_TEMP_SIZE, ".tw-%016llx", (unsigned long long)number);
        *ret_fd =
            open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
        if (*ret_fd >= 0 || errno != EEXIST) {
            return *ret_fd >= 0 ? 0 : err_raise(-errno);
        }
    }
    return err_raise(-EEXIST);
}

static int keep_write_all(int fd, Span content)
{
    while (content.n > 0) {
        ssize_t n = write(fd, content.p, content.n);

        if (n < 0 && errno != EINTR) {
            return err_raise(-errno);
        }
        if (n > 0) {
            content.p += n;
            content.n -= (size_t)n;
        }
    }
    return 0;
}

/* Gives the name to the file. A file system without links has no way to say "only if it is free":
 * there the moment between looking and renaming is left. */
static int keep_name(const char *temp, const char *path, bool is_new)
{
    if (is_new && link(temp, path) == 0) {
        (void)unlink(temp);
        return 0;
    }
    if (is_new && (errno == EEXIST || access(path, F_OK) == 0)) {
        return err_raise(-EEXIST);
    }
    return rename(temp, path) == 0 ? 0 : err_raise(-errno);
}

static int keep_put(const char *path, Span content, bool is_new)
{
    CLEANUP(mem_freep) char *temp = mem_alloc(strlen(path) + KEEP_TEMP_SIZE);
    int fd = -1;
    int r;

    if (temp == NULL) {
        return err_raise(-ENOMEM);
    }
    r = is_new ? 0 : io_keep_make_folders(path);
    if (r == 0) {
        r = keep_open_temp(path, temp, &fd);
    }
    if (r != 0) {
        return err_pass(r);
    }
    r = keep_write_all(fd, content);
    if (close(fd) != 0 && r == 0) {
        r = err_raise(-errno);
    }
    if (r == 0) {
        r = keep_name(temp, path, is_new);
    }
    if (r != 0) {
        (void)unlink(temp);
    }
    return r;
}

int io_keep_write(const char *path, Span content)
{
    return keep_put(path, content, false);
}

int io_keep_make(const char *path, Span content)
{
    return keep_put(path, content, true);
}
