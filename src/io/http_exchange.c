/* Answers; declared in io/http_server.h. */
#include "io/http_impl.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"

Span http_server_date(IoHttpServer *server)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t now_ms = io_loop_now_ms(server->loop);
    struct tm utc = {.tm_mday = 1};
    int64_t wall_ms;
    time_t seconds;

    /* Once a second; in between the loop's clock suffices. */
    if (now_ms >= server->date_end_ms) {
        wall_ms = clock_now_ms();
        seconds = (time_t)(wall_ms / 1000);
        (void)gmtime_r(&seconds, &utc);
        (void)snprintf(
            server->date, sizeof(server->date), "Date: %.3s, %02u %.3s %04u %02u:%02u:%02u GMT\r\n",
            days + 3 * (utc.tm_wday % 7), (unsigned)utc.tm_mday % 100,
            months + 3 * (utc.tm_mon % 12), ((unsigned)utc.tm_year + 1900) % 10000,
            (unsigned)utc.tm_hour % 100, (unsigned)utc.tm_min % 100, (unsigned)utc.tm_sec % 100);
        server->date_end_ms = now_ms + 1000 - wall_ms % 1000;
    }
    return span_make(server->date, sizeof(server->date) - 1);
}

const Http1Head *io_http_head(const IoHttpExchange *x)
{
    return &x->connection->reader.head;
}

void *io_http_user(const IoHttpExchange *x)
{
    return x->connection->user;
}

void io_http_set_data(IoHttpExchange *x, void *data)
{
    x->data = data;
}

void *io_http_data(const IoHttpExchange *x)
{
    return x->data;
}

void io_http_limit_body(IoHttpExchange *x, uint64_t max_bytes)
{
    http1_reader_limit_body(&x->connection->reader, max_bytes);
}

size_t io_http_pending(const IoHttpExchange *x)
{
    return http1_writer_pending(&x->connection->writer);
}

/* Whether an answer can be written still. */
static bool exchange_is_open(const IoHttpExchange *x)
{
    return x->is_open && !x->connection->is_closed && !x->connection->is_broken;
}

/* The connection ends at the end of the turn. */
static int exchange_fail(IoHttpExchange *x, int r)
{
    HttpConnection *c = x->connection;

    c->is_broken = true;
    http_server_mark(c->server, c);
    if (r == HTTP1_WRITER_E_FULL) {
        return err_raise(-ENOBUFS);
    }
    return r == HTTP1_WRITER_E_FIELD ? err_raise(-EINVAL) : err_fold(r);
}

/* Whether the rest of a body that is answered already is worth reading, for the sake of the
 * connection. One that waits for "100 Continue" may never come: nobody could tell where the next
 * request begins. */
static bool exchange_can_drop(const HttpConnection *c)
{
    const Http1Head *head = &c->reader.head;

    if (c->input != HTTP_INPUT_BODY) {
        return true;
    }
    if (head->expects_continue && !c->continued && c->reader.n_body == 0) {
        return false;
    }
    return head->length != HTTP1_LENGTH_CHUNKED && head->content_length <= LIMIT_KEEP_BYTES;
}

/* What the writer is told. */
static Http1Answer exchange_answer(const IoHttpExchange *x, unsigned status,
                                   const Http1Field *fields, size_t n)
{
    const HttpConnection *c = x->connection;
    Http1Answer answer = http1_answer_to(&c->reader.head, status);

    answer.lines = http_server_date(c->server);
    answer.fields = fields;
    answer.n_fields = n;
    answer.keeps_alive = answer.keeps_alive && !c->server->is_stopping && exchange_can_drop(c);
    return answer;
}

/* Either of body and taken. */
static int exchange_respond(IoHttpExchange *x, unsigned status, const Http1Field *fields,
                            size_t n_fields, Span body, Bytes *taken)
{
    HttpConnection *c = x->connection;
    size_t n_before = http1_writer_pending(&c->writer);
    Http1Answer answer;
    int r;

    if (!exchange_is_open(x)) {
        return err_raise(-EPIPE);
    }
    answer = exchange_answer(x, status, fields, n_fields);
    r = taken != NULL ? http1_writer_respond_taken(&c->writer, &answer, taken)
                      : http1_writer_respond(&c->writer, &answer, body);
    if (r != 0) {
        return exchange_fail(x, r);
    }
    http_connection_queued(c, n_before);
    http_connection_answered(c);
    if (!c->is_handling && !c->is_settling) {
        http_connection_hold(c);
    }
    return 0;
}

int io_http_respond(IoHttpExchange *x, unsigned status, const Http1Field *fields, size_t n_fields,
                    Span body)
{
    return err_pass(exchange_respond(x, status, fields, n_fields, body, NULL));
}

int io_http_respond_taken(IoHttpExchange *x, unsigned status, const Http1Field *fields,
                          size_t n_fields, Bytes *body)
{
    return err_pass(exchange_respond(x, status, fields, n_fields, SPAN_NULL, body));
}

int io_http_begin(IoHttpExchange *x, unsigned status, const Http1Field *fields, size_t n_fields)
{
    HttpConnection *c = x->connection;
    size_t n_before = http1_writer_pending(&c->writer);
    Http1Answer answer;
    int r;

    if (!exchange_is_open(x)) {
        return err_raise(-EPIPE);
    }
    answer = exchange_answer(x, status, fields, n_fields);
    r = http1_writer_begin(&c->writer, &answer);
    if (r != 0) {
        return exchange_fail(x, r);
    }
    if (c->input == HTTP_INPUT_BODY) {
        c->input = HTTP_INPUT_DROP;
    }
    http_connection_queued(c, n_before);
    return 0;
}

int io_http_piece_begin(IoHttpExchange *x, Bytes **ret_bytes)
{
    int r;

    if (!exchange_is_open(x)) {
        return err_raise(-EPIPE);
    }
    r = http1_writer_piece_begin(&x->connection->writer, ret_bytes);
    return r == 0 ? 0 : exchange_fail(x, r);
}

int io_http_piece_commit(IoHttpExchange *x)
{
    HttpConnection *c = x->connection;
    size_t n_before = http1_writer_pending(&c->writer);
    int r;

    if (!exchange_is_open(x)) {
        http1_writer_piece_abort(&c->writer);
        return err_raise(-EPIPE);
    }
    r = http1_writer_piece_commit(&c->writer);
    if (r != 0) {
        return exchange_fail(x, r);
    }
    http_connection_queued(c, n_before);
    return 0;
}

void io_http_piece_abort(IoHttpExchange *x)
{
    http1_writer_piece_abort(&x->connection->writer);
}

int io_http_piece_taken(IoHttpExchange *x, Span before, Bytes *body, Span after)
{
    HttpConnection *c = x->connection;
    size_t n_before = http1_writer_pending(&c->writer);
    int r;

    if (!exchange_is_open(x)) {
        return err_raise(-EPIPE);
    }
    r = http1_writer_piece_taken(&c->writer, before, body, after);
    if (r != 0) {
        return exchange_fail(x, r);
    }
    http_connection_queued(c, n_before);
    return 0;
}

int io_http_end(IoHttpExchange *x)
{
    HttpConnection *c = x->connection;
    size_t n_before = http1_writer_pending(&c->writer);
    int r;

    if (!exchange_is_open(x)) {
        return err_raise(-EPIPE);
    }
    r = http1_writer_end(&c->writer);
    if (r != 0) {
        return exchange_fail(x, r);
    }
    http_connection_queued(c, n_before);
    http_connection_answered(c);
    return 0;
}

void io_http_abort(IoHttpExchange *x)
{
    HttpConnection *c = x->connection;

    if (!x->is_open || c->is_closed) {
        return;
    }
    http1_writer_piece_abort(&c->writer);
    if (c->writer.state == HTTP1_WRITER_PLAIN) {
        /* An end in order would be that of the answer. */
        tcp_socket_reset_on_close(c->fd);
    }
    x->is_open = false;
    c->is_broken = true;
    http_server_mark(c->server, c);
}
