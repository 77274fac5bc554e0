/* fuzz/frame_log.h: a list of what a reader yielded, so that two readers can be compared; and the
 * sizes of the pieces in which the frame targets move bytes. */
#pragma once

#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#include "base/span.h"

typedef struct FrameLog {
    char *data;
    size_t n;
    size_t cap;
} FrameLog;

static inline void frame_log_bytes(FrameLog *log, const void *p, size_t n)
{
    if (n > log->cap - log->n) {
        log->cap = (log->n + n) * 2;
        log->data = realloc(log->data, log->cap);
        FUZZ_REQUIRE(log->data != NULL);
    }
    if (n > 0) {
        memcpy(log->data + log->n, p, n);
        log->n += n;
    }
}

/* One event: its kind, its size and its bytes, so that different lists have different bytes. */
static inline void frame_log_event(FrameLog *log, char kind, Span content)
{
    frame_log_bytes(log, &kind, 1);
    frame_log_bytes(log, &content.n, sizeof(content.n));
    frame_log_bytes(log, content.p, content.n);
}

/* Reads the event at *at and advances it; false at the end. */
static inline bool frame_log_read(const FrameLog *log, size_t *at, char *ret_kind,
                                  Span *ret_content)
{
    if (*at == log->n) {
        return false;
    }
    *ret_kind = log->data[*at];
    memcpy(&ret_content->n, log->data + *at + 1, sizeof(ret_content->n));
    ret_content->p = log->data + *at + 1 + sizeof(ret_content->n);
    *at += 1 + sizeof(ret_content->n) + ret_content->n;
    return true;
}

static inline void frame_log_free(FrameLog *log)
{
    free(log->data);
    *log = (FrameLog){NULL, 0, 0};
}

static inline void frame_log_require_equal(const FrameLog *a, const FrameLog *b)
{
    FUZZ_REQUIRE(span_equals(span_make(a->data, a->n), span_make(b->data, b->n)));
}

/* The next piece of n bytes: `size` of them, or with size 0 all; with `vary`, 1, 2, 3… up to size
 * in turn. */
static inline size_t frame_piece(size_t size, bool vary, size_t turn, size_t n)
{
    size_t piece = size == 0 ? n : size;

    if (vary && size > 0) {
        piece = 1 + turn % size;
    }
    return piece < n ? piece : n;
}
