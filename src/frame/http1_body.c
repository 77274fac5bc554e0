#include "frame/http1_impl.h"

#include "frame/http1_parser.h"
#include "frame/http1_scan.h"

/* Bytes that the body may still have. */
static uint64_t http1_body_room(const Http1Reader *reader)
{
    return reader->max_body > reader->n_body ? reader->max_body - reader->n_body : 0;
}

/* Gives up to `max` unread bytes as body. 0, AGAIN, REFUSED if llhttp does not take them for it. */
static int http1_give_body(Http1Reader *reader, uint64_t max, Span *ret_body)
{
    Span body = inq_unread(&reader->in);

    body.n = body.n < max ? body.n : (size_t)max;
    if (body.n == 0) {
        return HTTP1_E_AGAIN;
    }
    if (http1_parser_run(reader->parser, body) != HTTP1_FAULT_NONE ||
        http1_parser_n_body(reader->parser) != body.n) {
        return http1_refuse(reader, HTTP1_FAULT_SYNTAX);
    }
    http1_skip(reader, body.n);
    reader->n_body += body.n;
    *ret_body = body;
    return 0;
}

int http1_read_counted(Http1Reader *reader, Http1State behind, Span *ret_body)
{
    int r;

    if (reader->n_left > http1_body_room(reader)) {
        return http1_refuse(reader, HTTP1_FAULT_BODY_TOO_LARGE);
    }
    r = http1_give_body(reader, reader->n_left, ret_body);
    if (r == 0) {
        reader->n_left -= ret_body->n;
        reader->state = reader->n_left == 0 ? behind : reader->state;
    }
    return r;
}

int http1_read_until_close(Http1Reader *reader, Span *ret_body)
{
    uint64_t room = http1_body_room(reader);

    if (room == 0 && inq_unread(&reader->in).n > 0) {
        return http1_refuse(reader, HTTP1_FAULT_BODY_TOO_LARGE);
    }
    return http1_give_body(reader, room, ret_body);
}

/* The next line of a chunked body, of at most max bytes with its CRLF; *ret_line without it. 0,
 * AGAIN, REFUSED. */
static int http1_body_line(Http1Reader *reader, size_t max, Http1Fault too_long, Span *ret_line)
{
    Span unread = inq_unread(&reader->in);
    size_t end = unread.n + 1;
    bool has_line = http1_find_line(reader, unread, &end);
    Http1Fault fault;

    if ((has_line ? end : unread.n + 1) > max) {
        return http1_refuse(reader, too_long);
    }
    if (!has_line) {
        return HTTP1_E_AGAIN;
    }
    *ret_line = span_make(unread.p, end);
    fault = http1_strip_line(ret_line);
    return fault == HTTP1_FAULT_NONE ? 0 : http1_refuse(reader, fault);
}

/* llhttp gets the line's first n bytes too, and its CRLF. */
static Http1Fault http1_run_line(Http1Reader *reader, Span line, size_t n)
{
    Http1Fault fault = http1_parser_run(reader->parser, span_make(line.p, n));

    if (fault == HTTP1_FAULT_NONE) {
        fault = http1_parser_run(reader->parser, span_make(line.p + line.n, 2));
    }
    http1_skip(reader, line.n + 2);
    return fault;
}

int http1_read_chunk_line(Http1Reader *reader)
{
    size_t max = HTTP1_SCAN_CHUNK_DIGITS + 2 + HTTP1_MAX_EXTENSION_BYTES;
    size_t n_extension = 0;
    Http1Fault fault;
    Span line = SPAN_NULL;
    int r = http1_body_line(reader, max, HTTP1_FAULT_EXTENSION, &line);

    if (r != 0) {
        return r;
    }
    fault = http1_scan_chunk_line(line, &n_extension);
    if (fault != HTTP1_FAULT_NONE) {
        return http1_refuse(reader, fault);
    }
    reader->n_extension += n_extension;
    if (reader->n_extension > HTTP1_MAX_EXTENSION_BYTES) {
        return http1_refuse(reader, HTTP1_FAULT_EXTENSION);
    }
    /* Without its extensions, of which each version of llhttp takes others. */
    fault = http1_run_line(reader, line, line.n - n_extension);
    if (fault != HTTP1_FAULT_NONE || !http1_parser_has_chunk(reader->parser, &reader->n_left)) {
        return http1_refuse(reader, HTTP1_FAULT_CHUNK);
    }
    reader->state = reader->n_left == 0 ? HTTP1_STATE_TRAILER : HTTP1_STATE_CHUNK_DATA;
    if (reader->n_left == 0) {
        reader->n_extension = 0;
    }
    return 0;
}

int http1_read_chunk_end(Http1Reader *reader)
{
    Span line = SPAN_NULL;
    int r = http1_body_line(reader, 2, HTTP1_FAULT_CHUNK, &line);

    if (r != 0) {
        return r;
    }
    if (http1_run_line(reader, line, 0) != HTTP1_FAULT_NONE) {
        return http1_refuse(reader, HTTP1_FAULT_CHUNK);
    }
    reader->state = HTTP1_STATE_CHUNK_LINE;
    return 0;
}

int http1_read_trailer(Http1Reader *reader)
{
    size_t max = reader->limits.max_head_bytes - reader->n_extension;
    Http1Fault fault = HTTP1_FAULT_NONE;
    Span line = SPAN_NULL;
    int r = http1_body_line(reader, max, HTTP1_FAULT_HEAD_TOO_LARGE, &line);

    if (r != 0) {
        return r;
    }
    if (line.n > 0) {
        fault = reader->n_lines == reader->limits.max_fields ? HTTP1_FAULT_TOO_MANY_FIELDS
                                                             : http1_scan_field_line(line);
    }
    if (fault == HTTP1_FAULT_NONE) {
        fault = http1_run_line(reader, line, line.n);
    }
    if (fault == HTTP1_FAULT_NONE && http1_parser_is_done(reader->parser) != (line.n == 0)) {
        fault = HTTP1_FAULT_SYNTAX;
    }
    if (fault != HTTP1_FAULT_NONE) {
        return http1_refuse(reader, fault);
    }
    reader->n_extension += line.n + 2;
    reader->n_lines++;
    reader->state = line.n == 0 ? HTTP1_STATE_END : HTTP1_STATE_TRAILER;
    return 0;
}
