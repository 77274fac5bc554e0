/* frame/ndjson.h: one JSON text a line, cut out of and put into a byte stream. Performs no I/O.
 *
 * A line ends at 0x0A and at nothing else: a lone CR, NUL, U+2028 are content. One CR before the
 * newline is taken off. Lines of nothing but spaces, tabs and CRs are skipped. max_bytes counts the
 * message, that is the line without newline and without that CR; equality passes. A longer line is
 * reported once, as soon as it is known to be too long; the rest of it is dropped as it arrives,
 * and reading goes on behind it. Who wants to see what is dropped (ndjson_reader_watch) is shown it
 * piece by piece, and the line is reported at its end.
 *
 *     read:   reserve, read(2) into it, commit (or: feed) → next until NDJSON_E_AGAIN
 *     write:  push / push_taken / begin…commit → pull, writev(2), consumed
 *
 * Thread: any, one at a time.
 */
#pragma once

#include "base/compiler.h"
#include "base/span.h"
#include "frame/inq.h"
#include "frame/outq.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NDJSON_E_AGAIN = 1,  /* no complete line yet: feed more, or wait for the peer */
    NDJSON_E_TOO_LONG,   /* a line, or a message to be written, exceeds max_bytes */
    NDJSON_E_INCOMPLETE, /* the stream ended inside a line */
    NDJSON_E_FULL,    /* reader: call next until AGAIN first; writer: max_pending would be passed */
    NDJSON_E_NEWLINE, /* the message to be written contains 0x0A */
};

typedef struct NdjsonReader {
    Inq in;
    size_t max_bytes;
    size_t n_searched; /* unread bytes that are known to hold no newline */
    uint64_t
        n_scanned; /* bytes searched over its life: the tests' proof that none is searched twice */
    bool skipping; /* inside a line that is too long */
    bool unreported;                            /* and has yet to be reported */
    void (*dropped)(void *context, Span piece); /* may be NULL */
    void *context;
} NdjsonReader;

#define NDJSON_READER_NULL ((NdjsonReader){.in = {.data = NULL}})

/* For messages of up to max_bytes. Allocates nothing yet. */
void ndjson_reader_init(NdjsonReader *reader, size_t max_bytes);
void ndjson_reader_deinit(NdjsonReader *reader);

/* From now on `dropped` is shown the bytes of lines that are too long, in order, as they are thrown
 * away (from inside feed and next; it must not come back here): all but the newline. */
void ndjson_reader_watch(NdjsonReader *reader, void (*dropped)(void *context, Span piece),
                         void *context);

/* Appends n bytes; borrows data until return. After NDJSON_E_AGAIN any n up to INQ_AHEAD_BYTES is
 * accepted. 0, -ENOMEM, NDJSON_E_FULL; in the latter two nothing was taken. */
int ndjson_reader_feed(NdjsonReader *reader, const void *data, size_t n);

/* Instead of feed, without its copy: room for at least `want` bytes (1 to INQ_AHEAD_BYTES) to be
 * written by the caller, who then commits as many as arrived; *ret_p is borrowed until that commit.
 * More room than wanted may be offered. 0, -ENOMEM, NDJSON_E_FULL. */
int ndjson_reader_reserve(NdjsonReader *reader, size_t want, char **ret_p, size_t *ret_n);
void ndjson_reader_commit(NdjsonReader *reader, size_t n);

/* The next message; *ret_message is borrowed until the next feed, reserve, trim or deinit (not: the
 * next `next`). 0, NDJSON_E_AGAIN, NDJSON_E_TOO_LONG (then call again: more may follow). */
int ndjson_reader_next(NdjsonReader *reader, Span *ret_message);

/* After the stream ended and next said AGAIN: 0 if it ended between messages. NDJSON_E_INCOMPLETE
 * if the last line lacks its newline; *ret_rest is that line, without a CR at its end, borrowed as
 * from next. A message ends with a newline, so whether to trust the rest is the caller's decision.
 * A rest that is blank, or belongs to a line already reported as too long, is 0; one that has yet
 * to be reported is NDJSON_E_TOO_LONG. */
int ndjson_reader_finish(const NdjsonReader *reader, Span *ret_rest);

/* Nothing is borrowed any more: gives back memory that a large message took, if nothing is unread.
 * For a transport whose peer has been silent for a while; under traffic it happens by itself, as
 * soon as smaller messages follow. */
void ndjson_reader_trim(NdjsonReader *reader);

typedef struct NdjsonWriter {
    Outq out;
    size_t max_bytes;
} NdjsonWriter;

#define NDJSON_WRITER_NULL ((NdjsonWriter){.max_bytes = 0})

/* For messages of up to max_bytes; never holds more than max_pending bytes, newlines included. */
void ndjson_writer_init(NdjsonWriter *writer, size_t max_bytes, size_t max_pending);
void ndjson_writer_deinit(NdjsonWriter *writer);

/* Queues one message, a JSON text without raw newlines (they can only be white space: send compact
 * text). A blank one would be skipped by every reader, and is the caller's mistake. Borrows message
 * until return. 0, -ENOMEM, NDJSON_E_NEWLINE, NDJSON_E_TOO_LONG, NDJSON_E_FULL; nothing is queued
 * unless 0. */
int ndjson_writer_push(NdjsonWriter *writer, Span message);

/* As push, but takes the content of *message, which is not copied if above 4 KiB. On success
 * *message is empty, keeps its maximum, and may hold other storage than before; on failure it is
 * untouched. */
int ndjson_writer_push_taken(NdjsonWriter *writer, Bytes *message);

/* Composes one message in place: append to *ret_bytes (borrowed) without looking at what it holds
 * already, then commit or abort; nothing else of this writer may be called in between. BYTES_E_FULL
 * from an append is max_pending reached: abort. 0, -ENOMEM, NDJSON_E_FULL; commit as push: unless
 * it returns 0, the message is gone. abort without begin does nothing. */
int ndjson_writer_begin(NdjsonWriter *writer, Bytes **ret_bytes);
int ndjson_writer_commit(NdjsonWriter *writer);

/* As commit, with a part that is lent (base/bytes.h): sent from where it lies, or copied by own,
 * which must follow before the lender's memory changes. After -ENOMEM from own nothing may be sent
 * any more. */
int ndjson_writer_commit_lent(NdjsonWriter *writer, BytesLent lent);
TW_INLINE int ndjson_writer_own(NdjsonWriter *writer)
{
    return outq_own(&writer->out);
}

void ndjson_writer_abort(NdjsonWriter *writer);

/* The pending bytes as up to `max` slices; returns how many, 0 if nothing is pending. They neither
 * move nor change until consumed, also if messages are pushed meanwhile. */
TW_INLINE size_t ndjson_writer_pull(NdjsonWriter *writer, Span *slices, size_t max)
{
    return outq_pull(&writer->out, slices, max);
}

/* Must follow each pull: of what it showed, n bytes were sent (0 if none could be). */
TW_INLINE void ndjson_writer_consumed(NdjsonWriter *writer, size_t n)
{
    outq_consumed(&writer->out, n);
}

TW_INLINE size_t ndjson_writer_pending(const NdjsonWriter *writer)
{
    return outq_pending(&writer->out);
}
