/* app/callsock_door.h: bridges on a call socket, served by a router: the parent's side.
 *
 * Joins io/listener, io/stream, frame/len32, dialect/callsock and the router. Any number of
 * connections, each in order, all side by side. A bridge that goes away cancels its call; one that
 * breaks the protocol is told why and closed, and no other notices. On shutdown no new connection
 * and no new request is taken, calls in flight get drain_ms to finish, are cancelled then, and
 * `closed` is called. Bridges are this user's own programs: their rate is limited only if the
 * limits name one. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "io/loop.h"
#include "router/router.h"

#include <stddef.h>
#include <stdint.h>

typedef struct CallsockDoor CallsockDoor;

typedef struct CallsockDoorConfig {
    IoLoop *loop;
    Router *router;
    const char *path;              /* of the socket; copied */
    const RouterLimits *limits;    /* of each connection; borrowed until return; may be NULL. No
                                      rate unless rate_burst or rate_per_s is set */
    uint32_t max_bytes;            /* 0: LIMIT_CALLSOCK_MESSAGE_BYTES */
    int64_t drain_ms;              /* 0: LIMIT_DRAIN_MS */
    const LogSink *log;            /* may be NULL */
    void (*closed)(void *context); /* after shutdown, once */
    void *context;
} CallsockDoorConfig;

/* Listens. As io_listener_new. Gives *ret. */
int callsock_door_new(CallsockDoor **ret, const CallsockDoorConfig *config, Diag *reterr_diag);

/* Cancels what still runs, closes, removes the socket. */
CallsockDoor *callsock_door_free(CallsockDoor *door);

void callsock_door_shutdown(CallsockDoor *door);

size_t callsock_door_connections(const CallsockDoor *door);
