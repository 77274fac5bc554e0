/* What each request asks of the queue, and what it answers with what came of it. */
#include "app/command_ask.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"

static void ask_told(JobsAsk *queue);

void command_ask_send(CommandAsk *ask, QueueVerb verb, const QueueOrder *order)
{
    queue_op_set(&ask->queue.op, verb, order);
    arena_reset(&ask->queue.op.arena, COMMAND_SPARE_BYTES);
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
    QueueOrder order = {
        .id = span_from_str(op->jobs[0].id),
        .finish = {.state = JOB_ENQUEUED,
                   .code = span_from_str(envelope_code_name(ENVELOPE_UNAVAILABLE)),
                   .message = SPAN("the application went before it was given the job")},
    };

    command_ask_name(ask, order.id);
    op->fence = op->jobs[0].fence;
    command_ask_send(ask, QUEUE_COMPLETE, &order);
}

static void ask_tell(CommandAsk *ask, QueueOp *op)
{
    const QueueJob *job = op->n_jobs > 0 ? &op->jobs[0] : NULL;

    if (op->verb == QUEUE_COUNT) {
        command_tell_health(ask, &op->counts);
    } else if (op->verb == QUEUE_LIST && ask->request.verb != COMMAND_JOBS) {
        command_enqueue_looked(ask);
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

/* What an application has done shows that it is there, and what it takes. */
static void ask_note_application(CommandAsk *ask, const QueueOp *op)
{
    CommandThere *there = &ask->door->there;
    const CommandRequest *request = &ask->request;
    int64_t now_ms = io_loop_now_ms(ask->door->loop);

    if (op->r != 0 || op->n_jobs == 0) {
        return;
    }
    if (request->verb == COMMAND_PENDING && op->verb == QUEUE_CLAIM) {
        command_there_lease(there, op->jobs[0].id, request->methods, request->n_methods,
                            now_ms + queue_op_order(op)->claim.lease_ms, now_ms);
    } else if (request->verb == COMMAND_HEARTBEAT) {
        command_there_beat(there, op->jobs[0].id, now_ms + op->lease_ms, now_ms);
    } else if (request->verb == COMMAND_POST_RESULT) {
        command_there_beat(there, op->jobs[0].id, 0, now_ms);
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
    ask_note_application(ask, op);
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

static void ask_claim(CommandAsk *ask)
{
    const CommandRequest *request = &ask->request;

    command_ask_send(ask, QUEUE_CLAIM,
                     &(QueueOrder){.claim = {
                                       .pool = SPAN(JOBS_POOL_PULL),
                                       .worker = request->worker,
                                       .max = 1,
                                       .lease_ms = request->lease_ms > 0 ? request->lease_ms
                                                                         : LIMIT_COMMAND_LEASE_MS,
                                       .methods = request->methods,
                                       .n_methods = request->n_methods,
                                   }});
}

void command_ask_again(CommandAsk *ask)
{
    if (ask->request.verb == COMMAND_PENDING) {
        ask_claim(ask);
        return;
    }
    command_ask_send(ask, QUEUE_GET,
                     &(QueueOrder){.id = span_from_str(ask->id), .owner = ask->owner});
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
    ask_claim(ask);
}

static void ask_complete(CommandAsk *ask)
{
    QueueOrder order = {.id = ask->request.job,
                        .finish = {.state = JOB_SUCCEEDED, .may_be_late = true}};

    bytes_clear(&ask->record);
    if (command_record_posted(ask->request.result, ask->request.is_error, &ask->arena, &ask->record,
                              &order.finish.code, &order.finish.message) != 0) {
        command_ask_refuse_queue(ask, QUEUE_E_TOO_LARGE);
        return;
    }
    order.finish.result = bytes_span(&ask->record);
    command_ask_name(ask, ask->request.job);
    ask->queue.op.fence = ask->request.fence;
    command_ask_send(ask, QUEUE_COMPLETE, &order);
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
        "GET /heartbeat",
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
    op->fence = request->fence;
    op->has_no_fence = !request->has_fence;
    op->lease_ms = request->lease_ms; /* 0: a heartbeat renews the lease as long as it was */
    command_ask_send(ask, verb, &(QueueOrder){.id = request->job, .owner = ask->owner});
}

static void ask_list(CommandAsk *ask)
{
    const CommandRequest *request = &ask->request;
    QueueOrder order = {.list = {.owner = ask->owner,
                                 .has_state = request->has_state,
                                 .limit = request->limit,
                                 .before = request->before}};

    if (request->has_state && !job_state_parse(request->state, &order.list.state)) {
        command_ask_refuse(ask, 400, envelope_code_name(ENVELOPE_INVALID_PARAMS),
                           SPAN("state: there is no such state"), NULL);
        return;
    }
    command_ask_send(ask, QUEUE_LIST, &order);
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
    command_ask_send(ask, QUEUE_PURGE, NULL);
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
        command_enqueue(ask);
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
        ask_list(ask);
        return;
    case COMMAND_PURGE:
        ask_purge(ask);
        return;
    case COMMAND_PENDING:
        ask_pending(ask);
        return;
    case COMMAND_HEALTH:
        command_ask_send(ask, QUEUE_COUNT, NULL);
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
