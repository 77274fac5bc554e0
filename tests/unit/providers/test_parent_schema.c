#include "providers/parent_schema.h"

#include "unit/providers/parent_rig.h"

#include "support/oom_sweep.h"

/* A tool whose description differs. */
#define OTHER(name)                                                                                \
    "{\"name\":\"" name "\",\"description\":\"e\",\"input_schema\":{\"type\":\"object\"}}"

/* Keeps the calls that it gets. */
typedef struct Keeper {
    Rig *rig;
    ParentSchema schema;
    Call *call;
    const ParentTool *tool;
} Keeper;

static void keeper_start(void *context, Call *call)
{
    const ParentTool *tool = context;
    Keeper *keeper = tool->owner;

    keeper->tool = tool;
    keeper->call = call;
}

static void keeper_cancel(void *context, Call *call)
{
    const ParentTool *tool = context;
    Keeper *keeper = tool->owner;

    assert_ptr_equal(keeper->call, call);
    keeper->call = NULL;
}

static const CallProvider keeper_provider = {.start = keeper_start, .cancel = keeper_cancel};

static void keeper_init(Keeper *keeper, Rig *rig)
{
    *keeper = (Keeper){.rig = rig};
    assert_int_equal(parent_schema_init(&keeper->schema, rig->router, rig->schema, &keeper_provider,
                                        keeper, &rig->log),
                     0);
}

static void keeper_load(Keeper *keeper, const char *text)
{
    Diag diag = DIAG_NULL;

    rig_put_schema(keeper->rig, text);
    if (parent_schema_load(&keeper->schema, &diag) != 0) {
        fail_msg("%s", diag.message);
    }
}

static void keeper_reload(Keeper *keeper, const char *text)
{
    rig_put_schema(keeper->rig, text);
    parent_schema_reload(&keeper->schema);
}

/* A tool of another provider. */
static void take_name(const Rig *rig, const char *name)
{
    char json[128];

    (void)snprintf(json, sizeof(json), "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}",
                   name);
    assert_int_equal(router_add(rig->router,
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = span_from_str(json),
                                              .provider = &keeper_provider},
                                NULL),
                     0);
}

static void what_others_write_into_a_schema_file_is_understood(void **state)
{
    Rig *rig = *state;
    Keeper keeper;

    keeper_init(&keeper, rig);
    keeper_load(&keeper, "[{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"x\":1},"
                         "{\"name\":\"b\",\"description\":null,\"input_schema\":"
                         "{\"type\":\"object\"},\"command\":\"x\",\"durable\":true}]");
    assert_tools(rig, "a b");
    assert_int_equal(rig->n_changed, 1);
    parent_schema_deinit(&keeper.schema);
    parent_schema_deinit(&keeper.schema);
    assert_tools(rig, "");
}

static void a_name_that_is_taken_is_a_mistake_of_the_file(void **state)
{
    Rig *rig = *state;
    char expected[192];
    Keeper keeper;
    Diag diag = DIAG_NULL;

    take_name(rig, "b");
    keeper_init(&keeper, rig);
    rig_put_schema(rig, "[" TOOL("a") ",\n" TOOL("b") "]");
    assert_int_equal(parent_schema_load(&keeper.schema, &diag), PARENT_SCHEMA_E_UNUSABLE);
    (void)snprintf(expected, sizeof(expected), "%s:2: [1].name: there is a tool \"b\" already",
                   rig->schema);
    assert_string_equal(diag.message, expected);
    assert_int_equal(diag.line, 2);
    assert_string_equal(diag.field, "[1].name");
    assert_tools(rig, "b"); /* the other's; a is gone again */
    assert_int_equal(keeper.schema.tools.n, 0);
    parent_schema_deinit(&keeper.schema);
}

static void what_the_router_refuses_is_named_with_its_place(void **state)
{
    Rig *rig = *state;
    Keeper keeper;
    Diag diag = DIAG_NULL;

    keeper_init(&keeper, rig);
    rig_put_schema(rig, "[" TOOL("a") ",\n{\"name\":\"b\",\"input_schema\":{\"type\":1}}]");
    assert_int_equal(parent_schema_load(&keeper.schema, &diag), PARENT_SCHEMA_E_UNUSABLE);
    assert_non_null(strstr(diag.message, "schema.json:2: [1].inputSchema"));
    assert_tools(rig, "");
    parent_schema_deinit(&keeper.schema);
}

static void a_file_that_is_not_there_is_explained(void **state)
{
    Rig *rig = *state;
    Keeper keeper;
    Diag diag = DIAG_NULL;

    keeper_init(&keeper, rig);
    assert_int_equal(parent_schema_load(&keeper.schema, &diag), PARENT_SCHEMA_E_UNUSABLE);
    assert_int_equal(diag.code, PARENT_SCHEMA_E_UNUSABLE);
    assert_non_null(strstr(diag.message, rig->schema));
    assert_non_null(strstr(diag.message, "No such file or directory"));
    parent_schema_deinit(&keeper.schema);
}

static void changes_are_made_and_told_once(void **state)
{
    Rig *rig = *state;
    Keeper keeper;
    const void *kept;

    keeper_init(&keeper, rig);
    keeper_load(&keeper, "[" TOOL("a") "," TOOL("b") "," TOOL("c") "]");
    kept = map_get(&keeper.schema.tools, SPAN("b"));
    keeper_reload(&keeper, "[" TOOL("d") "," TOOL("b") "," OTHER("c") "," TOOL("e") "]");
    assert_tools(rig, "b c d e");
    assert_int_equal(rig->n_changed, 2);
    assert_ptr_equal(map_get(&keeper.schema.tools, SPAN("b")), kept);
    assert_holds(&rig->lines, "2 tools removed, 3 added, 4 now");
    parent_schema_deinit(&keeper.schema);
}

static void a_timeout_that_changed_is_a_change(void **state)
{
    Rig *rig = *state;
    Keeper keeper;
    const ParentTool *tool;

    keeper_init(&keeper, rig);
    keeper_load(&keeper, "[" TOOL("a") "]");
    keeper_reload(&keeper, "[{\"name\":\"a\",\"description\":\"d\",\"input_schema\":"
                           "{\"type\":\"object\"},\"timeout_ms\":5}]");
    assert_tools(rig, "a");
    assert_int_equal(rig->n_changed, 2);
    tool = map_get(&keeper.schema.tools, SPAN("a"));
    assert_int_equal(tool->timeout_ms, 5);
    parent_schema_deinit(&keeper.schema);
}

static void a_file_that_says_the_same_changes_nothing(void **state)
{
    Rig *rig = *state;
    Keeper keeper;

    keeper_init(&keeper, rig);
    keeper_load(&keeper, "[" TOOL("a") "," TOOL("b") "]");
    keeper_reload(&keeper, "[ " TOOL("b") ",\n " TOOL("a") " ]");
    assert_int_equal(rig->n_changed, 1);
    assert_int_equal(rig->lines.n, 0);
    parent_schema_deinit(&keeper.schema);
}

static void a_file_with_one_mistake_changes_nothing(void **state)
{
    static const char *const broken[] = {
        "",
        "{}",
        "[" TOOL("c") ",{}]",
        "[" TOOL("c"),
        "[" TOOL("c") ",{\"name\":\"d\",\"input_schema\":{\"type\":1}}]",
    };
    Rig *rig = *state;
    Keeper keeper;

    keeper_init(&keeper, rig);
    keeper_load(&keeper, "[" TOOL("a") "," TOOL("b") "]");
    for (size_t i = 0; i < TW_ARRAY_SIZE(broken); i++) {
        bytes_clear(&rig->lines);
        keeper_reload(&keeper, broken[i]);
        assert_tools(rig, "a b");
        assert_holds(&rig->lines, "warn");
        assert_holds(&rig->lines, rig->schema);
        assert_holds(&rig->lines, "the tools stay as they were (2)");
    }
    assert_int_equal(rig->n_changed, 1);
    assert_int_equal(unlink(rig->schema), 0);
    parent_schema_reload(&keeper.schema);
    assert_tools(rig, "a b");
    rig_put_schema(rig, "[]");
    assert_int_equal(chmod(rig->schema, 0640), 0);
    parent_schema_reload(&keeper.schema);
    assert_tools(rig, "a b");
    assert_holds(&rig->lines, "chmod");
    parent_schema_deinit(&keeper.schema);
}

static void a_new_name_that_is_taken_is_left_out_until_it_is_free(void **state)
{
    Rig *rig = *state;
    Keeper keeper;

    take_name(rig, "c");
    keeper_init(&keeper, rig);
    keeper_load(&keeper, "[" TOOL("a") "]");
    keeper_reload(&keeper, "[" TOOL("a") "," TOOL("b") ",\n" TOOL("c") "]");
    assert_tools(rig, "a b c");
    assert_int_equal(keeper.schema.tools.n, 2);
    assert_holds(&rig->lines, ":2: [2].name: there is a tool \"c\" already; it is left out");
    assert_int_equal(router_remove(rig->router, ROUTER_TOOL, SPAN("c")), 0);
    parent_schema_reload(&keeper.schema);
    assert_tools(rig, "a b c");
    assert_int_equal(keeper.schema.tools.n, 3);
    parent_schema_deinit(&keeper.schema);
}

static void calls_go_on_while_their_tool_changes_and_goes(void **state)
{
    Rig *rig = *state;
    Keeper keeper;
    Asked asked;

    keeper_init(&keeper, rig);
    keeper_load(&keeper, "[" TOOL("a") "]");
    ask(&asked, rig, "a");
    assert_non_null(keeper.call);
    keeper_reload(&keeper, "[" OTHER("a") "]");
    keeper_reload(&keeper, "[]");
    assert_tools(rig, "");
    assert_true(span_equals(keeper.tool->name, SPAN("a"))); /* is still there */
    parent_schema_deinit(&keeper.schema);
    call_fail(keeper.call, CALL_ERROR_INTERNAL, SPAN("end"));
    assert_failed(&asked, CALL_ERROR_INTERNAL, "end");
    asked_forget(&asked);
}

static int load_once(void *context)
{
    Rig *rig = context;
    Keeper keeper = {.rig = rig};
    int r = router_new(&rig->router, NULL, RIG_SEED);

    if (r == 0) {
        assert_int_equal(parent_schema_init(&keeper.schema, rig->router, rig->schema,
                                            &keeper_provider, &keeper, NULL),
                         0);
        r = parent_schema_load(&keeper.schema, NULL);
        assert_true(r == 0 || keeper.schema.tools.n == 0);
        parent_schema_deinit(&keeper.schema);
    }
    rig->router = router_free(rig->router);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    Rig *rig = *state;
    Rig made = *rig;

    rig_put_schema(rig, "[" TOOL("a") "," TOOL("b") "]");
    made.router = NULL;
    test_oom_sweep(load_once, &made);
}

/* Whatever fails, each tool is there as it was, as it is, or not at all, and the next change mends
 * it. */
static void memory_that_runs_out_later_is_survived(void **state)
{
    Rig *rig = *state;
    size_t n_failures = 0;
    Keeper keeper;

    keeper_init(&keeper, rig);
    keeper_load(&keeper, "[" TOOL("a") "," TOOL("b") "]");
    for (size_t i = 0;; i++) {
        rig_put_schema(rig, i % 2 == 0 ? "[" TOOL("b") "," TOOL("c") "," OTHER("a") "]"
                                       : "[" TOOL("a") "," OTHER("b") "]");
        bytes_clear(&rig->lines);
        assert_int_equal(bytes_reserve(&rig->lines, 65536), 0);
        alloc_testing_reset(i);
        parent_schema_reload(&keeper.schema);
        n_failures = alloc_testing()->n_failed;
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_int_equal(router_count(rig->router, ROUTER_TOOL), keeper.schema.tools.n);
        if (n_failures == 0) {
            break;
        }
        assert_holds(&rig->lines, "warn");
        parent_schema_reload(&keeper.schema);
        assert_int_equal(keeper.schema.tools.n, i % 2 == 0 ? 3 : 2);
        assert_int_equal(router_count(rig->router, ROUTER_TOOL), keeper.schema.tools.n);
    }
    parent_schema_deinit(&keeper.schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(what_others_write_into_a_schema_file_is_understood),
        RIG_TEST(a_name_that_is_taken_is_a_mistake_of_the_file),
        RIG_TEST(what_the_router_refuses_is_named_with_its_place),
        RIG_TEST(a_file_that_is_not_there_is_explained),
        RIG_TEST(changes_are_made_and_told_once),
        RIG_TEST(a_timeout_that_changed_is_a_change),
        RIG_TEST(a_file_that_says_the_same_changes_nothing),
        RIG_TEST(a_file_with_one_mistake_changes_nothing),
        RIG_TEST(a_new_name_that_is_taken_is_left_out_until_it_is_free),
        RIG_TEST(calls_go_on_while_their_tool_changes_and_goes),
        RIG_TEST(memory_that_runs_out_is_reported),
        RIG_TEST(memory_that_runs_out_later_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
