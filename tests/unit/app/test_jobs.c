/* Tasks: that they run, are asked about, ask, and are cancelled. */
#include "unit/app/jobs_rig.h"

static void a_task_runs_and_its_result_is_read(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "echo", "{\"a\":[1,2]}", id);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_int_equal(asked.kind, CALL_RESULT_TOOL);
    assert_string_equal(asked.structured, "{\"a\":[1,2]}");
    assert_string_equal(asked.text, "{\"type\":\"text\",\"text\":\"done\"}");
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_COMPLETED);
    assert_string_equal(asked.structured, "{\"a\":[1,2]}");
    assert_int_equal(rig->n_started, 1);
}

static void who_waits_is_answered_at_once(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_ask(rig, &asked, CALL_TOOL, "fails", NULL);
    assert_int_equal(asked.kind, CALL_RESULT_TOOL);
    assert_true(asked.is_error);
    rig_ask(rig, &asked, CALL_TOOL, "later", NULL);
    assert_int_equal(asked.error, CALL_ERROR_NEEDS_LATER);
    assert_int_equal(rig->n_started, 1);
}

static void a_task_that_failed_says_how(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "fails", NULL, id);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_int_equal(asked.kind, CALL_RESULT_TOOL);
    assert_true(asked.is_error);
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_COMPLETED);
    assert_true(asked.is_error);
    rig_make(rig, "breaks", NULL, id);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_int_equal(asked.error, CALL_ERROR_INTERNAL);
    assert_string_equal(asked.message, "it broke");
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_FAILED);
}

static void an_unknown_task_is_named(void **state)
{
    static const CallVerb verbs[] = {CALL_TASK_GET, CALL_TASK_RESULT, CALL_TASK_UPDATE,
                                     CALL_TASK_CANCEL};
    static const char *const ids[] = {"nobody", "", "job-0123456789abcdef0123456789abcdef",
                                      "job-012345678901234567890123456789012345678901234567890123"
                                      "45678901234567890123456789"};
    Rig *rig = *state;
    Asked asked;

    for (size_t i = 0; i < TW_ARRAY_SIZE(verbs); i++) {
        for (size_t k = 0; k < TW_ARRAY_SIZE(ids); k++) {
            rig_ask(rig, &asked, verbs[i], ids[k], "{\"it\":{}}");
            assert_int_equal(asked.error, CALL_ERROR_UNKNOWN_TASK);
        }
    }
}

static void a_task_is_its_owners(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    asked_init(&asked, rig, CALL_TOOL, "echo");
    asked.call.later = CALL_LATER_ALWAYS;
    asked.call.owner = SPAN("alice");
    asked_run(&asked);
    assert_int_equal(asked.kind, CALL_RESULT_TASK);
    (void)snprintf(id, sizeof(id), "%s", asked.id);
    asked_deinit(&asked);
    for (int i = 0; i < 2; i++) {
        asked_init(&asked, rig, CALL_TASK_RESULT, id);
        asked.call.owner = i == 0 ? SPAN("bob") : SPAN("alice");
        asked_run(&asked);
        assert_int_equal(asked.error, i == 0 ? CALL_ERROR_UNKNOWN_TASK : CALL_ERROR_NONE);
        asked_deinit(&asked);
        asked_init(&asked, rig, CALL_LIST_TASKS, "");
        asked.call.owner = i == 0 ? SPAN("bob") : SPAN("alice");
        asked_run(&asked);
        assert_int_equal(asked.n_tasks, i);
        asked_deinit(&asked);
    }
}

static void a_task_is_kept_as_long_as_wanted_within_the_rule(void **state)
{
    static const int64_t wanted[][2] = {
        {0, 86400000}, {60000, 60000}, {-1, 86400000}, {INT64_C(90000000), 86400000}};
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(wanted); i++) {
        Asked asked;
        char id[QUEUE_ID_BYTES];

        asked_init(&asked, rig, CALL_TOOL, "echo");
        asked.call.later = CALL_LATER_ALWAYS;
        asked.call.later_ms = wanted[i][0];
        asked_run(&asked);
        assert_int_equal(asked.ttl_ms, wanted[i][1]);
        (void)snprintf(id, sizeof(id), "%s", asked.id);
        asked_deinit(&asked);
        rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
        assert_int_equal(asked.ttl_ms, wanted[i][1]);
    }
}

static void tasks_are_listed_in_pages(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_ask(rig, &asked, CALL_LIST_TASKS, "", NULL);
    assert_int_equal(asked.kind, CALL_RESULT_TASKS);
    assert_int_equal(asked.n_tasks, 0);
    rig_make(rig, "echo", NULL, id);
    rig_make(rig, "echo", NULL, id);
    rig_ask(rig, &asked, CALL_LIST_TASKS, "", NULL);
    assert_int_equal(asked.n_tasks, 2);
    assert_string_equal(asked.id, id); /* the newest first */
    assert_string_equal(asked.cursor, "");
    asked_init(&asked, rig, CALL_LIST_TASKS, "");
    asked.call.has_cursor = true;
    asked.call.cursor = span_from_str(id);
    asked_run(&asked);
    assert_int_equal(asked.n_tasks, 1);
    asked.call.cursor = SPAN("nonsense");
    asked_run(&asked);
    assert_int_equal(asked.error, CALL_ERROR_INVALID_CURSOR);
    asked_deinit(&asked);
}

static void a_running_task_is_cancelled_once(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked waiting;
    Asked asked;

    rig_make(rig, "hold", NULL, id);
    rig_run_until_held(rig, 1);
    asked_init(&waiting, rig, CALL_TASK_RESULT, id);
    router_dispatch(hub_router(rig->hub), NULL, &waiting.call);
    rig_ask(rig, &asked, CALL_TASK_CANCEL, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_CANCELLED);
    assert_int_equal(rig->n_cancelled, 1);
    assert_int_equal(jobs_n_running(rig->jobs), 0);
    while (!waiting.is_over) {
        rig_run(rig);
    }
    assert_int_equal(waiting.error, CALL_ERROR_CANCELLED);
    asked_deinit(&waiting);
    rig_ask(rig, &asked, CALL_TASK_CANCEL, id, NULL);
    assert_int_equal(asked.error, CALL_ERROR_TASK_OVER);
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_CANCELLED);
}

static void a_task_asks_and_goes_on_with_the_answer(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "form", NULL, id);
    rig_run_until_news(rig, 1);
    assert_string_equal(rig->news[0], "INPUT_REQUIRED with questions");
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_INPUT_REQUIRED);
    assert_string_equal(asked.key, "it");
    rig_ask(rig, &asked, CALL_TASK_UPDATE, id, "{\"other\":{}}");
    assert_int_equal(asked.kind, CALL_RESULT_EMPTY);
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_INPUT_REQUIRED);
    rig_ask(rig, &asked, CALL_TASK_UPDATE, id, "{\"it\":{\"action\":\"accept\"}}");
    assert_int_equal(asked.kind, CALL_RESULT_ERROR);
    assert_int_equal(asked.error, CALL_ERROR_INVALID_ARGUMENTS);
    rig_ask(rig, &asked, CALL_TASK_UPDATE, id, "{\"it\":{\"action\":\"accept\",\"content\":{}}}");
    assert_int_equal(asked.kind, CALL_RESULT_EMPTY);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_string_equal(asked.structured, "{\"it\":{\"action\":\"accept\",\"content\":{}}}");
    assert_string_equal(asked.text,
                        "{\"type\":\"text\",\"text\":\"where \\\"we\\\" were\"}"); /* the state */
    /* Too late is no error. */
    rig_ask(rig, &asked, CALL_TASK_UPDATE, id, "{\"it\":{}}");
    assert_int_equal(asked.kind, CALL_RESULT_EMPTY);
}

/* As 2025-11-25 does it: the question comes to whoever waits for the result. */
static void who_waits_for_the_result_is_asked(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "form", NULL, id);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_int_equal(asked.kind, CALL_RESULT_ASK);
    assert_string_equal(asked.key, "it");
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, "{\"it\":{\"n\":1}}");
    assert_int_equal(asked.kind, CALL_RESULT_TOOL);
    assert_string_equal(asked.structured, "{\"it\":{\"n\":1}}");
    /* The same again: it is over, and the answer is left alone. */
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, "{\"it\":{\"n\":2}}");
    assert_string_equal(asked.structured, "{\"it\":{\"n\":1}}");
}

static void a_name_is_asked_once_in_the_life_of_a_task(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "again", NULL, id);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_string_equal(asked.key, "it");
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, "{\"it\":{\"n\":1}}");
    assert_string_equal(asked.key, "it~2");
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, "{\"it~2\":{\"n\":2}}");
    assert_string_equal(asked.key, "it~3");
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, "{\"it~3\":{\"content\":{}}}");
    assert_int_equal(asked.kind, CALL_RESULT_TOOL);
    assert_string_equal(asked.structured,
                        "{\"it\":{\"n\":1},\"it\":{\"n\":2},\"it\":{\"content\":{}}}");
}

static void what_nobody_can_answer_is_not_asked(void **state)
{
    Rig *rig = *state;
    Asked asked;
    char id[QUEUE_ID_BYTES];

    asked_init(&asked, rig, CALL_TOOL, "form");
    asked.call.later = CALL_LATER_ALWAYS;
    asked.call.can = CALL_CAN_ROOTS;
    asked_run(&asked);
    (void)snprintf(id, sizeof(id), "%s", asked.id);
    asked_deinit(&asked);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_int_equal(asked.error, CALL_ERROR_CANNOT_ASK);
}

static void answers_from_before_the_task_go_along(void **state)
{
    Rig *rig = *state;
    Asked asked;
    char id[QUEUE_ID_BYTES];

    asked_init(&asked, rig, CALL_TOOL, "first");
    asked.call.later = CALL_LATER_MAY;
    asked_run(&asked);
    assert_int_equal(asked.kind, CALL_RESULT_ASK);
    asked.call.inputs = asked_parse(&asked, "{\"it\":{\"n\":7}}");
    asked.call.state = SPAN("kept");
    asked_run(&asked);
    assert_int_equal(asked.kind, CALL_RESULT_TASK);
    (void)snprintf(id, sizeof(id), "%s", asked.id);
    asked_deinit(&asked);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_string_equal(asked.structured, "{\"it\":{\"n\":7}}");
    assert_string_equal(asked.text, "{\"type\":\"text\",\"text\":\"kept\"}");
}

static void each_change_is_told_once_and_whole(void **state)
{
    static const char *const form[] = {"INPUT_REQUIRED with questions", "WORKING",
                                       "COMPLETED with result"};
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "form", NULL, id);
    rig_run_until_news(rig, 1);
    rig_ask(rig, &asked, CALL_TASK_UPDATE, id, "{\"it\":{\"action\":\"decline\"}}");
    rig_run_until_news(rig, 3);
    for (size_t i = 0; i < TW_ARRAY_SIZE(form); i++) {
        assert_string_equal(rig->news[i], form[i]);
    }
    rig_make(rig, "hold", NULL, id);
    rig_run_until_held(rig, 1);
    rig_ask(rig, &asked, CALL_TASK_CANCEL, id, NULL);
    rig_make(rig, "breaks", NULL, id);
    rig_run_until_news(rig, 5);
    assert_string_equal(rig->news[3], "CANCELLED");
    assert_string_equal(rig->news[4], "FAILED with result");
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(rig->n_news, 5);
}

static void a_call_that_is_taken_back_leaves_no_task(void **state)
{
    Rig *rig = *state;
    Asked taken;
    Asked asked;

    asked_init(&taken, rig, CALL_TOOL, "hold");
    taken.call.later = CALL_LATER_MAY;
    router_dispatch(hub_router(rig->hub), NULL, &taken.call);
    router_cancel(hub_router(rig->hub), &taken.call);
    asked_deinit(&taken);
    rig_run_until_news(rig, 1);
    assert_string_equal(rig->news[0], "CANCELLED");
    rig_ask(rig, &asked, CALL_LIST_TASKS, "", NULL);
    assert_int_equal(asked.n_tasks, 1);
    assert_int_equal(asked.status, CALL_TASK_CANCELLED);
    assert_int_equal(rig->n_held, 0);
}

static void waiting_for_a_result_can_be_taken_back(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked taken;
    Asked asked;

    rig_make(rig, "hold", NULL, id);
    rig_run_until_held(rig, 1);
    for (int i = 0; i < 2; i++) {
        asked_init(&taken, rig, CALL_TASK_RESULT, id);
        router_dispatch(hub_router(rig->hub), NULL, &taken.call);
        if (i == 1) {
            rig_ask(rig, &asked, CALL_TASK_GET, id, NULL); /* its own question is answered by now */
        }
        router_cancel(hub_router(rig->hub), &taken.call);
        asked_deinit(&taken);
    }
    rig_release(rig);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_string_equal(asked.structured, "{\"held\":true}");
}

#define JOBS_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(a_task_runs_and_its_result_is_read),
        JOBS_TEST(who_waits_is_answered_at_once),
        JOBS_TEST(a_task_that_failed_says_how),
        JOBS_TEST(an_unknown_task_is_named),
        JOBS_TEST(a_task_is_its_owners),
        JOBS_TEST(a_task_is_kept_as_long_as_wanted_within_the_rule),
        JOBS_TEST(tasks_are_listed_in_pages),
        JOBS_TEST(a_running_task_is_cancelled_once),
        JOBS_TEST(a_task_asks_and_goes_on_with_the_answer),
        JOBS_TEST(who_waits_for_the_result_is_asked),
        JOBS_TEST(a_name_is_asked_once_in_the_life_of_a_task),
        JOBS_TEST(what_nobody_can_answer_is_not_asked),
        JOBS_TEST(answers_from_before_the_task_go_along),
        JOBS_TEST(each_change_is_told_once_and_whole),
        JOBS_TEST(a_call_that_is_taken_back_leaves_no_task),
        JOBS_TEST(waiting_for_a_result_can_be_taken_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
