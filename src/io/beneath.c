/* The root, finding things beneath it, and reading files. */
#include "io/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/openat2.h>
#endif

#include "base/alloc.h"
#include "base/error.h"
#include "io/beneath_impl.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/place.h"

/* The system gives up on a path with ".." while something is renamed; it means to be asked again.
 */
#define BENEATH_TRIES 64

#define BENEATH_MEGABYTE ((size_t)1024 * 1024)

void beneath_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

/* ---- finding ---- */

#if defined(__linux__) && defined(SYS_openat2)
static int beneath_openat2(int root, const char *path, int flags, int *ret_fd)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };

    for (int i = 0; i < BENEATH_TRIES; i++) {
        long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

        if (fd >= 0) {
            *ret_fd = (int)fd;
            return 0;
        }
        if (errno != EAGAIN && errno != EINTR) {
            break;
        }
    }
    return -errno;
}
#else
static int beneath_openat2(int root, const char *path, int flags, int *ret_fd)
{
    (void)root;
    (void)path;
    (void)flags;
    (void)ret_fd;
    return -ENOSYS;
}
#endif

int beneath_find(const IoBeneath *beneath, const char *path, int flags, int *ret_fd)
{
    return beneath->has_openat2 ? beneath_openat2(beneath->fd, path, flags, ret_fd)
                                : beneath_walk(beneath->fd, path, flags, ret_fd);
}

/* ---- words ---- */

static int beneath_fail_outside(Diag *reterr_diag, const char *path)
{
    return diag_set(reterr_diag, IO_BENEATH_E_OUTSIDE,
                    "Access denied: path outside allowed directory: %s", path);
}

int beneath_fail(Diag *reterr_diag, int r, const char *action, const char *path)
{
    switch (r) {
    case -EXDEV:
    case -ELOOP:
        return beneath_fail_outside(reterr_diag, path);
    case -ENOENT:
    case -ENOTDIR:
        return diag_set(reterr_diag, IO_BENEATH_E_MISSING, "File not found: %s", path);
    case -EISDIR:
        return beneath_fail_kind(reterr_diag, IO_BENEATH_FOLDER, path);
    case -ENOMEM:
    case -EMFILE:
    case -ENFILE:
        return err_raise(r);
    default:
        return diag_set(reterr_diag, IO_BENEATH_E_REFUSED, "Cannot %s %s: %s", action, path,
                        io_error_text(-r));
    }
}

int beneath_fail_kind(Diag *reterr_diag, IoBeneathKind found, const char *path)
{
    static const char *const words[] = {
        [IO_BENEATH_FILE] = "Not a folder, but a file",
        [IO_BENEATH_FOLDER] = "Not a file, but a folder",
        [IO_BENEATH_LINK] = "Not a file, but a link that leads nowhere",
        [IO_BENEATH_OTHER] = "Not a regular file, but a pipe, socket or device",
    };

    return diag_set(reterr_diag, IO_BENEATH_E_KIND, "%s: %s", words[found], path);
}

IoBeneathKind beneath_kind(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return IO_BENEATH_FILE;
    case S_IFDIR:
        return IO_BENEATH_FOLDER;
    case S_IFLNK:
        return IO_BENEATH_LINK;
    default:
        return IO_BENEATH_OTHER;
    }
}

/* ---- the root ---- */

static int beneath_fill(IoBeneath *beneath, const char *root)
{
    int probe = -1;
    int r = io_place_real(&beneath->path, root);

    if (r == 0) {
        r = io_place_absolute(&beneath->given, root);
    }
    if (r == 0) {
        beneath->fd = open(beneath->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = beneath->fd < 0 ? err_raise(-errno) : 0;
    }
    if (r != 0) {
        return r;
    }
    /* Old kernels do not know it, and some sandboxes forbid it. */
    beneath->has_openat2 = beneath_openat2(beneath->fd, ".", O_PATH | O_DIRECTORY, &probe) == 0;
    beneath_close(&probe);
    return 0;
}

int io_beneath_open(IoBeneath **ret, const char *root, Diag *reterr_diag)
{
    IoBeneath *beneath = mem_alloc_array(1, sizeof(*beneath));
    int r;

    if (beneath == NULL) {
        return err_raise(-ENOMEM);
    }
    beneath->fd = -1;
    r = beneath_fill(beneath, root);
    if (r != 0) {
        (void)io_beneath_free(beneath);
        if (r == -ENOMEM) {
            return r;
        }
        return diag_set(reterr_diag, IO_BENEATH_E_PLACE, "the folder %s cannot be used: %s", root,
                        io_error_text(-r));
    }
    *ret = beneath;
    return 0;
}

IoBeneath *io_beneath_free(IoBeneath *beneath)
{
    if (beneath != NULL) {
        beneath_close(&beneath->fd);
        (void)mem_free(beneath->path);
        (void)mem_free(beneath->given);
    }
    return mem_free(beneath);
}

const char *io_beneath_path(const IoBeneath *beneath)
{
    return beneath->path;
}

int io_beneath_fd(const IoBeneath *beneath)
{
    return beneath->fd;
}

bool io_beneath_follows_links(const IoBeneath *beneath)
{
    return beneath->has_openat2;
}

void io_beneath_follow_no_links(IoBeneath *beneath)
{
    beneath->has_openat2 = false;
}

/* What of path comes behind that folder's own path; NULL: it is not beneath it, by its text. A name
 * ends there: /root-evil is not beneath /root. */
static const char *beneath_behind(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    while (n > 0 && folder[n - 1] == '/') {
        n--;
    }
    if (strncmp(path, folder, n) != 0 || (path[n] != '\0' && path[n] != '/')) {
        return NULL;
    }
    return path + n;
}

int io_beneath_relative(const IoBeneath *beneath, const char *path, const char **ret,
                        Diag *reterr_diag)
{
    const char *at = path;

    if (path[0] == '/') {
        at = beneath_behind(path, beneath->path);
        if (at == NULL) {
            at = beneath_behind(path, beneath->given);
        }
        if (at == NULL) {
            return beneath_fail_outside(reterr_diag, path);
        }
        at += strspn(at, "/");
    }
    *ret = at[0] == '\0' ? "." : at;
    return 0;
}

/* ---- looking and reading ---- */

/* 0, or a negative errno. */
static int beneath_stat(const IoBeneath *beneath, const char *path, struct stat *ret)
{
    int fd = -1;
    int r = beneath_find(beneath, path, O_PATH, &fd);

    if (r == 0 && fstat(fd, ret) != 0) {
        r = -errno;
    }
    beneath_close(&fd);
    return r;
}

int io_beneath_look(const IoBeneath *beneath, const char *path, IoBeneathInfo *ret,
                    Diag *reterr_diag)
{
    struct stat info;
    const char *at;
    int r = io_beneath_relative(beneath, path, &at, reterr_diag);

    if (r != 0) {
        return r;
    }
    r = beneath_stat(beneath, at, &info);
    if (r != 0) {
        return beneath_fail(reterr_diag, r, "look at", path);
    }
    *ret = (IoBeneathInfo){.kind = beneath_kind(info.st_mode), .size = (uint64_t)info.st_size};
    return 0;
}

static int beneath_fail_size(Diag *reterr_diag, const char *path, uint64_t size, size_t max_bytes)
{
    bool is_whole = max_bytes % BENEATH_MEGABYTE == 0 && max_bytes > 0;

    return diag_set(reterr_diag, IO_BENEATH_E_TOO_LARGE, "File too large (max %zu%s): %s has %llu",
                    is_whole ? max_bytes / BENEATH_MEGABYTE : max_bytes, is_whole ? "MB" : " bytes",
                    path, (unsigned long long)size);
}

/* 0, or why it is not to be read. */
static int beneath_check(const struct stat *info, size_t max_bytes, const char *path,
                         Diag *reterr_diag)
{
    IoBeneathKind kind = beneath_kind(info->st_mode);

    if (kind != IO_BENEATH_FILE) {
        return beneath_fail_kind(reterr_diag, kind, path);
    }
    return (uint64_t)info->st_size <= max_bytes
               ? 0
               : beneath_fail_size(reterr_diag, path, (uint64_t)info->st_size, max_bytes);
}

/* Looked at before it is opened, since opening a device can do things; and again when it is open,
 * since another may have taken its place: a FIFO, which then was opened without waiting. */
static int beneath_open_file(const IoBeneath *beneath, const char *at, size_t max_bytes,
                             const char *path, int *ret_fd, Diag *reterr_diag)
{
    struct stat info;
    int fd = -1;
    int r = beneath_stat(beneath, at, &info);

    if (r != 0) {
        return beneath_fail(reterr_diag, r, "read", path);
    }
    r = beneath_check(&info, max_bytes, path, reterr_diag);
    if (r != 0) {
        return r;
    }
    r = beneath_find(beneath, at, O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd);
    if (r == 0 && fstat(fd, &info) != 0) {
        r = -errno;
    }
    r = r != 0 ? beneath_fail(reterr_diag, r, "read", path)
               : beneath_check(&info, max_bytes, path, reterr_diag);
    if (r != 0) {
        beneath_close(&fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int io_beneath_read(const IoBeneath *beneath, const char *path, size_t max_bytes, Bytes *out,
                    Diag *reterr_diag)
{
    size_t before_max = out->max_bytes;
    const char *at;
    int fd = -1;
    int r = io_beneath_relative(beneath, path, &at, reterr_diag);

    if (max_bytes > before_max - out->n) {
        max_bytes = before_max - out->n;
    }
    if (r == 0) {
        r = beneath_open_file(beneath, at, max_bytes, path, &fd, reterr_diag);
    }
    if (r != 0) {
        return r;
    }
    /* It may grow while it is read. */
    out->max_bytes = out->n + max_bytes;
    r = io_file_read_fd(out, fd);
    out->max_bytes = before_max;
    beneath_close(&fd);
    if (r == BYTES_E_FULL) {
        return beneath_fail_size(reterr_diag, path, (uint64_t)max_bytes + 1, max_bytes);
    }
    return r == 0 ? 0 : beneath_fail(reterr_diag, r, "read", path);
}
