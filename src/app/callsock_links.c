/* A link is one connection:
 *
 *     OPEN --protocol broken, end of input, shutdown--> CLOSING --output written--> DEAD
 *     any --the bridge has gone, the stream failed--> DEAD
 *
 * While a call runs the link goes on reading, since that is how it hears that the bridge has gone.
 * It stops as soon as something comes: the next request was sent too early and waits, and until the
 * answer is written the end of the connection is looked for with every tick instead. Links are
 * changed and freed between events only (callsock_links_settle): whoever has a reason puts a link
 * on the list of those that are due.
 */
#include "app/callsock_links.h"

#include <string.h>

#include "app/asker.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/callsock/parent.h"
#include "frame/len32.h"
#include "io/descriptor_look.h"
#include "io/stream.h"

typedef enum LinkState {
    LINK_OPEN,
    LINK_CLOSING, /* takes no more: what is pending is written, then it is closed */
    LINK_DEAD     /* freed at the next opportunity */
} LinkState;

struct CallsockLink {
    CallsockLinks *owner;
    CallsockLink *next;
    CallsockLink *prev;
    CallsockLink *next_due;
    IoStream *stream;
    CallsockParent *session;
    Len32Reader reader;
    Len32Writer writer;
    RouterQuota quota;
    Asker asker;
    CallsockSink sink;
    LinkState state;
    int fd; /* the stream's */
    bool is_due;
    bool is_paused;
    bool input_ended;
    bool has_sent_ahead; /* and it has been said */
    int64_t last_input_ms;
    int64_t close_by_ms; /* CLOSING: a bridge that does not read is not waited for */
};

static const IoTurnName link_turn = {.text = "a bridge on the call socket"};

/* ---- the session's view: where its messages go ---- */

static int link_sink_begin(void *context, Bytes **ret)
{
    CallsockLink *link = context;

    return len32_writer_begin(&link->writer, ret);
}

static int link_sink_commit(void *context)
{
    CallsockLink *link = context;

    return len32_writer_commit(&link->writer);
}

/* Written now, while the lender waits; what the system does not take is copied after all. */
static int link_sink_commit_lent(void *context, BytesLent lent)
{
    CallsockLink *link = context;
    int r = len32_writer_commit_lent(&link->writer, lent);

    if (r != 0) {
        return r;
    }
    io_stream_flush_now(link->stream);
    return err_pass(len32_writer_own(&link->writer));
}

static void link_sink_abort(void *context)
{
    CallsockLink *link = context;

    len32_writer_abort(&link->writer);
}

/* ---- what happens to a link ---- */

static void link_mark_due(CallsockLink *link)
{
    if (!link->is_due) {
        link->is_due = true;
        link->next_due = link->owner->due;
        link->owner->due = link;
    }
}

static void link_sink_flush(void *context)
{
    link_mark_due(context);
}

/* An answer must always find room (callsock_links_add), and so reports of progress end early. */
static bool link_sink_is_behind(void *context)
{
    const CallsockLink *link = context;

    return len32_writer_pending(&link->writer) > LIMIT_OUTPUT_PAUSE_BYTES / 2;
}

static void link_cancel(CallsockLink *link)
{
    Call *call = callsock_parent_call(link->session);

    if (call != NULL) {
        router_cancel(link->owner->router, call);
        callsock_parent_drop(link->session);
    }
}

/* Nobody is there any more. */
static void link_die(CallsockLink *link)
{
    if (link->state != LINK_DEAD) {
        link->state = LINK_DEAD;
        link_cancel(link);
        link_mark_due(link);
    }
}

/* No call runs: the rest is written. */
static void link_begin_close(CallsockLink *link)
{
    if (link->state == LINK_OPEN) {
        link->state = LINK_CLOSING;
        link->close_by_ms = io_loop_now_ms(link->owner->loop) + link->owner->drain_ms;
        link_mark_due(link);
    }
}

static bool link_is_fat(const CallsockLink *link)
{
    return link->reader.in.cap > LIMIT_KEEP_BYTES || outq_keeps_much(&link->writer.out);
}

/* Must somebody look at it after a while, because no event may come? */
static bool link_wants_tick(const CallsockLink *link)
{
    return link->state == LINK_CLOSING || link->is_paused || link->input_ended || link_is_fat(link);
}

/* ---- requests ---- */

static void link_say_ahead(CallsockLink *link)
{
    if (!link->has_sent_ahead) {
        link->has_sent_ahead = true;
        logsink_write(link->owner->log, LOGSINK_LEVEL_WARN, "callsock",
                      "a bridge sends requests before the last one is answered: they are served in "
                      "order");
    }
}

/* The stream ended inside a frame, and the bridge may still read. */
static void link_refuse_rest(CallsockLink *link)
{
    Bytes *out;

    if (len32_writer_begin(&link->writer, &out) != 0) {
        return;
    }
    if (callsock_error_write(out, SPAN(CALLSOCK_TYPE_PROTOCOL),
                             SPAN("the request ended before the length that it declared")) != 0) {
        len32_writer_abort(&link->writer);
        return;
    }
    (void)len32_writer_commit(&link->writer);
}

/* Nothing whole is left in the reader. */
static void link_handle_end(CallsockLink *link)
{
    Span rest;

    if (len32_reader_finish(&link->reader, &rest) == LEN32_E_INCOMPLETE) {
        link_refuse_rest(link);
    }
    link_begin_close(link);
}

static void link_handle_message(CallsockLink *link, Span message)
{
    int r = callsock_parent_receive(link->session, message);
    Call *call;

    if (r == CALLSOCK_E_PROTOCOL) {
        link_begin_close(link);
        return;
    }
    if (r != 0) {
        link_die(link);
        return;
    }
    call = callsock_parent_next(link->session);
    if (call != NULL) {
        call->asker = &link->asker.call;
        router_dispatch(link->owner->router, &link->quota, call);
    }
    if (callsock_parent_error(link->session) != 0) {
        link_die(link);
    }
}

/* May the next request be taken now? A bridge that does not read its answers is not served. */
static bool link_may_take(const CallsockLink *link)
{
    return link->state == LINK_OPEN && !callsock_parent_is_busy(link->session) &&
           len32_writer_pending(&link->writer) <= LIMIT_OUTPUT_PAUSE_BYTES &&
           !io_stream_is_overdue(link->stream);
}

static void link_refuse_size(CallsockLink *link, uint32_t declared)
{
    uint32_t other = callsock_parent_other_order(link->session, declared);

    if (other > 0) {
        logsink_write(link->owner->log, LOGSINK_LEVEL_WARN, "callsock",
                      "in the other byte order the length is %u: on the call socket lengths are "
                      "big-endian (on the pipe they are little-endian)",
                      (unsigned)other);
    }
    (void)callsock_parent_refuse_size(link->session, declared);
    link_begin_close(link);
}

/* Takes what is there until a call stays or there is no more. */
static void link_handle(CallsockLink *link)
{
    size_t n_taken = 0;

    if (link->owner->is_draining) {
        if (!callsock_parent_is_busy(link->session)) {
            link_begin_close(link);
        }
        return;
    }
    while (link_may_take(link)) {
        Span message;
        int r = len32_reader_next(&link->reader, &message);

        if (r == 0) {
            link_handle_message(link, message);
            n_taken++;
            if (n_taken == 2) {
                link_say_ahead(link);
            }
        } else if (r == LEN32_E_TOO_LARGE) {
            link_refuse_size(link, len32_reader_declared(&link->reader));
        } else {
            if (link->input_ended) {
                link_handle_end(link);
            }
            return;
        }
    }
}

/* Reads, unless something waits already. */
static void link_set_reading(CallsockLink *link)
{
    bool is_behind = inq_unread(&link->reader.in).n > 0;
    bool is_busy = callsock_parent_is_busy(link->session);
    bool must_pause = link->state != LINK_OPEN || (is_behind && is_busy) ||
                      len32_writer_pending(&link->writer) > LIMIT_OUTPUT_PAUSE_BYTES;

    if (is_behind && is_busy) {
        link_say_ahead(link);
    }
    if (must_pause != link->is_paused) {
        link->is_paused = must_pause;
        if (must_pause) {
            io_stream_pause(link->stream);
        } else {
            io_stream_resume(link->stream);
        }
    }
    if (link_wants_tick(link)) {
        link->owner->wants_tick = true;
    }
}

/* The session: an answer has been written, outside of input, or could not be. */
static void link_on_idle(void *context)
{
    CallsockLink *link = context;

    if (callsock_parent_error(link->session) != 0) {
        link_die(link);
    } else {
        link_mark_due(link);
    }
}

/* ---- the stream's view ---- */

static int link_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    CallsockLink *link = context;

    return err_fold(len32_reader_reserve(&link->reader, want, ret_p, ret_n));
}

static void link_commit(void *context, size_t n)
{
    CallsockLink *link = context;

    len32_reader_commit(&link->reader, n);
}

static size_t link_pull(void *context, Span *slices, size_t max)
{
    CallsockLink *link = context;

    return len32_writer_pull(&link->writer, slices, max);
}

static void link_consumed(void *context, size_t n)
{
    CallsockLink *link = context;

    len32_writer_consumed(&link->writer, n);
}

static void link_on_input(void *context)
{
    CallsockLink *link = context;

    if (link->state != LINK_OPEN) {
        return;
    }
    link->last_input_ms = io_loop_now_ms(link->owner->loop);
    router_advance(link->owner->router, link->last_input_ms);
    link_handle(link);
    if (len32_writer_pending(&link->writer) > LIMIT_OUTPUT_PAUSE_BYTES) {
        link_mark_due(link); /* there may be room again when the stream has written */
    }
    link_set_reading(link);
}

static void link_on_end(void *context)
{
    CallsockLink *link = context;

    link->input_ended = true;
    if (io_fd_has_gone(link->fd)) {
        link_die(link);
    } else {
        link_on_input(link);
    }
}

static void link_on_failed(void *context, int r)
{
    (void)r; /* bridges come and go */
    link_die(context);
}

static void link_on_drained(void *context)
{
    link_mark_due(context);
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

/* ---- life of a link ---- */

/* Not while it is on the list of those that are due. */
static void link_free(CallsockLink *link)
{
    CallsockLinks *links = link->owner;

    if (link->session != NULL) {
        link_cancel(link);
    }
    if (link->prev != NULL) {
        link->prev->next = link->next;
    } else if (links->first == link) {
        links->first = link->next;
    }
    if (link->next != NULL) {
        link->next->prev = link->prev;
    }
    link->stream = io_stream_free(link->stream);
    link->session = callsock_parent_free(link->session);
    len32_writer_deinit(&link->writer);
    len32_reader_deinit(&link->reader);
    (void)mem_free(link);
}

/* Takes fd on success. */
static int link_open(CallsockLink *link, int fd)
{
    CallsockLinks *links = link->owner;
    int r =
        callsock_parent_new(&link->session, &(CallsockParentConfig){.sink = &link->sink,
                                                                    .max_bytes = links->max_bytes,
                                                                    .idle = link_on_idle,
                                                                    .context = link});

    if (r != 0) {
        return err_pass(r);
    }
    r = io_stream_new(&link->stream, links->loop, fd, fd, &link_stream_ops, link);
    if (r != 0) {
        return err_pass(r);
    }
    io_stream_set_turn(link->stream, &link_turn);
    return 0;
}

int callsock_links_add(CallsockLinks *links, int fd)
{
    CallsockLink *link = mem_alloc_array(1, sizeof(*link));
    int r;

    if (link == NULL) {
        return err_raise(-ENOMEM);
    }
    link->owner = links;
    link->fd = fd;
    link->last_input_ms = io_loop_now_ms(links->loop);
    link->sink = (CallsockSink){.begin = link_sink_begin,
                                .commit = link_sink_commit,
                                .commit_lent = link_sink_commit_lent,
                                .abort = link_sink_abort,
                                .flush = link_sink_flush,
                                .is_behind = link_sink_is_behind,
                                .context = link};
    router_quota_init(&link->quota, &links->limits, link->last_input_ms);
    asker_init_peer(&link->asker, "callsock", fd);
    len32_reader_init(&link->reader, LEN32_ORDER_BE, links->max_bytes);
    /* Requests are not taken above the pause: one answer more always finds room. */
    len32_writer_init(&link->writer, LEN32_ORDER_BE, links->max_bytes,
                      LIMIT_OUTPUT_PAUSE_BYTES + LEN32_HEADER_BYTES + (size_t)links->max_bytes);
    r = link_open(link, fd);
    if (r != 0) {
        link_free(link);
        return err_pass(r);
    }
    link->next = links->first;
    if (links->first != NULL) {
        links->first->prev = link;
    }
    links->first = link;
    links->n++;
    return 0;
}

/* ---- between events ---- */

/* Writes, goes on where a call or a full output stopped, and writes again: each round takes at
 * least one request that waits in the reader, or is the last. */
static void link_settle(CallsockLink *link)
{
    size_t n_unread;

    do {
        n_unread = inq_unread(&link->reader.in).n;
        link_handle(link);
        if (link->state != LINK_DEAD && len32_writer_pending(&link->writer) > 0) {
            io_stream_flush(link->stream);
        }
    } while (link_may_take(link) && inq_unread(&link->reader.in).n < n_unread);
    link_set_reading(link);
    if (link->state == LINK_CLOSING && len32_writer_pending(&link->writer) == 0) {
        link_die(link);
    }
}

static void link_on_tick(CallsockLink *link, int64_t now_ms)
{
    bool is_deaf = link->is_paused || link->input_ended;

    if ((is_deaf && io_fd_has_gone(link->fd)) ||
        (link->state == LINK_CLOSING && now_ms >= link->close_by_ms)) {
        link_die(link);
        return;
    }
    if (link_is_fat(link) && now_ms - link->last_input_ms >= CALLSOCK_LINKS_TICK_MS) {
        len32_reader_trim(&link->reader);
        outq_trim(&link->writer.out);
    }
    if (link_wants_tick(link)) {
        link->owner->wants_tick = true;
    }
}

/* ---- all of them ---- */

void callsock_links_settle(CallsockLinks *links)
{
    CallsockLink *link;

    while ((link = links->due) != NULL) {
        links->due = link->next_due;
        link->is_due = false;
        if (link->state == LINK_DEAD) {
            links->n--;
            links->has_lost = true;
            links->wants_tick = true;
            link_free(link);
        } else {
            io_turn_begin(links->loop, &link_turn);
            link_settle(link);
            io_turn_end(links->loop);
        }
    }
}

void callsock_links_tick(CallsockLinks *links, int64_t now_ms)
{
    links->wants_tick = false;
    for (CallsockLink *link = links->first; link != NULL; link = link->next) {
        link_on_tick(link, now_ms);
    }
    /* What hundreds of links had at once is no longer needed when they have gone. */
    if (links->has_lost) {
        links->has_lost = false;
        mem_trim();
    }
}

void callsock_links_drain(CallsockLinks *links)
{
    links->is_draining = true;
    for (CallsockLink *link = links->first; link != NULL; link = link->next) {
        link_mark_due(link);
    }
}

size_t callsock_links_give_up(CallsockLinks *links)
{
    size_t n_cancelled = 0;

    for (CallsockLink *link = links->first; link != NULL; link = link->next) {
        n_cancelled += callsock_parent_is_busy(link->session);
        link_die(link);
    }
    return n_cancelled;
}

void callsock_links_deinit(CallsockLinks *links)
{
    while (links->first != NULL) {
        link_free(links->first);
    }
    links->due = NULL;
    links->n = 0;
}
