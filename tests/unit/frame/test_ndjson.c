/* Every input must give the same events whole, byte by byte and split anywhere, fed or read in
 * place. */
#include "frame/ndjson.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

#include "events.h"

/* How bytes get into the reader. */
enum {
    BY_FEED,
    BY_RESERVE,
    N_WAYS
};

static int put(NdjsonReader *reader, const char *p, size_t n, int way)
{
    while (way == BY_RESERVE && n > 0) {
        char *room = NULL;
        size_t n_room = 0;
        int r = ndjson_reader_reserve(reader, n, &room, &n_room);

        if (r != 0) {
            return r;
        }
        assert_true(n_room >= n);
        memcpy(room, p, n);
        ndjson_reader_commit(reader, n);
        return 0;
    }
    return ndjson_reader_feed(reader, p, n);
}

static void drain(NdjsonReader *reader, Events *events)
{
    for (;;) {
        Span message = SPAN_NULL;
        int r = ndjson_reader_next(reader, &message);

        if (r == NDJSON_E_AGAIN) {
            return;
        }
        if (r == NDJSON_E_TOO_LONG) {
            events_add(events, "TOO_LONG");
            continue;
        }
        assert_int_equal(r, 0);
        events_add_span(events, "M", message);
    }
}

static void finish(const NdjsonReader *reader, Events *events)
{
    Span rest = SPAN_NULL;
    int r = ndjson_reader_finish(reader, &rest);

    if (r == NDJSON_E_INCOMPLETE) {
        events_add_span(events, "REST", rest);
    } else {
        assert_int_equal(r, 0);
        events_add(events, "END");
    }
}

/* Puts the three pieces [0, a), [a, b), [b, n), each ending at an unreadable page. */
static void check_split(Span input, size_t max, size_t a, size_t b, int way, Span expected,
                        const char *name)
{
    size_t cuts[] = {0, a, b, input.n};
    NdjsonReader reader;
    Events events = {NULL, 0, 0};

    ndjson_reader_init(&reader, max);
    for (size_t i = 0; i + 1 < TW_ARRAY_SIZE(cuts); i++) {
        GuardBuffer piece = guard_copy(input.p + cuts[i], cuts[i + 1] - cuts[i]);

        assert_int_equal(put(&reader, piece.p, piece.n, way), 0);
        guard_free(&piece);
        drain(&reader, &events);
    }
    finish(&reader, &events);
    events_expect(&events, expected, name);
    events_deinit(&events);
    ndjson_reader_deinit(&reader);
}

static void check_bytewise(Span input, size_t max, int way, Span expected, const char *name)
{
    NdjsonReader reader;
    Events events = {NULL, 0, 0};

    ndjson_reader_init(&reader, max);
    for (size_t i = 0; i < input.n; i++) {
        assert_int_equal(put(&reader, input.p + i, 1, way), 0);
        drain(&reader, &events);
    }
    finish(&reader, &events);
    events_expect(&events, expected, name);
    assert_int_equal(reader.n_scanned, input.n);
    events_deinit(&events);
    ndjson_reader_deinit(&reader);
}

static void check_all_ways(Span input, size_t max, Span expected, const char *name)
{
    for (int way = 0; way < N_WAYS; way++) {
        check_bytewise(input, max, way, expected, name);
        for (size_t a = 0; a <= input.n; a++) {
            for (size_t b = a; b <= input.n; b++) {
                check_split(input, max, a, b, way, expected, name);
            }
        }
    }
}

typedef struct Case {
    const char *name;
    Span input;
    size_t max;
    Span expected;
} Case;

static const Case cases[] = {
    {"nothing", TEXT(""), 8, TEXT("END")},
    {"one line", TEXT("{}\n"), 8, TEXT("M({})END")},
    {"two lines", TEXT("{}\n[1]\n"), 8, TEXT("M({})M([1])END")},
    {"crlf", TEXT("{}\r\n[1]\r\n"), 8, TEXT("M({})M([1])END")},
    {"only one CR is taken off", TEXT("{}\r\r\n"), 8, TEXT("M({}\r)END")},
    {"a lone CR ends no line", TEXT("1\r2\n3\r"), 8, TEXT("M(1\r2)REST(3)")},
    {"blank lines are skipped", TEXT("\n\r\n \n\t\r\n\r\r\n1\n\n"), 8, TEXT("M(1)END")},
    {"indented lines are kept whole", TEXT(" 1 \n"), 8, TEXT("M( 1 )END")},
    {"NUL bytes are content", TEXT("\0\na\0b\n\0"), 8, TEXT("M(\0)M(a\0b)REST(\0)")},
    {"high bytes and U+2028 are content", TEXT("\xE2\x80\xA8\xFF\n"), 8,
     TEXT("M(\xE2\x80\xA8\xFF)END")},
    {"limit equality passes", TEXT("1234\n"), 4, TEXT("M(1234)END")},
    {"the CR does not count", TEXT("1234\r\n"), 4, TEXT("M(1234)END")},
    {"the second CR does", TEXT("1234\r\r\n5\n"), 4, TEXT("TOO_LONGM(5)END")},
    {"one above is too long", TEXT("12345\n6\n"), 4, TEXT("TOO_LONGM(6)END")},
    {"far above is reported once", TEXT("1\n1234567890123\n2\n"), 4, TEXT("M(1)TOO_LONGM(2)END")},
    {"two in a row are two reports", TEXT("123456\n123456\r\n2\n"), 4,
     TEXT("TOO_LONGTOO_LONGM(2)END")},
    {"CR inside an over-long line", TEXT("1234\r6\n2\n"), 4, TEXT("TOO_LONGM(2)END")},
    {"over-long and never ended", TEXT("1\n123456"), 4, TEXT("M(1)TOO_LONGEND")},
    {"a blank line can be too long", TEXT("      \n2\n"), 4, TEXT("TOO_LONGM(2)END")},
    {"no newline at the end", TEXT("1\n23"), 4, TEXT("M(1)REST(23)")},
    {"CR at the end may belong to the limit", TEXT("1234\r"), 4, TEXT("REST(1234)")},
    {"blank rest is nothing", TEXT("1\n \r"), 4, TEXT("M(1)END")},
    {"limit 0 lets blank lines pass only", TEXT("\r\n1\n\n"), 0, TEXT("TOO_LONGEND")},
};

static void on_dropped(void *context, Span piece)
{
    Bytes *dropped = context;

    assert_int_equal(bytes_append_span(dropped, piece), 0);
}

/* Who watches sees every byte of a line that is too long, and is told of it at its end. */
static void what_is_dropped_is_shown_before_it_is_reported(void **state)
{
    static const char input[] = "1\n1234567890\n2\nabcde\r6\n3\n987654";

    (void)state;
    for (int way = 0; way < N_WAYS; way++) {
        for (size_t step = 1; step < sizeof(input); step++) {
            NdjsonReader reader;
            Events events = {NULL, 0, 0};
            Bytes dropped;
            Span rest = SPAN_NULL;

            bytes_init(&dropped, 100);
            ndjson_reader_init(&reader, 4);
            ndjson_reader_watch(&reader, on_dropped, &dropped);
            for (size_t at = 0; at < sizeof(input) - 1; at += step) {
                size_t n = sizeof(input) - 1 - at < step ? sizeof(input) - 1 - at : step;
                Span message = SPAN_NULL;
                int r;

                assert_int_equal(put(&reader, input + at, n, way), 0);
                while ((r = ndjson_reader_next(&reader, &message)) != NDJSON_E_AGAIN) {
                    if (r == 0) {
                        events_add_span(&events, "M", message);
                        continue;
                    }
                    assert_int_equal(r, NDJSON_E_TOO_LONG);
                    events_add_span(&events, "D", bytes_span(&dropped));
                    bytes_clear(&dropped);
                }
            }
            events_expect(&events, SPAN("M(1)D(1234567890)M(2)D(abcde\r6)M(3)"), "watched");
            assert_int_equal(ndjson_reader_finish(&reader, &rest), NDJSON_E_TOO_LONG);
            assert_true(span_equals(bytes_span(&dropped), SPAN("987654")));
            events_deinit(&events);
            bytes_deinit(&dropped);
            ndjson_reader_deinit(&reader);
        }
    }
}

static void cases_are_the_same_whole_bytewise_and_at_every_pair_of_splits(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        check_all_ways(cases[i].input, cases[i].max, cases[i].expected, cases[i].name);
    }
}

static void over_long_lines_are_found_at_every_limit_and_split(void **state)
{
    Span input = SPAN("ab\nabcdefghij\r\nabc\n");

    (void)state;
    for (size_t max = 0; max <= 12; max++) {
        char expected[80];
        int n = snprintf(expected, sizeof(expected), "%s%s%sEND", max < 2 ? "TOO_LONG" : "M(ab)",
                         max < 10 ? "TOO_LONG" : "M(abcdefghij)", max < 3 ? "TOO_LONG" : "M(abc)");

        check_all_ways(input, max, span_make(expected, (size_t)n), "limit sweep");
    }
}

static void an_over_long_line_is_not_buffered(void **state)
{
    char chunk[4096];
    NdjsonReader reader;
    Events events = {NULL, 0, 0};

    (void)state;
    memset(chunk, 'x', sizeof(chunk));
    for (int way = 0; way < N_WAYS; way++) {
        ndjson_reader_init(&reader, 1000);
        for (int i = 0; i < 2560; i++) {
            assert_int_equal(put(&reader, chunk, sizeof(chunk), way), 0);
            drain(&reader, &events);
        }
        assert_true(reader.in.cap <= 2 * sizeof(chunk));
        assert_int_equal(put(&reader, "\n1\n", 3, way), 0);
        drain(&reader, &events);
        finish(&reader, &events);
        events_expect(&events, SPAN("TOO_LONGM(1)END"), "10 MiB line, limit 1000");
        events_deinit(&events);
        ndjson_reader_deinit(&reader);
    }
}

static void feeding_while_skipped_bytes_are_unread_keeps_their_order(void **state)
{
    NdjsonReader reader;
    Events events = {NULL, 0, 0};

    (void)state;
    ndjson_reader_init(&reader, 2);
    assert_int_equal(ndjson_reader_feed(&reader, "12345", 5), 0);
    drain(&reader, &events);
    assert_int_equal(put(&reader, "67\n1\n", 5, BY_RESERVE), 0);
    assert_int_equal(ndjson_reader_feed(&reader, "2\n", 2), 0);
    drain(&reader, &events);
    events_expect(&events, SPAN("TOO_LONGM(1)M(2)"), "commit, then feed");
    events_deinit(&events);
    ndjson_reader_deinit(&reader);
}

static void messages_stay_borrowed_until_the_next_feed(void **state)
{
    NdjsonReader reader;
    Span a;
    Span b;

    (void)state;
    ndjson_reader_init(&reader, 100);
    assert_int_equal(ndjson_reader_feed(&reader, "first\nsecond\n", 13), 0);
    assert_int_equal(ndjson_reader_next(&reader, &a), 0);
    assert_int_equal(ndjson_reader_next(&reader, &b), 0);
    assert_int_equal(ndjson_reader_next(&reader, &b), NDJSON_E_AGAIN);
    assert_true(span_equals(a, SPAN("first")));
    assert_true(span_equals(b, SPAN("second")));
    ndjson_reader_deinit(&reader);
}

static void a_reader_that_is_not_drained_becomes_full(void **state)
{
    static char lines[64 * 1024];
    NdjsonReader reader;
    char *room;
    size_t n_room;
    size_t n_fed = 0;
    Span message;
    int r = 0;

    (void)state;
    memset(lines, '\n', sizeof(lines));
    ndjson_reader_init(&reader, 100);
    while (r == 0 && n_fed < 4 * INQ_AHEAD_BYTES) {
        r = ndjson_reader_feed(&reader, lines, sizeof(lines));
        n_fed += r == 0 ? sizeof(lines) : 0;
    }
    assert_int_equal(r, NDJSON_E_FULL);
    assert_true(n_fed >= INQ_AHEAD_BYTES);
    assert_int_equal(ndjson_reader_reserve(&reader, sizeof(lines), &room, &n_room), NDJSON_E_FULL);
    assert_int_equal(ndjson_reader_next(&reader, &message), NDJSON_E_AGAIN);
    assert_int_equal(ndjson_reader_feed(&reader, lines, sizeof(lines)), 0);
    ndjson_reader_deinit(&reader);
}

static void steady_traffic_allocates_nothing(void **state)
{
    static char chunk[100 * 50];
    NdjsonReader reader;
    size_t n_messages = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(chunk); i += 50) {
        memset(chunk + i, 'x', 49);
        chunk[i + 49] = '\n';
    }
    ndjson_reader_init(&reader, 1024);
    for (size_t round = 0; round < 110; round++) {
        Span message;

        if (round == 10) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        /* The second piece begins inside a line, so that there is always something to carry over.
         */
        assert_int_equal(put(&reader, chunk, 2520, BY_RESERVE), 0);
        while (ndjson_reader_next(&reader, &message) == 0) {
            n_messages++;
        }
        assert_int_equal(ndjson_reader_feed(&reader, chunk + 2520, sizeof(chunk) - 2520), 0);
        while (ndjson_reader_next(&reader, &message) == 0) {
            n_messages++;
        }
    }
    assert_int_equal(n_messages, 11000);
    assert_int_equal(alloc_testing()->n_calls, 0);
    ndjson_reader_deinit(&reader);
}

static void a_large_line_fed_byte_by_byte_is_linear_work(void **state)
{
    size_t n = (size_t)4 * 1024 * 1024;
    NdjsonReader reader;
    Span message;

    (void)state;
    ndjson_reader_init(&reader, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ndjson_reader_feed(&reader, "x", 1), 0);
        if (ndjson_reader_next(&reader, &message) != NDJSON_E_AGAIN) {
            fail_msg("message before its newline");
        }
    }
    assert_int_equal(ndjson_reader_feed(&reader, "\n", 1), 0);
    assert_int_equal(ndjson_reader_next(&reader, &message), 0);
    assert_int_equal(message.n, n);
    assert_int_equal(reader.n_scanned, n + 1);
    assert_true(reader.in.n_moved <= 2 * n);
    /* And its memory goes back, at once or with the next use. */
    ndjson_reader_trim(&reader);
    assert_int_equal(reader.in.cap, 0);
    ndjson_reader_deinit(&reader);
}

static void many_tiny_messages_in_one_feed_are_linear_work(void **state)
{
    size_t n_messages = 200000;
    size_t n = n_messages * 3;
    char *data = malloc(n);
    NdjsonReader reader;
    Span message;

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < n; i += 3) {
        memcpy(data + i, "{}\n", 3);
    }
    ndjson_reader_init(&reader, 100);
    assert_int_equal(ndjson_reader_feed(&reader, data, n), 0);
    for (size_t i = 0; i < n_messages; i++) {
        /* A transport that reads more after each message must not make it quadratic either. */
        assert_int_equal(ndjson_reader_next(&reader, &message), 0);
        assert_int_equal(ndjson_reader_feed(&reader, "1\n", 2), 0);
    }
    for (size_t i = 0; i < n_messages; i++) {
        assert_int_equal(ndjson_reader_next(&reader, &message), 0);
    }
    assert_int_equal(ndjson_reader_next(&reader, &message), NDJSON_E_AGAIN);
    assert_int_equal(reader.n_scanned, n + 2 * n_messages);
    assert_true(reader.in.n_moved <= 3 * (n + 2 * n_messages));
    ndjson_reader_deinit(&reader);
    free(data);
}

static void storage_above_the_kept_size_is_given_back_after_smaller_messages(void **state)
{
    static char big[LIMIT_KEEP_BYTES + 1];
    NdjsonReader reader;
    Span message;
    char *room;
    size_t n_room;

    (void)state;
    memset(big, 'x', sizeof(big));
    big[sizeof(big) - 1] = '\n';
    ndjson_reader_init(&reader, sizeof(big));
    assert_int_equal(ndjson_reader_feed(&reader, big, sizeof(big)), 0);
    assert_int_equal(ndjson_reader_next(&reader, &message), 0);
    ndjson_reader_trim(&reader);
    assert_int_equal(reader.in.cap, 0);
    assert_int_equal(ndjson_reader_feed(&reader, big, sizeof(big)), 0);
    ndjson_reader_trim(&reader);
    assert_int_equal(ndjson_reader_next(&reader, &message), 0);
    /* Kept while every message needs it, and as long as nothing comes. */
    assert_int_equal(ndjson_reader_reserve(&reader, 4096, &room, &n_room), 0);
    assert_int_equal(ndjson_reader_reserve(&reader, 4096, &room, &n_room), 0);
    assert_true(reader.in.cap > LIMIT_KEEP_BYTES);
    memcpy(room, "{}\n", 3);
    ndjson_reader_commit(&reader, 3);
    assert_int_equal(ndjson_reader_next(&reader, &message), 0);
    assert_int_equal(ndjson_reader_reserve(&reader, 4096, &room, &n_room), 0);
    assert_true(reader.in.cap <= LIMIT_KEEP_BYTES);
    ndjson_reader_deinit(&reader);
    ndjson_reader_deinit(&reader);
}

static void no_limit_at_all_is_a_legal_limit(void **state)
{
    (void)state;
    check_split(SPAN("12\n3"), SIZE_MAX, 1, 2, BY_RESERVE, SPAN("M(12)REST(3)"), "SIZE_MAX");
}

static int read_scenario(void *context)
{
    Span input = SPAN("{\"a\":1}\n12345678901234567890\n[2]\nrest");
    int way = *(int *)context;
    NdjsonReader reader;
    Events events = {NULL, 0, 0};
    int r = 0;

    ndjson_reader_init(&reader, 10);
    for (size_t i = 0; i < input.n && r == 0; i += 6) {
        r = put(&reader, input.p + i, input.n - i < 6 ? input.n - i : 6, way);
        drain(&reader, &events);
    }
    if (r == 0) {
        finish(&reader, &events);
        events_expect(&events, SPAN("M({\"a\":1})TOO_LONGM([2])REST(rest)"), "out of memory");
    }
    events_deinit(&events);
    ndjson_reader_deinit(&reader);
    return r;
}

static void reader_survives_every_failing_allocation(void **state)
{
    (void)state;
    for (int way = 0; way < N_WAYS; way++) {
        test_oom_sweep(read_scenario, &way);
    }
}

/* A failed feed takes nothing: the same bytes can be fed again when there is memory. */
static void a_failed_feed_can_be_repeated(void **state)
{
    NdjsonReader reader;
    Events events = {NULL, 0, 0};

    (void)state;
    ndjson_reader_init(&reader, 3);
    alloc_testing_reset(0);
    assert_int_equal(ndjson_reader_feed(&reader, "12345", 5), -ENOMEM);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(ndjson_reader_feed(&reader, "12345", 5), 0);
    drain(&reader, &events);
    /* Skipping now, and the rest behind the newline does not fit into what is allocated. */
    inq_deinit(&reader.in);
    inq_init(&reader.in, 10);
    alloc_testing_reset(0);
    assert_int_equal(ndjson_reader_feed(&reader, "6\n7\n", 4), -ENOMEM);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(ndjson_reader_feed(&reader, "6\n7\n", 4), 0);
    drain(&reader, &events);
    events_expect(&events, SPAN("TOO_LONGM(7)"), "repeated feed");
    events_deinit(&events);
    ndjson_reader_deinit(&reader);
}

/* All pending output as one event text, consumed. */
static void sent(NdjsonWriter *writer, Events *events)
{
    Span slices[4];

    while (ndjson_writer_pending(writer) > 0) {
        size_t n = ndjson_writer_pull(writer, slices, TW_ARRAY_SIZE(slices));
        size_t n_bytes = 0;

        for (size_t i = 0; i < n; i++) {
            events_add_bytes(events, slices[i].p, slices[i].n);
            n_bytes += slices[i].n;
        }
        ndjson_writer_consumed(writer, n_bytes);
    }
    assert_int_equal(ndjson_writer_pull(writer, slices, TW_ARRAY_SIZE(slices)), 0);
    ndjson_writer_consumed(writer, 0);
}

static void writer_frames_and_refuses(void **state)
{
    NdjsonWriter writer;
    Events events = {NULL, 0, 0};
    Bytes taken;

    (void)state;
    ndjson_writer_init(&writer, 6, 11);
    bytes_init(&taken, 100);
    assert_int_equal(ndjson_writer_push(&writer, SPAN("{}")), 0);
    assert_int_equal(ndjson_writer_push(&writer, SPAN("{\n}")), NDJSON_E_NEWLINE);
    assert_int_equal(ndjson_writer_push(&writer, SPAN("{}\n")), NDJSON_E_NEWLINE);
    assert_int_equal(ndjson_writer_push(&writer, SPAN("1234567")), NDJSON_E_TOO_LONG);
    assert_int_equal(ndjson_writer_push(&writer, SPAN("123456")), 0);
    assert_int_equal(ndjson_writer_push(&writer, SPAN("12")), NDJSON_E_FULL);
    assert_int_equal(bytes_append_span(&taken, SPAN("2\n")), 0);
    assert_int_equal(ndjson_writer_push_taken(&writer, &taken), NDJSON_E_NEWLINE);
    taken.n = 1;
    assert_int_equal(ndjson_writer_push_taken(&writer, &taken), NDJSON_E_FULL);
    assert_int_equal(taken.n, 1);
    assert_int_equal(ndjson_writer_pending(&writer), 10);
    sent(&writer, &events);
    assert_int_equal(ndjson_writer_push_taken(&writer, &taken), 0);
    assert_int_equal(taken.n, 0);
    assert_int_equal(taken.max_bytes, 100);
    sent(&writer, &events);
    events_expect(&events, SPAN("{}\n123456\n2\n"), "writer");
    events_deinit(&events);
    bytes_deinit(&taken);
    ndjson_writer_deinit(&writer);
    ndjson_writer_deinit(&writer);
}

static void writer_composes_in_place(void **state)
{
    NdjsonWriter writer;
    Events events = {NULL, 0, 0};
    Bytes *out;

    (void)state;
    ndjson_writer_init(&writer, 6, 10);
    ndjson_writer_abort(&writer);
    assert_int_equal(ndjson_writer_begin(&writer, &out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("[1]")), 0);
    assert_int_equal(ndjson_writer_commit(&writer), 0);
    assert_int_equal(ndjson_writer_begin(&writer, &out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("[\n]")), 0);
    assert_int_equal(ndjson_writer_commit(&writer), NDJSON_E_NEWLINE);
    assert_int_equal(ndjson_writer_begin(&writer, &out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("1234567")), BYTES_E_FULL);
    assert_int_equal(bytes_append_span(out, SPAN("123456")), 0);
    assert_int_equal(ndjson_writer_commit(&writer), NDJSON_E_FULL);
    assert_int_equal(ndjson_writer_begin(&writer, &out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("gone")), 0);
    ndjson_writer_abort(&writer);
    assert_int_equal(ndjson_writer_pending(&writer), 4);
    assert_int_equal(ndjson_writer_begin(&writer, &out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("[2]")), 0);
    assert_int_equal(ndjson_writer_commit(&writer), 0);
    sent(&writer, &events);
    assert_int_equal(ndjson_writer_begin(&writer, &out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("1234567")), 0);
    assert_int_equal(ndjson_writer_commit(&writer), NDJSON_E_TOO_LONG);
    sent(&writer, &events);
    events_expect(&events, SPAN("[1]\n[2]\n"), "composed");
    events_deinit(&events);
    ndjson_writer_deinit(&writer);
}

/* "[" lent "]" */
static int commit_lent(NdjsonWriter *writer, Span lent)
{
    Bytes *out;

    assert_int_equal(ndjson_writer_begin(writer, &out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("[]")), 0);
    return ndjson_writer_commit_lent(writer, (BytesLent){.at = 1, .span = lent});
}

static void a_lent_part_counts_and_is_looked_at(void **state)
{
    char lent[] = "lent";
    NdjsonWriter writer;
    Events events = {NULL, 0, 0};

    (void)state;
    ndjson_writer_init(&writer, 6, 17);
    assert_int_equal(commit_lent(&writer, SPAN("12345")), NDJSON_E_TOO_LONG);
    assert_int_equal(commit_lent(&writer, SPAN("1234567")), NDJSON_E_TOO_LONG);
    assert_int_equal(commit_lent(&writer, span_make(lent, SIZE_MAX)), NDJSON_E_TOO_LONG);
    assert_int_equal(commit_lent(&writer, SPAN("\n234")), NDJSON_E_NEWLINE);
    assert_int_equal(commit_lent(&writer, SPAN("123\n")), NDJSON_E_NEWLINE);
    assert_int_equal(ndjson_writer_pending(&writer), 0);
    assert_int_equal(commit_lent(&writer, span_from_str(lent)), 0);
    assert_int_equal(commit_lent(&writer, SPAN("1234")), 0);
    assert_int_equal(ndjson_writer_pending(&writer), 14);
    assert_int_equal(commit_lent(&writer, SPAN("1")), NDJSON_E_FULL);
    assert_int_equal(ndjson_writer_pending(&writer), 14);
    assert_int_equal(ndjson_writer_own(&writer), 0);
    memset(lent, '?', 4);
    assert_int_equal(ndjson_writer_push(&writer, SPAN("")), 0);
    sent(&writer, &events);
    events_expect(&events, SPAN("[lent]\n[1234]\n\n"), "lent");
    events_deinit(&events);
    ndjson_writer_deinit(&writer);
}

/* What feed promises, at the one size where it is tight: a message of the maximal length and its CR
 * are waiting for the newline. */
static void a_full_read_is_accepted_behind_the_longest_unfinished_line(void **state)
{
    char *ahead = calloc(1, INQ_AHEAD_BYTES);
    NdjsonReader reader;
    Span message;

    (void)state;
    assert_non_null(ahead);
    ndjson_reader_init(&reader, 8);
    assert_int_equal(ndjson_reader_feed(&reader, "[1,2,34]\r", 9), 0);
    assert_int_equal(ndjson_reader_next(&reader, &message), NDJSON_E_AGAIN);
    ahead[0] = '\n';
    assert_int_equal(ndjson_reader_feed(&reader, ahead, INQ_AHEAD_BYTES), 0);
    assert_int_equal(ndjson_reader_next(&reader, &message), 0);
    assert_int_equal(message.n, 8);
    ndjson_reader_deinit(&reader);
    free(ahead);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_the_same_whole_bytewise_and_at_every_pair_of_splits),
        cmocka_unit_test(what_is_dropped_is_shown_before_it_is_reported),
        cmocka_unit_test(over_long_lines_are_found_at_every_limit_and_split),
        cmocka_unit_test(an_over_long_line_is_not_buffered),
        cmocka_unit_test(feeding_while_skipped_bytes_are_unread_keeps_their_order),
        cmocka_unit_test(messages_stay_borrowed_until_the_next_feed),
        cmocka_unit_test(a_reader_that_is_not_drained_becomes_full),
        cmocka_unit_test(steady_traffic_allocates_nothing),
        cmocka_unit_test(a_large_line_fed_byte_by_byte_is_linear_work),
        cmocka_unit_test(many_tiny_messages_in_one_feed_are_linear_work),
        cmocka_unit_test(storage_above_the_kept_size_is_given_back_after_smaller_messages),
        cmocka_unit_test(no_limit_at_all_is_a_legal_limit),
        cmocka_unit_test(reader_survives_every_failing_allocation),
        cmocka_unit_test(a_failed_feed_can_be_repeated),
        cmocka_unit_test(writer_frames_and_refuses),
        cmocka_unit_test(writer_composes_in_place),
        cmocka_unit_test(a_lent_part_counts_and_is_looked_at),
        cmocka_unit_test(a_full_read_is_accepted_behind_the_longest_unfinished_line),
    };

    return cmocka_run_group_tests_name("frame/ndjson", tests, NULL, NULL);
}
