/* When messages are told:
 *
 *     input         stream read → told until AGAIN, pause or close → settle
 *     pause         the stream stops; what the reader holds already stays there
 *     resume        a timer: told from its turn on, as above; then the stream reads again, so that
 *                   an end is never told before the messages that came ahead of it
 *
 * After an oversized frame the stream is paused for good, when as much of it was read as the owner
 * wants: nobody knows where the next one begins, but the answer that says so may still have to wait
 * for the peer.
 */
#include "providers/pipe_link.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "io/error_text.h"

/* ---- messages out ---- */

static int link_begin(void *context, Bytes **ret_bytes)
{
    PipeLink *link = context;

    if (link->stream == NULL) {
        return LEN32_E_FULL;
    }
    /* What the system would take does not wait for the peer, and must not use up the room. */
    if (pipe_link_pending(link) > link->max_output / 2) {
        io_stream_flush_now(link->stream);
    }
    return len32_writer_begin(&link->writer, ret_bytes);
}

static int link_commit_message(void *context)
{
    PipeLink *link = context;

    return len32_writer_commit(&link->writer);
}

/* Written now, while the lender waits; what the system does not take is copied after all. */
static int link_commit_lent(void *context, BytesLent lent)
{
    PipeLink *link = context;
    int r = len32_writer_commit_lent(&link->writer, lent);

    if (r != 0) {
        return r;
    }
    io_stream_flush_now(link->stream);
    return err_pass(len32_writer_own(&link->writer));
}

static void link_abort(void *context)
{
    PipeLink *link = context;

    len32_writer_abort(&link->writer);
}

static void link_flush_now(void *context)
{
    PipeLink *link = context;

    if (link->stream != NULL) {
        io_stream_flush_now(link->stream);
    }
}

/* ---- messages in ---- */

static bool link_is_held(const PipeLink *link)
{
    return link->is_paused || link->is_resuming || link->is_over;
}

/* The beginning of a frame over the limit, again and again as it comes. */
static void link_tell_oversize(PipeLink *link)
{
    uint64_t n_closed = link->n_closed;
    bool wants_more = link->ops->oversize(link->context, len32_reader_declared(&link->reader),
                                          span_make(link->head, link->n_head));

    if (link->n_closed != n_closed) {
        return;
    }
    link->wants_head = wants_more && link->n_head < sizeof(link->head);
    if (!link->wants_head) {
        io_stream_pause(link->stream);
    }
}

static void link_begin_oversize(PipeLink *link)
{
    Span head = len32_reader_refused(&link->reader);

    link->is_over = true;
    link->n_head = head.n < sizeof(link->head) ? head.n : sizeof(link->head);
    memcpy(link->head, head.p, link->n_head);
    link_tell_oversize(link);
}

static void link_tell_messages(PipeLink *link)
{
    Span message = SPAN_NULL;
    int r = 0;

    /* A link that was closed meanwhile has nothing to read, opened again or not. */
    while (!link_is_held(link) && (link->stream == NULL || !io_stream_is_overdue(link->stream))) {
        r = len32_reader_next(&link->reader, &message);
        if (r != 0) {
            break;
        }
        link->ops->message(link->context, message);
    }
    if (r == LEN32_E_TOO_LARGE) {
        link_begin_oversize(link);
    } else if (link->wants_head) {
        link_tell_oversize(link);
    }
}

/* All that the reader holds and the owner lets through. */
static void link_tell(PipeLink *link)
{
    uint64_t n_closed = link->n_closed;

    link->is_telling = true;
    link_tell_messages(link);
    if (link->n_closed == n_closed) {
        link->ops->settle(link->context);
    }
    link->is_telling = false;
    len32_reader_deinit(&link->retired);
}

static void link_on_resume(void *context)
{
    PipeLink *link = context;
    uint64_t n_closed = link->n_closed;

    link->is_resuming = false;
    io_turn_begin(link->loop, link->turn);
    link_tell(link);
    io_turn_end(link->loop);
    if (link->n_closed != n_closed) {
        return;
    }
    if (!link_is_held(link)) {
        io_stream_resume(link->stream);
    }
    pipe_link_flush(link);
}

/* ---- the stream ---- */

static int link_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    PipeLink *link = context;

    if (link->wants_head) {
        *ret_p = link->head + link->n_head;
        *ret_n = sizeof(link->head) - link->n_head;
        return 0;
    }
    return err_fold(len32_reader_reserve(&link->reader, want, ret_p, ret_n));
}

static void link_commit(void *context, size_t n)
{
    PipeLink *link = context;

    if (link->wants_head) {
        link->n_head += n;
    } else {
        len32_reader_commit(&link->reader, n);
    }
}

static size_t link_pull(void *context, Span *slices, size_t max)
{
    PipeLink *link = context;

    return len32_writer_pull(&link->writer, slices, max);
}

static void link_consumed(void *context, size_t n)
{
    PipeLink *link = context;

    len32_writer_consumed(&link->writer, n);
}

static void link_on_input(void *context)
{
    link_tell(context);
}

static void link_end(PipeLink *link, Span why)
{
    link->is_over = true;
    link->ops->ended(link->context, why);
}

static void link_on_end(void *context)
{
    PipeLink *link = context;
    Span rest;
    int r = len32_reader_finish(&link->reader, &rest);

    link_end(link, r == LEN32_E_INCOMPLETE ? SPAN("in the middle of a message") : SPAN_NULL);
}

static void link_on_failed(void *context, int r)
{
    link_end(context, span_from_str(io_stream_error_text(r)));
}

static void link_on_drained(void *context)
{
    PipeLink *link = context;

    if (link->ops->drained != NULL) {
        link->ops->drained(link->context);
    }
}

static const IoStreamOps link_stream_ops = {
    .reserve = link_reserve,
    .commit = link_commit,
    .pull = link_pull,
    .consumed = link_consumed,
    .input = link_on_input,
    .end = link_on_end,
    .failed = link_on_failed,
    .drained = link_on_drained,
};

/* ---- life ---- */

static void link_init_frames(PipeLink *link)
{
    len32_reader_init(&link->reader, LEN32_ORDER_LE, link->max_bytes);
    len32_writer_init(&link->writer, LEN32_ORDER_LE, link->max_bytes, link->max_output);
}

void pipe_link_init(PipeLink *link, IoLoop *loop, uint32_t max_bytes, size_t max_output,
                    const PipeLinkOps *ops, void *context)
{
    static const IoTurnName the_hub = {.text = "the hub"};
    size_t min_output;

    *link = PIPE_LINK_NULL;
    link->loop = loop;
    link->turn = &the_hub;
    link->ops = ops;
    link->context = context;
    link->max_bytes = max_bytes != 0 ? max_bytes : LIMIT_PIPE_MESSAGE_BYTES;
    min_output = (size_t)link->max_bytes + LEN32_HEADER_BYTES;
    link->max_output = max_output > min_output ? max_output : min_output;
    link->sink = (PipeSink){.begin = link_begin,
                            .commit = link_commit_message,
                            .commit_lent = link_commit_lent,
                            .abort = link_abort,
                            .flush = link_flush_now,
                            .context = link};
    link_init_frames(link);
}

void pipe_link_deinit(PipeLink *link)
{
    assert(!link->is_telling);
    link->stream = io_stream_free(link->stream);
    link->resuming = io_timer_free(link->resuming);
    len32_reader_deinit(&link->reader);
    len32_writer_deinit(&link->writer);
}

int pipe_link_open(PipeLink *link, int fd)
{
    int r = 0;

    assert(link->stream == NULL);
    /* Here and not when it is needed, so that resume cannot fail. */
    if (link->resuming == NULL) {
        r = io_timer_new(&link->resuming, link->loop, false, link_on_resume, link);
    }
    if (r == 0) {
        r = io_stream_new(&link->stream, link->loop, fd, fd, &link_stream_ops, link);
    }
    if (r == 0) {
        io_stream_set_turn(link->stream, link->turn);
    }
    return err_pass(r);
}

void pipe_link_set_turn(PipeLink *link, const IoTurnName *name)
{
    link->turn = name;
    if (link->stream != NULL) {
        io_stream_set_turn(link->stream, link->turn);
    }
}

void pipe_link_close(PipeLink *link)
{
    if (link->stream == NULL) {
        return;
    }
    link->stream = io_stream_free(link->stream);
    io_timer_stop(link->resuming);
    link->is_paused = false;
    link->is_resuming = false;
    link->is_over = false;
    link->wants_head = false;
    link->n_closed++;
    /* A message that is being told lies in the first reader that goes; none is told of another. */
    if (link->is_telling && link->retired.in.data == NULL) {
        link->retired = link->reader;
    } else {
        len32_reader_deinit(&link->reader);
    }
    len32_writer_deinit(&link->writer);
    link_init_frames(link);
}

void pipe_link_pause(PipeLink *link)
{
    if (link->stream == NULL) {
        return;
    }
    link->is_paused = true;
    link->is_resuming = false;
    io_timer_stop(link->resuming);
    io_stream_pause(link->stream);
}

void pipe_link_resume(PipeLink *link)
{
    if (link->stream == NULL || !link->is_paused) {
        return;
    }
    link->is_paused = false;
    if (!link->is_over) {
        link->is_resuming = true;
        io_timer_start_at(link->resuming, io_loop_now_ms(link->loop));
    }
}

void pipe_link_flush(PipeLink *link)
{
    if (link->stream != NULL && pipe_link_pending(link) > 0) {
        io_stream_flush(link->stream);
    }
}

bool pipe_link_keeps_much(const PipeLink *link)
{
    return link->reader.in.cap > LIMIT_KEEP_BYTES || outq_keeps_much(&link->writer.out);
}

void pipe_link_trim(PipeLink *link)
{
    if (!link->is_telling) {
        len32_reader_trim(&link->reader);
    }
    outq_trim(&link->writer.out);
}
