#include "dialect/mcp/render.h"

#include <stdint.h>

#include "base/error.h"
#include "dialect/mcp/render_content.h"
#include "dialect/mcp/render_error.h"
#include "dialect/mcp/render_out.h"
#include "dialect/mcp/render_part.h"
#include "dialect/mcp/render_task.h"

/* How long a client may go on with a list. Those who subscribed are told of a change at once; the
 * others find a new tool within a minute, and an agent that lists before every step asks once a
 * minute and not once a step. */
#define MCP_LIST_TTL_MS 60000

/* Everything around the content of a tool's result that is not counted: literal text, name and
 * version of the server. A longer one costs a second look at the buffer, nothing more. */
#define MCP_RESULT_OVERHEAD 256

/* What each verb is answered with; anything else is a provider's mistake. */
static const CallResultKind kind_of_verb[CALL_N_VERBS] = {
    [CALL_TOOL] = CALL_RESULT_TOOL,           [CALL_READ] = CALL_RESULT_RESOURCE,
    [CALL_PROMPT] = CALL_RESULT_PROMPT,       [CALL_COMPLETE] = CALL_RESULT_COMPLETION,
    [CALL_LIST_TOOLS] = CALL_RESULT_LIST,     [CALL_LIST_RESOURCES] = CALL_RESULT_LIST,
    [CALL_LIST_TEMPLATES] = CALL_RESULT_LIST, [CALL_LIST_PROMPTS] = CALL_RESULT_LIST,
    [CALL_SUBSCRIBE] = CALL_RESULT_EMPTY,     [CALL_TASK_GET] = CALL_RESULT_TASK,
    [CALL_TASK_RESULT] = CALL_RESULT_TOOL,    [CALL_TASK_UPDATE] = CALL_RESULT_EMPTY,
    [CALL_TASK_CANCEL] = CALL_RESULT_TASK,    [CALL_LIST_TASKS] = CALL_RESULT_TASKS,
};

static bool is_object(Span json)
{
    return json.n > 0 && json.p[0] == '{';
}

/* Whether the revision has structuredContent for this value. */
static bool has_structured(McpRevision revision, Span structured)
{
    if (structured.n == 0 || revision < MCP_2025_06_18) {
        return false;
    }
    return revision >= MCP_FIRST_MODERN || is_object(structured);
}

/* Caching hints; legacy eras have none. */
static void out_cache(McpOut *o, const McpReply *reply, int64_t ttl_ms, bool is_private)
{
    if (reply->revision < MCP_FIRST_MODERN) {
        return;
    }
    MCP_OUT_KEY(o, "ttlMs");
    mcp_out_int(o, ttl_ms > 0 ? ttl_ms : 0);
    mcp_out_span(o, is_private ? SPAN(",\"cacheScope\":\"private\"")
                               : SPAN(",\"cacheScope\":\"public\""));
}

void mcp_out_tool_members(McpOut *o, const McpContent *content)
{
    const CallResult *result = content->result;
    bool is_structured = has_structured(content->revision, result->structured);

    MCP_OUT_KEY(o, "content");
    MCP_OUT(o, "[");
    mcp_out_content(o, content);
    if (result->n_pieces == 0 && result->structured.n > 0 && !is_structured) {
        /* Else the client would get nothing at all. */
        MCP_OUT(o, "{\"type\":\"text\",\"text\":");
        mcp_out_string(o, result->structured);
        MCP_OUT(o, "}");
    }
    MCP_OUT(o, "]");
    if (is_structured) {
        MCP_OUT(o, ",\"structuredContent\":");
        mcp_out_large(o, result->structured);
    } else if (content->revision < MCP_2025_06_18 && result->beside.n > 0) {
        MCP_OUT(o, ",");
        mcp_out_large(o, result->beside);
    }
    if (result->is_error || result->says_no_error) {
        mcp_out_span(o, result->is_error ? SPAN(",\"isError\":true") : SPAN(",\"isError\":false"));
    }
    if (result->members.n > 0) {
        MCP_OUT(o, ",");
        mcp_out_span(o, result->members);
    }
}

static void out_tool(McpOut *o, Arena *scratch, const McpReply *reply, const McpContent *content)
{
    const CallResult *result = content->result;

    mcp_out_reserve(o, reply->id.n + mcp_content_size(result) + result->structured.n +
                           result->members.n + result->meta.n + MCP_RESULT_OVERHEAD);
    mcp_out_result(o, reply);
    mcp_out_tool_members(o, content);
    mcp_out_end_result(o, scratch, reply, result->meta);
}

/* The method was the tool's name: the report itself is the result. A failed report is no report,
 * and stays a tool's result that says so. */
static void out_bare(McpOut *o, Arena *scratch, const McpReply *reply, const McpContent *content)
{
    const CallResult *result = content->result;

    if (result->is_error || !is_object(result->structured)) {
        out_tool(o, scratch, reply, content);
        return;
    }
    MCP_OUT(o, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_out_span(o, reply->id);
    MCP_OUT(o, ",\"result\":");
    mcp_out_span(o, result->structured);
    MCP_OUT(o, "}");
}

static void out_resource(McpOut *o, Arena *scratch, const McpReply *reply,
                         const McpContent *content)
{
    const CallResult *result = content->result;

    mcp_out_reserve(o,
                    reply->id.n + mcp_content_size(result) + result->meta.n + MCP_RESULT_OVERHEAD);
    mcp_out_result(o, reply);
    MCP_OUT_KEY(o, "contents");
    MCP_OUT(o, "[");
    mcp_out_content(o, content);
    MCP_OUT(o, "]");
    out_cache(o, reply, result->ttl_ms, result->is_private);
    mcp_out_end_result(o, scratch, reply, result->meta);
}

static void out_prompt(McpOut *o, Arena *scratch, const McpReply *reply, const McpContent *content)
{
    const CallResult *result = content->result;

    mcp_out_result(o, reply);
    if (result->description.p != NULL) {
        MCP_OUT_KEY(o, "description");
        mcp_out_string(o, result->description);
    }
    MCP_OUT_KEY(o, "messages");
    MCP_OUT(o, "[");
    mcp_out_content(o, content);
    MCP_OUT(o, "]");
    mcp_out_end_result(o, scratch, reply, result->meta);
}

static void out_completion(McpOut *o, Arena *scratch, const McpReply *reply,
                           const CallResult *result)
{
    mcp_out_result(o, reply);
    MCP_OUT_KEY(o, "completion");
    MCP_OUT(o, "{\"values\":[");
    for (size_t i = 0; i < result->n_pieces; i++) {
        mcp_out_span(o, result->pieces[i]);
    }
    MCP_OUT(o, "]");
    if (result->total >= 0) {
        MCP_OUT(o, ",\"total\":");
        mcp_out_int(o, result->total);
    }
    mcp_out_span(o, result->has_more ? SPAN(",\"hasMore\":true}") : SPAN(",\"hasMore\":false}"));
    mcp_out_end_result(o, scratch, reply, result->meta);
}

typedef struct ListForm {
    Span key;
    McpPart part;
} ListForm;

static ListForm list_form(CallVerb verb)
{
    switch (verb) {
    case CALL_LIST_RESOURCES:
        return (ListForm){SPAN("\"resources\":["), MCP_PART_RESOURCE};
    case CALL_LIST_TEMPLATES:
        return (ListForm){SPAN("\"resourceTemplates\":["), MCP_PART_TEMPLATE};
    case CALL_LIST_PROMPTS:
        return (ListForm){SPAN("\"prompts\":["), MCP_PART_PROMPT};
    default:
        return (ListForm){SPAN("\"tools\":["), MCP_PART_TOOL};
    }
}

static void out_list(McpOut *o, Arena *scratch, const McpReply *reply, const CallResult *result)
{
    ListForm form = list_form(reply->verb);

    mcp_out_result(o, reply);
    mcp_out_comma(o);
    mcp_out_span(o, form.key);
    for (size_t i = 0; i < result->n_entries; i++) {
        if (i > 0) {
            MCP_OUT(o, ",");
        }
        mcp_out_part(o, reply->revision, form.part, result->entries[i]);
    }
    MCP_OUT(o, "]");
    if (result->next_cursor.n > 0) {
        MCP_OUT(o, ",\"nextCursor\":");
        mcp_out_string(o, result->next_cursor);
    }
    /* The same for everybody: what is listed depends on the hub and not on who asks. */
    out_cache(o, reply, MCP_LIST_TTL_MS, false);
    mcp_out_end_result(o, scratch, reply, result->meta);
}

/* Results whose content comes in pieces of JSON. */
static void out_pieces(McpOut *o, Arena *scratch, const McpReply *reply, const CallResult *result)
{
    McpContent content;
    int r = mcp_content_prepare(&content, scratch, reply->revision, result);

    if (r > 0) {
        mcp_out_broken_result(o, scratch, reply);
    } else if (r < 0) {
        o->r = r;
    } else if (result->kind == CALL_RESULT_RESOURCE) {
        out_resource(o, scratch, reply, &content);
    } else if (result->kind == CALL_RESULT_PROMPT) {
        out_prompt(o, scratch, reply, &content);
    } else if (reply->is_bare) {
        out_bare(o, scratch, reply, &content);
    } else {
        out_tool(o, scratch, reply, &content);
    }
}

int mcp_render_result(Bytes *out, Arena *scratch, const McpReply *reply, const CallResult *result)
{
    McpOut o = mcp_out_begin(out);

    o.lent = reply->lent;
    if (mcp_is_task_answer(reply, result)) {
        mcp_out_task_answer(&o, scratch, reply, result);
    } else if (result->kind == CALL_RESULT_ERROR) {
        mcp_out_call_error(&o, scratch, reply, result);
    } else if (result->kind != kind_of_verb[reply->verb] || result->kind == CALL_RESULT_TASK ||
               result->kind == CALL_RESULT_TASKS) {
        mcp_out_broken_result(&o, scratch, reply);
    } else if (result->kind == CALL_RESULT_COMPLETION) {
        out_completion(&o, scratch, reply, result);
    } else if (result->kind == CALL_RESULT_LIST) {
        out_list(&o, scratch, reply, result);
    } else if (result->kind == CALL_RESULT_EMPTY) {
        mcp_out_result(&o, reply);
        mcp_out_end_result(&o, scratch, reply, result->meta);
    } else {
        out_pieces(&o, scratch, reply, result);
    }
    return mcp_out_finish(&o);
}

int mcp_render_empty(Bytes *out, const McpReply *reply)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_result(&o, reply);
    mcp_out_end_result(&o, NULL, reply, SPAN_NULL);
    return mcp_out_finish(&o);
}
