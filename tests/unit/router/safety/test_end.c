#include "unit/router/safety/safety_rig.h"

#include <errno.h>

#include "support/oom_sweep.h"

static SafetyFailure warning(const char *id)
{
    return (SafetyFailure){.id = span_from_str(id), .message = SPAN("a message")};
}

static SafetyVerdict tell(SafetyRig *rig, SafetyFailure failure)
{
    SafetyVerdict verdict = SAFETY_KEEP;

    assert_int_equal(safety_failure(rig->desk, &rig->plan, &failure, &verdict), 0);
    return verdict;
}

/* ---- failureHandling ---- */

static void where_nothing_happened_and_nobody_asked_nothing_is_said(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    rig_run(&rig, "move_walls", "{\"elementIds\":[1]}");
    assert_int_equal(rig.members.n, 0);
    assert_int_equal(rig.warnings.n, 0);
    rig_deinit(&rig);
}

static void
when_it_is_explicitly_provided_there_is_a_block_with_the_whitelist_and_issues(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    rig_run(&rig, "move_walls", "{\"elementIds\":\"1 2\",\"failureHandling\":\"delete\"}");
    assert_string_equal(rig_member(&rig, "/failureHandling/enabled"), "true");
    assert_string_equal(rig_member(&rig, "/failureHandling/mode"), "\"delete\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/targetCount"), "2");
    assert_string_equal(rig_member(&rig, "/failureHandling/threshold"), "5");
    assert_string_equal(rig_member(&rig, "/failureHandling/whitelist/code"), "\"NOT_LOADED\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues"),
                        "{\"failures\":[],\"dialogs\":[],\"rollbackRequested\":false,"
                        "\"rollbackReason\":\"\"}");
    assert_string_equal(rig_member(&rig, "/failureHandling/autoCaptured"), "");
    assert_string_equal(rig_member(&rig, "/failureHandling/rollbackDetected"), "");
    rig_run(&rig, "move_walls", "{\"failureHandling\":{\"enabled\":false}}");
    assert_string_equal(rig_member(&rig, "/failureHandling/enabled"), "false");
    assert_string_equal(rig_member(&rig, "/failureHandling/mode"), "\"off\"");
    rig_deinit(&rig);
}

static void on_tx_not_committed_diagnostics_are_attached_though_nobody_asked(void **state)
{
    static const struct {
        const char *code;
        bool is_rolled_back;
        bool is_attached;
        const char *reason;
    } cases[] = {
        {"TX_NOT_COMMITTED", false, true, "\"TX_NOT_COMMITTED\""},
        {" tx_not_committed ", false, true, "\"tx_not_committed\""},
        {"AUTO_ROLLBACK_DONE", false, true, "\"AUTO_ROLLBACK_DONE\""},
        {"rollback", false, true, "\"rollback\""},
        {"ERROR", true, true, "\"ERROR\""},
        {"", true, true, "\"RollbackDetected\""},
        {"OK", true, true, "\"RollbackDetected\""},
        {"ERROR", false, false, ""},
        {"TX_NOT_COMMITTED_YET", false, false, ""},
        {"", false, false, ""},
    };
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_null(rig_admit(&rig, "move_walls", "{}"));
        rig_end(&rig, (SafetyEnd){.code = span_from_str(cases[i].code),
                                  .is_rolled_back = cases[i].is_rolled_back});
        assert_string_equal(rig_member(&rig, "/failureHandling/autoCaptured"),
                            cases[i].is_attached ? "true" : "");
        assert_string_equal(rig_member(&rig, "/failureHandling/rollbackDetected"),
                            cases[i].is_attached ? "true" : "");
        assert_string_equal(rig_member(&rig, "/failureHandling/rollbackReason"), cases[i].reason);
    }
    rig_deinit(&rig);
}

static void warning_details_are_always_recorded(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_null(rig_admit(&rig, "move_walls", "{}"));
    assert_int_equal(tell(&rig, warning("P.Overlap")), SAFETY_ROLL_BACK);
    assert_int_equal(tell(&rig, warning("P.Second")), SAFETY_ROLL_BACK);
    rig_end(&rig, (SafetyEnd){.code = SPAN("TX_NOT_COMMITTED"), .is_rolled_back = true});
    assert_string_equal(rig_member(&rig, "/failureHandling/autoCaptured"), "true");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/id"), "\"P.Overlap\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/1/id"), "\"P.Second\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/rollbackRequested"), "true");
    /* The first one is why. */
    assert_string_equal(rig_member(&rig, "/failureHandling/rollbackReason"),
                        "\"rollback: P.Overlap\"");
    rig_deinit(&rig);
}

/* The documented system says rollbackDetected there, with the reason "OK". */
static void an_error_that_was_resolved_is_told_and_is_no_rollback(void **state)
{
    static const char file[] =
        "{\"rules\":[{\"id\":\"R\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":\"P.E\"},"
        "\"actions\":[{\"type\":\"resolve_if_possible\"}]}]}";
    SafetyFailure failure = warning("P.E");
    SafetyVerdict verdict;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(safety_desk_whitelist(rig.desk, "/w", SPAN(file)), 0);
    assert_null(rig_admit(&rig, "move_walls", "{\"failureHandling\":\"resolve\"}"));
    failure.severity = SAFETY_ERROR;
    failure.can_resolve = true;
    assert_int_equal(tell(&rig, failure), SAFETY_RESOLVE);
    assert_int_equal(safety_resolved(rig.desk, &rig.plan, &failure, true, &verdict), 0);
    assert_int_equal(verdict, SAFETY_KEEP);
    rig_end(&rig, (SafetyEnd){.is_ok = true, .code = SPAN("OK"), .is_committed = true});
    assert_string_equal(rig_member(&rig, "/failureHandling/rollbackDetected"), "");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/action"),
                        "\"resolve\"");
    rig_deinit(&rig);
}

static void dialogs_are_told_counted_and_warned_of(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_null(rig_admit(&rig, "move_walls", "{}"));
    assert_int_equal(safety_dialog(&rig.plan, SPAN("D1"), SPAN("Save?")), 0);
    assert_int_equal(safety_dialog(&rig.plan, SPAN("D2"), SPAN_NULL), 0);
    rig_end(&rig, (SafetyEnd){.is_ok = true, .is_committed = true});
    assert_string_equal(rig_member(&rig, "/failureHandling/dialogCount"), "2");
    assert_string_equal(rig_member(&rig, "/failureHandling/dialogsDismissed"), "true");
    assert_string_equal(rig_member(&rig, "/failureHandling/autoCaptured"), "true");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/dialogs/0/dialogId"), "\"D1\"");
    assert_string_equal(rig_warnings(&rig),
                        "\"Dialogs auto-dismissed: 2. See failureHandling.issues.dialogs.\"");
    rig_deinit(&rig);
}

static void an_unknown_mode_is_warned_of(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    rig_run(&rig, "move_walls", "{\"failureHandling\":\"ignore\"}");
    assert_string_equal(rig_member(&rig, "/failureHandling/mode"), "\"rollback\"");
    assert_non_null(strstr(rig_warnings(&rig), "Unknown failureHandling mode"));
    rig_deinit(&rig);
}

/* A command can fail a thousand times; its answer must still be sent. */
static void failures_beyond_the_room_are_counted(void **state)
{
    static char message[100 * 1024];
    SafetyFailure failure = warning("P.Long");
    SafetyVerdict verdict;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    memset(message, 'm', sizeof(message));
    failure.message = span_make(message, sizeof(message));
    assert_null(rig_admit(&rig, "move_walls", "{\"failureHandling\":\"rollback\"}"));
    for (int i = 0; i < 8; i++) {
        assert_int_equal(safety_failure(rig.desk, &rig.plan, &failure, &verdict), 0);
        assert_int_equal(verdict, SAFETY_ROLL_BACK);
    }
    rig_end(&rig, (SafetyEnd){.is_rolled_back = true});
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/omitted"), "3");
    assert_string_not_equal(rig_member(&rig, "/failureHandling/issues/failures/4"), "");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/5"), "");
    rig_deinit(&rig);
}

/* ---- dry run ---- */

static void a_dry_run_of_what_destroys_gives_a_confirm_token(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    rig_run(&rig, "delete_walls", "{\"dryRun\":true}");
    assert_string_equal(rig_member(&rig, "/dryRunRequested"), "true");
    assert_string_equal(rig_member(&rig, "/dryRun"), "true");
    assert_string_equal(rig_member(&rig, "/dryRunApplied"), "\"transactionGroup.rollback\"");
    assert_string_equal(rig_member(&rig, "/confirmToken"),
                        "\"ct-01010101010101010101010101010101\"");
    assert_string_equal(rig_member(&rig, "/confirmTokenExpiresAtUtc"),
                        "\"2023-11-14T22:18:20.000Z\"");
    assert_string_equal(rig_member(&rig, "/confirmTokenTtlSec"), "300");
    assert_string_equal(rig_member(&rig, "/confirmTokenMethod"), "\"delete_walls\"");
    assert_non_null(strstr(rig_warnings(&rig), "the document is as it was"));
    assert_int_equal(safety_desk_revision(rig.desk), 0);
    /* It is undone in any case, and that is no failure. */
    assert_string_equal(rig_member(&rig, "/failureHandling"), "");
    rig_deinit(&rig);
}

static void no_token_for_what_failed_or_destroys_nothing_or_was_not_undone(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_null(rig_admit(&rig, "delete_walls", "{\"dryRun\":true}"));
    rig_end(&rig, (SafetyEnd){.is_ok = false, .is_rolled_back = true});
    assert_string_equal(rig_member(&rig, "/confirmToken"), "");
    rig_run(&rig, "move_walls", "{\"dryRun\":true}");
    assert_string_equal(rig_member(&rig, "/confirmToken"), "");
    assert_null(rig_admit(&rig, "delete_walls", "{\"dryRun\":true}"));
    rig_end(&rig, (SafetyEnd){.is_ok = true, .is_committed = true});
    assert_string_equal(rig_member(&rig, "/dryRunRequested"), "true");
    assert_string_equal(rig_member(&rig, "/dryRun"), "");
    assert_string_equal(rig_member(&rig, "/confirmToken"), "");
    assert_non_null(strstr(rig_warnings(&rig), "nothing was undone"));
    assert_int_equal(safety_desk_revision(rig.desk), 1);
    rig_deinit(&rig);
}

/* Else the token, which is bound to the parameters, would be of no use to its caller. */
static void a_preview_of_many_says_that_the_gate_will_ask(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    rig_run(&rig, "delete_walls", "{\"dryRun\":true,\"elementIds\":[1,2,3,4,5]}");
    assert_non_null(strstr(rig_warnings(&rig), "set failureHandling in the dry run already"));
    rig_run(&rig, "delete_walls",
            "{\"dryRun\":true,\"elementIds\":[1,2,3,4,5],\"failureHandling\":true}");
    assert_null(strstr(rig_warnings(&rig), "set failureHandling in the dry run already"));
    rig_deinit(&rig);
}

static void without_randomness_there_is_no_token(void **state)
{
    SafetyEnd end = {.is_ok = true, .is_rolled_back = true};
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    rig.r_random = -EIO;
    assert_null(rig_admit(&rig, "delete_walls", "{\"dryRun\":true}"));
    assert_int_equal(
        safety_end(rig.desk, &rig.command, &rig.plan, &end, 1, 1, &rig.members, &rig.warnings),
        -EIO);
    assert_int_equal(rig.members.n, 0);
    rig_deinit(&rig);
}

/* People go on working while a command runs. */
static void the_document_that_was_in_front_when_it_began_counts(void **state)
{
    SafetyRig rig;
    char real[128];

    (void)state;
    rig_init(&rig);
    assert_null(rig_admit(&rig, "move_walls", "{}"));
    rig_show_document(&rig, "G-2", "/plans/b.rvt", 1);
    rig_end(&rig, (SafetyEnd){.is_ok = true, .is_committed = true});
    assert_int_equal(safety_desk_revision(rig.desk), 0);
    rig_show_document(&rig, "G-1", "/plans/a.rvt", 11);
    assert_int_equal(safety_desk_revision(rig.desk), 1);

    assert_null(rig_admit(&rig, "delete_walls", "{\"dryRun\":true}"));
    rig_show_document(&rig, "G-2", "/plans/b.rvt", 1);
    rig_end(&rig, (SafetyEnd){.is_ok = true, .is_rolled_back = true});
    (void)snprintf(real, sizeof(real), "{\"confirmToken\":%s}", rig_member(&rig, "/confirmToken"));
    rig_show_document(&rig, "G-1", "/plans/a.rvt", 11);
    assert_null(rig_admit(&rig, "delete_walls", real));
    rig_deinit(&rig);
}

static void what_it_says_is_appended_with_commas(void **state)
{
    SafetyEnd end = {.is_ok = true, .is_rolled_back = true};
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_null(rig_admit(&rig, "move_walls", "{\"dryRun\":true}"));
    assert_int_equal(bytes_append_span(&rig.members, SPAN("\"a\":1")), 0);
    assert_int_equal(bytes_append_span(&rig.warnings, SPAN("\"w\"")), 0);
    assert_int_equal(
        safety_end(rig.desk, &rig.command, &rig.plan, &end, 1, 1, &rig.members, &rig.warnings), 0);
    assert_string_equal(rig_member(&rig, "/a"), "1");
    assert_string_equal(rig_member(&rig, "/dryRunRequested"), "true");
    assert_true(span_starts_with(bytes_span(&rig.warnings), SPAN("\"w\",\"dry run")));
    /* All or nothing. */
    rig.warnings.max_bytes = rig.warnings.n;
    bytes_clear(&rig.members);
    assert_int_equal(
        safety_end(rig.desk, &rig.command, &rig.plan, &end, 1, 1, &rig.members, &rig.warnings),
        BYTES_E_FULL);
    assert_int_equal(rig.members.n, 0);
    rig_deinit(&rig);
}

static int end_scenario(void *context)
{
    static const int64_t ids[] = {1, 2};
    static const char text[] = "{\"dryRun\":true,\"failureHandling\":\"off\"}";
    SafetyCommand command = {.method = SPAN("delete_walls")};
    SafetyEnd end = {.is_ok = true, .is_rolled_back = true};
    SafetyFailure failure = {.id = SPAN("P.A"), .element_ids = ids, .n_element_ids = 2};
    SafetyVerdict verdict;
    SafetyRefusal refusal;
    SafetyPlan plan;
    Bytes members;
    Bytes warnings;
    Arena arena;
    JsonDoc doc;
    int r;

    safety_plan_init(&plan);
    bytes_init(&members, 4096);
    bytes_init(&warnings, 4096);
    arena_init(&arena, 1 << 20);
    r = json_parse(&doc, &arena, text, sizeof(text) - 1, NULL, NULL);
    command.arguments = r == 0 ? json_root(&doc) : JSON_VALUE_NULL;
    r = r != 0 ? r : safety_admit(context, &command, 1, &plan, &refusal);
    r = r != 0 ? r : safety_failure(context, &plan, &failure, &verdict);
    plan.mode = SAFETY_MODE_ROLLBACK;
    r = r != 0 ? r : safety_failure(context, &plan, &failure, &verdict);
    r = r != 0 ? r : safety_dialog(&plan, SPAN("d"), SPAN("m"));
    r = r != 0 ? r : safety_end(context, &command, &plan, &end, 1, 1, &members, &warnings);
    safety_plan_deinit(&plan);
    bytes_deinit(&members);
    bytes_deinit(&warnings);
    arena_deinit(&arena);
    return r;
}

static void want_of_memory_is_said(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    test_oom_sweep(end_scenario, rig.desk);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_nothing_happened_and_nobody_asked_nothing_is_said),
        cmocka_unit_test(
            when_it_is_explicitly_provided_there_is_a_block_with_the_whitelist_and_issues),
        cmocka_unit_test(on_tx_not_committed_diagnostics_are_attached_though_nobody_asked),
        cmocka_unit_test(warning_details_are_always_recorded),
        cmocka_unit_test(an_error_that_was_resolved_is_told_and_is_no_rollback),
        cmocka_unit_test(dialogs_are_told_counted_and_warned_of),
        cmocka_unit_test(an_unknown_mode_is_warned_of),
        cmocka_unit_test(failures_beyond_the_room_are_counted),
        cmocka_unit_test(a_dry_run_of_what_destroys_gives_a_confirm_token),
        cmocka_unit_test(no_token_for_what_failed_or_destroys_nothing_or_was_not_undone),
        cmocka_unit_test(a_preview_of_many_says_that_the_gate_will_ask),
        cmocka_unit_test(without_randomness_there_is_no_token),
        cmocka_unit_test(the_document_that_was_in_front_when_it_began_counts),
        cmocka_unit_test(what_it_says_is_appended_with_commas),
        cmocka_unit_test(want_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
