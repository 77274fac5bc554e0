#include "unit/router/safety/safety_rig.h"

#include <errno.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static const char *context_of(SafetyRig *rig, const char *pointer)
{
    Bytes out;
    const char *value;

    bytes_init(&out, 1 << 20);
    assert_int_equal(bytes_append_byte(&out, '{'), 0);
    assert_int_equal(safety_desk_write_context(rig->desk, SPAN("m"), &out), 0);
    assert_int_equal(bytes_append_byte(&out, '}'), 0);
    value = rig_value_at(rig, bytes_span(&out), pointer);
    bytes_deinit(&out);
    return value;
}

static const char *get_context(SafetyRig *rig, const char *arguments, const char *pointer)
{
    Bytes out;
    const char *value;

    bytes_init(&out, 1 << 20);
    assert_int_equal(
        safety_desk_write_get_context(
            rig->desk, arguments == NULL ? JSON_VALUE_NULL : rig_parse(rig, arguments), &out),
        0);
    value = rig_value_at(rig, bytes_span(&out), pointer);
    bytes_deinit(&out);
    return value;
}

/* ---- the revision ---- */

static void the_revision_is_a_counter_that_every_change_moves(void **state)
{
    static const int64_t ids[] = {1, 2};
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(safety_desk_revision(rig.desk), 0);
    safety_desk_changed(rig.desk, SAFETY_CHANGE_DOCUMENT);
    assert_int_equal(safety_desk_revision(rig.desk), 1);
    assert_int_equal(safety_desk_select(rig.desk, ids, 2), 0);
    assert_int_equal(safety_desk_revision(rig.desk), 2);
    rig_show_document(&rig, "G-1", "/plans/a.rvt", 12); /* another view */
    assert_int_equal(safety_desk_revision(rig.desk), 3);
    safety_desk_changed(rig.desk, SAFETY_CHANGE_VIEW);
    assert_int_equal(safety_desk_revision(rig.desk), 4);
    rig_run(&rig, "move_walls", NULL); /* a write of ours */
    assert_int_equal(safety_desk_revision(rig.desk), 5);
    rig_show_document(&rig, "G-1", "/plans/b.rvt", 12); /* saved under another name */
    assert_int_equal(safety_desk_revision(rig.desk), 6);
    rig_deinit(&rig);
}

static void what_changes_nothing_does_not_move_it(void **state)
{
    static const int64_t ids[] = {2, 1};
    static const int64_t same[] = {1, 2, 2};
    const char *token;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(safety_desk_select(rig.desk, ids, 2), 0);
    token = rig_token(&rig);
    assert_int_equal(safety_desk_select(rig.desk, same, 3), 0);
    rig_show_document(&rig, " g-1 ", "/PLANS/a.rvt", 11); /* the same, written otherwise */
    rig_run(&rig, "get_walls", NULL);
    rig_run(&rig, "delete_walls", "{\"dryRun\":true}");
    assert_null(rig_admit(&rig, "move_walls", NULL));
    rig_end(&rig, (SafetyEnd){.is_ok = false, .is_rolled_back = true});
    assert_int_equal(safety_desk_revision(rig.desk), 1);
    assert_string_equal(rig_token(&rig), token);
    rig_deinit(&rig);
}

static void it_is_counted_for_each_document(void **state)
{
    const char *first;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    safety_desk_changed(rig.desk, SAFETY_CHANGE_DOCUMENT);
    first = rig_token(&rig);
    rig_show_document(&rig, "G-2", "/plans/b.rvt", 11);
    assert_int_equal(safety_desk_revision(rig.desk), 0);
    assert_string_not_equal(rig_token(&rig), first);
    rig_show_document(&rig, "G-1", "/plans/a.rvt", 11);
    assert_int_equal(safety_desk_revision(rig.desk), 1);
    assert_string_equal(rig_token(&rig), first);
    /* Without a guid the path says which it is. */
    rig_show_document(&rig, "", "/plans/c.rvt", 1);
    safety_desk_changed(rig.desk, SAFETY_CHANGE_DOCUMENT);
    rig_show_document(&rig, "", "/plans/d.rvt", 1);
    assert_int_equal(safety_desk_revision(rig.desk), 0);
    rig_show_document(&rig, "", "/Plans/C.rvt", 1);
    assert_int_equal(safety_desk_revision(rig.desk), 1);
    rig_deinit(&rig);
}

/* Else a token of long ago would be right again. */
static void a_document_that_was_forgotten_does_not_begin_at_its_old_tokens(void **state)
{
    const char *first;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    first = rig_token(&rig);
    for (int i = 0; i < LIMIT_SAFETY_DOCUMENTS; i++) {
        char guid[32];

        (void)snprintf(guid, sizeof(guid), "other-%d", i);
        rig_show_document(&rig, guid, "", 1);
    }
    rig_show_document(&rig, "G-1", "/plans/a.rvt", 11);
    assert_true(safety_desk_revision(rig.desk) > 0);
    assert_string_not_equal(rig_token(&rig), first);
    rig_deinit(&rig);
}

static void without_a_document_there_is_nothing_to_change(void **state)
{
    static const int64_t ids[] = {1};
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(safety_desk_show(rig.desk, NULL), 0);
    assert_int_equal(safety_desk_select(rig.desk, ids, 1), 0);
    safety_desk_changed(rig.desk, SAFETY_CHANGE_DOCUMENT);
    assert_int_equal(safety_desk_revision(rig.desk), 0);
    assert_string_equal(rig_token(&rig), "ctx-nodoc");
    assert_string_equal(context_of(&rig, ""), "{\"method\":\"m\"}");
    assert_string_equal(get_context(&rig, NULL, "/contextToken"), "\"ctx-nodoc\"");
    assert_string_equal(get_context(&rig, NULL, "/selectionIds"), "[]");
    rig_deinit(&rig);
}

static void the_token_is_a_hash_of_document_view_revision_and_selection(void **state)
{
    static const int64_t ids[] = {1};
    const char *tokens[5];
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    tokens[0] = rig_token(&rig);
    assert_int_equal(strlen(tokens[0]), 36);
    safety_desk_changed(rig.desk, SAFETY_CHANGE_DOCUMENT);
    tokens[1] = rig_token(&rig);
    assert_int_equal(safety_desk_select(rig.desk, ids, 1), 0);
    tokens[2] = rig_token(&rig);
    rig_show_document(&rig, "G-1", "/plans/a.rvt", 12);
    tokens[3] = rig_token(&rig);
    rig_show_document(&rig, "G-2", "/plans/a.rvt", 12);
    tokens[4] = rig_token(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(tokens); i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(tokens[i], tokens[j]);
        }
    }
    rig_deinit(&rig);
}

/* ---- what is told ---- */

static void context_includes_the_drift_detection_fields(void **state)
{
    char quoted[SAFETY_TOKEN_BYTES + 2];
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    safety_desk_changed(rig.desk, SAFETY_CHANGE_DOCUMENT);
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", rig_token(&rig));
    assert_string_equal(context_of(&rig, "/method"), "\"m\"");
    assert_string_equal(context_of(&rig, "/docTitle"), "\"Plan \\\"A\\\"\"");
    assert_string_equal(context_of(&rig, "/docGuid"), "\"G-1\"");
    assert_string_equal(context_of(&rig, "/activeViewId"), "11");
    assert_string_equal(context_of(&rig, "/activeViewName"), "\"Level 1\"");
    assert_string_equal(context_of(&rig, "/activeViewType"), "\"FloorPlan\"");
    assert_string_equal(context_of(&rig, "/contextTokenVersion"), "\"ctx.v1\"");
    assert_string_equal(context_of(&rig, "/contextRevision"), "1");
    assert_string_equal(context_of(&rig, "/contextToken"), quoted);
    rig_deinit(&rig);
}

static void get_context_tells_the_selection_up_to_what_is_wanted(void **state)
{
    static const struct {
        const char *arguments;
        const char *first;
        const char *last;
        const char *is_truncated;
    } cases[] = {
        {NULL, "0", "199", "true"},
        {"{}", "0", "199", "true"},
        {"{\"maxSelectionIds\":1}", "0", "0", "true"},
        {"{\"maxSelectionIds\":0}", "0", "249", "false"},
        {"{\"maxSelectionIds\":100000}", "0", "249", "false"},
        {"{\"maxSelectionIds\":\"x\"}", "0", "199", "true"},
        {"{\"includeSelectionIds\":true}", "0", "199", "true"},
        {"{\"includeSelectionIds\":false}", "", "", "false"},
        {"{\"params\":{\"maxSelectionIds\":1}}", "0", "0", "true"},
    };
    int64_t ids[250];
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(ids); i++) {
        ids[i] = (int64_t)(249 - i);
    }
    assert_int_equal(safety_desk_select(rig.desk, ids, TW_ARRAY_SIZE(ids)), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        const char *a = cases[i].arguments;
        char pointer[64];

        (void)snprintf(pointer, sizeof(pointer), "/selectionIds/%s",
                       cases[i].last[0] == '\0' ? "0" : cases[i].last);
        assert_string_equal(get_context(&rig, a, "/selectionCount"), "250");
        assert_string_equal(get_context(&rig, a, "/selectionIds/0"), cases[i].first);
        assert_string_equal(get_context(&rig, a, pointer), cases[i].last);
        assert_string_equal(get_context(&rig, a, "/selectionIdsTruncated"), cases[i].is_truncated);
    }
    assert_string_equal(get_context(&rig, NULL, "/tokenVersion"), "\"ctx.v1\"");
    assert_string_equal(get_context(&rig, NULL, "/revision"), "1");
    assert_string_equal(get_context(&rig, NULL, "/docPath"), "\"/plans/a.rvt\"");
    rig_deinit(&rig);
}

/* ---- memory ---- */

static int desk_scenario(void *context)
{
    static const int64_t ids[] = {3, 1};
    char token[SAFETY_TOKEN_BYTES];
    SafetyDesk *desk = NULL;
    Bytes out;
    int r = safety_desk_new(&desk, &(SafetyConfig){.threshold = 0});

    (void)context;
    bytes_init(&out, 4096);
    if (r == 0) {
        r = safety_desk_show(desk, &(SafetyDocument){.guid = SPAN("\303\211"), .path = SPAN("p")});
    }
    r = r != 0 ? r : safety_desk_select(desk, ids, 2);
    r = r != 0 ? r : safety_desk_whitelist(desk, "/w", SPAN("{\"rules\":[{}]}"));
    r = r != 0 ? r : safety_desk_token(desk, token);
    r = r != 0 ? r : safety_desk_write_context(desk, SPAN("m"), &out);
    r = r != 0 ? r : safety_desk_write_get_context(desk, JSON_VALUE_NULL, &out);
    bytes_deinit(&out);
    desk = safety_desk_free(desk);
    return r;
}

static void want_of_memory_is_said_and_changes_nothing(void **state)
{
    static const int64_t ids[] = {3, 1};
    const char *token;
    SafetyRig rig;

    (void)state;
    test_oom_sweep(desk_scenario, NULL);
    rig_init(&rig);
    token = rig_token(&rig);
    alloc_testing_reset(0);
    assert_int_equal(safety_desk_select(rig.desk, ids, 2), -ENOMEM);
    assert_int_equal(safety_desk_show(rig.desk, &(SafetyDocument){.guid = SPAN("x")}), -ENOMEM);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_string_equal(rig_token(&rig), token);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_revision_is_a_counter_that_every_change_moves),
        cmocka_unit_test(what_changes_nothing_does_not_move_it),
        cmocka_unit_test(it_is_counted_for_each_document),
        cmocka_unit_test(a_document_that_was_forgotten_does_not_begin_at_its_old_tokens),
        cmocka_unit_test(without_a_document_there_is_nothing_to_change),
        cmocka_unit_test(the_token_is_a_hash_of_document_view_revision_and_selection),
        cmocka_unit_test(context_includes_the_drift_detection_fields),
        cmocka_unit_test(get_context_tells_the_selection_up_to_what_is_wanted),
        cmocka_unit_test(want_of_memory_is_said_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
