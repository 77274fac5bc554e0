/* The context token and the confirm token; the failure gate has its own (test_gate.c). */
#include "unit/router/safety/safety_rig.h"

#include "base/limits.h"
#include "support/oom_sweep.h"

/* The token between two pieces of JSON. */
static const char *around(SafetyRig *rig, const char *before, const char *token, const char *after)
{
    char arguments[512];

    (void)snprintf(arguments, sizeof(arguments), "%s%s%s", before, token, after);
    return arena_copy(&rig->arena, span_from_str(arguments)).p;
}

static const char *expecting(SafetyRig *rig, const char *token)
{
    return around(rig, "{\"expectedContextToken\":\"", token, "\"}");
}

/* ---- the context token ---- */

static void a_token_that_matches_lets_the_command_run(void **state)
{
    SafetyRig rig;
    char upper[SAFETY_TOKEN_BYTES];
    const char *token;

    (void)state;
    rig_init(&rig);
    token = rig_token(&rig);
    assert_null(rig_admit(&rig, "m", expecting(&rig, token)));
    /* Compared ignoring case, and blanks at its ends. */
    for (size_t i = 0; i < sizeof(upper); i++) {
        upper[i] = token[i] >= 'a' && token[i] <= 'z' ? (char)(token[i] - 'a' + 'A') : token[i];
        if (token[i] == '\0') {
            break;
        }
    }
    assert_null(rig_admit(&rig, "m", around(&rig, "{\"expectedContextToken\":\" ", upper, " \"}")));
    /* None is expected. */
    assert_null(rig_admit(&rig, "m", "{\"expectedContextToken\":\"  \"}"));
    assert_null(rig_admit(&rig, "m", "{\"expectedContextToken\":null}"));
    assert_null(rig_admit(&rig, "m", NULL));
    rig_deinit(&rig);
}

static void a_token_that_does_not_match_fails_fast_with_precondition_failed(void **state)
{
    const char *expected;
    const char *actual;
    char quoted[SAFETY_TOKEN_BYTES + 2];
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    expected = rig_token(&rig);
    safety_desk_changed(rig.desk, SAFETY_CHANGE_DOCUMENT);
    actual = rig_token(&rig);
    assert_string_equal(rig_admit(&rig, "m", expecting(&rig, expected)), "PRECONDITION_FAILED");
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", expected);
    assert_string_equal(rig_data(&rig, "/expectedContextToken"), quoted);
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", actual);
    assert_string_equal(rig_data(&rig, "/actualContextToken"), quoted);
    assert_string_equal(rig_data(&rig, "/tokenVersion"), "\"ctx.v1\"");
    assert_string_equal(rig_data(&rig, "/contextRevision"), "1");
    assert_string_equal(rig_data(&rig, "/docGuid"), "\"G-1\"");
    assert_string_equal(rig_data(&rig, "/docTitle"), "\"Plan \\\"A\\\"\"");
    assert_string_equal(rig_data(&rig, "/activeViewId"), "11");
    assert_string_equal(rig_data(&rig, "/selectionCount"), "0");
    assert_string_equal(rig_action(&rig, "/0/method"), "\"help.get_context\"");
    assert_string_equal(rig_action(&rig, "/1/method"), "\"get_context\"");
    assert_string_equal(rig_action(&rig, "/2/method"), "\"m\"");
    rig_deinit(&rig);
}

static void it_says_what_changed(void **state)
{
    static const int64_t ids[] = {4};
    const char *arguments;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    arguments = expecting(&rig, rig_token(&rig));
    assert_int_equal(safety_desk_select(rig.desk, ids, 1), 0);
    (void)rig_admit(&rig, "m", arguments);
    assert_string_equal(rig_data(&rig, "/changed"), "[\"selection\"]");
    rig_show_document(&rig, "G-1", "/plans/a.rvt", 99);
    (void)rig_admit(&rig, "m", arguments);
    assert_string_equal(rig_data(&rig, "/changed"), "[\"selection\",\"view\"]");
    safety_desk_changed(rig.desk, SAFETY_CHANGE_DOCUMENT);
    rig_run(&rig, "move_walls", NULL);
    (void)rig_admit(&rig, "m", arguments);
    assert_string_equal(rig_data(&rig, "/changed"),
                        "[\"document\",\"selection\",\"view\",\"write\"]");
    rig_show_document(&rig, "G-2", "", 1);
    (void)rig_admit(&rig, "m", arguments);
    assert_string_equal(rig_data(&rig, "/changed"), "[\"activeDocument\"]");
    assert_int_equal(safety_desk_show(rig.desk, NULL), 0);
    assert_string_equal(rig_admit(&rig, "m", arguments), "PRECONDITION_FAILED");
    assert_string_equal(rig_data(&rig, "/actualContextToken"), "\"ctx-nodoc\"");
    assert_string_equal(rig_data(&rig, "/changed"), "[\"activeDocument\"]");
    (void)rig_admit(&rig, "m", "{\"expectedContextToken\":\"ctx-0\"}");
    assert_string_equal(rig_data(&rig, "/changed"), "[\"unknown\"]");
    rig_show_document(&rig, "G-1", "", 1);
    (void)rig_admit(&rig, "m", "{\"expectedContextToken\":\"ctx-nodoc\"}");
    assert_string_equal(rig_data(&rig, "/changed"), "[\"activeDocument\"]");
    rig_deinit(&rig);
}

/* Beyond what is remembered it is still found wrong. */
static void a_token_of_long_ago_is_unknown(void **state)
{
    const char *arguments;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    arguments = expecting(&rig, rig_token(&rig));
    for (size_t i = 0; i < LIMIT_SAFETY_TOKENS; i++) {
        safety_desk_changed(rig.desk, SAFETY_CHANGE_DOCUMENT);
        (void)rig_token(&rig);
    }
    assert_string_equal(rig_admit(&rig, "m", arguments), "PRECONDITION_FAILED");
    assert_string_equal(rig_data(&rig, "/changed"), "[\"unknown\"]");
    rig_deinit(&rig);
}

static void the_expected_token_is_read_wherever_callers_put_it(void **state)
{
    static const char *const arguments[] = {
        "{\"expectedContextToken\":\"x\"}",
        "{\"__expectedContextToken\":\"x\"}",
        "{\"expected_context_token\":\"x\"}",
        "{\"params\":{\"expectedContextToken\":\"x\"}}",
        "{\"params\":{\"__expectedContextToken\":\"x\"}}",
        "{\"EXPECTEDCONTEXTTOKEN\":\"x\"}",
        "{\"expectedContext\\u0054oken\":\"\\u0078\"}",
        "{\"expectedContextToken\":\"\",\"params\":{\"expectedContextToken\":\"x\"}}",
    };
    static const char *const metas[] = {
        "{\"expectedContextToken\":\"x\"}",
        "{\"__expectedContextToken\":\"x\"}",
    };
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(arguments); i++) {
        assert_string_equal(rig_admit(&rig, "m", arguments[i]), "PRECONDITION_FAILED");
        assert_string_equal(rig_data(&rig, "/expectedContextToken"), "\"x\"");
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(metas); i++) {
        assert_string_equal(rig_admit_meta(&rig, "m", "{}", metas[i]), "PRECONDITION_FAILED");
        assert_string_equal(rig_admit_meta(&rig, "m", NULL, metas[i]), "PRECONDITION_FAILED");
    }
    assert_null(rig_admit_meta(&rig, "m", "{}", "5"));
    rig_deinit(&rig);
}

/* Who expects something expects something: what cannot be a token is none that is right. */
static void what_is_no_text_expects_what_cannot_be(void **state)
{
    static const char *const arguments[] = {
        "{\"expectedContextToken\":5}", "{\"expectedContextToken\":true}",
        "{\"expectedContextToken\":[]}", "{\"expectedContextToken\":{}}"};
    char text[1024] = "{\"expectedContextToken\":\"\\n";
    size_t n = strlen(text);
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(arguments); i++) {
        assert_string_equal(rig_admit(&rig, "m", arguments[i]), "PRECONDITION_FAILED");
    }
    memset(text + n, 'x', 900);
    memcpy(text + n + 900, "\"}", 3);
    assert_string_equal(rig_admit(&rig, "m", text), "PRECONDITION_FAILED");
    assert_true(strlen(rig_data(&rig, "/expectedContextToken")) < 300);
    rig_deinit(&rig);
}

static void get_context_is_exempt(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_null(rig_admit(&rig, "get_context", "{\"expectedContextToken\":\"x\"}"));
    assert_null(rig_admit(&rig, "help.Get_Context", "{\"expectedContextToken\":\"x\"}"));
    assert_string_equal(rig_admit(&rig, "get_contexts", "{\"expectedContextToken\":\"x\"}"),
                        "PRECONDITION_FAILED");
    rig_deinit(&rig);
}

/* The order of the documented system: the token, the confirmation, the gate. */
static void the_first_that_refuses_answers(void **state)
{
    static const char all[] = "{\"expectedContextToken\":\"x\",\"requireConfirmToken\":true,"
                              "\"elementIds\":[1,2,3,4,5]}";
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_string_equal(rig_admit(&rig, "delete_walls", all), "PRECONDITION_FAILED");
    assert_string_equal(rig_admit(&rig, "delete_walls",
                                  "{\"requireConfirmToken\":true,\"elementIds\":[1,2,3,4,5]}"),
                        "CONFIRMATION_REQUIRED");
    assert_string_equal(rig_admit(&rig, "delete_walls", "{\"elementIds\":[1,2,3,4,5]}"),
                        "FAILURE_HANDLING_CONFIRMATION_REQUIRED");
    rig_deinit(&rig);
}

/* ---- the confirm token ---- */

/* Previews delete_walls of element 4, and gives the parameters for the real run. */
static const char *previewed(SafetyRig *rig)
{
    rig_run(rig, "delete_walls", "{\"dryRun\":true,\"elementId\":4,\"x\":{\"b\":1,\"a\":[2]}}");
    return around(rig, "{\"x\":{\"a\":[ 2 ],\"b\":1},\"confirmToken\":",
                  rig_member(rig, "/confirmToken"), ",\"elementId\":4}");
}

static void a_confirm_token_is_good_for_one_use(void **state)
{
    const char *arguments;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    arguments = previewed(&rig);
    assert_null(rig_admit(&rig, "delete_walls", arguments));
    assert_true(rig.plan.is_confirmed);
    assert_string_equal(rig_admit(&rig, "delete_walls", arguments), "CONFIRMATION_INVALID");
    assert_false(rig.plan.is_confirmed);
    assert_string_equal(rig_action(&rig, "/0/params"), "{\"dryRun\":true}");
    rig_deinit(&rig);
}

static void it_is_good_for_three_hundred_seconds(void **state)
{
    const char *arguments;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    arguments = previewed(&rig);
    assert_string_equal(rig_member(&rig, "/confirmTokenTtlSec"), "300");
    rig.now_ms += 299999;
    assert_null(rig_admit(&rig, "delete_walls", arguments));
    arguments = previewed(&rig);
    rig.now_ms += 300000;
    assert_string_equal(rig_admit(&rig, "delete_walls", arguments), "CONFIRMATION_INVALID");
    rig_deinit(&rig);
}

static void it_is_bound_to_the_method_the_document_and_the_parameters(void **state)
{
    SafetyRig rig;
    const char *arguments;
    char other[512];

    (void)state;
    rig_init(&rig);
    assert_string_equal(rig_admit(&rig, "remove_walls", previewed(&rig)), "CONFIRMATION_INVALID");
    /* The method's name as it is written otherwise is the same name. */
    assert_null(rig_admit(&rig, "DELETE_walls", previewed(&rig)));

    arguments = previewed(&rig);
    rig_show_document(&rig, "G-2", "/plans/b.rvt", 1);
    assert_string_equal(rig_admit(&rig, "delete_walls", arguments), "CONFIRMATION_INVALID");
    rig_show_document(&rig, "G-1", "/plans/a.rvt", 11);

    arguments = previewed(&rig);
    (void)snprintf(other, sizeof(other), "{\"more\":1,%s", arguments + 1);
    assert_string_equal(rig_admit(&rig, "delete_walls", other), "CONFIRMATION_INVALID");
    rig_deinit(&rig);
}

static void wrong_use_consumes_it(void **state)
{
    const char *arguments;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    arguments = previewed(&rig);
    assert_string_equal(rig_admit(&rig, "remove_walls", arguments), "CONFIRMATION_INVALID");
    assert_string_equal(rig_admit(&rig, "delete_walls", arguments), "CONFIRMATION_INVALID");
    rig_deinit(&rig);
}

static void it_is_demanded_only_where_the_caller_says_so(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_null(rig_admit(&rig, "delete_walls", "{}"));
    assert_null(rig_admit(&rig, "delete_walls", "{\"requireConfirmToken\":false}"));
    assert_null(rig_admit(&rig, "delete_walls", "{\"confirmToken\":\"\"}"));
    assert_string_equal(rig_admit(&rig, "delete_walls", "{\"requireConfirmToken\":true}"),
                        "CONFIRMATION_REQUIRED");
    assert_string_equal(rig_action(&rig, "/0/method"), "\"delete_walls\"");
    assert_string_equal(rig_action(&rig, "/0/params"), "{\"dryRun\":true}");
    assert_string_equal(
        rig_admit(&rig, "delete_walls", "{\"params\":{\"require_confirm_token\":\"yes\"}}"),
        "CONFIRMATION_REQUIRED");
    /* One that is brought is checked in any case. */
    assert_string_equal(rig_admit(&rig, "delete_walls", "{\"confirmToken\":\"ct-0\"}"),
                        "CONFIRMATION_INVALID");
    assert_string_equal(rig_admit(&rig, "delete_walls", "{\"confirm_token\":7}"),
                        "CONFIRMATION_INVALID");
    /* Of what destroys nothing none is wanted. */
    assert_null(rig_admit(&rig, "move_walls", "{\"requireConfirmToken\":true}"));
    rig_end(&rig, (SafetyEnd){.is_ok = true, .is_committed = true});
    assert_non_null(strstr(rig_warnings(&rig), "requireConfirmToken has no effect"));
    rig_deinit(&rig);
}

static void without_a_document_nothing_can_be_undone_or_confirmed(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(safety_desk_show(rig.desk, NULL), 0);
    assert_string_equal(rig_admit(&rig, "delete_walls", "{\"dryRun\":true}"),
                        "PRECONDITION_FAILED");
    assert_string_equal(rig_admit(&rig, "delete_walls", "{\"confirmToken\":\"ct-0\"}"),
                        "CONFIRMATION_INVALID");
    assert_string_equal(rig_admit(&rig, "delete_walls", "{\"requireConfirmToken\":true}"),
                        "CONFIRMATION_REQUIRED");
    assert_null(rig_admit(&rig, "delete_walls", "{}"));
    rig_deinit(&rig);
}

static void the_oldest_token_goes_when_there_are_too_many(void **state)
{
    const char *first;
    const char *last = NULL;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    first = previewed(&rig);
    for (size_t i = 0; i < LIMIT_SAFETY_CONFIRMS; i++) {
        last = previewed(&rig);
    }
    assert_string_equal(rig_admit(&rig, "delete_walls", first), "CONFIRMATION_INVALID");
    assert_null(rig_admit(&rig, "delete_walls", last));
    rig_deinit(&rig);
}

static void a_command_that_asks_first_keeps_its_token(void **state)
{
    const char *arguments;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    arguments = previewed(&rig);
    assert_null(rig_admit(&rig, "delete_walls", arguments));
    safety_postpone(rig.desk, &rig.plan);
    safety_postpone(rig.desk, &rig.plan); /* and once only */
    assert_null(rig_admit(&rig, "delete_walls", arguments));
    assert_string_equal(rig_admit(&rig, "delete_walls", arguments), "CONFIRMATION_INVALID");
    rig_deinit(&rig);
}

/* ---- memory ---- */

static int admit_scenario(void *context)
{
    static const char *const texts[] = {
        "{\"expectedContextToken\":\"x\"}",
        "{\"requireConfirmToken\":true}",
        "{\"confirmToken\":\"ct-0\",\"a\":{\"b\\n\":1}}",
        "{\"elementIds\":[1,2,3,4,5]}",
    };
    int r = 0;

    for (size_t i = 0; i < TW_ARRAY_SIZE(texts) && r == 0; i++) {
        SafetyCommand command = {.method = SPAN("delete_walls")};
        SafetyRefusal refusal;
        SafetyPlan plan;
        Arena arena;
        JsonDoc doc;

        safety_plan_init(&plan);
        arena_init(&arena, 1 << 20);
        r = json_parse(&doc, &arena, texts[i], strlen(texts[i]), NULL, NULL);
        if (r == 0) {
            command.arguments = json_root(&doc);
            r = safety_admit(context, &command, 1, &plan, &refusal);
            assert_true(r == SAFETY_E_REFUSED || r < 0);
            r = r > 0 ? 0 : r;
        }
        safety_plan_deinit(&plan);
        arena_deinit(&arena);
    }
    return r;
}

static void want_of_memory_is_said(void **state)
{
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    test_oom_sweep(admit_scenario, rig.desk);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_that_matches_lets_the_command_run),
        cmocka_unit_test(a_token_that_does_not_match_fails_fast_with_precondition_failed),
        cmocka_unit_test(it_says_what_changed),
        cmocka_unit_test(a_token_of_long_ago_is_unknown),
        cmocka_unit_test(the_expected_token_is_read_wherever_callers_put_it),
        cmocka_unit_test(what_is_no_text_expects_what_cannot_be),
        cmocka_unit_test(get_context_is_exempt),
        cmocka_unit_test(the_first_that_refuses_answers),
        cmocka_unit_test(a_confirm_token_is_good_for_one_use),
        cmocka_unit_test(it_is_good_for_three_hundred_seconds),
        cmocka_unit_test(it_is_bound_to_the_method_the_document_and_the_parameters),
        cmocka_unit_test(wrong_use_consumes_it),
        cmocka_unit_test(it_is_demanded_only_where_the_caller_says_so),
        cmocka_unit_test(without_a_document_nothing_can_be_undone_or_confirmed),
        cmocka_unit_test(the_oldest_token_goes_when_there_are_too_many),
        cmocka_unit_test(a_command_that_asks_first_keeps_its_token),
        cmocka_unit_test(want_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
