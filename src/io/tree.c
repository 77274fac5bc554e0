/* Every name of a path is opened from the folder before it, without following links: what somebody
 * else moves or links meanwhile cannot lead out, since a folder that is open stays itself. A new
 * file is made beside its place, hidden, and gets its name when it is complete: by a link, which
 * takes no name that is in use, or by a rename, which replaces. */
#include "io/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/tree_lines.h"

/* Names tried for a temporary file. */
#define TREE_TEMP_TRIES 100
#define TREE_TEMP_SIZE  32
#define TREE_NAME_SIZE  256

/* A file longer than that is told as different without being read: templates make none. */
#define TREE_LOOK_BYTES ((size_t)64 * 1024 * 1024)

/* A folder on the way is missing. */
#define TREE_E_MISSING 100

#define TREE_READ  (S_IRUSR | S_IRGRP | S_IROTH)
#define TREE_WRITE (S_IWUSR | S_IWGRP | S_IWOTH)
#define TREE_ALL   (S_IRWXU | S_IRWXG | S_IRWXO)

#define TREE_FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* The folder of a path, open, and the name in it. */
typedef struct TreePlace {
    int fd;
    const char *name;
} TreePlace;

static void tree_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

/* The system's trouble, or something about the path. */
static int tree_fail(Diag *reterr_diag, int error, const char *action, const char *path)
{
    const char *why = error == ELOOP || error == ENOTDIR ? "a link or a file is in the way"
                                                         : io_error_text(error);

    switch (error) {
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENAMETOOLONG:
    case EINVAL:
    case EILSEQ:
        return diag_set(reterr_diag, IO_TREE_E_PLACE, "cannot %s %s: %s", action, path, why);
    default:
        (void)diag_set(reterr_diag, -error, "cannot %s %s: %s", action, path, why);
        return err_raise(-error);
    }
}

/* Opens the next folder in place of *fd. is_made: it may be missing. */
static int tree_enter(int *fd, const char *name, bool is_made)
{
    int next = openat(*fd, name, TREE_FOLDER_FLAGS | O_NOFOLLOW);

    if (next < 0 && errno == ENOENT && is_made) {
        /* Somebody else may make it just now. */
        if (mkdirat(*fd, name, S_IRWXU | S_IRWXG | S_IRWXO) != 0 && errno != EEXIST) {
            return -errno;
        }
        next = openat(*fd, name, TREE_FOLDER_FLAGS | O_NOFOLLOW);
    }
    if (next < 0) {
        return -errno;
    }
    tree_close(fd);
    *fd = next;
    return 0;
}

/* Gives *ret (its fd), with the folders on the way made if they may be. 0, a negative errno
 * (-ENOENT: a folder is missing). */
static int tree_walk(int root, const char *path, bool is_made, TreePlace *ret)
{
    char name[TREE_NAME_SIZE];
    int fd = root;
    int r;

    for (;;) {
        size_t n = strcspn(path, "/");

        if (path[n] == '\0') {
            *ret = (TreePlace){fd, path};
            return 0;
        }
        memcpy(name, path, n);
        name[n] = '\0';
        r = tree_enter(&fd, name, is_made);
        if (r != 0) {
            tree_close(&fd);
            return r;
        }
        path += n + 1;
    }
}

/* 0, a negative errno, IO_TREE_E_PLACE, TREE_E_MISSING; the last without a Diag. */
static int tree_find(const char *root, const char *path, bool is_made, TreePlace *ret,
                     Diag *reterr_diag)
{
    const char *why;
    int fd;
    int r;

    if (!tree_path_is_safe(path, &why)) {
        return diag_set(reterr_diag, IO_TREE_E_PLACE, "%.100s: %s", path, why);
    }
    fd = open(root, TREE_FOLDER_FLAGS);
    if (fd < 0) {
        (void)diag_set(reterr_diag, -errno, "cannot open the folder %s: %s", root,
                       io_error_text(errno));
        return err_raise(-errno);
    }
    r = tree_walk(fd, path, is_made, ret);
    if (r == -ENOENT) {
        return TREE_E_MISSING;
    }
    return r == 0 ? 0 : tree_fail(reterr_diag, -r, "reach", path);
}

/* Opens a regular file for reading; TREE_E_MISSING if there is none. */
static int tree_open_file(const TreePlace *place, const char *path, int *ret_fd,
                          struct stat *ret_info, Diag *reterr_diag)
{
    int fd;

    /* Opening a device can do things; what takes the file's place meanwhile is told apart below. */
    if (fstatat(place->fd, place->name, ret_info, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? TREE_E_MISSING : tree_fail(reterr_diag, errno, "look at", path);
    }
    if (S_ISREG(ret_info->st_mode)) {
        fd = openat(place->fd, place->name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0) {
            return errno == ENOENT ? TREE_E_MISSING : tree_fail(reterr_diag, errno, "read", path);
        }
        if (fstat(fd, ret_info) == 0 && S_ISREG(ret_info->st_mode)) {
            *ret_fd = fd;
            return 0;
        }
        (void)close(fd);
    }
    return diag_set(reterr_diag, IO_TREE_E_PLACE, "%s is there and is no regular file", path);
}

static int tree_look_file(int fd, const struct stat *info, Span content, IoTreeLook *ret)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    int r;

    bytes_init(&text, TREE_LOOK_BYTES);
    r = info->st_size > (off_t)TREE_LOOK_BYTES ? BYTES_E_FULL : io_file_read_fd(&text, fd);
    if (r == BYTES_E_FULL) {
        IoTreeLook all;

        /* How many lines it has nobody counted. */
        r = tree_compare(SPAN_NULL, content, &all);
        *ret = (IoTreeLook){.state = IO_TREE_DIFFERS, .n_added = all.n_added};
        return r;
    }
    return r == 0 ? tree_compare(bytes_span(&text), content, ret) : err_pass(r);
}

int io_tree_look(const char *root, const char *path, Span content, bool executable, IoTreeLook *ret,
                 Diag *reterr_diag)
{
    TreePlace place = {.fd = -1};
    struct stat info;
    int fd = -1;
    int r = tree_find(root, path, false, &place, reterr_diag);

    if (r == 0) {
        r = tree_open_file(&place, path, &fd, &info, reterr_diag);
        tree_close(&place.fd);
    }
    if (r == TREE_E_MISSING) {
        *ret = (IoTreeLook){.state = IO_TREE_NEW};
        return 0;
    }
    if (r == 0) {
        r = tree_look_file(fd, &info, content, ret);
        tree_close(&fd);
    }
    if (r == 0 && executable && (info.st_mode & S_IXUSR) == 0) {
        ret->state = IO_TREE_DIFFERS;
    }
    return r;
}

int io_tree_read(const char *root, const char *path, Bytes *out, Diag *reterr_diag)
{
    TreePlace place = {.fd = -1};
    struct stat info;
    int fd = -1;
    int r = tree_find(root, path, false, &place, reterr_diag);

    if (r == 0) {
        r = tree_open_file(&place, path, &fd, &info, reterr_diag);
        tree_close(&place.fd);
    }
    if (r == 0) {
        r = io_file_read_fd(out, fd);
        tree_close(&fd);
    }
    return r == TREE_E_MISSING ? err_raise(-ENOENT) : r;
}

/* ---- writing ---- */

static int tree_write_all(int fd, Span content)
{
    while (content.n > 0) {
        ssize_t n = write(fd, content.p, content.n);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -errno;
        }
        content.p += n;
        content.n -= (size_t)n;
    }
    return 0;
}

/* Who may use the file that is made. */
typedef struct TreeRights {
    mode_t mode;
    bool is_kept; /* as they are in `before`; else the user's mask has a say */
    struct stat before;
} TreeRights;

/* Those of the regular file that is replaced, or else those of a new one. */
static TreeRights tree_rights(const TreePlace *place, bool executable, bool replace)
{
    TreeRights rights = {.mode = TREE_READ | TREE_WRITE};

    if (replace && fstatat(place->fd, place->name, &rights.before, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(rights.before.st_mode)) {
        rights.is_kept = true;
        rights.mode = rights.before.st_mode & TREE_ALL;
    }
    if (executable) {
        rights.mode |= (rights.mode & TREE_READ) >> 2; /* run by whoever may read it */
    }
    return rights;
}

/* The owner and the group stay, too, as far as the system lets us: without them the mode would
 * speak of others. 0, a negative errno. */
static int tree_keep_rights(int fd, const TreeRights *rights)
{
    const struct stat *before = &rights->before;
    mode_t mode = rights->mode;
    struct stat made;

    if (fstat(fd, &made) != 0) {
        return -errno;
    }
    if (made.st_uid != before->st_uid || made.st_gid != before->st_gid) {
        if (fchown(fd, before->st_uid, before->st_gid) != 0 &&
            fchown(fd, (uid_t)-1, before->st_gid) != 0) {
            mode &= ~(mode_t)S_IRWXG; /* it is another group */
        }
    }
    /* A file system without modes refuses, and has given what it has: no more than was. */
    return fchmod(fd, mode) == 0 || (made.st_mode & TREE_ALL & ~mode) == 0 ? 0 : -errno;
}

/* Opens a file of a name that nobody has; never one that more may read than at the end. */
static int tree_open_temp(int folder, mode_t mode, char temp[TREE_TEMP_SIZE], int *ret_fd)
{
    for (int i = 0; i < TREE_TEMP_TRIES; i++) {
        uint64_t number = 0;
        int r = random_fill(&number, sizeof(number));

        if (r != 0) {
            return r;
        }
        (void)snprintf(temp, TREE_TEMP_SIZE, ".tw-%016llx", (unsigned long long)number);
        *ret_fd = openat(folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (*ret_fd >= 0 || errno != EEXIST) {
            return *ret_fd >= 0 ? 0 : -errno;
        }
    }
    return -EEXIST;
}

/* A complete file under a name of its own in the folder. 0, a negative errno. */
static int tree_make_temp(int folder, Span content, const TreeRights *rights,
                          char temp[TREE_TEMP_SIZE])
{
    int fd = -1;
    int r =
        tree_open_temp(folder, rights->is_kept ? rights->mode & S_IRWXU : rights->mode, temp, &fd);

    if (r != 0) {
        return r;
    }
    r = tree_write_all(fd, content);
    if (r == 0 && rights->is_kept) {
        r = tree_keep_rights(fd, rights);
    }
    if (close(fd) != 0 && r == 0) {
        r = -errno; /* a quota, on some file systems */
    }
    if (r != 0) {
        (void)unlinkat(folder, temp, 0);
    }
    return r;
}

/* Only a regular file is replaced. 0, a negative errno; -EEXIST: something else is there. */
static int tree_replace(const TreePlace *place, const char *temp)
{
    struct stat info;

    if (fstatat(place->fd, place->name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISREG(info.st_mode)) {
        return -EEXIST;
    }
    return renameat(place->fd, temp, place->fd, place->name) == 0 ? 0 : -errno;
}

/* -EEXIST if the name is in use. */
static int tree_take_name(const TreePlace *place, const char *temp)
{
    int r = linkat(place->fd, temp, place->fd, place->name, 0) == 0 ? 0 : -errno;

#ifdef RENAME_NOREPLACE
    /* A file system without links. */
    if (r == -EPERM || r == -EOPNOTSUPP || r == -ENOSYS || r == -EMLINK) {
        return renameat2(place->fd, temp, place->fd, place->name, RENAME_NOREPLACE) == 0 ? 0
                                                                                         : -errno;
    }
#endif
    if (r == 0) {
        (void)unlinkat(place->fd, temp, 0);
    }
    return r;
}

static int tree_put(const TreePlace *place, const char *path, const char *temp, bool replace,
                    Diag *reterr_diag)
{
    int r = replace ? tree_replace(place, temp) : tree_take_name(place, temp);

    if (r == 0) {
        return 0;
    }
    (void)unlinkat(place->fd, temp, 0);
    if (r == -EEXIST && !replace) {
        return diag_set(reterr_diag, IO_TREE_E_EXISTS, "%s is there already", path);
    }
    if (r == -EEXIST || r == -EISDIR) {
        return diag_set(reterr_diag, IO_TREE_E_PLACE, "%s is there and is no regular file", path);
    }
    return tree_fail(reterr_diag, -r, "write", path);
}

int io_tree_write(const char *root, const char *path, Span content, bool executable, bool replace,
                  Diag *reterr_diag)
{
    char temp[TREE_TEMP_SIZE];
    TreePlace place = {.fd = -1};
    TreeRights rights;
    int r = tree_find(root, path, true, &place, reterr_diag);

    if (r != 0) {
        return r == TREE_E_MISSING ? tree_fail(reterr_diag, ENOENT, "reach", path) : r;
    }
    rights = tree_rights(&place, executable, replace);
    r = tree_make_temp(place.fd, content, &rights, temp);
    r = r != 0 ? tree_fail(reterr_diag, -r, "write", path)
               : tree_put(&place, path, temp, replace, reterr_diag);
    tree_close(&place.fd);
    return r;
}

int io_tree_try(const char *root, const char *path, Diag *reterr_diag)
{
    const TreeRights rights = {.mode = S_IRUSR | S_IWUSR};
    char temp[TREE_TEMP_SIZE];
    TreePlace place = {.fd = -1};
    struct stat info;
    int r = tree_find(root, path, false, &place, reterr_diag);

    if (r != 0) {
        return r == TREE_E_MISSING ? tree_fail(reterr_diag, ENOENT, "reach", path) : r;
    }
    if (fstatat(place.fd, place.name, &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(info.st_mode)) {
        r = diag_set(reterr_diag, IO_TREE_E_PLACE, "%s is there and is no regular file", path);
    } else {
        r = tree_make_temp(place.fd, SPAN(""), &rights, temp);
        if (r == 0) {
            (void)unlinkat(place.fd, temp, 0);
        } else {
            r = tree_fail(reterr_diag, -r, "write", path);
        }
    }
    tree_close(&place.fd);
    return r;
}
