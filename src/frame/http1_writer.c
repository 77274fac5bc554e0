#include "frame/http1_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "frame/http1_scan.h"

/* "0000002A\r\n": as wide as the largest, since it is filled in when the piece is complete. */
#define PIECE_PREFIX_BYTES 10
#define PIECE_MAX_BYTES    ((size_t)UINT32_MAX)

static const Span line_end = SPAN_INIT("\r\n");

void http1_writer_init(Http1Writer *writer, size_t max_pending)
{
    *writer = HTTP1_WRITER_NULL;
    outq_init(&writer->out, max_pending);
}

void http1_writer_deinit(Http1Writer *writer)
{
    outq_deinit(&writer->out);
    *writer = HTTP1_WRITER_NULL;
}

typedef struct StatusText {
    unsigned status;
    const char *text;
} StatusText;

static const StatusText status_texts[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

const char *http1_status_text(unsigned status)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(status_texts); i++) {
        if (status_texts[i].status == status) {
            return status_texts[i].text;
        }
    }
    return "";
}

/* What outq and bytes say, in this module's words: both call it 1. */
static int writer_outcome(int r)
{
    return r > 0 ? HTTP1_WRITER_E_FULL : err_pass(r);
}

static bool writer_may_send(const Http1Field *field)
{
    static const Span own[] = {SPAN_INIT("Content-Length"), SPAN_INIT("Transfer-Encoding"),
                               SPAN_INIT("Connection")};

    if (!http1_scan_is_token(field->name) || !http1_scan_is_value(field->value)) {
        return false;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(own); i++) {
        if (text_equals_nocase(field->name, own[i])) {
            return false;
        }
    }
    return true;
}

static bool writer_may_send_all(const Http1Field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!writer_may_send(&fields[i])) {
            return false;
        }
    }
    return true;
}

static int writer_put_fields(Bytes *out, const Http1Field *fields, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        r = bytes_append_span(out, fields[i].name);
        r = r != 0 ? r : bytes_append(out, ": ", 2);
        r = r != 0 ? r : bytes_append_span(out, fields[i].value);
        r = r != 0 ? r : bytes_append_span(out, line_end);
    }
    return r;
}

/* The end of the head: what the writer says about the connection, and the empty line. HTTP/1.1 goes
 * on and HTTP/1.0 does not, unless it is said. */
static int writer_put_end(Bytes *out, unsigned minor, bool keeps_alive)
{
    if (!keeps_alive) {
        return bytes_append_span(out, SPAN("Connection: close\r\n\r\n"));
    }
    if (minor == 0) {
        return bytes_append_span(out, SPAN("Connection: keep-alive\r\n\r\n"));
    }
    return bytes_append_span(out, line_end);
}

/* Content-Length of n bytes; bytes_append_format costs several times as much. */
static int writer_put_length(Bytes *out, size_t n)
{
    char text[48];
    size_t at = sizeof(text);

    text[--at] = '\n';
    text[--at] = '\r';
    do {
        text[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    at -= sizeof("Content-Length: ") - 1;
    memcpy(text + at, "Content-Length: ", sizeof("Content-Length: ") - 1);
    return bytes_append(out, text + at, sizeof(text) - at);
}

/* The most usual line is a constant. The answer is always HTTP/1.1, whatever was asked in: it is
 * what we speak (RFC 9110, 6.2). */
static int writer_put_status(Bytes *out, unsigned status)
{
    if (TW_LIKELY(status == 200)) {
        return bytes_append_span(out, SPAN("HTTP/1.1 200 OK\r\n"));
    }
    return bytes_append_format(out, "HTTP/1.1 %u %s\r\n", status, http1_status_text(status));
}

static bool writer_has_body(const Http1Answer *answer)
{
    return answer->status != 204 && answer->status != 304;
}

/* Begins a message in the queue and puts the head of a response in; `length` is the body's, or
 * SIZE_MAX for a stream. Unless 0, nothing is begun. */
static int writer_begin_answer(Http1Writer *writer, const Http1Answer *answer, size_t length,
                               bool keeps_alive, Bytes **ret_out)
{
    Bytes *out = NULL;
    int r;

    assert(writer->state == HTTP1_WRITER_IDLE && answer->status >= 200 && answer->status <= 999);
    if (!writer_may_send_all(answer->fields, answer->n_fields)) {
        return HTTP1_WRITER_E_FIELD;
    }
    r = outq_begin(&writer->out, 0, &out);
    if (r != 0) {
        return writer_outcome(r);
    }
    r = writer_put_status(out, answer->status);
    r = r != 0 ? r : bytes_append_span(out, answer->lines);
    r = r != 0 ? r : writer_put_fields(out, answer->fields, answer->n_fields);
    if (r == 0 && writer_has_body(answer)) {
        if (length != SIZE_MAX) {
            r = writer_put_length(out, length);
        } else if (answer->minor > 0) {
            r = bytes_append_span(out, SPAN("Transfer-Encoding: chunked\r\n"));
        }
    }
    r = r != 0 ? r : writer_put_end(out, answer->minor, keeps_alive);
    if (r != 0) {
        outq_abort(&writer->out);
        return writer_outcome(r);
    }
    *ret_out = out;
    return 0;
}

/* What is sent of a body. */
static Span writer_sent_part(const Http1Answer *answer, Span body)
{
    assert(body.n == 0 || writer_has_body(answer));
    return answer->to_head || !writer_has_body(answer) ? SPAN_NULL : body;
}

static int writer_queued(Http1Writer *writer, const Http1Answer *answer, int r)
{
    if (r == 0) {
        writer->is_last = !answer->keeps_alive;
    }
    return writer_outcome(r);
}

int http1_writer_respond(Http1Writer *writer, const Http1Answer *answer, Span body)
{
    Span sent = writer_sent_part(answer, body);
    Bytes *out = NULL;
    int r = writer_begin_answer(writer, answer, body.n, answer->keeps_alive, &out);

    if (r != 0) {
        return r;
    }
    return writer_queued(writer, answer, outq_commit(&writer->out, SPAN_NULL, sent));
}

int http1_writer_respond_lent(Http1Writer *writer, const Http1Answer *answer, Span body)
{
    Span sent = writer_sent_part(answer, body);
    Bytes *out = NULL;
    BytesLent lent;
    int r;

    if (sent.n < BYTES_LEND_MIN) {
        return http1_writer_respond(writer, answer, body);
    }
    r = writer_begin_answer(writer, answer, body.n, answer->keeps_alive, &out);
    if (r != 0) {
        return r;
    }
    /* The queue wants something of its own behind what is lent: the last byte is copied. */
    lent = (BytesLent){outq_composed(&writer->out).n, span_make(sent.p, sent.n - 1)};
    r = outq_commit_lent(&writer->out, SPAN_NULL, span_make(sent.p + sent.n - 1, 1), lent);
    return writer_queued(writer, answer, r);
}

int http1_writer_respond_taken(Http1Writer *writer, const Http1Answer *answer, Bytes *body)
{
    Span sent = writer_sent_part(answer, bytes_span(body));
    char room[1024];
    Bytes head;
    Bytes *out = NULL;
    Span composed;
    int r;

    if (sent.n <= OUTQ_COPY_BYTES) {
        r = http1_writer_respond(writer, answer, bytes_span(body));
        if (r == 0) {
            bytes_clear(body);
        }
        return r;
    }
    r = writer_begin_answer(writer, answer, body->n, answer->keeps_alive, &out);
    if (r != 0) {
        return r;
    }
    /* The queue takes a body behind a prefix that lies elsewhere: a copy of the head. */
    composed = outq_composed(&writer->out);
    if (composed.n <= sizeof(room)) {
        memcpy(room, composed.p, composed.n);
        outq_abort(&writer->out);
        r = outq_push_taken(&writer->out, span_make(room, composed.n), body, SPAN_NULL);
        return writer_queued(writer, answer, r);
    }
    bytes_init(&head, SIZE_MAX);
    r = bytes_append_span(&head, composed);
    outq_abort(&writer->out);
    r = r != 0 ? r : outq_push_taken(&writer->out, bytes_span(&head), body, SPAN_NULL);
    bytes_deinit(&head);
    return writer_queued(writer, answer, r);
}

int http1_writer_continue(Http1Writer *writer)
{
    assert(writer->state == HTTP1_WRITER_IDLE);
    return writer_outcome(
        outq_push(&writer->out, SPAN_NULL, SPAN("HTTP/1.1 100 Continue\r\n\r\n"), SPAN_NULL));
}

int http1_writer_processing(Http1Writer *writer)
{
    assert(writer->state == HTTP1_WRITER_IDLE);
    return writer_outcome(
        outq_push(&writer->out, SPAN_NULL, SPAN("HTTP/1.1 102 Processing\r\n\r\n"), SPAN_NULL));
}

static int writer_put_request(Bytes *out, Span method, Span target)
{
    int r = bytes_append_span(out, method);

    r = r != 0 ? r : bytes_append_byte(out, ' ');
    r = r != 0 ? r : bytes_append_span(out, target);
    return r != 0 ? r : bytes_append_span(out, SPAN(" HTTP/1.1\r\n"));
}

/* Whether a request without a body says so: RFC 9110, 8.6. */
static bool writer_wants_length(Span method, Span body)
{
    return body.n > 0 || !(span_equals(method, SPAN("GET")) || span_equals(method, SPAN("HEAD")) ||
                           span_equals(method, SPAN("DELETE")));
}

int http1_writer_request(Http1Writer *writer, Span method, Span target, const Http1Field *fields,
                         size_t n_fields, bool keeps_alive, Span body)
{
    Bytes *out = NULL;
    int r;

    assert(writer->state == HTTP1_WRITER_IDLE);
    if (!http1_scan_is_token(method) || !http1_scan_is_target(target) ||
        !writer_may_send_all(fields, n_fields)) {
        return HTTP1_WRITER_E_FIELD;
    }
    r = outq_begin(&writer->out, 0, &out);
    if (r != 0) {
        return writer_outcome(r);
    }
    r = writer_put_request(out, method, target);
    r = r != 0 ? r : writer_put_fields(out, fields, n_fields);
    if (r == 0 && writer_wants_length(method, body)) {
        r = writer_put_length(out, body.n);
    }
    r = r != 0 ? r : writer_put_end(out, 1, keeps_alive);
    if (r != 0) {
        outq_abort(&writer->out);
        return writer_outcome(r);
    }
    r = outq_commit(&writer->out, SPAN_NULL, body);
    if (r == 0) {
        writer->is_last = !keeps_alive;
    }
    return writer_outcome(r);
}

int http1_writer_begin(Http1Writer *writer, const Http1Answer *answer)
{
    bool keeps_alive = answer->keeps_alive && (answer->minor > 0 || answer->to_head);
    Bytes *out = NULL;
    int r;

    assert(writer_has_body(answer));
    r = writer_begin_answer(writer, answer, SIZE_MAX, keeps_alive, &out);
    if (r != 0) {
        return r;
    }
    r = outq_commit(&writer->out, SPAN_NULL, SPAN_NULL);
    if (r != 0) {
        return writer_outcome(r);
    }
    writer->is_last = !keeps_alive;
    if (answer->to_head) {
        writer->state = HTTP1_WRITER_HIDDEN;
    } else {
        writer->state = answer->minor > 0 ? HTTP1_WRITER_CHUNKED : HTTP1_WRITER_PLAIN;
    }
    return 0;
}

int http1_writer_piece(Http1Writer *writer, Span piece)
{
    char size[24];
    int n;

    assert(writer->state != HTTP1_WRITER_IDLE);
    if (writer->state == HTTP1_WRITER_HIDDEN || piece.n == 0) {
        return 0;
    }
    if (writer->state == HTTP1_WRITER_PLAIN) {
        return writer_outcome(outq_push(&writer->out, SPAN_NULL, piece, SPAN_NULL));
    }
    n = snprintf(size, sizeof(size), "%zX\r\n", piece.n);
    return writer_outcome(outq_push(&writer->out, span_make(size, (size_t)n), piece, line_end));
}

int http1_writer_piece_begin(Http1Writer *writer, Bytes **ret_bytes)
{
    size_t n_prefix = writer->state == HTTP1_WRITER_CHUNKED ? PIECE_PREFIX_BYTES : 0;

    assert(writer->state != HTTP1_WRITER_IDLE);
    return writer_outcome(outq_begin(&writer->out, n_prefix, ret_bytes));
}

/* The chunk's line for n bytes, all eight digits of it. */
static Span writer_piece_prefix(size_t n, char prefix[PIECE_PREFIX_BYTES])
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < PIECE_PREFIX_BYTES - 2; i++) {
        prefix[i] = digits[(n >> (4 * (PIECE_PREFIX_BYTES - 3 - i))) & 15];
    }
    prefix[PIECE_PREFIX_BYTES - 2] = '\r';
    prefix[PIECE_PREFIX_BYTES - 1] = '\n';
    return span_make(prefix, PIECE_PREFIX_BYTES);
}

int http1_writer_piece_commit(Http1Writer *writer)
{
    size_t n = outq_composed(&writer->out).n;
    char prefix[PIECE_PREFIX_BYTES];

    /* A chunk of nothing would be the end. */
    if (writer->state == HTTP1_WRITER_HIDDEN || n == 0) {
        outq_abort(&writer->out);
        return 0;
    }
    if (writer->state == HTTP1_WRITER_PLAIN) {
        return writer_outcome(outq_commit(&writer->out, SPAN_NULL, SPAN_NULL));
    }
    if (n > PIECE_MAX_BYTES) {
        outq_abort(&writer->out);
        return HTTP1_WRITER_E_FULL;
    }
    return writer_outcome(outq_commit(&writer->out, writer_piece_prefix(n, prefix), line_end));
}

int http1_writer_piece_commit_lent(Http1Writer *writer, BytesLent lent)
{
    size_t n = outq_composed(&writer->out).n;
    char prefix[PIECE_PREFIX_BYTES];

    if (writer->state == HTTP1_WRITER_HIDDEN) {
        outq_abort(&writer->out);
        return 0;
    }
    if (writer->state == HTTP1_WRITER_PLAIN) {
        return writer_outcome(outq_commit_lent(&writer->out, SPAN_NULL, SPAN_NULL, lent));
    }
    if (n > PIECE_MAX_BYTES || lent.span.n > PIECE_MAX_BYTES - n) {
        outq_abort(&writer->out);
        return HTTP1_WRITER_E_FULL;
    }
    return writer_outcome(outq_commit_lent(
        &writer->out, writer_piece_prefix(n + lent.span.n, prefix), line_end, lent));
}

int http1_writer_piece_taken(Http1Writer *writer, Span before, Bytes *body, Span after)
{
    bool is_chunked = writer->state == HTTP1_WRITER_CHUNKED;
    size_t n_line = is_chunked ? PIECE_PREFIX_BYTES : 0;
    size_t n_around = before.n + after.n;
    char front[PIECE_PREFIX_BYTES + HTTP1_WRITER_AROUND_BYTES];
    char end[HTTP1_WRITER_AROUND_BYTES + 2];

    assert(writer->state != HTTP1_WRITER_IDLE && body->n > 0);
    assert(before.n <= HTTP1_WRITER_AROUND_BYTES && after.n <= HTTP1_WRITER_AROUND_BYTES);
    if (writer->state == HTTP1_WRITER_HIDDEN) {
        bytes_clear(body);
        return 0;
    }
    if (body->n > PIECE_MAX_BYTES - n_around) {
        return HTTP1_WRITER_E_FULL;
    }
    if (is_chunked) {
        (void)writer_piece_prefix(body->n + n_around, front);
    }
    if (before.n > 0) {
        memcpy(front + n_line, before.p, before.n);
    }
    if (after.n > 0) {
        memcpy(end, after.p, after.n);
    }
    memcpy(end + after.n, "\r\n", 2);
    return writer_outcome(outq_push_taken(&writer->out, span_make(front, n_line + before.n), body,
                                          span_make(end, after.n + (is_chunked ? 2 : 0))));
}

void http1_writer_piece_abort(Http1Writer *writer)
{
    outq_abort(&writer->out);
}

int http1_writer_end(Http1Writer *writer)
{
    assert(writer->state != HTTP1_WRITER_IDLE);
    if (writer->state == HTTP1_WRITER_CHUNKED) {
        int r = outq_push(&writer->out, SPAN_NULL, SPAN("0\r\n\r\n"), SPAN_NULL);

        if (r != 0) {
            return writer_outcome(r);
        }
    }
    writer->state = HTTP1_WRITER_IDLE;
    return 0;
}
