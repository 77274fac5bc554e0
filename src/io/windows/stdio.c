#include "io/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>

#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/windows/system.h"

/* A descriptor of our own for a standard one, which no child inherits. 0 or a negative errno. */
static int stdio_copy(int standard_fd, int *ret_fd)
{
    HANDLE standard = win_handle(standard_fd);
    HANDLE copy = NULL;
    int r;

    if (standard == INVALID_HANDLE_VALUE) {
        return err_raise(-EBADF);
    }
    if (!DuplicateHandle(GetCurrentProcess(), standard, GetCurrentProcess(), &copy, 0, FALSE,
                         DUPLICATE_SAME_ACCESS)) {
        return err_raise(win_error());
    }
    r = win_descriptor(copy, ret_fd);
    if (r != 0) {
        win_close(&copy);
    }
    return r;
}

/* For the C library, and for those who ask Windows. */
static void stdio_point(int to, int from, DWORD which)
{
    (void)_dup2(from, to);
    (void)SetStdHandle(which, win_handle(to));
}

int io_stdio_claim(int *ret_in_fd, int *ret_out_fd)
{
    int in_fd = -1;
    int out_fd = -1;
    int null_fd = -1;
    int r = stdio_copy(0, &in_fd);

    if (r == 0) {
        r = stdio_copy(1, &out_fd);
    }
    if (r == 0) {
        null_fd = _open("NUL", _O_RDWR | _O_BINARY | _O_NOINHERIT);
        r = null_fd < 0 ? err_raise(-errno) : 0;
    }
    if (r != 0) {
        io_fd_close(in_fd);
        io_fd_close(out_fd);
        return err_pass(r);
    }
    if (win_handle(2) == INVALID_HANDLE_VALUE) {
        stdio_point(2, null_fd, STD_ERROR_HANDLE);
    }
    stdio_point(0, null_fd, STD_INPUT_HANDLE);
    stdio_point(1, 2, STD_OUTPUT_HANDLE);
    io_fd_close(null_fd);
    *ret_in_fd = in_fd;
    *ret_out_fd = out_fd;
    return 0;
}
