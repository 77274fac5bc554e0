/* What a client sends, in the form of the revision that was agreed on. */
#include "dialect/mcp/client_internal.h"

#include "base/error.h"
#include "base/text.h"
#include "dialect/mcp/render.h"
#include "json/writer.h"

/* Names of the members that every modern request has. */
#define META_VERSION      SPAN("io.modelcontextprotocol/protocolVersion")
#define META_CAPABILITIES SPAN("io.modelcontextprotocol/clientCapabilities")
#define META_CLIENT       SPAN("io.modelcontextprotocol/clientInfo")
#define META_LOG_LEVEL    SPAN("io.modelcontextprotocol/logLevel")

/* *ret_start: where in w->out the message begins; others may stand before it. */
static int write_begin_at(McpClient *client, JsonWriter *w, size_t *ret_start)
{
    const McpSink *sink = client->config.sink;
    Bytes *out = NULL;
    int r = sink->begin(sink->context, &out);

    if (r != 0) {
        return err_raise(r < 0 ? r : -ENOBUFS);
    }
    *ret_start = out->n;
    json_writer_init(w, out, JSON_STYLE_COMPACT);
    json_write_object(w);
    json_write_raw(w, SPAN("\"jsonrpc\":\"2.0\""));
    return 0;
}

static int write_begin(McpClient *client, JsonWriter *w)
{
    size_t start;

    return write_begin_at(client, w, &start);
}

static int write_end_lent(McpClient *client, JsonWriter *w, BytesLent lent)
{
    const McpSink *sink = client->config.sink;
    int r;

    json_write_end_object(w);
    r = json_writer_finish(w);
    if (r != 0) {
        sink->abort(sink->context);
    } else if (lent.span.p != NULL) {
        r = sink->commit_lent(sink->context, lent);
    } else {
        r = sink->commit(sink->context);
    }
    return err_raise(r <= 0 ? r : -ENOBUFS);
}

static int write_end(McpClient *client, JsonWriter *w)
{
    return write_end_lent(client, w, BYTES_LENT_NULL);
}

/* A member's name that needs no escaping, with its quotes and its colon: no way through UTF-8 and
 * escapes for what stands in every request. */
static void write_plain_key(JsonWriter *w, Span key_and_colon)
{
    json_write_raw(w, key_and_colon);
}

static void write_member(JsonWriter *w, Span key, Span text)
{
    if (text.n > 0) {
        json_write_key(w, key);
        json_write_exact(w, text);
    }
}

static void write_info(JsonWriter *w, const McpIdentity *identity, McpRevision revision)
{
    json_write_object(w);
    json_write_key(w, SPAN("name"));
    json_write_string(w, identity->name);
    json_write_key(w, SPAN("version"));
    json_write_string(w, identity->version);
    if (revision >= MCP_2025_06_18) {
        write_member(w, SPAN("title"), identity->title);
    }
    if (revision >= MCP_2025_11_25) {
        write_member(w, SPAN("description"), identity->description);
        write_member(w, SPAN("websiteUrl"), identity->website_url);
        if (identity->icons.n > 0) {
            json_write_key(w, SPAN("icons"));
            json_write_raw(w, identity->icons);
        }
    }
    json_write_end_object(w);
}

static void write_flag(JsonWriter *w, bool flag, Span key)
{
    if (flag) {
        json_write_key(w, key);
        json_write_raw(w, SPAN("{}"));
    }
}

static void write_capabilities(JsonWriter *w, unsigned can, McpRevision revision)
{
    bool elicits = (can & (CALL_CAN_FORM | CALL_CAN_URL)) != 0;

    json_write_object(w);
    if ((can & CALL_CAN_ROOTS) != 0) {
        json_write_key(w, SPAN("roots"));
        json_write_raw(w,
                       revision >= MCP_FIRST_MODERN ? SPAN("{}") : SPAN("{\"listChanged\":true}"));
    }
    write_flag(w, (can & CALL_CAN_SAMPLE) != 0, SPAN("sampling"));
    if (revision >= MCP_2025_11_25 && elicits) {
        json_write_key(w, SPAN("elicitation"));
        json_write_object(w);
        write_flag(w, (can & CALL_CAN_FORM) != 0, SPAN("form"));
        write_flag(w, (can & CALL_CAN_URL) != 0, SPAN("url"));
        json_write_end_object(w);
    } else {
        write_flag(w, revision >= MCP_2025_06_18 && (can & CALL_CAN_FORM) != 0,
                   SPAN("elicitation"));
    }
    json_write_end_object(w);
}

static void write_modern_meta(JsonWriter *w, const McpIdentity *identity, unsigned can,
                              CallLogLevel log_level)
{
    json_write_key(w, META_VERSION);
    json_write_string(w, mcp_revision_text(MCP_2026_07_28));
    json_write_key(w, META_CAPABILITIES);
    write_capabilities(w, can, MCP_2026_07_28);
    json_write_key(w, META_CLIENT);
    write_info(w, identity, MCP_2026_07_28);
    if (log_level != CALL_LOG_NONE) {
        json_write_key(w, META_LOG_LEVEL);
        json_write_string(w, span_from_str(call_log_level_name(log_level)));
    }
}

int client_write_make_meta(McpClient *client)
{
    const McpClientConfig *config = &client->config;
    JsonWriter w;
    int r;

    bytes_clear(&client->meta);
    json_writer_init(&w, &client->meta, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_modern_meta(&w, config->identity, config->can, config->log_level);
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    return err_fold(r);
}

/* The members of an object as they stand in it, so that others can be put beside them. */
static Span members_of(Span object)
{
    Span s = text_trim(object);

    return s.n < 2 ? SPAN_NULL : text_trim(span_make(s.p + 1, s.n - 2));
}

static void write_members(JsonWriter *w, Span object)
{
    Span members = members_of(object);

    if (members.n > 0) {
        /* The writer puts the commas; for it this is one value. */
        json_write_raw(w, members);
    }
}

static void write_answers(const McpClient *client, JsonWriter *w, const ClientRequest *request)
{
    bool any = false;

    for (size_t i = 0; i < CLIENT_MAX_ASKS; i++) {
        const ClientAsk *ask = &client->asks[i];

        if (ask->number == 0 || ask->request != request) {
            continue;
        }
        if (!any) {
            json_write_key(w, SPAN("inputResponses"));
            json_write_object(w);
            any = true;
        }
        json_write_key(w, bytes_span(&ask->name));
        json_write_raw(w, bytes_span(&ask->answer));
    }
    if (any) {
        json_write_end_object(w);
    }
    if (request->state.n > 0) {
        json_write_key(w, SPAN("requestState"));
        json_write_raw(w, bytes_span(&request->state));
    }
}

/* The members that every modern request has: made once, for those that say what the session does.
 */
static void write_own_meta(const McpClient *client, JsonWriter *w, const ClientRequest *request)
{
    const McpClientConfig *config = &client->config;

    if (request == NULL ||
        (request->can == config->can && request->log_level == config->log_level)) {
        write_members(w, bytes_span(&client->meta));
    } else {
        write_modern_meta(w, config->identity, request->can, request->log_level);
    }
}

/* lent->at comes as the beginning of the message, and is where they belong if they are lent. */
static void write_arguments(const McpClient *client, JsonWriter *w, Span arguments, BytesLent *lent)
{
    if (arguments.n == 0) {
        return;
    }
    write_plain_key(w, SPAN("\"arguments\":"));
    if (arguments.n > BYTES_LEND_MIN && client->config.sink->commit_lent != NULL) {
        /* Their last byte is not: the writer tells by it that a value has ended there. */
        Span most = span_make(arguments.p, arguments.n - 1);

        json_write_raw(w, span_make(arguments.p + most.n, 1));
        *lent = (BytesLent){.at = w->out->n - 1 - lent->at, .span = most};
    } else {
        json_write_raw(w, arguments);
    }
}

static void write_params(const McpClient *client, JsonWriter *w, const ClientText *text,
                         const ClientRequest *request, uint64_t token, BytesLent *lent)
{
    bool is_modern = client_is_modern(client);
    Span meta = text->meta;

    if (text->params.n == 0 && text->arguments.n == 0 && token == 0 && meta.n == 0 && !is_modern) {
        return;
    }
    write_plain_key(w, SPAN("\"params\":"));
    json_write_object(w);
    write_members(w, text->params);
    write_arguments(client, w, text->arguments, lent);
    if (request != NULL) {
        write_answers(client, w, request);
    }
    if (is_modern || token != 0 || meta.n > 0) {
        write_plain_key(w, SPAN("\"_meta\":"));
        json_write_object(w);
        if (is_modern) {
            write_own_meta(client, w, request);
        }
        if (meta.n > 0) {
            json_write_raw(w, meta);
        }
        if (token != 0) {
            write_plain_key(w, SPAN("\"progressToken\":"));
            json_write_uint(w, token);
        }
        json_write_end_object(w);
    }
    json_write_end_object(w);
}

int client_write_request(McpClient *client, uint64_t id, const ClientText *text,
                         const ClientRequest *request, uint64_t token)
{
    BytesLent lent = BYTES_LENT_NULL;
    JsonWriter w;
    int r = write_begin_at(client, &w, &lent.at);

    if (r != 0) {
        return r;
    }
    write_plain_key(&w, SPAN("\"id\":"));
    json_write_uint(&w, id);
    write_plain_key(&w, SPAN("\"method\":"));
    json_write_string(&w, text->method);
    write_params(client, &w, text, request, token, &lent);
    return write_end_lent(client, &w, lent);
}

int client_write_probe(McpClient *client, uint64_t id)
{
    return client_write_request(client, id, &(ClientText){.method = SPAN("server/discover")}, NULL,
                                0);
}

int client_write_initialize(McpClient *client, uint64_t id)
{
    McpRevision revision = client->config.legacy_revision;
    JsonWriter w;
    int r = write_begin(client, &w);

    if (r != 0) {
        return r;
    }
    json_write_key(&w, SPAN("id"));
    json_write_uint(&w, id);
    json_write_key(&w, SPAN("method"));
    json_write_string(&w, SPAN("initialize"));
    json_write_key(&w, SPAN("params"));
    json_write_object(&w);
    json_write_key(&w, SPAN("protocolVersion"));
    json_write_string(&w, mcp_revision_text(revision));
    json_write_key(&w, SPAN("capabilities"));
    write_capabilities(&w, client->config.can, revision);
    json_write_key(&w, SPAN("clientInfo"));
    write_info(&w, client->config.identity, revision);
    json_write_end_object(&w);
    return write_end(client, &w);
}

int client_write_notification(McpClient *client, Span method, Span params)
{
    JsonWriter w;
    int r = write_begin(client, &w);

    if (r != 0) {
        return r;
    }
    json_write_key(&w, SPAN("method"));
    json_write_string(&w, method);
    if (params.n > 0) {
        json_write_key(&w, SPAN("params"));
        json_write_raw(&w, text_trim(params));
    }
    return write_end(client, &w);
}

int client_write_cancelled(McpClient *client, uint64_t id, Span reason)
{
    JsonWriter w;
    int r = write_begin(client, &w);

    if (r != 0) {
        return r;
    }
    json_write_key(&w, SPAN("method"));
    json_write_string(&w, SPAN("notifications/cancelled"));
    json_write_key(&w, SPAN("params"));
    json_write_object(&w);
    json_write_key(&w, SPAN("requestId"));
    json_write_uint(&w, id);
    write_member(&w, SPAN("reason"), reason);
    json_write_end_object(&w);
    return write_end(client, &w);
}

int client_write_result(McpClient *client, Span id, Span result)
{
    JsonWriter w;
    int r = write_begin(client, &w);

    if (r != 0) {
        return r;
    }
    json_write_key(&w, SPAN("id"));
    json_write_raw(&w, id);
    json_write_key(&w, SPAN("result"));
    json_write_raw(&w, text_trim(result));
    return write_end(client, &w);
}

int client_write_error(McpClient *client, Span id, int code, Span message)
{
    JsonWriter w;
    int r = write_begin(client, &w);

    if (r != 0) {
        return r;
    }
    json_write_key(&w, SPAN("id"));
    json_write_raw(&w, id);
    json_write_key(&w, SPAN("error"));
    json_write_object(&w);
    json_write_key(&w, SPAN("code"));
    json_write_int(&w, code);
    json_write_key(&w, SPAN("message"));
    json_write_exact(&w, message);
    json_write_end_object(&w);
    return write_end(client, &w);
}
