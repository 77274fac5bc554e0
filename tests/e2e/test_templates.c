/* `toolwire serve` and its templates, as clients of every revision meet them.
 *
 *     test_templates TOOLWIRE
 */
#include "e2e/mcp_session.h"

#include "support/cmocka.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"

#define WATCHDOG_S 60

static const char *program;

static const char *const revisions[] = MCP_SESSION_REVISIONS;

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

/* A tool's own error in the form of the revision. */
static void assert_fails(const McpSession *s, const char *code, const char *message)
{
    bool is_result = mcp_session_tells_in_results(s);
    char quoted[512];

    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", message);
    assert_int_equal(mcp_session_has(s, "/error"), !is_result);
    mcp_session_assert_at(s, is_result ? "/result/structuredContent/error/code" : "/error/code",
                          code);
    mcp_session_assert_at(
        s, is_result ? "/result/structuredContent/error/message" : "/error/message", quoted);
    if (is_result) {
        mcp_session_assert_at(s, "/result/isError", "true");
        mcp_session_assert_at(s, "/result/content/0/text", quoted);
    }
}

static void open_session(McpSession *s, const char *revision, const char *templates)
{
    const char *const arguments[] = {"serve",   "--write-root",
                                     s->place,  "--rate",
                                     "off",     templates != NULL ? "--templates" : NULL,
                                     templates, NULL};
    char members[256];

    s->revision = revision;
    peer_start(&s->peer, program, arguments);
    if (mcp_session_is_modern(s)) {
        return;
    }
    (void)snprintf(members, sizeof(members),
                   "'protocolVersion':'%s','capabilities':{},'clientInfo':{'name':'claude-code',"
                   "'version':'1.0.0'}",
                   revision);
    mcp_session_ask(s, "initialize", members);
    assert_true(mcp_session_has(s, "/result/capabilities/resources/listChanged"));
    assert_true(mcp_session_has(s, "/result/capabilities/prompts/listChanged"));
    peer_send(&s->peer, INITIALIZED);
}

static void close_session(McpSession *s)
{
    free(s->line);
    s->line = NULL;
    assert_int_equal(peer_finish(&s->peer), 0);
}

static int setup(void **state)
{
    McpSession *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    (void)alarm(WATCHDOG_S);
    (void)snprintf(s->folder, sizeof(s->folder), "/tmp/tw-e2e-templates-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    assert_int_equal(setenv("XDG_CONFIG_HOME", s->folder, 1), 0);
    (void)snprintf(s->place, sizeof(s->place), "%s/root", s->folder);
    assert_int_equal(mkdir(s->place, 0700), 0);
    arena_init(&s->arena, (size_t)1 << 28);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    McpSession *s = *state;

    (void)alarm(0);
    arena_deinit(&s->arena);
    assert_int_equal(nftw(s->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(s);
    return 0;
}

/* ---- the documents' examples ---- */

/* What the documents say a tool returns: beside the content where there is no structured content.
 */
static bool returns(const McpSession *s, const char *name)
{
    char pointer[128];

    (void)snprintf(pointer, sizeof(pointer), "/result/%s%s",
                   mcp_session_tells_in_results(s) ? "structuredContent/" : "", name);
    return mcp_session_has(s, pointer);
}

static void returns_of(McpSession *s)
{
    static const char *const of_one[] = {"filename", "checksum", "toolchain/type"};

    for (size_t i = 0; i < TW_ARRAY_SIZE(of_one); i++) {
        assert_true(returns(s, of_one[i]));
    }
    mcp_session_tool(s, "validate_template",
                     "{'resource_uri':'template://makefile/rust/cli','parameters':{'x':1}}");
    assert_true(returns(s, "valid") && returns(s, "errors/1/message"));
    mcp_session_tool(s, "list_templates", "{}");
    assert_true(returns(s, "templates/131/uri") && !returns(s, "next_offset"));
    mcp_session_tool(s, "search_templates", "{'query':'rust'}");
    assert_true(returns(s, "templates/0/relevance"));
    mcp_session_tool(
        s, "scaffold_project",
        "{'toolchain':'rust','templates':['makefile'],'parameters':{'project_name':'p'}}");
    assert_true(returns(s, "files/0/content") && returns(s, "errors"));
    mcp_session_assert_at(s, "/result/content/0/text",
                          "\"Scaffolded 1 template successfully, 0 errors\"");
}

static void examples_of(McpSession *s)
{
    mcp_session_ask(s, "tools/list", "");
    mcp_session_assert_at(s, "/result/tools/0/name", "\"generate_template\"");
    mcp_session_assert_at(s, "/result/tools/0/description", "\"Generate a template from a URI\"");
    mcp_session_assert_at(
        s, "/result/tools/0/inputSchema",
        "{\"type\":\"object\",\"properties\":{\"resource_uri\":{\"type\":\"string\","
        "\"description\":\"Template URI (e.g., template://makefile/rust/cli)\"},"
        "\"parameters\":{\"type\":\"object\",\"description\":\"Template parameters\"}},"
        "\"required\":[\"resource_uri\",\"parameters\"]}");
    assert_int_equal(mcp_session_has(s, "/result/tools/0/outputSchema"),
                     mcp_session_tells_in_results(s));
    mcp_session_ask(s, "resources/list", "");
    mcp_session_assert_at(
        s, "/result/resources/0",
        "{\"uri\":\"template://makefile/rust/cli\",\"name\":\"Rust CLI Makefile\","
        "\"description\":\"Professional Makefile template for Rust CLI projects\","
        "\"mimeType\":\"text/x-makefile\"}");
    mcp_session_tool(s, "generate_template",
                     "{'resource_uri':'template://makefile/rust/cli','parameters':{'project_name':"
                     "'my-project','has_tests':true}}");
    mcp_session_assert_at(s, "/result/content/0/type", "\"text\"");
    assert_true(
        span_starts_with(mcp_session_at(s, "/result/content/0/text"), SPAN("\"# my-project")));
    assert_false(mcp_session_has(s, "/result/content/1"));
    assert_int_equal(mcp_session_has(s, "/result/structuredContent/checksum"),
                     mcp_session_tells_in_results(s));
    returns_of(s);
    mcp_session_ask(s, "prompts/list", "");
    mcp_session_assert_at(s, "/result/prompts/0/name", "\"scaffold-rust-project\"");
    mcp_session_ask(s, "resources/templates/list", "");
    mcp_session_assert_at(s, "/result/resourceTemplates/0/uriTemplate",
                          "\"template://{category}/{toolchain}/{variant}\"");
    mcp_session_ask(
        s, "completion/complete",
        "'ref':{'type':'ref/resource','uri':'template://{category}/{toolchain}/{variant}'},"
        "'argument':{'name':'category','value':'makef'}");
    mcp_session_assert_at(s, "/result/completion/values", "[\"makefile\"]");
}

static void the_examples_work_as_printed(void **state)
{
    McpSession *s = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(revisions); i++) {
        open_session(s, revisions[i], NULL);
        examples_of(s);
        close_session(s);
    }
}

/* ---- errors ---- */

static void errors_of(McpSession *s)
{
    mcp_session_tool(s, "generate_template", "{'resource_uri':'template://a/b/c','parameters':{}}");
    assert_fails(s, "-32000", "Template not found: template://a/b/c");
    mcp_session_tool(s, "generate_template",
                     "{'resource_uri':'template://../../etc/passwd','parameters':{}}");
    assert_fails(s, "-32001", "Invalid template URI: template://../../etc/passwd");
    /* Fault 12 of the original. */
    mcp_session_tool(s, "validate_template",
                     "{'resource_uri':'template://x/makefile/rust/cli/y','parameters':{}}");
    assert_fails(s, "-32001", "Invalid template URI: template://x/makefile/rust/cli/y");
    mcp_session_tool(
        s, "generate_template",
        "{'resource_uri':'template://makefile/rust/cli','parameters':{'has_tests':'x'}}");
    assert_fails(s, "-32002",
                 "Parameter validation failed: project_name - required parameter missing\\n"
                 "Parameter 'has_tests' must be of type boolean, not string");
    mcp_session_assert_at(s,
                          mcp_session_tells_in_results(s)
                              ? "/result/structuredContent/error/data/errors/1/parameter"
                              : "/error/data/errors/1/parameter",
                          "\"has_tests\"");
    mcp_session_tool(
        s, "scaffold_project",
        "{'toolchain':'rust','templates':['makefile'],'parameters':{'project_name':'p'},"
        "'write_to':'../x'}");
    assert_true(mcp_session_has(s, "/error") ||
                span_equals(mcp_session_at(s, "/result/isError"), SPAN("true")));
    mcp_session_ask(
        s, "prompts/get",
        "'name':'scaffold-rust-project','arguments':{'project_name':'demo','has_tests':'maybe'}");
    mcp_session_assert_at(s, "/error/code", "-32602");
    assert_true(
        span_starts_with(mcp_session_at(s, "/error/message"), SPAN("\"Parameter 'has_tests' ")));
    mcp_session_ask(s, "resources/read", "'uri':'template://%2e%2e/etc/passwd'");
    mcp_session_assert_at(s, "/error/code", mcp_session_is_modern(s) ? "-32602" : "-32001");
    mcp_session_assert_at(s, "/error/data/uri", "\"template://%2e%2e/etc/passwd\"");
    mcp_session_assert_at(s, "/error/message",
                          "\"Invalid template URI: template://%2e%2e/etc/passwd\"");
    mcp_session_ask(s, "resources/read", "'uri':'template://../../etc/passwd'");
    mcp_session_assert_at(s, "/error/message",
                          "\"Invalid template URI: template://../../etc/passwd\"");
    mcp_session_ask(s, "resources/read", "'uri':'template://makefile/rust/clu'");
    mcp_session_assert_at(s, "/error/code", mcp_session_is_modern(s) ? "-32602" : "-32000");
    mcp_session_assert_at(s, "/error/data/nearest", "\"template://makefile/rust/cli\"");
}

static void errors_have_the_form_of_the_revision(void **state)
{
    McpSession *s = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(revisions); i++) {
        open_session(s, revisions[i], NULL);
        errors_of(s);
        close_session(s);
    }
}

/* A tool's name as a method gives the report alone. */
static void a_tool_can_be_called_as_a_method(void **state)
{
    McpSession *s = *state;

    open_session(s, "2024-11-05", NULL);
    mcp_session_ask(s, "list_templates", "'toolchain':'rust','category':'makefile'");
    mcp_session_assert_at(s, "/result/count", "1");
    mcp_session_assert_at(s, "/result/templates/0/uri", "\"template://makefile/rust/cli\"");
    close_session(s);
}

/* ---- faults of the original ---- */

static void the_faults_of_the_original_are_absent(void **state)
{
    McpSession *s = *state;

    open_session(s, "2025-11-25", NULL);
    /* 8: defaults */
    mcp_session_tool(
        s, "generate_template",
        "{'resource_uri':'template://makefile/deno/cli','parameters':{'project_name':'p'}}");
    assert_non_null(strstr(s->line, "main.ts"));
    assert_non_null(strstr(s->line, "--allow-read"));
    /* 9: what is declared is printed */
    mcp_session_tool(
        s, "generate_template",
        "{'resource_uri':'template://readme/python-uv/cli','parameters':{'project_name':'p',"
        "'author_name':'Ada'}}");
    assert_non_null(strstr(s->line, "Ada"));
    /* 10: no HTML */
    mcp_session_tool(
        s, "generate_template",
        "{'resource_uri':'template://readme/rust/cli','parameters':{'project_name':'p',"
        "'description':'a & b <c> d=e'}}");
    assert_non_null(strstr(s->line, "a & b <c> d=e"));
    assert_null(strstr(s->line, "&amp;"));
    /* 11: types, unknown keys, elements, names */
    mcp_session_tool(
        s, "generate_template",
        "{'resource_uri':'template://makefile/rust/cli','parameters':{'project_name':'../x',"
        "'has_tests':'no','features':[5],'none':1}}");
    mcp_session_assert_at(s, "/result/structuredContent/error/data/errors/0/parameter",
                          "\"project_name\"");
    assert_non_null(strstr(s->line, "\"has_tests\""));
    assert_non_null(strstr(s->line, "\"features[0]\""));
    assert_non_null(strstr(s->line, "Unknown parameter: none"));
    /* 14: order */
    mcp_session_tool(s, "search_templates", "{'query':'','limit':3}");
    assert_true(mcp_session_has(s, "/result/structuredContent/templates/2"));
    {
        char *first = strdup(mcp_session_at(s, "/result").p);

        mcp_session_tool(s, "search_templates", "{'query':'','limit':3}");
        assert_true(span_equals(mcp_session_at(s, "/result"),
                                span_make(first, mcp_session_at(s, "/result").n)));
        free(first);
    }
    close_session(s);
}

/* ---- files ---- */

static bool exists(const McpSession *s, const char *path)
{
    char full[256];
    struct stat info;

    (void)snprintf(full, sizeof(full), "%s/%s", s->folder, path);
    return lstat(full, &info) == 0;
}

static void put(const McpSession *s, const char *path, const char *text)
{
    char full[256];
    FILE *f;

    (void)snprintf(full, sizeof(full), "%s/%s", s->folder, path);
    f = fopen(full, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void make_folder(const McpSession *s, const char *path)
{
    char full[256];

    (void)snprintf(full, sizeof(full), "%s/%s", s->folder, path);
    assert_int_equal(mkdir(full, 0700), 0);
}

static void link_to(const McpSession *s, const char *target, const char *path)
{
    char full[256];

    (void)snprintf(full, sizeof(full), "%s/%s", s->folder, path);
    assert_int_equal(symlink(target, full), 0);
}

#define SCAFFOLD(place, more)                                                                      \
    "{'toolchain':'rust','templates':['makefile','gitignore'],'parameters':{'project_name':'p'},"  \
    "'write_to':'" place "'" more "}"

static void files_are_written_and_links_lead_nowhere(void **state)
{
    McpSession *s = *state;

    make_folder(s, "outside");
    put(s, "outside/secret", "secret");
    link_to(s, "../outside", "root/link");
    make_folder(s, "root/trap");
    link_to(s, "../../outside/secret", "root/trap/Makefile");
    link_to(s, "../../outside/new", "root/trap/.gitignore");
    open_session(s, "2025-11-25", NULL);
    mcp_session_tool(s, "scaffold_project", SCAFFOLD("app", ",'dry_run':true"));
    mcp_session_assert_at(s, "/result/structuredContent/files/0/state", "\"new\"");
    assert_false(exists(s, "root/app"));
    mcp_session_tool(s, "scaffold_project", SCAFFOLD("app", ""));
    mcp_session_assert_at(s, "/result/structuredContent/files/0/written", "true");
    assert_true(exists(s, "root/app/Makefile") && exists(s, "root/app/.gitignore"));
    mcp_session_tool(s, "scaffold_project", SCAFFOLD("link", ",'overwrite':true"));
    mcp_session_assert_at(s, "/result/isError", "true");
    mcp_session_tool(s, "scaffold_project", SCAFFOLD("link/sub", ""));
    mcp_session_assert_at(s, "/result/isError", "true");
    mcp_session_tool(s, "scaffold_project", SCAFFOLD("trap", ",'overwrite':true"));
    mcp_session_assert_at(s, "/result/isError", "true");
    close_session(s);
    assert_false(exists(s, "outside/Makefile"));
    assert_false(exists(s, "outside/sub"));
    assert_false(exists(s, "outside/new"));
}

static void own_templates_are_offered(void **state)
{
    McpSession *s = *state;
    char folder[128];

    make_folder(s, "own");
    put(s, "own/manifest.json",
        "{\"templates\":[{\"uri\":\"template://notes/mine/plain\",\"name\":\"Notes\",\"file\":"
        "\"notes.hbs\",\"output\":\"NOTES\",\"parameters\":[{\"name\":\"project_name\",\"type\":"
        "\"string\"}]}]}");
    put(s, "own/notes.hbs", "Notes of {{upper project_name}}");
    (void)snprintf(folder, sizeof(folder), "%s/own", s->folder);
    open_session(s, "2025-11-25", folder);
    mcp_session_tool(
        s, "generate_template",
        "{'resource_uri':'template://notes/mine/plain','parameters':{'project_name':'x'}}");
    mcp_session_assert_at(s, "/result/content/0/text", "\"Notes of X\"");
    mcp_session_ask(s, "prompts/get",
                    "'name':'scaffold-mine-project','arguments':{'project_name':'x'}");
    assert_true(mcp_session_has(s, "/result/messages/0/content/text"));
    close_session(s);
}

static int run_for_status(const char *const *arguments)
{
    return peer_wait(peer_spawn_all(program, arguments, -1, -1, -1));
}

static void folders_that_are_not_there_are_a_wrong_use(void **state)
{
    static const char *const no_templates[] = {"serve", "--templates", "/nonexistent/x", NULL};
    static const char *const no_root[] = {"serve", "--write-root", "/nonexistent/x", NULL};

    (void)state;
    assert_int_equal(run_for_status(no_templates), 2);
    assert_int_equal(run_for_status(no_root), 2);
}

static void without_the_toolkit_there_are_no_template_tools(void **state)
{
    static const char *const arguments[] = {"serve", "--no-toolkit", "--diagnostics", NULL};
    McpSession *s = *state;

    s->revision = "2025-11-25";
    peer_open(&s->peer, program, arguments);
    mcp_session_ask(s, "tools/list", "");
    mcp_session_assert_at(s, "/result/tools/0/name", "\"echo\"");
    assert_false(mcp_session_has(s, "/result/tools/3"));
    mcp_session_ask(s, "resources/list", "");
    mcp_session_assert_at(s, "/error/code", "-32601");
    close_session(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(the_examples_work_as_printed),
        CASE(errors_have_the_form_of_the_revision),
        CASE(a_tool_can_be_called_as_a_method),
        CASE(the_faults_of_the_original_are_absent),
        CASE(files_are_written_and_links_lead_nowhere),
        CASE(own_templates_are_offered),
        CASE(folders_that_are_not_there_are_a_wrong_use),
        CASE(without_the_toolkit_there_are_no_template_tools),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_templates TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
