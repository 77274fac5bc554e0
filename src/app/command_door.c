/* Each request in work is a CommandAsk: read, asked of the queue, and answered; or waiting for a
 * job to change, until its time is over. One whose client has gone is finished without an answer,
 * and what it claimed is given back. */
#include "app/command_door.h"

#include <stdio.h>
#include <string.h>

#include "app/command_ask.h"
#include "app/command_job.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/program.h"

/* ---- requests in work ---- */

/* Requests whose memory is kept. */
#define COMMAND_SPARE 512

static void ask_destroy(CommandAsk *ask)
{
    queue_op_deinit(&ask->queue.op);
    bytes_deinit(&ask->record);
    arena_deinit(&ask->arena);
    mem_free(ask);
}

static void ask_unwatch(CommandAsk *ask)
{
    if (!ask->is_watching) {
        return;
    }
    if (ask->prev_watcher != NULL) {
        ask->prev_watcher->next_watcher = ask->next_watcher;
    } else {
        ask->door->watchers[ask->watch_list] = ask->next_watcher;
    }
    if (ask->next_watcher != NULL) {
        ask->next_watcher->prev_watcher = ask->prev_watcher;
    }
    ask->is_watching = false;
}

/* By the last two digits of an id, which are random ones. */
static size_t watch_list_of(const char *id)
{
    size_t n = strlen(id);
    unsigned last = n > 0 ? (unsigned char)id[n - 1] : 0;
    unsigned before = n > 1 ? (unsigned char)id[n - 2] : 0;

    return 1 + ((before << 4 ^ last) % COMMAND_WATCH_LISTS);
}

void command_ask_watch(CommandAsk *ask)
{
    CommandDoor *door = ask->door;
    size_t list = ask->route.verb == COMMAND_PENDING ? 0 : watch_list_of(ask->id);
    CommandAsk *first = door->watchers[list];

    if (ask->is_watching && ask->watch_list == list) {
        return;
    }
    ask_unwatch(ask);
    ask->is_watching = true;
    ask->watch_list = list;
    ask->prev_watcher = NULL;
    ask->next_watcher = first;
    if (first != NULL) {
        first->prev_watcher = ask;
    }
    door->watchers[list] = ask;
}

CommandAsk *command_ask_free(CommandAsk *ask)
{
    CommandDoor *door = ask->door;

    ask_unwatch(ask);
    if (ask->prev != NULL) {
        ask->prev->next = ask->next;
    } else {
        door->asks = ask->next;
    }
    if (ask->next != NULL) {
        ask->next->prev = ask->prev;
    }
    door->n_asks--;
    if (door->is_ending || door->n_spare == COMMAND_SPARE) {
        ask_destroy(ask);
        return NULL;
    }
    arena_reset(&ask->arena, COMMAND_SPARE_BYTES);
    queue_op_clear(&ask->queue.op, COMMAND_SPARE_BYTES);
    bytes_clear_keep(&ask->record, COMMAND_SPARE_BYTES);
    ask->next = door->spare;
    door->spare = ask;
    door->n_spare++;
    return NULL;
}

/* Memory that a request can be made of; NULL: there is none. */
static CommandAsk *ask_take(CommandDoor *door)
{
    CommandAsk *ask = door->spare;
    Arena arena;
    QueueOp op;
    Bytes record;

    if (ask == NULL) {
        ask = mem_alloc_array(1, sizeof(*ask));
        if (ask != NULL) {
            queue_op_init(&ask->queue.op);
            arena_init(&ask->arena, COMMAND_ARENA_BYTES);
            bytes_init(&ask->record, COMMAND_ANSWER_BYTES);
        }
        return ask;
    }
    door->spare = ask->next;
    door->n_spare--;
    arena = ask->arena;
    op = ask->queue.op;
    record = ask->record;
    *ask = (CommandAsk){.queue.op = op};
    ask->arena = arena;
    ask->record = record;
    return ask;
}

static CommandAsk *command_ask_new(CommandDoor *door, IoHttpExchange *x)
{
    CommandAsk *ask = ask_take(door);

    if (ask == NULL) {
        return NULL;
    }
    ask->door = door;
    ask->x = x;
    ask->next = door->asks;
    if (ask->next != NULL) {
        ask->next->prev = ask;
    }
    door->asks = ask;
    door->n_asks++;
    return ask;
}

/* ---- answers ---- */

void command_ask_respond(CommandAsk *ask, unsigned status, const Http1Field *extra)
{
    CommandDoor *door = ask->door;
    Http1Field fields[3] = {{SPAN("Content-Type"), SPAN("application/json")},
                            {SPAN("Cache-Control"), SPAN("no-store")}};
    size_t n = 2;

    if (extra != NULL) {
        fields[n++] = *extra;
    }
    if (ask->x != NULL) {
        io_http_set_data(ask->x, NULL);
        (void)http_door_respond(ask->x, status, fields, n, bytes_span(&door->out));
    }
    bytes_clear_keep(&door->out, LIMIT_KEEP_BYTES);
    (void)command_ask_free(ask);
}

void command_ask_nothing(CommandAsk *ask, unsigned status, const Http1Field *extra)
{
    if (ask->x != NULL) {
        io_http_set_data(ask->x, NULL);
        (void)http_door_respond(ask->x, status, extra, extra != NULL, SPAN_NULL);
    }
    (void)command_ask_free(ask);
}

void command_ask_refuse(CommandAsk *ask, unsigned status, const char *code, Span message,
                        const Http1Field *extra)
{
    bool as_rpc = ask->route.verb == COMMAND_RPC;

    bytes_clear(&ask->door->out);
    if (command_write_refusal(code, message, ask->request.method, ask->request.rpc_id,
                              bytes_span(&ask->record), as_rpc, &ask->door->out) != 0) {
        bytes_clear(&ask->door->out);
    }
    command_ask_respond(ask, status, extra);
}

void command_ask_refuse_queue(CommandAsk *ask, int r)
{
    CommandFault fault = command_fault(r);

    bytes_clear(&ask->record);
    command_ask_refuse(ask, fault.status, fault.code,
                       command_fault_text(r, jobs_file(ask->door->config.jobs), &ask->arena), NULL);
}

/* ---- waiting ---- */

static void door_set_timer(CommandDoor *door)
{
    int64_t due_ms = INT64_MAX;

    for (const CommandAsk *ask = door->asks; ask != NULL; ask = ask->next) {
        if (ask->is_waiting && ask->deadline_ms < due_ms) {
            due_ms = ask->deadline_ms;
        }
    }
    door->due_ms = due_ms;
    if (due_ms < INT64_MAX) {
        io_timer_start_at(door->timer, due_ms);
    }
}

void command_ask_wait(CommandAsk *ask)
{
    CommandDoor *door = ask->door;

    ask->is_waiting = true;
    if (ask->is_stale) {
        command_ask_again(ask);
        return;
    }
    if (ask->deadline_ms < door->due_ms) {
        door_set_timer(door);
    }
}

static void door_on_timer(void *context)
{
    CommandDoor *door = context;
    int64_t now_ms = io_loop_now_ms(door->loop);
    CommandAsk *next;

    for (CommandAsk *ask = door->asks; ask != NULL; ask = next) {
        next = ask->next;
        if (ask->is_waiting && ask->deadline_ms <= now_ms) {
            command_ask_late(ask);
        }
    }
    door_set_timer(door);
}

/* ---- the side ---- */

static bool side_leads(void *context, Span path, Span *ret_allow)
{
    CommandRoute route = command_route(HTTP1_METHOD_OTHER, path);

    (void)context;
    *ret_allow = route.allow;
    return route.allow.n > 0 || command_is_stub(path);
}

/* What a status of the guards is called here. */
static const char *refusal_code(unsigned status)
{
    switch (status) {
    case 401:
        return "UNAUTHORIZED";
    case 403:
        return "FORBIDDEN";
    case 413:
        return envelope_code_name(ENVELOPE_TOO_LARGE);
    case 415:
        return "UNSUPPORTED_MEDIA_TYPE";
    default:
        return status < 500 ? "INVALID_REQUEST" : envelope_code_name(ENVELOPE_INTERNAL);
    }
}

/* What the guards turn away, in the words that the others of this door hear. */
static void side_refuse(void *context, IoHttpExchange *x, unsigned status, const Http1Field *extra,
                        Span message)
{
    CommandDoor *door = context;
    CommandAsk *ask = command_ask_new(door, x);

    if (ask == NULL) {
        (void)http_door_respond(x, status, extra, extra != NULL, SPAN_NULL);
        return;
    }
    ask->route = command_route(io_http_head(x)->method, io_http_head(x)->path);
    command_ask_refuse(ask, status, refusal_code(status), message, extra);
}

static void side_request(void *context, IoHttpExchange *x, Span body, Span owner, const char *who)
{
    CommandDoor *door = context;
    CommandAsk *ask = door->n_asks < LIMIT_COMMAND_WAITING ? command_ask_new(door, x) : NULL;

    (void)who;
    if (ask == NULL) {
        Http1Field later = {SPAN("Retry-After"), SPAN("1")};

        (void)http_door_respond(x, 503, &later, 1, SPAN_NULL);
        return;
    }
    io_http_set_data(x, ask);
    command_ask_begin(ask, io_http_head(x), body, owner);
}

static void side_gone(void *context, IoHttpExchange *x)
{
    CommandAsk *ask = io_http_data(x);

    (void)context;
    if (ask == NULL) {
        return;
    }
    ask->x = NULL;
    if (ask->is_waiting || ask->is_at_gate) {
        (void)command_ask_free(ask);
    }
}

/* Those who wait for a job that runs wait on: it may end while the door closes. */
static void side_shutdown(void *context, const HttpDoor *closing, int64_t end_ms)
{
    CommandDoor *door = context;
    CommandAsk *next;

    for (CommandAsk *ask = door->asks; ask != NULL; ask = next) {
        next = ask->next;
        if (ask->x == NULL || http_door_of(ask->x) != closing) {
            continue;
        }
        ask->is_closing = true;
        ask->deadline_ms = ask->deadline_ms < end_ms ? ask->deadline_ms : end_ms;
        if (ask->is_at_gate) {
            command_ask_pass(ask); /* with what there is */
        } else if (ask->is_waiting && ask->route.verb == COMMAND_PENDING) {
            command_ask_late(ask);
        } else if (ask->is_waiting) {
            command_ask_again(ask); /* how it is with the job decides */
        }
    }
    door_set_timer(door);
}

/* ---- life ---- */

bool command_ask_fetches(const CommandAsk *ask, Span method)
{
    const CommandRequest *request = &ask->request;
    bool fits = request->methods == NULL;

    for (size_t i = 0; !fits && i < request->n_methods; i++) {
        fits = span_equals(request->methods[i], method);
    }
    return fits;
}

/* All who wait to fetch look again. */
static void door_wake(CommandDoor *door)
{
    for (CommandAsk *ask = door->watchers[0], *next; ask != NULL; ask = next) {
        next = ask->next_watcher;
        if (ask->is_waiting) {
            command_ask_again(ask);
        }
    }
}

void command_ask_pass_on(CommandAsk *ask)
{
    const QueueOp *op = &ask->queue.op;
    bool was_woken = ask->woken_for[0] != '\0';
    bool has_other = op->n_jobs > 0 && strcmp(op->jobs[0].id, ask->woken_for) != 0;

    if (was_woken && (op->r != 0 || has_other)) {
        door_wake(ask->door);
    }
    ask->woken_for[0] = '\0';
}

/* A job can be fetched: it is for one of those who would. */
static void door_hand_out(CommandDoor *door, const QueueJob *job)
{
    for (CommandAsk *ask = door->watchers[0]; ask != NULL; ask = ask->next_watcher) {
        if (!command_ask_fetches(ask, job->method)) {
            continue;
        }
        if (ask->is_waiting) {
            (void)snprintf(ask->woken_for, sizeof(ask->woken_for), "%s", job->id);
            command_ask_again(ask);
            return;
        }
        ask->is_stale = true;
    }
}

static void door_on_changed(JobsListener *listener, const QueueJob *job)
{
    CommandDoor *door = (CommandDoor *)((char *)listener - offsetof(CommandDoor, listener));
    CommandAsk *next;

    if (job->state == JOB_ENQUEUED && span_equals(job->pool, SPAN(JOBS_POOL_PULL))) {
        door_hand_out(door, job);
    }
    for (CommandAsk *ask = door->watchers[watch_list_of(job->id)]; ask != NULL; ask = next) {
        next = ask->next_watcher;
        if (strcmp(ask->id, job->id) != 0) {
            continue;
        }
        if (ask->is_waiting) {
            command_ask_again(ask);
        } else {
            ask->is_stale = true;
        }
    }
}

static void door_on_gate(RouterListener *listener)
{
    CommandDoor *door = (CommandDoor *)(void *)((char *)listener - offsetof(CommandDoor, gate));
    CommandAsk *ask = door->asks;

    while (ask != NULL) {
        if (ask->is_at_gate) {
            command_ask_pass(ask);
            ask = door->asks; /* whoever was answered may have left with others */
        } else {
            ask = ask->next;
        }
    }
}

int command_door_new(CommandDoor **ret, const CommandDoorConfig *config)
{
    CommandDoor *door = mem_alloc_array(1, sizeof(*door));
    int r;

    if (door == NULL) {
        return err_raise(-ENOMEM);
    }
    *door = (CommandDoor){
        .config = *config,
        .loop = hub_loop(config->hub),
        .router = hub_router(config->hub),
        .pid = (int64_t)io_program_pid(),
        .listener = {.changed = door_on_changed},
        .side = {.leads = side_leads,
                 .request = side_request,
                 .gone = side_gone,
                 .refuse = side_refuse,
                 .shutdown = side_shutdown,
                 .context = door},
        .due_ms = INT64_MAX,
    };
    if (door->config.known_ms == 0) {
        door->config.known_ms = LIMIT_COMMAND_KNOWN_MS;
    }
    command_there_init(&door->there, door->config.known_ms);
    bytes_init(&door->out, COMMAND_ANSWER_BYTES);
    r = io_timer_new(&door->timer, door->loop, true, door_on_timer, door);
    if (r != 0) {
        mem_free(door);
        return err_pass(r);
    }
    jobs_listen(config->jobs, &door->listener);
    door->gate.opened = door_on_gate;
    router_listen(door->router, &door->gate);
    *ret = door;
    return 0;
}

void command_door_end(CommandDoor *door)
{
    while (door->spare != NULL) {
        CommandAsk *ask = door->spare;

        door->spare = ask->next;
        ask_destroy(ask);
    }
    bytes_deinit(&door->out);
    mem_free(door);
}

CommandDoor *command_door_free(CommandDoor *door)
{
    if (door == NULL) {
        return NULL;
    }
    jobs_unlisten(door->config.jobs, &door->listener);
    router_unlisten(door->router, &door->gate);
    command_there_deinit(&door->there);
    door->timer = io_timer_free(door->timer);
    door->is_ending = true;
    for (CommandAsk *ask = door->asks, *next; ask != NULL; ask = next) {
        next = ask->next;
        if (!ask->is_asking) {
            (void)command_ask_free(ask);
        }
    }
    if (door->asks == NULL) {
        command_door_end(door);
    }
    return NULL; /* else the last answer that is on its way frees it */
}

const HttpSide *command_door_side(const CommandDoor *door)
{
    return &door->side;
}
