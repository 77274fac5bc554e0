/* Folders and files as Windows has them; declared in io/folder.h.
 *
 * As in windows/tree.c every folder on the way is opened as what it is (a link is refused) and kept
 * open without leave to rename it, so that nobody can put a link in its place meanwhile. */
#include "io/folder.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/file.h"
#include "io/folder_path.h"
#include "io/loop_internal.h"
#include "io/place.h"
#include "io/windows/system.h"

#define FOLDER_DEPTH_MAX 128
#define FOLDER_SHARE     (FILE_SHARE_READ | FILE_SHARE_WRITE)

/* By it a path may be longer than 260 characters; what follows is taken as it is. */
#define FOLDER_LONG_PREFIX "\\\\?\\"

/* 1970 in the system's time, which counts 100 ns since 1601. */
#define FOLDER_EPOCH   116444736000000000LL
#define FOLDER_UNIT_NS 100

struct IoFolder {
    char *path;
    char *root; /* the same for the system */
};

/* The whole path, and the folders on the way, which are held. */
typedef struct FolderPlace {
    char *full; /* mem_free */
    HANDLE folders[FOLDER_DEPTH_MAX];
    size_t n_folders;
} FolderPlace;

static void folder_leave(FolderPlace *place)
{
    while (place->n_folders > 0) {
        win_close(&place->folders[--place->n_folders]);
    }
    place->full = mem_free(place->full);
}

/* a, between and b in memory of its own. */
static char *folder_join(const char *a, const char *between, const char *b)
{
    size_t n_a = strlen(a);
    size_t n_between = strlen(between);
    size_t n_b = strlen(b);
    char *all = mem_alloc(n_a + n_between + n_b + 1);

    if (all != NULL) {
        memcpy(all, a, n_a);
        memcpy(all + n_a, between, n_between);
        memcpy(all + n_a + n_between, b, n_b + 1);
    }
    return all;
}

static bool folder_is_link(DWORD attributes)
{
    return (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
}

static bool folder_is_folder(DWORD attributes)
{
    return (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

static int folder_check_is_folder(const char *path)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    DWORD attributes;
    int r = win_wide(&wide, path);

    if (r != 0) {
        return err_pass(r);
    }
    attributes = GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        return err_raise(win_error());
    }
    return folder_is_folder(attributes) ? 0 : err_raise(-ENOTDIR);
}

int io_folder_open(IoFolder **ret, const char *path)
{
    IoFolder *folder = mem_alloc_array(1, sizeof(*folder));
    int r;

    if (folder == NULL) {
        return err_raise(-ENOMEM);
    }
    r = io_place_real(&folder->path, path);
    if (r == 0) {
        r = folder_check_is_folder(folder->path);
    }
    if (r == 0) {
        bool has_drive = folder->path[0] != '\0' && folder->path[1] == ':';
        size_t n = strlen(folder->path);

        /* "C:\" has it already, and all that follows comes after one. */
        if (n > 0 && folder->path[n - 1] == '\\') {
            folder->path[n - 1] = '\0';
        }
        folder->root = folder_join(has_drive ? FOLDER_LONG_PREFIX : "", folder->path, "\\");
        if (n > 0 && folder->path[n - 1] == '\0') {
            folder->path[n - 1] = '\\';
        }
        r = folder->root == NULL ? err_raise(-ENOMEM) : 0;
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
        (void)mem_free(folder->path);
        (void)mem_free(folder->root);
    }
    return mem_free(folder);
}

const char *io_folder_path(const IoFolder *folder)
{
    return folder->path;
}

/* ---- the way ---- */

/* 0 and *ret_attributes of what is open, which is a folder, or else a file, and no link. */
static int folder_check_handle(HANDLE handle, bool is_folder, BY_HANDLE_FILE_INFORMATION *ret_info)
{
    if (!GetFileInformationByHandle(handle, ret_info)) {
        return win_error();
    }
    if (folder_is_link(ret_info->dwFileAttributes)) {
        return -ELOOP;
    }
    if (folder_is_folder(ret_info->dwFileAttributes) != is_folder) {
        return is_folder ? -ENOTDIR : -EISDIR;
    }
    return 0;
}

/* Opens and holds the folder at full[0, n). */
static int folder_hold(FolderPlace *place, size_t n)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    BY_HANDLE_FILE_INFORMATION info;
    char kept = place->full[n];
    HANDLE handle;
    int r;

    if (place->n_folders == FOLDER_DEPTH_MAX) {
        return -ENAMETOOLONG;
    }
    place->full[n] = '\0';
    r = win_wide(&wide, place->full);
    place->full[n] = kept;
    if (r != 0) {
        return r;
    }
    handle = CreateFileW(wide, FILE_LIST_DIRECTORY, FOLDER_SHARE, NULL, OPEN_EXISTING,
                         FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        return win_error();
    }
    r = folder_check_handle(handle, true, &info);
    if (r != 0) {
        win_close(&handle);
        return r;
    }
    place->folders[place->n_folders++] = handle;
    return 0;
}

/* 0 or a negative errno; in any case folder_leave follows. */
static int folder_find(const IoFolder *folder, const char *path, FolderPlace *place)
{
    size_t n_root = strlen(folder->root);
    int r = 0;

    *place = (FolderPlace){.full = NULL};
    if (!folder_path_is_safe(path)) {
        return err_raise(-EINVAL);
    }
    place->full = folder_join(folder->root, "", path);
    if (place->full == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = n_root; r == 0 && place->full[i] != '\0'; i++) {
        if (place->full[i] == '/') {
            place->full[i] = '\\';
            r = folder_hold(place, i);
        }
    }
    return r == 0 ? 0 : err_raise(r);
}

static IoFolderStamp folder_stamp(DWORD size_high, DWORD size_low, FILETIME time)
{
    int64_t ticks = (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);

    return (IoFolderStamp){
        .size = (uint64_t)size_high << 32 | size_low,
        .mtime_ns = (ticks - FOLDER_EPOCH) * FOLDER_UNIT_NS,
    };
}

/* ---- what is in a folder ---- */

static int folder_list_one(FolderMaking *making, const WIN32_FIND_DATAW *found)
{
    CLEANUP(mem_freep) char *name = NULL;
    IoFolderStamp stamp = {.size = 0};
    IoFolderKind kind = IO_FOLDER_FILE;
    int r = win_utf8(&name, found->cFileName);

    if (r != 0) {
        return err_pass(r);
    }
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return 0;
    }
    if (folder_is_link(found->dwFileAttributes)) {
        kind = IO_FOLDER_LINK;
    } else if (folder_is_folder(found->dwFileAttributes)) {
        kind = IO_FOLDER_FOLDER;
    } else if ((found->dwFileAttributes & FILE_ATTRIBUTE_DEVICE) != 0) {
        kind = IO_FOLDER_OTHER;
    } else {
        stamp = folder_stamp(found->nFileSizeHigh, found->nFileSizeLow, found->ftLastWriteTime);
    }
    r = folder_making_add(making, name, kind, stamp);
    if (r == 0 && kind == IO_FOLDER_LINK) {
        making->entries[making->n - 1].leads_to_folder = folder_is_folder(found->dwFileAttributes);
    }
    return r;
}

static int folder_list_all(FolderMaking *making, const char *path)
{
    CLEANUP(mem_freep) char *pattern = folder_join(path, "\\", "*");
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    WIN32_FIND_DATAW found;
    HANDLE search;
    int r = pattern == NULL ? err_raise(-ENOMEM) : win_wide(&wide, pattern);

    if (r != 0) {
        return err_pass(r);
    }
    search = FindFirstFileW(wide, &found);
    if (search == INVALID_HANDLE_VALUE) {
        return GetLastError() == ERROR_FILE_NOT_FOUND ? 0 : err_raise(win_error());
    }
    do {
        r = folder_list_one(making, &found);
    } while (r == 0 && FindNextFileW(search, &found));
    if (r == 0 && GetLastError() != ERROR_NO_MORE_FILES) {
        r = err_raise(win_error());
    }
    (void)FindClose(search);
    return r;
}

int io_folder_list(IoFolder *folder, const char *path, IoFolderList *ret)
{
    FolderMaking making;
    FolderPlace place = {.full = NULL};
    int r;

    if (path[0] == '\0') {
        place.full = folder_join(folder->root, "", "");
        r = place.full == NULL ? err_raise(-ENOMEM) : 0;
        if (r == 0) {
            place.full[strlen(place.full) - 1] = '\0'; /* its last backslash */
        }
    } else {
        r = folder_find(folder, path, &place);
        if (r == 0) {
            r = folder_hold(&place, strlen(place.full));
        }
    }
    folder_making_init(&making);
    if (r == 0) {
        r = folder_list_all(&making, place.full);
    }
    folder_leave(&place);
    if (r == 0) {
        folder_making_give(&making, ret);
    }
    folder_making_deinit(&making);
    return r;
}

/* ---- files ---- */

/* Opens a regular file, no link. Gives *ret_fd. */
static int folder_open_file(const IoFolder *folder, const char *path, int *ret_fd,
                            IoFolderStamp *ret_stamp)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    BY_HANDLE_FILE_INFORMATION info;
    FolderPlace place;
    HANDLE handle = NULL;
    int r = folder_find(folder, path, &place);

    if (r == 0) {
        r = win_wide(&wide, place.full);
    }
    if (r == 0) {
        handle =
            CreateFileW(wide, GENERIC_READ, FOLDER_SHARE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                        FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
        r = handle == INVALID_HANDLE_VALUE ? win_error()
                                           : folder_check_handle(handle, false, &info);
    }
    if (r == 0 && GetFileType(handle) != FILE_TYPE_DISK) {
        r = -EINVAL;
    }
    if (r == 0) {
        r = win_descriptor(handle, ret_fd);
    }
    folder_leave(&place);
    if (r != 0) {
        win_close(&handle);
        return err_raise(r);
    }
    *ret_stamp = folder_stamp(info.nFileSizeHigh, info.nFileSizeLow, info.ftLastWriteTime);
    return 0;
}

int io_folder_read(IoFolder *folder, const char *path, Bytes *out, IoFolderStamp *ret_stamp)
{
    IoFolderStamp stamp;
    int fd = -1;
    int r = folder_open_file(folder, path, &fd, &stamp);

    if (r != 0) {
        return err_pass(r);
    }
    r = stamp.size > out->max_bytes - out->n ? BYTES_E_FULL : io_file_read_fd(out, fd);
    io_fd_close(fd);
    if (r == 0 && ret_stamp != NULL) {
        *ret_stamp = stamp;
    }
    return r;
}

int io_folder_read_head(IoFolder *folder, const char *path, size_t n, Bytes *out)
{
    size_t n_before = out->n;
    IoFolderStamp stamp;
    int64_t n_read = 1;
    int fd = -1;
    int r = bytes_reserve(out, n);

    if (r != 0) {
        return r;
    }
    r = folder_open_file(folder, path, &fd, &stamp);
    if (r != 0) {
        return err_pass(r);
    }
    while (n_read > 0 && out->n - n_before < n) {
        n_read = io_file_read_some(fd, out->data + out->n, n - (out->n - n_before));
        out->n += n_read > 0 ? (size_t)n_read : 0;
    }
    io_fd_close(fd);
    if (n_read < 0) {
        out->n = n_before;
        return err_pass((int)n_read);
    }
    return 0;
}

int io_folder_read_link(IoFolder *folder, const char *path, Bytes *out)
{
    FolderPlace place;
    uv_fs_t look;
    int r = folder_find(folder, path, &place);

    if (r == 0) {
        r = io_uv_result(uv_fs_readlink(NULL, &look, place.full, NULL));
        if (r == 0) {
            r = bytes_append(out, look.ptr, strlen(look.ptr));
        }
        uv_fs_req_cleanup(&look);
    }
    folder_leave(&place);
    return r;
}
