/* providers/parent_wire.h: a connection to a parent: frames out and in; used by parent.c only.
 *
 * Opened and closed again and again; closing forgets what was under way in both directions. The
 * owner is told through ParentWireOps, and may close and open the wire, but not deinit it, from
 * inside. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "dialect/callsock/sink.h"
#include "frame/len32.h"
#include "io/loop.h"
#include "io/stream.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Whoever listens is neither this user nor root. */
    PARENT_WIRE_E_FOREIGN = 1,
};

typedef struct ParentWireOps {
    /* One message, borrowed until return. Several may follow each other, unless the wire is closed
     * meanwhile. has_more: bytes lie behind it already, here or in the system, or, behind a large
     * one, perhaps the end. */
    void (*message)(void *context, Span message, bool has_more);
    /* A frame that declares more than the limit. Nothing more can come. */
    void (*oversize)(void *context, uint32_t declared);
    /* All that one wake-up brought has been told; what was written meanwhile leaves now. */
    void (*settle)(void *context);
    /* The parent has closed, or reading or writing failed; why is empty if it closed between two
     * messages. Nothing more can come. */
    void (*ended)(void *context, Span why);
} ParentWireOps;

typedef struct ParentWire {
    IoLoop *loop;
    const char *path;
    const ParentWireOps *ops;
    void *context;
    const IoTurnName *turn;
    IoStream *stream; /* NULL: closed */
    int fd;           /* the stream's */
    size_t n_room;    /* bytes that the last read had room for */
    bool is_filled;   /* and it filled them, so that there may be more */
    size_t n_ahead;   /* bytes to be written before the last message that was put here */
    bool is_unsent;   /* the system has taken no byte of that */
    Len32Reader reader;
    Len32Writer writer;
    CallsockSink sink; /* where messages are put; then flush */
} ParentWire;

#define PARENT_WIRE_NULL ((ParentWire){.reader = LEN32_READER_NULL, .writer = LEN32_WRITER_NULL})

/* Closed. Borrows everything until deinit; the wire must not move. */
void parent_wire_init(ParentWire *wire, IoLoop *loop, const char *path, const ParentWireOps *ops,
                      void *context);
void parent_wire_deinit(ParentWire *wire);

/* Connects, if the one who listens is of this user or root. 0, -EAGAIN (its backlog is full: try
 * again soon), another negative errno, PARENT_WIRE_E_FOREIGN; the Diag's message says why. */
int parent_wire_open(ParentWire *wire, Diag *reterr_diag);
void parent_wire_close(ParentWire *wire);

TW_INLINE bool parent_wire_is_open(const ParentWire *wire)
{
    return wire->stream != NULL;
}

/* Has the parent closed an open wire? A system call. */
bool parent_wire_has_hung_up(const ParentWire *wire);

/* Has it closed, or sent anything that was not read yet? A system call. */
bool parent_wire_has_stirred(const ParentWire *wire);

/* Has something been read that is not a whole message yet? */
TW_INLINE bool parent_wire_has_begun(const ParentWire *wire)
{
    return inq_unread(&wire->reader.in).n > 0;
}

/* Was a message put here of which the system has not taken a byte? */
TW_INLINE bool parent_wire_is_unsent(const ParentWire *wire)
{
    return wire->is_unsent;
}

/* Writes what is there, as far as the system takes it; the rest follows by itself. */
void parent_wire_flush(ParentWire *wire);

/* Does it hold the memory of a large message? trim gives it back, if that is not in use. */
bool parent_wire_keeps_much(const ParentWire *wire);
void parent_wire_trim(ParentWire *wire);
