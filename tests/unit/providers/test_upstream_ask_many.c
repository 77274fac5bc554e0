/* Questions of a server that does not say which call asks, when several calls of one client are
 * open: a call may carry the question of another, and the question outlives it. */
#include "unit/providers/upstream_rig.h"

#include "base/limits.h"

/* `carry` waits until `end` ends it; `ask` asks. */
#define CARRIES                                                                                    \
    "lists carry ask end mute\n"                                                                   \
    "on tools/call carry\n"                                                                        \
    "keep\n"                                                                                       \
    "on tools/call ask\n"                                                                          \
    "elicit 'q1' Name?\n"                                                                          \
    "on tools/call mute\n"                                                                         \
    "on tools/call end\n"                                                                          \
    "say {'jsonrpc':'2.0','id':$KEPT,'result':{'content':[{'type':'text','text':'carried'}]}}\n"   \
    "text ended\n"

#define ACCEPT "{\"action\":\"accept\",\"content\":{\"name\":\"me\"}}"

static const CallAsker client = {.dialect = "t", .who = "client", .is_lasting = true};

static Asker *begin(size_t i, const char *tool)
{
    Asker *asker = rig_prepare(i, CALL_TOOL, tool);

    asker->call.asker = &client;
    asker->call.can = CALL_CAN_FORM;
    rig_send(asker);
    return asker;
}

static bool third_is_answered(void)
{
    return rig.askers[2].n_finished > 0;
}

static bool server_has_the_answer(void)
{
    return rig_seen(0, "\"id\":\"q1\",\"result\":" ACCEPT) > 0;
}

/* The first call has the question of the second. */
static void carried(void)
{
    (void)rig_server("a", CARRIES);
    rig_start();
    (void)rig_tools();
    (void)begin(0, "carry");
    (void)begin(1, "ask");
    UNTIL(first_is_answered);
    assert_int_equal(rig.askers[0].kind, CALL_RESULT_ASK);
    assert_int_equal(rig.askers[1].n_finished, 0);
}

static void the_answer_reaches_the_server_though_the_call_that_was_asked_has_ended(void **state)
{
    (void)state;
    carried();
    (void)begin(2, "end");
    UNTIL(third_is_answered);
    rig_answer(&rig.askers[0], ACCEPT);
    UNTIL(first_is_answered);
    assert_has(rig.askers[0].text, "carried");
    UNTIL(server_has_the_answer);
}

static void another_call_asks_when_the_one_that_asked_is_forsaken(void **state)
{
    (void)state;
    carried();
    router_forsake(rig.router, NULL, span_from_str(rig.askers[0].state));
    UNTIL(second_is_answered);
    assert_int_equal(rig.askers[1].kind, CALL_RESULT_ASK);
    assert_string_equal(rig.askers[1].message, "Name?");
    assert_int_equal(rig_seen(0, "\"error\""), 0);
    rig_answer(&rig.askers[1], ACCEPT);
    UNTIL(server_has_the_answer);
}

static void another_call_asks_when_the_one_that_would_ask_ends_or_is_taken_back(void **state)
{
    (void)state;
    for (int is_ended = 0; is_ended < 2; is_ended++) {
        (void)rig_server("a", CARRIES);
        rig_start();
        (void)rig_tools();
        (void)begin(0, "carry");
        (void)begin(1, "mute");
        rig_pause();
        /* As if the server had just asked: what is told 20 ms later is not told by the first. */
        upstream_ask_take(rig.upstreams->servers[0],
                          &(McpClientEvent){.kind = MCP_CLIENT_ASK, .ask = 7});
        assert_non_null(rig.upstreams->servers[0]->first->asks);
        if (is_ended) {
            upstream_call_close(rig.upstreams->servers[0]->first);
            call_fail(&rig.askers[0].call, CALL_ERROR_INTERNAL, SPAN_NULL);
        } else {
            router_cancel(rig.router, &rig.askers[0].call);
        }
        UNTIL(second_is_answered);
        assert_int_equal(rig.askers[1].kind, CALL_RESULT_ASK);
        assert_string_equal(rig.askers[1].key, "input-7");
        rig_stop();
        rig.n_specs = 0;
        for (size_t k = 0; k < 2; k++) {
            free(rig.args[0][k]);
        }
    }
}

static bool server_was_told_why(void)
{
    return rig_seen(0, "\"error\":{\"code\":-32603,\"message\":\"whoever was asked") > 0;
}

static void a_question_that_no_call_is_left_to_ask_is_refused(void **state)
{
    (void)state;
    carried();
    router_cancel(rig.router, &rig.askers[1].call);
    router_forsake(rig.router, NULL, span_from_str(rig.askers[0].state));
    UNTIL(server_was_told_why);
}

static bool server_was_told_that_it_is_late(void)
{
    return rig_seen(0, "nobody answered in time") > 0;
}

/* He had his time; the next call would only make it twice as long. */
static void a_question_that_was_not_answered_in_time_is_not_asked_again(void **state)
{
    (void)state;
    carried();
    rig.upstreams->servers[0]->first->expires_ms = io_loop_now_ms(rig.loop);
    rig.upstreams->servers[0]->timer_ms = INT64_MAX;
    upstream_set_timer(rig.upstreams->servers[0]);
    UNTIL(server_was_told_that_it_is_late);
    assert_int_equal(rig.askers[1].n_finished, 0);
}

static bool question_waits(void)
{
    return rig.upstreams->servers[0]->has_queued;
}

/* One more than may wait for one client: told when he has answered one. */
static void a_client_with_enough_to_answer_is_asked_later(void **state)
{
    char park[64] = "";
    char key[64] = "";

    (void)state;
    (void)rig_server("a", CARRIES);
    rig_start();
    (void)rig_tools();
    for (size_t i = 0; i < 16; i++) {
        (void)begin(0, "ask");
        UNTIL(first_is_answered);
        assert_int_equal(rig.askers[0].kind, CALL_RESULT_ASK);
        if (i == 0) {
            (void)snprintf(park, sizeof(park), "%s", rig.askers[0].state);
            (void)snprintf(key, sizeof(key), "%s", rig.askers[0].key);
        }
    }
    (void)begin(1, "ask");
    UNTIL(question_waits);
    assert_int_equal(rig_status(0).n_parked, 16);
    assert_int_equal(rig.askers[1].n_finished, 0);
    (void)snprintf(rig.askers[0].state, sizeof(rig.askers[0].state), "%s", park);
    (void)snprintf(rig.askers[0].key, sizeof(rig.askers[0].key), "%s", key);
    rig_answer(&rig.askers[0], ACCEPT);
    UNTIL(second_is_answered);
    assert_int_equal(rig.askers[1].kind, CALL_RESULT_ASK);
    assert_int_equal(rig_status(0).n_parked, 16);
    router_cancel(rig.router, &rig.askers[0].call);
}

static bool both_were_asked(void)
{
    return rig.askers[0].n_finished > 0 && rig.askers[1].n_finished > 0;
}

/* A call takes so many questions; the next goes to another. */
static void no_call_is_asked_more_than_it_can_hold(void **state)
{
    (void)state;
    (void)rig_server("a", CARRIES);
    rig_start();
    (void)rig_tools();
    (void)begin(0, "mute");
    (void)begin(1, "mute");
    rig_pause();
    for (uint64_t i = 1; i <= UPSTREAM_MAX_ASKS + 1; i++) {
        upstream_ask_take(rig.upstreams->servers[0],
                          &(McpClientEvent){.kind = MCP_CLIENT_ASK, .ask = i});
    }
    UNTIL(both_were_asked);
    assert_int_equal(rig.askers[0].n_asks, UPSTREAM_MAX_ASKS);
    assert_int_equal(rig.askers[1].n_asks, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_answer_reaches_the_server_though_the_call_that_was_asked_has_ended),
        TEST(another_call_asks_when_the_one_that_asked_is_forsaken),
        TEST(another_call_asks_when_the_one_that_would_ask_ends_or_is_taken_back),
        TEST(a_question_that_no_call_is_left_to_ask_is_refused),
        TEST(a_question_that_was_not_answered_in_time_is_not_asked_again),
        TEST(a_client_with_enough_to_answer_is_asked_later),
        TEST(no_call_is_asked_more_than_it_can_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
