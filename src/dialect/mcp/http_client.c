#include "dialect/mcp/http_client.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "dialect/mcp/http_client_internal.h"
#include "frame/http1_scan.h"

/* ---- beginning and end ---- */

const char *mcp_http_client_field_flaw(const McpHttpField *field)
{
    static const char *const ours[] = {
        "accept",  "connection", "content-length", "content-type", "dpop",    "expect",
        "host",    "keep-alive", "last-event-id",  "te",           "trailer", "transfer-encoding",
        "upgrade",
    };

    if (!http1_scan_is_token(field->name)) {
        return "is not the name of a header";
    }
    if (field->name.n >= 4 && text_equals_nocase(span_make(field->name.p, 4), SPAN("mcp-"))) {
        return "is a header of MCP itself";
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(ours); i++) {
        if (text_equals_nocase(field->name, span_from_str(ours[i]))) {
            return "is a header that the protocol sets";
        }
    }
    return http1_scan_is_value(field->value) ? NULL : "has a value that no header can have";
}

static int http_copy_config(McpHttpClient *http, const McpHttpClientConfig *config)
{
    McpHttpField *fields = arena_alloc_array(&http->strings, config->n_fields + 1, sizeof(*fields));
    int r = bytes_append_span(&http->url, config->url);

    r = r != 0 ? r : bytes_append_byte(&http->url, '\0');
    if (r != 0 || fields == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < config->n_fields; i++) {
        fields[i].name = arena_copy(&http->strings, config->fields[i].name);
        fields[i].value = arena_copy(&http->strings, config->fields[i].value);
        if (fields[i].name.p == NULL || fields[i].value.p == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    http->config.fields = fields;
    http->config.url = SPAN_NULL; /* http->url */
    return 0;
}

int mcp_http_client_new(McpHttpClient **ret, const McpHttpClientConfig *config)
{
    McpHttpClient *http = mem_alloc_array(1, sizeof(*http));
    int r;

    if (http == NULL) {
        return err_raise(-ENOMEM);
    }
    http->config = *config;
    if (http->config.max_message_bytes == 0) {
        http->config.max_message_bytes = LIMIT_MCP_RESPONSE_BYTES;
    }
    if (http->config.max_streams == 0) {
        http->config.max_streams = LIMIT_MCP_HTTP_CLIENT_STREAMS;
    }
    http->is_old = config->is_old;
    arena_init(&http->strings, SIZE_MAX);
    arena_init(&http->arena, SIZE_MAX);
    arena_init(&http->fields, SIZE_MAX);
    arena_init(&http->sending, SIZE_MAX);
    bytes_init(&http->url, SIZE_MAX);
    bytes_init(&http->endpoint, SIZE_MAX);
    bytes_init(&http->session_id, HTTP_ID_BYTES);
    bytes_init(&http->rewritten, SIZE_MAX);
    r = http_copy_config(http, config);
    if (r != 0) {
        (void)mcp_http_client_free(http);
        return err_pass(r);
    }
    *ret = http;
    return 0;
}

McpHttpClient *mcp_http_client_free(McpHttpClient *http)
{
    if (http == NULL) {
        return NULL;
    }
    while (http->first != NULL) {
        http_exchange_remove(http, http->first);
    }
    http_tools_clear(http);
    arena_deinit(&http->strings);
    arena_deinit(&http->arena);
    arena_deinit(&http->fields);
    arena_deinit(&http->sending);
    bytes_deinit(&http->url);
    bytes_deinit(&http->endpoint);
    bytes_deinit(&http->session_id);
    bytes_deinit(&http->rewritten);
    return mem_free(http);
}

void http_client_fail(McpHttpClient *http, const char *format, ...)
{
    va_list words;

    if (http->has_failed) {
        return;
    }
    http->has_failed = true;
    va_start(words, format);
    (void)vsnprintf(http->failure, sizeof(http->failure), format, words);
    va_end(words);
}

void http_client_note(McpHttpClient *http, const char *format, ...)
{
    va_list words;

    http->has_note = true;
    va_start(words, format);
    (void)vsnprintf(http->note, sizeof(http->note), format, words);
    va_end(words);
}

static void http_drop_all(McpHttpClient *http)
{
    McpHttpExchange *next;

    for (McpHttpExchange *exchange = http->first; exchange != NULL; exchange = next) {
        next = exchange->next;
        http_exchange_drop(http, exchange);
    }
}

void mcp_http_client_close(McpHttpClient *http, int64_t now_ms)
{
    McpHttpExchange *leave;

    if (http->is_closed) {
        return;
    }
    http->now_ms = now_ms;
    http->is_closed = true;
    http_drop_all(http);
    if (http->session_id.n > 0 && !http->is_old &&
        http_exchange_new(http, HTTP_LEAVE, &leave) == 0) {
        http_exchange_set_state(http, leave, EXCHANGE_DUE);
    }
}

void mcp_http_client_abandon(McpHttpClient *http)
{
    http->is_closed = true;
    http->has_failed = true;
    http->said_failed = true;
    http->has_note = false;
    http->must_renew = false;
    http_drop_all(http);
}

bool mcp_http_client_is_closed(const McpHttpClient *http)
{
    return http->is_closed && http->first == NULL;
}

bool mcp_http_client_is_old(const McpHttpClient *http)
{
    return http->is_old;
}

/* ---- time ---- */

int64_t mcp_http_client_next_deadline(const McpHttpClient *http)
{
    int64_t at_ms = INT64_MAX;

    for (const McpHttpExchange *exchange = http->first; exchange != NULL;
         exchange = exchange->next) {
        if (exchange->due_ms < at_ms) {
            at_ms = exchange->due_ms;
        }
    }
    return at_ms;
}

static void http_expire(McpHttpClient *http, McpHttpExchange *exchange)
{
    bool is_opening = exchange->word == HTTP_WORD_INITIALIZED;

    exchange->due_ms = INT64_MAX;
    if (exchange->state == EXCHANGE_RESTING) {
        http_exchange_set_state(http, exchange, EXCHANGE_DUE);
        return;
    }
    http_exchange_drop(http, exchange);
    if (is_opening && http_client_open_gate(http) != 0) {
        http_client_fail(http, "out of memory");
    }
}

void mcp_http_client_advance(McpHttpClient *http, int64_t now_ms)
{
    McpHttpExchange *next;

    http->now_ms = now_ms;
    for (McpHttpExchange *exchange = http->first; exchange != NULL; exchange = next) {
        next = exchange->next;
        if (now_ms >= exchange->due_ms) {
            http_expire(http, exchange);
        }
    }
    http_client_start_waiting(http);
}

/* ---- what is to be said ---- */

/* As sse_reader_next. An event that has cost no bytes is no move. */
static int exchange_next_event(McpHttpExchange *exchange, SseEvent *ret)
{
    size_t n_unread = inq_unread(&exchange->reader.in).n;
    int r = sse_reader_next(&exchange->reader, ret);

    if (inq_unread(&exchange->reader.in).n < n_unread) {
        http_exchange_move(exchange);
    }
    return r;
}

/* The next event of a stream that is a message. 0, -ENOMEM. */
static int exchange_read(McpHttpClient *http, McpHttpExchange *exchange, McpHttpClientEvent *ret,
                         bool *ret_any)
{
    SseEvent event;
    int r = 0;

    while (!*ret_any && exchange->body_kind == HTTP_BODY_EVENTS &&
           (r = exchange_next_event(exchange, &event)) == 0) {
        exchange->n_fruitless = 0;
        r = http_client_take_event(http, exchange, &event, &ret->text, ret_any);
        if (r != 0) {
            return err_pass(r);
        }
    }
    if (r == SSE_E_TOO_LARGE && !exchange->has_ended) {
        http_exchange_cut(exchange, MCP_HTTP_END_TOO_LARGE);
    }
    return r < 0 ? err_pass(r) : 0;
}

static void exchange_say_close(McpHttpExchange *exchange, McpHttpClientEvent *ret, bool *ret_any)
{
    exchange->must_close = false;
    http_exchange_move(exchange);
    ret->kind = MCP_HTTP_CLIENT_CLOSE;
    *ret_any = true;
}

static int exchange_next_open(McpHttpClient *http, McpHttpExchange *exchange,
                              McpHttpClientEvent *ret, bool *ret_any)
{
    int r = exchange_read(http, exchange, ret, ret_any);

    if (r != 0 || *ret_any) {
        return r;
    }
    if (exchange->must_close) {
        exchange_say_close(exchange, ret, ret_any);
        return 0;
    }
    return exchange->has_ended ? http_client_finish(http, exchange, &ret->text, ret_any) : 0;
}

/* What an exchange that is not in the queue has to say; it may be gone afterwards, unless *ret_any.
 * 0, -ENOMEM. */
static int exchange_next(McpHttpClient *http, McpHttpExchange *exchange, McpHttpClientEvent *ret,
                         bool *ret_any)
{
    *ret = (McpHttpClientEvent){.kind = MCP_HTTP_CLIENT_MESSAGE, .exchange = exchange};
    if (exchange->kind == HTTP_REQUEST) {
        ret->with = exchange->wire_id;
    }
    switch (exchange->state) {
    case EXCHANGE_DUE:
        *ret_any = true;
        return http_client_begin(http, exchange, ret);
    case EXCHANGE_OPEN:
        return exchange_next_open(http, exchange, ret, ret_any);
    case EXCHANGE_UNANSWERED:
        if (exchange->must_close) {
            exchange_say_close(exchange, ret, ret_any);
            break;
        }
        return http_client_answer_error(http, exchange, "%s", exchange->words);
    case EXCHANGE_OVER:
        ret->text = bytes_span(&exchange->text);
        ret->loss = exchange->loss;
        *ret_any = true;
        http_exchange_set_state(http, exchange, EXCHANGE_GONE);
        break;
    case EXCHANGE_CLOSING:
        ret->kind = MCP_HTTP_CLIENT_CLOSE;
        *ret_any = true;
        http_exchange_set_state(http, exchange, EXCHANGE_GONE);
        break;
    case EXCHANGE_GONE:
        http_exchange_remove(http, exchange);
        break;
    case EXCHANGE_WAITING:
    case EXCHANGE_RESTING:
    case EXCHANGE_PARKED:
        break;
    }
    return 0;
}

/* Its turn has come, and nothing of it has moved since the last one: see http_client_internal.h. */
static bool exchange_is_stuck(McpHttpExchange *exchange)
{
    bool is_stuck = exchange->n_moves == exchange->n_moves_seen;

    exchange->n_moves_seen = exchange->n_moves;
    assert(!is_stuck);
    return is_stuck;
}

static void exchange_end_stuck(McpHttpClient *http, McpHttpExchange *exchange)
{
    http_client_note(http, "an exchange with the server did not move on, and was ended");
    if (exchange->kind == HTTP_REQUEST && exchange->state == EXCHANGE_OPEN &&
        !exchange->is_answered) {
        exchange->must_close = exchange->must_close || !exchange->has_ended;
        (void)snprintf(exchange->words, sizeof(exchange->words),
                       "the request was given up: its answer did not move on");
        http_exchange_set_state(http, exchange, EXCHANGE_UNANSWERED);
    } else {
        http_exchange_drop(http, exchange);
    }
}

static bool http_next_exchange(McpHttpClient *http, McpHttpClientEvent *ret)
{
    bool any = false;

    while (http->due_first != NULL) {
        McpHttpExchange *exchange = http->due_first;

        http_exchange_unqueue(http, exchange);
        if (exchange_is_stuck(exchange)) {
            exchange_end_stuck(http, exchange);
            continue;
        }
        if (exchange_next(http, exchange, ret, &any) != 0) {
            http_client_fail(http, "out of memory");
            return false;
        }
        if (any) {
            http->current = exchange;
            http_exchange_queue(http, exchange);
            return true;
        }
    }
    return false;
}

static bool http_say(McpHttpClientEvent *ret, McpHttpClientEventKind kind, const char *text)
{
    *ret = (McpHttpClientEvent){.kind = kind, .text = span_from_str(text)};
    return true;
}

bool mcp_http_client_next(McpHttpClient *http, McpHttpClientEvent *ret)
{
    http->current = NULL;
    if (http->has_note) {
        http->has_note = false;
        return http_say(ret, MCP_HTTP_CLIENT_NOTE, http->note);
    }
    if (!http->has_failed && http_next_exchange(http, ret)) {
        return true;
    }
    if (http->has_failed && !http->said_failed) {
        http->said_failed = true;
        http_drop_all(http);
        return http_say(ret, MCP_HTTP_CLIENT_FAILED, http->failure);
    }
    if (http->has_failed) {
        return http_next_exchange(http, ret);
    }
    if (http->has_note) {
        http->has_note = false;
        return http_say(ret, MCP_HTTP_CLIENT_NOTE, http->note);
    }
    if (http->must_renew) {
        http->must_renew = false;
        return http_say(ret, MCP_HTTP_CLIENT_RENEW, "");
    }
    return false;
}
