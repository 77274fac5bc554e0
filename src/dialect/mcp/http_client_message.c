/* Messages of the server, and errors in the place of answers that do not come. */
#include "dialect/mcp/http_client_internal.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/client.h"
#include "dialect/mcp/http_url.h"
#include "json/writer.h"

/* ---- errors of our own ---- */

/* An error as an answer to the request; error: JSON, or empty: code and message. */
static int write_error(Bytes *out, uint64_t wire_id, Span error, Span message)
{
    JsonWriter w;

    bytes_clear(out);
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("jsonrpc"));
    json_write_string(&w, SPAN("2.0"));
    json_write_key(&w, SPAN("id"));
    json_write_uint(&w, wire_id);
    json_write_key(&w, SPAN("error"));
    if (error.n > 0) {
        json_write_raw(&w, error);
    } else {
        json_write_object(&w);
        json_write_key(&w, SPAN("code"));
        json_write_int(&w, MCP_CLIENT_CODE_ENDED);
        json_write_key(&w, SPAN("message"));
        json_write_string(&w, message);
        json_write_end_object(&w);
    }
    json_write_end_object(&w);
    return err_fold(json_writer_finish(&w));
}

int http_client_answer_error(McpHttpClient *http, McpHttpExchange *exchange, const char *format,
                             ...)
{
    char words[512];
    va_list args;
    int r;

    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    exchange->is_answered = true;
    r = write_error(&exchange->text, exchange->wire_id, SPAN_NULL, span_from_str(words));
    http_exchange_set_state(http, exchange, EXCHANGE_OVER);
    return r;
}

bool http_client_read_error(McpHttpClient *http, Span text, HttpError *ret)
{
    JsonDoc doc;
    JsonValue error;
    JsonValue member;
    int64_t code;

    arena_reset(&http->arena, LIMIT_KEEP_BYTES);
    if (json_parse(&doc, &http->arena, text.p, text.n, NULL, NULL) != 0 ||
        !json_get(json_root(&doc), SPAN("jsonrpc"), &member) ||
        !json_get(json_root(&doc), SPAN("error"), &error) ||
        !json_get(error, SPAN("code"), &member) || json_int64(member, &code) != 0 ||
        code < INT_MIN || code > INT_MAX) {
        return false;
    }
    *ret = (HttpError){.code = (int)code, .text = json_span(error)};
    if (json_get(error, SPAN("message"), &member)) {
        (void)json_string(member, &http->arena, &ret->message);
    }
    ret->has_id =
        json_get(json_root(&doc), SPAN("id"), &member) && json_uint64(member, &ret->id) == 0;
    return true;
}

int http_client_take_refusal(McpHttpClient *http, McpHttpExchange *exchange, const HttpError *error,
                             Span *ret_text, bool *ret)
{
    *ret_text = bytes_span(&exchange->text);
    if (!error->has_id || error->id != exchange->wire_id) {
        int r = write_error(&http->rewritten, exchange->wire_id, error->text, SPAN_NULL);

        if (r != 0) {
            return err_pass(r);
        }
        *ret_text = bytes_span(&http->rewritten);
    }
    *ret = true;
    exchange->is_answered = true;
    http_exchange_set_state(http, exchange, EXCHANGE_GONE);
    return 0;
}

/* ---- answers ---- */

static McpHttpExchange *find_open(const McpHttpClient *http, uint64_t wire_id)
{
    McpHttpExchange *exchange = http->first;

    while (exchange != NULL && (exchange->kind != HTTP_REQUEST || exchange->is_answered ||
                                exchange->wire_id != wire_id)) {
        exchange = exchange->next;
    }
    return exchange;
}

/* The server has begun a session. */
static void learn_version(McpHttpClient *http, JsonValue result)
{
    McpRevision revision;
    JsonValue version;
    Span text;

    http->version = SPAN_NULL;
    /* Older ones do not know the header. */
    if (json_get(result, SPAN("protocolVersion"), &version) && json_string_plain(version, &text) &&
        mcp_revision_parse(text, &revision) && revision >= MCP_2025_06_18) {
        http->version = mcp_revision_text(revision);
    }
}

/* `exchange` has its answer; by_own_stream: it may bring no more. */
static int note_answer(McpHttpClient *http, McpHttpExchange *exchange, JsonValue message,
                       bool by_own_stream, Span *text)
{
    JsonValue result;
    int r = 0;

    exchange->is_answered = true;
    if (json_get(message, SPAN("result"), &result)) {
        if (exchange->word == HTTP_WORD_INITIALIZE) {
            learn_version(http, result);
        } else if (exchange->word == HTTP_WORD_TOOLS_LIST && exchange->is_modern) {
            r = http_tools_take(http, *text, result, text);
        }
    }
    if (by_own_stream) {
        exchange->due_ms = http->now_ms + HTTP_LINGER_MS;
    } else {
        http_exchange_drop(http, exchange);
    }
    return r;
}

/* An error that names no request, by the stream of one that waits: it could not, or would not, read
 * the id; but it answers no other request here. Servers that know no server/discover name any id
 * in their refusal of it, and nothing else was asked of them yet. */
static bool is_own_refusal(const McpHttpExchange *exchange, bool has_id)
{
    return exchange->kind == HTTP_REQUEST && !exchange->is_answered &&
           (!has_id || exchange->word == HTTP_WORD_DISCOVER);
}

/* One that answers something. 0, -ENOMEM. */
static int take_answer(McpHttpClient *http, McpHttpExchange *exchange, JsonValue message,
                       Span *text)
{
    bool is_own = false;
    McpHttpExchange *asked = NULL;
    JsonValue id = JSON_VALUE_NULL;
    JsonValue error;
    uint64_t number;
    bool has_id = json_get(message, SPAN("id"), &id) && json_kind(id) != JSON_NULL;
    int r;

    if (has_id && json_uint64(id, &number) == 0) {
        is_own = exchange->kind == HTTP_REQUEST && exchange->wire_id == number;
        asked = is_own ? exchange : find_open(http, number);
    }
    if (asked == NULL && is_own_refusal(exchange, has_id) &&
        json_get(message, SPAN("error"), &error)) {
        is_own = true;
        asked = exchange;
        r = write_error(&http->rewritten, exchange->wire_id, json_span(error), SPAN_NULL);
        if (r != 0) {
            return err_pass(r);
        }
        *text = bytes_span(&http->rewritten);
    }
    if (asked == NULL || asked->is_answered) {
        return 0; /* the session knows what to make of it */
    }
    return note_answer(http, asked, message, is_own, text);
}

int http_client_take(McpHttpClient *http, McpHttpExchange *exchange, Span text, Span *ret_text,
                     bool *ret)
{
    JsonLimits limits = {.max_bytes = http->config.max_message_bytes};
    JsonValue method;
    JsonDoc doc;
    JsonValue root;
    Span whole = text;
    int r;

    arena_reset(&http->arena, LIMIT_KEEP_BYTES);
    r = json_parse(&doc, &http->arena, text.p, text.n, &limits, NULL);
    if (r != 0) {
        (void)snprintf(exchange->words, sizeof(exchange->words), "the server's answer is not JSON");
        return r < 0 ? err_pass(r) : 0;
    }
    root = json_root(&doc);
    *ret = true;
    *ret_text = text;
    if (json_kind(root) == JSON_ARRAY) {
        for (JsonIter it = json_iter(root); json_iter_next(&it);) {
            /* As it is: only the revision with batches has any, and that has no schemas. */
            Span element = json_span(it.value);

            r = json_get(it.value, SPAN("method"), &method)
                    ? 0
                    : take_answer(http, exchange, it.value, &element);
            if (r != 0) {
                return err_pass(r);
            }
        }
        return 0;
    }
    if (!json_get(root, SPAN("method"), &method)) {
        r = take_answer(http, exchange, root, &whole);
        *ret_text = whole;
    }
    return err_pass(r);
}

/* ---- events ---- */

/* Old: the address for everything that we send. */
static int take_endpoint(McpHttpClient *http, Span data)
{
    int r;

    if (http->endpoint.n > 0) {
        return 0; /* once is enough */
    }
    r = http_url_resolve(&http->endpoint, span_from_str(http->url.data), data);
    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        http_client_fail(http, "the server names an address for requests that is %s",
                         r == HTTP_URL_E_ORIGIN ? "another server's" : "none");
        return 0;
    }
    r = bytes_append_byte(&http->endpoint, '\0');
    http_client_start_waiting(http);
    return err_fold(r);
}

int http_client_take_event(McpHttpClient *http, McpHttpExchange *exchange, const SseEvent *event,
                           Span *ret_text, bool *ret)
{
    bool is_old_stream = http->is_old && exchange->kind == HTTP_STREAM;

    if (is_old_stream && span_equals(event->type, SPAN("endpoint"))) {
        return take_endpoint(http, event->data);
    }
    if (event->type.n > 0 && !span_equals(event->type, SPAN("message"))) {
        return 0;
    }
    /* One without data only says where the stream could be resumed. */
    return event->data.n == 0 ? 0 : http_client_take(http, exchange, event->data, ret_text, ret);
}
