/* The end has three steps, as in app/serve.c, and each signal leads at least one further: calls may
 * finish (drain_ms); they are cancelled, the connection goes, and commands are told to end
 * (END_COMMANDS_MS); what is left is killed. */
#include "app/addin_run.h"

#include "app/end_signals.h"
#include "app/hub.h"
#include "app/sources.h"
#include "base/error.h"
#include "io/loop.h"

typedef struct AddinRun {
    const AddinRunOptions *options;
    Config config; /* borrows; without the pipe */
    Hub *hub;
    Sources sources;
    AddinDoor *door;
    IoSignal *signals[END_SIGNALS_N];
    IoTimer *end;    /* when END_COMMANDS_MS are over */
    bool is_closing; /* one signal has come: the next one does not wait */
} AddinRun;

static void run_on_closed(void *context)
{
    AddinRun *run = context;

    io_loop_stop(hub_loop(run->hub));
}

static void run_on_changed(void *context, AddinState state, Span why, int64_t retry_ms)
{
    const AddinRun *run = context;

    if (run->options->changed != NULL) {
        run->options->changed(run->options->context, state, why, retry_ms);
    }
}

static size_t run_ending(void *context)
{
    const AddinRun *run = context;

    return sources_ending(&run->sources);
}

static void run_on_signal(void *context, int signum)
{
    AddinRun *run = context;

    (void)signum;
    if (run->is_closing || run->door == NULL) {
        io_loop_stop(hub_loop(run->hub)); /* to the next step */
        return;
    }
    run->is_closing = true;
    addin_door_shutdown(run->door);
}

static void run_on_end(void *context)
{
    AddinRun *run = context;

    io_loop_stop(hub_loop(run->hub));
}

static int run_watch_signals(AddinRun *run)
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

static int run_add_tools(AddinRun *run, Diag *reterr_diag)
{
    const AddinRunOptions *options = run->options;
    int r = sources_init(
        &run->sources, run->hub, &run->config,
        (SourcesWith){.diagnostics = options->diagnostics, .toolkit = options->toolkit},
        options->log, reterr_diag);

    return r == SOURCES_E_TOOLS       ? ADDIN_RUN_E_TOOLS
           : r == SOURCES_E_PARENT    ? ADDIN_RUN_E_PARENT
           : r == SOURCES_E_TEMPLATES ? ADDIN_RUN_E_TEMPLATES
                                      : err_pass(r);
}

static int run_open_door(AddinRun *run)
{
    const AddinRunOptions *options = run->options;

    return err_pass(
        addin_door_new(&run->door, &(AddinDoorConfig){.loop = hub_loop(run->hub),
                                                      .router = hub_router(run->hub),
                                                      .path = options->path,
                                                      .name = options->name,
                                                      .limits = &run->config.limits,
                                                      .one_at_a_time = options->one_at_a_time,
                                                      .ending = run_ending,
                                                      .pings_in_calls = true,
                                                      .ping_interval_ms = options->ping_interval_ms,
                                                      .pong_timeout_ms = options->pong_timeout_ms,
                                                      .retry_ms = options->retry_ms,
                                                      .retry_max_ms = options->retry_max_ms,
                                                      .drain_ms = run->config.drain_ms,
                                                      .log = options->log,
                                                      .changed = run_on_changed,
                                                      .closed = run_on_closed,
                                                      .context = run}));
}

/* The second step. Runs the loop until every command has ended, since nothing else keeps it
 * running, or their time is over, or a signal comes. */
static int run_end_commands(AddinRun *run)
{
    IoLoop *loop = hub_loop(run->hub);

    run->door = addin_door_free(run->door);
    sources_end(&run->sources);
    io_loop_update_now(loop);
    io_timer_start_at(run->end, io_loop_now_ms(loop) + END_COMMANDS_MS);
    return err_pass(io_loop_run(loop));
}

static int run_all(AddinRun *run, Diag *reterr_diag)
{
    IoLoop *loop;
    int r = hub_new(&run->hub, &run->config.limits);

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
        end_signals_watch(loop, run->options->log, run->config.drain_ms, 0);
        r = run_open_door(run);
    }
    if (r == 0) {
        r = err_pass(io_loop_run(loop));
    }
    io_loop_release(loop);
    return r != 0 ? r : run_end_commands(run);
}

int addin_run(const AddinRunOptions *options, Diag *reterr_diag)
{
    AddinRun run = {.options = options, .config = *options->config, .sources = SOURCES_NULL};
    int r;

    /* A hub is there already, and it is not us. */
    run.config.pipe = (ConfigPipe){.name = NULL};
    io_ignore_sigpipe();
    r = run_all(&run, reterr_diag);
    run.door = addin_door_free(run.door);
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
