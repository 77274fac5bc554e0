/* Serving any number of clients over HTTP. */
#include <stdio.h>
#include <string.h>
#include <toolwire/error.h>

#include "api/tw_serving.h"
#include "api/tw_sigpipe.h"
#include "app/http_door.h"
#include "dialect/mcp/http_guard.h"

typedef struct HttpServing {
    ApiServing base;
    HttpAuth *auth;
    HttpDoor *door;
} HttpServing;

static void http_shutdown(ApiServing *serving)
{
    http_door_shutdown(((HttpServing *)serving)->door);
}

static void http_discard(ApiServing *serving)
{
    HttpServing *here = (HttpServing *)serving;

    here->door = http_door_free(here->door);
}

static const ApiServingKind http_kind = {.shutdown = http_shutdown, .discard = http_discard};

static void http_on_closed(void *context)
{
    HttpServing *here = context;

    api_serving_closed(&here->base, 0);
}

/* Whatever is written there is meant: an empty token is a mistake, not none. */
static int http_open_auth(HttpServing *here, const char *token, Diag *reterr_diag)
{
    int r;

    if (token == NULL) {
        return 0;
    }
    r = http_auth_check_token(span_from_str(token), reterr_diag);
    if (r != 0) {
        diag_prefix(reterr_diag, "TwHttpOptions.token: ");
        return r;
    }
    return http_auth_new(&here->auth, &(HttpAuthConfig){.token = span_from_str(token)},
                         reterr_diag);
}

/* > 0: one of a list cannot be what it should; the Diag says why. */
static int http_check_list(const char *const *list, int (*check)(Span name, Diag *reterr_diag),
                           const char *field, Diag *reterr_diag)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        int r = check(span_from_str(list[i]), reterr_diag);

        if (r != 0) {
            diag_prefix(reterr_diag, "TwHttpOptions.%s: ", field);
            return r;
        }
    }
    return 0;
}

static int http_check_names(const TwHttpOptions *options, Diag *reterr_diag)
{
    int r = http_check_list(options->allowed_hosts, mcp_http_guard_check_host, "allowed_hosts",
                            reterr_diag);

    return r != 0 ? r
                  : http_check_list(options->allowed_origins, mcp_http_guard_check_origin,
                                    "allowed_origins", reterr_diag);
}

static int http_open_door(HttpServing *here, const char *address, const TwHttpOptions *options,
                          const RouterLimits *limits, Diag *reterr_diag)
{
    TwServer *server = here->base.server;
    const TwServerOptions *of_server = &server->options;

    return http_door_new(&here->door,
                         &(HttpDoorConfig){.hub = server->hub,
                                           .identity = &server->identity,
                                           .limits = limits,
                                           .address = address,
                                           .path = options->path,
                                           .auth = here->auth,
                                           .token_hint = "set TwHttpOptions.token",
                                           .hosts = options->allowed_hosts,
                                           .origins = options->allowed_origins,
                                           .logging = !of_server->no_logging,
                                           .lists_change = true,
                                           .max_request_bytes = of_server->max_request_bytes,
                                           .max_response_bytes = of_server->max_response_bytes,
                                           .drain_ms = of_server->drain_ms,
                                           .closed = http_on_closed,
                                           .context = here},
                         reterr_diag);
}

/* The address as a client needs it. */
static void http_tell_ready(const HttpServing *here, const TwHttpOptions *options)
{
    const char *address = http_door_address(here->door);
    char url[DIAG_MESSAGE_SIZE];

    if (options->ready == NULL) {
        return;
    }
    if (strncmp(address, "unix:", strlen("unix:")) == 0) {
        options->ready(options->user, address);
        return;
    }
    (void)snprintf(url, sizeof(url), "http://%s%s", address, http_door_path(here->door));
    options->ready(options->user, url);
}

static int http_serve(HttpServing *here, const char *address, const TwHttpOptions *options,
                      const ApiSignals *saved)
{
    TwServer *server = here->base.server;
    RouterLimits limits = api_server_limits(server);
    Diag diag = DIAG_NULL;
    int r = http_check_names(options, &diag);

    r = r != 0 ? r : http_open_auth(here, options->token, &diag);
    if (r > 0) {
        return api_server_fail(server, TW_ERROR_ARGUMENT, diag.message);
    }
    if (r == 0) {
        r = http_open_door(here, address, options, &limits, &diag);
    }
    if (r > 0) {
        return api_server_fail(server, TW_ERROR_SYSTEM, diag.message);
    }
    if (r != 0) {
        return api_serving_result(server, r);
    }
    http_tell_ready(here, options);
    return api_serving_run(&here->base, saved);
}

static int server_serve_http(TwServer *server, const char *address, const TwHttpOptions *options,
                             const ApiSignals *saved)
{
    HttpServing here = {.base = {.kind = &http_kind, .server = server}};
    ApiSigpipe sigpipe;
    int r = api_server_begin(server, NULL);

    if (r != 0) {
        return r;
    }
    api_sigpipe_block(&sigpipe);
    r = http_serve(&here, address, options, saved);
    here.auth = http_auth_free(here.auth);
    api_server_end(server);
    api_sigpipe_restore(&sigpipe);
    return r;
}

int tw_server_serve_http(TwServer *server, const char *address, const TwHttpOptions *options)
{
    static const TwHttpOptions nothing;
    ApiSignals saved;
    int r;

    if (server == NULL || address == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    api_signals_save(&saved);
    r = server_serve_http(server, address, options != NULL ? options : &nothing, &saved);
    api_signals_unblock(&saved); /* if it did not come to watching */
    return r;
}
