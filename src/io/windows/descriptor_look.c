#include "io/descriptor_look.h"

#include <io.h>

#include "io/windows/system.h"

bool io_fd_is_readable(int fd)
{
    DWORD n = 0;

    /* What is no pipe, or has no other end any more, does not make a reader wait. */
    return !PeekNamedPipe(win_handle(fd), NULL, 0, NULL, &n, NULL) || n > 0;
}

bool io_fd_has_gone(int fd)
{
    return win_pipe_is_closing(win_handle(fd));
}

void io_fd_close(int fd)
{
    if (fd >= 0) {
        (void)_close(fd);
    }
}
