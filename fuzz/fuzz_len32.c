/* Cuts a stream into frames in pieces of any size, compares with a splitter too simple to be wrong,
 * then sends the messages through the writer and reads them again.
 *
 * Input: limit, piece size, flags (FLAG_*), then the stream. */
#include "fuzz.h"

#include "base/bytes.h"
#include "frame/len32.h"

#include "frame_log.h"

enum {
    FLAG_RESERVE = 1u << 0,     /* put bytes in place instead of feeding them */
    FLAG_VARY = 1u << 1,        /* pieces of varying size */
    FLAG_LARGE_LIMIT = 1u << 2, /* limit in units of 2^20 */
    FLAG_BE = 1u << 3,          /* big-endian */
};

typedef struct Setup {
    uint32_t limit;
    size_t piece;
    unsigned flags;
    Len32Order order;
} Setup;

static void expect(const Setup *setup, Span stream, FrameLog *log)
{
    size_t at = 0;

    while (stream.n - at >= 4) {
        const unsigned char *h = (const unsigned char *)stream.p + at;
        unsigned a = setup->order == LEN32_ORDER_BE ? 0 : 3;
        unsigned b = setup->order == LEN32_ORDER_BE ? 1 : 2;
        uint64_t n = h[a] * 16777216ull + h[b] * 65536ull + h[3 - b] * 256ull + h[3 - a];

        if (n > setup->limit) {
            frame_log_event(log, 'L', span_make((const char *)&n, sizeof(n)));
            return;
        }
        if (n > stream.n - at - 4) {
            break;
        }
        frame_log_event(log, 'M', span_make(stream.p + at + 4, (size_t)n));
        at += 4 + (size_t)n;
    }
    if (at < stream.n) {
        frame_log_event(log, 'R', span_make(stream.p + at, stream.n - at));
    }
}

/* A peer must not make us hold much more than it sent and than one read takes. */
static void check_memory(const Len32Reader *reader, size_t n_arrived, size_t want)
{
    size_t most = n_arrived + want;

    FUZZ_REQUIRE(reader->in.cap <= 4 * most + 256);
}

/* Puts n bytes in as the reader offers room, all of them unless a length is refused. */
static int put(Len32Reader *reader, const Setup *setup, const char *p, size_t n, size_t n_before)
{
    size_t want = n;

    if ((setup->flags & FLAG_RESERVE) == 0) {
        int r = len32_reader_feed(reader, p, n);

        check_memory(reader, n_before + n, n);
        return r;
    }
    while (n > 0) {
        char *room = NULL;
        size_t n_room = 0;
        int r = len32_reader_reserve(reader, want, &room, &n_room);

        if (r != 0) {
            return r;
        }
        FUZZ_REQUIRE(n_room > 0);
        check_memory(reader, n_before, want);
        n_room = n_room < n ? n_room : n;
        memcpy(room, p, n_room);
        len32_reader_commit(reader, n_room);
        p += n_room;
        n -= n_room;
        n_before += n_room;
    }
    return 0;
}

static int drain(Len32Reader *reader, FrameLog *log)
{
    for (;;) {
        Span message = SPAN_NULL;
        int r = len32_reader_next(reader, &message);

        if (r != 0) {
            FUZZ_REQUIRE(r == LEN32_E_AGAIN || r == LEN32_E_TOO_LARGE);
            return r;
        }
        frame_log_event(log, 'M', message);
    }
}

static void read_all(const Setup *setup, Span stream, FrameLog *log)
{
    Len32Reader reader;
    Span rest = SPAN_NULL;
    size_t at = 0;
    int r = LEN32_E_AGAIN;

    len32_reader_init(&reader, setup->order, setup->limit);
    for (size_t turn = 0; at < stream.n && r == LEN32_E_AGAIN; turn++) {
        size_t n = frame_piece(setup->piece, (setup->flags & FLAG_VARY) != 0, turn, stream.n - at);

        r = put(&reader, setup, stream.p + at, n, at);
        FUZZ_REQUIRE(r == 0 || r == LEN32_E_TOO_LARGE);
        at += n;
        r = drain(&reader, log);
    }
    r = len32_reader_finish(&reader, &rest);
    if (r == LEN32_E_TOO_LARGE) {
        uint64_t declared = len32_reader_declared(&reader);

        frame_log_event(log, 'L', span_make((const char *)&declared, sizeof(declared)));
    } else if (r == LEN32_E_INCOMPLETE) {
        frame_log_event(log, 'R', rest);
    }
    len32_reader_deinit(&reader);
}

/* Sends a part of what is pending to `wire`, as a socket with a small buffer would. */
static void transmit(Len32Writer *writer, size_t part, FrameLog *wire)
{
    Span slices[3];
    size_t n = len32_writer_pull(writer, slices, TW_ARRAY_SIZE(slices));
    size_t n_sent = 0;

    for (size_t i = 0; i < n && n_sent < part; i++) {
        size_t take = slices[i].n < part - n_sent ? slices[i].n : part - n_sent;

        FUZZ_REQUIRE(slices[i].n > 0);
        frame_log_bytes(wire, slices[i].p, take);
        n_sent += take;
    }
    len32_writer_consumed(writer, n_sent);
}

static void write_one(Len32Writer *writer, size_t turn, Span message)
{
    Bytes *out = NULL;
    Bytes taken;

    if (turn % 3 == 0) {
        FUZZ_REQUIRE(len32_writer_push(writer, message) == 0);
    } else if (turn % 3 == 1) {
        bytes_init(&taken, message.n);
        FUZZ_REQUIRE(bytes_append_span(&taken, message) == 0);
        FUZZ_REQUIRE(len32_writer_push_taken(writer, &taken) == 0 && taken.n == 0);
        bytes_deinit(&taken);
    } else {
        FUZZ_REQUIRE(len32_writer_begin(writer, &out) == 0);
        FUZZ_REQUIRE(bytes_append_span(out, message) == 0);
        FUZZ_REQUIRE(len32_writer_commit(writer) == 0);
    }
}

static void round_trip(const Setup *setup, const FrameLog *log)
{
    FrameLog wire = {NULL, 0, 0};
    FrameLog again = {NULL, 0, 0};
    FrameLog expected = {NULL, 0, 0};
    Len32Writer writer;
    Span message = SPAN_NULL;
    size_t at = 0;
    char kind = 0;

    len32_writer_init(&writer, setup->order, setup->limit, SIZE_MAX);
    for (size_t turn = 0; frame_log_read(log, &at, &kind, &message); turn++) {
        if (kind != 'M') {
            continue;
        }
        write_one(&writer, turn, message);
        frame_log_event(&expected, 'M', message);
        if (turn % 4 != 0) {
            transmit(&writer, setup->piece, &wire);
        }
    }
    while (len32_writer_pending(&writer) > 0) {
        transmit(&writer, SIZE_MAX, &wire);
    }
    read_all(setup, span_make(wire.data, wire.n), &again);
    frame_log_require_equal(&again, &expected);
    len32_writer_deinit(&writer);
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
    setup.limit *= (setup.flags & FLAG_LARGE_LIMIT) != 0 ? 1u << 20 : 1;
    setup.order = (setup.flags & FLAG_BE) != 0 ? LEN32_ORDER_BE : LEN32_ORDER_LE;
    stream = span_make((const char *)data + 3, size - 3);
    expect(&setup, stream, &expected);
    read_all(&setup, stream, &got);
    frame_log_require_equal(&got, &expected);
    round_trip(&setup, &got);
    frame_log_free(&expected);
    frame_log_free(&got);
    return 0;
}
