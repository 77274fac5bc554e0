/* What the headers of an HTTP request say about the message in its body, held against it.
 *
 * Between us and the client may stand others that decide by the headers alone: what they let pass
 * must be what is served. So a modern request whose headers lack something, say it twice or say
 * something else is refused with -32020:
 *
 *     MCP-Protocol-Version   the version in `_meta`
 *     Mcp-Method             method
 *     Mcp-Name               params.name, params.uri or params.taskId, by the method
 *     Mcp-Param-*            arguments, where the tool's schema says so
 *
 * The version comes first, and the rest is left alone if it is not ours: another version may want
 * other headers. Legacy requests have only a version, and may leave it out. A modern notification
 * may leave out all of it, since no revision says what its headers are, and clients send none; but
 * what is there must be right.
 */
#include "dialect/mcp/server_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/param_headers.h"
#include "frame/http1_scan.h"

/* What comes of a comparison, if not 0. */
enum {
    VALUE_E_DIFFERENT = 1,
    VALUE_E_RANGE, /* a number that is no integer, or none that every reader of a header reads */
};

/* Integers that a double holds exactly: ±(2^53 - 1). */
#define MAX_INTEGER ((int64_t)9007199254740991)

/* So much of a header's name is told back. */
#define HEADER_NAME_BYTES ((size_t)48)

static const Span version_header = SPAN_INIT("MCP-Protocol-Version");

/* Enough of it to be recognised; never NULL. */
static Span cut(Span s, size_t max)
{
    return s.n == 0 ? SPAN("") : span_make(s.p, s.n < max ? s.n : max);
}

/* How a sentence names a header with its value, and the value in the body. */
static void refuse_value(McpServer *server, const McpInbound *in, Span name, Span value,
                         const char *what, Span body)
{
    name = cut(name, HEADER_NAME_BYTES);
    value = cut(value, MCP_NAME_BYTES);
    body = cut(body, MCP_NAME_BYTES);
    mcp_refuse_format(server, in, MCP_ERROR_HEADER_MISMATCH,
                      "Header mismatch: %.*s header value '%.*s' %s '%.*s'", (int)name.n, name.p,
                      (int)value.n, value.p, what, (int)body.n, body.p);
}

static void refuse_count(McpServer *server, const McpInbound *in, Span name, size_t n, Span body)
{
    name = cut(name, HEADER_NAME_BYTES);
    body = cut(body, MCP_NAME_BYTES);
    mcp_refuse_format(server, in, MCP_ERROR_HEADER_MISMATCH,
                      "Header mismatch: %.*s header is %s, body value is '%.*s'", (int)name.n,
                      name.p, n == 0 ? "missing" : "there more than once", (int)body.n, body.p);
}

/* The value of the one header of that name. body: what it should be, for the refusal. */
static bool take_header(McpServer *server, const McpInbound *in, Span name, Span body, Span *ret)
{
    Span value = SPAN_NULL;
    size_t n = http1_head_find(server->from.head, name, &value);

    if (n != 1) {
        refuse_count(server, in, name, n, body);
        return false;
    }
    /* Visible ASCII, space and tab: what else a reader of headers makes of it is not known. */
    if (!http1_scan_is_plain(value)) {
        refuse_value(server, in, name, value, "has invalid characters, body value is", body);
        return false;
    }
    *ret = value;
    return true;
}

/* A header that is never encoded. */
static bool check_text(McpServer *server, const McpInbound *in, Span name, Span body)
{
    Span value;

    if (!take_header(server, in, name, body, &value)) {
        return false;
    }
    if (!span_equals(value, body)) {
        refuse_value(server, in, name, value, "does not match body value", body);
        return false;
    }
    return true;
}

/* "=?base64?…?=" decoded into *room, which the caller frees; anything else is itself. 0, -ENOMEM,
 * BASE64_E_SYNTAX. */
static int decode(Span value, Bytes *room, Span *ret)
{
    Span open = SPAN("=?base64?");
    Span close = SPAN("?=");
    int r;

    if (value.n < open.n + close.n || !span_starts_with(value, open) ||
        !span_ends_with(value, close)) {
        *ret = value;
        return 0;
    }
    r = base64_decode(room, BASE64_STANDARD,
                      span_make(value.p + open.n, value.n - open.n - close.n));
    if (r != 0) {
        return r < 0 ? err_pass(r) : BASE64_E_SYNTAX;
    }
    *ret = bytes_span(room);
    return 0;
}

/* By value: 42 and 42.0 are the same. 0, -ENOMEM, VALUE_E_*. */
static int compare_integer(Span value, JsonValue body, Arena *arena)
{
    JsonDoc doc;
    int64_t a;
    int64_t b;
    int r;

    if (json_int64(body, &b) != 0 || b > MAX_INTEGER || b < -MAX_INTEGER) {
        return VALUE_E_RANGE;
    }
    r = json_parse(&doc, arena, value.p, value.n, NULL, NULL);
    if (r < 0) {
        return err_pass(r);
    }
    /* No blanks around it: those that a header may have are gone already. */
    if (r > 0 || json_span(json_root(&doc)).n != value.n || json_int64(json_root(&doc), &a) != 0) {
        return VALUE_E_DIFFERENT;
    }
    return a == b ? 0 : VALUE_E_DIFFERENT;
}

static int compare_value(Span value, JsonValue body, Arena *arena)
{
    bool is_same = false;

    switch (json_kind(body)) {
    case JSON_STRING:
        is_same = json_string_equals(body, value);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        is_same = span_equals(json_span(body), value);
        break;
    case JSON_NUMBER:
        return compare_integer(value, body, arena);
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return is_same ? 0 : VALUE_E_DIFFERENT;
}

/* As the message has it, but without quotes. */
static Span shown(JsonValue body)
{
    Span text = json_span(body);

    return json_kind(body) == JSON_STRING ? span_make(text.p + 1, text.n - 2) : text;
}

/* A header that may be encoded, against a member of the message. Uses scratch. */
static bool check_value(McpServer *server, const McpInbound *in, Span name, JsonValue body)
{
    CLEANUP(bytes_deinit) Bytes room = BYTES_NULL;
    Span value;
    Span plain = SPAN_NULL;
    int r;

    if (!take_header(server, in, name, shown(body), &value)) {
        return false;
    }
    bytes_init(&room, value.n);
    r = decode(value, &room, &plain);
    if (r == BASE64_E_SYNTAX) {
        refuse_value(server, in, name, value, "is not base64, body value is", shown(body));
        return false;
    }
    if (r == 0) {
        r = compare_value(plain, body, &server->scratch);
    }
    if (r < 0) {
        mcp_server_fail(server, r);
    } else if (r == VALUE_E_RANGE) {
        refuse_value(server, in, name, value, "cannot stand for body value", shown(body));
    } else if (r == VALUE_E_DIFFERENT) {
        refuse_value(server, in, name, value, "does not match body value", shown(body));
    }
    return r == 0;
}

/* The member of params that Mcp-Name repeats; node NULL if the method has none. */
static JsonValue named_by(const McpInbound *in)
{
    Span method = in->message->method;

    if (span_equals(method, SPAN("tools/call")) || span_equals(method, SPAN("prompts/get"))) {
        return in->known.name;
    }
    if (span_equals(method, SPAN("resources/read"))) {
        return in->known.uri;
    }
    if (span_equals(method, SPAN("tasks/get")) || span_equals(method, SPAN("tasks/update")) ||
        span_equals(method, SPAN("tasks/cancel"))) {
        return in->known.task_id;
    }
    return JSON_VALUE_NULL;
}

/* What is missing in params, or is no string, is refused with them. */
static bool check_name(McpServer *server, const McpInbound *in)
{
    JsonValue body = named_by(in);

    return body.node == NULL || json_kind(body) != JSON_STRING ||
           check_value(server, in, SPAN("Mcp-Name"), body);
}

static bool check_param(McpServer *server, const McpInbound *in, const McpParamHeader *header)
{
    Span value = SPAN_NULL;

    if (header->value.node != NULL && json_kind(header->value) != JSON_NULL) {
        return check_value(server, in, header->name, header->value);
    }
    if (http1_head_find(server->from.head, header->name, &value) == 0) {
        return true;
    }
    refuse_value(server, in, header->name, value, "does not match body value",
                 header->value.node == NULL ? SPAN("(none)") : SPAN("null"));
    return false;
}

/* tool: its description. Uses scratch. */
static bool check_params_of(McpServer *server, const McpInbound *in, Span tool)
{
    McpParamHeader *headers = NULL;
    size_t n_headers = 0;
    JsonValue schema;
    JsonDoc doc;
    int r = json_parse(&doc, &server->scratch, tool.p, tool.n, NULL, NULL);

    if (r > 0) {
        /* What it wants cannot be known, and to overlook it would be to let everything pass. */
        mcp_refuse(server, in, MCP_ERROR_INTERNAL, "the description of the tool cannot be read");
        return false;
    }
    if (r == 0 && json_get(json_root(&doc), SPAN("inputSchema"), &schema)) {
        r = mcp_param_headers(schema, in->known.arguments, &server->scratch, &headers, &n_headers);
    }
    if (r != 0) {
        mcp_server_fail(server, err_fold(r));
        return false;
    }
    for (size_t i = 0; i < n_headers; i++) {
        if (!check_param(server, in, &headers[i])) {
            return false;
        }
    }
    return true;
}

/* Nearly no description has the word, and those that have not need no reading. */
static bool has_word(Span text, Span word)
{
    const char *at;

    while (text.n >= word.n && (at = memchr(text.p, word.p[0], text.n - word.n + 1)) != NULL) {
        if (memcmp(at, word.p, word.n) == 0) {
            return true;
        }
        text = span_make(at + 1, text.n - (size_t)(at - text.p) - 1);
    }
    return false;
}

static bool check_params(McpServer *server, const McpInbound *in)
{
    const McpFrom *from = &server->from;
    bool is_sound = true;
    Span name;
    Span tool;
    int r;

    if (from->tool == NULL || !span_equals(in->message->method, SPAN("tools/call")) ||
        in->known.name.node == NULL || json_kind(in->known.name) != JSON_STRING) {
        return true;
    }
    r = json_string_exact(in->known.name, &server->arena, &name);
    if (r != 0) {
        mcp_server_fail(server, err_fold(r));
        return false;
    }
    tool = from->tool(from->context, name);
    if (has_word(tool, SPAN("x-mcp-header"))) {
        is_sound = check_params_of(server, in, tool);
    }
    return is_sound;
}

static bool check_modern(McpServer *server, const McpInbound *in)
{
    JsonValue version;
    bool is_sound;
    Span text;
    int r;

    /* Refused, whatever the headers say: a batch has no method, and no name. And so is a version
     * that is no string. */
    if (in->batch != NULL ||
        !json_get(in->known.meta, SPAN("io.modelcontextprotocol/protocolVersion"), &version) ||
        json_kind(version) != JSON_STRING) {
        return true;
    }
    r = json_string(version, &server->arena, &text);
    if (r != 0) {
        mcp_server_fail(server, err_fold(r));
        return false;
    }
    if (!check_text(server, in, version_header, text)) {
        return false;
    }
    if (!span_equals(text, mcp_revision_text(MCP_FIRST_MODERN))) {
        return true;
    }
    is_sound = check_text(server, in, SPAN("Mcp-Method"), in->message->method) &&
               check_name(server, in) && check_params(server, in);
    arena_reset(&server->scratch, LIMIT_KEEP_BYTES);
    return is_sound;
}

static void refuse_version(McpServer *server, const McpInbound *in, Span value)
{
    char versions[16 * MCP_N_REVISIONS];
    size_t n = 0;

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        n += (size_t)snprintf(versions + n, sizeof(versions) - n, "%s%s", i == 0 ? "" : ", ",
                              mcp_revision_text((McpRevision)i).p);
    }
    value = cut(value, MCP_NAME_BYTES);
    mcp_refuse_format(server, in, MCP_ERROR_INVALID_REQUEST,
                      "MCP-Protocol-Version '%.*s' is not supported; supported are %s",
                      (int)value.n, value.p, versions);
}

static bool check_legacy(McpServer *server, const McpInbound *in)
{
    Span value = SPAN_NULL;
    size_t n = http1_head_find(server->from.head, version_header, &value);
    McpRevision revision;

    if (n == 0) {
        return true;
    }
    if (n > 1) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_REQUEST,
                   "the MCP-Protocol-Version header is there more than once");
        return false;
    }
    if (!mcp_revision_parse(value, &revision)) {
        /* initialize is how a version is agreed on that both know; what it offers is in its body.
         */
        if (span_equals(in->message->method, SPAN("initialize"))) {
            return true;
        }
        refuse_version(server, in, value);
        return false;
    }
    if (revision >= MCP_FIRST_MODERN) {
        mcp_refuse_format(server, in, MCP_ERROR_INVALID_PARAMS,
                          "%s is missing, and MCP-Protocol-Version is %s",
                          MCP_META_PATH("protocolVersion"), mcp_revision_text(revision).p);
        return false;
    }
    return true;
}

bool mcp_check_notification_headers(McpServer *server, const JsonrpcMessage *message)
{
    McpInbound in = {.message = message, .revision = MCP_FIRST_MODERN};
    JsonValue meta = JSON_VALUE_NULL;
    JsonValue version;
    Span value = SPAN_NULL;
    Span text;
    McpRevision revision;
    bool is_modern = http1_head_find(server->from.head, version_header, &value) > 0 &&
                     mcp_revision_parse(value, &revision) && revision >= MCP_FIRST_MODERN;

    if (message->params.node != NULL && json_kind(message->params) == JSON_OBJECT &&
        json_get(message->params, SPAN("_meta"), &meta) && json_kind(meta) == JSON_OBJECT &&
        json_get(meta, SPAN("io.modelcontextprotocol/protocolVersion"), &version) &&
        json_kind(version) == JSON_STRING) {
        int r = json_string(version, &server->arena, &text);

        if (r != 0) {
            mcp_server_fail(server, err_fold(r));
            return false;
        }
        is_modern = true;
        if (!check_text(server, &in, version_header, text)) {
            return false;
        }
    }
    return !is_modern || http1_head_find(server->from.head, SPAN("Mcp-Method"), NULL) == 0 ||
           check_text(server, &in, SPAN("Mcp-Method"), message->method);
}

bool mcp_check_headers(McpServer *server, const McpInbound *in)
{
    return in->revision >= MCP_FIRST_MODERN ? check_modern(server, in) : check_legacy(server, in);
}
