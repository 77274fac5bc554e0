/* Folders and files as POSIX has them; the other half is windows/folder.c.
 *
 * Every name on the way is opened in the folder before it, and none of them may be a link: so
 * nothing that changes meanwhile can lead out of the root. */
#include "io/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/file.h"
#include "io/folder_path.h"
#include "io/place.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define FOLDER_NS    1000000000LL

struct IoFolder {
    int fd;
    char *path;
};

/* The folder of a path, and the name in it; is_own: its fd is to be closed. */
typedef struct FolderPlace {
    int fd;
    bool is_own;
    const char *name;
} FolderPlace;

static void folder_leave(FolderPlace *place)
{
    if (place->is_own) {
        (void)close(place->fd);
        place->is_own = false;
    }
}

int io_folder_open(IoFolder **ret, const char *path)
{
    IoFolder *folder = mem_alloc_array(1, sizeof(*folder));
    int r;

    if (folder == NULL) {
        return err_raise(-ENOMEM);
    }
    folder->fd = -1;
    r = io_place_real(&folder->path, path);
    if (r == 0) {
        folder->fd = open(folder->path, FOLDER_FLAGS);
        r = folder->fd < 0 ? err_raise(-errno) : 0;
    }
    if (r != 0) {
        (void)io_folder_free(folder);
        return r;
    }
    *ret = folder;
    return 0;
}

IoFolder *io_folder_free(IoFolder *folder)
{
    if (folder != NULL) {
        if (folder->fd >= 0) {
            (void)close(folder->fd);
        }
        (void)mem_free(folder->path);
    }
    return mem_free(folder);
}

const char *io_folder_path(const IoFolder *folder)
{
    return folder->path;
}

/* Opens the next folder in place of the one that is open. */
static int folder_enter(FolderPlace *place, const char *name)
{
    int next = openat(place->fd, name, FOLDER_FLAGS | O_NOFOLLOW);

    if (next < 0) {
        return -errno;
    }
    folder_leave(place);
    place->fd = next;
    place->is_own = true;
    return 0;
}

/* 0 or a negative errno; folder_leave follows on success. */
static int folder_find(const IoFolder *folder, const char *path, FolderPlace *ret)
{
    FolderPlace place = {.fd = folder->fd};
    char name[NAME_MAX + 1];

    if (!folder_path_is_safe(path)) {
        return err_raise(-EINVAL);
    }
    for (;;) {
        size_t n = strcspn(path, "/");
        int r;

        if (path[n] == '\0') {
            place.name = path;
            *ret = place;
            return 0;
        }
        r = -ENAMETOOLONG;
        if (n < sizeof(name)) {
            memcpy(name, path, n);
            name[n] = '\0';
            r = folder_enter(&place, name);
        }
        if (r != 0) {
            folder_leave(&place);
            return err_raise(r);
        }
        path += n + 1;
    }
}

static IoFolderStamp folder_stamp(const struct stat *info)
{
    return (IoFolderStamp){
        .size = (uint64_t)info->st_size,
        .mtime_ns = (int64_t)info->st_mtim.tv_sec * FOLDER_NS + info->st_mtim.tv_nsec,
        .ctime_ns = (int64_t)info->st_ctim.tv_sec * FOLDER_NS + info->st_ctim.tv_nsec,
        .inode = info->st_ino,
        .device = info->st_dev,
    };
}

/* ---- what is in a folder ---- */

static IoFolderKind folder_kind(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return IO_FOLDER_FILE;
    case S_IFDIR:
        return IO_FOLDER_FOLDER;
    case S_IFLNK:
        return IO_FOLDER_LINK;
    default:
        return IO_FOLDER_OTHER;
    }
}

/* Only files, and what the folder itself does not tell, are looked at. */
static int folder_list_one(FolderMaking *making, int fd, const struct dirent *entry)
{
    IoFolderStamp stamp = {.size = 0};
    IoFolderKind kind = IO_FOLDER_OTHER;
    struct stat info;
    int r;

    switch (entry->d_type) {
    case DT_DIR:
        kind = IO_FOLDER_FOLDER;
        break;
    case DT_LNK:
        kind = IO_FOLDER_LINK;
        break;
    case DT_REG:
    case DT_UNKNOWN:
        if (fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
            return errno == ENOENT ? 0 : err_raise(-errno); /* gone meanwhile */
        }
        kind = folder_kind(info.st_mode);
        if (kind == IO_FOLDER_FILE) {
            stamp = folder_stamp(&info);
        }
        break;
    default:
        break;
    }
    r = folder_making_add(making, entry->d_name, kind, stamp);
    if (r == 0 && kind == IO_FOLDER_LINK) {
        /* Asked of the system, and not opened. */
        making->entries[making->n - 1].leads_to_folder =
            fstatat(fd, entry->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
    }
    return r;
}

static int folder_list_all(FolderMaking *making, DIR *entries)
{
    int r = 0;

    while (r == 0) {
        const struct dirent *entry;

        errno = 0;
        entry = readdir(entries);
        if (entry == NULL) {
            return errno == 0 ? 0 : err_raise(-errno);
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            r = folder_list_one(making, dirfd(entries), entry);
        }
    }
    return r;
}

/* A descriptor of its own in any case: the position in a folder is the descriptor's. */
static int folder_open_list(const IoFolder *folder, const char *path, DIR **ret)
{
    FolderPlace place = {.fd = folder->fd, .name = "."};
    int r = path[0] == '\0' ? 0 : folder_find(folder, path, &place);
    int fd;

    if (r != 0) {
        return err_pass(r);
    }
    fd = openat(place.fd, place.name, FOLDER_FLAGS | O_NOFOLLOW);
    r = fd < 0 ? err_raise(-errno) : 0;
    folder_leave(&place);
    if (r != 0) {
        return r;
    }
    *ret = fdopendir(fd);
    if (*ret == NULL) {
        r = -errno;
        (void)close(fd);
        return err_raise(r);
    }
    return 0;
}

int io_folder_list(IoFolder *folder, const char *path, IoFolderList *ret)
{
    FolderMaking making;
    DIR *entries = NULL;
    int r = folder_open_list(folder, path, &entries);

    if (entries == NULL) {
        return err_pass(r);
    }
    folder_making_init(&making);
    r = folder_list_all(&making, entries);
    (void)closedir(entries);
    if (r == 0) {
        folder_making_give(&making, ret);
    }
    folder_making_deinit(&making);
    return r;
}

/* ---- files ---- */

/* 0, or why it is not to be read. */
static int folder_check_file(const struct stat *info)
{
    switch (folder_kind(info->st_mode)) {
    case IO_FOLDER_FILE:
        return 0;
    case IO_FOLDER_LINK:
        return -ELOOP;
    case IO_FOLDER_FOLDER:
        return -EISDIR;
    default:
        return -EINVAL;
    }
}

/* Opens a regular file. Gives *ret_fd. */
static int folder_open_file(const IoFolder *folder, const char *path, int *ret_fd,
                            struct stat *ret_info)
{
    FolderPlace place = {.fd = -1, .name = ""};
    int fd = -1;
    int r = folder_find(folder, path, &place);

    if (r != 0) {
        return err_pass(r);
    }
    /* Opening a device can do things; what takes the file's place meanwhile is told apart below. */
    r = fstatat(place.fd, place.name, ret_info, AT_SYMLINK_NOFOLLOW) == 0
            ? folder_check_file(ret_info)
            : -errno;
    if (r == 0) {
        fd =
            openat(place.fd, place.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        r = fd >= 0 && fstat(fd, ret_info) == 0 ? folder_check_file(ret_info) : -errno;
    }
    folder_leave(&place);
    if (r != 0) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return err_raise(r);
    }
    *ret_fd = fd;
    return 0;
}

int io_folder_read(IoFolder *folder, const char *path, Bytes *out, IoFolderStamp *ret_stamp)
{
    struct stat info = {.st_size = 0};
    int fd = -1;
    int r = folder_open_file(folder, path, &fd, &info);

    if (r != 0) {
        return err_pass(r);
    }
    r = (uint64_t)info.st_size > out->max_bytes - out->n ? BYTES_E_FULL : io_file_read_fd(out, fd);
    (void)close(fd);
    if (r == 0 && ret_stamp != NULL) {
        *ret_stamp = folder_stamp(&info);
    }
    return r;
}

int io_folder_read_head(IoFolder *folder, const char *path, size_t n, Bytes *out)
{
    size_t n_before = out->n;
    struct stat info;
    int64_t n_read = 1;
    int fd = -1;
    int r = bytes_reserve(out, n);

    if (r != 0) {
        return r;
    }
    r = folder_open_file(folder, path, &fd, &info);
    if (r != 0) {
        return err_pass(r);
    }
    while (n_read > 0 && out->n - n_before < n) {
        n_read = io_file_read_some(fd, out->data + out->n, n - (out->n - n_before));
        out->n += n_read > 0 ? (size_t)n_read : 0;
    }
    (void)close(fd);
    if (n_read < 0) {
        out->n = n_before;
        return err_pass((int)n_read);
    }
    return 0;
}

int io_folder_read_link(IoFolder *folder, const char *path, Bytes *out)
{
    char target[PATH_MAX];
    FolderPlace place = {.fd = -1, .name = ""};
    ssize_t n;
    int r = folder_find(folder, path, &place);

    if (r != 0) {
        return err_pass(r);
    }
    n = readlinkat(place.fd, place.name, target, sizeof(target));
    r = n < 0 ? err_raise(-errno) : 0;
    folder_leave(&place);
    if (r == 0 && (size_t)n == sizeof(target)) {
        r = err_raise(-ENAMETOOLONG); /* cut, perhaps */
    }
    return r != 0 ? r : bytes_append(out, target, (size_t)n);
}
