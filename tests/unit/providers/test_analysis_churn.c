/* The history of real repositories, what is remembered of it, and hotspots. */
/* nftw */
#define _XOPEN_SOURCE 700

#include "unit/providers/analysis_rig.h"

#include "base/alloc.h"
#include "support/oom_sweep.h"

static AnalysisHistory of(const Rig *rig)
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

static void assert_told(const Rig *rig, const char *words)
{
    Bytes text;

    bytes_init(&text, RIG_BYTES);
    assert_int_equal(churn_write(rig->churn, CHURN_JSON, &text), 0);
    assert_int_equal(bytes_append_byte(&text, '\0'), 0);
    if (strstr(text.data, words) == NULL) {
        fail_msg("%s is not in %s", words, text.data);
    }
    bytes_deinit(&text);
}

static int setup(void **state)
{
    (void)rig_setup(state);
    rig_init_repository(*state);
    return 0;
}

static void commit_three(const Rig *rig)
{
    rig_put(rig, "a.c", "int a;\n");
    rig_put(rig, "src/io/b.c", "int f(int a) { if (a) { return 1; } return 2; }\n");
    rig_commit(rig, "one");
    rig_put(rig, "src/io/b.c",
            "int f(int a) { if (a) { return 1; } return 2; }\nint g(void) { return 0; }\n");
    rig_commit(rig, "two");
    rig_put(rig, "src/io/b.c", "int f(int a) { if (a) { return 1; } return 3; }\n");
    rig_put(rig, "a.c", "int a;\nint b;\n");
    rig_commit(rig, "three");
}

/* ---- which history ---- */

static void commits_and_lines_of_files_are_counted(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = of(rig);

    commit_three(rig);
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(churn_n_files(rig->churn), 2);
    assert_int_equal(changed(rig, "src/io/b.c")->commits, 3);
    assert_int_equal(changed(rig, "src/io/b.c")->additions, 3);
    assert_int_equal(changed(rig, "src/io/b.c")->deletions, 2);
    assert_int_equal(changed(rig, "a.c")->commits, 2);
    assert_int_equal(atomic_load(&rig->watch.done), 3);
}

static void a_folder_and_a_file_have_their_own_history(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = of(rig);
    char path[512];
    char *prefix = NULL;

    commit_three(rig);
    rig_path(rig, "src/io", path);
    history.path = path;
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(churn_n_files(rig->churn), 1);
    assert_non_null(changed(rig, "src/io/b.c"));
    assert_told(rig, "\"prefix\": \"src/io/\"");
    assert_int_equal(analysis_prefix(NULL, path, &rig->watch, &prefix, NULL), 0);
    assert_string_equal(prefix, "src/io/");
    prefix = mem_free(prefix);
    rig_path(rig, "a.c", path);
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(churn_n_files(rig->churn), 1);
    assert_int_equal(changed(rig, "a.c")->commits, 2);
}

static void a_repository_without_a_commit_is_empty_and_says_so(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = of(rig);

    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(churn_n_files(rig->churn), 0);
    assert_told(rig, "no commit");
    commit_three(rig);
    history.options.until_s = 1000000;
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(churn_n_files(rig->churn), 0);
    assert_told(rig, "\"notes\": [\n    \"");
}

static void bare_and_shallow_clones_are_read_and_told(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = of(rig);
    char path[512];
    char words[600];

    commit_three(rig);
    (void)snprintf(words, sizeof(words), "clone -q --bare %s %s/bare.git", rig->project,
                   rig->folder);
    rig_git(rig, words);
    (void)snprintf(path, sizeof(path), "%s/bare.git", rig->folder);
    history.path = path;
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(churn_n_files(rig->churn), 2);
    assert_told(rig, "\"bare\": true");
    (void)snprintf(words, sizeof(words), "clone -q --depth 2 file://%s %s/shallow", rig->project,
                   rig->folder);
    rig_git(rig, words);
    (void)snprintf(path, sizeof(path), "%s/shallow", rig->folder);
    assert_int_equal(read_history(rig, &history), 0);
    assert_told(rig, "\"shallow\": true");
}

static void a_server_that_a_hook_started_reads_the_right_repository(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = of(rig);

    commit_three(rig);
    assert_int_equal(setenv("GIT_DIR", "/nowhere", 1), 0);
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(unsetenv("GIT_DIR"), 0);
    assert_int_equal(churn_n_files(rig->churn), 2);
}

/* ---- what goes wrong ---- */

static void what_is_no_repository_or_revision_is_said(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = of(rig);
    char words[200];

    history.path = rig->folder;
    assert_int_equal(read_history(rig, &history), ANALYSIS_E_GIT);
    (void)snprintf(words, sizeof(words), "Not found: No git repository found at %s", rig->folder);
    assert_string_equal(rig->diag.message, words);
    assert_string_equal(rig->diag.field, "repository");
    history.path = "/nowhere/at/all";
    assert_int_equal(read_history(rig, &history), ANALYSIS_E_PATH);
    commit_three(rig);
    history = of(rig);
    history.options.rev = "v9";
    assert_int_equal(read_history(rig, &history), ANALYSIS_E_GIT);
    assert_string_equal(rig->diag.message, "unknown revision 'v9'");
    history.options.rev = "HEAD~1";
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(changed(rig, "src/io/b.c")->commits, 2);
}

/* ---- ranges ---- */

static void a_range_has_the_commits_between_its_ends(void **state)
{
    static const struct {
        const char *rev;
        unsigned commits; /* of src/io/b.c; 0: it is not there */
    } ranges[] = {
        {"HEAD~2..HEAD", 1},   {"HEAD~3..", 2},          {"..HEAD~1", 0},
        {"side..main", 3},     {"main..side", 1},        {"HEAD@{0}~3..main", 2},
        {"HEAD~3..HEAD~2", 1}, {"main^{/two..|two}", 2},
    };
    Rig *rig = *state;
    AnalysisHistory history = of(rig);

    commit_three(rig);
    rig_git(rig, "checkout -q --orphan side");
    rig_put(rig, "a.c", "int other;\n");
    rig_commit(rig, "four");
    rig_git(rig, "checkout -q main");
    rig_git(rig, "commit -q --allow-empty -m four");
    for (size_t i = 0; i < TW_ARRAY_SIZE(ranges); i++) {
        const ChurnFile *file;

        history.options.rev = ranges[i].rev;
        if (read_history(rig, &history) != 0) {
            fail_msg("%s: %s", ranges[i].rev, rig->diag.message);
        }
        file = changed(rig, "src/io/b.c");
        if (file == NULL ? ranges[i].commits != 0 : file->commits != ranges[i].commits) {
            fail_msg("%s: %u commits", ranges[i].rev, file == NULL ? 0 : file->commits);
        }
    }
    history.options.rev = "HEAD~1..HEAD";
    assert_int_equal(read_history(rig, &history), 0);
    assert_told(rig, "\"rev\": \"HEAD~1..HEAD\"");
    assert_told(rig, "\"base\": \"");
}

static void both_ends_of_a_range_must_be_commits(void **state)
{
    static const char *const ranges[][2] = {
        {"v9..HEAD", "unknown revision 'v9'"},
        {"HEAD..v9", "unknown revision 'v9'"},
        {"HEAD..HEAD:a.c", "unknown revision 'HEAD:a.c'"},
        {"HEAD~1...HEAD", "unknown revision 'HEAD~1...HEAD': a range is A..B"},
        {"HEAD..--all", "unknown revision '--all'"},
        {"--all..HEAD", "unknown revision '--all'"},
        {"HEAD..^HEAD", "unknown revision '^HEAD'"},
        {"^HEAD", "unknown revision '^HEAD'"},
        {"", "unknown revision ''"},
    };
    Rig *rig = *state;
    AnalysisHistory history = of(rig);
    AnalysisFiles files = {.path = rig->project, .no_cache = true, .since = "HEAD~1..HEAD"};

    commit_three(rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(ranges); i++) {
        history.options.rev = ranges[i][0];
        assert_int_equal(read_history(rig, &history), ANALYSIS_E_GIT);
        if (strncmp(rig->diag.message, ranges[i][1], strlen(ranges[i][1])) != 0) {
            fail_msg("%s: %s", ranges[i][0], rig->diag.message);
        }
        assert_string_equal(rig->diag.field, "revision");
    }
    /* What is compared with the files of today is one revision. */
    assert_int_equal(rig_complexity(rig, &files), ANALYSIS_E_GIT);
    assert_string_equal(rig->diag.field, "revision");
    assert_non_null(strstr(rig->diag.message, "is a range"));
}

static void without_git_there_is_no_history(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = of(rig);
    char *path = strdup(getenv("PATH"));

    assert_non_null(path);
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_int_equal(read_history(rig, &history), ANALYSIS_E_GIT);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
    assert_non_null(strstr(rig->diag.message, "git cannot be started"));
}

/* Removes the blob of a.c, so that git cannot count lines in it. A tag is a short way to its name.
 */
static void lose_object(const Rig *rig)
{
    char path[512];
    char name[256];
    FILE *tag;

    rig_git(rig, "tag lost HEAD:a.c");
    rig_path(rig, ".git/refs/tags/lost", path);
    tag = fopen(path, "re");
    assert_non_null(tag);
    assert_non_null(fgets(name, sizeof(name), tag));
    assert_int_equal(fclose(tag), 0);
    assert_int_equal(unlink(path), 0);
    name[strcspn(name, "\n")] = '\0';
    (void)snprintf(path, sizeof(path), "%s/.git/objects/%.2s/%.200s", rig->project, name, name + 2);
    assert_int_equal(unlink(path), 0);
}

static void lines_that_were_counted_are_remembered(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = of(rig);

    commit_three(rig);
    assert_int_equal(read_history(rig, &history), 0);
    lose_object(rig);
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(changed(rig, "a.c")->additions, 2);
    /* Who counts must read it; and says what is wrong. */
    history.no_cache = true;
    assert_int_equal(read_history(rig, &history), ANALYSIS_E_GIT);
    assert_non_null(strstr(rig->diag.message, "git says: "));
    assert_string_equal(rig->diag.field, "");
    history.options.without_lines = true;
    assert_int_equal(read_history(rig, &history), 0);
}

static void a_job_that_is_stopped_says_so(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = of(rig);

    commit_three(rig);
    atomic_store(&rig->watch.cancel, true);
    assert_int_equal(read_history(rig, &history), ANALYSIS_E_CANCELLED);
    assert_null(rig->churn);
}

static int read_once(void *context)
{
    Rig *rig = context;
    AnalysisHistory history = of(rig);
    int r;

    history.no_cache = true;
    r = read_history(rig, &history);
    rig->churn = churn_free(rig->churn);
    return r;
}

static void every_allocation_may_fail(void **state)
{
    commit_three(*state);
    test_oom_sweep(read_once, *state);
}

/* ---- hotspots ---- */

static void hotspots_are_in_both(void **state)
{
    Rig *rig = *state;
    AnalysisHistory history = of(rig);
    AnalysisFiles files = {.path = rig->project, .no_cache = true};
    AnalysisHotspots spots = ANALYSIS_HOTSPOTS_NULL;
    Bytes text;

    rig_put(rig, "calm.c", "int f(int a) { if (a) { if (a > 1) { return 1; } } return 2; }\n");
    commit_three(rig);
    rig_put(rig, "untracked.c", "int f(int a) { return a; }\n");
    assert_int_equal(read_history(rig, &history), 0);
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(analysis_hotspots(&spots, &rig->report, rig->churn, SPAN_NULL), 0);
    /* a.c has no function, and the untracked one no history. */
    assert_int_equal(spots.n, 2);
    /* b.c: first of 3 changed files, second of 4 measured ones (0, 0, 1, 3); calm.c: last, first.
     */
    assert_string_equal(spots.rows[0].file->path.p, "src/io/b.c");
    assert_true(spots.rows[0].score > 0.66 && spots.rows[0].score < 0.67);
    assert_true(spots.rows[1].score == 0);
    bytes_init(&text, RIG_BYTES);
    assert_int_equal(analysis_hotspots_write_text(&spots, 1, &text), 0);
    assert_int_equal(bytes_append_byte(&text, '\0'), 0);
    assert_non_null(strstr(text.data, "| 1 | src/io/b.c | 0.667 | 3 | 5 | 1 | 1 | 2 | 1 |\n"));
    assert_null(strstr(text.data, "calm.c"));
    bytes_deinit(&text);
    analysis_hotspots_deinit(&spots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(commits_and_lines_of_files_are_counted, setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_folder_and_a_file_have_their_own_history, setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_repository_without_a_commit_is_empty_and_says_so, setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(bare_and_shallow_clones_are_read_and_told, setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_server_that_a_hook_started_reads_the_right_repository,
                                        setup, rig_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_repository_or_revision_is_said, setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_range_has_the_commits_between_its_ends, setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(both_ends_of_a_range_must_be_commits, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(without_git_there_is_no_history, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(lines_that_were_counted_are_remembered, setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_job_that_is_stopped_says_so, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, setup, rig_teardown),
        cmocka_unit_test_setup_teardown(hotspots_are_in_both, setup, rig_teardown),
    };

    if (rig_try_git("/tmp", "--version") != 0) {
        print_message("there is no git here\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
