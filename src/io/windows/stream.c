/* Streams over what Windows has; declared in io/stream.h.
 *
 * Here the system is given a read or a write and says when it is done, so two things are otherwise
 * than where it says when it is ready:
 *
 *     out   what is pulled is copied into the side's buffer and is then consumed: the owner may do
 *           with its bytes what it likes while the system works. One write is under way at a time.
 *           A stream that is freed meanwhile lingers until the write is done, for the owner takes
 *           what was consumed for sent; but no longer than a second
 *     in    the side asks for room when bytes are there (io/windows/side.h), so here, too, they are
 *           read straight into the owner's memory
 *
 * The memory is released when libuv has let go of everything, which is never inside a callback; so
 * the code below may look at `is_dead` after every call of the owner.
 */
#include "io/stream.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/loop_internal.h"
#include "io/windows/side.h"

/* Slices of one pull. */
#define STREAM_SLICES 64

/* Bytes of one write: enough that the turns of the loop between two of them do not count. */
#define STREAM_WRITE_BYTES ((size_t)256 * 1024)

/* How long a freed stream waits for the peer to take what it was sent. */
#define STREAM_LINGER_MS 1000

typedef struct StreamSide {
    WinSide *side; /* NULL: not used, or closed */
    int fd;        /* as given; -1: none */
} StreamSide;

struct IoStream {
    IoLoop *loop;
    const IoStreamOps *ops;
    void *context;
    const IoTurnName *turn; /* NULL: nobody's */
    StreamSide in;
    StreamSide out;
    StreamSide *writer; /* `in` if both directions use one descriptor, else `out` */
    uv_idle_t step;     /* hands over a failure that happened while the owner was calling us */
    uv_timer_t linger;
    int n_handles;   /* that have not closed */
    int error;       /* negative errno; set: nothing is written any more */
    int room_error;  /* why there was no room */
    bool is_reading; /* the end has not come */
    bool is_writing; /* output was not shut */
    bool is_paused;
    bool is_waiting;
    bool is_shutting; /* shut when nothing is pending any more */
    bool in_event;    /* one of our callbacks is on the stack: it finishes what others begin */
    bool has_failed;
    bool is_overdue; /* the peer's turn took too long: it fails */
    bool is_dead;
};

static void stream_release(IoStream *stream)
{
    stream->n_handles--;
    if (stream->n_handles == 0) {
        (void)mem_free(stream);
    }
}

static void stream_on_handle_closed(uv_handle_t *handle)
{
    stream_release(handle->data);
}

static void stream_on_side_closed(void *context)
{
    stream_release(context);
}

static void stream_close_side(StreamSide *side)
{
    if (side->side != NULL) {
        win_side_close(side->side);
        side->side = NULL;
    }
    io_fd_close(side->fd);
    side->fd = -1;
}

/* The owner hears of it from the step. */
static void stream_fail(IoStream *stream, int r)
{
    if (stream->error == 0) {
        stream->error = r;
        stream->is_waiting = false;
    }
}

static void stream_on_step(uv_idle_t *step);

/* Reads, and reports, if that is wanted now. */
static void stream_arm(IoStream *stream)
{
    bool wants_read = stream->is_reading && !stream->is_paused && !stream->has_failed;
    bool wants_step;

    if (stream->in.side != NULL) {
        /* After a failed write, too: what the peer has sent before comes first. */
        int r = win_side_read(stream->in.side, wants_read);

        if (r != 0) {
            stream->is_reading = false;
            stream_fail(stream, err_raise(r));
        }
    }
    wants_step = stream->error != 0 && !stream->has_failed;
    if (!stream->is_dead && wants_step != (uv_is_active((uv_handle_t *)&stream->step) != 0)) {
        if (wants_step) {
            (void)uv_idle_start(&stream->step, stream_on_step);
        } else {
            (void)uv_idle_stop(&stream->step);
        }
    }
}

/* ---- turns ---- */

void io_stream_set_turn(IoStream *stream, const IoTurnName *name)
{
    stream->turn = name;
}

bool io_stream_is_overdue(IoStream *stream)
{
    if (!stream->is_overdue && !stream->is_dead && stream->turn != NULL &&
        io_turn_is_over(stream->loop, stream->turn)) {
        stream->is_overdue = true;
        stream->is_reading = false;
        stream_fail(stream, err_raise(-ETIMEDOUT));
        if (!stream->in_event) {
            stream_arm(stream);
        }
    }
    return stream->is_overdue;
}

static void stream_begin_event(IoStream *stream)
{
    stream->in_event = true;
    if (stream->turn != NULL) {
        io_turn_begin(stream->loop, stream->turn);
    }
}

static void stream_end_event(IoStream *stream)
{
    if (stream->turn != NULL) {
        (void)io_stream_is_overdue(stream);
        io_turn_end(stream->loop);
    }
    stream->in_event = false;
    if (!stream->is_dead) {
        stream_arm(stream);
    }
}

/* ---- out ---- */

static void stream_close_output(IoStream *stream)
{
    stream->is_writing = false;
    if (stream->writer == &stream->out) {
        stream_close_side(&stream->out);
    }
}

/* Is there more to write than what is under way? */
static bool stream_has_more(IoStream *stream)
{
    Span slice;
    size_t n = stream->ops->pull(stream->context, &slice, 1);

    if (!stream->is_dead) {
        stream->ops->consumed(stream->context, 0);
    }
    return n > 0;
}

/* Copies what is pending into the side's buffer. Bytes; 0 if nothing is, or the stream has gone or
 * failed. */
static size_t stream_fill(IoStream *stream)
{
    WinSide *side = stream->writer->side;
    Span slices[STREAM_SLICES];
    size_t n_slices = stream->ops->pull(stream->context, slices, STREAM_SLICES);
    size_t n_shown = 0;
    size_t n = 0;
    char *p = NULL;
    size_t n_room;

    if (stream->is_dead) {
        return 0;
    }
    for (size_t i = 0; i < n_slices && n_shown < STREAM_WRITE_BYTES; i++) {
        n_shown += slices[i].n;
    }
    n_shown = n_shown < STREAM_WRITE_BYTES ? n_shown : STREAM_WRITE_BYTES;
    n_room = win_side_buffer(side, n_shown, &p);
    for (size_t i = 0; i < n_slices && n < n_room; i++) {
        size_t part = slices[i].n < n_room - n ? slices[i].n : n_room - n;

        if (part > 0) {
            memcpy(p + n, slices[i].p, part);
            n += part;
        }
    }
    stream->ops->consumed(stream->context, n);
    if (n_shown > 0 && n_room == 0 && !stream->is_dead) {
        stream_fail(stream, err_raise(-ENOMEM));
    }
    return stream->is_dead ? 0 : n;
}

/* Gives the system what is pending, if it has nothing of ours. */
static void stream_write(IoStream *stream)
{
    StreamSide *writer = stream->writer;
    size_t n;
    int r;

    if (!stream->is_writing || stream->error != 0 || stream->is_dead || writer->side == NULL) {
        return;
    }
    if (!writer->side->is_writing) {
        n = stream_fill(stream);
        if (stream->is_dead || stream->error != 0) {
            return;
        }
        if (n == 0) {
            if (stream->is_shutting) {
                stream_close_output(stream);
            }
            return;
        }
        r = win_side_write(writer->side, n);
        if (r != 0) {
            stream_fail(stream, err_raise(r));
            return;
        }
    }
    stream->is_waiting = !win_side_has_taken(writer->side) || stream_has_more(stream);
}

static void stream_close_all(IoStream *stream)
{
    stream_close_side(&stream->in);
    stream_close_side(&stream->out);
    uv_close((uv_handle_t *)&stream->step, stream_on_handle_closed);
    uv_close((uv_handle_t *)&stream->linger, stream_on_handle_closed);
}

static void stream_on_written(void *context, int r)
{
    IoStream *stream = context;
    bool was_waiting = stream->is_waiting;

    if (stream->is_dead) {
        stream_close_all(stream); /* it has lingered for this */
        return;
    }
    stream_begin_event(stream);
    stream->is_waiting = false;
    if (r != 0) {
        stream_fail(stream, err_raise(r));
    }
    stream_write(stream);
    if (was_waiting && !stream->is_dead && !stream->is_waiting && stream->error == 0 &&
        stream->ops->drained != NULL) {
        stream->ops->drained(stream->context);
        stream_write(stream); /* the owner may have queued more */
    }
    stream_end_event(stream);
}

/* ---- in ---- */

static void stream_on_room(void *context, char **ret_p, size_t *ret_n)
{
    IoStream *stream = context;
    int r;

    stream->in_event = true;
    r = stream->ops->reserve(stream->context, IO_STREAM_READ_BYTES, ret_p, ret_n);
    stream->in_event = false;
    if (r != 0) {
        stream->room_error = err_fold(r);
        *ret_n = 0;
    }
}

static void stream_on_end(IoStream *stream, int r)
{
    stream->is_reading = false;
    if (r != 0) {
        stream_fail(stream, err_raise(stream->room_error != 0 ? stream->room_error : r));
    } else if (stream->error == 0) {
        stream->ops->end(stream->context); /* after a failed write it is part of the failure */
    }
}

static void stream_on_got(void *context, int64_t n)
{
    IoStream *stream = context;

    if (stream->is_dead || !stream->is_reading) {
        return;
    }
    stream_begin_event(stream);
    if (n > 0) {
        stream->ops->commit(stream->context, (size_t)n);
        if (!stream->is_dead) {
            stream->ops->input(stream->context);
        }
    } else {
        stream_on_end(stream, (int)n);
    }
    stream_write(stream);
    stream_end_event(stream);
}

/* Writing or reading has failed: said when what the peer sent before has been handed over. */
static void stream_on_step(uv_idle_t *step)
{
    IoStream *stream = step->data;

    if (stream->is_reading && !stream->is_paused && stream->in.side != NULL &&
        win_side_has_bytes(stream->in.side)) {
        return;
    }
    stream_begin_event(stream);
    stream->has_failed = true;
    stream->is_reading = false;
    stream->ops->failed(stream->context, stream->error);
    stream_end_event(stream);
}

/* ---- life ---- */

static const WinSideOps stream_side_ops = {
    .room = stream_on_room,
    .got = stream_on_got,
    .written = stream_on_written,
    .closed = stream_on_side_closed,
};

static int stream_open_side(IoStream *stream, StreamSide *side, int fd, bool reads, bool writes)
{
    int r = win_side_open(&side->side, stream->loop, fd, reads, writes, &stream_side_ops, stream);

    if (r == 0) {
        stream->n_handles++;
    }
    return r;
}

int io_stream_new(IoStream **ret, IoLoop *loop, int in_fd, int out_fd, const IoStreamOps *ops,
                  void *context)
{
    IoStream *stream = mem_alloc_array(1, sizeof(*stream));
    bool is_same = in_fd == out_fd;
    int r = 0;

    if (stream == NULL) {
        return err_raise(-ENOMEM);
    }
    stream->loop = loop;
    stream->ops = ops;
    stream->context = context;
    stream->in.fd = -1;
    stream->out.fd = -1;
    stream->writer = is_same ? &stream->in : &stream->out;
    stream->is_reading = in_fd >= 0;
    stream->is_writing = out_fd >= 0;
    (void)uv_idle_init(&loop->uv, &stream->step);
    (void)uv_timer_init(&loop->uv, &stream->linger);
    stream->step.data = stream;
    stream->linger.data = stream;
    stream->n_handles = 2;
    if (in_fd >= 0) {
        r = stream_open_side(stream, &stream->in, in_fd, true, is_same);
    }
    if (r == 0 && out_fd >= 0 && !is_same) {
        r = stream_open_side(stream, &stream->out, out_fd, false, true);
    }
    if (r != 0) {
        stream->is_dead = true;
        stream_close_all(stream); /* the descriptors stay the caller's */
        return err_pass(r);
    }
    stream->in.fd = in_fd;
    stream->out.fd = is_same ? -1 : out_fd;
    stream_arm(stream);
    *ret = stream;
    return 0;
}

static void stream_on_linger_over(uv_timer_t *timer)
{
    stream_close_all(timer->data);
}

IoStream *io_stream_free(IoStream *stream)
{
    StreamSide *writer;

    if (stream == NULL || stream->is_dead) {
        return NULL;
    }
    writer = stream->writer;
    stream->is_dead = true;
    (void)uv_idle_stop(&stream->step);
    if (writer->side == NULL || stream->error != 0 || win_side_has_taken(writer->side)) {
        stream_close_all(stream);
        return NULL;
    }
    if (stream->in.side != NULL) {
        (void)win_side_read(stream->in.side, false);
    }
    if (writer == &stream->out) {
        stream_close_side(&stream->in);
    }
    (void)uv_timer_start(&stream->linger, stream_on_linger_over, STREAM_LINGER_MS, 0);
    return NULL;
}

void io_stream_flush(IoStream *stream)
{
    /* Inside an event it follows anyway, and then in one write for all that was queued. */
    if (stream->in_event) {
        return;
    }
    stream->in_event = true;
    stream_write(stream);
    stream->in_event = false;
    if (!stream->is_dead) {
        stream_arm(stream);
    }
}

void io_stream_flush_now(IoStream *stream)
{
    if (stream->in_event) {
        stream_write(stream);
    } else {
        io_stream_flush(stream);
    }
}

bool io_stream_is_waiting(const IoStream *stream)
{
    return stream->is_waiting;
}

void io_stream_pause(IoStream *stream)
{
    stream->is_paused = true;
    if (!stream->in_event) {
        stream_arm(stream);
    }
}

void io_stream_resume(IoStream *stream)
{
    stream->is_paused = false;
    if (!stream->in_event) {
        stream_arm(stream);
    }
}

/* A pipe has the size that it was made with. */
void io_stream_widen_input(IoStream *stream)
{
    (void)stream;
}

bool io_stream_has_hung_up(const IoStream *stream)
{
    return stream->is_reading && stream->in.side != NULL && win_side_has_hung_up(stream->in.side);
}

bool io_stream_is_deserted(const IoStream *stream)
{
    return stream->error != 0 || io_stream_has_hung_up(stream);
}

void io_stream_shut_output(IoStream *stream)
{
    stream->is_shutting = true;
    io_stream_flush(stream);
}
