#include "dialect/callsock/parent.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/dialect/callsock/sink_testing.h"

#define CALL_ADD "{\"method\":\"call_tool\",\"params\":{\"name\":\"add\",\"arguments\":{\"a\":1}}}"
#define DONE                                                                                       \
    "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"1\"}],"                               \
    "\"isError\":false}}\n"

static const Span done_piece = SPAN_INIT("{\"type\":\"text\",\"text\":\"1\"}");

typedef struct Owner {
    TestSink sink;
    CallsockParent *parent;
    size_t n_idle;
    bool frees; /* ends the session when idle */
} Owner;

static void owner_idle(void *context)
{
    Owner *owner = context;

    owner->n_idle++;
    assert_false(callsock_parent_is_busy(owner->parent));
    if (owner->frees) {
        owner->parent = callsock_parent_free(owner->parent);
    }
}

static void owner_open(Owner *owner, uint32_t max_bytes)
{
    CallsockParentConfig config = {.max_bytes = max_bytes, .idle = owner_idle, .context = owner};

    *owner = (Owner){.n_idle = 0};
    test_sink_init(&owner->sink);
    config.sink = &owner->sink.sink;
    assert_int_equal(callsock_parent_new(&owner->parent, &config), 0);
}

static void owner_close(Owner *owner)
{
    owner->parent = callsock_parent_free(owner->parent);
    test_sink_deinit(&owner->sink);
}

/* A request that became a call, fetched. */
static Call *owner_call(Owner *owner, Span message)
{
    assert_int_equal(callsock_parent_receive(owner->parent, message), 0);
    return callsock_parent_next(owner->parent);
}

static void finish_done(Call *call)
{
    CallResult result = CALL_RESULT_TOOL_PIECES(&done_piece, 1);

    call_finish(call, &result);
}

static void a_request_becomes_a_call_once(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0);
    assert_null(callsock_parent_next(owner.parent));
    assert_int_equal(callsock_parent_receive(owner.parent, SPAN(CALL_ADD)), 0);
    assert_true(callsock_parent_is_busy(owner.parent));
    assert_null(callsock_parent_call(owner.parent));
    call = callsock_parent_next(owner.parent);
    assert_non_null(call);
    assert_null(callsock_parent_next(owner.parent));
    assert_ptr_equal(callsock_parent_call(owner.parent), call);
    assert_int_equal(call->verb, CALL_TOOL);
    assert_true(span_equals(call->target, SPAN("add")));
    assert_true(span_equals(json_span(call->arguments), SPAN("{\"a\":1}")));
    assert_int_equal(call->can, 0);
    assert_false(call->wants_progress);
    assert_int_equal(call->log_level, CALL_LOG_NONE);
    finish_done(call);
    assert_sent(&owner.sink, DONE);
    assert_null(callsock_parent_call(owner.parent));
    assert_false(callsock_parent_is_busy(owner.parent));
    owner_close(&owner);
}

static void the_owner_is_told_of_answers_that_come_after_dispatch_only(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0);
    finish_done(owner_call(&owner, SPAN(CALL_ADD)));
    assert_int_equal(owner.n_idle, 0);
    call = owner_call(&owner, SPAN(CALL_ADD));
    /* As the router does, once a provider's start has returned. */
    assert_int_equal(call_keep_arguments(call), 0);
    finish_done(call);
    assert_int_equal(owner.n_idle, 1);
    assert_sent(&owner.sink, DONE DONE);
    owner_close(&owner);
}

static void the_owner_may_end_the_session_when_it_is_told(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0);
    owner.frees = true;
    call = owner_call(&owner, SPAN(CALL_ADD));
    assert_int_equal(call_keep_arguments(call), 0);
    finish_done(call);
    assert_null(owner.parent);
    owner_close(&owner);
}

static void nobody_need_be_told(void **state)
{
    CallsockParentConfig config = {.max_bytes = 0};
    CallsockParent *parent;
    TestSink sink;
    Call *call;

    (void)state;
    test_sink_init(&sink);
    config.sink = &sink.sink;
    assert_int_equal(callsock_parent_new(&parent, &config), 0);
    assert_int_equal(callsock_parent_receive(parent, SPAN(CALL_ADD)), 0);
    call = callsock_parent_next(parent);
    assert_int_equal(call_keep_arguments(call), 0);
    finish_done(call);
    assert_sent(&sink, DONE);
    parent = callsock_parent_free(parent);
    assert_null(parent);
    test_sink_deinit(&sink);
}

/* Who knows the contract alone, and so does not ask, is sent no frame that is not in it. */
static void progress_and_logs_are_not_sent(void **state)
{
    CallProgress progress = {.progress = 1, .total = CALL_NO_TOTAL};
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0);
    call = owner_call(&owner, SPAN(CALL_ADD));
    call_report(call, &progress);
    call_log(call, CALL_LOG_EMERGENCY, SPAN_NULL, SPAN("1"));
    call->door->log(call, CALL_LOG_EMERGENCY, SPAN_NULL, SPAN("1"));
    assert_int_equal(owner.sink.n_sent, 0);
    finish_done(call);
    owner_close(&owner);
}

static bool is_behind;

static bool sink_is_behind(void *context)
{
    (void)context;
    return is_behind;
}

static void progress_is_sent_to_a_bridge_that_asks_and_reads(void **state)
{
    CallProgress progress = {.progress = 1, .total = CALL_NO_TOTAL, .message = SPAN("\"a\"")};
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0);
    owner.sink.sink.is_behind = sink_is_behind;
    is_behind = false;
    call = owner_call(&owner, SPAN("{\"method\":\"call_tool\",\"params\":{\"name\":\"add\","
                                   "\"arguments\":{},\"progress\":true}}"));
    assert_true(call->wants_progress);
    call_report(call, &progress);
    is_behind = true;
    progress.progress = 2;
    call_report(call, &progress);
    is_behind = false;
    progress = (CallProgress){.progress = 3, .total = 4, .spelt_total = SPAN("4.0")};
    call_report(call, &progress);
    finish_done(call);
    assert_sent(&owner.sink, "{\"progress\":{\"progress\":1,\"message\":\"\\\"a\\\"\"}}\n"
                             "{\"progress\":{\"progress\":3,\"total\":4.0}}\n" DONE);
    owner_close(&owner);
}

static void a_cancelled_call_is_dropped_and_the_session_goes_on(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    assert_non_null(owner_call(&owner, SPAN(CALL_ADD)));
    callsock_parent_drop(owner.parent);
    assert_null(callsock_parent_call(owner.parent));
    assert_false(callsock_parent_is_busy(owner.parent));
    /* Also one that was not fetched. */
    assert_int_equal(callsock_parent_receive(owner.parent, SPAN(CALL_ADD)), 0);
    callsock_parent_drop(owner.parent);
    assert_null(callsock_parent_next(owner.parent));
    finish_done(owner_call(&owner, SPAN(CALL_ADD)));
    assert_sent(&owner.sink, DONE);
    owner_close(&owner);
}

/* A result whose response takes exactly n bytes. */
static void finish_sized(Owner *owner, size_t n)
{
    static const char around[] = "{\"result\":{\"content\":[],\"isError\":false}}";
    size_t n_piece = n - (sizeof(around) - 1);
    char *text = calloc(1, n_piece);
    Span piece = span_make(text, n_piece);
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);

    memset(text, 'x', n_piece);
    memcpy(text, "{\"type\":\"text\",\"text\":\"", 23);
    memcpy(text + n_piece - 2, "\"}", 2);
    call_finish(owner_call(owner, SPAN(CALL_ADD)), &result);
    free(text);
}

static void a_response_over_the_limit_becomes_an_error(void **state)
{
    static const char refusal[] =
        "{\"error\":{\"message\":\"Message exceeds max size: the result does not fit into the 1000 "
        "bytes of a response; ask the tool for less at once\",\"type\":\"IPCMessageSizeError\"}}\n";
    Owner owner;

    (void)state;
    owner_open(&owner, 1000);
    finish_sized(&owner, 1000);
    assert_int_equal(owner.sink.sent.n, 1001);
    test_sink_clear(&owner.sink);
    finish_sized(&owner, 1001);
    assert_sent(&owner.sink, refusal);
    /* Seen before it is copied. */
    finish_sized(&owner, 2000);
    assert_sent(&owner.sink, refusal);
    assert_int_equal(callsock_parent_error(owner.parent), 0);
    owner_close(&owner);
}

static void the_contract_s_limit_is_the_default(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    finish_sized(&owner, 10485760);
    assert_int_equal(owner.sink.sent.n, 10485761);
    test_sink_clear(&owner.sink);
    finish_sized(&owner, 10485761);
    assert_true(owner.sink.sent.n < 300);
    owner_close(&owner);
}

static void a_sink_that_takes_less_gets_an_error_too(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    owner.sink.max_bytes = 300;
    finish_sized(&owner, 301);
    assert_int_equal(owner.sink.n_sent, 1);
    assert_int_equal(callsock_parent_error(owner.parent), 0);
    /* Nor does the buffer behind it hold more. */
    test_sink_clear(&owner.sink);
    bytes_deinit(&owner.sink.sent);
    bytes_init(&owner.sink.sent, 300);
    finish_sized(&owner, 301);
    assert_int_equal(owner.sink.n_sent, 1);
    assert_int_equal(callsock_parent_error(owner.parent), 0);
    owner_close(&owner);
}

static void a_sink_that_takes_nothing_ends_the_connection(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    owner.sink.begin_fails = 1;
    finish_done(owner_call(&owner, SPAN(CALL_ADD)));
    assert_int_equal(callsock_parent_error(owner.parent), -ENOBUFS);
    assert_int_equal(callsock_parent_receive(owner.parent, SPAN("{}")), -ENOBUFS);
    assert_int_equal(callsock_parent_receive(owner.parent, SPAN("[]")), -ENOBUFS);
    assert_int_equal(callsock_parent_refuse_size(owner.parent, 1), -ENOBUFS);
    owner_close(&owner);
}

static void the_first_failure_of_the_sink_is_told(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    owner.sink.commit_fails = -EPIPE;
    finish_done(owner_call(&owner, SPAN(CALL_ADD)));
    assert_int_equal(callsock_parent_error(owner.parent), -EPIPE);
    owner.sink.commit_fails = -EIO;
    finish_done(owner_call(&owner, SPAN(CALL_ADD)));
    assert_int_equal(callsock_parent_error(owner.parent), -EPIPE);
    owner.sink.begin_fails = -EPIPE;
    assert_int_equal(callsock_parent_receive(owner.parent, SPAN("7")), -EPIPE);
    owner_close(&owner);
}

static void calls_in_a_row_allocate_nothing(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    for (int i = 0; i < 100; i++) {
        Call *call;

        if (i == 3) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        call = owner_call(&owner, SPAN(CALL_ADD));
        assert_int_equal(call_keep_arguments(call), 0);
        finish_done(call);
        assert_int_equal(callsock_parent_receive(owner.parent, SPAN("{\"method\":\"x\"}")), 0);
        test_sink_clear(&owner.sink);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    owner_close(&owner);
}

static int serve_one(void *context)
{
    TestSink *sink = context;
    CallsockParentConfig config = {.sink = &sink->sink};
    CallsockParent *parent = NULL;
    int r;

    test_sink_init(sink);
    config.sink = &sink->sink;
    r = callsock_parent_new(&parent, &config);
    if (r == 0) {
        r = callsock_parent_receive(parent, SPAN("{\"method\":\"x\"}"));
    }
    if (r == 0) {
        r = callsock_parent_receive(parent, SPAN(CALL_ADD));
    }
    if (r == 0) {
        finish_done(callsock_parent_next(parent));
        r = callsock_parent_error(parent);
    }
    if (r == 0) {
        r = callsock_parent_refuse_size(parent, 1);
    }
    parent = callsock_parent_free(parent);
    test_sink_deinit(sink);
    return r;
}

static void want_of_memory_ends_the_connection_and_nothing_else(void **state)
{
    TestSink sink;

    (void)state;
    test_oom_sweep(serve_one, &sink);
}

static void the_limit_of_an_answer_counts_what_is_lent(void **state)
{
    static char text[BYTES_LEND_MIN + 1];
    static const char head[] = "{\"type\":\"text\",\"text\":\"";
    const size_t around = sizeof(DONE) - 2 - done_piece.n; /* NUL and newline */
    Owner owner;

    (void)state;
    for (int lends = 0; lends < 2; lends++) {
        for (size_t n = sizeof(text) - 1; n <= sizeof(text); n++) {
            Span piece = span_make(text, n);
            CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);
            bool fits = n < sizeof(text);

            memset(text, 'x', n);
            memcpy(text, head, sizeof(head) - 1);
            memcpy(text + n - 2, "\"}", 2);
            owner_open(&owner, (uint32_t)(around + sizeof(text) - 1));
            if (lends != 0) {
                test_sink_lend(&owner.sink);
            }
            call_finish(owner_call(&owner, SPAN(CALL_ADD)), &result);
            assert_int_equal(owner.sink.n_sent, 1);
            assert_int_equal(owner.sink.n_lent, lends != 0 && fits ? 1 : 0);
            assert_int_equal(callsock_parent_error(owner.parent), 0);
            assert_int_equal(owner.sink.sent.n == around + n + 1, fits);
            assert_memory_equal(owner.sink.sent.data, fits ? "{\"result\":" : "{\"error\":", 9);
            finish_done(owner_call(&owner, SPAN(CALL_ADD)));
            assert_int_equal(owner.sink.n_sent, 2);
            owner_close(&owner);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_becomes_a_call_once),
        cmocka_unit_test(the_owner_is_told_of_answers_that_come_after_dispatch_only),
        cmocka_unit_test(the_owner_may_end_the_session_when_it_is_told),
        cmocka_unit_test(nobody_need_be_told),
        cmocka_unit_test(progress_and_logs_are_not_sent),
        cmocka_unit_test(progress_is_sent_to_a_bridge_that_asks_and_reads),
        cmocka_unit_test(a_cancelled_call_is_dropped_and_the_session_goes_on),
        cmocka_unit_test(a_response_over_the_limit_becomes_an_error),
        cmocka_unit_test(the_contract_s_limit_is_the_default),
        cmocka_unit_test(a_sink_that_takes_less_gets_an_error_too),
        cmocka_unit_test(a_sink_that_takes_nothing_ends_the_connection),
        cmocka_unit_test(the_first_failure_of_the_sink_is_told),
        cmocka_unit_test(calls_in_a_row_allocate_nothing),
        cmocka_unit_test(want_of_memory_ends_the_connection_and_nothing_else),
        cmocka_unit_test(the_limit_of_an_answer_counts_what_is_lent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
