/* A driver for dialect/mcp/http_client that makes no request: what it is told to do is written
 * down, and answers come from the test. */
#pragma once

#include "dialect/mcp/http_client.h"

#include "support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"

#define RIG_MAX 64

/* Events in a row, with nothing fed between them: more than any test causes. */
#define RIG_MAX_EVENTS 100000

typedef struct Rig {
    McpHttpClient *http;
    McpHttpExchange *open[RIG_MAX]; /* by number of BEGIN, from 1; NULL: over */
    size_t n_begun;
    int64_t now_ms;
    Bytes log;
    bool shows_fields;
    size_t split;       /* data is told in two pieces, cut here */
    McpClientLoss loss; /* of the last message */
} Rig;

static TW_UNUSED void rig_open(Rig *rig, const McpHttpClientConfig *more)
{
    McpHttpClientConfig config = more != NULL ? *more : (McpHttpClientConfig){.url = SPAN_NULL};

    *rig = (Rig){.now_ms = 1000};
    if (config.url.p == NULL) {
        config.url = SPAN("http://h/mcp");
    }
    bytes_init(&rig->log, (size_t)1 << 24);
    assert_int_equal(mcp_http_client_new(&rig->http, &config), 0);
}

static TW_UNUSED void rig_close(Rig *rig)
{
    rig->http = mcp_http_client_free(rig->http);
    bytes_deinit(&rig->log);
}

static size_t rig_number(const Rig *rig, const McpHttpExchange *exchange)
{
    for (size_t i = 1; i <= rig->n_begun; i++) {
        if (rig->open[i] == exchange) {
            return i;
        }
    }
    return 0;
}

static void rig_begin(Rig *rig, const McpHttpClientEvent *event)
{
    assert_true(rig->n_begun + 1 < RIG_MAX);
    rig->open[++rig->n_begun] = event->exchange;
    (void)bytes_append_format(&rig->log, "%zu %s %s", rig->n_begun, event->method, event->url);
    for (size_t i = 0; rig->shows_fields && i < event->n_fields; i++) {
        (void)bytes_append_format(&rig->log, " [%.*s: %.*s]", (int)event->fields[i].name.n,
                                  event->fields[i].name.p, (int)event->fields[i].value.n,
                                  event->fields[i].value.p);
    }
    if (event->body.p != NULL) {
        (void)bytes_append_format(&rig->log, " %.*s", (int)event->body.n, event->body.p);
    }
    (void)bytes_append_byte(&rig->log, '\n');
}

static TW_UNUSED void rig_drain(Rig *rig)
{
    McpHttpClientEvent event;
    size_t number;
    size_t n_events = 0;

    while (mcp_http_client_next(rig->http, &event)) {
        int n = (int)event.text.n;

        assert_true(++n_events < RIG_MAX_EVENTS); /* else it would never end */

        switch (event.kind) {
        case MCP_HTTP_CLIENT_BEGIN:
            rig_begin(rig, &event);
            break;
        case MCP_HTTP_CLIENT_CLOSE:
            number = rig_number(rig, event.exchange);
            assert_true(number != 0);
            rig->open[number] = NULL;
            (void)bytes_append_format(&rig->log, "close %zu\n", number);
            break;
        case MCP_HTTP_CLIENT_MESSAGE:
            rig->loss = event.loss;
            (void)bytes_append_format(&rig->log, "< %" PRIu64 " %.*s\n", event.with, n,
                                      event.text.p);
            break;
        case MCP_HTTP_CLIENT_RENEW:
            (void)bytes_append_format(&rig->log, "renew\n");
            break;
        case MCP_HTTP_CLIENT_FAILED:
            (void)bytes_append_format(&rig->log, "failed: %.*s\n", n, event.text.p);
            break;
        case MCP_HTTP_CLIENT_NOTE:
            (void)bytes_append_format(&rig->log, "note: %.*s\n", n, event.text.p);
            break;
        }
    }
}

static TW_UNUSED void rig_send(Rig *rig, const char *message)
{
    assert_int_equal(mcp_http_client_send(rig->http, span_from_str(message), rig->now_ms), 0);
    rig_drain(rig);
}

static TW_UNUSED void rig_head_full(Rig *rig, size_t n, const McpHttpHead *head)
{
    if (rig->open[n] != NULL) {
        assert_int_equal(mcp_http_client_head(rig->http, rig->open[n], head, rig->now_ms), 0);
        rig_drain(rig);
    }
}

static TW_UNUSED void rig_head(Rig *rig, size_t n, unsigned status, const char *type)
{
    McpHttpHead head = {.status = status, .content_type = span_from_str(type)};

    rig_head_full(rig, n, &head);
}

static TW_UNUSED void rig_data(Rig *rig, size_t n, const char *text)
{
    size_t size = strlen(text);
    size_t cut = rig->split < size ? rig->split : size;
    const size_t sizes[] = {cut, size - cut};

    for (size_t i = 0; i < 2; i++) {
        /* A copy of its own: what is read beyond it is seen. */
        char *copy = malloc(sizes[i] + 1);

        assert_non_null(copy);
        memcpy(copy, text + (i == 0 ? 0 : cut), sizes[i]);
        if (sizes[i] > 0 && rig->open[n] != NULL) {
            assert_int_equal(mcp_http_client_data(rig->http, rig->open[n],
                                                  span_make(copy, sizes[i]), rig->now_ms),
                             0);
            memset(copy, 'X', sizes[i]);
            rig_drain(rig);
        }
        free(copy);
    }
}

static TW_UNUSED void rig_end_as(Rig *rig, size_t n, McpHttpEnd end, const char *words)
{
    McpHttpExchange *exchange = rig->open[n];

    if (exchange != NULL) {
        rig->open[n] = NULL;
        assert_int_equal(
            mcp_http_client_end(rig->http, exchange, end, span_from_str(words), rig->now_ms), 0);
        rig_drain(rig);
    }
}

static TW_UNUSED void rig_end(Rig *rig, size_t n)
{
    rig_end_as(rig, n, MCP_HTTP_END_DONE, "");
}

/* A whole answer. */
static TW_UNUSED void rig_answer(Rig *rig, size_t n, unsigned status, const char *type,
                                 const char *body)
{
    rig_head(rig, n, status, type);
    rig_data(rig, n, body);
    rig_end(rig, n);
}

static TW_UNUSED void rig_advance(Rig *rig, int64_t ms)
{
    rig->now_ms += ms;
    if (rig->now_ms >= mcp_http_client_next_deadline(rig->http)) {
        mcp_http_client_advance(rig->http, rig->now_ms);
    }
    rig_drain(rig);
}

/* All that was written down. */
static TW_UNUSED const char *rig_text(Rig *rig)
{
    assert_int_equal(bytes_append_byte(&rig->log, '\0'), 0);
    rig->log.n--;
    return rig->log.data;
}

static TW_UNUSED const char *rig_find(Rig *rig, const char *words)
{
    return strstr(rig_text(rig), words);
}

/* What was written down since the last time. */
static TW_UNUSED void rig_expect(Rig *rig, const char *expected)
{
    assert_string_equal(rig_text(rig), expected);
    bytes_clear(&rig->log);
}

static TW_UNUSED void rig_forget(Rig *rig)
{
    bytes_clear(&rig->log);
}

#define JSON_TYPE   "application/json"
#define EVENTS_TYPE "text/event-stream"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN(id, method, params)                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params META "}}"
#define LEGACY(id, method) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}"
#define RESULT(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}"
#define LOST(id, words)                                                                            \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32000,\"message\":\"" words "\"}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define INIT_RESULT "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}"
#define CANCELLED(id)                                                                              \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"

/* A legacy session with an id; the exchanges 1 to 3 are used up: initialize, initialized, GET,
 * which stays open. */
static TW_UNUSED void rig_begin_session(Rig *rig, const char *session_id)
{
    McpHttpHead head = {
        .status = 200, .content_type = SPAN(JSON_TYPE), .session_id = span_from_str(session_id)};
    size_t n = rig->n_begun;

    rig_send(rig, LEGACY("1", "initialize"));
    rig_head_full(rig, n + 1, &head);
    rig_data(rig, n + 1, RESULT("1", INIT_RESULT));
    rig_end(rig, n + 1);
    rig_send(rig, INITIALIZED);
    rig_answer(rig, n + 2, 202, "", "");
    rig_head(rig, n + 3, 200, EVENTS_TYPE);
    rig_forget(rig);
}
