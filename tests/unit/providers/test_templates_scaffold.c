/* scaffold_project: files that are given back, and files that are written. */
/* nftw */
#define _XOPEN_SOURCE 700

#include "unit/providers/templates_rig.h"

#define PROJECT "'toolchain':'rust','parameters':{'project_name':'app'}"

static void put_link(const Rig *rig, const char *target, const char *path)
{
    char full[256];

    (void)snprintf(full, sizeof(full), "%s/%s", rig->folder, path);
    assert_int_equal(symlink(target, full), 0);
}

static void assert_file(const Rig *rig, const char *path, const char *begins)
{
    Bytes out;

    bytes_init(&out, 100000);
    assert_int_equal(io_tree_read(rig->folder, path, &out, NULL), 0);
    assert_true(span_starts_with(bytes_span(&out), span_from_str(begins)));
    bytes_deinit(&out);
}

static void files_come_with_the_names_of_both(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "scaffold_project",
             "{'toolchain':'rust','parameters':{'project_name':'app','description':'d'},'templates'"
             ":['makefile','readme/cli','template://gitignore/rust/cli']}");
    assert_false(rig->is_error);
    rig_assert_says(
        rig, "{\"type\":\"text\",\"text\":\"Scaffolded 3 templates successfully, 0 errors\"}");
    rig_assert_says(rig, "{\"type\":\"text\",\"text\":\"app/Makefile:\\n# app");
    rig_assert_at(rig, "/files/0/path", "\"Makefile\"");
    rig_assert_at(rig, "/files/0/filename", "\"app/Makefile\"");
    rig_assert_at(rig, "/files/0/template", "\"template://makefile/rust/cli\"");
    rig_assert_at(rig, "/files/0/executable", "false");
    rig_assert_at(rig, "/files/1/path", "\"README.md\"");
    rig_assert_at(rig, "/files/2/filename", "\"app/.gitignore\"");
    rig_assert_at(rig, "/generated/0/template", "\"makefile\"");
    assert_true(span_equals(rig_at(rig, "/generated/0/content"), rig_at(rig, "/files/0/content")));
    assert_true(span_equals(rig_at(rig, "/generated/1/checksum"), rig_at(rig, "/files/1/sha256")));
    rig_assert_at(rig, "/errors", "[]");
    rig_assert_at(rig, "/toolchain", "{\"type\":\"rust\"}");
    assert_false(rig_has(rig, "/files/0/state"));
    assert_false(rig_has(rig, "/write_to"));
}

/* The original skips in silence what it does not know. */
static void failures_are_never_silent(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "scaffold_project", "{" PROJECT ",'templates':['makefile','nope','../x']}");
    assert_false(rig->is_error);
    rig_assert_says(rig, "Scaffolded 1 template successfully, 2 errors");
    rig_assert_says(rig, "nope: Template not found: template://nope/rust/cli");
    rig_assert_at(rig, "/errors/0/template", "\"nope\"");
    rig_assert_at(rig, "/errors/0/error", "\"Template not found: template://nope/rust/cli\"");
    rig_assert_at(rig, "/errors/1/error", "\"Invalid template URI: ../x\"");
    rig_tool(rig, "scaffold_project",
             "{'toolchain':'rust','templates':['makefile'],'parameters':{'has_tests':1}}");
    assert_true(rig->is_error);
    rig_assert_says(rig, "Scaffolded 0 templates successfully, 1 error\"");
    /* Which template, and each of its faults. */
    rig_assert_says(rig, "\"makefile: Parameter validation failed: project_name - required "
                         "parameter missing\\nParameter 'has_tests' must be of type boolean, not "
                         "number\"");
    rig_assert_at(rig, "/errors/0/errors/0/code", "\"missing\"");
    rig_assert_at(rig, "/errors/0/errors/1/parameter", "\"has_tests\"");
    rig_tool(rig, "scaffold_project",
             "{'toolchain':'cobol','templates':['makefile'],'parameters':{}}");
    assert_true(rig->is_error);
    rig_assert_says(rig, "Template not found: template://makefile/cobol/cli");
    rig_tool(rig, "scaffold_project", "{'toolchain':'rust','templates':[],'parameters':{}}");
    assert_false(rig->is_error);
    rig_assert_says(rig, "Scaffolded 0 templates successfully, 0 errors");
    rig_tool(rig, "scaffold_project", "{'toolchain':'rust','templates':[5],'parameters':{}}");
    assert_int_equal(rig->error, CALL_ERROR_INVALID_ARGUMENTS);
}

static void a_project_without_tests_has_none(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "scaffold_project",
             "{'toolchain':'c','templates':['makefile','tests'],'parameters':{'project_name':'p',"
             "'has_tests':false}}");
    assert_false(rig->is_error);
    rig_assert_says(rig, "Scaffolded 1 template successfully, 0 errors");
    rig_assert_says(rig, "\"tests: not made, since has_tests is false\"");
    rig_assert_at(rig, "/skipped",
                  "[{\"template\":\"template://tests/c/cli\",\"when\":\"has_tests\"}]");
    assert_false(rig_has(rig, "/files/1"));
    rig_tool(rig, "scaffold_project",
             "{'toolchain':'c','templates':['tests'],'parameters':{'project_name':'p'}}");
    rig_assert_at(rig, "/skipped", "[]");
    rig_assert_at(rig, "/files/0/path", "\"tests/test_cli.sh\"");
    /* One file alone is made whatever is said of the project. */
    rig_tool(rig, "generate_template",
             "{'resource_uri':'template://tests/c/cli','parameters':{'project_name':'p','has_tests'"
             ":false}}");
    rig_assert_at(rig, "/path", "\"tests/test_cli.sh\"");
}

static void a_toolchain_that_is_no_word_is_blamed_itself(void **state)
{
    static const char *const wrong[] = {"../x", "", ".rust", "Rust", "a/b"};
    Rig *rig = *state;
    char arguments[128];

    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        (void)snprintf(arguments, sizeof(arguments),
                       "{'toolchain':'%s','templates':['makefile'],'parameters':{}}", wrong[i]);
        rig_tool(rig, "scaffold_project", arguments);
        assert_int_equal(rig->error, CALL_ERROR_INVALID_ARGUMENTS);
        rig_assert_says(rig, "toolchain must be");
        rig_assert_at(rig, "/0/path", "\"/toolchain\"");
    }
}

static void nothing_is_written_without_a_root(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "scaffold_project", "{" PROJECT ",'templates':['makefile'],'write_to':'x'}");
    assert_int_equal(rig->error, CALL_ERROR_INVALID_ARGUMENTS);
    rig_assert_says(rig, "--write-root");
    rig_tool(rig, "scaffold_project",
             "{" PROJECT ",'templates':['makefile'],'write_to':'x','dry_run':true}");
    assert_int_equal(rig->error, CALL_ERROR_INVALID_ARGUMENTS);
    rig_tool(rig, "scaffold_project", "{" PROJECT ",'templates':['makefile'],'overwrite':true}");
    assert_int_equal(rig->kind, CALL_RESULT_TOOL);
    assert_false(rig_exists(rig, "root/x"));
}

static void files_are_written_where_it_is_allowed(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "scaffold_project",
             "{" PROJECT ",'templates':['makefile','gitignore'],'write_to':'new/app'}");
    assert_false(rig->is_error);
    rig_assert_says(rig, "new/app/Makefile: new, written\\nnew/app/.gitignore: new, written");
    rig_assert_at(rig, "/files/0/state", "\"new\"");
    rig_assert_at(rig, "/files/0/written", "true");
    rig_assert_at(rig, "/files/0/written_to", "\"new/app/Makefile\"");
    assert_file(rig, "root/new/app/Makefile", "# app");
    assert_true(rig_exists(rig, "root/new/app/.gitignore"));
    /* Again: nothing to do. */
    rig_tool(rig, "scaffold_project",
             "{" PROJECT ",'templates':['makefile','gitignore'],'write_to':'new/app'}");
    assert_false(rig->is_error);
    rig_assert_at(rig, "/files/0/state", "\"same\"");
    rig_assert_at(rig, "/files/0/written", "false");
    rig_tool(rig, "scaffold_project", "{" PROJECT ",'templates':['makefile'],'write_to':'.'}");
    assert_false(rig->is_error);
    assert_true(rig_exists(rig, "root/Makefile"));
}

static void what_is_there_is_not_overwritten_unless_asked_for(void **state)
{
    Rig *rig = *state;

    rig_put(rig, "root/app/Makefile", "mine\n");
    rig_tool(rig, "scaffold_project",
             "{" PROJECT ",'templates':['gitignore','makefile'],'write_to':'app'}");
    assert_true(rig->is_error);
    rig_assert_says(rig, "\"Nothing was written: 1 error\"");
    assert_null(strstr(rig->text, "successfully"));
    rig_assert_says(rig, "app/Makefile is there already and differs");
    rig_assert_says(rig, "\"app/.gitignore: new, not written\\napp/Makefile: differs, +");
    rig_assert_says(rig, " -1 lines, not written\"");
    rig_assert_at(rig, "/errors/0/path", "\"Makefile\"");
    rig_assert_at(rig, "/files/1/state", "\"differs\"");
    rig_assert_at(rig, "/files/1/lines_removed", "1");
    assert_file(rig, "root/app/Makefile", "mine\n");
    assert_false(rig_exists(rig, "root/app/.gitignore")); /* all or nothing */
    rig_tool(rig, "scaffold_project",
             "{" PROJECT
             ",'templates':['gitignore','makefile'],'write_to':'app','overwrite':true}");
    assert_false(rig->is_error);
    rig_assert_at(rig, "/files/1/written", "true");
    assert_file(rig, "root/app/Makefile", "# app");
    assert_true(rig_exists(rig, "root/app/.gitignore"));
}

static void a_script_that_cannot_be_run_differs(void **state)
{
    static const char again[] = "{'toolchain':'c','parameters':{'project_name':'app'},'templates':["
                                "'tests'],'write_to':'app','overwrite':true}";
    Rig *rig = *state;
    char path[128];
    struct stat info;

    rig_tool(rig, "scaffold_project", again);
    rig_assert_at(rig, "/files/0/state", "\"new\"");
    (void)snprintf(path, sizeof(path), "%s/app/tests/test_cli.sh", rig->root);
    assert_int_equal(chmod(path, 0600), 0);
    rig_tool(rig, "scaffold_project", again);
    rig_assert_at(rig, "/files/0/state", "\"differs\"");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    rig_tool(rig, "scaffold_project", again);
    rig_assert_at(rig, "/files/0/state", "\"same\"");
}

static void nothing_is_written_if_a_template_fails(void **state)
{
    Rig *rig = *state;

    rig_tool(rig, "scaffold_project",
             "{" PROJECT ",'templates':['makefile','nope'],'write_to':'app'}");
    assert_true(rig->is_error);
    rig_assert_says(rig, "\"Nothing was written: 1 error\"");
    rig_assert_says(rig, "\"nope: Template not found: template://nope/rust/cli\"");
    rig_assert_at(rig, "/files/0/written", "false");
    assert_false(rig_exists(rig, "root/app"));
    rig_tool(rig, "scaffold_project",
             "{" PROJECT ",'templates':['makefile','nope'],'write_to':'app','dry_run':true}");
    assert_true(rig->is_error);
    rig_assert_says(rig, "\"Nothing would be written: 1 error\"");
}

static void a_dry_run_touches_nothing(void **state)
{
    Rig *rig = *state;

    rig_put(rig, "root/app/Makefile", "mine\n");
    rig_tool(rig, "scaffold_project",
             "{" PROJECT ",'templates':['gitignore','makefile'],'write_to':'app','dry_run':true}");
    assert_false(rig->is_error);
    rig_assert_at(rig, "/dry_run", "true");
    rig_assert_at(rig, "/files/0/state", "\"new\"");
    rig_assert_at(rig, "/files/0/written", "false");
    rig_assert_at(rig, "/files/1/state", "\"differs\"");
    rig_assert_says(rig, "app/.gitignore: new\\napp/Makefile: differs, +");
    assert_file(rig, "root/app/Makefile", "mine\n");
    assert_false(rig_exists(rig, "root/app/.gitignore"));
}

static void places_outside_are_refused(void **state)
{
    static const char *const places[] = {"..",   "../x",   "/tmp/x", "a/../../x", "",
                                         "a//b", "a\\\\b", "a/./b",  "a\\u0000b"};
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(places); i++) {
        char arguments[256];

        (void)snprintf(arguments, sizeof(arguments),
                       "{" PROJECT ",'templates':['makefile'],'write_to':'%s'}", places[i]);
        rig_tool(rig, "scaffold_project", arguments);
        assert_int_equal(rig->error, CALL_ERROR_INVALID_ARGUMENTS);
        rig_assert_says(rig, "write_to");
    }
    assert_false(rig_exists(rig, "x"));
    assert_false(rig_exists(rig, "root/a"));
}

static void links_do_not_lead_out(void **state)
{
    Rig *rig = *state;

    rig_put(rig, "outside/file", "secret");
    put_link(rig, "../outside", "root/link");
    rig_put(rig, "root/app/keep", "");
    put_link(rig, "../../outside/file", "root/app/Makefile");
    put_link(rig, "../../outside/new", "root/app/.gitignore");
    rig_tool(rig, "scaffold_project",
             "{" PROJECT ",'templates':['makefile'],'write_to':'link','overwrite':true}");
    assert_true(rig->is_error);
    rig_assert_says(rig, "a link or a file is in the way");
    rig_assert_says(rig, "\"Nothing was written: 1 error\"");
    rig_assert_says(rig, "\"link/Makefile: refused, not written\"");
    rig_assert_at(rig, "/files/0/state", "\"refused\"");
    assert_false(rig_has(rig, "/files/0/lines_added"));
    rig_tool(rig, "scaffold_project",
             "{" PROJECT ",'templates':['makefile'],'write_to':'link','dry_run':true}");
    assert_true(rig->is_error);
    rig_assert_says(rig, "\"link/Makefile: refused\"");
    rig_assert_at(rig, "/files/0/state", "\"refused\"");
    rig_tool(rig, "scaffold_project",
             "{" PROJECT
             ",'templates':['makefile','gitignore'],'write_to':'app','overwrite':true}");
    assert_true(rig->is_error);
    rig_assert_says(rig, "is no regular file");
    assert_file(rig, "outside/file", "secret");
    assert_false(rig_exists(rig, "outside/Makefile"));
    assert_false(rig_exists(rig, "outside/new"));
}

/* A link that appears between the look and the write is met by the write itself; a folder that
 * cannot be written to is told file by file. */
static void what_the_system_refuses_is_told(void **state)
{
    Rig *rig = *state;
    char path[256];

    if (geteuid() == 0) {
        /* Root may write anywhere: a file in place of a folder does as well. */
        rig_put(rig, "root/app", "a file");
    } else {
        (void)snprintf(path, sizeof(path), "%s/app", rig->root);
        assert_int_equal(mkdir(path, 0500), 0);
    }
    rig_tool(rig, "scaffold_project",
             "{" PROJECT ",'templates':['makefile','gitignore'],'write_to':'app'}");
    assert_true(rig->is_error);
    rig_assert_says(rig, "\"Nothing was written: ");
    rig_assert_at(rig, "/files/0/written", "false");
    assert_true(rig_has(rig, "/errors/0/error"));
}

static void a_root_that_is_not_there_is_an_error(void **state)
{
    Rig *rig = *state;
    Templates *templates = NULL;
    Diag diag = DIAG_NULL;
    Router *router = NULL;

    assert_int_equal(router_new(&router, NULL, (HashSeed){1, 2}), 0);
    assert_int_equal(
        templates_new(
            &templates,
            &(TemplatesConfig){.router = router, .loop = rig->loop, .write_root = "/nonexistent/x"},
            &diag),
        TEMPLATES_E_FOLDER);
    assert_non_null(strstr(diag.message, "--write-root"));
    assert_non_null(strstr(diag.message, "/nonexistent/x"));
    (void)router_free(router);
}

#define CASE(name)    cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define WRITING(name) cmocka_unit_test_setup_teardown(name, rig_setup_writing, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(files_come_with_the_names_of_both),
        CASE(failures_are_never_silent),
        CASE(a_project_without_tests_has_none),
        CASE(a_toolchain_that_is_no_word_is_blamed_itself),
        CASE(nothing_is_written_without_a_root),
        WRITING(files_are_written_where_it_is_allowed),
        WRITING(what_is_there_is_not_overwritten_unless_asked_for),
        WRITING(a_script_that_cannot_be_run_differs),
        WRITING(nothing_is_written_if_a_template_fails),
        WRITING(a_dry_run_touches_nothing),
        WRITING(places_outside_are_refused),
        WRITING(links_do_not_lead_out),
        WRITING(what_the_system_refuses_is_told),
        CASE(a_root_that_is_not_there_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
