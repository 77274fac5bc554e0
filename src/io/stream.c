/* What a stream waits for, and with what:
 *
 *     in    readable      uv_poll while reading and not paused
 *     out   writable      uv_poll while a write could not be finished (`is_waiting`)
 *     step  always        uv_idle: reads what cannot be waited for (regular files), one read a turn
 *                         so that others get theirs; and hands over a failure that happened while
 *                         the owner was calling us
 *
 * If both directions use one descriptor they share one uv_poll. What is waited for changes only at
 * a pause, an end or a full pipe: a message that comes and is answered costs epoll_wait, read and
 * write and no other system call.
 *
 * The memory is released when libuv has let go of the handles, which is never inside a callback; so
 * the code below may look at `is_dead` after every call of the owner.
 */
#include "io/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor.h"
#include "io/loop_internal.h"

/* Slices of one writev. An answer is a few; beyond this the copying inside the kernel dominates. */
#define STREAM_SLICES 64

typedef struct StreamSide {
    IoDescriptor descriptor;
    uv_poll_t poll;
    int armed;     /* events that are waited for now */
    bool has_poll; /* can be waited for */
} StreamSide;

struct IoStream {
    IoLoop *loop;
    const IoStreamOps *ops;
    void *context;
    const IoTurnName *turn; /* NULL: nobody's */
    StreamSide in;
    StreamSide out;
    StreamSide *writer; /* `in` if both directions use one descriptor, else `out` */
    uv_idle_t step;
    int n_handles;   /* that libuv has not let go of */
    int error;       /* negative errno; set: nothing is written any more */
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

static void stream_on_closed(uv_handle_t *handle)
{
    IoStream *stream = handle->data;

    stream->n_handles--;
    if (stream->n_handles == 0) {
        (void)mem_free(stream);
    }
}

static void stream_arm_side(IoStream *stream, StreamSide *side, int events);
static void stream_on_step(uv_idle_t *step);

/* Waits for what is wanted now, and for nothing else. */
static void stream_arm(IoStream *stream)
{
    bool live = !stream->is_dead && stream->error == 0;
    bool wants_read = live && stream->is_reading && !stream->is_paused;
    bool wants_write = live && stream->is_waiting;
    bool try_first = wants_read && stream->in.descriptor.must_try;
    bool wants_step = !stream->is_dead && !stream->has_failed &&
                      (stream->error != 0 || (wants_read && !stream->in.has_poll) || try_first);
    int in_events = wants_read && !try_first ? UV_READABLE : 0;

    if (stream->writer == &stream->in) {
        in_events |= wants_write ? UV_WRITABLE : 0;
    } else {
        stream_arm_side(stream, &stream->out, wants_write ? UV_WRITABLE : 0);
    }
    stream_arm_side(stream, &stream->in, in_events);
    if (!stream->is_dead && wants_step != (uv_is_active((uv_handle_t *)&stream->step) != 0)) {
        if (wants_step) {
            (void)uv_idle_start(&stream->step, stream_on_step);
        } else {
            (void)uv_idle_stop(&stream->step);
        }
    }
}

/* The owner hears of it from the step, after what the peer sent before has been handed over. */
static void stream_fail(IoStream *stream, int r)
{
    if (stream->error == 0) {
        stream->error = r;
        stream->is_waiting = false;
    }
}

static void stream_fail_reading(IoStream *stream, int r)
{
    stream->is_reading = false;
    stream_fail(stream, r);
}

static void stream_report_failure(IoStream *stream)
{
    stream->has_failed = true;
    stream->is_reading = false;
    stream->ops->failed(stream->context, stream->error);
}

static void stream_end(IoStream *stream)
{
    stream->is_reading = false;
    stream->ops->end(stream->context);
}

/* One read, and what the owner makes of it. False: there was nothing, now or any more. */
static bool stream_read(IoStream *stream)
{
    const IoDescriptor *d = &stream->in.descriptor;
    char *p = NULL;
    size_t n = 0;
    ssize_t n_read;
    int r = stream->ops->reserve(stream->context, IO_STREAM_READ_BYTES, &p, &n);

    if (stream->is_dead) {
        return false;
    }
    if (r != 0) {
        stream_fail_reading(stream, err_fold(r));
        return false;
    }
    n_read = io_descriptor_read(d, p, n);
    if (n_read > 0) {
        stream->ops->commit(stream->context, (size_t)n_read);
        if (!stream->is_dead) {
            stream->ops->input(stream->context);
        }
        return !stream->is_dead;
    }
    if (n_read == -EAGAIN || n_read == -EWOULDBLOCK) {
        return false;
    }
    if (n_read == 0 || (n_read == -EIO && d->kind == IO_DESCRIPTOR_TERMINAL)) {
        /* After a failed write the end is part of the failure. */
        if (stream->error == 0) {
            stream_end(stream);
        }
        stream->is_reading = false;
        return false;
    }
    stream_fail_reading(stream, err_raise((int)n_read));
    return false;
}

/* Before its descriptor is closed: libuv takes the number off the loop's list when it closes the
 * handle, whosever it is by then. */
static void stream_close_poll(StreamSide *side)
{
    if (side->has_poll) {
        side->has_poll = false;
        uv_close((uv_handle_t *)&side->poll, stream_on_closed);
    }
}

static void stream_close_output(IoStream *stream)
{
    StreamSide *side = stream->writer;

    stream->is_writing = false;
    if (side->descriptor.kind == IO_DESCRIPTOR_SOCKET) {
        (void)shutdown(side->descriptor.fd, SHUT_WR);
    }
    if (side == &stream->out) {
        stream_close_poll(side);
        io_descriptor_close(&side->descriptor);
    }
}

/* Writes once. True if all that was shown was taken and there may be more. */
static bool stream_write_once(IoStream *stream)
{
    Span slices[STREAM_SLICES];
    struct iovec vector[STREAM_SLICES];
    size_t n_slices = stream->ops->pull(stream->context, slices, STREAM_SLICES);
    size_t n_shown = 0;
    ssize_t n_written = 0;

    if (stream->is_dead) {
        return false;
    }
    for (size_t i = 0; i < n_slices; i++) {
        union {
            const char *in;
            void *out; /* writev only reads */
        } base = {.in = slices[i].p};

        vector[i] = (struct iovec){.iov_base = base.out, .iov_len = slices[i].n};
        n_shown += slices[i].n;
    }
    if (n_slices > 0) {
        n_written = io_descriptor_write(&stream->writer->descriptor, vector, n_slices);
    }
    stream->ops->consumed(stream->context, n_written > 0 ? (size_t)n_written : 0);
    if (stream->is_dead || n_slices == 0) {
        return false;
    }
    if (n_written < 0 && n_written != -EAGAIN && n_written != -EWOULDBLOCK) {
        stream_fail(stream, err_raise((int)n_written));
        return false;
    }
    if (n_written < 0 || (size_t)n_written < n_shown) {
        /* A short write to what can be waited for means that it is full: asking again would only
         * cost a system call. */
        stream->is_waiting = stream->writer->has_poll;
        return !stream->is_waiting && n_written > 0;
    }
    return true;
}

/* Writes until nothing is pending or the system takes no more. */
static void stream_write(IoStream *stream)
{
    if (!stream->is_writing || stream->is_waiting || stream->error != 0 || stream->is_dead) {
        return;
    }
    while (stream_write_once(stream)) {
    }
    if (!stream->is_dead && !stream->is_waiting && stream->is_shutting && stream->error == 0) {
        stream_close_output(stream);
    }
}

static void stream_on_writable(IoStream *stream)
{
    stream->is_waiting = false;
    stream_write(stream);
    if (!stream->is_dead && !stream->is_waiting && stream->error == 0 &&
        stream->ops->drained != NULL) {
        stream->ops->drained(stream->context);
        stream_write(stream); /* the owner may have queued more */
    }
}

static void stream_on_readable(IoStream *stream)
{
    stream->in.descriptor.must_try = false;
    (void)stream_read(stream);
    stream_write(stream);
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

static void stream_on_poll(uv_poll_t *poll, int status, int events)
{
    IoStream *stream = poll->data;
    StreamSide *side = poll == &stream->in.poll ? &stream->in : &stream->out;

    if (status < 0) {
        /* The other side is gone; libuv has stopped waiting. Reading or writing tells how. */
        events = side->armed;
        side->armed = 0;
    }
    stream_begin_event(stream);
    if ((events & UV_WRITABLE) != 0 && stream->is_waiting) {
        stream_on_writable(stream);
    }
    if ((events & UV_READABLE) != 0 && !stream->is_dead && stream->is_reading &&
        !stream->is_paused && stream->error == 0) {
        stream_on_readable(stream);
    }
    stream_end_event(stream);
}

/* A turn of what cannot be waited for. */
static void stream_on_step(uv_idle_t *step)
{
    IoStream *stream = step->data;

    stream_begin_event(stream);
    if (stream->error == 0) {
        if (stream->is_reading && !stream->is_paused) {
            stream_on_readable(stream);
        }
    } else if (!stream->is_reading || stream->is_paused || !stream_read(stream)) {
        /* Writing failed, and what the peer sent before it went has been handed over. */
        if (!stream->is_dead) {
            stream_report_failure(stream);
        }
    }
    stream_end_event(stream);
}

static void stream_arm_side(IoStream *stream, StreamSide *side, int events)
{
    int r = 0;

    if (!side->has_poll || side->armed == events) {
        return;
    }
    if (events == 0) {
        (void)uv_poll_stop(&side->poll);
    } else {
        r = uv_poll_start(&side->poll, events, stream_on_poll);
    }
    side->armed = r == 0 ? events : 0;
    if (r != 0) {
        stream_fail(stream, err_raise(r));
        (void)uv_idle_start(&stream->step, stream_on_step);
    }
}

/* Finds out how to use the descriptor. */
static int stream_open_side(IoStream *stream, StreamSide *side, int fd, bool reads, bool writes)
{
    int flags;
    int r;

    io_descriptor_open(&side->descriptor, fd, reads, writes);
    flags = fcntl(side->descriptor.fd, F_GETFL);
    if (flags < 0) {
        return err_raise(-errno);
    }
    r = uv_poll_init(&stream->loop->uv, &side->poll, side->descriptor.fd);
    if (r == -EPERM) {
        return 0; /* a regular file, /dev/null…: always ready, cannot be waited for */
    }
    if (r != 0) {
        return err_raise(r);
    }
    side->has_poll = true;
    side->poll.data = stream;
    stream->n_handles++;
    io_descriptor_settle(&side->descriptor, flags);
    return 0;
}

static void stream_close_handles(IoStream *stream)
{
    stream->is_dead = true;
    stream_close_poll(&stream->in);
    stream_close_poll(&stream->out);
    uv_close((uv_handle_t *)&stream->step, stream_on_closed);
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
    stream->in.descriptor = IO_DESCRIPTOR_NULL;
    stream->out.descriptor = IO_DESCRIPTOR_NULL;
    stream->writer = is_same ? &stream->in : &stream->out;
    stream->is_reading = in_fd >= 0;
    stream->is_writing = out_fd >= 0;
    (void)uv_idle_init(&loop->uv, &stream->step);
    stream->step.data = stream;
    stream->n_handles = 1;
    if (in_fd >= 0) {
        r = stream_open_side(stream, &stream->in, in_fd, true, is_same);
    }
    if (r == 0 && out_fd >= 0 && !is_same) {
        r = stream_open_side(stream, &stream->out, out_fd, false, true);
    }
    if (r != 0) {
        stream_close_handles(stream);
        io_descriptor_abandon(&stream->in.descriptor);
        io_descriptor_abandon(&stream->out.descriptor);
        return err_pass(r);
    }
    stream_arm(stream);
    *ret = stream;
    return 0;
}

IoStream *io_stream_free(IoStream *stream)
{
    if (stream == NULL || stream->is_dead) {
        return NULL;
    }
    stream_close_handles(stream);
    io_descriptor_close(&stream->in.descriptor);
    io_descriptor_close(&stream->out.descriptor);
    return NULL;
}

void io_stream_set_turn(IoStream *stream, const IoTurnName *name)
{
    stream->turn = name;
}

bool io_stream_is_overdue(IoStream *stream)
{
    if (!stream->is_overdue && !stream->is_dead && stream->turn != NULL &&
        io_turn_is_over(stream->loop, stream->turn)) {
        stream->is_overdue = true;
        stream_fail_reading(stream, err_raise(-ETIMEDOUT));
        if (!stream->in_event) {
            stream_arm(stream);
        }
    }
    return stream->is_overdue;
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

void io_stream_widen_input(IoStream *stream)
{
    io_descriptor_widen(stream->in.descriptor.fd);
}

bool io_stream_has_hung_up(const IoStream *stream)
{
    struct pollfd look = {.fd = stream->in.descriptor.fd, .events = POLLRDHUP};

    return stream->is_reading && stream->in.has_poll && poll(&look, 1, 0) == 1 &&
           (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool io_stream_is_deserted(const IoStream *stream)
{
    struct pollfd look = {.fd = stream->writer->descriptor.fd, .events = 0};

    return stream->error != 0 || (stream->writer->has_poll && poll(&look, 1, 0) == 1 &&
                                  (look.revents & (POLLHUP | POLLERR)) != 0);
}

void io_stream_shut_output(IoStream *stream)
{
    stream->is_shutting = true;
    io_stream_flush(stream);
}
