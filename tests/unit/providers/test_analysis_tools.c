/* The analyser's tools: arguments, answers, errors; jobs that wait, tell of themselves, and are
 * taken back. */
/* nftw */
#define _XOPEN_SOURCE 700

#include "unit/providers/analysis_rig.h"

#include <fcntl.h>
#include <sys/file.h>

#include "io/loop.h"
#include "providers/analysis_tools.h"
#include "router/router.h"

#define MAX_CALLS 8

/* One who asks. */
typedef struct Asker {
    Call call; /* first: the door gets a Call */
    struct Desk *desk;
    int n_finished;
    int n_progress;
    bool is_taken_back;
    double progress;
    double total;
    CallResultKind kind;
    CallError error;
    int wire_code;
    bool is_error;
    char *text; /* content, or the message of an error; malloc, as the next two */
    char *json; /* structured content, or data */
    char *beside;
} Asker;

typedef struct Desk {
    Rig *rig;
    IoLoop *loop;
    Router *router;
    AnalysisTools *tools;
    Arena arena;
    Asker askers[MAX_CALLS];
    size_t n_open; /* calls that the loop is run for */
    bool cancels_at_progress;
    bool releases_at_progress;
    int held_fd;    /* the lock that git waits for; -1: none */
    char *path;     /* PATH as it was, if git is held; malloc */
    int64_t now_ms; /* the router's clock */
    JsonValue structured;
} Desk;

static char *copy_of(const Span *pieces, size_t n)
{
    Bytes all;
    char *text;

    bytes_init(&all, RIG_BYTES);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(bytes_append_span(&all, pieces[i]), 0);
    }
    text = malloc(all.n + 1);
    assert_non_null(text);
    if (all.n > 0) {
        memcpy(text, all.data, all.n);
    }
    text[all.n] = '\0';
    bytes_deinit(&all);
    return text;
}

static void forget(Asker *asker)
{
    free(asker->text);
    free(asker->json);
    free(asker->beside);
    asker->text = NULL;
    asker->json = NULL;
    asker->beside = NULL;
}

static void close_one(Desk *desk)
{
    desk->n_open--;
    if (desk->n_open == 0) {
        io_loop_stop(desk->loop);
    }
}

static void release_git(Desk *desk)
{
    if (desk->held_fd >= 0) {
        (void)close(desk->held_fd);
        desk->held_fd = -1;
    }
}

static void on_finish(Call *call, const CallResult *result)
{
    Asker *asker = (Asker *)call;
    bool is_error = result->kind == CALL_RESULT_ERROR;

    forget(asker);
    asker->n_finished++;
    asker->kind = result->kind;
    asker->error = result->error;
    asker->wire_code = result->wire_code;
    asker->is_error = result->is_error;
    asker->text =
        is_error ? copy_of(&result->message, 1) : copy_of(result->pieces, result->n_pieces);
    asker->json = copy_of(is_error ? &result->data : &result->structured, 1);
    asker->beside = copy_of(&result->beside, 1);
    close_one(asker->desk);
}

static void on_progress(Call *call, const CallProgress *progress)
{
    Asker *asker = (Asker *)call;

    assert_true(asker->n_progress == 0 || progress->progress > asker->progress);
    assert_true(progress->message.n > 0);
    asker->n_progress++;
    asker->progress = progress->progress;
    asker->total = progress->total;
    if (asker->desk->releases_at_progress) {
        release_git(asker->desk);
    }
    if (asker->desk->cancels_at_progress) {
        asker->desk->cancels_at_progress = false;
        asker->is_taken_back = true;
        router_cancel(asker->desk->router, call);
        close_one(asker->desk);
    }
}

static const CallDoor door = {.finish = on_finish, .progress = on_progress};

static int desk_open(Desk *desk)
{
    int r = io_loop_new(&desk->loop);

    r = r != 0 ? r : router_new(&desk->router, NULL, (HashSeed){1, 2});
    return r != 0 ? r
                  : analysis_tools_new(&desk->tools,
                                       &(AnalysisToolsConfig){.router = desk->router,
                                                              .loop = desk->loop,
                                                              .state = desk->rig->state,
                                                              .version = "1.2.3"},
                                       NULL);
}

static void desk_close(Desk *desk)
{
    desk->tools = analysis_tools_free(desk->tools);
    desk->router = router_free(desk->router);
    if (desk->loop != NULL) {
        (void)io_loop_run(desk->loop); /* jobs that still run end there */
    }
    desk->loop = io_loop_free(desk->loop);
}

/* Later at each look, so that what is computed anew differs, however fast the machine is. */
static int64_t now_ms(void *context)
{
    Desk *desk = context;

    return ++desk->now_ms;
}

static int setup(void **state)
{
    Desk *desk = calloc(1, sizeof(*desk));

    assert_non_null(desk);
    desk->held_fd = -1;
    (void)rig_setup((void **)&desk->rig);
    arena_init(&desk->arena, RIG_BYTES);
    for (size_t i = 0; i < MAX_CALLS; i++) {
        call_init(&desk->askers[i].call);
        desk->askers[i].desk = desk;
    }
    assert_int_equal(desk_open(desk), 0);
    router_set_clock(desk->router, now_ms, desk);
    *state = desk;
    return 0;
}

static int teardown(void **state)
{
    Desk *desk = *state;

    release_git(desk);
    desk_close(desk);
    if (desk->path != NULL) {
        (void)setenv("PATH", desk->path, 1);
        free(desk->path);
    }
    for (size_t i = 0; i < MAX_CALLS; i++) {
        call_deinit(&desk->askers[i].call);
        forget(&desk->askers[i]);
    }
    arena_deinit(&desk->arena);
    (void)rig_teardown((void **)&desk->rig);
    free(desk);
    return 0;
}

/* Arguments may use ' for ", and @ for the project's folder. */
static JsonValue arguments_of(Desk *desk, const char *text)
{
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    Bytes json;
    Span kept;

    bytes_init(&json, RIG_BYTES);
    for (const char *c = text; *c != '\0'; c++) {
        assert_int_equal(*c == '@' ? bytes_append_span(&json, span_from_str(desk->rig->project))
                                   : bytes_append_byte(&json, *c == '\'' ? '"' : *c),
                         0);
    }
    kept = arena_copy(&desk->arena, bytes_span(&json));
    bytes_deinit(&json);
    if (json_parse(&doc, &desk->arena, kept.p, kept.n, NULL, &diag) != 0) {
        fail_msg("%s: %s", diag.message, kept.p);
    }
    return json_root(&doc);
}

static void ask(Desk *desk, size_t i, const char *tool, const char *arguments)
{
    Call *call = &desk->askers[i].call;

    call_reset(call);
    call->door = &door;
    call->verb = CALL_TOOL;
    call->target = span_from_str(tool);
    call->arguments = arguments_of(desk, arguments);
    call->log_level = CALL_LOG_NONE;
    call->wants_progress = true;
    desk->askers[i].n_finished = 0;
    desk->askers[i].n_progress = 0;
    desk->n_open++;
    router_dispatch(desk->router, NULL, call);
}

static void wait_for_all(Desk *desk)
{
    /* One that was answered at once has stopped a loop that did not run yet. */
    while (desk->n_open > 0) {
        assert_int_equal(io_loop_run(desk->loop), 0);
    }
}

static Asker *answer_to(Desk *desk, const char *tool, const char *arguments)
{
    Asker *asker = &desk->askers[0];
    JsonDoc doc;

    ask(desk, 0, tool, arguments);
    wait_for_all(desk);
    desk->structured = JSON_VALUE_NULL;
    if (asker->json[0] != '\0') {
        assert_int_equal(
            json_parse(&doc, &desk->arena, asker->json, strlen(asker->json), NULL, NULL), 0);
        desk->structured = json_root(&doc);
    }
    return asker;
}

static void assert_at(const Desk *desk, const char *pointer, const char *json)
{
    JsonValue v;

    if (json_pointer(desk->structured, span_from_str(pointer), &v) != 0) {
        fail_msg("there is no %s in %s", pointer, desk->askers[0].json);
    }
    if (!span_equals(json_span(v), span_from_str(json))) {
        fail_msg("%s is %.*s, not %s", pointer, (int)json_span(v).n, json_span(v).p, json);
    }
}

static bool has(const Desk *desk, const char *pointer)
{
    JsonValue v;

    return json_pointer(desk->structured, span_from_str(pointer), &v) == 0;
}

static void assert_says(const Asker *asker, const char *words)
{
    if (strstr(asker->text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", asker->text, words);
    }
}

/* ---- complexity ---- */

#define IF_TWICE "int f(int a) { if (a) { if (a > 1) { return 1; } } return 2; }\n"

static void a_report_has_both_sets_of_names(void **state)
{
    Desk *desk = *state;
    Asker *asker;

    rig_put(desk->rig, "a.c", IF_TWICE);
    rig_put(desk->rig, "b.c", "int f(int a) { return a; }\nint g(void) { return 0; }\n");
    asker = answer_to(desk, "analyze_complexity",
                      "{'project_path':'@','toolchain':'c','max_cyclomatic':2,'top_files':1}");
    assert_int_equal(asker->kind, CALL_RESULT_TOOL);
    assert_false(asker->is_error);
    assert_at(desk, "/summary/total_functions", "3");
    assert_at(desk, "/violations/0/value", "3");
    assert_at(desk, "/violations/0/threshold", "2");
    assert_at(desk, "/top_files/requested", "1");
    assert_at(desk, "/top_files/returned", "1");
    assert_at(desk, "/top_files/rankings/0/file", "\"a.c\"");
    assert_at(desk, "/report/summary/total_functions", "3");
    assert_at(desk, "/report/violations/0/value", "3");
    assert_at(desk, "/toolchain", "\"c\"");
    assert_at(desk, "/files_analyzed", "2");
    assert_at(desk, "/format", "\"summary\"");
    assert_says(asker, "{\"type\":\"text\",\"text\":\"# Top Files by Complexity");
    assert_true(strncmp(asker->beside, "\"summary\":{", 11) == 0);
    assert_int_equal(strlen(asker->beside), strlen(asker->json) - 2);
    assert_false(has(desk, "/since"));
}

/* The cursor of the last answer. */
static void take_cursor(const Desk *desk, char ret[64])
{
    JsonValue v;
    Span text = SPAN_NULL;

    assert_int_equal(json_pointer(desk->structured, SPAN("/next_cursor"), &v), 0);
    assert_true(json_string_plain(v, &text));
    assert_true(text.n < 64);
    memcpy(ret, text.p, text.n);
    ret[text.n] = '\0';
}

/* A call with a cursor, and (may be "") more arguments: ",'limit':2". */
static Asker *answer_at(Desk *desk, const char *tool, const char *cursor, const char *more)
{
    char arguments[256];

    (void)snprintf(arguments, sizeof(arguments), "{'cursor':'%s','project_path':'@'%s}", cursor,
                   more);
    return answer_to(desk, tool, arguments);
}

static void put_files(Desk *desk, int n)
{
    for (int i = 0; i < n; i++) {
        char path[32];

        (void)snprintf(path, sizeof(path), "f%d.c", i);
        rig_put(desk->rig, path, IF_TWICE);
    }
}

static void lists_are_cut_and_go_on_at_the_cursor(void **state)
{
    Desk *desk = *state;
    char cursor[64];

    put_files(desk, 5);
    (void)answer_to(desk, "analyze_complexity", "{'project_path':'@','limit':2}");
    assert_at(desk, "/files/1/path", "\"f1.c\"");
    assert_false(has(desk, "/files/2"));
    assert_at(desk, "/next_offset", "2");
    take_cursor(desk, cursor);
    (void)answer_at(desk, "analyze_complexity", cursor, ",'limit':2");
    assert_at(desk, "/files/0/path", "\"f2.c\"");
    take_cursor(desk, cursor);
    /* Pages may differ in length and format. */
    (void)answer_at(desk, "analyze_complexity", cursor, ",'limit':3,'format':'json'");
    assert_at(desk, "/files/0/path", "\"f4.c\"");
    assert_false(has(desk, "/files/1"));
    assert_false(has(desk, "/next_cursor"));
    /* What other programs read is whole. */
    assert_says(answer_to(desk, "analyze_complexity", "{'project_path':'@','format':'csv'}"),
                "f4.c");
}

/* Rows would be missed, or seen twice. */
static void a_cursor_is_for_the_same_arguments_and_files(void **state)
{
    static const char *const none[] = {
        "x", "2", "2-", "-0123456789abcdef", "2-0123456789abcdeg", "fffffffff-0123456789abcdef"};
    Desk *desk = *state;
    char cursor[64];
    char other[64];

    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_init_repository(desk->rig);
    put_files(desk, 5);
    rig_commit(desk->rig, "one");
    for (size_t i = 0; i < TW_ARRAY_SIZE(none); i++) {
        Asker *asker = answer_at(desk, "analyze_complexity", none[i], "");

        assert_int_equal(asker->error, CALL_ERROR_INVALID_ARGUMENTS);
    }
    (void)answer_to(desk, "analyze_complexity", "{'project_path':'@','limit':2}");
    take_cursor(desk, cursor);
    assert_int_equal(
        answer_at(desk, "analyze_complexity", cursor, ",'limit':2,'exclude':['f0*']")->error,
        CALL_ERROR_INVALID_ARGUMENTS);
    assert_int_equal(answer_at(desk, "analyze_code_churn", cursor, ",'limit':2")->error,
                     CALL_ERROR_INVALID_ARGUMENTS);
    assert_int_equal(answer_at(desk, "analyze_hotspots", cursor, ",'limit':2")->error,
                     CALL_ERROR_INVALID_ARGUMENTS);
    (void)answer_at(desk, "analyze_complexity", cursor, ",'limit':2");
    assert_at(desk, "/files/0/path", "\"f2.c\"");
    (void)answer_to(desk, "analyze_code_churn", "{'project_path':'@','limit':2,'period_days':0}");
    take_cursor(desk, other);
    (void)answer_at(desk, "analyze_code_churn", other, ",'limit':2,'period_days':0");
    assert_true(has(desk, "/analysis/files/1"));
    /* One more file, which would have been in the first answer. */
    rig_put(desk->rig, "a.c", IF_TWICE);
    assert_int_equal(answer_at(desk, "analyze_complexity", cursor, ",'limit':2")->error,
                     CALL_ERROR_INVALID_ARGUMENTS);
    rig_commit(desk->rig, "two");
    assert_int_equal(
        answer_at(desk, "analyze_code_churn", other, ",'limit':2,'period_days':0")->error,
        CALL_ERROR_INVALID_ARGUMENTS);
}

static void every_format_is_written(void **state)
{
    static const char *const formats[][2] = {
        {"summary", "# Complexity Analysis Summary"},
        {"full", "# Complexity"},
        {"json", "{\\\"summary\\\":{"},
        {"sarif", "\\\"version\\\": \\\"2.1.0\\\""},
        {"csv", "a.c,"},
        {"checkstyle", "<checkstyle"},
        {"markdown", "|"},
    };
    Desk *desk = *state;

    rig_put(desk->rig, "a.c", IF_TWICE);
    for (size_t i = 0; i < TW_ARRAY_SIZE(formats); i++) {
        char arguments[128];

        (void)snprintf(arguments, sizeof(arguments), "{'project_path':'@','format':'%s'}",
                       formats[i][0]);
        assert_says(answer_to(desk, "analyze_complexity", arguments), formats[i][1]);
        assert_at(desk, "/summary/total_functions", "1");
    }
    assert_says(answer_to(desk, "analyze_complexity", "{'project_path':'@','format':'sarif'}"),
                "1.2.3");
}

static void errors_have_the_numbers_of_the_document(void **state)
{
    Desk *desk = *state;
    const Asker *asker = answer_to(desk, "analyze_complexity", "{'project_path':'@/nowhere'}");

    assert_int_equal(asker->kind, CALL_RESULT_ERROR);
    assert_int_equal(asker->error, CALL_ERROR_OWN);
    assert_int_equal(asker->wire_code, ANALYSIS_TOOLS_ERROR_NOT_FOUND);
    assert_says(asker, "Not found: ");
    assert_true(has(desk, "/path"));
    asker = answer_to(desk, "analyze_complexity", "{'project_path':'@','toolchain':'cobol'}");
    assert_int_equal(asker->error, CALL_ERROR_INVALID_ARGUMENTS);
    assert_at(desk, "/0/path", "\"/toolchain\"");
    asker = answer_to(desk, "analyze_complexity", "{'project_path':'a\\u0000b'}");
    assert_int_equal(asker->error, CALL_ERROR_INVALID_ARGUMENTS);
    asker = answer_to(desk, "analyze_complexity", "{}");
    assert_int_equal(asker->error, CALL_ERROR_INVALID_ARGUMENTS);
    asker = answer_to(desk, "analyze_complexity", "{'project_path':'@','max_cyclomatic':0}");
    assert_int_equal(asker->error, CALL_ERROR_INVALID_ARGUMENTS);
    asker = answer_to(desk, "analyze_code_churn", "{'project_path':'@','until':'soon'}");
    assert_int_equal(asker->error, CALL_ERROR_INVALID_ARGUMENTS);
    assert_at(desk, "/0/path", "\"/until\"");
    if (rig_try_git("/tmp", "--version") == 0) {
        asker = answer_to(desk, "analyze_code_churn", "{'project_path':'@'}");
        assert_int_equal(asker->wire_code, ANALYSIS_TOOLS_ERROR_NOT_FOUND);
        assert_says(asker, "No git repository found at ");
        rig_init_repository(desk->rig);
        asker = answer_to(desk, "analyze_code_churn", "{'project_path':'@','rev':'v9'}");
        assert_int_equal(asker->error, CALL_ERROR_INVALID_ARGUMENTS);
        assert_at(desk, "/0/path", "\"/rev\"");
    }
}

/* ---- history ---- */

static void churn_and_hotspots_are_told(void **state)
{
    Desk *desk = *state;
    const Asker *asker;

    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_init_repository(desk->rig);
    rig_put(desk->rig, "src/a.c", IF_TWICE);
    rig_commit(desk->rig, "one");
    rig_put(desk->rig, "src/a.c", IF_TWICE "int x;\n");
    rig_commit(desk->rig, "two");
    asker = answer_to(desk, "analyze_code_churn",
                      "{'project_path':'@','format':'csv','directories':true,'co_changes':5}");
    assert_says(asker, "file_path,commits,additions,deletions");
    assert_at(desk, "/analysis/summary/total_commits", "2");
    assert_at(desk, "/analysis/period_days", "30");
    assert_at(desk, "/analysis/files/0/relative_path", "\"src/a.c\"");
    assert_at(desk, "/analysis/files/0/additions", "2");
    assert_true(has(desk, "/analysis/directories"));
    assert_true(has(desk, "/analysis/co_changes"));
    assert_at(desk, "/format", "\"csv\"");
    (void)answer_to(desk, "analyze_code_churn", "{'project_path':'@','until':'1999-12-31'}");
    assert_at(desk, "/analysis/summary/total_commits", "0");
    asker = answer_to(desk, "analyze_hotspots", "{'project_path':'@/src'}");
    assert_says(asker, "| 1 | a.c | 1.000 | 2 | 2 | 1 | 3 | 3 | 1 |");
    assert_at(desk, "/hotspots/0/file", "\"a.c\"");
    assert_at(desk, "/commits", "2");
    (void)answer_to(desk, "analyze_complexity", "{'project_path':'@','since':'HEAD~1'}");
    assert_at(desk, "/since/unchanged", "1");
    assert_says(&desk->askers[0], "# Changes of Complexity");
}

/* A part of the notes. */
static void assert_noted(Desk *desk, const char *words)
{
    JsonValue v;

    assert_int_equal(json_pointer(desk->structured, SPAN("/notes"), &v), 0);
    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        char text[512];

        (void)snprintf(text, sizeof(text), "%.*s", (int)json_span(it.value).n,
                       json_span(it.value).p);
        if (strstr(text, words) != NULL) {
            assert_says(&desk->askers[0], words);
            return;
        }
    }
    fail_msg("%.*s does not say \"%s\"", (int)json_span(v).n, json_span(v).p, words);
}

static void hotspots_say_what_they_were_taken_from(void **state)
{
    Desk *desk = *state;
    const Asker *asker;
    char cursor[64];

    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_init_repository(desk->rig);
    rig_put(desk->rig, "a.c", IF_TWICE);
    rig_put(desk->rig, "b.c", IF_TWICE);
    rig_put(desk->rig, "c.c", IF_TWICE);
    rig_put(desk->rig, "names\x01\xFF.c", IF_TWICE);
    rig_put(desk->rig, "none.c", "int x;\n");
    rig_put(desk->rig, "bad.c", "int f(int a) { return a; }\n+ ) ( +\n");
    rig_put(desk->rig, "vendor/v.c", IF_TWICE);
    rig_commit(desk->rig, "one");
    rig_put(desk->rig, "new.c", IF_TWICE);
    asker = answer_to(desk, "analyze_hotspots", "{'project_path':'@','limit':2}");
    assert_at(desk, "/total_hotspots", "5");
    assert_at(desk, "/files_analyzed", "7");
    assert_at(desk, "/files_unchanged", "1");
    assert_at(desk, "/files_without_functions", "1");
    assert_at(desk, "/files_with_parse_errors", "1");
    assert_at(desk, "/skipped_files/vendored", "1");
    assert_at(desk, "/shallow", "false");
    assert_at(desk, "/bare", "false");
    assert_at(desk, "/notes", "[]");
    assert_true(has(desk, "/elapsed_ms"));
    assert_at(desk, "/next_offset", "2");
    take_cursor(desk, cursor);
    assert_at(desk, "/hotspots/1/rank", "2");
    assert_false(has(desk, "/hotspots/2"));
    assert_says(asker,
                "- **Files analyzed:** 7 (1 not changed in the window, 1 changed and without "
                "functions)\\n- **Files changed:** 7 in 1 commit\\n- **Files skipped:** 1 (1 "
                "vendored)\\n- **Files parsed with errors:** 1\\n- **Elapsed:** ");
    assert_says(asker, "3 more: they begin at offset 2.");
    asker = answer_at(desk, "analyze_hotspots", cursor, ",'limit':2");
    assert_at(desk, "/hotspots/0/rank", "3");
    assert_at(desk, "/next_offset", "4");
    take_cursor(desk, cursor);
    assert_says(asker, "| 3 | ");
    /* Two names that are no text are two, in each format. */
    asker = answer_to(desk, "analyze_hotspots",
                      "{'project_path':'@','offset':3,'limit':1,'format':'markdown'}");
    assert_says(asker, "| 4 | names\\\\\\\\x01\\\\\\\\xff.c | ");
    assert_at(desk, "/hotspots/0/path_base64", "\"bmFtZXMB/y5j\"");
    /* Without lines there are none, rather than 0. */
    asker = answer_to(desk, "analyze_hotspots", "{'project_path':'@','lines':false}");
    assert_false(has(desk, "/hotspots/0/additions"));
    assert_noted(desk, "Lines were not counted");
    assert_says(asker, "| Commits | Authors |");
}

static void an_empty_list_of_hotspots_says_why(void **state)
{
    Desk *desk = *state;
    char words[256];

    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_init_repository(desk->rig);
    rig_put(desk->rig, "a.c", IF_TWICE);
    (void)answer_to(desk, "analyze_hotspots", "{'project_path':'@'}");
    assert_at(desk, "/hotspots", "[]");
    assert_noted(desk, "The repository has no commit yet.");
    rig_commit(desk->rig, "one");
    rig_put(desk->rig, "a.c", IF_TWICE "\n");
    rig_commit(desk->rig, "two");
    (void)answer_to(desk, "analyze_hotspots", "{'project_path':'@','until':'1999-12-31'}");
    assert_noted(desk, "No commit is in the window.");
    (void)answer_to(desk, "analyze_hotspots", "{'project_path':'@','paths':['nowhere']}");
    assert_noted(desk, "No commit in the window changes what the paths name.");
    (void)answer_to(desk, "analyze_hotspots", "{'project_path':'@','include':['*.py']}");
    assert_noted(desk, "No file was measured.");
    (void)answer_to(desk, "analyze_hotspots",
                    "{'project_path':'@','include':['b.c'],'no_ignore':true}");
    assert_noted(desk, "No file was measured.");
    rig_put(desk->rig, "b.c", IF_TWICE);
    (void)answer_to(desk, "analyze_hotspots", "{'project_path':'@','include':['b.c']}");
    assert_noted(desk, "None of the files that changed");
    (void)snprintf(words, sizeof(words), "clone -q --bare . %s/bare", desk->rig->project);
    rig_git(desk->rig, words);
    (void)answer_to(desk, "analyze_hotspots", "{'project_path':'@/bare'}");
    assert_at(desk, "/bare", "true");
    assert_noted(desk, "The repository is bare");
    (void)snprintf(words, sizeof(words), "clone -q --depth 1 file://%s %s/shallow",
                   desk->rig->project, desk->rig->project);
    rig_git(desk->rig, words);
    (void)answer_to(desk, "analyze_hotspots", "{'project_path':'@/shallow'}");
    assert_at(desk, "/shallow", "true");
    assert_noted(desk, "The clone is shallow");
}

/* ---- arguments ---- */

static void assert_refused(Desk *desk, const char *tool, const char *arguments, const char *path,
                           const char *words)
{
    const Asker *asker = answer_to(desk, tool, arguments);

    assert_int_equal(asker->kind, CALL_RESULT_ERROR);
    assert_int_equal(asker->error, CALL_ERROR_INVALID_ARGUMENTS);
    assert_at(desk, "/0/path", path);
    assert_says(asker, words);
}

static void unknown_arguments_are_refused(void **state)
{
    Desk *desk = *state;

    rig_put(desk->rig, "a.c", IF_TWICE);
    assert_refused(desk, "analyze_complexity", "{'project_path':'@','max_cyclomattic':5}",
                   "\"/max_cyclomattic\"", "did you mean \"max_cyclomatic\"?");
    assert_refused(desk, "analyze_code_churn", "{'project_path':'@','period_day':5}",
                   "\"/period_day\"", "unknown property; did you mean \"period_days\"?");
    assert_refused(desk, "analyze_hotspots", "{'project_path':'@','tool_chain':'c'}",
                   "\"/tool_chain\"", "did you mean \"toolchain\"?");
    assert_refused(desk, "analyze_hotspots", "{'project_path':'@','completely':'c'}",
                   "\"/completely\"", "arguments/completely: unknown property");
    assert_null(strstr(desk->askers[0].text, "mean"));
}

static void numbers_that_do_not_fit_are_refused(void **state)
{
    static const char *const names[][2] = {
        {"analyze_complexity", "limit"},
        {"analyze_complexity", "offset"},
        {"analyze_complexity", "max_cyclomatic"},
        {"analyze_complexity", "max_cognitive"},
        {"analyze_complexity", "top_files"},
        {"analyze_complexity", "threads"},
        {"analyze_code_churn", "period_days"},
        {"analyze_code_churn", "co_changes"},
        {"analyze_hotspots", "limit"},
        {"analyze_hotspots", "period_days"},
    };
    static const char *const numbers[] = {"18446744073709551616", "4294967296", "1e300"};
    Desk *desk = *state;

    rig_put(desk->rig, "a.c", IF_TWICE);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names) * TW_ARRAY_SIZE(numbers); i++) {
        const char *const *name = names[i / TW_ARRAY_SIZE(numbers)];
        char arguments[128];
        char path[64];

        (void)snprintf(arguments, sizeof(arguments), "{'project_path':'@','%s':%s}", name[1],
                       numbers[i % TW_ARRAY_SIZE(numbers)]);
        (void)snprintf(path, sizeof(path), "\"/%s\"", name[1]);
        assert_refused(desk, name[0], arguments, path, name[1]);
    }
    assert_refused(desk, "analyze_hotspots", "{'project_path':'@','period_days':36525001}",
                   "\"/period_days\"", "36525000");
    assert_at(desk, "/0/path", "\"/period_days\"");
    (void)answer_to(desk, "analyze_complexity", "{'project_path':'@','limit':4294967295}");
    assert_int_equal(desk->askers[0].kind, CALL_RESULT_TOOL);
}

/* ---- a repository of somebody else ---- */

static void no_program_of_a_repository_runs_when_tools_are_called(void **state)
{
    static const char *const calls[][2] = {
        {"analyze_complexity", "{'project_path':'@'}"},
        {"analyze_complexity", "{'project_path':'@','since':'HEAD~1'}"},
        {"analyze_code_churn", "{'project_path':'@','directories':true,'co_changes':5}"},
        {"analyze_code_churn", "{'project_path':'@','rev':'HEAD~1..HEAD','renames':false}"},
        {"analyze_code_churn", "{'project_path':'@','paths':['a.c'],'no_cache':true}"},
        {"analyze_hotspots", "{'project_path':'@'}"},
    };
    Desk *desk = *state;
    Bytes before;
    Bytes after;

    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_init_repository(desk->rig);
    rig_put_trap(desk->rig);
    rig_read_index(desk->rig, &before);
    for (size_t i = 0; i < TW_ARRAY_SIZE(calls); i++) {
        const Asker *asker = answer_to(desk, calls[i][0], calls[i][1]);

        assert_int_equal(asker->kind, CALL_RESULT_TOOL);
        assert_non_null(strstr(asker->json, "\"a.c\""));
        assert_false(rig_has_run(desk->rig));
    }
    rig_read_index(desk->rig, &after);
    assert_true(span_equals(bytes_span(&before), bytes_span(&after)));
    bytes_deinit(&before);
    bytes_deinit(&after);
    /* The trap is one: git itself steps into it. */
    (void)rig_try_git(desk->rig->project, "status");
    assert_true(rig_has_run(desk->rig));
}

/* ---- jobs ---- */

static void more_calls_than_run_at_once_are_all_answered(void **state)
{
    Desk *desk = *state;

    rig_put(desk->rig, "a.c", IF_TWICE);
    for (size_t i = 0; i < MAX_CALLS; i++) {
        ask(desk, i, "analyze_complexity", "{'project_path':'@'}");
    }
    wait_for_all(desk);
    for (size_t i = 0; i < MAX_CALLS; i++) {
        assert_int_equal(desk->askers[i].n_finished, 1);
        assert_int_equal(desk->askers[i].kind, CALL_RESULT_TOOL);
    }
}

/* A repository whose git does not begin: each job stands at its first question to it, however fast
 * the machine is, until release_git lets all go on, or the job ends. */
static void hold_git(Desk *desk)
{
    static const char script[] = "#!/bin/sh\n"
                                 "PATH=$ANALYSIS_PATH exec flock \"${0%/*}/held\" git \"$@\"\n";
    char path[128];
    char both[4096];

    rig_init_repository(desk->rig);
    rig_put(desk->rig, "a.c", IF_TWICE);
    rig_commit(desk->rig, "one");
    assert_int_equal(io_tree_write(desk->rig->folder, "bin/git", SPAN(script), true, true, NULL),
                     0);
    (void)snprintf(path, sizeof(path), "%s/bin/held", desk->rig->folder);
    desk->held_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(desk->held_fd >= 0);
    assert_int_equal(flock(desk->held_fd, LOCK_EX), 0);
    desk->path = strdup(getenv("PATH"));
    assert_non_null(desk->path);
    (void)snprintf(both, sizeof(both), "%s/bin:%s", desk->rig->folder, desk->path);
    assert_int_equal(setenv("ANALYSIS_PATH", desk->path, 1), 0);
    assert_int_equal(setenv("PATH", both, 1), 0);
}

/* Of a job that has told of itself, the last is that all is done. */
static void progress_ends_at_the_total(void **state)
{
    Desk *desk = *state;

    hold_git(desk);
    desk->releases_at_progress = true;
    ask(desk, 0, "analyze_complexity", "{'project_path':'@'}");
    wait_for_all(desk);
    assert_int_equal(desk->askers[0].kind, CALL_RESULT_TOOL);
    assert_true(desk->askers[0].n_progress > 1);
    assert_true(desk->askers[0].total == 1);
    assert_true(desk->askers[0].progress == 1);
}

static void jobs_tell_how_far_they_are_and_end_when_taken_back(void **state)
{
    Desk *desk = *state;
    int64_t deadline_ms;

    hold_git(desk);
    for (size_t i = 0; i < 4; i++) {
        ask(desk, i, "analyze_complexity", "{'project_path':'@'}");
    }
    /* One that waits, and, when it first tells of itself, one that runs. */
    router_cancel(desk->router, &desk->askers[3].call);
    deadline_ms = desk->askers[2].call.deadline_ms;
    desk->cancels_at_progress = true;
    desk->n_open = 1;
    wait_for_all(desk);
    assert_true(desk->askers[0].is_taken_back || desk->askers[1].is_taken_back);
    assert_true(desk->askers[2].n_progress > 0);
    assert_true(desk->askers[2].call.deadline_ms > deadline_ms);
    assert_int_equal(desk->askers[3].n_progress + desk->askers[3].n_finished, 0);
    /* The end of the tools is the end of the others; each call that was left is answered. */
    desk->n_open = 2;
    desk->tools = analysis_tools_free(desk->tools);
    for (size_t i = 0; i < 3; i++) {
        const Asker *asker = &desk->askers[i];

        assert_int_equal(asker->n_finished, asker->is_taken_back ? 0 : 1);
        assert_true(asker->is_taken_back || asker->error == CALL_ERROR_CANCELLED);
    }
}

/* ---- beneath a root ---- */

/* The tools anew, beneath a folder of the project. */
static void bind_to(Desk *desk, const char *folder)
{
    char root[128];

    (void)snprintf(root, sizeof(root), "%s/%s", desk->rig->project, folder);
    desk->tools = analysis_tools_free(desk->tools);
    assert_int_equal(analysis_tools_new(&desk->tools,
                                        &(AnalysisToolsConfig){.router = desk->router,
                                                               .loop = desk->loop,
                                                               .state = desk->rig->state,
                                                               .root = root},
                                        NULL),
                     0);
}

static void assert_denied(Desk *desk, const char *tool, const char *path)
{
    char arguments[256];

    (void)snprintf(arguments, sizeof(arguments), "{'project_path':'%s','format':'json'}", path);
    (void)answer_to(desk, tool, arguments);
    assert_int_equal(desk->askers[0].kind, CALL_RESULT_ERROR);
    assert_says(&desk->askers[0], "Access denied: path outside allowed directory: ");
}

static void link_to(const Desk *desk, const char *target, const char *name)
{
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/%s", desk->rig->project, name);
    assert_int_equal(symlink(target, path), 0);
}

static void with_a_root_no_path_leads_out(void **state)
{
    static const char *const out[] = {
        "@",           "@/out.c",      "/",  "/nowhere/at/all", "..",      "../out.c", "../nobody",
        "sub/../../.", "@/bound-evil", "up", "up/bound",        "absolute"};
    Desk *desk = *state;

    rig_put(desk->rig, "out.c", "int secret(int a) { return a ? 1 : 2; }\n");
    rig_put(desk->rig, "bound-evil/evil.c", "int evil(void) { return 1; }\n");
    rig_put(desk->rig, "bound/sub/in.c", "int inside(int a) { return a ? 1 : 2; }\n");
    link_to(desk, "..", "bound/up");
    link_to(desk, desk->rig->project, "bound/absolute");
    bind_to(desk, "bound");
    for (size_t i = 0; i < TW_ARRAY_SIZE(out); i++) {
        assert_denied(desk, "analyze_complexity", out[i]);
        assert_denied(desk, "analyze_code_churn", out[i]);
        assert_denied(desk, "analyze_hotspots", out[i]);
    }
}

static void with_a_root_paths_are_seen_from_it(void **state)
{
    static const char *const in[] = {".", "sub", "sub/in.c", "@/bound", "@/bound/sub/in.c"};
    Desk *desk = *state;

    rig_put(desk->rig, "bound/sub/in.c", "int inside(int a) { return a ? 1 : 2; }\n");
    bind_to(desk, "bound");
    for (size_t i = 0; i < TW_ARRAY_SIZE(in); i++) {
        char arguments[256];

        (void)snprintf(arguments, sizeof(arguments), "{'project_path':'%s','format':'json'}",
                       in[i]);
        (void)answer_to(desk, "analyze_complexity", arguments);
        assert_int_equal(desk->askers[0].kind, CALL_RESULT_TOOL);
        assert_non_null(strstr(desk->askers[0].text, "inside"));
    }
    (void)answer_to(desk, "analyze_complexity", "{'project_path':'nothing'}");
    assert_says(&desk->askers[0], "Not found: ");
}

static void with_a_root_no_repository_outside_is_read(void **state)
{
    Desk *desk = *state;

    rig_init_repository(desk->rig);
    rig_put(desk->rig, "bound/a.c", "int a(void) { return 1; }\n");
    rig_put(desk->rig, "bound/file/b.c", "int b(void) { return 1; }\n");
    rig_put(desk->rig, "bound/link/c.c", "int c(void) { return 1; }\n");
    rig_commit(desk->rig, "secret");
    rig_put(desk->rig, "bound/file/.git", "gitdir: ../../.git\n");
    link_to(desk, "../../.git", "bound/link/.git");
    bind_to(desk, "bound");
    (void)answer_to(desk, "analyze_code_churn", "{'project_path':'.'}");
    assert_says(&desk->askers[0], "Not found: No git repository found at ");
    (void)answer_to(desk, "analyze_hotspots", "{'project_path':'.'}");
    assert_says(&desk->askers[0], "Not found: No git repository found at ");
    (void)answer_to(desk, "analyze_complexity", "{'project_path':'.','since':'HEAD'}");
    assert_says(&desk->askers[0], "Not found: No git repository found at ");
    assert_denied(desk, "analyze_code_churn", "file");
    assert_denied(desk, "analyze_code_churn", "link");
    /* And one that is the root's own is read. */
    bind_to(desk, "");
    (void)answer_to(desk, "analyze_code_churn", "{'project_path':'bound','format':'json'}");
    assert_int_equal(desk->askers[0].kind, CALL_RESULT_TOOL);
    assert_non_null(strstr(desk->askers[0].text, "a.c"));
}

static void a_root_must_be_a_folder(void **state)
{
    Desk *desk = *state;
    Diag diag = DIAG_NULL;

    desk->tools = analysis_tools_free(desk->tools);
    assert_int_equal(analysis_tools_new(&desk->tools,
                                        &(AnalysisToolsConfig){.router = desk->router,
                                                               .loop = desk->loop,
                                                               .root = "/nowhere/at/all"},
                                        &diag),
                     ANALYSIS_TOOLS_E_ROOT);
    assert_non_null(strstr(diag.message, "/nowhere/at/all"));
    assert_int_equal(router_count(desk->router, ROUTER_TOOL), 0);
}

static void tools_are_there_once(void **state)
{
    Desk *desk = *state;
    AnalysisTools *again = NULL;
    Diag diag = DIAG_NULL;

    assert_int_equal(router_count(desk->router, ROUTER_TOOL), 3);
    assert_int_equal(
        analysis_tools_new(
            &again, &(AnalysisToolsConfig){.router = desk->router, .loop = desk->loop}, &diag),
        ANALYSIS_TOOLS_E_EXISTS);
    assert_non_null(strstr(diag.message, "analyze_complexity"));
    assert_int_equal(router_count(desk->router, ROUTER_TOOL), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_report_has_both_sets_of_names, setup, teardown),
        cmocka_unit_test_setup_teardown(lists_are_cut_and_go_on_at_the_cursor, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cursor_is_for_the_same_arguments_and_files, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(every_format_is_written, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_have_the_numbers_of_the_document, setup, teardown),
        cmocka_unit_test_setup_teardown(churn_and_hotspots_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(hotspots_say_what_they_were_taken_from, setup, teardown),
        cmocka_unit_test_setup_teardown(an_empty_list_of_hotspots_says_why, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_arguments_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_that_do_not_fit_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(no_program_of_a_repository_runs_when_tools_are_called,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(more_calls_than_run_at_once_are_all_answered, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(progress_ends_at_the_total, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs_tell_how_far_they_are_and_end_when_taken_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(with_a_root_no_path_leads_out, setup, teardown),
        cmocka_unit_test_setup_teardown(with_a_root_paths_are_seen_from_it, setup, teardown),
        cmocka_unit_test_setup_teardown(with_a_root_no_repository_outside_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_root_must_be_a_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(tools_are_there_once, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
