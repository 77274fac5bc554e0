/* Serving one client: at standard input and output, or at descriptors of the caller. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <toolwire/error.h>

#include "api/tw_serving.h"
#include "api/tw_sigpipe.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/stdio.h"

/* One client at a pair of descriptors. */
typedef struct PairServing {
    ApiServing base;
    McpDoor *door;
} PairServing;

static void pair_shutdown(ApiServing *serving)
{
    mcp_door_shutdown(((PairServing *)serving)->door);
}

static void pair_discard(ApiServing *serving)
{
    PairServing *pair = (PairServing *)serving;

    pair->door = mcp_door_free(pair->door);
}

static bool pair_is_ending(const ApiServing *serving)
{
    return mcp_door_is_ending(((const PairServing *)serving)->door);
}

static const ApiServingKind pair_kind = {.shutdown = pair_shutdown,
                                         .discard = pair_discard,
                                         .is_ending = pair_is_ending,
                                         .ends_with_parent = true};

static void pair_on_closed(void *context, int r)
{
    PairServing *pair = context;

    api_serving_closed(&pair->base, r);
}

static void server_on_stop(IoTask *task)
{
    TwServer *server = (TwServer *)((char *)task - offsetof(TwServer, stop_task));

    if (server->serving_now != NULL) {
        api_serving_stop(server->serving_now);
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

static int pair_open(PairServing *pair, int in_fd, int out_fd)
{
    TwServer *server = pair->base.server;
    RouterLimits limits = api_server_limits(server);
    McpDoorConfig config = api_server_door(server, &limits);

    config.in_fd = in_fd;
    config.out_fd = out_fd;
    config.closed = pair_on_closed;
    config.context = pair;
    return err_pass(mcp_door_new(&pair->door, &config));
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
        api_server_resume_jobs(server);
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

/* With saved, signals and the parent are watched. *ret_taken: the descriptors are no longer the
 * caller's. */
static int server_run(TwServer *server, int in_fd, int out_fd, const ApiSignals *saved,
                      bool *ret_taken)
{
    PairServing pair = {.base = {.kind = &pair_kind, .server = server}};
    int r = pair_open(&pair, in_fd, out_fd);

    *ret_taken = r == 0;
    return r != 0 ? api_serving_result(server, r) : api_serving_run(&pair.base, saved);
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
        return api_serving_result(server, r);
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
