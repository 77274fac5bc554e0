/* The formats. */
#include "toolkit/churn/churn.h"

#include "rig.h"

#include "json/json.h"

static void put_files(Rig *rig)
{
    rig_commit(rig, "Ann");
    rig_change(rig, "M", "src/a.c", 10, 5);
    rig_change(rig, "M", "src/io/b.c", 1, 0);
    rig_change(rig, "M", "README.md", 2, 0);
    rig_commit(rig, "Bob, \"B\" | *x*");
    rig_change(rig, "M", "src/a.c", 20, 5);
    rig_change(rig, "M", "src/io/b.c", 1, 0);
    rig_commit(rig, "Ann");
    rig_change(rig, "A", "src/a.c", 40, 0);
}

static Bytes written(const ChurnOptions *options, ChurnFormat format)
{
    Churn *churn;
    Bytes out;
    Rig rig;

    rig_init(&rig, true);
    put_files(&rig);
    churn = rig_analyse_with(&rig, options);
    out = rig_write(churn, format);
    (void)churn_free(churn);
    rig_deinit(&rig);
    return out;
}

static void json_has_the_names_of_the_document(void **state)
{
    ChurnOptions options = rig_options();
    Bytes json;

    (void)state;
    options.period_days = 30;
    options.since_s = RIG_NOW - 30 * 86400;
    json = written(&options, CHURN_JSON);
    rig_expect(&json, "\"generated_at\": \"2025-01-15T10:30:00Z\"");
    rig_expect(&json, "\"period_days\": 30");
    rig_expect(&json, "\"since\": \"2024-12-16T10:30:00Z\"");
    rig_expect(&json, "\"repository_root\": \"/repo\"");
    rig_expect(&json, "\"total_commits\": 3");
    rig_expect(&json, "\"total_files_changed\": 3");
    rig_expect(&json, "\"hotspot_files\": [\n      \"src/a.c\"\n    ]");
    rig_expect(&json, "\"author_contributions\": {\n      \"Ann\": 3,\n      \"Bob, \\\"B\\\" | "
                      "*x*\": 2\n    }");
    rig_expect(&json, "\"author_commits\": {\n      \"Ann\": 2,");
    rig_expect(&json, "\"path\": \"/repo/src/a.c\",\n      \"relative_path\": \"src/a.c\",\n      "
                      "\"commit_count\": 3,\n      \"additions\": 70,\n      \"deletions\": 10,");
    rig_expect(&json, "\"churn_score\": 1,");
    rig_expect(&json, "\"last_modified\": \"2025-01-15T10:30:00Z\",\n      \"first_seen\": "
                      "\"2025-01-15T10:28:00Z\"");
    rig_expect(&json, "\"unique_authors\": [\n        \"Ann\",");
    rig_expect(&json, "\"ownership\": 0.6667");
    rig_expect_not(&json, "co_changes");
    rig_expect_not(&json, "directories");
    rig_expect_not(&json, "elapsed");
    rig_expect_not(&json, "next_offset");
    bytes_deinit(&json);
}

static void a_part_of_the_files_is_told_with_where_to_go_on(void **state)
{
    ChurnOptions options = rig_options();
    Bytes text;

    (void)state;
    options.limit = 1;
    options.offset = 1;
    text = written(&options, CHURN_JSON);
    rig_expect(&text, "\"relative_path\": \"src/io/b.c\"");
    rig_expect_not(&text, "\"relative_path\": \"src/a.c\"");
    rig_expect_not(&text, "\"relative_path\": \"README.md\"");
    rig_expect(&text, "\"next_offset\": 2");
    rig_expect(&text, "\"total_files_changed\": 3");
    bytes_deinit(&text);
    text = written(&options, CHURN_CSV);
    rig_expect(&text, "\nsrc/io/b.c,");
    rig_expect_not(&text, "README");
    bytes_deinit(&text);
    options.offset = 100;
    text = written(&options, CHURN_JSON);
    rig_expect(&text, "\"files\": []");
    rig_expect_not(&text, "next_offset");
    bytes_deinit(&text);
}

static void folders_count_each_commit_once(void **state)
{
    ChurnOptions options = rig_options();
    Bytes json;

    (void)state;
    options.directories = true;
    json = written(&options, CHURN_JSON);
    rig_expect(&json, "\"path\": \".\",\n      \"files\": 3,\n      \"commit_count\": 3,\n      "
                      "\"additions\": 74,\n      \"deletions\": 10,\n      \"author_count\": 2,\n  "
                      "    \"main_author\": \"Ann\",\n      \"ownership\": 0.6667");
    rig_expect(&json, "\"path\": \"src\",\n      \"files\": 2,\n      \"commit_count\": 3,");
    rig_expect(&json, "\"path\": \"src/io\",\n      \"files\": 1,\n      \"commit_count\": 2,");
    rig_expect(&json, "\"directory_count\": 3");
    bytes_deinit(&json);
}

static void files_that_change_together_are_told_with_their_shares(void **state)
{
    ChurnOptions options = rig_options();
    Bytes json;

    (void)state;
    options.n_pairs = 2;
    json = written(&options, CHURN_JSON);
    rig_expect(&json, "\"co_changes\": [\n    {\n      \"first\": \"src/a.c\",\n      \"second\": "
                      "\"src/io/b.c\",\n      \"support\": 2,\n      \"share_of_first\": 0.6667,\n "
                      "     \"share_of_second\": 1\n    },\n    {\n      \"first\": \"README.md\","
                      "\n      \"second\": \"src/io/b.c\",\n      \"support\": 1,");
    bytes_deinit(&json);
    options.max_commit_files = 2;
    json = written(&options, CHURN_JSON);
    rig_expect(&json, "\"support\": 1");
    rig_expect_not(&json, "\"support\": 2");
    rig_expect(&json, "1 commit of more than 2 files makes no co-changes.");
    bytes_deinit(&json);
}

static void without_lines_no_number_is_made_up(void **state)
{
    ChurnOptions options = rig_options();
    ChurnRepository repository = rig_repository();
    Churn *churn = NULL;
    Bytes text;
    Span span;
    Rig rig;

    (void)state;
    rig_init(&rig, false);
    put_files(&rig);
    span = bytes_span(&rig.text);
    options.without_lines = true;
    options.directories = true;
    assert_int_equal(churn_new(&churn, &options, &repository, NULL), 0);
    assert_int_equal(rig_answer(churn, &span, 1), 0);
    text = rig_write(churn, CHURN_JSON);
    rig_expect(&text, "\"commit_count\": 3");
    rig_expect_not(&text, "additions");
    rig_expect_not(&text, "changes");
    rig_expect_not(&text, "churn_score");
    rig_expect(&text, "\"robust_rank\": 1");
    bytes_deinit(&text);
    text = rig_write(churn, CHURN_CSV);
    rig_expect(&text, "\nsrc/a.c,3,,,,2,2025");
    bytes_deinit(&text);
    text = rig_write(churn, CHURN_MARKDOWN);
    rig_expect_not(&text, "Score");
    rig_expect_not(&text, "Changes");
    bytes_deinit(&text);
    text = rig_write(churn, CHURN_SUMMARY);
    rig_expect(&text, "1. src/a.c (3 commits, 2 authors)");
    bytes_deinit(&text);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void csv_is_that_of_the_original_with_more_columns(void **state)
{
    ChurnOptions options = rig_options();
    Bytes csv;

    (void)state;
    csv = written(&options, CHURN_CSV);
    rig_expect(
        &csv,
        "file_path,commits,additions,deletions,churn_score,unique_authors,"
        "last_modified,first_seen,robust_rank,main_author,ownership,deleted_by_last_change,flag\n"
        "src/a.c,3,70,10,1.000,2,2025-01-15T10:30:00Z,2025-01-15T10:28:00Z,1.0000,Ann,"
        "0.6667,false,\n");
    bytes_deinit(&csv);
}

static void text_of_others_stays_text(void **state)
{
    Churn *churn;
    Bytes text;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    rig_commit(&rig, "Eve, \"E\"\x1b[31m");
    rig_change(&rig, "M", "a|b`c,\"d\"\n\x1b]0;x\x07.c", 1, 0);
    rig_change(&rig, "M", "bad\xff", 1, 0);
    rig_change(&rig, "M", "bad\\xff", 1, 0);
    rig_change(&rig, "M", "turn\xE2\x80\xAEit\xC2\x9B", 1, 0);
    churn = rig_analyse(&rig);
    text = rig_write(churn, CHURN_CSV);
    rig_expect(&text, "\n\"a|b`c,\"\"d\"\"\\x0a\\x1b]0;x\\x07.c\",1,");
    rig_expect(&text, ",\"Eve, \"\"E\"\"\\x1b[31m\",");
    rig_expect(&text, "\nbad\\xff,1,");
    rig_expect(&text, "\nbad\\\\xff,1,");
    rig_expect(&text, "\nturn\\u202eit\\u009b,1,");
    bytes_deinit(&text);
    text = rig_write(churn, CHURN_MARKDOWN);
    rig_expect(&text, "| a\\|b\\`c,\"d\"\\\\x0a\\\\x1b\\]0;x\\\\x07.c | 1 |");
    rig_expect(&text, "| bad\\\\xff | 1 |");
    rig_expect(&text, "| bad\\\\\\\\xff | 1 |");
    bytes_deinit(&text);
    text = rig_write(churn, CHURN_SUMMARY);
    rig_expect(&text, " a|b`c,\"d\"\\x0a\\x1b]0;x\\x07.c (1 commit,");
    rig_expect(&text, " bad\\xff (");
    rig_expect(&text, " bad\\\\xff (");
    rig_expect_not(&text, "\x1b");
    bytes_deinit(&text);
    text = rig_write(churn, CHURN_JSON);
    rig_expect(&text, "\"relative_path\": \"a|b`c,\\\"d\\\"\\n\\u001b]0;x\\u0007.c\"");
    rig_expect(&text, "\"path_base64\": \"YmFk/w==\"");
    bytes_deinit(&text);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void summary_and_markdown_are_for_people(void **state)
{
    ChurnOptions options = rig_options();
    Bytes text;

    (void)state;
    options.period_days = 30;
    options.directories = true;
    options.n_pairs = 1;
    text = written(&options, CHURN_SUMMARY);
    rig_expect(&text, "Period: 30 days\nTotal commits: 3\nTotal files changed: 3\nAuthors: 2\n");
    rig_expect(&text, "1. src/a.c (3 commits, +70 -10, score 1.000, 2 authors)\n");
    bytes_deinit(&text);
    text = written(&options, CHURN_MARKDOWN);
    rig_expect(&text, "| src/a.c | 3 | 70 | 10 | 1.000 | 1.000 | 2 | Ann 67% | 2025-01-15 |  |\n");
    rig_expect(&text, "| src/io | 1 | 2 | 2 | Ann 50% |\n");
    rig_expect(&text, "| src/a.c | src/io/b.c | 2 | 67% | 100% |\n");
    bytes_deinit(&text);
}

static void the_time_it_took_is_told_if_it_is_known(void **state)
{
    Churn *churn;
    Bytes text;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    put_files(&rig);
    churn = rig_analyse(&rig);
    churn_set_elapsed(churn, 12345);
    text = rig_write(churn, CHURN_JSON);
    rig_expect(&text, "\"elapsed_ms\": 12.345");
    bytes_deinit(&text);
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void output_without_room_is_left_as_it_was(void **state)
{
    Churn *churn;
    Bytes out;
    Rig rig;

    (void)state;
    rig_init(&rig, true);
    put_files(&rig);
    churn = rig_analyse(&rig);
    for (int format = 0; format < CHURN_N_FORMATS; format++) {
        Bytes whole = rig_write(churn, (ChurnFormat)format);

        for (size_t max = 1; max + 1 < whole.n; max += 7) {
            bytes_init(&out, max);
            assert_int_equal(bytes_append_byte(&out, 'x'), 0);
            assert_int_equal(churn_write(churn, (ChurnFormat)format, &out), BYTES_E_FULL);
            assert_int_equal(out.n, 1);
            bytes_deinit(&out);
        }
        bytes_deinit(&whole);
    }
    (void)churn_free(churn);
    rig_deinit(&rig);
}

static void formats_have_names(void **state)
{
    ChurnFormat format = CHURN_N_FORMATS;

    (void)state;
    assert_true(churn_format_parse(SPAN("csv"), &format));
    assert_int_equal(format, CHURN_CSV);
    assert_true(churn_format_parse(SPAN("summary"), &format));
    assert_int_equal(format, CHURN_SUMMARY);
    assert_false(churn_format_parse(SPAN("xml"), &format));
    assert_int_equal(format, CHURN_SUMMARY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_the_names_of_the_document),
        cmocka_unit_test(a_part_of_the_files_is_told_with_where_to_go_on),
        cmocka_unit_test(folders_count_each_commit_once),
        cmocka_unit_test(files_that_change_together_are_told_with_their_shares),
        cmocka_unit_test(without_lines_no_number_is_made_up),
        cmocka_unit_test(csv_is_that_of_the_original_with_more_columns),
        cmocka_unit_test(text_of_others_stays_text),
        cmocka_unit_test(summary_and_markdown_are_for_people),
        cmocka_unit_test(the_time_it_took_is_told_if_it_is_known),
        cmocka_unit_test(output_without_room_is_left_as_it_was),
        cmocka_unit_test(formats_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
