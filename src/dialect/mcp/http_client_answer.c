/* What the end of an answer means. */
#include "dialect/mcp/http_client_internal.h"

#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "dialect/mcp/http_url.h"
#include "dialect/mcp/render.h"

#define MAY_HAVE_RUN "it may have been carried out"

static bool is_handshake(const McpHttpExchange *exchange)
{
    return exchange->word == HTTP_WORD_DISCOVER || exchange->word == HTTP_WORD_INITIALIZE;
}

/* Nothing has come that says anything about the server's era: the handshake ends; another request
 * gets an error. 0, -ENOMEM. */
static int finish_unproved(McpHttpClient *http, McpHttpExchange *exchange, const char *what)
{
    char place[256];
    const char *words = exchange->words;

    http_url_show(span_from_str(http->url.data), place, sizeof(place));
    if (is_handshake(exchange)) {
        http_client_fail(http, "%s %s%s%s", what, place, words[0] != '\0' ? ": " : "", words);
        http_exchange_remove(http, exchange);
        return 0;
    }
    return http_client_answer_error(http, exchange, "%s %s%s%s", what, place,
                                    words[0] != '\0' ? ": " : "", words);
}

/* Asks for the rest of a stream, after the time that it said. */
static void rest(McpHttpClient *http, McpHttpExchange *exchange)
{
    int64_t wait_ms = exchange->retry_ms;

    if (wait_ms < 0) {
        wait_ms = (int64_t)HTTP_RETRY_MS << exchange->n_fruitless;
        wait_ms = wait_ms > HTTP_RETRY_MAX_MS ? HTTP_RETRY_MAX_MS : wait_ms;
    }
    exchange->n_fruitless += exchange->n_fruitless < 16;
    http_exchange_set_state(http, exchange, EXCHANGE_RESTING);
    exchange->due_ms = http->now_ms + wait_ms;
}

/* What the stream said last of where and when to resume it. 0, -ENOMEM. */
static int keep_place(McpHttpExchange *exchange)
{
    Span id = sse_reader_last_id(&exchange->reader);
    int64_t retry_ms = sse_reader_retry_ms(&exchange->reader);
    int r = 0;

    if (id.n > 0) {
        bytes_clear(&exchange->last_id);
        r = bytes_append_span(&exchange->last_id, id);
    }
    if (r > 0) {
        bytes_clear(&exchange->last_id); /* too long to be sent */
    }
    if (retry_ms >= 0) {
        exchange->retry_ms = retry_ms < HTTP_RETRY_SAID_MAX_MS ? retry_ms : HTTP_RETRY_SAID_MAX_MS;
    }
    return r < 0 ? err_pass(r) : 0;
}

/* A request whose answer broke off. 0, -ENOMEM. */
static int finish_lost(McpHttpClient *http, McpHttpExchange *exchange)
{
    int r = keep_place(exchange);

    if (r != 0) {
        return err_pass(r);
    }
    if (!exchange->is_modern && exchange->last_id.n > 0 &&
        exchange->generation == http->generation && exchange->n_fruitless < HTTP_MAX_FRUITLESS) {
        exchange->is_resumed = true;
        rest(http, exchange);
        return 0;
    }
    if (is_handshake(exchange)) {
        return finish_unproved(http, exchange, "no answer from");
    }
    exchange->loss = MCP_CLIENT_CUT;
    return http_client_answer_error(
        http, exchange, "the server's answer broke off before its end (%s): " MAY_HAVE_RUN,
        exchange->words[0] != '\0' ? exchange->words : "the stream ended");
}

/* The server does not know the session any more. 0, -ENOMEM. */
static int finish_forgotten(McpHttpClient *http, McpHttpExchange *exchange)
{
    McpHttpExchange *next;

    if (exchange->was_repeated || (http->is_unproved && !http->is_renewing)) {
        http_client_fail(http, "the server forgets its session as soon as it has begun it");
        http_exchange_remove(http, exchange);
        return 0;
    }
    if (!http->is_renewing) {
        http->is_renewing = true;
        http->is_unproved = true;
        http->is_gated = true;
        http->must_renew = true;
        http->generation++;
        bytes_clear(&http->session_id);
        http_client_note(http, "the server has forgotten the session: it is begun anew");
        for (McpHttpExchange *other = http->first; other != NULL; other = next) {
            next = other->next;
            if (other->kind == HTTP_STREAM) {
                http_exchange_drop(http, other);
            }
        }
    }
    if (exchange->kind == HTTP_REQUEST) {
        exchange->was_repeated = true;
        http_exchange_set_state(http, exchange, EXCHANGE_WAITING);
    } else {
        http_exchange_remove(http, exchange); /* what it was about is gone, too */
    }
    return 0;
}

static bool says_session(Span message)
{
    static const Span word = SPAN_INIT("session");

    for (size_t i = 0; i + word.n <= message.n; i++) {
        if (text_equals_nocase(span_make(message.p + i, word.n), word)) {
            return true;
        }
    }
    return false;
}

/* 404; or 400 with an error of the server's own about sessions, as many say it, and which names no
 * request, or with plain words about them. Either way it has not looked at ours: who answers it
 * has, and may have carried it out, whatever the words. An unknown method is something else. */
static bool is_forgotten(McpHttpClient *http, const McpHttpExchange *exchange)
{
    HttpError error;
    bool is_error;

    if (http->session_id.n == 0 || exchange->is_modern || http->is_old ||
        exchange->word == HTTP_WORD_INITIALIZE ||
        (exchange->status != 404 && exchange->status != 400)) {
        return exchange->status == 404 && http->is_renewing && !exchange->is_modern &&
               exchange->word != HTTP_WORD_INITIALIZE;
    }
    is_error = http_client_read_error(http, bytes_span(&exchange->text), &error);
    if (exchange->status == 404) {
        return !is_error || error.code != MCP_ERROR_METHOD_NOT_FOUND;
    }
    if (!is_error) {
        return says_session(bytes_span(&exchange->text)); /* Python's SDK before 1.26 */
    }
    return !error.has_id && (error.code == -32000 || error.code == MCP_ERROR_INVALID_REQUEST) &&
           says_session(error.message);
}

/* 0, -ENOMEM. */
static int finish_redirected(McpHttpClient *http, McpHttpExchange *exchange)
{
    bool is_old_post = http->is_old && exchange->kind != HTTP_STREAM;
    int r;

    if (exchange->location.n == 0 || is_old_post || ++exchange->n_hops > HTTP_MAX_HOPS) {
        (void)snprintf(exchange->words, sizeof(exchange->words), "HTTP %u%s", exchange->status,
                       exchange->n_hops > HTTP_MAX_HOPS
                           ? ": it leads in circles"
                           : " to another server, or to nowhere; use the address itself");
        return finish_unproved(http, exchange, "a redirection is not followed from");
    }
    bytes_clear(&http->url);
    r = bytes_append_span(&http->url, bytes_span(&exchange->location));
    r = r != 0 ? r : bytes_append_byte(&http->url, '\0');
    http_exchange_set_state(http, exchange, EXCHANGE_DUE);
    return err_fold(r);
}

/* The first words of a body that is no JSON. */
static void quote_body(McpHttpExchange *exchange)
{
    Span body = text_trim(bytes_span(&exchange->text));
    size_t n = 0;
    int at = snprintf(exchange->words, sizeof(exchange->words), "HTTP %u", exchange->status);

    while (n < body.n && n < 80 && body.p[n] >= ' ' && body.p[n] <= '~') {
        n++;
    }
    if (n > 0 && body.p[0] != '<') {
        (void)snprintf(exchange->words + at, sizeof(exchange->words) - (size_t)at, ": %.*s", (int)n,
                       body.p);
    }
}

/* A refusal that says nothing of the server's era: who we are, how busy it is. */
static bool is_no_proof(unsigned status)
{
    return status == 401 || status == 403 || status == 407 || status == 408 || status == 429 ||
           status == 502 || status == 503 || status == 504;
}

static int finish_denied(McpHttpClient *http, McpHttpExchange *exchange)
{
    char place[256];

    http_url_show(span_from_str(http->url.data), place, sizeof(place));
    (void)snprintf(exchange->words, sizeof(exchange->words),
                   "HTTP %u; try: toolwire auth login %.100s", exchange->status, place);
    return finish_unproved(http, exchange,
                           exchange->status == 401 ? "authorization is wanted by"
                                                   : "access is refused by");
}

static int finish_refused(McpHttpClient *http, McpHttpExchange *exchange, Span *ret_text,
                          bool *ret_any)
{
    unsigned status = exchange->status;
    HttpError error;
    bool is_error;

    if (is_forgotten(http, exchange) && !exchange->is_resumed) {
        return finish_forgotten(http, exchange);
    }
    if (exchange->is_resumed) {
        exchange->loss = MCP_CLIENT_CUT;
        return http_client_answer_error(http, exchange,
                                        "the server's answer broke off, and the server does not "
                                        "resume it (HTTP %u): " MAY_HAVE_RUN,
                                        status);
    }
    is_error = http_client_read_error(http, bytes_span(&exchange->text), &error);
    if (http_is_redirect(status)) {
        return finish_redirected(http, exchange);
    }
    if (is_error && !(is_handshake(exchange) && is_no_proof(status)) &&
        !(exchange->word == HTTP_WORD_INITIALIZE && (status == 404 || status == 405))) {
        return http_client_take_refusal(http, exchange, &error, ret_text, ret_any);
    }
    if (status == 401 || status == 403) {
        return finish_denied(http, exchange);
    }
    if (exchange->word == HTTP_WORD_INITIALIZE && !http->is_old &&
        (status == 400 || status == 404 || status == 405)) {
        http->refused_status = status;
        http_exchange_set_state(http, exchange, EXCHANGE_WAITING);
        return http_client_begin_old(http);
    }
    quote_body(exchange);
    if (is_no_proof(status) || (status >= 300 && status < 400) ||
        exchange->word == HTTP_WORD_INITIALIZE) {
        return finish_unproved(http, exchange, "no use of");
    }
    return http_client_answer_error(http, exchange, "the server refused the request: %s",
                                    exchange->words);
}

/* The answer to a request that was taken may come by another stream. */
static bool comes_otherwise(const McpHttpClient *http, const McpHttpExchange *exchange)
{
    return http->is_old || (exchange->status == 202 && !exchange->is_modern);
}

/* An answer that is all there, as JSON. 0, -ENOMEM. */
static int finish_text(McpHttpClient *http, McpHttpExchange *exchange, Span *ret_text,
                       bool *ret_any)
{
    int r = http_client_take(http, exchange, bytes_span(&exchange->text), ret_text, ret_any);

    if (r != 0) {
        return err_pass(r);
    }
    if (exchange->is_answered) {
        http_exchange_set_state(http, exchange, EXCHANGE_GONE);
        return 0;
    }
    if (*ret_any) {
        /* Something else came instead: the session is given it first. */
        (void)snprintf(exchange->words, sizeof(exchange->words),
                       "the server's answer is not to this request");
        http_exchange_set_state(http, exchange,
                                comes_otherwise(http, exchange) ? EXCHANGE_PARKED
                                                                : EXCHANGE_UNANSWERED);
        return 0;
    }
    return is_handshake(exchange) && exchange->word == HTTP_WORD_INITIALIZE
               ? finish_unproved(http, exchange, "no use of")
               : http_client_answer_error(http, exchange, "%s", exchange->words);
}

static int finish_request(McpHttpClient *http, McpHttpExchange *exchange, Span *ret_text,
                          bool *ret_any)
{
    bool is_good = exchange->status >= 200 && exchange->status < 300;

    if (exchange->is_answered) {
        http_exchange_remove(http, exchange);
        return 0;
    }
    switch (exchange->end) {
    case MCP_HTTP_END_UNREACHED:
        if (exchange->is_resumed) {
            return finish_lost(http, exchange); /* it was sent before, and is asked for again */
        }
        exchange->loss = MCP_CLIENT_UNREACHED;
        return finish_unproved(http, exchange, "cannot reach");
    case MCP_HTTP_END_REFUSED:
        return finish_unproved(http, exchange, "authorization is refused by");
    case MCP_HTTP_END_TOO_LARGE:
        (void)snprintf(exchange->words, sizeof(exchange->words), "the answer is too large");
        return is_handshake(exchange)
                   ? finish_unproved(http, exchange, "no use of")
                   : http_client_answer_error(http, exchange,
                                              "the server's answer is longer than allowed");
    case MCP_HTTP_END_CUT:
        return finish_lost(http, exchange);
    case MCP_HTTP_END_DONE:
        break;
    }
    if (!is_good) {
        return finish_refused(http, exchange, ret_text, ret_any);
    }
    if (exchange->body_kind == HTTP_BODY_EVENTS && exchange->word == HTTP_WORD_DISCOVER) {
        /* It came whole and holds no answer: as with JSON, the server does not know the word. */
        return http_client_answer_error(http, exchange,
                                        "the server's events hold no answer to this request");
    }
    if (exchange->body_kind == HTTP_BODY_EVENTS) {
        return finish_lost(http, exchange);
    }
    if (exchange->body_kind == HTTP_BODY_TEXT && exchange->text.n > 0) {
        return finish_text(http, exchange, ret_text, ret_any);
    }
    if (comes_otherwise(http, exchange)) {
        http_exchange_set_state(http, exchange, EXCHANGE_PARKED);
        return 0;
    }
    return http_client_answer_error(
        http, exchange, "%s",
        exchange->body_kind == HTTP_BODY_TEXT ? "the server's answer is empty" : exchange->words);
}

static int finish_note(McpHttpClient *http, McpHttpExchange *exchange)
{
    bool is_opening = exchange->word == HTTP_WORD_INITIALIZED;

    if (exchange->end == MCP_HTTP_END_DONE && http_is_redirect(exchange->status) &&
        exchange->location.n > 0 && exchange->n_hops < HTTP_MAX_HOPS) {
        return finish_redirected(http, exchange);
    }
    if (exchange->end == MCP_HTTP_END_DONE && is_forgotten(http, exchange)) {
        return finish_forgotten(http, exchange);
    }
    if (exchange->end != MCP_HTTP_END_DONE || exchange->status >= 300) {
        http_client_note(http, "the server did not take a notification or an answer: HTTP %u %s",
                         exchange->status, exchange->words);
    }
    http_exchange_remove(http, exchange);
    return is_opening ? http_client_open_gate(http) : 0;
}

static int finish_old_stream(McpHttpClient *http, McpHttpExchange *exchange)
{
    char place[256];

    http_url_show(span_from_str(http->url.data), place, sizeof(place));
    if (http->endpoint.n > 0) {
        http_client_fail(http, "the server ended its stream of events");
    } else if (exchange->end == MCP_HTTP_END_UNREACHED) {
        http_client_fail(http, "cannot reach %s: %s", place, exchange->words);
    } else {
        http_client_fail(http, "no MCP server at %s: HTTP %u to initialize, HTTP %u to GET", place,
                         http->refused_status, exchange->status);
    }
    http_exchange_remove(http, exchange);
    return 0;
}

static int finish_stream(McpHttpClient *http, McpHttpExchange *exchange)
{
    bool is_events = exchange->status >= 200 && exchange->status < 300 &&
                     exchange->body_kind == HTTP_BODY_EVENTS;
    int r;

    if (exchange->end == MCP_HTTP_END_DONE && http_is_redirect(exchange->status) &&
        exchange->location.n > 0 && exchange->n_hops < HTTP_MAX_HOPS) {
        return finish_redirected(http, exchange);
    }
    if (http->is_old) {
        return finish_old_stream(http, exchange);
    }
    if ((is_events || exchange->end == MCP_HTTP_END_UNREACHED ||
         exchange->end == MCP_HTTP_END_CUT) &&
        exchange->generation == http->generation) {
        r = keep_place(exchange);
        rest(http, exchange);
        return err_pass(r);
    }
    /* 405 is the way to say that there is none; any other is as good. */
    if (exchange->status != 405) {
        http_client_note(http, "there is no stream of the server's own messages: HTTP %u %s",
                         exchange->status, exchange->words);
    }
    http_exchange_remove(http, exchange);
    return 0;
}

/* A connection that was kept may end just when it is used again, and no driver may send a request
 * twice by itself. What changes nothing, or is known again by its id, is sent once more. */
static bool is_sent_again(McpHttpClient *http, McpHttpExchange *exchange)
{
    if (exchange->end != MCP_HTTP_END_CUT || exchange->status != 0 || exchange->is_answered ||
        exchange->was_resent ||
        (exchange->kind != HTTP_NOTE &&
         (exchange->kind != HTTP_REQUEST || exchange->is_resumed ||
          (!is_handshake(exchange) && exchange->word != HTTP_WORD_TOOLS_LIST)))) {
        return false;
    }
    exchange->was_resent = true;
    http_exchange_set_state(http, exchange, EXCHANGE_DUE);
    return true;
}

int http_client_finish(McpHttpClient *http, McpHttpExchange *exchange, Span *ret_text,
                       bool *ret_any)
{
    int r = 0;

    exchange->due_ms = INT64_MAX;
    if (is_sent_again(http, exchange)) {
        return 0;
    }
    switch (exchange->kind) {
    case HTTP_REQUEST:
        r = finish_request(http, exchange, ret_text, ret_any);
        break;
    case HTTP_NOTE:
        r = finish_note(http, exchange);
        break;
    case HTTP_STREAM:
        r = finish_stream(http, exchange);
        break;
    case HTTP_LEAVE:
        http_exchange_remove(http, exchange);
        break;
    }
    http_client_start_waiting(http);
    return err_pass(r);
}
