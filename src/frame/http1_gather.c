/* Lines, and the head of a message: found, checked, copied, and split into fields. One that is
 * there as a whole and in order is taken at once; any other is looked at line by line, as it comes.
 */
#include "frame/http1_impl.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "frame/http1_parser.h"
#include "frame/http1_scan.h"

/* A request line without its target: the longest method that llhttp knows has 11 letters. */
#define HTTP1_LINE_EXTRA_BYTES 64

bool http1_find_line(Http1Reader *reader, Span unread, size_t *ret_end)
{
    size_t n = unread.n - reader->n_searched;
    const char *from;
    const char *lf;

    if (n == 0 || unread.p == NULL) {
        return false;
    }
    from = unread.p + reader->n_searched;
    lf = memchr(from, '\n', n);
    n = lf == NULL ? n : (size_t)(lf - from) + 1;
    reader->n_scanned += n;
    reader->n_searched += n;
    *ret_end = reader->n_searched;
    return lf != NULL;
}

/* Whether a line that ends in LF has a CR before it. */
static bool http1_has_end(Span line)
{
    return line.n >= 2 && line.p[line.n - 2] == '\r';
}

/* llhttp 8.1.0 takes a CR behind an empty value for the end of the field, others do not
 * (CVE-2023-30589); so none gets through. */
static bool http1_has_cr(Span line)
{
    return line.n > 0 && memchr(line.p, '\r', line.n) != NULL;
}

Http1Fault http1_strip_line(Span *line)
{
    if (!http1_has_end(*line)) {
        return HTTP1_FAULT_LINE_END;
    }
    line->n -= 2;
    return http1_has_cr(*line) ? HTTP1_FAULT_LINE_END : HTTP1_FAULT_NONE;
}

/* Whether a head that has at least n bytes, with the line under way, is within the limits. */
static Http1Fault http1_head_fits(const Http1Reader *reader, size_t n)
{
    const Http1Limits *limits = &reader->limits;
    bool in_target = reader->kind == HTTP1_REQUESTS && reader->n_lines == 0;

    if (in_target &&
        (n > limits->max_head_bytes ||
         (n > HTTP1_LINE_EXTRA_BYTES && n - HTTP1_LINE_EXTRA_BYTES > limits->max_target_bytes))) {
        return HTTP1_FAULT_TARGET_TOO_LONG;
    }
    return n > limits->max_head_bytes ? HTTP1_FAULT_HEAD_TOO_LARGE : HTTP1_FAULT_NONE;
}

Http1Fault http1_first_line(const Http1Reader *reader, Span line, Http1Head *head)
{
    return reader->kind == HTTP1_REQUESTS
               ? http1_scan_request_line(line, reader->limits.max_target_bytes, head)
               : http1_scan_status_line(line, head);
}

/* Checks one line of a head, which is not the empty one. */
static Http1Fault http1_check_line(Http1Reader *reader, Span line)
{
    if (reader->n_lines == 0) {
        Http1Head head = {.minor = 0};

        return http1_first_line(reader, line, &head);
    }
    if (reader->n_lines > reader->limits.max_fields) {
        return HTTP1_FAULT_TOO_MANY_FIELDS;
    }
    return http1_scan_field_line(line);
}

/* Deals with the line that ends at `end`; *ret_is_last if it is the empty one behind a head. */
static Http1Fault http1_take_line(Http1Reader *reader, Span unread, size_t end, bool *ret_is_last)
{
    Span line = span_make(unread.p + reader->line_start, end - reader->line_start);
    Http1Fault fault = http1_head_fits(reader, end);

    if (fault == HTTP1_FAULT_NONE && !http1_has_end(line)) {
        fault = HTTP1_FAULT_LINE_END;
    }
    if (fault != HTTP1_FAULT_NONE) {
        return fault;
    }
    line.n -= 2;
    if (line.n > 0) {
        fault = http1_check_line(reader, line);
        /* No line with a CR in it passes; which fault it is, is looked at afterwards. */
        if (fault != HTTP1_FAULT_NONE && http1_has_cr(line)) {
            fault = HTTP1_FAULT_LINE_END;
        }
        reader->n_lines++;
        reader->line_start = end;
        return fault;
    }
    if (reader->n_lines > 0) {
        *ret_is_last = true;
        return HTTP1_FAULT_NONE;
    }
    /* Old clients send an empty line behind a body (RFC 9112, 2.2). */
    if (reader->skipped_line || reader->kind == HTTP1_RESPONSES) {
        return HTTP1_FAULT_SYNTAX;
    }
    reader->skipped_line = true;
    http1_skip(reader, end);
    return HTTP1_FAULT_NONE;
}

/* The bytes of the head that the unread ones begin with, checked. 0, AGAIN, REFUSED. */
static int http1_find_head(Http1Reader *reader, size_t *ret_n)
{
    bool is_last = false;
    size_t end = 0;
    Http1Fault fault;

    while (http1_find_line(reader, inq_unread(&reader->in), &end)) {
        fault = http1_take_line(reader, inq_unread(&reader->in), end, &is_last);
        if (fault != HTTP1_FAULT_NONE) {
            return http1_refuse(reader, fault);
        }
        if (is_last) {
            *ret_n = end;
            return 0;
        }
    }
    fault = http1_head_fits(reader, inq_unread(&reader->in).n + 1);
    return fault == HTTP1_FAULT_NONE ? HTTP1_E_AGAIN : http1_refuse(reader, fault);
}

/* Room for n fields, of which there is always some. 0, -ENOMEM. */
static int http1_make_room(Http1Reader *reader, size_t n)
{
    size_t n_room = (n / HTTP1_MARKS_STEP + 1) * HTTP1_MARKS_STEP;
    Http1Field *fields;

    if (TW_LIKELY(reader->n_room > 0 && n <= reader->n_room)) {
        return 0;
    }
    fields = mem_alloc_array(n_room, sizeof(*fields) + sizeof(uint8_t));
    if (fields == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)mem_free(reader->fields);
    reader->fields = fields;
    reader->n_room = n_room;
    return 0;
}

/* Where fields are put. */
static Http1Split http1_room(const Http1Reader *reader)
{
    return (Http1Split){.fields = reader->fields,
                        .marks = (uint8_t *)(reader->fields + reader->n_room),
                        .n_room = reader->n_room};
}

/* A head that is there as a whole, in order, and within the limits: nearly always. Nothing has been
 * searched yet. */
static bool http1_take_whole(const Http1Reader *reader, Http1Split *split)
{
    const Http1Limits *limits = &reader->limits;

    return http1_split(split, inq_unread(&reader->in)) && split->n <= limits->max_head_bytes &&
           split->n_fields <= limits->max_fields &&
           http1_head_fits(reader, split->n_first + 2) == HTTP1_FAULT_NONE;
}

/* Memory for a head of n bytes; what can fail comes before anything changes. */
static int http1_prepare(Http1Reader *reader, size_t n, size_t n_fields)
{
    int r;

    if (reader->parser == NULL) {
        reader->parser = http1_parser_new();
        if (reader->parser == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    r = http1_make_room(reader, n_fields);
    if (r != 0) {
        return err_pass(r);
    }
    bytes_clear(&reader->head_bytes);
    return err_fold(bytes_append(&reader->head_bytes, inq_unread(&reader->in).p, n));
}

int http1_gather_head(Http1Reader *reader, Http1Split *ret)
{
    size_t n = 0;
    int r = inq_unread(&reader->in).n == 0 ? HTTP1_E_AGAIN : http1_make_room(reader, 0);

    if (r != 0) {
        return r;
    }
    *ret = http1_room(reader);
    if (reader->n_searched == 0 && reader->n_lines == 0 && http1_take_whole(reader, ret)) {
        r = http1_prepare(reader, ret->n, ret->n_fields);
        if (r == 0) {
            reader->n_scanned += ret->n;
            http1_split_move(ret, inq_unread(&reader->in).p, reader->head_bytes.data);
        }
        return err_pass(r);
    }
    r = http1_find_head(reader, &n);
    if (r == 0) {
        r = http1_prepare(reader, n, reader->n_lines - 1);
    }
    if (r != 0) {
        /* Out of memory, the empty line is looked for again. */
        reader->n_searched = r < 0 ? reader->line_start : reader->n_searched;
        return r;
    }
    *ret = http1_room(reader);
    return http1_split(ret, bytes_span(&reader->head_bytes))
               ? 0
               : http1_refuse(reader, HTTP1_FAULT_SYNTAX);
}
