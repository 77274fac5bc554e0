#include "dialect/mcp/render_task.h"

#include "base/rfc3339.h"
#include "dialect/mcp/render_content.h"
#include "dialect/mcp/render_error.h"

/* What a revision calls the times of a task. */
typedef struct TimeKeys {
    Span ttl;
    Span poll;
} TimeKeys;

static const TimeKeys legacy_keys = {SPAN_INIT(",\"ttl\":"), SPAN_INIT(",\"pollInterval\":")};
static const TimeKeys modern_keys = {SPAN_INIT(",\"ttlMs\":"), SPAN_INIT(",\"pollIntervalMs\":")};

static bool has_tasks(McpRevision revision)
{
    return revision == MCP_2025_11_25 || revision >= MCP_FIRST_MODERN;
}

bool mcp_is_task_answer(const McpReply *reply, const CallResult *result)
{
    if (!has_tasks(reply->revision)) {
        return false;
    }
    switch (reply->verb) {
    case CALL_TOOL:
    case CALL_TASK_GET:
        return result->kind == CALL_RESULT_TASK && result->n_tasks > 0;
    case CALL_TASK_CANCEL:
        /* The modern era acknowledges: that a task has ended already is no error there. */
        return (result->kind == CALL_RESULT_TASK && result->n_tasks > 0) ||
               (result->kind == CALL_RESULT_ERROR && result->error == CALL_ERROR_TASK_OVER &&
                reply->revision >= MCP_FIRST_MODERN);
    case CALL_LIST_TASKS:
        return result->kind == CALL_RESULT_TASKS;
    default:
        return false;
    }
}

static bool has_ended(const CallTask *task)
{
    return task->status == CALL_TASK_COMPLETED || task->status == CALL_TASK_FAILED;
}

/* The numbers that JSON-RPC keeps for itself. */
#define JSONRPC_FIRST (-32768)
#define JSONRPC_LAST  (-32000)

/* Is it told as a JSON-RPC error in the modern era? So is what a tool itself calls one: a task has
 * a place for it, where an answer at once is better read by the model. */
static bool is_protocol_error(const CallResult *result)
{
    if (result->kind != CALL_RESULT_ERROR) {
        return result->kind != CALL_RESULT_TOOL;
    }
    return !mcp_error_is_report(MCP_FIRST_MODERN, result->error) ||
           (result->error == CALL_ERROR_OWN && result->wire_code >= JSONRPC_FIRST &&
            result->wire_code <= JSONRPC_LAST);
}

/* Where the tool's answer is known, it says what its end is called: in 2025-11-25 a tool that
 * failed fails its task; later only a JSON-RPC error does. */
static CallTaskStatus status_of(McpRevision revision, const CallTask *task)
{
    const CallResult *result = task->result;
    bool is_good;

    if (!has_ended(task) || result == NULL) {
        return task->status;
    }
    if (result->kind == CALL_RESULT_ERROR && result->error == CALL_ERROR_DROPPED) {
        is_good = revision >= MCP_FIRST_MODERN || !task->is_error; /* as before it was dropped */
    } else if (revision < MCP_FIRST_MODERN) {
        is_good = result->kind == CALL_RESULT_TOOL && !result->is_error;
    } else {
        is_good = !is_protocol_error(result);
    }
    return is_good ? CALL_TASK_COMPLETED : CALL_TASK_FAILED;
}

static Span status_text(CallTaskStatus status)
{
    switch (status) {
    case CALL_TASK_INPUT_REQUIRED:
        return SPAN("input_required");
    case CALL_TASK_COMPLETED:
        return SPAN("completed");
    case CALL_TASK_FAILED:
        return SPAN("failed");
    case CALL_TASK_CANCELLED:
        return SPAN("cancelled");
    case CALL_TASK_WORKING:
        break;
    }
    return SPAN("working");
}

static void out_time(McpOut *o, int64_t us)
{
    char text[RFC3339_SIZE];
    int64_t ms = us / 1000;

    /* Towards the past, also before 1970. */
    rfc3339_format(us < 0 && us % 1000 != 0 ? ms - 1 : ms, text);
    MCP_OUT(o, "\"");
    mcp_out_span(o, span_make(text, RFC3339_SIZE - 1));
    MCP_OUT(o, "\"");
}

/* The members of a task that say how it stands. */
static void out_task(McpOut *o, McpRevision revision, const CallTask *task)
{
    const TimeKeys *keys = revision >= MCP_FIRST_MODERN ? &modern_keys : &legacy_keys;

    MCP_OUT_KEY(o, "taskId");
    mcp_out_string(o, task->id);
    MCP_OUT(o, ",\"status\":\"");
    mcp_out_span(o, status_text(status_of(revision, task)));
    MCP_OUT(o, "\"");
    if (task->message.n > 0) {
        MCP_OUT(o, ",\"statusMessage\":");
        mcp_out_string(o, task->message);
    }
    MCP_OUT(o, ",\"createdAt\":");
    out_time(o, task->created_us);
    MCP_OUT(o, ",\"lastUpdatedAt\":");
    out_time(o, task->updated_us);
    mcp_out_span(o, keys->ttl);
    if (task->ttl_ms < 0) {
        MCP_OUT(o, "null");
    } else {
        mcp_out_int(o, task->ttl_ms);
    }
    if (task->poll_ms > 0) {
        mcp_out_span(o, keys->poll);
        mcp_out_int(o, task->poll_ms);
    }
}

/* What the call would have been answered with, had it been waited for. */
static void out_result(McpOut *o, Arena *scratch, const McpReply *reply, const CallResult *result)
{
    static const CallResult broken = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_BAD_RESULT};
    McpContent content;
    int r = 0;

    MCP_OUT(o, ",\"result\":{\"resultType\":\"complete\"");
    if (result->kind == CALL_RESULT_TOOL) {
        r = mcp_content_prepare(&content, scratch, reply->revision, result);
        result = r > 0 ? &broken : result;
    }
    if (r < 0) {
        o->r = o->r == 0 ? r : o->r;
    } else if (result->kind == CALL_RESULT_TOOL) {
        mcp_out_tool_members(o, &content);
    } else {
        mcp_out_tool_failure(o, result);
    }
    mcp_out_end_inner(o, scratch, result->meta);
}

/* What the modern era wants beside: the result, the error, the questions. */
static void out_detail(McpOut *o, Arena *scratch, const McpReply *reply, const CallTask *task)
{
    static const CallResult nothing = {.kind = CALL_RESULT_TOOL};
    const CallResult lost = {
        .kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INTERNAL, .message = task->message};

    switch (status_of(reply->revision, task)) {
    case CALL_TASK_INPUT_REQUIRED:
        mcp_out_input_requests(o, task->asks, task->n_asks);
        break;
    case CALL_TASK_COMPLETED:
        out_result(o, scratch, reply, task->result != NULL ? task->result : &nothing);
        break;
    case CALL_TASK_FAILED:
        MCP_OUT(o, ",\"error\":");
        mcp_out_error_object(o, reply, task->result != NULL ? task->result : &lost);
        break;
    case CALL_TASK_CANCELLED:
    case CALL_TASK_WORKING:
        break;
    }
}

/* The answer to the call that became a task. */
static void out_created(McpOut *o, Arena *scratch, const McpReply *reply, const CallResult *result)
{
    if (reply->revision >= MCP_FIRST_MODERN) {
        MCP_OUT(o, "{\"jsonrpc\":\"2.0\",\"id\":");
        mcp_out_span(o, reply->id);
        MCP_OUT(o, ",\"result\":{\"resultType\":\"task\"");
        out_task(o, reply->revision, &result->tasks[0]);
    } else {
        mcp_out_result(o, reply);
        MCP_OUT(o, "\"task\":{");
        out_task(o, reply->revision, &result->tasks[0]);
        MCP_OUT(o, "}");
    }
    mcp_out_end_result(o, scratch, reply, result->meta);
}

static void out_tasks(McpOut *o, Arena *scratch, const McpReply *reply, const CallResult *result)
{
    mcp_out_result(o, reply);
    MCP_OUT(o, "\"tasks\":[");
    for (size_t i = 0; i < result->n_tasks; i++) {
        mcp_out_comma(o);
        MCP_OUT(o, "{");
        out_task(o, reply->revision, &result->tasks[i]);
        MCP_OUT(o, "}");
    }
    MCP_OUT(o, "]");
    if (result->next_cursor.n > 0) {
        MCP_OUT(o, ",\"nextCursor\":");
        mcp_out_string(o, result->next_cursor);
    }
    mcp_out_end_result(o, scratch, reply, result->meta);
}

void mcp_out_task_answer(McpOut *o, Arena *scratch, const McpReply *reply, const CallResult *result)
{
    bool is_modern = reply->revision >= MCP_FIRST_MODERN;

    if (reply->verb == CALL_TOOL) {
        out_created(o, scratch, reply, result);
        return;
    }
    if (reply->verb == CALL_LIST_TASKS) {
        out_tasks(o, scratch, reply, result);
        return;
    }
    mcp_out_result(o, reply);
    if (reply->verb == CALL_TASK_GET || !is_modern) {
        out_task(o, reply->revision, &result->tasks[0]);
    }
    if (reply->verb == CALL_TASK_GET && is_modern) {
        out_detail(o, scratch, reply, &result->tasks[0]);
    }
    mcp_out_end_result(o, scratch, reply, SPAN_NULL);
}

int mcp_render_task_status(Bytes *out, const CallTask *task)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_notification(&o, SPAN("notifications/tasks/status"));
    MCP_OUT(&o, ",\"params\":{");
    out_task(&o, MCP_2025_11_25, task);
    MCP_OUT(&o, "}}");
    return mcp_out_finish(&o);
}

int mcp_render_task_changed(Bytes *out, Arena *scratch, const CallTask *task, Span subscription)
{
    McpReply reply = {.revision = MCP_FIRST_MODERN, .verb = CALL_TASK_GET};
    McpOut o = mcp_out_begin(out);

    mcp_out_notification(&o, SPAN("notifications/tasks"));
    MCP_OUT(&o, ",\"params\":{\"_meta\":{\"" MCP_META_SUBSCRIPTION_ID "\":");
    mcp_out_span(&o, subscription);
    MCP_OUT(&o, "}");
    out_task(&o, reply.revision, task);
    out_detail(&o, scratch, &reply, task);
    MCP_OUT(&o, "}}");
    return mcp_out_finish(&o);
}
