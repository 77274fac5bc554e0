/* The two ways to begin: `initialize` and `server/discover`; and the refusal of a version. */
#include "dialect/mcp/render_out.h"

/* How long a client may go on with what `server/discover` said. Capabilities change when providers
 * come and go, so it is as short as a list's. */
#define MCP_DISCOVER_TTL_MS 60000

/* The versions that a request may name in its `_meta`. Clients take their pick from this list and
 * use it there, so that the legacy revisions, which begin with `initialize`, are not in it: a
 * client that has once seen a modern answer never sends that. The same list is in the error -32022,
 * whose versions must be among those of `server/discover`. */
static void out_supported(McpOut *o)
{
    MCP_OUT(o, "[");
    for (int i = MCP_FIRST_MODERN; i < MCP_N_REVISIONS; i++) {
        mcp_out_comma(o);
        MCP_OUT(o, "\"");
        mcp_out_span(o, mcp_revision_text((McpRevision)i));
        MCP_OUT(o, "\"");
    }
    MCP_OUT(o, "]");
}

/* In the core of 2025-11-25, and an extension from then on. */
static void out_tasks(McpOut *o, McpRevision revision, const McpOffer *offer)
{
    if (revision >= MCP_FIRST_MODERN) {
        MCP_OUT_KEY(o, "extensions");
        MCP_OUT(o, "{\"" MCP_TASKS_EXTENSION "\":{}}");
    } else if (revision == MCP_2025_11_25) {
        MCP_OUT_KEY(o, "tasks");
        MCP_OUT(o, "{");
        mcp_out_span(o, offer->lists_tasks ? SPAN("\"list\":{},") : SPAN_NULL);
        MCP_OUT(o, "\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}");
    }
}

static void out_capabilities(McpOut *o, McpRevision revision, const McpOffer *offer)
{
    Span of_list = offer->lists_change ? SPAN("{\"listChanged\":true}") : SPAN("{}");

    MCP_OUT_KEY(o, "capabilities");
    MCP_OUT(o, "{");
    if (offer->tools) {
        MCP_OUT_KEY(o, "tools");
        mcp_out_span(o, of_list);
    }
    if (offer->resources) {
        MCP_OUT_KEY(o, "resources");
        mcp_out_span(o, offer->lists_change ? SPAN("{\"subscribe\":true,\"listChanged\":true}")
                                            : SPAN("{\"subscribe\":true}"));
    }
    if (offer->prompts) {
        MCP_OUT_KEY(o, "prompts");
        mcp_out_span(o, of_list);
    }
    if (offer->logging) {
        MCP_OUT_KEY(o, "logging");
        MCP_OUT(o, "{}");
    }
    if (offer->completions && revision >= MCP_2025_03_26) {
        MCP_OUT_KEY(o, "completions");
        MCP_OUT(o, "{}");
    }
    if (offer->tasks) {
        out_tasks(o, revision, offer);
    }
    MCP_OUT(o, "}");
}

static void out_instructions(McpOut *o, const McpIdentity *identity)
{
    if (identity->instructions.n > 0) {
        MCP_OUT_KEY(o, "instructions");
        mcp_out_string(o, identity->instructions);
    }
}

int mcp_render_server_info(Bytes *out, const McpIdentity *identity)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_identity(&o, MCP_FIRST_MODERN, identity, MCP_INFO_BRIEF);
    return mcp_out_finish(&o);
}

int mcp_render_initialize(Bytes *out, const McpReply *reply, const McpOffer *offer)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_result(&o, reply);
    MCP_OUT_KEY(&o, "protocolVersion");
    MCP_OUT(&o, "\"");
    mcp_out_span(&o, mcp_revision_text(reply->revision));
    MCP_OUT(&o, "\"");
    out_capabilities(&o, reply->revision, offer);
    MCP_OUT_KEY(&o, "serverInfo");
    mcp_out_identity(&o, reply->revision, reply->identity, MCP_INFO_FULL);
    out_instructions(&o, reply->identity);
    MCP_OUT(&o, "}}");
    return mcp_out_finish(&o);
}

int mcp_render_discover(Bytes *out, const McpReply *reply, const McpOffer *offer)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_result(&o, reply);
    MCP_OUT_KEY(&o, "supportedVersions");
    out_supported(&o);
    out_capabilities(&o, reply->revision, offer);
    out_instructions(&o, reply->identity);
    MCP_OUT_KEY(&o, "ttlMs");
    mcp_out_int(&o, MCP_DISCOVER_TTL_MS);
    MCP_OUT(&o, ",\"cacheScope\":\"public\",\"_meta\":{\"" MCP_META_SERVER_INFO "\":");
    /* All of it here; every other result carries name and version only. */
    mcp_out_identity(&o, reply->revision, reply->identity, MCP_INFO_FULL);
    MCP_OUT(&o, "}}}");
    return mcp_out_finish(&o);
}

int mcp_render_unsupported_version(Bytes *out, Span id, Span requested)
{
    McpOut o = mcp_out_begin(out);

    mcp_out_error_head(&o, id, MCP_ERROR_UNSUPPORTED_VERSION, SPAN("Unsupported protocol version"));
    MCP_OUT(&o, ",\"data\":{\"supported\":");
    out_supported(&o);
    MCP_OUT(&o, ",\"requested\":");
    mcp_out_string(&o, requested);
    MCP_OUT(&o, "}}}");
    return mcp_out_finish(&o);
}
