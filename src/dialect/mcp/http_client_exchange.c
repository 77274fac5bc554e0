/* The life of an exchange of an MCP client over HTTP: in the list of all, and in the queue of those
 * that have something to say. */
#include "dialect/mcp/http_client_internal.h"

#include "base/alloc.h"
#include "base/error.h"

int http_exchange_new(McpHttpClient *http, HttpExchangeKind kind, McpHttpExchange **ret)
{
    McpHttpExchange *exchange = mem_alloc_array(1, sizeof(*exchange));

    if (exchange == NULL) {
        return err_raise(-ENOMEM);
    }
    exchange->kind = kind;
    exchange->n_moves = 1;
    exchange->generation = http->generation;
    exchange->due_ms = INT64_MAX;
    exchange->retry_ms = -1;
    bytes_init(&exchange->body, SIZE_MAX);
    bytes_init(&exchange->text, http->config.max_message_bytes);
    bytes_init(&exchange->location, SIZE_MAX);
    bytes_init(&exchange->last_id, HTTP_ID_BYTES);
    sse_reader_init(&exchange->reader, http->config.max_message_bytes);
    exchange->prev = http->last;
    if (http->last != NULL) {
        http->last->next = exchange;
    } else {
        http->first = exchange;
    }
    http->last = exchange;
    http->n_waiting++;
    *ret = exchange;
    return 0;
}

static bool exchange_is_under_way(const McpHttpExchange *exchange)
{
    return exchange->kind == HTTP_REQUEST &&
           (exchange->state == EXCHANGE_DUE || exchange->state == EXCHANGE_OPEN ||
            exchange->state == EXCHANGE_RESTING);
}

void http_exchange_set_state(McpHttpClient *http, McpHttpExchange *exchange,
                             HttpExchangeState state)
{
    http->n_waiting -= exchange->state == EXCHANGE_WAITING;
    http->n_under_way -= exchange_is_under_way(exchange);
    exchange->n_moves += exchange->state != state;
    exchange->state = state;
    http->n_waiting += state == EXCHANGE_WAITING;
    http->n_under_way += exchange_is_under_way(exchange);
    if (state == EXCHANGE_DUE || state == EXCHANGE_UNANSWERED || state == EXCHANGE_OVER ||
        state == EXCHANGE_CLOSING || state == EXCHANGE_GONE) {
        http_exchange_queue(http, exchange);
    }
}

void http_exchange_queue(McpHttpClient *http, McpHttpExchange *exchange)
{
    if (exchange->is_queued) {
        return;
    }
    exchange->is_queued = true;
    exchange->next_due = NULL;
    if (http->due_last != NULL) {
        http->due_last->next_due = exchange;
    } else {
        http->due_first = exchange;
    }
    http->due_last = exchange;
}

void http_exchange_unqueue(McpHttpClient *http, McpHttpExchange *exchange)
{
    McpHttpExchange **at = &http->due_first;
    McpHttpExchange *before = NULL;

    if (!exchange->is_queued) {
        return;
    }
    while (*at != exchange) {
        before = *at;
        at = &(*at)->next_due;
    }
    *at = exchange->next_due;
    if (http->due_last == exchange) {
        http->due_last = before;
    }
    exchange->is_queued = false;
}

void http_exchange_remove(McpHttpClient *http, McpHttpExchange *exchange)
{
    http_exchange_unqueue(http, exchange);
    http->n_waiting -= exchange->state == EXCHANGE_WAITING;
    http->n_under_way -= exchange_is_under_way(exchange);
    http->n_bytes -= exchange->body.n;
    if (exchange->prev != NULL) {
        exchange->prev->next = exchange->next;
    } else {
        http->first = exchange->next;
    }
    if (exchange->next != NULL) {
        exchange->next->prev = exchange->prev;
    } else {
        http->last = exchange->prev;
    }
    bytes_deinit(&exchange->body);
    bytes_deinit(&exchange->text);
    bytes_deinit(&exchange->location);
    bytes_deinit(&exchange->last_id);
    sse_reader_deinit(&exchange->reader);
    (void)mem_free(exchange);
}

void http_exchange_drop(McpHttpClient *http, McpHttpExchange *exchange)
{
    if (exchange->state == EXCHANGE_CLOSING || exchange->state == EXCHANGE_GONE) {
        return;
    }
    if (exchange->state == EXCHANGE_OPEN && (!exchange->has_ended || exchange->must_close)) {
        http_exchange_set_state(http, exchange, EXCHANGE_CLOSING);
    } else if (exchange == http->current) {
        http_exchange_set_state(http, exchange, EXCHANGE_GONE); /* its message is being read */
    } else {
        http_exchange_remove(http, exchange);
    }
}

void http_exchange_cut(McpHttpExchange *exchange, McpHttpEnd end)
{
    exchange->body_kind = HTTP_BODY_NONE;
    exchange->has_ended = true;
    exchange->must_close = true;
    exchange->end = end;
}

void http_exchange_reset(McpHttpExchange *exchange)
{
    exchange->status = 0;
    exchange->body_kind = HTTP_BODY_NONE;
    exchange->has_ended = false;
    exchange->words[0] = '\0';
    exchange->due_ms = INT64_MAX;
    bytes_clear(&exchange->text);
    bytes_clear(&exchange->location);
    sse_reader_deinit(&exchange->reader);
    sse_reader_init(&exchange->reader, exchange->text.max_bytes);
}

void **mcp_http_exchange_slot(McpHttpExchange *exchange)
{
    return &exchange->slot;
}
