/* Heads, bodies and ends of answers, as they come. */
#include "dialect/mcp/http_client_internal.h"

#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "dialect/mcp/http_url.h"

/* Of the driver's words about an end. */
#define WORDS_MAX 160

/* The type without its parameters. */
static bool is_type(Span content_type, Span type)
{
    size_t n = 0;

    while (n < content_type.n && content_type.p[n] != ';') {
        n++;
    }
    return text_equals_nocase(text_trim(span_make(content_type.p, n)), type);
}

static bool is_visible(Span id)
{
    for (size_t i = 0; i < id.n; i++) {
        if (id.p[i] < 0x21 || id.p[i] > 0x7e) {
            return false;
        }
    }
    return id.n > 0;
}

/* The answer to `initialize` begins a session, with an id or without. 0, -ENOMEM. */
static int begin_session(McpHttpClient *http, Span session_id)
{
    int r = 0;

    http->generation++;
    bytes_clear(&http->session_id);
    if (session_id.n > 0 && is_visible(session_id)) {
        r = bytes_append_span(&http->session_id, session_id);
    }
    if (r > 0 || (session_id.n > 0 && !is_visible(session_id))) {
        http_client_fail(http, "the server's session id is %s",
                         r > 0 ? "too long" : "not of visible ASCII characters");
    }
    return r < 0 ? err_pass(r) : 0;
}

/* Where a redirection leads; nowhere if that is another server. 0, -ENOMEM. */
static int read_location(McpHttpClient *http, McpHttpExchange *exchange, Span location)
{
    int r = http_url_resolve(&exchange->location, span_from_str(http->url.data), location);

    return r < 0 ? err_pass(r) : 0;
}

static HttpBody body_kind_of(const McpHttpExchange *exchange, const McpHttpHead *head)
{
    bool is_good = head->status >= 200 && head->status < 300;

    if (exchange->kind == HTTP_NOTE && is_good) {
        return HTTP_BODY_NONE;
    }
    if (is_good && is_type(head->content_type, SPAN("text/event-stream"))) {
        return HTTP_BODY_EVENTS;
    }
    return !is_good || is_type(head->content_type, SPAN("application/json")) ? HTTP_BODY_TEXT
                                                                             : HTTP_BODY_NONE;
}

int mcp_http_client_head(McpHttpClient *http, McpHttpExchange *exchange, const McpHttpHead *head,
                         int64_t now_ms)
{
    bool is_good = head->status >= 200 && head->status < 300;
    int r = 0;

    http->now_ms = now_ms;
    if (exchange->state != EXCHANGE_OPEN || exchange->has_ended) {
        return 0;
    }
    exchange->status = head->status;
    exchange->body_kind = body_kind_of(exchange, head);
    if (exchange->body_kind == HTTP_BODY_NONE) {
        Span type = head->content_type;

        (void)snprintf(exchange->words, sizeof(exchange->words),
                       "the server's answer is of the type '%.*s'",
                       (int)(type.n < 80 ? type.n : 80), type.p);
    }
    if (http_is_redirect(head->status)) {
        r = read_location(http, exchange, head->location);
    } else if (is_good && exchange->word == HTTP_WORD_INITIALIZE && !http->is_old) {
        r = begin_session(http, head->session_id);
    } else if (is_good && exchange->kind == HTTP_REQUEST && !exchange->is_resumed) {
        http->is_unproved = false;
    }
    return err_pass(r);
}

int mcp_http_client_data(McpHttpClient *http, McpHttpExchange *exchange, Span bytes, int64_t now_ms)
{
    bool is_good = exchange->status >= 200 && exchange->status < 300;
    int r = 0;

    http->now_ms = now_ms;
    if (exchange->state != EXCHANGE_OPEN || exchange->has_ended) {
        return 0;
    }
    if (exchange->body_kind == HTTP_BODY_EVENTS) {
        r = sse_reader_feed(&exchange->reader, bytes.p, bytes.n);
    } else if (exchange->body_kind == HTTP_BODY_TEXT &&
               (is_good || exchange->text.n + bytes.n <= HTTP_REFUSAL_BYTES)) {
        r = bytes_append_span(&exchange->text, bytes);
    }
    if (r > 0) {
        http_exchange_cut(exchange, MCP_HTTP_END_TOO_LARGE);
    }
    http_exchange_move(exchange);
    http_exchange_queue(http, exchange);
    return r < 0 ? err_pass(r) : 0;
}

int mcp_http_client_end(McpHttpClient *http, McpHttpExchange *exchange, McpHttpEnd end, Span words,
                        int64_t now_ms)
{
    http->now_ms = now_ms;
    if (exchange->state == EXCHANGE_CLOSING) {
        http_exchange_set_state(http, exchange, EXCHANGE_GONE); /* CLOSE need not be said */
        return 0;
    }
    if (exchange->state != EXCHANGE_OPEN || exchange->has_ended) {
        return 0;
    }
    exchange->has_ended = true;
    exchange->end = end;
    if (end != MCP_HTTP_END_DONE && words.n > 0) {
        (void)snprintf(exchange->words, sizeof(exchange->words), "%.*s",
                       (int)(words.n < WORDS_MAX ? words.n : WORDS_MAX), words.p);
    }
    http_exchange_move(exchange);
    http_exchange_queue(http, exchange);
    return 0;
}
