/* Reads a stream of requests or responses in pieces of any size, which must give the same as
 * reading it whole; what was accepted is then written again, and must be read as the same message.
 *
 * Input: flags (FLAG_*), piece size, limit of a body, then the stream. */
#include "fuzz.h"

#include "frame/http1.h"
#include "frame/http1_writer.h"

#include "frame_log.h"

enum {
    FLAG_RESERVE = 1u << 0,   /* put bytes in place instead of feeding them */
    FLAG_VARY = 1u << 1,      /* pieces of varying size */
    FLAG_RESPONSES = 1u << 2, /* a client's side */
    FLAG_HEAD = 1u << 3,      /* the first response answers HEAD */
    FLAG_SMALL = 1u << 4,     /* small limits */
};

typedef struct Setup {
    unsigned flags;
    size_t piece;
    Http1Kind kind;
    Http1Limits limits;
} Setup;

typedef struct Record {
    FrameLog log;
    FrameLog body; /* pieces joined, until the message ends */
} Record;

static void record_free(Record *record)
{
    frame_log_free(&record->log);
    frame_log_free(&record->body);
}

static void record_body(Record *record)
{
    frame_log_event(&record->log, 'B', span_make(record->body.data, record->body.n));
    record->body.n = 0;
}

static bool is_clean(Span s)
{
    return s.n == 0 || (memchr(s.p, '\r', s.n) == NULL && memchr(s.p, '\n', s.n) == NULL &&
                        memchr(s.p, '\0', s.n) == NULL);
}

static void record_head(Record *record, const Setup *setup, const Http1Head *head)
{
    unsigned numbers[] = {head->status,           head->minor,
                          head->length,           head->keeps_alive,
                          head->expects_continue, head->wants_upgrade};

    FUZZ_REQUIRE(head->n_fields <= setup->limits.max_fields);
    FUZZ_REQUIRE(head->target.n <= setup->limits.max_target_bytes);
    FUZZ_REQUIRE(is_clean(head->target) && is_clean(head->authority) && is_clean(head->reason));
    FUZZ_REQUIRE(setup->kind == HTTP1_RESPONSES || head->path.n > 0);
    frame_log_event(&record->log, 'H', span_make((const char *)numbers, sizeof(numbers)));
    frame_log_event(&record->log, 'M', head->method_name);
    frame_log_event(&record->log, 'T', head->target);
    frame_log_event(&record->log, 'P', head->path);
    frame_log_event(&record->log, 'Q', head->query);
    frame_log_event(&record->log, 'A', head->authority);
    for (size_t i = 0; i < head->n_fields; i++) {
        FUZZ_REQUIRE(head->fields[i].name.n > 0 && is_clean(head->fields[i].name));
        FUZZ_REQUIRE(is_clean(head->fields[i].value));
        frame_log_event(&record->log, 'N', head->fields[i].name);
        frame_log_event(&record->log, 'V', head->fields[i].value);
    }
}

static int drain(Http1Reader *reader, const Setup *setup, Record *record)
{
    for (;;) {
        Http1Event event;
        int r = http1_reader_next(reader, &event);

        if (r == HTTP1_E_HELD) {
            http1_reader_release(reader);
            continue;
        }
        if (r != 0) {
            FUZZ_REQUIRE(r == HTTP1_E_AGAIN || r == HTTP1_E_CLOSED || r == HTTP1_E_REFUSED);
            return r;
        }
        if (event.kind == HTTP1_EVENT_HEAD) {
            record_head(record, setup, event.head);
        } else if (event.kind == HTTP1_EVENT_BODY) {
            FUZZ_REQUIRE(event.body.n > 0);
            frame_log_bytes(&record->body, event.body.p, event.body.n);
            FUZZ_REQUIRE(record->body.n <= setup->limits.max_body_bytes);
        } else {
            record_body(record);
            frame_log_event(&record->log, 'E', SPAN_NULL);
        }
    }
}

static int put(Http1Reader *reader, const Setup *setup, const char *p, size_t n)
{
    char *room = NULL;
    size_t n_room = 0;
    int r;

    if ((setup->flags & FLAG_RESERVE) == 0 || n == 0) {
        return http1_reader_feed(reader, p, n);
    }
    r = http1_reader_reserve(reader, n, &room, &n_room);
    if (r == 0) {
        FUZZ_REQUIRE(n_room >= n);
        memcpy(room, p, n);
        http1_reader_commit(reader, n);
    }
    return r;
}

static void read_all(const Setup *setup, size_t piece, Span stream, Record *record)
{
    Http1Reader reader;
    size_t at = 0;
    int r = HTTP1_E_AGAIN;

    http1_reader_init(&reader, setup->kind, setup->limits);
    if ((setup->flags & FLAG_HEAD) != 0) {
        http1_reader_expect_no_body(&reader);
    }
    for (size_t turn = 0; at < stream.n && r == HTTP1_E_AGAIN; turn++) {
        size_t n = frame_piece(piece, (setup->flags & FLAG_VARY) != 0, turn, stream.n - at);

        FUZZ_REQUIRE(put(&reader, setup, stream.p + at, n) == 0);
        at += n;
        r = drain(&reader, setup, record);
        /* Beside what comes in pieces, no more than a head is held. */
        FUZZ_REQUIRE(r != HTTP1_E_AGAIN ||
                     inq_unread(&reader.in).n <= setup->limits.max_head_bytes + n);
    }
    r = http1_reader_finish(&reader);
    (void)drain(&reader, setup, record);
    record_body(record);
    frame_log_event(&record->log, (char)('0' + r), SPAN_NULL);
    if (r == HTTP1_E_REFUSED) {
        char fault = (char)http1_reader_fault(&reader);

        FUZZ_REQUIRE(http1_fault_status(http1_reader_fault(&reader)) >= 400);
        frame_log_event(&record->log, 'F', span_make(&fault, 1));
    }
    http1_reader_deinit(&reader);
}

/* Everything of the writer, as bytes. */
static void transmit(Http1Writer *writer, FrameLog *wire)
{
    Span slices[3];

    while (http1_writer_pending(writer) > 0) {
        size_t n = http1_writer_pull(writer, slices, TW_ARRAY_SIZE(slices));
        size_t n_sent = 0;

        for (size_t i = 0; i < n; i++) {
            frame_log_bytes(wire, slices[i].p, slices[i].n);
            n_sent += slices[i].n;
        }
        http1_writer_consumed(writer, n_sent);
    }
}

/* Reads one message of ours and requires the body. */
static void require_body(Http1Kind kind, const FrameLog *wire, Span body, bool is_closed)
{
    Http1Reader reader;
    Http1Event event;
    size_t n = 0;
    int r;

    http1_reader_init(&reader, kind, HTTP1_LIMITS_DEFAULT(UINT64_MAX));
    FUZZ_REQUIRE(http1_reader_feed(&reader, wire->data, wire->n) == 0);
    FUZZ_REQUIRE(http1_reader_next(&reader, &event) == 0 && event.kind == HTTP1_EVENT_HEAD);
    while ((r = http1_reader_next(&reader, &event)) == 0 && event.kind == HTTP1_EVENT_BODY) {
        FUZZ_REQUIRE(event.body.n <= body.n - n);
        FUZZ_REQUIRE(memcmp(event.body.p, body.p + n, event.body.n) == 0);
        n += event.body.n;
    }
    if (is_closed) {
        FUZZ_REQUIRE(r == HTTP1_E_AGAIN && http1_reader_finish(&reader) == 0);
        r = http1_reader_next(&reader, &event);
    }
    FUZZ_REQUIRE(r == 0 && event.kind == HTTP1_EVENT_END && n == body.n);
    FUZZ_REQUIRE(inq_unread(&reader.in).n == 0);
    http1_reader_deinit(&reader);
}

/* Sends the stream itself as the value of a field, and as a body in each of the ways. */
static void write_and_read(const Setup *setup, Span stream)
{
    Http1Field fields[] = {{SPAN("Host"), SPAN("a")}, {SPAN("X"), stream}};
    Http1Answer answer = {.status = 200, .minor = setup->flags & 1, .keeps_alive = true};
    FrameLog wire = {NULL, 0, 0};
    Http1Writer writer;
    size_t n_field = stream.n < 1000 ? stream.n : 1000;
    int r;

    fields[1].value.n = n_field;
    answer.fields = fields;
    answer.n_fields = 2;
    http1_writer_init(&writer, SIZE_MAX);
    r = http1_writer_respond_lent(&writer, &answer, stream);
    FUZZ_REQUIRE(r == 0 || r == HTTP1_WRITER_E_FIELD);
    if (r == 0) {
        transmit(&writer, &wire);
        require_body(HTTP1_RESPONSES, &wire, stream, false);
    }
    answer.n_fields = 1;
    wire.n = 0;
    FUZZ_REQUIRE(http1_writer_begin(&writer, &answer) == 0);
    for (size_t at = 0; at < stream.n;) {
        size_t n = frame_piece(setup->piece, false, 0, stream.n - at);

        FUZZ_REQUIRE(http1_writer_piece(&writer, span_make(stream.p + at, n)) == 0);
        at += n;
    }
    FUZZ_REQUIRE(http1_writer_end(&writer) == 0);
    transmit(&writer, &wire);
    require_body(HTTP1_RESPONSES, &wire, stream, answer.minor == 0);
    wire.n = 0;
    r = http1_writer_request(&writer, SPAN("POST"), span_make(stream.p, n_field), fields, 1, true,
                             stream);
    if (r == 0 && stream.p[0] == '/') {
        transmit(&writer, &wire);
        require_body(HTTP1_REQUESTS, &wire, stream, false);
    }
    http1_writer_deinit(&writer);
    frame_log_free(&wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Record whole = {.log = {NULL, 0, 0}};
    Record pieces = {.log = {NULL, 0, 0}};
    Setup setup;
    Span stream;

    if (size < 3) {
        return 0;
    }
    setup = (Setup){.flags = data[0], .piece = data[1]};
    setup.kind = (setup.flags & FLAG_RESPONSES) != 0 ? HTTP1_RESPONSES : HTTP1_REQUESTS;
    setup.limits = HTTP1_LIMITS_DEFAULT(data[2]);
    if ((setup.flags & FLAG_SMALL) != 0) {
        setup.limits.max_head_bytes = 100;
        setup.limits.max_target_bytes = 8;
        setup.limits.max_fields = 3;
    }
    stream = span_make((const char *)data + 3, size - 3);
    stream.n = stream.n < INQ_AHEAD_BYTES ? stream.n : INQ_AHEAD_BYTES;
    read_all(&setup, 0, stream, &whole);
    read_all(&setup, setup.piece, stream, &pieces);
    frame_log_require_equal(&whole.log, &pieces.log);
    write_and_read(&setup, stream);
    record_free(&whole);
    record_free(&pieces);
    return 0;
}
