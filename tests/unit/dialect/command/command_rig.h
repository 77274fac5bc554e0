/* tests/unit/dialect/command/command_rig.h: one HTTP request, read as the command door reads it. */
#pragma once

#include "dialect/command/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

typedef struct Rig {
    Arena arena;
    Http1Reader reader;
    CommandRoute route;
    CommandRequest request;
    CommandRefusal refusal;
    char *body; /* of the last request; what it says points into it */
} Rig;

static void rig_init(Rig *rig)
{
    *rig = (Rig){.refusal = {.status = 0}};
    arena_init(&rig->arena, (size_t)1 << 26);
}

static void rig_deinit(Rig *rig)
{
    http1_reader_deinit(&rig->reader);
    arena_deinit(&rig->arena);
    free(rig->body);
    rig->body = NULL;
}

/* line: "POST /rpc"; fields: further lines of the head, each with its CRLF. What command_read
 * gives; for -ENOMEM the reader has got its memory before. */
static inline int rig_read_with(Rig *rig, const char *line, const char *fields, const char *body)
{
    char text[16 * 1024];
    int n = snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", line, fields);
    Http1Event event;

    assert_true(n > 0 && (size_t)n < sizeof(text));
    rig_deinit(rig);
    rig_init(rig);
    http1_reader_init(&rig->reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(1024));
    if (http1_reader_feed(&rig->reader, text, (size_t)n) == -ENOMEM) {
        return -ENOMEM;
    }
    n = http1_reader_next(&rig->reader, &event);
    if (n == -ENOMEM) {
        return n;
    }
    if (n != 0) {
        fail_msg("not HTTP: %s (%s)", text, http1_fault_text(http1_reader_fault(&rig->reader)));
    }
    rig->route = command_route(event.head->method, event.head->path);
    assert_int_not_equal(rig->route.verb, COMMAND_NONE);
    /* Exactly as large as it is: a byte too many is seen by the sanitizer. */
    rig->body = malloc(strlen(body) + 1);
    assert_non_null(rig->body);
    memcpy(rig->body, body, strlen(body));
    return command_read(&rig->route, event.head, span_make(rig->body, strlen(body)), &rig->arena,
                        &rig->request, &rig->refusal);
}

static inline int rig_read(Rig *rig, const char *line, const char *body)
{
    return rig_read_with(rig, line, "Content-Type: application/json\r\n", body);
}

static inline void assert_span(Span span, const char *expected)
{
    if (!span_equals(span, span_from_str(expected))) {
        fail_msg("expected '%s', got '%.*s'", expected, (int)span.n, span.p);
    }
}

/* It is refused with that status and code, in words that hold these. */
static inline void assert_refused(Rig *rig, const char *line, const char *body, unsigned status,
                                  const char *code, const char *words)
{
    int r = rig_read(rig, line, body);
    char message[300];

    if (r != COMMAND_E_REFUSED) {
        fail_msg("%s %s: not refused", line, body);
    }
    assert_true(rig->refusal.message.n < sizeof(message));
    memcpy(message, rig->refusal.message.p, rig->refusal.message.n);
    message[rig->refusal.message.n] = '\0';
    if (rig->refusal.status != status || strcmp(rig->refusal.code, code) != 0 ||
        strstr(message, words) == NULL) {
        fail_msg("%s %s: %u %s '%s'", line, body, rig->refusal.status, rig->refusal.code, message);
    }
}
