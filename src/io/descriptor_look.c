#include "io/descriptor_look.h"

#include <poll.h>
#include <unistd.h>

bool io_fd_is_readable(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};

    return poll(&look, 1, 0) == 1;
}

bool io_fd_has_gone(int fd)
{
    struct pollfd look = {.fd = fd, .events = 0};

    return poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

void io_fd_close(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}
