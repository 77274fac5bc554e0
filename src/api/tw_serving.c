#include "api/tw_serving.h"

#include <errno.h>
#include <toolwire/error.h>

#include "base/error.h"
#include "io/error_text.h"

/* A parent that has gone is noticed within this time; most clients close our input as well. */
#define SERVING_PARENT_PERIOD_MS 1000

/* Once: the loop then has nothing more to do and ends. Signals are heard until it has. */
static void serving_release(ApiServing *serving)
{
    if (serving->is_held) {
        serving->is_held = false;
        io_loop_release(hub_loop(serving->server->hub));
    }
}

static void serving_on_paused(void *context)
{
    serving_release(context);
}

/* Nobody is left to answer; tasks that run may still come to their end. */
static void serving_close(ApiServing *serving)
{
    if (!serving->is_open) {
        return;
    }
    serving->is_open = false;
    serving->server->serving_now = NULL;
    serving->kind->discard(serving);
    if (serving->server->jobs != NULL) {
        api_server_pause_jobs(serving->server, serving_on_paused, serving);
    } else {
        serving_release(serving);
    }
}

void api_serving_closed(ApiServing *serving, int r)
{
    serving->r = r;
    serving_close(serving);
}

void api_serving_stop(ApiServing *serving)
{
    if (serving->is_open && !serving->is_shutdown) {
        serving->is_shutdown = true;
        serving->kind->shutdown(serving);
    }
}

static bool serving_is_ending(const ApiServing *serving)
{
    return serving->is_shutdown ||
           (serving->kind->is_ending != NULL && serving->kind->is_ending(serving));
}

static void serving_on_parent(void *context)
{
    api_serving_stop(context);
}

/* The first one after the end of input is the second already: clients close our input, wait a
 * moment, send SIGTERM, and a moment later SIGKILL. */
static void serving_on_signal(void *context, int signum)
{
    ApiServing *serving = context;

    (void)signum;
    if (!serving->is_open) {
        serving_release(serving);
        return;
    }
    if (serving_is_ending(serving)) {
        serving_close(serving);
        return;
    }
    api_serving_stop(serving);
}

static int serving_watch_process(ApiServing *serving)
{
    IoLoop *loop = hub_loop(serving->server->hub);
    int r = 0;

    for (size_t i = 0; r == 0 && i < END_SIGNALS_N; i++) {
        r = io_signal_new(&serving->signals[i], loop, end_signals[i], serving_on_signal, serving);
    }
    if (r == 0 && serving->kind->ends_with_parent) {
        r = io_parent_watch_new(&serving->on_parent, loop, SERVING_PARENT_PERIOD_MS,
                                serving_on_parent, serving);
    }
    return err_pass(r);
}

/* The program's own actions are back when it returns. */
static void serving_unwatch_process(ApiServing *serving, const ApiSignals *saved)
{
    api_signals_block();
    for (size_t i = 0; i < TW_ARRAY_SIZE(serving->signals); i++) {
        serving->signals[i] = io_signal_free(serving->signals[i]);
    }
    serving->on_parent = io_parent_watch_free(serving->on_parent);
    api_signals_restore(saved);
}

RouterLimits api_server_limits(const TwServer *server)
{
    const TwServerOptions *options = &server->options;

    return (RouterLimits){.max_in_flight = options->max_in_flight,
                          .rate_off = options->rate_off,
                          .rate_burst = options->rate_burst,
                          .rate_per_s = options->rate_per_s};
}

McpDoorConfig api_server_door(TwServer *server, const RouterLimits *limits)
{
    const TwServerOptions *options = &server->options;

    return (McpDoorConfig){.loop = hub_loop(server->hub),
                           .router = hub_router(server->hub),
                           .identity = &server->identity,
                           .limits = limits,
                           .sealer = hub_sealer(server->hub),
                           .logging = !options->no_logging,
                           .lists_change = true,
                           .max_request_bytes = options->max_request_bytes,
                           .max_response_bytes = options->max_response_bytes,
                           .max_line_bytes = options->max_line_bytes,
                           .drain_ms = options->drain_ms};
}

int api_serving_result(TwServer *server, int r)
{
    if (r == 0 || r == -EPIPE || r == -ECONNRESET) {
        return 0;
    }
    return api_server_fail(server, api_error_of(r),
                           r == -ENOMEM ? tw_error_text(TW_ERROR_MEMORY) : io_error_text(-r));
}

int api_serving_run(ApiServing *serving, const ApiSignals *saved)
{
    TwServer *server = serving->server;
    IoLoop *loop = hub_loop(server->hub);
    int r = 0;

    /* Threads of the user may answer when nothing else is left for the loop to wait for. */
    io_loop_hold(loop);
    serving->is_held = true;
    serving->is_open = true;
    server->serving_now = serving;
    if (saved != NULL) {
        r = serving_watch_process(serving);
        api_signals_unblock(saved);
    }
    if (r == 0) {
        r = io_loop_run(loop);
    }
    serving_close(serving);
    if (server->jobs != NULL) {
        api_server_pause_jobs(server, NULL, NULL); /* this serving ends, whatever still runs */
    }
    serving_release(serving);
    if (saved != NULL) {
        serving_unwatch_process(serving, saved);
    }
    return api_serving_result(server, r != 0 ? r : serving->r);
}
