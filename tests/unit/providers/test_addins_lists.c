/* Lists that are long, large, or wrong in part: what is taken of them, and that nobody waits. */
#include "addin_rig.h"

#include "providers/addin_entries.h"

/* Room for a list. */
#define LIST_BYTES ((size_t)16 * 1024 * 1024)

/* {"name":"a","tools":[…]} with n items that printf made of format and their index; freed by the
 * caller. */
static char *list_of(const char *name, size_t n, const char *format)
{
    char *text = malloc(LIST_BYTES);
    size_t at;

    assert_non_null(text);
    at = (size_t)snprintf(text, LIST_BYTES, "{\"name\":\"%s\",\"tools\":[", name);
    for (size_t i = 0; i < n; i++) {
        const char *number = strchr(format, '#');

        assert_true(at + strlen(format) + 32 < LIST_BYTES);
        text[at] = ',';
        at += i > 0;
        if (number == NULL) {
            at += (size_t)snprintf(text + at, LIST_BYTES - at, "%s", format);
        } else {
            at += (size_t)snprintf(text + at, LIST_BYTES - at, "%.*s%zu%s", (int)(number - format),
                                   format, i, number + 1);
        }
    }
    (void)snprintf(text + at, LIST_BYTES - at, "]}");
    return text;
}

static void of_a_list_of_junk_little_is_looked_at_and_said(void **state)
{
    Rig *rig = *state;
    char *list = list_of("junk", 100000, "1");

    rig_start(rig, NULL);
    (void)rig_join(rig, "junk", list);
    assert_int_equal(rig_times(bytes_span(&rig->lines), "is left out"), ADDIN_MAX_SAID);
    assert_holds(&rig->lines, "junk: tool [7] is left out: ");
    assert_holds(&rig->lines, "junk: and 99992 more are left out");
    assert_holds(&rig->lines, "junk is connected and offers 0 tools");
    free(list);
}

static void what_is_over_the_number_is_left_out_with_one_word(void **state)
{
    Rig *rig = *state;
    char *list = list_of("a", ADDIN_MAX_OFFERS + 3,
                         "{\"name\":\"t#\",\"input_schema\":{\"type\":\"object\"}}");

    rig_start(rig, NULL);
    (void)rig_join(rig, "a", list);
    assert_int_equal(router_count(rig->router, ROUTER_TOOL), ADDIN_MAX_OFFERS);
    assert_holds(&rig->lines, "a: tool [4096] is left out: there are too many");
    assert_holds(&rig->lines, "a: and 2 more are left out");
    assert_holds(&rig->lines, "a is connected and offers 4096 tools");
    free(list);
}

/* A tool whose description has some hundred bytes. */
#define LONG_TOOL                                                                                  \
    "{\"name\":\"t#\",\"description\":\""                                                          \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"     \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"     \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"     \
    "\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\","         \
    "\"pattern\":\"^[a-z]+$\"}}}}"

static void what_is_over_the_bytes_is_left_out_with_one_word(void **state)
{
    Rig *rig = *state;
    char *list = list_of("a", 4000, LONG_TOOL);
    size_t n_tools;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a", list);
    n_tools = router_count(rig->router, ROUTER_TOOL);
    assert_true(n_tools > 2000 && n_tools < ADDIN_MAX_BYTES / 350);
    assert_holds(&rig->lines, "is left out: its description has over 256 KiB, or they have over");
    assert_int_equal(rig_times(bytes_span(&rig->lines), "more are left out"), 1);
    free(list);
}

/* While a long list is settled the tools of another are called. */
static void others_are_served_while_a_long_list_is_settled(void **state)
{
    Rig *rig = *state;
    char *list = list_of("a", 2000, LONG_TOOL);
    size_t n_served = 0;
    size_t n_parted = 0;
    Fake *fake;

    rig_start(rig, NULL);
    (void)rig_join(rig, "good", LIST("good", TOOL("good")));
    fake = rig_connect(rig, "a", list);
    while (router_count(rig->router, ROUTER_TOOL) < 2001) {
        size_t n_before = router_count(rig->router, ROUTER_TOOL);

        assert_served_by(rig, "good", "good");
        n_served += n_before > 1 && n_before < 2001;
    }
    assert_true(n_served >= 3);
    assert_true(rig->n_changed[ROUTER_TOOL] >= 2000 * strlen(LONG_TOOL) / ADDIN_SLICE_COST);
    RUN_UNTIL(rig, rig_holds(bytes_span(&rig->lines), "a is connected and offers 2000 tools"));
    fake_close(fake);
    while (router_count(rig->router, ROUTER_TOOL) > 1) {
        size_t n_before = router_count(rig->router, ROUTER_TOOL);

        assert_served_by(rig, "good", "good");
        n_parted += n_before > 1 && n_before < 2001;
    }
    assert_true(n_parted >= 1);
    free(list);
}

/* Between two slices the router still has tools of one that has gone. */
static void a_call_of_one_that_has_just_gone_is_not_available(void **state)
{
    Rig *rig = *state;
    char *list = list_of("a", 2000, LONG_TOOL);
    Asked asked;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", list);
    fake_close(fake);
    RUN_UNTIL(rig, router_count(rig->router, ROUTER_TOOL) < 2000);
    assert_true(router_has_tool(rig->router, SPAN("t0")));
    ask(&asked, rig, "t0");
    await(&asked);
    assert_failed(&asked, "ADAPTER_NOT_AVAILABLE", "");
    RUN_UNTIL(rig, router_count(rig->router, ROUTER_TOOL) == 0);
    asked_forget(&asked);
    free(list);
}

static void names_of_the_pipes_own_are_refused(void **state)
{
    Rig *rig = *state;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a",
                   LIST("a", TOOL("toolwire.list_tools") "," TOOL("toolwire.x") "," TOOL("one")));
    assert_tools(rig, "one");
    assert_holds(&rig->lines, "a: tool [1] \"toolwire.x\" is left out: names that begin with");
    assert_holds(&rig->lines, "a is connected and offers 1 tools");
}

#define BAD_TOOL(name) "{\"name\":\"" name "\",\"input_schema\":{\"type\":\"array\"}}"

static void one_whose_description_was_refused_gets_no_calls_of_it(void **state)
{
    Rig *rig = *state;
    Fake *bad;

    rig_start(rig, NULL);
    (void)rig_join(rig, "good", LIST("good", TOOL("t")));
    bad = rig_join(rig, "bad", LIST("bad", BAD_TOOL("t") "," TOOL("u")));
    assert_holds(&rig->lines, "bad: its description of the tool \"t\" is left out: ");
    assert_holds(&rig->lines, "bad is connected and offers 1 tools");
    assert_served_by(rig, "t", "good");
    assert_int_equal(bad->n_calls, 0);
    assert_served_by(rig, "u", "bad");
}

static void a_result_that_breaks_the_output_schema_is_said_as_the_pipe_says_it(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a",
                   LIST("a", "{\"name\":\"t\",\"input_schema\":{\"type\":\"object\"},\"output_"
                             "schema\":{\"type\":\"object\",\"properties\":{\"by\":{\"type\":"
                             "\"number\"}}}}"));
    ask(&asked, rig, "t");
    await(&asked);
    assert_failed(&asked, "PIPE_PROTOCOL_ERROR", "the add-in's result breaks the tool's output");
    assert_holds(&asked.structured, "/by: ");
    assert_holds(&asked.structured, "; the call has run");
    assert_holds(&asked.content, "PIPE_PROTOCOL_ERROR: the add-in's result");
    asked_forget(&asked);
}

/* ---- commands ---- */

#define COMMAND(name, mark)                                                                        \
    "{\"name\":\"" name                                                                            \
    "\",\"input_schema\":{\"type\":\"object\",\"required\":[\"x\"]},\"_meta\":"                    \
    "{\"toolwire/command\":" mark "}}"

static void ask_with_x(Asked *asked, Rig *rig, const char *tool)
{
    asked_init(asked, rig);
    asked_ask(asked, CALL_TOOL, tool, SPAN("{\"x\":1}"), 0);
}

static void a_command_that_an_add_in_guards_is_passed_on_with_its_times(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", COMMAND("t", "\"guarded\"")));
    assert_true(router_tool_is_command(rig->router, SPAN("t")));
    fake->holds = true;
    ask_with_x(&asked, rig, "t");
    RUN_UNTIL(rig, fake->n_held == 1);
    fake_answer(
        fake, fake->held[0],
        "\"success\":false,\"data\":{\"own\":1.0,\"ok\":false,\"code\":\"TX_NOT_COMMITTED\","
        "\"msg\":\"no\",\"warnings\":[\"w\"],\"nextActions\":[],\"timings\":{\"revitMs\":0.5},"
        "\"context\":{\"docTitle\":\"house\"}},\"error\":{\"code\":\"TX_NOT_COMMITTED\","
        "\"message\":\"no\"}");
    await(&asked);
    assert_true(asked.is_error);
    assert_holds(&asked.structured, "{\"own\":1.0,\"ok\":false,\"code\":\"TX_NOT_COMMITTED\","
                                    "\"msg\":\"no\",\"warnings\":[\"w\"],");
    assert_holds(&asked.structured, "\"totalMs\":");
    assert_holds(&asked.structured, "\"docTitle\":\"house\"");
    asked_forget(&asked);
}

static void what_the_hub_says_about_a_command_has_the_form_of_its_answers(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", COMMAND("t", "\"guarded\"")));
    ask(&asked, rig, "t");
    await(&asked);
    assert_true(asked.is_error);
    assert_holds(&asked.structured, "\"ok\":false,\"code\":\"INVALID_PARAMS\"");
    assert_int_equal(fake->n_calls, 0);
    asked_forget(&asked);
    fake->holds = true;
    ask_with_x(&asked, rig, "t");
    RUN_UNTIL(rig, fake->n_held == 1);
    fake_close(fake);
    await(&asked);
    assert_true(asked.is_error);
    assert_holds(&asked.structured, "\"ok\":false,\"code\":\"PIPE_DISCONNECTED\",\"msg\":\"");
    asked_forget(&asked);
}

static void what_names_no_command_is_none(void **state)
{
    Rig *rig = *state;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a",
                   LIST("a", COMMAND("t", "true") "," COMMAND("u", "false") "," COMMAND(
                                 "v", "\"other\"") "," TOOL("w")));
    assert_true(router_tool_is_command(rig->router, SPAN("t")));
    assert_false(router_tool_is_command(rig->router, SPAN("u")));
    assert_false(router_tool_is_command(rig->router, SPAN("v")));
    assert_false(router_tool_is_command(rig->router, SPAN("w")));
    assert_false(router_tool_is_command(rig->router, SPAN("none")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(of_a_list_of_junk_little_is_looked_at_and_said),
        RIG_TEST(what_is_over_the_number_is_left_out_with_one_word),
        RIG_TEST(what_is_over_the_bytes_is_left_out_with_one_word),
        RIG_TEST(others_are_served_while_a_long_list_is_settled),
        RIG_TEST(a_call_of_one_that_has_just_gone_is_not_available),
        RIG_TEST(names_of_the_pipes_own_are_refused),
        RIG_TEST(one_whose_description_was_refused_gets_no_calls_of_it),
        RIG_TEST(a_result_that_breaks_the_output_schema_is_said_as_the_pipe_says_it),
        RIG_TEST(a_command_that_an_add_in_guards_is_passed_on_with_its_times),
        RIG_TEST(what_the_hub_says_about_a_command_has_the_form_of_its_answers),
        RIG_TEST(what_names_no_command_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
