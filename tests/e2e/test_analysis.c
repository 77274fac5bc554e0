/* `toolwire serve` and its analyser, as clients of every revision meet them.
 *
 *     test_analysis TOOLWIRE
 */
#include "e2e/mcp_session.h"

#include "support/cmocka.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"

#define WATCHDOG_S 120

static const char *program;

static const char *const revisions[] = MCP_SESSION_REVISIONS;

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

/* A member of the result: structured, or in older revisions beside the content. */
static void assert_told(const McpSession *s, const char *pointer, const char *json)
{
    char whole[256];

    (void)snprintf(whole, sizeof(whole), "/result%s%s",
                   mcp_session_tells_in_results(s) ? "/structuredContent" : "", pointer);
    mcp_session_assert_at(s, whole, json);
}

/* A tool's own error in the form of the revision. */
static void assert_fails(const McpSession *s, const char *code, const char *message)
{
    const char *place =
        mcp_session_tells_in_results(s) ? "/result/structuredContent/error" : "/error";
    char pointer[96];
    Span told;

    (void)snprintf(pointer, sizeof(pointer), "%s/code", place);
    mcp_session_assert_at(s, pointer, code);
    (void)snprintf(pointer, sizeof(pointer), "%s/message", place);
    told = mcp_session_at(s, pointer);
    if (strncmp(told.p + 1, message, strlen(message)) != 0) {
        fail_msg("%s: %.*s", s->revision, (int)told.n, told.p);
    }
}

/* ---- a project ---- */

static void put(const McpSession *s, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", s->folder, name);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A function of Rust with that many ifs, one after the other. */
static int put_function(char *out, size_t size, int name, int n_ifs)
{
    int n = snprintf(out, size, "fn f%d(a: i32) -> i32 {\n    let mut b = 0;\n", name);

    for (int i = 0; i < n_ifs; i++) {
        n += snprintf(out + n, size - (size_t)n, "    if a > %d { b += 1; }\n", i);
    }
    return n + snprintf(out + n, size - (size_t)n, "    b\n}\n");
}

/* The document's first ranking: 30 functions, the worst of 32 ways, 5.8 cognitive points on
 * average: 31 in the first, 5 in each of 27, 4 in each of 2. */
static void put_document_example(const McpSession *s)
{
    static char text[1 << 16];
    int n = put_function(text, sizeof(text), 0, 31);

    for (int i = 1; i < 30; i++) {
        n += put_function(text + n, sizeof(text) - (size_t)n, i, i <= 27 ? 5 : 4);
    }
    put(s, "context.rs", text);
    put(s, "small.rs", "fn main() {}\n");
    put(s, "other.py", "def f():\n    pass\n");
}

static bool git(const McpSession *s, const char *const *argv)
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        const char *copy[16] = {"git", "-C", s->folder};
        size_t n = 3;

        for (; argv[n - 3] != NULL && n < 15; n++) {
            copy[n] = argv[n - 3];
        }
        (void)execvp("git", (char *const *)(void *)copy);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#define GIT(s, ...) git(s, (const char *const[]){__VA_ARGS__, NULL})

static void commit_all(const McpSession *s)
{
    assert_true(GIT(s, "init", "-q", "."));
    assert_true(GIT(s, "add", "context.rs"));
    assert_true(
        GIT(s, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "one"));
}

/* ---- sessions ---- */

static void make_folder(McpSession *s)
{
    (void)alarm(WATCHDOG_S);
    *s = (McpSession){.revision = ""};
    (void)snprintf(s->folder, sizeof(s->folder), "/tmp/tw-e2e-analysis-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    (void)snprintf(s->place, sizeof(s->place), "%s/.state", s->folder);
    assert_int_equal(setenv("XDG_CONFIG_HOME", s->folder, 1), 0);
    assert_int_equal(chdir(s->folder), 0);
}

static void open_session(McpSession *s, const char *revision)
{
    const char *const arguments[] = {"serve", "--state", s->place, "--rate", "off", NULL};
    char members[256];

    s->revision = revision;
    s->n_sent = 0;
    arena_init(&s->arena, (size_t)64 * 1024 * 1024);
    peer_start(&s->peer, program, arguments);
    if (!mcp_session_is_modern(s)) {
        (void)snprintf(members, sizeof(members),
                       "'protocolVersion':'%s','capabilities':{},'clientInfo':{'name':'t',"
                       "'version':'1'}",
                       revision);
        mcp_session_ask(s, "initialize", members);
        peer_send(&s->peer, INITIALIZED);
    }
}

static void close_session(McpSession *s)
{
    peer_close_input(&s->peer);
    assert_int_equal(peer_finish(&s->peer), 0);
    free(s->line);
    s->line = NULL;
    arena_deinit(&s->arena);
}

static void remove_folder(McpSession *s)
{
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(nftw(s->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* ---- tests ---- */

static void the_documents_example_is_answered_as_it_says(void **state)
{
    McpSession s;

    (void)state;
    make_folder(&s);
    put_document_example(&s);
    for (size_t i = 0; i < 2; i++) { /* cold, and from what is kept */
        open_session(&s, "2024-11-05");
        mcp_session_ask(&s, "analyze_complexity",
                        "'project_path':'./','toolchain':'rust','format':'json','top_files':5");
        mcp_session_assert_at(&s, "/result/summary/total_functions", "31");
        mcp_session_assert_at(&s, "/result/violations/0/value", "32");
        mcp_session_assert_at(&s, "/result/top_files/requested", "5");
        mcp_session_assert_at(&s, "/result/top_files/returned", "2");
        mcp_session_assert_at(&s, "/result/top_files/rankings/0/rank", "1");
        mcp_session_assert_at(&s, "/result/top_files/rankings/0/file", "\"context.rs\"");
        mcp_session_assert_at(&s, "/result/top_files/rankings/0/function_count", "30");
        mcp_session_assert_at(&s, "/result/top_files/rankings/0/max_cyclomatic", "32");
        mcp_session_assert_at(&s, "/result/top_files/rankings/0/avg_cognitive", "5.8");
        assert_true(mcp_session_has(&s, "/result/top_files/rankings/0/halstead_effort"));
        mcp_session_assert_at(&s, "/result/top_files/rankings/0/total_score", "30.92");
        assert_false(mcp_session_has(&s, "/result/content"));
        mcp_session_ask(&s, "analyze_complexity", "'project_path':'./nowhere','toolchain':'rust'");
        mcp_session_assert_at(&s, "/error/code", "-32000");
        close_session(&s);
    }
    assert_int_equal(access(s.place, F_OK), 0);
    remove_folder(&s);
}

static void every_revision_gets_reports_and_errors_in_its_form(void **state)
{
    McpSession s;

    (void)state;
    make_folder(&s);
    put_document_example(&s);
    for (size_t i = 0; i < TW_ARRAY_SIZE(revisions); i++) {
        open_session(&s, revisions[i]);
        mcp_session_tool(
            &s, "analyze_complexity",
            "{'project_path':'.','toolchain':'rust','max_cognitive':20,'top_files':1}");
        assert_told(&s, "/summary/total_files", "2");
        assert_told(&s, "/violations/0/threshold", "20");
        assert_told(&s, "/top_files/returned", "1");
        assert_told(&s, "/report/summary/total_files", "2");
        assert_told(&s, "/files_analyzed", "2");
        mcp_session_assert_at(&s, "/result/content/0/type", "\"text\"");
        mcp_session_tool(&s, "analyze_complexity", "{'project_path':'nowhere'}");
        assert_fails(&s, "-32000", "Not found: there is no file or folder at nowhere");
        mcp_session_tool(&s, "analyze_complexity", "{'project_path':'.','format':'nope'}");
        if (strcmp(s.revision, "2025-11-25") >= 0) {
            mcp_session_assert_at(&s, "/result/isError", "true");
        } else {
            mcp_session_assert_at(&s, "/error/code", "-32602");
        }
        close_session(&s);
    }
    remove_folder(&s);
}

static void every_revision_gets_history_and_hotspots(void **state)
{
    McpSession s;

    (void)state;
    make_folder(&s);
    if (!GIT(&s, "--version")) {
        remove_folder(&s);
        skip();
    }
    put_document_example(&s);
    open_session(&s, "2025-11-25");
    mcp_session_tool(&s, "analyze_code_churn", "{'project_path':'.'}");
    assert_fails(&s, "-32000", "Not found: No git repository found at ");
    close_session(&s);
    commit_all(&s);
    for (size_t i = 0; i < TW_ARRAY_SIZE(revisions); i++) {
        open_session(&s, revisions[i]);
        mcp_session_tool(&s, "analyze_code_churn", "{'project_path':'.','format':'json'}");
        assert_told(&s, "/analysis/summary/total_commits", "1");
        assert_told(&s, "/analysis/files/0/relative_path", "\"context.rs\"");
        assert_told(&s, "/format", "\"json\"");
        mcp_session_tool(&s, "analyze_hotspots", "{'project_path':'.'}");
        assert_told(&s, "/hotspots/0/file", "\"context.rs\"");
        mcp_session_tool(&s, "analyze_complexity", "{'project_path':'.','since':'HEAD'}");
        assert_told(&s, "/since/added", "2"); /* of the files that are not in it yet */
        close_session(&s);
    }
    remove_folder(&s);
}

static void lists_name_the_tools_with_their_arguments(void **state)
{
    static const char *const names[] = {"analyze_complexity", "analyze_code_churn",
                                        "analyze_hotspots"};
    McpSession s;

    (void)state;
    make_folder(&s);
    for (size_t i = 0; i < TW_ARRAY_SIZE(revisions); i++) {
        size_t n_found = 0;

        open_session(&s, revisions[i]);
        mcp_session_ask(&s, "tools/list", "");
        for (size_t k = 0; k < 20; k++) {
            char pointer[64];
            JsonValue v;

            (void)snprintf(pointer, sizeof(pointer), "/result/tools/%zu/name", k);
            if (json_pointer(s.answer, span_from_str(pointer), &v) != 0) {
                break;
            }
            for (size_t n = 0; n < TW_ARRAY_SIZE(names); n++) {
                if (json_string_equals(v, span_from_str(names[n]))) {
                    n_found++;
                    (void)snprintf(pointer, sizeof(pointer),
                                   "/result/tools/%zu/inputSchema/required", k);
                    mcp_session_assert_at(&s, pointer, "[\"project_path\"]");
                }
            }
        }
        assert_int_equal(n_found, 3);
        close_session(&s);
    }
    remove_folder(&s);
}

/* Some seconds of work. */
static void put_much(const McpSession *s)
{
    static char text[3 << 20];
    size_t n = 0;

    while (n + (1 << 14) < sizeof(text)) {
        n += (size_t)put_function(text + n, sizeof(text) - n, (int)n, 31);
    }
    for (int i = 0; i < 12; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "much%d.rs", i);
        put(s, name, text);
    }
}

static void a_call_tells_of_itself_and_can_be_taken_back(void **state)
{
    McpSession s;

    (void)state;
    make_folder(&s);
    put_much(&s);
    open_session(&s, "2025-11-25");
    mcp_session_send(&s, "tools/call",
                     "'name':'analyze_complexity','arguments':{'project_path':'.'},"
                     "'_meta':{'progressToken':'p'}");
    mcp_session_take(&s);
    mcp_session_assert_at(&s, "/method", "\"notifications/progress\"");
    mcp_session_assert_at(&s, "/params/progressToken", "\"p\"");
    assert_true(mcp_session_has(&s, "/params/message"));
    peer_send(&s.peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                       "\"requestId\":2}}");
    /* No answer to it comes, and the next one is served at once. */
    do {
        mcp_session_send(&s, "ping", "");
        mcp_session_take(&s);
    } while (mcp_session_has(&s, "/method"));
    assert_true(mcp_session_has(&s, "/result"));
    assert_false(mcp_session_has(&s, "/result/content"));
    peer_close_input(&s.peer);
    while ((free(s.line), s.line = peer_line(&s.peer)) != NULL) {
        assert_null(strstr(s.line, "\"id\":2,"));
    }
    assert_int_equal(peer_finish(&s.peer), 0);
    arena_deinit(&s.arena);
    remove_folder(&s);
}

static void a_call_in_flight_is_answered_before_the_end(void **state)
{
    McpSession s;

    (void)state;
    make_folder(&s);
    put_document_example(&s);
    open_session(&s, "2025-11-25");
    for (int i = 0; i < 6; i++) {
        mcp_session_send(&s, "tools/call",
                         "'name':'analyze_complexity','arguments':{'project_path':'.'}");
    }
    peer_close_input(&s.peer);
    for (int i = 0; i < 6; i++) {
        mcp_session_take(&s);
        assert_told(&s, "/files_analyzed", "3");
    }
    assert_int_equal(peer_finish(&s.peer), 0);
    free(s.line);
    arena_deinit(&s.arena);
    remove_folder(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documents_example_is_answered_as_it_says),
        cmocka_unit_test(every_revision_gets_reports_and_errors_in_its_form),
        cmocka_unit_test(every_revision_gets_history_and_hotspots),
        cmocka_unit_test(lists_name_the_tools_with_their_arguments),
        cmocka_unit_test(a_call_tells_of_itself_and_can_be_taken_back),
        cmocka_unit_test(a_call_in_flight_is_answered_before_the_end),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_analysis TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
