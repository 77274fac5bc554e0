/* Two streams and the bytes between them:
 *
 *     client in  → up   → hub out
 *     client out ← down ← hub in        down: only whole lines are shown to the client's stream
 *
 * A read is followed by a write of the other stream at once; where that had to wait, the reading
 * side is paused until `drained`. So a message that fits into a pipe costs a read and a write.
 */
#include "app/front.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "frame/inq.h"
#include "io/descriptor_look.h"
#include "io/stream.h"

/* The longest line that a hub can be told to send (max_response_bytes): beyond it the line is cut
 * off with its hub. */
#define FRONT_LINE_BYTES ((size_t)1 << 30)

struct Front {
    FrontConfig config;
    IoStream *client;
    IoStream *hub;
    Inq up;
    Inq down;
    size_t n_whole; /* of down: bytes up to the end of its last whole line */
    bool is_ending; /* the client's input has ended, or is taken to have */
    bool hub_ended;
    bool is_closed;
};

/* ---- the end ---- */

/* The owner may free the front in it, so nothing follows it. */
static void front_close(Front *front, int r)
{
    if (!front->is_closed) {
        front->is_closed = true;
        io_stream_pause(front->client);
        io_stream_pause(front->hub);
        front->config.closed(front->config.context, r);
    }
}

/* The hub has said all that it will say: over as soon as that is written. Half a line is never. */
static void front_finish(Front *front)
{
    bool is_cut = inq_unread(&front->down).n > front->n_whole;

    if (front->n_whole == 0) {
        front_close(front, front->is_ending && !is_cut ? 0 : FRONT_E_LOST);
    }
}

void front_end(Front *front)
{
    if (front->is_ending || front->is_closed) {
        return;
    }
    front->is_ending = true;
    io_stream_pause(front->client);
    if (!front->hub_ended) {
        io_stream_shut_output(front->hub);
    }
}

bool front_is_ending(const Front *front)
{
    return front->is_ending;
}

/* ---- the client's side ---- */

static int queue_reserve(Inq *queue, size_t want, char **ret_p, size_t *ret_n)
{
    int r = inq_reserve(queue, want);

    if (r != 0) {
        return r > 0 ? err_raise(-EMSGSIZE) : err_pass(r);
    }
    *ret_p = queue->data + queue->end;
    *ret_n = inq_room(queue);
    return 0;
}

static int client_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    Front *front = context;

    return queue_reserve(&front->up, want, ret_p, ret_n);
}

static void client_commit(void *context, size_t n)
{
    Front *front = context;

    inq_commit(&front->up, n);
}

static size_t client_pull(void *context, Span *slices, size_t max)
{
    Front *front = context;

    (void)max;
    slices[0] = span_make(inq_unread(&front->down).p, front->n_whole);
    return front->n_whole > 0 ? 1 : 0;
}

static void client_consumed(void *context, size_t n)
{
    Front *front = context;

    inq_skip(&front->down, n);
    front->n_whole -= n;
}

static void client_on_input(void *context)
{
    Front *front = context;

    io_stream_flush(front->hub);
    if (io_stream_is_waiting(front->hub)) {
        io_stream_pause(front->client);
    }
}

static void client_on_end(void *context)
{
    front_end(context);
}

/* A client that went away without reading everything is no failure of ours. */
static void client_on_failed(void *context, int r)
{
    front_close(context, r == -EPIPE || r == -ECONNRESET ? 0 : r);
}

static void client_on_drained(void *context)
{
    Front *front = context;

    if (front->hub_ended) {
        front_finish(front);
    } else if (!front->is_closed) {
        io_stream_resume(front->hub);
    }
}

static const IoStreamOps client_ops = {
    .reserve = client_reserve,
    .commit = client_commit,
    .pull = client_pull,
    .consumed = client_consumed,
    .input = client_on_input,
    .end = client_on_end,
    .failed = client_on_failed,
    .drained = client_on_drained,
};

/* ---- the hub's side ---- */

static int hub_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    Front *front = context;

    return queue_reserve(&front->down, want, ret_p, ret_n);
}

/* Only the new bytes are looked at: of most messages just the last one. */
static void hub_commit(void *context, size_t n)
{
    Front *front = context;
    size_t n_before = inq_unread(&front->down).n;
    const char *p;

    inq_commit(&front->down, n);
    p = inq_unread(&front->down).p + n_before;
    if (p[n - 1] != '\n' && memchr(p, '\n', n) == NULL) {
        return;
    }
    while (p[n - 1] != '\n') {
        n--;
    }
    front->n_whole = n_before + n;
}

static size_t hub_pull(void *context, Span *slices, size_t max)
{
    Front *front = context;

    (void)max;
    slices[0] = inq_unread(&front->up);
    return slices[0].n > 0 ? 1 : 0;
}

static void hub_consumed(void *context, size_t n)
{
    Front *front = context;

    inq_skip(&front->up, n);
}

static void hub_on_input(void *context)
{
    Front *front = context;

    if (front->n_whole > 0) {
        io_stream_flush(front->client);
    }
    if (io_stream_is_waiting(front->client)) {
        io_stream_pause(front->hub);
    }
}

static void hub_has_ended(Front *front)
{
    front->hub_ended = true;
    io_stream_pause(front->client);
    front_finish(front);
}

static void hub_on_end(void *context)
{
    hub_has_ended(context);
}

/* That it is gone can be told by a write before what it sent is read: half a line may be lost with
 * it, so this is no good end even behind the client's. */
static void hub_on_failed(void *context, int r)
{
    Front *front = context;

    if (r != -EPIPE && r != -ECONNRESET) {
        front_close(front, r);
        return;
    }
    front->is_ending = false;
    hub_has_ended(front);
}

static void hub_on_drained(void *context)
{
    Front *front = context;

    if (!front->is_ending && !front->hub_ended && !front->is_closed) {
        io_stream_resume(front->client);
    }
}

static const IoStreamOps hub_ops = {
    .reserve = hub_reserve,
    .commit = hub_commit,
    .pull = hub_pull,
    .consumed = hub_consumed,
    .input = hub_on_input,
    .end = hub_on_end,
    .failed = hub_on_failed,
    .drained = hub_on_drained,
};

/* ---- life ---- */

int front_new(Front **ret, const FrontConfig *config)
{
    Front *front = mem_alloc_array(1, sizeof(*front));
    int r;

    if (front == NULL) {
        io_fd_close(config->hub_fd);
        return err_raise(-ENOMEM);
    }
    *front = (Front){.config = *config};
    inq_init(&front->up, IO_STREAM_READ_BYTES);
    inq_init(&front->down, FRONT_LINE_BYTES);
    r = io_stream_new(&front->hub, config->loop, config->hub_fd, config->hub_fd, &hub_ops, front);
    if (r != 0) {
        io_fd_close(config->hub_fd);
        (void)mem_free(front);
        return err_pass(r);
    }
    r = io_stream_new(&front->client, config->loop, config->in_fd, config->out_fd, &client_ops,
                      front);
    if (r != 0) {
        (void)front_free(front);
        return err_pass(r);
    }
    *ret = front;
    return 0;
}

Front *front_free(Front *front)
{
    if (front == NULL) {
        return NULL;
    }
    front->client = io_stream_free(front->client);
    front->hub = io_stream_free(front->hub);
    inq_deinit(&front->up);
    inq_deinit(&front->down);
    return mem_free(front);
}
