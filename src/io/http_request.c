/* The requests of one connection (http_connection.c), and the answers that are ours to give. */
#include "io/http_impl.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"

/* ---- answers ---- */

void http_connection_queued(HttpConnection *c, size_t n_before)
{
    size_t n = http_connection_pending(c);

    c->active_ms = http_connection_now(c);
    c->has_memory = true;
    if (n_before == 0) {
        c->written_ms = c->active_ms;
    }
    if (!c->is_above && n > c->server->mark_bytes) {
        /* What it was made of is as large, and has been freed; if the peer does not read, nothing
         * else will remind us of it. */
        io_http_server_freed(c->server);
        c->is_above = true;
    }
    http_server_mark(c->server, c);
}

void http_connection_answered(HttpConnection *c)
{
    c->x.is_open = false;
    if (http1_writer_is_last(&c->writer)) {
        /* A peer that announced the end, and has sent all it had, will not send anything more. */
        c->is_clean = c->input == HTTP_INPUT_DONE && !c->reader.head.keeps_alive &&
                      http_connection_unread(c) == 0;
        c->input = HTTP_INPUT_OVER;
    } else if (c->input == HTTP_INPUT_BODY) {
        c->input = HTTP_INPUT_DROP;
    }
}

/* Copies the piece of a body that has to leave the reader. */
static int connection_gather(HttpConnection *c)
{
    Span piece = c->piece;

    c->piece = SPAN_NULL;
    if (piece.n == 0) {
        return 0;
    }
    if (c->body.data == NULL) {
        Bytes store = c->server->body_store;

        c->server->body_store = c->body;
        c->body = store;
    }
    return err_fold(bytes_append_span(&c->body, piece));
}

/* The body was dealt with: its storage serves the next connection. */
static void connection_return_body(HttpConnection *c)
{
    Bytes *store = &c->server->body_store;

    c->piece = SPAN_NULL;
    if (c->body.cap > LIMIT_KEEP_BYTES) {
        io_http_server_freed(c->server);
    }
    bytes_clear_keep(&c->body, LIMIT_KEEP_BYTES);
    if (c->body.cap > store->cap) {
        Bytes body = *store;

        *store = c->body;
        c->body = body;
    }
    bytes_deinit(&c->body);
    bytes_init(&c->body, SIZE_MAX);
}

static void connection_tell_refused(const HttpConnection *c, unsigned status, size_t n_bytes,
                                    bool is_new)
{
    const IoHttpServer *server = c->server;

    if (server->ops->refused != NULL) {
        server->ops->refused(server->context, c->user, status, n_bytes, is_new);
    }
}

/* Answers in place of the owner, if that is still possible, and ends. */
void http_connection_refuse(HttpConnection *c, unsigned status, const char *text)
{
    bool is_answered = c->input == HTTP_INPUT_DROP;
    bool is_new = !c->x.is_open || !c->x.is_known;
    bool to_head = c->input == HTTP_INPUT_BODY && c->reader.head.method == HTTP1_METHOD_HEAD;
    size_t n_before = http_connection_pending(c);
    Http1Field type = {SPAN("Content-Type"), SPAN("text/plain; charset=utf-8")};
    char body[160];
    int n = snprintf(body, sizeof(body), "%s\n", text);

    logsink_write(c->server->log, LOGSINK_LEVEL_DEBUG, "http", "a request was refused, %u: %s",
                  status, text);
    if (c->x.is_open && http1_writer_is_streaming(&c->writer)) {
        http_connection_close(c);
        return;
    }
    http_connection_drop_exchange(c);
    if (c->is_closed) {
        return;
    }
    c->input = HTTP_INPUT_OVER;
    connection_return_body(c);
    http_server_mark(c->server, c);
    if (is_answered) {
        return;
    }
    if (http1_writer_respond(&c->writer,
                             &(Http1Answer){.status = status,
                                            .lines = http_server_date(c->server),
                                            .fields = &type,
                                            .n_fields = 1,
                                            .minor = 1,
                                            .to_head = to_head},
                             span_make(body, (size_t)n)) != 0) {
        http_connection_close(c);
        return;
    }
    http_connection_queued(c, n_before);
    connection_tell_refused(c, status, to_head ? 0 : (size_t)n, is_new);
}

/* ---- requests ---- */

static void connection_on_head(HttpConnection *c)
{
    const IoHttpServer *server = c->server;

    c->input = HTTP_INPUT_BODY;
    c->phase = HTTP_PHASE_WORK; /* so that each head, and each silence, is timed anew */
    c->continued = false;
    c->x.data = NULL;
    c->x.is_open = true;
    c->x.is_known = server->ops->head != NULL;
    if (server->ops->head != NULL) {
        server->ops->head(server->context, &c->x);
    }
}

static int connection_on_body(HttpConnection *c, Span piece)
{
    int r = 0;

    if (c->input == HTTP_INPUT_BODY) {
        r = connection_gather(c);
        c->piece = piece;
    }
    return err_pass(r);
}

static int connection_on_end(HttpConnection *c)
{
    const IoHttpServer *server = c->server;
    Span body = c->piece;

    if (c->input != HTTP_INPUT_BODY) {
        c->input = HTTP_INPUT_DONE;
        connection_return_body(c); /* what came of it before the answer did */
        return 0;
    }
    if (c->body.n > 0) {
        int r = connection_gather(c);

        if (r != 0) {
            return err_pass(r);
        }
        body = bytes_span(&c->body);
    }
    c->input = HTTP_INPUT_DONE;
    c->x.is_known = true;
    server->ops->request(server->context, &c->x, body);
    connection_return_body(c);
    return 0;
}

static int connection_on_event(HttpConnection *c, const Http1Event *event)
{
    switch (event->kind) {
    case HTTP1_EVENT_HEAD:
        connection_on_head(c);
        return 0;
    case HTTP1_EVENT_BODY:
        return err_pass(connection_on_body(c, event->body));
    case HTTP1_EVENT_END:
    default:
        return err_pass(connection_on_end(c));
    }
}

/* Nothing more is there. A client that waits for leave to send its body gets it now: by then a
 * length that is too large has been refused. */
static int connection_on_want(HttpConnection *c)
{
    size_t n_before = http_connection_pending(c);
    int r = connection_gather(c);

    if (r != 0 || c->input != HTTP_INPUT_BODY || !c->reader.head.expects_continue || c->continued ||
        c->reader.n_body > 0) {
        return err_pass(r);
    }
    r = http1_writer_continue(&c->writer);
    c->continued = true;
    http_connection_queued(c, n_before);
    return err_fold(r);
}

/* Whether there may be another step now. */
static bool connection_may_step(HttpConnection *c)
{
    if (c->is_closed || c->is_broken || c->input == HTTP_INPUT_OVER ||
        io_stream_is_overdue(c->stream)) {
        return false;
    }
    if (c->input == HTTP_INPUT_DONE) {
        if (c->x.is_open) {
            c->has_waiting = true;
            return false;
        }
        http1_reader_release(&c->reader);
        c->input = HTTP_INPUT_HEAD;
    }
    if (c->input == HTTP_INPUT_HEAD && http_connection_pending(c) > c->server->mark_bytes) {
        c->has_waiting = true;
        return false;
    }
    return true;
}

/* Handles what is there, as far as it may. */
void http_connection_handle(HttpConnection *c)
{
    Http1Event event;
    Http1Fault fault;
    int r = 0;

    c->has_waiting = false;
    c->is_handling = true;
    while (r == 0 && connection_may_step(c)) {
        r = http1_reader_next(&c->reader, &event);
        if (r == 0) {
            r = connection_on_event(c, &event);
        } else if (r == HTTP1_E_AGAIN) {
            r = connection_on_want(c);
            r = r == 0 ? HTTP1_E_AGAIN : err_pass(r);
        }
    }
    if (r == HTTP1_E_REFUSED) {
        fault = http1_reader_fault(&c->reader);
        http_connection_refuse(c, http1_fault_status(fault), http1_fault_text(fault));
    } else if (r < 0) {
        http_connection_close(c);
    }
    c->is_handling = false;
    if (!c->is_closed) {
        inq_return_storage(&c->reader.in, &c->server->store);
    }
}
