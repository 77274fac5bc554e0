#include "app/addin_door.h"

#include "support/cmocka.h"

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "unit/app/addin_door_hub.h"
#include "unit/app/asker_rig.h"

/* ---- calls ---- */

static void calls_are_answered(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    for (size_t i = 0; i < 3; i++) {
        peer_is_served(&p);
        peer_sends(&p, SPAN(CALL("later", "sleep", "{\"ms\":1}")));
        peer_expects(&p, "later", SAYS("slept 1 ms"));
    }
    peer_sends(&p, SPAN(CALL("fails", "fail", "{\"message\":\"it is broken\"}")));
    peer_expects_failure(&p, PIPE_TOOL_RESULT, "fails", PIPE_CODE_HANDLER);
    peer_sends(&p, SPAN(CALL("args", "echo", "{\"message\":5}")));
    peer_expects_failure(&p, PIPE_TOOL_RESULT, "args", PIPE_CODE_INVALID);
    peer_sends(&p, SPAN(CALL("none", "none", "{}")));
    peer_expects_failure(&p, PIPE_ERROR, "none", PIPE_CODE_NOT_FOUND);
    peer_is_served(&p);
    assert_int_equal(addin_door_state(f.door), ADDIN_CONNECTED);
    assert_int_equal(f.n_logged, 0);
    peer_close(&p);
    fixture_deinit(&f);
}

static void a_call_says_who_asks(void **state)
{
    SeenAsker seen;
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    seen_asker_watch(&seen, hub_router(f.hub));
    peer_sends(&p, SPAN(CALL("later", "sleep", "{\"ms\":1}")));
    peer_expects(&p, "later", SAYS("slept 1 ms"));
    seen_asker_expect_self(&seen, 1, "pipe");
    peer_close(&p);
    fixture_deinit(&f);
}

static void calls_run_side_by_side(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    peer_sends(&p, SPAN(CALL("2", "hold", "{}")));
    peer_sends(&p, SPAN(CALL("3", "hold", "{}")));
    expect_started(&f, 3);
    peer_is_served(&p);
    hold_let_go(&f, 2);
    peer_expects(&p, "3", SAYS("let go"));
    hold_let_go(&f, 0);
    peer_expects(&p, "1", SAYS("let go"));
    hold_let_go(&f, 0);
    peer_expects(&p, "2", SAYS("let go"));
    peer_close(&p);
    fixture_deinit(&f);
}

static void calls_run_one_after_the_other_if_they_are_to(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.one_at_a_time = true});
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    peer_sends(&p, SPAN(CALL("2", "hold", "{}")));
    peer_sends(&p, SPAN(CALL("3", "echo", "{\"message\":\"third\"}")));
    peer_sends(&p, SPAN(CALL("4", "hold", "{}")));
    expect_started(&f, 1);
    /* The pong shows that the door has heard of all of them. */
    peer_sends(&p, SPAN(PING));
    peer_expects_pong(&p);
    assert_int_equal(f.n_started, 1);
    hold_let_go(&f, 0);
    assert_int_equal(f.n_started, 2);
    peer_expects(&p, "1", SAYS("let go"));
    hold_let_go(&f, 0);
    peer_expects(&p, "2", SAYS("let go"));
    peer_expects(&p, "3", SAYS("third"));
    assert_int_equal(f.n_started, 3);
    hold_let_go(&f, 0);
    peer_expects(&p, "4", SAYS("let go"));
    peer_is_served(&p);
    peer_close(&p);
    fixture_deinit(&f);
}

static void calls_beyond_the_limit_wait(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.limits = &(RouterLimits){.max_in_flight = 2}});
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    peer_sends(&p, SPAN(CALL("2", "hold", "{}")));
    peer_sends(&p, SPAN(CALL("3", "hold", "{}")));
    peer_sends(&p, SPAN(PING));
    peer_expects_pong(&p);
    assert_int_equal(f.n_started, 2);
    hold_let_go(&f, 1);
    peer_expects(&p, "2", SAYS("let go"));
    assert_int_equal(f.n_started, 3);
    hold_let_go(&f, 1);
    peer_expects(&p, "3", SAYS("let go"));
    hold_let_go(&f, 0);
    peer_expects(&p, "1", SAYS("let go"));
    peer_close(&p);
    fixture_deinit(&f);
}

static void the_rate_is_limited_only_if_the_limits_say_so(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    for (size_t i = 0; i < LIMIT_RATE_BURST + 200; i++) {
        peer_is_served(&p);
    }
    peer_close(&p);
    fixture_deinit(&f);
    fixture_connect(
        &f, &p, &(AddinDoorConfig){.limits = &(RouterLimits){.rate_burst = 1, .rate_per_s = 1}});
    peer_is_served(&p);
    peer_sends(&p, SPAN(CALL("2", "echo", "{\"message\":\"too many\"}")));
    peer_expects_failure(&p, PIPE_TOOL_RESULT, "2", PIPE_CODE_HANDLER);
    peer_close(&p);
    fixture_deinit(&f);
}

static void steady_calls_allocate_nothing(void **state)
{
    Fixture f;
    Peer p;
    size_t n_before;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    for (size_t i = 0; i < 10; i++) {
        peer_sends(&p, SPAN(CALL("1", "echo", "{\"message\":\"steady\"}")));
        (void)peer_awaits(&p);
        peer_sends(&p, SPAN(PING));
        (void)peer_awaits(&p);
    }
    n_before = alloc_testing()->n_calls;
    for (size_t i = 0; i < 100; i++) {
        peer_sends(&p, SPAN(CALL("1", "echo", "{\"message\":\"steady\"}")));
        (void)peer_awaits(&p);
        peer_sends(&p, SPAN(PING));
        (void)peer_awaits(&p);
    }
    assert_int_equal(alloc_testing()->n_calls, n_before);
    peer_close(&p);
    fixture_deinit(&f);
}

/* ---- pings ---- */

static void pings_are_answered_while_calls_run(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    for (int one_at_a_time = 0; one_at_a_time < 2; one_at_a_time++) {
        fixture_connect(&f, &p, &(AddinDoorConfig){.one_at_a_time = one_at_a_time == 1});
        peer_sends(&p, SPAN(PING));
        peer_expects_pong(&p);
        peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
        expect_started(&f, 1);
        for (size_t i = 0; i < 3; i++) {
            peer_sends(&p, SPAN(PING));
            peer_expects_pong(&p);
        }
        hold_let_go(&f, 0);
        peer_expects(&p, "1", SAYS("let go"));
        peer_close(&p);
        fixture_deinit(&f);
    }
}

static void a_hub_that_answers_pings_stays(void **state)
{
    Fixture f;
    Peer p;
    Got got;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.ping_interval_ms = 3, .pong_timeout_ms = 10000});
    for (size_t i = 0; i < 10; i++) {
        peer_takes(&p, &got, PIPE_PING);
        got_deinit(&got);
        peer_sends(&p, SPAN(PONG));
    }
    assert_int_equal(addin_door_state(f.door), ADDIN_CONNECTED);
    assert_int_equal(f.n_events, 2);
    peer_close(&p);
    fixture_deinit(&f);
}

static void a_hub_that_does_not_answer_pings_is_left(void **state)
{
    Fixture f;
    Peer p;
    Got got;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.ping_interval_ms = 5, .pong_timeout_ms = 5});
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    expect_started(&f, 1);
    peer_takes(&p, &got, PIPE_PING);
    got_deinit(&got);
    /* Though a call runs here: it is the hub that is silent. */
    assert_non_null(strstr(expect_state(&f, ADDIN_DISCONNECTED)->why, "ping"));
    assert_int_equal(f.n_cancelled, 1);
    expect_waiting(&f, RETRY_MS);
    peer_close(&p);
    peer_accept(&p, &f);
    (void)expect_state(&f, ADDIN_CONNECTING);
    (void)expect_state(&f, ADDIN_CONNECTED);
    peer_close(&p);
    fixture_deinit(&f);
}

#define BLOCK_PING_MS 100
#define BLOCK_PONG_MS 300

typedef struct Blocker {
    Peer p;
    size_t n_calls;
} Blocker;

/* A tool that keeps the loop. The first call until a ping is due; the second is there in the turn
 * that sends it, and the third in the next one: it lasts for longer than the pong may take, which
 * has come meanwhile. */
static void block_start(void *context, Call *call)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{}")};
    Blocker *b = context;

    switch (++b->n_calls) {
    case 1:
        peer_sends(&b->p, SPAN(CALL("2", "block", "{}")));
        assert_int_equal(usleep((BLOCK_PING_MS + 10) * 1000), 0);
        break;
    case 2:
        peer_sends(&b->p, SPAN(CALL("3", "block", "{}")));
        break;
    default:
        peer_sends(&b->p, SPAN(PONG));
        assert_int_equal(usleep((BLOCK_PONG_MS + 10) * 1000), 0);
    }
    call_finish(call, &result);
}

static const CallProvider block_provider = {.start = block_start};

static void a_pong_that_came_while_a_tool_kept_the_loop_counts(void **state)
{
    Blocker b = {.n_calls = 0};
    Fixture f;
    Got got;

    (void)state;
    fixture_connect(
        &f, &b.p,
        &(AddinDoorConfig){.ping_interval_ms = BLOCK_PING_MS, .pong_timeout_ms = BLOCK_PONG_MS});
    assert_int_equal(
        router_add(hub_router(f.hub),
                   &(RouterSpec){.kind = ROUTER_TOOL,
                                 .json = SPAN("{\"name\":\"block\",\"inputSchema\":{\"type\":"
                                              "\"object\"}}"),
                                 .provider = &block_provider,
                                 .context = &b},
                   NULL),
        0);
    peer_sends(&b.p, SPAN(CALL("1", "block", "{}")));
    /* Pings may come between them, on a slow machine at any place. */
    for (size_t n_results = 0; n_results < 3;) {
        Diag diag = DIAG_NULL;
        Span text = peer_awaits(&b.p);

        arena_init(&got.arena, (size_t)1 << 20);
        assert_int_equal(pipe_message_read(&got.message, &got.arena, text, &diag), 0);
        n_results += got.message.type == PIPE_TOOL_RESULT ? 1 : 0;
        got_deinit(&got);
    }
    peer_takes(&b.p, &got, PIPE_PING);
    got_deinit(&got);
    assert_int_equal(f.n_events, 2);
    peer_close(&b.p);
    fixture_deinit(&f);
}

/* ---- what is offered ---- */

static void the_hub_is_told_what_is_offered(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    peer_sends(&p, ASK_LIST);
    peer_expects_list(&p, "hold", -1);
    peer_close(&p);
    fixture_deinit(&f);
    assert_int_equal(fixture_prepare(&f), 0);
    assert_int_equal(add_entry(&f, ROUTER_RESOURCE,
                               SPAN("{\"uri\":\"plan://1\",\"name\":\"plan\"}"), &hold_provider),
                     0);
    hub_opens(&f);
    assert_int_equal(fixture_door(&f, DEFAULTS), 0);
    peer_accept(&p, &f);
    peer_sends(&p, ASK_LIST);
    peer_expects_list(&p, "echo", 1);
    peer_close(&p);
    fixture_deinit(&f);
}

static void a_list_over_the_limit_is_a_failure(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.max_bytes = 600});
    peer_sends(&p, ASK_LIST);
    peer_expects_failure(&p, PIPE_TOOL_RESULT, "list", PIPE_CODE_HANDLER);
    peer_is_served(&p);
    peer_close(&p);
    fixture_deinit(&f);
}

static void a_change_that_the_hub_was_not_told_otherwise_needs_no_new_connection(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    assert_int_equal(add_entry(&f, ROUTER_TOOL,
                               SPAN("{\"name\":\"new\",\"inputSchema\":{\"type\":\"object\"}}"),
                               &big_provider),
                     0);
    peer_is_served(&p);
    peer_is_served(&p);
    assert_int_equal(f.n_events, 2);
    peer_sends(&p, ASK_LIST);
    peer_expects_list(&p, "new", -1);
    peer_is_served(&p);
    peer_is_served(&p);
    assert_int_equal(f.n_events, 2);
    peer_close(&p);
    fixture_deinit(&f);
}

/* ---- bad hubs ---- */

static void what_is_wrong_but_can_be_read_is_answered_and_the_next_call_served(void **state)
{
    static const struct {
        const char *name;
        Span message;
        const char *call_id; /* NULL: nothing is answered */
    } rows[] = {
        {"unknown type", SPAN_INIT(MESSAGE("7", "chat_message", "{}")), "7"},
        {"unknown type without an id", SPAN_INIT("{\"type\":\"chat_message\",\"payload\":{}}"),
         NULL},
        {"a call without a tool", SPAN_INIT(MESSAGE("8", "tool_call", "{}")), "8"},
        {"a call whose arguments are none", SPAN_INIT(CALL("9", "echo", "[]")), "9"},
        {"a result",
         SPAN_INIT(MESSAGE("10", "tool_result",
                           "{\"call_id\":\"x\",\"success\":true,\"data\":{},"
                           "\"duration_ms\":1}")),
         NULL},
        {"a pong that nobody waits for", SPAN_INIT(PONG), NULL},
    };
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        print_message("%s\n", rows[i].name);
        peer_sends(&p, rows[i].message);
        if (rows[i].call_id != NULL) {
            peer_expects_failure(&p, PIPE_ERROR, rows[i].call_id, PIPE_CODE_PROTOCOL);
        }
        peer_is_served(&p);
    }
    assert_int_equal(f.n_logged, 0);
    /* What it says of itself is logged. */
    peer_sends(&p, SPAN(MESSAGE("11", "error", "{\"code\":\"X\",\"message\":\"y\"}")));
    peer_is_served(&p);
    assert_int_equal(f.n_logged, 1);
    peer_close(&p);
    fixture_deinit(&f);
}

static void a_broken_stream_is_told_why_and_left(void **state)
{
    static const struct {
        const char *name;
        Span bytes;
        const char *code; /* NULL: it closed itself */
    } rows[] = {
        {"not JSON", SPAN_INIT("\5\0\0\0hello"), PIPE_CODE_PROTOCOL},
        {"nothing", SPAN_INIT("\0\0\0\0"), PIPE_CODE_PROTOCOL},
        {"no object", SPAN_INIT("\2\0\0\0[]"), PIPE_CODE_PROTOCOL},
        {"invalid UTF-8", SPAN_INIT("\x0c\0\0\0{\"type\":\"\xff\"}"), PIPE_CODE_PROTOCOL},
        {"one byte over the limit", SPAN_INIT("\1\0\0\1"), PIPE_CODE_TOO_LARGE},
        {"the largest length", SPAN_INIT("\xff\xff\xff\xff"), PIPE_CODE_TOO_LARGE},
        {"half a frame", SPAN_INIT("\x10\0\0\0{\"type\""), NULL},
    };
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        print_message("%s\n", rows[i].name);
        peer_is_served(&p);
        peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
        expect_started(&f, i + 1);
        peer_sends_raw(&p, rows[i].bytes);
        if (rows[i].code != NULL) {
            peer_expects_failure(&p, PIPE_ERROR, "", rows[i].code);
        } else {
            io_stream_shut_output(p.stream);
        }
        peer_expects_end(&p);
        assert_true(expect_state(&f, ADDIN_DISCONNECTED)->why[0] != '\0');
        assert_int_equal(f.n_cancelled, i + 1);
        expect_waiting(&f, RETRY_MS);
        peer_close(&p);
        peer_accept(&p, &f);
        (void)expect_state(&f, ADDIN_CONNECTING);
        (void)expect_state(&f, ADDIN_CONNECTED);
    }
    peer_is_served(&p);
    peer_close(&p);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_answered),
        cmocka_unit_test(a_call_says_who_asks),
        cmocka_unit_test(calls_run_side_by_side),
        cmocka_unit_test(calls_run_one_after_the_other_if_they_are_to),
        cmocka_unit_test(calls_beyond_the_limit_wait),
        cmocka_unit_test(the_rate_is_limited_only_if_the_limits_say_so),
        cmocka_unit_test(steady_calls_allocate_nothing),
        cmocka_unit_test(pings_are_answered_while_calls_run),
        cmocka_unit_test(a_hub_that_answers_pings_stays),
        cmocka_unit_test(a_hub_that_does_not_answer_pings_is_left),
        cmocka_unit_test(a_pong_that_came_while_a_tool_kept_the_loop_counts),
        cmocka_unit_test(the_hub_is_told_what_is_offered),
        cmocka_unit_test(a_list_over_the_limit_is_a_failure),
        cmocka_unit_test(a_change_that_the_hub_was_not_told_otherwise_needs_no_new_connection),
        cmocka_unit_test(what_is_wrong_but_can_be_read_is_answered_and_the_next_call_served),
        cmocka_unit_test(a_broken_stream_is_told_why_and_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
