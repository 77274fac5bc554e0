#include "frame/http1.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "frame/http1_head.h"
#include "frame/http1_impl.h"
#include "frame/http1_parser.h"

void http1_reader_init(Http1Reader *reader, Http1Kind kind, Http1Limits limits)
{
    *reader = (Http1Reader){.kind = kind, .limits = limits};
    inq_init(&reader->in, limits.max_head_bytes);
    bytes_init(&reader->head_bytes, limits.max_head_bytes);
}

void http1_reader_deinit(Http1Reader *reader)
{
    inq_deinit(&reader->in);
    bytes_deinit(&reader->head_bytes);
    reader->fields = mem_free(reader->fields);
    reader->parser = http1_parser_free(reader->parser);
    *reader = HTTP1_READER_NULL;
}

/* What inq says, in this module's words. */
static int http1_outcome(int r)
{
    return r == INQ_E_FULL ? HTTP1_E_FULL : err_pass(r);
}

/* 0, or why nothing more is taken. */
static int http1_is_over(const Http1Reader *reader)
{
    if (reader->state == HTTP1_STATE_FAILED) {
        return HTTP1_E_REFUSED;
    }
    return reader->state == HTTP1_STATE_CLOSED ? HTTP1_E_CLOSED : 0;
}

int http1_reader_feed(Http1Reader *reader, const void *data, size_t n)
{
    int r = http1_is_over(reader);

    return r != 0 ? r : http1_outcome(inq_append(&reader->in, data, n));
}

int http1_reader_reserve(Http1Reader *reader, size_t want, char **ret_p, size_t *ret_n)
{
    int r = http1_is_over(reader);

    if (r == 0) {
        r = http1_outcome(inq_reserve(&reader->in, want));
    }
    if (r != 0) {
        return r;
    }
    *ret_p = reader->in.data + reader->in.end;
    *ret_n = inq_room(&reader->in);
    return 0;
}

void http1_reader_commit(Http1Reader *reader, size_t n)
{
    inq_commit(&reader->in, n);
}

int http1_refuse(Http1Reader *reader, Http1Fault fault)
{
    reader->fault = fault;
    reader->state = HTTP1_STATE_FAILED;
    return HTTP1_E_REFUSED;
}

void http1_skip(Http1Reader *reader, size_t n)
{
    inq_skip(&reader->in, n);
    reader->n_searched = 0;
    reader->line_start = 0;
}

/* What the head says beside its lines, from llhttp's fields. */
static Http1Fault http1_decide(Http1Reader *reader, Http1Fault parsed)
{
    Http1Head *head = &reader->head;
    Http1Fault fault = http1_head_decide_length(head);

    if (fault == HTTP1_FAULT_NONE && reader->kind == HTTP1_RESPONSES) {
        fault = http1_head_decide_response(head, reader->answers_head);
    }
    /* llhttp refuses much of the same, each version of it more or less, and says less about it. */
    if (fault != HTTP1_FAULT_NONE || parsed != HTTP1_FAULT_NONE) {
        return fault != HTTP1_FAULT_NONE ? fault : parsed;
    }
    if (reader->kind == HTTP1_RESPONSES) {
        return HTTP1_FAULT_NONE;
    }
    head->method = http1_parser_method(reader->parser);
    /* The one method that is about the connection and not about a resource. */
    if (span_equals(head->method_name, SPAN("CONNECT"))) {
        return HTTP1_FAULT_METHOD;
    }
    return http1_head_decide_request(head);
}

/* Whether llhttp sees the same message as we do: the second lock on that door. */
static bool http1_agrees(const Http1Reader *reader)
{
    const Http1Head *head = &reader->head;
    bool has_body = head->length != HTTP1_LENGTH_NONE;

    if (head->length == HTTP1_LENGTH_GIVEN) {
        has_body = head->content_length > 0;
        if (http1_parser_content_length(reader->parser) != head->content_length) {
            return false;
        }
    }
    return head->n_fields == http1_parser_n_fields(reader->parser) &&
           http1_parser_is_done(reader->parser) == !has_body;
}

static Http1State http1_state_of(Http1Length length)
{
    switch (length) {
    case HTTP1_LENGTH_GIVEN:
        return HTTP1_STATE_LENGTH;
    case HTTP1_LENGTH_CHUNKED:
        return HTTP1_STATE_CHUNK_LINE;
    case HTTP1_LENGTH_UNTIL_CLOSE:
        return HTTP1_STATE_UNTIL_CLOSE;
    case HTTP1_LENGTH_NONE:
    default:
        return HTTP1_STATE_END;
    }
}

/* Whether the head under way is that of a response without a body. */
static bool http1_skips_body(const Http1Reader *reader)
{
    return reader->kind == HTTP1_RESPONSES &&
           (reader->answers_head || http1_head_is_bare(reader->head.status));
}

/* HEAD: 0 with the head parsed, -ENOMEM, AGAIN, REFUSED. */
static int http1_read_head(Http1Reader *reader)
{
    Http1Head *head = &reader->head;
    Http1Split split;
    int r = http1_gather_head(reader, &split);
    Http1Fault fault;
    Span bytes;

    if (r != 0) {
        return r;
    }
    bytes = bytes_span(&reader->head_bytes);
    *head = (Http1Head){.fields = split.fields,
                        .n_fields = split.n_fields,
                        .marks = split.marks,
                        .name_bits = split.name_bits};
    fault = http1_first_line(reader, span_make(bytes.p, split.n_first), head);
    if (fault != HTTP1_FAULT_NONE) {
        return http1_refuse(reader, fault);
    }
    http1_parser_begin(reader->parser, reader->kind, http1_skips_body(reader));
    fault = http1_parser_run(reader->parser, bytes);
    fault = http1_decide(reader, fault);
    if (fault == HTTP1_FAULT_NONE && !http1_agrees(reader)) {
        fault = HTTP1_FAULT_SYNTAX;
    }
    if (fault != HTTP1_FAULT_NONE) {
        return http1_refuse(reader, fault);
    }
    http1_skip(reader, bytes.n);
    reader->n_lines = 0;
    reader->n_extension = 0;
    reader->n_body = 0;
    reader->n_left = head->content_length;
    reader->max_body = reader->limits.max_body_bytes;
    reader->state = http1_state_of(head->length);
    return 0;
}

void http1_reader_limit_body(Http1Reader *reader, uint64_t max_body_bytes)
{
    reader->max_body = max_body_bytes;
}

/* One step; the event's kind is HEAD unless it sets another. */
static int http1_step(Http1Reader *reader, Http1Event *event)
{
    switch (reader->state) {
    case HTTP1_STATE_HEAD:
        return http1_read_head(reader);
    case HTTP1_STATE_LENGTH:
        if (reader->n_left == 0) {
            reader->state = HTTP1_STATE_END;
            return 0;
        }
        return http1_read_counted(reader, HTTP1_STATE_END, &event->body);
    case HTTP1_STATE_UNTIL_CLOSE:
        return http1_read_until_close(reader, &event->body);
    case HTTP1_STATE_CHUNK_LINE:
        return http1_read_chunk_line(reader);
    case HTTP1_STATE_CHUNK_DATA:
        return http1_read_counted(reader, HTTP1_STATE_CHUNK_END, &event->body);
    case HTTP1_STATE_CHUNK_END:
        return http1_read_chunk_end(reader);
    case HTTP1_STATE_TRAILER:
        return http1_read_trailer(reader);
    case HTTP1_STATE_END:
        reader->state = HTTP1_STATE_HELD;
        return 0;
    case HTTP1_STATE_HELD:
        return HTTP1_E_HELD;
    case HTTP1_STATE_CLOSED:
        return HTTP1_E_CLOSED;
    case HTTP1_STATE_FAILED:
    default:
        return HTTP1_E_REFUSED;
    }
}

int http1_reader_next(Http1Reader *reader, Http1Event *ret_event)
{
    for (;;) {
        Http1Event event = {.head = &reader->head, .body = SPAN_NULL};
        Http1State before = reader->state;
        int r = http1_step(reader, &event);

        if (r != 0) {
            return r;
        }
        if (before == HTTP1_STATE_HEAD) {
            event.kind = HTTP1_EVENT_HEAD;
        } else if (event.body.n > 0) {
            event.kind = HTTP1_EVENT_BODY;
        } else if (before == HTTP1_STATE_END) {
            event.kind = HTTP1_EVENT_END;
        } else {
            continue;
        }
        *ret_event = event;
        return 0;
    }
}

void http1_reader_release(Http1Reader *reader)
{
    /* A response of 100 to 199 is only a word in between. */
    bool is_interim = reader->kind == HTTP1_RESPONSES && reader->head.status < 200;

    if (reader->state != HTTP1_STATE_HELD) {
        assert(reader->state == HTTP1_STATE_FAILED);
        return;
    }
    reader->state = reader->head.keeps_alive || is_interim ? HTTP1_STATE_HEAD : HTTP1_STATE_CLOSED;
    reader->answers_head = reader->answers_head && is_interim;
    reader->skipped_line = false;
    reader->n_lines = 0;
    reader->head = (Http1Head){.n_fields = 0};
}

void http1_reader_expect_no_body(Http1Reader *reader)
{
    reader->answers_head = true;
}

bool http1_reader_is_inside(const Http1Reader *reader)
{
    if (reader->state == HTTP1_STATE_HEAD) {
        return inq_unread(&reader->in).n > 0;
    }
    return reader->state < HTTP1_STATE_END;
}

int http1_reader_finish(Http1Reader *reader)
{
    if (reader->state == HTTP1_STATE_FAILED) {
        return HTTP1_E_REFUSED;
    }
    if (reader->state == HTTP1_STATE_UNTIL_CLOSE) {
        reader->state = HTTP1_STATE_END;
        return 0;
    }
    return http1_reader_is_inside(reader) ? HTTP1_E_INCOMPLETE : 0;
}

void http1_reader_trim(Http1Reader *reader)
{
    inq_trim(&reader->in);
    if (reader->state == HTTP1_STATE_HEAD || reader->state == HTTP1_STATE_CLOSED) {
        bytes_deinit(&reader->head_bytes);
        bytes_init(&reader->head_bytes, reader->limits.max_head_bytes);
        reader->fields = mem_free(reader->fields);
        reader->n_room = 0;
    }
}
