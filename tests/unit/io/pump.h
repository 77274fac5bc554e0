/* A stream's owner for tests: what came in, what goes out, and what to do at each event. */
#pragma once

#include "support/cmocka.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "io/stream.h"

#define PUMP_MAX ((size_t)64 * 1024 * 1024)

typedef struct Pump Pump;
struct Pump {
    IoLoop *loop;
    IoStream *stream;
    Bytes in;
    Bytes out;
    size_t n_inputs;
    size_t n_reserved; /* room that was asked for last */
    int n_ends;
    int n_failures;
    int n_drained;
    int failure;
    int reserve_result;
    bool echo;       /* input goes to output */
    size_t max_read; /* room to offer; 0: as wanted */
    void (*on_input)(Pump *pump);
    void (*on_end)(Pump *pump);
    void (*on_failed)(Pump *pump);
    void (*on_drained)(Pump *pump);
    void (*on_pull)(Pump *pump);
    void (*on_consumed)(Pump *pump);
};

TW_UNUSED static int pump_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    Pump *pump = context;

    if (pump->reserve_result != 0) {
        return pump->reserve_result;
    }
    if (bytes_reserve(&pump->in, want) != 0) {
        return -ENOMEM;
    }
    *ret_p = pump->in.data + pump->in.n;
    *ret_n = pump->max_read != 0 ? pump->max_read : want;
    return 0;
}

TW_UNUSED static void pump_commit(void *context, size_t n)
{
    Pump *pump = context;

    if (pump->echo) {
        assert_int_equal(bytes_append(&pump->out, pump->in.data + pump->in.n, n), 0);
    }
    pump->in.n += n;
}

TW_UNUSED static size_t pump_pull(void *context, Span *slices, size_t max)
{
    Pump *pump = context;
    size_t n = 0;
    size_t at = 0;

    if (pump->on_pull != NULL) {
        pump->on_pull(pump);
        return 0;
    }
    /* Odd pieces: a stream must cope with slices of any size. */
    while (n < max && at < pump->out.n) {
        size_t part = 1 + at * 7;

        part = part < pump->out.n - at ? part : pump->out.n - at;
        slices[n++] = span_make(pump->out.data + at, part);
        at += part;
    }
    return n;
}

TW_UNUSED static void pump_consumed(void *context, size_t n)
{
    Pump *pump = context;

    bytes_drop_front(&pump->out, n);
    if (pump->on_consumed != NULL) {
        pump->on_consumed(pump);
    }
}

TW_UNUSED static void pump_input(void *context)
{
    Pump *pump = context;

    pump->n_inputs++;
    if (pump->on_input != NULL) {
        pump->on_input(pump);
    }
}

TW_UNUSED static void pump_end(void *context)
{
    Pump *pump = context;

    pump->n_ends++;
    if (pump->on_end != NULL) {
        pump->on_end(pump);
    }
}

TW_UNUSED static void pump_failed(void *context, int r)
{
    Pump *pump = context;

    pump->n_failures++;
    pump->failure = r;
    if (pump->on_failed != NULL) {
        pump->on_failed(pump);
    }
}

TW_UNUSED static void pump_drained(void *context)
{
    Pump *pump = context;

    pump->n_drained++;
    if (pump->on_drained != NULL) {
        pump->on_drained(pump);
    }
}

TW_UNUSED static const IoStreamOps pump_ops = {
    .reserve = pump_reserve,
    .commit = pump_commit,
    .pull = pump_pull,
    .consumed = pump_consumed,
    .input = pump_input,
    .end = pump_end,
    .failed = pump_failed,
    .drained = pump_drained,
};

TW_UNUSED static void pump_init(Pump *pump, IoLoop *loop)
{
    *pump = (Pump){.loop = loop};
    bytes_init(&pump->in, PUMP_MAX);
    bytes_init(&pump->out, PUMP_MAX);
}

TW_UNUSED static void pump_open(Pump *pump, int in_fd, int out_fd)
{
    assert_int_equal(io_stream_new(&pump->stream, pump->loop, in_fd, out_fd, &pump_ops, pump), 0);
}

TW_UNUSED static void pump_deinit(Pump *pump)
{
    pump->stream = io_stream_free(pump->stream);
    bytes_deinit(&pump->in);
    bytes_deinit(&pump->out);
}

TW_UNUSED static void pump_free_stream(Pump *pump)
{
    pump->stream = io_stream_free(pump->stream);
}

TW_UNUSED static void pump_put(Pump *pump, const char *p, size_t n)
{
    assert_int_equal(bytes_append(&pump->out, p, n), 0);
    io_stream_flush(pump->stream);
}
