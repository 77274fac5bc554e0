/* Cuts a stream into lines in pieces of any size, compares with a splitter too simple to be wrong,
 * then sends the messages through the writer and reads them again.
 *
 * Input: limit, piece size, flags (FLAG_*), then the stream. */
#include "fuzz.h"

#include "base/bytes.h"
#include "frame/ndjson.h"

#include "frame_log.h"

enum {
    FLAG_RESERVE = 1u << 0,     /* put bytes in place instead of feeding them */
    FLAG_VARY = 1u << 1,        /* pieces of varying size */
    FLAG_LARGE_LIMIT = 1u << 2, /* limit in units of 64 bytes */
};

typedef struct Setup {
    size_t limit;
    size_t piece;
    unsigned flags;
} Setup;

static bool is_blank(Span line)
{
    size_t i = 0;

    while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == '\r')) {
        i++;
    }
    return i == line.n;
}

static Span without_cr(Span line)
{
    return span_make(line.p, span_ends_with(line, SPAN("\r")) ? line.n - 1 : line.n);
}

static void expect(const Setup *setup, Span stream, FrameLog *log)
{
    size_t start = 0;
    Span rest;

    for (size_t i = 0; i < stream.n; i++) {
        if (stream.p[i] == '\n') {
            Span line = without_cr(span_make(stream.p + start, i - start));

            start = i + 1;
            if (line.n > setup->limit) {
                frame_log_event(log, 'L', SPAN_NULL);
            } else if (!is_blank(line)) {
                frame_log_event(log, 'M', line);
            }
        }
    }
    rest = without_cr(span_make(stream.p + start, stream.n - start));
    if (rest.n > setup->limit) {
        frame_log_event(log, 'L', SPAN_NULL);
    } else if (!is_blank(rest)) {
        frame_log_event(log, 'R', rest);
    }
}

static void put(NdjsonReader *reader, const Setup *setup, const char *p, size_t n)
{
    char *room = NULL;
    size_t n_room = 0;

    if ((setup->flags & FLAG_RESERVE) == 0) {
        FUZZ_REQUIRE(ndjson_reader_feed(reader, p, n) == 0);
        return;
    }
    FUZZ_REQUIRE(ndjson_reader_reserve(reader, n, &room, &n_room) == 0 && n_room >= n);
    memcpy(room, p, n);
    ndjson_reader_commit(reader, n);
}

static void drain(NdjsonReader *reader, FrameLog *log)
{
    for (;;) {
        Span message = SPAN_NULL;
        int r = ndjson_reader_next(reader, &message);

        if (r == NDJSON_E_AGAIN) {
            return;
        }
        FUZZ_REQUIRE(r == 0 || r == NDJSON_E_TOO_LONG);
        frame_log_event(log, r == 0 ? 'M' : 'L', message);
    }
}

static void read_all(const Setup *setup, Span stream, FrameLog *log)
{
    NdjsonReader reader;
    Span rest = SPAN_NULL;
    size_t at = 0;

    ndjson_reader_init(&reader, setup->limit);
    for (size_t turn = 0; at < stream.n; turn++) {
        size_t n = frame_piece(setup->piece, (setup->flags & FLAG_VARY) != 0, turn, stream.n - at);

        put(&reader, setup, stream.p + at, n);
        at += n;
        drain(&reader, log);
    }
    FUZZ_REQUIRE(reader.n_scanned == stream.n);
    if (ndjson_reader_finish(&reader, &rest) == NDJSON_E_INCOMPLETE) {
        frame_log_event(log, 'R', rest);
    }
    ndjson_reader_deinit(&reader);
}

/* Sends a part of what is pending to `wire`, as a socket with a small buffer would. */
static void transmit(NdjsonWriter *writer, size_t part, FrameLog *wire)
{
    Span slices[3];
    size_t n = ndjson_writer_pull(writer, slices, TW_ARRAY_SIZE(slices));
    size_t n_sent = 0;

    for (size_t i = 0; i < n && n_sent < part; i++) {
        size_t take = slices[i].n < part - n_sent ? slices[i].n : part - n_sent;

        FUZZ_REQUIRE(slices[i].n > 0);
        frame_log_bytes(wire, slices[i].p, take);
        n_sent += take;
    }
    ndjson_writer_consumed(writer, n_sent);
}

static void write_one(NdjsonWriter *writer, size_t turn, Span message)
{
    Bytes *out = NULL;
    Bytes taken;

    if (turn % 3 == 0) {
        FUZZ_REQUIRE(ndjson_writer_push(writer, message) == 0);
    } else if (turn % 3 == 1) {
        bytes_init(&taken, message.n);
        FUZZ_REQUIRE(bytes_append_span(&taken, message) == 0);
        FUZZ_REQUIRE(ndjson_writer_push_taken(writer, &taken) == 0 && taken.n == 0);
        bytes_deinit(&taken);
    } else {
        FUZZ_REQUIRE(ndjson_writer_begin(writer, &out) == 0);
        FUZZ_REQUIRE(bytes_append_span(out, message) == 0);
        FUZZ_REQUIRE(ndjson_writer_commit(writer) == 0);
    }
}

/* What was read is what arrives, but for one more CR that every hop takes off. */
static void round_trip(const Setup *setup, const FrameLog *log)
{
    FrameLog wire = {NULL, 0, 0};
    FrameLog again = {NULL, 0, 0};
    FrameLog expected = {NULL, 0, 0};
    NdjsonWriter writer;
    Span message = SPAN_NULL;
    size_t at = 0;
    char kind = 0;

    ndjson_writer_init(&writer, setup->limit, SIZE_MAX);
    for (size_t turn = 0; frame_log_read(log, &at, &kind, &message); turn++) {
        if (kind != 'M') {
            continue;
        }
        write_one(&writer, turn, message);
        if (!is_blank(without_cr(message))) {
            frame_log_event(&expected, 'M', without_cr(message));
        }
        if (turn % 4 != 0) {
            transmit(&writer, setup->piece, &wire);
        }
    }
    while (ndjson_writer_pending(&writer) > 0) {
        transmit(&writer, SIZE_MAX, &wire);
    }
    read_all(setup, span_make(wire.data, wire.n), &again);
    frame_log_require_equal(&again, &expected);
    ndjson_writer_deinit(&writer);
    frame_log_free(&wire);
    frame_log_free(&again);
    frame_log_free(&expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FrameLog expected = {NULL, 0, 0};
    FrameLog got = {NULL, 0, 0};
    Setup setup;
    Span stream;

    if (size < 3) {
        return 0;
    }
    setup = (Setup){.limit = data[0], .piece = data[1], .flags = data[2]};
    if ((setup.flags & FLAG_LARGE_LIMIT) != 0) {
        setup.limit *= 64;
    }
    stream = span_make((const char *)data + 3, size - 3);
    expect(&setup, stream, &expected);
    read_all(&setup, stream, &got);
    frame_log_require_equal(&got, &expected);
    round_trip(&setup, &got);
    frame_log_free(&expected);
    frame_log_free(&got);
    return 0;
}
