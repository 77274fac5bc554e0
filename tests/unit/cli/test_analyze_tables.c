#include "cli/cmd_analyze_tables.h"

#include "support/cmocka.h"

#include <string.h>

#include "toolkit/chart/text.h"

static const size_t widths[] = {200, 120, 80, 60, 40};

static void text_init(AnalyzeText *text, size_t width)
{
    analyze_text_init(text, NULL);
    text->width = width;
    text->coloured = false;
}

/* What was said, as a string. */
static const char *said(AnalyzeText *text)
{
    assert_int_equal(text->r, 0);
    assert_int_equal(bytes_append_byte(&text->out, '\0'), 0);
    return text->out.data;
}

/* Rows of tables, which have gaps: sentences are broken by the terminal. */
static void assert_fits(const char *text, size_t width)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        const char *gap = strstr(text, "  ");

        if (gap != NULL && gap < text + n && chart_text_width(span_make(text, n)) > width) {
            fail_msg("more than %zu columns: %.*s", width, (int)n, text);
        }
        text += n + (text[n] == '\n');
    }
}

/* Is it a title of the table? */
static bool has_title(const char *text, const char *title)
{
    const char *head = strchr(strchr(text, '\n') + 1, '\n') + 1;
    const char *end = strchr(head, '\n');
    const char *found = strstr(head, title);

    return found != NULL && found < end;
}

/* ---- what is shown ---- */

static const ChurnAuthor authors[] = {
    {.name = SPAN_INIT("Somebody With A Long Name"), .commits = 12345, .changes = 99}};

static const ChurnFile changed[] = {
    {.path = SPAN_INIT("src/a_rather_long_folder/another_one/and_a_third/reader.c"),
     .commits = 12345,
     .additions = 1234567,
     .deletions = 123456,
     .churn_score = 1,
     .robust_rank = 1,
     .last_modified_s = 1780000000,
     .authors = authors,
     .n_authors = 1,
     .ownership = 1},
    {.path = SPAN_INIT("\u65E5\u672C\u8A9E/\u30D5\u30A1\u30A4\u30EB/\u65E5\u672C\u8A9E/a.c"),
     .commits = 1,
     .churn_score = 0.1,
     .authors = authors,
     .n_authors = 1},
};

static const ComplexityFileRow measured[] = {
    {.path = SPAN_INIT("src/a_rather_long_folder/another_one/and_a_third/reader.c"),
     .file = {.code_lines = 123456, .n_functions = 4321},
     .max_cyclomatic = 4321,
     .sum_cognitive = 654321},
    {.path = SPAN_INIT("a.c"), .file = {.code_lines = 1, .n_functions = 1}, .max_cyclomatic = 1},
};

static const AnalysisHotspot spots[] = {{&measured[0], &changed[0], 1},
                                        {&measured[1], &changed[1], 0.25}};

static void churn_table_is_as_narrow_as_the_terminal(void **state)
{
    const ChurnFile *files[] = {&changed[0], &changed[1]};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(widths); i++) {
        AnalyzeText text;
        const char *table;

        text_init(&text, widths[i]);
        analyze_table_churn(&text, files, 2, true);
        table = said(&text);
        assert_fits(table, widths[i]);
        assert_non_null(strstr(table, " 1.00  "));
        assert_non_null(strstr(table, "third/reader.c\n"));
        /* Bars are the first to go, then what can be spared most. */
        assert_int_equal(strstr(table, "████████") != NULL, widths[i] >= 120);
        assert_int_equal(has_title(table, "authors"), widths[i] >= 120);
        assert_int_equal(has_title(table, "owner"), widths[i] >= 120);
        assert_int_equal(has_title(table, "last"), widths[i] >= 80);
        assert_int_equal(strstr(table, "1,234,567") != NULL, widths[i] >= 60);
        assert_non_null(strstr(table, "12,345"));
        analyze_text_deinit(&text);
    }
}

static void hotspots_table_is_as_narrow_as_the_terminal(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(widths); i++) {
        AnalyzeText text;
        const char *table;

        text_init(&text, widths[i]);
        analyze_table_hotspots(&text, spots, 2, true);
        table = said(&text);
        assert_fits(table, widths[i]);
        assert_non_null(strstr(table, " 1.00  "));
        assert_non_null(strstr(table, "third/reader.c\n"));
        assert_int_equal(strstr(table, "████████") != NULL, widths[i] >= 120);
        assert_int_equal(has_title(table, "authors"), widths[i] >= 120);
        assert_int_equal(has_title(table, "lines"), widths[i] >= 80);
        assert_int_equal(has_title(table, "cyclomatic"), widths[i] >= 80);
        assert_int_equal(strstr(table, "654,321") != NULL, widths[i] >= 60);
        assert_non_null(strstr(table, "12,345"));
        analyze_text_deinit(&text);
    }
}

static JsonValue parse(AnalyzeText *text, JsonDoc *doc, const char *json)
{
    assert_int_equal(json_parse(doc, &text->arena, json, strlen(json), NULL, NULL), 0);
    return json_root(doc);
}

static void folders_and_pairs_are_as_narrow_as_the_terminal(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(widths); i++) {
        AnalyzeText text;
        JsonDoc doc;

        text_init(&text, widths[i]);
        analyze_table_folders(
            &text, parse(&text, &doc,
                         "[{\"path\":\"src/a_rather_long_folder/another_one/and_a_third\","
                         "\"files\":12345,\"commit_count\":12345,\"additions\":1234567,"
                         "\"deletions\":1234567,\"author_count\":1234}]"));
        analyze_table_pairs(
            &text, parse(&text, &doc,
                         "[{\"first\":\"src/a_rather_long_folder/another_one/reader.c\","
                         "\"second\":\"src/a_rather_long_folder/another_one/writer.c\","
                         "\"support\":12345,\"share_of_first\":1,\"share_of_second\":0.5}]"));
        assert_fits(said(&text), widths[i]);
        assert_non_null(strstr(text.out.data, "and_a_third\n"));
        assert_non_null(strstr(text.out.data, "riter.c\n"));
        analyze_text_deinit(&text);
    }
}

static void there_is_no_table_of_nothing(void **state)
{
    AnalyzeText text;
    JsonDoc doc;

    (void)state;
    text_init(&text, 80);
    analyze_table_churn(&text, NULL, 0, true);
    analyze_table_hotspots(&text, NULL, 0, true);
    analyze_table_folders(&text, parse(&text, &doc, "[]"));
    assert_int_equal(text.out.n, 0);
    analyze_table_pairs(&text, parse(&text, &doc, "[]"));
    assert_string_equal(said(&text), "\nNo two files change together.\n");
    analyze_text_deinit(&text);
}

/* Of a partial clone. */
static void lines_that_were_not_counted_are_not_0(void **state)
{
    const ChurnFile *files[] = {&changed[1]};
    AnalyzeText text;
    JsonDoc doc;

    (void)state;
    text_init(&text, 0);
    analyze_table_churn(&text, files, 1, false);
    analyze_table_folders(&text, parse(&text, &doc,
                                       "[{\"path\":\"src\",\"files\":7,\"commit_count\":8,"
                                       "\"author_count\":9}]"));
    assert_non_null(strstr(said(&text), "    –"));
    assert_non_null(strstr(text.out.data, "        1  –  –        1"));
    assert_non_null(strstr(text.out.data, "    7  –  –        9  src\n"));
    assert_null(strstr(text.out.data, "0.10"));
    bytes_clear(&text.out);
    analyze_table_hotspots(&text, &spots[1], 1, false);
    assert_non_null(strstr(said(&text), "        1        –        1"));
    analyze_text_deinit(&text);
}

/* ---- complexity ---- */

static const char *complexity_said(AnalyzeText *text, size_t width, const ComplexityFunction *f,
                                   size_t n_functions)
{
    AnalyzeAsked asked = {.files = {.path = "project"}, .top = 10, .functions = 20};
    ComplexityReportOptions options = {.thresholds = complexity_thresholds_default,
                                       .elapsed_us = -1};
    ComplexityFile file = {.code_lines = 3, .functions = f, .n_functions = n_functions};
    ComplexityFile bare = {.code_lines = 5};
    ComplexityReport report;

    complexity_report_init(&report, &options);
    assert_int_equal(complexity_report_add(&report, SPAN("src/a.c"), &file), 0);
    assert_int_equal(complexity_report_add(&report, SPAN("src/b.h"), &bare), 0);
    assert_int_equal(complexity_report_skip(&report, SPAN("c"), COMPLEXITY_SKIP_BINARY, SPAN("")),
                     0);
    assert_int_equal(complexity_report_finish(&report), 0);
    text_init(text, width);
    analyze_tables_complexity(text, &asked, &report, NULL);
    complexity_report_deinit(&report);
    return said(text);
}

static void nothing_is_told_of_functions_that_are_not_there(void **state)
{
    AnalyzeText text;

    (void)state;
    assert_string_equal(complexity_said(&text, 80, NULL, 0),
                        "project: 2 files, 0 functions, 8 lines of code\n"
                        "\n"
                        "There is no function to measure.\n"
                        "\n"
                        "skipped: 1 binary\n");
    analyze_text_deinit(&text);
}

static void a_file_without_functions_has_no_complexity(void **state)
{
    static const ComplexityFunction f = {
        .name = SPAN_INIT("f"), .cyclomatic = 1, .first_line = 1, .lines = 3};
    AnalyzeText text;

    (void)state;
    assert_non_null(strstr(complexity_said(&text, 0, &f, 1),
                           "           –          –          0      5  src/b.h\n"));
    assert_non_null(strstr(text.out.data, "           1          0          1      3  src/a.c\n"));
    analyze_text_deinit(&text);
}

static void complexity_tables_are_as_narrow_as_the_terminal(void **state)
{
    static const ComplexityFunction f = {
        .name = SPAN_INIT("Namespace::Class::a_rather_long_name_of_a_function"),
        .cyclomatic = 12345,
        .cognitive = 12345,
        .nesting = 12,
        .first_line = 123456,
        .lines = 12345};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(widths); i++) {
        AnalyzeText text;
        const char *table = complexity_said(&text, widths[i], &f, 1);

        assert_fits(table, widths[i]);
        assert_non_null(strstr(table, "   12,345  "));
        assert_non_null(strstr(table, "  Namespace"));
        assert_non_null(strstr(table, "a.c:123456\n"));
        assert_int_equal(strstr(table, "nesting") != NULL, widths[i] >= 60);
        analyze_text_deinit(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(churn_table_is_as_narrow_as_the_terminal),
        cmocka_unit_test(hotspots_table_is_as_narrow_as_the_terminal),
        cmocka_unit_test(folders_and_pairs_are_as_narrow_as_the_terminal),
        cmocka_unit_test(there_is_no_table_of_nothing),
        cmocka_unit_test(lines_that_were_not_counted_are_not_0),
        cmocka_unit_test(nothing_is_told_of_functions_that_are_not_there),
        cmocka_unit_test(a_file_without_functions_has_no_complexity),
        cmocka_unit_test(complexity_tables_are_as_narrow_as_the_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
