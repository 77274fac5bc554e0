/* io/http_impl.h: what the files of the HTTP server share (io/http_server.h).
 *
 *     http_server.c      listens, accepts, looks at the time, ends
 *     http_connection.c  one connection: its stream, the end of a turn, its own end
 *     http_request.c     cuts requests out of it and hands them over
 *     http_exchange.c    the owner's answers
 *     http_time.c        how long its peer may take
 *
 * A connection that has something to be done at the end of the turn is on the server's list of
 * marked ones: there its output is flushed, waiting requests are begun, and its memory is released
 * when it is closed, which is never inside a callback of its own.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "frame/http1.h"
#include "frame/http1_writer.h"
#include "frame/inq.h"
#include "io/http_address.h"
#include "io/http_server.h"
#include "io/loop_internal.h"
#include "io/stream.h"
#include "io/unix_socket.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct HttpConnection HttpConnection;

/* So many connections wait for each other with their answers. Twice as many gain next to nothing,
 * and the first would wait longer. */
#define HTTP_HELD_MAX ((size_t)32)

struct IoHttpExchange {
    HttpConnection *connection;
    void *data;
    bool is_open;  /* its answer is not complete */
    bool is_known; /* the owner has met it, and is told if it goes */
};

/* Where the reading of requests is. */
typedef enum HttpInput {
    HTTP_INPUT_HEAD, /* between requests, or inside a head */
    HTTP_INPUT_BODY, /* gathers it */
    HTTP_INPUT_DROP, /* reads over a body that was answered already */
    HTTP_INPUT_DONE, /* the request is complete; the next one waits for its answer */
    HTTP_INPUT_OVER, /* there will be no other: what still comes is dropped */
} HttpInput;

/* What the time limits are about. */
typedef enum HttpPhase {
    HTTP_PHASE_WORK, /* it is our turn */
    HTTP_PHASE_IDLE,
    HTTP_PHASE_HEAD,
    HTTP_PHASE_BODY,
    HTTP_PHASE_LINGER, /* the last answer was sent */
} HttpPhase;

struct HttpConnection {
    IoHttpServer *server;
    IoStream *stream;
    HttpConnection *next; /* of those that are open */
    HttpConnection *prev;
    HttpConnection *next_marked;
    void *user;
    IoHttpExchange x;
    Http1Reader reader;
    Http1Writer writer;
    Bytes body; /* of a request that came in several pieces */
    Span piece; /* the last one, still in the reader; it need not be copied if nothing follows */
    HttpInput input;
    HttpPhase phase;
    int64_t phase_ms;    /* since when; of a body, its last byte */
    int64_t body_end_ms; /* a body must be there by then; later with each byte of it */
    int64_t written_ms;  /* when the peer last took something, or had not to */
    int64_t take_end_ms; /* and of whole answers, all; later with each byte that it takes */
    int64_t active_ms;
    int64_t probe_ms; /* of a peer that sends no more: when to tell it that we work, */
    int64_t look_ms;  /* and when to look whether it is there */
    size_t n_dropped;
    size_t held_at;    /* if it is held: where */
    int fd;            /* the stream's */
    bool is_marked;    /* is on the list of the server */
    bool is_settling;  /* what is left to do is being done */
    bool is_handling;  /* its input is: what it answers meanwhile is seen to behind that */
    bool is_closed;    /* the stream has gone; the memory goes with the mark */
    bool is_broken;    /* an answer failed: to be closed at the end of the turn */
    bool has_user;     /* open was called, so close must be */
    bool has_ended;    /* the peer sends no more */
    bool has_waiting;  /* reading stopped for another reason than want of bytes */
    bool has_memory;   /* something to be given back after a silence */
    bool is_clean;     /* of OVER: nothing more can come */
    bool is_lingering; /* output was shut */
    bool is_paused;
    bool is_owing;  /* whole answers are pending */
    bool is_above;  /* more was pending than the mark */
    bool is_held;   /* is among those of the server */
    bool continued; /* "100 Continue" was sent for this request */
};

struct IoHttpServer {
    uv_poll_t poll;   /* of the listening socket */
    uv_idle_t anchor; /* the memory is released when libuv has let go of both */
    int n_handles;
    IoLoop *loop;
    IoTimer *timer; /* the earliest deadline of all connections, roughly */
    IoTimer *rest;  /* accepting goes on when it fires */
    IoBeforeWait *settle;
    const IoHttpOps *ops;
    void *context;
    IoHttpLimits limits;
    const LogSink *log;
    int fd;            /* listens on TCP, or -1 */
    UnixSocket socket; /* or on this */
    TcpAddress address;
    char address_text[sizeof("unix:") + UNIX_SOCKET_PATH_MAX];
    HttpConnection *first;
    HttpConnection *first_marked;
    HttpConnection *last_marked;
    size_t n_connections;
    HttpConnection *held[HTTP_HELD_MAX]; /* whose answers wait for those of others */
    size_t n_held;
    int64_t held_ms;   /* of a coarse clock: since when there are any */
    int64_t hurry_ms;  /* until then nothing is held, since handlers take their time */
    Inq store;         /* where connections read to, in turn */
    Bytes body_store;  /* and where they gather bodies */
    size_t mark_bytes; /* of pending output */
    int64_t grain_ms;  /* deadlines are rounded up to multiples of it */
    int64_t timer_ms;  /* what the timer is set to */
    int64_t freed_ms;  /* since when there is memory to be given back; INT64_MAX: none */
    int64_t trim_ms;   /* when it will be */
    char date[38];     /* "Date: Sun, 06 Nov 1994 08:49:37 GMT", CRLF and NUL */
    int64_t date_end_ms;
    void (*stopped)(void *context);
    bool is_accepting;
    bool is_resting;
    bool is_stopping;
    bool is_dead;
};

/* ---- http_server.c ---- */

/* Sees to the connection at the end of this turn. */
void http_server_mark(IoHttpServer *server, HttpConnection *c);

/* The timer fires at that time, or a little later. */
void http_server_expect(IoHttpServer *server, int64_t due_ms);

/* ---- http_connection.c ---- */

/* Takes fd on success. 0, or a negative errno. */
int http_connection_open(IoHttpServer *server, int fd, const IoHttpPeer *peer);

/* At once. Nothing is left but the memory. */
void http_connection_close(HttpConnection *c);
void http_connection_free(HttpConnection *c);

/* The end of a turn in which it was marked. */
void http_connection_settle(HttpConnection *c);

/* Its answers wait for those of others, until the end of the turn at most. It is marked. */
void http_connection_hold(HttpConnection *c);

/* What the held ones have to say is written. */
void http_server_let_go(IoHttpServer *server);

/* http_request.c: handles what was read, as far as it may. */
void http_connection_handle(HttpConnection *c);

/* The exchange, if there is one, is no longer the owner's. */
void http_connection_drop_exchange(HttpConnection *c);

/* Answers in place of the owner, if that is still possible, and ends. */
void http_connection_refuse(HttpConnection *c, unsigned status, const char *text);

/* http_time.c: what it is timed for from now on. */
void http_connection_set_phase(HttpConnection *c);

/* The peer has sent, or taken, n bytes of what must come by *end_ms. */
void http_connection_earn(const HttpConnection *c, int64_t *end_ms, size_t n);

/* Gives back what was freed, if it is time. */
void http_server_trim(IoHttpServer *server, int64_t now_ms);

/* When to look at it next; and what is to be done about it by then. */
int64_t http_connection_due(const HttpConnection *c);
void http_connection_expire(HttpConnection *c, int64_t now_ms);

TW_INLINE size_t http_connection_pending(const HttpConnection *c)
{
    return http1_writer_pending(&c->writer);
}

TW_INLINE size_t http_connection_unread(const HttpConnection *c)
{
    return inq_unread(&c->reader.in).n;
}

TW_INLINE int64_t http_connection_now(const HttpConnection *c)
{
    return io_loop_now_ms(c->server->loop);
}

/* Something was put into the writer, before which n_before bytes were pending. */
void http_connection_queued(HttpConnection *c, size_t n_before);

/* The answer is complete. */
void http_connection_answered(HttpConnection *c);

/* ---- http_exchange.c ---- */

/* The line of Date, with its CRLF; borrowed until the next call. */
Span http_server_date(IoHttpServer *server);
