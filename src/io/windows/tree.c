/* Files beneath a folder as Windows has them; declared in io/tree.h.
 *
 * There is no opening of a name in an open folder, so every folder on the way is opened as what it
 * is (a link is not followed, and refused) and kept open, shared for reading and writing only: as
 * long as that is so nobody can rename it or put a link in its place. */
#include "io/tree.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/tree_lines.h"
#include "io/windows/system.h"

#define TREE_TEMP_TRIES  100
#define TREE_DEPTH_MAX   64
#define TREE_LOOK_BYTES  ((size_t)64 * 1024 * 1024)
#define TREE_SHARE       (FILE_SHARE_READ | FILE_SHARE_WRITE)
#define TREE_NUMBER_SIZE 32

/* Something on the way is missing. */
#define TREE_E_MISSING 100

/* The whole path, and the folders on the way, which are held. */
typedef struct TreePlace {
    char *full;      /* mem_free */
    size_t n_folder; /* of full, up to the last separator, that included */
    HANDLE folders[TREE_DEPTH_MAX];
    size_t n_folders;
} TreePlace;

static void tree_leave(TreePlace *place)
{
    while (place->n_folders > 0) {
        win_close(&place->folders[--place->n_folders]);
    }
    place->full = mem_free(place->full);
}

static int tree_fail(Diag *reterr_diag, int error, const char *action, const char *path)
{
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
        return diag_set(reterr_diag, IO_TREE_E_PLACE, "cannot %s %s: %s", action, path,
                        error == ELOOP || error == ENOTDIR ? "a link or a file is in the way"
                                                           : io_error_text(error));
    default:
        (void)diag_set(reterr_diag, -error, "cannot %s %s: %s", action, path, io_error_text(error));
        return err_raise(-error);
    }
}

/* What is open: 0 if it is a folder (or, else, a file), and no link. */
static int tree_check_kind(HANDLE handle, bool is_folder)
{
    BY_HANDLE_FILE_INFORMATION info;

    if (!GetFileInformationByHandle(handle, &info)) {
        return win_error();
    }
    if ((info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
        return -ELOOP;
    }
    if (((info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0) != is_folder) {
        return is_folder ? -ENOTDIR : -EISDIR;
    }
    return 0;
}

/* Opens and holds the folder at full[0, n); is_root: it may be a link. */
static int tree_hold(TreePlace *place, size_t n, bool is_root, bool is_made)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    char kept = place->full[n];
    HANDLE handle;
    int r;

    if (place->n_folders == TREE_DEPTH_MAX) {
        return -ENAMETOOLONG;
    }
    place->full[n] = '\0';
    r = win_wide(&wide, place->full);
    place->full[n] = kept;
    if (r != 0) {
        return r;
    }
    if (is_made && !CreateDirectoryW(wide, NULL) && GetLastError() != ERROR_ALREADY_EXISTS) {
        return win_error();
    }
    handle = CreateFileW(wide, FILE_LIST_DIRECTORY, TREE_SHARE, NULL, OPEN_EXISTING,
                         FILE_FLAG_BACKUP_SEMANTICS | (is_root ? 0 : FILE_FLAG_OPEN_REPARSE_POINT),
                         NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        return win_error();
    }
    r = tree_check_kind(handle, true);
    if (r != 0) {
        win_close(&handle);
        return r;
    }
    place->folders[place->n_folders++] = handle;
    return 0;
}

static int tree_join(TreePlace *place, const char *root, const char *path)
{
    size_t n_root = strlen(root);
    size_t n_path = strlen(path);

    place->full = mem_alloc(n_root + n_path + 2);
    if (place->full == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(place->full, root, n_root);
    place->full[n_root] = '\\';
    memcpy(place->full + n_root + 1, path, n_path + 1);
    for (size_t i = n_root + 1; place->full[i] != '\0'; i++) {
        if (place->full[i] == '/') {
            place->full[i] = '\\';
            place->n_folder = i + 1;
        }
    }
    if (place->n_folder == 0) {
        place->n_folder = n_root + 1;
    }
    return 0;
}

/* 0, a negative errno, IO_TREE_E_PLACE, TREE_E_MISSING; in any case tree_leave follows. */
static int tree_find(const char *root, const char *path, bool is_made, TreePlace *place,
                     Diag *reterr_diag)
{
    size_t n_root = strlen(root);
    const char *why;
    int r;

    *place = (TreePlace){.full = NULL};
    if (!tree_path_is_safe(path, &why)) {
        return diag_set(reterr_diag, IO_TREE_E_PLACE, "%.100s: %s", path, why);
    }
    r = tree_join(place, root, path);
    if (r == 0) {
        r = tree_hold(place, n_root, true, false);
        if (r != 0) {
            (void)diag_set(reterr_diag, r, "cannot open the folder %s: %s", root,
                           io_error_text(-r));
            return err_raise(r);
        }
    }
    for (size_t i = n_root + 1; r == 0 && i < place->n_folder; i++) {
        if (place->full[i] == '\\') {
            r = tree_hold(place, i, false, is_made);
        }
    }
    if (r == -ENOENT) {
        return TREE_E_MISSING;
    }
    return r == 0 || r == -ENOMEM ? r : tree_fail(reterr_diag, -r, "reach", path);
}

/* Opens a regular file, no link. */
static int tree_open_file(const TreePlace *place, const char *path, int *ret_fd, Diag *reterr_diag)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    HANDLE handle;
    int r = win_wide(&wide, place->full);

    if (r != 0) {
        return err_pass(r);
    }
    handle = CreateFileW(wide, GENERIC_READ, TREE_SHARE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                         FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        r = win_error();
        return r == -ENOENT ? TREE_E_MISSING : tree_fail(reterr_diag, -r, "read", path);
    }
    r = tree_check_kind(handle, false);
    if (r == 0 && GetFileType(handle) != FILE_TYPE_DISK) {
        r = -EINVAL;
    }
    if (r == 0) {
        r = win_descriptor(handle, ret_fd);
    }
    if (r == 0) {
        return 0;
    }
    win_close(&handle);
    return diag_set(reterr_diag, IO_TREE_E_PLACE, "%s is there and is no regular file", path);
}

static int tree_look_file(int fd, Span content, IoTreeLook *ret)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    int r;

    bytes_init(&text, TREE_LOOK_BYTES);
    r = io_file_read_fd(&text, fd);
    if (r == BYTES_E_FULL) {
        IoTreeLook all;

        r = tree_compare(SPAN_NULL, content, &all);
        *ret = (IoTreeLook){.state = IO_TREE_DIFFERS, .n_added = all.n_added};
        return r;
    }
    return r == 0 ? tree_compare(bytes_span(&text), content, ret) : err_pass(r);
}

int io_tree_look(const char *root, const char *path, Span content, bool executable, IoTreeLook *ret,
                 Diag *reterr_diag)
{
    TreePlace place;
    int fd = -1;
    int r = tree_find(root, path, false, &place, reterr_diag);

    (void)executable; /* as in io_tree_write */
    if (r == 0) {
        r = tree_open_file(&place, path, &fd, reterr_diag);
    }
    if (r == 0) {
        r = tree_look_file(fd, content, ret);
        io_fd_close(fd);
    }
    tree_leave(&place);
    if (r == TREE_E_MISSING) {
        *ret = (IoTreeLook){.state = IO_TREE_NEW};
        return 0;
    }
    return r;
}

int io_tree_read(const char *root, const char *path, Bytes *out, Diag *reterr_diag)
{
    TreePlace place;
    int fd = -1;
    int r = tree_find(root, path, false, &place, reterr_diag);

    if (r == 0) {
        r = tree_open_file(&place, path, &fd, reterr_diag);
    }
    if (r == 0) {
        r = io_file_read_fd(out, fd);
        io_fd_close(fd);
    }
    tree_leave(&place);
    return r == TREE_E_MISSING ? err_raise(-ENOENT) : r;
}

/* ---- writing ---- */

static int tree_write_all(HANDLE handle, Span content)
{
    while (content.n > 0) {
        DWORD n = 0;

        if (!WriteFile(handle, content.p, content.n < 65536 ? (DWORD)content.n : 65536, &n, NULL)) {
            return win_error();
        }
        content.p += n;
        content.n -= n;
    }
    return 0;
}

/* A complete file under a name of its own in the folder. Gives *ret_temp (mem_free). */
static int tree_make_temp(const TreePlace *place, Span content, wchar_t **ret_temp)
{
    CLEANUP(mem_freep) char *path = mem_alloc(place->n_folder + TREE_NUMBER_SIZE);
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    HANDLE handle = INVALID_HANDLE_VALUE;
    int r = path == NULL ? err_raise(-ENOMEM) : 0;

    for (int i = 0; r == 0 && handle == INVALID_HANDLE_VALUE && i < TREE_TEMP_TRIES; i++) {
        uint64_t number = 0;

        r = random_fill(&number, sizeof(number));
        memcpy(path, place->full, place->n_folder);
        (void)snprintf(path + place->n_folder, TREE_NUMBER_SIZE, ".tw-%016llx",
                       (unsigned long long)number);
        wide = mem_free(wide);
        r = r != 0 ? r : win_wide(&wide, path);
        if (r == 0) {
            handle =
                CreateFileW(wide, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
            r = handle != INVALID_HANDLE_VALUE || GetLastError() == ERROR_FILE_EXISTS ? 0
                                                                                      : win_error();
        }
    }
    if (r != 0 || handle == INVALID_HANDLE_VALUE) {
        return r != 0 ? r : -EEXIST;
    }
    r = tree_write_all(handle, content);
    win_close(&handle);
    if (r != 0) {
        (void)DeleteFileW(wide);
        return r;
    }
    *ret_temp = wide;
    wide = NULL;
    return 0;
}

/* 0 if nothing is there, or a file that can be replaced. */
static int tree_check_free(const wchar_t *wide, const char *path, Diag *reterr_diag)
{
    DWORD attributes = GetFileAttributesW(wide);

    if (attributes != INVALID_FILE_ATTRIBUTES &&
        (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) != 0) {
        return diag_set(reterr_diag, IO_TREE_E_PLACE, "%s is there and is no regular file", path);
    }
    return 0;
}

static int tree_put(const TreePlace *place, const char *path, const wchar_t *temp, bool replace,
                    Diag *reterr_diag)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    int r = win_wide(&wide, place->full);

    if (r != 0) {
        return err_pass(r);
    }
    r = tree_check_free(wide, path, reterr_diag);
    if (r != 0) {
        return r;
    }
    if (MoveFileExW(temp, wide, replace ? MOVEFILE_REPLACE_EXISTING : 0)) {
        return 0;
    }
    if (GetLastError() == ERROR_ALREADY_EXISTS || GetLastError() == ERROR_FILE_EXISTS) {
        return diag_set(reterr_diag, IO_TREE_E_EXISTS, "%s is there already", path);
    }
    return tree_fail(reterr_diag, -win_error(), "write", path);
}

int io_tree_write(const char *root, const char *path, Span content, bool executable, bool replace,
                  Diag *reterr_diag)
{
    CLEANUP(mem_freep) wchar_t *temp = NULL;
    TreePlace place;
    int r = tree_find(root, path, true, &place, reterr_diag);

    (void)executable; /* what may be run says the name here */
    if (r == TREE_E_MISSING) {
        r = tree_fail(reterr_diag, ENOENT, "reach", path);
    } else if (r == 0) {
        r = tree_make_temp(&place, content, &temp);
        r = r != 0 && r != -ENOMEM ? tree_fail(reterr_diag, -r, "write", path) : r;
    }
    if (r == 0) {
        r = tree_put(&place, path, temp, replace, reterr_diag);
        if (r != 0) {
            (void)DeleteFileW(temp);
        }
    }
    tree_leave(&place);
    return r;
}

int io_tree_try(const char *root, const char *path, Diag *reterr_diag)
{
    CLEANUP(mem_freep) wchar_t *temp = NULL;
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    TreePlace place;
    int r = tree_find(root, path, false, &place, reterr_diag);

    if (r == TREE_E_MISSING) {
        r = tree_fail(reterr_diag, ENOENT, "reach", path);
    } else if (r == 0) {
        r = win_wide(&wide, place.full);
        r = r != 0 ? err_pass(r) : tree_check_free(wide, path, reterr_diag);
        if (r == 0) {
            r = tree_make_temp(&place, SPAN(""), &temp);
            r = r != 0 && r != -ENOMEM ? tree_fail(reterr_diag, -r, "write", path) : r;
        }
    }
    if (temp != NULL) {
        (void)DeleteFileW(temp);
    }
    tree_leave(&place);
    return r;
}
