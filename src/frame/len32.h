/* frame/len32.h: messages behind a 32-bit length, cut out of and put into a byte stream. Performs
 * no I/O.
 *
 * A frame is four bytes of length, little-endian (pipe) or big-endian (call socket), and so many
 * bytes of message. Zero is legal. max_bytes counts the message without its header; equality
 * passes. A larger length is refused before a byte is allocated for it; where the next frame begins
 * is then unknown, so the outcome is final: say why to the peer and close it. A length within the
 * limit is believed only as bytes arrive: the buffer doubles up to the declared size, so that a
 * bare claim of 16 MiB costs nothing.
 *
 *     read:   reserve, read(2) into it, commit (or: feed) → next until LEN32_E_AGAIN
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

#define LEN32_HEADER_BYTES 4

enum {
    LEN32_E_AGAIN = 1,  /* no complete frame yet: feed more, or wait for the peer */
    LEN32_E_TOO_LARGE,  /* declared length, or message to be written, exceeds max_bytes */
    LEN32_E_INCOMPLETE, /* the stream ended inside a frame */
    LEN32_E_FULL, /* reader: call next until AGAIN first; writer: max_pending would be passed */
};

typedef enum Len32Order {
    LEN32_ORDER_LE,
    LEN32_ORDER_BE,
} Len32Order;

typedef struct Len32Reader {
    Inq in;
    Len32Order order;
    uint32_t max_bytes;
    uint32_t declared; /* length in the header that was read last */
    bool too_large;    /* final */
} Len32Reader;

#define LEN32_READER_NULL ((Len32Reader){.in = {.data = NULL}})

/* For messages of up to max_bytes. Allocates nothing yet. */
void len32_reader_init(Len32Reader *reader, Len32Order order, uint32_t max_bytes);
void len32_reader_deinit(Len32Reader *reader);

/* Appends n bytes; borrows data until return. After LEN32_E_AGAIN any n up to INQ_AHEAD_BYTES is
 * accepted. 0, -ENOMEM, LEN32_E_FULL, LEN32_E_TOO_LARGE; nothing was taken unless 0. */
int len32_reader_feed(Len32Reader *reader, const void *data, size_t n);

/* Instead of feed, without its copy: room for about `want` bytes (1 to INQ_AHEAD_BYTES) to be
 * written by the caller, who then commits as many as arrived; *ret_p is borrowed until that commit.
 * Inside a frame larger than `want`, the room ends where the frame ends, so that nothing behind it
 * has to be moved afterwards. 0, -ENOMEM, LEN32_E_FULL, LEN32_E_TOO_LARGE (call next until it says
 * so too). */
int len32_reader_reserve(Len32Reader *reader, size_t want, char **ret_p, size_t *ret_n);
void len32_reader_commit(Len32Reader *reader, size_t n);

/* The next message; *ret_message is borrowed until the next feed, reserve, trim or deinit (not: the
 * next `next`). 0, LEN32_E_AGAIN, LEN32_E_TOO_LARGE (final). */
int len32_reader_next(Len32Reader *reader, Span *ret_message);

/* The length that the last header declared: after LEN32_E_TOO_LARGE, the one refused. */
TW_INLINE uint32_t len32_reader_declared(const Len32Reader *reader)
{
    return reader->declared;
}

/* What has come of the message behind the header that was refused (LEN32_E_TOO_LARGE); borrowed as
 * from next. */
Span len32_reader_refused(const Len32Reader *reader);

/* After the stream ended and next said AGAIN: 0 if it ended between frames, LEN32_E_INCOMPLETE if
 * inside one; *ret_rest is what came of it, header included, borrowed as from next.
 * LEN32_E_TOO_LARGE as before. */
int len32_reader_finish(const Len32Reader *reader, Span *ret_rest);

/* Nothing is borrowed any more: gives back memory that a large message took, if nothing is unread.
 * For a transport whose peer has been silent for a while; under traffic it happens by itself, as
 * soon as smaller messages follow. */
void len32_reader_trim(Len32Reader *reader);

typedef struct Len32Writer {
    Outq out;
    Len32Order order;
    uint32_t max_bytes;
} Len32Writer;

#define LEN32_WRITER_NULL ((Len32Writer){.max_bytes = 0})

/* For messages of up to max_bytes; never holds more than max_pending bytes, headers included. */
void len32_writer_init(Len32Writer *writer, Len32Order order, uint32_t max_bytes,
                       size_t max_pending);
void len32_writer_deinit(Len32Writer *writer);

/* Queues one message; borrows it until return.
 * 0, -ENOMEM, LEN32_E_TOO_LARGE, LEN32_E_FULL; nothing is queued unless 0. */
int len32_writer_push(Len32Writer *writer, Span message);

/* As push, but takes the content of *message, which is not copied if above 4 KiB. On success
 * *message is empty, keeps its maximum, and may hold other storage than before; on failure it is
 * untouched. */
int len32_writer_push_taken(Len32Writer *writer, Bytes *message);

/* Composes one message in place: append to *ret_bytes (borrowed) without looking at what it holds
 * already, then commit or abort; nothing else of this writer may be called in between. BYTES_E_FULL
 * from an append is max_pending reached: abort. 0, -ENOMEM, LEN32_E_FULL; commit as push: unless it
 * returns 0, the message is gone. abort without begin does nothing. */
int len32_writer_begin(Len32Writer *writer, Bytes **ret_bytes);
int len32_writer_commit(Len32Writer *writer);

/* As commit, with a part that is lent (base/bytes.h): sent from where it lies, or copied by own,
 * which must follow before the lender's memory changes. After -ENOMEM from own nothing may be sent
 * any more. */
int len32_writer_commit_lent(Len32Writer *writer, BytesLent lent);
TW_INLINE int len32_writer_own(Len32Writer *writer)
{
    return outq_own(&writer->out);
}

void len32_writer_abort(Len32Writer *writer);

/* The pending bytes as up to `max` slices; returns how many, 0 if nothing is pending. They neither
 * move nor change until consumed, also if messages are pushed meanwhile. */
TW_INLINE size_t len32_writer_pull(Len32Writer *writer, Span *slices, size_t max)
{
    return outq_pull(&writer->out, slices, max);
}

/* Must follow each pull: of what it showed, n bytes were sent (0 if none could be). */
TW_INLINE void len32_writer_consumed(Len32Writer *writer, size_t n)
{
    outq_consumed(&writer->out, n);
}

TW_INLINE size_t len32_writer_pending(const Len32Writer *writer)
{
    return outq_pending(&writer->out);
}
