/* Every stream must give the same events whole, byte by byte and split anywhere, fed or read in
 * place. */
#include "frame/sse.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

#include "events.h"

static int put(SseReader *reader, const char *p, size_t n, bool in_place)
{
    char *room = NULL;
    size_t n_room = 0;
    int r;

    if (!in_place || n == 0) {
        return sse_reader_feed(reader, p, n);
    }
    r = sse_reader_reserve(reader, n, &room, &n_room);
    if (r == 0) {
        assert_true(n_room >= n);
        memcpy(room, p, n);
        sse_reader_commit(reader, n);
    }
    return r;
}

static void drain(SseReader *reader, Events *events)
{
    SseEvent event;

    while (sse_reader_next(reader, &event) == 0) {
        events_add_span(events, "E", event.type);
        events_add_span(events, "", event.data);
        events_add_span(events, "#", event.id);
    }
}

static void finish(const SseReader *reader, Events *events)
{
    int r = sse_reader_finish(reader);
    char text[40];

    if (sse_reader_retry_ms(reader) >= 0) {
        (void)snprintf(text, sizeof(text), " retry %lld", (long long)sse_reader_retry_ms(reader));
        events_add(events, text);
    }
    if (sse_reader_last_id(reader).n > 0) {
        events_add_span(events, " last", sse_reader_last_id(reader));
    }
    events_add(events, r == 0 ? " END" : r == SSE_E_INCOMPLETE ? " CUT" : " TOO_LARGE");
}

static void check_pieces(Span input, size_t max, const size_t *cuts, size_t n_cuts, bool in_place,
                         Span expected, const char *name)
{
    SseReader reader;
    Events events = {NULL, 0, 0};
    int r = 0;

    sse_reader_init(&reader, max);
    for (size_t i = 0; i + 1 < n_cuts && r == 0; i++) {
        GuardBuffer piece = guard_copy(input.p + cuts[i], cuts[i + 1] - cuts[i]);

        r = put(&reader, piece.p, piece.n, in_place);
        guard_free(&piece);
        assert_true(r == 0 || r == SSE_E_TOO_LARGE);
        drain(&reader, &events);
    }
    finish(&reader, &events);
    events_expect(&events, expected, name);
    events_deinit(&events);
    sse_reader_deinit(&reader);
}

static void check_all_ways(Span input, size_t max, Span expected, const char *name)
{
    size_t bytewise[256];

    assert_true(input.n < TW_ARRAY_SIZE(bytewise));
    for (size_t i = 0; i <= input.n; i++) {
        bytewise[i] = i;
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        check_pieces(input, max, bytewise, input.n + 1, in_place != 0, expected, name);
        for (size_t a = 0; a <= input.n; a++) {
            size_t cuts[] = {0, a, input.n};

            check_pieces(input, max, cuts, TW_ARRAY_SIZE(cuts), in_place != 0, expected, name);
        }
    }
}

typedef struct Case {
    const char *name;
    Span input;
    Span expected;
} Case;

static const Case cases[] = {
    {"nothing", TEXT(""), TEXT(" END")},
    {"one", TEXT("data: a\n\n"), TEXT("E()(a)#() END")},
    {"LF", TEXT("event: e\ndata: a\nid: 1\n\ndata: b\n\n"),
     TEXT("E(e)(a)#(1)E()(b)#(1) last(1) END")},
    {"CR", TEXT("event: e\rdata: a\rid: 1\r\rdata: b\r\r"),
     TEXT("E(e)(a)#(1)E()(b)#(1) last(1) END")},
    {"CRLF", TEXT("event: e\r\ndata: a\r\nid: 1\r\n\r\ndata: b\r\n\r\n"),
     TEXT("E(e)(a)#(1)E()(b)#(1) last(1) END")},
    {"mixed", TEXT("data: a\r\ndata: b\rdata: c\n\rdata: d\n\r\n"),
     TEXT("E()(a\nb\nc)#()E()(d)#() END")},
    {"LF CR is two ends", TEXT("data: a\n\rdata: b\n\n"), TEXT("E()(a)#()E()(b)#() END")},
    {"byte order mark",
     TEXT("\xEF\xBB\xBF"
          "data: a\n\n"),
     TEXT("E()(a)#() END")},
    {"only at the beginning, and once",
     TEXT("\xEF\xBB\xBF\xEF\xBB\xBF"
          "data: a\n\ndata: b\n\n"),
     TEXT("E()(b)#() END")},
    {"half a mark",
     TEXT("\xEF\xBB"
          "data: a\n\ndata: b\n\n"),
     TEXT("E()(b)#() END")},
    {"one blank is taken off", TEXT("data:a\ndata:  b\ndata: \tc\n\n"),
     TEXT("E()(a\n b\n\tc)#() END")},
    {"no colon is an empty value", TEXT("data\ndata\n\n"), TEXT("E()(\n)#() END")},
    {"empty data is an event", TEXT("id: 7\ndata:\n\n"), TEXT("E()()#(7) last(7) END")},
    {"without data there is none", TEXT("event: e\n\ndata: a\n\n"), TEXT("E()(a)#() END")},
    {"but its id counts", TEXT("id: 9\n\n"), TEXT(" last(9) END")},
    {"an id is kept, and can be emptied", TEXT("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"),
     TEXT("E()(a)#(1)E()(b)#(1)E()(c)#() END")},
    {"an id that is cut off does not count", TEXT("id: 1\n\nid: 2\n"), TEXT(" last(1) CUT")},
    {"an id with NUL is ignored", TEXT("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n"),
     TEXT("E()(a)#(1)E()(b)#(1) last(1) END")},
    {"NUL in data is data", TEXT("data: a\0b\n\n"), TEXT("E()(a\0b)#() END")},
    {"the last type counts", TEXT("event: a\nevent: b\ndata: x\n\n"), TEXT("E(b)(x)#() END")},
    {"names have case", TEXT("Data: a\ndata : b\n data: c\ndata: d\n\n"), TEXT("E()(d)#() END")},
    {"comments and others are ignored", TEXT(": data: x\n:\nfoo: bar\ndata: a\n: y\n\n:ping\n\n"),
     TEXT("E()(a)#() END")},
    {"retry", TEXT("retry: 1500\n\n"), TEXT(" retry 1500 END")},
    {"retry is digits", TEXT("retry: 5\nretry: 1s\nretry: -1\nretry:\nretry: +1\nretry:  1\n\n"),
     TEXT(" retry 5 END")},
    {"retry that nobody waits for", TEXT("retry: 99999999999999999999\n\n"), TEXT(" END")},
    {"cut", TEXT("data: a\n\ndata: b\n"), TEXT("E()(a)#() CUT")},
    {"cut in a line", TEXT("data: a\n\nda"), TEXT("E()(a)#() CUT")},
    {"ends in CR", TEXT("data: a\r\n\r"), TEXT("E()(a)#() END")},
};

static void cases_are_the_same_whole_bytewise_and_at_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        check_all_ways(cases[i].input, 64, cases[i].expected, cases[i].name);
    }
}

static void events_are_bounded(void **state)
{
    (void)state;
    check_all_ways(SPAN("data: 12345678\n\n"), 8, SPAN("E()(12345678)#() END"), "equality");
    check_all_ways(SPAN("data: a\n\ndata: 123456789\n\ndata: b\n\n"), 8,
                   SPAN("E()(a)#() TOO_LARGE"), "one above is final");
    check_all_ways(SPAN("data: 1234\ndata: 678\n\n"), 8, SPAN("E()(1234\n678)#() END"), "lines");
    check_all_ways(SPAN("data: 1234\ndata: 6789\n\n"), 8, SPAN(" TOO_LARGE"), "lines, one above");
    check_all_ways(SPAN("event: 12\nevent: 1234\nid: 12\ndata: 12\n\n"), 8,
                   SPAN("E(1234)(12)#(12) last(12) END"), "all of it");
    check_all_ways(SPAN("event: 1234\nid: 12\ndata: 123\n\n"), 8, SPAN(" TOO_LARGE"), "above");
    check_all_ways(SPAN("data: 12\nevent: 1234\nid: 123\n\n"), 8, SPAN(" TOO_LARGE"), "id");
    check_all_ways(SPAN(":345678901234567890123456789012345678\r67890\n\n"), 8, SPAN(" END"),
                   "a comment of 40");
    check_all_ways(SPAN(":2345678901234567890123456789012345678901\n\n"), 8, SPAN(" TOO_LARGE"),
                   "a comment of 41");
    check_all_ways(SPAN(":23456789012345678901234567890123456789012345"), 8, SPAN(" TOO_LARGE"),
                   "without an end");
}

static void a_refusal_is_final(void **state)
{
    SseReader reader;
    SseEvent event;
    char *room;
    size_t n_room;

    (void)state;
    sse_reader_init(&reader, 1);
    assert_int_equal(sse_reader_feed(&reader, "data: 12\n", 9), 0);
    assert_int_equal(sse_reader_next(&reader, &event), SSE_E_TOO_LARGE);
    assert_int_equal(sse_reader_next(&reader, &event), SSE_E_TOO_LARGE);
    assert_int_equal(sse_reader_feed(&reader, "\n", 1), SSE_E_TOO_LARGE);
    assert_int_equal(sse_reader_reserve(&reader, 9, &room, &n_room), SSE_E_TOO_LARGE);
    assert_int_equal(sse_reader_finish(&reader), SSE_E_TOO_LARGE);
    sse_reader_deinit(&reader);
    sse_reader_deinit(&reader);
}

/* Lines that end in CR must not each search all that has come for an LF. */
static void any_ends_of_lines_are_linear_work(void **state)
{
    size_t n = 600000;
    char *data = malloc(n);
    const char ends[] = {'\r', '\n'};

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < sizeof(ends); i++) {
        SseReader reader;
        SseEvent event;

        memset(data, ends[i], n);
        sse_reader_init(&reader, 1000);
        assert_int_equal(sse_reader_feed(&reader, data, n), 0);
        assert_int_equal(sse_reader_next(&reader, &event), SSE_E_AGAIN);
        assert_true(reader.n_scanned <= 256 * n);
        assert_int_equal(sse_reader_finish(&reader), 0);
        sse_reader_deinit(&reader);
    }
    free(data);
}

static void a_long_line_is_searched_once(void **state)
{
    static char piece[1000];
    SseReader reader;
    SseEvent event;

    (void)state;
    memset(piece, 'x', sizeof(piece));
    sse_reader_init(&reader, 10000000);
    assert_int_equal(sse_reader_feed(&reader, "data:", 5), 0);
    for (size_t i = 0; i < 2000; i++) {
        assert_int_equal(sse_reader_feed(&reader, piece, sizeof(piece)), 0);
        assert_int_equal(sse_reader_next(&reader, &event), SSE_E_AGAIN);
    }
    assert_int_equal(sse_reader_feed(&reader, "\n\n", 2), 0);
    assert_int_equal(sse_reader_next(&reader, &event), 0);
    assert_int_equal(event.data.n, 2000000);
    assert_true(reader.n_scanned <= 2000000 + 1000);
    assert_int_equal(sse_reader_next(&reader, &event), SSE_E_AGAIN);
    /* The memory of the large one is not kept. */
    assert_true(reader.data.cap <= LIMIT_KEEP_BYTES);
    sse_reader_deinit(&reader);
}

static void steady_traffic_allocates_nothing(void **state)
{
    Span stream = SPAN("event: message\nid: 12\ndata: {\"jsonrpc\":\"2.0\"}\n\n");
    SseReader reader;
    SseEvent event;

    (void)state;
    sse_reader_init(&reader, 1000);
    for (size_t round = 0; round < 50; round++) {
        if (round == 5) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        assert_int_equal(sse_reader_feed(&reader, stream.p, stream.n), 0);
        assert_int_equal(sse_reader_next(&reader, &event), 0);
        assert_int_equal(sse_reader_next(&reader, &event), SSE_E_AGAIN);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    sse_reader_deinit(&reader);
}

/* What failed is tried again when there is memory: nothing may be lost by a failure. */
static int read_scenario(void *context)
{
    static char filler[3000];
    bool in_place = *(bool *)context;
    Span parts[] = {SPAN("event: ping\nid: first\nid: 1\ndata: "), SPAN_NULL,
                    SPAN("\ndata: end\n\nid: 2\ndata: b\n\n")};
    SseReader reader;
    SseEvent event;
    int first = 0;
    int r;

    memset(filler, 'x', sizeof(filler));
    parts[1] = span_make(filler, sizeof(filler));
    sse_reader_init(&reader, 10000);
    for (size_t i = 0; i < TW_ARRAY_SIZE(parts); i++) {
        r = put(&reader, parts[i].p, parts[i].n, in_place);
        if (r != 0) {
            first = r;
            alloc_testing()->fail_at = ALLOC_TESTING_NEVER;
            r = put(&reader, parts[i].p, parts[i].n, in_place);
        }
        assert_int_equal(r, 0);
    }
    for (size_t i = 0; i < 2; i++) {
        r = sse_reader_next(&reader, &event);
        if (r != 0) {
            first = r;
            alloc_testing()->fail_at = ALLOC_TESTING_NEVER;
            r = sse_reader_next(&reader, &event);
        }
        assert_int_equal(r, 0);
        assert_int_equal(event.data.n, i == 0 ? 3004 : 1);
        assert_true(span_equals(event.type, i == 0 ? SPAN("ping") : SPAN("")));
        assert_true(span_equals(event.id, i == 0 ? SPAN("1") : SPAN("2")));
    }
    sse_reader_deinit(&reader);
    return first;
}

static void reader_survives_every_failing_allocation(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        bool in_place = i == 1;

        test_oom_sweep(read_scenario, &in_place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_the_same_whole_bytewise_and_at_every_split),
        cmocka_unit_test(events_are_bounded),
        cmocka_unit_test(a_refusal_is_final),
        cmocka_unit_test(any_ends_of_lines_are_linear_work),
        cmocka_unit_test(a_long_line_is_searched_once),
        cmocka_unit_test(steady_traffic_allocates_nothing),
        cmocka_unit_test(reader_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
