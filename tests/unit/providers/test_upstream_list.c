/* The lists of a server: pages, changes, times, and what cannot be read. */
#include "unit/providers/upstream_rig.h"

static bool three_is_there(void)
{
    return router_has_tool(rig.router, SPAN("three"));
}

static bool lists_are_read(void)
{
    return upstream_lists_are_read(rig.upstreams->servers[0]);
}

static void pages_are_read_to_their_end(void **state)
{
    (void)state;
    (void)rig_server("a", "on tools/list\n"
                          "ok {'tools':[$TOOL(one)],'nextCursor':'2'}\n"
                          "on tools/list 2\n"
                          "ok {'tools':[$TOOL(two)],'nextCursor':''}\n"
                          "on tools/list \n"
                          "ok {'tools':[$TOOL(three)],'nextCursor':null}\n");
    rig_start();
    assert_string_equal(rig_tools(), "one two three");
    assert_int_equal(rig_seen(0, "tools/list"), 3);
}

/* A server that goes round in circles: what came until then counts. */
static void a_cursor_that_comes_again_ends_the_list(void **state)
{
    (void)state;
    (void)rig_server("a", "on tools/list\n"
                          "ok {'tools':[$TOOL(one)],'nextCursor':'x'}\n"
                          "on tools/list x\n"
                          "ok {'tools':[$TOOL(two)],'nextCursor':'y'}\n"
                          "on tools/list y\n"
                          "ok {'tools':[$TOOL(three)],'nextCursor':'x'}\n");
    rig_start();
    assert_string_equal(rig_tools(), "one two three");
    assert_has(rig.log, "do not end: a cursor came again");
    assert_int_equal(rig_seen(0, "tools/list"), 3);
}

static void a_change_is_read_and_told(void **state)
{
    unsigned n;

    (void)state;
    (void)rig_server("a", "caps {'tools':{'listChanged':true}}\n"
                          "lists one\n"
                          "lists one three\n"
                          "on tools/call\n"
                          "note tools/list_changed\n"
                          "text x\n");
    rig_start();
    assert_string_equal(rig_tools(), "one");
    n = rig.n_changed[ROUTER_TOOL];
    (void)rig_call("one");
    UNTIL(three_is_there);
    assert_int_equal(rig.n_changed[ROUTER_TOOL], n + 1);
    /* The same list again is no change. */
    (void)rig_call("one");
    rig_pause();
    UNTIL(lists_are_read);
    assert_int_equal(rig_seen(0, "tools/list"), 3);
    assert_int_equal(rig.n_changed[ROUTER_TOOL], n + 1);
}

/* Between two pages: the list that is read is not the one that it has. */
static void a_change_while_it_is_read_has_it_read_again(void **state)
{
    (void)state;
    (void)rig_server("a", "caps {'tools':{'listChanged':true}}\n"
                          "on tools/list\n"
                          "note tools/list_changed\n"
                          "ok {'tools':[$TOOL(one)]}\n"
                          "lists three\n");
    rig_start();
    (void)rig_tools();
    UNTIL(three_is_there);
    assert_string_equal(rig_tools(), "three");
    assert_int_equal(rig_seen(0, "tools/list"), 2);
}

/* A modern server that does not tell says for how long its list is good. */
static void a_list_whose_time_is_over_is_read_again(void **state)
{
    UpstreamList *list;

    (void)state;
    rig_server("a", "era modern\n"
                    "caps {'tools':{}}\n"
                    "on tools/list\n"
                    "ok {'ttlMs':1,'tools':[$TOOL(one)]}\n"
                    "on tools/list\n"
                    "ok {'ttlMs':0,'tools':[$TOOL(three)]}\n")
        ->era = MCP_CLIENT_MODERN;
    rig_start();
    assert_string_equal(rig_tools(), "one");
    list = &rig.upstreams->servers[0]->lists[ROUTER_TOOL];
    /* However soon it says, not before half a minute. */
    assert_true(list->fresh_until_ms >= io_loop_now_ms(rig.loop) + 29000);
    assert_true(list->fresh_until_ms < io_loop_now_ms(rig.loop) + 40000);
    list->fresh_until_ms = io_loop_now_ms(rig.loop);
    upstream_set_timer(rig.upstreams->servers[0]);
    UNTIL(three_is_there);
    assert_true(list->fresh_until_ms == INT64_MAX);
}

static bool list_was_read_twice(void)
{
    return rig_seen(0, "tools/list") == 2 && lists_are_read();
}

/* Without a time, or with 0, it is stale at once: whoever lists has it read again, not too often.
 */
static void a_list_without_a_time_is_read_again_when_somebody_lists(void **state)
{
    UpstreamList *list;

    (void)state;
    rig_server("a", "era modern\n"
                    "caps {'tools':{}}\n"
                    "on tools/list\n"
                    "ok {'ttlMs':0,'tools':[$TOOL(one)]}\n"
                    "on tools/list\n"
                    "ok {'tools':[$TOOL(three)]}\n")
        ->era = MCP_CLIENT_MODERN;
    rig_start();
    assert_string_equal(rig_tools(), "one");
    list = &rig.upstreams->servers[0]->lists[ROUTER_TOOL];
    assert_true(list->fresh_until_ms == INT64_MAX);
    assert_true(list->stale_ms >= io_loop_now_ms(rig.loop) + 29000);
    assert_true(list->stale_ms <= io_loop_now_ms(rig.loop) + 30000);
    (void)rig_tools();
    rig_pause();
    assert_int_equal(rig_seen(0, "tools/list"), 1);
    list->stale_ms = io_loop_now_ms(rig.loop);
    (void)rig_ask(CALL_LIST_PROMPTS, ""); /* which are not tools */
    rig_pause();
    assert_int_equal(rig_seen(0, "tools/list"), 1);
    (void)rig_tools();
    UNTIL(three_is_there);
    assert_true(list->stale_ms >= io_loop_now_ms(rig.loop) + 29000);
    (void)rig_tools();
    rig_pause();
    assert_int_equal(rig_seen(0, "tools/list"), 2);
}

static bool server_is_untold(void)
{
    return rig.upstreams->servers[0]->is_untold;
}

/* It says that it tells, and does not take the subscription. */
static void a_server_that_refuses_to_tell_is_asked(void **state)
{
    UpstreamList *list;

    (void)state;
    rig_server("a", "era modern\n"
                    "caps {'tools':{'listChanged':true},'prompts':{'listChanged':true}}\n"
                    "on subscriptions/listen\n"
                    "no -32601 none\n"
                    "on prompts/list\n"
                    "ok {'ttlMs':1,'prompts':[]}\n"
                    "lists one\n")
        ->era = MCP_CLIENT_MODERN;
    rig_start();
    assert_string_equal(rig_tools(), "one");
    UNTIL(server_is_untold);
    list = rig.upstreams->servers[0]->lists;
    assert_true(list[ROUTER_PROMPT].fresh_until_ms < io_loop_now_ms(rig.loop) + 40000);
    assert_true(list[ROUTER_TOOL].stale_ms <= io_loop_now_ms(rig.loop) + 30000);
    list[ROUTER_TOOL].stale_ms = io_loop_now_ms(rig.loop);
    (void)rig_tools();
    UNTIL(list_was_read_twice);
}

static void a_server_that_tells_is_not_asked_by_the_clock(void **state)
{
    (void)state;
    rig_server("a", "era modern\n"
                    "caps {'tools':{'listChanged':true}}\n"
                    "on tools/list\n"
                    "ok {'ttlMs':1,'tools':[$TOOL(one)]}\n"
                    "on subscriptions/listen\n")
        ->era = MCP_CLIENT_MODERN;
    rig_start();
    assert_string_equal(rig_tools(), "one");
    assert_true(rig.upstreams->servers[0]->lists[ROUTER_TOOL].fresh_until_ms == INT64_MAX);
    assert_int_equal(rig_seen(0, "toolsListChanged"), 1);
}

static void what_cannot_be_read_is_said_and_the_rest_is_there(void **state)
{
    (void)state;
    (void)rig_server("a", "caps {'tools':{},'prompts':{},'resources':{}}\n"
                          "on tools/list\n"
                          "no -32000 not today\n"
                          "on prompts/list\n"
                          "ok {'prompts':[{'name':'p'}]}\n"
                          "on resources/list\n"
                          "ok {'resources':7}\n"
                          "on resources/templates/list\n"
                          "no -32601 none\n");
    rig_start();
    assert_string_equal(rig_tools(), "");
    assert_has(rig.askers[0].meta, "cannot be read");
    assert_string_equal(rig_ask(CALL_LIST_PROMPTS, ""), "p");
    assert_has(rig.log, "its tools cannot be read: not today");
    assert_has(rig.log, "its resources cannot be read: the answer has no such array");
    assert_int_equal(rig_status(0).state, UPSTREAM_READY);
}

/* Nobody says a second time that it has changed. */
static void a_change_told_in_a_reading_that_fails_is_read(void **state)
{
    (void)state;
    (void)rig_server("a", "caps {'tools':{'listChanged':true}}\n"
                          "on tools/list\n"
                          "note tools/list_changed\n"
                          "no -32000 not yet\n"
                          "lists one three\n");
    rig_start();
    (void)rig_tools();
    UNTIL(three_is_there);
    assert_int_equal(rig_seen(0, "tools/list\""), 2);
}

/* A hub behind the hub: what it says of its servers is said here. */
static void servers_of_a_hub_that_are_down_are_shown(void **state)
{
    (void)state;
    (void)rig_server("a", "caps {'tools':{'listChanged':true}}\n"
                          "on tools/list\n"
                          "ok {'tools':[$TOOL(one)],'_meta':{'toolwire/servers':"
                          "[{'name':'in','state':'down','why':'broken'}]}}\n"
                          "lists one three\n"
                          "on tools/call\n"
                          "note tools/list_changed\n"
                          "text x\n");
    rig_start();
    assert_string_equal(rig_tools(), "one");
    assert_string_equal(rig.askers[0].meta,
                        "{\"toolwire/servers\":[{\"name\":\"a\",\"state\":\"ready\",\"servers\":"
                        "[{\"name\":\"in\",\"state\":\"down\",\"why\":\"broken\"}]}]}");
    (void)rig_call("one");
    UNTIL(three_is_there);
    (void)rig_tools();
    assert_string_equal(rig.askers[0].meta, "");
}

static void a_list_that_never_comes_has_its_time(void **state)
{
    UpstreamSpec *spec = rig_server("a", "on tools/list\n");

    (void)state;
    spec->list_timeout_ms = 50;
    rig_start();
    assert_string_equal(rig_tools(), "");
    assert_has(rig.log, "its tools cannot be read");
}

/* It forgot to say what it has. */
static void a_server_without_capabilities_is_asked_for_tools(void **state)
{
    (void)state;
    (void)rig_server("a", "caps {}\n"
                          "lists one\n");
    rig_start();
    assert_string_equal(rig_tools(), "one");
    assert_int_equal(rig_seen(0, "prompts/list"), 0);
}

static void what_was_known_stays_when_a_reading_fails(void **state)
{
    static const char script[] = "caps {'tools':{'listChanged':true}}\n"
                                 "lists one\n"
                                 "on tools/list\n"
                                 "ok {'tools':[$TOOL(two)],'nextCursor':'2'}\n"
                                 "on tools/list 2\n"
                                 "no -32000 lost\n"
                                 "on tools/call\n"
                                 "note tools/list_changed\n"
                                 "text x\n";

    (void)state;
    (void)rig_server("a", script);
    rig_start();
    assert_string_equal(rig_tools(), "one");
    (void)rig_call("one");
    UNTIL(lists_are_read);
    rig_pause();
    UNTIL(lists_are_read);
    assert_has(rig.log, "its tools cannot be read: lost");
    assert_string_equal(rig_tools(), "one");
    assert_string_equal(rig_status(0).why, "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_are_read_to_their_end),
        TEST(a_cursor_that_comes_again_ends_the_list),
        TEST(a_change_is_read_and_told),
        TEST(a_change_while_it_is_read_has_it_read_again),
        TEST(a_list_whose_time_is_over_is_read_again),
        TEST(a_list_without_a_time_is_read_again_when_somebody_lists),
        TEST(a_server_that_refuses_to_tell_is_asked),
        TEST(a_server_that_tells_is_not_asked_by_the_clock),
        TEST(what_cannot_be_read_is_said_and_the_rest_is_there),
        TEST(a_change_told_in_a_reading_that_fails_is_read),
        TEST(servers_of_a_hub_that_are_down_are_shown),
        TEST(a_list_that_never_comes_has_its_time),
        TEST(a_server_without_capabilities_is_asked_for_tools),
        TEST(what_was_known_stays_when_a_reading_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
