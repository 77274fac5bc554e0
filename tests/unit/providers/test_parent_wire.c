#include "providers/parent_wire.h"

#include "support/turns.h"
#include "unit/providers/parent_rig.h"

/* The other end is a rig without a provider. */
typedef struct End {
    Rig *rig;
    ParentWire wire;
    Bytes messages;
    size_t n_settled;
    size_t n_ended;
    uint32_t declared;
    size_t n_more; /* messages with something behind them */
    bool closes;   /* at the first message */
    bool reopens;
    bool burns; /* at each message */
    size_t n_burnt;
    Bytes why;
} End;

static void end_message(void *context, Span message, bool has_more)
{
    End *end = context;

    end->n_more += has_more ? 1 : 0;
    assert_int_equal(bytes_append_span(&end->messages, message), 0);
    assert_int_equal(bytes_append_byte(&end->messages, '\n'), 0);
    if (end->burns) {
        end->n_burnt++;
        turns_burn();
    }
    if (end->closes) {
        parent_wire_close(&end->wire);
    }
    if (end->reopens) {
        assert_int_equal(parent_wire_open(&end->wire, NULL), 0);
    }
}

static void end_oversize(void *context, uint32_t declared)
{
    End *end = context;

    end->declared = declared;
    parent_wire_close(&end->wire);
}

static void end_settle(void *context)
{
    End *end = context;

    end->n_settled++;
    io_loop_stop(end->rig->loop);
}

static void end_ended(void *context, Span why)
{
    End *end = context;

    end->n_ended++;
    assert_int_equal(bytes_append_span(&end->why, why), 0);
    parent_wire_close(&end->wire);
    io_loop_stop(end->rig->loop);
}

static const ParentWireOps end_ops = {
    .message = end_message,
    .oversize = end_oversize,
    .settle = end_settle,
    .ended = end_ended,
};

static void end_init(End *end, Rig *rig)
{
    *end = (End){.rig = rig};
    bytes_init(&end->messages, RIG_BYTES);
    bytes_init(&end->why, RIG_BYTES);
    rig_listen(rig);
    parent_wire_init(&end->wire, rig->loop, rig->socket, &end_ops, end);
    assert_false(parent_wire_is_open(&end->wire));
}

static void end_deinit(End *end)
{
    parent_wire_deinit(&end->wire);
    parent_wire_deinit(&end->wire);
    bytes_deinit(&end->messages);
    bytes_deinit(&end->why);
}

static void end_put(End *end, const char *text)
{
    const CallsockSink *sink = &end->wire.sink;
    Bytes *bytes;

    assert_int_equal(sink->begin(sink->context, &bytes), 0);
    assert_int_equal(bytes_append_span(bytes, span_from_str(text)), 0);
    assert_int_equal(sink->commit(sink->context), 0);
    parent_wire_flush(&end->wire);
}

/* Opens, and lets the parent accept: it does when the first request is there. */
static void end_open(End *end)
{
    assert_int_equal(parent_wire_open(&end->wire, NULL), 0);
    assert_true(parent_wire_is_open(&end->wire));
    end->rig->stop_at_request = end->rig->n_requests + 1;
    end_put(end, "hello");
    rig_run(end->rig);
}

static void messages_go_out_and_come_in(void **state)
{
    Rig *rig = *state;
    End end;

    end_init(&end, rig);
    end_open(&end);
    assert_requests(rig, "hello\n");
    connection_reply(rig_connection(rig), ANSWER("one"));
    connection_reply(rig_connection(rig), ANSWER("two"));
    rig_run(rig);
    assert_bytes(&end.messages, "one\ntwo\n");
    assert_int_equal(end.n_settled, 1); /* for both */
    assert_int_equal(end.n_more, 1);
    end_deinit(&end);
}

/* Reading ends where it ends, so that what follows is still in the system. */
static void what_lies_behind_a_large_message_is_seen(void **state)
{
    Rig *rig = *state;
    size_t n = IO_STREAM_READ_BYTES + 1000;
    char *text = malloc(n);
    End end;

    assert_non_null(text);
    memset(text, 'x', n);
    end_init(&end, rig);
    end_open(&end);
    connection_reply(rig_connection(rig), (Reply){.answer = span_make(text, n)});
    while (end.messages.n == 0) {
        rig_run(rig);
    }
    assert_int_equal(end.n_more, 0);
    bytes_clear(&end.messages);
    connection_reply(rig_connection(rig),
                     (Reply){.answer = span_make(text, n), .raw = SPAN_INIT("\0")});
    while (end.messages.n == 0) {
        rig_run(rig);
    }
    assert_int_equal(end.n_more, 1);
    end_deinit(&end);
    free(text);
}

static void what_nobody_asked_for_is_seen_before_and_after_it_is_read(void **state)
{
    Rig *rig = *state;
    End end;

    end_init(&end, rig);
    end_open(&end);
    assert_false(parent_wire_has_stirred(&end.wire));
    connection_reply(rig_connection(rig), RAW("\0"));
    assert_true(parent_wire_has_stirred(&end.wire));
    assert_false(parent_wire_has_hung_up(&end.wire));
    assert_false(parent_wire_has_begun(&end.wire));
    rig_run(rig);
    assert_true(parent_wire_has_begun(&end.wire));
    assert_false(parent_wire_has_stirred(&end.wire));
    connection_close(rig_connection(rig));
    assert_true(parent_wire_has_stirred(&end.wire));
    end_deinit(&end);
}

static void a_message_that_was_aborted_is_not_sent(void **state)
{
    Rig *rig = *state;
    const CallsockSink *sink;
    Bytes *bytes;
    End end;

    end_init(&end, rig);
    sink = &end.wire.sink;
    assert_int_equal(parent_wire_open(&end.wire, NULL), 0);
    assert_int_equal(sink->begin(sink->context, &bytes), 0);
    assert_int_equal(bytes_append_span(bytes, SPAN("no")), 0);
    sink->abort(sink->context);
    rig->stop_at_request = 1;
    end_put(&end, "yes");
    rig_run(rig);
    assert_requests(rig, "yes\n");
    end_deinit(&end);
}

static void a_wire_that_is_closed_inside_tells_nothing_more(void **state)
{
    Rig *rig = *state;
    End end;

    end_init(&end, rig);
    end_open(&end);
    end.closes = true;
    connection_reply(rig_connection(rig), ANSWER("one"));
    connection_reply(rig_connection(rig), ANSWER("two"));
    rig_run(rig);
    assert_bytes(&end.messages, "one\n");
    assert_false(parent_wire_is_open(&end.wire));
    end_deinit(&end);
}

static void what_the_last_connection_sent_is_not_told_on_the_next(void **state)
{
    Rig *rig = *state;
    End end;

    end_init(&end, rig);
    end_open(&end);
    end.closes = true;
    end.reopens = true;
    connection_reply(rig_connection(rig), ANSWER("one"));
    connection_reply(rig_connection(rig), ANSWER("two"));
    rig_run(rig);
    assert_bytes(&end.messages, "one\n");
    assert_true(parent_wire_is_open(&end.wire));
    end.closes = false;
    end.reopens = false;
    rig->stop_at_request = 2;
    end_put(&end, "again");
    rig_run(rig);
    connection_reply(rig_connection(rig), ANSWER("three"));
    rig_run(rig);
    assert_bytes(&end.messages, "one\nthree\n");
    assert_int_equal(rig->n_accepted, 2);
    end_deinit(&end);
}

static void an_end_inside_a_message_is_told_apart(void **state)
{
    Rig *rig = *state;
    End end;

    end_init(&end, rig);
    end_open(&end);
    connection_reply(rig_connection(rig), CUT("\0\0\0\5ab"));
    while (end.n_ended == 0) {
        rig_run(rig);
    }
    assert_bytes(&end.why, "in the middle of an answer");
    bytes_clear(&end.why);
    end_open(&end);
    connection_close(rig_connection(rig));
    assert_true(parent_wire_has_hung_up(&end.wire));
    rig_run(rig);
    assert_int_equal(end.n_ended, 2);
    assert_bytes(&end.why, "");
    end_deinit(&end);
}

static void a_length_over_the_limit_is_told_before_the_message_comes(void **state)
{
    Rig *rig = *state;
    End end;

    end_init(&end, rig);
    end_open(&end);
    connection_reply(rig_connection(rig), RAW("\x00\xA0\x00\x01"));
    rig_run(rig);
    assert_int_equal(end.declared, LIMIT_CALLSOCK_MESSAGE_BYTES + 1);
    end_deinit(&end);
}

static int end_put_lent(End *end, Span lent);

/* The parent has closed; one message with a lent part, one without. */
static void a_message_of_which_nothing_left_is_told_apart(void **state)
{
    Rig *rig = *state;
    const CallsockSink *sink;
    Bytes *bytes;
    End end;

    end_init(&end, rig);
    sink = &end.wire.sink;
    for (int lends = 0; lends < 2; lends++) {
        assert_false(parent_wire_is_unsent(&end.wire));
        end_open(&end);
        assert_false(parent_wire_is_unsent(&end.wire));
        assert_int_equal(sink->begin(sink->context, &bytes), 0);
        sink->abort(sink->context);
        assert_false(parent_wire_is_unsent(&end.wire));
        connection_close(rig_connection(rig));
        if (lends != 0) {
            assert_int_equal(end_put_lent(&end, SPAN("lent")), 0);
        } else {
            end_put(&end, "late");
        }
        assert_true(parent_wire_is_unsent(&end.wire));
        rig_run(rig);
        assert_int_equal(end.n_ended, 1 + lends);
    }
    assert_bytes(&end.why, "Broken pipeBroken pipe");
    end_deinit(&end);
}

typedef struct Draining {
    const End *end;
    size_t n_pending; /* the loop stops when there is less to write */
} Draining;

static void stop_if_less_is_pending(void *context)
{
    const Draining *draining = context;

    if (len32_writer_pending(&draining->end->wire.writer) < draining->n_pending) {
        io_loop_stop(draining->end->rig->loop);
    }
}

/* What the first left behind is not the second's. */
static void the_rest_of_the_last_message_is_not_the_next(void **state)
{
    enum {
        N = 3 * 1024 * 1024 /* more than a socket holds */
    };
    Rig *rig = *state;
    char *text = calloc(1, N + 1);
    IoBeforeWait *hook = NULL;
    Draining draining;
    End end;

    assert_non_null(text);
    memset(text, 'x', N);
    end_init(&end, rig);
    end_open(&end);
    end_put(&end, text);
    assert_false(parent_wire_is_unsent(&end.wire));
    end_put(&end, "behind");
    draining = (Draining){.end = &end, .n_pending = len32_writer_pending(&end.wire.writer)};
    assert_int_equal(io_before_wait_new(&hook, rig->loop, stop_if_less_is_pending, &draining), 0);
    rig_run(rig);
    hook = io_before_wait_free(hook);
    assert_true(parent_wire_is_unsent(&end.wire));
    rig->stop_at_request = 3;
    rig_run(rig);
    assert_false(parent_wire_is_unsent(&end.wire));
    end_deinit(&end);
    free(text);
}

static void memory_of_large_messages_is_given_back(void **state)
{
    Rig *rig = *state;
    size_t n = 4 * LIMIT_KEEP_BYTES;
    char *text = calloc(1, n + 1);
    End end;

    assert_non_null(text);
    memset(text, 'x', n);
    end_init(&end, rig);
    end_open(&end);
    assert_false(parent_wire_keeps_much(&end.wire));
    rig->stop_at_request = 2;
    end_put(&end, text);
    rig_run(rig);
    assert_true(parent_wire_keeps_much(&end.wire));
    connection_reply(rig_connection(rig), (Reply){.answer = span_make(text, n)});
    while (end.messages.n == 0) {
        rig_run(rig);
    }
    parent_wire_trim(&end.wire);
    assert_false(parent_wire_keeps_much(&end.wire));
    end_deinit(&end);
    free(text);
}

static void nobody_there_is_explained(void **state)
{
    Rig *rig = *state;
    Diag diag = DIAG_NULL;
    ParentWire wire;

    parent_wire_init(&wire, rig->loop, rig->socket, &end_ops, NULL);
    assert_int_equal(parent_wire_open(&wire, &diag), -ENOENT);
    assert_string_equal(diag.message, "No such file or directory");
    assert_false(parent_wire_is_open(&wire));
    parent_wire_flush(&wire);
    parent_wire_close(&wire);
    parent_wire_deinit(&wire);
}

static void memory_that_runs_out_leaves_it_closed(void **state)
{
    Rig *rig = *state;
    Diag diag = DIAG_NULL;
    End end;

    end_init(&end, rig);
    alloc_testing_reset(0);
    assert_int_equal(parent_wire_open(&end.wire, &diag), -ENOMEM);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_false(parent_wire_is_open(&end.wire));
    assert_string_equal(diag.message, "Cannot allocate memory");
    end_open(&end);
    end_deinit(&end);
}

/* [lent] */
static int end_put_lent(End *end, Span lent)
{
    const CallsockSink *sink = &end->wire.sink;
    Bytes *bytes;

    assert_int_equal(sink->begin(sink->context, &bytes), 0);
    assert_int_equal(bytes_append_span(bytes, SPAN("[]")), 0);
    return sink->commit_lent(sink->context, (BytesLent){.at = 1, .span = lent});
}

static void what_is_lent_arrives_though_its_memory_changes_at_once(void **state)
{
    enum {
        N = 3 * 1024 * 1024 /* more than a socket holds */
    };
    Rig *rig = *state;
    char *text = malloc(N);
    Bytes expected;
    End end;

    assert_non_null(text);
    bytes_init(&expected, RIG_BYTES);
    end_init(&end, rig);
    end_open(&end);
    assert_int_equal(bytes_append_span(&expected, SPAN("hello\nsmall\n")), 0);
    end_put(&end, "small");
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < N; i++) {
            text[i] = (char)('!' + (i * 2654435761u >> 13) % 90);
        }
        assert_int_equal(bytes_append_byte(&expected, '['), 0);
        assert_int_equal(bytes_append(&expected, text, N), 0);
        assert_int_equal(bytes_append_span(&expected, SPAN("]\nbehind\n")), 0);
        assert_int_equal(end_put_lent(&end, span_make(text, N)), 0);
        memset(text, '?', N);
        end_put(&end, "behind");
    }
    rig->stop_at_request = 6;
    while (rig->n_requests < 6) {
        rig_run(rig);
    }
    assert_int_equal(rig->requests.n, expected.n);
    assert_memory_equal(rig->requests.data, expected.data, expected.n);
    bytes_deinit(&expected);
    end_deinit(&end);
    free(text);
}

static void a_lent_message_over_the_limit_is_refused(void **state)
{
    Rig *rig = *state;
    char *text = malloc(LIMIT_CALLSOCK_MESSAGE_BYTES);
    End end;

    assert_non_null(text);
    memset(text, 'x', LIMIT_CALLSOCK_MESSAGE_BYTES);
    end_init(&end, rig);
    end_open(&end);
    assert_true(end_put_lent(&end, span_make(text, LIMIT_CALLSOCK_MESSAGE_BYTES - 1)) > 0);
    assert_int_equal(end_put_lent(&end, span_make(text, LIMIT_CALLSOCK_MESSAGE_BYTES - 2)), 0);
    rig->stop_at_request = 2;
    while (rig->n_requests < 2) {
        rig_run(rig);
    }
    assert_int_equal(rig->requests.n, 6 + LIMIT_CALLSOCK_MESSAGE_BYTES + 1);
    end_deinit(&end);
    free(text);
}

/* Each message takes a while, and hundreds have come at once: the others wait. */
static void a_parent_whose_turn_takes_too_long_is_left(void **state)
{
    static Turns turns;
    Rig *rig = *state;
    char who[128];
    End end;

    turns_watch(&turns, rig->loop);
    end_init(&end, rig);
    end_open(&end);
    end.burns = true;
    for (int i = 0; i < TURNS_MESSAGES; i++) {
        connection_reply(rig_connection(rig), ANSWER("one"));
    }
    while (end.n_ended == 0) {
        rig_run(rig);
    }
    assert_bytes(&end.why, "what it sent kept everybody waiting for too long");
    assert_true(end.n_burnt < TURNS_MESSAGES);
    (void)snprintf(who, sizeof(who), "the parent at %s", rig->socket);
    turns_assert_blamed(&turns, who);
    end_deinit(&end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(messages_go_out_and_come_in),
        RIG_TEST(what_lies_behind_a_large_message_is_seen),
        RIG_TEST(what_nobody_asked_for_is_seen_before_and_after_it_is_read),
        RIG_TEST(a_message_of_which_nothing_left_is_told_apart),
        RIG_TEST(the_rest_of_the_last_message_is_not_the_next),
        RIG_TEST(a_message_that_was_aborted_is_not_sent),
        RIG_TEST(a_wire_that_is_closed_inside_tells_nothing_more),
        RIG_TEST(what_the_last_connection_sent_is_not_told_on_the_next),
        RIG_TEST(an_end_inside_a_message_is_told_apart),
        RIG_TEST(a_length_over_the_limit_is_told_before_the_message_comes),
        RIG_TEST(memory_of_large_messages_is_given_back),
        RIG_TEST(nobody_there_is_explained),
        RIG_TEST(memory_that_runs_out_leaves_it_closed),
        RIG_TEST(what_is_lent_arrives_though_its_memory_changes_at_once),
        RIG_TEST(a_lent_message_over_the_limit_is_refused),
        RIG_TEST(a_parent_whose_turn_takes_too_long_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
