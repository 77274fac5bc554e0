/* io/stream.h: moves bytes between descriptors and a pair of framing queues.
 *
 * A stream reads one descriptor and writes one (they may be the same), whatever they are: pipe,
 * socket, terminal, regular file. Bytes are read straight into the room that the owner's reader
 * reserves, once per wake-up, and written straight from where they lie, with writev. The owner is
 * told through IoStreamOps; it may free the stream from inside any of them.
 *
 *     readable → reserve, read, commit → input → (owner: next…, push…) → flush → pull, writev,
 *     consumed
 *
 * Descriptors that others share are not switched to non-blocking mode behind their back: pipes and
 * terminals are opened anew for this process, sockets are used with MSG_DONTWAIT, and only where
 * neither can be done is the mode set, and set back at the end.
 *
 * On Windows the system takes bytes when it likes: what is pulled is copied and consumed at once,
 * and a stream that is freed before they are taken goes on with them for up to a second, unseen.
 * Thread: loop.
 */
#pragma once

#include "base/compiler.h"
#include "base/span.h"
#include "io/error_text.h"
#include "io/loop.h"
#include "io/watchdog.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct IoStream IoStream;

/* How the stream uses its owner; every function gets `context`. */
typedef struct IoStreamOps {
    /* Room for at least `want` bytes; 0 or a negative errno, which fails the stream. */
    int (*reserve)(void *context, size_t want, char **ret_p, size_t *ret_n);
    void (*commit)(void *context, size_t n);
    /* Up to max slices of what is to be written; consumed always follows. */
    size_t (*pull)(void *context, Span *slices, size_t max);
    void (*consumed)(void *context, size_t n);
    /* Bytes were committed: cut and handle messages. The stream flushes when this returns. */
    void (*input)(void *context);
    /* The peer will send no more. Comes once; writing may go on. */
    void (*end)(void *context);
    /* Reading or writing failed (negative errno; -EPIPE: the peer has gone). Comes once; nothing
     * else comes after it. What the peer had sent before is handed over first, unless paused. */
    void (*failed)(void *context, int r);
    /* All that was pulled has been taken by the system, after a flush had to wait. May be NULL. */
    void (*drained)(void *context);
} IoStreamOps;

/* Bytes wanted per read: what a pipe holds by default. */
#define IO_STREAM_READ_BYTES ((size_t)64 * 1024)

/* Takes both descriptors on success (closed by free; equal ones once); -1 for a direction that is
 * not used. Reading starts at once. 0, -ENOMEM, or the errno of what the system refused. Gives
 * *ret. */
int io_stream_new(IoStream **ret, IoLoop *loop, int in_fd, int out_fd, const IoStreamOps *ops,
                  void *context);

/* Stops, closes, forgets. What was not written is lost: wait for drained first. */
IoStream *io_stream_free(IoStream *stream);

/* While the stream reads for its peer, hands over and writes, it is the turn of that name
 * (io/watchdog.h); NULL, as at first: nobody's. A peer whose turn takes too long is ended: `failed`
 * comes with -ETIMEDOUT. Not from inside IoStreamOps. */
void io_stream_set_turn(IoStream *stream, const IoTurnName *name);

/* Between two messages: has a turn of the peer taken too long? Then the owner handles no more, and
 * `failed` comes when the loop comes round. Owners that go on with messages outside of `input` put
 * io_turn_begin and io_turn_end around that. */
bool io_stream_is_overdue(IoStream *stream);

/* For people: what `failed` of a pipe or a Unix socket, which have no other -ETIMEDOUT, tells. */
TW_INLINE const char *io_stream_error_text(int r)
{
    return r == -ETIMEDOUT ? "what it sent kept everybody waiting for too long" : io_error_text(-r);
}

/* Tries to write now; waits for the system if it does not take everything. Owners call it after
 * they queued output outside `input`. Cheap if nothing is pending. Calls nothing but pull and
 * consumed: a failure is reported from the loop. */
void io_stream_flush(IoStream *stream);

/* The same also from inside `input`, after which a flush comes anyway: for what should not wait for
 * the messages that come behind it. */
void io_stream_flush_now(IoStream *stream);

/* Does a flush wait for the system? */
bool io_stream_is_waiting(const IoStream *stream);

/* Back-pressure: while paused nothing is read, and the peer's writes fill up. */
void io_stream_pause(IoStream *stream);
void io_stream_resume(IoStream *stream);

/* The peer sends messages that are longer than a pipe holds: makes the pipe hold 1 MiB, where the
 * system lets us. Not done from the start: with small messages both ends would only wait longer for
 * each other. Does nothing for anything but a pipe. */
void io_stream_widen_input(IoStream *stream);

/* Has the peer closed its end, though what it sent before may still be unread? For owners that have
 * paused and so would not hear of it. */
bool io_stream_has_hung_up(const IoStream *stream);

/* Is there nobody any more who could read what is written? Of a Unix socket that is known when the
 * peer has closed it. Of a TCP connection, only after something was written since then. For owners
 * who write on after `end`, and wait for nothing else. */
bool io_stream_is_deserted(const IoStream *stream);

/* No more output after what is pending: the peer sees the end. (A terminal or pipe that is also
 * read has no such thing.) */
void io_stream_shut_output(IoStream *stream);
