/* dialect/mcp/http_client_internal.h: what the files of the client over HTTP share. Included by
 * http_client*.c alone.
 *
 *     http_client.c          the interface, what is to be said next, the life of an exchange
 *     http_client_send.c     messages of the session, and when they may go
 *     http_client_begin.c    the HTTP request of an exchange: its fields
 *     http_client_feed.c     heads, bodies and ends, as they come
 *     http_client_answer.c   what they mean
 *     http_client_message.c  messages of the server, and errors in their place
 *     http_client_tools.c    schemas of tools that want headers
 *
 * States of an exchange:
 *
 *     WAITING ─may go→ DUE ─said→ OPEN ─end→ OVER ─its message is given out→ (gone)
 *                       ↑          ├─another message came instead→ UNANSWERED ─error→ OVER
 *                       │          ├─stream broke, can be resumed→ RESTING ─time→ DUE
 *                       │          ├─the answer comes by another stream→ PARKED ─answer→ (gone)
 *                       └─redirect─┤
 *                                  └─nobody wants it any more→ CLOSING ─said→ (gone)
 *
 * An exchange has something to say only after something of it has moved: bytes or an end came, an
 * event was read, the state changed (n_moves). One whose turn comes without such a move would be
 * given out for ever: that is a mistake of ours, an assertion; without assertions it is ended.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/span.h"
#include "dialect/mcp/http_client.h"
#include "dialect/mcp/revision.h"
#include "frame/sse.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Redirections of one request, within a server: a slash more, a name that changed. */
#define HTTP_MAX_HOPS 5

/* Resumptions of one stream in a row that brought no event. */
#define HTTP_MAX_FRUITLESS 5

/* When a stream that broke is asked for again, where it did not say; doubled up to the second. */
#define HTTP_RETRY_MS     1000
#define HTTP_RETRY_MAX_MS 30000

/* What a server may say of it: a time beyond is one that nobody waits for. */
#define HTTP_RETRY_SAID_MAX_MS ((int64_t)10 * 60 * 1000)

/* A stream that has brought the answer is given this long to end by itself, so that its connection
 * can be used again. */
#define HTTP_LINGER_MS 1000

/* The answer to a notification, or to our taking leave. */
#define HTTP_NOTE_MS 30000

/* Of a session's id and of an event's id, which go back in a header. */
#define HTTP_ID_BYTES ((size_t)4096)

/* Schemas that are remembered for their headers. */
#define HTTP_TOOLS_MAX   4096
#define HTTP_TOOLS_BYTES ((size_t)8 * 1024 * 1024)

/* The body of a refusal: what is shown of it is short, but it may be a JSON-RPC error. */
#define HTTP_REFUSAL_BYTES ((size_t)64 * 1024)

typedef enum HttpExchangeKind {
    HTTP_REQUEST, /* POST of a request; GET when its stream is resumed */
    HTTP_NOTE,    /* POST of a notification, or of an answer of ours */
    HTTP_STREAM,  /* GET: what belongs to no request; old: all answers */
    HTTP_LEAVE,   /* DELETE */
} HttpExchangeKind;

typedef enum HttpWord {
    HTTP_WORD_OTHER,
    HTTP_WORD_DISCOVER,
    HTTP_WORD_INITIALIZE,
    HTTP_WORD_INITIALIZED,
    HTTP_WORD_TOOLS_LIST,
    HTTP_WORD_CANCELLED,
} HttpWord;

typedef enum HttpExchangeState {
    EXCHANGE_WAITING,
    EXCHANGE_DUE,
    EXCHANGE_OPEN,
    EXCHANGE_RESTING,
    EXCHANGE_PARKED,
    EXCHANGE_UNANSWERED, /* an error is to be put in place of its answer */
    EXCHANGE_OVER,
    EXCHANGE_CLOSING,
    EXCHANGE_GONE, /* its last word has been said */
} HttpExchangeState;

typedef enum HttpBody {
    HTTP_BODY_NONE, /* not looked at */
    HTTP_BODY_TEXT,
    HTTP_BODY_EVENTS,
} HttpBody;

struct McpHttpExchange {
    McpHttpExchange *next;
    McpHttpExchange *prev;
    McpHttpExchange *next_due; /* in the queue of those that have something to say */
    bool is_queued;
    uint32_t n_moves;      /* see above */
    uint32_t n_moves_seen; /* when its turn came last */
    HttpExchangeKind kind;
    HttpExchangeState state;
    HttpWord word;
    bool is_modern;
    uint64_t wire_id; /* of a request */
    Bytes body;
    void *slot;          /* the driver's */
    uint32_t generation; /* of the session that it was sent in */
    bool is_answered;
    bool was_repeated; /* after the session was forgotten */
    bool was_resent;   /* after its connection ended without a word */
    bool is_resumed;   /* the GET of a request */
    unsigned n_hops;
    unsigned n_fruitless;
    int64_t due_ms; /* RESTING: until then; OPEN: at most until then */

    /* the answer at hand */
    unsigned status; /* 0: no head yet */
    HttpBody body_kind;
    Bytes text;     /* its body; then the message in its place */
    Bytes location; /* where it redirects to; empty: nowhere that we would go */
    SseReader reader;
    Bytes last_id; /* Last-Event-ID */
    int64_t retry_ms;
    bool has_ended;  /* told, but not looked at yet */
    bool must_close; /* we have had enough of it: CLOSE is to be said before its end */
    McpHttpEnd end;
    McpClientLoss loss; /* of the message in its place */
    char words[256];    /* of the end; or of what is wrong with the answer */
};

/* A tool that wants headers. */
typedef struct HttpTool HttpTool;
struct HttpTool {
    HttpTool *next;
    size_t n_name;
    size_t n_schema;
    char data[]; /* name, then inputSchema */
};

struct McpHttpClient {
    McpHttpClientConfig config;
    Arena strings;  /* of the configuration */
    Bytes url;      /* NUL-terminated; where to POST, as redirections have left it */
    Bytes endpoint; /* old: where to POST, NUL-terminated; empty: not known yet */
    Bytes session_id;
    Span version; /* legacy: of MCP-Protocol-Version; empty: none is sent */
    int64_t now_ms;
    bool is_old;
    bool is_gated;    /* requests wait until the server knows of the session */
    bool is_renewing; /* since a 404; until `initialized` was taken */
    bool is_unproved; /* a renewed session which no request has shown to work yet */
    bool is_closed;
    uint32_t generation;
    unsigned refused_status; /* of `initialize`, before HTTP+SSE was tried */

    McpHttpExchange *first; /* in the order in which they were made */
    McpHttpExchange *last;
    McpHttpExchange *current; /* the one whose message is being read */
    McpHttpExchange *due_first;
    McpHttpExchange *due_last;
    uint32_t n_waiting;
    uint32_t n_under_way; /* requests: DUE, OPEN, RESTING */
    size_t n_bytes;       /* of all bodies */

    HttpTool *tools;
    size_t n_tools;
    size_t n_tool_bytes;

    Arena arena;     /* the message at hand */
    Arena sending;   /* the one of the session */
    Arena fields;    /* of the request at hand */
    Bytes rewritten; /* the message at hand, where it is not given out as it came */
    bool must_renew;
    bool has_note;
    bool has_failed; /* FAILED is to be said, or was */
    bool said_failed;
    char note[256];
    char failure[512];
};

/* A redirection that keeps method and body. */
TW_INLINE bool http_is_redirect(unsigned status)
{
    return status == 307 || status == 308;
}

/* http_client.c */

/* 0, -ENOMEM. In state WAITING, at the end of the list. */
int http_exchange_new(McpHttpClient *http, HttpExchangeKind kind, McpHttpExchange **ret);
/* At once: nothing of it may be under way. */
void http_exchange_remove(McpHttpClient *http, McpHttpExchange *exchange);
/* Nobody wants it any more: CLOSE is said if it is under way. */
void http_exchange_drop(McpHttpClient *http, McpHttpExchange *exchange);
void http_exchange_set_state(McpHttpClient *http, McpHttpExchange *exchange,
                             HttpExchangeState state);
/* Something of it has moved. */
TW_INLINE void http_exchange_move(McpHttpExchange *exchange)
{
    exchange->n_moves++;
}
/* It has something to say. */
void http_exchange_queue(McpHttpClient *http, McpHttpExchange *exchange);
void http_exchange_unqueue(McpHttpClient *http, McpHttpExchange *exchange);
/* Its answer is read no further. */
void http_exchange_cut(McpHttpExchange *exchange, McpHttpEnd end);
/* Makes it ready for another answer. */
void http_exchange_reset(McpHttpExchange *exchange);
TW_PRINTF(2, 3) void http_client_fail(McpHttpClient *http, const char *format, ...);
TW_PRINTF(2, 3) void http_client_note(McpHttpClient *http, const char *format, ...);

/* http_client_send.c */

/* Whatever may go now, goes. */
void http_client_start_waiting(McpHttpClient *http);
/* The server knows of the session: requests may go, and the GET stream is asked for. 0, -ENOMEM. */
int http_client_open_gate(McpHttpClient *http);
/* `initialize` was refused as servers of HTTP+SSE do. 0, -ENOMEM. */
int http_client_begin_old(McpHttpClient *http);

/* http_client_begin.c: 0, -ENOMEM. */
int http_client_begin(McpHttpClient *http, McpHttpExchange *exchange, McpHttpClientEvent *ret);

/* http_client_answer.c: the end of an exchange was told. *ret_any: its answer is to be given out as
 * *ret_text; else it is in another state, or removed. 0, -ENOMEM. */
int http_client_finish(McpHttpClient *http, McpHttpExchange *exchange, Span *ret_text,
                       bool *ret_any);

/* http_client_message.c */

/* A message by the answer of `exchange`. *ret: whether to give it out, as *ret_text. 0, -ENOMEM. */
int http_client_take(McpHttpClient *http, McpHttpExchange *exchange, Span text, Span *ret_text,
                     bool *ret);
/* The same of an event of its stream. */
int http_client_take_event(McpHttpClient *http, McpHttpExchange *exchange, const SseEvent *event,
                           Span *ret_text, bool *ret);
/* Puts an error in place of the answer; the exchange is OVER. 0, -ENOMEM. */
TW_PRINTF(3, 4)
int http_client_answer_error(McpHttpClient *http, McpHttpExchange *exchange, const char *format,
                             ...);
/* A JSON-RPC error, until the next message is read; text as long as what it was read from. */
typedef struct HttpError {
    int code;
    Span message;
    Span text;   /* the member `error`, as JSON */
    bool has_id; /* it names a request: ours are numbers */
    uint64_t id; /* which */
} HttpError;

/* False if text is none. */
bool http_client_read_error(McpHttpClient *http, Span text, HttpError *ret);
/* The server has refused the request with an error, which is given out as its answer, whatever
 * request it names: exchange->text, of which *error was read. 0, -ENOMEM. */
int http_client_take_refusal(McpHttpClient *http, McpHttpExchange *exchange, const HttpError *error,
                             Span *ret_text, bool *ret);

/* http_client_tools.c */

HttpTool *http_tool_find(const McpHttpClient *http, Span name);
void http_tools_clear(McpHttpClient *http);
/* A result of tools/list in `message`. *ret_text: the message without tools that may not be used,
 * or the message itself. 0, -ENOMEM. */
int http_tools_take(McpHttpClient *http, Span message, JsonValue result, Span *ret_text);
