/* io/pipe_place.h: where a named pipe is.
 *
 * The pipe NAME is \\.\pipe\NAME on Windows. Elsewhere it is the socket
 * ${TMPDIR:-/tmp}/CoreFxPipe_NAME, where .NET programs look for it, so that their add-ins connect
 * unchanged. Thread: any.
 */
#pragma once

#include "base/diag.h"

enum {
    PIPE_PLACE_E_NAME = 1, /* no name that a pipe can have; the Diag says why */
};

/* name: as above; with \\.\pipe\ before it, too, since people copy it so; an absolute path is taken
 * as it is where pipes are sockets, as .NET does. Nothing is touched. Gives *ret_path (mem_free).
 * 0, -ENOMEM, PIPE_PLACE_E_NAME. */
int io_pipe_place(char **ret_path, const char *name, Diag *reterr_diag);
