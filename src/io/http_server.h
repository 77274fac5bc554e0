/* io/http_server.h: HTTP/1 served on a TCP port or a Unix socket.
 *
 * Cuts requests out of connections (frame/http1.h), one at a time a connection, gathers their
 * bodies, and writes the answers: whole, or as streams of pieces. Keep-alive and pipelining, time
 * limits for slow peers, limits of everything, an orderly end. What is asked and answered is the
 * owner's business.
 *
 *     open → head → request → respond, or begin, piece…, end → (head → …) → close
 *
 * An exchange is one request and its answer. It is the owner's from `head` until its answer is
 * complete (respond or end has returned 0), or `gone` has come; then it is not touched again.
 *
 * A client takes a request back by closing its connection. One that has only ended its sending half
 * behind a complete request (shutdown, `nc -N`) waits for the answer and gets it. Both look alike
 * to TCP until something is sent: so such a peer is told "102 Processing", which is legal in
 * HTTP/1.1 and answered with a reset if nobody is there, and again each LIMIT_HTTP_PROBE_MS. On
 * this machine that is known at once, else within about a second. On a Unix socket nothing need be
 * sent. A peer that ends its half inside a request, behind one of HTTP/1.0 over TCP, or during an
 * answer that is a stream of pieces, counts as gone. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/logsink.h"
#include "base/span.h"
#include "frame/http1.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IO_HTTP_E_PLACE = 1, /* the address cannot be used, or is taken; the Diag says why */
};

typedef struct IoHttpServer IoHttpServer;
typedef struct IoHttpExchange IoHttpExchange;

/* Who has connected. */
typedef struct IoHttpPeer {
    const char *address; /* "127.0.0.1:51234", "unix:1000"; borrowed until return */
    /* "192.0.2.7", "[2001:db8::7]": the address of ours that it came to; "" where we listen on this
     * machine only, and its address says nothing more. Borrowed until return. */
    const char *local;
    bool is_loopback; /* the peer is on this machine (a Unix socket's always is) */
} IoHttpPeer;

/* How the server uses its owner; every function gets `context`. */
typedef struct IoHttpOps {
    /* A connection; *ret_user is what io_http_user gives. 0, or a negative errno: it is closed. May
     * be NULL, as close. No exchange of the connection is left when close comes. */
    int (*open)(void *context, const IoHttpPeer *peer, void **ret_user);
    void (*close)(void *context, void *user);
    /* The head of a request has come, its body has not. The owner may answer already: then the body
     * is dropped and `request` does not come. May be NULL. */
    void (*head)(void *context, IoHttpExchange *x);
    /* All of it is there; body is borrowed until return. Answered now or later. */
    void (*request)(void *context, IoHttpExchange *x, Span body);
    /* Nobody waits for the answer any more. */
    void (*gone)(void *context, IoHttpExchange *x);
    /* io_http_pending was above LIMIT_HTTP_MARK_BYTES (or half of max_pending_bytes, if that is
     * less), and has fallen below it. May be NULL. */
    void (*drained)(void *context, IoHttpExchange *x);
    /* The server has answered a request itself, which is malformed, too long or too slow, with so
     * many bytes of a body; the connection ends. is_new: the owner has not met it (`head`). May be
     * NULL. */
    void (*refused)(void *context, void *user, unsigned status, size_t n_bytes, bool is_new);
} IoHttpOps;

/* 0: the default of each (base/limits.h says why). */
typedef struct IoHttpLimits {
    uint64_t max_body_bytes;
    size_t max_pending_bytes; /* output of one connection */
    size_t max_connections;   /* more wait in the system's queue */
    int64_t head_ms;          /* from the first byte of a request to the end of its head */
    int64_t body_ms;          /* without a byte of a body that is due */
    int64_t idle_ms;          /* between requests */
    int64_t stall_ms;         /* without the peer's taking a byte of what is pending */
    int64_t slow_ms;          /* a body, or a whole answer, may be so far behind this rate; */
    size_t slow_bytes_per_s;  /* a stream that has not ended may be slower */
    size_t linger_bytes;      /* dropped behind the last answer, so that it can be read */
} IoHttpLimits;

typedef struct IoHttpConfig {
    IoLoop *loop;
    const char
        *address; /* "127.0.0.1:7410", "[::1]:0", "localhost:0", "unix:PATH"; port 0: a free one */
    /* NULL, or a server of the same loop that serves at its address and whose place this one takes:
     * both listen on one socket until the other is stopped, so that nobody is refused in between. A
     * socket's file goes over to this one. `address` only has to be one. Borrowed until return. */
    IoHttpServer *from;
    const IoHttpOps *ops;
    void *context;
    IoHttpLimits limits;
    const LogSink *log; /* may be NULL */
} IoHttpConfig;

/* Listens. 0, a negative errno, IO_HTTP_E_PLACE. Gives *ret; keeps the loop running. */
int io_http_server_new(IoHttpServer **ret, const IoHttpConfig *config, Diag *reterr_diag);

/* Is that an address, and does it reach this machine only? The Diag says what is wrong with it. 0,
 * IO_HTTP_E_PLACE. Asks no name server: a host is a number, or "localhost". */
int io_http_address_check(Span address, bool *ret_is_loopback, Diag *reterr_diag);

/* Do both name the same place? "localhost" and its number do; a port of 0 is always another one. */
bool io_http_address_is_same(Span address, Span other);

/* What this machine calls itself. 0, or a negative errno. */
int io_http_machine_name(char *ret, size_t size);

/* Where it listens, with the port that it has got: "127.0.0.1:40123", "unix:/path". */
const char *io_http_server_address(const IoHttpServer *server);
unsigned io_http_server_port(const IoHttpServer *server); /* 0: a Unix socket */
size_t io_http_server_n_connections(const IoHttpServer *server);

/* The owner has freed much: it goes back to the system when things are quiet. Connections and large
 * messages that have gone are seen to without it. */
void io_http_server_freed(IoHttpServer *server);

/* Lets nobody in any more and closes idle connections; the others when their answer is complete.
 * stopped(context) comes, once, when there is none left, not before this has returned. */
void io_http_server_stop(IoHttpServer *server, void (*stopped)(void *context));

/* Closes everything at once; `gone` and `close` come for what is open. */
IoHttpServer *io_http_server_free(IoHttpServer *server);

/* ---- an exchange ---- */

const Http1Head *io_http_head(const IoHttpExchange *x); /* until the exchange is over */
void *io_http_user(const IoHttpExchange *x);            /* of its connection */

/* A pointer of the owner's. */
void io_http_set_data(IoHttpExchange *x, void *data);
void *io_http_data(const IoHttpExchange *x);

/* In `head`: for the body of this request, instead of the limits' maximum. */
void io_http_limit_body(IoHttpExchange *x, uint64_t max_bytes);

/* A whole answer; Date, Content-Length and Connection are added here. body is borrowed until
 * return; respond_taken takes its content (frame/http1_writer.h). 0, or a negative errno: then the
 * connection ends, and `gone` comes from the loop. */
int io_http_respond(IoHttpExchange *x, unsigned status, const Http1Field *fields, size_t n_fields,
                    Span body);
int io_http_respond_taken(IoHttpExchange *x, unsigned status, const Http1Field *fields,
                          size_t n_fields, Bytes *body);

/* A stream of pieces; they leave at the end of the turn at the latest. As respond; BYTES_E_FULL
 * from appending to a piece means that max_pending_bytes is reached: abort it, the peer reads too
 * slowly for this message. */
int io_http_begin(IoHttpExchange *x, unsigned status, const Http1Field *fields, size_t n_fields);
int io_http_piece_begin(IoHttpExchange *x, Bytes **ret_bytes);
int io_http_piece_commit(IoHttpExchange *x);
void io_http_piece_abort(IoHttpExchange *x);

/* A piece whose middle is taken (http1_writer_piece_taken); between pieces. */
int io_http_piece_taken(IoHttpExchange *x, Span before, Bytes *body, Span after);
int io_http_end(IoHttpExchange *x);

/* The answer cannot be completed: the connection is closed, so that the peer sees it. The exchange
 * is over with this, and `gone` does not come. */
void io_http_abort(IoHttpExchange *x);

/* Bytes of this connection that the peer has not taken. */
size_t io_http_pending(const IoHttpExchange *x);
