/* io/windows/handle_wait.h: calls back on the loop when a handle is signalled: the end of a
 * process, a connection to a pipe.
 *
 * libuv waits for its own objects only. One of the system's threads waits for the handle and wakes
 * the loop. Thread: loop.
 */
#pragma once

#include "io/loop.h"
#include "io/windows/system.h"

typedef struct WinWait WinWait;

/* Keeps the loop running, unless told otherwise. 0, -ENOMEM, another negative errno. Gives *ret. */
int win_wait_new(WinWait **ret, IoLoop *loop, void (*fn)(void *context), void *context);

/* Waits no more when it returns: the handle can be closed. No callback comes any more. */
WinWait *win_wait_free(WinWait *wait);

void win_wait_set_background(WinWait *wait, bool is_background);

/* Calls fn once, when the handle is signalled; start again for the next time. 0 or a negative
 * errno.
 */
int win_wait_start(WinWait *wait, HANDLE handle);

/* Calls fn soon, as if the handle had been signalled. */
void win_wait_fire(WinWait *wait);
