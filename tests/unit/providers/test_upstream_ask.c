/* Questions of servers in the middle of a call: whose they are, how they are parked and answered,
 * and what becomes of them when nobody comes back. */
#include "unit/providers/upstream_rig.h"

/* It asks once, and says what it was answered. */
#define ASKS                                                                                       \
    "lists ask mute\n"                                                                             \
    "on tools/call ask\n"                                                                          \
    "keep\n"                                                                                       \
    "elicit 'q1' Name?\n"                                                                          \
    "on tools/call mute\n"                                                                         \
    "on answer\n"                                                                                  \
    "say {'jsonrpc':'2.0','id':$KEPT,'result':{'content':[{'type':'text','text':'done'}],"         \
    "'heard':$BODY}}\n"

static Asker *ask_begin(size_t i, unsigned can)
{
    Asker *asker = rig_prepare(i, CALL_TOOL, "ask");

    asker->call.can = can;
    rig_send(asker);
    return asker;
}

static bool server_was_answered(void)
{
    return rig_seen(0, "\"id\":\"q1\"") > 0;
}

static bool server_was_told_of_the_cancel(void)
{
    return rig_seen(0, "notifications/cancelled") > 0;
}

static Asker *asked(void)
{
    Asker *asker;

    rig_start();
    (void)rig_tools();
    asker = ask_begin(0, CALL_CAN_FORM);
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_ASK);
    assert_int_equal(asker->n_asks, 1);
    assert_int_equal(asker->ask_kind, CALL_ASK_FORM);
    assert_string_equal(asker->message, "Name?");
    assert_int_equal(strlen(asker->state), 32);
    assert_int_equal(rig_status(0).n_parked, 1);
    return asker;
}

static void a_question_parks_the_call_and_the_answer_resumes_it(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", ASKS);
    asker = asked();
    rig_answer(asker, "{\"action\":\"accept\",\"content\":{\"name\":\"me\"}}");
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_TOOL);
    assert_has(asker->text, "done");
    assert_int_equal(rig_seen(0, "\"content\":{\"name\":\"me\"}"), 1);
    assert_int_equal(rig_status(0).n_parked, 0);
    assert_int_equal(rig_seen(0, "tools/call"), 1); /* it was one call */
}

/* A client says no with an error: the server hears it, and goes on with its call. */
static void an_error_is_an_answer_too(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", ASKS);
    asker = asked();
    assert_true(asker->takes_error);
    rig_answer(asker, "{\"toolwire/error\":{\"code\":-1,\"message\":\"not now\"}}");
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_TOOL);
    assert_int_equal(rig_seen(0, "\"error\":{\"code\":-1,\"message\":\"not now\"}"), 1);
}

/* A state is good once. */
static void an_answer_that_comes_again_finds_nothing(void **state)
{
    char before[64];
    Asker *asker;

    (void)state;
    (void)rig_server("a", ASKS);
    asker = asked();
    (void)snprintf(before, sizeof(before), "%s", asker->state);
    rig_answer(asker, "{\"action\":\"decline\"}");
    UNTIL(first_is_answered);
    (void)snprintf(asker->state, sizeof(asker->state), "%s", before);
    rig_answer(asker, "{\"action\":\"accept\"}");
    UNTIL(first_is_answered);
    assert_int_equal(asker->error, CALL_ERROR_UNAVAILABLE);
    assert_has(asker->message, "is not open any more");
}

static void somebody_else_may_not_answer(void **state)
{
    Asker *asker;
    Asker *thief;

    (void)state;
    (void)rig_server("a", ASKS);
    rig_start();
    (void)rig_tools();
    asker = rig_prepare(0, CALL_TOOL, "ask");
    asker->call.can = CALL_CAN_FORM;
    asker->call.owner = SPAN("alice");
    rig_send(asker);
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_ASK);
    thief = rig_prepare(1, CALL_TOOL, "ask");
    thief->call.owner = SPAN("mallory");
    thief->call.state = span_from_str(asker->state);
    thief->call.inputs = rig_json(thief, "{\"input-1\":{\"action\":\"accept\"}}");
    rig_send(thief);
    UNTIL(second_is_answered);
    assert_int_equal(thief->error, CALL_ERROR_UNAVAILABLE);
    assert_int_equal(rig_status(0).n_parked, 1); /* it is still alice's */
    assert_int_equal(rig_seen(0, "\"id\":\"q1\""), 0);
}

static void who_cannot_be_asked_is_not_and_the_server_hears_it(void **state)
{
    (void)state;
    (void)rig_server("a", ASKS);
    rig_start();
    (void)rig_tools();
    (void)ask_begin(0, 0);
    UNTIL(first_is_answered);
    assert_int_equal(rig.askers[0].kind, CALL_RESULT_TOOL);
    assert_int_equal(rig_seen(0, "cannot be asked for this"), 1);
}

/* An asker whose protocol has an error for it is told what was missing. */
static void what_was_missing_is_named_to_those_who_can_hear_it(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a",
                     "lists ask\n"
                     "on tools/call ask\n"
                     "keep\n"
                     "elicit 'q1' Name?\n"
                     "on answer\n"
                     "say {'jsonrpc':'2.0','id':$KEPT,'result':{'content':[],'isError':true}}\n");
    rig_start();
    (void)rig_tools();
    asker = rig_prepare(0, CALL_TOOL, "ask");
    asker->call.names_missing = true;
    rig_send(asker);
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_ASK);
    assert_int_equal(asker->ask_kind, CALL_ASK_FORM);
    assert_string_equal(asker->state, "");
}

static void answers_that_come_with_the_call_need_no_question(void **state)
{
    Asker *asker;

    (void)state;
    rig_server("a",
               "era modern\n"
               "lists ask\n"
               "on tools/call ask\n"
               "say {'jsonrpc':'2.0','id':$ID,'result':{'resultType':'input_required',"
               "'requestState':'s','inputRequests':{'who':{'method':'elicitation/create','params':{"
               "'message':'Name?','requestedSchema':{'type':'object','properties':{}}}}}}}\n"
               "on tools/call ask\n"
               "ok {'content':[],'heard':$PARAMS}\n")
        ->era = MCP_CLIENT_MODERN;
    rig_start();
    (void)rig_tools();
    asker = rig_prepare(0, CALL_TOOL, "ask");
    asker->call.can = CALL_CAN_FORM;
    asker->call.inputs = rig_json(asker, "{\"who\":{\"action\":\"accept\",\"content\":{}}}");
    rig_send(asker);
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_TOOL);
    assert_int_equal(rig_seen(0, "\"who\":{\"action\":\"accept\""), 1);
    assert_int_equal(rig_seen(0, "\"requestState\":\"s\""), 1);
}

static void questions_that_come_together_are_told_together(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", "lists ask\n"
                          "on tools/call ask\n"
                          "keep\n"
                          "elicit 'q1' First?\n"
                          "elicit 'q2' Second?\n");
    rig_start();
    (void)rig_tools();
    asker = ask_begin(0, CALL_CAN_FORM);
    UNTIL(first_is_answered);
    assert_int_equal(asker->n_asks, 2);
    assert_string_equal(asker->message, "First?");
    /* One answer only: the other question is told again. */
    rig_answer(asker, "{\"action\":\"accept\"}");
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_ASK);
    assert_int_equal(asker->n_asks, 1);
    assert_string_equal(asker->message, "Second?");
    UNTIL(server_was_answered);
    assert_int_equal(rig_seen(0, "\"id\":\"q2\""), 0);
}

/* ---- those who do not come back ---- */

static void a_question_that_nobody_answers_expires(void **state)
{
    (void)state;
    (void)rig_server("a", ASKS);
    (void)asked();
    rig.upstreams->servers[0]->first->expires_ms = io_loop_now_ms(rig.loop);
    rig.upstreams->servers[0]->timer_ms = INT64_MAX;
    upstream_set_timer(rig.upstreams->servers[0]);
    UNTIL(server_was_told_of_the_cancel);
    assert_int_equal(rig_status(0).n_parked, 0);
    assert_int_equal(rig_seen(0, "nobody came back with the answers"), 1);
}

static void a_question_that_is_forsaken_is_cancelled_at_once(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", ASKS);
    asker = asked();
    router_forsake(rig.router, NULL, SPAN("another state"));
    assert_int_equal(rig_status(0).n_parked, 1);
    router_forsake(rig.router, NULL, span_from_str(asker->state));
    assert_int_equal(rig_status(0).n_parked, 0);
    UNTIL(server_was_told_of_the_cancel);
}

static bool question_is_withdrawn(void)
{
    return rig.upstreams->servers[0]->first != NULL &&
           rig.upstreams->servers[0]->first->asks == NULL;
}

static void the_server_may_take_its_question_back(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", "lists ask mute\n"
                          "on tools/call ask\n"
                          "keep\n"
                          "elicit 'q1' Name?\n"
                          "on tools/call mute\n"
                          "say {'jsonrpc':'2.0','method':'notifications/cancelled','params':{"
                          "'requestId':'q1'}}\n"
                          "ok {'content':[]}\n"
                          "say {'jsonrpc':'2.0','id':$KEPT,'result':{'content':[{'type':'text',"
                          "'text':'without you'}]}}\n");
    asker = asked();
    (void)rig_begin(1, "mute", "{}");
    UNTIL(second_is_answered);
    UNTIL(question_is_withdrawn);
    /* Its end was kept for the one who comes back. */
    rig_answer(asker, "{\"action\":\"accept\"}");
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_TOOL);
    assert_has(asker->text, "without you");
    assert_int_equal(rig_seen(0, "\"id\":\"q1\""), 0);
}

static bool server_is_down(void)
{
    return rig_status(0).n_failures > 0;
}

static void a_parked_call_whose_server_is_lost_says_so_when_its_asker_comes_back(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", "lists ask mute\n"
                          "on tools/call ask\n"
                          "keep\n"
                          "elicit 'q1' Name?\n"
                          "on tools/call mute\n"
                          "exit 9\n");
    asker = asked();
    (void)rig_begin(1, "mute", "{}");
    UNTIL(server_is_down);
    rig_answer(asker, "{\"action\":\"accept\"}");
    UNTIL(first_is_answered);
    assert_int_equal(asker->error, CALL_ERROR_UNAVAILABLE);
    assert_has(asker->message, "the call may have run");
    assert_true(asker->may_have_run);
}

/* ---- whose it is ---- */

static bool either_is_answered(void)
{
    return first_is_answered() || second_is_answered();
}

static bool server_has_two_calls(void)
{
    return rig_seen(0, "tools/call") >= 2;
}

static bool server_has_three_calls(void)
{
    return rig_seen(0, "tools/call") >= 3;
}

/* A legacy server on stdio does not say. */
static void a_question_that_may_be_of_two_is_refused_and_then_they_take_turns(void **state)
{
    Asker *quiet;
    Asker *asker;

    (void)state;
    (void)rig_server("a", ASKS);
    rig_start();
    (void)rig_tools();
    quiet = rig_prepare(1, CALL_TOOL, "mute");
    quiet->call.can = CALL_CAN_FORM;
    rig_send(quiet);
    asker = ask_begin(0, CALL_CAN_FORM);
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_TOOL); /* the server was told, and ended it */
    assert_int_equal(rig_seen(0, "several clients have calls here"), 1);
    assert_true(rig.upstreams->servers[0]->takes_turns);
    UNTIL(server_has_two_calls);
    asker = ask_begin(0, CALL_CAN_FORM);
    rig_pause();
    assert_int_equal(rig_seen(0, "tools/call"), 2); /* it waits */
    router_cancel(rig.router, &quiet->call);
    UNTIL(server_has_three_calls);
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_ASK);
    assert_string_equal(asker->message, "Name?");
}

/* While one asker thinks, another one is not kept waiting. */
static void a_parked_call_is_in_nobodys_way(void **state)
{
    Asker *other;

    (void)state;
    (void)rig_server("a", "lists ask mute\n"
                          "on tools/call ask\n"
                          "keep\n"
                          "elicit 'q1' Name?\n"
                          "on tools/call mute\n"
                          "ok {'content':[]}\n");
    (void)asked();
    rig.upstreams->servers[0]->takes_turns = true;
    other = rig_prepare(1, CALL_TOOL, "mute");
    other->call.can = CALL_CAN_FORM;
    rig_send(other);
    UNTIL(second_is_answered);
    assert_int_equal(other->kind, CALL_RESULT_TOOL);
    assert_int_equal(rig_status(0).n_parked, 1);
}

/* Over HTTP every call has an asker of its own; the session says that they are one client's. */
static void calls_of_one_session_are_not_of_two(void **state)
{
    static const CallAsker first = {.dialect = "t", .who = "s", .session = 7};
    static const CallAsker second = {.dialect = "t", .who = "s", .session = 7};
    Asker *quiet;
    Asker *asker;

    (void)state;
    (void)rig_server("a", ASKS);
    rig_start();
    (void)rig_tools();
    quiet = rig_prepare(1, CALL_TOOL, "mute");
    quiet->call.asker = &second;
    quiet->call.can = CALL_CAN_FORM;
    rig_send(quiet);
    asker = rig_prepare(0, CALL_TOOL, "ask");
    asker->call.asker = &first;
    asker->call.can = CALL_CAN_FORM;
    rig_send(asker);
    UNTIL(either_is_answered);
    assert_int_equal(rig_seen(0, "several clients have calls here"), 0);
    assert_int_equal(rig_status(0).n_parked, 1);
}

/* Whoever comes back finds another's call, which was let in meanwhile. */
static Asker *back_while_another_runs(void)
{
    Asker *asker = asked();
    Asker *other;

    rig.upstreams->servers[0]->takes_turns = true;
    other = rig_prepare(1, CALL_TOOL, "mute");
    other->call.can = CALL_CAN_FORM;
    rig_send(other);
    UNTIL(server_has_two_calls);
    rig_answer(asker, "{\"action\":\"accept\"}");
    rig_pause();
    assert_false(server_was_answered());
    assert_int_equal(asker->n_finished, 0);
    return other;
}

static void an_answer_waits_for_its_turn(void **state)
{
    Asker *other;

    (void)state;
    (void)rig_server("a", ASKS);
    other = back_while_another_runs();
    /* The next one waits behind both. */
    (void)rig_prepare(2, CALL_TOOL, "mute");
    rig.askers[2].call.can = CALL_CAN_FORM;
    rig_send(&rig.askers[2]);
    router_cancel(rig.router, &other->call);
    UNTIL(first_is_answered);
    assert_has(rig.askers[0].text, "done");
    assert_int_equal(rig_seen(0, "\"id\":\"q1\""), 1);
    UNTIL(server_has_three_calls);
    assert_int_equal(rig.upstreams->servers[0]->n_back, 0);
}

/* A server that does one thing after the other ends nothing before it has the answer. */
static void an_answer_does_not_wait_for_ever(void **state)
{
    (void)state;
    (void)rig_server("a", ASKS);
    (void)back_while_another_runs();
    rig.upstreams->servers[0]->first->back_by_ms = io_loop_now_ms(rig.loop);
    rig.upstreams->servers[0]->timer_ms = INT64_MAX;
    upstream_set_timer(rig.upstreams->servers[0]);
    UNTIL(first_is_answered);
    assert_has(rig.askers[0].text, "done");
    assert_int_equal(rig.askers[1].n_finished, 0);
}

static void an_answer_that_waits_can_be_taken_back(void **state)
{
    Asker *other;

    (void)state;
    (void)rig_server("a", ASKS);
    other = back_while_another_runs();
    router_cancel(rig.router, &rig.askers[0].call);
    UNTIL(server_was_told_of_the_cancel);
    router_cancel(rig.router, &other->call);
    rig_pause();
    assert_int_equal(rig_seen(0, "\"action\""), 0); /* it hears why instead */
    assert_int_equal(rig_seen(0, "the call in which this was asked was taken back"), 1);
    assert_int_equal(rig.upstreams->servers[0]->n_back, 0);
}

/* So many of one client at one server; clients that cannot be told apart are one. */
static void who_has_too_many_questions_open_gets_no_more(void **state)
{
    static const CallAsker session = {.dialect = "t", .who = "s", .session = 9};
    Asker *asker;

    (void)state;
    (void)rig_server("a", ASKS);
    rig_start();
    (void)rig_tools();
    for (size_t i = 0; i < 16; i++) {
        asker = ask_begin(0, CALL_CAN_FORM);
        UNTIL(first_is_answered);
        assert_int_equal(asker->kind, CALL_RESULT_ASK);
    }
    assert_int_equal(rig_status(0).n_parked, 16);
    (void)ask_begin(1, CALL_CAN_FORM);
    UNTIL(second_is_answered);
    assert_int_equal(rig.askers[1].kind, CALL_RESULT_TOOL);
    assert_int_equal(rig_seen(0, "too many questions wait for an answer already"), 1);
    asker = rig_prepare(1, CALL_TOOL, "ask");
    asker->call.asker = &session;
    asker->call.can = CALL_CAN_FORM;
    rig_send(asker);
    UNTIL(second_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_ASK);
    assert_int_equal(rig_status(0).n_parked, 17);
}

/* And of all clients together. */
static void a_server_has_no_more_than_so_many_questions_open(void **state)
{
    static CallAsker clients[LIMIT_UPSTREAM_PARKED + 1];
    Asker *asker = NULL;

    (void)state;
    (void)rig_server("a", ASKS);
    rig_start();
    (void)rig_tools();
    for (size_t i = 0; i <= LIMIT_UPSTREAM_PARKED; i++) {
        clients[i] = (CallAsker){.dialect = "t", .who = "s", .session = i + 1};
        asker = rig_prepare(0, CALL_TOOL, "ask");
        asker->call.asker = &clients[i];
        asker->call.can = CALL_CAN_FORM;
        rig_send(asker);
        UNTIL(first_is_answered);
    }
    assert_int_equal(asker->kind, CALL_RESULT_TOOL);
    assert_int_equal(rig_status(0).n_parked, LIMIT_UPSTREAM_PARKED);
}

/* What is one user's is not shown to another, also if nobody runs but the one who is asked. */
static void a_question_is_refused_while_another_users_call_waits(void **state)
{
    Asker *asker;
    Asker *bob;

    (void)state;
    (void)rig_server("a", ASKS);
    rig_start();
    (void)rig_tools();
    asker = rig_prepare(0, CALL_TOOL, "ask");
    asker->call.can = CALL_CAN_FORM;
    asker->call.owner = SPAN("alice");
    rig_send(asker);
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_ASK);
    bob = rig_prepare(1, CALL_TOOL, "ask");
    bob->call.can = CALL_CAN_FORM;
    bob->call.owner = SPAN("bob");
    rig_send(bob);
    UNTIL(second_is_answered);
    assert_int_equal(bob->kind, CALL_RESULT_TOOL);
    assert_int_equal(rig_seen(0, "several clients have calls here"), 1);
    assert_int_equal(rig_status(0).n_parked, 1);
}

/* A call that waits for its turn can be taken back, and can be lost. */
static void a_call_that_waits_for_its_turn_was_not_sent(void **state)
{
    Asker *first;
    Asker *second;

    (void)state;
    (void)rig_server("a", "lists mute die\n"
                          "on tools/call mute\n"
                          "on tools/call die\n"
                          "exit 9\n");
    rig_start();
    (void)rig_tools();
    rig.upstreams->servers[0]->takes_turns = true;
    first = rig_prepare(0, CALL_TOOL, "mute");
    first->call.can = CALL_CAN_FORM;
    rig_send(first);
    second = rig_prepare(1, CALL_TOOL, "mute");
    second->call.can = CALL_CAN_FORM;
    rig_send(second);
    rig_pause();
    assert_int_equal(rig_seen(0, "tools/call"), 1);
    router_cancel(rig.router, &second->call);
    second = rig_prepare(1, CALL_TOOL, "mute");
    rig_send(second);
    (void)rig_prepare(2, CALL_TOOL, "die");
    rig.askers[2].call.asker = first->call.asker;
    rig_send(&rig.askers[2]);
    UNTIL(both_are_answered);
    assert_has(first->message, "may have run");
    assert_has(second->message, "was not sent");
    assert_false(second->may_have_run);
    assert_int_equal(rig_status(0).n_open, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_question_parks_the_call_and_the_answer_resumes_it),
        TEST(an_error_is_an_answer_too),
        TEST(an_answer_that_comes_again_finds_nothing),
        TEST(somebody_else_may_not_answer),
        TEST(who_cannot_be_asked_is_not_and_the_server_hears_it),
        TEST(what_was_missing_is_named_to_those_who_can_hear_it),
        TEST(answers_that_come_with_the_call_need_no_question),
        TEST(questions_that_come_together_are_told_together),
        TEST(a_question_that_nobody_answers_expires),
        TEST(a_question_that_is_forsaken_is_cancelled_at_once),
        TEST(the_server_may_take_its_question_back),
        TEST(a_parked_call_whose_server_is_lost_says_so_when_its_asker_comes_back),
        TEST(a_question_that_may_be_of_two_is_refused_and_then_they_take_turns),
        TEST(a_parked_call_is_in_nobodys_way),
        TEST(calls_of_one_session_are_not_of_two),
        TEST(who_has_too_many_questions_open_gets_no_more),
        TEST(a_server_has_no_more_than_so_many_questions_open),
        TEST(an_answer_waits_for_its_turn),
        TEST(an_answer_does_not_wait_for_ever),
        TEST(an_answer_that_waits_can_be_taken_back),
        TEST(a_question_is_refused_while_another_users_call_waits),
        TEST(a_call_that_waits_for_its_turn_was_not_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
