/* io/knock.h: is anybody there? A TCP connection that is made and closed again, to learn whether a
 * server listens, before anything larger is set in motion for it. Thread: loop. */
#pragma once

#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct IoKnock IoKnock;

/* host is a number ("127.0.0.1", "::1"). answer(context, is_there) comes once, from the loop,
 * within limit_ms; the knock is over then, and not freed by its owner any more. 0, -EINVAL (no
 * number), -ENOMEM, or what the system refused. Gives *ret; keeps the loop running. */
int io_knock_new(IoKnock **ret, IoLoop *loop, const char *host, unsigned port, int64_t limit_ms,
                 void (*answer)(void *context, bool is_there), void *context);

/* No answer comes. May be NULL. Returns NULL. */
IoKnock *io_knock_free(IoKnock *knock);
