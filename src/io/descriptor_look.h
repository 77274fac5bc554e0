/* io/descriptor_look.h: questions about a descriptor of this layer that never wait, and its end;
 * for owners that hold one beside a stream, or before there is a stream. Thread: any.
 */
#pragma once

#include <stdbool.h>

/* Would reading tell of bytes, of the end, or of a failure? */
bool io_fd_is_readable(int fd);

/* Has the peer closed its end, so that writing is useless too? One that only sends no more has not.
 */
bool io_fd_has_gone(int fd);

/* Closes a descriptor that this layer gave out; -1 does nothing. */
void io_fd_close(int fd);
