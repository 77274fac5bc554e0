/* What the analyser must not do in a repository that somebody else has made: run programs that its
 * settings name, write into it, fetch. And what it must not believe: lines that were counted under
 * other attributes. */
/* nftw */
#define _XOPEN_SOURCE 700

#include "unit/providers/analysis_rig.h"

#include "base/alloc.h"
#include "support/oom_sweep.h"

#define SIMPLE "int f(int a) { return a; }\n"
#define BRANCH "int f(int a) { if (a) { return 1; } return 2; }\n"

static AnalysisHistory history_of(const Rig *rig)
{
    return (AnalysisHistory){.path = rig->project,
                             .state = rig->state,
                             .options = {.since_s = INT64_MIN, .until_s = INT64_MAX}};
}

static int read_history(Rig *rig, const AnalysisHistory *history)
{
    rig->churn = churn_free(rig->churn);
    rig->diag = DIAG_NULL;
    return analysis_churn(history, &rig->watch, &rig->churn, &rig->diag);
}

static const ChurnFile *changed(const Rig *rig, const char *path)
{
    return churn_file_find(rig->churn, span_from_str(path));
}

static bool is_told(const Rig *rig, const char *words)
{
    Bytes text;
    bool is_there;

    bytes_init(&text, RIG_BYTES);
    assert_int_equal(churn_write(rig->churn, CHURN_JSON, &text), 0);
    assert_int_equal(bytes_append_byte(&text, '\0'), 0);
    is_there = strstr(text.data, words) != NULL;
    bytes_deinit(&text);
    return is_there;
}

static int setup(void **state)
{
    (void)rig_setup(state);
    rig_init_repository(*state);
    return 0;
}

/* ---- programs ---- */

/* Everything that a person or a model can ask for. */
static void ask_all(Rig *rig)
{
    AnalysisFiles files = {.path = rig->project, .state = rig->state};
    AnalysisHistory history = history_of(rig);
    char *prefix = NULL;

    assert_int_equal(rig_complexity(rig, &files), 0);
    files.since = "HEAD~1";
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_non_null(rig_file(rig, "a.c"));
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(changed(rig, "a.c")->commits, 2);
    assert_int_equal(read_history(rig, &history), 0);
    history.no_cache = true;
    history.options.no_renames = true;
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(analysis_prefix(NULL, rig->project, &rig->watch, &prefix, NULL), 0);
    prefix = mem_free(prefix);
}

static void no_program_of_a_repository_runs_and_nothing_is_written(void **state)
{
    Rig *rig = *state;
    Bytes before;
    Bytes after;

    rig_put_trap(rig);
    rig_read_index(rig, &before);
    ask_all(rig);
    assert_false(rig_has_run(rig));
    rig_read_index(rig, &after);
    assert_true(span_equals(bytes_span(&before), bytes_span(&after)));
    bytes_deinit(&before);
    bytes_deinit(&after);
    /* The trap is one: git itself steps into it. */
    (void)rig_try_git(rig->project, "status");
    assert_true(rig_has_run(rig));
}

/* ---- a partial clone ---- */

static void clone_partially(const Rig *rig, const char *filter, char path[512])
{
    char words[700];

    rig_git(rig, "config uploadpack.allowFilter true");
    (void)snprintf(path, 512, "%s/partial", rig->folder);
    (void)snprintf(words, sizeof(words), "clone -q --no-checkout --filter=%s file://%s %s", filter,
                   rig->project, path);
    rig_git(rig, words);
    rig_put_canary(rig);
    (void)snprintf(words, sizeof(words), "-C %s config remote.origin.uploadpack %s%s", path,
                   rig->project, "/.git/hooks/canary");
    rig_git(rig, words);
    (void)snprintf(words, sizeof(words), "-C %s config protocol.file.allow always", path);
    rig_git(rig, words);
}

static void what_a_partial_clone_lacks_is_not_fetched(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = history_of(rig);
    AnalysisFiles files = {.since = "HEAD", .no_cache = true};
    char path[512];
    char words[600];

    rig_put(rig, "a.c", SIMPLE);
    rig_commit(rig, "one");
    rig_put(rig, "a.c", BRANCH);
    rig_commit(rig, "two");
    clone_partially(rig, "blob:none", path);
    history.path = path;
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(changed(rig, "a.c")->commits, 2);
    assert_int_equal(changed(rig, "a.c")->additions, 0);
    assert_true(is_told(rig, "The clone is partial"));
    files.path = path;
    assert_int_equal(rig_complexity(rig, &files), ANALYSIS_E_GIT);
    assert_non_null(strstr(rig->diag.message, "the clone is partial"));
    assert_false(rig_has_run(rig));
    (void)snprintf(words, sizeof(words), "-C %s cat-file -p HEAD:a.c", path);
    (void)rig_try_git(rig->project, words);
    assert_true(rig_has_run(rig));
}

static void a_clone_without_trees_is_told(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = history_of(rig);
    char path[512];

    rig_put(rig, "a.c", SIMPLE);
    rig_commit(rig, "one");
    clone_partially(rig, "tree:0", path);
    history.path = path;
    assert_int_equal(read_history(rig, &history), ANALYSIS_E_GIT);
    assert_non_null(strstr(rig->diag.message, "partial"));
    assert_false(rig_has_run(rig));
}

/* ---- attributes ---- */

/* The first call, the second one and one without a cache say the same of the file. */
static void check_lines(Rig *rig, uint64_t additions, int line)
{
    AnalysisHistory history = history_of(rig);

    for (size_t i = 0; i < 3; i++) {
        history.no_cache = i == 2;
        assert_int_equal(read_history(rig, &history), 0);
        if (changed(rig, "sub/a.json")->additions != additions) {
            fail_msg("line %d, call %zu: not %u", line, i, (unsigned)additions);
        }
    }
}

#define assert_lines(rig, additions) check_lines(rig, additions, __LINE__)

static void other_attributes_give_other_lines(void **state)
{
    Rig *rig = *state;
    char path[512];

    rig_put(rig, "sub/a.json", "{}\n[]\n");
    rig_commit(rig, "one");
    assert_lines(rig, 2);
    rig_put(rig, ".gitattributes", "*.json binary\n");
    rig_commit(rig, "two");
    assert_lines(rig, 0);
    rig_put(rig, ".gitattributes", "\n");
    assert_lines(rig, 2);
    /* In a folder, known to nobody. */
    rig_put(rig, "sub/.gitattributes", "*.json -diff\n");
    assert_lines(rig, 0);
    rig_path(rig, "sub/.gitattributes", path);
    assert_int_equal(unlink(path), 0);
    assert_lines(rig, 2);
    rig_put(rig, ".git/info/attributes", "*.json diff=blob\n");
    assert_lines(rig, 2);
    rig_git(rig, "config diff.blob.binary true");
    assert_lines(rig, 0);
    rig_git(rig, "config diff.blob.binary false");
    assert_lines(rig, 2);
    rig_git(rig, "config core.bigFileThreshold 1");
    assert_lines(rig, 2);
}

static void attributes_of_the_user_are_no_matter(void **state)
{
    Rig *rig = *state;
    char words[256];

    rig_put(rig, "sub/a.json", "{}\n[]\n");
    rig_commit(rig, "one");
    assert_int_equal(
        io_tree_write(rig->folder, "git/attributes", SPAN("*.json binary\n"), false, true, NULL),
        0);
    assert_lines(rig, 2);
    (void)snprintf(words, sizeof(words), "config core.attributesFile %s/git/attributes",
                   rig->folder);
    rig_git(rig, words);
    assert_lines(rig, 2);
}

static int read_with_table(void *context)
{
    Rig *rig = context;
    AnalysisHistory history = history_of(rig);
    int r = read_history(rig, &history);

    assert_true(r != 0 || changed(rig, "sub/a.json")->additions == 1);
    rig->churn = churn_free(rig->churn);
    return r;
}

/* Without memory for what is remembered, it is counted again: not every failure is one. */
static void any_allocation_may_fail(void **state)
{
    Rig *rig = *state;

    rig_put(rig, "sub/a.json", "{}\n");
    rig_put(rig, "sub/.gitattributes", "*.c -diff\n");
    rig_commit(rig, "one");
    for (size_t n = 0; n < 120; n++) {
        int r;

        alloc_testing_reset(n);
        r = read_with_table(rig);
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_true(r == 0 || r == -ENOMEM);
    }
}

/* ---- since, without git looking at the work tree ---- */

static void assert_delta(const Rig *rig, size_t added, size_t removed, size_t worse)
{
    ComplexityDelta delta = COMPLEXITY_DELTA_NULL;

    assert_int_equal(complexity_delta_init(&delta, &rig->before, &rig->report), 0);
    assert_int_equal(delta.n_of[COMPLEXITY_ADDED], added);
    assert_int_equal(delta.n_of[COMPLEXITY_REMOVED], removed);
    assert_int_equal(delta.n_of[COMPLEXITY_WORSE], worse);
    complexity_delta_deinit(&delta);
}

#define LONG                                                                                       \
    "int one(int a)\n{\n    return a;\n}\n\nint two(int a)\n{\n    return a + 2;\n}\n\n"           \
    "int three(int a)\n{\n    return a + 3;\n}\n\n"

static void files_are_compared_as_git_would(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = {.path = rig->project, .since = "HEAD", .no_cache = true};
    char from[512];
    char to[512];

    rig_put(rig, "empty.c", "");
    rig_put(rig, "same.c", SIMPLE);
    rig_put(rig, "crlf.c", LONG);
    rig_put(rig, "old.c", LONG SIMPLE);
    rig_put(rig, "ignored.c", SIMPLE);
    rig_put(rig, "vendor/v.c", SIMPLE);
    rig_put(rig, "vendor/w.c", SIMPLE);
    rig_commit(rig, "one");
    rig_put(rig, ".gitignore", "ignored.c\nbuild/\n");
    rig_put(rig, "build/x.c", SIMPLE);
    rig_put(rig, "ignored.c", BRANCH);
    rig_put(rig, "vendor/w.c", BRANCH);
    rig_put(rig, "crlf.c",
            "int one(int a)\r\n{\r\n    return a;\r\n}\r\n\r\nint two(int a)\r\n{\r\n"
            "    return a + 2;\r\n}\r\n\r\nint three(int a)\r\n{\r\n    return a + 3;"
            "\r\n}\r\n\r\n");
    rig_path(rig, "old.c", from);
    rig_path(rig, "new.c", to);
    assert_int_equal(rename(from, to), 0);
    rig_put(rig, "new.c", LONG BRANCH);
    rig_git(rig, "init -q -b main inner");
    rig_put(rig, "inner/deep/i.c", SIMPLE);
    assert_int_equal(rig_complexity(rig, &files), 0);
    /* f of ignored.c, which git knows all the same, and that of the file with another name. */
    assert_delta(rig, 0, 0, 2);
    assert_int_equal(rig->report.n_files, 2);
    assert_non_null(rig_file(rig, "ignored.c"));
    assert_non_null(rig_file(rig, "new.c"));
    rig_assert_skipped(rig, "vendor/w.c", "vendored");
    rig_assert_skipped(rig, "build/", "ignored");
    assert_int_equal(rig->report.n_skipped, 2);
    /* One file. */
    rig_path(rig, "ignored.c", from);
    files.path = from;
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_delta(rig, 0, 0, 1);
}

static void ids_of_both_lengths_are_known(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = {.path = rig->project, .since = "HEAD", .no_cache = true};
    char text[512];

    if (rig_try_git(rig->project, "init -q -b main --object-format=sha256 .") != 0) {
        skip();
    }
    rig_git(rig, "config user.name Ada");
    rig_git(rig, "config user.email ada@example.org");
    /* Every length around the blocks of the hash. */
    for (unsigned n = 0; n < 150; n++) {
        char path[32];

        memset(text, ' ', sizeof(text));
        text[n] = '\0';
        (void)snprintf(path, sizeof(path), "f%u.c", n);
        rig_put(rig, path, text);
    }
    rig_commit(rig, "one");
    rig_put(rig, "f7.c", SIMPLE);
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 1);
    rig_path(rig, ".git", text);
    assert_int_equal(nftw(text, rig_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    rig_init_repository(rig);
    rig_commit(rig, "one");
    rig_put(rig, "f7.c", BRANCH);
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 1);
    assert_delta(rig, 0, 0, 1);
}

static int compare_once(void *context)
{
    Rig *rig = context;
    AnalysisFiles files = {
        .path = rig->project, .since = "HEAD", .no_cache = true, .no_ignore = true, .threads = 1};
    int r = rig_complexity(rig, &files);

    complexity_report_deinit(&rig->report);
    complexity_report_deinit(&rig->before);
    return r;
}

static void every_allocation_of_a_comparison_may_fail(void **state)
{
    Rig *rig = *state;
    char path[512];

    rig_put(rig, "old.c", LONG);
    rig_put(rig, "sub/b.c", SIMPLE);
    rig_commit(rig, "one");
    rig_path(rig, "old.c", path);
    assert_int_equal(unlink(path), 0);
    rig_put(rig, "sub/new.c", LONG);
    rig_put(rig, "sub/b.c", BRANCH);
    rig_put(rig, "vendor/x.c", SIMPLE);
    test_oom_sweep(compare_once, rig);
}

/* ---- names and times ---- */

static void a_folder_may_have_a_newline_in_its_name(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = history_of(rig);
    AnalysisFiles files = {.no_cache = true, .since = "HEAD"};
    char path[512];
    char *prefix = NULL;

    rig_put(rig, "two\nlines/in\n/a.c", SIMPLE);
    rig_commit(rig, "one");
    rig_put(rig, "two\nlines/in\n/a.c", BRANCH);
    rig_path(rig, "two\nlines/in\n", path);
    history.path = path;
    assert_int_equal(read_history(rig, &history), 0);
    assert_non_null(changed(rig, "two\nlines/in\n/a.c"));
    assert_int_equal(analysis_prefix(NULL, path, &rig->watch, &prefix, NULL), 0);
    assert_string_equal(prefix, "two\nlines/in\n/");
    prefix = mem_free(prefix);
    files.path = path;
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_non_null(rig_file(rig, "a.c"));
    assert_int_equal(rig->before.n_files, 1);
    /* A whole repository in such a folder. */
    rig_git(rig, "init -q -b main two\nlines");
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(churn_n_files(rig->churn), 0);
}

static void a_period_has_as_many_seconds_as_it_says(void **state)
{
    ChurnOptions options = {.until_s = 1000000};

    (void)state;
    analysis_set_period(&options, 5000000, 2);
    assert_int_equal(options.since_s, 1000000 - 2 * 86400 + 1);
    assert_int_equal(options.now_s, 5000000);
    assert_int_equal(options.period_days, 2);
    /* It ends then, though that is not yet. */
    options.until_s = 9000000;
    analysis_set_period(&options, 5000000, 1);
    assert_int_equal(options.since_s, 9000000 - 86400 + 1);
    options.until_s = INT64_MAX;
    analysis_set_period(&options, 5000000, 1);
    assert_int_equal(options.since_s, 5000000 - 86400 + 1);
    analysis_set_period(&options, 5000000, 0);
    assert_true(options.since_s == INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_program_of_a_repository_runs_and_nothing_is_written,
                                        setup, rig_teardown),
        cmocka_unit_test_setup_teardown(what_a_partial_clone_lacks_is_not_fetched, setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_clone_without_trees_is_told, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(other_attributes_give_other_lines, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(attributes_of_the_user_are_no_matter, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(files_are_compared_as_git_would, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(ids_of_both_lengths_are_known, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(every_allocation_of_a_comparison_may_fail, setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_folder_may_have_a_newline_in_its_name, setup,
                                        rig_teardown),
        cmocka_unit_test(a_period_has_as_many_seconds_as_it_says),
    };

    if (rig_try_git("/tmp", "--version") != 0) {
        print_message("there is no git here\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
