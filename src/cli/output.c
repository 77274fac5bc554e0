#include "cli/output.h"

#include <errno.h>
#include <stdio.h>

#include "io/descriptor_look.h"

static int output_error; /* the first */

void output_flush(void)
{
    int error = fflush(stdout) != 0 ? errno : 0;

    if (error == 0 && ferror(stdout)) {
        /* A buffer that was full was written long ago, and errno is another's by now. */
        error = io_fd_has_gone(fileno(stdout)) ? EPIPE : EIO;
    }
    output_error = output_error != 0 ? output_error : error;
}

int output_finish(void)
{
    output_flush();
    return output_error;
}
