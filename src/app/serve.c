#include "app/serve.h"

#include <signal.h>

#include "app/hub.h"
#include "app/mcp_door.h"
#include "app/version.h"
#include "base/error.h"
#include "io/loop.h"
#include "io/stdio.h"
#include "providers/diagnostics.h"
#include "providers/exec.h"

/* How soon an orphan notices: somebody who kills the client looks again after a few seconds. */
#define SERVE_PARENT_PERIOD_MS 2000

typedef struct Serve {
    const ServeOptions *options;
    Hub *hub;
    ExecProvider *exec;
    Diagnostics *diagnostics;
    McpDoor *door;
    IoSignal *signals[3];
    IoParentWatch *parent;
    bool closing; /* one signal has come: the next one does not wait */
    int r;        /* how the session ended */
} Serve;

static const McpIdentity serve_identity = {
    .name = SPAN_INIT("toolwire"),
    .version = SPAN_INIT(TOOLWIRE_VERSION),
    .title = SPAN_INIT("toolwire"),
};

static void serve_on_closed(void *context, int r)
{
    Serve *serve = context;

    /* A client that went away without reading everything is no failure of ours. */
    serve->r = r == -EPIPE || r == -ECONNRESET ? 0 : r;
    io_loop_stop(hub_loop(serve->hub));
}

static void serve_on_signal(void *context, int signum)
{
    Serve *serve = context;

    (void)signum;
    if (serve->closing) {
        io_loop_stop(hub_loop(serve->hub));
        return;
    }
    serve->closing = true;
    mcp_door_shutdown(serve->door);
}

static void serve_on_orphaned(void *context)
{
    Serve *serve = context;

    mcp_door_shutdown(serve->door);
}

static int serve_add_tools(Serve *serve, Diag *reterr_diag)
{
    const ServeOptions *options = serve->options;
    int r = 0;

    if (options->config->tools != NULL) {
        r = exec_provider_load(&serve->exec, hub_router(serve->hub), hub_loop(serve->hub),
                               options->config->tools, options->log, reterr_diag);
        if (r != 0) {
            return r > 0 ? SERVE_E_TOOLS : err_pass(r);
        }
    }
    if (options->diagnostics) {
        r = diagnostics_new(&serve->diagnostics, hub_router(serve->hub), hub_loop(serve->hub));
        if (r == -EEXIST) {
            return diag_set(reterr_diag, SERVE_E_TOOLS,
                            "%s has a tool of the same name as one of --diagnostics",
                            options->config->tools);
        }
    }
    return err_pass(r);
}

static int serve_open_door(Serve *serve)
{
    const Config *config = serve->options->config;
    int in_fd = -1;
    int out_fd = -1;
    int r = io_stdio_claim(&in_fd, &out_fd);

    if (r != 0) {
        return err_pass(r);
    }
    return err_pass(mcp_door_new(&serve->door, &(McpDoorConfig){
                                                   .loop = hub_loop(serve->hub),
                                                   .router = hub_router(serve->hub),
                                                   .identity = &serve_identity,
                                                   .limits = &config->limits,
                                                   .sealer = hub_sealer(serve->hub),
                                                   .logging = false,
                                                   .lists_change = false,
                                                   .in_fd = in_fd,
                                                   .out_fd = out_fd,
                                                   .max_request_bytes = config->max_request_bytes,
                                                   .max_response_bytes = config->max_response_bytes,
                                                   .drain_ms = config->drain_ms,
                                                   .log = serve->options->log,
                                                   .closed = serve_on_closed,
                                                   .context = serve,
                                               }));
}

static int serve_watch(Serve *serve)
{
    static const int signums[] = {SIGTERM, SIGINT, SIGHUP};
    IoLoop *loop = hub_loop(serve->hub);

    for (size_t i = 0; i < TW_ARRAY_SIZE(signums); i++) {
        int r = io_signal_new(&serve->signals[i], loop, signums[i], serve_on_signal, serve);

        if (r != 0) {
            return err_pass(r);
        }
    }
    return err_pass(io_parent_watch_new(&serve->parent, loop, SERVE_PARENT_PERIOD_MS,
                                        serve_on_orphaned, serve));
}

static int serve_run(Serve *serve, Diag *reterr_diag)
{
    IoLoop *loop;
    int r = hub_new(&serve->hub, &serve->options->config->limits);

    if (r != 0) {
        return err_pass(r);
    }
    loop = hub_loop(serve->hub);
    router_set_page_size(hub_router(serve->hub), serve->options->config->page_size);
    r = serve_add_tools(serve, reterr_diag);
    if (r != 0) {
        return r;
    }
    r = serve_open_door(serve);
    if (r != 0) {
        return err_pass(r);
    }
    r = serve_watch(serve);
    if (r != 0) {
        return err_pass(r);
    }
    io_loop_hold(loop);
    r = io_loop_run(loop);
    io_loop_release(loop);
    return err_pass(r != 0 ? r : serve->r);
}

int serve_stdio(const ServeOptions *options, Diag *reterr_diag)
{
    Serve serve = {.options = options};
    int r;

    io_ignore_sigpipe();
    r = serve_run(&serve, reterr_diag);
    serve.parent = io_parent_watch_free(serve.parent);
    for (size_t i = 0; i < TW_ARRAY_SIZE(serve.signals); i++) {
        serve.signals[i] = io_signal_free(serve.signals[i]);
    }
    serve.door = mcp_door_free(serve.door);
    serve.diagnostics = diagnostics_free(serve.diagnostics);
    serve.exec = exec_provider_free(serve.exec);
    serve.hub = hub_free(serve.hub);
    return r;
}
