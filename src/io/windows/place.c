/* Paths as Windows has them; declared in io/place.h. */
#include "io/windows/place.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/place.h"
#include "io/windows/system.h"

bool io_place_is_slash(char c)
{
    return c == '/' || c == '\\';
}

/* Bytes of "C:" at the beginning; 0 if it has no drive. */
static size_t place_drive_length(const char *path)
{
    return isalpha((unsigned char)path[0]) && path[1] == ':' ? 2 : 0;
}

const char *io_place_last_slash(const char *path)
{
    const char *last = NULL;
    size_t n_drive = place_drive_length(path);

    /* C:NAME lies in the folder of its drive: the colon separates there. */
    if (n_drive > 0) {
        last = path + n_drive - 1;
    }
    for (const char *at = path + n_drive; *at != '\0'; at++) {
        if (io_place_is_slash(*at)) {
            last = at;
        }
    }
    return last;
}

bool io_place_is_absolute(const char *path)
{
    size_t n_drive = place_drive_length(path);

    return io_place_is_slash(path[n_drive]);
}

bool io_place_is_pipe_name(const char *path)
{
    return io_place_is_slash(path[0]) && io_place_is_slash(path[1]) &&
           (path[2] == '.' || path[2] == '?') && io_place_is_slash(path[3]) &&
           _strnicmp(path + 4, "pipe", 4) == 0 && io_place_is_slash(path[8]);
}

static int place_full(wchar_t **ret, const char *path)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    CLEANUP(mem_freep) wchar_t *full = NULL;
    DWORD n;
    int r = win_wide(&wide, path);

    if (r != 0) {
        return err_pass(r);
    }
    n = GetFullPathNameW(wide, 0, NULL, NULL);
    if (n == 0) {
        return err_raise(win_error());
    }
    full = mem_alloc_array(n, sizeof(*full));
    if (full == NULL) {
        return err_raise(-ENOMEM);
    }
    n = GetFullPathNameW(wide, n, full, NULL);
    if (n == 0) {
        return err_raise(win_error());
    }
    *ret = full;
    full = NULL;
    return 0;
}

int io_place_absolute(char **ret, const char *path)
{
    CLEANUP(mem_freep) wchar_t *full = NULL;
    size_t n = strlen(path);
    int r;

    if (io_place_is_pipe_name(path)) {
        char *copy = mem_alloc(n + 1);

        if (copy == NULL) {
            return err_raise(-ENOMEM);
        }
        memcpy(copy, path, n + 1);
        *ret = copy;
        return 0;
    }
    r = place_full(&full, path);
    return r != 0 ? err_pass(r) : err_pass(win_utf8(ret, full));
}

int io_place_real(char **ret, const char *path)
{
    CLEANUP(mem_freep) wchar_t *full = NULL;
    int r = place_full(&full, path);

    if (r != 0) {
        return err_pass(r);
    }
    if (GetFileAttributesW(full) == INVALID_FILE_ATTRIBUTES) {
        return err_raise(win_error());
    }
    return err_pass(win_utf8(ret, full));
}

/* INVALID_FILE_ATTRIBUTES if nothing is there. */
static DWORD place_attributes(const char *path)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;

    return win_wide(&wide, path) == 0 ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
}

bool io_place_exists(const char *path)
{
    return place_attributes(path) != INVALID_FILE_ATTRIBUTES;
}

bool io_place_is_file(const char *path)
{
    DWORD attributes = place_attributes(path);

    return attributes != INVALID_FILE_ATTRIBUTES &&
           (attributes &
            (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DEVICE)) == 0;
}

bool io_place_is_same_name(const char *a, const char *b)
{
    CLEANUP(mem_freep) wchar_t *wide_a = NULL;
    CLEANUP(mem_freep) wchar_t *wide_b = NULL;

    if (win_wide(&wide_a, a) != 0 || win_wide(&wide_b, b) != 0) {
        return strcmp(a, b) == 0;
    }
    return CompareStringOrdinal(wide_a, -1, wide_b, -1, TRUE) == CSTR_EQUAL;
}

bool win_place_number(HANDLE handle, uint64_t *ret_device, uint64_t *ret_inode)
{
    BY_HANDLE_FILE_INFORMATION info;

    if (!GetFileInformationByHandle(handle, &info)) {
        return false;
    }
    /* Not the number of its volume: under Wine a file that was renamed forgets it. Those who
     * compare do so inside one folder. */
    *ret_device = 0;
    *ret_inode = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
    return true;
}

bool win_place_is(const wchar_t *path, uint64_t device, uint64_t inode)
{
    uint64_t its_device = 0;
    uint64_t its_inode = 0;
    HANDLE handle = CreateFileW(
        path, FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
        OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    bool is_same;

    if (handle == INVALID_HANDLE_VALUE) {
        return false;
    }
    is_same = win_place_number(handle, &its_device, &its_inode) && its_device == device &&
              its_inode == inode;
    win_close(&handle);
    return is_same;
}

bool io_place_is(const char *path, uint64_t device, uint64_t inode)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;

    return win_wide(&wide, path) == 0 && win_place_is(wide, device, inode);
}

void io_place_nap(void)
{
    Sleep(1);
}
