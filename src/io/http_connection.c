/* One connection. Its input and its answer go their own ways, and meet when both are complete:
 *
 *     HEAD --head--> BODY --end--> DONE --answered--> HEAD        answered, and it was the last:
 *                     └--answered--> DROP --end--> DONE           any --> OVER
 *
 *     OVER: what is pending is written, then the output is shut; what the peer still sends is
 *     dropped (lingering) until it has ended, or long enough.
 *
 * Requests are begun one at a time, in the order in which they came, and not while much output is
 * pending. Many small ones that lie in one read are answered by one write. The answers to requests
 * of several connections that are given in one turn are held, and written one behind the other:
 * what a processor needs for the one and for the other does not fit into its first cache together.
 * They leave when there are HTTP_HELD_MAX of them, when a coarse clock has ticked meanwhile, and at
 * the end of the turn.
 */
#include "io/http_impl.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* Requests that wait behind the one in work: with so many bytes of them unread, no more are read.
 * Until then reading goes on, since it is how the end of the peer is noticed. */
#define CONNECTION_AHEAD_BYTES IO_STREAM_READ_BYTES

/* Where a handler has taken so long while others waited for it, nothing is held for a while: what
 * that would save is nothing beside such handlers. */
#define CONNECTION_LONG_MS  20
#define CONNECTION_HURRY_MS 1000

static const IoStreamOps connection_stream_ops;
static const IoTurnName connection_turn = {.text = "an HTTP client"};

/* ---- life ---- */

static HttpConnection *connection_new(IoHttpServer *server, int fd)
{
    HttpConnection *c = mem_alloc_array(1, sizeof(*c));

    if (c == NULL) {
        return NULL;
    }
    c->server = server;
    c->fd = fd;
    c->x.connection = c;
    http1_reader_init(&c->reader, HTTP1_REQUESTS,
                      HTTP1_LIMITS_DEFAULT(server->limits.max_body_bytes));
    http1_writer_init(&c->writer, server->limits.max_pending_bytes);
    bytes_init(&c->body, SIZE_MAX); /* the reader knows the maximum */
    c->phase = HTTP_PHASE_IDLE;
    c->phase_ms = http_connection_now(c);
    c->active_ms = c->phase_ms;
    return c;
}

void http_connection_free(HttpConnection *c)
{
    http1_reader_deinit(&c->reader);
    http1_writer_deinit(&c->writer);
    bytes_deinit(&c->body);
    (void)mem_free(c);
}

static void connection_meet(HttpConnection *c, const IoHttpPeer *peer)
{
    const IoHttpServer *server = c->server;
    int r = server->ops->open(server->context, peer, &c->user);

    if (r != 0) {
        http_connection_close(c);
    } else if (!c->is_closed) {
        c->has_user = true;
    } else if (server->ops->close != NULL) {
        server->ops->close(server->context, c->user); /* the server was freed meanwhile */
    }
}

int http_connection_open(IoHttpServer *server, int fd, const IoHttpPeer *peer)
{
    HttpConnection *c = connection_new(server, fd);
    int r;

    if (c == NULL) {
        return err_raise(-ENOMEM);
    }
    r = io_stream_new(&c->stream, server->loop, fd, fd, &connection_stream_ops, c);
    if (r != 0) {
        http_connection_free(c);
        return err_pass(r);
    }
    io_stream_set_turn(c->stream, &connection_turn);
    c->next = server->first;
    if (c->next != NULL) {
        c->next->prev = c;
    }
    server->first = c;
    server->n_connections++;
    http_server_expect(server, http_connection_due(c));
    if (server->ops->open != NULL) {
        connection_meet(c, peer);
    }
    return 0;
}

static void connection_unlink(HttpConnection *c)
{
    if (c->prev != NULL) {
        c->prev->next = c->next;
    } else {
        c->server->first = c->next;
    }
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    c->server->n_connections--;
}

/* The exchange, if there is one, is no longer the owner's. */
void http_connection_drop_exchange(HttpConnection *c)
{
    const IoHttpServer *server = c->server;

    if (!c->x.is_open) {
        return;
    }
    c->x.is_open = false;
    if (c->x.is_known) {
        server->ops->gone(server->context, &c->x);
    }
}

/* What is written from now on is not held back. */
static void connection_let_go(HttpConnection *c)
{
    IoHttpServer *server = c->server;
    HttpConnection *last;

    if (c->is_held) {
        c->is_held = false;
        last = server->held[--server->n_held];
        server->held[c->held_at] = last;
        last->held_at = c->held_at;
    }
}

void http_connection_close(HttpConnection *c)
{
    const IoHttpServer *server = c->server;

    if (c->is_closed) {
        return;
    }
    c->is_closed = true;
    connection_let_go(c);
    connection_unlink(c);
    c->stream = io_stream_free(c->stream);
    http_connection_drop_exchange(c);
    if (c->has_user && server->ops->close != NULL) {
        server->ops->close(server->context, c->user);
    }
    http_server_mark(c->server, c);
}

/* ---- the stream's view ---- */

static int connection_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    HttpConnection *c = context;
    Inq *store = &c->server->store;
    int r;

    if (c->input == HTTP_INPUT_OVER) {
        r = inq_reserve(store, want);
        *ret_p = store->data;
        *ret_n = r == 0 ? inq_room(store) : 0;
        return err_fold(r);
    }
    inq_take_storage(&c->reader.in, store);
    return err_fold(http1_reader_reserve(&c->reader, want, ret_p, ret_n));
}

static void connection_commit(void *context, size_t n)
{
    HttpConnection *c = context;

    if (c->input == HTTP_INPUT_OVER) {
        c->n_dropped += n;
        return;
    }
    if (c->phase == HTTP_PHASE_BODY) {
        http_connection_earn(c, &c->body_end_ms, n);
    }
    http1_reader_commit(&c->reader, n);
}

static void connection_flush(HttpConnection *c)
{
    connection_let_go(c);
    if (!c->is_closed && http_connection_pending(c) > 0) {
        io_stream_flush(c->stream);
    }
}

/* Nothing is closed, nor held, by writing: a failure is told later. */
void http_server_let_go(IoHttpServer *server)
{
    size_t n = server->n_held;

    server->n_held = 0;
    for (size_t i = 0; i < n; i++) {
        server->held[i]->is_held = false;
    }
    for (size_t i = 0; i < n; i++) {
        connection_flush(server->held[i]);
    }
}

/* Milliseconds of a clock that costs next to nothing and ticks every few of them. */
static int64_t connection_coarse_ms(void)
{
    struct timespec now = {.tv_sec = 0};

#ifdef CLOCK_MONOTONIC_COARSE
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void http_connection_hold(HttpConnection *c)
{
    IoHttpServer *server = c->server;
    int64_t now_ms = connection_coarse_ms();

    if (server->n_held == HTTP_HELD_MAX || (server->n_held > 0 && now_ms != server->held_ms)) {
        if (now_ms - server->held_ms >= CONNECTION_LONG_MS) {
            server->hurry_ms = c->active_ms + CONNECTION_HURRY_MS;
        }
        http_server_let_go(server);
    }
    if (!c->is_held && c->is_marked && c->active_ms >= server->hurry_ms) {
        server->held_ms = server->n_held == 0 ? now_ms : server->held_ms;
        c->is_held = true;
        c->held_at = server->n_held;
        server->held[server->n_held++] = c;
    }
}

static void connection_on_input(void *context)
{
    HttpConnection *c = context;

    if (c->input == HTTP_INPUT_OVER) {
        c->phase_ms = http_connection_now(c);
        if (c->n_dropped > c->server->limits.linger_bytes) {
            http_connection_close(c);
        }
        return;
    }
    c->active_ms = http_connection_now(c);
    c->has_memory = true;
    if (c->phase == HTTP_PHASE_BODY) {
        c->phase_ms = c->active_ms;
    }
    http_connection_handle(c);
    if (!c->is_closed) {
        http_server_mark(c->server, c);
        http_connection_hold(c);
    }
}

static void connection_on_end_of_input(void *context)
{
    HttpConnection *c = context;

    inq_return_storage(&c->reader.in, &c->server->store); /* it was about to be read into */
    c->has_ended = true;
    http_server_mark(c->server, c);
}

static void connection_on_failed(void *context, int r)
{
    HttpConnection *c = context;

    (void)r;
    inq_return_storage(&c->reader.in, &c->server->store);
    http_connection_close(c);
}

static size_t connection_pull(void *context, Span *slices, size_t max)
{
    HttpConnection *c = context;

    return c->is_held ? 0 : http1_writer_pull(&c->writer, slices, max);
}

static void connection_consumed(void *context, size_t n)
{
    HttpConnection *c = context;

    http1_writer_consumed(&c->writer, n);
    if (n > 0) {
        c->written_ms = http_connection_now(c);
        http_connection_earn(c, &c->take_end_ms, http_connection_pending(c) > 0 ? n : SIZE_MAX);
        http_server_mark(c->server, c);
    }
}

static const IoStreamOps connection_stream_ops = {
    .reserve = connection_reserve,
    .commit = connection_commit,
    .pull = connection_pull,
    .consumed = connection_consumed,
    .input = connection_on_input,
    .end = connection_on_end_of_input,
    .failed = connection_on_failed,
};

/* ---- the end of a turn ---- */

static void connection_tell_drained(HttpConnection *c)
{
    const IoHttpServer *server = c->server;

    if (!c->is_above || http_connection_pending(c) >= server->mark_bytes) {
        return;
    }
    c->is_above = false;
    io_http_server_freed(c->server);
    if (c->x.is_open && c->x.is_known && server->ops->drained != NULL) {
        server->ops->drained(server->context, &c->x);
        connection_flush(c);
    }
}

/* Goes on with requests that wait, as long as their answers leave. */
static void connection_go_on(HttpConnection *c)
{
    IoLoop *loop = c->server->loop;

    if (!c->has_waiting) {
        return;
    }
    io_turn_begin(loop, &connection_turn);
    while (!c->is_closed && c->has_waiting && !c->x.is_open &&
           http_connection_pending(c) <= c->server->mark_bytes) {
        http_connection_handle(c);
        connection_flush(c);
    }
    io_turn_end(loop);
}

/* The peer sends no more, and a request of it is in work: waits it for the answer, or has it gone?
 * (io/http_server.h) */
static void connection_mind_end(HttpConnection *c)
{
    bool is_tcp = c->server->address.port != 0;
    int64_t now_ms = http_connection_now(c);

    if (c->is_closed || !c->has_ended || !c->x.is_open) {
        return;
    }
    if (c->input != HTTP_INPUT_DONE || http1_writer_is_streaming(&c->writer) ||
        (is_tcp && c->reader.head.minor == 0)) {
        http_connection_close(c);
        return;
    }
    if (is_tcp && http_connection_pending(c) == 0 && now_ms >= c->probe_ms &&
        http1_writer_processing(&c->writer) == 0) {
        c->probe_ms = now_ms + LIMIT_HTTP_PROBE_MS;
        http_connection_queued(c, 0);
        connection_flush(c);
    }
    c->look_ms = now_ms + LIMIT_HTTP_LOOK_MS;
    if (io_stream_is_deserted(c->stream)) {
        http_connection_close(c);
    }
}

/* Has the peer sent what was not read yet? To close then would take its request away unanswered. */
static bool connection_has_more(const HttpConnection *c)
{
    char byte;

    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Takes the steps towards the end that have become possible. */
static void connection_end(HttpConnection *c)
{
    bool is_idle = c->input == HTTP_INPUT_HEAD && http_connection_unread(c) == 0;

    if (c->is_broken) {
        http_connection_close(c);
        return;
    }
    if (c->x.is_open || http_connection_pending(c) > 0) {
        return;
    }
    if (c->has_ended || (c->input == HTTP_INPUT_OVER && c->is_clean) ||
        (is_idle && c->server->is_stopping && !connection_has_more(c))) {
        http_connection_close(c);
        return;
    }
    if (c->input == HTTP_INPUT_OVER && !c->is_lingering) {
        c->is_lingering = true;
        io_stream_shut_output(c->stream);
    }
}

static void connection_pause(HttpConnection *c)
{
    bool is_paused =
        c->input != HTTP_INPUT_OVER && http_connection_unread(c) >= CONNECTION_AHEAD_BYTES;

    if (is_paused == c->is_paused) {
        return;
    }
    c->is_paused = is_paused;
    if (is_paused) {
        io_stream_pause(c->stream);
    } else {
        io_stream_resume(c->stream);
    }
}

void http_connection_settle(HttpConnection *c)
{
    c->is_settling = true;
    if (!c->is_broken) {
        connection_flush(c);
        connection_tell_drained(c);
        connection_go_on(c);
        connection_mind_end(c);
    }
    if (!c->is_closed) {
        connection_end(c);
    }
    c->is_settling = false;
    if (!c->is_closed) {
        connection_pause(c);
        http_connection_set_phase(c);
        http_server_expect(c->server, http_connection_due(c));
    }
}
