#include "api/tw_endpoint.h"

#include <stdio.h>
#include <string.h>
#include <toolwire/error.h>

#include "api/tw_server.h"
#include "api/tw_sigpipe.h"
#include "base/error.h"
#include "io/error_text.h"

/* ---- open and close ---- */

int api_endpoint_claim(TwServer *server)
{
    char words[DIAG_MESSAGE_SIZE];

    if (server->serving) {
        return api_server_fail(server, TW_ERROR_BUSY, "the server serves already");
    }
    if (server->endpoint != NULL) {
        (void)snprintf(words, sizeof(words), "the server has %s already",
                       server->endpoint->kind->noun);
        return api_server_fail(server, TW_ERROR_BUSY, words);
    }
    return api_server_open(server);
}

static void endpoint_on_wake(void *context)
{
    ApiEndpoint *endpoint = context;

    endpoint->kind->shutdown(endpoint);
}

int api_endpoint_init(ApiEndpoint *endpoint, const ApiEndpointKind *kind, TwServer *server)
{
    *endpoint = (ApiEndpoint){.kind = kind, .server = server};
    atomic_init(&endpoint->is_stopped, false);
    return err_pass(
        io_wake_new(&endpoint->wake, hub_loop(server->hub), endpoint_on_wake, endpoint));
}

void api_endpoint_deinit(ApiEndpoint *endpoint)
{
    endpoint->wake = io_wake_free(endpoint->wake);
    /* Nothing is left that the loop could wait for. */
    (void)io_loop_run(hub_loop(endpoint->server->hub));
}

int api_endpoint_fail(TwServer *server, int error, int r, const Diag *diag)
{
    return api_server_fail(server, error,
                           error == TW_ERROR_MEMORY   ? tw_error_text(error)
                           : diag->message[0] != '\0' ? diag->message
                           : error == TW_ERROR_SYSTEM ? io_error_text(-r)
                                                      : tw_error_text(error));
}

void api_endpoint_close(ApiEndpoint *endpoint)
{
    TwServer *server = endpoint->server;

    pthread_mutex_lock(&server->lock);
    server->endpoint = NULL;
    endpoint->kind->discard(endpoint);
    pthread_mutex_unlock(&server->lock);
}

/* ---- running ---- */

void api_endpoint_stop(ApiEndpoint *endpoint)
{
    atomic_store(&endpoint->is_stopped, true);
    io_wake_send(endpoint->wake);
}

void api_endpoint_closed(ApiEndpoint *endpoint)
{
    endpoint->is_closed = true;
    io_loop_stop(hub_loop(endpoint->server->hub));
}

static int endpoint_serve(ApiEndpoint *endpoint)
{
    const ApiEndpointKind *kind = endpoint->kind;
    IoLoop *loop = hub_loop(endpoint->server->hub);
    int r = 0;

    if (endpoint->is_closed) {
        return 0;
    }
    /* Threads of the user may answer when nothing else is left for the loop to wait for. */
    io_loop_hold(loop);
    if (kind->start != NULL) {
        r = kind->start(endpoint);
    }
    if (r == 0) {
        r = io_loop_run(loop);
    }
    if (kind->finish != NULL) {
        kind->finish(endpoint);
    }
    io_loop_release(loop);
    return r;
}

int api_endpoint_run(ApiEndpoint *endpoint)
{
    TwServer *server = endpoint->server;
    ApiSigpipe sigpipe;
    int r = api_server_begin(server, endpoint);

    if (r != 0) {
        return r;
    }
    api_sigpipe_block(&sigpipe);
    r = endpoint_serve(endpoint);
    api_server_end(server);
    api_sigpipe_restore(&sigpipe);
    return r == 0 ? 0 : api_endpoint_fail(server, api_error_of(r), r, &DIAG_NULL);
}
