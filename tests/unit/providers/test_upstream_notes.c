/* What servers tell unasked, and what they are asked to tell. */
#include "unit/providers/upstream_rig.h"

#define RESOURCES                                                                                  \
    "on resources/list\n"                                                                          \
    "ok {'resources':[{'uri':'a://1','name':'n'}]}\n"                                              \
    "on resources/templates/list\n"                                                                \
    "ok {'resourceTemplates':[]}\n"

#define UPDATED                                                                                    \
    "say {'jsonrpc':'2.0','method':'notifications/resources/updated','params':{"                   \
    "'uri':'a://1'}}\n"

static bool update_has_come(void)
{
    return rig.n_updated > 0;
}

static bool server_is_subscribed_to(void)
{
    return rig_seen(0, "resources/subscribe") > 0;
}

static bool server_is_subscribed_to_twice(void)
{
    return rig_seen(0, "resources/subscribe") > 1;
}

static bool server_is_let_go(void)
{
    return rig_seen(0, "resources/unsubscribe") > 0;
}

/* Once for all who want it, and not any more when the last has gone. */
static void subscriptions_are_counted_and_updates_pass(void **state)
{
    (void)state;
    (void)rig_server("a",
                     "caps {'tools':{},'resources':{'subscribe':true}}\n"
                     "lists touch\n" RESOURCES "on tools/call\n" UPDATED "ok {'content':[]}\n");
    rig_start();
    (void)rig_tools();
    router_want(rig.router, SPAN("a://1"), true);
    router_want(rig.router, SPAN("a://1"), true);
    router_want(rig.router, SPAN("b://nobody"), true);
    UNTIL(server_is_subscribed_to);
    (void)rig_call("touch");
    UNTIL(update_has_come);
    router_want(rig.router, SPAN("a://1"), false);
    rig_pause();
    assert_int_equal(rig_seen(0, "resources/unsubscribe"), 0);
    router_want(rig.router, SPAN("a://1"), false);
    UNTIL(server_is_let_go);
    assert_int_equal(rig_seen(0, "resources/subscribe"), 1);
    router_want(rig.router, SPAN("b://nobody"), false);
}

/* No call overtakes it, also where both start the server. */
static void a_call_comes_behind_the_subscription_before_it(void **state)
{
    char *text;
    size_t n;

    (void)state;
    rig_server("a", "caps {'tools':{},'resources':{'subscribe':true}}\n"
                    "lists touch\n" RESOURCES "on tools/call\n"
                    "ok {'content':[]}\n")
        ->idle_ms = 1;
    rig_start();
    (void)rig_tools();
    while (rig_status(0).state != UPSTREAM_IDLE) {
        rig_pause();
    }
    router_want(rig.router, SPAN("a://1"), true);
    (void)rig_call("touch");
    text = files_read(rig.args[0][1], &n);
    assert_non_null(strstr(text, "resources/subscribe"));
    assert_true(strstr(text, "resources/subscribe") < strstr(text, "tools/call"));
    free(text);
}

/* A new session knows of nothing. */
static void a_server_that_starts_again_is_told_again(void **state)
{
    (void)state;
    (void)rig_server("a", "caps {'tools':{},'resources':{'subscribe':true}}\n"
                          "lists die\n" RESOURCES "on tools/call\n"
                          "exit 1\n");
    rig_start();
    (void)rig_tools();
    router_want(rig.router, SPAN("a://1"), true);
    UNTIL(server_is_subscribed_to);
    (void)rig_call("die");
    UNTIL(server_is_subscribed_to_twice);
}

static bool server_listens(void)
{
    return rig_seen(0, "\"resourceSubscriptions\":[\"a://1\"]") > 0;
}

/* A modern server has one subscription for all that it is to tell. */
static void a_modern_server_is_listened_to(void **state)
{
    (void)state;
    rig_server("a", "era modern\n"
                    "caps {'tools':{'listChanged':true},'resources':{'subscribe':true}}\n"
                    "lists one\n" RESOURCES "on subscriptions/listen\n")
        ->era = MCP_CLIENT_MODERN;
    rig_start();
    (void)rig_tools();
    assert_int_equal(rig_seen(0, "subscriptions/listen"), 1);
    assert_int_equal(rig_seen(0, "\"toolsListChanged\":true"), 1);
    router_want(rig.router, SPAN("a://1"), true);
    UNTIL(server_listens);
    assert_int_equal(rig_seen(0, "subscriptions/listen"), 2);
    assert_int_equal(rig_seen(0, "resources/subscribe"), 0);
}

/* ---- log records ---- */

#define LOGS                                                                                       \
    "caps {'tools':{},'logging':{}}\n"                                                             \
    "lists one\n"                                                                                  \
    "on tools/call\n"                                                                              \
    "say {'jsonrpc':'2.0','method':'notifications/message','params':{'level':'warning',"           \
    "'logger':'l','data':'words of it'}}\n"                                                        \
    "ok {'content':[]}\n"

static void log_records_reach_the_one_caller(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", LOGS);
    rig_start();
    (void)rig_tools();
    asker = rig_prepare(0, CALL_TOOL, "one");
    asker->call.log_level = CALL_LOG_INFO;
    rig_send(asker);
    UNTIL(first_is_answered);
    assert_int_equal(asker->n_logged, 1);
    assert_int_equal(rig_seen(0, "logging/setLevel"), 1);
    assert_int_equal(rig_seen(0, "{\"level\":\"info\"}"), 1);
    /* Who wants fewer gets fewer. */
    asker = rig_prepare(0, CALL_TOOL, "one");
    asker->call.log_level = CALL_LOG_ERROR;
    rig_send(asker);
    UNTIL(first_is_answered);
    assert_int_equal(asker->n_logged, 0);
    assert_int_equal(rig_seen(0, "logging/setLevel"), 1);
}

static void log_records_of_nobody_are_in_our_log(void **state)
{
    (void)state;
    (void)rig_server(
        "a", "on notifications/initialized\n"
             "say {'jsonrpc':'2.0','method':'notifications/message','params':{'level':'info',"
             "'data':'hello to nobody'}}\n"
             "lists one\n");
    rig_start();
    (void)rig_tools();
    assert_has(rig.log, "a says (info): \"hello to nobody\"");
}

/* ---- changes of other lists ---- */

static bool prompt_has_come(void)
{
    return router_count(rig.router, ROUTER_PROMPT) > 0 &&
           router_count(rig.router, ROUTER_RESOURCE) > 0;
}

static bool lists_are_read(void)
{
    return upstream_lists_are_read(rig.upstreams->servers[0]);
}

static void each_list_is_read_again_when_it_changes(void **state)
{
    (void)state;
    (void)rig_server(
        "a", "caps {'tools':{},'prompts':{'listChanged':true},'resources':{'listChanged':true}}\n"
             "lists one\n"
             "on prompts/list\n"
             "ok {'prompts':[]}\n"
             "on prompts/list\n"
             "ok {'prompts':[{'name':'p'}]}\n"
             "on resources/list\n"
             "ok {'resources':[]}\n" RESOURCES "on tools/call\n"
             "note prompts/list_changed\n"
             "note resources/list_changed\n"
             "ok {'content':[]}\n");
    rig_start();
    (void)rig_tools();
    assert_int_equal(router_count(rig.router, ROUTER_PROMPT), 0);
    (void)rig_call("one");
    UNTIL(prompt_has_come);
    UNTIL(lists_are_read);
    assert_int_equal(rig_seen(0, "tools/list"), 1);
    assert_int_equal(rig_seen(0, "resources/templates/list"), 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(subscriptions_are_counted_and_updates_pass),
        TEST(a_call_comes_behind_the_subscription_before_it),
        TEST(a_server_that_starts_again_is_told_again),
        TEST(a_modern_server_is_listened_to),
        TEST(log_records_reach_the_one_caller),
        TEST(log_records_of_nobody_are_in_our_log),
        TEST(each_list_is_read_again_when_it_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
