/* dialect/mcp/http.h: MCP over HTTP, seen from the server. Performs no I/O.
 *
 * One endpoint for every revision, decided for each request, as dialect/mcp/server.h does for each
 * message:
 *
 *     2026-07-28    POST only, stateless; what is in the headers must be what is in the body; the
 *                   client that disconnects cancels
 *     2025-03-26 …  sessions (Mcp-Session-Id), a GET stream for what concerns no request, streams
 *     2025-11-25    that can be resumed (Last-Event-ID) and polled; DELETE ends a session;
 *                   disconnecting cancels nothing
 *     2024-11-05    HTTP+SSE: a GET stream whose first event names where to POST
 *
 * An answer that is the first thing to be said is sent as JSON; where something comes before it, or
 * it takes long, as a stream of events. Each message goes to one stream: that of the request which
 * it concerns, else the session's GET stream.
 *
 * A stream of a session whose client has gone, or was let go (call_detach, in 2025-11-25), is kept
 * with what is said on it, and goes on with the GET request that names its last event; one of which
 * nothing is left is 405. There is one GET stream in a session; a new one takes the place of the
 * last.
 *
 * What waits for changes (a GET stream, one of HTTP+SSE, subscriptions/listen) ends when what it
 * was asked with expires, as if its client had gone; who comes back has to bring something new. A
 * call in work may finish.
 *
 * One asker has max_sessions_each sessions, HTTP+SSE streams among them; for one more its own that
 * was used longest ago ends. Where there are max_sessions it is one of whoever has the most. A
 * session in which something is under way does not end for another: 503.
 *
 * The owner hands over requests whose path, Host, Origin and credentials it has accepted, and the
 * way to write an answer (McpHttpWire); it gets calls, through McpHttpOwner. Thread: loop.
 */
#pragma once

#include "base/hash.h"
#include "base/span.h"
#include "dialect/mcp/server.h"
#include "frame/http1.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct McpHttp McpHttp;

/* How the answer to one HTTP request is written; x is the transport's, from mcp_http_request until
 * the answer is complete, it was aborted, or mcp_http_gone. Outcomes as in io/http_server.h: 0 or a
 * negative errno, after which mcp_http_gone follows. None of these calls back into the engine. */
typedef struct McpHttpWire {
    int (*respond)(void *x, unsigned status, const Http1Field *fields, size_t n_fields, Span body);
    int (*respond_taken)(void *x, unsigned status, const Http1Field *fields, size_t n_fields,
                         Bytes *body);
    int (*begin)(void *x, unsigned status, const Http1Field *fields, size_t n_fields);
    int (*piece_begin)(void *x, Bytes **ret_bytes);
    int (*piece_commit)(void *x);
    void (*piece_abort)(void *x);
    int (*piece_taken)(void *x, Span before, Bytes *body, Span after);
    int (*end)(void *x);
    void (*abort)(void *x);
    size_t (*pending)(const void *x);
    /* A pointer of ours that goes with x. */
    void (*set_data)(void *x, void *data);
    void *(*data)(const void *x);
} McpHttpWire;

/* Who asks: the owner's object, behind which are its rights and its quota. A session belongs to the
 * one that opened it. */
typedef struct McpHttpOwner {
    /* Dispatch it; session: a number that other sessions do not have, 0: it has none. */
    void (*call)(void *context, void *asker, uint64_t session, Call *call);
    void (*cancel)(void *context, Call *call); /* stop the work; no finish follows */
    /* One more holder of the asker, one less; a session holds it longer than its connection. */
    void (*hold)(void *context, void *asker);
    void (*release)(void *context, void *asker);
    /* May this one use what that one opened? */
    bool (*is_same)(void *context, const void *asker, const void *other);
    /* Whose tasks it sees (Call.owner), text; borrowed while somebody holds the asker, or a call of
     * its runs. May be NULL: everybody's. */
    Span (*whose)(void *context, const void *asker);
    /* When what x is asked with expires, INT64_MAX: never. Streams that wait for changes end then.
     * May be NULL. */
    int64_t (*ends)(void *context, const void *x);
    /* The description of a tool, JSON; empty if there is none. For Mcp-Param-*. */
    Span (*tool)(void *context, Span name);
    /* May it open a session now? 0; else in how many milliseconds. Counted with its calls: opening
     * one is answered without a call. May be NULL: always. */
    int64_t (*admit)(void *context, void *asker);
    /* Unguessable bytes, for the ids of sessions. 0 or a negative errno. */
    int (*random)(void *context, uint8_t *ret, size_t n);
} McpHttpOwner;

typedef struct McpHttpConfig {
    McpServerConfig server; /* but for sink, which is ours; also what each limit there says */
    const McpHttpWire *wire;
    const McpHttpOwner *owner;
    void *context; /* for the owner's functions */
    HashSeed seed;
    Span old_post_path;       /* where a 2024-11-05 client POSTs to: "/messages" */
    size_t max_sessions;      /* 0: the default, as below (base/limits.h) */
    size_t max_sessions_each; /* of one asker */
    int64_t session_idle_ms;  /* a session that nobody uses ends after it, */
    int64_t session_fresh_ms; /* and one that nobody has used at all after this */
    size_t max_stored_bytes;  /* events that one session keeps for those who come back */
    int64_t keep_alive_ms;    /* silence after which a stream gets a comment, and a request that is
                                 not answered yet becomes a stream */
    int64_t retry_ms;         /* when to come back to a stream that we closed */
} McpHttpConfig;

/* Which of the paths it came to. */
typedef enum McpHttpPath {
    MCP_HTTP_PATH_MAIN,       /* POST, GET, DELETE */
    MCP_HTTP_PATH_OLD_STREAM, /* GET: HTTP+SSE */
    MCP_HTTP_PATH_OLD_POST,   /* POST ?session=ID */
} McpHttpPath;

/* 0, -ENOMEM. Borrows what config points to. Gives *ret. */
int mcp_http_new(McpHttp **ret, const McpHttpConfig *config);

/* Every call has been cancelled, and every exchange has gone. */
McpHttp *mcp_http_free(McpHttp *http);

/* A whole request. It is answered now or later, through x. Borrows head and body until return. */
void mcp_http_request(McpHttp *http, McpHttpPath path, const Http1Head *head, Span body, void *x,
                      void *asker, int64_t now_ms);

/* Refusals of the transport and of the owner in the words of this protocol: a JSON-RPC error
 * without an id as the body. For Host, Origin, credentials, and bodies that are too long. */
int mcp_http_refuse(const McpHttpWire *wire, void *x, unsigned status, const Http1Field *fields,
                    size_t n_fields, int code, Span message);

/* The answer on x will not be read. */
void mcp_http_gone(McpHttp *http, void *x, int64_t now_ms);

/* As in dialect/mcp/server.h, to all who are to be told. */
void mcp_http_list_changed(McpHttp *http, McpListKind kind);
void mcp_http_resource_updated(McpHttp *http, Span uri);
void mcp_http_task_changed(McpHttp *http, const CallTask *task, Span owner);

/* The end begins: subscriptions and GET streams are closed in order, new requests are refused with
 * 503; calls in flight may finish. Then cancel_all, when their time is over. */
void mcp_http_shutdown(McpHttp *http);
void mcp_http_cancel_all(McpHttp *http);
size_t mcp_http_n_calls(const McpHttp *http);

/* Keep-alive comments, ends of questions and of sessions. INT64_MAX: nothing is due. */
int64_t mcp_http_next_deadline(const McpHttp *http);
void mcp_http_advance(McpHttp *http, int64_t now_ms);

size_t mcp_http_n_sessions(const McpHttp *http);
size_t mcp_http_n_streams(const McpHttp *http); /* event streams that are open */
