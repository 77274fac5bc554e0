/* api/tw_serving.h: one serve_*: a door of some kind, what ends it, and the loop that runs until it
 * has ended. Private to src/api.
 *
 *     tw_server_serve_x: api_server_begin, open the door, api_serving_run, api_server_end
 */
#pragma once

#include "api/tw_server.h"
#include "api/tw_signals.h"
#include "app/mcp_door.h"
#include "io/loop.h"

typedef struct ApiServing ApiServing;

typedef struct ApiServingKind {
    /* An orderly end begins; api_serving_closed follows. Comes once. */
    void (*shutdown)(ApiServing *serving);
    /* The door and all that is open at it. Comes once. */
    void (*discard)(ApiServing *serving);
    /* Has it begun to end by itself? May be NULL. */
    bool (*is_ending)(const ApiServing *serving);
    bool ends_with_parent; /* as well as by signals */
} ApiServingKind;

/* On the stack of serve_*; embedded in what its kind needs. */
struct ApiServing {
    const ApiServingKind *kind;
    TwServer *server;
    bool is_held;     /* the loop runs, if only for tasks that have not ended */
    bool is_open;     /* the door is there */
    bool is_shutdown; /* its end has been asked for */
    IoSignal *signals[END_SIGNALS_N];
    IoParentWatch *on_parent;
    int r; /* how the door ended */
};

/* Between api_server_begin and api_server_end, with a door that is open: serves until it has ended,
 * and discards it. With saved, signals (and the parent) are heard meanwhile. 0, TW_ERROR_*. */
int api_serving_run(ApiServing *serving, const ApiSignals *saved);

/* The door has come to its end, with that errno. Loop. */
void api_serving_closed(ApiServing *serving, int r);

/* tw_server_stop has come. Loop. */
void api_serving_stop(ApiServing *serving);

/* How this server's options limit a client, and what a door for one is made of: all but
 * descriptors, `closed` and context. Borrows limits. */
RouterLimits api_server_limits(const TwServer *server);
McpDoorConfig api_server_door(TwServer *server, const RouterLimits *limits);

/* The public error for that outcome of serving, in words; a client that has gone is none. */
int api_serving_result(TwServer *server, int r);
