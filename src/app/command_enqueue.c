/* A command comes in: who is to run it, if anybody, and its job. */
#include "app/command_ask.h"

#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"

/* What is asked about this server itself, and answered without a job. */
#define COMMAND_LIST_METHOD "list_commands"

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

/* Who is to run a method. */
typedef enum Runner {
    RUNNER_NONE,  /* nobody has it, and nobody is known who might */
    RUNNER_HUB,   /* a tool of this process's router, or one that may come (again) */
    RUNNER_FETCH, /* applications that fetch */
} Runner;

static bool enqueue_waits_for_fetcher(const CommandAsk *ask)
{
    for (const CommandAsk *other = ask->door->watchers[0]; other != NULL;
         other = other->next_watcher) {
        if (command_ask_fetches(other, ask->request.method)) {
            return true;
        }
    }
    return false;
}

/* An application that is known may be busy, or about to start again: its jobs wait for it. What was
 * a tool here is not for those who fetch. */
static Runner enqueue_runner(const CommandAsk *ask)
{
    const CommandDoorConfig *config = &ask->door->config;
    Span method = ask->request.method;
    int64_t now_ms = io_loop_now_ms(ask->door->loop);
    bool is_fetched;

    if (router_has_tool(ask->door->router, method)) {
        return RUNNER_HUB;
    }
    is_fetched = config->takes_all || command_there_has(&ask->door->there, method, now_ms) ||
                 enqueue_waits_for_fetcher(ask);
    if (config->expects_tools != NULL && (!is_fetched || jobs_away_knew(config->jobs, method)) &&
        config->expects_tools(config->context, config->known_ms)) {
        return RUNNER_HUB;
    }
    return is_fetched ? RUNNER_FETCH : RUNNER_NONE;
}

static void enqueue_for(CommandAsk *ask, Runner runner)
{
    const CommandRequest *request = &ask->request;
    bool is_tool = router_has_tool(ask->door->router, request->method);
    QueueSpec spec;
    Span params;

    if (router_command_params(ask->door->router, request->method, request->params, request->beside,
                              &ask->arena, &params) != 0) {
        command_ask_refuse_queue(ask, -ENOMEM);
        return;
    }
    spec = (QueueSpec){
        .method = request->method,
        .params = params,
        .pool = runner == RUNNER_FETCH ? SPAN(JOBS_POOL_PULL) : SPAN_NULL,
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
    command_ask_send(ask, QUEUE_ENQUEUE, &(QueueOrder){.spec = spec});
}

/* ---- leases of before ---- */

/* The jobs of a state: an application may have one since before this process began. */
static void enqueue_look(CommandAsk *ask, JobState state)
{
    command_ask_send(
        ask, QUEUE_LIST,
        &(QueueOrder){.list = {.has_state = true, .state = state, .limit = LIMIT_QUEUE_LIST_MAX}});
}

void command_enqueue_looked(CommandAsk *ask)
{
    QueueOp *op = &ask->queue.op;
    CommandThere *there = &ask->door->there;
    int64_t now_ms = io_loop_now_ms(ask->door->loop);
    Runner runner;

    for (size_t i = 0; i < op->n_jobs; i++) {
        const QueueJob *job = &op->jobs[i];

        if (span_equals(job->pool, SPAN(JOBS_POOL_PULL)) &&
            !command_there_has_lease(there, job->id)) {
            command_there_lease(there, job->id, NULL, 0, now_ms + LIMIT_COMMAND_LEASE_MS, now_ms);
        }
    }
    runner = enqueue_runner(ask);
    if (runner == RUNNER_NONE && queue_op_order(op)->list.state == JOB_RUNNING) {
        enqueue_look(ask, JOB_DISPATCHING);
        return;
    }
    if (runner == RUNNER_NONE) {
        ask_refuse_unknown(ask);
    } else {
        enqueue_for(ask, runner);
    }
}

void command_enqueue(CommandAsk *ask)
{
    Runner runner = enqueue_runner(ask);

    if (!router_has_tool(ask->door->router, ask->request.method) &&
        span_equals(ask->request.method, SPAN(COMMAND_LIST_METHOD))) {
        ask_list_commands(ask);
    } else if (runner == RUNNER_NONE) {
        enqueue_look(ask, JOB_RUNNING);
    } else {
        enqueue_for(ask, runner);
    }
}
