/* Files under their present names, from text as git prints it: newest commit first. */
#include "toolkit/churn/churn.h"

#include "rig.h"
#include "support/oom_sweep.h"

static void old_names_are(const ChurnFile *file, const char *const *names, size_t n)
{
    assert_int_equal(file->n_old_names, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(span_equals(file->old_names[i], span_from_str(names[i])));
    }
}

static void a_chain_of_renames_is_one_file(void **state)
{
    static const char *const names[] = {"b", "a"};
    const ChurnFile *file;
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "M", "c", 1, 0);
    rig_commit(&rig, "Ann");
    rig_rename(&rig, "b", "c", 2, 0);
    rig_commit(&rig, "Bob");
    rig_change(&rig, "M", "b", 4, 0);
    rig_commit(&rig, "Ann");
    rig_rename(&rig, "a", "b", 8, 0);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "A", "a", 16, 0);
    churn = rig_analyse(&rig);
    assert_int_equal(churn_n_files(churn), 1);
    file = rig_file(churn, "c");
    assert_int_equal(file->commits, 5);
    assert_int_equal(file->additions, 31);
    assert_int_equal(file->first_seen_s, RIG_NOW - 240);
    assert_null(churn_file_find(churn, SPAN("a")));
    assert_null(churn_file_find(churn, SPAN("b")));
    old_names_are(file, names, 2);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void a_new_file_under_an_old_name_is_another(void **state)
{
    static const char *const names[] = {"a"};
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "M", "a", 1, 0);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "A", "a", 2, 0);
    rig_commit(&rig, "Ann");
    rig_rename(&rig, "a", "b", 4, 0);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "A", "a", 8, 0);
    churn = rig_analyse(&rig);
    assert_int_equal(churn_n_files(churn), 2);
    assert_int_equal(rig_file(churn, "a")->additions, 3);
    assert_int_equal(rig_file(churn, "a")->n_old_names, 0);
    assert_int_equal(rig_file(churn, "b")->additions, 12);
    old_names_are(rig_file(churn, "b"), names, 1);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void files_can_swap_their_names(void **state)
{
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Ann");
    rig_rename(&rig, "tmp", "b", 1, 0);
    rig_commit(&rig, "Ann");
    rig_rename(&rig, "b", "a", 2, 0);
    rig_commit(&rig, "Ann");
    rig_rename(&rig, "a", "tmp", 4, 0);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "A", "a", 8, 0);
    rig_change(&rig, "A", "b", 16, 0);
    churn = rig_analyse(&rig);
    assert_int_equal(churn_n_files(churn), 2);
    assert_int_equal(rig_file(churn, "b")->additions, 1 + 4 + 8);
    assert_int_equal(rig_file(churn, "a")->additions, 2 + 16);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void files_can_swap_their_names_in_one_commit(void **state)
{
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Ann");
    rig_rename(&rig, "b", "a", 1, 0);
    rig_rename(&rig, "a", "b", 2, 0);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "A", "a", 4, 0);
    rig_change(&rig, "A", "b", 8, 0);
    churn = rig_analyse(&rig);
    assert_int_equal(churn_n_files(churn), 2);
    assert_int_equal(rig_file(churn, "a")->additions, 9);
    assert_int_equal(rig_file(churn, "b")->additions, 6);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void a_commit_counts_once_for_a_file_that_had_two_names(void **state)
{
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Ann");
    rig_rename(&rig, "a", "b", 1, 0);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "D", "b", 0, 4);
    rig_change(&rig, "M", "a", 2, 0);
    churn = rig_analyse(&rig);
    assert_int_equal(churn_n_files(churn), 1);
    assert_int_equal(rig_file(churn, "b")->commits, 2);
    assert_int_equal(rig_file(churn, "b")->additions, 3);
    assert_int_equal(rig_file(churn, "b")->deletions, 4);
    assert_int_equal(rig_file(churn, "b")->authors[0].commits, 2);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void a_copy_is_a_file_of_its_own(void **state)
{
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Ann");
    rig_change_mode(&rig, "100644", "C090", "a", "b", 1, 0);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "A", "a", 4, 0);
    churn = rig_analyse(&rig);
    assert_int_equal(churn_n_files(churn), 2);
    assert_int_equal(rig_file(churn, "b")->n_old_names, 0);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

/* On a branch from before the rename, the old name was changed after it. */
static Churn *parallel(Rig *rig, Span tree)
{
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    Churn *churn = NULL;
    Span texts[2];

    options.n_pairs = 10;
    options.directories = true;
    rig_init(rig, true);
    rig_commit(rig, "Ann");
    rig_change(rig, "M", "new/b", 1, 0);
    rig_change(rig, "M", "other", 1, 0);
    rig_commit(rig, "Bob");
    rig_change(rig, "M", "a", 2, 0);
    rig_change(rig, "M", "other", 1, 0);
    rig_commit(rig, "Ann");
    rig_rename(rig, "a", "new/b", 4, 0);
    rig_commit(rig, "Ann");
    rig_change(rig, "A", "a", 8, 0);
    rig_end(rig);
    texts[0] = bytes_span(&rig->text);
    texts[1] = tree;
    assert_int_equal(churn_new(&churn, &options, &repository, NULL), 0);
    assert_int_equal(rig_answer(churn, texts, 2), 0);
    return churn;
}

static void a_change_of_the_old_name_on_another_branch_is_of_the_same_file(void **state)
{
    const ChurnFile *file;
    Churn *churn;
    Bytes json;
    Rig rig;

    (void)state;
    churn = parallel(&rig, SPAN("new/b\0other\0"));
    assert_int_equal(churn_n_files(churn), 2);
    file = rig_file(churn, "new/b");
    assert_int_equal(file->commits, 4);
    assert_int_equal(file->additions, 15);
    assert_int_equal(file->n_authors, 2);
    assert_null(churn_file_find(churn, SPAN("a")));
    json = rig_write(churn, CHURN_JSON);
    rig_expect(&json, "\"first\": \"new/b\",\n      \"second\": \"other\",\n      \"support\": 2");
    bytes_deinit(&json);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

/* Of one object of the list: the folder, its files, commits and authors. */
static void expect_folder(const Bytes *json, const char *path, unsigned files, unsigned commits,
                          unsigned authors, const char *owner)
{
    char wanted[256];

    (void)snprintf(wanted, sizeof(wanted),
                   "\"path\": \"%s\",\n      \"files\": %u,\n      \"commit_count\": %u,", path,
                   files, commits);
    rig_expect(json, wanted);
    (void)snprintf(wanted, sizeof(wanted), "\"author_count\": %u,\n      \"main_author\": \"%s\",",
                   authors, owner);
    rig_expect(json, wanted);
}

/* Somebody who did not have a rename yet changes the old name; one of the commits touches the new
 * folder, too. */
static void put_late_changes(Rig *rig)
{
    rig_init(rig, true);
    rig_commit(rig, "Ann");
    rig_change(rig, "M", "lib/b", 1, 0);
    for (size_t i = 0; i < 3; i++) {
        rig_commit(rig, "Zed");
        rig_change(rig, "M", "src/a", 2, 0);
        if (i == 0) {
            rig_change(rig, "M", "lib/c", 1, 0);
        }
    }
    rig_commit(rig, "Bob");
    rig_rename(rig, "src/a", "lib/b", 4, 0);
    rig_end(rig);
}

static int read_late_changes(void *context)
{
    const Rig *rig = context;
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    Span texts[2] = {bytes_span(&rig->text), SPAN("lib/b\0lib/c\0")};
    Churn *churn = NULL;
    Bytes json;
    int r;

    bytes_init(&json, RIG_MAX);
    options.directories = true;
    r = churn_new(&churn, &options, &repository, NULL);
    r = r != 0 ? r : rig_answer(churn, texts, 2);
    r = r != 0 ? r : churn_write(churn, CHURN_JSON, &json);
    r = r != 0 ? r : bytes_append_byte(&json, '\0');
    if (r == 0) {
        assert_int_equal(rig_file(churn, "lib/b")->commits, 5);
        expect_folder(&json, "lib", 2, 5, 3, "Zed");
        expect_folder(&json, ".", 2, 5, 3, "Zed");
        rig_expect_not(&json, "\"path\": \"src\"");
    }
    bytes_deinit(&json);
    (void)churn_free(churn);
    return r;
}

static void a_folder_counts_the_commits_of_a_file_under_its_other_name(void **state)
{
    Rig rig;

    (void)state;
    put_late_changes(&rig);
    assert_int_equal(read_late_changes(&rig), 0);
    test_oom_sweep(read_late_changes, &rig);
    rig_deinit(&rig);
}

static void a_file_that_is_there_stays_one_of_its_own(void **state)
{
    Churn *churn;
    Rig rig;

    (void)state;
    churn = parallel(&rig, SPAN("a\0new/b\0other\0"));
    assert_int_equal(churn_n_files(churn), 3);
    assert_int_equal(rig_file(churn, "new/b")->additions, 13);
    assert_int_equal(rig_file(churn, "a")->additions, 2);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

/* Arguments of the run from --end-of-options on, with a blank before each. */
static void append_revisions(const ChurnRun *run, char out[256])
{
    bool is_behind = false;

    for (size_t i = 0; run->argv[i] != NULL; i++) {
        if (is_behind) {
            (void)snprintf(out + strlen(out), 256 - strlen(out), " %s", run->argv[i]);
        }
        is_behind = is_behind || strcmp(run->argv[i], "--end-of-options") == 0;
    }
}

/* What the log and the tree are asked for. */
static void revisions_are(const char *rev, Span base, const char *wanted)
{
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    Churn *churn = NULL;
    char asked[256] = "";
    bool is_one = false;
    ChurnRun run;
    Rig rig;

    rig_init(&rig, true);
    rig_commit(&rig, "Bob");
    rig_change(&rig, "M", "a", 2, 0);
    rig_commit(&rig, "Ann");
    rig_rename(&rig, "a", "b", 4, 0);
    rig_end(&rig);
    options.rev = rev;
    repository.head = SPAN("1234");
    repository.base = base;
    assert_int_equal(churn_new(&churn, &options, &repository, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    append_revisions(&run, asked);
    assert_int_equal(churn_feed(churn, rig.text.data, rig.text.n, NULL), 0);
    assert_int_equal(churn_end_run(churn, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_true(is_one);
    assert_string_equal(run.argv[1], "ls-tree");
    append_revisions(&run, asked);
    assert_string_equal(asked, wanted);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void a_range_is_read_between_its_ends(void **state)
{
    (void)state;
    revisions_are(NULL, SPAN_NULL, " HEAD -- HEAD");
    revisions_are("v1", SPAN_NULL, " v1 -- v1");
    revisions_are("v1..v2", SPAN("cafe"), " 1234 ^cafe -- 1234");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_renames_is_one_file),
        cmocka_unit_test(a_new_file_under_an_old_name_is_another),
        cmocka_unit_test(files_can_swap_their_names),
        cmocka_unit_test(files_can_swap_their_names_in_one_commit),
        cmocka_unit_test(a_commit_counts_once_for_a_file_that_had_two_names),
        cmocka_unit_test(a_copy_is_a_file_of_its_own),
        cmocka_unit_test(a_change_of_the_old_name_on_another_branch_is_of_the_same_file),
        cmocka_unit_test(a_folder_counts_the_commits_of_a_file_under_its_other_name),
        cmocka_unit_test(a_file_that_is_there_stays_one_of_its_own),
        cmocka_unit_test(a_range_is_read_between_its_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
