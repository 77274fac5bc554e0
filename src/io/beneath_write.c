/* New content for a file beneath the root: written beside it under a name of ours, and renamed in
 * the same open folder, so that nobody finds half of it and nothing but that name changes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "io/beneath_impl.h"

/* Links behind one another; the system itself follows 40. */
#define WRITE_LINKS 16

/* Names that are tried: each is taken with a chance of one in 2^64. */
#define WRITE_TRIES 8

#define WRITE_NAME_SIZE 32

/* What a new file may be to others, less what this user's mask takes away. */
#define WRITE_MODE_NEW 0666

#define WRITE_MODE_KEPT 0777

/* Where the content goes. */
typedef struct Target {
    char path[PATH_MAX]; /* relative to the root: as asked for, or where the last link leads */
    int folder;          /* open; the caller's */
    const char *name;    /* in it; part of path */
    bool is_there;       /* a regular file */
    struct stat info;
} Target;

/* ---- folders on the way ---- */

/* Opens the folder, and makes what is missing of it: name by name, each in the open folder before.
 */
static int target_make_folders(const IoBeneath *beneath, char *path, int *ret_fd)
{
    char *at = path;
    int before = -1;
    int fd = -1;
    int r = beneath_find(beneath, ".", O_PATH | O_DIRECTORY, &before);

    while (r == 0) {
        size_t n = strcspn(at, "/");
        char end = at[n];

        at[n] = '\0';
        r = beneath_find(beneath, path, O_PATH | O_DIRECTORY, &fd);
        if (r == -ENOENT) {
            r = mkdirat(before, n == 0 ? "." : at, 0777) == 0 || errno == EEXIST ? 0 : -errno;
            r = r != 0 ? r : beneath_find(beneath, path, O_PATH | O_DIRECTORY, &fd);
        }
        at[n] = end;
        beneath_close(&before);
        if (r != 0 || end == '\0') {
            break;
        }
        before = fd;
        fd = -1;
        at += n;
        at += strspn(at, "/");
    }
    *ret_fd = fd;
    return r;
}

/* Gives target->folder and finds the name in it. 0, or a negative errno (-EISDIR: no name). */
static int target_enter(const IoBeneath *beneath, Target *target)
{
    char *slash = strrchr(target->path, '/');
    char folder[PATH_MAX] = ".";
    int r;

    target->name = slash == NULL ? target->path : slash + 1;
    if (target->name[0] == '\0' || strcmp(target->name, ".") == 0 ||
        strcmp(target->name, "..") == 0) {
        int fd = -1;

        r = beneath_find(beneath, target->path, O_PATH, &fd);
        beneath_close(&fd);
        return r != 0 && r != -ENOENT ? r : -EISDIR;
    }
    if (slash != NULL) {
        size_t n = (size_t)(slash - target->path);

        memcpy(folder, target->path, n);
        folder[n] = '\0';
    }
    r = beneath_find(beneath, folder, O_PATH | O_DIRECTORY, &target->folder);
    return r != -ENOENT ? r : target_make_folders(beneath, folder, &target->folder);
}

/* ---- links ---- */

/* The path becomes where the link at its end leads to, seen from the root. Whether that is inside
 * is found out by going there. */
static int target_follow(const IoBeneath *beneath, Target *target)
{
    char link[PATH_MAX];
    size_t n_folder = (size_t)(target->name - target->path);
    ssize_t n = readlinkat(target->folder, target->name, link, sizeof(link) - 1);

    if (n < 0) {
        return errno == EINVAL ? 0 : -errno; /* no link any more: looked at again */
    }
    link[n] = '\0';
    if (link[0] == '/' || !beneath->has_openat2) {
        return -EXDEV;
    }
    if (n_folder + (size_t)n >= sizeof(target->path)) {
        return -ENAMETOOLONG;
    }
    memcpy(target->path + n_folder, link, (size_t)n + 1);
    return 0;
}

/* 0, a negative errno, IO_BENEATH_E_KIND; target->folder is the caller's in any case. */
static int target_find(const IoBeneath *beneath, Target *target, const char *path,
                       Diag *reterr_diag)
{
    for (int i = 0; i < WRITE_LINKS; i++) {
        int r;

        beneath_close(&target->folder);
        r = target_enter(beneath, target);
        if (r != 0) {
            return r;
        }
        if (fstatat(target->folder, target->name, &target->info, AT_SYMLINK_NOFOLLOW) != 0) {
            target->is_there = false;
            return errno == ENOENT ? 0 : -errno;
        }
        if (!S_ISLNK(target->info.st_mode)) {
            IoBeneathKind kind = beneath_kind(target->info.st_mode);

            target->is_there = true;
            return kind == IO_BENEATH_FILE ? 0 : beneath_fail_kind(reterr_diag, kind, path);
        }
        r = target_follow(beneath, target);
        if (r != 0) {
            return r;
        }
    }
    return -ELOOP;
}

/* ---- content ---- */

static int target_make_beside(const Target *target, char name[WRITE_NAME_SIZE], int *ret_fd)
{
    mode_t mode = target->is_there ? 0600 : WRITE_MODE_NEW;

    for (int i = 0; i < WRITE_TRIES; i++) {
        unsigned long long number;
        int r = random_fill(&number, sizeof(number));

        if (r != 0) {
            return r;
        }
        (void)snprintf(name, WRITE_NAME_SIZE, ".tw-%016llx", number);
        *ret_fd = openat(target->folder, name,
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, mode);
        if (*ret_fd >= 0) {
            return 0;
        }
        if (errno != EEXIST) {
            return -errno;
        }
    }
    return -EEXIST;
}

static int target_fill(int fd, Span content)
{
    while (content.n > 0) {
        ssize_t n = write(fd, content.p, content.n);

        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        if (n > 0) {
            content.p += n;
            content.n -= (size_t)n;
        }
    }
    return 0;
}

/* The owner as far as the system lets us; then the permissions, which a change of owner takes. */
static int target_keep_mode(const Target *target, int fd)
{
    if (!target->is_there) {
        return 0;
    }
    (void)!fchown(fd, target->info.st_uid, target->info.st_gid);
    return fchmod(fd, target->info.st_mode & WRITE_MODE_KEPT) == 0 ? 0 : -errno;
}

static int target_write(const Target *target, Span content)
{
    char name[WRITE_NAME_SIZE];
    int fd = -1;
    int r = target_make_beside(target, name, &fd);

    if (r != 0) {
        return r;
    }
    r = target_fill(fd, content);
    r = r != 0 ? r : target_keep_mode(target, fd);
    /* Else the new name might be on the disk before the content is. */
    if (r == 0 && fdatasync(fd) != 0) {
        r = -errno;
    }
    if (close(fd) != 0 && r == 0) {
        r = -errno;
    }
    if (r == 0 && renameat(target->folder, name, target->folder, target->name) != 0) {
        r = -errno;
    }
    if (r != 0) {
        (void)unlinkat(target->folder, name, 0);
    }
    return r;
}

int io_beneath_write(const IoBeneath *beneath, const char *path, Span content, bool *ret_is_new,
                     Diag *reterr_diag)
{
    Target target = {.folder = -1};
    const char *at;
    int r = io_beneath_relative(beneath, path, &at, reterr_diag);

    if (r != 0) {
        return r;
    }
    if (strlen(at) >= sizeof(target.path)) {
        return beneath_fail(reterr_diag, -ENAMETOOLONG, "write", path);
    }
    memcpy(target.path, at, strlen(at) + 1);
    r = target_find(beneath, &target, path, reterr_diag);
    if (r == 0) {
        r = target_write(&target, content);
    }
    beneath_close(&target.folder);
    if (r < 0) {
        return beneath_fail(reterr_diag, r, "write", path);
    }
    if (r == 0 && ret_is_new != NULL) {
        *ret_is_new = !target.is_there;
    }
    return r;
}
