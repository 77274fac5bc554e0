/* Serving any number of clients on a Unix socket. */
#include <toolwire/error.h>

#include "api/tw_serving.h"
#include "api/tw_sigpipe.h"
#include "app/mcp_listener.h"
#include "io/unix_socket.h"

typedef struct UnixServing {
    ApiServing base;
    McpListener *listener;
} UnixServing;

static void unix_shutdown(ApiServing *serving)
{
    mcp_listener_shutdown(((UnixServing *)serving)->listener);
}

static void unix_discard(ApiServing *serving)
{
    UnixServing *here = (UnixServing *)serving;

    here->listener = mcp_listener_free(here->listener);
}

static const ApiServingKind unix_kind = {.shutdown = unix_shutdown, .discard = unix_discard};

static void unix_on_closed(void *context)
{
    UnixServing *here = context;

    api_serving_closed(&here->base, 0);
}

static int unix_open(UnixServing *here, const char *path)
{
    TwServer *server = here->base.server;
    RouterLimits limits = api_server_limits(server);
    Diag diag = DIAG_NULL;
    int r = mcp_listener_new(&here->listener,
                             &(McpListenerConfig){.door = api_server_door(server, &limits),
                                                  .path = path,
                                                  .closed = unix_on_closed,
                                                  .context = here},
                             &diag);

    if (r == 0) {
        return 0;
    }
    if (r > 0) {
        return api_server_fail(server, r == UNIX_SOCKET_E_LIVE ? TW_ERROR_EXISTS : TW_ERROR_SYSTEM,
                               diag.message);
    }
    return api_serving_result(server, r);
}

static int unix_serve(TwServer *server, const char *path, const ApiSignals *saved)
{
    UnixServing here = {.base = {.kind = &unix_kind, .server = server}};
    ApiSigpipe sigpipe;
    int r = api_server_begin(server, NULL);

    if (r != 0) {
        return r;
    }
    api_sigpipe_block(&sigpipe);
    r = unix_open(&here, path);
    if (r == 0) {
        r = api_serving_run(&here.base, saved);
    }
    api_server_end(server);
    api_sigpipe_restore(&sigpipe);
    return r;
}

int tw_server_serve_unix(TwServer *server, const char *path)
{
    ApiSignals saved;
    int r;

    if (server == NULL || path == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    api_signals_save(&saved);
    r = unix_serve(server, path, &saved);
    api_signals_unblock(&saved); /* if it did not come to watching */
    return r;
}
