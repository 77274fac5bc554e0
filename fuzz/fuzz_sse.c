/* Reads a stream of events in pieces of any size, which must give the same as a reader too simple
 * to be wrong; the events are then written and read again.
 *
 * Input: limit of an event, piece size, flags (FLAG_*), then the stream. */
#include "fuzz.h"

#include "base/bytes.h"
#include "frame/sse.h"

#include "frame_log.h"

enum {
    FLAG_RESERVE = 1u << 0, /* put bytes in place instead of feeding them */
    FLAG_VARY = 1u << 1,    /* pieces of varying size */
};

typedef struct Setup {
    size_t limit;
    size_t piece;
    unsigned flags;
} Setup;

static int put(SseReader *reader, const Setup *setup, const char *p, size_t n)
{
    char *room = NULL;
    size_t n_room = 0;
    int r;

    if ((setup->flags & FLAG_RESERVE) == 0 || n == 0) {
        return sse_reader_feed(reader, p, n);
    }
    r = sse_reader_reserve(reader, n, &room, &n_room);
    if (r == 0) {
        FUZZ_REQUIRE(n_room >= n);
        memcpy(room, p, n);
        sse_reader_commit(reader, n);
    }
    return r;
}

static int drain(SseReader *reader, FrameLog *log)
{
    SseEvent event;
    int r;

    while ((r = sse_reader_next(reader, &event)) == 0) {
        FUZZ_REQUIRE(event.data.n + event.type.n <= reader->max_bytes);
        frame_log_event(log, 'T', event.type);
        frame_log_event(log, 'I', event.id);
        frame_log_event(log, 'D', event.data);
    }
    FUZZ_REQUIRE(r == SSE_E_AGAIN || r == SSE_E_TOO_LARGE);
    return r;
}

/* Returns what finish said. */
static int read_all(const Setup *setup, size_t piece, Span stream, FrameLog *log)
{
    SseReader reader;
    size_t at = 0;
    int64_t retry_ms;
    int r = SSE_E_AGAIN;

    sse_reader_init(&reader, setup->limit);
    for (size_t turn = 0; at < stream.n && r == SSE_E_AGAIN; turn++) {
        size_t n = frame_piece(piece, (setup->flags & FLAG_VARY) != 0, turn, stream.n - at);

        FUZZ_REQUIRE(put(&reader, setup, stream.p + at, n) == 0);
        at += n;
        r = drain(&reader, log);
    }
    retry_ms = sse_reader_retry_ms(&reader);
    r = sse_reader_finish(&reader);
    if (r != SSE_E_TOO_LARGE) {
        frame_log_event(log, 'R', span_make((const char *)&retry_ms, sizeof(retry_ms)));
        frame_log_event(log, 'L', sse_reader_last_id(&reader));
    }
    sse_reader_deinit(&reader);
    return r;
}

/* The stream with LF as the only end of a line, and without its mark. */
static void normalize(Span stream, FrameLog *lines)
{
    size_t i = span_starts_with(stream, SPAN("\xEF\xBB\xBF")) ? 3 : 0;

    for (; i < stream.n; i++) {
        if (stream.p[i] != '\r') {
            frame_log_bytes(lines, stream.p + i, 1);
        } else if (i + 1 == stream.n || stream.p[i + 1] != '\n') {
            frame_log_bytes(lines, "\n", 1);
        }
    }
}

typedef struct Simple {
    FrameLog data;
    FrameLog type;
    FrameLog next_id;
    FrameLog id;
    bool has_data;
    int64_t retry_ms;
} Simple;

static void simple_set(FrameLog *log, Span value)
{
    log->n = 0;
    frame_log_bytes(log, value.p, value.n);
}

static bool simple_value(Span line, const char *name, Span *ret_value)
{
    size_t n = strlen(name);

    if (!span_starts_with(line, span_make(name, n)) || (line.n > n && line.p[n] != ':')) {
        return false;
    }
    n = line.n > n ? n + 1 : n;
    n = line.n > n && line.p[n - 1] == ':' && line.p[n] == ' ' ? n + 1 : n;
    *ret_value = span_make(line.p + n, line.n - n);
    return true;
}

static void simple_retry(Simple *simple, Span value)
{
    int64_t ms = 0;

    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9') {
            return;
        }
        ms = ms > 400000000000 ? ms : ms * 10 + (value.p[i] - '0');
    }
    if (value.n > 0 && ms <= (int64_t)10 * 366 * 24 * 60 * 60 * 1000) {
        simple->retry_ms = ms;
    }
}

static void simple_line(Simple *simple, Span line, FrameLog *log)
{
    Span value = SPAN_NULL;

    if (line.n == 0) {
        simple_set(&simple->id, span_make(simple->next_id.data, simple->next_id.n));
        if (simple->has_data) {
            frame_log_event(log, 'T', span_make(simple->type.data, simple->type.n));
            frame_log_event(log, 'I', span_make(simple->id.data, simple->id.n));
            /* Each line has put an LF behind itself; the last one goes. */
            frame_log_event(log, 'D', span_make(simple->data.data, simple->data.n - 1));
        }
        simple->data.n = 0;
        simple->type.n = 0;
        simple->has_data = false;
    } else if (simple_value(line, "data", &value)) {
        frame_log_bytes(&simple->data, value.p, value.n);
        frame_log_bytes(&simple->data, "\n", 1);
        simple->has_data = true;
    } else if (simple_value(line, "event", &value)) {
        simple_set(&simple->type, value);
    } else if (simple_value(line, "id", &value)) {
        if (value.n == 0 || memchr(value.p, '\0', value.n) == NULL) {
            simple_set(&simple->next_id, value);
        }
    } else if (simple_value(line, "retry", &value)) {
        simple_retry(simple, value);
    }
}

static void expect(Span stream, FrameLog *log)
{
    FrameLog lines = {NULL, 0, 0};
    Simple simple = {.retry_ms = -1};
    size_t at = 0;

    normalize(stream, &lines);
    for (size_t i = 0; i < lines.n; i++) {
        if (lines.data[i] == '\n') {
            simple_line(&simple, span_make(lines.data + at, i - at), log);
            at = i + 1;
        }
    }
    frame_log_event(log, 'R', span_make((const char *)&simple.retry_ms, sizeof(simple.retry_ms)));
    frame_log_event(log, 'L', span_make(simple.id.data, simple.id.n));
    frame_log_free(&lines);
    frame_log_free(&simple.data);
    frame_log_free(&simple.type);
    frame_log_free(&simple.next_id);
    frame_log_free(&simple.id);
}

/* Writes each event that was read; an id is written only if it is not empty, and is then that of
 * all that follow, so that only types and data are compared. */
static void round_trip(const Setup *setup, const FrameLog *log)
{
    FrameLog sent = {NULL, 0, 0};
    FrameLog got = {NULL, 0, 0};
    SseReader reader;
    SseEvent event = {SPAN_NULL, SPAN_NULL, SPAN_NULL};
    SseEvent again;
    Span content = SPAN_NULL;
    size_t at = 0;
    char kind = 0;
    Bytes out;

    bytes_init(&out, SIZE_MAX);
    while (frame_log_read(log, &at, &kind, &content)) {
        event.type = kind == 'T' ? content : event.type;
        event.id = kind == 'I' ? content : event.id;
        if (kind != 'D') {
            continue;
        }
        event.data = content;
        /* A NUL may be read in a type, and is never written. */
        if (sse_write_event(&out, &event) != 0) {
            FUZZ_REQUIRE(memchr(event.type.p, '\0', event.type.n) != NULL);
            continue;
        }
        frame_log_event(&sent, 'T', event.type);
        frame_log_event(&sent, 'D', event.data);
    }
    sse_reader_init(&reader, SIZE_MAX);
    for (size_t i = 0; i < out.n;) {
        size_t n = frame_piece(setup->piece, false, 0, out.n - i);

        FUZZ_REQUIRE(sse_reader_feed(&reader, out.data + i, n) == 0);
        i += n;
        while (sse_reader_next(&reader, &again) == 0) {
            frame_log_event(&got, 'T', again.type);
            frame_log_event(&got, 'D', again.data);
        }
    }
    FUZZ_REQUIRE(sse_reader_finish(&reader) == 0);
    frame_log_require_equal(&got, &sent);
    sse_reader_deinit(&reader);
    bytes_deinit(&out);
    frame_log_free(&sent);
    frame_log_free(&got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FrameLog expected = {NULL, 0, 0};
    FrameLog whole = {NULL, 0, 0};
    FrameLog pieces = {NULL, 0, 0};
    Setup setup;
    Span stream;
    int r;

    if (size < 3) {
        return 0;
    }
    setup = (Setup){.limit = data[0], .piece = data[1], .flags = data[2]};
    setup.limit = setup.limit == 255 ? SIZE_MAX : setup.limit;
    stream = span_make((const char *)data + 3, size - 3);
    stream.n = stream.n < INQ_AHEAD_BYTES ? stream.n : INQ_AHEAD_BYTES;
    r = read_all(&setup, 0, stream, &whole);
    FUZZ_REQUIRE(read_all(&setup, setup.piece, stream, &pieces) == r);
    frame_log_require_equal(&whole, &pieces);
    if (r != SSE_E_TOO_LARGE) {
        expect(stream, &expected);
        frame_log_require_equal(&whole, &expected);
    }
    round_trip(&setup, &whole);
    frame_log_free(&expected);
    frame_log_free(&whole);
    frame_log_free(&pieces);
    return 0;
}
