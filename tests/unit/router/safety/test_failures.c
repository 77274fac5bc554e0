#include "unit/router/safety/safety_rig.h"

#include "router/safety/failures.h"

/* Rules: D.* may be deleted, R.* resolved, B.* both, N.* neither. */
static const char file[] =
    "{\"rules\":["
    "{\"id\":\"RD\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":\"P.D\"},\"actions\":[{"
    "\"type\":\"delete_warning\"}]},"
    "{\"id\":\"RR\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":\"P.R\"},\"actions\":[{"
    "\"type\":\"resolve_if_possible\"}]},"
    "{\"id\":\"RB\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":\"P.B\"},\"actions\":[{"
    "\"type\":\"resolve_if_possible\"},{\"type\":\"delete_warning\"}]},"
    "{\"id\":\"RN\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":\"P.N\"}}]}";

typedef struct Case {
    const char *mode;
    const char *id; /* P.X has no rule */
    SafetySeverity severity;
    bool can_delete;
    bool can_resolve;
    SafetyVerdict verdict;
    const char *action;
} Case;

#define W SAFETY_WARNING
#define E SAFETY_ERROR

/* clang-format off */
static const Case cases[] = {
    /* off: capture only */
    {"off",      "P.X", W, true,  true,  SAFETY_KEEP,      "capture_only"},
    {"off",      "P.D", W, true,  true,  SAFETY_KEEP,      "capture_only"},
    {"off",      "P.X", E, false, false, SAFETY_KEEP,      "capture_only"},
    /* rollback: any failure, even a whitelisted warning */
    {"rollback", "P.X", W, true,  true,  SAFETY_ROLL_BACK, "rollback"},
    {"rollback", "P.D", W, true,  true,  SAFETY_ROLL_BACK, "rollback"},
    {"rollback", "P.B", E, true,  true,  SAFETY_ROLL_BACK, "rollback"},
    /* delete: whitelisted warnings that may be deleted; all others roll back */
    {"delete",   "P.D", W, true,  false, SAFETY_DELETE,    "delete_warning"},
    {"delete",   "P.B", W, true,  true,  SAFETY_DELETE,    "delete_warning"},
    {"delete",   "P.D", W, false, false, SAFETY_ROLL_BACK, "rollback_delete_warning_failed"},
    {"delete",   "P.R", W, true,  true,  SAFETY_ROLL_BACK, "rollback_delete_not_allowed"},
    {"delete",   "P.N", W, true,  true,  SAFETY_ROLL_BACK, "rollback_delete_not_allowed"},
    {"delete",   "P.X", W, true,  true,  SAFETY_ROLL_BACK, "rollback_unwhitelisted"},
    {"delete",   "P.D", E, true,  true,  SAFETY_ROLL_BACK, "rollback_error"},
    {"delete",   "P.X", E, true,  true,  SAFETY_ROLL_BACK, "rollback_unwhitelisted"},
    /* resolve: what may be resolved is; a warning may still be deleted; else roll back */
    {"resolve",  "P.R", W, false, true,  SAFETY_RESOLVE,   "resolve"},
    {"resolve",  "P.R", E, false, true,  SAFETY_RESOLVE,   "resolve"},
    {"resolve",  "P.B", W, true,  true,  SAFETY_RESOLVE,   "resolve"},
    {"resolve",  "P.B", W, true,  false, SAFETY_DELETE,    "resolve_failed|delete_warning"},
    {"resolve",  "P.B", W, false, false, SAFETY_ROLL_BACK, "rollback_warning_unhandled"},
    {"resolve",  "P.D", W, true,  true,  SAFETY_DELETE,    "delete_warning"},
    {"resolve",  "P.R", W, true,  false, SAFETY_ROLL_BACK, "rollback_warning_unhandled"},
    {"resolve",  "P.N", W, true,  true,  SAFETY_ROLL_BACK, "rollback_warning_unhandled"},
    {"resolve",  "P.X", W, true,  true,  SAFETY_ROLL_BACK, "rollback_unwhitelisted"},
    {"resolve",  "P.R", E, false, false, SAFETY_ROLL_BACK, "rollback_error_resolve_failed"},
    {"resolve",  "P.D", E, true,  true,  SAFETY_ROLL_BACK, "rollback_error"},
    {"resolve",  "P.X", E, true,  true,  SAFETY_ROLL_BACK, "rollback_unwhitelisted"},
};
/* clang-format on */

static void init(SafetyRig *rig, const char *mode)
{
    char arguments[64];

    rig_init(rig);
    assert_int_equal(safety_desk_whitelist(rig->desk, "/w", SPAN(file)), 0);
    (void)snprintf(arguments, sizeof(arguments), "{\"failureHandling\":\"%s\"}", mode);
    assert_null(rig_admit(rig, "move_walls", arguments));
}

static void each_mode_does_with_each_failure_what_it_is_documented_to_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        const Case *c = &cases[i];
        SafetyFailure failure = {.id = span_from_str(c->id),
                                 .severity = c->severity,
                                 .message = SPAN("m"),
                                 .can_delete = c->can_delete,
                                 .can_resolve = c->can_resolve};
        SafetyVerdict verdict;
        SafetyRig rig;
        char action[64];

        init(&rig, c->mode);
        assert_int_equal(safety_failure(rig.desk, &rig.plan, &failure, &verdict), 0);
        rig_end(&rig, (SafetyEnd){.is_rolled_back = rig.plan.needs_rollback});
        (void)snprintf(action, sizeof(action), "\"%s\"", c->action);
        if (verdict != c->verdict ||
            strcmp(rig_member(&rig, "/failureHandling/issues/failures/0/action"), action) != 0) {
            fail_msg("row %zu: %s %s: %s", i, c->mode, c->id,
                     rig_member(&rig, "/failureHandling/issues/failures/0/action"));
        }
        assert_int_equal(rig.plan.needs_rollback, verdict == SAFETY_ROLL_BACK);
        assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/whitelisted"),
                            strcmp(c->id, "P.X") == 0 ? "false" : "true");
        rig_deinit(&rig);
    }
}

static void what_could_not_be_resolved_is_decided_anew_and_told_once(void **state)
{
    SafetyFailure failure = {.id = SPAN("P.B"), .can_delete = true, .can_resolve = true};
    SafetyFailure other = {.id = SPAN("P.D"), .can_delete = true};
    SafetyVerdict verdict;
    SafetyRig rig;

    (void)state;
    init(&rig, "resolve");
    assert_int_equal(safety_failure(rig.desk, &rig.plan, &other, &verdict), 0);
    assert_int_equal(safety_failure(rig.desk, &rig.plan, &failure, &verdict), 0);
    assert_int_equal(verdict, SAFETY_RESOLVE);
    assert_int_equal(safety_resolved(rig.desk, &rig.plan, &failure, false, &verdict), 0);
    assert_int_equal(verdict, SAFETY_DELETE);
    failure.can_delete = false;
    assert_int_equal(safety_failure(rig.desk, &rig.plan, &failure, &verdict), 0);
    assert_int_equal(safety_resolved(rig.desk, &rig.plan, &failure, false, &verdict), 0);
    assert_int_equal(verdict, SAFETY_ROLL_BACK);
    rig_end(&rig, (SafetyEnd){.is_rolled_back = true});
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/1/action"),
                        "\"resolve_failed|delete_warning\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/2/action"),
                        "\"rollback_warning_unhandled\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/3"), "");
    assert_string_equal(rig_member(&rig, "/failureHandling/rollbackReason"),
                        "\"rollback_warning_unhandled: P.B\"");
    rig_deinit(&rig);
}

static void a_failure_is_told_with_its_rule_and_up_to_fifty_elements(void **state)
{
    int64_t ids[60];
    SafetyFailure failure = {.id = SPAN("P.D"),
                             .guid = SPAN("g-1"),
                             .severity = SAFETY_ERROR,
                             .message = SPAN("two \"walls\""),
                             .element_ids = ids,
                             .n_element_ids = TW_ARRAY_SIZE(ids)};
    SafetyVerdict verdict;
    SafetyRig rig;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(ids); i++) {
        ids[i] = -(int64_t)i;
    }
    init(&rig, "off");
    assert_int_equal(safety_failure(rig.desk, &rig.plan, &failure, &verdict), 0);
    rig_end(&rig, (SafetyEnd){.is_ok = true});
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/idGuid"), "\"g-1\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/severity"),
                        "\"Error\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/message"),
                        "\"two \\\"walls\\\"\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/ruleId"), "\"RD\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/elementIds/49"),
                        "-49");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/elementIds/50"), "");
    rig_deinit(&rig);
}

static void a_mode_that_is_none_of_ours_undoes(void **state)
{
    FailureDecision decision = failures_decide((SafetyMode)9, NULL, SAFETY_WARNING, true, true);

    (void)state;
    assert_int_equal(decision.verdict, SAFETY_ROLL_BACK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mode_does_with_each_failure_what_it_is_documented_to_do),
        cmocka_unit_test(what_could_not_be_resolved_is_decided_anew_and_told_once),
        cmocka_unit_test(a_failure_is_told_with_its_rule_and_up_to_fifty_elements),
        cmocka_unit_test(a_mode_that_is_none_of_ours_undoes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
