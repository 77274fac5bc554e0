/* tests/unit/frame/http1_log.h: what an HTTP reader yields, as one text; fed whole, byte by byte
 * and split at every offset, from memory that ends at an unreadable page. */
#pragma once

#include "frame/http1.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "support/guard.h"

#include "events.h"

typedef struct Http1Log {
    Events events;
    bool in_body; /* pieces of a body are joined: where it was cut does not count */
} Http1Log;

static inline void http1_log_close_body(Http1Log *log)
{
    if (log->in_body) {
        events_add(&log->events, ")");
        log->in_body = false;
    }
}

static inline void http1_log_number(Http1Log *log, const char *word, unsigned long long n)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%s%llu", word, n);
    events_add(&log->events, text);
}

static inline void http1_log_head(Http1Log *log, const Http1Head *head, Http1Kind kind)
{
    Events *events = &log->events;

    if (kind == HTTP1_REQUESTS) {
        events_add_span(events, "REQ", head->method_name);
        events_add_span(events, "", head->path);
        events_add_span(events, head->query.p == NULL ? "-" : "?", head->query);
        events_add_span(events, "@", head->authority);
    } else {
        http1_log_number(log, "RES", head->status);
        events_add_span(events, "", head->reason);
    }
    http1_log_number(log, " 1.", head->minor);
    if (head->length == HTTP1_LENGTH_GIVEN) {
        http1_log_number(log, " n=", (unsigned long long)head->content_length);
    }
    events_add(events, head->length == HTTP1_LENGTH_CHUNKED ? " chunked" : "");
    events_add(events, head->length == HTTP1_LENGTH_UNTIL_CLOSE ? " until-close" : "");
    events_add(events, head->keeps_alive ? "" : " close");
    events_add(events, head->expects_continue ? " expects" : "");
    events_add(events, head->wants_upgrade ? " upgrade" : "");
    events_add(events, "\n");
}

/* Reads what there is, releasing each message. */
static inline void http1_log_drain(Http1Log *log, Http1Reader *reader)
{
    for (;;) {
        Http1Event event;
        int r = http1_reader_next(reader, &event);

        if (r == HTTP1_E_HELD) {
            http1_reader_release(reader);
            continue;
        }
        if (r != 0) {
            assert_true(r == HTTP1_E_AGAIN || r == HTTP1_E_CLOSED || r == HTTP1_E_REFUSED);
            return;
        }
        if (event.kind == HTTP1_EVENT_BODY) {
            events_add(&log->events, log->in_body ? "" : "B(");
            events_add_bytes(&log->events, event.body.p, event.body.n);
            assert_true(event.body.n > 0);
            log->in_body = true;
            continue;
        }
        http1_log_close_body(log);
        if (event.kind == HTTP1_EVENT_HEAD) {
            http1_log_head(log, event.head, reader->kind);
        } else {
            events_add(&log->events, "END ");
        }
    }
}

static inline void http1_log_finish(Http1Log *log, Http1Reader *reader)
{
    int r = http1_reader_finish(reader);

    http1_log_drain(log, reader);
    http1_log_close_body(log);
    if (r == HTTP1_E_REFUSED) {
        http1_log_number(log, "REFUSED ", http1_fault_status(http1_reader_fault(reader)));
        events_add(&log->events, " ");
        events_add(&log->events, http1_fault_text(http1_reader_fault(reader)));
    } else if (r == HTTP1_E_INCOMPLETE) {
        events_add(&log->events, "CUT");
    } else {
        assert_int_equal(r, 0);
        events_add(&log->events, reader->state == HTTP1_STATE_CLOSED ? "CLOSED" : "OPEN");
    }
}

/* Puts a piece in, by feed or in place. */
static inline int http1_log_put(Http1Reader *reader, const char *p, size_t n, bool in_place)
{
    char *room = NULL;
    size_t n_room = 0;
    int r;

    if (!in_place || n == 0) {
        return http1_reader_feed(reader, p, n);
    }
    r = http1_reader_reserve(reader, n, &room, &n_room);
    if (r == 0) {
        assert_true(n_room >= n);
        memcpy(room, p, n);
        http1_reader_commit(reader, n);
    }
    return r;
}

typedef struct Http1Setup {
    Http1Kind kind;
    Http1Limits limits;
    bool answers_head;
} Http1Setup;

static inline void http1_log_pieces(Http1Setup setup, Span input, const size_t *cuts, size_t n_cuts,
                                    bool in_place, Span expected, const char *name)
{
    Http1Log log = {.in_body = false};
    Http1Reader reader;
    int r = 0;

    http1_reader_init(&reader, setup.kind, setup.limits);
    if (setup.answers_head) {
        http1_reader_expect_no_body(&reader);
    }
    for (size_t i = 0; i + 1 < n_cuts && r == 0; i++) {
        GuardBuffer piece = guard_copy(input.p + cuts[i], cuts[i + 1] - cuts[i]);

        r = http1_log_put(&reader, piece.p, piece.n, in_place);
        guard_free(&piece);
        assert_true(r == 0 || r == HTTP1_E_REFUSED || r == HTTP1_E_CLOSED);
        http1_log_drain(&log, &reader);
    }
    http1_log_finish(&log, &reader);
    events_expect(&log.events, expected, name);
    events_deinit(&log.events);
    http1_reader_deinit(&reader);
}

#define HTTP1_LOG_MAX_INPUT 2048

static inline void http1_log_check(Http1Setup setup, Span input, Span expected, const char *name)
{
    static size_t bytewise[HTTP1_LOG_MAX_INPUT];

    assert_true(input.n < TW_ARRAY_SIZE(bytewise));
    for (size_t i = 0; i <= input.n; i++) {
        bytewise[i] = i;
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        http1_log_pieces(setup, input, bytewise, input.n + 1, in_place != 0, expected, name);
        for (size_t a = 0; a <= input.n; a++) {
            size_t cuts[] = {0, a, input.n};

            http1_log_pieces(setup, input, cuts, 3, in_place != 0, expected, name);
        }
    }
}
