/* dialect/mcp/render.h: whole MCP messages, in the form of the revision that asked.
 *
 * Each function appends one complete JSON-RPC message to out (no newline). What differs between the
 * revisions is in tables: which members an entry of a list has, which content blocks exist, which
 * number an error has. JSON that a provider gave is spliced; only where it holds what the revision
 * does not know is it walked and replaced (an audio block for a 2024-11-05 client becomes a text
 * that says what it was). Performs no I/O and keeps no state. 0, -ENOMEM, BYTES_E_FULL (out is cut
 * back to where it was). Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "call/call.h"
#include "call/result.h"
#include "dialect/mcp/revision.h"
#include "dialect/mcp/server.h"

#include <stdint.h>

/* How tasks are named among the extensions of the modern era. */
#define MCP_TASKS_EXTENSION "io.modelcontextprotocol/tasks"

/* JSON-RPC and MCP error codes, all in one place. */
enum {
    MCP_ERROR_PARSE = -32700,
    MCP_ERROR_INVALID_REQUEST = -32600,
    MCP_ERROR_METHOD_NOT_FOUND = -32601,
    MCP_ERROR_INVALID_PARAMS = -32602,
    MCP_ERROR_INTERNAL = -32603,
    MCP_ERROR_RESOURCE_NOT_FOUND = -32002,  /* legacy eras */
    MCP_ERROR_RATE = -32003,                /* every era; data.retryAfterMs */
    MCP_ERROR_HEADER_MISMATCH = -32020,     /* modern, HTTP */
    MCP_ERROR_MISSING_CAPABILITY = -32021,  /* modern; data.requiredCapabilities */
    MCP_ERROR_UNSUPPORTED_VERSION = -32022, /* data.supported, data.requested */
};

/* What an answer must know about its request. */
typedef struct McpReply {
    McpRevision revision;
    CallVerb verb;
    Span id;      /* JSON, as it came */
    Span target;  /* tool, prompt or URI, for the error that names it */
    Span task;    /* 2025-11-25: the task whose result it is; else empty */
    bool is_bare; /* the method was a tool's name: the report itself is the result, and a CallError
                     always a JSON-RPC error */
    const McpIdentity *identity; /* needed in the modern era, and for initialize */
    Span
        server_info; /* what mcp_render_server_info wrote, for a session that kept it; else empty */
    BytesLent *lent; /* empty; where mcp_render_result may lend a large part of the result instead
                        of copying it. NULL: it copies */
} McpReply;

/* The response to a call, for every kind of result but ASK; an error result becomes a JSON-RPC
 * error or, where the revision wants it, a tool result with isError. A result of a kind that does
 * not answer the verb (ASK too) becomes CALL_ERROR_BAD_RESULT. What a task's end is called follows
 * from its result, since the eras do not agree: a tool that failed has `failed` in 2025-11-25, and
 * `completed` later, where only a JSON-RPC error fails a task. scratch is for walking JSON and is
 * left as it was used: the caller resets it. */
int mcp_render_result(Bytes *out, Arena *scratch, const McpReply *reply, const CallResult *result);

/* The object that stands in every modern result: who answers. */
int mcp_render_server_info(Bytes *out, const McpIdentity *identity);

/* A JSON-RPC error. id: JSON, or empty for null. data: JSON, or empty for none. */
int mcp_render_error(Bytes *out, Span id, int code, Span message, Span data);

/* -32022 with data {supported, requested}. requested: decoded text. */
int mcp_render_unsupported_version(Bytes *out, Span id, Span requested);

/* A response whose result is an empty object ({"resultType":"complete",…} in the modern era). */
int mcp_render_empty(Bytes *out, const McpReply *reply);

/* The results of `initialize` (revision: the one agreed on) and `server/discover`. */
int mcp_render_initialize(Bytes *out, const McpReply *reply, const McpOffer *offer);
int mcp_render_discover(Bytes *out, const McpReply *reply, const McpOffer *offer);

/* Notifications about one request. token: JSON, as it came. A 2024-11-05 client gets no message. */
int mcp_render_progress(Bytes *out, McpRevision revision, Span token, const CallProgress *progress);
int mcp_render_log(Bytes *out, CallLogLevel level, Span logger, Span data);

/* list_changed and updated; subscription: JSON id of the modern listen, empty in legacy eras. */
int mcp_render_list_changed(Bytes *out, McpListKind kind, Span subscription);
int mcp_render_updated(Bytes *out, Span uri, Span subscription);

/* A task has come to another status: notifications/tasks/status of 2025-11-25, and
 * notifications/tasks with all that tasks/get would say. */
int mcp_render_task_status(Bytes *out, const CallTask *task);
int mcp_render_task_changed(Bytes *out, Arena *scratch, const CallTask *task, Span subscription);

/* What a modern `subscriptions/listen` will be told of. */
typedef struct McpFilter {
    bool lists[3]; /* by McpListKind */
    const Span *uris;
    size_t n_uris;
    const Span *tasks; /* ids */
    size_t n_tasks;
} McpFilter;
int mcp_render_acknowledged(Bytes *out, Span subscription, const McpFilter *filter);
int mcp_render_listen_end(Bytes *out, Span subscription, const McpIdentity *identity);

/* Questions. Legacy: a request of ours with a number as id; task: that asks, or empty. Modern: the
 * input_required result. */
int mcp_render_ask(Bytes *out, McpRevision revision, uint64_t id, Span task, const CallAsk *ask);
int mcp_render_cancelled(Bytes *out, uint64_t id, Span reason);
int mcp_render_input_required(Bytes *out, const McpReply *reply, const CallAsk *asks, size_t n,
                              Span request_state);

/* -32021 naming what the asks need and `can` lacks. */
int mcp_render_missing_capability(Bytes *out, const McpReply *reply, unsigned can,
                                  const CallAsk *asks, size_t n);
