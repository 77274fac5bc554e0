/* dialect/mcp/http_client.h: an MCP client session over HTTP. Performs no I/O.
 *
 *     session's sink: one message → mcp_http_client_send
 *     driver: mcp_http_client_next until false →
 *         BEGIN    make the request of event.exchange; then tell head, data… and end of it
 *         CLOSE    let go of it: nothing of it is told any more
 *         MESSAGE  → mcp_client_receive_instead
 *         RENEW    → mcp_client_renew          FAILED → mcp_client_break
 *     driver: what came of an exchange, or time → head, data, end, advance → next until false again
 *
 * Three wires, told apart by what the session sends and the server answers:
 *
 *   modern    (a request whose `_meta` names a version): POST only, with the headers that say what
 *             the body says; the answer is JSON or a stream of events; letting go of the request is
 *             how to cancel it. Schemas of tools are learnt from every tools/list that passes, and
 *             tools whose x-mcp-header annotations break the rules are taken out of it.
 *   legacy    (`initialize`): the session's id, one GET stream for what belongs to no request,
 *             streams that break off are resumed by Last-Event-ID after the time that they said. A
 *             session that the server has forgotten (404) is begun anew once: what it refused with
 *             these words is sent again; what it may have begun gets an error that says so.
 *   old       (HTTP+SSE of 2024-11-05; `initialize` refused with 400, 404 or 405): a GET stream
 *             whose first event names the address for POSTs, and which carries all answers.
 *
 * A request is sent once, but for the handshake, tools/list and notifications, which may go a
 * second time when a connection ends without a word, and for what a refusal leads to. Whatever
 * happens to a request, the session hears of it: its answer, or an error in its place. A refusal
 * for want of authorization, or a server that cannot be reached, is no proof of any era: it ends
 * the handshake. Thread: loop.
 */
#pragma once

#include "base/span.h"
#include "dialect/mcp/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MCP_HTTP_CLIENT_E_FULL = 1, /* too much waits to be sent */
};

typedef struct McpHttpClient McpHttpClient;
typedef struct McpHttpExchange McpHttpExchange; /* one HTTP request, and its answer */

typedef struct McpHttpField {
    Span name;
    Span value;
} McpHttpField;

typedef struct McpHttpClientConfig {
    Span url;                   /* http or https; copied */
    const McpHttpField *fields; /* with every request; copied. mcp_http_client_field_flaw: NULL */
    size_t n_fields;
    size_t max_message_bytes; /* 0: LIMIT_MCP_RESPONSE_BYTES */
    uint32_t max_streams;     /* requests under way at once; 0: LIMIT_MCP_HTTP_CLIENT_STREAMS */
    bool is_old;              /* HTTP+SSE, as is known from before */
} McpHttpClientConfig;

typedef enum McpHttpClientEventKind {
    MCP_HTTP_CLIENT_BEGIN,
    MCP_HTTP_CLIENT_CLOSE,
    MCP_HTTP_CLIENT_MESSAGE,
    MCP_HTTP_CLIENT_RENEW,
    MCP_HTTP_CLIENT_FAILED, /* text: why; nothing comes after it */
    MCP_HTTP_CLIENT_NOTE,   /* text: for the log */
} McpHttpClientEventKind;

typedef struct McpHttpClientEvent {
    McpHttpClientEventKind kind;
    McpHttpExchange *exchange; /* BEGIN: until its end is told, or CLOSE is said; CLOSE */
    const char *method; /* BEGIN, as the next three; borrowed until next, the body until end */
    const char *url;
    const McpHttpField *fields;
    size_t n_fields;
    Span body;          /* p NULL: none */
    Span text;          /* MESSAGE, FAILED, NOTE; borrowed until next */
    uint64_t with;      /* MESSAGE: the number of the request whose stream it came by; 0: none */
    McpClientLoss loss; /* MESSAGE: it is ours, in place of an answer that will not come */
} McpHttpClientEvent;

/* What came of a request. */
typedef struct McpHttpHead {
    unsigned status;
    Span content_type; /* empty: none, as below */
    Span session_id;
    Span location;
} McpHttpHead;

typedef enum McpHttpEnd {
    MCP_HTTP_END_DONE,      /* the answer is complete */
    MCP_HTTP_END_UNREACHED, /* the request was not sent: the server cannot be reached, or trusted */
    MCP_HTTP_END_CUT,       /* it was, or may have been */
    MCP_HTTP_END_TOO_LARGE, /* head or body are larger than allowed */
    MCP_HTTP_END_REFUSED,   /* authorization was refused for good; words say why */
} McpHttpEnd;

/* 0, -ENOMEM. Gives *ret. config->url must be an address (dialect/mcp/http_url.h). */
int mcp_http_client_new(McpHttpClient **ret, const McpHttpClientConfig *config);
McpHttpClient *mcp_http_client_free(McpHttpClient *http);

/* Why a field cannot be sent with every request: NULL if it can. */
const char *mcp_http_client_field_flaw(const McpHttpField *field);

/* A message of the session; borrowed until return. 0, -ENOMEM, MCP_HTTP_CLIENT_E_FULL. */
int mcp_http_client_send(McpHttpClient *http, Span message, int64_t now_ms);

bool mcp_http_client_next(McpHttpClient *http, McpHttpClientEvent *ret);

/* Of an exchange that was begun. head once, before data and end; end once, and the last: without a
 * head if none came. words: for people, of an end that is not DONE. 0, -ENOMEM: the session cannot
 * go on. */
int mcp_http_client_head(McpHttpClient *http, McpHttpExchange *exchange, const McpHttpHead *head,
                         int64_t now_ms);
int mcp_http_client_data(McpHttpClient *http, McpHttpExchange *exchange, Span bytes,
                         int64_t now_ms);
int mcp_http_client_end(McpHttpClient *http, McpHttpExchange *exchange, McpHttpEnd end, Span words,
                        int64_t now_ms);

/* Where the driver keeps what it has of an exchange. */
void **mcp_http_exchange_slot(McpHttpExchange *exchange);

/* When to call advance; INT64_MAX: never. */
int64_t mcp_http_client_next_deadline(const McpHttpClient *http);
void mcp_http_client_advance(McpHttpClient *http, int64_t now_ms);

/* Lets go of everything and takes leave (DELETE of a legacy session). Over when is_closed. */
void mcp_http_client_close(McpHttpClient *http, int64_t now_ms);
bool mcp_http_client_is_closed(const McpHttpClient *http);

/* Lets go of everything at once: next says CLOSE of what is under way, and nothing else. */
void mcp_http_client_abandon(McpHttpClient *http);

/* The session is of HTTP+SSE. */
bool mcp_http_client_is_old(const McpHttpClient *http);
