/* The HTTP request of an exchange. */
#include "dialect/mcp/http_client_internal.h"

#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/header_value.h"
#include "dialect/mcp/param_headers.h"

/* Those that are ours, apart from Mcp-Param-*: no request has more. */
#define BEGIN_MAX_FIELDS 8

typedef struct Head {
    McpHttpField *fields;
    size_t n;
    size_t max;
} Head;

static void put(Head *head, Span name, Span value)
{
    if (value.p != NULL && head->n < head->max) {
        head->fields[head->n++] = (McpHttpField){name, value};
    }
}

/* A text in the form that a header has. 0, -ENOMEM. */
static int put_text(McpHttpClient *http, Head *head, Span name, JsonValue value)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    Span copy;
    int r;

    bytes_init(&text, SIZE_MAX);
    r = mcp_header_value(&text, value);
    if (r == MCP_HEADER_E_NONE) {
        return 0;
    }
    copy = r == 0 ? arena_copy(&http->fields, bytes_span(&text)) : SPAN_NULL;
    if (copy.p == NULL) {
        return err_raise(-ENOMEM);
    }
    put(head, name, copy);
    return 0;
}

/* Which member of params Mcp-Name repeats. */
static Span name_member(JsonValue method)
{
    static const struct {
        Span method;
        Span member;
    } names[] = {
        {SPAN_INIT("tools/call"), SPAN_INIT("name")},
        {SPAN_INIT("prompts/get"), SPAN_INIT("name")},
        {SPAN_INIT("resources/read"), SPAN_INIT("uri")},
        {SPAN_INIT("tasks/get"), SPAN_INIT("taskId")},
        {SPAN_INIT("tasks/update"), SPAN_INIT("taskId")},
        {SPAN_INIT("tasks/cancel"), SPAN_INIT("taskId")},
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        if (json_string_equals(method, names[i].method)) {
            return names[i].member;
        }
    }
    return SPAN_NULL;
}

/* The arguments that the schema of the tool wants in headers. 0, -ENOMEM. */
static int find_params(McpHttpClient *http, JsonValue params, McpParamHeader **ret, size_t *ret_n)
{
    const HttpTool *tool;
    JsonValue name;
    JsonValue arguments = JSON_VALUE_NULL;
    JsonDoc schema;
    Span text;
    int r;

    if (!json_get(params, SPAN("name"), &name) || json_kind(name) != JSON_STRING) {
        return 0;
    }
    r = json_string(name, &http->fields, &text);
    if (r != 0) {
        return err_fold(r);
    }
    tool = http_tool_find(http, text);
    if (tool == NULL) {
        return 0;
    }
    (void)json_get(params, SPAN("arguments"), &arguments);
    r = json_parse(&schema, &http->fields, tool->data + tool->n_name, tool->n_schema, NULL, NULL);
    if (r == 0) {
        r = mcp_param_headers(json_root(&schema), arguments, &http->fields, ret, ret_n);
    }
    return err_fold(r);
}

static int head_alloc(McpHttpClient *http, Head *head, size_t n_params)
{
    head->max = BEGIN_MAX_FIELDS + n_params + http->config.n_fields;
    head->fields = arena_alloc_array(&http->fields, head->max, sizeof(*head->fields));
    return head->fields == NULL ? err_raise(-ENOMEM) : 0;
}

/* What a modern request says in its head, too. 0, -ENOMEM. */
static int put_modern(McpHttpClient *http, const McpHttpExchange *exchange, Head *head)
{
    McpParamHeader *params_found = NULL;
    size_t n_found = 0;
    JsonValue method = JSON_VALUE_NULL;
    JsonValue params = JSON_VALUE_NULL;
    JsonValue name;
    JsonDoc doc;
    Span member;
    int r = json_parse(&doc, &http->fields, exchange->body.data, exchange->body.n, NULL, NULL);

    if (r != 0) {
        return err_fold(r);
    }
    (void)json_get(json_root(&doc), SPAN("method"), &method);
    (void)json_get(json_root(&doc), SPAN("params"), &params);
    if (json_string_equals(method, SPAN("tools/call"))) {
        r = find_params(http, params, &params_found, &n_found);
    }
    r = r != 0 ? r : head_alloc(http, head, n_found);
    if (r != 0) {
        return err_pass(r);
    }
    put(head, SPAN("MCP-Protocol-Version"), mcp_revision_text(MCP_2026_07_28));
    r = put_text(http, head, SPAN("Mcp-Method"), method);
    member = name_member(method);
    if (r == 0 && member.n > 0 && json_get(params, member, &name)) {
        r = put_text(http, head, SPAN("Mcp-Name"), name);
    }
    for (size_t i = 0; r == 0 && i < n_found; i++) {
        if (params_found[i].value.node != NULL) {
            r = put_text(http, head, params_found[i].name, params_found[i].value);
        }
    }
    return r;
}

static int put_legacy(McpHttpClient *http, const McpHttpExchange *exchange, Head *head)
{
    int r = head_alloc(http, head, 0);

    if (r != 0) {
        return err_pass(r);
    }
    /* The one that begins a session knows neither. */
    if (exchange->word != HTTP_WORD_INITIALIZE) {
        put(head, SPAN("MCP-Protocol-Version"), http->version);
        if (http->session_id.n > 0) {
            put(head, SPAN("Mcp-Session-Id"), bytes_span(&http->session_id));
        }
    }
    return 0;
}

static const char *method_of(const McpHttpExchange *exchange)
{
    if (exchange->kind == HTTP_LEAVE) {
        return "DELETE";
    }
    return exchange->kind == HTTP_STREAM || exchange->is_resumed ? "GET" : "POST";
}

int http_client_begin(McpHttpClient *http, McpHttpExchange *exchange, McpHttpClientEvent *ret)
{
    const char *method = method_of(exchange);
    bool is_post = method[0] == 'P';
    bool is_old_post = http->is_old && is_post && !exchange->is_modern;
    Head head = {.fields = NULL};
    int r;

    arena_reset(&http->fields, LIMIT_KEEP_BYTES);
    r = exchange->is_modern ? put_modern(http, exchange, &head) : put_legacy(http, exchange, &head);
    if (r != 0) {
        return err_pass(r);
    }
    if (is_post) {
        put(&head, SPAN("Content-Type"), SPAN("application/json"));
        put(&head, SPAN("Accept"), SPAN("application/json, text/event-stream"));
    } else if (method[0] == 'G') {
        put(&head, SPAN("Accept"), SPAN("text/event-stream"));
        if (exchange->last_id.n > 0) {
            put(&head, SPAN("Last-Event-ID"), bytes_span(&exchange->last_id));
        }
    }
    for (size_t i = 0; i < http->config.n_fields; i++) {
        put(&head, http->config.fields[i].name, http->config.fields[i].value);
    }
    http_exchange_reset(exchange);
    exchange->generation = http->generation;
    if (exchange->kind == HTTP_NOTE || exchange->kind == HTTP_LEAVE) {
        exchange->due_ms = http->now_ms + HTTP_NOTE_MS;
    }
    http_exchange_set_state(http, exchange, EXCHANGE_OPEN);
    ret->kind = MCP_HTTP_CLIENT_BEGIN;
    ret->method = method;
    ret->url = is_old_post ? http->endpoint.data : http->url.data;
    ret->fields = head.fields;
    ret->n_fields = head.n;
    ret->body = is_post ? bytes_span(&exchange->body) : SPAN_NULL;
    return 0;
}
