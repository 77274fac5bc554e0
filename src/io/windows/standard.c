/* What a process has from the start; declared in io/loop.h and io/loop_internal.h. */
#include "io/loop_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>

#include "base/error.h"
#include "io/windows/system.h"

/* As elsewhere: a file that is opened later must not become standard output. */
int io_take_standard_descriptors(void)
{
    for (int i = 0; i <= 2; i++) {
        int fd;

        if (win_handle(i) != INVALID_HANDLE_VALUE) {
            continue;
        }
        fd = _open("NUL", _O_RDWR | _O_BINARY | _O_NOINHERIT);
        if (fd < 0) {
            return err_raise(-errno);
        }
        if (fd != i) {
            (void)_dup2(fd, i);
            (void)_close(fd);
        }
    }
    return 0;
}

/* There is no such signal: a write into a broken pipe fails. */
void io_ignore_sigpipe(void) {}

void io_ignore_sigxfsz(void) {}

/* There is no such limit. */
void io_allow_many_descriptors(void) {}
