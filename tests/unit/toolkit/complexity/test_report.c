#include "unit/toolkit/complexity/report_rig.h"

#include <errno.h>

#include "support/oom_sweep.h"

static void example_of_the_protocol_document_scores_exactly(void **state)
{
    (void)state;
    assert_true(complexity_score(32, 5.8, 30) == 30.92);
    assert_true(complexity_score(0, 0, 0) == 0);
    assert_true(complexity_score(50, 100, 100) == 90);
    assert_true(complexity_score(4000000000u, 1e9, 100000) == 90);
    assert_true(complexity_score(1, 0, 1) == 0.9);
    assert_true(complexity_score(7, 1.0 / 3, 3) == 6.03);
    assert_true(complexity_score(7, 2.0 / 3, 1) == 5.97);
    assert_true(complexity_score(49, 99, 99) == 88.7);
}

static void example_is_reached_from_functions_too(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction functions[30];
    ComplexityReport report;

    (void)state;
    /* 174 / 30 = 5.8. */
    for (size_t i = 0; i < 30; i++) {
        functions[i] = rig_function("f", (uint32_t)i + 1, i == 0 ? 32 : 1, i < 24 ? 6 : 5);
    }
    complexity_report_init(&report, &options);
    rig_add(&report, "./server/src/services/context.rs", "rust", functions, 30);
    assert_int_equal(complexity_report_finish(&report), 0);
    assert_true(report.files[0].avg_cognitive == 5.8);
    assert_int_equal(report.files[0].max_cyclomatic, 32);
    assert_true(report.files[0].total_score == 30.92);
    complexity_report_deinit(&report);
    complexity_report_deinit(&report);
}

static void thresholds_of_the_caller_are_the_error_and_three_quarters_of_it(void **state)
{
    ComplexityThresholds t = complexity_thresholds(0, 0);

    (void)state;
    assert_int_equal(t.cyclomatic_warning, 10);
    assert_int_equal(t.cyclomatic_error, 20);
    assert_int_equal(t.cognitive_warning, 15);
    assert_int_equal(t.cognitive_error, 30);
    t = complexity_thresholds(9, 0);
    assert_int_equal(t.cyclomatic_warning, 6);
    assert_int_equal(t.cyclomatic_error, 9);
    assert_int_equal(t.cognitive_warning, 15);
    t = complexity_thresholds(0, 1);
    assert_int_equal(t.cyclomatic_error, 20);
    assert_int_equal(t.cognitive_warning, 1);
    assert_int_equal(t.cognitive_error, 1);
    t = complexity_thresholds(UINT32_MAX, 0);
    assert_int_equal(t.cyclomatic_warning, 3221225471u);
}

/* The original computed them and used the defaults. */
static void thresholds_of_the_caller_reach_the_violations(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction functions[] = {rig_function("a", 1, 5, 3), rig_function("b", 2, 4, 4),
                                      rig_function("c", 3, 3, 9), rig_function("d", 4, 1, 2)};
    ComplexityReport report;

    (void)state;
    complexity_report_init(&report, &options);
    rig_add(&report, "x.c", "c", functions, 4);
    assert_int_equal(complexity_report_finish(&report), 0);
    assert_int_equal(report.n_violations, 0);
    assert_int_equal(report.n_hotspots, 0);
    assert_true(report.summary.technical_debt_hours == 0);
    complexity_report_deinit(&report);

    options.thresholds = complexity_thresholds(4, 8); /* warnings above 3 and 6 */
    complexity_report_init(&report, &options);
    rig_add(&report, "x.c", "c", functions, 4);
    assert_int_equal(complexity_report_finish(&report), 0);
    assert_int_equal(report.n_violations, 3);
    assert_int_equal(report.summary.n_errors, 2);
    assert_int_equal(report.summary.n_warnings, 1);
    /* Errors first, then the larger value. */
    rig_span_is(report.violations[0].row.function->name, "c");
    assert_true(report.violations[0].is_error && report.violations[0].is_cognitive);
    assert_int_equal(report.violations[0].value, 9);
    assert_int_equal(report.violations[0].threshold, 8);
    rig_span_is(report.violations[1].row.function->name, "a");
    assert_true(report.violations[1].is_error && !report.violations[1].is_cognitive);
    assert_int_equal(report.violations[1].threshold, 4);
    rig_span_is(report.violations[2].row.function->name, "b");
    assert_false(report.violations[2].is_error);
    assert_int_equal(report.violations[2].threshold, 3);
    /* (30 + 30 + 15) / 60 */
    assert_true(report.summary.technical_debt_hours == 1.25);
    assert_int_equal(report.n_hotspots, 2);
    rig_span_is(report.hotspots[0].function->name, "a");
    rig_span_is(report.hotspots[1].function->name, "b");
    complexity_report_deinit(&report);
}

static void value_equal_to_a_threshold_is_within_it(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction functions[] = {rig_function("a", 1, 10, 15), rig_function("b", 2, 20, 30)};
    ComplexityReport report;

    (void)state;
    complexity_report_init(&report, &options);
    rig_add(&report, "x.c", "c", functions, 2);
    assert_int_equal(complexity_report_finish(&report), 0);
    assert_int_equal(report.summary.n_errors, 0);
    assert_int_equal(report.summary.n_warnings, 2);
    complexity_report_deinit(&report);
}

static void summary_is_of_all_functions(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction functions[100];
    ComplexityReport report;

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        functions[i] = rig_function("f", i + 1, 100 - i, 2 * i); /* 1…100, 0…198 */
    }
    complexity_report_init(&report, &options);
    rig_add(&report, "b.c", "c", functions, 50);
    rig_add(&report, "a.c", "c", functions + 50, 50);
    rig_add(&report, "c.c", "c", NULL, 0);
    assert_int_equal(complexity_report_finish(&report), 0);
    assert_int_equal(report.summary.total_files, 3);
    assert_int_equal(report.summary.total_functions, 100);
    assert_int_equal(report.summary.lines, 300);
    assert_int_equal(report.summary.code_lines, 210);
    assert_int_equal(report.summary.comment_lines, 60);
    assert_true(report.summary.avg_cyclomatic == 50.5);
    assert_true(report.summary.avg_cognitive == 99);
    assert_int_equal(report.summary.median_cyclomatic, 51);
    assert_int_equal(report.summary.median_cognitive, 100);
    assert_int_equal(report.summary.p90_cyclomatic, 91);
    assert_int_equal(report.summary.p90_cognitive, 180);
    assert_int_equal(report.summary.p99_cyclomatic, 100);
    assert_int_equal(report.summary.max_cyclomatic, 100);
    assert_int_equal(report.summary.max_cognitive, 198);
    assert_int_equal(report.n_hotspots, 10);
    assert_int_equal(report.hotspots[9].cyclomatic, 91);
    complexity_report_deinit(&report);
}

/* The original summed 16 bits wide. */
static void sums_of_large_values_do_not_wrap(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction functions[3];
    ComplexityReport report;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        functions[i] = rig_function("f", i + 1, 1, 1);
        functions[i].cyclomatic = 4000000000u;
        functions[i].cognitive = 4000000000u + i;
    }
    complexity_report_init(&report, &options);
    rig_add(&report, "a.c", "c", functions, 3);
    assert_int_equal(complexity_report_finish(&report), 0);
    assert_true(report.summary.avg_cyclomatic == 4000000000.0);
    assert_true(report.summary.avg_cognitive == 4000000001.0);
    assert_true(report.files[0].sum_cyclomatic == 12000000000u);
    rig_span_is(report.functions[0].function->name, "f");
    assert_int_equal(report.functions[0].function->first_line, 3);
    complexity_report_deinit(&report);
}

static void effort_of_a_file_is_the_sum_of_its_functions(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction functions[] = {rig_function("a", 1, 1, 0), rig_function("b", 2, 1, 0)};
    ComplexityReport report;

    (void)state;
    functions[1].halstead = (ComplexityHalstead){0, 0, 0, 0};
    complexity_report_init(&report, &options);
    rig_add(&report, "a.js", "javascript", functions, 2);
    assert_int_equal(complexity_report_finish(&report), 0);
    assert_true(report.files[0].halstead_effort > 761.47 &&
                report.files[0].halstead_effort < 761.48);
    complexity_report_deinit(&report);
}

static void modified_variant_is_told_everywhere(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction functions[] = {rig_function("a", 1, 12, 0)};
    ComplexityReport report;

    (void)state;
    functions[0].cyclomatic_modified = 11;
    options.modified = true;
    complexity_report_init(&report, &options);
    rig_add(&report, "a.c", "c", functions, 1);
    assert_int_equal(complexity_report_finish(&report), 0);
    assert_int_equal(report.functions[0].cyclomatic, 11);
    assert_int_equal(report.violations[0].value, 11);
    assert_int_equal(report.hotspots[0].cyclomatic, 11);
    assert_int_equal(report.files[0].max_cyclomatic, 11);
    assert_int_equal(report.summary.max_cyclomatic, 11);
    complexity_report_deinit(&report);
}

typedef struct Input {
    const char *path;
    uint32_t cyclomatic;
} Input;

static char *write_in_order(const size_t order[4], ComplexityFormat format)
{
    static const Input inputs[4] = {{"b/x.c", 30}, {"a/y.c", 30}, {"a/x.c", 12}, {"c.c", 30}};
    ComplexityReportOptions options = rig_options();
    ComplexityReport report;
    char *text;

    options.ranks_files = true;
    options.top_files = 10;
    complexity_report_init(&report, &options);
    for (size_t i = 0; i < 4; i++) {
        const Input *input = &inputs[order[i]];
        ComplexityFunction functions[] = {rig_function("(anonymous)", 4, input->cyclomatic, 31),
                                          rig_function("(anonymous)", 4, input->cyclomatic, 31)};

        rig_add(&report, input->path, "c", functions, 2);
        rig_skip(&report, input->path + 1, COMPLEXITY_SKIP_BINARY, "");
    }
    assert_int_equal(complexity_report_finish(&report), 0);
    text = rig_write(&report, format);
    complexity_report_deinit(&report);
    return text;
}

/* The original's order was that of a hash map. */
static void order_of_the_files_does_not_show(void **state)
{
    static const size_t orders[][4] = {{1, 0, 2, 3}, {3, 2, 1, 0}, {2, 3, 0, 1}};

    (void)state;
    for (int format = 0; format < COMPLEXITY_N_FORMATS; format++) {
        char *expected = write_in_order((size_t[]){0, 1, 2, 3}, (ComplexityFormat)format);

        for (size_t i = 0; i < TW_ARRAY_SIZE(orders); i++) {
            char *text = write_in_order(orders[i], (ComplexityFormat)format);

            assert_string_equal(text, expected);
            free(text);
        }
        free(expected);
    }
}

static void equal_scores_rank_by_path(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction low = rig_function("f", 1, 2, 2);
    ComplexityFunction high = rig_function("f", 1, 20, 2);
    ComplexityReport report;

    (void)state;
    complexity_report_init(&report, &options);
    rig_add(&report, "c.c", "c", &low, 1);
    rig_add(&report, "b.c", "c", &high, 1);
    rig_add(&report, "a.c", "c", &low, 1);
    rig_add(&report, "0.c", "c", NULL, 0);
    assert_int_equal(complexity_report_finish(&report), 0);
    rig_span_is(report.ranked[0]->path, "b.c");
    rig_span_is(report.ranked[1]->path, "a.c");
    rig_span_is(report.ranked[2]->path, "c.c");
    rig_span_is(report.ranked[3]->path, "0.c");
    assert_true(report.ranked[3]->total_score == 0);
    rig_span_is(report.functions[1].path, "a.c");
    complexity_report_deinit(&report);
}

static void what_is_given_is_copied(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityIncrement increments[] = {{7, 3, "if", 2, 1}};
    ComplexityFunction function;
    ComplexityReport report;
    char path[] = "a.c";
    char name[] = "fun";

    (void)state;
    options.increments = true;
    function = rig_function(name, 1, 2, 3);
    function.increments = increments;
    function.n_increments = 1;
    complexity_report_init(&report, &options);
    rig_add(&report, path, "c", &function, 1);
    memset(path, 'x', 3);
    memset(name, 'x', 3);
    memset(increments, 0, sizeof(increments));
    memset(&function, 0, sizeof(function));
    assert_int_equal(complexity_report_finish(&report), 0);
    rig_span_is(report.functions[0].path, "a.c");
    rig_span_is(report.functions[0].function->name, "fun");
    assert_int_equal(report.functions[0].function->increments[0].line, 7);
    complexity_report_deinit(&report);
}

/* The original dropped a file that it could not parse, and counted it as analysed. */
static void files_that_are_not_measured_are_told_apart(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFile broken = rig_file("rust", NULL, 0);
    ComplexityReport report;

    (void)state;
    broken.n_errors = 3;
    broken.first_error_line = 12;
    complexity_report_init(&report, &options);
    assert_int_equal(complexity_report_add(&report, SPAN("broken.rs"), &broken), 0);
    rig_skip(&report, "z.min.js", COMPLEXITY_SKIP_MINIFIED, "");
    rig_skip(&report, "a.c", COMPLEXITY_SKIP_UNREADABLE, "permission denied");
    rig_skip(&report, "out.o", COMPLEXITY_SKIP_IGNORED, "");
    rig_skip(&report, "out.p", COMPLEXITY_SKIP_IGNORED, "");
    assert_int_equal(complexity_report_finish(&report), 0);
    assert_int_equal(report.summary.total_files, 1);
    assert_int_equal(report.summary.n_with_parse_errors, 1);
    assert_int_equal(report.summary.n_skipped[COMPLEXITY_SKIP_MINIFIED], 1);
    assert_int_equal(report.summary.n_skipped[COMPLEXITY_SKIP_UNREADABLE], 1);
    assert_int_equal(report.summary.n_skipped[COMPLEXITY_SKIP_IGNORED], 2);
    assert_int_equal(report.n_skipped, 2);
    rig_span_is(report.skipped[0].path, "a.c");
    rig_span_is(report.skipped[0].detail, "permission denied");
    complexity_report_deinit(&report);

    options.list_ignored = true;
    complexity_report_init(&report, &options);
    rig_skip(&report, "out.o", COMPLEXITY_SKIP_IGNORED, "");
    assert_int_equal(complexity_report_finish(&report), 0);
    assert_int_equal(report.n_skipped, 1);
    assert_int_equal(report.summary.n_skipped[COMPLEXITY_SKIP_IGNORED], 1);
    complexity_report_deinit(&report);
}

static void names_of_formats_and_reasons_are_known(void **state)
{
    ComplexityFormat format;

    (void)state;
    for (int i = 0; i < COMPLEXITY_N_FORMATS; i++) {
        const char *name = complexity_format_name((ComplexityFormat)i);

        assert_true(complexity_format_parse(span_from_str(name), &format));
        assert_int_equal(format, i);
    }
    assert_false(complexity_format_parse(SPAN("yaml"), &format));
    assert_false(complexity_format_parse(SPAN(""), &format));
    for (int i = 0; i < COMPLEXITY_N_SKIPS; i++) {
        assert_non_null(complexity_skip_name((ComplexitySkip)i));
    }
    assert_string_equal(complexity_skip_name(COMPLEXITY_SKIP_TOO_LARGE), "too-large");
}

static int whole_report(void *context)
{
    ComplexityReportOptions options = rig_options();
    ComplexityIncrement increments[] = {{7, 3, "if", 2, 1}};
    ComplexityFunction function = rig_function("f", 1, 30, 30);
    ComplexityFile file = rig_file("c", &function, 1);
    ComplexityReport report;
    Bytes out;
    int r = 0;

    options.increments = true;
    options.ranks_files = true;
    options.top_files = 2;
    function.increments = increments;
    function.n_increments = 1;
    bytes_init(&out, RIG_BYTES);
    complexity_report_init(&report, &options);
    for (int i = 0; i < 70 && r == 0; i++) {
        char path[16];
        int n = snprintf(path, sizeof(path), "f%d.c", i);

        r = complexity_report_add(&report, span_make(path, (size_t)n), &file);
        if (r == 0) {
            r = complexity_report_skip(&report, span_make(path, (size_t)n), COMPLEXITY_SKIP_BINARY,
                                       SPAN("why"));
        }
    }
    r = r == 0 ? complexity_report_finish(&report) : r;
    for (int i = 0; i < COMPLEXITY_N_FORMATS && r == 0; i++) {
        size_t before = out.n;

        r = complexity_report_write(&report, (ComplexityFormat)i, &out);
        assert_true(r == 0 || out.n == before);
    }
    (void)context;
    bytes_deinit(&out);
    complexity_report_deinit(&report);
    return r;
}

static void report_survives_want_of_memory(void **state)
{
    (void)state;
    test_oom_sweep(whole_report, NULL);
}

static void full_output_is_left_as_it_was(void **state)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction function = rig_function("f", 1, 30, 30);
    ComplexityReport report;

    (void)state;
    complexity_report_init(&report, &options);
    rig_add(&report, "a.c", "c", &function, 1);
    rig_skip(&report, "b.c", COMPLEXITY_SKIP_BINARY, "why");
    assert_int_equal(complexity_report_finish(&report), 0);
    for (int i = 0; i < COMPLEXITY_N_FORMATS; i++) {
        char *text = rig_write(&report, (ComplexityFormat)i);
        size_t n = strlen(text);

        for (size_t max = 1; max < n; max += 7) {
            Bytes out;

            bytes_init(&out, max);
            assert_int_equal(bytes_append(&out, "x", 1), 0);
            assert_int_equal(complexity_report_write(&report, (ComplexityFormat)i, &out),
                             BYTES_E_FULL);
            assert_int_equal(out.n, 1);
            bytes_deinit(&out);
        }
        free(text);
    }
    complexity_report_deinit(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_of_the_protocol_document_scores_exactly),
        cmocka_unit_test(example_is_reached_from_functions_too),
        cmocka_unit_test(thresholds_of_the_caller_are_the_error_and_three_quarters_of_it),
        cmocka_unit_test(thresholds_of_the_caller_reach_the_violations),
        cmocka_unit_test(value_equal_to_a_threshold_is_within_it),
        cmocka_unit_test(summary_is_of_all_functions),
        cmocka_unit_test(sums_of_large_values_do_not_wrap),
        cmocka_unit_test(effort_of_a_file_is_the_sum_of_its_functions),
        cmocka_unit_test(modified_variant_is_told_everywhere),
        cmocka_unit_test(order_of_the_files_does_not_show),
        cmocka_unit_test(equal_scores_rank_by_path),
        cmocka_unit_test(what_is_given_is_copied),
        cmocka_unit_test(files_that_are_not_measured_are_told_apart),
        cmocka_unit_test(names_of_formats_and_reasons_are_known),
        cmocka_unit_test(report_survives_want_of_memory),
        cmocka_unit_test(full_output_is_left_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
