/* What a name says about a command, and what its arguments say about its safety. */
#include "unit/router/safety/safety_rig.h"

#include "router/safety/arguments.h"
#include "router/safety/kind.h"

static SafetyCommand named(const char *name)
{
    return (SafetyCommand){.method = span_from_str(name)};
}

static void a_name_says_whether_it_writes(void **state)
{
    static const char *const reads[] = {
        "get_walls", "list_views",  "find_x",     "search_x",    "describe_x",   "audit_x",
        "validate_", "diff_models", "snapshot_x", "ping_server", "revit_status", "sheet.list",
        "GET_WALLS", "help.get_x",  " get_x ",    "status",      "ping",         "queue.status",
    };
    static const char *const writes[] = {
        "move_walls", "create_x", "getwalls",  "get_walls.apply", "",          "statuses",
        "delete_x",   "set_x",    "listing_x", "pinger",          "wall.move",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(reads); i++) {
        SafetyCommand command = named(reads[i]);

        if (safety_is_write(&command) || safety_is_risky(&command)) {
            fail_msg("%s", reads[i]);
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(writes); i++) {
        SafetyCommand command = named(writes[i]);

        if (!safety_is_write(&command)) {
            fail_msg("%s", writes[i]);
        }
    }
}

static void a_name_says_whether_it_destroys(void **state)
{
    static const char *const risky[] = {"delete_walls", "remove_x",         "reset_x",    "clear_x",
                                        "purge_x",      "element.delete_x", "wall.delete"};
    static const char *const safe[] = {"move_walls", "undelete_x", "deleted", "create_x"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(risky); i++) {
        SafetyCommand command = named(risky[i]);

        assert_true(safety_is_risky(&command));
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(safe); i++) {
        SafetyCommand command = named(safe[i]);

        assert_false(safety_is_risky(&command));
    }
}

static void what_the_description_says_counts_more_than_the_name(void **state)
{
    SafetyCommand command = named("delete_walls");

    (void)state;
    command.is_read_only = true;
    assert_false(safety_is_write(&command));
    assert_false(safety_is_risky(&command));
    command = named("delete_walls");
    command.is_not_destructive = true;
    assert_true(safety_is_write(&command));
    assert_false(safety_is_risky(&command));
    command = named("get_walls");
    command.is_writing = true;
    assert_true(safety_is_write(&command));
    assert_false(safety_is_risky(&command));
    command.is_destructive = true;
    assert_true(safety_is_risky(&command));
    /* What only reads destroys nothing. */
    command = named("get_walls");
    command.is_destructive = true;
    assert_false(safety_is_risky(&command));
}

static void the_leaf_is_what_stands_behind_the_last_dot(void **state)
{
    (void)state;
    assert_true(span_equals(safety_leaf(SPAN(" a.b.c ")), SPAN("c")));
    assert_true(span_equals(safety_leaf(SPAN("c")), SPAN("c")));
    assert_int_equal(safety_leaf(SPAN("a.")).n, 0);
    assert_true(safety_is_get_context(SPAN("help.GET_context")));
    assert_false(safety_is_get_context(SPAN("get_context.x")));
}

/* These flags ask for caution: in doubt they are set. */
static void a_flag_is_set_unless_it_says_no(void **state)
{
    static const char *const set[] = {"true", "1",  "\"true\"", "\"yes\"", "\"huh\"",
                                      "{}",   "[]", "2",        "0.5",     "-1"};
    static const char *const unset[] = {"false",   "0",     "\"false\"", "\"0\"", "\"no\"",
                                        "\"OFF\"", "\" \"", "\"\"",      "0.0",   "null"};
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(set) + TW_ARRAY_SIZE(unset); i++) {
        bool is_set = i < TW_ARRAY_SIZE(set);
        char text[64];
        SafetyScopes scopes;

        (void)snprintf(text, sizeof(text), "{\"dryRun\":%s}",
                       is_set ? set[i] : unset[i - TW_ARRAY_SIZE(set)]);
        scopes = safety_scopes(rig_parse(&rig, text));
        if (safety_flag(&scopes, safety_names_dry_run) != is_set) {
            fail_msg("%s", text);
        }
        (void)snprintf(text, sizeof(text), "{\"params\":{\"dry_run\":%s}}",
                       is_set ? set[i] : unset[i - TW_ARRAY_SIZE(set)]);
        scopes = safety_scopes(rig_parse(&rig, text));
        assert_int_equal(safety_flag(&scopes, safety_names_dry_run), is_set);
    }
    rig_deinit(&rig);
}

static void of_several_members_the_outermost_and_the_last_count(void **state)
{
    static const char *const names[] = {"a", "b", NULL};
    SafetyScopes scopes;
    JsonValue value;
    SafetyRig rig;

    (void)state;
    rig_init(&rig);
    scopes = safety_scopes(
        rig_parse(&rig, "{\"b\":1,\"A\":2,\"a\":3,\"params\":{\"a\":4},\"c\":{\"params\":{}}}"));
    assert_int_equal(scopes.n, 2);
    assert_true(safety_find(&scopes, names, false, &value));
    assert_true(span_equals(json_span(value), SPAN("3")));
    scopes = safety_scopes(rig_parse(&rig, "{\"a\":null,\"params\":{\"a\":4}}"));
    assert_true(safety_find(&scopes, names, true, &value));
    assert_true(span_equals(json_span(value), SPAN("4")));
    assert_true(safety_find(&scopes, names, false, &value));
    assert_int_equal(json_kind(value), JSON_NULL);
    assert_int_equal(safety_scopes(rig_parse(&rig, "[]")).n, 0);
    assert_int_equal(safety_scopes(rig_parse(&rig, "{\"params\":[]}")).n, 1);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_says_whether_it_writes),
        cmocka_unit_test(a_name_says_whether_it_destroys),
        cmocka_unit_test(what_the_description_says_counts_more_than_the_name),
        cmocka_unit_test(the_leaf_is_what_stands_behind_the_last_dot),
        cmocka_unit_test(a_flag_is_set_unless_it_says_no),
        cmocka_unit_test(of_several_members_the_outermost_and_the_last_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
