/* When servers are started: by what needs them, at the gate, by a reload. */
#include "unit/providers/upstream_rig.h"

#define PLAIN(tool)                                                                                \
    "lists " tool "\n"                                                                             \
    "on tools/call\n"                                                                              \
    "text it ran\n"

static bool first_server_runs(void)
{
    return rig_status(0).state == UPSTREAM_READY;
}

static bool first_server_is_down(void)
{
    return rig_status(0).state == UPSTREAM_DOWN;
}

static void nothing_is_started_before_a_list(void **state)
{
    (void)state;
    (void)rig_server("a", PLAIN("one"));
    (void)rig_server("b", PLAIN("two"));
    rig_start();
    rig_pause();
    assert_int_equal(rig_status(0).state, UPSTREAM_IDLE);
    assert_string_equal(rig_status(0).state_name, "idle");
    assert_int_equal(rig_starts(0) + rig_starts(1), 0);
    assert_string_equal(rig_tools(), "one two");
    assert_int_equal(rig_starts(0), 1);
    assert_int_equal(rig_starts(1), 1);
    assert_string_equal(rig_tools(), "one two");
    assert_int_equal(rig_status(0).n_starts, 1);
}

static void an_eager_one_is_started_at_once(void **state)
{
    (void)state;
    rig_server("a", PLAIN("one"))->is_eager = true;
    (void)rig_server("b", PLAIN("two"));
    rig_start();
    UNTIL(first_server_runs);
    rig_pause();
    assert_int_equal(rig_starts(1), 0);
    assert_string_equal(rig_tools(), "one two");
}

/* A client that never lists. */
static void a_call_of_an_unknown_name_asks_all(void **state)
{
    (void)state;
    (void)rig_server("a", PLAIN("one"));
    rig_start();
    assert_has(rig_call("one"), "it ran");
    assert_has(rig_call("nobody"), "nobody");
    assert_int_equal(rig.askers[0].error, CALL_ERROR_UNKNOWN_TOOL);
    assert_int_equal(rig_starts(0), 1);
}

static void a_read_of_what_is_not_known_asks_all(void **state)
{
    (void)state;
    (void)rig_server("a", "caps {'resources':{}}\n"
                          "on resources/list\n"
                          "ok {'resources':[{'uri':'a://1','name':'n'}]}\n"
                          "on resources/templates/list\n"
                          "ok {'resourceTemplates':[]}\n"
                          "on resources/read\n"
                          "ok {'contents':[{'uri':'a://1','text':'content'}]}\n");
    rig_start();
    assert_has(rig_ask(CALL_READ, "a://1"), "content");
    assert_int_equal(rig_starts(0), 1);
}

/* One that never answers costs the first list its time, and no other anything. */
static void the_gate_opens_without_one_that_is_silent(void **state)
{
    int64_t began_ms;

    (void)state;
    (void)rig_server("a", "on initialize\n"
                          "stall\n");
    (void)rig_server("b", PLAIN("two"));
    rig_start();
    began_ms = io_loop_now_ms(rig.loop);
    assert_string_equal(rig_tools(), "two");
    assert_true(io_loop_now_ms(rig.loop) - began_ms >= LIMIT_UPSTREAM_GATE_MS - 10);
    assert_has(rig.askers[0].meta, "{\"name\":\"a\",\"state\":\"starting\"}");
    began_ms = io_loop_now_ms(rig.loop);
    assert_string_equal(rig_tools(), "two");
    assert_true(io_loop_now_ms(rig.loop) - began_ms < 1000);
}

static void one_that_cannot_be_started_holds_up_nobody(void **state)
{
    static char nothing[] = "/nonexistent/server";
    int64_t began_ms;

    (void)state;
    rig_server("a", "")->command = nothing;
    (void)rig_server("b", PLAIN("two"));
    rig_start();
    began_ms = io_loop_now_ms(rig.loop);
    assert_string_equal(rig_tools(), "two");
    assert_true(io_loop_now_ms(rig.loop) - began_ms < LIMIT_UPSTREAM_GATE_MS);
    assert_has(rig.askers[0].meta, "\"name\":\"a\",\"state\":\"down\"");
    assert_int_equal(rig_status(0).state, UPSTREAM_DOWN);
}

static void a_disabled_one_is_never_started(void **state)
{
    (void)state;
    rig_server("a", PLAIN("one"))->is_disabled = true;
    rig_start();
    assert_string_equal(rig_tools(), "");
    rig_pause();
    assert_int_equal(rig_starts(0), 0);
    assert_int_equal(rig_status(0).state, UPSTREAM_DISABLED);
}

/* ---- reload ---- */

static bool one_is_there(void)
{
    return router_has_tool(rig.router, SPAN("one"));
}

static bool two_is_there(void)
{
    return router_has_tool(rig.router, SPAN("two"));
}

/* Those who have lists do not ask again: what is new is asked for them. */
static void a_reload_keeps_what_is_the_same_and_tells_of_what_is_new(void **state)
{
    unsigned n;

    (void)state;
    (void)rig_server("a", PLAIN("one") "on tools/call one\n"
                                       "keep\n"
                                       "on tools/call again\n"
                                       "say {'jsonrpc':'2.0','id':$KEPT,'result':{'content':[]}}\n"
                                       "ok {'content':[]}\n");
    (void)rig_server("b", PLAIN("two"));
    rig.n_specs = 1;
    rig_start();
    assert_string_equal(rig_tools(), "one");
    (void)rig_begin(1, "one", "{}");
    n = rig.n_changed[ROUTER_TOOL];
    assert_int_equal(upstreams_reload(rig.upstreams, rig.specs, 2), 0);
    rig.n_specs = 2;
    UNTIL(two_is_there);
    assert_true(rig.n_changed[ROUTER_TOOL] > n);
    assert_true(rig.askers[1].call.running); /* its server is the same */
    assert_int_equal(rig_starts(0), 1);
    assert_int_equal(upstreams_reload(rig.upstreams, rig.specs + 1, 1), 0);
    UNTIL(second_is_answered);
    assert_has(rig.askers[1].message, "not part of the settings any more");
    assert_true(rig.askers[1].may_have_run);
    assert_string_equal(rig_tools(), "two");
    assert_int_equal(rig_starts(1), 1);
}

static void a_reload_before_anybody_has_listed_starts_nothing(void **state)
{
    (void)state;
    (void)rig_server("a", PLAIN("one"));
    (void)rig_server("b", PLAIN("two"));
    rig.n_specs = 1;
    rig_start();
    assert_int_equal(upstreams_reload(rig.upstreams, rig.specs, 2), 0);
    rig.n_specs = 2;
    rig_pause();
    assert_int_equal(rig_starts(0) + rig_starts(1), 0);
    assert_string_equal(rig_tools(), "one two");
}

/* Nobody is left who is waited for. */
static void the_gate_opens_when_a_reload_takes_its_reason_away(void **state)
{
    Asker *asker;

    (void)state;
    (void)rig_server("a", "on initialize\n"
                          "stall\n");
    rig_start();
    asker = rig_prepare(0, CALL_LIST_TOOLS, "");
    rig_send(asker);
    rig_pause();
    assert_int_equal(asker->n_finished, 0);
    assert_int_equal(upstreams_reload(rig.upstreams, rig.specs, 0), 0);
    UNTIL(first_is_answered);
    assert_string_equal(asker->text, "");
}

/* ---- life ---- */

static void an_end_ends_calls_and_opens_the_gate(void **state)
{
    (void)state;
    (void)rig_server("a", "lists one\n"
                          "on tools/call\n");
    rig_start();
    assert_string_equal(rig_tools(), "one");
    (void)rig_begin(1, "one", "{}");
    upstreams_end(rig.upstreams);
    UNTIL(second_is_answered);
    assert_int_equal(rig.askers[1].error, CALL_ERROR_UNAVAILABLE);
    assert_int_equal(upstreams_count(rig.upstreams), 0);
    assert_string_equal(rig_tools(), "");
}

static void a_server_that_failed_at_once_is_tried_again_by_itself(void **state)
{
    (void)state;
    (void)rig_server("a", PLAIN("one"));
    scratch_write(rig.args[0][0],
                  "on initialize\n"
                  "exit 3\n",
                  0600);
    rig_start();
    assert_string_equal(rig_tools(), "");
    UNTIL(first_server_is_down);
    scratch_write(rig.args[0][0], PLAIN("one"), 0600);
    UNTIL(one_is_there); /* by itself */
    assert_string_equal(rig_tools(), "one");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_started_before_a_list),
        TEST(an_eager_one_is_started_at_once),
        TEST(a_call_of_an_unknown_name_asks_all),
        TEST(a_read_of_what_is_not_known_asks_all),
        TEST(the_gate_opens_without_one_that_is_silent),
        TEST(one_that_cannot_be_started_holds_up_nobody),
        TEST(a_disabled_one_is_never_started),
        TEST(a_reload_keeps_what_is_the_same_and_tells_of_what_is_new),
        TEST(a_reload_before_anybody_has_listed_starts_nothing),
        TEST(the_gate_opens_when_a_reload_takes_its_reason_away),
        TEST(an_end_ends_calls_and_opens_the_gate),
        TEST(a_server_that_failed_at_once_is_tried_again_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
