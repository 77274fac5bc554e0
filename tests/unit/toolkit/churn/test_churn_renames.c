/* Files under their present names, from text as git prints it: newest commit first. */
#include "toolkit/churn/churn.h"

#include "rig.h"

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

static const char *tree_of(const char *rev)
{
    static char last[64];
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    Churn *churn = NULL;
    ChurnRun run;
    bool is_one = false;
    size_t n = 0;
    Rig rig;

    rig_init(&rig, true);
    rig_commit(&rig, "Bob");
    rig_change(&rig, "M", "a", 2, 0);
    rig_commit(&rig, "Ann");
    rig_rename(&rig, "a", "b", 4, 0);
    rig_end(&rig);
    options.rev = rev;
    assert_int_equal(churn_new(&churn, &options, &repository, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_int_equal(churn_feed(churn, rig.text.data, rig.text.n, NULL), 0);
    assert_int_equal(churn_end_run(churn, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    if (is_one) {
        assert_string_equal(run.argv[1], "ls-tree");
        while (run.argv[n + 1] != NULL) {
            n++;
        }
        (void)snprintf(last, sizeof(last), "%s", run.argv[n]);
    }
    (void)churn_free(churn);
    rig_deinit(&rig);
    return is_one ? last : NULL;
}

static void the_tree_is_that_of_the_newer_end(void **state)
{
    (void)state;
    assert_string_equal(tree_of(NULL), "HEAD");
    assert_string_equal(tree_of("v1"), "v1");
    assert_string_equal(tree_of("v1..v2"), "v2");
    assert_string_equal(tree_of("v1...v2"), "v2");
    assert_string_equal(tree_of("v1.."), "HEAD");
    assert_null(tree_of("^v1"));
    assert_null(tree_of("v1^!"));
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
        cmocka_unit_test(a_file_that_is_there_stays_one_of_its_own),
        cmocka_unit_test(the_tree_is_that_of_the_newer_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
