/* Files of lines as Windows has them; declared in io/append_file.h. */
#include "io/append_file.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/windows/account.h"
#include "io/windows/system.h"

/* Others may read it, and move it aside. */
#define APPEND_SHARE (FILE_SHARE_READ | FILE_SHARE_DELETE)

/* False also if that cannot be found out. */
static bool append_is_torn(HANDLE handle, LARGE_INTEGER size)
{
    char last;
    DWORD n = 0;

    size.QuadPart--;
    return size.QuadPart >= 0 && SetFilePointerEx(handle, size, NULL, FILE_BEGIN) &&
           ReadFile(handle, &last, 1, &n, NULL) && n == 1 && last != '\n';
}

/* What was opened as a file of lines. 0, -EINVAL, another negative errno. */
static int append_look(HANDLE handle, AppendFile *ret)
{
    LARGE_INTEGER size = {.QuadPart = 0};
    DWORD type = GetFileType(handle);

    if (type != FILE_TYPE_DISK && type != FILE_TYPE_CHAR) {
        return err_raise(-EINVAL);
    }
    *ret = (AppendFile){.fd = -1, .is_regular = type == FILE_TYPE_DISK};
    if (ret->is_regular) {
        if (!GetFileSizeEx(handle, &size)) {
            return err_raise(win_error());
        }
        ret->n_bytes = (uint64_t)size.QuadPart;
        ret->is_torn = append_is_torn(handle, size);
    }
    return 0;
}

int append_file_open(AppendFile *ret, const char *path)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    AppendFile file = APPEND_FILE_NULL;
    WinPrivacy privacy;
    HANDLE handle;
    int r = win_wide(&wide, path);

    if (r == 0) {
        r = win_privacy_init(&privacy, false);
    }
    if (r != 0) {
        return err_pass(r);
    }
    handle = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, APPEND_SHARE, &privacy.attributes,
                         OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        return err_raise(win_error());
    }
    r = append_look(handle, &file);
    if (r == 0) {
        r = win_descriptor(handle, &file.fd);
    }
    if (r != 0) {
        win_close(&handle);
        return err_pass(r);
    }
    *ret = file;
    return 0;
}

void append_file_close(AppendFile *file)
{
    io_fd_close(file->fd);
    *file = APPEND_FILE_NULL;
}

/* 0, or a negative errno; *ret_n is what was written in either case. */
static int append_bytes(HANDLE handle, Span bytes, size_t *ret_n)
{
    *ret_n = 0;
    while (*ret_n < bytes.n) {
        size_t left = bytes.n - *ret_n;
        DWORD part = left < INT32_MAX ? (DWORD)left : INT32_MAX;
        DWORD n = 0;

        if (!WriteFile(handle, bytes.p + *ret_n, part, &n, NULL)) {
            return err_raise(win_error());
        }
        if (n == 0) {
            return err_raise(-EIO);
        }
        *ret_n += n;
    }
    return 0;
}

/* Back to where the last whole line ended. */
static bool append_cut(HANDLE handle, uint64_t n_bytes)
{
    LARGE_INTEGER end = {.QuadPart = (LONGLONG)n_bytes};

    return SetFilePointerEx(handle, end, NULL, FILE_BEGIN) && SetEndOfFile(handle);
}

int append_file_write(AppendFile *file, Span lines)
{
    HANDLE handle = win_handle(file->fd);
    LARGE_INTEGER nothing = {.QuadPart = 0};
    size_t n;
    int r;

    if (file->is_regular && !SetFilePointerEx(handle, nothing, NULL, FILE_END)) {
        return err_raise(win_error());
    }
    if (file->is_torn) {
        r = append_bytes(handle, SPAN("\n"), &n);
        if (r != 0) {
            return r;
        }
        file->is_torn = false;
        file->n_bytes += n;
    }
    r = append_bytes(handle, lines, &n);
    if (r == 0) {
        file->n_bytes += n;
    } else if (n > 0 && file->is_regular && !append_cut(handle, file->n_bytes)) {
        file->n_bytes += n;
        file->is_torn = lines.p[n - 1] != '\n';
    }
    return r;
}

int append_file_rename(const char *from, const char *to)
{
    CLEANUP(mem_freep) wchar_t *wide_from = NULL;
    CLEANUP(mem_freep) wchar_t *wide_to = NULL;
    int r = win_wide(&wide_from, from);

    if (r == 0) {
        r = win_wide(&wide_to, to);
    }
    if (r != 0) {
        return err_pass(r);
    }
    return MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING) ? 0 : win_error();
}
