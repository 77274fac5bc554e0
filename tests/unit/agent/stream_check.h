/* Reads a model's stream whole, byte by byte and split anywhere: each way must give the same. */
#pragma once

#include "agent/model_stream.h"
#include "base/limits.h"
#include "support/guard.h"

#include "model_log.h"

typedef struct StreamCase {
    const char *name;
    const char *stream;
    const char *expected;
} StreamCase;

typedef struct StreamWay {
    const ModelDialect *dialect;
    const ModelNames *names;
    bool is_body; /* no events */
    size_t max_bytes;
} StreamWay;

TW_UNUSED static int stream_drain(ModelStream *stream, ModelLog *log)
{
    ModelEvent event;
    int r;

    while ((r = model_stream_next(stream, &event)) == 0) {
        model_log_event(log, &event);
    }
    return r;
}

/* 0, or -ENOMEM; the log has what came. */
TW_UNUSED static int stream_read(const StreamWay *way, Span input, const size_t *cuts,
                                 size_t n_cuts, ModelLog *log)
{
    ModelStream stream;
    int r = 0;

    model_stream_init(&stream, way->dialect, way->names, !way->is_body,
                      way->max_bytes != 0 ? way->max_bytes : LIMIT_MODEL_ANSWER_BYTES, 1);
    for (size_t i = 0; i + 1 < n_cuts && r >= 0; i++) {
        GuardBuffer piece = guard_copy(input.p + cuts[i], cuts[i + 1] - cuts[i]);

        r = model_stream_feed(&stream, piece.p, piece.n);
        guard_free(&piece);
        if (r == 0) {
            r = stream_drain(&stream, log);
        }
    }
    if (r >= 0) {
        model_stream_end(&stream);
        r = stream_drain(&stream, log);
    }
    if (r >= 0) {
        assert_int_equal(r, MODEL_STREAM_E_OVER);
        assert_int_equal(log->n_ends, 1);
    }
    model_stream_deinit(&stream);
    return r < 0 ? r : 0;
}

TW_UNUSED static void stream_check(const StreamWay *way, const StreamCase *c)
{
    Span input = span_from_str(c->stream);
    size_t *cuts = calloc(input.n + 1, sizeof(*cuts));

    assert_non_null(cuts);
    for (size_t a = 0; a <= input.n + 1; a++) {
        ModelLog log = {.with_ids = true};
        size_t n_cuts = 3;

        if (a <= input.n) {
            size_t two[] = {0, a, input.n};

            assert_int_equal(stream_read(way, input, two, n_cuts, &log), 0);
        } else {
            for (size_t i = 0; i <= input.n; i++) {
                cuts[i] = i;
            }
            assert_int_equal(stream_read(way, input, cuts, input.n + 1, &log), 0);
        }
        if (strcmp(log.text, c->expected) != 0) {
            fail_msg("%s, cut at %zu:\n%s\ninstead of\n%s", c->name, a, log.text, c->expected);
        }
        model_log_deinit(&log);
    }
    free(cuts);
}

/* A request that was written, as text; free() it. */
TW_UNUSED static char *request_text(const ModelDialect *dialect, const ModelRequest *request,
                                    const ModelBody *body)
{
    Bytes out;
    JsonDoc doc;
    Arena arena;
    char *text;

    bytes_init(&out, LIMIT_MODEL_REQUEST_BYTES);
    arena_init(&arena, (size_t)1 << 24);
    assert_int_equal(dialect->write(&out, request, body), 0);
    assert_int_equal(json_parse(&doc, &arena, out.data, out.n, NULL, NULL), 0);
    text = malloc(out.n + 1);
    assert_non_null(text);
    memcpy(text, out.data, out.n);
    text[out.n] = '\0';
    bytes_deinit(&out);
    arena_deinit(&arena);
    return text;
}
