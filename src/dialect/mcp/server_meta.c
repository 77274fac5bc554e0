/* What a request says about itself: its era, and what else is in `_meta`. */
#include "dialect/mcp/server_internal.h"

#include <string.h>

#include "base/error.h"

#define META(name) SPAN("io.modelcontextprotocol/" name)

/* Of a version that we do not know, in the answer: any version has ten. */
#define VERSION_BYTES ((size_t)64)

static bool has_object(JsonValue object, Span name)
{
    JsonValue v;

    return json_get(object, name, &v) && json_kind(v) == JSON_OBJECT;
}

unsigned mcp_client_can(JsonValue capabilities, McpRevision revision)
{
    unsigned can = 0;
    JsonValue elicitation;

    if (capabilities.node == NULL) {
        return 0;
    }
    can |= has_object(capabilities, SPAN("sampling")) ? CALL_CAN_SAMPLE : 0u;
    can |= has_object(capabilities, SPAN("roots")) ? CALL_CAN_ROOTS : 0u;
    if (revision < MCP_2025_06_18 || !has_object(capabilities, SPAN("elicitation"))) {
        return can;
    }
    (void)json_get(capabilities, SPAN("elicitation"), &elicitation);
    if (revision < MCP_2025_11_25) {
        return can | CALL_CAN_FORM;
    }
    can |= has_object(elicitation, SPAN("url")) ? CALL_CAN_URL : 0u;
    /* An empty object is what older clients send, and they mean forms. */
    if (has_object(elicitation, SPAN("form")) || (can & CALL_CAN_URL) == 0) {
        can |= CALL_CAN_FORM;
    }
    return can;
}

/* The extension, of which nothing but its presence counts. */
static bool declares_tasks(JsonValue capabilities)
{
    JsonValue extensions;

    return json_get(capabilities, SPAN("extensions"), &extensions) &&
           has_object(extensions, SPAN(MCP_TASKS_EXTENSION));
}

/* progressToken, in both eras. */
static bool take_token(McpServer *server, McpInbound *in, JsonValue meta)
{
    JsonValue token;

    if (!json_get(meta, SPAN("progressToken"), &token)) {
        return true;
    }
    if (json_kind(token) != JSON_STRING &&
        (json_kind(token) != JSON_NUMBER || !json_number_is_whole(token))) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS,
                   "params._meta.progressToken must be a string or an integer");
        return false;
    }
    in->token = json_span(token);
    return true;
}

static bool take_client_info(McpServer *server, McpInbound *in, JsonValue meta)
{
    JsonValue info = JSON_VALUE_NULL;
    Span text;

    if (!mcp_take_object(server, in, meta, META("clientInfo"), MCP_META_PATH("clientInfo"), false,
                         &info)) {
        return false;
    }
    return info.node == NULL ||
           (mcp_take_string(server, in, info, SPAN("name"), MCP_META_PATH("clientInfo") ".name",
                            true, &text) &&
            mcp_take_string(server, in, info, SPAN("version"),
                            MCP_META_PATH("clientInfo") ".version", true, &text));
}

/* The capabilities that mcp_client_can looks at. It overlooks what is no object, as the legacy eras
 * do; where they come with every request, the request is to blame. */
static bool take_capabilities(McpServer *server, const McpInbound *in, JsonValue meta,
                              JsonValue *ret)
{
    JsonValue elicitation = JSON_VALUE_NULL;
    JsonValue extensions = JSON_VALUE_NULL;
    JsonValue unused;

    return mcp_take_object(server, in, meta, META("clientCapabilities"),
                           MCP_META_PATH("clientCapabilities"), true, ret) &&
           mcp_take_object(server, in, *ret, SPAN("sampling"),
                           MCP_META_PATH("clientCapabilities") ".sampling", false, &unused) &&
           mcp_take_object(server, in, *ret, SPAN("roots"),
                           MCP_META_PATH("clientCapabilities") ".roots", false, &unused) &&
           mcp_take_object(server, in, *ret, SPAN("elicitation"),
                           MCP_META_PATH("clientCapabilities") ".elicitation", false,
                           &elicitation) &&
           mcp_take_object(server, in, elicitation, SPAN("form"),
                           MCP_META_PATH("clientCapabilities") ".elicitation.form", false,
                           &unused) &&
           mcp_take_object(server, in, elicitation, SPAN("url"),
                           MCP_META_PATH("clientCapabilities") ".elicitation.url", false,
                           &unused) &&
           mcp_take_object(server, in, *ret, SPAN("extensions"),
                           MCP_META_PATH("clientCapabilities") ".extensions", false, &extensions) &&
           mcp_take_object(server, in, extensions, SPAN(MCP_TASKS_EXTENSION),
                           MCP_META_PATH("clientCapabilities") ".extensions[\"" MCP_TASKS_EXTENSION
                                                               "\"]",
                           false, &unused);
}

/* What every request of the modern era must say about itself. False if it was refused. */
static bool take_modern_meta(McpServer *server, McpInbound *in, JsonValue meta)
{
    JsonValue capabilities = JSON_VALUE_NULL;
    Span level = SPAN_NULL;

    if (!take_capabilities(server, in, meta, &capabilities) ||
        !take_client_info(server, in, meta) ||
        !mcp_take_string(server, in, meta, META("logLevel"), MCP_META_PATH("logLevel"), false,
                         &level)) {
        return false;
    }
    in->can = mcp_client_can(capabilities, in->revision);
    in->takes_tasks = declares_tasks(capabilities);
    in->log_level = CALL_LOG_NONE;
    if (level.p != NULL && !call_log_level_parse(level, &in->log_level)) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS,
                   MCP_META_PATH("logLevel") " is not a level of logging");
        return false;
    }
    return true;
}

/* The version that a modern request names. False if it was refused. */
static bool take_version(McpServer *server, const McpInbound *in, JsonValue meta)
{
    Span text;
    McpOut out;
    int r;

    if (!mcp_take_string(server, in, meta, META("protocolVersion"),
                         MCP_META_PATH("protocolVersion"), true, &text)) {
        return false;
    }
    if (span_equals(text, mcp_revision_text(MCP_FIRST_MODERN))) {
        return true;
    }
    /* Enough of it to be recognised is told back. */
    text.n = text.n < VERSION_BYTES ? text.n : VERSION_BYTES;
    mcp_about_received(server, in, MCP_ERROR_UNSUPPORTED_VERSION);
    r = mcp_out_begin(&out, server, in->batch, false);
    if (r == 0) {
        r = mcp_render_unsupported_version(out.bytes, jsonrpc_id_text(in->message), text);
    }
    mcp_server_fail(server, mcp_out_end(&out, r));
    return false;
}

static bool check_headers(McpServer *server, const McpInbound *in)
{
    return server->from.head == NULL || mcp_check_headers(server, in);
}

/* A request of the modern era: version, place, and what it says about itself. */
static bool take_modern(McpServer *server, McpInbound *in, JsonValue meta)
{
    in->revision = MCP_FIRST_MODERN;
    /* Headers that say another version than the message come first: then it is not known which of
     * the two is meant. */
    if (!check_headers(server, in) || !take_version(server, in, meta)) {
        return false;
    }
    if (in->batch != NULL) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_REQUEST,
                   "a request that names its protocol version must not be in a batch");
        return false;
    }
    return take_modern_meta(server, in, meta);
}

/* Is it what the last modern request said, to the byte? Then that is known. */
static bool was_said(const McpServer *server, McpInbound *in, Span meta)
{
    const McpSaid *said = &server->said;

    if (in->batch != NULL || !span_equals(meta, span_make(said->text, said->n))) {
        return false;
    }
    in->revision = MCP_FIRST_MODERN;
    in->can = said->can;
    in->takes_tasks = said->takes_tasks;
    in->log_level = said->log_level;
    return true;
}

/* A token is another one each time, and not worth keeping. */
static void keep_said(McpServer *server, const McpInbound *in, Span meta)
{
    McpSaid *said = &server->said;

    if (in->token.n > 0 || meta.n > sizeof(said->text)) {
        return;
    }
    memcpy(said->text, meta.p, meta.n);
    said->n = meta.n;
    said->can = in->can;
    said->takes_tasks = in->takes_tasks;
    said->log_level = in->log_level;
}

bool mcp_take_meta(McpServer *server, McpInbound *in)
{
    JsonValue meta = JSON_VALUE_NULL;
    JsonValue version;

    in->revision = server->revision;
    in->log_level = server->log_level;
    in->can = server->can;
    if (!mcp_check_object(server, in, in->known.meta, "params._meta", false, &meta)) {
        return false;
    }
    if (meta.node == NULL || was_said(server, in, json_span(meta))) {
        return check_headers(server, in);
    }
    if (!json_get(meta, META("protocolVersion"), &version)) {
        return check_headers(server, in) && take_token(server, in, meta);
    }
    if (!take_modern(server, in, meta) || !take_token(server, in, meta)) {
        return false;
    }
    keep_said(server, in, json_span(meta));
    return true;
}
