#include "unit/router/safety/safety_rig.h"

#include "base/limits.h"
#include "router/safety/whitelist.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static const char file[] =
    "\xEF\xBB\xBF{\"schema\":\" revitmcp.failureWhitelist.v1 \",\"policy\":{},"
    "\"logging\":{\"includeDescriptionText\":false,\"maxElementIdsPerFailure\":1},\"rules\":["
    "{\"id\":\"one\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":"
    "\"Autodesk.Revit.DB.BuiltInFailures.Walls.Overlap\"},\"severity\":[\"Warning\"],\"actions\":[{"
    "\"type\":\"delete_warning\"}],\"notes\":\"n\"},"
    "{\"id\":\"two\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":\"Rooms.Open\"},"
    "\"severity\":\"Error\",\"actions\":[{\"type\":\"Resolve_If_Possible\"},{\"type\":5},7]},"
    "{\"id\":\"off\",\"enabled\":false,\"match\":{\"failureDefinitionRef\":\"Off.Rule\"}},"
    "{\"id\":\"silent\",\"match\":{\"failureDefinitionRef\":\"Silent.Rule\"}},"
    "{\"id\":\"nothing\",\"enabled\":true},"
    "{\"id\":\"empty\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":\" \"}},"
    "{\"id\":\"guid\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":\"ab-CD\"}},"
    "5]}";

static void load(SafetyWhitelist *whitelist, Span text)
{
    safety_whitelist_init(whitelist);
    assert_int_equal(safety_whitelist_load(whitelist, "/w.json", text), 0);
}

static void assert_status(const SafetyWhitelist *whitelist, const char *code, const char *written)
{
    Bytes out;
    JsonWriter w;

    assert_string_equal(whitelist->code, code);
    bytes_init(&out, 4096);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    safety_whitelist_write(whitelist, &w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    if (written != NULL) {
        assert_string_equal(out.data, written);
    }
    bytes_deinit(&out);
}

static void before_a_file_is_read_it_is_not_loaded(void **state)
{
    SafetyWhitelist whitelist;

    (void)state;
    safety_whitelist_init(&whitelist);
    assert_status(&whitelist, "NOT_LOADED",
                  "{\"ok\":false,\"code\":\"NOT_LOADED\",\"msg\":\"Failure whitelist not loaded.\","
                  "\"path\":null,\"schema\":null,\"version\":null}");
    assert_null(safety_whitelist_find(&whitelist, SPAN("A.B"), SPAN_NULL, SAFETY_WARNING));
    safety_whitelist_deinit(&whitelist);
}

static void a_file_that_is_not_there_is_not_found(void **state)
{
    SafetyWhitelist whitelist;

    (void)state;
    load(&whitelist, SPAN_NULL);
    assert_status(&whitelist, "FAILURE_WHITELIST_NOT_FOUND", NULL);
    assert_true(span_equals(whitelist.path, SPAN("/w.json")));
    assert_string_equal(whitelist.version, "");
    safety_whitelist_deinit(&whitelist);
}

static void a_file_that_cannot_be_used_failed_to_load(void **state)
{
    static const char *const faults[] = {"{", "[]", "null", "{\"rules\":[}", "\xff", " "};
    static char large[LIMIT_SAFETY_WHITELIST_BYTES + 3];
    SafetyWhitelist whitelist;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(faults); i++) {
        load(&whitelist, span_from_str(faults[i]));
        assert_status(&whitelist, "FAILURE_WHITELIST_LOAD_FAILED", NULL);
        assert_true(whitelist.message.n > 0);
        assert_int_equal(strlen(whitelist.version), 8);
        assert_int_equal(whitelist.n_rules, 0);
        safety_whitelist_deinit(&whitelist);
    }
    memset(large, ' ', sizeof(large));
    memcpy(large, "{}", 2);
    load(&whitelist, span_make(large, sizeof(large)));
    assert_status(&whitelist, "FAILURE_WHITELIST_LOAD_FAILED", NULL);
    safety_whitelist_deinit(&whitelist);
}

static void one_that_can_be_used_says_how_many_rules_count(void **state)
{
    SafetyWhitelist whitelist;

    (void)state;
    load(&whitelist, SPAN(file));
    /* sha256sum of the file: its first eight digits. */
    assert_status(&whitelist, "OK", NULL);
    assert_int_equal(whitelist.n_rules, 3);
    assert_true(
        span_equals(whitelist.message, SPAN("Failure whitelist loaded (3 enabled rules).")));
    assert_true(span_equals(whitelist.schema, SPAN("revitmcp.failureWhitelist.v1")));
    assert_true(whitelist.hides_text);
    assert_false(whitelist.hides_elements);
    assert_int_equal(whitelist.max_elements, 1);
    safety_whitelist_deinit(&whitelist);
    load(&whitelist, SPAN("{}"));
    /* printf '{}' | sha256sum */
    assert_status(&whitelist, "OK",
                  "{\"ok\":true,\"code\":\"OK\",\"msg\":\"Failure whitelist loaded (0 enabled "
                  "rules).\",\"path\":\"/w.json\",\"schema\":null,\"version\":\"44136fa3\"}");
    safety_whitelist_deinit(&whitelist);
}

static void a_rule_is_found_by_its_full_name_its_end_or_its_guid(void **state)
{
    static const struct {
        const char *id;
        const char *guid;
        SafetySeverity severity;
        const char *rule; /* NULL: none */
    } cases[] = {
        {"Autodesk.Revit.DB.BuiltInFailures.Walls.Overlap", "", SAFETY_WARNING, "one"},
        {"Walls.Overlap", "", SAFETY_WARNING, "one"},
        {"Overlap", "", SAFETY_WARNING, NULL},
        {"alls.Overlap", "", SAFETY_WARNING, NULL},
        {"Walls.Overlap", "", SAFETY_ERROR, NULL},
        {"Planner.Rooms.Open", "", SAFETY_ERROR, "two"},
        {"Rooms.Open", "", SAFETY_WARNING, NULL},
        {"rooms.open", "", SAFETY_ERROR, NULL},
        {"Off.Rule", "", SAFETY_WARNING, NULL},
        {"Silent.Rule", "", SAFETY_WARNING, NULL},
        {"", "", SAFETY_WARNING, NULL},
        {"x", "AB-cd", SAFETY_WARNING, "guid"},
        {"x", "AB-cd", SAFETY_ERROR, "guid"},
        {"x", "AB", SAFETY_ERROR, NULL},
    };
    SafetyWhitelist whitelist;

    (void)state;
    load(&whitelist, SPAN(file));
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        const SafetyRule *rule =
            safety_whitelist_find(&whitelist, span_from_str(cases[i].id),
                                  span_from_str(cases[i].guid), cases[i].severity);

        if (cases[i].rule == NULL) {
            assert_null(rule);
        } else {
            assert_non_null(rule);
            assert_true(span_equals(rule->id, span_from_str(cases[i].rule)));
        }
    }
    assert_true(whitelist.rules[0].may_delete && !whitelist.rules[0].may_resolve);
    assert_true(!whitelist.rules[1].may_delete && whitelist.rules[1].may_resolve);
    safety_whitelist_deinit(&whitelist);
}

static void of_several_rules_the_last_counts(void **state)
{
    SafetyWhitelist whitelist;

    (void)state;
    load(&whitelist,
         SPAN("{\"rules\":[{\"id\":\"a\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":"
              "\"A.B\"}},{\"id\":\"b\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":\"A.B\""
              "}}]}"));
    assert_true(span_equals(
        safety_whitelist_find(&whitelist, SPAN("A.B"), SPAN_NULL, SAFETY_ERROR)->id, SPAN("b")));
    safety_whitelist_deinit(&whitelist);
}

/* What the file hides is hidden, but for errors and for what was undone. */
static void what_the_file_hides_is_not_told(void **state)
{
    static const int64_t ids[] = {1, 2};
    SafetyFailure failure = {
        .id = SPAN("A.B"), .message = SPAN("secret"), .element_ids = ids, .n_element_ids = 2};
    SafetyVerdict verdict;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(safety_desk_whitelist(rig.desk, "/w", SPAN(file)), 0);
    assert_null(rig_admit(&rig, "m", "{\"failureHandling\":\"off\"}"));
    assert_int_equal(safety_failure(rig.desk, &rig.plan, &failure, &verdict), 0);
    failure.severity = SAFETY_ERROR;
    assert_int_equal(safety_failure(rig.desk, &rig.plan, &failure, &verdict), 0);
    rig_end(&rig, (SafetyEnd){.is_ok = true});
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/message"), "\"\"");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/elementIds"), "[1]");
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/1/message"),
                        "\"secret\"");
    assert_null(rig_admit(&rig, "m", "{\"failureHandling\":\"rollback\"}"));
    failure.severity = SAFETY_WARNING;
    assert_int_equal(safety_failure(rig.desk, &rig.plan, &failure, &verdict), 0);
    rig_end(&rig, (SafetyEnd){.is_rolled_back = true});
    assert_string_equal(rig_member(&rig, "/failureHandling/issues/failures/0/message"),
                        "\"secret\"");
    rig_deinit(&rig);
}

static int load_scenario(void *context)
{
    SafetyWhitelist whitelist;
    int r;

    (void)context;
    safety_whitelist_init(&whitelist);
    r = safety_whitelist_load(&whitelist, "/w", SPAN(file));
    safety_whitelist_deinit(&whitelist);
    return r;
}

static void want_of_memory_leaves_the_old_one(void **state)
{
    SafetyWhitelist whitelist;

    (void)state;
    test_oom_sweep(load_scenario, NULL);
    load(&whitelist, SPAN(file));
    alloc_testing_reset(0);
    assert_true(safety_whitelist_load(&whitelist, "/x", SPAN("{}")) < 0);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(whitelist.n_rules, 3);
    safety_whitelist_deinit(&whitelist);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_a_file_is_read_it_is_not_loaded),
        cmocka_unit_test(a_file_that_is_not_there_is_not_found),
        cmocka_unit_test(a_file_that_cannot_be_used_failed_to_load),
        cmocka_unit_test(one_that_can_be_used_says_how_many_rules_count),
        cmocka_unit_test(a_rule_is_found_by_its_full_name_its_end_or_its_guid),
        cmocka_unit_test(of_several_rules_the_last_counts),
        cmocka_unit_test(what_the_file_hides_is_not_told),
        cmocka_unit_test(want_of_memory_leaves_the_old_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
