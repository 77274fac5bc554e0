/* Calls whose answer comes later: how a request says that it may, and who is told of what becomes
 * of it.
 *
 *     2025-11-25   the client wants a task (params.task), is told of its changes unasked, and waits
 *                  for its end with tasks/result, in which the task asks its questions, too
 *     2026-07-28   the tool decides, if the request declares the extension; tasks/get brings the
 *                  questions and the end, tasks/update the answers
 */
#include "dialect/mcp/server_internal.h"

#include "base/limits.h"

bool mcp_has_tasks(McpRevision revision)
{
    return revision == MCP_2025_11_25 || revision >= MCP_FIRST_MODERN;
}

/* How long the client wants the task to be kept, in milliseconds. */
static bool take_ttl(McpServer *server, const McpInbound *in, JsonValue task, int64_t *ret)
{
    JsonValue ttl;
    double ms;

    if (!json_get(task, SPAN("ttl"), &ttl)) {
        return true;
    }
    if (json_kind(ttl) == JSON_NULL) {
        *ret = -1;
        return true;
    }
    if (json_double(ttl, &ms) != 0 || ms < 0) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS,
                   "params.task.ttl must be a number of milliseconds");
        return false;
    }
    /* 0 would say nothing; what is longer than anybody waits is for the provider to cut. */
    *ret = ms < 1 ? 1 : ms >= (double)LIMIT_TIME_MS ? LIMIT_TIME_MS : (int64_t)ms;
    return true;
}

bool mcp_take_later(McpServer *server, const McpInbound *in, CallLater *ret, int64_t *ret_ms)
{
    JsonValue task = JSON_VALUE_NULL;

    if (!in->offer.tasks || !mcp_has_tasks(in->revision)) {
        return true;
    }
    if (in->revision >= MCP_FIRST_MODERN) {
        *ret = in->takes_tasks ? CALL_LATER_MAY : CALL_LATER_NEVER;
        return true;
    }
    if (in->known.task.node == NULL) {
        return true;
    }
    *ret = CALL_LATER_ALWAYS;
    return mcp_check_object(server, in, in->known.task, "params.task", false, &task) &&
           take_ttl(server, in, task, ret_ms);
}

void mcp_refuse_undeclared(McpServer *server, const McpInbound *in)
{
    McpReply reply = mcp_reply_to(server, in);
    CallResult refusal = {.kind = CALL_RESULT_ERROR,
                          .error = CALL_ERROR_NEEDS_LATER,
                          .message = SPAN("Missing required client capability: the extension "
                                          "" MCP_TASKS_EXTENSION)};
    McpOut out;
    int r;

    mcp_about_received(server, in, MCP_ERROR_MISSING_CAPABILITY);
    r = mcp_out_begin(&out, server, in->batch, false);
    if (r == 0) {
        r = mcp_render_result(out.bytes, &server->scratch, &reply, &refusal);
    }
    mcp_server_fail(server, mcp_out_end(&out, r));
}

void mcp_task_made(McpServer *server, const CallTask *task)
{
    int r = map_add(&server->tasks, task->id, NULL);

    /* One that finds no place is not told of: the client may ask. */
    mcp_server_fail(server, r < 0 ? r : 0);
}

static bool is_over(const CallTask *task)
{
    return task->status == CALL_TASK_COMPLETED || task->status == CALL_TASK_FAILED ||
           task->status == CALL_TASK_CANCELLED;
}

/* A notification that does not fit is not worth the session; one that fails is. */
static void end_notification(McpOut *out, int r)
{
    r = mcp_out_end(out, r);
    mcp_server_fail(out->server, r < 0 ? r : 0);
}

static void tell_session(McpServer *server, const CallTask *task)
{
    McpOut out;
    int r = mcp_out_begin(&out, server, NULL, true);

    if (r == 0) {
        r = mcp_render_task_status(out.bytes, task);
    }
    end_notification(&out, r);
}

static void tell_listen(const McpRequest *listen, const CallTask *task)
{
    McpServer *server = listen->server;
    McpOut out;
    int r;

    mcp_about_request(listen, false);
    server->about.must_arrive = true;
    r = mcp_out_begin(&out, server, NULL, true);
    if (r == 0) {
        r = mcp_render_task_changed(out.bytes, &server->scratch, task, listen->id);
        arena_reset(&server->scratch, LIMIT_KEEP_BYTES);
    }
    end_notification(&out, r);
}

static bool listens_to(const McpRequest *listen, const CallTask *task, Span owner)
{
    if (owner.n > 0 && !span_equals(owner, listen->owner)) {
        return false;
    }
    for (size_t i = 0; i < listen->n_tasks; i++) {
        if (span_equals(listen->uris[listen->n_uris + i], task->id)) {
            return true;
        }
    }
    return false;
}

/* Does it say all that tasks/get would? */
static bool is_whole(const CallTask *task)
{
    switch (task->status) {
    case CALL_TASK_COMPLETED:
    case CALL_TASK_FAILED:
        return task->result != NULL;
    case CALL_TASK_INPUT_REQUIRED:
        return task->n_asks > 0;
    case CALL_TASK_CANCELLED:
    case CALL_TASK_WORKING:
        break;
    }
    return true;
}

void mcp_server_task_changed(McpServer *server, const CallTask *task, Span owner)
{
    if (server->tasks.n > 0 && map_find(&server->tasks, task->id, NULL)) {
        if (server->state == MCP_STATE_INITIALIZING || server->state == MCP_STATE_READY) {
            tell_session(server, task);
        }
        if (is_over(task)) {
            (void)map_remove(&server->tasks, task->id);
        }
    }
    if (!is_whole(task)) {
        return;
    }
    for (McpLink *at = server->listens.next; at != &server->listens; at = at->next) {
        McpRequest *listen = MCP_LINK_OWNER(at, McpRequest, link);

        if (listens_to(listen, task, owner)) {
            tell_listen(listen, task);
        }
    }
}
