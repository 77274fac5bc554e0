/* providers/pipe_link.h: a connection of the pipe, either end: little-endian frames in and out.
 *
 * Used by the hub for each add-in (providers/addins.h) and by an add-in for its hub
 * (app/addin_door.h). Opened once with a descriptor, or again and again after close, which forgets
 * what was under way in both directions. The owner is told through PipeLinkOps, and may close and
 * open the link, but not deinit it, from inside: then nothing more is told of what was read before,
 * not even settle, while the message that is being told stays borrowed. Thread: loop.
 */
#pragma once

#include "base/span.h"
#include "dialect/pipe/sink.h"
#include "frame/len32.h"
#include "io/loop.h"
#include "io/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As much is read of a frame over the limit as shows what it is: the document's envelope, with the
 * id of the call that a result is of. */
#define PIPE_LINK_HEAD_BYTES ((size_t)1024)

typedef struct PipeLinkOps {
    /* One message, borrowed until return. Several may follow each other, unless the link is closed
     * or paused meanwhile. */
    void (*message)(void *context, Span message);
    /* A frame that declares more than the limit; head: the beginning of its message, as far as it
     * has come. Nothing more can come, but what is written still leaves: close at once, or when it
     * has drained. True: told again when more of the head has come, up to PIPE_LINK_HEAD_BYTES. */
    bool (*oversize)(void *context, uint32_t declared, Span head);
    /* All that one wake-up brought has been told; what was written meanwhile leaves now. */
    void (*settle)(void *context);
    /* The peer has closed, or reading or writing failed; why is empty if it closed between two
     * messages. Nothing more can come. */
    void (*ended)(void *context, Span why);
    /* What had to wait has been written. May be NULL. */
    void (*drained)(void *context);
} PipeLinkOps;

typedef struct PipeLink {
    IoLoop *loop;
    const PipeLinkOps *ops;
    void *context;
    IoStream *stream; /* NULL: closed */
    const IoTurnName *turn;
    Len32Reader reader;
    Len32Writer writer;
    uint32_t max_bytes;
    size_t max_output; /* that may wait; beyond it sink.begin says that there is no room */
    IoTimer *resuming; /* runs between resume and the loop's next turn */
    bool is_paused;
    bool is_resuming;    /* the timer runs */
    bool is_over;        /* oversize or ended was told */
    bool wants_head;     /* oversize was told, and is told again */
    size_t n_head;       /* of the frame that is over the limit */
    bool is_telling;     /* one of the owner's functions may be on the stack */
    uint64_t n_closed;   /* how often: tells whether it happened meanwhile */
    Len32Reader retired; /* of a link closed while a message in it was being told */
    char head[PIPE_LINK_HEAD_BYTES];
    PipeSink sink; /* where a session puts messages; then flush. Closed: no room */
} PipeLink;

#define PIPE_LINK_NULL                                                                             \
    ((PipeLink){                                                                                   \
        .reader = LEN32_READER_NULL, .writer = LEN32_WRITER_NULL, .retired = LEN32_READER_NULL})

/* Closed. max_bytes of a message (0: LIMIT_PIPE_MESSAGE_BYTES); max_output: bytes that may wait for
 * the peer, at least one message with its header (less means that). With twice as much, a message
 * always finds room as long as the peer reads. Borrows the rest until deinit; the link must not
 * move. */
void pipe_link_init(PipeLink *link, IoLoop *loop, uint32_t max_bytes, size_t max_output,
                    const PipeLinkOps *ops, void *context);
void pipe_link_deinit(PipeLink *link);

/* Of a closed link. Takes fd on success. 0, -ENOMEM, another negative errno. */
int pipe_link_open(PipeLink *link, int fd);

/* Who is at the other end, for the log, if its turn takes too long (io/watchdog.h); "the hub", as
 * long as nobody says. Not from inside PipeLinkOps. */
void pipe_link_set_turn(PipeLink *link, const IoTurnName *name);

/* What was not written is lost. Nothing happens if it is closed. */
void pipe_link_close(PipeLink *link);

TW_INLINE bool pipe_link_is_open(const PipeLink *link)
{
    return link->stream != NULL;
}

/* Back-pressure: while paused no message is told, and soon nothing read. resume tells from the
 * loop's next turn on. */
void pipe_link_pause(PipeLink *link);
void pipe_link_resume(PipeLink *link);

/* Writes what is there, as far as the system takes it; the rest follows by itself. */
void pipe_link_flush(PipeLink *link);

/* Bytes that wait to be written. */
TW_INLINE size_t pipe_link_pending(const PipeLink *link)
{
    return len32_writer_pending(&link->writer);
}

/* Does it hold the memory of a large message? trim gives it back, if that is not in use. */
bool pipe_link_keeps_much(const PipeLink *link);
void pipe_link_trim(PipeLink *link);
