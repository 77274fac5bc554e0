#include "unit/toolkit/complexity/report_rig.h"

/* Two files, one of them with a name that every format must escape. */
static void make(ComplexityReport *report, const ComplexityReportOptions *options)
{
    static const ComplexityIncrement increments[] = {{4, 5, "if", 1, 0}, {5, 9, "for", 2, 1}};
    ComplexityFunction big[] = {rig_function("Parser.next", 3, 25, 40),
                                rig_function("(anonymous)", 9, 12, 3),
                                rig_function("(anonymous)", 20, 12, 3)};
    ComplexityFunction small = rig_function("a|<b>", 1, 11, 0);
    ComplexityFile broken = rig_file("c", &small, 1);

    big[0].increments = increments;
    big[0].n_increments = 2;
    small.has_error = true;
    broken.n_errors = 2;
    broken.first_error_line = 7;
    complexity_report_init(report, options);
    rig_add(report, "src/parser.js", "javascript", big, 3);
    assert_int_equal(complexity_report_add(report, SPAN("we,ird \"|&\xFF.c"), &broken), 0);
    rig_skip(report, "lib/x.min.js", COMPLEXITY_SKIP_MINIFIED, "");
    rig_skip(report, "secret.c", COMPLEXITY_SKIP_UNREADABLE, "permission denied");
    assert_int_equal(complexity_report_finish(report), 0);
}

static char *written(const ComplexityReportOptions *options, ComplexityFormat format)
{
    ComplexityReport report;
    char *text;

    make(&report, options);
    text = rig_write(&report, format);
    complexity_report_deinit(&report);
    return text;
}

static void json_has_the_names_of_the_document(void **state)
{
    ComplexityReportOptions options = rig_options();
    RigJson json;
    JsonValue root;
    char *text;

    (void)state;
    options.ranks_files = true;
    options.top_files = 5;
    options.elapsed_us = 12500;
    text = written(&options, COMPLEXITY_JSON);
    root = rig_json(&json, text);
    rig_json_is(root, "/summary/total_files", "2");
    rig_json_is(root, "/summary/total_functions", "4");
    rig_json_is(root, "/summary/avg_cyclomatic", "15");
    rig_json_is(root, "/summary/avg_cognitive", "11.5");
    rig_json_is(root, "/summary/p90_cyclomatic", "25");
    rig_json_is(root, "/summary/p90_cognitive", "40");
    /* 30 (5 + 10) + 15 (2 + 2 + 1) minutes */
    rig_json_is(root, "/summary/technical_debt_hours", "8.75");
    rig_json_is(root, "/summary/errors", "2");
    rig_json_is(root, "/summary/warnings", "3");
    rig_json_is(root, "/summary/skipped_files/minified", "1");
    rig_json_is(root, "/summary/files_with_parse_errors", "1");
    rig_json_is(root, "/summary/elapsed_ms", "12.5");
    rig_json_is(root, "/violations/1/severity", "\"error\"");
    rig_json_is(root, "/violations/1/rule", "\"cyclomatic-complexity\"");
    rig_json_is(root, "/violations/1/message",
                "\"Cyclomatic complexity of 25 exceeds maximum allowed complexity of 20\"");
    rig_json_is(root, "/violations/0/message",
                "\"Cognitive complexity of 40 exceeds maximum allowed complexity of 30\"");
    rig_json_is(root, "/violations/2/message",
                "\"Cyclomatic complexity of 12 exceeds recommended complexity of 10\"");
    rig_json_is(root, "/violations/1/value", "25");
    rig_json_is(root, "/violations/1/threshold", "20");
    rig_json_is(root, "/violations/1/file", "\"src/parser.js\"");
    rig_json_is(root, "/violations/1/line", "3");
    rig_json_is(root, "/violations/1/function", "\"Parser.next\"");
    rig_json_is(root, "/hotspots/0/function", "\"Parser.next\"");
    rig_json_is(root, "/top_files/requested", "5");
    rig_json_is(root, "/top_files/returned", "2");
    rig_json_is(root, "/top_files/total", "2");
    rig_json_is(root, "/top_files/rankings/0/rank", "1");
    rig_json_is(root, "/top_files/rankings/0/file", "\"src/parser.js\"");
    rig_json_is(root, "/top_files/rankings/0/function_count", "3");
    rig_json_is(root, "/top_files/rankings/0/max_cyclomatic", "25");
    rig_json_is(root, "/top_files/rankings/0/avg_cognitive", "15.333333333333334");
    rig_json_is(root, "/top_files/rankings/0/total_score", "26.43");
    assert_true(rig_json_has(root, "/top_files/rankings/0/halstead_effort"));
    arena_deinit(&json.arena);
    free(text);
}

static void json_tells_what_is_behind_the_numbers(void **state)
{
    ComplexityReportOptions options = rig_options();
    RigJson json;
    JsonValue root;
    char *text;

    (void)state;
    options.thresholds = complexity_thresholds(8, 0);
    options.increments = true;
    text = written(&options, COMPLEXITY_JSON);
    root = rig_json(&json, text);
    rig_json_is(root, "/rules/variant", "\"classic\"");
    rig_json_is(root, "/rules/thresholds/cyclomatic_error", "8");
    rig_json_is(root, "/rules/thresholds/cyclomatic_warning", "6");
    rig_json_is(root, "/rules/thresholds/cognitive_error", "30");
    assert_true(rig_json_has(root, "/rules/rows"));
    rig_json_is(root, "/functions/0/name", "\"Parser.next\"");
    rig_json_is(root, "/functions/0/nesting_max", "2");
    rig_json_is(root, "/functions/0/parameters", "4");
    rig_json_is(root, "/functions/0/tokens", "99");
    rig_json_is(root, "/functions/0/halstead/N1", "12");
    rig_json_is(root, "/functions/0/halstead/difficulty", "10");
    rig_json_is(root, "/functions/0/increments/1/construct", "\"for\"");
    rig_json_is(root, "/functions/0/increments/1/amount", "2");
    rig_json_is(root, "/functions/0/increments/1/nesting", "1");
    rig_json_is(root, "/functions/3/has_parse_error", "true");
    assert_false(rig_json_has(root, "/functions/0/has_parse_error"));
    rig_json_is(root, "/files/1/parse_errors", "2");
    rig_json_is(root, "/files/1/first_error_line", "7");
    rig_json_is(root, "/files/1/language", "\"c\"");
    rig_json_is(root, "/skipped/1/reason", "\"unreadable\"");
    rig_json_is(root, "/skipped/1/detail", "\"permission denied\"");
    /* What is not UTF-8 becomes U+FFFD. */
    rig_json_is(root, "/files/1/path", "\"we,ird \\\"|&\xEF\xBF\xBD.c\"");
    assert_false(rig_json_has(root, "/top_files"));
    assert_false(rig_json_has(root, "/summary/elapsed_ms"));
    assert_false(rig_json_has(root, "/next_offset"));
    arena_deinit(&json.arena);
    free(text);
}

static void no_ranking_is_told_as_none(void **state)
{
    ComplexityReportOptions options = rig_options();
    RigJson json;
    JsonValue root;
    char *text;

    (void)state;
    options.ranks_files = true;
    text = written(&options, COMPLEXITY_JSON);
    root = rig_json(&json, text);
    rig_json_is(root, "/top_files/requested", "0");
    rig_json_is(root, "/top_files/returned", "0");
    rig_json_is(root, "/top_files/total", "2");
    arena_deinit(&json.arena);
    free(text);
    text = written(&options, COMPLEXITY_SUMMARY);
    rig_has_not(text, "Top Files");
    free(text);
}

static void nothing_measured_has_no_average(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityReport report;
    RigJson json;
    JsonValue root;
    char *text;

    (void)state;
    complexity_report_init(&report, &options);
    assert_int_equal(complexity_report_finish(&report), 0);
    text = rig_write(&report, COMPLEXITY_JSON);
    root = rig_json(&json, text);
    rig_json_is(root, "/summary/total_functions", "0");
    assert_false(rig_json_has(root, "/summary/avg_cyclomatic"));
    assert_int_equal(rig_json_count(root, "/violations"), 0);
    arena_deinit(&json.arena);
    free(text);
    for (int i = 0; i < COMPLEXITY_N_FORMATS; i++) {
        text = rig_write(&report, (ComplexityFormat)i);
        rig_has_not(text, "nan");
        free(text);
    }
    complexity_report_deinit(&report);
}

static void original_report_is_a_member_of_its_own(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityReport report;
    RigJson json;
    JsonWriter w;
    JsonValue root;
    Bytes out;

    (void)state;
    make(&report, &options);
    bytes_init(&out, RIG_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    complexity_report_write_report(&report, &w);
    json_write_end_object(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    root = rig_json(&json, out.data);
    rig_json_is(root, "/report/summary/total_files", "2");
    assert_int_equal(rig_json_count(root, "/report/violations"), 5);
    assert_int_equal(rig_json_count(root, "/report/files"), 2);
    assert_int_equal(rig_json_count(root, "/report/hotspots"), 4);
    arena_deinit(&json.arena);
    bytes_deinit(&out);
    complexity_report_deinit(&report);
}

/* Every page, put together, is the whole. */
static void pages_cover_the_lists(void **state)
{
    ComplexityReportOptions options = rig_options();
    size_t n_violations = 0;
    size_t n_functions = 0;
    size_t n_pages = 0;
    bool more = true;

    (void)state;
    options.limit = 2;
    while (more) {
        char *text = written(&options, COMPLEXITY_JSON);
        RigJson json;
        JsonValue root = rig_json(&json, text);
        JsonValue next;
        int64_t offset = 0;

        assert_true(rig_json_count(root, "/violations") <= 2);
        assert_true(rig_json_count(root, "/skipped") <= 2);
        n_violations += rig_json_count(root, "/violations");
        n_functions += rig_json_count(root, "/functions");
        rig_json_is(root, "/totals/violations", "5");
        rig_json_is(root, "/totals/functions", "4");
        rig_json_is(root, "/totals/files", "2");
        rig_json_is(root, "/totals/skipped", "2");
        more = json_get(root, SPAN("next_offset"), &next);
        if (more) {
            assert_int_equal(json_int64(next, &offset), 0);
            assert_int_equal(offset, options.offset + 2);
        }
        options.offset = (size_t)offset;
        n_pages++;
        arena_deinit(&json.arena);
        free(text);
    }
    assert_int_equal(n_pages, 3);
    assert_int_equal(n_violations, 5);
    assert_int_equal(n_functions, 4);
}

static void texts_say_where_the_rest_is(void **state)
{
    ComplexityReportOptions options = rig_options();
    char *text;

    (void)state;
    options.limit = 2;
    text = written(&options, COMPLEXITY_FULL);
    rig_has(text, "\n3 more; they begin at offset 2.\n");
    free(text);
    options.offset = 4;
    text = written(&options, COMPLEXITY_MARKDOWN);
    rig_has_not(text, "more;");
    free(text);
    options.offset = 1000;
    for (int i = 0; i < COMPLEXITY_N_FORMATS; i++) {
        text = written(&options, (ComplexityFormat)i);
        rig_has_not(text, "next_offset");
        free(text);
    }
}

static void summary_has_one_decimal_and_five_hotspots(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction functions[7];
    ComplexityReport report;
    char *text;

    (void)state;
    options.elapsed_us = 1234;
    options.ranks_files = true;
    options.top_files = 1;
    for (uint32_t i = 0; i < 7; i++) {
        functions[i] = rig_function("f", i + 1, 11 + i, 5);
    }
    complexity_report_init(&report, &options);
    rig_add(&report, "x.c", "c", functions, 7);
    rig_skip(&report, "y.c", COMPLEXITY_SKIP_GENERATED, "");
    rig_skip(&report, "z.c", COMPLEXITY_SKIP_IGNORED, "");
    assert_int_equal(complexity_report_finish(&report), 0);
    text = rig_write(&report, COMPLEXITY_SUMMARY);
    rig_has(text, "# Complexity Analysis Summary\n");
    rig_has(text, "| Cyclomatic | 14.0 | 14 | 17 | 17 | 17 |\n");
    rig_has(text, "| Cognitive | 5.0 | 5 | 5 | 5 | 5 |\n");
    rig_has(text, "- **Technical debt:** 7.0 hours\n");
    rig_has(text, "- **Errors:** 0 (cyclomatic above 20, cognitive above 30)\n");
    rig_has(text, "- **Warnings:** 7 (cyclomatic above 10, cognitive above 15)\n");
    rig_has(text, "- **Elapsed:** 1.2 ms\n");
    rig_has(text, "- **Files skipped:** 2 (1 ignored by git, 1 generated)\n");
    rig_has(text, "1. `f` in `x.c` line 7: cyclomatic 17, cognitive 5\n");
    rig_has(text, "\n5. `f`");
    rig_has_not(text, "\n6. ");
    /* The ranking stands in front. */
    assert_memory_equal(text, "# Top Files by Complexity", 25);
    rig_has(text, "| 1 | `x.c` | 7 | 17 | 5.0 | 5330.3 | 16.3 |\n");
    free(text);
    complexity_report_deinit(&report);
}

static void full_lists_violations_by_file_and_what_was_not_measured(void **state)
{
    ComplexityReportOptions options = rig_options();
    char *text;

    (void)state;
    text = written(&options, COMPLEXITY_FULL);
    rig_has(text, "\n### `src/parser.js`\n\n- line 3, `Parser.next`: error: Cyclomatic complexity "
                  "of 25 exceeds maximum allowed complexity of 20\n- line 3, `Parser.next`: error: "
                  "Cognitive complexity of 40 exceeds maximum allowed complexity of 30\n- line 9");
    rig_has(text, "| `lib/x.min.js` | minified |\n");
    rig_has(text, "| `secret.c` | cannot be read: permission denied |\n");
    rig_has(text, "## Parsed with Errors\n\n| File | Places | First line |\n|---|---:|---:|\n"
                  "| `we,ird \"\\|&\\xff.c` | 2 | 7 |\n");
    free(text);
}

static void markdown_tables_hold_any_name(void **state)
{
    ComplexityReportOptions options = rig_options();
    char *text;

    (void)state;
    text = written(&options, COMPLEXITY_MARKDOWN);
    rig_has(text, "| warning | `a\\|<b>` | `we,ird \"\\|&\\xff.c` | 1 | "
                  "cyclomatic-complexity | 11 | 10 |\n");
    rig_has(text, "| `Parser.next` | `src/parser.js` | 3-68 | 25 | 40 | 2 | 65 | 4 | 761.5 |\n");
    free(text);
}

static void csv_has_a_line_a_function(void **state)
{
    ComplexityReportOptions options = rig_options();
    char *text;

    (void)state;
    text = written(&options, COMPLEXITY_CSV);
    assert_memory_equal(text, "file,function,language,first_line,last_line,cyclomatic,", 55);
    /* The last digits are the mathematical library's. */
    rig_has(text, "\r\nsrc/parser.js,Parser.next,javascript,3,68,25,40,2,66,65,1,4,99,"
                  "76.147098441152");
    rig_has(text, ",10,761.47098441152");
    rig_has(text, ",false\r\nsrc/parser.js,(anonymous),javascript,9,24,12,3,");
    rig_has(text, "\r\n\"we,ird \"\"|&\\xff.c\",a|<b>,c,1,12,11,0,");
    assert_string_equal(text + strlen(text) - 7, ",true\r\n");
    free(text);
}

static void checkstyle_groups_by_file_and_escapes(void **state)
{
    ComplexityReportOptions options = rig_options();
    char *text;

    (void)state;
    text = written(&options, COMPLEXITY_CHECKSTYLE);
    rig_has(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"4.3\">\n"
                  "  <file name=\"src/parser.js\">\n"
                  "    <error line=\"3\" column=\"3\" severity=\"error\" message=\"Parser.next: "
                  "Cyclomatic complexity of 25 exceeds maximum allowed complexity of 20\" "
                  "source=\"toolwire.cyclomatic-complexity\"/>\n");
    rig_has(text,
            "  </file>\n  <file name=\"we,ird &quot;|&amp;\\xff.c\">\n"
            "    <error line=\"1\" column=\"3\" severity=\"warning\" message=\"a|&lt;b&gt;: ");
    rig_has(text, "  </file>\n</checkstyle>\n");
    free(text);
}

static void sarif_has_regions_rules_and_notifications(void **state)
{
    ComplexityReportOptions options = rig_options();
    RigJson json;
    JsonValue root;
    char *text;

    (void)state;
    options.thresholds = complexity_thresholds(24, 0);
    text = written(&options, COMPLEXITY_SARIF);
    root = rig_json(&json, text);
    rig_json_is(root, "/version", "\"2.1.0\"");
    rig_json_is(root, "/runs/0/tool/driver/version", "\"9.8.7\"");
    rig_json_is(root, "/runs/0/tool/driver/rules/0/id", "\"cyclomatic-complexity\"");
    rig_json_is(root, "/runs/0/tool/driver/rules/0/defaultConfiguration/parameters/error", "24");
    assert_true(rig_json_has(root, "/runs/0/tool/driver/rules/1/help/markdown"));
    rig_json_is(root, "/runs/0/results/0/ruleId", "\"cognitive-complexity\"");
    rig_json_is(root, "/runs/0/results/0/ruleIndex", "1");
    rig_json_is(root, "/runs/0/results/1/level", "\"error\"");
    rig_json_is(root, "/runs/0/results/1/locations/0/physicalLocation/region/startLine", "3");
    rig_json_is(root, "/runs/0/results/1/locations/0/physicalLocation/region/endLine", "68");
    rig_json_is(root, "/runs/0/results/1/locations/0/physicalLocation/region/startColumn", "3");
    rig_json_is(root, "/runs/0/results/1/locations/0/physicalLocation/region/endColumn", "8");
    rig_json_is(root, "/runs/0/results/1/locations/0/logicalLocations/0/name", "\"next\"");
    rig_json_is(root, "/runs/0/results/1/locations/0/logicalLocations/0/fullyQualifiedName",
                "\"Parser.next\"");
    assert_int_equal(rig_json_count(root, "/runs/0/results"), 2);
    assert_int_equal(rig_json_count(root, "/runs/0/invocations/0/toolExecutionNotifications"), 3);
    rig_has(text, "\"uri\": \"we%2Cird%20%22%7C%26%FF.c\"");
    rig_has(text, "\"Not measured: cannot be read: permission denied\"");
    arena_deinit(&json.arena);
    free(text);
}

/* The fingerprints of a report whose functions begin `moved` lines further down. */
static size_t fingerprints(uint32_t moved, const char *path, char ret[4][33])
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction functions[] = {rig_function("(anonymous)", 1 + moved, 12, 0),
                                      rig_function("(anonymous)", 20 + moved, 12, 16),
                                      rig_function("named", 40 + moved, 12, 0)};
    ComplexityReport report;
    size_t n = 0;
    char *text;

    complexity_report_init(&report, &options);
    rig_add(&report, path, "javascript", functions, 3);
    assert_int_equal(complexity_report_finish(&report), 0);
    text = rig_write(&report, COMPLEXITY_SARIF);
    for (char *p = text; n < 4 && (p = strstr(p, "complexityFunction/v1\": \"")) != NULL; n++) {
        p += strlen("complexityFunction/v1\": \"");
        memcpy(ret[n], p, 32);
        ret[n][32] = '\0';
    }
    free(text);
    complexity_report_deinit(&report);
    return n;
}

static void fingerprints_stay_when_lines_move(void **state)
{
    char before[4][33];
    char after[4][33];
    char other[4][33];

    (void)state;
    assert_int_equal(fingerprints(0, "a.js", before), 4);
    assert_int_equal(fingerprints(1000, "a.js", after), 4);
    assert_int_equal(fingerprints(0, "b.js", other), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(before[i], after[i]);
        assert_string_not_equal(before[i], other[i]);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(before[i], before[j]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_the_names_of_the_document),
        cmocka_unit_test(json_tells_what_is_behind_the_numbers),
        cmocka_unit_test(no_ranking_is_told_as_none),
        cmocka_unit_test(nothing_measured_has_no_average),
        cmocka_unit_test(original_report_is_a_member_of_its_own),
        cmocka_unit_test(pages_cover_the_lists),
        cmocka_unit_test(texts_say_where_the_rest_is),
        cmocka_unit_test(summary_has_one_decimal_and_five_hotspots),
        cmocka_unit_test(full_lists_violations_by_file_and_what_was_not_measured),
        cmocka_unit_test(markdown_tables_hold_any_name),
        cmocka_unit_test(csv_has_a_line_a_function),
        cmocka_unit_test(checkstyle_groups_by_file_and_escapes),
        cmocka_unit_test(sarif_has_regions_rules_and_notifications),
        cmocka_unit_test(fingerprints_stay_when_lines_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
