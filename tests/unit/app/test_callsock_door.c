#include "app/callsock_door.h"

#include "support/cmocka.h"

#include "base/limits.h"
#include "dialect/callsock/message.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/app/asker_rig.h"
#include "unit/app/callsock_door_rig.h"

/* ---- requests ---- */

/* A request of echo that is n bytes long; free() it. */
static Span echo_of_size(size_t n)
{
    static const char head[] =
        "{\"method\":\"call_tool\",\"params\":{\"name\":\"echo\",\"arguments\":{\"message\":\"";
    static const char tail[] = "\"}}}";
    char *text = malloc(n);

    assert_non_null(text);
    memset(text, 'x', n);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + n - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
    return span_make(text, n);
}

static void span_free(Span s)
{
    free((void *)(uintptr_t)s.p);
}

static void calls_are_answered_one_after_the_other(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    for (size_t i = 0; i < 3; i++) {
        client_is_served(&c);
        client_sends(&c, SPAN(REQUEST("sleep", "{\"ms\":1}")));
        client_expects(&c, RESULT("slept 1 ms"));
    }
    assert_int_equal(callsock_door_connections(f.door), 1);
    assert_int_equal(f.n_logged, 0);
    client_close(&c);
    fixture_deinit(&f);
}

static void a_call_says_who_asks(void **state)
{
    SeenAsker seen;
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    seen_asker_watch(&seen, hub_router(f.hub));
    client_open(&c, &f);
    client_sends(&c, SPAN(REQUEST("sleep", "{\"ms\":1}")));
    client_expects(&c, RESULT("slept 1 ms"));
    seen_asker_expect_self(&seen, 1, "callsock");
    client_close(&c);
    fixture_deinit(&f);
}

static void requests_that_are_sent_ahead_are_answered_in_order(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    run(&f);
    for (size_t i = 0; i < 2; i++) {
        client_sends(&c, SPAN(REQUEST("echo", "{\"message\":\"ahead\"}")));
        client_sends(&c, SPAN(REQUEST("sleep", "{\"ms\":1}")));
    }
    /* Another bridge's answers show that the door has had time for these. */
    for (size_t i = 0; i < 3; i++) {
        Client other;

        client_open(&other, &f);
        client_is_served(&other);
        client_close(&other);
    }
    hold_let_go(&f);
    client_expects(&c, RESULT("let go"));
    for (size_t i = 0; i < 2; i++) {
        client_expects(&c, RESULT("ahead"));
        client_expects(&c, RESULT("slept 1 ms"));
    }
    assert_int_equal(f.n_logged, 1);
    client_is_served(&c);
    client_close(&c);
    fixture_deinit(&f);
}

static void what_is_sent_ahead_waits_with_the_sender(void **state)
{
    enum {
        N = 20
    };
    Span request = echo_of_size(1000000); /* all of them are more than a link may hold */
    Client other;
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_open(&other, &f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    run(&f);
    for (size_t i = 0; i < N; i++) {
        client_sends(&c, request);
        client_is_served(&other);
    }
    assert_true(len32_writer_pending(&c.writer) > (N - 2) * request.n);
    hold_let_go(&f);
    client_expects(&c, RESULT("let go"));
    for (size_t i = 0; i < N; i++) {
        assert_true(client_awaits(&c).n > request.n - 100);
    }
    client_close(&other);
    client_close(&c);
    fixture_deinit(&f);
    span_free(request);
}

static void a_slow_call_delays_no_other_connection(void **state)
{
    Client clients[3];
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < 3; i++) {
        client_open(&clients[i], &f);
    }
    client_sends(&clients[0], SPAN(REQUEST("hold", "{}")));
    run(&f);
    client_is_served(&clients[1]);
    client_is_served(&clients[2]);
    assert_int_equal(callsock_door_connections(f.door), 3);
    hold_let_go(&f);
    client_expects(&clients[0], RESULT("let go"));
    for (size_t i = 0; i < 3; i++) {
        client_close(&clients[i]);
    }
    fixture_deinit(&f);
}

static void wrong_requests_are_answered_and_the_next_is_served(void **state)
{
    static const struct {
        Span request;
        const char *type;
    } rows[] = {
        {SPAN_INIT("{\"method\":\"list_tools\",\"params\":{}}"), "ValueError"},
        {SPAN_INIT("{}"), "ValueError"},
        {SPAN_INIT("{\"method\":\"call_tool\",\"params\":[]}"), "ValueError"},
        {SPAN_INIT("{\"method\":\"call_tool\",\"params\":{\"name\":5}}"), "ValueError"},
        {SPAN_INIT(REQUEST("echo", "[]")), "ValueError"},
        {SPAN_INIT(REQUEST("none", "{}")), "ToolNotFoundError"},
    };
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        client_sends(&c, rows[i].request);
        client_expects_error(&c, rows[i].type);
        client_is_served(&c);
    }
    client_close(&c);
    fixture_deinit(&f);
}

static void a_broken_stream_is_told_why_and_closed(void **state)
{
    static const struct {
        const char *name;
        Span bytes;
        const char *type;
        bool is_cut;
    } rows[] = {
        {"not JSON", SPAN_INIT("\0\0\0\5hello"), "IPCError", false},
        {"nothing", SPAN_INIT("\0\0\0\0"), "IPCError", false},
        {"no object", SPAN_INIT("\0\0\0\2[]"), "IPCError", false},
        {"one byte over the limit", SPAN_INIT("\0\xa0\0\1"), "IPCMessageSizeError", false},
        {"the largest length", SPAN_INIT("\xff\xff\xff\xff"), "IPCMessageSizeError", false},
        {"half a frame", SPAN_INIT("\0\0\0\x10{\"method\""), "IPCError", true},
        {"half a length", SPAN_INIT("\0\0"), "IPCError", true},
    };
    Client witness;
    Fixture f;

    (void)state;
    fixture_init(&f);
    client_open(&witness, &f);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Client c;

        print_message("%s\n", rows[i].name);
        client_open(&c, &f);
        client_is_served(&c);
        client_sends_raw(&c, rows[i].bytes);
        if (rows[i].is_cut) {
            io_stream_shut_output(c.stream);
        }
        client_expects_error(&c, rows[i].type);
        client_expects_end(&c);
        client_close(&c);
        client_is_served(&witness);
    }
    assert_int_equal(callsock_door_connections(f.door), 1);
    client_close(&witness);
    fixture_deinit(&f);
}

/* ---- sizes ---- */

static void a_request_at_the_limit_passes_and_its_answer_too(void **state)
{
    Span request = echo_of_size(LIMIT_CALLSOCK_MESSAGE_BYTES);
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_sends(&c, request);
    assert_true(client_awaits(&c).n > request.n - 100);
    client_is_served(&c);
    client_close(&c);
    fixture_deinit(&f);
    span_free(request);
}

static void an_answer_over_the_limit_becomes_an_error_and_the_next_call_is_served(void **state)
{
    enum {
        MAX = 1000
    };
    static const char around[] = RESULT("");
    char text[2 * MAX];
    Fixture f;
    Client c;

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(fixture_open(&f, NULL, MAX, 0), 0);
    client_open(&c, &f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    run(&f);
    hold_let_go_saying(&f, span_make(text, MAX - (sizeof(around) - 1)));
    assert_int_equal(client_awaits(&c).n, MAX);
    for (size_t n = 1; n < MAX; n *= 3) {
        client_sends(&c, SPAN(REQUEST("hold", "{}")));
        run(&f);
        hold_let_go_saying(&f, span_make(text, MAX - (sizeof(around) - 1) + n));
        client_expects_error(&c, CALLSOCK_TYPE_SIZE);
        client_is_served(&c);
    }
    client_close(&c);
    fixture_deinit(&f);
}

static void a_bridge_that_does_not_read_loses_nothing_and_delays_nobody(void **state)
{
    enum {
        N = 100
    };
    Span request = echo_of_size(100000);
    Client slow;
    Client quick;
    Fixture f;

    (void)state;
    fixture_init(&f);
    client_open(&slow, &f);
    client_open(&quick, &f);
    io_stream_pause(slow.stream);
    for (size_t i = 0; i < N; i++) {
        client_sends(&slow, request);
        client_is_served(&quick);
    }
    /* It is not read from either: most of its requests are still its own. */
    assert_true(len32_writer_pending(&slow.writer) > N / 2 * request.n);
    io_stream_resume(slow.stream);
    for (size_t i = 0; i < N; i++) {
        Span answer = client_awaits(&slow);

        assert_true(answer.n > request.n - 100 && answer.n < request.n + 100);
    }
    client_is_served(&slow);
    client_close(&quick);
    client_close(&slow);
    fixture_deinit(&f);
    span_free(request);
}

static void answers_wait_for_a_bridge_that_asked_for_all_at_once(void **state)
{
    enum {
        N = 100 /* in all three times what may wait for one bridge */
    };
    Client quick;
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_open(&quick, &f);
    io_stream_pause(c.stream);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(len32_writer_push(&c.writer, SPAN(REQUEST("big", "{}"))), 0);
    }
    io_stream_flush(c.stream);
    client_is_served(&quick);
    client_is_served(&quick);
    io_stream_resume(c.stream);
    for (size_t i = 0; i < N; i++) {
        assert_true(client_awaits(&c).n > BIG_BYTES);
    }
    client_is_served(&c);
    client_close(&quick);
    client_close(&c);
    fixture_deinit(&f);
}

static void steady_calls_allocate_nothing(void **state)
{
    Fixture f;
    Client c;
    size_t n_before;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    for (size_t i = 0; i < 10; i++) {
        client_sends(&c, SPAN(REQUEST("echo", "{\"message\":\"steady\"}")));
        (void)client_awaits(&c);
    }
    n_before = alloc_testing()->n_calls;
    for (size_t i = 0; i < 100; i++) {
        client_sends(&c, SPAN(REQUEST("echo", "{\"message\":\"steady\"}")));
        (void)client_awaits(&c);
    }
    assert_int_equal(alloc_testing()->n_calls, n_before);
    client_close(&c);
    fixture_deinit(&f);
}

static void the_rate_is_limited_only_if_the_limits_say_so(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    for (size_t i = 0; i < LIMIT_RATE_BURST + 200; i++) {
        client_is_served(&c);
    }
    client_close(&c);
    fixture_deinit(&f);
    assert_int_equal(fixture_open(&f, &(RouterLimits){.rate_burst = 1, .rate_per_s = 1}, 0, 0), 0);
    client_open(&c, &f);
    client_is_served(&c);
    client_sends(&c, SPAN(REQUEST("echo", "{\"message\":\"too many\"}")));
    assert_non_null(strstr(client_awaits(&c).p, "error"));
    client_close(&c);
    fixture_deinit(&f);
}

static int open_once(void *context)
{
    Fixture f;
    int r = fixture_open(&f, NULL, 0, 0);

    (void)context;
    fixture_deinit(&f);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    test_oom_sweep(open_once, NULL);
}

/* ---- what is lent ---- */

#define LOUD_BYTES ((size_t)3 * 1024 * 1024) /* more than a socket holds */

static void loud_fill(char *text)
{
    for (size_t i = 0; i < LOUD_BYTES; i++) {
        text[i] = (char)('a' + (i * 2654435761u >> 13) % 26);
    }
}

/* Answers from memory of its own, which is gone when finish has returned. */
static void loud_start(void *context, Call *call)
{
    char *text = malloc(LOUD_BYTES);
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\""), span_make(text, LOUD_BYTES),
                     SPAN("\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, TW_ARRAY_SIZE(pieces));

    (void)context;
    assert_non_null(text);
    loud_fill(text);
    call_finish(call, &result);
    memset(text, '?', LOUD_BYTES);
    free(text);
}

static const CallProvider loud_provider = {.start = loud_start};

static void client_expects_loud(Client *c)
{
    static const char head[] = "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"";
    Span got = client_awaits(c);
    char *text = malloc(LOUD_BYTES);

    assert_non_null(text);
    loud_fill(text);
    assert_int_equal(got.n, sizeof(RESULT("")) - 1 + LOUD_BYTES);
    assert_memory_equal(got.p, head, sizeof(head) - 1);
    assert_memory_equal(got.p + sizeof(head) - 1, text, LOUD_BYTES);
    assert_memory_equal(got.p + sizeof(head) - 1 + LOUD_BYTES, "\"}],\"isError\":false}}", 21);
    free(text);
}

static void large_answers_arrive_though_their_memory_is_gone(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    assert_int_equal(add_tool(&f, SPAN("{\"name\":\"loud\",\"inputSchema\":{\"type\":\"object\"}}"),
                              &loud_provider),
                     0);
    client_open(&c, &f);
    client_is_served(&c);
    /* While it is asked, and later. */
    for (size_t i = 0; i < 2; i++) {
        client_sends(&c, SPAN(REQUEST("echo", "{\"message\":\"before\"}")));
        client_sends(&c, SPAN(REQUEST("loud", "{}")));
        client_sends(&c, SPAN(REQUEST("echo", "{\"message\":\"behind\"}")));
        client_sends(&c, SPAN(REQUEST("loud", "{}")));
        client_sends(&c, SPAN(REQUEST("hold", "{}")));
        client_expects(&c, RESULT("before"));
        client_expects_loud(&c);
        client_expects(&c, RESULT("behind"));
        client_expects_loud(&c);
        while (f.held == NULL) {
            run(&f);
        }
        loud_start(NULL, f.held);
        f.held = NULL;
        client_sends(&c, SPAN(REQUEST("echo", "{\"message\":\"last\"}")));
        client_expects_loud(&c);
        client_expects(&c, RESULT("last"));
    }
    client_close(&c);
    fixture_deinit(&f);
}

/* Where there is no memory for the copy the bridge is not told half an answer for ever: the
 * connection ends. */
static void an_answer_that_cannot_be_kept_ends_the_connection(void **state)
{
    size_t n_ended = 0;
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t n = 0; n < 6; n++) {
        Client c;

        client_open(&c, &f);
        client_is_served(&c);
        client_sends(&c, SPAN(REQUEST("hold", "{}")));
        run(&f);
        io_stream_pause(c.stream);
        alloc_testing_reset(n);
        loud_start(NULL, f.held);
        f.held = NULL;
        if (alloc_testing()->n_failed == 0) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
            io_stream_resume(c.stream);
            client_expects_loud(&c);
        } else {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
            io_stream_resume(c.stream);
            client_expects_end(&c);
            n_ended++;
        }
        client_close(&c);
    }
    assert_true(n_ended > 0 && n_ended < 6);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_answered_one_after_the_other),
        cmocka_unit_test(a_call_says_who_asks),
        cmocka_unit_test(requests_that_are_sent_ahead_are_answered_in_order),
        cmocka_unit_test(what_is_sent_ahead_waits_with_the_sender),
        cmocka_unit_test(a_slow_call_delays_no_other_connection),
        cmocka_unit_test(wrong_requests_are_answered_and_the_next_is_served),
        cmocka_unit_test(a_broken_stream_is_told_why_and_closed),
        cmocka_unit_test(a_request_at_the_limit_passes_and_its_answer_too),
        cmocka_unit_test(an_answer_over_the_limit_becomes_an_error_and_the_next_call_is_served),
        cmocka_unit_test(a_bridge_that_does_not_read_loses_nothing_and_delays_nobody),
        cmocka_unit_test(answers_wait_for_a_bridge_that_asked_for_all_at_once),
        cmocka_unit_test(steady_calls_allocate_nothing),
        cmocka_unit_test(the_rate_is_limited_only_if_the_limits_say_so),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
        cmocka_unit_test(large_answers_arrive_though_their_memory_is_gone),
        cmocka_unit_test(an_answer_that_cannot_be_kept_ends_the_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
