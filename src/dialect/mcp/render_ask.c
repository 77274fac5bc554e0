/* Questions to the client: requests of ours in legacy eras, part of a result in the modern one. */
#include <inttypes.h>
#include <stdio.h>

#include "dialect/mcp/render_out.h"

/* Room for any uint64_t and its NUL. */
#define ID_SIZE 24

static Span id_text(uint64_t id, char buffer[ID_SIZE])
{
    int n = snprintf(buffer, ID_SIZE, "%" PRIu64, id);

    return span_make(buffer, (size_t)n);
}

static void out_message(McpOut *o, Span message)
{
    MCP_OUT_KEY(o, "message");
    mcp_out_string(o, message);
}

/* `,"_meta":{…}` of a question that a task asks. */
static void out_asker(McpOut *o, Span task)
{
    if (task.n > 0) {
        MCP_OUT_KEY(o, "_meta");
        MCP_OUT(o, "{");
        mcp_out_related_task(o, task);
        MCP_OUT(o, "}");
    }
}

static void out_form(McpOut *o, McpRevision revision, Span task, const CallAsk *ask)
{
    MCP_OUT(o, "{");
    if (revision >= MCP_2025_11_25) {
        MCP_OUT(o, "\"mode\":\"form\"");
    }
    out_message(o, ask->message);
    MCP_OUT(o, ",\"requestedSchema\":");
    mcp_out_span(o,
                 ask->schema.n > 0 ? ask->schema : SPAN("{\"type\":\"object\",\"properties\":{}}"));
    out_asker(o, task);
    MCP_OUT(o, "}");
}

/* id: names the elicitation where the revision wants a name for it (2025-11-25 alone). */
static void out_url(McpOut *o, Span id, Span task, const CallAsk *ask)
{
    MCP_OUT(o, "{\"mode\":\"url\"");
    out_message(o, ask->message);
    MCP_OUT(o, ",\"url\":");
    mcp_out_string(o, ask->url);
    if (id.n > 0) {
        MCP_OUT(o, ",\"elicitationId\":\"");
        mcp_out_span(o, id);
        MCP_OUT(o, "\"");
    }
    out_asker(o, task);
    MCP_OUT(o, "}");
}

/* The provider's params, with what is ours in them: behind its own, so that it counts. */
static void out_sample(McpOut *o, Span task, Span params)
{
    params = params.n >= 2 ? params : SPAN("{}");
    if (task.n == 0) {
        mcp_out_span(o, params);
        return;
    }
    mcp_out_span(o, span_make(params.p, params.n - 1));
    out_asker(o, task);
    MCP_OUT(o, "}");
}

/* `"method":…,"params":…` of a question. id, task: as in mcp_render_ask. */
static void out_question(McpOut *o, McpRevision revision, Span id, Span task, const CallAsk *ask)
{
    switch (ask->kind) {
    case CALL_ASK_FORM:
        MCP_OUT(o, "\"method\":\"elicitation/create\",\"params\":");
        out_form(o, revision, task, ask);
        break;
    case CALL_ASK_URL:
        MCP_OUT(o, "\"method\":\"elicitation/create\",\"params\":");
        out_url(o, revision == MCP_2025_11_25 ? id : SPAN_NULL, task, ask);
        break;
    case CALL_ASK_SAMPLE:
        MCP_OUT(o, "\"method\":\"sampling/createMessage\",\"params\":");
        out_sample(o, task, ask->params);
        break;
    case CALL_ASK_ROOTS:
        MCP_OUT(o, "\"method\":\"roots/list\"");
        if (task.n > 0) {
            MCP_OUT(o, ",\"params\":{");
            out_asker(o, task);
            MCP_OUT(o, "}");
        }
        break;
    }
}

int mcp_render_ask(Bytes *out, McpRevision revision, uint64_t id, Span task, const CallAsk *ask)
{
    McpOut o = mcp_out_begin(out);
    char buffer[ID_SIZE];
    Span text = id_text(id, buffer);

    MCP_OUT(&o, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_out_span(&o, text);
    MCP_OUT(&o, ",");
    out_question(&o, revision, text, task, ask);
    MCP_OUT(&o, "}");
    return mcp_out_finish(&o);
}

int mcp_render_cancelled(Bytes *out, uint64_t id, Span reason)
{
    McpOut o = mcp_out_begin(out);
    char buffer[ID_SIZE];

    mcp_out_notification(&o, SPAN("notifications/cancelled"));
    MCP_OUT(&o, ",\"params\":{\"requestId\":");
    mcp_out_span(&o, id_text(id, buffer));
    if (reason.n > 0) {
        MCP_OUT(&o, ",\"reason\":");
        mcp_out_string(&o, reason);
    }
    MCP_OUT(&o, "}}");
    return mcp_out_finish(&o);
}

void mcp_out_input_requests(McpOut *o, const CallAsk *asks, size_t n)
{
    MCP_OUT_KEY(o, "inputRequests");
    MCP_OUT(o, "{");
    for (size_t i = 0; i < n; i++) {
        mcp_out_comma(o);
        mcp_out_string(o, asks[i].key);
        MCP_OUT(o, ":{");
        out_question(o, MCP_FIRST_MODERN, SPAN_NULL, SPAN_NULL, &asks[i]);
        MCP_OUT(o, "}");
    }
    MCP_OUT(o, "}");
}

int mcp_render_input_required(Bytes *out, const McpReply *reply, const CallAsk *asks, size_t n,
                              Span request_state)
{
    McpOut o = mcp_out_begin(out);

    MCP_OUT(&o, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_out_span(&o, reply->id);
    MCP_OUT(&o, ",\"result\":{\"resultType\":\"input_required\"");
    if (n > 0) {
        mcp_out_input_requests(&o, asks, n);
    }
    if (request_state.n > 0) {
        MCP_OUT(&o, ",\"requestState\":");
        mcp_out_string(&o, request_state);
    }
    mcp_out_end_result(&o, NULL, reply, SPAN_NULL);
    return mcp_out_finish(&o);
}

static void out_required_capabilities(McpOut *o, unsigned lacks)
{
    MCP_OUT(o, "{");
    if ((lacks & (CALL_CAN_FORM | CALL_CAN_URL)) != 0) {
        MCP_OUT_KEY(o, "elicitation");
        MCP_OUT(o, "{");
        if ((lacks & CALL_CAN_FORM) != 0) {
            MCP_OUT_KEY(o, "form");
            MCP_OUT(o, "{}");
        }
        if ((lacks & CALL_CAN_URL) != 0) {
            MCP_OUT_KEY(o, "url");
            MCP_OUT(o, "{}");
        }
        MCP_OUT(o, "}");
    }
    if ((lacks & CALL_CAN_SAMPLE) != 0) {
        MCP_OUT_KEY(o, "sampling");
        MCP_OUT(o, "{}");
    }
    if ((lacks & CALL_CAN_ROOTS) != 0) {
        MCP_OUT_KEY(o, "roots");
        MCP_OUT(o, "{}");
    }
    MCP_OUT(o, "}");
}

int mcp_render_missing_capability(Bytes *out, const McpReply *reply, unsigned can,
                                  const CallAsk *asks, size_t n)
{
    McpOut o = mcp_out_begin(out);
    unsigned needs = 0;

    for (size_t i = 0; i < n; i++) {
        needs |= 1u << asks[i].kind;
    }
    mcp_out_error_head(&o, reply->id, MCP_ERROR_MISSING_CAPABILITY,
                       SPAN("This call needs capabilities that the request did not declare"));
    MCP_OUT(&o, ",\"data\":{\"requiredCapabilities\":");
    out_required_capabilities(&o, needs & ~can);
    MCP_OUT(&o, "}}}");
    return mcp_out_finish(&o);
}
