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

/* Queues "<head" lent "tail>", composed in place. */
static int commit_lent(Outq *q, Span lent)
{
    Bytes *out;
    int r = outq_begin(q, 1, &out);

    r = r != 0 ? r : bytes_append_span(out, SPAN("headtail"));
    if (r != 0) {
        outq_abort(q);
        return r;
    }
    return outq_commit_lent(q, SPAN("<"), SPAN(">"), (BytesLent){.at = 4, .span = lent});
}

#define LENT_OVERHEAD 10 /* what commit_lent sends besides what is lent */

static void a_lent_part_is_shown_where_it_lies(void **state)
{
    static const char lent[BIG] = "x";
    Outq q;
    Span slices[8];

    (void)state;
    outq_init(&q, 1000000);
    assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("before"), SPAN_NULL), 0);
    assert_int_equal(commit_lent(&q, span_make(lent, BIG)), 0);
    assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("after"), SPAN_NULL), 0);
    assert_int_equal(commit_lent(&q, span_make(lent + 1, 1)), 0);
    assert_int_equal(outq_pending(&q), 6 + BIG + LENT_OVERHEAD + 5 + 1 + LENT_OVERHEAD);
    assert_int_equal(outq_pull(&q, slices, 8), 5);
    assert_true(span_equals(slices[0], SPAN("before<head")));
    assert_ptr_equal(slices[1].p, lent);
    assert_int_equal(slices[1].n, BIG);
    assert_true(span_equals(slices[2], SPAN("tail>after<head")));
    assert_ptr_equal(slices[3].p, lent + 1);
    assert_true(span_equals(slices[4], SPAN("tail>")));
    outq_consumed(&q, 11 + 17);
    assert_int_equal(outq_pull(&q, slices, 1), 1);
    assert_ptr_equal(slices[0].p, lent + 17);
    assert_int_equal(slices[0].n, BIG - 17);
    outq_consumed(&q, outq_pending(&q));
    assert_int_equal(q.n_used, 0);
    assert_int_equal(q.n_lent, 0);
    outq_deinit(&q);
}

#define N_LENDERS 4

/* Small messages and lent ones in turn: into the queue, and what should come out. */
static void put_lent_in_turn(Outq *q, char lenders[N_LENDERS][60], Events *expected)
{
    for (size_t i = 0; i < N_LENDERS; i++) {
        size_t n = 60 - i;

        for (size_t k = 0; k < n; k++) {
            lenders[i][k] = (char)('!' + (k * 7 + i) % 90);
        }
        assert_int_equal(commit_lent(q, span_make(lenders[i], n)), 0);
        events_add(expected, "<head");
        events_add_bytes(expected, lenders[i], n);
        events_add(expected, "tail>");
        if (i != 1) {
            assert_int_equal(outq_push(q, SPAN("("), SPAN("ab"), SPAN(")")), 0);
            events_add(expected, "(ab)");
        }
    }
}

/* n_writes: so many come before the lenders take their memory back. */
static void send_lent(size_t step, size_t n_writes)
{
    char lenders[N_LENDERS][60];
    Events got = {NULL, 0, 0};
    Events expected = {NULL, 0, 0};
    Outq q;

    outq_init(&q, 1000000);
    put_lent_in_turn(&q, lenders, &expected);
    for (size_t i = 0; i < n_writes && outq_pending(&q) > 0; i++) {
        Span slices[3];
        size_t n_sent = 0;

        for (size_t k = 0, n = outq_pull(&q, slices, TW_ARRAY_SIZE(slices)); k < n; k++) {
            size_t part = slices[k].n < step - n_sent ? slices[k].n : step - n_sent;

            events_add_bytes(&got, slices[k].p, part);
            n_sent += part;
        }
        outq_consumed(&q, n_sent);
    }
    assert_int_equal(outq_own(&q), 0);
    assert_int_equal(q.n_lent, 0);
    memset(lenders, '?', sizeof(lenders));
    assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("behind"), SPAN_NULL), 0);
    events_add(&expected, "behind");
    assert_int_equal(outq_pending(&q), expected.n - got.n);
    send_all(&q, step, &got);
    events_expect(&got, span_make(expected.text, expected.n), "lent");
    events_deinit(&got);
    events_deinit(&expected);
    outq_deinit(&q);
}

static void lenders_may_have_their_memory_back_after_any_write(void **state)
{
    (void)state;
    for (size_t step = 1; step < 90; step += step < 20 ? 1 : 7) {
        for (size_t n_writes = 0; n_writes * step < 320; n_writes++) {
            send_lent(step, n_writes);
        }
    }
}

static void only_what_is_left_is_copied(void **state)
{
    static const char lent[BIG] = "x";
    Outq q;
    Span slice;

    (void)state;
    outq_init(&q, 1000000);
    assert_int_equal(commit_lent(&q, span_make(lent, BIG)), 0);
    assert_int_equal(outq_pull(&q, &slice, 1), 1);
    outq_consumed(&q, 5 + BIG - 100);
    assert_int_equal(outq_own(&q), 0);
    assert_int_equal(q.slots[q.first].bytes.n, 100);
    assert_true(q.slots[q.first].bytes.cap < BIG);
    assert_int_equal(outq_pull(&q, &slice, 1), 1);
    assert_int_equal(slice.n, 100);
    assert_true(slice.p < lent || slice.p >= lent + BIG);
    outq_consumed(&q, outq_pending(&q));
    /* What was sent is not copied at all, nor what nobody lent. */
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(commit_lent(&q, span_make(lent, BIG)), 0);
    (void)outq_pull(&q, &slice, 1);
    outq_consumed(&q, 5 + BIG);
    assert_int_equal(outq_own(&q), 0);
    assert_int_equal(outq_pending(&q), 5);
    assert_int_equal(alloc_testing()->n_calls, 0);
    outq_deinit(&q);
    assert_int_equal(outq_own(&q), 0);
}

static void the_maximum_counts_lent_bytes(void **state)
{
    static const char lent[BIG] = "x";
    Outq q;
    Events events = {NULL, 0, 0};
    Bytes *out;

    (void)state;
    outq_init(&q, 2 + BIG + LENT_OVERHEAD);
    assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("12"), SPAN_NULL), 0);
    assert_int_equal(commit_lent(&q, span_make(lent, BIG + 1)), OUTQ_E_FULL);
    assert_int_equal(commit_lent(&q, span_make(lent, SIZE_MAX)), OUTQ_E_FULL);
    assert_int_equal(commit_lent(&q, span_make(lent, SIZE_MAX - 5)), OUTQ_E_FULL);
    assert_int_equal(outq_pending(&q), 2);
    assert_int_equal(q.n_used, 1);
    assert_int_equal(q.n_lent, 0);
    outq_abort(&q); /* is gone already */
    assert_int_equal(commit_lent(&q, span_make(lent, BIG)), 0);
    assert_int_equal(outq_pending(&q), q.max_pending);
    assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("3"), SPAN_NULL), OUTQ_E_FULL);
    assert_int_equal(outq_begin(&q, 1, &out), OUTQ_E_FULL);
    assert_int_equal(outq_begin(&q, 0, &out), 0);
    outq_abort(&q);
    send_all(&q, 3000, &events);
    assert_int_equal(events.n, 2 + BIG + LENT_OVERHEAD);
    assert_memory_equal(events.text, "12<headx", 8);
    assert_int_equal(commit_lent(&q, span_make(lent, BIG + 2)), 0);
    outq_deinit(&q); /* with what is still lent */
    events_deinit(&events);
}

static void a_message_begun_behind_a_lent_one_can_be_aborted(void **state)
{
    Outq q;
    Events events = {NULL, 0, 0};
    Bytes *out;

    (void)state;
    outq_init(&q, 1000);
    assert_int_equal(commit_lent(&q, SPAN("lent")), 0);
    assert_int_equal(outq_begin(&q, 2, &out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("gone")), 0);
    outq_abort(&q);
    assert_int_equal(commit_lent(&q, SPAN("again")), 0);
    send_all(&q, 7, &events);
    events_expect(&events, SPAN("<headlenttail><headagaintail>"), "aborted");
    events_deinit(&events);
    outq_deinit(&q);
}

/* A lent message among others; all of it is taken at once, or half of it is copied. */
static void steady_lent_round(Outq *q, bool is_slow)
{
    static const char lent[BIG] = "x";
    Span slices[8];

    assert_int_equal(outq_push(q, SPAN("<"), SPAN("small"), SPAN(">")), 0);
    assert_int_equal(commit_lent(q, span_make(lent, BIG)), 0);
    (void)outq_pull(q, slices, TW_ARRAY_SIZE(slices));
    outq_consumed(q, is_slow ? outq_pending(q) - BIG / 2 : outq_pending(q));
    assert_int_equal(outq_own(q), 0);
    assert_int_equal(outq_push(q, SPAN("<"), SPAN("small"), SPAN(">")), 0);
}

static void steady_lending_allocates_nothing(void **state)
{
    (void)state;
    for (int is_slow = 0; is_slow < 2; is_slow++) {
        Outq q;

        outq_init(&q, 1000000);
        for (int i = 0; i < 1100; i++) {
            if (i == 100) {
                alloc_testing_reset(ALLOC_TESTING_NEVER);
            }
            steady_lent_round(&q, is_slow != 0);
        }
        assert_int_equal(alloc_testing()->n_calls, 0);
        assert_true(q.n_kept <= LIMIT_KEEP_BYTES);
        assert_int_equal(q.n_slots, 8);
        outq_deinit(&q);
    }
}

static void storage_of_large_copies_is_given_back(void **state)
{
    static const char lent[LIMIT_KEEP_BYTES + 1] = "x";
    Outq q;
    Events events = {NULL, 0, 0};

    (void)state;
    outq_init(&q, SIZE_MAX);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(commit_lent(&q, span_make(lent, sizeof(lent))), 0);
    }
    send_all(&q, SIZE_MAX, &events);
    assert_false(outq_keeps_much(&q)); /* nothing was copied */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(commit_lent(&q, span_make(lent, sizeof(lent))), 0);
    }
    assert_int_equal(outq_own(&q), 0);
    send_all(&q, SIZE_MAX, &events);
    assert_true(outq_keeps_much(&q));
    assert_true(q.n_kept <= 2 * sizeof(lent) + LIMIT_KEEP_BYTES);
    outq_trim(&q);
    assert_false(outq_keeps_much(&q));
    /* A lent segment may lie in a slot that kept storage. */
    assert_int_equal(commit_lent(&q, SPAN("lent")), 0);
    outq_trim(&q);
    events_deinit(&events);
    send_all(&q, 3, &events);
    events_expect(&events, SPAN("<headlenttail>"), "after trim");
    events_deinit(&events);
    outq_deinit(&q);
}

static int lend_scenario(void *context)
{
    Outq q;
    Events events = {NULL, 0, 0};
    size_t n = 0;
    bool is_owning = false;
    int r = 0;

    (void)context;
    outq_init(&q, 1000000);
    for (size_t i = 0; i < 12 && r == 0; i++) {
        is_owning = i % 4 == 3;
        n = outq_pending(&q);
        r = is_owning ? outq_own(&q) : commit_lent(&q, SPAN("a part that is lent"));
    }
    if (r != 0 && is_owning) {
        Bytes *out;

        /* The stream is broken: nothing leaves any more, and nothing is taken. */
        assert_int_equal(outq_pending(&q), 0);
        assert_int_equal(q.n_lent, 0);
        assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("more"), SPAN_NULL), OUTQ_E_FULL);
        assert_int_equal(outq_begin(&q, 1, &out), OUTQ_E_FULL);
        assert_int_equal(outq_own(&q), 0);
    } else if (r != 0) {
        /* Only the last message is gone. */
        assert_int_equal(outq_pending(&q), n);
        assert_int_equal(n % 29, 0);
        assert_false(q.composing);
        if (q.n_used > 0) {
            assert_int_equal(outq_push(&q, SPAN_NULL, SPAN("!"), SPAN_NULL), 0);
        }
    }
    send_all(&q, 7, &events);
    assert_true(r != 0 || events.n == 9 * 29);
    events_deinit(&events);
    outq_deinit(&q);
    return r;
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
    test_oom_sweep(lend_scenario, NULL);
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
        cmocka_unit_test(a_lent_part_is_shown_where_it_lies),
        cmocka_unit_test(lenders_may_have_their_memory_back_after_any_write),
        cmocka_unit_test(only_what_is_left_is_copied),
        cmocka_unit_test(the_maximum_counts_lent_bytes),
        cmocka_unit_test(a_message_begun_behind_a_lent_one_can_be_aborted),
        cmocka_unit_test(steady_lending_allocates_nothing),
        cmocka_unit_test(storage_of_large_copies_is_given_back),
        cmocka_unit_test(writer_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests_name("frame/outq", tests, NULL, NULL);
}
