/* The end of a session has three steps, and each signal (SIGTERM, SIGINT, SIGHUP) leads at least
 * one further: calls may finish (drain_ms); they are cancelled, and their commands told to end
 * (END_COMMANDS_MS); what is left is killed. The end of input and of the parent lead to the first
 * step, so a signal that follows them is the second already: clients close our input, wait a moment
 * and send SIGTERM, and a moment later SIGKILL.
 */
#include "app/serve.h"

#include "app/economy.h"
#include "app/end_signals.h"
#include "app/hub.h"
#include "app/mcp_door.h"
#include "app/sources.h"
#include "app/version.h"
#include "base/error.h"
#include "io/loop.h"
#include "io/stdio.h"

/* How soon an orphan notices: somebody who kills the client looks again after a few seconds. */
#define SERVE_PARENT_PERIOD_MS 2000

typedef struct Serve {
    const ServeOptions *options;
    Hub *hub;
    Economy economy;
    Sources sources;
    McpDoor *door;
    IoSignal *signals[END_SIGNALS_N];
    IoParentWatch *parent;
    IoTimer *end; /* when END_COMMANDS_MS are over */
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
    if (serve->door == NULL || mcp_door_is_ending(serve->door)) {
        io_loop_stop(hub_loop(serve->hub)); /* to the next step */
        return;
    }
    mcp_door_shutdown(serve->door);
}

static void serve_on_orphaned(void *context)
{
    Serve *serve = context;

    if (serve->door != NULL) {
        mcp_door_shutdown(serve->door);
    }
}

static void serve_on_end(void *context)
{
    Serve *serve = context;

    io_loop_stop(hub_loop(serve->hub));
}

static SourcesWith serve_with(const Serve *serve)
{
    return (SourcesWith){
        .diagnostics = serve->options->diagnostics, .may_toolkit = true, .servers = true};
}

static int serve_add_tools(Serve *serve, Diag *reterr_diag)
{
    const ServeOptions *options = serve->options;
    int r = economy_set(&serve->economy, serve->hub, options->config, reterr_diag);

    if (r != 0) {
        return r > 0 ? SERVE_E_TOOLS : err_pass(r);
    }
    r = sources_init(&serve->sources, serve->hub, options->config, serve_with(serve), options->log,
                     reterr_diag);

    return r == SOURCES_E_TOOLS       ? SERVE_E_TOOLS
           : r == SOURCES_E_PARENT    ? SERVE_E_PARENT
           : r == SOURCES_E_PIPE      ? SERVE_E_PIPE
           : r == SOURCES_E_TEMPLATES ? SERVE_E_TEMPLATES
                                      : err_pass(r);
}

static int serve_open_door(Serve *serve)
{
    const ServeOptions *options = serve->options;
    const Config *config = options->config;
    int in_fd = -1;
    int out_fd = -1;
    int r = io_stdio_claim(&in_fd, &out_fd);

    if (r != 0) {
        return err_pass(r);
    }
    return err_pass(mcp_door_new(
        &serve->door,
        &(McpDoorConfig){
            .loop = hub_loop(serve->hub),
            .router = hub_router(serve->hub),
            .identity = options->identity != NULL ? options->identity : &serve_identity,
            .limits = &config->limits,
            .sealer = hub_sealer(serve->hub),
            .logging = config->n_servers > 0,
            .lists_change = sources_change(config, serve_with(serve)),
            .expects_tools = sources_bring_tools(config),
            .expects_resources = sources_bring_resources(config),
            .expects_prompts = sources_bring_prompts(config, serve_with(serve)),
            .in_fd = in_fd,
            .out_fd = out_fd,
            .max_request_bytes = config->max_request_bytes,
            .max_response_bytes = config->max_response_bytes,
            .max_line_bytes = config->max_line_bytes,
            .drain_ms = config->drain_ms,
            .log = options->log,
            .closed = serve_on_closed,
            .context = serve,
        }));
}

static int serve_watch(Serve *serve)
{
    IoLoop *loop = hub_loop(serve->hub);
    int r;

    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        r = io_signal_new(&serve->signals[i], loop, end_signals[i], serve_on_signal, serve);
        if (r != 0) {
            return err_pass(r);
        }
    }
    r = io_timer_new(&serve->end, loop, true, serve_on_end, serve);
    if (r != 0) {
        return err_pass(r);
    }
    return err_pass(io_parent_watch_new(&serve->parent, loop, SERVE_PARENT_PERIOD_MS,
                                        serve_on_orphaned, serve));
}

/* The second step: whatever still runs is cancelled. Runs the loop until every command has ended,
 * since nothing else keeps it running, or their time is over, or a signal comes. */
static int serve_end_commands(Serve *serve)
{
    IoLoop *loop = hub_loop(serve->hub);

    serve->door = mcp_door_free(serve->door);
    sources_end(&serve->sources);
    io_loop_update_now(loop);
    io_timer_start_at(serve->end, io_loop_now_ms(loop) + END_COMMANDS_MS);
    return err_pass(io_loop_run(loop));
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
    end_signals_watch(loop, serve->options->log, serve->options->config->drain_ms, 0);
    end_signals_unblock();
    io_loop_hold(loop);
    r = io_loop_run(loop);
    io_loop_release(loop);
    if (r == 0) {
        r = serve_end_commands(serve);
    }
    return err_pass(r != 0 ? r : serve->r);
}

int serve_stdio(const ServeOptions *options, Diag *reterr_diag)
{
    Serve serve = {.options = options, .economy = ECONOMY_NULL, .sources = SOURCES_NULL};
    int r;

    io_ignore_sigpipe();
    end_signals_block(); /* until somebody listens */
    r = serve_run(&serve, reterr_diag);
    /* The third step kills the commands, and takes no time; cut short it would leave them. */
    end_signals_block();
    serve.end = io_timer_free(serve.end);
    serve.parent = io_parent_watch_free(serve.parent);
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        serve.signals[i] = io_signal_free(serve.signals[i]);
    }
    serve.door = mcp_door_free(serve.door);
    sources_deinit(&serve.sources);
    economy_deinit(&serve.economy);
    serve.hub = hub_free(serve.hub);
    return r;
}
