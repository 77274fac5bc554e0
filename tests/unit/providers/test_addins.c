/* What is offered, whom a call goes to, and how it ends. */
#include "addin_rig.h"

#define FILE_TOOLS "[" TOOL("wall") "," TOOL("door") "]"

/* ---- what is offered ---- */

static void a_tools_file_is_offered_without_an_add_in(void **state)
{
    Rig *rig = *state;

    rig_start(rig, FILE_TOOLS);
    assert_tools(rig, "wall door");
    assert_int_equal(rig->n_changed[ROUTER_TOOL], 1);
    assert_refused(rig, "wall", "ADAPTER_NOT_AVAILABLE",
                   "no add-in that offers wall is connected to the pipe Test; start the "
                   "application, then call again");
}

static void an_add_in_without_a_list_serves_the_file(void **state)
{
    Rig *rig = *state;
    const Fake *fake;

    rig_start(rig, FILE_TOOLS);
    fake = rig_join(rig, "old", UNKNOWN_LIST);
    assert_int_equal(fake->n_lists, 1);
    assert_served_by(rig, "wall", "old");
    assert_tools(rig, "wall door");
    assert_int_equal(rig->n_changed[ROUTER_TOOL], 1);
    assert_holds(&rig->lines, "add-in-1 is connected and tells no list");
}

static void described_tools_are_there_while_their_add_in_is(void **state)
{
    Rig *rig = *state;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("planner", TOOL("one") "," TOOL("two")));
    assert_tools(rig, "one two");
    assert_int_equal(rig->n_changed[ROUTER_TOOL], 1);
    assert_served_by(rig, "two", "a");
    assert_holds(&rig->lines, "planner is connected and offers 2 tools");
    rig_part(rig, fake);
    assert_tools(rig, "");
    assert_int_equal(rig->n_changed[ROUTER_TOOL], 2);
    assert_holds(&rig->lines, "planner has gone\n");
}

/* All descriptions of a kind, as a client would see them. */
static void take_list(Rig *rig, CallVerb verb, Asked *asked)
{
    asked_init(asked, rig);
    asked_ask(asked, verb, "", SPAN_NULL, 0);
    await(asked);
    assert_int_equal(asked->kind, CALL_RESULT_LIST);
}

static void assert_listed(Rig *rig, CallVerb verb, const char *part)
{
    Asked asked;

    take_list(rig, verb, &asked);
    assert_holds(&asked.content, part);
    asked_forget(&asked);
}

static void the_newest_words_count_and_then_the_next(void **state)
{
    Rig *rig = *state;
    Fake *newer;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a", LIST("a", TOOL_SAYING("one", "of a") "," TOOL("same")));
    newer = rig_join(rig, "b", LIST("b", TOOL_SAYING("one", "of b") "," TOOL("same")));
    assert_listed(rig, CALL_LIST_TOOLS, "of b");
    assert_int_equal(rig->n_changed[ROUTER_TOOL], 2);
    rig_part(rig, newer);
    assert_listed(rig, CALL_LIST_TOOLS, "of a");
    assert_int_equal(rig->n_changed[ROUTER_TOOL], 3);
    assert_tools(rig, "one same");
}

static void what_stays_the_same_is_not_touched(void **state)
{
    Rig *rig = *state;
    Fake *newer;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a", LIST("a", TOOL("one")));
    newer = rig_join(rig, "b", LIST("b", TOOL("one")));
    rig_part(rig, newer);
    assert_served_by(rig, "one", "a");
    assert_int_equal(rig->n_changed[ROUTER_TOOL], 1);
}

static void the_files_words_count_before_all(void **state)
{
    Rig *rig = *state;
    Fake *fake;

    rig_start(rig, "[" TOOL_SAYING("wall", "of the file") "]");
    fake = rig_join(rig, "a", LIST("a", TOOL_SAYING("wall", "of a") "," TOOL("two")));
    assert_listed(rig, CALL_LIST_TOOLS, "of the file");
    assert_served_by(rig, "wall", "a");
    rig_part(rig, fake);
    assert_tools(rig, "wall");
}

static void listeners_hear_once_of_add_ins_that_go_together(void **state)
{
    Rig *rig = *state;
    Fake *a;
    Fake *b;

    rig_start(rig, NULL);
    a = rig_join(rig, "a", LIST("a", TOOL("one")));
    b = rig_join(rig, "b", LIST("b", TOOL("two")));
    fake_close(a);
    fake_close(b);
    RUN_UNTIL(rig, addins_counts(rig->addins).connected == 0);
    assert_int_equal(rig->n_changed[ROUTER_TOOL], 3);
}

static void resources_are_offered_like_tools(void **state)
{
    Rig *rig = *state;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a",
                    "{\"name\":\"a\",\"tools\":[],\"resources\":[{\"uri\":\"plan://svg\",\"name\":"
                    "\"plan\",\"mimeType\":\"image/svg+xml\"},{\"name\":\"nothing\"}]}");
    assert_listed(rig, CALL_LIST_RESOURCES, "image/svg+xml");
    assert_int_equal(rig->n_changed[ROUTER_RESOURCE], 1);
    assert_int_equal(rig->n_changed[ROUTER_TOOL], 0);
    assert_holds(&rig->lines, "a: resource [1] is left out: it has no uri");
    rig_part(rig, fake);
    assert_int_equal(router_count(rig->router, ROUTER_RESOURCE), 0);
}

static void a_resource_is_read_from_its_add_in(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a",
                    "{\"tools\":[],\"resources\":[{\"uri\":\"plan://svg\",\"name\":\"plan\"}]}");
    fake->holds = true;
    asked_init(&asked, rig);
    asked_ask(&asked, CALL_READ, "plan://svg", SPAN_NULL, 0);
    RUN_UNTIL(rig, fake->n_held == 1);
    assert_holds(&fake->got, "toolwire.read_resource");
    fake_answer(fake, fake->held[0],
                "\"success\":true,\"data\":{\"contents\":[{\"uri\":\"plan://svg\",\"text\":"
                "\"<svg/>\"}]}");
    await(&asked);
    assert_int_equal(asked.kind, CALL_RESULT_RESOURCE);
    assert_holds(&asked.content, "<svg/>");
    /* One that is lost is an error of the protocol, not a tool's result. */
    asked.n_finished = 0;
    asked_ask(&asked, CALL_READ, "plan://svg", SPAN_NULL, 0);
    RUN_UNTIL(rig, fake->n_held == 2);
    fake_close(fake);
    await(&asked);
    assert_int_equal(asked.kind, CALL_RESULT_ERROR);
    asked_forget(&asked);
}

static void what_cannot_be_used_is_left_out_alone(void **state)
{
    Rig *rig = *state;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a",
                   LIST("a", TOOL("good") ",{\"name\":\"bad\"},7," TOOL(
                                 "good") ",{\"name\":\"odd\","
                                         "\"input_schema\":{\"type\":\"array\"}}," TOOL("better")));
    assert_tools(rig, "good better");
    assert_holds(&rig->lines, "a: tool [1] \"bad\" is left out: ");
    assert_holds(&rig->lines, "a: tool [2] is left out: ");
    assert_holds(&rig->lines, "a: tool [3] \"good\" is left out: it is there twice");
    assert_holds(&rig->lines, "a: its description of the tool \"odd\" is left out: ");
    assert_served_by(rig, "better", "a");
}

static void an_answer_that_is_no_list_counts_as_none(void **state)
{
    static const char *const lists[] = {"7", "{\"tools\":{}}", "\"x\"", "{}"};
    Rig *rig = *state;

    rig_start(rig, FILE_TOOLS);
    for (size_t i = 0; i < TW_ARRAY_SIZE(lists); i++) {
        Fake *fake = rig_join(rig, "a", lists[i]);

        assert_served_by(rig, "wall", "a");
        rig_part(rig, fake);
    }
}

static void a_bare_array_is_a_list(void **state)
{
    Rig *rig = *state;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a", "[" TOOL("one") "]");
    assert_served_by(rig, "one", "a");
}

static void other_finish(void *context, Call *call)
{
    (void)context;
    call_fail(call, CALL_ERROR_INTERNAL, SPAN("the other"));
}

static const CallProvider other_provider = {.start = other_finish};

static void rig_add_other(Rig *rig, const char *json)
{
    assert_int_equal(router_add(rig->router,
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = span_from_str(json),
                                              .provider = &other_provider},
                                NULL),
                     0);
}

static void a_name_that_another_provider_has_is_left_out_until_it_is_free(void **state)
{
    Rig *rig = *state;
    Fake *more;

    rig_add_other(rig, "{\"name\":\"one\",\"inputSchema\":{\"type\":\"object\"}}");
    rig_start(rig, NULL);
    (void)rig_join(rig, "a", LIST("a", TOOL("one") "," TOOL("two")));
    assert_tools(rig, "one two");
    more = rig_join(rig, "b", LIST("b", TOOL("three")));
    rig_part(rig, more);
    assert_int_equal(rig_times(bytes_span(&rig->lines), "\"one\" of a is left out: another"), 1);
    assert_int_equal(router_remove(rig->router, ROUTER_TOOL, SPAN("one")), 0);
    (void)rig_join(rig, "b", LIST("b", TOOL("three")));
    assert_served_by(rig, "one", "a");
}

/* ---- names ---- */

static void names_that_are_taken_get_a_number(void **state)
{
    Rig *rig = *state;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a", LIST("Revit", ""));
    (void)rig_join(rig, "b", LIST("Revit", ""));
    (void)rig_join(rig, "c", LIST("add-in-4", ""));
    (void)rig_join(rig, "d", "[]");
    assert_holds(&rig->lines, "Revit is connected");
    assert_holds(&rig->lines, "Revit-2 is connected");
    assert_holds(&rig->lines, "add-in-4-2 is connected");
}

static void a_long_name_is_cut_between_characters(void **state)
{
    Rig *rig = *state;
    static const char character[] = "\xC3\xA9";
    char name[121] = "";
    char list[256];

    rig_start(rig, NULL);
    for (size_t i = 0; i < 120; i++) {
        name[i] = character[i % 2];
    }
    (void)snprintf(list, sizeof(list), "{\"name\":\"%s\",\"tools\":[]}", name);
    (void)rig_join(rig, "a", list);
    assert_holds(&rig->lines, "\xC3\xA9\xC3\xA9 is connected");
}

/* ---- whom a call goes to ---- */

static void the_newest_of_those_that_offer_it_serves(void **state)
{
    Rig *rig = *state;
    Fake *second;

    rig_start(rig, FILE_TOOLS);
    (void)rig_join(rig, "a", LIST("a", TOOL("wall")));
    second = rig_join(rig, "b", LIST("b", TOOL("wall")));
    (void)rig_join(rig, "c", LIST("c", TOOL("other")));
    assert_served_by(rig, "wall", "b");
    assert_served_by(rig, "other", "c");
    assert_refused(rig, "door", "ADAPTER_NOT_AVAILABLE", "no add-in that offers door");
    rig_part(rig, second);
    assert_served_by(rig, "wall", "a");
}

static void one_without_a_list_is_as_good_as_any_for_the_file(void **state)
{
    Rig *rig = *state;
    Fake *silent;

    rig_start(rig, FILE_TOOLS);
    (void)rig_join(rig, "a", LIST("a", TOOL("wall") "," TOOL("own")));
    silent = rig_join(rig, "old", UNKNOWN_LIST);
    assert_served_by(rig, "wall", "old");
    assert_served_by(rig, "own", "a");
    (void)rig_join(rig, "b", LIST("b", TOOL("wall")));
    assert_served_by(rig, "wall", "b");
    assert_served_by(rig, "door", "old");
    rig_part(rig, silent);
    assert_refused(rig, "door", "ADAPTER_NOT_AVAILABLE", "");
}

static void one_that_has_not_answered_yet_is_the_last_choice(void **state)
{
    Rig *rig = *state;
    Fake *newer;
    Fake *late;

    rig_start(rig, FILE_TOOLS);
    late = rig_connect(rig, "late", NO_ANSWER);
    RUN_UNTIL(rig, late->n_lists == 1);
    assert_served_by(rig, "wall", "late");
    (void)rig_join(rig, "a", LIST("a", TOOL("wall")));
    assert_served_by(rig, "wall", "a");
    assert_served_by(rig, "door", "late");
    newer = rig_connect(rig, "newer", NO_ANSWER);
    RUN_UNTIL(rig, newer->n_lists == 1);
    assert_served_by(rig, "wall", "a");
    assert_served_by(rig, "door", "newer");
    rig_part(rig, newer);
    late->list = LIST("late", TOOL("wall"));
    fake_answer_list(late, late->list_id);
    RUN_UNTIL(rig, rig_holds(bytes_span(&rig->lines), "late is connected"));
    assert_served_by(rig, "wall", "a");
    assert_refused(rig, "door", "ADAPTER_NOT_AVAILABLE", "");
}

static void a_call_that_was_sent_is_not_sent_to_another(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *older;
    Fake *newer;

    rig_start(rig, NULL);
    older = rig_join(rig, "a", LIST("a", TOOL("one")));
    newer = rig_join(rig, "b", LIST("b", TOOL("one")));
    newer->holds = true;
    ask(&asked, rig, "one");
    RUN_UNTIL(rig, newer->n_held == 1);
    fake_close(newer);
    await(&asked);
    assert_failed(&asked, "PIPE_DISCONNECTED", "Lost connection");
    assert_served_by(rig, "one", "a");
    assert_int_equal(older->n_calls, 1);
    asked_forget(&asked);
}

/* ---- how a call ends ---- */

static void an_answer_comes_back_with_its_duration(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    asked_init(&asked, rig);
    asked_ask(&asked, CALL_TOOL, "one", SPAN("{\"x\": 1.50}"), 0);
    RUN_UNTIL(rig, fake->n_held == 1);
    assert_holds(&fake->got, "{\"tool_name\":\"one\",\"args\":{\"x\": 1.50}}");
    fake_answer(fake, fake->held[0], "\"success\":true,\"data\":{\"y\":2},\"duration_ms\":34");
    await(&asked);
    assert_bytes(&asked.structured, "{\"y\":2}");
    assert_holds(&asked.content, "{\\\"y\\\":2}");
    assert_holds(&asked.meta, "{\"duration_ms\":34,\"waited_ms\":");
    asked_forget(&asked);
}

static void an_error_of_the_add_in_comes_back_with_its_code(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    ask(&asked, rig, "one");
    RUN_UNTIL(rig, fake->n_held == 1);
    fake_answer(fake, fake->held[0],
                "\"success\":false,\"data\":null,\"error\":{\"code\":\"REVIT_API_ERROR\","
                "\"message\":\"no level\"},\"duration_ms\":1");
    await(&asked);
    assert_failed(&asked, "REVIT_API_ERROR", "no level");
    asked_forget(&asked);
}

static void answers_may_come_in_any_order(void **state)
{
    static const size_t order[] = {2, 0, 3, 1};
    Rig *rig = *state;
    Asked asked[4];
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    for (size_t i = 0; i < 4; i++) {
        ask(&asked[i], rig, "one");
    }
    RUN_UNTIL(rig, fake->n_held == 4);
    for (size_t i = 0; i < 4; i++) {
        char data[64];

        (void)snprintf(data, sizeof(data), "\"success\":true,\"data\":{\"n\":%zu}", order[i]);
        fake_answer(fake, fake->held[order[i]], data);
    }
    for (size_t i = 0; i < 4; i++) {
        char data[16];

        await(&asked[i]);
        (void)snprintf(data, sizeof(data), "{\"n\":%zu}", i);
        assert_bytes(&asked[i].structured, data);
        asked_forget(&asked[i]);
    }
}

static void wrong_arguments_are_not_sent_and_said_as_the_pipe_says_it(void **state)
{
    Rig *rig = *state;
    Asked asked;
    const Fake *fake;

    rig_start(rig,
              "[{\"name\":\"wall\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\","
              "\"properties\":{\"height\":{\"type\":\"number\"},\"level\":{\"type\":\"string\"}"
              "}}}]");
    fake = rig_join(rig, "a", UNKNOWN_LIST);
    asked_init(&asked, rig);
    asked_ask(&asked, CALL_TOOL, "wall", SPAN("{\"height\":\"x\",\"level\":1}"), 0);
    await(&asked);
    assert_failed(&asked, "SCHEMA_VALIDATION_FAILED",
                  "Argument validation failed: arguments/height: ");
    assert_holds(&asked.structured, "; arguments/level: ");
    assert_holds(&asked.structured, ",\"data\":[{\"path\":\"/height\",\"message\":");
    assert_holds(&asked.content, "SCHEMA_VALIDATION_FAILED: Argument validation failed: ");
    assert_int_equal(asked.meta.n, 0);
    assert_int_equal(fake->n_calls, 0);
    asked_forget(&asked);
}

static void a_deadline_is_a_pipe_timeout_and_what_comes_late_is_dropped(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    asked_init(&asked, rig);
    asked_ask(&asked, CALL_TOOL, "one", SPAN_NULL, 20);
    RUN_UNTIL(rig, fake->n_held == 1);
    await(&asked);
    assert_failed(
        &asked, "PIPE_TIMEOUT",
        "the add-in did not respond in time: deadline passed after 20 ms; it may still do "
        "the work");
    fake_answer(fake, fake->held[0], "\"success\":true,\"data\":1");
    RUN_UNTIL(rig, addins_counts(rig->addins).late == 1);
    fake->holds = false;
    assert_served_by(rig, "one", "a");
    assert_int_equal(asked.n_finished, 1);
    asked_forget(&asked);
}

static void a_call_that_is_taken_back_is_forgotten(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    ask(&asked, rig, "one");
    RUN_UNTIL(rig, fake->n_held == 1);
    router_cancel(rig->router, &asked.call);
    fake_answer(fake, fake->held[0], "\"success\":true,\"data\":1");
    RUN_UNTIL(rig, addins_counts(rig->addins).late == 1);
    assert_int_equal(asked.n_finished, 0);
    asked_forget(&asked);
}

static void ask_next(Asked *asked)
{
    ask(asked->next, asked->rig, "one");
}

static void the_end_of_a_call_may_start_the_next(void **state)
{
    Rig *rig = *state;
    Asked second = {.n_finished = 0};
    Asked first;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a", LIST("a", TOOL("one")));
    asked_init(&first, rig);
    first.then = ask_next;
    first.next = &second;
    asked_ask(&first, CALL_TOOL, "one", SPAN_NULL, 0);
    await(&first);
    await(&second);
    assert_bytes(&second.structured, "{\"by\":\"a\"}");
    asked_forget(&first);
    asked_forget(&second);
}

static void the_end_of_a_lost_call_may_start_the_next_at_another(void **state)
{
    Rig *rig = *state;
    Asked second = {.n_finished = 0};
    Asked first;
    Fake *newer;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a", LIST("a", TOOL("one")));
    newer = rig_join(rig, "b", LIST("b", TOOL("one")));
    newer->holds = true;
    asked_init(&first, rig);
    first.then = ask_next;
    first.next = &second;
    asked_ask(&first, CALL_TOOL, "one", SPAN_NULL, 0);
    RUN_UNTIL(rig, newer->n_held == 1);
    fake_close(newer);
    await(&first);
    await(&second);
    assert_failed(&first, "PIPE_DISCONNECTED", "");
    assert_bytes(&second.structured, "{\"by\":\"a\"}");
    asked_forget(&first);
    asked_forget(&second);
}

static void take_back_next(Asked *asked)
{
    router_cancel(asked->rig->router, &asked->next->call);
}

static void the_end_of_a_lost_call_may_take_back_another(void **state)
{
    Rig *rig = *state;
    Asked first;
    Asked second;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    asked_init(&first, rig);
    first.then = take_back_next;
    first.next = &second;
    asked_ask(&first, CALL_TOOL, "one", SPAN_NULL, 0);
    ask(&second, rig, "one");
    RUN_UNTIL(rig, fake->n_held == 2);
    rig_part(rig, fake);
    assert_int_equal(first.n_finished, 1);
    assert_int_equal(second.n_finished, 0);
    asked_forget(&first);
    asked_forget(&second);
}

static void calls_leave_before_the_loop_waits(void **state)
{
    Rig *rig = *state;
    Asked asked[2];
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    bytes_clear(&fake->got);
    ask(&asked[0], rig, "one");
    ask(&asked[1], rig, "one");
    /* One read brings both: they were written at once. */
    RUN_UNTIL(rig, fake->n_held > 0);
    assert_int_equal(fake->n_held, 2);
    rig->addins = addins_free(rig->addins);
    asked_forget(&asked[0]);
    asked_forget(&asked[1]);
}

static void calls_cost_no_allocation_once_there_were_some(void **state)
{
    Rig *rig = *state;
    size_t n_before = 0;
    Asked asked;

    rig_start(rig, NULL);
    (void)rig_join(rig, "a", LIST("a", TOOL("one")));
    asked_init(&asked, rig);
    for (size_t i = 0; i < 4; i++) {
        n_before = alloc_testing()->n_calls;
        asked.n_finished = 0;
        asked_ask(&asked, CALL_TOOL, "one", SPAN("{\"a\":1}"), 0);
        await(&asked);
    }
    assert_int_equal(alloc_testing()->n_calls, n_before);
    asked_forget(&asked);
}

/* ---- life ---- */

static void at_the_end_calls_fail_and_nothing_is_left(void **state)
{
    Rig *rig = *state;
    Asked second = {.n_finished = 0};
    Asked asked;
    Fake *fake;

    rig_start(rig, FILE_TOOLS);
    (void)rig_join(rig, "older", LIST("older", TOOL("one")));
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    asked_init(&asked, rig);
    asked.then = ask_next;
    asked.next = &second;
    asked_ask(&asked, CALL_TOOL, "one", SPAN_NULL, 0);
    RUN_UNTIL(rig, fake->n_held == 1);
    rig->addins = addins_free(rig->addins);
    assert_int_equal(asked.n_finished, 1);
    assert_failed(&asked, "PIPE_DISCONNECTED", "");
    assert_int_equal(second.n_finished, 1);
    assert_int_equal(second.error, CALL_ERROR_UNKNOWN_TOOL);
    assert_tools(rig, "");
    assert_int_equal(access(rig->path, F_OK), -1);
    /* Nothing holds the loop any more: it ends by itself when the add-in has heard of it. */
    RUN_UNTIL(rig, fake->has_ended);
    assert_int_equal(io_loop_run(rig->loop), 0);
    asked_forget(&asked);
    asked_forget(&second);
}

static int try_new(Rig *rig, Diag *diag)
{
    Addins *addins = NULL;
    int r = addins_new(&addins, &rig->config, diag);

    assert_null(addins);
    return r;
}

static void a_pipe_of_a_live_process_is_an_error_that_names_it(void **state)
{
    Rig *rig = *state;
    Diag diag = DIAG_NULL;
    char pid[32];

    rig_start(rig, NULL);
    rig_put_tools(rig, "[" TOOL("wall") "]");
    assert_int_equal(try_new(rig, &diag), ADDINS_E_PLACE);
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    if (strstr(diag.message, pid) == NULL || strstr(diag.message, "CoreFxPipe_Test") == NULL) {
        fail_msg("%s", diag.message);
    }
    assert_int_equal(diag.code, ADDINS_E_PLACE);
    assert_tools(rig, "");
}

static void a_socket_that_a_dead_process_left_is_cleaned(void **state)
{
    Rig *rig = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", rig->path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(close(fd), 0);
    rig_start(rig, NULL);
    (void)rig_join(rig, "a", LIST("a", TOOL("one")));
    assert_served_by(rig, "one", "a");
}

static void what_is_wrong_with_the_settings_is_said(void **state)
{
    Rig *rig = *state;
    Diag diag = DIAG_NULL;

    rig->config.name = "";
    assert_int_equal(try_new(rig, &diag), ADDINS_E_PLACE);
    assert_true(diag.message[0] != '\0');
    rig->config.name = "Test";
    rig_put_tools(rig, "[{\"name\":\"x\"}]");
    assert_int_equal(try_new(rig, &diag), ADDINS_E_TOOLS);
    assert_non_null(strstr(diag.message, "tools.json:1: [0].description: is missing"));
    rig->config.tools_path = "/nowhere/tools.json";
    assert_int_equal(try_new(rig, &diag), ADDINS_E_TOOLS);
    assert_non_null(strstr(diag.message, "/nowhere/tools.json"));
    rig_add_other(rig, "{\"name\":\"door\",\"inputSchema\":{\"type\":\"object\"}}");
    rig_put_tools(rig, FILE_TOOLS);
    assert_int_equal(try_new(rig, &diag), ADDINS_E_TOOLS);
    assert_non_null(strstr(diag.message, "[1].name"));
    assert_tools(rig, "door");
    assert_int_equal(access(rig->path, F_OK), -1);
    (void)addins_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_tools_file_is_offered_without_an_add_in),
        RIG_TEST(an_add_in_without_a_list_serves_the_file),
        RIG_TEST(described_tools_are_there_while_their_add_in_is),
        RIG_TEST(the_newest_words_count_and_then_the_next),
        RIG_TEST(what_stays_the_same_is_not_touched),
        RIG_TEST(the_files_words_count_before_all),
        RIG_TEST(listeners_hear_once_of_add_ins_that_go_together),
        RIG_TEST(resources_are_offered_like_tools),
        RIG_TEST(a_resource_is_read_from_its_add_in),
        RIG_TEST(what_cannot_be_used_is_left_out_alone),
        RIG_TEST(an_answer_that_is_no_list_counts_as_none),
        RIG_TEST(a_bare_array_is_a_list),
        RIG_TEST(a_name_that_another_provider_has_is_left_out_until_it_is_free),
        RIG_TEST(names_that_are_taken_get_a_number),
        RIG_TEST(a_long_name_is_cut_between_characters),
        RIG_TEST(the_newest_of_those_that_offer_it_serves),
        RIG_TEST(one_without_a_list_is_as_good_as_any_for_the_file),
        RIG_TEST(one_that_has_not_answered_yet_is_the_last_choice),
        RIG_TEST(a_call_that_was_sent_is_not_sent_to_another),
        RIG_TEST(an_answer_comes_back_with_its_duration),
        RIG_TEST(an_error_of_the_add_in_comes_back_with_its_code),
        RIG_TEST(answers_may_come_in_any_order),
        RIG_TEST(wrong_arguments_are_not_sent_and_said_as_the_pipe_says_it),
        RIG_TEST(a_deadline_is_a_pipe_timeout_and_what_comes_late_is_dropped),
        RIG_TEST(a_call_that_is_taken_back_is_forgotten),
        RIG_TEST(the_end_of_a_call_may_start_the_next),
        RIG_TEST(the_end_of_a_lost_call_may_start_the_next_at_another),
        RIG_TEST(the_end_of_a_lost_call_may_take_back_another),
        RIG_TEST(calls_leave_before_the_loop_waits),
        RIG_TEST(calls_cost_no_allocation_once_there_were_some),
        RIG_TEST(at_the_end_calls_fail_and_nothing_is_left),
        RIG_TEST(a_pipe_of_a_live_process_is_an_error_that_names_it),
        RIG_TEST(a_socket_that_a_dead_process_left_is_cleaned),
        RIG_TEST(what_is_wrong_with_the_settings_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
