#include "dialect/mcp/render_out.h"

#include "json/writer.h"

/* Names and versions, which stand in every modern result, are short and plain: looking at them here
 * costs a tenth of the writer's way through UTF-8 and escapes. */
#define PLAIN_MAX_BYTES 64

static bool text_is_plain(Span text)
{
    unsigned odd = 0;

    if (text.n > PLAIN_MAX_BYTES) {
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        odd |= (unsigned)(c < 0x20) | (unsigned)(c > 0x7E) | (unsigned)(c == '"') |
               (unsigned)(c == '\\');
    }
    return odd == 0;
}

void mcp_out_string(McpOut *o, Span text)
{
    JsonWriter w;

    if (o->r != 0) {
        return;
    }
    if (text_is_plain(text)) {
        MCP_OUT(o, "\"");
        mcp_out_span(o, text);
        MCP_OUT(o, "\"");
        return;
    }
    json_writer_init(&w, o->out, JSON_STYLE_COMPACT);
    json_write_exact(&w, text);
    o->r = json_writer_finish(&w);
}

void mcp_out_int(McpOut *o, int64_t value)
{
    JsonWriter w;

    if (o->r != 0) {
        return;
    }
    json_writer_init(&w, o->out, JSON_STYLE_COMPACT);
    json_write_int(&w, value);
    o->r = json_writer_finish(&w);
}

void mcp_out_double(McpOut *o, double value)
{
    JsonWriter w;

    if (o->r != 0) {
        return;
    }
    json_writer_init(&w, o->out, JSON_STYLE_COMPACT);
    json_write_double(&w, value);
    o->r = json_writer_finish(&w);
}

Span mcp_string_inside(JsonValue object, Span member)
{
    JsonValue v;
    Span text;

    if (!json_get(object, member, &v) || json_kind(v) != JSON_STRING) {
        return SPAN_NULL;
    }
    text = json_span(v);
    return span_make(text.p + 1, text.n - 2);
}

void mcp_out_result(McpOut *o, const McpReply *reply)
{
    MCP_OUT(o, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_out_span(o, reply->id);
    MCP_OUT(o, ",\"result\":{");
    if (reply->revision >= MCP_FIRST_MODERN) {
        MCP_OUT(o, "\"resultType\":\"complete\"");
    }
}

static bool meta_holds_word(Span meta, Span word)
{
    for (const char *at = meta.p; (size_t)(meta.p + meta.n - at) >= word.n; at++) {
        at = memchr(at, word.p[0], (size_t)(meta.p + meta.n - at) - word.n + 1);
        if (at == NULL) {
            return false;
        }
        if (memcmp(at, word.p, word.n) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the object might hold a key that is ours, perhaps in escapes; cheap, and wrong only
 * towards "yes". */
static bool meta_may_hold_ours(Span meta)
{
    return memchr(meta.p, '\\', meta.n) != NULL || meta_holds_word(meta, SPAN("serverInfo")) ||
           meta_holds_word(meta, SPAN("related-task"));
}

static bool meta_is_ours(JsonValue key)
{
    return json_string_equals(key, SPAN(MCP_META_SERVER_INFO)) ||
           json_string_equals(key, SPAN(MCP_META_RELATED_TASK));
}

/* The members of meta without serverInfo and related-task: what a relayed server said of itself and
 * of its tasks is not about us, and most eras do not know the keys. */
static void out_meta_members(McpOut *o, Arena *scratch, Span meta)
{
    JsonDoc doc;
    int r;

    if (meta.n < 2 || meta.p[0] != '{') {
        return;
    }
    if (!meta_may_hold_ours(meta)) {
        if (meta.n > 2) {
            mcp_out_comma(o);
            mcp_out_span(o, span_make(meta.p + 1, meta.n - 2));
        }
        return;
    }
    r = json_parse(&doc, scratch, meta.p, meta.n, NULL, NULL);
    if (r != 0) {
        /* Not JSON, against the contract of CallResult: the answer is worth more than its
         * remarks. */
        o->r = o->r == 0 && r < 0 ? r : o->r;
        return;
    }
    for (JsonIter it = json_iter(json_root(&doc)); it.is_object && json_iter_next(&it);) {
        if (!meta_is_ours(it.key)) {
            mcp_out_comma(o);
            mcp_out_span(o, json_span(it.key));
            MCP_OUT(o, ":");
            mcp_out_span(o, json_span(it.value));
        }
    }
}

void mcp_out_end_result(McpOut *o, Arena *scratch, const McpReply *reply, Span meta)
{
    bool is_modern = reply->revision >= MCP_FIRST_MODERN;

    if (is_modern || meta.n > 0 || reply->task.n > 0) {
        MCP_OUT_KEY(o, "_meta");
        MCP_OUT(o, "{");
        if (is_modern) {
            MCP_OUT(o, "\"" MCP_META_SERVER_INFO "\":");
            if (reply->server_info.n > 0) {
                mcp_out_span(o, reply->server_info);
            } else {
                mcp_out_identity(o, reply->revision, reply->identity, MCP_INFO_BRIEF);
            }
        }
        if (reply->task.n > 0) {
            mcp_out_related_task(o, reply->task);
        }
        out_meta_members(o, scratch, meta);
        MCP_OUT(o, "}");
    }
    MCP_OUT(o, "}}");
}

void mcp_out_end_inner(McpOut *o, Arena *scratch, Span meta)
{
    if (meta.n > 0) {
        MCP_OUT_KEY(o, "_meta");
        MCP_OUT(o, "{");
        out_meta_members(o, scratch, meta);
        MCP_OUT(o, "}");
    }
    MCP_OUT(o, "}");
}

void mcp_out_related_task(McpOut *o, Span task)
{
    MCP_OUT(o, "\"" MCP_META_RELATED_TASK "\":{\"taskId\":");
    mcp_out_string(o, task);
    MCP_OUT(o, "}");
}

void mcp_out_notification(McpOut *o, Span method)
{
    MCP_OUT(o, "{\"jsonrpc\":\"2.0\",\"method\":\"");
    mcp_out_span(o, method);
    MCP_OUT(o, "\"");
}

static void out_text_member(McpOut *o, Span key_and_colon, Span text)
{
    if (text.n > 0) {
        mcp_out_span(o, key_and_colon);
        mcp_out_string(o, text);
    }
}

void mcp_out_identity(McpOut *o, McpRevision revision, const McpIdentity *identity, McpInfo info)
{
    MCP_OUT(o, "{\"name\":");
    mcp_out_string(o, identity->name);
    MCP_OUT(o, ",\"version\":");
    mcp_out_string(o, identity->version);
    if (info == MCP_INFO_FULL && revision >= MCP_2025_06_18) {
        out_text_member(o, SPAN(",\"title\":"), identity->title);
    }
    if (info == MCP_INFO_FULL && revision >= MCP_2025_11_25) {
        out_text_member(o, SPAN(",\"description\":"), identity->description);
        out_text_member(o, SPAN(",\"websiteUrl\":"), identity->website_url);
        if (identity->icons.n > 0) {
            MCP_OUT(o, ",\"icons\":");
            mcp_out_span(o, identity->icons);
        }
    }
    MCP_OUT(o, "}");
}

void mcp_out_error_head(McpOut *o, Span id, int code, Span message)
{
    MCP_OUT(o, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcp_out_span(o, id.n > 0 ? id : SPAN("null"));
    MCP_OUT(o, ",\"error\":{\"code\":");
    mcp_out_int(o, code);
    MCP_OUT(o, ",\"message\":");
    mcp_out_string(o, message);
}
