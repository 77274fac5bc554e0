/* frame/http1_writer.h: HTTP/1 messages put into a byte stream. Performs no I/O.
 *
 * A response is written at once, with its Content-Length; or as a stream of pieces, whose end is
 * told by chunks (HTTP/1.1) or by closing (HTTP/1.0). Content-Length, Transfer-Encoding and
 * Connection are the writer's own: a caller's field of that name is refused, and so is anything
 * that would begin a line of its own, so that no value can become a field, nor a body an answer.
 *
 *     respond | respond_taken | respond_lent | begin, piece…, end → pull, writev(2), consumed
 *
 * Thread: any, one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/span.h"
#include "frame/http1.h"
#include "frame/outq.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    HTTP1_WRITER_E_FULL = 1, /* max_pending would be passed; nothing was queued */
    HTTP1_WRITER_E_FIELD, /* a name, value, target or reason that cannot be sent; nothing queued */
};

typedef struct Http1Answer {
    unsigned status;          /* 200 to 999 */
    Span lines;               /* of the head, each with its CRLF: not checked. May be empty */
    const Http1Field *fields; /* borrowed until return */
    size_t n_fields;
    unsigned minor;   /* HTTP/1.minor of the request: decides about chunks */
    bool to_head;     /* the request was HEAD: the fields only */
    bool keeps_alive; /* whether another request may follow */
} Http1Answer;

/* An answer to that request; the caller adds fields, and may clear keeps_alive. */
TW_INLINE Http1Answer http1_answer_to(const Http1Head *request, unsigned status)
{
    return (Http1Answer){.status = status,
                         .minor = request->minor,
                         .to_head = request->method == HTTP1_METHOD_HEAD,
                         .keeps_alive = request->keeps_alive};
}

typedef enum Http1WriterState {
    HTTP1_WRITER_IDLE,
    HTTP1_WRITER_CHUNKED,
    HTTP1_WRITER_PLAIN,  /* a stream until close */
    HTTP1_WRITER_HIDDEN, /* a stream that answers HEAD: nothing of it is sent */
} Http1WriterState;

typedef struct Http1Writer {
    Outq out;
    Http1WriterState state;
    bool is_last; /* what was begun last is not followed by another: close when it is sent */
} Http1Writer;

#define HTTP1_WRITER_NULL ((Http1Writer){.is_last = false})

/* Never holds more than max_pending bytes, heads included. Allocates nothing yet. */
void http1_writer_init(Http1Writer *writer, size_t max_pending);
void http1_writer_deinit(Http1Writer *writer);

/* The usual words of a status, "OK"; "" if it has none. */
const char *http1_status_text(unsigned status);

/* A whole response; borrows body until return. A status without a body (204, 304) has none: body
 * must be empty. 0, -ENOMEM, HTTP1_WRITER_E_FULL, HTTP1_WRITER_E_FIELD. */
int http1_writer_respond(Http1Writer *writer, const Http1Answer *answer, Span body);

/* As respond, but takes the content of *body, which is not copied if above 4 KiB. On success *body
 * is empty, keeps its maximum, and may hold other storage than before; on failure it is untouched.
 */
int http1_writer_respond_taken(Http1Writer *writer, const Http1Answer *answer, Bytes *body);

/* As respond, but a body from BYTES_LEND_MIN on is borrowed until it is sent, or until own. */
int http1_writer_respond_lent(Http1Writer *writer, const Http1Answer *answer, Span body);

/* "100 Continue", before the response to a request that expects it. */
int http1_writer_continue(Http1Writer *writer);

/* "102 Processing": the response will come. To HTTP/1.1 only, any number of times. */
int http1_writer_processing(Http1Writer *writer);

/* A whole request, with Content-Length if it has a body or is not GET, HEAD or DELETE. The Host is
 * among the fields; keeps_alive false asks for the connection's end. 0, -ENOMEM, outcomes. */
int http1_writer_request(Http1Writer *writer, Span method, Span target, const Http1Field *fields,
                         size_t n_fields, bool keeps_alive, Span body);

/* Begins a stream. For HTTP/1.0 it ends with the connection, so that is_last is set. */
int http1_writer_begin(Http1Writer *writer, const Http1Answer *answer);

/* A piece of it; borrows it until return. An empty one is nothing, not the end. */
int http1_writer_piece(Http1Writer *writer, Span piece);

/* Composes a piece in place: append to *ret_bytes (borrowed) without looking at what it holds
 * already, then commit or abort; nothing else of this writer may be called in between. BYTES_E_FULL
 * from an append is max_pending reached: abort. 0, -ENOMEM, HTTP1_WRITER_E_FULL; unless commit
 * returns 0, the piece is gone. commit_lent: with a part that is lent (base/bytes.h), which is not
 * first nor last in it. */
int http1_writer_piece_begin(Http1Writer *writer, Bytes **ret_bytes);
int http1_writer_piece_commit(Http1Writer *writer);
int http1_writer_piece_commit_lent(Http1Writer *writer, BytesLent lent);
void http1_writer_piece_abort(Http1Writer *writer);

/* A piece of three parts, of which the middle is taken, as by respond_taken, and the others are
 * short: HTTP1_WRITER_AROUND_BYTES at most each. 0, -ENOMEM, HTTP1_WRITER_E_FULL. */
#define HTTP1_WRITER_AROUND_BYTES ((size_t)256)
int http1_writer_piece_taken(Http1Writer *writer, Span before, Bytes *body, Span after);

/* Ends the stream. If it fails, it is not ended. */
int http1_writer_end(Http1Writer *writer);

TW_INLINE bool http1_writer_is_streaming(const Http1Writer *writer)
{
    return writer->state != HTTP1_WRITER_IDLE;
}

/* Whether the connection is to be closed once what is pending is sent and no stream is open. */
TW_INLINE bool http1_writer_is_last(const Http1Writer *writer)
{
    return writer->is_last;
}

/* Copies what is still lent. After -ENOMEM nothing may be sent any more. */
TW_INLINE int http1_writer_own(Http1Writer *writer)
{
    return outq_own(&writer->out);
}

/* The pending bytes as up to `max` slices; returns how many, 0 if nothing is pending. They neither
 * move nor change until consumed, also if more is written meanwhile. */
TW_INLINE size_t http1_writer_pull(Http1Writer *writer, Span *slices, size_t max)
{
    return outq_pull(&writer->out, slices, max);
}

/* Must follow each pull: of what it showed, n bytes were sent (0 if none could be). */
TW_INLINE void http1_writer_consumed(Http1Writer *writer, size_t n)
{
    outq_consumed(&writer->out, n);
}

TW_INLINE size_t http1_writer_pending(const Http1Writer *writer)
{
    return outq_pending(&writer->out);
}
