/* frame/sse.h: server-sent events (text/event-stream), cut out of and put into a byte stream, as
 * the HTML standard has them. Performs no I/O.
 *
 * Lines end in CR, LF or CRLF, in any mixture; a byte order mark at the very beginning is skipped.
 * An event is given out at the empty line behind it, if it has a data field; what is cut off at the
 * end of the stream is dropped. max_bytes counts the content of one event: data, type and id; a
 * line may be a field's name longer. What exceeds it is final.
 *
 *     read:   reserve, read(2) into it, commit (or: feed) → next until SSE_E_AGAIN
 *     write:  sse_write_* append to any Bytes, such as a piece of an HTTP stream
 *
 * Thread: any, one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/span.h"
#include "frame/inq.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SSE_E_AGAIN = 1,  /* no complete event yet: feed more, or wait for the peer */
    SSE_E_TOO_LARGE,  /* an event exceeds max_bytes; final */
    SSE_E_FULL,       /* reader: call next until AGAIN first; writer: the Bytes are full */
    SSE_E_FIELD,      /* a type, id or comment to be written contains CR, LF or NUL */
    SSE_E_INCOMPLETE, /* the stream ended inside an event */
};

typedef struct SseEvent {
    Span type; /* empty: "message" */
    Span data; /* lines joined by LF */
    Span id;   /* the last one that the stream has set; empty if none */
} SseEvent;

typedef struct SseReader {
    Inq in;
    size_t max_bytes;
    size_t n_searched;  /* unread bytes that are known to hold no line end */
    uint64_t n_scanned; /* bytes searched over its life: the tests' proof that none is twice */
    Bytes data;         /* of the event under way */
    Bytes type;
    Bytes id_next; /* becomes id when the event ends */
    Bytes id;
    int64_t retry_ms; /* -1: the stream has not said */
    bool has_data;
    bool has_id;
    bool has_field;    /* a line of the event has come */
    bool given;        /* data and type belong to the event that was given last */
    bool behind_start; /* the place of the byte order mark is passed */
    bool after_cr;     /* an LF here belongs to the CR before it */
    bool too_large;    /* final */
} SseReader;

#define SSE_READER_NULL ((SseReader){.in = {.data = NULL}})

/* For events of up to max_bytes. Allocates nothing yet. */
void sse_reader_init(SseReader *reader, size_t max_bytes);
void sse_reader_deinit(SseReader *reader);

/* Appends n bytes; borrows data until return. After SSE_E_AGAIN any n up to INQ_AHEAD_BYTES is
 * accepted. 0, -ENOMEM, SSE_E_FULL, SSE_E_TOO_LARGE; nothing was taken unless 0. */
int sse_reader_feed(SseReader *reader, const void *data, size_t n);

/* Instead of feed, without its copy: room for at least `want` bytes (1 to INQ_AHEAD_BYTES) to be
 * written by the caller, who then commits as many as arrived; *ret_p is borrowed until that commit.
 * Outcomes as feed. */
int sse_reader_reserve(SseReader *reader, size_t want, char **ret_p, size_t *ret_n);
void sse_reader_commit(SseReader *reader, size_t n);

/* The next event; its spans are borrowed until the next `next` or deinit. 0, -ENOMEM (nothing is
 * lost: call again), SSE_E_AGAIN, SSE_E_TOO_LARGE. */
int sse_reader_next(SseReader *reader, SseEvent *ret_event);

/* What to send as Last-Event-ID after the stream broke: also of events without data. Borrowed until
 * the next `next` or deinit. */
Span sse_reader_last_id(const SseReader *reader);

/* How long to wait before connecting again, as the stream said; -1 if it did not. */
TW_INLINE int64_t sse_reader_retry_ms(const SseReader *reader)
{
    return reader->retry_ms;
}

/* After the stream ended and next said AGAIN: 0 if it ended between events, SSE_E_INCOMPLETE,
 * SSE_E_TOO_LARGE as before. */
int sse_reader_finish(const SseReader *reader);

/* Appends one event: type and id if not empty, each line of data (CR, LF and CRLF separate them;
 * they arrive as LF) in a field of its own. An empty data is sent as such. Borrows all until
 * return. 0, -ENOMEM, SSE_E_FULL, SSE_E_FIELD; nothing is appended unless 0. */
int sse_write_event(Bytes *out, const SseEvent *event);

/* As sse_write_event, as the first thing in a message; data of one line from BYTES_LEND_MIN on is
 * not appended but lent: *ret_lent says where it belongs, else it is BYTES_LENT_NULL. */
int sse_write_event_lent(Bytes *out, const SseEvent *event, BytesLent *ret_lent);

/* Appends a comment, which readers ignore: it keeps a silent stream alive. May be empty. */
int sse_write_comment(Bytes *out, Span comment);

/* Appends how long a client should wait before it connects again: a line that belongs to the event
 * which must follow. */
int sse_write_retry(Bytes *out, uint64_t retry_ms);
