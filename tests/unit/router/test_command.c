/* How commands end. What the desk says to them: test_command_desk.c. */
#include "unit/router/command_rig.h"

#include "base/limits.h"
#include "support/alloc_testing.h"

/* ---- the envelope ---- */

static void a_success_has_the_standard_fields_behind_its_own(void **state)
{
    static const char *const begin =
        "{\"big\":9007199254740993,\"one\":1.0,\"n\":[1, 2],\"ok\":true,";
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.structured = "{\"big\":9007199254740993,\"one\":1.0,\"n\":[1, 2]}";
    rig_ask(&rig, "move_walls", "{}", "OK");
    assert_memory_equal(rig.asker.structured, begin, strlen(begin));
    assert_string_equal(rig_at(&rig, "/warnings"), "[]");
    assert_string_equal(rig_at(&rig, "/nextActions"), "[]");
    assert_string_equal(rig_at(&rig, "/context/method"), "\"move_walls\"");
    rig_deinit(&rig);
}

static void context_has_the_document_and_its_token(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig_ask(&rig, "get_walls", NULL, "OK");
    assert_string_equal(rig_at(&rig, "/context/docTitle"), "\"Plan A\"");
    assert_string_equal(rig_at(&rig, "/context/activeViewId"), "11");
    assert_string_equal(rig_at(&rig, "/context/contextTokenVersion"), "\"ctx.v1\"");
    assert_string_equal(rig_at(&rig, "/context/contextRevision"), "0");
    assert_int_equal(strlen(rig_at(&rig, "/context/contextToken")), 38);
    /* What the command says of the context is kept beside it, and does not replace it. */
    rig.runner.structured = "{\"context\":{\"room\":\"101\",\"docTitle\":\"other\"}}";
    rig_ask(&rig, "get_walls", NULL, "OK");
    assert_string_equal(rig_at(&rig, "/context/room"), "\"101\"");
    assert_string_equal(rig_at(&rig, "/context/docTitle"), "\"Plan A\"");
    rig_deinit(&rig);
}

static void a_command_that_says_that_it_failed_is_an_error(void **state)
{
    static const struct {
        const char *structured;
        bool is_error;
        const char *code;
    } cases[] = {
        {"{\"success\":false,\"errorCode\":\"NO_DOC\"}", false, "NO_DOC"},
        {"{\"ok\":false}", false, "ERROR"},
        {"{\"ok\":true,\"code\":\"OK\"}", true, "ERROR"},
    };
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        rig.runner.structured = cases[i].structured;
        rig.runner.is_error = cases[i].is_error;
        rig_ask(&rig, "get_walls", NULL, cases[i].code);
    }
    rig_deinit(&rig);
}

static void text_becomes_result_and_pictures_stay(void **state)
{
    static const Span piece =
        SPAN_INIT("{\"type\":\"text\",\"text\":\"12 walls\"},{\"type\":\"image\",\"data\":\"AA==\","
                  "\"mimeType\":\"image/png\"}");
    CallResult result = {.kind = CALL_RESULT_TOOL,
                         .pieces = &piece,
                         .n_pieces = 1,
                         .content_kinds = CALL_CONTENT_TEXT | CALL_CONTENT_IMAGE};
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.waits = true;
    asker_prepare(&rig.asker, CALL_TOOL, "get_walls", NULL);
    router_dispatch(rig.router, NULL, &rig.asker.call);
    call_finish(rig.runner.call, &result);
    rig_check_envelope(&rig, "OK");
    assert_string_equal(rig_at(&rig, "/result"), "\"12 walls\"");
    assert_non_null(strstr(rig.asker.content, ",{\"type\":\"image\",\"data\":\"AA==\","));
    rig_deinit(&rig);
}

static void a_result_that_another_command_gave_can_be_passed_on(void **state)
{
    CommandRig rig;
    char first[sizeof(rig.asker.structured)];

    (void)state;
    rig_init(&rig);
    rig_ask(&rig, "get_walls", NULL, "OK");
    (void)snprintf(first, sizeof(first), "%s", rig.asker.structured);
    rig.runner.structured = first;
    rig_ask(&rig, "get_walls", NULL, "OK");
    assert_string_equal(rig.asker.structured, first);
    rig_deinit(&rig);
}

static void every_early_failure_has_the_envelope(void **state)
{
    static const struct {
        CallError error;
        const char *code;
    } cases[] = {
        {CALL_ERROR_UNAVAILABLE, "UNAVAILABLE"},
        {CALL_ERROR_TOO_LARGE, "TOO_LARGE"},
        {CALL_ERROR_INTERNAL, "INTERNAL"},
        {CALL_ERROR_RAISED, "UNHANDLED_EXCEPTION"},
        {CALL_ERROR_BUSY, "BUSY"},
        {CALL_ERROR_CANNOT_ASK, "INPUT_REQUIRED"},
        {CALL_ERROR_OWN, "ERROR"},
        {CALL_ERROR_BAD_RESULT, "SERIALIZE_ERROR"},
    };
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        rig.runner.error = cases[i].error;
        rig_ask(&rig, "get_walls", NULL, cases[i].code);
        assert_string_equal(rig_at(&rig, "/context/method"), "\"get_walls\"");
    }
    rig_deinit(&rig);
}

static void wrong_parameters_are_invalid_params(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig_add(&rig,
            "{\"name\":\"count\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{"
            "\"type\":\"integer\"}}}}",
            false, false);
    rig_ask(&rig, "count", "{\"n\":\"x\"}", "INVALID_PARAMS");
    assert_string_equal(rig_at(&rig, "/data/0/path"), "\"/n\"");
    assert_int_equal(rig.runner.n_started, 0);
    rig_deinit(&rig);
}

static void deadline_cancel_and_end_of_the_router_have_it(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.waits = true;
    asker_prepare(&rig.asker, CALL_TOOL, "get_walls", NULL);
    router_dispatch(rig.router, NULL, &rig.asker.call);
    rig.now_us += (int64_t)LIMIT_CALL_MS * 1000;
    router_advance(rig.router, rig.now_us / 1000);
    rig_check_envelope(&rig, "TIMEOUT");
    assert_string_equal(rig_at(&rig, "/timings/totalMs"), "30000");
    assert_int_equal(rig.runner.n_cancelled, 1);

    router_dispatch(rig.router, NULL, &rig.asker.call);
    router_cancel(rig.router, &rig.asker.call);
    assert_int_equal(rig.asker.n_finished, 1);
    assert_null(rig.asker.call.command);

    router_dispatch(rig.router, NULL, &rig.asker.call);
    rig.router = router_free(rig.router);
    rig_check_envelope(&rig, "CANCELLED");
    rig_deinit(&rig);
}

/* Nobody knows how far it came, so that nobody may rely on what was before. */
static void a_write_that_was_stopped_counts_as_a_change(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.waits = true;
    asker_prepare(&rig.asker, CALL_TOOL, "get_walls", NULL);
    router_dispatch(rig.router, NULL, &rig.asker.call);
    router_cancel(rig.router, &rig.asker.call);
    assert_int_equal(safety_desk_revision(rig.desk), 0);

    asker_prepare(&rig.asker, CALL_TOOL, "move_walls", NULL);
    router_dispatch(rig.router, NULL, &rig.asker.call);
    router_cancel(rig.router, &rig.asker.call);
    assert_int_equal(safety_desk_revision(rig.desk), 1);

    for (int is_task = 0; is_task < 2; is_task++) {
        asker_prepare(&rig.asker, CALL_TOOL, "move_walls", NULL);
        rig.asker.call.later = is_task ? CALL_LATER_IS_TASK : CALL_LATER_NEVER;
        router_dispatch(rig.router, NULL, &rig.asker.call);
        rig.now_us += (int64_t)LIMIT_CALL_MS * 1000;
        router_advance(rig.router, rig.now_us / 1000);
        assert_int_equal(safety_desk_revision(rig.desk), 2 + is_task);
    }
    /* One that did not begin changed nothing: the queue tries it again, with the same token. */
    rig.runner.waits = false;
    rig.runner.error = CALL_ERROR_UNAVAILABLE;
    rig_ask(&rig, "move_walls", NULL, "UNAVAILABLE");
    assert_int_equal(safety_desk_revision(rig.desk), 3);
    rig_deinit(&rig);
}

static void a_command_that_is_removed_while_it_runs_keeps_its_envelope(void **state)
{
    static const char *const names[] = {"move_walls", "delete_walls", "send_mail", "get_walls",
                                        "far.delete_walls"};
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.waits = true;
    asker_prepare(&rig.asker, CALL_TOOL, "move_walls", NULL);
    router_dispatch(rig.router, NULL, &rig.asker.call);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        assert_int_equal(router_remove(rig.router, ROUTER_TOOL, span_from_str(names[i])), 0);
    }
    runner_go_on(&rig.runner);
    rig_check_envelope(&rig, "OK");
    assert_string_equal(rig_at(&rig, "/context/contextRevision"), "1");
    rig_deinit(&rig);
}

/* Another application has come in its place. */
static void a_desk_that_is_replaced_while_it_runs_is_not_told(void **state)
{
    SafetyDesk *other = NULL;
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.waits = true;
    asker_prepare(&rig.asker, CALL_TOOL, "move_walls", "{\"failureHandling\":true}");
    router_dispatch(rig.router, NULL, &rig.asker.call);
    assert_int_equal(safety_desk_new(&other, &(SafetyConfig){.threshold = 0}), 0);
    router_set_desk(rig.router, other);
    rig.desk = safety_desk_free(rig.desk);
    runner_go_on(&rig.runner);
    rig_check_envelope(&rig, "OK");
    assert_string_equal(rig_at(&rig, "/context"), "{\"method\":\"move_walls\"}");
    assert_string_equal(rig_at(&rig, "/failureHandling"), "");
    rig.desk = other;
    rig_deinit(&rig);
}

static void over_the_quota_it_is_rate_limited_or_busy(void **state)
{
    RouterQuota quota;
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    router_quota_init(&quota, &(RouterLimits){.rate_burst = 1, .rate_per_s = 1}, 0);
    for (int i = 0; i < 2; i++) {
        asker_prepare(&rig.asker, CALL_TOOL, "get_walls", NULL);
        router_dispatch(rig.router, &quota, &rig.asker.call);
        rig_check_envelope(&rig, i == 0 ? "OK" : "RATE_LIMITED");
    }
    assert_string_equal(rig_at(&rig, "/retryAfterMs"), "1000");
    assert_string_equal(rig_at(&rig, "/timings/totalMs"), "0");
    rig_deinit(&rig);
}

static void errors_of_a_tasks_work_stay_errors_for_the_queue(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.error = CALL_ERROR_UNAVAILABLE;
    asker_prepare(&rig.asker, CALL_TOOL, "get_walls", NULL);
    rig.asker.call.later = CALL_LATER_IS_TASK;
    router_dispatch(rig.router, NULL, &rig.asker.call);
    assert_int_equal(rig.asker.kind, CALL_RESULT_ERROR);
    assert_int_equal(rig.asker.error, CALL_ERROR_UNAVAILABLE);
    /* A tool that runs as no task, and is asked to, is an error of the protocol. */
    asker_prepare(&rig.asker, CALL_TOOL, "get_walls", NULL);
    rig.asker.call.later = CALL_LATER_ALWAYS;
    router_dispatch(rig.router, NULL, &rig.asker.call);
    assert_int_equal(rig.asker.error, CALL_ERROR_NEVER_LATER);
    rig_deinit(&rig);
}

static void what_is_no_command_has_no_envelope(void **state)
{
    FakeProvider provider = {.plan = FAKE_ECHO};
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    fake_add_tool(rig.router, "echo", &provider);
    asker_ask(&rig.asker, rig.router, CALL_TOOL, "echo", "{\"expectedContextToken\":\"no\"}");
    assert_string_equal(rig.asker.content, "{\"expectedContextToken\":\"no\"}");
    assert_string_equal(rig.asker.structured, "");
    asker_ask(&rig.asker, rig.router, CALL_TOOL, "nobody", NULL);
    assert_int_equal(rig.asker.error, CALL_ERROR_UNKNOWN_TOOL);
    rig_deinit(&rig);
}

static void no_memory_is_said_in_an_envelope(void **state)
{
    CommandRig rig;
    size_t n_failed = 0;
    size_t n = 0;

    (void)state;
    rig_init(&rig);
    rig.runner.structured = "{\"warnings\":\"w\",\"context\":{\"a\":1},\"x\":{\"y\":\"\\u0041\"},"
                            "\"detail\":{\"transactionStatus\":\"Committed\"}}";
    do {
        asker_prepare(&rig.asker, CALL_TOOL, "move_walls", "{\"failureHandling\":\"rollback\"}");
        alloc_testing_reset(n++);
        router_dispatch(rig.router, NULL, &rig.asker.call);
        n_failed = alloc_testing()->n_failed;
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        rig_check_envelope(&rig, n_failed > 0 ? "INTERNAL" : "OK");
        /* What has run has changed the document, though there is no memory to say so. */
        assert_int_equal(safety_desk_revision(rig.desk), rig.runner.n_started);
    } while (n_failed > 0);
    assert_true(n > 8);
    rig_deinit(&rig);
}

/* ---- times ---- */

static void times_add_up_and_are_true_milliseconds(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.now_us = &rig.now_us; /* each takes 1.5 ms */
    asker_prepare(&rig.asker, CALL_TOOL, "get_walls", NULL);
    rig.asker.call.waited_us = 2250;
    router_dispatch(rig.router, NULL, &rig.asker.call);
    assert_string_equal(rig_at(&rig, "/timings"),
                        "{\"queueWaitMs\":2.25,\"revitMs\":1.5,\"transferMs\":0,\"totalMs\":3.75}");
    /* The application measured itself. */
    rig.runner.structured = "{\"timings\":{\"revitMs\":0.5,\"totalMs\":99,\"uiMs\":0.1}}";
    asker_prepare(&rig.asker, CALL_TOOL, "get_walls", NULL);
    rig.asker.call.waited_us = 2250;
    router_dispatch(rig.router, NULL, &rig.asker.call);
    assert_string_equal(
        rig_at(&rig, "/timings"),
        "{\"queueWaitMs\":2.25,\"revitMs\":0.5,\"transferMs\":1,\"totalMs\":3.75,\"uiMs\":0.1}");
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_success_has_the_standard_fields_behind_its_own),
        cmocka_unit_test(context_has_the_document_and_its_token),
        cmocka_unit_test(a_command_that_says_that_it_failed_is_an_error),
        cmocka_unit_test(text_becomes_result_and_pictures_stay),
        cmocka_unit_test(a_result_that_another_command_gave_can_be_passed_on),
        cmocka_unit_test(every_early_failure_has_the_envelope),
        cmocka_unit_test(wrong_parameters_are_invalid_params),
        cmocka_unit_test(deadline_cancel_and_end_of_the_router_have_it),
        cmocka_unit_test(a_write_that_was_stopped_counts_as_a_change),
        cmocka_unit_test(a_command_that_is_removed_while_it_runs_keeps_its_envelope),
        cmocka_unit_test(a_desk_that_is_replaced_while_it_runs_is_not_told),
        cmocka_unit_test(over_the_quota_it_is_rate_limited_or_busy),
        cmocka_unit_test(errors_of_a_tasks_work_stay_errors_for_the_queue),
        cmocka_unit_test(what_is_no_command_has_no_envelope),
        cmocka_unit_test(no_memory_is_said_in_an_envelope),
        cmocka_unit_test(times_add_up_and_are_true_milliseconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
