#include "unit/router/safety/safety_rig.h"

#include "router/safety/gate.h"

static size_t count(SafetyRig *rig, const char *arguments)
{
    return safety_count_targets(rig_parse(rig, arguments));
}

static void ids_are_counted_in_every_spelling_and_list_form(void **state)
{
    static const struct {
        const char *arguments;
        size_t n;
    } cases[] = {
        {"{}", 0},
        {"5", 0},
        {"{\"elementIds\":[]}", 0},
        {"{\"elementIds\":[1,2,3,4,5]}", 5},
        {"{\"elementIds\":5}", 1},
        {"{\"elementIds\":\"5\"}", 1},
        {"{\"elementIds\":\"1,2;3 4\"}", 4},
        {"{\"elementIds\":\" 1 ,, 2 ;;\\t3\\n4 \"}", 4},
        {"{\"elementIds\":[\"1\",\"2,3\",4,\"5;6 7\"]}", 7},
        {"{\"elementIds\":[-1,\"-2\",\"+3\"]}", 3},
        {"{\"elementIds\":[[1,2],[3,[4,5]]]}", 5},
        {"{\"elementIds\":[null,true,\"\",\"a\",\"1a\"]}", 0},
        {"{\"ELEMENTIDS\":[1,2]}", 2},
        {"{\"element_ids\":[1,2]}", 2},
        {"{\"elementId\":7}", 1},
        {"{\"element_id\":7,\"elementIds\":[1,2]}", 3},
        {"{\"elementIds\":[1],\"elementIds\":[2,3]}", 3},
        {"{\"element\\u0049ds\":[1,2]}", 2},
        {"{\"target\":{\"elementIds\":[1,2],\"elementId\":3}}", 3},
        {"{\"targets\":[1,2,\"3\",{\"elementId\":4},{\"elementIds\":\"5,6\"}]}", 6},
        {"{\"target\":9}", 1},
        {"{\"targets\":\"1 2\"}", 2},
        {"{\"params\":{\"elementIds\":[1,2,3,4,5]}}", 5},
        {"{\"elementIds\":[1],\"params\":{\"elementIds\":[2,3]}}", 3},
        {"{\"uniqueIds\":[\"a-1\",\"b-2\"]}", 2},
        {"{\"uniqueId\":\"a-1\"}", 1},
        {"{\"ids\":[1,2,3,4,5],\"viewIds\":[1,2,3,4,5]}", 0},
        {"{\"other\":{\"elementIds\":[1,2,3,4,5]}}", 0},
    };
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        if (count(&rig, cases[i].arguments) != cases[i].n) {
            fail_msg("%s: %zu", cases[i].arguments, count(&rig, cases[i].arguments));
        }
    }
    assert_int_equal(safety_count_targets(JSON_VALUE_NULL), 0);
    rig_deinit(&rig);
}

static void failure_handling_is_read_in_every_spelling(void **state)
{
    static const struct {
        const char *arguments;
        SafetyMode mode;
        bool is_explicit;
        bool is_unknown;
    } cases[] = {
        {"{}", SAFETY_MODE_ROLLBACK, false, false},
        {"{\"failureHandling\":{\"enabled\":false}}", SAFETY_MODE_OFF, true, false},
        {"{\"failureHandling\":{\"enabled\":false,\"mode\":\"delete\"}}", SAFETY_MODE_OFF, true,
         false},
        {"{\"failureHandling\":{\"enabled\":true,\"mode\":\"rollback\"}}", SAFETY_MODE_ROLLBACK,
         true, false},
        {"{\"failureHandling\":{\"enabled\":true,\"mode\":\"delete\"}}", SAFETY_MODE_DELETE, true,
         false},
        {"{\"failureHandling\":{\"enabled\":true,\"mode\":\"resolve\"}}", SAFETY_MODE_RESOLVE, true,
         false},
        {"{\"failureHandling\":{\"enabled\":true}}", SAFETY_MODE_ROLLBACK, true, false},
        {"{\"failureHandling\":{\"action\":\"delete\"}}", SAFETY_MODE_DELETE, true, false},
        {"{\"failureHandling\":{\"strategy\":\"resolve\"}}", SAFETY_MODE_RESOLVE, true, false},
        {"{\"failureHandling\":{\"mode\":null,\"action\":\"delete\"}}", SAFETY_MODE_DELETE, true,
         false},
        {"{\"failureHandling\":{}}", SAFETY_MODE_ROLLBACK, true, false},
        {"{\"failureHandling\":{\"enabled\":\"false\"}}", SAFETY_MODE_OFF, true, false},
        {"{\"failureHandling\":true}", SAFETY_MODE_ROLLBACK, true, false},
        {"{\"failureHandling\":false}", SAFETY_MODE_OFF, true, false},
        {"{\"failureHandling\":null}", SAFETY_MODE_OFF, true, false},
        {"{\"failureHandling\":\"off\"}", SAFETY_MODE_OFF, true, false},
        {"{\"failureHandling\":\"none\"}", SAFETY_MODE_OFF, true, false},
        {"{\"failureHandling\":\"disabled\"}", SAFETY_MODE_OFF, true, false},
        {"{\"failureHandling\":\"rollback_on_error\"}", SAFETY_MODE_ROLLBACK, true, false},
        {"{\"failureHandling\":\"delete_warning\"}", SAFETY_MODE_DELETE, true, false},
        {"{\"failureHandling\":\"delete_warnings\"}", SAFETY_MODE_DELETE, true, false},
        {"{\"failureHandling\":\"resolve_if_possible\"}", SAFETY_MODE_RESOLVE, true, false},
        {"{\"failureHandling\":\" Auto_Resolve \"}", SAFETY_MODE_RESOLVE, true, false},
        {"{\"failure_handling\":\"delete\"}", SAFETY_MODE_DELETE, true, false},
        {"{\"failureHandlingMode\":\"delete\"}", SAFETY_MODE_DELETE, true, false},
        {"{\"failure_handling_mode\":\"delete\"}", SAFETY_MODE_DELETE, true, false},
        {"{\"params\":{\"failureHandling\":\"delete\"}}", SAFETY_MODE_DELETE, true, false},
        {"{\"failureHandling\":\"del\\u0065te\"}", SAFETY_MODE_DELETE, true, false},
        /* What is not known is taken for the default, and that is told. */
        {"{\"failureHandling\":\"ignore\"}", SAFETY_MODE_ROLLBACK, true, true},
        {"{\"failureHandling\":7}", SAFETY_MODE_ROLLBACK, true, true},
        {"{\"failureHandling\":[]}", SAFETY_MODE_ROLLBACK, true, true},
        {"{\"failureHandling\":{\"mode\":\"ignore\"}}", SAFETY_MODE_ROLLBACK, true, true},
    };
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        SafetyHandling handling = safety_handling(rig_parse(&rig, cases[i].arguments));

        if (handling.mode != cases[i].mode || handling.is_explicit != cases[i].is_explicit ||
            handling.is_unknown != cases[i].is_unknown) {
            fail_msg("%s", cases[i].arguments);
        }
    }
    rig_deinit(&rig);
}

/* ---- the gate ---- */

#define REFUSED "FAILURE_HANDLING_CONFIRMATION_REQUIRED"

static void from_five_element_ids_on_the_router_refuses(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_null(rig_admit(&rig, "move_walls", "{\"elementIds\":[1,2,3,4]}"));
    assert_int_equal(rig.plan.n_targets, 4);
    assert_string_equal(rig_admit(&rig, "move_walls", "{\"elementIds\":[1,2,3,4,5]}"), REFUSED);
    /* Reads too. */
    assert_string_equal(rig_admit(&rig, "get_walls", "{\"elementIds\":\"1,2;3 4 5\"}"), REFUSED);
    assert_string_equal(rig_data(&rig, "/targetCount"), "5");
    assert_string_equal(rig_data(&rig, "/threshold"), "5");
    assert_string_equal(rig_data(&rig, "/defaultMode"), "\"rollback\"");
    rig_deinit(&rig);
}

static void the_threshold_can_be_set(void **state)
{
    SafetyDesk *five;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    five = rig.desk;
    assert_int_equal(safety_desk_new(&rig.desk, &(SafetyConfig){.threshold = 2}), 0);
    assert_null(rig_admit(&rig, "m", "{\"elementIds\":[1]}"));
    assert_string_equal(rig_admit(&rig, "m", "{\"elementIds\":[1,2]}"), REFUSED);
    assert_string_equal(rig_data(&rig, "/threshold"), "2");
    five = safety_desk_free(five);
    rig_deinit(&rig);
}

static void to_proceed_the_same_command_sets_failure_handling_explicitly(void **state)
{
    static const struct {
        const char *params;
        SafetyMode mode;
    } ways[] = {
        {"{\"failureHandling\":{\"enabled\":false}}", SAFETY_MODE_OFF},
        {"{\"failureHandling\":{\"enabled\":true,\"mode\":\"rollback\"}}", SAFETY_MODE_ROLLBACK},
        {"{\"failureHandling\":{\"enabled\":true,\"mode\":\"delete\"}}", SAFETY_MODE_DELETE},
        {"{\"failureHandling\":{\"enabled\":true,\"mode\":\"resolve\"}}", SAFETY_MODE_RESOLVE},
    };
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_string_equal(rig_admit(&rig, "move_walls", "{\"elementIds\":[1,2,3,4,5]}"), REFUSED);
    for (size_t i = 0; i < TW_ARRAY_SIZE(ways); i++) {
        char pointer[32];

        /* Ready to be merged into the parameters. */
        (void)snprintf(pointer, sizeof(pointer), "/%zu/params", i);
        assert_string_equal(rig_action(&rig, pointer), ways[i].params);
        (void)snprintf(pointer, sizeof(pointer), "/%zu/method", i);
        assert_string_equal(rig_action(&rig, pointer), "\"move_walls\"");
        (void)snprintf(pointer, sizeof(pointer), "/%zu/reason", i);
        assert_true(strlen(rig_action(&rig, pointer)) > 2);
    }
    assert_string_equal(rig_action(&rig, "/4"), "");
    for (size_t i = 0; i < TW_ARRAY_SIZE(ways); i++) {
        char arguments[256];

        (void)snprintf(arguments, sizeof(arguments), "{\"elementIds\":[1,2,3,4,5],%s",
                       ways[i].params + 1);
        assert_null(rig_admit(&rig, "move_walls", arguments));
        assert_int_equal(rig.plan.mode, ways[i].mode);
        assert_true(rig.plan.is_explicit);
    }
    rig_deinit(&rig);
}

static void the_refusal_has_the_status_of_the_whitelist(void **state)
{
    static const char file[] = "{\"schema\":\"s.v1\",\"rules\":[]}";
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    (void)rig_admit(&rig, "m", "{\"elementIds\":[1,2,3,4,5]}");
    assert_string_equal(rig_data(&rig, "/whitelist/ok"), "false");
    assert_string_equal(rig_data(&rig, "/whitelist/code"), "\"NOT_LOADED\"");
    assert_string_equal(rig_data(&rig, "/whitelist/path"), "null");
    assert_int_equal(safety_desk_whitelist(rig.desk, "/w.json", SPAN(file)), 0);
    (void)rig_admit(&rig, "m", "{\"elementIds\":[1,2,3,4,5]}");
    assert_string_equal(rig_data(&rig, "/whitelist/ok"), "true");
    assert_string_equal(rig_data(&rig, "/whitelist/code"), "\"OK\"");
    assert_string_equal(rig_data(&rig, "/whitelist/path"), "\"/w.json\"");
    assert_string_equal(rig_data(&rig, "/whitelist/schema"), "\"s.v1\"");
    assert_int_equal(strlen(rig_data(&rig, "/whitelist/version")), 10);
    rig_deinit(&rig);
}

static void a_dry_run_passes_the_gate(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_null(rig_admit(&rig, "move_walls", "{\"elementIds\":[1,2,3,4,5],\"dryRun\":true}"));
    assert_true(rig.plan.is_dry_run);
    assert_string_equal(rig_admit(&rig, "move_walls", "{\"elementIds\":[1,2,3,4,5],\"dryRun\":0}"),
                        REFUSED);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_counted_in_every_spelling_and_list_form),
        cmocka_unit_test(failure_handling_is_read_in_every_spelling),
        cmocka_unit_test(from_five_element_ids_on_the_router_refuses),
        cmocka_unit_test(the_threshold_can_be_set),
        cmocka_unit_test(to_proceed_the_same_command_sets_failure_handling_explicitly),
        cmocka_unit_test(the_refusal_has_the_status_of_the_whitelist),
        cmocka_unit_test(a_dry_run_passes_the_gate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
