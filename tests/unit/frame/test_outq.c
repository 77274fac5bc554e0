#include "frame/outq.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#include "events.h"

#define BIG 10000

/* A buffer of n bytes c, with `spare` bytes of room behind them. */
static int make_body(Bytes *b, size_t n, char c, size_t spare)
{
    int r;

    bytes_init(b, n + spare);
    r = bytes_reserve(b, n + spare);
    if (r == 0) {
        memset(b->data, c, n);
        b->n = n;
    }
    return r;
}

/* Sends `step` bytes at a time until nothing is pending. */
static void send_all(Outq *q, size_t step, Events *events)
{
    while (outq_pending(q) > 0) {
        Span slices[3];
        size_t n = outq_pull(q, slices, TW_ARRAY_SIZE(slices));
        size_t n_sent = 0;

        assert_true(n > 0);
        for (size_t i = 0; i < n && n_sent < step; i++) {
            size_t part = slices[i].n < step - n_sent ? slices[i].n : step - n_sent;

            assert_true(slices[i].n > 0);
            events_add_bytes(events, slices[i].p, part);
            n_sent += part;
        }
        outq_consumed(q, n_sent);
    }
    assert_int_equal(q->n_used, 0);
}

static void small_messages_leave_in_one_slice(void **state)
{
    Outq q;
    Span slices[4];

    (void)state;
    outq_init(&q, 1000000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(outq_push(&q, SPAN("<"), SPAN("abc"), SPAN(">")), 0);
    }
    assert_int_equal(outq_pull(&q, slices, 4), 1);
    assert_int_equal(slices[0].n, 5000);
    assert_memory_equal(slices[0].p, "<abc><abc>", 10);
    outq_consumed(&q, 5000);
    assert_int_equal(outq_pull(&q, slices, 4), 0);
    outq_consumed(&q, 0);
    outq_deinit(&q);
    outq_deinit(&q);
}

static void a_taken_message_is_not_copied(void **state)
{
    Outq q;
    Span slices[4];
    Bytes body;
    const char *where;

    (void)state;
    outq_init(&q, 1000000);
    assert_int_equal(make_body(&body, BIG, 'x', 1), 0);
    where = body.data;
    assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("before"), SPAN_NULL), 0);
    assert_int_equal(outq_push_taken(&q, SPAN("<"), &body, SPAN(">")), 0);
    assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("after"), SPAN_NULL), 0);
    assert_int_equal(body.n, 0);
    assert_int_equal(body.max_bytes, BIG + 1);
    assert_int_equal(outq_pull(&q, slices, 4), 3);
    assert_true(span_equals(slices[0], SPAN("before<")));
    assert_ptr_equal(slices[1].p, where);
    assert_int_equal(slices[1].n, BIG + 1);
    assert_int_equal(slices[1].p[BIG], '>');
    assert_true(span_equals(slices[2], SPAN("after")));
    outq_consumed(&q, outq_pending(&q));
    bytes_deinit(&body);
    outq_deinit(&q);
}

static void a_taken_message_without_room_gets_its_end_behind_it(void **state)
{
    Outq q;
    Span slices[4];
    Bytes body;

    (void)state;
    outq_init(&q, 1000000);
    assert_int_equal(make_body(&body, BIG, 'x', 0), 0);
    assert_int_equal(outq_push_taken(&q, SPAN_NULL, &body, SPAN(">")), 0);
    assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("after"), SPAN_NULL), 0);
    assert_int_equal(outq_pull(&q, slices, 4), 2);
    assert_int_equal(slices[0].n, BIG);
    assert_true(span_equals(slices[1], SPAN(">after")));
    outq_consumed(&q, outq_pending(&q));
    bytes_deinit(&body);
    outq_deinit(&q);
}

static void storage_changes_hands_only_within_the_takers_maximum(void **state)
{
    Outq q;
    Bytes body;

    (void)state;
    outq_init(&q, 1000000);
    /* Leaves storage of at least 20000 bytes in the slot that the next message will use. */
    assert_int_equal(make_body(&body, 20000, 'x', 0), 0);
    assert_int_equal(outq_push(&q, SPAN_NULL, bytes_span(&body), SPAN_NULL), 0);
    bytes_deinit(&body);
    (void)outq_pull(&q, &(Span){NULL, 0}, 1);
    outq_consumed(&q, 20000);
    assert_int_equal(make_body(&body, BIG, 'x', 1), 0);
    assert_int_equal(outq_push_taken(&q, SPAN_NULL, &body, SPAN_NULL), 0);
    assert_true(body.cap <= body.max_bytes);
    assert_int_equal(body.max_bytes, BIG + 1);
    bytes_deinit(&body);
    outq_deinit(&q);
}

static void shown_bytes_do_not_move_while_more_is_pushed(void **state)
{
    Outq q;
    Span shown[2];
    Span later[4];
    Bytes *out;

    (void)state;
    outq_init(&q, 10000000);
    assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("in flight"), SPAN_NULL), 0);
    assert_int_equal(outq_pull(&q, shown, 2), 1);
    for (int i = 0; i < 20000; i++) {
        assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("more"), SPAN_NULL), 0);
    }
    assert_int_equal(outq_begin(&q, 0, &out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("composed")), 0);
    assert_int_equal(outq_commit(&q, SPAN_NULL, SPAN_NULL), 0);
    assert_true(span_equals(shown[0], SPAN("in flight")));
    outq_consumed(&q, 3);
    assert_int_equal(outq_pull(&q, later, 1), 1);
    assert_ptr_equal(later[0].p, shown[0].p + 3);
    outq_consumed(&q, 6);
    assert_int_equal(outq_pending(&q), 80008);
    outq_deinit(&q);
}

static void any_partial_write_keeps_the_stream_whole(void **state)
{
    (void)state;
    for (size_t step = 1; step < 40; step++) {
        Outq q;
        Events got = {NULL, 0, 0};
        Events expected = {NULL, 0, 0};
        Bytes body;

        outq_init(&q, 1000000);
        for (int i = 0; i < 6; i++) {
            assert_int_equal(make_body(&body, 4097, (char)('a' + i), i & 1), 0);
            events_add(&expected, "(ab)<");
            events_add_bytes(&expected, body.data, body.n);
            events_add(&expected, ">");
            assert_int_equal(outq_push(&q, SPAN("("), SPAN("ab"), SPAN(")")), 0);
            assert_int_equal(outq_push_taken(&q, SPAN("<"), &body, SPAN(">")), 0);
            bytes_deinit(&body);
        }
        send_all(&q, step * step, &got);
        events_expect(&got, span_make(expected.text, expected.n), "partial writes");
        events_deinit(&got);
        events_deinit(&expected);
        outq_deinit(&q);
    }
}

static void a_slow_peer_does_not_make_a_segment_per_message(void **state)
{
    Outq q;

    (void)state;
    outq_init(&q, 10000000);
    for (int i = 0; i < 10000; i++) {
        Span slice;

        assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("0123456789"), SPAN_NULL), 0);
        assert_int_equal(outq_pull(&q, &slice, 1), 1);
        outq_consumed(&q, i % 2 == 0 ? 0 : 1);
    }
    assert_true(q.n_used <= 3);
    assert_int_equal(outq_pending(&q), 95000);
    outq_deinit(&q);
}

static void the_maximum_counts_everything_pending(void **state)
{
    Outq q;
    Bytes body;
    Bytes *out;

    (void)state;
    outq_init(&q, BIG + 2);
    assert_int_equal(make_body(&body, BIG, 'x', 0), 0);
    assert_int_equal(outq_push_taken(&q, SPAN("12"), &body, SPAN("3")), OUTQ_E_FULL);
    assert_int_equal(body.n, BIG);
    assert_int_equal(outq_push(&q, SPAN("12"), bytes_span(&body), SPAN("3")), OUTQ_E_FULL);
    assert_int_equal(outq_push(&q, SPAN_NULL, span_make("", SIZE_MAX), SPAN("3")), OUTQ_E_FULL);
    assert_int_equal(outq_push_taken(&q, SPAN("1"), &body, SPAN("3")), 0);
    assert_int_equal(outq_begin(&q, 1, &out), OUTQ_E_FULL);
    assert_int_equal(outq_begin(&q, 0, &out), 0);
    assert_int_equal(bytes_append_byte(out, 'x'), BYTES_E_FULL);
    assert_int_equal(outq_commit(&q, SPAN_NULL, SPAN("x")), OUTQ_E_FULL);
    assert_int_equal(outq_push(&q, SPAN_NULL, SPAN_NULL, SPAN_NULL), 0);
    assert_int_equal(outq_pending(&q), BIG + 2);
    bytes_deinit(&body);
    outq_deinit(&q);
}

static void composing_patches_the_prefix(void **state)
{
    Outq q;
    Events events = {NULL, 0, 0};
    Bytes *out;

    (void)state;
    outq_init(&q, 1000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(outq_begin(&q, 2, &out), 0);
        assert_int_equal(outq_composed(&q).n, 0);
        assert_int_equal(bytes_append_span(out, SPAN("body")), 0);
        assert_true(span_equals(outq_composed(&q), SPAN("body")));
        if (i == 1) {
            outq_abort(&q);
        } else {
            assert_int_equal(outq_commit(&q, SPAN("<<"), SPAN(">")), 0);
        }
    }
    assert_int_equal(q.n_used, 1);
    assert_int_equal(outq_begin(&q, 0, &out), 0);
    assert_int_equal(outq_commit(&q, SPAN_NULL, SPAN_NULL), 0);
    send_all(&q, 5, &events);
    events_expect(&events, SPAN("<<body><<body>"), "composed");
    /* Nothing left behind by a message of no bytes. */
    assert_int_equal(outq_begin(&q, 0, &out), 0);
    assert_int_equal(outq_commit(&q, SPAN_NULL, SPAN_NULL), 0);
    assert_int_equal(q.n_used, 0);
    events_deinit(&events);
    outq_deinit(&q);
}

/* One round of everything, with a write always under way. */
static void steady_round(Outq *q, Bytes *body)
{
    Span slices[16];
    Bytes *out;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(outq_push(q, SPAN("<"), SPAN("small"), SPAN(">")), 0);
        body->n = 0;
        assert_int_equal(bytes_reserve(body, BIG), 0);
        memset(body->data, 'x', BIG);
        body->n = BIG;
        assert_int_equal(outq_push_taken(q, SPAN("<"), body, SPAN(">")), 0);
        assert_int_equal(outq_begin(q, 4, &out), 0);
        assert_int_equal(bytes_append_span(out, SPAN("composed")), 0);
        assert_int_equal(outq_commit(q, SPAN("head"), SPAN_NULL), 0);
    }
    outq_consumed(q, 0);
    (void)outq_pull(q, slices, TW_ARRAY_SIZE(slices));
    outq_consumed(q, outq_pending(q) - 5);
    (void)outq_pull(q, slices, TW_ARRAY_SIZE(slices));
}

static void steady_traffic_allocates_nothing(void **state)
{
    Outq q;
    Bytes body;

    (void)state;
    outq_init(&q, 1000000);
    bytes_init(&body, 100000);
    for (int i = 0; i < 1100; i++) {
        if (i == 100) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        steady_round(&q, &body);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    assert_true(q.n_kept <= LIMIT_KEEP_BYTES);
    bytes_deinit(&body);
    outq_deinit(&q);
}

static void storage_of_large_messages_is_given_back(void **state)
{
    static char big[LIMIT_KEEP_BYTES + 1];
    Outq q;
    Events events = {NULL, 0, 0};

    (void)state;
    outq_init(&q, 100 * sizeof(big));
    for (int i = 0; i < 50; i++) {
        assert_int_equal(outq_push(&q, SPAN_NULL, span_make(big, sizeof(big)), SPAN_NULL), 0);
        assert_int_equal(outq_push(&q, SPAN_NULL, span_make(big, 5000), SPAN_NULL), 0);
    }
    send_all(&q, SIZE_MAX, &events);
    assert_true(outq_keeps_much(&q)); /* one of them, in case that more come */
    assert_true(q.n_kept <= 2 * sizeof(big) + LIMIT_KEEP_BYTES);
    outq_trim(&q);
    assert_false(outq_keeps_much(&q));
    events_deinit(&events);
    outq_deinit(&q);
}

/* Sends one message of n bytes, composed in place. */
static void send_composed(Outq *q, size_t n)
{
    static char big[4 * LIMIT_KEEP_BYTES];
    Span slices[8];
    Bytes *out;

    assert_int_equal(outq_begin(q, 0, &out), 0);
    assert_int_equal(bytes_append(out, big, n), 0);
    assert_int_equal(outq_commit(q, SPAN_NULL, SPAN("\n")), 0);
    (void)outq_pull(q, slices, TW_ARRAY_SIZE(slices));
    outq_consumed(q, outq_pending(q));
}

static void large_messages_in_a_row_allocate_nothing_until_a_small_one_comes(void **state)
{
    Outq q;

    (void)state;
    outq_init(&q, SIZE_MAX);
    send_composed(&q, 4 * LIMIT_KEEP_BYTES);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    for (int i = 0; i < 10; i++) {
        send_composed(&q, 4 * LIMIT_KEEP_BYTES);
        assert_true(outq_keeps_much(&q));
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    send_composed(&q, 10);
    assert_false(outq_keeps_much(&q));
    outq_trim(&q);
    send_composed(&q, 4 * LIMIT_KEEP_BYTES);
    outq_trim(&q);
    assert_false(outq_keeps_much(&q));
    send_composed(&q, 10);
    outq_deinit(&q);
    outq_trim(&q);
}

static int write_scenario(void *context)
{
    Outq q;
    Bytes body = BYTES_NULL;
    Bytes *out = NULL;
    Events events = {NULL, 0, 0};
    int r = 0;

    (void)context;
    outq_init(&q, 1000000);
    for (size_t i = 0; i < 6 && r == 0; i++) {
        size_t pending = outq_pending(&q);
        size_t n = 0;

        r = make_body(&body, 5000, 'x', i & 1);
        r = r != 0 ? r : outq_push_taken(&q, i < 3 ? SPAN("<") : SPAN_NULL, &body, SPAN(">"));
        if (r != 0) {
            /* Nothing of it was queued, and the caller still owns it. */
            assert_int_equal(outq_pending(&q), pending);
            assert_true(body.data == NULL || body.n == 5000);
        }
        n = outq_pending(&q);
        r = r != 0 ? r : outq_push(&q, SPAN_NULL, SPAN("small"), SPAN_NULL);
        r = r != 0 ? r : outq_begin(&q, 2, &out);
        if (r == 0) {
            r = bytes_append(out, "0123456789", 10);
            r = r != 0 ? r : outq_commit(&q, SPAN("[["), SPAN("]]"));
            outq_abort(&q);
        }
        assert_true(outq_pending(&q) >= n);
        bytes_deinit(&body);
    }
    send_all(&q, 777, &events);
    assert_true(r != 0 || events.n == 6 * (5000 + 1 + 5 + 14) + 3);
    events_deinit(&events);
    outq_deinit(&q);
    return r;
}

static int first_push_scenario(void *context)
{
    Outq q;
    int r;

    (void)context;
    outq_init(&q, 1000);
    r = outq_push(&q, SPAN("<"), SPAN("body"), SPAN(">"));
    assert_int_equal(outq_pending(&q), r == 0 ? 6 : 0);
    assert_int_equal(q.n_used, r == 0 ? 1 : 0);
    outq_deinit(&q);
    return r;
}

static int first_begin_scenario(void *context)
{
    Outq q;
    Bytes *out = NULL;
    int r;

    (void)context;
    outq_init(&q, 1000);
    r = outq_begin(&q, 4, &out);
    assert_true((r == 0) == (out != NULL));
    outq_abort(&q);
    assert_int_equal(q.n_used, 0);
    outq_deinit(&q);
    return r;
}

static void writer_survives_every_failing_allocation(void **state)
{
    (void)state;
    test_oom_sweep(write_scenario, NULL);
    test_oom_sweep(first_push_scenario, NULL);
    test_oom_sweep(first_begin_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_messages_leave_in_one_slice),
        cmocka_unit_test(a_taken_message_is_not_copied),
        cmocka_unit_test(a_taken_message_without_room_gets_its_end_behind_it),
        cmocka_unit_test(storage_changes_hands_only_within_the_takers_maximum),
        cmocka_unit_test(shown_bytes_do_not_move_while_more_is_pushed),
        cmocka_unit_test(any_partial_write_keeps_the_stream_whole),
        cmocka_unit_test(a_slow_peer_does_not_make_a_segment_per_message),
        cmocka_unit_test(the_maximum_counts_everything_pending),
        cmocka_unit_test(composing_patches_the_prefix),
        cmocka_unit_test(steady_traffic_allocates_nothing),
        cmocka_unit_test(storage_of_large_messages_is_given_back),
        cmocka_unit_test(large_messages_in_a_row_allocate_nothing_until_a_small_one_comes),
        cmocka_unit_test(writer_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests_name("frame/outq", tests, NULL, NULL);
}
