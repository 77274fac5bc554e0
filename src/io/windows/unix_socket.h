/* io/windows/unix_socket.h: the server's end of a named pipe, for io/windows/listener.c. Thread:
 * any.
 */
#pragma once

#include "io/unix_socket.h"
#include "io/windows/system.h"

/* Another instance of the pipe, which one client more can open; for overlapped calls. Gives
 * *ret_handle. 0 or a negative errno. */
int win_pipe_instance(const char *path, bool is_first, HANDLE *ret_handle);
