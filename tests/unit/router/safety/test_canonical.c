#include "unit/router/safety/safety_rig.h"

#include "base/limits.h"
#include "router/safety/canonical.h"
#include "support/oom_sweep.h"

static const char *print(SafetyRig *rig, const char *arguments)
{
    char fingerprint[SAFETY_FINGERPRINT_BYTES];

    assert_int_equal(
        safety_fingerprint(arguments == NULL ? JSON_VALUE_NULL : rig_parse(rig, arguments),
                           fingerprint),
        0);
    assert_int_equal(strlen(fingerprint), 35);
    assert_memory_equal(fingerprint, "fp-", 3);
    return arena_copy(&rig->arena, span_from_str(fingerprint)).p;
}

static void the_same_values_have_the_same_fingerprint(void **state)
{
    static const char *const cases[][2] = {
        {"{\"a\":1,\"b\":[1,{\"c\":2,\"d\":3}]}", "{ \"b\" : [1, {\"d\":3,\"c\":2}], \"a\" : 1 }"},
        {"{\"a\":\"x\"}", "{\"\\u0061\":\"\\u0078\"}"},
        {"{\"a\":1,\"a\":2}", "{\"a\":2}"},
        {"{\"a\":1,\"dryRun\":true}", "{\"a\":1}"},
        {"{\"a\":1,\"confirmToken\":\"x\",\"requireConfirmToken\":true}", "{\"a\":1}"},
        {"{\"a\":1,\"confirm_token\":\"x\",\"DRY_RUN\":{}}", "{\"a\":1}"},
        {"{\"params\":{\"a\":1,\"dryRun\":true}}", "{\"params\":{\"a\":1}}"},
        {"{}", "{\"dryRun\":true}"},
    };
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_string_equal(print(&rig, cases[i][0]), print(&rig, cases[i][1]));
    }
    assert_string_equal(print(&rig, NULL), print(&rig, "{}"));
    rig_deinit(&rig);
}

static void other_values_have_another_one(void **state)
{
    static const char *const cases[] = {
        "{}",
        "{\"a\":1}",
        "{\"a\":\"1\"}",
        "{\"a\":1.0}",
        "{\"a\":[1]}",
        "{\"a\":[1,2]}",
        "{\"a\":[2,1]}",
        "{\"a\":[[1,2]]}",
        "{\"a\":[12]}",
        "{\"a\":null}",
        "{\"a\":true}",
        "{\"a\":{}}",
        "{\"a\":[]}",
        "{\"a\":\"\"}",
        "{\"a\":\"\",\"b\":\"\"}",
        "{\"a\":\"\\\"b\\\":\"}",
        "{\"ab\":\"\"}",
        "{\"a\":{\"dryRun\":true}}", /* deeper it is the command's own */
        "{\"a\":{\"dryRun\":false}}",
        "{\"params\":{\"a\":1}}",
        "{\"a\":\"\\ud800\"}", /* half of a surrogate pair is only itself */
        "{\"a\":\"\\ud801\"}",
        "{\"a\":\"\\ufffd\"}",
        "{\"\\ud800\":1}",
        "{\"\\ud801\":1}",
        "[]",
        "5",
        "\"5\"",
    };
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(print(&rig, cases[i]), print(&rig, cases[j]));
        }
    }
    rig_deinit(&rig);
}

static void deep_and_wide_arguments_are_no_trouble(void **state)
{
    static char text[4 * 200000];
    SafetyRig rig;
    size_t n = 0;

    (void)state;
    rig_init(&rig);
    rig.arena.max_bytes = SIZE_MAX;
    memset(text, '[', LIMIT_JSON_DEPTH);
    memset(text + LIMIT_JSON_DEPTH, ']', LIMIT_JSON_DEPTH);
    text[(size_t)2 * LIMIT_JSON_DEPTH] = '\0';
    (void)print(&rig, text);
    text[n++] = '[';
    for (int i = 0; i < 200000; i++) {
        text[n++] = '1';
        text[n++] = ',';
    }
    text[n - 1] = ']';
    text[n] = '\0';
    (void)print(&rig, text);
    rig_deinit(&rig);
}

static int print_scenario(void *context)
{
    char fingerprint[SAFETY_FINGERPRINT_BYTES];

    return safety_fingerprint(*(const JsonValue *)context, fingerprint);
}

static void want_of_memory_is_said(void **state)
{
    JsonValue arguments;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    arguments = rig_parse(&rig, "{\"b\":[\"\\n\"],\"a\\n\":{\"c\":1}}");
    test_oom_sweep(print_scenario, &arguments);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_values_have_the_same_fingerprint),
        cmocka_unit_test(other_values_have_another_one),
        cmocka_unit_test(deep_and_wide_arguments_are_no_trouble),
        cmocka_unit_test(want_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
