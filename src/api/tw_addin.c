/* An add-in: the tools of a server, offered to a hub at a named pipe (app/addin_door.h). */
#include <toolwire/addin.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <toolwire/error.h>

#include "api/tw_endpoint.h"
#include "api/tw_server.h"
#include "app/addin_door.h"
#include "base/alloc.h"
#include "base/error.h"
#include "io/pipe_place.h"

/* A door's sentence, and how long the next attempt is away. */
#define ADDIN_WORDS_SIZE (DIAG_MESSAGE_SIZE + 64)

struct TwAddin {
    ApiEndpoint endpoint;
    char *path;
    TwAddinOptions options;
    AddinDoor *door; /* while it runs: nothing may connect before */
};

static TwAddin *addin_of(ApiEndpoint *endpoint)
{
    return (TwAddin *)(void *)((char *)endpoint - offsetof(TwAddin, endpoint));
}

/* ---- states ---- */

static const TwAddinState addin_states[] = {
    [ADDIN_CONNECTING] = TW_ADDIN_CONNECTING,     [ADDIN_CONNECTED] = TW_ADDIN_CONNECTED,
    [ADDIN_DISCONNECTED] = TW_ADDIN_DISCONNECTED, [ADDIN_WAITING] = TW_ADDIN_WAITING,
    [ADDIN_STOPPED] = TW_ADDIN_STOPPED,
};

/* "WHY; again in 2 s", as much of it as there is. */
static void addin_words(char words[ADDIN_WORDS_SIZE], AddinState state, Span why, int64_t retry_ms)
{
    size_t n = why.n < DIAG_MESSAGE_SIZE ? why.n : DIAG_MESSAGE_SIZE;

    if (n > 0) {
        memcpy(words, why.p, n);
    }
    words[n] = '\0';
    if (state == ADDIN_WAITING) {
        bool whole = retry_ms % 1000 == 0;

        (void)snprintf(words + n, ADDIN_WORDS_SIZE - n, "%sagain in %" PRId64 " %s",
                       n > 0 ? "; " : "", whole ? retry_ms / 1000 : retry_ms, whole ? "s" : "ms");
    }
}

static void addin_on_changed(void *context, AddinState state, Span why, int64_t retry_ms)
{
    const TwAddin *addin = context;
    char words[ADDIN_WORDS_SIZE];

    if (addin->options.changed != NULL) {
        addin_words(words, state, why, retry_ms);
        addin->options.changed(addin->options.user, addin_states[state], words);
    }
}

static void addin_on_closed(void *context)
{
    TwAddin *addin = context;

    api_endpoint_closed(&addin->endpoint);
}

/* ---- running ---- */

static int addin_start(ApiEndpoint *endpoint)
{
    TwAddin *addin = addin_of(endpoint);
    const TwServer *server = endpoint->server;
    const TwServerOptions *limits = &server->options;
    const TwAddinOptions *options = &addin->options;

    if (atomic_load(&endpoint->is_stopped)) {
        /* The hub would see it come and go. */
        api_endpoint_closed(endpoint);
        return 0;
    }
    return addin_door_new(
        &addin->door,
        &(AddinDoorConfig){.loop = hub_loop(server->hub),
                           .router = hub_router(server->hub),
                           .path = addin->path,
                           .name = server->name,
                           .limits = &(RouterLimits){.max_in_flight = limits->max_in_flight,
                                                     .rate_off = limits->rate_off,
                                                     .rate_burst = limits->rate_burst,
                                                     .rate_per_s = limits->rate_per_s},
                           .one_at_a_time = options->one_at_a_time,
                           .ping_interval_ms = options->ping_interval_ms,
                           .pong_timeout_ms = options->pong_timeout_ms,
                           .retry_ms = options->retry_ms,
                           .retry_max_ms = options->retry_max_ms,
                           .drain_ms = limits->drain_ms,
                           .changed = addin_on_changed,
                           .closed = addin_on_closed,
                           .context = addin});
}

static void addin_finish(ApiEndpoint *endpoint)
{
    TwAddin *addin = addin_of(endpoint);

    addin->door = addin_door_free(addin->door);
}

static void addin_on_shutdown(ApiEndpoint *endpoint)
{
    TwAddin *addin = addin_of(endpoint);

    if (addin->door != NULL) {
        addin_door_shutdown(addin->door);
    }
}

/* Half-built ones too. */
static void addin_discard(ApiEndpoint *endpoint)
{
    TwAddin *addin = addin_of(endpoint);

    api_endpoint_deinit(endpoint);
    addin->path = mem_free(addin->path);
    (void)mem_free(addin);
}

static const ApiEndpointKind addin_kind = {.noun = "an add-in",
                                           .start = addin_start,
                                           .finish = addin_finish,
                                           .shutdown = addin_on_shutdown,
                                           .discard = addin_discard};

/* ---- open and close ---- */

/* The times as they are used; false if one is negative. */
static bool addin_take_options(TwAddin *addin, const TwAddinOptions *options)
{
    int64_t *const times[] = {&addin->options.ping_interval_ms, &addin->options.pong_timeout_ms,
                              &addin->options.retry_ms, &addin->options.retry_max_ms};

    if (options == NULL) {
        return true;
    }
    addin->options = *options;
    for (size_t i = 0; i < TW_ARRAY_SIZE(times); i++) {
        if (*times[i] < 0) {
            return false;
        }
        *times[i] = api_time(*times[i]);
    }
    return true;
}

static int addin_prepare(TwAddin *addin, const char *pipe, const TwAddinOptions *options)
{
    TwServer *server = addin->endpoint.server;
    Diag diag = DIAG_NULL;
    int r;

    if (!addin_take_options(addin, options)) {
        return api_server_fail(server, TW_ERROR_ARGUMENT, "a time is negative");
    }
    r = io_pipe_place(&addin->path, pipe, &diag);
    if (r == 0) {
        return 0;
    }
    return api_endpoint_fail(server, r > 0 ? TW_ERROR_ARGUMENT : api_error_of(r), r, &diag);
}

/* Lock held. */
static int server_open_addin(TwServer *server, const char *pipe, const TwAddinOptions *options,
                             TwAddin **ret_addin)
{
    TwAddin *addin = mem_alloc_array(1, sizeof(*addin));
    int r;

    if (addin == NULL) {
        return api_server_fail(server, TW_ERROR_MEMORY, tw_error_text(TW_ERROR_MEMORY));
    }
    r = api_endpoint_init(&addin->endpoint, &addin_kind, server);
    if (r != 0) {
        r = api_endpoint_fail(server, api_error_of(r), r, &DIAG_NULL);
    } else {
        r = addin_prepare(addin, pipe, options);
    }
    if (r != 0) {
        addin_discard(&addin->endpoint);
        return r;
    }
    server->endpoint = &addin->endpoint;
    *ret_addin = addin;
    return 0;
}

int tw_addin_open(TwServer *server, const char *pipe, const TwAddinOptions *options,
                  TwAddin **ret_addin)
{
    int r;

    if (server == NULL || pipe == NULL || ret_addin == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    pthread_mutex_lock(&server->lock);
    r = api_endpoint_claim(server);
    if (r == 0) {
        r = server_open_addin(server, pipe, options, ret_addin);
    }
    pthread_mutex_unlock(&server->lock);
    return r;
}

void tw_addin_close(TwAddin *addin)
{
    if (addin != NULL) {
        api_endpoint_close(&addin->endpoint);
    }
}

int tw_addin_run(TwAddin *addin)
{
    return addin == NULL ? TW_ERROR_ARGUMENT : api_endpoint_run(&addin->endpoint);
}

void tw_addin_stop(TwAddin *addin)
{
    if (addin != NULL) {
        api_endpoint_stop(&addin->endpoint);
    }
}
