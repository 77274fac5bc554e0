#include "dialect/callsock/caller.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/dialect/callsock/sink_testing.h"

#define REQUEST(name)                                                                              \
    "{\"method\":\"call_tool\",\"params\":{\"name\":\"" name "\",\"arguments\":{}}}\n"
#define ANSWER "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"1\"}]}}"

#define N_CALLS 8

typedef struct Rig Rig;

/* A call, and how it ended. */
typedef struct Asked {
    Call call; /* first */
    Rig *rig;
    size_t n_ended;
    size_t n_progress;
    CallResultKind kind;
    CallError error;
    char words[640];
    /* What its end leads to. */
    struct Asked *then_submit;
    struct Asked *then_cancel;
    bool again;
    size_t n_flushed; /* requests that had left when it ended */
} Asked;

struct Rig {
    TestSink sink;
    CallsockCaller *caller;
    Asked asked[N_CALLS];
    size_t depth; /* ends inside one another */
    size_t max_depth;
};

static void rig_submit(Rig *rig, Asked *asked, const char *name)
{
    asked->rig = rig;
    asked->call.target = span_from_str(name);
    callsock_caller_submit(rig->caller, &asked->call, asked->call.target, 0);
}

static void asked_finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;

    assert_null(call->provider_data);
    asked->rig->depth++;
    if (asked->rig->depth > asked->rig->max_depth) {
        asked->rig->max_depth = asked->rig->depth;
    }
    asked->n_ended++;
    asked->n_flushed = asked->rig->sink.n_flushed;
    asked->kind = result->kind;
    asked->error = result->error;
    (void)snprintf(asked->words, sizeof(asked->words), "%.*s", (int)result->message.n,
                   result->message.n > 0 ? result->message.p : "");
    if (asked->then_cancel != NULL) {
        callsock_caller_cancel(asked->rig->caller, &asked->then_cancel->call, 0);
    }
    if (asked->then_submit != NULL) {
        rig_submit(asked->rig, asked->then_submit, "next");
    }
    if (asked->again) {
        asked->again = false;
        rig_submit(asked->rig, asked, "again");
    }
    asked->rig->depth--;
}

static void asked_progress(Call *call, const CallProgress *progress)
{
    Asked *asked = (Asked *)call;

    asked->n_progress++;
    (void)snprintf(asked->words, sizeof(asked->words), "%.*s", (int)progress->message.n,
                   progress->message.n > 0 ? progress->message.p : "");
}

static const CallDoor door = {.finish = asked_finish, .progress = asked_progress};

static int rig_open(Rig *rig, uint32_t max_bytes)
{
    CallsockCallerConfig config = {.max_bytes = max_bytes, .late_ms = 50, .place = "/run/p.sock"};

    *rig = (Rig){.caller = NULL};
    test_sink_init(&rig->sink);
    config.sink = &rig->sink.sink;
    for (size_t i = 0; i < N_CALLS; i++) {
        call_init(&rig->asked[i].call);
        rig->asked[i].call.door = &door;
    }
    return callsock_caller_new(&rig->caller, &config);
}

static void rig_close(Rig *rig)
{
    rig->caller = callsock_caller_free(rig->caller);
    for (size_t i = 0; i < N_CALLS; i++) {
        call_deinit(&rig->asked[i].call);
    }
    test_sink_deinit(&rig->sink);
}

static void rig_open_connected(Rig *rig)
{
    assert_int_equal(rig_open(rig, 0), 0);
    callsock_caller_connected(rig->caller, 0);
}

static void assert_ended(const Asked *asked, CallError error, const char *words)
{
    assert_int_equal(asked->n_ended, 1);
    assert_int_equal(asked->kind, CALL_RESULT_ERROR);
    assert_int_equal(asked->error, error);
    assert_string_equal(asked->words, words);
}

static void an_end_that_leads_to_the_next_call_keeps_the_order(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    rig.asked[0].then_submit = &rig.asked[2];
    rig_submit(&rig, &rig.asked[0], "a");
    rig_submit(&rig, &rig.asked[1], "b");
    assert_sent(&rig.sink, REQUEST("a"));
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    assert_sent(&rig.sink, REQUEST("b"));
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    assert_sent(&rig.sink, REQUEST("next"));
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rig.asked[i].n_ended, 1);
        assert_int_equal(rig.asked[i].kind, CALL_RESULT_TOOL);
    }
    assert_int_equal(callsock_caller_pending(rig.caller), 0);
    rig_close(&rig);
}

static void the_same_call_may_come_again_from_its_end(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    rig.asked[0].again = true;
    rig_submit(&rig, &rig.asked[0], "a");
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    assert_sent(&rig.sink, REQUEST("a") REQUEST("again"));
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    assert_int_equal(rig.asked[0].n_ended, 2);
    rig_close(&rig);
}

static void those_that_come_while_others_fail_wait_for_the_next_connection(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_open(&rig, 0), 0);
    rig.asked[0].then_submit = &rig.asked[2];
    rig_submit(&rig, &rig.asked[0], "a");
    rig_submit(&rig, &rig.asked[1], "b");
    callsock_caller_unreachable(rig.caller, SPAN("Connection refused"));
    assert_ended(&rig.asked[0], CALL_ERROR_UNAVAILABLE,
                 "cannot connect to the parent at /run/p.sock: Connection refused; start the "
                 "program that owns these tools, then call again");
    assert_int_equal(rig.asked[1].n_ended, 1);
    assert_int_equal(rig.asked[2].n_ended, 0);
    assert_true(callsock_caller_wants_connection(rig.caller));
    assert_int_equal(callsock_caller_pending(rig.caller), 1);
    callsock_caller_connected(rig.caller, 0);
    assert_sent(&rig.sink, REQUEST("next"));
    rig_close(&rig);
}

static void an_end_may_cancel_one_that_is_about_to_fail(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_open(&rig, 0), 0);
    rig.asked[0].then_cancel = &rig.asked[1];
    for (size_t i = 0; i < 3; i++) {
        rig_submit(&rig, &rig.asked[i], "a");
    }
    callsock_caller_unreachable(rig.caller, SPAN("x"));
    assert_int_equal(rig.asked[0].n_ended, 1);
    assert_int_equal(rig.asked[1].n_ended, 0);
    assert_int_equal(rig.asked[2].n_ended, 1);
    assert_int_equal(callsock_caller_pending(rig.caller), 0);
    assert_false(callsock_caller_wants_connection(rig.caller));
    rig_close(&rig);
}

static void a_call_that_is_not_ours_is_not_touched_by_cancel(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    callsock_caller_cancel(rig.caller, &rig.asked[0].call, 0);
    assert_int_equal(rig.asked[0].n_ended, 0);
    rig_close(&rig);
}

/* A request of exactly n bytes with a name of control characters, which take six each. */
static void submit_sized(Rig *rig, Asked *asked, size_t n)
{
    static const char name[] = "\x01\x02";
    static const char around[] =
        "{\"method\":\"call_tool\",\"params\":{\"name\":\"\\u0001\\u0002\","
        "\"arguments\":}}";
    size_t n_text = n - (sizeof(around) - 1);
    char *text = malloc(n_text);
    Arena arena;
    JsonDoc doc;

    memset(text, 'x', n_text);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + n_text - 2, "\"}", 2);
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(json_parse(&doc, &arena, text, n_text, NULL, NULL), 0);
    asked->call.arguments = json_root(&doc);
    rig_submit(rig, asked, name);
    asked->call.arguments = JSON_VALUE_NULL;
    arena_deinit(&arena);
    free(text);
}

static void a_request_over_the_limit_fails_at_once_and_is_never_sent(void **state)
{
    static const char words[] = "the arguments are too large: a request to the parent may have 200 "
                                "bytes; pass less at once";
    Rig rig;

    (void)state;
    assert_int_equal(rig_open(&rig, 200), 0);
    /* Without a connection, too, and without asking for one. */
    submit_sized(&rig, &rig.asked[0], 201);
    assert_ended(&rig.asked[0], CALL_ERROR_TOO_LARGE, words);
    assert_false(callsock_caller_wants_connection(rig.caller));
    callsock_caller_connected(rig.caller, 0);
    submit_sized(&rig, &rig.asked[1], 201);
    assert_ended(&rig.asked[1], CALL_ERROR_TOO_LARGE, words);
    submit_sized(&rig, &rig.asked[2], 3000);
    assert_ended(&rig.asked[2], CALL_ERROR_TOO_LARGE, words);
    assert_int_equal(rig.sink.n_sent, 0);
    submit_sized(&rig, &rig.asked[3], 200);
    assert_int_equal(rig.sink.n_sent, 1);
    assert_int_equal(rig.sink.sent.n, 201);
    rig_close(&rig);
}

static void the_contract_s_limit_is_the_default(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    submit_sized(&rig, &rig.asked[0], 10485761);
    assert_int_equal(rig.asked[0].error, CALL_ERROR_TOO_LARGE);
    submit_sized(&rig, &rig.asked[1], 10485760);
    assert_int_equal(rig.sink.sent.n, 10485761);
    rig_close(&rig);
}

static void a_name_that_alone_passes_the_limit_does_not_fit(void **state)
{
    char name[300];
    Rig rig;

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(rig_open(&rig, 200), 0);
    rig_submit(&rig, &rig.asked[0], name);
    assert_int_equal(rig.asked[0].error, CALL_ERROR_TOO_LARGE);
    rig_close(&rig);
}

static void a_request_that_the_sink_has_no_room_for_fails_and_the_next_is_sent(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_open(&rig, 0), 0);
    rig.sink.max_bytes = sizeof(REQUEST("a")) - 2;
    rig_submit(&rig, &rig.asked[0], "long");
    rig_submit(&rig, &rig.asked[1], "a");
    callsock_caller_connected(rig.caller, 0);
    assert_int_equal(rig.asked[0].error, CALL_ERROR_TOO_LARGE);
    assert_sent(&rig.sink, REQUEST("a"));
    assert_int_equal(callsock_caller_error(rig.caller), 0);
    /* Nor does it begin one. */
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    rig.sink.begin_fails = 1;
    rig_submit(&rig, &rig.asked[2], "a");
    assert_int_equal(rig.asked[2].error, CALL_ERROR_TOO_LARGE);
    assert_int_equal(callsock_caller_error(rig.caller), 0);
    rig_close(&rig);
}

static void a_failure_to_send_ends_the_connection_and_spares_the_queue(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_open(&rig, 0), 0);
    rig.sink.commit_fails = -EPIPE;
    /* Its end leads to another call, which must not be sent on what is broken. */
    rig.asked[0].then_submit = &rig.asked[2];
    rig_submit(&rig, &rig.asked[0], "a");
    rig_submit(&rig, &rig.asked[1], "b");
    callsock_caller_connected(rig.caller, 0);
    assert_ended(&rig.asked[0], CALL_ERROR_UNAVAILABLE,
                 "the call could not be sent to the parent at /run/p.sock (error 32); it has not "
                 "run: call again");
    assert_int_equal(callsock_caller_error(rig.caller), -EPIPE);
    rig.sink.commit_fails = 0;
    rig_submit(&rig, &rig.asked[3], "c");
    assert_int_equal(rig.sink.n_sent, 0);
    assert_false(callsock_caller_wants_connection(rig.caller));
    callsock_caller_lost(rig.caller, SPAN_NULL, false);
    assert_int_equal(callsock_caller_error(rig.caller), 0);
    assert_true(callsock_caller_wants_connection(rig.caller));
    assert_int_equal(callsock_caller_pending(rig.caller), 3);
    callsock_caller_connected(rig.caller, 0);
    assert_sent(&rig.sink, REQUEST("b"));
    rig_close(&rig);
}

static void ends_that_lead_to_ends_do_not_pile_up(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    rig.sink.begin_fails = 1;
    for (size_t i = 0; i + 1 < N_CALLS; i++) {
        rig.asked[i].then_submit = &rig.asked[i + 1];
    }
    rig_submit(&rig, &rig.asked[0], "a");
    for (size_t i = 0; i < N_CALLS; i++) {
        assert_int_equal(rig.asked[i].n_ended, 1);
    }
    assert_int_equal(rig.max_depth, 1);
    rig_close(&rig);
}

static void an_answer_that_breaks_the_protocol_stops_sending(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    rig.asked[0].then_submit = &rig.asked[1];
    rig_submit(&rig, &rig.asked[0], "a");
    test_sink_clear(&rig.sink);
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN("[]"), false, 0),
                     CALLSOCK_E_PROTOCOL);
    assert_ended(&rig.asked[0], CALL_ERROR_BAD_RESULT,
                 "the parent at /run/p.sock did not answer with a message: Invalid message at byte "
                 "0: expected an object, got array; the call may have been done: check before "
                 "calling again");
    assert_int_equal(rig.sink.n_sent, 0);
    /* Nothing was asked of what comes now. */
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0),
                     CALLSOCK_E_PROTOCOL);
    callsock_caller_lost(rig.caller, SPAN_NULL, false);
    assert_int_equal(rig.asked[0].n_ended, 1);
    callsock_caller_connected(rig.caller, 0);
    assert_sent(&rig.sink, REQUEST("next"));
    rig_close(&rig);
}

static void an_answer_to_nothing_stops_sending_too(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0),
                     CALLSOCK_E_PROTOCOL);
    rig_submit(&rig, &rig.asked[0], "a");
    assert_int_equal(rig.sink.n_sent, 0);
    assert_false(callsock_caller_wants_connection(rig.caller));
    callsock_caller_lost(rig.caller, SPAN_NULL, false);
    assert_true(callsock_caller_wants_connection(rig.caller));
    rig_close(&rig);
}

static void an_abandoned_answer_that_is_none_still_breaks_the_protocol(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    rig_submit(&rig, &rig.asked[0], "a");
    callsock_caller_cancel(rig.caller, &rig.asked[0].call, 0);
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN("{"), false, 0), CALLSOCK_E_PROTOCOL);
    assert_int_equal(rig.asked[0].n_ended, 0);
    rig_close(&rig);
}

static void freeing_fails_what_is_left_and_takes_no_more(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    for (size_t i = 0; i < 3; i++) {
        rig_submit(&rig, &rig.asked[i], "a");
    }
    rig.asked[0].then_submit = &rig.asked[3];
    rig.asked[1].then_cancel = &rig.asked[2];
    rig.caller = callsock_caller_free(rig.caller);
    assert_ended(&rig.asked[0], CALL_ERROR_UNAVAILABLE,
                 "the connection to the parent at /run/p.sock was closed while the call ran; it "
                 "may have been done: check before calling again");
    assert_ended(&rig.asked[1], CALL_ERROR_UNAVAILABLE,
                 "the tools of the parent at /run/p.sock are not offered any more; the call has "
                 "not run");
    assert_int_equal(rig.asked[2].n_ended, 0);
    assert_ended(&rig.asked[3], CALL_ERROR_UNAVAILABLE, "the provider is not available");
    assert_null(callsock_caller_free(NULL));
    rig_close(&rig);
}

static void calls_in_a_row_allocate_nothing(void **state)
{
    static const char pretty[] = "{\"result\":\n{\"content\":[\n{\"type\":\"text\","
                                 "\"text\":\"1\"}]}}";
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    for (int i = 0; i < 100; i++) {
        if (i == 3) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        for (size_t k = 0; k < N_CALLS; k++) {
            rig_submit(&rig, &rig.asked[k], "a");
        }
        for (size_t k = 0; k < N_CALLS; k++) {
            assert_int_equal(callsock_caller_receive(
                                 rig.caller, k % 2 == 0 ? SPAN(ANSWER) : SPAN(pretty), false, 0),
                             0);
        }
        test_sink_clear(&rig.sink);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    assert_int_equal(rig.asked[0].n_ended, 100);
    rig_close(&rig);
}

static void many_places_are_given_back(void **state)
{
    enum {
        N_MANY = LIMIT_CALLS_IN_FLIGHT + 50
    };
    Asked *many = calloc(N_MANY, sizeof(*many));
    long live;
    Rig rig;

    (void)state;
    assert_int_equal(rig_open(&rig, 0), 0);
    live = alloc_testing()->n_live;
    for (size_t i = 0; i < N_MANY; i++) {
        call_init(&many[i].call);
        many[i].call.door = &door;
        rig_submit(&rig, &many[i], "a");
    }
    assert_int_equal(callsock_caller_pending(rig.caller), N_MANY);
    callsock_caller_unreachable(rig.caller, SPAN("x"));
    assert_int_equal(alloc_testing()->n_live - live, LIMIT_CALLS_IN_FLIGHT);
    rig_close(&rig);
    free(many);
}

/* Whatever lacks, each call ends, and the session goes on. */
static int call_twice(void *context)
{
    Rig *rig = context;
    size_t n_failed = 0;
    int r = rig_open(rig, 0);

    if (r == 0) {
        callsock_caller_connected(rig->caller, 0);
        for (size_t i = 0; i < 2; i++) {
            rig_submit(rig, &rig->asked[i], "a");
            if (rig->asked[i].n_ended == 0) {
                assert_int_equal(callsock_caller_receive(rig->caller, SPAN(ANSWER), false, 0), 0);
            }
            assert_int_equal(rig->asked[i].n_ended, 1);
            n_failed += rig->asked[i].kind == CALL_RESULT_ERROR ? 1 : 0;
            if (callsock_caller_error(rig->caller) != 0) {
                callsock_caller_lost(rig->caller, SPAN_NULL, false);
                callsock_caller_connected(rig->caller, 0);
            }
        }
        r = n_failed > 0 ? -ENOMEM : 0;
    }
    rig_close(rig);
    return r;
}

static void want_of_memory_fails_the_call_and_nothing_else(void **state)
{
    Rig rig;

    (void)state;
    test_oom_sweep(call_twice, &rig);
}

static void the_next_request_leaves_before_the_answer_is_handed_on(void **state)
{
    static const char *const answers[] = {
        ANSWER,
        "{\"result\":5}",
        "{\"error\":{\"message\":\"no\",\"type\":\"KeyError\"}}",
    };
    Rig rig;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(answers); i++) {
        rig_open_connected(&rig);
        test_sink_lend(&rig.sink);
        rig_submit(&rig, &rig.asked[0], "a");
        rig_submit(&rig, &rig.asked[1], "b");
        assert_int_equal(rig.sink.n_flushed, 0);
        assert_int_equal(callsock_caller_receive(rig.caller, span_from_str(answers[i]), false, 0),
                         0);
        assert_int_equal(rig.asked[0].n_ended, 1);
        assert_int_equal(rig.asked[0].n_flushed, 2);
        assert_sent(&rig.sink, REQUEST("a") REQUEST("b"));
        /* Nobody waits: there is nothing to hurry. */
        rig.sink.n_flushed = 77;
        assert_int_equal(callsock_caller_receive(rig.caller, span_from_str(answers[i]), false, 0),
                         0);
        assert_int_equal(rig.asked[1].n_flushed, 77);
        rig_close(&rig);
    }
}

static void nothing_is_sent_behind_an_answer_that_breaks_the_protocol(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    test_sink_lend(&rig.sink);
    rig_submit(&rig, &rig.asked[0], "a");
    rig_submit(&rig, &rig.asked[1], "b");
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN("no answer"), false, 0),
                     CALLSOCK_E_PROTOCOL);
    assert_int_equal(rig.asked[0].n_ended, 1);
    assert_int_equal(rig.asked[1].n_ended, 0);
    assert_int_equal(rig.sink.n_flushed, 0);
    assert_sent(&rig.sink, REQUEST("a"));
    rig_close(&rig);
}

/* The next request finds no room: it ends before the answer to the last is handed on, and takes
 * the asker of that with it. */
static void an_end_may_cancel_the_call_whose_answer_has_come(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    test_sink_lend(&rig.sink);
    rig.asked[1].then_cancel = &rig.asked[0];
    rig_submit(&rig, &rig.asked[0], "a");
    rig_submit(&rig, &rig.asked[1], "b");
    rig.sink.commit_fails = 1;
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    assert_int_equal(rig.asked[1].n_ended, 1);
    assert_int_equal(rig.asked[0].n_ended, 0);
    assert_null(rig.asked[0].call.provider_data);
    assert_int_equal(callsock_caller_pending(rig.caller), 0);
    /* Its place is free for the next. */
    rig.sink.commit_fails = 0;
    test_sink_clear(&rig.sink);
    rig_submit(&rig, &rig.asked[2], "c");
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    assert_int_equal(rig.asked[2].n_ended, 1);
    assert_sent(&rig.sink, REQUEST("c"));
    rig_close(&rig);
}

static void arguments_are_taken_when_the_system_has_taken_them(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_open(&rig, 0), 0);
    rig_submit(&rig, &rig.asked[0], "a");
    rig_submit(&rig, &rig.asked[1], "b");
    assert_false(rig.asked[0].call.took_arguments);
    callsock_caller_taken(rig.caller); /* nothing is out */
    callsock_caller_connected(rig.caller, 0);
    assert_false(rig.asked[0].call.took_arguments);
    callsock_caller_taken(rig.caller);
    assert_true(rig.asked[0].call.took_arguments);
    assert_false(rig.asked[1].call.took_arguments);
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    assert_false(rig.asked[1].call.took_arguments);
    callsock_caller_taken(rig.caller);
    assert_true(rig.asked[1].call.took_arguments);
    /* Not by one that the sink has no room for. */
    rig.sink.commit_fails = 1;
    rig_submit(&rig, &rig.asked[2], "c");
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    assert_int_equal(rig.asked[2].n_ended, 1);
    assert_false(rig.asked[2].call.took_arguments);
    rig_close(&rig);
}

/* Its end leads to another call, which must not be sent either. */
static void nothing_is_sent_behind_an_answer_with_more_behind_it(void **state)
{
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    test_sink_lend(&rig.sink);
    rig.asked[0].then_submit = &rig.asked[2];
    rig_submit(&rig, &rig.asked[0], "a");
    rig_submit(&rig, &rig.asked[1], "b");
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), true, 0),
                     CALLSOCK_E_PROTOCOL);
    assert_int_equal(rig.asked[0].n_ended, 1);
    assert_int_equal(rig.asked[0].kind, CALL_RESULT_TOOL);
    assert_false(callsock_caller_is_awaiting(rig.caller));
    assert_sent(&rig.sink, REQUEST("a"));
    callsock_caller_lost(rig.caller, SPAN_NULL, false);
    assert_int_equal(callsock_caller_pending(rig.caller), 2);
    callsock_caller_connected(rig.caller, 0);
    assert_true(callsock_caller_is_awaiting(rig.caller));
    assert_sent(&rig.sink, REQUEST("b"));
    rig_close(&rig);
}

/* {"a":"xxx…"} of n bytes. */
static JsonValue make_arguments(Arena *arena, size_t n)
{
    char *text = arena_alloc(arena, n);
    JsonDoc doc;

    assert_non_null(text);
    memset(text, 'x', n);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + n - 2, "\"}", 2);
    assert_int_equal(json_parse(&doc, arena, text, n, NULL, NULL), 0);
    return json_root(&doc);
}

static void a_call_whose_arguments_are_gone_is_not_sent_again(void **state)
{
    Arena arena;
    Rig rig;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    rig_open_connected(&rig);
    rig.asked[0].call.arguments = make_arguments(&arena, 20);
    rig_submit(&rig, &rig.asked[0], "a");
    rig.asked[0].call.arguments = JSON_VALUE_NULL;
    callsock_caller_lost(rig.caller, SPAN("Broken pipe"), true);
    assert_ended(&rig.asked[0], CALL_ERROR_UNAVAILABLE,
                 "the call could not be sent to the parent at /run/p.sock (Broken pipe); it has "
                 "not run: call again");
    assert_false(callsock_caller_wants_connection(rig.caller));
    rig_close(&rig);
    arena_deinit(&arena);
}

static void large_arguments_are_lent_within_the_limit(void **state)
{
    const size_t overhead = sizeof(REQUEST("a")) - 2 - 2; /* NUL and newline; {} */
    const size_t n = BYTES_LEND_MIN;
    Arena arena;
    Rig rig;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (int lends = 0; lends < 2; lends++) {
        assert_int_equal(rig_open(&rig, (uint32_t)(n + overhead)), 0);
        if (lends != 0) {
            test_sink_lend(&rig.sink);
        }
        callsock_caller_connected(rig.caller, 0);
        rig.asked[0].call.arguments = make_arguments(&arena, n);
        rig.asked[1].call.arguments = make_arguments(&arena, n - 1);
        rig.asked[2].call.arguments = make_arguments(&arena, n + 1);
        for (size_t i = 0; i < 3; i++) {
            rig_submit(&rig, &rig.asked[i], "a");
            if (i < 2) {
                assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
            }
        }
        assert_int_equal(rig.asked[1].kind, CALL_RESULT_TOOL);
        assert_int_equal(rig.asked[2].error, CALL_ERROR_TOO_LARGE);
        assert_int_equal(rig.sink.n_lent, lends);
        assert_int_equal(rig.sink.sent.n, 2 * (n + overhead + 1) - 1);
        assert_memory_equal(rig.sink.sent.data + n + overhead - 6, "xx\"}}}\n{\"", 9);
        rig_close(&rig);
    }
    arena_deinit(&arena);
}

/* It is no answer, whatever lies behind it; and nobody is told of a call that he took back. */
static void progress_comes_before_the_answer_to_those_who_ask(void **state)
{
    static const char report[] = "{\"progress\":{\"progress\":1,\"message\":\"half\"}}";
    Rig rig;

    (void)state;
    rig_open_connected(&rig);
    rig.asked[0].call.wants_progress = true;
    rig_submit(&rig, &rig.asked[0], "a");
    rig_submit(&rig, &rig.asked[1], "b");
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(report), true, 0), 0);
    assert_int_equal(rig.asked[0].n_progress, 1);
    assert_string_equal(rig.asked[0].words, "half");
    assert_true(callsock_caller_is_awaiting(rig.caller));
    callsock_caller_cancel(rig.caller, &rig.asked[0].call, 0);
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(report), false, 0), 0);
    assert_int_equal(rig.asked[0].n_progress, 1);
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(ANSWER), false, 0), 0);
    /* The second did not ask: a report is no answer to it. */
    assert_int_equal(callsock_caller_receive(rig.caller, SPAN(report), false, 0), 0);
    assert_int_equal(rig.asked[1].n_progress, 0);
    assert_int_equal(rig.asked[1].error, CALL_ERROR_BAD_RESULT);
    /* One that has no number is none, either. */
    rig.asked[2].call.wants_progress = true;
    rig_submit(&rig, &rig.asked[2], "c");
    assert_int_equal(
        callsock_caller_receive(rig.caller, SPAN("{\"progress\":{\"progress\":\"1\"}}"), false, 0),
        0);
    assert_int_equal(rig.asked[2].error, CALL_ERROR_BAD_RESULT);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_leads_to_the_next_call_keeps_the_order),
        cmocka_unit_test(the_same_call_may_come_again_from_its_end),
        cmocka_unit_test(those_that_come_while_others_fail_wait_for_the_next_connection),
        cmocka_unit_test(an_end_may_cancel_one_that_is_about_to_fail),
        cmocka_unit_test(a_call_that_is_not_ours_is_not_touched_by_cancel),
        cmocka_unit_test(a_request_over_the_limit_fails_at_once_and_is_never_sent),
        cmocka_unit_test(the_contract_s_limit_is_the_default),
        cmocka_unit_test(a_name_that_alone_passes_the_limit_does_not_fit),
        cmocka_unit_test(a_request_that_the_sink_has_no_room_for_fails_and_the_next_is_sent),
        cmocka_unit_test(a_failure_to_send_ends_the_connection_and_spares_the_queue),
        cmocka_unit_test(ends_that_lead_to_ends_do_not_pile_up),
        cmocka_unit_test(an_answer_that_breaks_the_protocol_stops_sending),
        cmocka_unit_test(an_answer_to_nothing_stops_sending_too),
        cmocka_unit_test(an_abandoned_answer_that_is_none_still_breaks_the_protocol),
        cmocka_unit_test(freeing_fails_what_is_left_and_takes_no_more),
        cmocka_unit_test(calls_in_a_row_allocate_nothing),
        cmocka_unit_test(many_places_are_given_back),
        cmocka_unit_test(want_of_memory_fails_the_call_and_nothing_else),
        cmocka_unit_test(the_next_request_leaves_before_the_answer_is_handed_on),
        cmocka_unit_test(nothing_is_sent_behind_an_answer_that_breaks_the_protocol),
        cmocka_unit_test(an_end_may_cancel_the_call_whose_answer_has_come),
        cmocka_unit_test(arguments_are_taken_when_the_system_has_taken_them),
        cmocka_unit_test(nothing_is_sent_behind_an_answer_with_more_behind_it),
        cmocka_unit_test(a_call_whose_arguments_are_gone_is_not_sent_again),
        cmocka_unit_test(progress_comes_before_the_answer_to_those_who_ask),
        cmocka_unit_test(large_arguments_are_lent_within_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
