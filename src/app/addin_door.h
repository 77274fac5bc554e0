/* app/addin_door.h: an add-in: the tools of a router, offered to the hub at a named pipe.
 *
 *     CONNECTING --it stands--> CONNECTED --end, silence, broken protocol--> DISCONNECTED
 *         ^                                                                     |
 *         '--------------- after 1, 2, 4, 8, 16, 30, 30… s (WAITING) <----------'
 *
 * A connection that stands sets the waiting back to its beginning. Whoever does not answer a ping,
 * breaks the protocol, or leaves more than LIMIT_OUTPUT_PAUSE_BYTES of answers unread for longer
 * than the pong timeout, is left, and told why as far as that can be. Pings are answered while
 * calls run. Calls of a hub that has gone are cancelled: nobody can be told how they ended. When
 * the tools or resources of the router change after the hub has asked for them, one that
 * understands tools_changed is told, and asks again; for any other a second connection is made,
 * since such a hub asks each one once, and takes over without the loss of a call (addin_renewal.h).
 * The state stays CONNECTED, and both connections together keep to the limits, and to
 * one_at_a_time. A hub that never asks is not bothered. A hub that is neither this user's nor
 * root's is not talked to. On shutdown no new call is taken (one that comes is refused), those in
 * flight and those that wait get drain_ms to finish, are cancelled then, and `closed` is called.
 * Keeps the loop running until then. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "base/span.h"
#include "io/loop.h"
#include "router/router.h"

#include <stddef.h>
#include <stdint.h>

typedef struct AddinDoor AddinDoor;

typedef enum AddinState {
    ADDIN_CONNECTING,
    ADDIN_CONNECTED,
    ADDIN_DISCONNECTED, /* why says how it ended; empty: the hub closed */
    ADDIN_WAITING, /* after a connection ended or could not be had; why says, if it could not */
    ADDIN_STOPPED, /* final */
} AddinState;

typedef struct AddinDoorConfig {
    IoLoop *loop;
    Router *router;
    const char *path;           /* of the pipe, as io_pipe_place gives it; copied */
    const char *name;           /* by which the hub is to know us; copied */
    const RouterLimits *limits; /* of the hub's calls; borrowed until return; may be NULL. No rate
                                   unless rate_burst or rate_per_s is set */
    bool one_at_a_time;         /* calls run one after the other, in their order */
    /* How many calls that are over (cancelled, late) still have something running: the next ones
     * wait for it. May be NULL: none. */
    size_t (*ending)(void *context);
    bool pings_in_calls; /* no tool keeps the loop, so that the hub may be told that pings are
                            answered while calls run */
    uint32_t max_bytes;  /* 0: the default, as in all below */
    int64_t ping_interval_ms;
    int64_t pong_timeout_ms;
    int64_t retry_ms;     /* the first wait: 1 s */
    int64_t retry_max_ms; /* 30 s */
    int64_t drain_ms;
    const LogSink *log; /* may be NULL */
    /* The state has changed; retry_ms: with WAITING, how long. May be NULL. Does not free the door.
     */
    void (*changed)(void *context, AddinState state, Span why, int64_t retry_ms);
    void (*closed)(void *context); /* after shutdown, once; may free the door */
    void *context;
} AddinDoorConfig;

/* Connects from the next turn of the loop on. 0, -ENOMEM, another negative errno. Gives *ret. */
int addin_door_new(AddinDoor **ret, const AddinDoorConfig *config);

/* Cancels what still runs, closes, tells nobody. Not from inside a call: neither its start nor its
 * end. */
AddinDoor *addin_door_free(AddinDoor *door);

/* May be called again, and from inside `changed`. */
void addin_door_shutdown(AddinDoor *door);
AddinState addin_door_state(const AddinDoor *door);
