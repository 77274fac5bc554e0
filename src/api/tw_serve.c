/* Serving: the door, the signals, and the loop that runs until both are done. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <toolwire/error.h>

#include "api/tw_server.h"
#include "api/tw_signals.h"
#include "api/tw_sigpipe.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/stdio.h"

/* A parent that has gone is noticed within this time; most clients close our input as well. */
#define SERVE_PARENT_PERIOD_MS 1000

/* One serve_*, on the stack of its caller. */
typedef struct Serving {
    TwServer *server;
    IoSignal *signals[END_SIGNALS_N];
    IoParentWatch *on_parent;
    int r; /* how the door ended */
} Serving;

/* Once: the loop then has nothing more to do and ends. Signals are heard until it has. */
static void serving_close(Serving *serving)
{
    TwServer *server = serving->server;

    if (server->door == NULL) {
        return;
    }
    server->door = mcp_door_free(server->door);
    io_loop_release(hub_loop(server->hub));
}

static void serving_on_closed(void *context, int r)
{
    Serving *serving = context;

    serving->r = r;
    serving_close(serving);
}

static void serving_on_parent(void *context)
{
    Serving *serving = context;

    if (serving->server->door != NULL) {
        mcp_door_shutdown(serving->server->door);
    }
}

/* The first one after the end of input is the second already: clients close our input, wait a
 * moment, send SIGTERM, and a moment later SIGKILL. */
static void serving_on_signal(void *context, int signum)
{
    Serving *serving = context;
    McpDoor *door = serving->server->door;

    (void)signum;
    if (door == NULL || mcp_door_is_ending(door)) {
        serving_close(serving);
        return;
    }
    mcp_door_shutdown(door);
}

static void server_on_stop(IoTask *task)
{
    TwServer *server = (TwServer *)((char *)task - offsetof(TwServer, stop_task));

    if (server->door != NULL) {
        mcp_door_shutdown(server->door);
    }
}

void tw_server_stop(TwServer *server)
{
    if (server == NULL) {
        return;
    }
    pthread_mutex_lock(&server->lock);
    if (server->serving && !server->stop_posted) {
        server->stop_posted = true;
        server->stop_task.fn = server_on_stop;
        io_loop_post(hub_loop(server->hub), &server->stop_task);
    }
    pthread_mutex_unlock(&server->lock);
}

static int serving_watch_process(Serving *serving)
{
    IoLoop *loop = hub_loop(serving->server->hub);
    int r = 0;

    for (size_t i = 0; r == 0 && i < END_SIGNALS_N; i++) {
        r = io_signal_new(&serving->signals[i], loop, end_signals[i], serving_on_signal, serving);
    }
    if (r == 0) {
        r = io_parent_watch_new(&serving->on_parent, loop, SERVE_PARENT_PERIOD_MS,
                                serving_on_parent, serving);
    }
    return err_pass(r);
}

/* The program's own actions are back when it returns. */
static void serving_unwatch_process(Serving *serving, const ApiSignals *saved)
{
    api_signals_block();
    for (size_t i = 0; i < TW_ARRAY_SIZE(serving->signals); i++) {
        serving->signals[i] = io_signal_free(serving->signals[i]);
    }
    serving->on_parent = io_parent_watch_free(serving->on_parent);
    api_signals_restore(saved);
}

static int serving_open_door(Serving *serving, int in_fd, int out_fd)
{
    TwServer *server = serving->server;
    const TwServerOptions *options = &server->options;
    int r = mcp_door_new(
        &server->door,
        &(McpDoorConfig){.loop = hub_loop(server->hub),
                         .router = hub_router(server->hub),
                         .identity = &server->identity,
                         .limits = &(RouterLimits){.max_in_flight = options->max_in_flight,
                                                   .rate_off = options->rate_off,
                                                   .rate_burst = options->rate_burst,
                                                   .rate_per_s = options->rate_per_s},
                         .sealer = hub_sealer(server->hub),
                         .logging = !options->no_logging,
                         .lists_change = true,
                         .in_fd = in_fd,
                         .out_fd = out_fd,
                         .max_request_bytes = options->max_request_bytes,
                         .max_response_bytes = options->max_response_bytes,
                         .drain_ms = options->drain_ms,
                         .closed = serving_on_closed,
                         .context = serving});

    if (r == 0) {
        /* Threads of the user may answer when nothing else is left for the loop to wait for. */
        io_loop_hold(hub_loop(server->hub));
    }
    return r;
}

int api_server_begin(TwServer *server, const ApiEndpoint *endpoint)
{
    char words[DIAG_MESSAGE_SIZE];
    int r;

    pthread_mutex_lock(&server->lock);
    if (server->serving) {
        r = api_server_fail(server, TW_ERROR_BUSY, "the server serves already");
    } else if (server->endpoint != endpoint) {
        (void)snprintf(words, sizeof(words), "the server has %s, and serves nothing else",
                       server->endpoint->kind->noun);
        r = api_server_fail(server, TW_ERROR_BUSY, words);
    } else {
        r = api_server_open(server);
    }
    if (r == 0) {
        server->serving = true;
        server->thread = pthread_self();
        server->stop_posted = false;
    }
    pthread_mutex_unlock(&server->lock);
    return r;
}

void api_server_end(TwServer *server)
{
    pthread_mutex_lock(&server->lock);
    server->serving = false;
    pthread_mutex_unlock(&server->lock);
    /* Nothing is posted from here on; what was posted before is waited for by somebody. */
    (void)io_loop_run(hub_loop(server->hub));
}

/* A client that has gone is how serving ends, not an error. */
static int serving_result(TwServer *server, int r)
{
    if (r == 0 || r == -EPIPE || r == -ECONNRESET) {
        return 0;
    }
    return api_server_fail(server, api_error_of(r),
                           r == -ENOMEM ? tw_error_text(TW_ERROR_MEMORY) : io_error_text(-r));
}

/* With saved, signals and the parent are watched. *ret_taken: the descriptors are no longer the
 * caller's. */
static int server_run(TwServer *server, int in_fd, int out_fd, const ApiSignals *saved,
                      bool *ret_taken)
{
    Serving serving = {.server = server};
    int r = serving_open_door(&serving, in_fd, out_fd);

    *ret_taken = r == 0;
    if (r != 0) {
        return serving_result(server, r);
    }
    if (saved != NULL) {
        r = serving_watch_process(&serving);
        api_signals_unblock(saved);
    }
    if (r == 0) {
        r = io_loop_run(hub_loop(server->hub));
    }
    serving_close(&serving);
    if (saved != NULL) {
        serving_unwatch_process(&serving, saved);
    }
    return serving_result(server, r != 0 ? r : serving.r);
}

static int server_serve(TwServer *server, int in_fd, int out_fd, const ApiSignals *saved,
                        bool *ret_taken)
{
    ApiSigpipe sigpipe;
    int r;

    api_sigpipe_block(&sigpipe);
    r = server_run(server, in_fd, out_fd, saved, ret_taken);
    api_server_end(server);
    api_sigpipe_restore(&sigpipe);
    return r;
}

int tw_server_serve_fds(TwServer *server, int in_fd, int out_fd)
{
    bool taken;
    int r;

    if (server == NULL || in_fd < 0 || out_fd < 0) {
        return TW_ERROR_ARGUMENT;
    }
    r = api_server_begin(server, NULL);
    return r != 0 ? r : server_serve(server, in_fd, out_fd, NULL, &taken);
}

static int server_serve_standard(TwServer *server, const ApiSignals *saved)
{
    bool taken;
    int in_fd;
    int out_fd;
    int r = api_server_begin(server, NULL);

    if (r != 0) {
        return r;
    }
    r = io_stdio_claim(&in_fd, &out_fd);
    if (r != 0) {
        api_server_end(server);
        return serving_result(server, r);
    }
    r = server_serve(server, in_fd, out_fd, saved, &taken);
    if (!taken) {
        io_fd_close(in_fd);
        io_fd_close(out_fd);
    }
    return r;
}

int tw_server_serve_stdio(TwServer *server)
{
    ApiSignals saved;
    int r;

    if (server == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    api_signals_save(&saved);
    r = server_serve_standard(server, &saved);
    api_signals_unblock(&saved); /* if it did not come to watching */
    return r;
}
