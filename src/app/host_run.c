/* The end has three steps, as in app/serve.c, and each signal leads at least one further: calls may
 * finish (drain_ms); they are cancelled, socket and schema file go, and commands are told to end
 * (END_COMMANDS_MS); what is left is killed. */
#include "app/host_run.h"

#include "app/end_signals.h"
#include "app/host.h"
#include "app/hub.h"
#include "app/sources.h"
#include "base/error.h"
#include "io/loop.h"

typedef struct HostRun {
    const HostRunOptions *options;
    Hub *hub;
    Sources sources;
    Host *host;
    IoSignal *signals[END_SIGNALS_N];
    IoTimer *end;    /* when END_COMMANDS_MS are over */
    bool is_closing; /* one signal has come: the next one does not wait */
} HostRun;

static void run_on_closed(void *context)
{
    HostRun *run = context;

    io_loop_stop(hub_loop(run->hub));
}

static void run_on_signal(void *context, int signum)
{
    HostRun *run = context;

    (void)signum;
    if (run->is_closing || run->host == NULL) {
        io_loop_stop(hub_loop(run->hub)); /* to the next step */
        return;
    }
    run->is_closing = true;
    host_shutdown(run->host);
}

static void run_on_end(void *context)
{
    HostRun *run = context;

    io_loop_stop(hub_loop(run->hub));
}

static int run_watch_signals(HostRun *run)
{
    IoLoop *loop = hub_loop(run->hub);

    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        int r = io_signal_new(&run->signals[i], loop, end_signals[i], run_on_signal, run);

        if (r != 0) {
            return err_pass(r);
        }
    }
    return err_pass(io_timer_new(&run->end, loop, true, run_on_end, run));
}

static int run_add_tools(HostRun *run, Diag *reterr_diag)
{
    const HostRunOptions *options = run->options;
    int r = sources_init(
        &run->sources, run->hub, options->config,
        (SourcesWith){.diagnostics = options->diagnostics, .toolkit = options->toolkit},
        options->log, reterr_diag);

    return r == SOURCES_E_TOOLS       ? HOST_RUN_E_TOOLS
           : r == SOURCES_E_PARENT    ? HOST_RUN_E_PARENT
           : r == SOURCES_E_TEMPLATES ? HOST_RUN_E_TEMPLATES
           : r == SOURCES_E_PIPE      ? HOST_RUN_E_PIPE
                                      : err_pass(r);
}

static int run_open_host(HostRun *run, Diag *reterr_diag)
{
    const HostRunOptions *options = run->options;
    int r = host_new(&run->host,
                     &(HostConfig){.loop = hub_loop(run->hub),
                                   .router = hub_router(run->hub),
                                   .socket_path = options->socket_path,
                                   .schema_path = options->schema_path,
                                   .limits = &options->config->limits,
                                   .drain_ms = options->config->drain_ms,
                                   .log = options->log,
                                   .closed = run_on_closed,
                                   .context = run},
                     reterr_diag);

    return r > 0 ? HOST_RUN_E_PLACE : err_pass(r);
}

/* The second step. Runs the loop until every command has ended, since nothing else keeps it
 * running, or their time is over, or a signal comes. */
static int run_end_commands(HostRun *run)
{
    IoLoop *loop = hub_loop(run->hub);

    run->host = host_free(run->host);
    sources_end(&run->sources);
    io_loop_update_now(loop);
    io_timer_start_at(run->end, io_loop_now_ms(loop) + END_COMMANDS_MS);
    return err_pass(io_loop_run(loop));
}

static int run_all(HostRun *run, Diag *reterr_diag)
{
    const HostRunOptions *options = run->options;
    IoLoop *loop;
    int r = hub_new(&run->hub, &options->config->limits);

    if (r != 0) {
        return err_pass(r);
    }
    loop = hub_loop(run->hub);
    r = run_add_tools(run, reterr_diag);
    if (r != 0) {
        return r;
    }
    /* Before there is anything that a signal would leave behind. */
    io_loop_hold(loop);
    r = run_watch_signals(run);
    if (r == 0) {
        end_signals_watch(loop, options->log, options->config->drain_ms, 0);
        r = run_open_host(run, reterr_diag);
    }
    if (r == 0) {
        if (options->ready != NULL) {
            options->ready(options->context, router_count(hub_router(run->hub), ROUTER_TOOL));
        }
        r = err_pass(io_loop_run(loop));
    }
    io_loop_release(loop);
    return r != 0 ? r : run_end_commands(run);
}

int host_run(const HostRunOptions *options, Diag *reterr_diag)
{
    HostRun run = {.options = options, .sources = SOURCES_NULL};
    int r;

    io_ignore_sigpipe();
    r = run_all(&run, reterr_diag);
    run.host = host_free(run.host);
    /* The third step kills the commands, and takes no time; cut short it would leave them. */
    end_signals_block();
    run.end = io_timer_free(run.end);
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        run.signals[i] = io_signal_free(run.signals[i]);
    }
    sources_deinit(&run.sources);
    run.hub = hub_free(run.hub);
    return r;
}
