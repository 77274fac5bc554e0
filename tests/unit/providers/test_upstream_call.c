/* Calls on their way to a server and back: results, errors, cancelling, times, losses. */
#include "unit/providers/upstream_rig.h"

#define ONE "lists one\n"

static bool server_has_the_call(void)
{
    return rig_seen(0, "tools/call") > 0;
}

static bool server_was_told_of_the_cancel(void)
{
    return rig_seen(0, "notifications/cancelled") > 0;
}

static void results_pass_as_they_are(void **state)
{
    (void)state;
    (void)rig_server("a", "lists one fails refuses\n"
                          "on tools/call one\n"
                          "ok {'content':[{'type':'text','text':'t','odd':1.0}]}\n"
                          "on tools/call fails\n"
                          "ok {'content':[],'isError':true}\n"
                          "on tools/call refuses\n"
                          "no -31999 not today\n");
    rig_start();
    assert_string_equal(rig_call("one"), "{\"type\":\"text\",\"text\":\"t\",\"odd\":1.0}");
    assert_int_equal(rig.askers[0].kind, CALL_RESULT_TOOL);
    assert_false(rig.askers[0].is_error);
    (void)rig_call("fails");
    assert_int_equal(rig.askers[0].kind, CALL_RESULT_TOOL);
    assert_true(rig.askers[0].is_error);
    assert_string_equal(rig_call("refuses"), "not today");
    assert_int_equal(rig.askers[0].error, CALL_ERROR_OWN);
    assert_int_equal(rig.askers[0].wire_code, -31999);
    assert_false(rig.askers[0].may_have_run);
}

/* Numbers that the session has for itself are the server's, if it says them. */
static void errors_of_the_server_are_not_taken_for_ours(void **state)
{
    (void)state;
    (void)rig_server("a", "lists one two\n"
                          "on tools/call one\n"
                          "no -32000 mine\n"
                          "on tools/call two\n"
                          "no -32001 mine too\n");
    rig_start();
    assert_string_equal(rig_call("one"), "mine");
    assert_int_equal(rig.askers[0].wire_code, -32000);
    assert_string_equal(rig_call("two"), "mine too");
    assert_int_equal(rig.askers[0].error, CALL_ERROR_OWN);
    assert_int_equal(rig_status(0).state, UPSTREAM_READY);
}

static void other_verbs_are_asked_in_their_words(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", "caps {'prompts':{},'resources':{},'completions':{}}\n"
                          "on prompts/list\n"
                          "ok {'prompts':[{'name':'p','arguments':[{'name':'who'}]}]}\n"
                          "on prompts/get\n"
                          "ok {'messages':[]}\n"
                          "on resources/list\n"
                          "ok {'resources':[{'uri':'a://1','name':'n'}]}\n"
                          "on resources/templates/list\n"
                          "ok {'resourceTemplates':[]}\n"
                          "on resources/read\n"
                          "no -32002 gone\n"
                          "on completion/complete\n"
                          "ok {'completion':{'values':['v']}}\n");
    rig_start();
    (void)rig_ask(CALL_LIST_PROMPTS, "");
    asker = rig_prepare(0, CALL_PROMPT, "p");
    asker->call.arguments = rig_json(asker, "{\"who\":\"you\"}");
    rig_send(asker);
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_PROMPT);
    assert_int_equal(rig_seen(0, "\"name\":\"p\",\"arguments\":{\"who\":\"you\"}"), 1);
    /* Each era has its own number for what nobody has. */
    (void)rig_ask(CALL_READ, "a://1");
    assert_int_equal(asker->error, CALL_ERROR_UNKNOWN_RESOURCE);
    asker = rig_prepare(0, CALL_COMPLETE, "p");
    asker->call.completion =
        (CallCompletion){.is_prompt = true, .argument = SPAN("who"), .value = SPAN("v")};
    rig_send(asker);
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_COMPLETION);
    assert_int_equal(rig_seen(0, "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}"), 1);
}

/* What is for whoever runs it passes, what is between us and the asker does not. */
static void meta_passes_but_for_ours(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", ONE "on tools/call\n"
                              "ok {'content':[]}\n");
    rig_start();
    (void)rig_tools();
    asker = rig_prepare(0, CALL_TOOL, "one");
    asker->call.meta = rig_json(asker, "{\"progressToken\":\"mine\",\"traceparent\":\"00-ab\","
                                       "\"io.modelcontextprotocol/x\":1}");
    rig_send(asker);
    UNTIL(first_is_answered);
    assert_int_equal(rig_seen(0, "\"traceparent\":\"00-ab\""), 1);
    assert_int_equal(rig_seen(0, "mine"), 0);
    assert_int_equal(rig_seen(0, "io.modelcontextprotocol/x"), 0);
}

static void progress_passes(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", ONE "on tools/call\n"
                              "say {'jsonrpc':'2.0','method':'notifications/progress','params':{"
                              "'progressToken':$ID,'progress':1}}\n"
                              "ok {'content':[]}\n");
    rig_start();
    (void)rig_tools();
    asker = rig_prepare(0, CALL_TOOL, "one");
    asker->call.wants_progress = true;
    rig_send(asker);
    UNTIL(first_is_answered);
    assert_int_equal(asker->kind, CALL_RESULT_TOOL);
    assert_int_equal(asker->n_progress, 1);
}

/* ---- cancelling ---- */

static void a_call_that_is_taken_back_is_cancelled_at_the_server(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", "lists one two\n"
                          "on tools/call one\n"
                          "keep\n"
                          "on tools/call two\n"
                          "say {'jsonrpc':'2.0','id':$KEPT,'result':{'content':[]}}\n"
                          "ok {'content':[]}\n");
    rig_start();
    (void)rig_tools();
    asker = rig_begin(1, "one", "{}");
    UNTIL(server_has_the_call);
    router_cancel(rig.router, &asker->call);
    UNTIL(server_was_told_of_the_cancel);
    (void)rig_call("two"); /* and its answer that comes all the same is nobody's */
    assert_int_equal(asker->n_finished, 0);
    assert_int_equal(rig_status(0).n_open, 0);
}

static void a_call_may_be_taken_back_before_its_server_is_there(void **state)
{
    Asker *asker;

    (void)state;
    rig.state = NULL;
    (void)rig_server("a", ONE "on tools/call\n"
                              "ok {'content':[]}\n");
    rig.specs[0].idle_ms = 1;
    rig_start();
    (void)rig_tools();
    while (rig_status(0).state != UPSTREAM_IDLE) {
        rig_pause();
    }
    asker = rig_begin(1, "one", "{}");
    assert_int_equal(rig_status(0).state, UPSTREAM_STARTING);
    router_cancel(rig.router, &asker->call);
    assert_int_equal(rig_call("one")[0], '\0');
    assert_int_equal(rig_seen(0, "tools/call"), 1);
    assert_int_equal(asker->n_finished, 0);
}

typedef struct Vandal {
    Asker *other;
    const CallDoor *door;
} Vandal;

static Vandal vandal;

/* Told that its server is lost, it takes another call back: there is no peer then. */
static void vandal_finish(Call *call, const CallResult *result)
{
    asker_finish(call, result);
    router_cancel(rig.router, &vandal.other->call);
}

static const CallDoor vandal_door = {.finish = vandal_finish};

static void a_call_may_be_taken_back_while_its_server_is_being_lost(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", "lists one die\n"
                          "on tools/call one\n"
                          "on tools/call die\n"
                          "exit 7\n");
    rig_start();
    (void)rig_tools();
    asker = rig_prepare(0, CALL_TOOL, "one");
    asker->call.door = &vandal_door;
    rig_send(asker);
    vandal.other = rig_begin(1, "one", "{}");
    UNTIL(server_has_the_call);
    (void)rig_begin(2, "die", "{}");
    UNTIL(first_is_answered);
    rig_pause();
    assert_int_equal(rig.askers[1].n_finished, 0);
    assert_int_equal(rig.askers[2].n_finished, 1);
    assert_int_equal(rig_status(0).n_open, 0);
}

/* ---- times ---- */

static void a_call_has_its_time(void **state)
{
    (void)state;
    rig_server("a", ONE "on tools/call\n")->call_timeout_ms = 30;
    rig_start();
    (void)rig_tools();
    (void)rig_call("one");
    assert_int_equal(rig.askers[0].error, CALL_ERROR_TIMEOUT);
    assert_true(rig.askers[0].may_have_run);
    UNTIL(server_was_told_of_the_cancel);
    assert_int_equal(rig_status(0).state, UPSTREAM_READY);
}

/* ---- losses ---- */

static void a_lost_call_may_have_run(void **state)
{
    (void)state;
    (void)rig_server("a", ONE "on tools/call\n"
                              "err it hurts\n"
                              "exit 7\n");
    rig_start();
    (void)rig_tools();
    assert_has(rig_call("one"), "the server a has gone; the call may have run");
    assert_has(rig.askers[0].message, "it hurts");
    assert_has(rig.askers[0].message, "exit status 7");
    assert_int_equal(rig.askers[0].error, CALL_ERROR_UNAVAILABLE);
    assert_true(rig.askers[0].may_have_run);
    assert_int_equal(rig_seen(0, "tools/call"), 1); /* never twice */
}

static void a_call_of_a_server_that_never_came_was_not_sent(void **state)
{
    (void)state;
    rig_server("a", ONE "on tools/call\n"
                        "ok {'content':[]}\n")
        ->idle_ms = 1;
    rig_start();
    (void)rig_tools();
    while (rig_status(0).state != UPSTREAM_IDLE) {
        rig_pause();
    }
    scratch_write(rig.args[0][0],
                  "on initialize\n"
                  "err no licence\n"
                  "exit 4\n",
                  0600);
    assert_has(rig_call("one"), "the call was not sent to it");
    assert_has(rig.askers[0].message, "no licence");
    assert_false(rig.askers[0].may_have_run);
}

static bool it_is_down_for_a_while(void)
{
    return rig_status(0).state == UPSTREAM_DOWN && rig_status(0).n_failures >= 2;
}

static void while_it_is_down_calls_say_why_and_when(void **state)
{
    (void)state;
    (void)rig_server("a", ONE "on tools/call\n"
                              "exit 7\n");
    rig_start();
    (void)rig_tools();
    scratch_write(rig.args[0][0],
                  "on initialize\n"
                  "exit 4\n",
                  0600);
    (void)rig_call("one");
    UNTIL(it_is_down_for_a_while);
    assert_has(rig_call("one"), "the server a is not there");
    assert_has(rig.askers[0].message, "tried again in 1 s");
    assert_has(rig.askers[0].message, "exit status 4");
    assert_int_equal(rig_seen(0, "tools/call"), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(results_pass_as_they_are),
        TEST(errors_of_the_server_are_not_taken_for_ours),
        TEST(other_verbs_are_asked_in_their_words),
        TEST(meta_passes_but_for_ours),
        TEST(progress_passes),
        TEST(a_call_that_is_taken_back_is_cancelled_at_the_server),
        TEST(a_call_may_be_taken_back_before_its_server_is_there),
        TEST(a_call_may_be_taken_back_while_its_server_is_being_lost),
        TEST(a_call_has_its_time),
        TEST(a_lost_call_may_have_run),
        TEST(a_call_of_a_server_that_never_came_was_not_sent),
        TEST(while_it_is_down_calls_say_why_and_when),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
