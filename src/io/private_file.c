#include "io/private_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/file.h"
#include "io/place.h"

/* How long the lock of a leftover is waited for by those who want its name: another one may want it
 * too, and go away again. */
#define FILE_LOCK_NAPS 100

/* How long those are waited for who only look (with a shared lock). A look takes less than a nap,
 * but its process may have to wait for a processor. */
#define FILE_LOOK_NAPS 5000

/* Times that the name may change hands while we try to take it. */
#define FILE_TRIES 16

/* Above these a path is named once in a message, or not at all: it would not fit a Diag. */
#define FILE_PATH_TWICE_MAX 80
#define FILE_PATH_ONCE_MAX  180

#define FILE_OTHERS (S_IRWXG | S_IRWXO)

/* The name has changed hands since we looked: look again. */
#define FILE_E_CHANGED 100

/* Whether the name is the file that is open as fd. */
static bool file_has_name(const char *path, int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && io_place_is(path, info.st_dev, info.st_ino);
}

/* 0, or a negative errno: -EWOULDBLOCK if it is not to be had now. */
static int file_lock(int fd, int how)
{
    int r;

    do {
        r = flock(fd, how | LOCK_NB) == 0 ? 0 : -errno;
    } while (r == -EINTR);
    return r;
}

/* For the name of a leftover. 0, -EWOULDBLOCK if a process uses the file, another negative errno.
 */
static int file_lock_left(int fd, int n_naps)
{
    int n_looks = n_naps == 0 ? 0 : FILE_LOOK_NAPS;

    for (;;) {
        int r = file_lock(fd, LOCK_EX);

        if (r != -EWOULDBLOCK) {
            return r;
        }
        /* A use is a lock that lets nobody in. */
        if (n_looks > 0 && file_lock(fd, LOCK_SH) == 0) {
            (void)flock(fd, LOCK_UN);
            n_looks--;
        } else if (n_naps-- == 0) {
            return r;
        }
        io_place_nap();
    }
}

/* Opens what has the name, if it is a regular file; never waits, follows no link. 0, a negative
 * errno (-EINVAL: something else). */
static int file_open_left(const char *path, int *ret_fd, struct stat *ret_info)
{
    int fd;

    /* Opening a device can do things; one that takes the file's place meanwhile is told apart
     * below. */
    if (lstat(path, ret_info) != 0) {
        return -errno;
    }
    if (!S_ISREG(ret_info->st_mode)) {
        return -EINVAL;
    }
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, ret_info) != 0 || !S_ISREG(ret_info->st_mode)) {
        (void)close(fd);
        return -EINVAL;
    }
    *ret_fd = fd;
    return 0;
}

static void file_unlock(int fd)
{
    /* By name: a process that another thread forks just now has the descriptor too. */
    (void)flock(fd, LOCK_UN);
    (void)close(fd);
}

/* False also if that cannot be found out. */
static bool file_ends_with(int fd, Span signature)
{
    char end[PRIVATE_FILE_SIGNATURE_MAX];
    struct stat info;

    return signature.n <= sizeof(end) && fstat(fd, &info) == 0 &&
           info.st_size >= (off_t)signature.n &&
           pread(fd, end, signature.n, info.st_size - (off_t)signature.n) == (ssize_t)signature.n &&
           span_equals(span_make(end, signature.n), signature);
}

/* What was found under path and is locked: may its name be given to another? Results as file_claim.
 */
static int file_check_left(const char *path, int fd, Span signature, Diag *reterr_diag)
{
    /* Who had the lock before us may have given the name to a file of its own. */
    if (!file_has_name(path, fd)) {
        return FILE_E_CHANGED;
    }
    if (!file_ends_with(fd, signature)) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "%s is there and was not left by a parent: remove it, or choose another "
                        "path (--schema)",
                        path);
    }
    return 0;
}

/* Locks the file that a dead process left under path: its name may then be given to another. Gives
 * *ret_fd. 0, FILE_E_CHANGED, PRIVATE_FILE_E_*, a negative errno. */
static int file_claim(const char *path, Span signature, int n_naps, int *ret_fd, Diag *reterr_diag)
{
    struct stat info;
    int fd = -1;
    int r = file_open_left(path, &fd, &info);

    if (r == -ENOENT) {
        return FILE_E_CHANGED;
    }
    if (r == -EINVAL || r == -ELOOP || r == -ENXIO) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "%s is there and is no regular file: move it away, or choose another path",
                        path);
    }
    if (r != 0) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -r, "write", path);
    }
    if (info.st_uid != geteuid()) {
        (void)close(fd);
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "%s belongs to another user: choose another path", path);
    }
    r = file_lock_left(fd, n_naps);
    if (r != 0) {
        (void)close(fd);
        if (r == -EWOULDBLOCK) {
            return diag_set(reterr_diag, PRIVATE_FILE_E_IN_USE,
                            "another process uses %s: end it, or choose another path", path);
        }
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -r, "lock", path);
    }
    r = file_check_left(path, fd, signature, reterr_diag);
    if (r != 0) {
        file_unlock(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static int file_write_all(int fd, Span content)
{
    while (content.n > 0) {
        ssize_t n = write(fd, content.p, content.n);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return err_raise(-errno);
        }
        content.p += n;
        content.n -= (size_t)n;
    }
    return 0;
}

/* Makes the file that is to have the path: complete and locked, under the name temp. Gives *ret_fd.
 * 0 or a negative errno. */
static int file_make(char *temp, Span content, int *ret_fd)
{
    int fd = mkostemp(temp, O_CLOEXEC);
    int r;

    if (fd < 0) {
        return err_raise(-errno);
    }
    r = fchmod(fd, S_IRUSR | S_IWUSR) == 0 ? 0 : -errno;
    if (r == 0) {
        r = file_lock(fd, LOCK_EX);
    }
    if (r == 0) {
        r = file_write_all(fd, content);
    }
    if (r != 0) {
        (void)unlink(temp);
        (void)close(fd);
        return err_raise(r);
    }
    *ret_fd = fd;
    return 0;
}

/* Gives file's name to the file temp, once. Results as file_claim. */
static int file_take_name(const PrivateFile *file, const char *temp, Diag *reterr_diag)
{
    const char *path = file->path;
    int left_fd = -1;
    int r;

    if (link(temp, path) == 0) {
        (void)unlink(temp);
        return 0;
    }
    if (errno != EEXIST) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, errno, "write", path);
    }
    if (file->fd < 0 || !file_has_name(path, file->fd)) {
        r = file_claim(path, file->signature, file->is_hasty ? 0 : FILE_LOCK_NAPS, &left_fd,
                       reterr_diag);
        if (r != 0) {
            return r;
        }
    }
    /* Whichever of the two has the name, it is locked by us: nobody else may take it. */
    r = rename(temp, path) == 0
            ? 0
            : io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, errno, "write", path);
    if (left_fd >= 0) {
        file_unlock(left_fd);
    }
    return r;
}

/* A new file with that content under file's path. file->fd: what we have there already, or -1.
 * Gives *ret_fd. */
static int file_put(const PrivateFile *file, Span content, int *ret_fd, Diag *reterr_diag)
{
    const char *path = file->path;
    size_t n_folder = io_place_folder_length(path);
    CLEANUP(mem_freep) char *temp = mem_alloc(n_folder + IO_PLACE_TEMP_SIZE);
    int fd = -1;
    int r;

    if (temp == NULL) {
        return diag_set(reterr_diag, err_raise(-ENOMEM), "out of memory");
    }
    memcpy(temp, path, n_folder);
    memcpy(temp + n_folder, IO_PLACE_TEMP, IO_PLACE_TEMP_SIZE);
    r = file_make(temp, content, &fd);
    if (r != 0) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -r, "write", path);
    }
    for (int i = 0; i < FILE_TRIES; i++) {
        r = file_take_name(file, temp, reterr_diag);
        if (r != FILE_E_CHANGED) {
            break;
        }
    }
    if (r == FILE_E_CHANGED) {
        r = diag_set(reterr_diag, PRIVATE_FILE_E_IN_USE,
                     "other processes keep changing %s: choose another path", path);
    }
    if (r != 0) {
        (void)unlink(temp);
        (void)close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static int file_create(PrivateFile *ret, const char *path, Span content, Span signature,
                       bool is_hasty, Diag *reterr_diag)
{
    size_t n = strlen(path);
    PrivateFile file = {.signature = signature, .fd = -1, .is_hasty = is_hasty};
    int r;

    assert(signature.n <= PRIVATE_FILE_SIGNATURE_MAX);
    *ret = PRIVATE_FILE_NULL;
    if (n == io_place_folder_length(path)) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "\"%s\" does not name a file: add a file name", path);
    }
    file.path = mem_alloc(n + 1);
    if (file.path == NULL) {
        return diag_set(reterr_diag, err_raise(-ENOMEM), "out of memory");
    }
    memcpy(file.path, path, n + 1);
    r = file_put(&file, content, &file.fd, reterr_diag);
    if (r != 0) {
        (void)mem_free(file.path);
        return r;
    }
    *ret = file;
    return 0;
}

int private_file_create(PrivateFile *ret, const char *path, Span content, Span signature,
                        Diag *reterr_diag)
{
    return file_create(ret, path, content, signature, false, reterr_diag);
}

int private_file_try(PrivateFile *ret, const char *path, Span content, Span signature,
                     Diag *reterr_diag)
{
    return file_create(ret, path, content, signature, true, reterr_diag);
}

int private_file_replace(PrivateFile *file, Span content, Diag *reterr_diag)
{
    int fd = -1;
    int r = file_put(file, content, &fd, reterr_diag);

    if (r != 0) {
        return r;
    }
    (void)close(file->fd);
    file->fd = fd;
    return 0;
}

void private_file_remove(PrivateFile *file)
{
    if (file->fd >= 0) {
        if (file_has_name(file->path, file->fd)) {
            (void)unlink(file->path);
        }
        (void)close(file->fd);
    }
    (void)mem_free(file->path);
    *file = PRIVATE_FILE_NULL;
}

bool private_file_is_held(const char *path)
{
    struct stat info;
    int fd = -1;
    int r = file_open_left(path, &fd, &info);

    if (r != 0) {
        return r != -ENOENT && r != -ENOTDIR;
    }
    /* Shared: those who look do not get into each other's way. */
    r = file_lock(fd, LOCK_SH);
    file_unlock(fd);
    return r != 0;
}

bool private_file_remove_left(const char *path, Span signature)
{
    int fd = -1;
    bool is_removed;

    if (file_claim(path, signature, 0, &fd, NULL) != 0) {
        return false;
    }
    is_removed = unlink(path) == 0;
    file_unlock(fd);
    return is_removed;
}

/* The words for a file that others can get at. */
static int file_refuse_mode(const char *path, mode_t mode, Diag *reterr_diag)
{
    const char *how = (mode & (S_IRGRP | S_IROTH)) != 0   ? "can be read by others"
                      : (mode & (S_IWGRP | S_IWOTH)) != 0 ? "can be written by others"
                                                          : "is open to others";
    unsigned bits = mode & (S_IRWXU | FILE_OTHERS);
    char word[FILE_PATH_ONCE_MAX + 1];

    /* A command that is cut would be another one. */
    if (!private_path_quote(word, sizeof(word), path)) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_EXPOSED,
                        "the file %s (mode %04o): give it mode 0600 with chmod", how, bits);
    }
    if (strlen(word) > FILE_PATH_TWICE_MAX) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_EXPOSED,
                        "the file %s (mode %04o): chmod 600 %s", how, bits, word);
    }
    return diag_set(reterr_diag, PRIVATE_FILE_E_EXPOSED, "%s %s (mode %04o): chmod 600 %s", path,
                    how, bits, word);
}

static int file_check(const char *path, int fd, Diag *reterr_diag)
{
    struct stat info;

    if (fstat(fd, &info) != 0) {
        int r = err_raise(-errno);

        return diag_set(reterr_diag, r, "%s: %s", path, strerror(-r));
    }
    if (!S_ISREG(info.st_mode)) {
        int r = err_raise(S_ISDIR(info.st_mode) ? -EISDIR : -EINVAL);

        return diag_set(reterr_diag, r, "%s is no regular file", path);
    }
    if (info.st_uid != geteuid() && info.st_uid != 0) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_EXPOSED,
                        "%s belongs to user %ld, who can change it: make a copy of your own, mode "
                        "0600",
                        path, (long)info.st_uid);
    }
    if ((info.st_mode & FILE_OTHERS) != 0) {
        return file_refuse_mode(path, info.st_mode, reterr_diag);
    }
    return 0;
}

int private_file_read(Bytes *out, const char *path, Diag *reterr_diag)
{
    size_t n_before = out->n;
    /* Non-blocking: a named pipe without a writer would be waited for, and for ever. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int r;

    if (fd < 0) {
        r = err_raise(-errno);
        return diag_set(reterr_diag, r, "%s: %s", path, strerror(-r));
    }
    r = file_check(path, fd, reterr_diag);
    if (r == 0) {
        r = io_file_read_fd(out, fd);
        if (r == BYTES_E_FULL) {
            (void)diag_set(reterr_diag, r, "%s is too long: %zu bytes at most", path,
                           out->max_bytes - n_before);
        } else if (r != 0) {
            (void)diag_set(reterr_diag, r, "%s: %s", path, strerror(-r));
        }
    }
    (void)close(fd);
    return r;
}
