/* Opening and reading as Windows has it; declared in io/file.h. */
#include "io/file.h"

#include <errno.h>
#include <limits.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/windows/system.h"

static bool file_is_folder(const wchar_t *path)
{
    DWORD attributes = GetFileAttributesW(path);

    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

int io_file_open(const char *path, int *ret_fd)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    HANDLE handle;
    int r = win_wide(&wide, path);

    if (r != 0) {
        return err_pass(r);
    }
    handle = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                         NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        r = win_error();
        return err_raise(r == -EACCES && file_is_folder(wide) ? -EISDIR : r);
    }
    r = win_descriptor(handle, ret_fd);
    if (r != 0) {
        win_close(&handle);
    }
    return r;
}

/* By the handle, so that no line end is changed whatever mode the descriptor is in. */
int64_t io_file_read_some(int fd, char *p, size_t n)
{
    HANDLE handle = win_handle(fd);
    DWORD n_read = 0;

    if (handle == INVALID_HANDLE_VALUE) {
        return err_raise(-EBADF);
    }
    if (!ReadFile(handle, p, n < INT_MAX ? (DWORD)n : INT_MAX, &n_read, NULL)) {
        DWORD code = GetLastError();

        return code == ERROR_BROKEN_PIPE || code == ERROR_HANDLE_EOF
                   ? 0
                   : err_raise(win_error_of(code));
    }
    return n_read;
}
