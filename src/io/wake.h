/* io/wake.h: wakes the loop from where nothing may be locked: any thread, and a signal handler.
 *
 * A wake says only that something happened. Who has more to say, and may lock, posts a task
 * (io/loop.h). Thread: loop, but for io_wake_send.
 */
#pragma once

#include "io/loop.h"

typedef struct IoWake IoWake;

/* fn is called once for any number of sends that came before it, also for those before the loop
 * ran. Does not keep the loop running. 0, -ENOMEM, another negative errno. Gives *ret. */
int io_wake_new(IoWake **ret, IoLoop *loop, void (*fn)(void *context), void *context);

/* No send may come any more. */
IoWake *io_wake_free(IoWake *wake);

/* Returns at once; errno stays as it was. Thread: any; also a signal handler. */
void io_wake_send(IoWake *wake);
