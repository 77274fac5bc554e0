/* Requests that become calls: their params checked, a pooled request opened, an event queued. */
#include "dialect/mcp/server_internal.h"

#include "base/error.h"

/* Every member of an object must be a string: the arguments of prompts and completions. */
static bool are_strings(McpServer *server, const McpInbound *in, JsonValue object, const char *path)
{
    if (object.node == NULL) {
        return true;
    }
    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        if (json_kind(it.value) != JSON_STRING) {
            mcp_refuse_format(server, in, MCP_ERROR_INVALID_PARAMS, "%s must hold strings only",
                              path);
            return false;
        }
    }
    return true;
}

/* What the params say, before there is a request to put it into. */
typedef struct Wanted {
    CallVerb verb;
    Span target;
    JsonValue arguments;
    CallCompletion completion;
    Span cursor; /* p NULL if none: an empty cursor is one */
    CallLater later;
    int64_t later_ms;
    JsonValue inputs;
    Span state;
} Wanted;

static bool take_completion(McpServer *server, const McpInbound *in, Wanted *want)
{
    JsonValue ref = JSON_VALUE_NULL;
    JsonValue argument = JSON_VALUE_NULL;
    JsonValue context = JSON_VALUE_NULL;
    CallCompletion *completion = &want->completion;
    Span type;

    if (!mcp_take_object(server, in, in->params, SPAN("ref"), "params.ref", true, &ref) ||
        !mcp_take_string(server, in, ref, SPAN("type"), "params.ref.type", true, &type)) {
        return false;
    }
    completion->is_prompt = span_equals(type, SPAN("ref/prompt"));
    if (!completion->is_prompt && !span_equals(type, SPAN("ref/resource"))) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS,
                   "params.ref.type must be ref/prompt or ref/resource");
        return false;
    }
    if (completion->is_prompt ? !mcp_take_string(server, in, ref, SPAN("name"), "params.ref.name",
                                                 true, &want->target)
                              : !mcp_take_string(server, in, ref, SPAN("uri"), "params.ref.uri",
                                                 true, &want->target)) {
        return false;
    }
    return mcp_take_object(server, in, in->params, SPAN("argument"), "params.argument", true,
                           &argument) &&
           mcp_take_string(server, in, argument, SPAN("name"), "params.argument.name", true,
                           &completion->argument) &&
           mcp_take_string(server, in, argument, SPAN("value"), "params.argument.value", true,
                           &completion->value) &&
           mcp_take_object(server, in, in->params, SPAN("context"), "params.context", false,
                           &context) &&
           mcp_take_object(server, in, context, SPAN("arguments"), "params.context.arguments",
                           false, &completion->context) &&
           are_strings(server, in, completion->context, "params.context.arguments");
}

/* A call of MCP_CALL_TOOL becomes that of the tool which it names: whatever a call has, from the
 * check of its arguments to its task, it has as if it had come directly. What names no tool goes on
 * as it is, to the one who says so. */
static void take_named_tool(McpServer *server, const McpInbound *in, Wanted *want)
{
    JsonValue arguments = JSON_VALUE_NULL;
    JsonValue value;
    Span name;

    if (!in->offer.lazy_tools || server->config.is_tool == NULL ||
        !span_equals(want->target, SPAN(MCP_CALL_TOOL)) || want->arguments.node == NULL ||
        !json_get(want->arguments, SPAN("name"), &value) || json_kind(value) != JSON_STRING ||
        json_string_exact(value, &server->arena, &name) != 0 ||
        span_equals(name, SPAN(MCP_CALL_TOOL)) ||
        !server->config.is_tool(server->config.context, name)) {
        return;
    }
    if (json_get(want->arguments, SPAN("arguments"), &arguments) &&
        json_kind(arguments) != JSON_OBJECT) {
        return;
    }
    want->target = name;
    want->arguments = arguments;
}

/* False if the request was refused. */
static bool take_params(McpServer *server, const McpInbound *in, Wanted *want)
{
    switch (want->verb) {
    case CALL_TOOL:
    case CALL_PROMPT:
        return mcp_check_string(server, in, in->known.name, "params.name", true, &want->target) &&
               mcp_check_object(server, in, in->known.arguments, "params.arguments", false,
                                &want->arguments) &&
               (want->verb == CALL_TOOL
                    ? mcp_take_later(server, in, &want->later, &want->later_ms)
                    : are_strings(server, in, want->arguments, "params.arguments"));
    case CALL_READ:
    case CALL_SUBSCRIBE:
        return mcp_check_string(server, in, in->known.uri, "params.uri", true, &want->target);
    case CALL_COMPLETE:
        return take_completion(server, in, want);
    case CALL_LIST_TOOLS:
    case CALL_LIST_RESOURCES:
    case CALL_LIST_TEMPLATES:
    case CALL_LIST_PROMPTS:
    case CALL_LIST_TASKS:
        return mcp_check_string(server, in, in->known.cursor, "params.cursor", false,
                                &want->cursor);
    case CALL_TASK_GET:
    case CALL_TASK_RESULT:
    case CALL_TASK_CANCEL:
        return mcp_check_string(server, in, in->known.task_id, "params.taskId", true,
                                &want->target);
    case CALL_TASK_UPDATE:
        return mcp_check_string(server, in, in->known.task_id, "params.taskId", true,
                                &want->target) &&
               mcp_take_responses(server, in, true, &want->inputs);
    case CALL_N_VERBS:
        break;
    }
    return false;
}

static void finish(Call *call, const CallResult *result)
{
    McpRequest *request = MCP_LINK_OWNER(call, McpRequest, call);

    if (request->state == MCP_REQUEST_CANCELLED) {
        /* Taken back, and the owner has yet to fetch that: nothing is left to do for it. Once
         * fetched, it is the owner who drops the call. */
        if (result->kind == CALL_RESULT_ASK) {
            mcp_forsake(request->server, call->verb, result->state);
        }
        if (!mcp_link_is_alone(&request->turn)) {
            mcp_request_end(request);
        }
        return;
    }
    if (result->kind == CALL_RESULT_ASK) {
        mcp_ask(request, result);
        return;
    }
    if (call->verb == CALL_SUBSCRIBE && result->kind == CALL_RESULT_EMPTY) {
        int r = mcp_subscribe(request->server, call->target);

        if (r != 0) {
            mcp_server_fail(request->server, r < 0 ? r : 0);
            mcp_answer_call_error(request, CALL_ERROR_BUSY, SPAN("too many subscriptions"));
            mcp_request_end(request);
            return;
        }
    }
    if (result->kind == CALL_RESULT_TASK && call->verb == CALL_TOOL && result->n_tasks > 0 &&
        request->revision < MCP_FIRST_MODERN) {
        mcp_task_made(request->server, &result->tasks[0]);
    }
    mcp_answer_result(request, result);
    mcp_request_end(request);
}

/* A notification that does not fit is not worth the session; one that fails is. */
static void end_notification(McpOut *out, int r)
{
    r = mcp_out_end(out, r);
    if (r < 0) {
        mcp_server_fail(out->server, r);
    }
}

/* Progress and log records are for a client that follows: for one that is far behind they would
 * only take memory, and the next one says as much. */
static bool may_report(const McpRequest *request)
{
    const McpSink *sink = request->server->config.sink;

    return request->state == MCP_REQUEST_RUNNING &&
           (sink->is_behind == NULL || !sink->is_behind(sink->context, request->stream));
}

static void progress(Call *call, const CallProgress *report)
{
    McpRequest *request = MCP_LINK_OWNER(call, McpRequest, call);
    McpOut out;
    int r;

    if (request->token.n == 0 || !may_report(request)) {
        return;
    }
    mcp_about_request(request, false);
    r = mcp_out_begin(&out, request->server, NULL, true);
    if (r == 0) {
        r = mcp_render_progress(out.bytes, request->revision, request->token, report);
    }
    end_notification(&out, r);
}

static void log_record(Call *call, CallLogLevel level, Span logger, Span data)
{
    McpRequest *request = MCP_LINK_OWNER(call, McpRequest, call);
    McpOut out;
    int r;

    if (!may_report(request)) {
        return;
    }
    mcp_about_request(request, false);
    r = mcp_out_begin(&out, request->server, NULL, true);
    if (r == 0) {
        r = mcp_render_log(out.bytes, level, logger, data);
    }
    end_notification(&out, r);
}

/* A stream of the modern era cannot be come back to, and is not the session's to give up. */
static void detach(Call *call)
{
    McpRequest *request = MCP_LINK_OWNER(call, McpRequest, call);
    const McpSink *sink = request->server->config.sink;

    if (sink->detach != NULL && request->stream != NULL && request->state == MCP_REQUEST_RUNNING &&
        request->revision < MCP_FIRST_MODERN) {
        sink->detach(sink->context, request->stream);
    }
}

static const CallDoor door = {
    .finish = finish, .progress = progress, .log = log_record, .detach = detach};

/* `toolwire tools --tokens` wants to know whose each tool is; nobody else is told. */
static bool wants_origins(const McpInbound *in, const Wanted *want)
{
    JsonValue wants;
    bool flag = false;

    return want->verb == CALL_LIST_TOOLS && in->known.meta.node != NULL &&
           json_get(in->known.meta, SPAN(CALL_META_ORIGINS), &wants) && json_bool(wants, &flag) &&
           flag;
}

/* Opens the request and queues it. */
static void open_call(McpServer *server, const McpInbound *in, Span method, const Wanted *want,
                      bool is_bare)
{
    McpRequest *request = NULL;
    Call *call;
    int r;

    if (server->requests.n_open >= server->config.max_open) {
        mcp_refuse(server, in, MCP_ERROR_RATE, "too many requests are open");
        return;
    }
    r = mcp_requests_open(&server->requests, jsonrpc_id_text(in->message), in->key, in->token, true,
                          &request);
    if (r != 0) {
        mcp_server_fail(server, r);
        return;
    }
    request->server = server;
    request->stream = server->from.stream;
    request->method = method;
    request->revision = in->revision;
    request->is_bare = is_bare;
    if (in->batch != NULL) {
        mcp_batch_join(in->batch, request);
    }
    call = &request->call;
    call->door = &door;
    call->verb = want->verb;
    call->target = want->target;
    call->arguments = want->arguments;
    call->meta = want->verb == CALL_TOOL && !is_bare ? in->known.meta : JSON_VALUE_NULL;
    call->completion = want->completion;
    call->cursor = want->cursor;
    call->has_cursor = want->cursor.p != NULL;
    call->only_shown = in->offer.lazy_tools;
    call->wants_origins = wants_origins(in, want);
    call->wants_progress = in->token.n > 0;
    call->log_level = in->log_level;
    call->names_missing = in->revision >= MCP_FIRST_MODERN;
    call->can = in->can;
    call->later = want->later;
    call->later_ms = want->later_ms;
    call->owner = server->from.owner;
    call->inputs = want->inputs;
    call->state = want->state;
    mcp_link_append(&server->events, &request->turn);
}

void mcp_serve_call(McpServer *server, const McpInbound *in, Span method, CallVerb verb)
{
    Wanted want = {.verb = verb};

    if (!take_params(server, in, &want)) {
        return;
    }
    if (verb == CALL_TOOL) {
        take_named_tool(server, in, &want);
    }
    if (in->revision >= MCP_FIRST_MODERN &&
        (verb == CALL_TOOL || verb == CALL_PROMPT || verb == CALL_READ) &&
        !mcp_take_inputs(server, in, method, want.target, want.arguments, &want.inputs,
                         &want.state)) {
        return;
    }
    open_call(server, in, method, &want, false);
}

void mcp_serve_bare_tool(McpServer *server, const McpInbound *in)
{
    Wanted want = {.verb = CALL_TOOL, .target = in->message->method, .arguments = in->params};

    open_call(server, in, SPAN("tools/call"), &want, true);
}
