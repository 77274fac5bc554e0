/* fuzz/model_stream.h: a model's answer that may be anything, read whole and in pieces.
 *
 * Input: piece size, flags (FLAG_*), then the body. Whatever comes, both ways give the same, with
 * one END or FAILED at their end; texts are UTF-8, halves of surrogate pairs aside, and not empty;
 * the input of a call that is not called bad is an object on one line. */
#pragma once

#include "exact_text.h"
#include "fuzz.h"

#include <string.h>

#include "agent/model_stream.h"

#include "frame_log.h"

enum {
    FLAG_BODY = 1u << 0,  /* no stream of events */
    FLAG_SMALL = 1u << 1, /* an answer may have 64 bytes */
};

static inline void model_fuzz_tool(FrameLog *log, const ModelEvent *event)
{
    JsonDoc doc;
    Arena arena;

    FUZZ_REQUIRE(event->id.n > 0);
    arena_init(&arena, SIZE_MAX);
    if (!event->is_bad_json) {
        FUZZ_REQUIRE(json_parse(&doc, &arena, event->input.p, event->input.n, NULL, NULL) == 0);
        FUZZ_REQUIRE(json_kind(json_root(&doc)) == JSON_OBJECT);
        FUZZ_REQUIRE(memchr(event->input.p, '\n', event->input.n) == NULL);
    }
    arena_deinit(&arena);
    frame_log_event(log, 'I', event->id);
    frame_log_event(log, 'N', event->name);
    frame_log_event(log, event->is_bad_json ? 'B' : 'J', event->input);
}

/* What next returned last. */
static inline int model_fuzz_drain(ModelStream *stream, FrameLog *log, int *n_ends)
{
    ModelEvent event;
    int r;

    while ((r = model_stream_next(stream, &event)) == 0) {
        FUZZ_REQUIRE(*n_ends == 0);
        switch (event.kind) {
        case MODEL_TEXT:
            FUZZ_REQUIRE(event.text.n > 0 && is_exact_text(event.text));
            frame_log_event(log, 'T', event.text);
            break;
        case MODEL_TOOL:
            model_fuzz_tool(log, &event);
            break;
        case MODEL_END:
            FUZZ_REQUIRE((event.stop == MODEL_STOP_TOOLS) == (stream->n_tools > 0));
            frame_log_event(log, (char)('0' + event.stop), SPAN_NULL);
            (*n_ends)++;
            break;
        default:
            FUZZ_REQUIRE(event.kind == MODEL_FAILED && event.text.n > 0);
            frame_log_event(log, 'F', event.text);
            (*n_ends)++;
            break;
        }
    }
    return r;
}

static inline void model_fuzz_read(const ModelDialect *dialect, unsigned flags, size_t piece,
                                   Span body, FrameLog *log)
{
    static const ModelNames names = {.n = 0};
    ModelStream stream;
    int n_ends = 0;
    int r = MODEL_STREAM_E_AGAIN;

    model_stream_init(&stream, dialect, &names, (flags & FLAG_BODY) == 0,
                      (flags & FLAG_SMALL) != 0 ? 64 : SIZE_MAX, 1);
    for (size_t at = 0; at < body.n;) {
        size_t n = frame_piece(piece, false, 0, body.n - at);

        FUZZ_REQUIRE(model_stream_feed(&stream, body.p + at, n) == 0);
        r = model_fuzz_drain(&stream, log, &n_ends);
        FUZZ_REQUIRE(r == MODEL_STREAM_E_AGAIN || r == MODEL_STREAM_E_OVER);
        FUZZ_REQUIRE((r == MODEL_STREAM_E_OVER) == (n_ends == 1));
        at += n;
    }
    model_stream_end(&stream);
    r = model_fuzz_drain(&stream, log, &n_ends);
    FUZZ_REQUIRE(r == MODEL_STREAM_E_OVER && n_ends == 1);
    model_stream_deinit(&stream);
}

static inline int model_fuzz(const ModelDialect *dialect, const uint8_t *data, size_t size)
{
    FrameLog whole = {NULL, 0, 0};
    FrameLog pieces = {NULL, 0, 0};
    Span body;

    if (size < 2) {
        return 0;
    }
    body = span_make((const char *)data + 2, size - 2);
    body.n = body.n < INQ_AHEAD_BYTES ? body.n : INQ_AHEAD_BYTES;
    model_fuzz_read(dialect, data[1], 0, body, &whole);
    model_fuzz_read(dialect, data[1], data[0], body, &pieces);
    frame_log_require_equal(&whole, &pieces);
    frame_log_free(&whole);
    frame_log_free(&pieces);
    return 0;
}
