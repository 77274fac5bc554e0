/* What each request asks of the queue, and what it answers with what came of it. */
#include "app/command_ask.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"

/* What is asked about this server itself, and answered without a job. */
#define COMMAND_LIST_METHOD "list_commands"

static void ask_told(JobsAsk *queue);

static void ask_send(CommandAsk *ask, QueueVerb verb)
{
    ask->queue.op.verb = verb;
    ask->queue.told = ask_told;
    ask->is_asking = true;
    ask->is_waiting = false;
    ask->is_stale = false;
    jobs_ask(ask->door->config.jobs, &ask->queue);
}

static int ask_keep(CommandAsk *ask, Span from, Span *ret)
{
    *ret = SPAN_NULL;
    if (from.n == 0) {
        return 0;
    }
    *ret = arena_copy(&ask->arena, from);
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

/* ---- what the queue said ---- */

/* The application went before it could be given its job: it did not begin. */
static void ask_give_back(CommandAsk *ask)
{
    QueueOp *op = &ask->queue.op;

    command_ask_name(ask, span_from_str(op->jobs[0].id));
    op->id = span_from_str(ask->id);
    op->fence = op->jobs[0].fence;
    op->finish = (QueueFinish){.state = JOB_ENQUEUED,
                               .code = span_from_str(envelope_code_name(ENVELOPE_UNAVAILABLE)),
                               .message = SPAN("the application went before it was given the job")};
    op->claim = (QueueClaim){.max = 0};
    arena_reset(&op->arena, 0);
    ask_send(ask, QUEUE_COMPLETE);
}

static void ask_tell(CommandAsk *ask, QueueOp *op)
{
    const QueueJob *job = op->n_jobs > 0 ? &op->jobs[0] : NULL;

    if (op->verb == QUEUE_COUNT) {
        command_tell_health(ask, &op->counts);
    } else if (op->verb == QUEUE_LIST) {
        command_tell_jobs(ask, op);
    } else if (op->verb == QUEUE_CLAIM) {
        command_tell_pending(ask, op);
    } else if (op->verb == QUEUE_PURGE) {
        command_ask_end(ask, command_write_purged(op->n_changed, &ask->door->out), 200, NULL);
    } else if (job == NULL) {
        command_ask_refuse_queue(ask, -EIO);
    } else if (ask->request.verb == COMMAND_JOB) {
        command_tell_job(ask, job);
    } else if (ask->request.verb == COMMAND_RESULT) {
        command_tell_result(ask, job);
    } else if (ask->request.verb == COMMAND_ENQUEUE || ask->request.verb == COMMAND_RPC) {
        ask->is_known = op->verb == QUEUE_ENQUEUE ? op->is_known : ask->is_known;
        if (op->verb == QUEUE_ENQUEUE && job_is_over(job->state) && ask->request.wait_ms > 0) {
            /* The key's job has ended: enqueueing tells that, but not with what. */
            command_ask_name(ask, span_from_str(job->id));
            command_ask_again(ask);
        } else {
            command_tell_enqueued(ask, job, ask->is_known);
        }
    } else {
        command_tell_done(ask, job, op->verb == QUEUE_BEAT ? op->lease_ms : 0);
    }
}

static void ask_told(JobsAsk *queue)
{
    CommandAsk *ask = (CommandAsk *)((char *)queue - offsetof(CommandAsk, queue));
    CommandDoor *door = ask->door;
    QueueOp *op = &queue->op;
    /* That a job has come the queue tells by itself, with all that is known of it. */
    bool changes = op->verb != QUEUE_GET && op->verb != QUEUE_LIST && op->verb != QUEUE_COUNT &&
                   op->verb != QUEUE_ENQUEUE;

    ask->is_asking = false;
    if (op->verb == QUEUE_CLAIM) {
        command_ask_pass_on(ask);
    }
    if (op->r == 0 && changes && op->n_jobs > 0) {
        jobs_tell(door->config.jobs, &op->jobs[0]);
    }
    if (op->r == 0 && op->verb == QUEUE_CLAIM && op->n_jobs > 0 &&
        (ask->x == NULL || door->is_ending)) {
        ask_give_back(ask);
        return;
    }
    if (ask->x == NULL) {
        (void)command_ask_free(ask);
    } else if (op->r != 0) {
        command_ask_refuse_queue(ask, op->r);
    } else {
        ask_tell(ask, op);
    }
    if (door->is_ending && door->asks == NULL) {
        command_door_end(door);
    }
}

/* ---- waiting ---- */

void command_ask_again(CommandAsk *ask)
{
    QueueOp *op = &ask->queue.op;

    arena_reset(&op->arena, 0);
    if (ask->request.verb == COMMAND_PENDING) {
        ask_send(ask, QUEUE_CLAIM);
        return;
    }
    op->id = span_from_str(ask->id);
    ask_send(ask, QUEUE_GET);
}

/* Asks once more, and answers whatever that is. */
void command_ask_late(CommandAsk *ask)
{
    ask->deadline_ms = 0;
    if (ask->request.verb == COMMAND_PENDING) {
        command_ask_nothing(ask, 204, NULL);
    } else {
        command_ask_again(ask);
    }
}

/* ---- what is asked ---- */

/* May the tool run twice? */
static bool ask_is_idempotent(const CommandAsk *ask, Span method)
{
    JsonValue description = JSON_VALUE_NULL;
    JsonValue annotations;
    JsonValue hint;

    for (size_t i = 0; i < router_count(ask->door->router, ROUTER_TOOL); i++) {
        if (span_equals(router_tool_name_at(ask->door->router, i), method)) {
            description = router_tool_at(ask->door->router, i);
            break;
        }
    }
    return description.node != NULL && json_get(description, SPAN("annotations"), &annotations) &&
           ((json_get(annotations, SPAN("idempotentHint"), &hint) &&
             json_kind(hint) == JSON_TRUE) ||
            (json_get(annotations, SPAN("readOnlyHint"), &hint) && json_kind(hint) == JSON_TRUE));
}

static void ask_refuse_unknown(CommandAsk *ask)
{
    Router *router = ask->door->router;
    size_t n = router_count(router, ROUTER_TOOL);
    Span *names = arena_alloc(&ask->arena, (n + 1) * sizeof(*names));
    char message[256];

    bytes_clear(&ask->record);
    for (size_t i = 0; names != NULL && i < n; i++) {
        names[i] = router_tool_name_at(router, i);
    }
    if (names == NULL || envelope_write_nearest(ask->request.method, names, n, &ask->record) != 0) {
        bytes_clear(&ask->record);
    }
    (void)snprintf(message, sizeof(message), "there is no command '%.*s'",
                   (int)(ask->request.method.n < 128 ? ask->request.method.n : 128),
                   ask->request.method.p);
    command_ask_refuse(ask, ask->request.verb == COMMAND_RPC ? 200 : 404,
                       envelope_code_name(ENVELOPE_UNKNOWN_COMMAND), span_from_str(message), NULL);
}

/* The commands that there are, as the envelope's own members. */
static void ask_list_commands(CommandAsk *ask)
{
    CallResult result = {.kind = CALL_RESULT_TOOL};
    CommandJob shown = {.method = ask->request.method,
                        .rpc_id = ask->request.rpc_id,
                        .is_over = true,
                        .result = &result};
    JsonWriter w;
    int r;

    json_writer_init(&w, &ask->record, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("commands"));
    json_write_array(&w);
    for (size_t i = 0; i < router_count(ask->door->router, ROUTER_TOOL); i++) {
        json_write_string(&w, router_tool_name_at(ask->door->router, i));
    }
    json_write_end_array(&w);
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    result.structured = bytes_span(&ask->record);
    if (r == 0) {
        r = ask->request.verb == COMMAND_RPC ? command_write_reply(&shown, &ask->door->out)
                                             : command_write_payload(&shown, &ask->door->out);
    }
    command_ask_end(ask, r, 200, NULL);
}

static void ask_enqueue(CommandAsk *ask)
{
    const CommandRequest *request = &ask->request;
    bool is_tool = router_has_tool(ask->door->router, request->method);
    Span params;

    if (!is_tool && span_equals(request->method, SPAN(COMMAND_LIST_METHOD))) {
        ask_list_commands(ask);
        return;
    }
    if (!is_tool && !ask->door->config.takes_all &&
        !command_there_has(&ask->door->there, request->method, io_loop_now_ms(ask->door->loop))) {
        ask_refuse_unknown(ask);
        return;
    }
    if (router_command_params(ask->door->router, request->method, request->params, request->beside,
                              &ask->arena, &params) != 0) {
        command_ask_refuse_queue(ask, -ENOMEM);
        return;
    }
    ask->queue.op.spec = (QueueSpec){
        .method = request->method,
        .params = params,
        .pool = is_tool ? SPAN_NULL : SPAN(JOBS_POOL_PULL),
        .owner = ask->owner,
        .source = SPAN("http"),
        .rpc_id = request->rpc_id,
        .idempotency_key = request->idempotency_key,
        .priority = (int)request->priority,
        .delay_ms = request->delay_ms,
        .timeout_ms = request->timeout_ms,
        .max_attempts = (unsigned)request->max_attempts,
        .is_idempotent = is_tool ? ask_is_idempotent(ask, request->method) : request->is_idempotent,
    };
    ask_send(ask, QUEUE_ENQUEUE);
}

/* What concerns everybody's jobs is for who runs the hub: a user of this machine where no
 * credentials are needed, or who has the hub's own token. Refuses others. */
static bool ask_is_keeper(CommandAsk *ask)
{
    bool is_keeper = ask->owner.n == 0 || span_equals(ask->owner, SPAN(HTTP_AUTH_OWNER_OWN));

    if (!is_keeper) {
        command_ask_refuse(ask, 403, "FORBIDDEN",
                           SPAN("this concerns the jobs of others: it needs the hub's own token"),
                           NULL);
    }
    return is_keeper;
}

static void ask_pending(CommandAsk *ask)
{
    const CommandRequest *request = &ask->request;
    CommandDoor *door = ask->door;

    if (!ask_is_keeper(ask)) {
        return;
    }

    command_ask_watch(ask);
    command_there_note(&door->there, request->methods, request->n_methods,
                       io_loop_now_ms(door->loop));
    ask->queue.op.claim = (QueueClaim){
        .pool = SPAN(JOBS_POOL_PULL),
        .worker = request->worker,
        .max = 1,
        .lease_ms = request->lease_ms > 0 ? request->lease_ms : LIMIT_COMMAND_LEASE_MS,
        .methods = request->methods,
        .n_methods = request->n_methods,
    };
    ask_send(ask, QUEUE_CLAIM);
}

static void ask_complete(CommandAsk *ask)
{
    QueueOp *op = &ask->queue.op;
    QueueFinish *finish = &op->finish;

    bytes_clear(&ask->record);
    *finish = (QueueFinish){.state = JOB_SUCCEEDED};
    if (command_record_posted(ask->request.result, ask->request.is_error, &ask->arena, &ask->record,
                              &finish->code, &finish->message) != 0) {
        command_ask_refuse_queue(ask, QUEUE_E_TOO_LARGE);
        return;
    }
    finish->result = bytes_span(&ask->record);
    command_ask_name(ask, ask->request.job);
    op->id = ask->request.job;
    op->fence = ask->request.fence;
    op->claim = (QueueClaim){.max = 0};
    ask_send(ask, QUEUE_COMPLETE);
}

static void ask_openrpc(CommandAsk *ask)
{
    const McpIdentity *identity = ask->door->config.identity;
    Router *router = ask->door->router;
    size_t n = router_count(router, ROUTER_TOOL);
    JsonValue *tools = arena_alloc(&ask->arena, (n + 1) * sizeof(*tools));
    size_t n_tools = 0;

    for (size_t i = 0; tools != NULL && i < n; i++) {
        tools[n_tools] = router_tool_at(router, i);
        n_tools += tools[n_tools].node != NULL;
    }
    command_ask_end(ask,
                    tools == NULL ? -ENOMEM
                                  : command_write_openrpc(identity->name, identity->version, tools,
                                                          n_tools, &ask->door->out),
                    200, NULL);
}

static void ask_capabilities(CommandAsk *ask)
{
    static const char *const routes[] = {
        "POST /enqueue",
        "POST /rpc",
        "POST /rpc/{method}",
        "GET /job/{id}",
        "DELETE /job/{id}",
        "POST /job/{id}/cancel",
        "POST /job/{id}/retry",
        "GET /get_result",
        "GET /jobs",
        "DELETE /jobs",
        "GET /pending_request",
        "POST /post_result",
        "POST /heartbeat",
        "GET /health",
        "GET /docs/openrpc.json",
        "GET /debug/capabilities",
    };
    JsonWriter w;

    json_writer_init(&w, &ask->door->out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("ok"));
    json_write_bool(&w, true);
    json_write_key(&w, SPAN("routes"));
    json_write_array(&w);
    for (size_t i = 0; i < TW_ARRAY_SIZE(routes); i++) {
        json_write_string(&w, span_from_str(routes[i]));
    }
    json_write_end_array(&w);
    json_write_end_object(&w);
    command_ask_end(ask, json_writer_finish(&w), 200, NULL);
}

static void ask_about_job(CommandAsk *ask, QueueVerb verb)
{
    const CommandRequest *request = &ask->request;
    QueueOp *op = &ask->queue.op;

    command_ask_name(ask, request->job);
    op->id = request->job;
    op->owner = ask->owner;
    op->fence = request->fence;
    op->lease_ms = request->lease_ms; /* 0: a heartbeat renews the lease as long as it was */
    ask_send(ask, verb);
}

/* Which states are to be forgotten: names with commas between them; none: all that are over. */
static void ask_purge(CommandAsk *ask)
{
    QueuePurge *purge = &ask->queue.op.purge;
    Span state = ask->request.state;
    size_t start = 0;

    if (!ask_is_keeper(ask)) {
        return;
    }
    *purge = (QueuePurge){.older_ms = ask->request.older_ms};
    for (size_t i = 0; state.n > 0 && i <= state.n; i++) {
        JobState one;

        if (i < state.n && state.p[i] != ',') {
            continue;
        }
        if (!job_state_parse(span_make(state.p + start, i - start), &one) || !job_is_over(one)) {
            command_ask_refuse(ask, 400, envelope_code_name(ENVELOPE_INVALID_PARAMS),
                               SPAN("state: there is no such state that a job ends in"), NULL);
            return;
        }
        purge->states[one] = true;
        start = i + 1;
    }
    ask_send(ask, QUEUE_PURGE);
}

/* Is it about what may yet be added? */
static bool ask_must_wait(CommandAsk *ask)
{
    const CommandRequest *request = &ask->request;
    bool needs_all =
        request->verb == COMMAND_OPENRPC ||
        ((request->verb == COMMAND_ENQUEUE || request->verb == COMMAND_RPC) &&
         !router_has_tool(ask->door->router, request->method) &&
         !command_there_has(&ask->door->there, request->method, io_loop_now_ms(ask->door->loop)));

    ask->is_at_gate = needs_all && router_knock(ask->door->router);
    return ask->is_at_gate;
}

static void ask_dispatch(CommandAsk *ask)
{
    const CommandRequest *request = &ask->request;

    switch (request->verb) {
    case COMMAND_ENQUEUE:
    case COMMAND_RPC:
        ask_enqueue(ask);
        return;
    case COMMAND_JOB:
    case COMMAND_RESULT:
        ask_about_job(ask, QUEUE_GET);
        return;
    case COMMAND_CANCEL:
        ask_about_job(ask, QUEUE_CANCEL);
        return;
    case COMMAND_RETRY:
        ask_about_job(ask, QUEUE_RETRY);
        return;
    case COMMAND_HEARTBEAT:
        ask_about_job(ask, QUEUE_BEAT);
        return;
    case COMMAND_POST_RESULT:
        ask_complete(ask);
        return;
    case COMMAND_JOBS:
        ask->queue.op.list = (QueueList){.owner = ask->owner,
                                         .has_state = request->has_state,
                                         .limit = request->limit,
                                         .before = request->before};
        if (request->has_state && !job_state_parse(request->state, &ask->queue.op.list.state)) {
            command_ask_refuse(ask, 400, envelope_code_name(ENVELOPE_INVALID_PARAMS),
                               SPAN("state: there is no such state"), NULL);
            return;
        }
        ask_send(ask, QUEUE_LIST);
        return;
    case COMMAND_PURGE:
        ask_purge(ask);
        return;
    case COMMAND_PENDING:
        ask_pending(ask);
        return;
    case COMMAND_HEALTH:
        ask_send(ask, QUEUE_COUNT);
        return;
    case COMMAND_OPENRPC:
        ask_openrpc(ask);
        return;
    case COMMAND_CAPABILITIES:
        ask_capabilities(ask);
        return;
    case COMMAND_NONE:
    case COMMAND_N_VERBS:
        break;
    }
    command_ask_refuse(ask, 404, "E_NOT_FOUND", SPAN("there is nothing here"), NULL);
}

void command_ask_begin(CommandAsk *ask, const Http1Head *head, Span body, Span owner)
{
    CommandRefusal refusal = {.status = 500};
    Span text = SPAN_NULL;
    int64_t wait_ms;
    int r;

    ask->route = command_route(head->method, head->path);
    if (ask->route.allow.n == 0) {
        command_ask_refuse(ask, 404, "E_NOT_FOUND",
                           SPAN("the path: something must stand behind it, an id or a method"),
                           NULL);
        return;
    }
    if (ask->route.verb == COMMAND_NONE) {
        Http1Field allow = {SPAN("Allow"), ask->route.allow};

        command_ask_refuse(ask, 405, "METHOD_NOT_ALLOWED", SPAN("another HTTP method is needed"),
                           &allow);
        return;
    }
    r = ask_keep(ask, body, &text);
    if (r == 0) {
        r = ask_keep(ask, owner, &ask->owner);
    }
    if (r == 0) {
        r = command_read(&ask->route, head, text, &ask->arena, &ask->request, &refusal);
    }
    if (r == COMMAND_E_REFUSED) {
        ask->request.rpc_id = refusal.rpc_id;
        command_ask_refuse(ask, refusal.status, refusal.code, refusal.message, NULL);
        return;
    }
    if (r != 0) {
        command_ask_refuse(ask, 500, envelope_code_name(ENVELOPE_INTERNAL),
                           SPAN("there is no memory for the request"), NULL);
        return;
    }
    wait_ms =
        ask->request.wait_ms < LIMIT_COMMAND_WAIT_MS ? ask->request.wait_ms : LIMIT_COMMAND_WAIT_MS;
    ask->deadline_ms = wait_ms > 0 ? io_loop_now_ms(ask->door->loop) + wait_ms : 0;
    if (!ask_must_wait(ask)) {
        ask_dispatch(ask);
    }
}

void command_ask_pass(CommandAsk *ask)
{
    ask->is_at_gate = false;
    ask_dispatch(ask);
}
