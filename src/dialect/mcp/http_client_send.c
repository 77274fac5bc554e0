/* Messages of the session, and when they may go. */
#include "dialect/mcp/http_client_internal.h"

#include "base/error.h"
#include "base/limits.h"

#define META_VERSION SPAN("io.modelcontextprotocol/protocolVersion")

static HttpWord word_of(JsonValue method)
{
    static const struct {
        Span name;
        HttpWord word;
    } words[] = {
        {SPAN_INIT("server/discover"), HTTP_WORD_DISCOVER},
        {SPAN_INIT("initialize"), HTTP_WORD_INITIALIZE},
        {SPAN_INIT("notifications/initialized"), HTTP_WORD_INITIALIZED},
        {SPAN_INIT("tools/list"), HTTP_WORD_TOOLS_LIST},
        {SPAN_INIT("notifications/cancelled"), HTTP_WORD_CANCELLED},
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
        if (json_string_equals(method, words[i].name)) {
            return words[i].word;
        }
    }
    return HTTP_WORD_OTHER;
}

static bool names_version(JsonValue message)
{
    JsonValue params;
    JsonValue meta;
    JsonValue version;

    return json_get(message, SPAN("params"), &params) && json_get(params, SPAN("_meta"), &meta) &&
           json_get(meta, META_VERSION, &version);
}

static bool may_go(const McpHttpClient *http, const McpHttpExchange *exchange)
{
    bool opens = exchange->word == HTTP_WORD_INITIALIZE || exchange->word == HTTP_WORD_INITIALIZED;

    if (http->is_old && !exchange->is_modern && http->endpoint.n == 0) {
        return false;
    }
    if (opens) {
        return true;
    }
    return !http->is_gated &&
           (exchange->kind != HTTP_REQUEST || http->n_under_way < http->config.max_streams);
}

void http_client_start_waiting(McpHttpClient *http)
{
    for (McpHttpExchange *exchange = http->first; http->n_waiting > 0 && exchange != NULL;
         exchange = exchange->next) {
        if (exchange->state == EXCHANGE_WAITING && may_go(http, exchange)) {
            http_exchange_set_state(http, exchange, EXCHANGE_DUE);
        }
    }
}

static int open_stream(McpHttpClient *http)
{
    McpHttpExchange *stream;
    int r = http_exchange_new(http, HTTP_STREAM, &stream);

    if (r == 0) {
        http_exchange_set_state(http, stream, EXCHANGE_DUE);
    }
    return err_pass(r);
}

int http_client_open_gate(McpHttpClient *http)
{
    int r = 0;

    if (http->is_gated && !http->is_old && !http->is_closed) {
        r = open_stream(http);
    }
    http->is_gated = false;
    http->is_renewing = false;
    http_client_start_waiting(http);
    return err_pass(r);
}

int http_client_begin_old(McpHttpClient *http)
{
    http->is_old = true;
    return open_stream(http);
}

static McpHttpExchange *find_request(const McpHttpClient *http, uint64_t wire_id)
{
    McpHttpExchange *exchange = http->first;

    while (exchange != NULL && (exchange->kind != HTTP_REQUEST || exchange->wire_id != wire_id)) {
        exchange = exchange->next;
    }
    return exchange;
}

/* notifications/cancelled. True: there is nothing to be sent. */
static bool take_back(McpHttpClient *http, JsonValue message)
{
    McpHttpExchange *exchange = NULL;
    JsonValue params;
    JsonValue id;
    uint64_t number;
    bool was_sent;

    if (json_get(message, SPAN("params"), &params) && json_get(params, SPAN("requestId"), &id) &&
        json_uint64(id, &number) == 0) {
        exchange = find_request(http, number);
    }
    if (exchange == NULL) {
        return true;
    }
    was_sent = exchange->state != EXCHANGE_WAITING && exchange->state != EXCHANGE_DUE &&
               !exchange->is_modern;
    http_exchange_drop(http, exchange);
    return !was_sent;
}

/* 0, -ENOMEM. */
static int send_as(McpHttpClient *http, HttpExchangeKind kind, HttpWord word, JsonValue message,
                   JsonValue id)
{
    McpHttpExchange *exchange;
    int r = http_exchange_new(http, kind, &exchange);

    if (r != 0) {
        return err_pass(r);
    }
    exchange->word = word;
    if (kind == HTTP_REQUEST) {
        (void)json_uint64(id, &exchange->wire_id);
        exchange->is_modern = names_version(message);
    }
    r = bytes_append_span(&exchange->body, json_span(message));
    if (r != 0) {
        http_exchange_remove(http, exchange);
        return err_fold(r);
    }
    http->n_bytes += exchange->body.n;
    if (word == HTTP_WORD_INITIALIZE && http->is_old && http->endpoint.n == 0) {
        r = http_client_begin_old(http);
    }
    /* Others of the session wait until the server knows that it has begun. */
    http->is_gated = http->is_gated || word == HTTP_WORD_INITIALIZED;
    return err_pass(r);
}

int mcp_http_client_send(McpHttpClient *http, Span message, int64_t now_ms)
{
    HttpWord word = HTTP_WORD_OTHER;
    JsonValue method;
    JsonValue id = JSON_VALUE_NULL;
    JsonDoc doc;
    JsonValue root;
    bool is_request;
    int r;

    http->now_ms = now_ms;
    if (http->has_failed || http->is_closed) {
        return 0;
    }
    if (message.n > LIMIT_OUTPUT_BYTES - http->n_bytes) {
        return MCP_HTTP_CLIENT_E_FULL;
    }
    arena_reset(&http->sending, LIMIT_KEEP_BYTES);
    r = json_parse(&doc, &http->sending, message.p, message.n, NULL, NULL);
    if (r != 0) {
        return err_fold(r); /* the session's own words */
    }
    root = json_root(&doc);
    is_request = json_get(root, SPAN("method"), &method) && json_get(root, SPAN("id"), &id);
    if (json_get(root, SPAN("method"), &method)) {
        word = word_of(method);
    }
    if (word == HTTP_WORD_CANCELLED && take_back(http, root)) {
        http_client_start_waiting(http);
        return 0;
    }
    r = send_as(http, is_request ? HTTP_REQUEST : HTTP_NOTE, word, root, id);
    http_client_start_waiting(http);
    return err_pass(r);
}
