/* Every input must give the same events whole, byte by byte and split anywhere, fed or read in
 * place. */
#include "frame/len32.h"

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

enum {
    BY_FEED,
    BY_RESERVE,
    BY_SMALL_RESERVE, /* wants less than is there, so that frames count as large */
    N_WAYS
};

#define SMALL_WANT 3

/* The reader may offer less room than there are bytes: then in several rounds, as a transport
 * would. */
static int put(Len32Reader *reader, const char *p, size_t n, int way)
{
    if (way == BY_FEED) {
        return len32_reader_feed(reader, p, n);
    }
    while (n > 0) {
        char *room = NULL;
        size_t n_room = 0;
        int r = len32_reader_reserve(reader, way == BY_RESERVE ? n : SMALL_WANT, &room, &n_room);

        if (r != 0) {
            return r;
        }
        assert_true(n_room > 0);
        n_room = n_room < n ? n_room : n;
        memcpy(room, p, n_room);
        len32_reader_commit(reader, n_room);
        p += n_room;
        n -= n_room;
    }
    return 0;
}

static void drain(Len32Reader *reader, Events *events)
{
    for (;;) {
        Span message = SPAN_NULL;
        int r = len32_reader_next(reader, &message);

        if (r != 0) {
            assert_true(r == LEN32_E_AGAIN || r == LEN32_E_TOO_LARGE);
            return;
        }
        events_add_span(events, "M", message);
    }
}

static void finish(const Len32Reader *reader, Events *events)
{
    Span rest = SPAN_NULL;
    int r = len32_reader_finish(reader, &rest);
    char text[40];

    if (r == LEN32_E_INCOMPLETE) {
        events_add_span(events, "REST", rest);
    } else if (r == LEN32_E_TOO_LARGE) {
        (void)snprintf(text, sizeof(text), "TOO_LARGE %u", (unsigned)len32_reader_declared(reader));
        events_add(events, text);
    } else {
        assert_int_equal(r, 0);
        events_add(events, "END");
    }
}

static void check_pieces(Len32Order order, Span input, uint32_t max, const size_t *cuts,
                         size_t n_cuts, int way, Span expected, const char *name)
{
    Len32Reader reader;
    Events events = {NULL, 0, 0};
    int r = 0;

    len32_reader_init(&reader, order, max);
    for (size_t i = 0; i + 1 < n_cuts && r == 0; i++) {
        GuardBuffer piece = guard_copy(input.p + cuts[i], cuts[i + 1] - cuts[i]);

        r = put(&reader, piece.p, piece.n, way);
        guard_free(&piece);
        assert_true(r == 0 || r == LEN32_E_TOO_LARGE);
        drain(&reader, &events);
    }
    finish(&reader, &events);
    events_expect(&events, expected, name);
    events_deinit(&events);
    len32_reader_deinit(&reader);
}

static void check_all_ways(Len32Order order, Span input, uint32_t max, Span expected,
                           const char *name)
{
    size_t bytewise[64];

    assert_true(input.n < TW_ARRAY_SIZE(bytewise));
    for (size_t i = 0; i <= input.n; i++) {
        bytewise[i] = i;
    }
    for (int way = 0; way < N_WAYS; way++) {
        check_pieces(order, input, max, bytewise, input.n + 1, way, expected, name);
        for (size_t a = 0; a <= input.n; a++) {
            for (size_t b = a; b <= input.n; b++) {
                size_t cuts[] = {0, a, b, input.n};

                check_pieces(order, input, max, cuts, TW_ARRAY_SIZE(cuts), way, expected, name);
            }
        }
    }
}

typedef struct Case {
    const char *name;
    Len32Order order;
    Span input;
    uint32_t max;
    Span expected;
} Case;

static const Case cases[] = {
    {"nothing", LEN32_ORDER_LE, TEXT(""), 8, TEXT("END")},
    {"one LE", LEN32_ORDER_LE, TEXT("\2\0\0\0{}"), 8, TEXT("M({})END")},
    {"one BE", LEN32_ORDER_BE, TEXT("\0\0\0\2{}"), 8, TEXT("M({})END")},
    {"two LE", LEN32_ORDER_LE, TEXT("\2\0\0\0{}\5\0\0\0[1,2]"), 8, TEXT("M({})M([1,2])END")},
    {"two BE", LEN32_ORDER_BE, TEXT("\0\0\0\2{}\0\0\0\5[1,2]"), 8, TEXT("M({})M([1,2])END")},
    {"zero length", LEN32_ORDER_LE, TEXT("\0\0\0\0\0\0\0\0\1\0\0\0x"), 8, TEXT("M()M()M(x)END")},
    {"zero length at limit 0", LEN32_ORDER_BE, TEXT("\0\0\0\0\0\0\0\1x"), 0,
     TEXT("M()TOO_LARGE 1")},
    {"any byte is content", LEN32_ORDER_LE, TEXT("\4\0\0\0\0\n\r\xFF"), 8,
     TEXT("M(\0\n\r\xFF)END")},
    {"limit equality passes", LEN32_ORDER_LE, TEXT("\4\0\0\0abcd"), 4, TEXT("M(abcd)END")},
    {"one above is final", LEN32_ORDER_LE, TEXT("\1\0\0\0a\5\0\0\0abcde\1\0\0\0b"), 4,
     TEXT("M(a)TOO_LARGE 5")},
    {"2^32-1 LE", LEN32_ORDER_LE, TEXT("\xFF\xFF\xFF\xFFx"), 16777216,
     TEXT("TOO_LARGE 4294967295")},
    {"2^32-1 BE", LEN32_ORDER_BE, TEXT("\xFF\xFF\xFF\xFFx"), 10485760,
     TEXT("TOO_LARGE 4294967295")},
    {"the wrong byte order is too large", LEN32_ORDER_BE, TEXT("\2\0\0\0{}"), 10485760,
     TEXT("TOO_LARGE 33554432")},
    {"every byte of the length counts", LEN32_ORDER_LE, TEXT("\1\2\3\4"), 5,
     TEXT("TOO_LARGE 67305985")},
    {"no limit", LEN32_ORDER_LE, TEXT("\xFF\xFF\xFF\xFFx"), UINT32_MAX,
     TEXT("REST(\xFF\xFF\xFF\xFFx)")},
    {"end in a header", LEN32_ORDER_LE, TEXT("\1\0\0\0a\2\0\0"), 8, TEXT("M(a)REST(\2\0\0)")},
    {"end in a message", LEN32_ORDER_LE, TEXT("\3\0\0\0ab"), 8, TEXT("REST(\3\0\0\0ab)")},
};

static void cases_are_the_same_whole_bytewise_and_at_every_pair_of_splits(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        const Case *c = &cases[i];

        check_all_ways(c->order, c->input, c->max, c->expected, c->name);
    }
}

static void a_refused_length_is_final(void **state)
{
    Len32Reader reader;
    Span span;
    char *room;
    size_t n_room;

    (void)state;
    len32_reader_init(&reader, LEN32_ORDER_LE, 4);
    assert_int_equal(len32_reader_feed(&reader, "\5\0\0\0", 4), 0);
    assert_int_equal(len32_reader_next(&reader, &span), LEN32_E_TOO_LARGE);
    assert_int_equal(len32_reader_next(&reader, &span), LEN32_E_TOO_LARGE);
    assert_int_equal(len32_reader_feed(&reader, "\0\0\0\0", 4), LEN32_E_TOO_LARGE);
    assert_int_equal(len32_reader_reserve(&reader, 9, &room, &n_room), LEN32_E_TOO_LARGE);
    assert_int_equal(len32_reader_finish(&reader, &span), LEN32_E_TOO_LARGE);
    assert_int_equal(len32_reader_declared(&reader), 5);
    len32_reader_deinit(&reader);
    len32_reader_deinit(&reader);
}

static void a_claim_costs_no_more_than_was_sent(void **state)
{
    size_t want = 1024;
    size_t n_sent = 4;
    Len32Reader reader;
    Span message;
    char *room;
    size_t n_room;

    (void)state;
    len32_reader_init(&reader, LEN32_ORDER_BE, 16777216);
    assert_int_equal(put(&reader, "\1\0\0\0", 4, BY_RESERVE), 0);
    while (n_sent < 16777216 + 4) {
        size_t bound = n_sent < want ? want : n_sent;

        assert_int_equal(len32_reader_next(&reader, &message), LEN32_E_AGAIN);
        assert_int_equal(len32_reader_reserve(&reader, want, &room, &n_room), 0);
        assert_true(n_room > 0);
        assert_true(reader.in.cap <= n_sent + bound);
        assert_true(reader.in.cap <= 16777216 + 4);
        memset(room, 'x', n_room);
        len32_reader_commit(&reader, n_room);
        n_sent += n_room;
    }
    assert_int_equal(len32_reader_next(&reader, &message), 0);
    assert_int_equal(message.n, 16777216);
    assert_int_equal(n_sent, 16777216 + 4);
    assert_true(reader.in.n_moved <= 2 * n_sent);
    len32_reader_trim(&reader);
    assert_int_equal(reader.in.cap, 0);
    len32_reader_deinit(&reader);
}

static void room_inside_a_large_frame_ends_where_the_frame_ends(void **state)
{
    static char body[1000];
    Len32Reader reader;
    Span message;
    char *room;
    size_t n_room;

    (void)state;
    len32_reader_init(&reader, LEN32_ORDER_BE, 1000);
    assert_int_equal(len32_reader_reserve(&reader, 5000, &room, &n_room), 0);
    assert_int_equal(n_room, 5000);
    assert_int_equal(len32_reader_feed(&reader, "\0\0\3\xE8", 4), 0);
    assert_int_equal(len32_reader_feed(&reader, body, 900), 0);
    assert_int_equal(len32_reader_reserve(&reader, 200, &room, &n_room), 0);
    assert_int_equal(n_room, 100);
    /* A frame that one read can hold is no reason to read less. */
    assert_int_equal(len32_reader_reserve(&reader, 2000, &room, &n_room), 0);
    assert_true(n_room >= 2000);
    memcpy(room, body, 100);
    len32_reader_commit(&reader, 100);
    assert_int_equal(len32_reader_next(&reader, &message), 0);
    assert_int_equal(message.n, 1000);
    len32_reader_deinit(&reader);
}

static void messages_stay_borrowed_until_the_next_feed(void **state)
{
    Len32Reader reader;
    Span a;
    Span b;

    (void)state;
    len32_reader_init(&reader, LEN32_ORDER_LE, 100);
    assert_int_equal(len32_reader_feed(&reader, "\1\0\0\0a\2\0\0\0bc", 11), 0);
    assert_int_equal(len32_reader_next(&reader, &a), 0);
    assert_int_equal(len32_reader_next(&reader, &b), 0);
    assert_int_equal(len32_reader_next(&reader, &b), LEN32_E_AGAIN);
    assert_true(span_equals(a, SPAN("a")));
    assert_true(span_equals(b, SPAN("bc")));
    len32_reader_deinit(&reader);
}

static void a_reader_that_is_not_drained_becomes_full(void **state)
{
    static char frames[64 * 1024];
    Len32Reader reader;
    char *room;
    size_t n_room;
    size_t n_fed = 0;
    Span message;
    int r = 0;

    (void)state;
    len32_reader_init(&reader, LEN32_ORDER_LE, 100);
    while (r == 0 && n_fed < 4 * INQ_AHEAD_BYTES) {
        r = len32_reader_feed(&reader, frames, sizeof(frames));
        n_fed += r == 0 ? sizeof(frames) : 0;
    }
    assert_int_equal(r, LEN32_E_FULL);
    assert_true(n_fed >= INQ_AHEAD_BYTES);
    assert_int_equal(len32_reader_reserve(&reader, sizeof(frames), &room, &n_room), LEN32_E_FULL);
    for (size_t i = 0; i < n_fed / 4; i++) {
        assert_int_equal(len32_reader_next(&reader, &message), 0);
    }
    assert_int_equal(len32_reader_next(&reader, &message), LEN32_E_AGAIN);
    assert_int_equal(len32_reader_feed(&reader, frames, sizeof(frames)), 0);
    len32_reader_deinit(&reader);
}

static void steady_traffic_allocates_nothing(void **state)
{
    static char chunk[100 * 50];
    Len32Reader reader;
    size_t n_messages = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(chunk); i += 50) {
        chunk[i] = 46;
    }
    len32_reader_init(&reader, LEN32_ORDER_LE, 1024);
    for (size_t round = 0; round < 110; round++) {
        Span message;

        if (round == 10) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        assert_int_equal(put(&reader, chunk, 2520, BY_RESERVE), 0);
        while (len32_reader_next(&reader, &message) == 0) {
            n_messages++;
        }
        assert_int_equal(len32_reader_feed(&reader, chunk + 2520, sizeof(chunk) - 2520), 0);
        while (len32_reader_next(&reader, &message) == 0) {
            n_messages++;
        }
    }
    assert_int_equal(n_messages, 11000);
    assert_int_equal(alloc_testing()->n_calls, 0);
    len32_reader_deinit(&reader);
}

static void many_tiny_frames_in_one_feed_are_linear_work(void **state)
{
    size_t n_messages = 200000;
    size_t n = n_messages * 5;
    char *data = calloc(1, n);
    Len32Reader reader;
    Span message;

    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < n; i += 5) {
        data[i] = 1;
    }
    len32_reader_init(&reader, LEN32_ORDER_LE, 100);
    assert_int_equal(len32_reader_feed(&reader, data, n), 0);
    for (size_t i = 0; i < n_messages; i++) {
        assert_int_equal(len32_reader_next(&reader, &message), 0);
        assert_int_equal(len32_reader_feed(&reader, "\0\0\0\0", 4), 0);
    }
    for (size_t i = 0; i < n_messages; i++) {
        assert_int_equal(len32_reader_next(&reader, &message), 0);
    }
    assert_int_equal(len32_reader_next(&reader, &message), LEN32_E_AGAIN);
    assert_true(reader.in.n_moved <= 3 * (n + 4 * n_messages));
    len32_reader_deinit(&reader);
    free(data);
}

static int read_scenario(void *context)
{
    static char input[2000];
    int way = *(int *)context;
    Len32Reader reader;
    Span message = SPAN_NULL;
    int r = 0;

    memcpy(input, "\0\0\7\x9C", 4); /* 1948 */
    memcpy(input + 1952, "\0\0\0\2ok", 6);
    len32_reader_init(&reader, LEN32_ORDER_BE, 4000);
    for (size_t i = 0; i < 1958 && r == 0; i += 178) {
        r = put(&reader, input + i, 178, way);
    }
    if (r == 0) {
        assert_int_equal(len32_reader_next(&reader, &message), 0);
        assert_int_equal(message.n, 1948);
        assert_int_equal(len32_reader_next(&reader, &message), 0);
        assert_true(span_equals(message, SPAN("ok")));
        assert_int_equal(len32_reader_next(&reader, &message), LEN32_E_AGAIN);
    }
    len32_reader_deinit(&reader);
    return r;
}

static void reader_survives_every_failing_allocation(void **state)
{
    (void)state;
    for (int way = 0; way < N_WAYS; way++) {
        test_oom_sweep(read_scenario, &way);
    }
}

static void sent(Len32Writer *writer, Events *events)
{
    Span slices[4];

    while (len32_writer_pending(writer) > 0) {
        size_t n = len32_writer_pull(writer, slices, TW_ARRAY_SIZE(slices));
        size_t n_bytes = 0;

        for (size_t i = 0; i < n; i++) {
            events_add_bytes(events, slices[i].p, slices[i].n);
            n_bytes += slices[i].n;
        }
        len32_writer_consumed(writer, n_bytes);
    }
}

static void writer_frames_and_refuses(void **state)
{
    Len32Writer writer;
    Events events = {NULL, 0, 0};
    Bytes taken;

    (void)state;
    len32_writer_init(&writer, LEN32_ORDER_LE, 6, 16);
    bytes_init(&taken, 100);
    assert_int_equal(len32_writer_push(&writer, SPAN("1234567")), LEN32_E_TOO_LARGE);
    assert_int_equal(len32_writer_pending(&writer), 0);
    assert_int_equal(len32_writer_push(&writer, SPAN("123456")), 0);
    assert_int_equal(len32_writer_push(&writer, SPAN("")), 0);
    assert_int_equal(len32_writer_push(&writer, SPAN("")), LEN32_E_FULL);
    assert_int_equal(bytes_append_span(&taken, SPAN("1234567")), 0);
    assert_int_equal(len32_writer_push_taken(&writer, &taken), LEN32_E_TOO_LARGE);
    assert_int_equal(taken.n, 7);
    sent(&writer, &events);
    taken.n = 2;
    assert_int_equal(len32_writer_push_taken(&writer, &taken), 0);
    assert_int_equal(taken.n, 0);
    sent(&writer, &events);
    events_expect(&events,
                  SPAN("\6\0\0\0"
                       "123456\0\0\0\0\2\0\0\0"
                       "12"),
                  "LE writer");
    events_deinit(&events);
    bytes_deinit(&taken);
    len32_writer_deinit(&writer);
    len32_writer_deinit(&writer);
}

static void writer_composes_in_place(void **state)
{
    Len32Writer writer;
    Events events = {NULL, 0, 0};
    Bytes *out;

    (void)state;
    len32_writer_init(&writer, LEN32_ORDER_BE, 300, 320);
    for (size_t n = 0; n <= 301; n += 43) {
        Span message;
        Len32Reader reader;

        assert_int_equal(len32_writer_begin(&writer, &out), 0);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(bytes_append_byte(out, 'x'), 0);
        }
        if (n == 301) {
            assert_int_equal(len32_writer_commit(&writer), LEN32_E_TOO_LARGE);
            assert_int_equal(len32_writer_pending(&writer), 0);
            break;
        }
        assert_int_equal(len32_writer_commit(&writer), 0);
        sent(&writer, &events);
        len32_reader_init(&reader, LEN32_ORDER_BE, 300);
        assert_int_equal(len32_reader_feed(&reader, events.text, events.n), 0);
        assert_int_equal(len32_reader_next(&reader, &message), 0);
        assert_int_equal(message.n, n);
        len32_reader_deinit(&reader);
        events_deinit(&events);
    }
    assert_int_equal(len32_writer_begin(&writer, &out), 0);
    len32_writer_abort(&writer);
    len32_writer_abort(&writer);
    assert_int_equal(len32_writer_pending(&writer), 0);
    len32_writer_deinit(&writer);
}

/* "[" lent "]" */
static int commit_lent(Len32Writer *writer, Span lent)
{
    Bytes *out;

    assert_int_equal(len32_writer_begin(writer, &out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("[]")), 0);
    return len32_writer_commit_lent(writer, (BytesLent){.at = 1, .span = lent});
}

static void a_lent_part_counts_in_header_and_limits(void **state)
{
    static const Len32Order orders[] = {LEN32_ORDER_BE, LEN32_ORDER_LE};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(orders); i++) {
        char lent[600];
        Len32Writer writer;
        Len32Reader reader;
        Events events = {NULL, 0, 0};
        Span message;

        memset(lent, 'x', sizeof(lent));
        len32_writer_init(&writer, orders[i], 602, 606 + 4 + 12);
        assert_int_equal(commit_lent(&writer, span_make(lent, 601)), LEN32_E_TOO_LARGE);
        assert_int_equal(commit_lent(&writer, span_make(lent, UINT32_MAX)), LEN32_E_TOO_LARGE);
        assert_int_equal(commit_lent(&writer, span_make(lent, SIZE_MAX)), LEN32_E_TOO_LARGE);
        assert_int_equal(len32_writer_pending(&writer), 0);
        assert_int_equal(commit_lent(&writer, span_make(lent, 600)), 0);
        assert_int_equal(commit_lent(&writer, SPAN("0123456789a")), LEN32_E_FULL);
        assert_int_equal(commit_lent(&writer, SPAN("0123456789")), 0);
        assert_int_equal(len32_writer_own(&writer), 0);
        memset(lent, '?', sizeof(lent));
        sent(&writer, &events);
        assert_int_equal(events.n, 606 + 16);
        len32_reader_init(&reader, orders[i], 602);
        assert_int_equal(len32_reader_feed(&reader, events.text, events.n), 0);
        assert_int_equal(len32_reader_next(&reader, &message), 0);
        assert_int_equal(message.n, 602);
        memset(lent, 'x', sizeof(lent));
        assert_memory_equal(message.p + 1, lent, sizeof(lent));
        assert_int_equal(len32_reader_next(&reader, &message), 0);
        assert_true(span_equals(message, SPAN("[0123456789]")));
        len32_reader_deinit(&reader);
        events_deinit(&events);
        len32_writer_deinit(&writer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_the_same_whole_bytewise_and_at_every_pair_of_splits),
        cmocka_unit_test(a_refused_length_is_final),
        cmocka_unit_test(a_claim_costs_no_more_than_was_sent),
        cmocka_unit_test(room_inside_a_large_frame_ends_where_the_frame_ends),
        cmocka_unit_test(messages_stay_borrowed_until_the_next_feed),
        cmocka_unit_test(a_reader_that_is_not_drained_becomes_full),
        cmocka_unit_test(steady_traffic_allocates_nothing),
        cmocka_unit_test(many_tiny_frames_in_one_feed_are_linear_work),
        cmocka_unit_test(reader_survives_every_failing_allocation),
        cmocka_unit_test(writer_frames_and_refuses),
        cmocka_unit_test(writer_composes_in_place),
        cmocka_unit_test(a_lent_part_counts_in_header_and_limits),
    };

    return cmocka_run_group_tests_name("frame/len32", tests, NULL, NULL);
}
