/* api/tw_endpoint.h: a place of its own at which a server serves, from open to close: what hosts
 * and add-ins have in common. Private to src/api.
 *
 *     tw_x_open: lock, claim, init, server->endpoint = …      tw_x_run: api_endpoint_run
 *     tw_x_stop: api_endpoint_stop                            tw_x_close: api_endpoint_close
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <toolwire/server.h>

#include "base/diag.h"
#include "io/wake.h"

typedef struct ApiEndpoint ApiEndpoint;

typedef struct ApiEndpointKind {
    const char *noun; /* "a host" */
    /* Begins to serve, and lets go of what that took; loop, once for each run. 0, or a negative
     * errno. Both may be NULL. */
    int (*start)(ApiEndpoint *endpoint);
    void (*finish)(ApiEndpoint *endpoint);
    /* Lets nobody in any more; api_endpoint_closed follows when every call is over. Loop; comes as
     * often as somebody stops it, also before start and after finish. */
    void (*shutdown)(ApiEndpoint *endpoint);
    /* Frees all of it, api_endpoint_deinit included. Lock of the server held. */
    void (*discard)(ApiEndpoint *endpoint);
} ApiEndpointKind;

struct ApiEndpoint {
    const ApiEndpointKind *kind;
    TwServer *server;
    IoWake *wake;           /* carries stop to the loop, which may not run yet */
    atomic_bool is_stopped; /* somebody has called stop */
    bool is_closed;         /* every call is over, for good; loop */
};

/* May this server have an endpoint now? Makes its hub. Lock held. 0, TW_ERROR_BUSY, and as
 * api_server_open. */
int api_endpoint_claim(TwServer *server);

/* 0, or a negative errno. deinit comes after whatever stands on the loop has been freed, and lets
 * the loop forget that. Lock held. */
int api_endpoint_init(ApiEndpoint *endpoint, const ApiEndpointKind *kind, TwServer *server);
void api_endpoint_deinit(ApiEndpoint *endpoint);

/* Says why open failed, in the words of the Diag if it has any, and returns error. */
int api_endpoint_fail(TwServer *server, int error, int r, const Diag *diag);

/* Ends api_endpoint_run, and all that come. Loop. */
void api_endpoint_closed(ApiEndpoint *endpoint);

/* What the functions of that name in the public headers promise. */
int api_endpoint_run(ApiEndpoint *endpoint);
void api_endpoint_stop(ApiEndpoint *endpoint);
void api_endpoint_close(ApiEndpoint *endpoint);
