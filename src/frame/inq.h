/* frame/inq.h: the bytes that a peer has sent and nobody has read yet; shared by the readers.
 *
 * One block of memory with dead bytes in front, unread bytes in the middle and room behind. Reading
 * only advances an offset, so what was read stays where it lies until room is next asked for. Bytes
 * are moved only when at least as many were read before them, or when the block doubles: the work
 * is linear in what was received, whatever the sizes of messages and reads. Performs no I/O.
 * Thread: any, one at a time.
 */
#pragma once

#include "base/compiler.h"
#include "base/span.h"

#include <stddef.h>
#include <stdint.h>

enum {
    INQ_E_FULL = 1, /* as much as allowed is unread; nothing changed */
};

/* What may lie unread beyond one message of maximal size. A transport reads 64 KiB at a time;
 * sixteen such reads leave freedom to read less often, and bound what a reader that never calls
 * next() can pile up. */
#define INQ_AHEAD_BYTES ((size_t)1024 * 1024)

typedef struct Inq {
    char *block;       /* as allocated */
    char *data;        /* the first byte of it that is aligned (see inq.c) */
    size_t head;       /* first unread byte */
    size_t end;        /* first byte of the room */
    size_t cap;        /* bytes allocated */
    size_t n_peak;     /* most bytes that were unread at a time since all had been read */
    size_t max_unread; /* end - head never exceeds this */
    uint64_t n_moved;  /* bytes copied to make room, over its life: the tests' proof of linearity */
} Inq;

#define INQ_NULL ((Inq){.data = NULL})

/* Empty, for messages of up to max_message bytes, framing included. Allocates nothing yet. */
void inq_init(Inq *q, size_t max_message);

/* Releases the storage; q is then as INQ_NULL. May run twice. */
void inq_deinit(Inq *q);

/* Unread bytes, borrowed until the next reserve, append, trim or deinit. */
TW_INLINE Span inq_unread(const Inq *q)
{
    if (q->data == NULL) {
        return SPAN_NULL;
    }
    return span_make(q->data + q->head, q->end - q->head);
}

/* Marks n unread bytes as read. Their memory stays valid as long as inq_unread's. */
void inq_skip(Inq *q, size_t n);

/* Makes room for at least n bytes (more than 0) at q->data + q->end. 0, -ENOMEM, INQ_E_FULL. */
int inq_reserve(Inq *q, size_t n);

/* As inq_reserve, but takes no more memory than n bytes need. For one frame whose size is known. */
int inq_reserve_exact(Inq *q, size_t n);

/* Bytes that may be written at q->data + q->end: all room that max_unread allows. */
size_t inq_room(const Inq *q);

/* n bytes of the room have been written. */
void inq_commit(Inq *q, size_t n);

/* Appends n bytes; borrows p until return. Outcomes as inq_reserve. */
int inq_append(Inq *q, const void *p, size_t n);

/* If nothing is unread: gives back storage above LIMIT_KEEP_BYTES. Without it, that happens when
 * room is asked for after the storage was used for less. */
void inq_trim(Inq *q);

/* For many queues of which one at a time is read into, and which are mostly empty: they share the
 * storage of `store`, in which nothing is ever unread. Before a reserve, q takes that storage if it
 * is larger than its own; afterwards it returns it, and keeps the bytes that are still unread in a
 * block of about their size. Without memory for such a block q keeps the storage. Unread bytes may
 * move in both. */
void inq_take_storage(Inq *q, Inq *store);
void inq_return_storage(Inq *q, Inq *store);
