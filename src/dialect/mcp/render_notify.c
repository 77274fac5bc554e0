/* Notifications, and the end of a modern subscription. */
#include <float.h>
#include <math.h>

#include "dialect/mcp/render_out.h"

/* `"_meta":{…}` of what belongs to a modern subscription. */
static void out_subscription(McpOut *o, Span subscription)
{
    MCP_OUT_KEY(o, "_meta");
    MCP_OUT(o, "{\"" MCP_META_SUBSCRIPTION_ID "\":");
    mcp_out_span(o, subscription);
    MCP_OUT(o, "}");
}

int mcp_render_progress(Bytes *out, McpRevision revision, Span token, const CallProgress *progress)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_notification(&o, SPAN("notifications/progress"));
    MCP_OUT(&o, ",\"params\":{\"progressToken\":");
    mcp_out_span(&o, token);
    MCP_OUT(&o, ",\"progress\":");
    if (progress->spelt.n > 0) {
        mcp_out_span(&o, progress->spelt);
    } else {
        /* JSON has no infinity; the largest number still grows and never shrinks. */
        mcp_out_double(&o, progress->progress < DBL_MAX ? progress->progress : DBL_MAX);
    }
    if (progress->spelt_total.n > 0) {
        MCP_OUT(&o, ",\"total\":");
        mcp_out_span(&o, progress->spelt_total);
    } else if (progress->total >= 0 && isfinite(progress->total)) {
        MCP_OUT(&o, ",\"total\":");
        mcp_out_double(&o, progress->total);
    }
    if (progress->message.n > 0 && revision >= MCP_2025_03_26) {
        MCP_OUT(&o, ",\"message\":");
        mcp_out_string(&o, progress->message);
    }
    if (progress->members.n > 0) {
        MCP_OUT(&o, ",");
        mcp_out_span(&o, progress->members);
    }
    MCP_OUT(&o, "}}");
    return mcp_out_finish(&o);
}

int mcp_render_log(Bytes *out, CallLogLevel level, Span logger, Span data)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_notification(&o, SPAN("notifications/message"));
    MCP_OUT(&o, ",\"params\":{\"level\":\"");
    mcp_out_span(&o, span_from_str(call_log_level_name(level)));
    MCP_OUT(&o, "\"");
    if (logger.n > 0) {
        MCP_OUT(&o, ",\"logger\":");
        mcp_out_string(&o, logger);
    }
    MCP_OUT(&o, ",\"data\":");
    mcp_out_span(&o, data);
    MCP_OUT(&o, "}}");
    return mcp_out_finish(&o);
}

static Span list_method(McpListKind kind)
{
    switch (kind) {
    case MCP_LIST_RESOURCES:
        return SPAN("notifications/resources/list_changed");
    case MCP_LIST_PROMPTS:
        return SPAN("notifications/prompts/list_changed");
    default:
        return SPAN("notifications/tools/list_changed");
    }
}

int mcp_render_list_changed(Bytes *out, McpListKind kind, Span subscription)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_notification(&o, list_method(kind));
    if (subscription.n > 0) {
        MCP_OUT(&o, ",\"params\":{");
        out_subscription(&o, subscription);
        MCP_OUT(&o, "}");
    }
    MCP_OUT(&o, "}");
    return mcp_out_finish(&o);
}

int mcp_render_updated(Bytes *out, Span uri, Span subscription)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_notification(&o, SPAN("notifications/resources/updated"));
    MCP_OUT(&o, ",\"params\":{\"uri\":");
    mcp_out_string(&o, uri);
    if (subscription.n > 0) {
        out_subscription(&o, subscription);
    }
    MCP_OUT(&o, "}}");
    return mcp_out_finish(&o);
}

static void out_strings(McpOut *o, const Span *texts, size_t n)
{
    MCP_OUT(o, "[");
    for (size_t i = 0; i < n; i++) {
        mcp_out_comma(o);
        mcp_out_string(o, texts[i]);
    }
    MCP_OUT(o, "]");
}

int mcp_render_acknowledged(Bytes *out, Span subscription, const McpFilter *filter)
{
    static const Span keys[] = {
        [MCP_LIST_TOOLS] = {"\"toolsListChanged\":true", 23},
        [MCP_LIST_RESOURCES] = {"\"resourcesListChanged\":true", 27},
        [MCP_LIST_PROMPTS] = {"\"promptsListChanged\":true", 25},
    };
    McpOut o = mcp_out_begin(out);

    mcp_out_notification(&o, SPAN("notifications/subscriptions/acknowledged"));
    MCP_OUT(&o, ",\"params\":{");
    out_subscription(&o, subscription);
    MCP_OUT(&o, ",\"notifications\":{");
    for (size_t i = 0; i < TW_ARRAY_SIZE(keys); i++) {
        if (filter->lists[i]) {
            mcp_out_comma(&o);
            mcp_out_span(&o, keys[i]);
        }
    }
    if (filter->n_uris > 0) {
        MCP_OUT_KEY(&o, "resourceSubscriptions");
        out_strings(&o, filter->uris, filter->n_uris);
    }
    if (filter->n_tasks > 0) {
        MCP_OUT_KEY(&o, "taskIds");
        out_strings(&o, filter->tasks, filter->n_tasks);
    }
    MCP_OUT(&o, "}}}");
    return mcp_out_finish(&o);
}

int mcp_render_listen_end(Bytes *out, Span subscription, const McpIdentity *identity)
{
    McpOut o = mcp_out_begin(out);
    McpReply reply = {.revision = MCP_FIRST_MODERN, .id = subscription};

    mcp_out_result(&o, &reply);
    MCP_OUT(&o, ",\"_meta\":{\"" MCP_META_SUBSCRIPTION_ID "\":");
    mcp_out_span(&o, subscription);
    MCP_OUT(&o, ",\"" MCP_META_SERVER_INFO "\":");
    mcp_out_identity(&o, reply.revision, identity, MCP_INFO_BRIEF);
    MCP_OUT(&o, "}}}");
    return mcp_out_finish(&o);
}
