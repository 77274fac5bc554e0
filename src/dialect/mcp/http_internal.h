/* dialect/mcp/http_internal.h: the inside of MCP over HTTP, shared by the files that are it.
 *
 *     http.c           life, the requests by method, time
 *     http_seat.c      sessions at work (McpServer): their pool, their events, what they send
 *     http_stream.c    one response on its way
 *     http_session.c   legacy sessions: ids, GET, DELETE, coming back, their end
 *     http_store.c     events that are kept for those who come back
 *     http_old.c       HTTP+SSE of 2024-11-05
 *
 * A request in work is a stream on a seat. A seat without a session serves one POST and goes back
 * to the pool; `initialize` makes it the seat of a session, and then it has any number of streams.
 *
 * Seats are freed by mcp_http_tend only, which every entry calls and no callback does: a seat that
 * must go is listed (`doomed`), since the session that it holds may be at work further up the
 * stack. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/map.h"
#include "base/span.h"
#include "dialect/mcp/http.h"
#include "dialect/mcp/http_guard.h"
#include "dialect/mcp/request.h"
#include "dialect/mcp/revision.h"
#include "dialect/mcp/server.h"

typedef struct McpHttpSeat McpHttpSeat;
typedef struct McpHttpSession McpHttpSession;
typedef struct McpHttpStream McpHttpStream;
typedef struct McpHttpShare McpHttpShare;

/* ---- http_store.c ---- */

enum {
    MCP_HTTP_STORE_E_FULL = 1, /* the event alone is larger than the store */
};

typedef struct McpHttpEvent McpHttpEvent;

/* The last events of a session, oldest first. */
typedef struct McpHttpStore {
    McpHttpEvent *first;
    McpHttpEvent *last;
    size_t n_bytes; /* what they cost, the objects included */
    size_t max_bytes;
} McpHttpStore;

/* One of them, as it is found again. */
typedef struct McpHttpStored {
    const McpHttpEvent *event;
    uint64_t stream;
    uint64_t n; /* of that stream */
    Span data;  /* borrowed until the next add or deinit */
} McpHttpStored;

/* "7-12": what stands in an event's id. */
#define MCP_HTTP_EVENT_ID_BYTES 44

void mcp_http_store_init(McpHttpStore *store, size_t max_bytes);
void mcp_http_store_deinit(McpHttpStore *store);

/* Copies data; the oldest make room. 0, -ENOMEM, MCP_HTTP_STORE_E_FULL. */
int mcp_http_store_add(McpHttpStore *store, uint64_t stream, uint64_t n, Span data);

/* Forgets the events of the stream that say just this. */
void mcp_http_store_forget(McpHttpStore *store, uint64_t stream, Span data);

/* The first event of the stream behind the n-th that is still there; steps on if *at is one that
 * was found before (event NULL: from the beginning). False if there is none. */
bool mcp_http_store_next(const McpHttpStore *store, uint64_t stream, uint64_t n, McpHttpStored *at);

/* Writes an id, NUL-terminated, and reads one. False if it is none of ours. */
Span mcp_http_event_id(char buffer[MCP_HTTP_EVENT_ID_BYTES], uint64_t stream, uint64_t n);
bool mcp_http_event_id_parse(Span id, uint64_t *ret_stream, uint64_t *ret_n);

/* ---- the objects ---- */

/* Letters of a session's id: 16 random bytes. */
#define MCP_HTTP_ID_BYTES 32

/* Seats, and streams, that wait for work; more than work at once in quiet times. */
#define MCP_HTTP_MAX_FREE 64

struct McpHttp {
    McpHttpConfig config; /* zeros replaced by defaults */
    int64_t now_ms;
    bool is_shutting;

    McpLink seats; /* all of them */
    McpLink free;  /* those that wait for work; the last used is the last */
    size_t n_free;
    McpLink doomed; /* those that tend is to look after */
    McpLink asking; /* those that may have questions open */
    McpLink beats;  /* streams, by when their next comment is due */
    McpLink uses;   /* sessions, by when they were used last */
    McpLink fresh;  /* those that nobody has come back to yet, by when they were opened */
    size_t n_fresh;
    Map sessions; /* id → McpHttpSession */
    Map shares;   /* bytes of a pointer to an asker → McpHttpShare */
    size_t n_streams;
    McpLink spares; /* streams that are not in use, so that steady traffic allocates nothing */
    size_t n_spares;

    Bytes text; /* the message that is being written; empty in between */
};

/* An McpServer and its place. */
struct McpHttpSeat {
    McpHttp *http;
    McpServer *server;
    McpSink sink;
    bool is_wide;             /* takes as many requests at once as a session may have open */
    void *asker;              /* a session holds it; else it is the stream's */
    McpHttpSession *session;  /* NULL: serves one POST, statelessly */
    int64_t retry_ms;         /* not 0: no session now, but then */
    bool is_busy;             /* a message is being read, */
    McpHttpStream *receiving; /* of this stream; NULL again once it is over */
    McpAbout about;           /* what is being written */
    McpLink streams;
    McpLink link;   /* among all */
    McpLink place;  /* among the free, or alone */
    McpLink doom;   /* among the doomed, or alone */
    McpLink asking; /* among those, or alone */
    bool holds_asker;
};

typedef enum McpHttpKind {
    MCP_HTTP_POST,
    MCP_HTTP_GET, /* what concerns no request of a session */
    MCP_HTTP_OLD, /* everything of an HTTP+SSE session */
} McpHttpKind;

/* One response on its way. It is there until it is complete, also while nobody listens: messages
 * of a legacy session are then kept for who comes back. */
struct McpHttpStream {
    McpHttpSeat *seat;
    void *x; /* NULL: nobody listens */
    McpHttpKind kind;
    bool takes_json;
    bool takes_events;
    bool has_begun;    /* as a stream of events: there may be somebody who comes back to it */
    bool is_streaming; /* what x is being answered with is a stream of events */
    bool tells_id;     /* the response names the session that it opens */
    uint64_t number;   /* of a session's: what its ids begin with; 0 is the GET stream */
    uint64_t n_events; /* the last one's number */
    int64_t due_ms;
    int64_t end_ms; /* it waits for changes until then; INT64_MAX: or for something else */
    McpLink link;   /* among the seat's */
    McpLink beat;   /* among those that get comments, or alone */
};

struct McpHttpSession {
    McpHttpSeat *seat;
    char id[MCP_HTTP_ID_BYTES + 1];
    uint64_t serial; /* as random as the id: there are several listeners, and their sessions differ,
                        too */
    bool is_old;
    McpHttpShare *share;
    McpLink use;   /* among all that were used, or all that are fresh, by used_ms */
    McpLink own;   /* among those of its share, likewise */
    bool is_fresh; /* nobody has come back to it since it was opened */
    int64_t used_ms;
    McpHttpStream *get;    /* or the HTTP+SSE stream; NULL if none is open */
    uint64_t n_get_events; /* on the GET stream, the waiting ones included, */
    uint64_t n_get_sent;   /* and those that somebody heard */
    uint64_t last_number;
    McpHttpStore store;
};

/* The sessions of one asker; there is one while it has any. */
struct McpHttpShare {
    const void *asker;
    size_t n;
    McpLink sessions;
};

TW_INLINE const McpHttpWire *mcp_http_wire(const McpHttp *http)
{
    return http->config.wire;
}

TW_INLINE Span mcp_http_session_id(const McpHttpSession *session)
{
    return span_make(session->id, MCP_HTTP_ID_BYTES);
}

/* a + b, and INT64_MAX where it does not fit. */
int64_t mcp_http_later(int64_t at_ms, int64_t after_ms);

/* ---- http.c ---- */

/* Refuses a request that has no stream. */
void mcp_http_refuse_x(McpHttp *http, void *x, unsigned status, int code, Span message);

/* An answer without a body. */
void mcp_http_answer_empty(McpHttp *http, void *x, unsigned status);

/* ---- http_seat.c ---- */

/* A seat for a new client; wide: one that may become a session's. NULL: no memory. */
McpHttpSeat *mcp_http_seat_take(McpHttp *http, bool is_wide);
McpHttpSeat *mcp_http_seat_free(McpHttpSeat *seat);

/* One message for it: hands it over, serves what comes of it, and completes a response that nothing
 * will be said on. Borrows head and body until return; head NULL: what it says does not matter. */
void mcp_http_seat_receive(McpHttpSeat *seat, McpHttpStream *stream, const Http1Head *head,
                           Span body);

/* Hands the session's events to the owner. */
void mcp_http_seat_pump(McpHttpSeat *seat);

/* Its last stream has gone: to the pool, unless it is a session's. */
void mcp_http_seat_rest(McpHttpSeat *seat);

/* tend will look after it. */
void mcp_http_seat_doom(McpHttpSeat *seat);

/* Cancels all that it has in work; nothing is sent any more. Each response that is under way ends
 * with that status, or if it has begun, where it is. */
void mcp_http_seat_close(McpHttpSeat *seat, unsigned status, Span why);

/* What was put off: sessions that failed, and requests whose client has gone. */
void mcp_http_tend(McpHttp *http);

/* ---- http_stream.c ---- */

/* NULL: no memory. Borrows head until return. */
McpHttpStream *mcp_http_stream_new(McpHttpSeat *seat, McpHttpKind kind, void *x,
                                   McpHttpTakes takes);

/* It is over; nobody listens to it. */
void mcp_http_stream_free(McpHttpStream *stream);

/* Whether events on it have ids, and are kept. */
bool mcp_http_stream_is_kept(const McpHttpStream *stream);

/* Begins the stream of events, behind the n-th. False: then nobody listens any more. */
bool mcp_http_stream_begin(McpHttpStream *stream, uint64_t n);

/* Sends one message, or keeps it; frees the stream behind an answer. 0; > 0: it cannot be kept. */
int mcp_http_stream_send(McpHttpStream *stream, const McpAbout *about, Bytes *message);

/* An event, which is not kept. id may be empty. False: then nobody listens any more. */
bool mcp_http_stream_put(McpHttpStream *stream, Span type, Span id, Span data);

/* Somebody comes back for what is behind the n-th event; whoever listened so far does no more. */
void mcp_http_stream_resume(McpHttpStream *stream, void *x, uint64_t n);

/* The response is complete, or is ended where it is; the stream stays. */
void mcp_http_stream_end(McpHttpStream *stream);

/* Ends the response with a refusal, or where it is, if it has begun; the stream stays. */
void mcp_http_stream_refuse(McpHttpStream *stream, unsigned status, int code, Span message);

/* Its request has ended without an answer: completes and frees it. */
void mcp_http_stream_settle(McpHttpStream *stream);

/* Does more wait unread at its client than may, while reports and log records follow? */
bool mcp_http_stream_is_behind(const McpHttpStream *stream);

/* A provider lets the client come back for the rest (2025-11-25). */
void mcp_http_stream_detach(McpHttpStream *stream);

/* Nobody listens any more, as the transport says, or as was found out: what that means for it. May
 * free the stream. */
void mcp_http_stream_gone(McpHttpStream *stream);

/* Something was sent, or it begins to wait: counts the silence from now. */
void mcp_http_stream_wait(McpHttpStream *stream);

/* It waits for changes, and not for ever: x's credentials end at some time. */
void mcp_http_stream_set_end(McpHttpStream *stream);

/* It was silent for long, or its time is over: begins the stream of events if that can be, and
 * sends a comment. */
void mcp_http_stream_beat(McpHttpStream *stream);

/* ---- http_session.c ---- */

/* Makes the seat a session's. 0, a negative errno; > 0: there are too many, or if seat->retry_ms is
 * not 0, it is too soon. */
int mcp_http_session_open(McpHttpSeat *seat, void *asker, bool is_old);

/* Refuses x, for which there is no session: 503, or 429 where it is too soon. */
void mcp_http_session_refuse(McpHttpSeat *seat, void *x);

/* The session with that id that the asker may use; NULL if there is none. */
McpHttpSession *mcp_http_session_find(McpHttp *http, Span id, const void *asker, bool is_old);

/* Somebody uses it. */
void mcp_http_session_use(McpHttpSession *session);

/* Cancels its calls, ends its streams and frees it with its seat. */
void mcp_http_session_end(McpHttpSession *session, Span why);

/* A message that concerns no request: sends it, or keeps it until somebody listens. */
void mcp_http_session_tell(McpHttpSession *session, Span message);

/* GET: what concerns no request; or, with Last-Event-ID, the rest of a stream, or 405. */
void mcp_http_session_listen(McpHttpSession *session, const Http1Head *head, void *x);

/* Those that nobody has used for long end. */
void mcp_http_sessions_expire(McpHttp *http);
int64_t mcp_http_sessions_deadline(const McpHttp *http);

/* ---- http_old.c ---- */

void mcp_http_old_request(McpHttp *http, McpHttpPath path, const Http1Head *head, Span body,
                          void *x, void *asker);
