/* frame/outq.h: framed messages on their way out; shared by the writers.
 *
 * A queue of memory blocks ("segments"). Small messages are copied one behind the other into the
 * last segment, so that many answers leave in one slice; a large message can be handed over as the
 * Bytes that it was built in and is never copied; and a message can be composed in place between
 * begin and commit. A large part of one can be lent: it is sent from where it lies, if that happens
 * before the lender needs its memory again, and copied (outq_own) only if it does not.
 *
 * outq_pull shows the pending bytes for writev. From then until outq_consumed they do not move,
 * whatever is pushed in between, so that a write may still be under way. Storage of sent segments
 * is kept for the next ones, LIMIT_KEEP_BYTES in all, and that of one large message (4 MiB at most)
 * while large ones follow each other: steady traffic allocates nothing. Performs no I/O. Thread:
 * any, one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/limits.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    OUTQ_E_FULL = 1, /* max_pending would be passed; nothing was queued */
};

/* Up to here copying a message costs less than a segment of its own (design: no copy above 4 KiB).
 */
#define OUTQ_COPY_BYTES ((size_t)4096)

/* A segment this full is not grown further: growing it would copy it, and bytes already sent would
 * stay. */
#define OUTQ_SEGMENT_BYTES ((size_t)64 * 1024)

typedef struct OutqSegment {
    Bytes bytes; /* of a free slot: storage kept for later, with n = 0 */
    Span lent;   /* p not NULL: the segment is these bytes, and `bytes` only keeps storage */
    size_t head; /* bytes already consumed */
    bool fixed; /* holds a large message: filled to its capacity, but not grown, which would copy */
} OutqSegment;

typedef struct Outq {
    OutqSegment *slots; /* ring of n_slots, a power of two, or NULL */
    size_t n_slots;
    size_t first;       /* slot of the oldest segment */
    size_t n_used;      /* segments in use, in order from `first` */
    size_t n_shown;     /* how many of them the last pull showed; 0 after consumed */
    size_t n_pending;   /* bytes in the queue, without a message being composed */
    size_t n_kept;      /* bytes of storage in free slots */
    size_t n_lent;      /* segments that are lent */
    size_t max_pending; /* n_pending never exceeds this */
    size_t n_prefix;    /* between begin and commit: room left for the prefix */
    size_t start;       /* and where the message starts in the last segment */
    bool composing;
} Outq;

#define OUTQ_NULL ((Outq){.slots = NULL})

/* Empty; allocates nothing yet. */
void outq_init(Outq *q, size_t max_pending);

/* Releases everything, also what was not sent; may run twice. */
void outq_deinit(Outq *q);

/* Gives back what is kept above LIMIT_KEEP_BYTES. For a transport whose peer has been silent for a
 * while. */
void outq_trim(Outq *q);

TW_INLINE bool outq_keeps_much(const Outq *q)
{
    return q->n_kept > LIMIT_KEEP_BYTES;
}

TW_INLINE size_t outq_pending(const Outq *q)
{
    return q->n_pending;
}

/* Queues prefix, body and suffix as one message; borrows them until return. 0, -ENOMEM,
 * OUTQ_E_FULL. */
int outq_push(Outq *q, Span prefix, Span body, Span suffix);

/* As outq_push, but takes the content of *body: afterwards *body is empty, keeps its maximum, and
 * may hold other storage than before. A body up to OUTQ_COPY_BYTES is copied instead. */
int outq_push_taken(Outq *q, Span prefix, Bytes *body, Span suffix);

/* Starts a message in place, n_prefix bytes into *ret_bytes. Until commit or abort the caller
 * appends to *ret_bytes (borrowed) and calls nothing else of this queue. BYTES_E_FULL from an
 * append means that max_pending is reached: abort. 0, -ENOMEM, OUTQ_E_FULL. */
int outq_begin(Outq *q, size_t n_prefix, Bytes **ret_bytes);

/* What was appended since begin; borrowed until the next append, commit or abort. */
Span outq_composed(const Outq *q);

/* Fills in the prefix (of the size that begin was told), appends the suffix and queues the message.
 * On any other result than 0 the message is gone, as after abort. 0, -ENOMEM, OUTQ_E_FULL. */
int outq_commit(Outq *q, Span prefix, Span suffix);

/* As outq_commit, with the lent bytes inserted where they belong among what was appended, neither
 * first nor, with the suffix, last. They are borrowed until they are sent, or until outq_own. */
int outq_commit_lent(Outq *q, Span prefix, Span suffix, BytesLent lent);

/* Copies what is still lent: the lenders may have their memory back. Not between pull and consumed.
 * 0, -ENOMEM: then the queue is empty and full for ever, since its stream has lost a piece. */
int outq_own(Outq *q);

/* Forgets the message begun. Does nothing if there is none. */
void outq_abort(Outq *q);

/* Shows the oldest pending bytes as up to `max` slices, none of them empty, in order; returns how
 * many. They stay valid and in place until outq_consumed, which must follow before the next pull.
 */
size_t outq_pull(Outq *q, Span *slices, size_t max);

/* Ends what pull began: the first n bytes it showed were sent (0 if the write could not). */
void outq_consumed(Outq *q, size_t n);
