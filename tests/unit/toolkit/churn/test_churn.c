/* What commits come to, from text as git prints it. */
#include "toolkit/churn/churn.h"

#include "rig.h"

#include "support/oom_sweep.h"

#define ONES "1111111111111111111111111111111111111111"
#define TWOS "2222222222222222222222222222222222222222"

static void near(double got, double wanted)
{
    if (got - wanted > 1e-9 || wanted - got > 1e-9) {
        fail_msg("%.17g, not %.17g", got, wanted);
    }
}

static void author_is(const ChurnFile *file, size_t i, const char *name, uint32_t commits,
                      uint64_t changes)
{
    assert_true(i < file->n_authors);
    assert_true(span_equals(file->authors[i].name, span_from_str(name)));
    assert_int_equal(file->authors[i].commits, commits);
    assert_int_equal(file->authors[i].changes, changes);
}

static void put_example(Rig *rig)
{
    rig_commit(rig, "Ann");
    rig_change(rig, "M", "a.c", 10, 2);
    rig_change(rig, "M", "b.c", 1, 1);
    rig_commit(rig, "Bob|x");
    rig_change(rig, "M", "a.c", 3, 3);
    rig_commit(rig, "Ann");
    rig_change(rig, "A", "a.c", 20, 0);
    rig_change(rig, "A", "logo.png", -1, 0);
    rig_commit(rig, "Cy");
}

static void files_have_commits_authors_lines_and_times(void **state)
{
    const ChurnFile *file;
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    put_example(&rig);
    churn = rig_analyse(&rig);
    assert_int_equal(churn_n_commits(churn), 4);
    assert_int_equal(churn_n_files(churn), 3);
    file = rig_file(churn, "a.c");
    assert_ptr_equal(file, churn_file_at(churn, 0));
    assert_int_equal(file->commits, 3);
    assert_int_equal(file->additions, 33);
    assert_int_equal(file->deletions, 5);
    assert_int_equal(file->last_modified_s, RIG_NOW);
    assert_int_equal(file->first_seen_s, RIG_NOW - 120);
    assert_int_equal(file->n_authors, 2);
    author_is(file, 0, "Ann", 2, 32);
    author_is(file, 1, "Bob|x", 1, 6);
    near(file->ownership, 2.0 / 3);
    near(file->churn_score, 1);
    near(file->robust_rank, 1);
    file = rig_file(churn, "b.c");
    near(file->churn_score, 0.6 / 3 + 0.4 * 2 / 38);
    near(file->robust_rank, (0.25 + 0.5) / 2);
    file = rig_file(churn, "logo.png");
    assert_int_equal(file->binary_commits, 1);
    assert_int_equal(file->additions, 0);
    near(file->churn_score, 0.2);
    assert_null(churn_file_find(churn, SPAN("c.c")));
    assert_null(churn_file_find(churn, SPAN("")));
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void submodules_are_no_files(void **state)
{
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Ann");
    rig_change_mode(&rig, "160000", "M", NULL, "deps/lib", 1, 1);
    rig_change(&rig, "M", "x", 2, 0);
    rig_commit(&rig, "Ann");
    rig_change_mode(&rig, "160000", "A", NULL, "deps/lib", 1, 0);
    churn = rig_analyse(&rig);
    assert_int_equal(churn_n_files(churn), 1);
    assert_int_equal(rig_file(churn, "x")->additions, 2);
    assert_int_equal(churn_n_commits(churn), 2);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void the_last_change_says_whether_a_file_is_gone(void **state)
{
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "D", "gone", 0, 5);
    rig_change(&rig, "A", "back", 5, 0);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "A", "gone", 5, 0);
    rig_change(&rig, "D", "back", 0, 5);
    churn = rig_analyse(&rig);
    assert_true(rig_file(churn, "gone")->is_deleted);
    assert_false(rig_file(churn, "back")->is_deleted);
    assert_int_equal(rig_file(churn, "back")->commits, 2);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void authors_whose_names_would_look_the_same_are_one(void **state)
{
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "J\xF6rg");
    rig_change(&rig, "M", "x", 1, 0);
    rig_commit(&rig, "J\xF7rg");
    rig_change(&rig, "M", "x", 1, 0);
    rig_commit(&rig, "J\xC3\xB6rg");
    rig_change(&rig, "M", "x", 1, 0);
    churn = rig_analyse(&rig);
    assert_int_equal(rig_file(churn, "x")->n_authors, 2);
    author_is(rig_file(churn, "x"), 0, "J\xEF\xBF\xBDrg", 2, 2);
    author_is(rig_file(churn, "x"), 1, "J\xC3\xB6rg", 1, 1);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void lock_files_are_flagged(void **state)
{
    Churn *churn;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "M", "web/package-lock.json", 100, 0);
    rig_change(&rig, "M", "web/main.js", 1, 0);
    rig_change(&rig, "M", "node_modules/x/x.js", 1, 0);
    churn = rig_analyse(&rig);
    assert_string_equal(rig_file(churn, "web/package-lock.json")->flag, "lock");
    assert_string_equal(rig_file(churn, "node_modules/x/x.js")->flag, "vendored");
    assert_null(rig_file(churn, "web/main.js")->flag);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

/* ---- shallow clones ---- */

static void a_commit_at_the_cut_of_a_shallow_clone_is_not_counted(void **state)
{
    static const char text[] = "\x01" ONES "\x02"
                               "9\x02"
                               "9\x02HEAD\x02"
                               "Ann\0\n:100644 100644 " ONES " " TWOS " M\0x\0"
                               "1\t2\tx\0"
                               "\x01" TWOS "\x02"
                               "8\x02"
                               "8\x02grafted\x02"
                               "Bob\0\n:000000 100644 " ONES " " TWOS " A\0y\0"
                               "9999\t0\ty\0";
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    Span span = span_make(text, sizeof(text) - 1);
    Churn *churn = NULL;
    Bytes json;

    (void)state;
    repository.is_shallow = true;
    assert_int_equal(churn_new(&churn, &options, &repository, NULL), 0);
    assert_int_equal(rig_answer(churn, &span, 1), 0);
    assert_int_equal(churn_n_files(churn), 1);
    assert_int_equal(rig_file(churn, "x")->additions, 1);
    json = rig_write(churn, CHURN_JSON);
    rig_expect(&json, "\"shallow\": true");
    rig_expect(&json, "\"total_commits\": 1");
    rig_expect(&json, "\"author_count\": 1");
    rig_expect(&json, "1 commit at the cut is not counted");
    bytes_deinit(&json);
    (void)churn_free(churn);
}

/* ---- the table ---- */

static Bytes json_with(ChurnTable *table, const Span *texts, size_t n)
{
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    Churn *churn = NULL;
    Bytes json;

    options.directories = true;
    options.n_pairs = 10;
    assert_int_equal(churn_new(&churn, &options, &repository, table), 0);
    assert_int_equal(rig_answer(churn, texts, n), 0);
    json = rig_write(churn, CHURN_JSON);
    (void)churn_free(churn);
    return json;
}

static void a_second_analysis_needs_no_lines_and_says_the_same(void **state)
{
    ChurnTable *table = NULL;
    Rig with;
    Rig without;
    Span text;
    Bytes first;
    Bytes second;

    (void)state;
    rig_init(&with, true);
    rig_init(&without, false);
    put_example(&with);
    put_example(&without);
    rig_end(&with);
    assert_int_equal(churn_table_new(&table, 100), 0);
    text = bytes_span(&with.text);
    first = json_with(table, &text, 1);
    assert_int_equal(churn_table_size(table), 5);
    text = bytes_span(&without.text);
    second = json_with(table, &text, 1);
    assert_string_equal(first.data, second.data);
    bytes_deinit(&first);
    bytes_deinit(&second);
    (void)churn_table_free(table);
    rig_deinit(&with);
    rig_deinit(&without);
}

/* One new commit on top, of which the table knows nothing. */
static void unknown_lines_are_asked_for_in_a_second_run(void **state)
{
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    ChurnTable *table = NULL;
    Churn *churn = NULL;
    ChurnRun run;
    bool is_one = false;
    Rig with;
    Rig without;
    Bytes expected;
    Bytes got;
    size_t known;

    (void)state;
    rig_init(&with, true);
    rig_init(&without, false);
    put_example(&with);
    put_example(&without);
    rig_end(&with);
    known = with.text.n;
    /* Commit 5 is unknown, by one of its files only half. */
    rig_commit(&with, "Ann");
    rig_commit(&without, "Ann");
    for (int i = 0; i < 2; i++) {
        Rig *rig = i == 0 ? &with : &without;

        rig_change(rig, "M", "a.c", 5, 6);
        rig_change_mode(rig, "160000", "M", NULL, "sub", 1, 1);
        rig_change(rig, "M", "new.c", 7, 8);
        rig_end(rig);
    }
    assert_int_equal(churn_table_new(&table, 100), 0);
    {
        Span text = span_make(with.text.data, known);

        got = json_with(table, &text, 1);
        bytes_deinit(&got);
        text = bytes_span(&with.text);
        expected = json_with(NULL, &text, 1);
    }
    options.directories = true;
    options.n_pairs = 10;
    assert_int_equal(churn_new(&churn, &options, &repository, table), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_true(is_one && run.input.n == 0);
    assert_int_equal(churn_feed(churn, without.text.data, without.text.n, NULL), 0);
    assert_int_equal(churn_end_run(churn, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_true(is_one);
    assert_true(span_equals(run.input, SPAN("0000000000000000000000000000000000000005\n")));
    assert_int_equal(churn_feed(churn, with.text.data + known, with.text.n - known, NULL), 0);
    assert_int_equal(churn_end_run(churn, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_false(is_one);
    assert_int_equal(churn_finish(churn), 0);
    got = rig_write(churn, CHURN_JSON);
    assert_string_equal(got.data, expected.data);
    assert_int_equal(churn_table_size(table), 7);
    bytes_deinit(&got);
    bytes_deinit(&expected);
    (void)churn_free(churn);
    (void)churn_table_free(table);
    rig_deinit(&with);
    rig_deinit(&without);
}

static void lines_that_are_not_told_are_an_error(void **state)
{
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    ChurnTable *table = NULL;
    Churn *churn = NULL;
    ChurnRun run;
    Diag diag = DIAG_NULL;
    bool is_one = false;
    Rig known;
    Rig rig;
    Bytes json;
    Span text;

    (void)state;
    rig_init(&known, true);
    rig_init(&rig, false);
    rig_commit(&known, "Ann");
    rig_change(&known, "M", "other", 1, 1);
    rig_end(&known);
    put_example(&rig);
    assert_int_equal(churn_table_new(&table, 100), 0);
    text = bytes_span(&known.text);
    json = json_with(table, &text, 1);
    assert_int_equal(churn_new(&churn, &options, &repository, table), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_int_equal(churn_feed(churn, rig.text.data, rig.text.n, NULL), 0);
    assert_int_equal(churn_end_run(churn, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_true(is_one);
    assert_int_equal(churn_end_run(churn, &diag), CHURN_E_FORMAT);
    assert_non_null(strstr(diag.message, "did not tell the lines"));
    bytes_deinit(&json);
    (void)churn_free(churn);
    (void)churn_table_free(table);
    rig_deinit(&known);
    rig_deinit(&rig);
}

static void a_history_of_which_too_much_is_unknown_is_read_again_with_lines(void **state)
{
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    ChurnTable *table = NULL;
    Churn *churn = NULL;
    ChurnRun run;
    bool is_one = false;
    bool has_lines = false;
    Rig known;
    Rig many;
    Span text;
    Bytes json;

    (void)state;
    rig_init(&known, true);
    rig_init(&many, false);
    put_example(&known);
    rig_end(&known);
    assert_int_equal(churn_table_new(&table, 100), 0);
    text = bytes_span(&known.text);
    json = json_with(table, &text, 1);
    bytes_deinit(&json);
    assert_int_equal(churn_new(&churn, &options, &repository, table), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    many.n_commits = 1000;
    for (unsigned i = 0; i < 450000; i++) {
        rig_commit(&many, "Ann");
        rig_change(&many, "M", "x", 1, 1);
        bytes_clear(&many.lines);
        if (many.text.n > 1000000) {
            assert_int_equal(churn_feed(churn, many.text.data, many.text.n, NULL), 0);
            bytes_clear(&many.text);
        }
    }
    assert_int_equal(churn_feed(churn, many.text.data, many.text.n, NULL), 0);
    assert_int_equal(churn_end_run(churn, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_true(is_one);
    for (size_t i = 0; run.argv[i] != NULL; i++) {
        has_lines = has_lines || strcmp(run.argv[i], "--numstat") == 0;
        assert_string_not_equal(run.argv[i], "--stdin");
    }
    assert_true(has_lines);
    assert_int_equal(churn_feed(churn, known.text.data, known.text.n, NULL), 0);
    assert_int_equal(churn_end_run(churn, NULL), 0);
    assert_int_equal(churn_finish(churn), 0);
    assert_int_equal(churn_n_commits(churn), 4);
    assert_int_equal(churn_n_files(churn), 3);
    (void)churn_free(churn);
    (void)churn_table_free(table);
    rig_deinit(&known);
    rig_deinit(&many);
}

/* ---- runs ---- */

static bool argv_has(const ChurnRun *run, const char *argument)
{
    for (size_t i = 0; run->argv[i] != NULL; i++) {
        if (strcmp(run->argv[i], argument) == 0) {
            return true;
        }
    }
    return false;
}

static void the_arguments_say_what_was_asked_for(void **state)
{
    static const char *const paths[] = {"*.c", "-x", NULL};
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    Churn *churn = NULL;
    ChurnRun run;
    bool is_one = false;
    size_t n = 0;

    (void)state;
    options.since_s = 5;
    options.until_s = 1736937000;
    options.rev = "-main";
    options.paths = paths;
    options.no_renames = true;
    options.without_lines = true;
    assert_int_equal(churn_new(&churn, &options, &repository, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_true(is_one);
    assert_true(argv_has(&run, "--since=@5 +0000"));
    assert_true(argv_has(&run, "--until=@1736937000 +0000"));
    assert_true(argv_has(&run, "--no-renames"));
    assert_false(argv_has(&run, "-M50%"));
    assert_false(argv_has(&run, "--numstat"));
    assert_true(argv_has(&run, "--full-history"));
    while (run.argv[n] != NULL) {
        n++;
    }
    assert_string_equal(run.argv[n - 5], "--end-of-options");
    assert_string_equal(run.argv[n - 4], "-main");
    assert_string_equal(run.argv[n - 3], "--");
    assert_string_equal(run.argv[n - 2], "*.c");
    assert_string_equal(run.argv[n - 1], "-x");
    (void)churn_free(churn);
}

static void without_a_commit_there_is_nothing_to_run(void **state)
{
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    Churn *churn = NULL;
    Bytes json;

    (void)state;
    repository.head = SPAN("");
    assert_int_equal(churn_new(&churn, &options, &repository, NULL), 0);
    assert_int_equal(rig_answer(churn, NULL, 0), 0);
    json = rig_write(churn, CHURN_JSON);
    rig_expect(&json, "\"files\": []");
    rig_expect(&json, "no commit yet");
    bytes_deinit(&json);
    (void)churn_free(churn);
}

static void a_window_without_commits_is_an_empty_result_that_says_so(void **state)
{
    Churn *churn;
    Bytes text;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    churn = rig_analyse(&rig);
    for (int format = 0; format < CHURN_N_FORMATS; format++) {
        text = rig_write(churn, (ChurnFormat)format);
        if (format != CHURN_CSV) {
            rig_expect(&text, "No commit is in the window.");
        }
        bytes_deinit(&text);
    }
    assert_null(churn_file_find(churn, SPAN("x")));
    (void)churn_free(churn);
    rig_deinit(&rig);
}

/* ---- what is wrong ---- */

static void what_git_does_not_print_is_refused_with_the_place(void **state)
{
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    Churn *churn = NULL;
    ChurnRun run;
    Diag diag = DIAG_NULL;
    bool is_one;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Ann");
    rig_change(&rig, "M", "x", 1, 1);
    rig_end(&rig);
    assert_int_equal(bytes_append(&rig.text, "1\t1\ty\0", 6), 0);
    assert_int_equal(churn_new(&churn, &options, &repository, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_int_equal(churn_feed(churn, rig.text.data, rig.text.n, &diag), CHURN_E_FORMAT);
    assert_int_equal(diag.code, CHURN_E_FORMAT);
    assert_non_null(strstr(diag.message, "lines of a file that it did not change"));
    churn = churn_free(churn);
    assert_int_equal(churn_new(&churn, &options, &repository, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_int_equal(churn_feed(churn, "garbage", 7, &diag), CHURN_E_FORMAT);
    assert_int_equal(diag.offset, 0);
    churn = churn_free(churn);
    assert_int_equal(churn_new(&churn, &options, &repository, NULL), 0);
    assert_int_equal(churn_next_run(churn, &run, &is_one), 0);
    assert_int_equal(churn_feed(churn, rig.text.data, 20, &diag), 0);
    assert_int_equal(churn_end_run(churn, &diag), CHURN_E_FORMAT);
    assert_int_equal(diag.code, CHURN_E_FORMAT);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

/* All of it, with a table that knows a half. */
static int analyse(void *context)
{
    Rig *rigs = context;
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    const char *paths[] = {".", NULL};
    ChurnTable *table = NULL;
    Churn *churn = NULL;
    Bytes out;
    Span texts[2] = {bytes_span(&rigs[0].text), bytes_span(&rigs[1].text)};
    int r = churn_table_new(&table, 100);

    bytes_init(&out, 1 << 20);
    options.directories = true;
    options.n_pairs = 5;
    options.paths = paths;
    options.rev = "main";
    if (r == 0) {
        r = churn_new(&churn, &options, &repository, table);
    }
    if (r == 0) {
        r = rig_answer(churn, texts, 1);
    }
    churn = churn_free(churn);
    if (r == 0) {
        r = churn_new(&churn, &options, &repository, table);
    }
    if (r == 0) {
        texts[0] = texts[1];
        texts[1] = bytes_span(&rigs[2].text);
        r = rig_answer(churn, texts, 2);
    }
    for (int format = 0; format < CHURN_N_FORMATS && r == 0; format++) {
        r = churn_write(churn, (ChurnFormat)format, &out);
    }
    bytes_deinit(&out);
    (void)churn_free(churn);
    (void)churn_table_free(table);
    return r;
}

static void no_memory_is_an_error(void **state)
{
    Rig rigs[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        rig_init(&rigs[i], i != 1);
        if (i < 2) {
            put_example(&rigs[i]);
        }
        if (i > 0) {
            rigs[i].n_commits = 4;
            rig_commit(&rigs[i], "J\xF6rg");
            rig_rename(&rigs[i], "src/old.c", "src/new.c", 1, 2);
            rig_change(&rigs[i], "M", "src/bad\xFF", 1, 2);
        }
        rig_end(&rigs[i]);
    }
    test_oom_sweep(analyse, rigs);
    for (int i = 0; i < 3; i++) {
        rig_deinit(&rigs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_have_commits_authors_lines_and_times),
        cmocka_unit_test(submodules_are_no_files),
        cmocka_unit_test(the_last_change_says_whether_a_file_is_gone),
        cmocka_unit_test(authors_whose_names_would_look_the_same_are_one),
        cmocka_unit_test(lock_files_are_flagged),
        cmocka_unit_test(a_commit_at_the_cut_of_a_shallow_clone_is_not_counted),
        cmocka_unit_test(a_second_analysis_needs_no_lines_and_says_the_same),
        cmocka_unit_test(unknown_lines_are_asked_for_in_a_second_run),
        cmocka_unit_test(lines_that_are_not_told_are_an_error),
        cmocka_unit_test(a_history_of_which_too_much_is_unknown_is_read_again_with_lines),
        cmocka_unit_test(the_arguments_say_what_was_asked_for),
        cmocka_unit_test(without_a_commit_there_is_nothing_to_run),
        cmocka_unit_test(a_window_without_commits_is_an_empty_result_that_says_so),
        cmocka_unit_test(what_git_does_not_print_is_refused_with_the_place),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
