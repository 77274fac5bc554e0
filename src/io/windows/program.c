#include "io/program.h"

#include <errno.h>
#include <io.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/windows/system.h"

/* Characters of the longest path that the system can have. */
#define PROGRAM_PATH_MAX 32768

int io_program_path(char **ret)
{
    CLEANUP(mem_freep) wchar_t *path = mem_alloc_array(PROGRAM_PATH_MAX, sizeof(*path));
    DWORD n;

    if (path == NULL) {
        return err_raise(-ENOMEM);
    }
    n = GetModuleFileNameW(NULL, path, PROGRAM_PATH_MAX);
    if (n == 0 || n == PROGRAM_PATH_MAX) {
        return err_raise(n == 0 ? win_error() : -ENAMETOOLONG);
    }
    return err_pass(win_utf8(ret, path));
}

long io_program_pid(void)
{
    return (long)GetCurrentProcessId();
}

bool io_terminal_is(int fd)
{
    DWORD mode;

    /* Not isatty: the C library says yes to every device, NUL too. */
    return GetConsoleMode(win_handle(fd), &mode) != 0;
}

int io_terminal_columns(int fd)
{
    CONSOLE_SCREEN_BUFFER_INFO info;

    return GetConsoleScreenBufferInfo(win_handle(fd), &info)
               ? info.srWindow.Right - info.srWindow.Left + 1
               : 0;
}
