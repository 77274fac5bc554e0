/* The template tools: what they take, give and refuse. */
/* nftw */
#define _XOPEN_SOURCE 700

#include "unit/providers/templates_rig.h"

#define MAKEFILE "'resource_uri':'template://makefile/rust/cli'"

/* ---- generate_template ---- */

static void a_file_is_generated_with_the_names_of_both(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "generate_template",
             "{" MAKEFILE ",'parameters':{'project_name':'my-project','has_tests':true}}");
    assert_int_equal(rig->kind, CALL_RESULT_TOOL);
    assert_false(rig->is_error);
    rig_assert_says(rig, "{\"type\":\"text\",\"text\":\"# my-project");
    rig_assert_at(rig, "/filename", "\"my-project/Makefile\"");
    rig_assert_at(rig, "/path", "\"Makefile\"");
    rig_assert_at(rig, "/toolchain", "{\"type\":\"rust\"}");
    rig_assert_at(rig, "/executable", "false");
    rig_assert_at(rig, "/mime_type", "\"text/x-makefile\"");
    rig_assert_at(rig, "/template_uri", "\"template://makefile/rust/cli\"");
    assert_true(span_equals(rig_at(rig, "/checksum"), rig_at(rig, "/sha256")));
    assert_int_equal(rig_at(rig, "/sha256").n, 66);
    /* The text is that of the structured content. */
    {
        Span content = rig_at(rig, "/content");

        assert_int_equal(strlen(rig->text),
                         sizeof("{\"type\":\"text\",\"text\":}") - 1 + content.n);
        assert_memory_equal(rig->text + sizeof("{\"type\":\"text\",\"text\":") - 1, content.p,
                            content.n);
    }
}

/* Fault 8 of the original. */
static void defaults_are_applied(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "generate_template",
             "{'resource_uri':'template://makefile/deno/cli','parameters':{'project_name':'p'}}");
    rig_assert_says(rig, "main.ts");
    rig_assert_says(rig, "--allow-read");
}

/* Fault 9: the author that is taken is printed. */
static void authors_are_printed(void **state)
{
    static const char *const uris[] = {"template://readme/deno/cli",
                                       "template://readme/python-uv/cli"};
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(uris); i++) {
        char arguments[256];

        (void)snprintf(arguments, sizeof(arguments),
                       "{'resource_uri':'%s','parameters':{'project_name':'p','author_name':'Ada "
                       "L.'}}",
                       uris[i]);
        rig_tool(rig, "generate_template", arguments);
        assert_int_equal(rig->kind, CALL_RESULT_TOOL);
        rig_assert_says(rig, "Ada L.");
    }
    rig_tool(rig, "generate_template",
             "{'resource_uri':'template://gitignore/rust/cli','parameters':{}}");
    assert_null(strstr(rig->text, "Cargo.lock\\n"));
}

/* Fault 10. */
static void values_are_not_escaped_for_html(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "generate_template",
             "{'resource_uri':'template://readme/rust/cli','parameters':{'project_name':'p',"
             "'description':'a & b < c = d'}}");
    rig_assert_says(rig, "a & b < c = d");
    assert_null(strstr(rig->text, "&amp;"));
}

/* Fault 11. */
static void every_fault_of_the_parameters_is_told(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "generate_template",
             "{" MAKEFILE
             ",'parameters':{'has_tests':'yes','projct_name':5,'features':[1,'a b']}}");
    /* For those who read only the text: a line each. */
    rig_assert_fails(
        rig, -32002,
        "Parameter validation failed: project_name - required parameter missing\n"
        "Parameter 'has_tests' must be of type boolean, not string\n"
        "Parameter 'features[0]' must be of type string, not number\n"
        "Parameter 'features[1]' does not match pattern: ^[A-Za-z0-9_][A-Za-z0-9_-]*$\n"
        "Unknown parameter: projct_name; did you mean 'project_name'?");
    rig_assert_at(rig, "/uri", "\"template://makefile/rust/cli\"");
    rig_assert_at(rig, "/missing_required", "[\"project_name\"]");
    rig_assert_at(rig, "/errors/0/parameter", "\"project_name\"");
    rig_assert_at(rig, "/errors/0/code", "\"missing\"");
    assert_false(rig_has(rig, "/errors/0/got"));
    rig_assert_at(rig, "/errors/1/parameter", "\"has_tests\"");
    rig_assert_at(rig, "/errors/1/expected", "\"boolean\"");
    rig_assert_at(rig, "/errors/1/got", "\"yes\"");
    rig_assert_at(rig, "/errors/2/parameter", "\"features[0]\"");
    rig_assert_at(rig, "/errors/3/parameter", "\"features[1]\"");
    rig_assert_at(rig, "/errors/4/parameter", "\"projct_name\"");
    rig_assert_at(rig, "/errors/4/code", "\"unknown\"");
    rig_assert_at(rig, "/errors/4/expected", "\"project_name\"");
    rig_assert_at(rig, "/errors/4/got", "5");
    rig_tool(rig, "generate_template",
             "{" MAKEFILE ",'parameters':{'project_name':'p','has_test':true}}");
    rig_assert_says(rig, "Unknown parameter: has_test; did you mean 'has_tests'?");
}

/* Members that stand beside the content are the structured content; `content` has the blocks. */
static void assert_beside(Rig *rig, const char *begins)
{
    size_t n = strlen(rig->beside);
    char *object = malloc(n + 3);

    assert_non_null(object);
    assert_true(span_starts_with(span_from_str(rig->beside), span_from_str(begins)));
    (void)snprintf(object, n + 3, "{%s}", rig->beside);
    assert_int_equal(json_kind(rig_parse(rig, object)), JSON_OBJECT);
    /* All of it but for the content of one file. */
    assert_string_equal(rig->json + strlen(rig->json) - n - 1, object + 1);
    free(object);
}

static void results_can_be_read_without_structured_content(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "generate_template", "{" MAKEFILE ",'parameters':{'project_name':'p'}}");
    assert_beside(rig, "\"filename\":\"p/Makefile\",\"path\":\"Makefile\",\"checksum\":");
    rig_tool(rig, "validate_template", "{" MAKEFILE ",'parameters':{}}");
    assert_beside(rig, "\"valid\":false,\"errors\":[{\"parameter\":\"project_name\"");
    rig_tool(rig, "list_templates", "{'toolchain':'rust'}");
    assert_beside(rig, "\"templates\":[{\"uri\":\"template://makefile/rust/cli\"");
    rig_tool(rig, "search_templates", "{'query':'makefile'}");
    assert_beside(rig, "\"templates\":[{");
    assert_non_null(strstr(rig->beside, "\"relevance\":"));
    rig_tool(rig, "scaffold_project",
             "{'toolchain':'rust','templates':['makefile'],'parameters':{'project_name':'p'}}");
    assert_beside(rig, "\"files\":[{\"template\":");
}

static void a_long_value_is_quoted_in_part(void **state)
{
    Rig *rig = *state;

    rig_tool(
        rig, "generate_template",
        "{" MAKEFILE ",'parameters':{'project_name':'p','has_tests':["
        "1111111111,2222222222,3333333333,4444444444,5555555555,6666666666,7777777777,8888]}}");
    assert_int_equal(rig->wire_code, -32002);
    assert_true(span_ends_with(rig_at(rig, "/errors/0/got"), SPAN("...\"")));
}

/* Fault 11: names that would lead elsewhere. */
static void unsafe_names_are_refused(void **state)
{
    static const char *const names[] = {"../x", "a/b", "..", "", "a\\\\b", "/etc"};
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        char arguments[256];

        (void)snprintf(arguments, sizeof(arguments),
                       "{" MAKEFILE ",'parameters':{'project_name':'%s'}}", names[i]);
        rig_tool(rig, "generate_template", arguments);
        assert_int_equal(rig->wire_code, -32002);
    }
}

/* Fault 12, and what hostile callers send. */
static void hostile_uris_are_no_uris(void **state)
{
    static const char *const uris[] = {
        "template://../../etc/passwd",
        "template://makefile/rust/..",
        "template://%2e%2e/%2e%2e/passwd",
        "template://makefile/rust/cl%69",
        "template://x/makefile/rust/cli/y",
        "template://makefile/rust/cli/",
        "template://makefile/rust/cli?x",
        "template://makefile//cli",
        "template://makefile/rust",
        "template://",
        "template:makefile/rust/cli",
        "TEMPLATE://makefile/rust/cli",
        "template://Makefile/rust/cli",
        " template://makefile/rust/cli",
        "template://makefile/rust/cli\\u0000",
        "template://makefile/rust/cl\\u00ef",
        "file:///etc/passwd",
        "/etc/passwd",
        "",
    };
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(uris); i++) {
        char arguments[256];

        (void)snprintf(arguments, sizeof(arguments), "{'resource_uri':'%s','parameters':{}}",
                       uris[i]);
        for (size_t j = 0; j < 2; j++) {
            rig_tool(rig, j == 0 ? "generate_template" : "validate_template", arguments);
            assert_int_equal(rig->kind, CALL_RESULT_ERROR);
            assert_int_equal(rig->error, CALL_ERROR_OWN);
            assert_int_equal(rig->wire_code, -32001);
            rig_assert_says(rig, "Invalid template URI: ");
        }
    }
    rig_tool(rig, "generate_template",
             "{'resource_uri':'template://../../etc/passwd','parameters':{}}");
    rig_assert_fails(rig, -32001, "Invalid template URI: template://../../etc/passwd");
}

static void an_endless_uri_is_quoted_in_part(void **state)
{
    Rig *rig = *state;
    size_t n = 500000;
    char *arguments = malloc(n + 100);

    assert_non_null(arguments);
    (void)snprintf(arguments, 100, "{'resource_uri':'template://");
    /* Two bytes each, so that the cut must not fall between them. */
    for (size_t i = 0; i < n; i += 2) {
        memcpy(arguments + 28 + i, "\xc3\xa9", 2);
    }
    memcpy(arguments + 28 + n, "','parameters':{}}", 19);
    rig_tool(rig, "generate_template", arguments);
    assert_int_equal(rig->wire_code, -32001);
    assert_true(strlen(rig->text) < 600);
    assert_true(span_ends_with(span_from_str(rig->text), SPAN("\xc3\xa9...")));
    free(arguments);
}

static void a_template_that_is_not_there_is_named(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "generate_template",
             "{'resource_uri':'template://makefile/rst/cli','parameters':{}}");
    rig_assert_fails(rig, -32000, "Template not found: template://makefile/rst/cli");
    rig_assert_at(rig, "/nearest", "\"template://makefile/rust/cli\"");
    rig_tool(rig, "validate_template",
             "{'resource_uri':'template://a/b/zzzzzzzz','parameters':{}}");
    rig_assert_fails(rig, -32000, "Template not found: template://a/b/zzzzzzzz");
    rig_tool(rig, "generate_template", "{'parameters':{}}");
    assert_int_equal(rig->error, CALL_ERROR_INVALID_ARGUMENTS);
    rig_tool(rig, "generate_template", "{" MAKEFILE ",'parameters':[]}");
    assert_int_equal(rig->error, CALL_ERROR_INVALID_ARGUMENTS);
}

static void generating_allocates_nothing_in_the_long_run(void **state)
{
    Rig *rig = *state;
    JsonValue arguments;

    for (int i = 0; i < 3; i++) {
        rig_tool(rig, "generate_template", "{" MAKEFILE ",'parameters':{'project_name':'p'}}");
    }
    arguments = rig_parse(rig, "{\"resource_uri\":\"template://makefile/rust/cli\",\"parameters\":"
                               "{\"project_name\":\"p\"}}");
    call_reset(&rig->call);
    rig_dispatch(rig, CALL_TOOL, SPAN("generate_template"), arguments);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    call_reset(&rig->call);
    rig_dispatch(rig, CALL_TOOL, SPAN("generate_template"), arguments);
    assert_int_equal(alloc_testing()->n_calls, 0);
}

/* ---- validate_template ---- */

static void validation_says_all_there_is_to_say(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "validate_template", "{" MAKEFILE ",'parameters':{'project_name':'p'}}");
    assert_string_equal(rig->text,
                        "{\"type\":\"text\",\"text\":\"Template parameters are valid\"}");
    rig_assert_at(rig, "/valid", "true");
    rig_assert_at(rig, "/errors", "[]");
    rig_assert_at(rig, "/missing_required", "[]");
    rig_assert_at(rig, "/validation_errors", "[]");
    rig_assert_at(rig, "/defaults/has_tests", "true");
    rig_assert_at(rig, "/defaults/features", "[]");
    rig_assert_at(rig, "/variables/0", "\"project_name\"");
    rig_assert_at(rig, "/template_uri", "\"template://makefile/rust/cli\"");
    rig_tool(rig, "validate_template", "{" MAKEFILE ",'parameters':{'has_test':1}}");
    assert_false(rig->is_error);
    rig_assert_says(rig, "Validation failed: 2 errors");
    rig_assert_says(rig, "project_name - required parameter missing\\n");
    rig_assert_says(rig, "Unknown parameter: has_test; did you mean 'has_tests'?\"");
    rig_assert_at(rig, "/valid", "false");
    rig_assert_at(rig, "/errors/1/code", "\"unknown\"");
    rig_assert_at(rig, "/missing_required", "[\"project_name\"]");
    rig_assert_at(rig, "/validation_errors", "[\"Unknown parameter: has_test\"]");
    /* Those that apply, though not all is well. */
    rig_assert_at(rig, "/defaults/has_tests", "true");
    rig_assert_at(rig, "/defaults/features", "[]");
    rig_assert_at(rig, "/errors_total", "2");
    rig_tool(rig, "validate_template", "{" MAKEFILE ",'parameters':{}}");
    rig_assert_says(rig, "Validation failed: 1 error\"");
}

/* A call with more faults than are told. */
static void call_with_many_faults(Rig *rig, const char *tool, const char *arguments)
{
    char *json = malloc(1 << 16);
    size_t n;

    assert_non_null(json);
    n = (size_t)snprintf(json, 1 << 16, "%s", arguments);
    for (int i = 0; i < 150; i++) {
        n += (size_t)snprintf(json + n, (1 << 16) - n, ",'nobody%d':1", i);
    }
    (void)snprintf(json + n, (1 << 16) - n, "}}");
    rig_tool(rig, tool, json);
    free(json);
}

static void faults_that_are_not_told_are_counted(void **state)
{
    Rig *rig = *state;

    call_with_many_faults(rig, "validate_template", "{" MAKEFILE ",'parameters':{'project_name':1");
    rig_assert_says(rig, "Validation failed: 151 errors");
    rig_assert_says(rig, "\\nand 51 more\"}");
    rig_assert_at(rig, "/errors_total", "151");
    assert_true(rig_has(rig, "/errors/99"));
    assert_false(rig_has(rig, "/errors/100"));
    call_with_many_faults(rig, "generate_template", "{" MAKEFILE ",'parameters':{'project_name':1");
    assert_int_equal(rig->wire_code, TEMPLATES_ERROR_PARAMETERS);
    rig_assert_says(rig, "\nand 51 more");
    rig_assert_at(rig, "/errors_total", "151");
    call_with_many_faults(
        rig, "scaffold_project",
        "{'toolchain':'rust','templates':['makefile'],'parameters':{'has_tests':1");
    /* Of each template some lines; the rest is in the structured content. */
    rig_assert_says(rig, "\\nand 132 more\"}");
    rig_assert_at(rig, "/errors/0/errors_total", "152");
}

/* ---- list_templates, search_templates ---- */

static void lists_are_filtered_and_in_order(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "list_templates", "{}");
    rig_assert_at(rig, "/templates/0/uri", "\"template://makefile/rust/cli\"");
    rig_assert_at(rig, "/templates/1/uri", "\"template://readme/rust/cli\"");
    rig_assert_at(rig, "/templates/2/uri", "\"template://gitignore/rust/cli\"");
    rig_assert_at(rig, "/templates/0/toolchain", "{\"type\":\"rust\"}");
    rig_assert_at(rig, "/templates/0/parameters_schema/required", "[\"project_name\"]");
    assert_true(rig_has(rig, "/templates/40"));
    assert_false(rig_has(rig, "/next_offset"));
    rig_tool(rig, "list_templates", "{'toolchain':'deno','category':'makefile'}");
    rig_assert_says(rig, "{\"type\":\"text\",\"text\":\"Found 1 template\"}");
    rig_assert_says(rig, "template://makefile/deno/cli");
    rig_assert_at(rig, "/count", "1");
    rig_assert_at(rig, "/templates/0/name", "\"Deno TypeScript CLI Application Makefile\"");
    rig_tool(rig, "list_templates", "{'toolchain':'cobol'}");
    assert_string_equal(rig->text, "{\"type\":\"text\",\"text\":\"Found 0 templates\"}");
    rig_assert_at(rig, "/templates", "[]");
    rig_tool(rig, "list_templates", "{'toolchain':'rust','offset':1,'limit':1}");
    rig_assert_at(rig, "/templates/0/uri", "\"template://readme/rust/cli\"");
    rig_assert_at(rig, "/count", "1");
    rig_assert_at(rig, "/next_offset", "2");
}

static void a_search_has_the_best_first(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "search_templates", "{'query':'Rust CLI Makefile'}");
    rig_assert_says(rig, "templates matching 'Rust CLI Makefile'");
    rig_assert_at(rig, "/query", "\"Rust CLI Makefile\"");
    rig_assert_at(rig, "/templates/0/uri", "\"template://makefile/rust/cli\"");
    assert_true(rig_has(rig, "/templates/0/relevance"));
    assert_true(rig_has(rig, "/templates/0/parameters_schema"));
    rig_tool(rig, "search_templates", "{'query':'makefile','toolchain':'deno','limit':1}");
    rig_assert_at(rig, "/templates/0/uri", "\"template://makefile/deno/cli\"");
    rig_assert_at(rig, "/count", "1");
    rig_tool(rig, "search_templates", "{'query':'qqqqqq'}");
    rig_assert_says(rig, "Found 0 templates matching 'qqqqqq'");
    rig_tool(rig, "search_templates", "{}");
    assert_int_equal(rig->error, CALL_ERROR_INVALID_ARGUMENTS);
}

/* Fault 14: equal relevance, equal order. */
static void a_search_gives_the_same_order_each_time(void **state)
{
    Rig *rig = *state;
    char *first;

    rig_tool(rig, "search_templates", "{'query':''}");
    first = strdup(rig->json);
    rig_close(rig);
    assert_int_equal(rig_open(rig, NULL, NULL), 0);
    rig_tool(rig, "search_templates", "{'query':''}");
    assert_string_equal(rig->json, first);
    free(first);
    router_listen(rig->router, &rig->listener);
}

/* ---- want of memory ---- */

/* A call on a new provider, so that its storage must grow; the provider itself is given memory. */
static void one_call_fails_well(Rig *rig, const char *tool, const char *arguments)
{
    for (size_t n = 0;; n++) {
        JsonValue parsed;
        size_t n_failed;

        rig_close(rig);
        assert_int_equal(rig_open(rig, NULL, rig->root), 0);
        arena_reset(&rig->arena, 1 << 20);
        parsed = rig_parse(rig, arguments);
        call_reset(&rig->call);
        alloc_testing_reset(n);
        rig_dispatch(rig, CALL_TOOL, span_from_str(tool), parsed);
        n_failed = alloc_testing()->n_failed;
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        if (n_failed == 0) {
            assert_int_equal(rig->kind, CALL_RESULT_TOOL);
            break;
        }
        assert_true(rig->kind == CALL_RESULT_TOOL || rig->error == CALL_ERROR_INTERNAL);
    }
}

static void calls_without_memory_end_in_an_error(void **state)
{
    Rig *rig = *state;

    one_call_fails_well(rig, "generate_template",
                        "{\"resource_uri\":\"template://makefile/rust/cli\",\"parameters\":{"
                        "\"project_name\":\"p\\u0061\"}}");
    one_call_fails_well(rig, "validate_template",
                        "{\"resource_uri\":\"template://makefile/rust/cli\",\"parameters\":{"
                        "\"project_name\":5}}");
    one_call_fails_well(rig, "list_templates", "{\"toolchain\":\"c\"}");
    one_call_fails_well(rig, "search_templates", "{\"query\":\"makefile\"}");
    one_call_fails_well(rig, "scaffold_project",
                        "{\"toolchain\":\"rust\",\"templates\":[\"makefile\",\"nope\"],"
                        "\"parameters\":{\"project_name\":\"p\"},\"write_to\":\"x\"}");
    router_listen(rig->router, &rig->listener);
}

/* Not each of many thousand allocations. */
static void making_it_without_memory_leaves_nothing(void **state)
{
    Rig *rig = *state;
    int r = -ENOMEM;

    rig_close(rig);
    for (size_t n = 0; r == -ENOMEM; n += 61) {
        alloc_testing_reset(n);
        r = rig_open(rig, NULL, rig->root);
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        rig_close(rig);
    }
    assert_int_equal(r, 0);
    assert_int_equal(rig_open(rig, NULL, NULL), 0);
    router_listen(rig->router, &rig->listener);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_file_is_generated_with_the_names_of_both),
        CASE(defaults_are_applied),
        CASE(authors_are_printed),
        CASE(values_are_not_escaped_for_html),
        CASE(every_fault_of_the_parameters_is_told),
        CASE(results_can_be_read_without_structured_content),
        CASE(a_long_value_is_quoted_in_part),
        CASE(unsafe_names_are_refused),
        CASE(hostile_uris_are_no_uris),
        CASE(an_endless_uri_is_quoted_in_part),
        CASE(a_template_that_is_not_there_is_named),
        CASE(generating_allocates_nothing_in_the_long_run),
        CASE(validation_says_all_there_is_to_say),
        CASE(faults_that_are_not_told_are_counted),
        CASE(lists_are_filtered_and_in_order),
        CASE(a_search_has_the_best_first),
        CASE(a_search_gives_the_same_order_each_time),
        CASE(calls_without_memory_end_in_an_error),
        CASE(making_it_without_memory_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
