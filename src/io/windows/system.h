/* io/windows/system.h: what the Windows side of this layer shares: errors, UTF-8, handles.
 *
 * Includes windows.h after libuv's header, which brings the socket headers in the order that they
 * need. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>
#include <windows.h>

/* A code of GetLastError as a negative errno. */
int win_error_of(DWORD code);

/* The same for what GetLastError says now. */
int win_error(void);

/* UTF-8 as UTF-16, and back; both end in NUL. Gives *ret (mem_free). 0, -ENOMEM, -EILSEQ. */
int win_wide(wchar_t **ret, const char *text);
int win_utf8(char **ret, const wchar_t *text);

/* The handle of a descriptor; INVALID_HANDLE_VALUE if it has none. */
HANDLE win_handle(int fd);

/* A descriptor for a handle. Takes the handle on success. Gives *ret_fd. 0, -EMFILE. */
int win_descriptor(HANDLE handle, int *ret_fd);

/* Closes it, if it is one, and forgets it. */
void win_close(HANDLE *handle);

/* Was it opened so that a call waits until it is done? Such a handle can be asked nothing while
 * another thread waits. Asks the system, so ask before. */
bool win_is_synchronous(HANDLE handle);

/* The other end of a pipe has been closed; what it had sent may be unread. */
bool win_pipe_is_closing(HANDLE handle);
