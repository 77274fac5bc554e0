/* The end has three steps, as in app/serve.c, and each signal leads at least one further: calls may
 * finish (drain_ms); they are cancelled, and their commands told to end (END_COMMANDS_MS); what is
 * left is killed. */
#include "app/up.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/up_internal.h"
#include "app/version.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"

static const McpIdentity up_identity = {
    .name = SPAN_INIT("toolwire"),
    .version = SPAN_INIT(TOOLWIRE_VERSION),
    .title = SPAN_INIT("toolwire"),
};

/* ---- settings ---- */

int up_load(const Up *up, Config *ret, bool *ret_pipe_can_wait, Diag *reterr_diag)
{
    int r = up->options->load(up->options->context, ret, reterr_diag);

    if (r != 0) {
        return r > 0 ? UP_E_CONFIG : err_pass(r);
    }
    if (ret->http.address == NULL) {
        r = config_replace(&ret->http.address, CONFIG_HTTP_ADDRESS);
    }
    *ret_pipe_can_wait = ret->path == NULL && ret->pipe.name == NULL;
    if (r == 0 && *ret_pipe_can_wait) {
        /* This pipe is no choice of the user, and leaves nothing else out. */
        if (ret->toolkit == CONFIG_TOOLKIT_UNSAID && config_offers_toolkit(ret)) {
            ret->toolkit = CONFIG_TOOLKIT_OFFERED;
        }
        r = config_replace(&ret->pipe.name, CONFIG_PIPE_NAME);
    }
    if (r != 0) {
        config_deinit(ret);
    }
    return err_pass(r);
}

int up_source_result(int r)
{
    return r == SOURCES_E_TOOLS || r == SOURCES_E_TEMPLATES ? UP_E_TOOLS
           : r > 0                                          ? UP_E_SOURCE
                                                            : err_pass(r);
}

/* ---- doors ---- */

/* Nobody is left who could ask. */
static void up_end_if_closed(Up *up)
{
    if (up->is_closing && !up->is_working && up->leaving[0] == NULL && up->leaving_front == NULL) {
        io_loop_stop(hub_loop(up->hub));
    }
}

/* Counters only grow, whatever door they were counted at. */
static void up_add_counters(HttpDoorFigures *sum, const HttpDoorFigures *figures)
{
    sum->n_requests += figures->n_requests;
    sum->n_refused += figures->n_refused;
    sum->bytes_in += figures->bytes_in;
    sum->bytes_out += figures->bytes_out;
}

static void up_add_figures(void *context, HttpDoorFigures *figures)
{
    const Up *up = context;

    up_add_counters(figures, &up->gone);
    for (size_t i = 0; i < UP_MAX_LEAVING && up->leaving[i] != NULL; i++) {
        HttpDoorFigures leaving = http_door_figures(up_door_http(up->leaving[i]));

        up_add_counters(figures, &leaving);
        figures->n_connections += leaving.n_connections;
        figures->n_sessions += leaving.n_sessions;
        figures->n_streams += leaving.n_streams;
    }
}

static bool up_add_jobs(void *context, QueueFigures *figures)
{
    const Up *up = context;

    if (up->queue != NULL) {
        *figures = up_queue_figures(up->queue);
    }
    return up->queue != NULL;
}

static void up_forget_door(Up *up, size_t i)
{
    HttpDoorFigures figures = http_door_figures(up_door_http(up->leaving[i]));

    up_add_counters(&up->gone, &figures);
    up->leaving[i] = up_door_free(up->leaving[i]);
    memmove(&up->leaving[i], &up->leaving[i + 1],
            (UP_MAX_LEAVING - 1 - i) * sizeof(up->leaving[0]));
    up->leaving[UP_MAX_LEAVING - 1] = NULL;
}

static void up_on_door_closed(void *context, UpDoor *door)
{
    Up *up = context;

    for (size_t i = 0; i < UP_MAX_LEAVING; i++) {
        if (up->leaving[i] == door) {
            up_forget_door(up, i);
            break;
        }
    }
    up_end_if_closed(up);
}

void up_leave_door(Up *up, UpDoor *door)
{
    size_t n = 0;

    if (door == NULL) {
        return;
    }
    if (up->leaving[UP_MAX_LEAVING - 1] != NULL) {
        up_forget_door(up, 0);
    }
    while (up->leaving[n] != NULL) {
        n++;
    }
    up->leaving[n] = door;
    up_door_shutdown(door);
}

int up_make_door(Up *up, const Config *config, UpDoor **ret, Diag *reterr_diag)
{
    size_t n_pages;
    const HttpPage *pages = pages_all(&n_pages);
    int r;

    if (strcmp(config->http.address, CONFIG_HTTP_OFF) == 0) {
        *ret = NULL;
        return 0;
    }
    r = up_door_new(ret,
                    &(UpDoorConfig){.hub = up->hub,
                                    .identity = &up_identity,
                                    .config = config,
                                    .seed = up->seed,
                                    .pages = pages,
                                    .n_pages = n_pages,
                                    .pages_context = &up->pages,
                                    .side = up->queue == NULL ? NULL : up_queue_side(up->queue),
                                    .log = up->options->log,
                                    .closed = up_on_door_closed,
                                    .context = up},
                    reterr_diag);
    return r > 0 ? UP_E_CONFIG : err_pass(r);
}

/* ---- the state folder ---- */

int up_take_state(const Up *up, const Config *config, PrivateFile *ret, Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    int r = hub_lock_take(ret, config->state, &diag);

    if (r == HUB_LOCK_E_PLACE) {
        logsink_write(up->options->log, LOGSINK_LEVEL_WARN, "state",
                      "a second hub would not notice that this one has the state folder: %s",
                      diag.message);
        return 0;
    }
    if (r == HUB_LOCK_E_LIVE && reterr_diag != NULL) {
        *reterr_diag = diag;
    }
    return r > 0 ? UP_E_PLACE : err_pass(r);
}

/* ---- fronts ---- */

static void up_on_front_closed(void *context, UpFront *front)
{
    Up *up = context;

    if (up->leaving_front == front) {
        up->leaving_front = up_front_free(front);
    }
    up_end_if_closed(up);
}

void up_leave_front(Up *up, UpFront *front)
{
    if (front != NULL) {
        (void)up_front_free(up->leaving_front);
        up->leaving_front = front;
        up_front_shutdown(front);
    }
}

int up_make_front(Up *up, const Config *config, UpFront **ret, Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    int r = up_front_new(ret,
                         &(UpFrontConfig){.hub = up->hub,
                                          .identity = &up_identity,
                                          .config = config,
                                          .log = up->options->log,
                                          .closed = up_on_front_closed,
                                          .context = up},
                         &diag);

    if (r == UP_FRONT_E_PLACE) {
        logsink_write(up->options->log, LOGSINK_LEVEL_WARN, "front",
                      "fronts cannot reach this hub: %s", diag.message);
        *ret = NULL;
        return 0;
    }
    if (r == UP_FRONT_E_LIVE && reterr_diag != NULL) {
        *reterr_diag = diag;
    }
    return r > 0 ? UP_E_PLACE : err_pass(r);
}

/* ---- the queue ---- */

static void up_on_queue_closed(void *context)
{
    Up *up = context;

    up->is_working = false;
    up_end_if_closed(up);
}

static bool up_expects_tools(void *context, int64_t within_ms)
{
    const Up *up = context;

    return up->sources.addins != NULL && addins_expect(up->sources.addins, within_ms);
}

/* A hub that cannot keep jobs does not begin: whoever gives it one would take it for kept. */
static int up_open_queue(Up *up, Diag *reterr_diag)
{
    int r = up_queue_new(&up->queue,
                         &(UpQueueConfig){.hub = up->hub,
                                          .identity = &up_identity,
                                          .config = &up->config,
                                          .log = up->options->log,
                                          .expects_tools = up_expects_tools,
                                          .closed = up_on_queue_closed,
                                          .context = up},
                         reterr_diag);

    if (r == 0 && up->queue != NULL && up->front != NULL) {
        up_queue_listen(up->queue, up_front_path(up->front));
    }
    return r > 0 ? UP_E_PLACE : err_pass(r);
}

/* Before the doors: those who wait at them for a job are told. */
static void up_end_queue(Up *up)
{
    int64_t drain_ms = up->config.drain_ms;

    if (up->queue != NULL) {
        up->is_working = true;
        up_queue_shutdown(up->queue, drain_ms > 0 ? drain_ms : LIMIT_DRAIN_MS);
    }
}

/* ---- listeners ---- */

static int up_open_door(Up *up, Diag *reterr_diag)
{
    int r = up_make_door(up, &up->config, &up->door, reterr_diag);

    if (r != 0 || up->door == NULL) {
        return r;
    }
    r = up_door_open(up->door, NULL, reterr_diag);
    return r > 0 ? UP_E_PLACE : err_pass(r);
}

/* ---- signals ---- */

static void up_on_signal(void *context, int signum)
{
    Up *up = context;
    UpDoor *door = up->door;
    UpFront *front = up->front;

    if (end_signals_reload != 0 && signum == end_signals_reload) {
        if (!up->is_closing) {
            up_reload(up);
        }
        return;
    }
    if (up->is_closing) {
        io_loop_stop(hub_loop(up->hub)); /* to the next step */
        return;
    }
    up->is_closing = true;
    io_notify_stopping(up->notify);
    up->door = NULL;
    up->front = NULL;
    up_show(up);
    up_end_queue(up);
    up_leave_door(up, door);
    up_leave_front(up, front);
    up_end_if_closed(up);
}

static void up_on_end(void *context)
{
    Up *up = context;

    io_loop_stop(hub_loop(up->hub));
}

static int up_watch_signals(Up *up)
{
    IoLoop *loop = hub_loop(up->hub);

    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        int r = io_signal_new(&up->signals[i], loop, end_signals[i], up_on_signal, up);

        if (r != 0) {
            return err_pass(r);
        }
    }
    return err_pass(io_timer_new(&up->end, loop, true, up_on_end, up));
}

/* ---- those who look on ---- */

int up_keep_record(Up *up, const Config *config)
{
    const ConfigAudit *wanted = &config->audit;
    Audit *audit = NULL;
    int r = 0;

    if (wanted->file != NULL) {
        r = audit_new(&audit, &(AuditConfig){.loop = hub_loop(up->hub),
                                             .path = wanted->file,
                                             .max_bytes = wanted->max_bytes,
                                             .keep = wanted->keep,
                                             .arguments = wanted->arguments,
                                             .log = up->options->log});
    }
    if (r != 0) {
        return err_pass(r);
    }
    watch_set_audit(up->watch, audit);
    (void)audit_free(up->audit);
    up->audit = audit;
    return 0;
}

static int up_start_watching(Up *up)
{
    int r = watch_new(&up->watch);

    if (r != 0) {
        return err_pass(r);
    }
    router_set_watch(hub_router(up->hub), watch_hooks(up->watch));
    up->pages = (Pages){.watch = up->watch,
                        .router = hub_router(up->hub),
                        .add_figures = up_add_figures,
                        .add_jobs = up_add_jobs,
                        .context = up,
                        .places = up->places,
                        .upstreams = &up->sources.upstreams};
    return err_pass(up_keep_record(up, &up->config));
}

static void up_show_place(Up *up, const char *what, const char *where)
{
    if (where != NULL) {
        up->places[up->pages.n_places++] = (PagesPlace){.what = what, .where = where};
    }
}

void up_show(Up *up)
{
    const HttpDoor *http = up->door == NULL ? NULL : up_door_http(up->door);

    up->pages.n_places = 0;
    up->pages.door = http;
    if (http != NULL) {
        const char *address = http_door_address(http);
        bool is_unix = strncmp(address, "unix:", 5) == 0;

        (void)snprintf(up->url, sizeof(up->url), "%s%.120s%s%.100s", is_unix ? "" : "http://",
                       address, is_unix ? " " : "", http_door_path(http));
        up_show_place(up, "MCP over HTTP", up->url);
    }
    up_show_place(up, "Add-ins",
                  up->sources.addins == NULL ? NULL : addins_path(up->sources.addins));
    up_show_place(up, "Fronts", up->front == NULL ? NULL : up_front_path(up->front));
    up_show_place(up, "Queue", up->queue == NULL ? NULL : up_queue_file(up->queue));
}

/* ---- life ---- */

/* Servers whose tools are not known yet. */
static size_t up_count_unlisted(const Up *up)
{
    const Upstreams *servers = up->sources.upstreams;
    size_t n_servers = servers == NULL ? 0 : upstreams_count(servers);
    size_t n = 0;

    for (size_t i = 0; i < n_servers; i++) {
        n += upstreams_status(servers, i).is_unlisted ? 1 : 0;
    }
    return n;
}

static void up_facts(const Up *up, UpFacts *ret)
{
    const HttpDoor *http = up->door == NULL ? NULL : up_door_http(up->door);

    *ret = (UpFacts){
        .http = http == NULL ? NULL : http_door_address(http),
        .http_path = http == NULL ? NULL : http_door_path(http),
        .needs_token = http != NULL && up_door_needs_token(up->door),
        .needs_access = http != NULL && up_door_needs_access(up->door),
        .pipe = up->sources.addins == NULL ? NULL : addins_path(up->sources.addins),
        .socket = up->front == NULL ? NULL : up_front_path(up->front),
        .queue = up->queue == NULL ? NULL : up_queue_file(up->queue),
        .config = up->config.path,
        .state = up->config.state,
        .n_tools = router_count(hub_router(up->hub), ROUTER_TOOL),
        .n_unlisted = up_count_unlisted(up),
    };
}

void up_tell_ready(Up *up)
{
    char status[512];
    UpFacts facts;

    up_show(up);
    up_facts(up, &facts);
    (void)snprintf(status, sizeof(status), "%zu tool%s; HTTP: %.400s", facts.n_tools,
                   facts.n_tools == 1 ? "" : "s", facts.http == NULL ? "off" : facts.http);
    io_notify_ready(up->notify, status);
}

static void up_say_listed(Up *up, const UpFacts *facts)
{
    up->n_unlisted = facts->n_unlisted;
    if (up->options->listed != NULL) {
        up->options->listed(up->options->context, facts);
    }
    up_tell_ready(up);
}

/* All that were asked have answered, or their time is over. */
static void up_on_opened(RouterListener *listener)
{
    Up *up = (Up *)(void *)((char *)listener - offsetof(Up, lists));
    UpFacts facts;

    up->has_waited = true;
    up_facts(up, &facts);
    if (facts.n_unlisted < up->n_unlisted) {
        up_say_listed(up, &facts);
    }
}

/* The last of those that were late. Not by a change of the list: a server tells of its tools before
 * the rest of its lists has come, and one that fails changes nothing. */
static void up_on_there(RouterListener *listener)
{
    Up *up = (Up *)(void *)((char *)listener - offsetof(Up, lists));
    UpFacts facts;

    if (!up->has_waited || up->n_unlisted == 0) {
        return;
    }
    up_facts(up, &facts);
    if (facts.n_unlisted == 0) {
        up_say_listed(up, &facts);
    }
}

static int up_start(Up *up, Diag *reterr_diag)
{
    const UpOptions *options = up->options;
    SourcesWith with = {
        .diagnostics = options->diagnostics, .may_toolkit = true, .reload = true, .servers = true};
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    if (r != 0) {
        return err_pass(r);
    }
    up->seed = hash_seed_from(random);
    r = io_notify_new(&up->notify);
    if (r != 0) {
        return err_pass(r);
    }
    r = up_load(up, &up->config, &with.pipe_can_wait, reterr_diag);
    if (r != 0) {
        return r;
    }
    r = hub_new(&up->hub, &up->config.limits);
    if (r != 0) {
        return err_pass(r);
    }
    router_set_page_size(hub_router(up->hub), up->config.page_size);
    r = up_start_watching(up);
    if (r != 0) {
        return err_pass(r);
    }
    /* Before anything that two hubs of one state folder would both want: the second ends here, and
     * knows the number of the first. Who connects meanwhile waits for the loop. */
    r = up_take_state(up, &up->config, &up->lock, reterr_diag);
    if (r == 0) {
        r = up_make_front(up, &up->config, &up->front, reterr_diag);
    }
    if (r != 0) {
        return r;
    }
    /* Before the tools: those that run as tasks find out whether they can. */
    r = up_open_queue(up, reterr_diag);
    if (r != 0) {
        return r;
    }
    /* Watched first, then read: a change in between is not lost. */
    r = up_watch_files(up, &up->config);
    if (r != 0) {
        return err_pass(r);
    }
    r = economy_set(&up->economy, up->hub, &up->config, reterr_diag);
    if (r != 0) {
        return r > 0 ? UP_E_TOOLS : err_pass(r);
    }
    r = sources_init(&up->sources, up->hub, &up->config, with, options->log, reterr_diag);
    if (r != 0) {
        return up_source_result(r);
    }
    r = up_watch_signals(up);
    return r != 0 ? err_pass(r) : up_open_door(up, reterr_diag);
}

/* The second step. Runs the loop until every command has ended, since nothing else keeps it
 * running, or their time is over, or a signal comes. */
static int up_end_commands(Up *up)
{
    IoLoop *loop = hub_loop(up->hub);

    for (size_t i = 0; i < UP_MAX_LEAVING; i++) {
        up->leaving[i] = up_door_free(up->leaving[i]);
    }
    up->leaving_front = up_front_free(up->leaving_front);
    up->queue = up_queue_free(up->queue);
    sources_end(&up->sources);
    io_loop_update_now(loop);
    io_timer_start_at(up->end, io_loop_now_ms(loop) + END_COMMANDS_MS);
    return err_pass(io_loop_run(loop));
}

static int up_serve(Up *up, Diag *reterr_diag)
{
    int r = up_start(up, reterr_diag);
    UpFacts facts;

    if (r != 0) {
        return r;
    }
    up_facts(up, &facts);
    if (up->options->ready != NULL) {
        up->options->ready(up->options->context, &facts);
    }
    up_tell_ready(up);
    end_signals_watch(hub_loop(up->hub), up->options->log, up->config.drain_ms, end_signals_reload);
    up->n_unlisted = facts.n_unlisted;
    up->lists = (RouterListener){.there = up_on_there, .opened = up_on_opened};
    router_listen(hub_router(up->hub), &up->lists);
    end_signals_unblock();
    io_loop_hold(hub_loop(up->hub));
    r = io_loop_run(hub_loop(up->hub));
    io_loop_release(hub_loop(up->hub));
    router_unlisten(hub_router(up->hub), &up->lists);
    up_unwatch_files(up);
    return r != 0 ? err_pass(r) : up_end_commands(up);
}

int up_run(const UpOptions *options, Diag *reterr_diag)
{
    Up up = {.options = options,
             .config = CONFIG_NULL,
             .economy = ECONOMY_NULL,
             .sources = SOURCES_NULL,
             .lock = PRIVATE_FILE_NULL,
             .other_lock = PRIVATE_FILE_NULL};
    int r;

    io_ignore_sigpipe();
    io_allow_many_descriptors();
    end_signals_block(); /* until somebody listens */
    r = up_serve(&up, reterr_diag);
    /* The third step kills the commands, and takes no time; cut short it would leave them. */
    end_signals_block();
    up_unwatch_files(&up);
    up.end = io_timer_free(up.end);
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        up.signals[i] = io_signal_free(up.signals[i]);
    }
    up.door = up_door_free(up.door);
    for (size_t i = 0; i < UP_MAX_LEAVING; i++) {
        up.leaving[i] = up_door_free(up.leaving[i]);
    }
    up.front = up_front_free(up.front);
    up.leaving_front = up_front_free(up.leaving_front);
    up.queue = up_queue_free(up.queue);
    sources_deinit(&up.sources);
    economy_deinit(&up.economy);
    if (up.hub != NULL) {
        router_set_watch(hub_router(up.hub), NULL);
    }
    up.watch = watch_free(up.watch);
    up.audit = audit_free(up.audit);
    up.hub = hub_free(up.hub);
    up.notify = io_notify_free(up.notify);
    private_file_remove(&up.other_lock);
    private_file_remove(&up.lock);
    config_deinit(&up.config);
    return r;
}
