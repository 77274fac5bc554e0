/* Private files; declared in io/private_file.h.
 *
 * There is no lock that others only take notice of, but there are share modes, which the system
 * enforces. Three ways of opening a file make what flock makes elsewhere:
 *
 *     hold    reads, lets others read and rename, but not write: a process uses the file
 *     claim   reads and writes, lets others read and rename: its name may be given to another. Does
 *             not go with a hold or another claim
 *     look    writes, lets others do anything: fails while somebody holds or claims
 *
 * Who only reads gets into nobody's way.
 */
#include "io/private_file.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/loop_internal.h"
#include "io/place.h"
#include "io/windows/account.h"
#include "io/windows/place.h"

/* How long a leftover, or a file that somebody reads just now, is waited for. */
#define FILE_LOCK_NAPS 100

/* Times that the name may change hands while we try to take it. */
#define FILE_TRIES 16

/* Characters of a path that are converted on the stack. */
#define FILE_NEAR_PATH 1024

/* Names tried for a temporary file. */
#define FILE_TEMP_TRIES 100

/* The name has changed hands since we looked: look again. */
#define FILE_E_CHANGED 100

#define FILE_SHARE_HELD (FILE_SHARE_READ | FILE_SHARE_DELETE)
#define FILE_SHARE_ALL  (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* Renames and replaces what is open, where the system is new enough. */
#define FILE_RENAME_CLASS ((FILE_INFO_BY_HANDLE_CLASS)22) /* FileRenameInfoEx */
#define FILE_RENAME_FLAGS 0x3u                            /* REPLACE_IF_EXISTS, POSIX_SEMANTICS */

typedef struct FileRename {
    DWORD flags;
    HANDLE root;
    DWORD n_bytes;
    wchar_t name[];
} FileRename;

/* ---- opening ---- */

/* Is the name a regular file's? 0, -ENOENT…, -EINVAL: something else. */
static int file_check_kind(const wchar_t *path)
{
    DWORD attributes = GetFileAttributesW(path);

    if (attributes == INVALID_FILE_ATTRIBUTES) {
        return win_error();
    }
    return (attributes &
            (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DEVICE)) == 0
               ? 0
               : -EINVAL;
}

/* Opens what has the name, if it is a regular file; follows no link. -EBUSY: a share mode is in the
 * way. */
static int file_open(const wchar_t *path, DWORD access, DWORD share, HANDLE *ret)
{
    HANDLE handle;
    int r = file_check_kind(path);

    if (r != 0) {
        return r;
    }
    handle =
        CreateFileW(path, access, share, NULL, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        return win_error();
    }
    if (GetFileType(handle) != FILE_TYPE_DISK) {
        win_close(&handle);
        return -EINVAL;
    }
    *ret = handle;
    return 0;
}

static int file_open_held(const wchar_t *path, int *ret_fd)
{
    HANDLE handle = NULL;
    int r = file_open(path, GENERIC_READ, FILE_SHARE_HELD, &handle);

    if (r == 0) {
        r = win_descriptor(handle, ret_fd);
        if (r != 0) {
            win_close(&handle);
        }
    }
    return r;
}

static bool file_has_name(const wchar_t *path, HANDLE handle)
{
    uint64_t device;
    uint64_t inode;

    return win_place_number(handle, &device, &inode) && win_place_is(path, device, inode);
}

/* False also if that cannot be found out. */
static bool file_ends_with(HANDLE handle, Span signature)
{
    char end[PRIVATE_FILE_SIGNATURE_MAX];
    LARGE_INTEGER size;
    DWORD n = 0;

    if (signature.n > sizeof(end) || !GetFileSizeEx(handle, &size) ||
        size.QuadPart < (LONGLONG)signature.n) {
        return false;
    }
    size.QuadPart -= (LONGLONG)signature.n;
    return SetFilePointerEx(handle, size, NULL, FILE_BEGIN) &&
           ReadFile(handle, end, (DWORD)signature.n, &n, NULL) && n == signature.n &&
           span_equals(span_make(end, n), signature);
}

/* ---- claiming what a dead process left ---- */

static int file_open_claim(const wchar_t *path, int n_naps, HANDLE *ret)
{
    for (;;) {
        int r = file_open(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_HELD, ret);

        if (r != -EBUSY || n_naps-- == 0) {
            return r;
        }
        io_place_nap();
    }
}

/* May the name of what was claimed be given to another? Results as file_claim. */
static int file_check_left(const char *path, const wchar_t *wide, HANDLE handle, Span signature,
                           Diag *reterr_diag)
{
    WinExposure exposure;
    int r = win_exposure_of(handle, &exposure);

    if (r != 0 || exposure == WIN_EXPOSURE_OWNER) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "%s belongs to another user: choose another path", path);
    }
    if (!file_has_name(wide, handle)) {
        return FILE_E_CHANGED;
    }
    if (!file_ends_with(handle, signature)) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "%s is there and was not left by a parent: remove it, or choose another "
                        "path (--schema)",
                        path);
    }
    return 0;
}

/* Gives *ret. 0, FILE_E_CHANGED, PRIVATE_FILE_E_*, a negative errno. */
static int file_claim(const char *path, const wchar_t *wide, Span signature, int n_naps,
                      HANDLE *ret, Diag *reterr_diag)
{
    HANDLE handle = NULL;
    int r = file_open_claim(wide, n_naps, &handle);

    switch (r) {
    case 0:
        break;
    case -ENOENT:
        return FILE_E_CHANGED;
    case -EINVAL:
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "%s is there and is no regular file: move it away, or choose another path",
                        path);
    case -EBUSY:
        return diag_set(reterr_diag, PRIVATE_FILE_E_IN_USE,
                        "another process uses %s: end it, or choose another path", path);
    default:
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -r, "write", path);
    }
    r = file_check_left(path, wide, handle, signature, reterr_diag);
    if (r != 0) {
        win_close(&handle);
        return r;
    }
    *ret = handle;
    return 0;
}

/* ---- making and naming ---- */

static int file_write_all(HANDLE handle, Span content)
{
    while (content.n > 0) {
        DWORD n = 0;
        DWORD part = content.n < INT32_MAX ? (DWORD)content.n : INT32_MAX;

        if (!WriteFile(handle, content.p, part, &n, NULL)) {
            return err_raise(win_error());
        }
        content.p += n;
        content.n -= n;
    }
    return 0;
}

/* Letters for the end of a temporary name. */
static int file_choose_name(wchar_t *end)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    unsigned char random[IO_PLACE_TEMP_SIZE - sizeof(".tw-")];
    int r = io_uv_result(uv_random(NULL, NULL, random, sizeof(random), 0, NULL));

    for (size_t i = 0; r == 0 && i < sizeof(random); i++) {
        end[i] = (wchar_t)letters[random[i] % (sizeof(letters) - 1)];
    }
    return r;
}

/* A new file of ours alone with a name of its own in place of the X's in temp. */
static int file_create_temp(wchar_t *temp, HANDLE *ret)
{
    wchar_t *end = temp + wcslen(temp) - (IO_PLACE_TEMP_SIZE - sizeof(".tw-"));
    WinPrivacy privacy;
    int r = win_privacy_init(&privacy, false);

    for (int i = 0; r == 0; i++) {
        HANDLE handle;

        r = file_choose_name(end);
        if (r != 0) {
            break;
        }
        handle = CreateFileW(temp, GENERIC_WRITE, FILE_SHARE_HELD, &privacy.attributes, CREATE_NEW,
                             FILE_ATTRIBUTE_NORMAL, NULL);
        if (handle != INVALID_HANDLE_VALUE) {
            *ret = handle;
            return 0;
        }
        r = win_error();
        r = r == -EEXIST && i < FILE_TEMP_TRIES ? 0 : r;
    }
    return err_raise(r);
}

/* Makes the file that is to have the path: complete and held, under the name temp. Gives *ret_fd. 0
 * or a negative errno. */
static int file_make(wchar_t *temp, Span content, int *ret_fd)
{
    HANDLE handle = NULL;
    int r = file_create_temp(temp, &handle);

    if (r != 0) {
        return err_pass(r);
    }
    r = file_write_all(handle, content);
    /* Nobody knows the name yet: it need not be held from one moment to the next. */
    win_close(&handle);
    if (r == 0) {
        r = file_open_held(temp, ret_fd);
    }
    if (r != 0) {
        (void)DeleteFileW(temp);
    }
    return r;
}

/* Replaces a file that is open, by us and by readers. 0 or a negative errno: not on this system, or
 * somebody does not let us. */
static int file_rename_over(const wchar_t *temp, const wchar_t *path)
{
    size_t n = wcslen(path);
    HANDLE handle = NULL;
    CLEANUP(mem_freep)
    FileRename *rename = mem_alloc_array(1, sizeof(*rename) + (n + 1) * sizeof(*path));
    int r = rename == NULL ? err_raise(-ENOMEM) : file_open(temp, DELETE, FILE_SHARE_ALL, &handle);

    if (r != 0) {
        return r;
    }
    rename->flags = FILE_RENAME_FLAGS;
    rename->n_bytes = (DWORD)(n * sizeof(*path));
    memcpy(rename->name, path, (n + 1) * sizeof(*path));
    if (!SetFileInformationByHandle(handle, FILE_RENAME_CLASS, rename,
                                    (DWORD)(sizeof(*rename) + (n + 1) * sizeof(*path)))) {
        r = win_error();
    }
    win_close(&handle);
    return r;
}

/* The old way, which replaces nothing that is open: so ours is closed first. Who claims the file in
 * that moment has it open, and then we do not get it. */
static int file_move_over(const wchar_t *temp, const wchar_t *path)
{
    for (int i = 0;; i++) {
        int r = MoveFileExW(temp, path, MOVEFILE_REPLACE_EXISTING) ? 0 : win_error();

        if ((r != -EACCES && r != -EBUSY) || i == FILE_LOCK_NAPS) {
            return r;
        }
        io_place_nap();
    }
}

/* Gives file's name to the file temp, which replaces what is ours, or was left and is claimed. */
static int file_replace(PrivateFile *file, const wchar_t *path, const wchar_t *temp, HANDLE left,
                        Diag *reterr_diag)
{
    int r = file_rename_over(temp, path);

    if (r == -ENOMEM) {
        win_close(&left);
        return diag_set(reterr_diag, err_pass(r), "out of memory");
    }
    if (r != 0 && left != NULL) {
        win_close(&left);
        r = file_move_over(temp, path);
    } else if (r != 0) {
        io_fd_close(file->fd);
        file->fd = -1;
        r = file_move_over(temp, path);
        if (r != 0) {
            (void)file_open_held(path, &file->fd);
        }
    }
    win_close(&left);
    if (r == -EACCES || r == -EBUSY) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_IN_USE,
                        "another process uses %s: end it, or choose another path", file->path);
    }
    return r == 0 ? 0 : io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -r, "write", file->path);
}

/* Gives file's name to the file temp, once. Results as file_claim. */
static int file_take_name(PrivateFile *file, const wchar_t *path, const wchar_t *temp,
                          Diag *reterr_diag)
{
    HANDLE left = NULL;
    int r = MoveFileExW(temp, path, 0) ? 0 : win_error();

    if (r == 0) {
        return 0;
    }
    if (r != -EEXIST && (r != -EACCES || GetFileAttributesW(path) == INVALID_FILE_ATTRIBUTES)) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -r, "write", file->path);
    }
    if (file->fd < 0 || !file_has_name(path, win_handle(file->fd))) {
        r = file_claim(file->path, path, file->signature, file->is_hasty ? 0 : FILE_LOCK_NAPS,
                       &left, reterr_diag);
        if (r != 0) {
            return r;
        }
    }
    return file_replace(file, path, temp, left, reterr_diag);
}

/* path's folder and a name of our own. Gives *ret (mem_free). 0 or a negative errno. */
static int file_temp_path(wchar_t **ret, const char *path)
{
    size_t n_folder = io_place_folder_length(path);
    CLEANUP(mem_freep) char *temp = mem_alloc(n_folder + IO_PLACE_TEMP_SIZE);

    if (temp == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(temp, path, n_folder);
    memcpy(temp + n_folder, IO_PLACE_TEMP, IO_PLACE_TEMP_SIZE);
    return err_pass(win_wide(ret, temp));
}

/* A new file with that content under file's path. file->fd: what we have there already, or -1; it
 * is closed, and its place taken, on success. */
static int file_put(PrivateFile *file, Span content, Diag *reterr_diag)
{
    CLEANUP(mem_freep) wchar_t *temp = NULL;
    CLEANUP(mem_freep) wchar_t *path = NULL;
    int fd = -1;
    int r = file_temp_path(&temp, file->path);

    if (r == 0) {
        r = win_wide(&path, file->path);
    }
    if (r == 0) {
        r = file_make(temp, content, &fd);
    }
    if (r != 0) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -r, "write", file->path);
    }
    for (int i = 0; i < FILE_TRIES; i++) {
        r = file_take_name(file, path, temp, reterr_diag);
        if (r != FILE_E_CHANGED) {
            break;
        }
    }
    if (r == FILE_E_CHANGED) {
        r = diag_set(reterr_diag, PRIVATE_FILE_E_IN_USE,
                     "other processes keep changing %s: choose another path", file->path);
    }
    if (r != 0) {
        io_fd_close(fd);
        (void)DeleteFileW(temp);
        return r;
    }
    io_fd_close(file->fd);
    file->fd = fd;
    return 0;
}

/* ---- the door ---- */

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
    r = file_put(&file, content, reterr_diag);
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
    return file_put(file, content, reterr_diag);
}

/* Without memory too, unless the path is uncommonly long. */
static void file_delete_own(const PrivateFile *file)
{
    wchar_t near_path[FILE_NEAR_PATH];
    CLEANUP(mem_freep) wchar_t *far_path = NULL;
    const wchar_t *path = near_path;

    if (MultiByteToWideChar(CP_UTF8, 0, file->path, -1, near_path, FILE_NEAR_PATH) == 0) {
        if (win_wide(&far_path, file->path) != 0) {
            return;
        }
        path = far_path;
    }
    if (file_has_name(path, win_handle(file->fd))) {
        (void)DeleteFileW(path);
    }
}

void private_file_remove(PrivateFile *file)
{
    if (file->fd >= 0) {
        file_delete_own(file);
        io_fd_close(file->fd);
    }
    (void)mem_free(file->path);
    *file = PRIVATE_FILE_NULL;
}

bool private_file_is_held(const char *path)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    HANDLE handle = NULL;
    int r = win_wide(&wide, path);

    if (r == 0) {
        r = file_open(wide, FILE_WRITE_DATA, FILE_SHARE_ALL, &handle);
    }
    win_close(&handle);
    return r != 0 && r != -ENOENT;
}

bool private_file_remove_left(const char *path, Span signature)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    HANDLE handle = NULL;
    bool is_removed;

    if (win_wide(&wide, path) != 0 || file_claim(path, wide, signature, 0, &handle, NULL) != 0) {
        return false;
    }
    is_removed = DeleteFileW(wide);
    win_close(&handle);
    return is_removed;
}
