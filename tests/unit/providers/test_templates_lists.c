/* Templates as resources and prompts, completion, and folders that change. */
/* nftw */
#define _XOPEN_SOURCE 700

#include "unit/providers/templates_rig.h"

#define URI_TEMPLATE "template://{category}/{toolchain}/{variant}"
#define PROMPT       "scaffold-rust-project"
#define MINE         "template://makefile/mine/cli"
#define MANIFEST(description)                                                                      \
    "{\"templates\":[{\"uri\":\"" MINE "\",\"name\":\"Mine\",\"description\":\"" description       \
    "\",\"file\":\"x.hbs\",\"output\":\"out\",\"parameters\":[{\"name\":\"project_name\","         \
    "\"type\":\"string\"}]}]}"

static void assert_values(const Rig *rig, const char *values)
{
    assert_int_equal(rig->kind, CALL_RESULT_COMPLETION);
    assert_string_equal(rig->text, values);
}

static void prompt(Rig *rig, const char *name, const char *arguments)
{
    arena_reset(&rig->arena, 0);
    call_reset(&rig->call);
    rig_dispatch(rig, CALL_PROMPT, span_from_str(name), rig_parse(rig, arguments));
}

/* ---- resources ---- */

static void every_template_is_a_resource(void **state)
{
    Rig *rig = *state;

    assert_true(router_count(rig->router, ROUTER_RESOURCE) >= 40);
    assert_int_equal(router_count(rig->router, ROUTER_TOOL), 5);
    assert_int_equal(router_count(rig->router, ROUTER_TEMPLATE), 1);
    rig_read(rig, SPAN("template://makefile/rust/cli"));
    assert_int_equal(rig->kind, CALL_RESULT_RESOURCE);
    rig_assert_says(rig, "\"uri\":\"template://makefile/rust/cli\"");
    rig_assert_says(rig, "\"mimeType\":\"text/x-makefile\"");
    rig_assert_says(rig, "{{project_name}}");
}

static void uris_that_are_none_are_told_so(void **state)
{
    static const char *const uris[] = {"template://../../etc/passwd",
                                       "template://%2e%2e/a/b",
                                       "template://a/b/c/d",
                                       "template://",
                                       "template://a",
                                       "template://A/b/c"};
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(uris); i++) {
        char message[128];

        rig_read(rig, span_from_str(uris[i]));
        (void)snprintf(message, sizeof(message), "Invalid template URI: %s", uris[i]);
        rig_assert_fails(rig, -32001, message);
    }
    rig_read(rig, span_make("template://a/b/c\0d", 18));
    assert_int_equal(rig->wire_code, -32001);
    rig_read(rig, SPAN("template://a/b/cc"));
    rig_assert_fails(rig, -32000, "Template not found: template://a/b/cc");
    rig_read(rig, SPAN("file:///etc/passwd"));
    assert_int_equal(rig->error, CALL_ERROR_UNKNOWN_RESOURCE);
}

static void parts_of_the_uri_are_completed(void **state)
{
    Rig *rig = *state;

    rig_complete(rig, false, URI_TEMPLATE, "category", "mak", NULL);
    assert_values(rig, "\"makefile\"");
    assert_int_equal(rig->total, 1);
    rig_complete(rig, false, URI_TEMPLATE, "toolchain", "", "{\"category\":\"makefile\"}");
    rig_assert_says(rig, "\"rust\",\"deno\",\"python-uv\"");
    rig_complete(rig, false, URI_TEMPLATE, "toolchain", "PY", NULL);
    rig_assert_says(rig, "\"python-uv\"");
    assert_null(strstr(rig->text, "rust"));
    rig_complete(rig, false, URI_TEMPLATE, "variant", "",
                 "{\"category\":\"makefile\",\"toolchain\":\"rust\"}");
    assert_values(rig, "\"cli\"");
    rig_complete(rig, false, URI_TEMPLATE, "category", "", "{\"toolchain\":\"cobol\"}");
    assert_values(rig, "");
    assert_int_equal(rig->total, 0);
    rig_complete(rig, false, URI_TEMPLATE, "nothing", "", NULL);
    assert_int_equal(rig->kind, CALL_RESULT_ERROR);
}

/* ---- prompts ---- */

static void a_prompt_says_what_to_call(void **state)
{
    Rig *rig = *state;

    assert_true(router_count(rig->router, ROUTER_PROMPT) >= 8);
    prompt(rig, PROMPT, "{\"project_name\":\"demo\",\"has_tests\":\"false\"}");
    assert_int_equal(rig->kind, CALL_RESULT_PROMPT);
    rig_assert_says(rig, "\"role\":\"user\"");
    rig_assert_says(rig, "Scaffold a rust project named demo");
    rig_assert_says(rig, "scaffold_project");
    rig_assert_says(rig, "\\\"toolchain\\\": \\\"rust\\\"");
    rig_assert_says(rig, "\\\"project_name\\\": \\\"demo\\\"");
    rig_assert_says(rig, "\\\"has_tests\\\": false"); /* a boolean, not the text */
    rig_assert_says(rig, "ask me for these parameters: description.");
    prompt(rig, PROMPT,
           "{\"project_name\":\"demo\",\"templates\":\"gitignore\",\"description\":\"d\"}");
    rig_assert_says(rig, "- gitignore: Rust CLI .gitignore");
    /* No template of these has it. */
    assert_null(strstr(rig->text, "\\\"description\\\": \\\"d\\\""));
    assert_null(strstr(rig->text, "- makefile"));
    /* Which every project has. */
    rig_assert_says(rig, "\\\"project_name\\\": \\\"demo\\\"");
    prompt(rig, PROMPT, "{}");
    assert_int_equal(rig->error, CALL_ERROR_INVALID_ARGUMENTS);
    /* A form that was not filled in. */
    prompt(rig, PROMPT, "{\"project_name\":\"demo\",\"has_tests\":\"\",\"templates\":\"\"}");
    assert_int_equal(rig->kind, CALL_RESULT_PROMPT);
    assert_null(strstr(rig->text, "\\\"has_tests\\\": \\\"\\\""));
}

static void assert_prompt_refuses(Rig *rig, const char *arguments, const char *path,
                                  const char *words)
{
    prompt(rig, PROMPT, arguments);
    assert_int_equal(rig->kind, CALL_RESULT_ERROR);
    assert_int_equal(rig->error, CALL_ERROR_INVALID_ARGUMENTS);
    rig_assert_says(rig, words);
    rig->structured = rig_parse(rig, rig->json);
    rig_assert_at(rig, "/0/path", path);
}

static void values_of_a_prompt_are_checked(void **state)
{
    Rig *rig = *state;

    assert_prompt_refuses(rig, "{\"project_name\":\"../x\"}", "\"/project_name\"",
                          "'project_name'");
    assert_prompt_refuses(rig, "{\"project_name\":\"\"}", "\"/project_name\"", "'project_name'");
    assert_prompt_refuses(rig, "{\"project_name\":\"demo\",\"has_tests\":\"maybe\"}",
                          "\"/has_tests\"", "'has_tests' must be true or false");
    assert_prompt_refuses(rig, "{\"project_name\":\"demo\",\"has_test\":\"true\"}", "\"/has_test\"",
                          "Unknown parameter: has_test; did you mean 'has_tests'?");
    /* Also where no chosen template has the parameter. */
    assert_prompt_refuses(rig, "{\"project_name\":\"a/b\",\"templates\":\"gitignore\"}",
                          "\"/project_name\"", "'project_name'");
    assert_prompt_refuses(
        rig, "{\"project_name\":\"demo\",\"templates\":\"gitignore\",\"has_tests\":\"maybe\"}",
        "\"/has_tests\"", "'has_tests'");
    /* All of it at once. */
    assert_prompt_refuses(rig, "{\"project_name\":\"../x\",\"has_tests\":\"maybe\",\"q\":\"1\"}",
                          "\"/project_name\"", "; Parameter 'has_tests'");
    assert_non_null(strstr(rig->json, "{\"path\":\"/has_tests\""));
    assert_non_null(strstr(rig->json, "{\"path\":\"/q\""));
}

static void names_in_a_prompt_are_those_of_templates(void **state)
{
    Rig *rig = *state;

    assert_prompt_refuses(rig, "{\"project_name\":\"demo\",\"templates\":\"gitignore, nope\"}",
                          "\"/templates\"", "templates: there is no 'nope' for rust");
    assert_prompt_refuses(rig, "{\"project_name\":\"demo\",\"templates\":\"ci,../x,ci/cli\"}",
                          "\"/templates\"",
                          "templates: there is no '../x' for rust; "
                          "templates: 'ci/cli' is named twice");
    assert_non_null(strstr(rig->json, "},{\"path\":\"/templates\""));
}

/* As the command line has it: what is made builds. */
static void a_prompt_without_a_choice_has_every_category(void **state)
{
    static const char *const names[] = {"makefile", "readme",       "gitignore",  "build",
                                        "ci",       "contributing", "dockerfile", "dockerignore",
                                        "format",   "license",      "source",     "tests"};
    Rig *rig = *state;
    char line[64];

    prompt(rig, PROMPT, "{\"project_name\":\"demo\"}");
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        (void)snprintf(line, sizeof(line), "\\n- %s: Rust CLI", names[i]);
        rig_assert_says(rig, line);
        (void)snprintf(line, sizeof(line), "\\\"%s\\\"", names[i]);
        rig_assert_says(rig, line);
    }
    /* Of a category with variants one. */
    assert_null(strstr(strstr(rig->text, "\\n- license") + 1, "\\n- license"));
}

/* What two templates of a project take may differ. */
static void values_of_a_prompt_are_checked_for_each_template(void **state)
{
    Rig *rig = *state;

    rig_put(rig, "toolwire/templates/manifest.json",
            "{\"templates\":["
            "{\"uri\":\"template://makefile/rust/cli\",\"name\":\"A\",\"file\":\"x.hbs\","
            "\"output\":\"a\",\"parameters\":[{\"name\":\"level\",\"type\":\"integer\"}]},"
            "{\"uri\":\"template://readme/rust/cli\",\"name\":\"B\",\"file\":\"x.hbs\","
            "\"output\":\"b\",\"parameters\":[{\"name\":\"level\",\"type\":\"integer\","
            "\"maximum\":5}]}]}");
    rig_put(rig, "toolwire/templates/x.hbs", "{{level}}");
    assert_int_equal(templates_refresh(rig->templates), 0);
    prompt(rig, PROMPT, "{\"project_name\":\"demo\",\"level\":\"5\"}");
    assert_int_equal(rig->kind, CALL_RESULT_PROMPT);
    rig_assert_says(rig, "\\\"level\\\": 5");
    assert_prompt_refuses(rig, "{\"project_name\":\"demo\",\"level\":\"6\"}", "\"/level\"",
                          "Parameter 'level' must be at most 5");
}

static void a_prompt_without_memory_ends_in_an_error(void **state)
{
    Rig *rig = *state;

    for (size_t n = 0;; n++) {
        JsonValue arguments;
        size_t n_failed;

        rig_close(rig);
        assert_int_equal(rig_open(rig, NULL, NULL), 0);
        arena_reset(&rig->arena, 1 << 20);
        arguments = rig_parse(rig, "{\"project_name\":\"d\\u0065mo\",\"has_tests\":\"true\"}");
        call_reset(&rig->call);
        alloc_testing_reset(n);
        rig_dispatch(rig, CALL_PROMPT, SPAN(PROMPT), arguments);
        n_failed = alloc_testing()->n_failed;
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        if (n_failed == 0) {
            assert_int_equal(rig->kind, CALL_RESULT_PROMPT);
            break;
        }
        assert_true(rig->kind == CALL_RESULT_PROMPT || rig->error == CALL_ERROR_INTERNAL);
    }
    router_listen(rig->router, &rig->listener);
}

static void arguments_of_prompts_are_completed(void **state)
{
    Rig *rig = *state;

    rig_complete(rig, true, PROMPT, "templates", "mak", NULL);
    assert_values(rig, "\"makefile\"");
    rig_complete(rig, true, PROMPT, "templates", "makefile,rea", NULL);
    assert_values(rig, "\"makefile,readme\"");
    rig_complete(rig, true, PROMPT, "has_tests", "", NULL);
    assert_values(rig, "\"true\",\"false\"");
    rig_complete(rig, true, PROMPT, "project_name", "x", NULL);
    assert_values(rig, "");
    rig_complete(rig, true, PROMPT, "license", "", NULL);
    assert_values(rig, "\"MIT\"");
}

/* ---- folders that change ---- */

static void folders_are_read_again_when_they_change(void **state)
{
    Rig *rig = *state;
    size_t n = router_count(rig->router, ROUTER_RESOURCE);

    assert_int_equal(templates_refresh(rig->templates), 0);
    assert_int_equal(rig->n_changed[ROUTER_RESOURCE], 0);
    rig_put(rig, "toolwire/templates/mine/manifest.json", MANIFEST("d"));
    rig_put(rig, "toolwire/templates/mine/x.hbs", "one {{project_name}}");
    assert_int_equal(templates_refresh(rig->templates), 0);
    assert_int_equal(rig->n_changed[ROUTER_RESOURCE], 1);
    assert_int_equal(rig->n_changed[ROUTER_PROMPT], 1);
    assert_int_equal(rig->n_changed[ROUTER_TOOL], 0);
    assert_int_equal(router_count(rig->router, ROUTER_RESOURCE), n + 1);
    rig_tool(rig, "generate_template",
             "{'resource_uri':'" MINE "','parameters':{'project_name':'p'}}");
    assert_string_equal(rig->text, "{\"type\":\"text\",\"text\":\"one p\"}");
    rig_tool(rig, "list_templates", "{'toolchain':'mine'}");
    rig_assert_at(rig, "/count", "1");
    prompt(rig, "scaffold-mine-project", "{\"project_name\":\"p\"}");
    assert_int_equal(rig->kind, CALL_RESULT_PROMPT);
}

/* The text alone is no change of a list, but of a resource. */
static void stop_on_change(RouterListener *listener, RouterKind kind)
{
    Rig *rig = (Rig *)((char *)listener - offsetof(Rig, listener));

    rig->n_changed[kind]++;
    io_loop_stop(rig->loop);
}

/* Nobody asks for it here: the clock does. */
static void changes_are_noticed_by_the_clock(void **state)
{
    Rig *rig = *state;

    rig->listener.changed = stop_on_change;
    rig_put(rig, "toolwire/templates/mine/manifest.json", MANIFEST("d"));
    rig_put(rig, "toolwire/templates/mine/x.hbs", "one {{project_name}}");
    io_loop_hold(rig->loop);
    assert_int_equal(io_loop_run(rig->loop), 0);
    io_loop_release(rig->loop);
    assert_int_equal(rig->n_changed[ROUTER_RESOURCE], 1);
}

static void another_text_is_an_update(void **state)
{
    Rig *rig = *state;

    rig_put(rig, "toolwire/templates/manifest.json", MANIFEST("d"));
    rig_put(rig, "toolwire/templates/x.hbs", "one");
    assert_int_equal(templates_refresh(rig->templates), 0);
    rig->n_updated = 0;
    rig_put(rig, "toolwire/templates/x.hbs", "two");
    assert_int_equal(templates_refresh(rig->templates), 0);
    assert_int_equal(rig->n_changed[ROUTER_RESOURCE], 1); /* from before */
    assert_int_equal(rig->n_updated, 1);
    rig_read(rig, SPAN(MINE));
    rig_assert_says(rig, "\"text\":\"two\"");
    rig_put(rig, "toolwire/templates/manifest.json", MANIFEST("other words"));
    assert_int_equal(templates_refresh(rig->templates), 0);
    assert_int_equal(rig->n_changed[ROUTER_RESOURCE], 2);
    rig_tool(rig, "list_templates", "{'toolchain':'mine'}");
    rig_assert_at(rig, "/templates/0/description", "\"other words\"");
}

static void what_goes_is_gone_and_what_is_bad_is_left_out(void **state)
{
    Rig *rig = *state;
    size_t n = router_count(rig->router, ROUTER_RESOURCE);
    char path[256];

    rig_put(rig, "toolwire/templates/manifest.json", MANIFEST("d"));
    rig_put(rig, "toolwire/templates/x.hbs", "one");
    assert_int_equal(templates_refresh(rig->templates), 0);
    assert_int_equal(router_count(rig->router, ROUTER_RESOURCE), n + 1);
    rig_put(rig, "toolwire/templates/x.hbs", "{{#if}}");
    assert_int_equal(templates_refresh(rig->templates), 0);
    assert_int_equal(router_count(rig->router, ROUTER_RESOURCE), n);
    rig_read(rig, SPAN(MINE));
    rig_assert_fails(rig, -32000, "Template not found: " MINE);
    rig_put(rig, "toolwire/templates/x.hbs", "three");
    assert_int_equal(templates_refresh(rig->templates), 0);
    assert_int_equal(router_count(rig->router, ROUTER_RESOURCE), n + 1);
    (void)snprintf(path, sizeof(path), "%s/toolwire", rig->folder);
    assert_int_equal(nftw(path, rig_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(templates_refresh(rig->templates), 0);
    assert_int_equal(router_count(rig->router, ROUTER_RESOURCE), n);
}

static void a_named_folder_that_goes_leaves_what_was_there(void **state)
{
    Rig *rig = *state;
    char folder[128];
    char away[128];
    const char *const folders[] = {folder, NULL};

    (void)snprintf(folder, sizeof(folder), "%s/named", rig->folder);
    (void)snprintf(away, sizeof(away), "%s/away", rig->folder);
    rig_put(rig, "named/manifest.json", MANIFEST("d"));
    rig_put(rig, "named/x.hbs", "one");
    rig_close(rig);
    assert_int_equal(rig_open(rig, folders, NULL), 0);
    router_listen(rig->router, &rig->listener);
    assert_int_equal(rename(folder, away), 0);
    assert_int_equal(templates_refresh(rig->templates), 0);
    rig_read(rig, SPAN(MINE));
    assert_int_equal(rig->kind, CALL_RESULT_RESOURCE);
    rig_close(rig);
    assert_int_equal(rig_open(rig, folders, NULL), TEMPLATES_E_FOLDER);
    rig_close(rig);
    assert_int_equal(rig_open(rig, NULL, NULL), 0);
    router_listen(rig->router, &rig->listener);
}

static void a_name_that_is_taken_is_left_alone(void **state)
{
    static const CallProvider none = {.start = NULL};
    Rig *rig = *state;
    Templates *second = NULL;
    Router *router = NULL;
    Diag diag = DIAG_NULL;

    assert_int_equal(router_new(&router, NULL, (HashSeed){1, 2}), 0);
    assert_int_equal(router_add(router,
                                &(RouterSpec){.kind = ROUTER_RESOURCE,
                                              .json = SPAN("{\"uri\":\"template://makefile/rust/"
                                                           "cli\",\"name\":\"other\"}"),
                                              .provider = &none},
                                NULL),
                     0);
    assert_int_equal(
        templates_new(&second, &(TemplatesConfig){.router = router, .loop = rig->loop}, NULL), 0);
    second = templates_free(second);
    assert_int_equal(router_count(router, ROUTER_RESOURCE), 1); /* not ours, and still there */
    assert_int_equal(router_count(router, ROUTER_TOOL), 0);
    assert_int_equal(router_count(router, ROUTER_PROMPT), 0);
    assert_int_equal(
        router_add(router,
                   &(RouterSpec){.kind = ROUTER_TOOL,
                                 .json = SPAN("{\"name\":\"list_templates\","
                                              "\"inputSchema\":{\"type\":\"object\"}}"),
                                 .provider = &none},
                   NULL),
        0);
    assert_int_equal(
        templates_new(&second, &(TemplatesConfig){.router = router, .loop = rig->loop}, &diag),
        TEMPLATES_E_EXISTS);
    assert_non_null(strstr(diag.message, "list_templates"));
    assert_int_equal(router_count(router, ROUTER_TOOL), 1);
    (void)router_free(router);
}

/* So many that the list needs several answers. */
static void thousands_of_templates_come_in_several_answers(void **state)
{
    Rig *rig = *state;
    size_t n = 10000;
    Bytes manifest;

    bytes_init(&manifest, (size_t)16 << 20);
    assert_int_equal(bytes_append_format(&manifest, "{\"templates\":["), 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(
            bytes_append_format(
                &manifest,
                "%s{\"uri\":\"template://c%zu/many/cli\",\"name\":\"Number %zu\","
                "\"file\":\"x.hbs\",\"output\":\"out\",\"description\":\"%0400d\",\"parameters\":[{"
                "\"name\":\"project_name\",\"type\":\"string\"}]}",
                i == 0 ? "" : ",", i, i, 0),
            0);
    }
    assert_int_equal(bytes_append(&manifest, "]}", 3), 0);
    rig_put(rig, "toolwire/templates/manifest.json", manifest.data);
    bytes_deinit(&manifest);
    rig_put(rig, "toolwire/templates/x.hbs", "one");
    assert_int_equal(templates_refresh(rig->templates), 0);
    rig_tool(rig, "list_templates", "{'toolchain':'many'}");
    assert_int_equal(rig->kind, CALL_RESULT_TOOL);
    rig_assert_at(rig, "/total", "10000");
    rig_assert_at(rig, "/count", "200"); /* more than are built in */
    rig_assert_at(rig, "/next_offset", "200");
    rig_assert_says(rig, "Found 10000 templates");
    rig_assert_says(rig, "(more: offset 200)");
    rig_tool(rig, "list_templates", "{'toolchain':'many','limit':10000}");
    rig_assert_at(rig, "/total", "10000");
    assert_true(rig_has(rig, "/templates/200"));
    assert_true(rig_has(rig, "/next_offset"));
    assert_true(strlen(rig->json) < (size_t)5 << 20);
    rig_tool(rig, "search_templates", "{'query':'number'}");
    rig_assert_at(rig, "/total", "10000");
    rig_assert_at(rig, "/count", "200");
    rig_tool(rig, "search_templates", "{'query':'number','limit':1000,'offset':200}");
    rig_assert_at(rig, "/count", "1000");
    rig_assert_at(rig, "/next_offset", "1200");
    rig_tool(rig, "search_templates", "{'query':'number 1234'}");
    rig_assert_at(rig, "/templates/0/uri", "\"template://c1234/many/cli\"");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_template_is_a_resource),
        CASE(uris_that_are_none_are_told_so),
        CASE(parts_of_the_uri_are_completed),
        CASE(a_prompt_says_what_to_call),
        CASE(values_of_a_prompt_are_checked),
        CASE(names_in_a_prompt_are_those_of_templates),
        CASE(a_prompt_without_a_choice_has_every_category),
        CASE(values_of_a_prompt_are_checked_for_each_template),
        CASE(a_prompt_without_memory_ends_in_an_error),
        CASE(arguments_of_prompts_are_completed),
        CASE(folders_are_read_again_when_they_change),
        CASE(changes_are_noticed_by_the_clock),
        CASE(another_text_is_an_update),
        CASE(what_goes_is_gone_and_what_is_bad_is_left_out),
        CASE(a_named_folder_that_goes_leaves_what_was_there),
        CASE(a_name_that_is_taken_is_left_alone),
        CASE(thousands_of_templates_come_in_several_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
