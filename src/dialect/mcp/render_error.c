#include "dialect/mcp/render_error.h"

#include <string.h>

#include "base/compiler.h"

/* A revision later than all: never. */
#define NEVER MCP_N_REVISIONS

/* From where on a failed tool is told to the model, as a result, and not to the program, as a
 * JSON-RPC error. Before that the toolkit's documents want the error. */
#define TOOLS_REPORT MCP_2025_06_18

/* One row for each CallError. A tool's failure is a result from the revision tool_result on; in
 * every other case it is the JSON-RPC error of the era's number. */
typedef struct ErrorRow {
    int legacy;
    int modern;
    McpRevision tool_result;
} ErrorRow;

static const ErrorRow error_rows[CALL_N_ERRORS] = {
    [CALL_ERROR_NONE] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, NEVER},
    [CALL_ERROR_UNKNOWN_TOOL] = {MCP_ERROR_INVALID_PARAMS, MCP_ERROR_INVALID_PARAMS, NEVER},
    [CALL_ERROR_UNKNOWN_PROMPT] = {MCP_ERROR_INVALID_PARAMS, MCP_ERROR_INVALID_PARAMS, NEVER},
    [CALL_ERROR_UNKNOWN_RESOURCE] = {MCP_ERROR_RESOURCE_NOT_FOUND, MCP_ERROR_INVALID_PARAMS, NEVER},
    /* 2025-11-25 says so: a model that reads what was wrong with its arguments mends them. */
    [CALL_ERROR_INVALID_ARGUMENTS] = {MCP_ERROR_INVALID_PARAMS, MCP_ERROR_INVALID_PARAMS,
                                      MCP_2025_11_25},
    [CALL_ERROR_INVALID_CURSOR] = {MCP_ERROR_INVALID_PARAMS, MCP_ERROR_INVALID_PARAMS, NEVER},
    /* The program that calls too often must slow down; the model can do nothing about it. */
    [CALL_ERROR_RATE] = {MCP_ERROR_RATE, MCP_ERROR_RATE, NEVER},
    [CALL_ERROR_BUSY] = {MCP_ERROR_RATE, MCP_ERROR_RATE, NEVER},
    [CALL_ERROR_TIMEOUT] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, TOOLS_REPORT},
    /* Only sent when the hub stops the call (the asker who cancels gets no answer): nothing that
     * the tool did, and nothing that a model should try again at once. */
    [CALL_ERROR_CANCELLED] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, NEVER},
    [CALL_ERROR_UNAVAILABLE] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, TOOLS_REPORT},
    [CALL_ERROR_BAD_RESULT] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, TOOLS_REPORT},
    [CALL_ERROR_TOO_LARGE] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, TOOLS_REPORT},
    [CALL_ERROR_CANNOT_ASK] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, TOOLS_REPORT},
    /* 2025-11-25 has the number of an unknown method for both. */
    [CALL_ERROR_NEEDS_LATER] = {MCP_ERROR_METHOD_NOT_FOUND, MCP_ERROR_MISSING_CAPABILITY, NEVER},
    [CALL_ERROR_NEVER_LATER] = {MCP_ERROR_METHOD_NOT_FOUND, MCP_ERROR_METHOD_NOT_FOUND, NEVER},
    [CALL_ERROR_UNKNOWN_TASK] = {MCP_ERROR_INVALID_PARAMS, MCP_ERROR_INVALID_PARAMS, NEVER},
    [CALL_ERROR_TASK_OVER] = {MCP_ERROR_INVALID_PARAMS, MCP_ERROR_INVALID_PARAMS, NEVER},
    [CALL_ERROR_DROPPED] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, NEVER},
    [CALL_ERROR_INTERNAL] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, NEVER},
    /* What a model can read and act on, in every revision: there is no number to be told. */
    [CALL_ERROR_RAISED] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, MCP_2024_11_05},
    /* The number is the provider's: see own_code. */
    [CALL_ERROR_OWN] = {MCP_ERROR_INTERNAL, MCP_ERROR_INTERNAL, TOOLS_REPORT},
};

/* What the modern era keeps for itself, or for servers of the past: a receiver would take a
 * provider's -32022 for a version that we do not speak. */
#define RESERVED_FIRST (-32099)
#define RESERVED_LAST  (-32000)

static bool own_code_is_reserved(const McpReply *reply, int code)
{
    return reply->revision >= MCP_FIRST_MODERN && code >= RESERVED_FIRST && code <= RESERVED_LAST;
}

/* The provider has a number of its own for the failure. */
static bool has_own_code(const CallResult *result)
{
    return call_result_has_code(result) &&
           (result->error == CALL_ERROR_OWN || result->error == CALL_ERROR_UNKNOWN_RESOURCE);
}

/* The number that the older revisions have for a resource that is not there, from a provider that
 * knows them only: the modern one must have its own. */
static bool is_missing_of_old(const McpReply *reply, const CallResult *result)
{
    return reply->verb == CALL_READ && result->error == CALL_ERROR_OWN &&
           result->wire_code == MCP_ERROR_RESOURCE_NOT_FOUND;
}

static int error_code(const McpReply *reply, const CallResult *result)
{
    const ErrorRow *row = &error_rows[result->error];

    if (has_own_code(result) && !own_code_is_reserved(reply, result->wire_code) &&
        (result->error == CALL_ERROR_OWN || reply->revision < MCP_FIRST_MODERN)) {
        return result->wire_code;
    }
    if (is_missing_of_old(reply, result)) {
        row = &error_rows[CALL_ERROR_UNKNOWN_RESOURCE];
    }
    return reply->revision >= MCP_FIRST_MODERN ? row->modern : row->legacy;
}

static Span error_message(const CallResult *result)
{
    return result->message.n > 0 ? result->message : span_from_str(call_error_text(result->error));
}

/* {"code":…,"data":…} where the number itself may not be sent. */
static void out_reserved_data(McpOut *o, const McpReply *reply, const CallResult *result)
{
    MCP_OUT(o, ",\"data\":{");
    if (is_missing_of_old(reply, result)) {
        MCP_OUT(o, "\"uri\":");
        mcp_out_string(o, reply->target);
        MCP_OUT(o, ",");
    }
    MCP_OUT(o, "\"code\":");
    mcp_out_int(o, result->wire_code);
    if (result->data.n > 0) {
        MCP_OUT(o, ",\"data\":");
        mcp_out_span(o, result->data);
    }
    MCP_OUT(o, "}");
}

static void out_error_data(McpOut *o, const McpReply *reply, const CallResult *result)
{
    bool is_own = has_own_code(result) && result->data.n > 0;

    if (result->error == CALL_ERROR_UNKNOWN_RESOURCE && !is_own) {
        MCP_OUT(o, ",\"data\":{\"uri\":");
        mcp_out_string(o, reply->target);
        MCP_OUT(o, "}");
    } else if (result->error == CALL_ERROR_RATE) {
        MCP_OUT(o, ",\"data\":{\"retryAfterMs\":");
        mcp_out_int(o, result->retry_after_ms > 0 ? result->retry_after_ms : 0);
        MCP_OUT(o, "}");
    } else if (result->error == CALL_ERROR_INVALID_ARGUMENTS && result->data.n > 0) {
        MCP_OUT(o, ",\"data\":{\"errors\":");
        mcp_out_span(o, result->data);
        MCP_OUT(o, "}");
    } else if (result->error == CALL_ERROR_OWN && own_code_is_reserved(reply, result->wire_code)) {
        out_reserved_data(o, reply, result);
    } else if (result->error == CALL_ERROR_NEEDS_LATER && reply->revision >= MCP_FIRST_MODERN) {
        MCP_OUT(o, ",\"data\":{\"requiredCapabilities\":{\"extensions\":{\"" MCP_TASKS_EXTENSION
                   "\":{}}}}");
    } else if (result->data.n > 0) {
        MCP_OUT(o, ",\"data\":");
        mcp_out_span(o, result->data);
    }
}

/* The provider's own error, for programs; beside the text, for models. */
static void out_own_structured(McpOut *o, const CallResult *result)
{
    MCP_OUT(o, ",\"structuredContent\":{\"error\":{\"code\":");
    mcp_out_int(o, result->wire_code);
    MCP_OUT(o, ",\"message\":");
    mcp_out_string(o, error_message(result));
    if (result->data.n > 0) {
        MCP_OUT(o, ",\"data\":");
        mcp_out_span(o, result->data);
    }
    MCP_OUT(o, "}}");
}

/* " (type: ValueError)", as the bridges that people know write it, into the string that has just
 * been closed. */
static void out_raised_type(McpOut *o, Span type)
{
    size_t start;

    if (o->r != 0 || type.n == 0) {
        return;
    }
    o->out->n--;
    MCP_OUT(o, " (type: ");
    start = o->out->n;
    mcp_out_string(o, type);
    if (o->r == 0) { /* without its quotes */
        o->out->n -= 2;
        memmove(o->out->data + start, o->out->data + start + 1, o->out->n - start);
    }
    MCP_OUT(o, ")\"");
}

void mcp_out_tool_failure(McpOut *o, const CallResult *result)
{
    MCP_OUT_KEY(o, "content");
    MCP_OUT(o, "[{\"type\":\"text\",\"text\":");
    mcp_out_string(o, error_message(result));
    if (result->error == CALL_ERROR_RAISED) {
        out_raised_type(o, result->error_type);
    }
    MCP_OUT(o, "}]");
    if (result->error == CALL_ERROR_OWN) {
        out_own_structured(o, result);
    }
    MCP_OUT(o, ",\"isError\":true");
}

bool mcp_error_is_report(McpRevision revision, CallError error)
{
    return revision >= error_rows[error].tool_result;
}

void mcp_out_error_object(McpOut *o, const McpReply *reply, const CallResult *result)
{
    MCP_OUT(o, "{\"code\":");
    mcp_out_int(o, error_code(reply, result));
    MCP_OUT(o, ",\"message\":");
    mcp_out_string(o, error_message(result));
    out_error_data(o, reply, result);
    MCP_OUT(o, "}");
}

/* Does the tool itself say so? Whoever waits for the end of a task can wait for too long, too: that
 * is no end of the task, and must not be taken for one. */
static bool is_of_tool(const McpReply *reply, CallError error)
{
    return reply->verb == CALL_TOOL ||
           (reply->verb == CALL_TASK_RESULT && error != CALL_ERROR_TIMEOUT);
}

void mcp_out_call_error(McpOut *o, Arena *scratch, const McpReply *reply, const CallResult *result)
{
    /* Who called the tool by its name as a method expects a report and not a tool's result: there
     * an error is the only other thing that the answer can be. */
    if (is_of_tool(reply, result->error) && !reply->is_bare && !result->is_relayed &&
        mcp_error_is_report(reply->revision, result->error)) {
        mcp_out_result(o, reply);
        mcp_out_tool_failure(o, result);
        mcp_out_end_result(o, scratch, reply, result->meta);
        return;
    }
    mcp_out_error_head(o, reply->id, error_code(reply, result), error_message(result));
    out_error_data(o, reply, result);
    MCP_OUT(o, "}}");
}

void mcp_out_broken_result(McpOut *o, Arena *scratch, const McpReply *reply)
{
    CallResult broken = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_BAD_RESULT,
                         .message = SPAN("the provider gave a malformed result")};

    mcp_out_call_error(o, scratch, reply, &broken);
}

int mcp_render_error(Bytes *out, Span id, int code, Span message, Span data)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_error_head(&o, id, code, message);
    if (data.n > 0) {
        MCP_OUT(&o, ",\"data\":");
        mcp_out_span(&o, data);
    }
    MCP_OUT(&o, "}}");
    return mcp_out_finish(&o);
}
