/* Kept files as Windows has them; declared in io/keep.h. */
#include "io/keep.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "io/descriptor_look.h"
#include "io/file.h"
#include "io/place.h"
#include "io/windows/account.h"

#define KEEP_TEMP_TRIES 100
#define KEEP_TEMP_SIZE  32

/* How often a file that somebody reads just now is tried to be replaced. */
#define KEEP_NAPS 100

#define KEEP_NAME "\\toolwire"

int io_keep_folder(char **ret)
{
    const char *base = getenv("LOCALAPPDATA");
    size_t n = base == NULL ? 0 : strlen(base);
    char *path;

    if (n == 0) {
        return err_raise(-ENOENT);
    }
    path = mem_alloc(n + sizeof(KEEP_NAME));
    if (path == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(path, base, n);
    memcpy(path + n, KEEP_NAME, sizeof(KEEP_NAME));
    *ret = path;
    return 0;
}

/* Only what is a regular file and can be changed by nobody else. */
static int keep_check(HANDLE handle)
{
    BY_HANDLE_FILE_INFORMATION info;
    WinExposure exposure = WIN_EXPOSURE_OTHERS;
    int r;

    if (GetFileType(handle) != FILE_TYPE_DISK || !GetFileInformationByHandle(handle, &info) ||
        (info.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) != 0) {
        return err_raise(-EPERM);
    }
    r = win_exposure_of(handle, &exposure);
    return r == 0 && exposure != WIN_EXPOSURE_NONE ? err_raise(-EPERM) : r;
}

int io_keep_read(const char *path, Bytes *out)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    HANDLE handle;
    int fd = -1;
    int r = win_wide(&wide, path);

    if (r != 0) {
        return err_pass(r);
    }
    handle = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                         NULL, OPEN_EXISTING,
                         FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        return err_raise(win_error());
    }
    r = keep_check(handle);
    if (r == 0) {
        r = win_descriptor(handle, &fd);
    }
    if (r != 0) {
        win_close(&handle);
        return err_pass(r);
    }
    r = io_file_read_fd(out, fd);
    io_fd_close(fd);
    return r;
}

static bool keep_is_there(const wchar_t *path)
{
    return GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
}

/* Makes what is missing of the folders on the way, ours alone. */
int io_keep_make_folders(const char *path)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    WinPrivacy privacy;
    int r = win_wide(&wide, path);

    if (r == 0) {
        r = win_privacy_init(&privacy, true);
    }
    for (wchar_t *at = wide; r == 0 && *at != L'\0'; at++) {
        wchar_t slash = *at;

        if ((slash != L'\\' && slash != L'/') || at == wide || at[-1] == L':') {
            continue;
        }
        *at = L'\0';
        /* A share, or a drive, cannot be made and is there. */
        if (!keep_is_there(wide) && !CreateDirectoryW(wide, &privacy.attributes) &&
            GetLastError() != ERROR_ALREADY_EXISTS && wcschr(wide + 2, L'\\') != NULL) {
            r = err_raise(win_error());
        }
        *at = slash;
    }
    return r;
}

/* A new file of ours alone, beside path. Gives *ret and *ret_temp (mem_free). */
static int keep_open_temp(const char *path, HANDLE *ret, wchar_t **ret_temp)
{
    size_t n_folder = io_place_folder_length(path);
    CLEANUP(mem_freep) char *temp = mem_alloc(n_folder + KEEP_TEMP_SIZE);
    WinPrivacy privacy;
    int r = temp == NULL ? err_raise(-ENOMEM) : win_privacy_init(&privacy, false);

    for (int i = 0; r == 0 && i < KEEP_TEMP_TRIES; i++) {
        CLEANUP(mem_freep) wchar_t *wide = NULL;
        uint64_t number = 0;

        r = random_fill(&number, sizeof(number));
        memcpy(temp, path, n_folder);
        (void)snprintf(temp + n_folder, KEEP_TEMP_SIZE, ".tw-%016llx", (unsigned long long)number);
        r = r != 0 ? r : win_wide(&wide, temp);
        if (r != 0) {
            break;
        }
        *ret = CreateFileW(wide, GENERIC_WRITE, 0, &privacy.attributes, CREATE_NEW,
                           FILE_ATTRIBUTE_NORMAL, NULL);
        if (*ret != INVALID_HANDLE_VALUE) {
            *ret_temp = wide;
            wide = NULL;
            return 0;
        }
        r = GetLastError() == ERROR_FILE_EXISTS ? 0 : win_error();
    }
    return err_raise(r != 0 ? r : -EEXIST);
}

static int keep_write_all(HANDLE handle, Span content)
{
    while (content.n > 0) {
        DWORD n = 0;

        if (!WriteFile(handle, content.p, content.n < 65536 ? (DWORD)content.n : 65536, &n, NULL)) {
            return err_raise(win_error());
        }
        content.p += n;
        content.n -= n;
    }
    return 0;
}

/* A file that is open is not replaced: its readers are soon through. */
static int keep_replace(const wchar_t *temp, const char *path)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    int r = win_wide(&wide, path);

    for (int i = 0; r == 0; i++) {
        if (MoveFileExW(temp, wide, MOVEFILE_REPLACE_EXISTING)) {
            return 0;
        }
        r = win_error();
        if ((r != -EACCES && r != -EBUSY) || i == KEEP_NAPS) {
            return err_raise(r);
        }
        io_place_nap();
        r = 0;
    }
    return err_pass(r);
}

static int keep_take_name(const wchar_t *temp, const char *path)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    int r = win_wide(&wide, path);

    if (r != 0) {
        return err_pass(r);
    }
    return MoveFileExW(temp, wide, 0) ? 0 : err_raise(win_error());
}

static int keep_put(const char *path, Span content, bool is_new)
{
    CLEANUP(mem_freep) wchar_t *temp = NULL;
    HANDLE handle = NULL;
    int r = is_new ? 0 : io_keep_make_folders(path);

    if (r == 0) {
        r = keep_open_temp(path, &handle, &temp);
    }
    if (r != 0) {
        return err_pass(r);
    }
    r = keep_write_all(handle, content);
    win_close(&handle);
    if (r == 0) {
        r = is_new ? keep_take_name(temp, path) : keep_replace(temp, path);
    }
    if (r != 0) {
        (void)DeleteFileW(temp);
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
