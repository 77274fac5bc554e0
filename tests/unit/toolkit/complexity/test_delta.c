#include "unit/toolkit/complexity/report_rig.h"

#include "support/oom_sweep.h"
#include "toolkit/complexity/delta.h"

static void finish(ComplexityReport *report)
{
    assert_int_equal(complexity_report_finish(report), 0);
}

static void make_before(ComplexityReport *report)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction a[] = {
        rig_function("same", 1, 3, 3),         rig_function("grown", 10, 3, 3),
        rig_function("shrunk", 20, 9, 9),      rig_function("gone", 30, 5, 1),
        rig_function("(anonymous)", 40, 1, 0), rig_function("(anonymous)", 50, 2, 0)};
    ComplexityFunction b = rig_function("other", 1, 2, 2);

    complexity_report_init(report, &options);
    rig_add(report, "a.js", "javascript", a, 6);
    rig_add(report, "b.js", "javascript", &b, 1);
    finish(report);
}

static void make_after(ComplexityReport *report, size_t limit, size_t offset)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction a[] = {
        rig_function("new", 1, 4, 0),          rig_function("same", 11, 3, 3),
        rig_function("grown", 20, 3, 7),       rig_function("shrunk", 30, 10, 7),
        rig_function("(anonymous)", 40, 1, 0), rig_function("(anonymous)", 50, 2, 1),
        rig_function("(anonymous)", 60, 7, 0)};
    ComplexityFunction c = rig_function("other", 1, 2, 2);

    options.limit = limit;
    options.offset = offset;
    complexity_report_init(report, &options);
    rig_add(report, "c.js", "javascript", &c, 1);
    rig_add(report, "a.js", "javascript", a, 7);
    finish(report);
}

static void row_is(const ComplexityDelta *delta, size_t i, ComplexityChange change,
                   const char *path, const char *name, uint32_t line)
{
    const ComplexityDeltaRow *row = &delta->rows[i];
    const ComplexityRow *shown = row->after != NULL ? row->after : row->before;

    assert_int_equal(row->change, change);
    rig_span_is(shown->path, path);
    rig_span_is(shown->function->name, name);
    assert_int_equal(shown->function->first_line, line);
    assert_true((row->before == NULL) == (change == COMPLEXITY_ADDED));
    assert_true((row->after == NULL) == (change == COMPLEXITY_REMOVED));
}

static void changes_are_found_by_path_name_and_order(void **state)
{
    ComplexityReport before;
    ComplexityReport after;
    ComplexityDelta delta;

    (void)state;
    make_before(&before);
    make_after(&after, 0, 0);
    assert_int_equal(complexity_delta_init(&delta, &before, &after), 0);
    assert_int_equal(delta.n_rows, 8);
    row_is(&delta, 0, COMPLEXITY_ADDED, "a.js", "(anonymous)", 60);
    row_is(&delta, 1, COMPLEXITY_ADDED, "a.js", "new", 1);
    row_is(&delta, 2, COMPLEXITY_ADDED, "c.js", "other", 1);
    row_is(&delta, 3, COMPLEXITY_REMOVED, "a.js", "gone", 30);
    row_is(&delta, 4, COMPLEXITY_REMOVED, "b.js", "other", 1);
    row_is(&delta, 5, COMPLEXITY_WORSE, "a.js", "grown", 20);
    row_is(&delta, 6, COMPLEXITY_WORSE, "a.js", "(anonymous)", 50);
    row_is(&delta, 7, COMPLEXITY_BETTER, "a.js", "shrunk", 30);
    assert_int_equal(delta.n_of[COMPLEXITY_ADDED], 3);
    assert_int_equal(delta.n_of[COMPLEXITY_REMOVED], 2);
    assert_int_equal(delta.n_of[COMPLEXITY_WORSE], 2);
    assert_int_equal(delta.n_of[COMPLEXITY_BETTER], 1);
    assert_int_equal(delta.n_same, 2);
    assert_int_equal(delta.cyclomatic, 32 - 25);
    assert_int_equal(delta.cognitive, 20 - 18);
    complexity_delta_deinit(&delta);
    complexity_delta_deinit(&delta);
    complexity_report_deinit(&before);
    complexity_report_deinit(&after);
}

static ComplexityChange change_of(uint32_t cyclomatic, uint32_t cognitive)
{
    ComplexityReportOptions options = rig_options();
    ComplexityFunction old = rig_function("f", 1, 5, 5);
    ComplexityFunction new = rig_function("f", 1, cyclomatic, cognitive);
    ComplexityReport reports[2];
    ComplexityDelta delta;
    ComplexityChange change;

    complexity_report_init(&reports[0], &options);
    complexity_report_init(&reports[1], &options);
    rig_add(&reports[0], "a.c", "c", &old, 1);
    rig_add(&reports[1], "a.c", "c", &new, 1);
    finish(&reports[0]);
    finish(&reports[1]);
    assert_int_equal(complexity_delta_init(&delta, &reports[0], &reports[1]), 0);
    change = delta.n_rows == 1 ? delta.rows[0].change : COMPLEXITY_N_CHANGES;
    complexity_delta_deinit(&delta);
    complexity_report_deinit(&reports[0]);
    complexity_report_deinit(&reports[1]);
    return change;
}

static void worse_is_what_has_grown_on_the_whole(void **state)
{
    (void)state;
    assert_int_equal(change_of(5, 5), COMPLEXITY_N_CHANGES);
    assert_int_equal(change_of(6, 5), COMPLEXITY_WORSE);
    assert_int_equal(change_of(5, 4), COMPLEXITY_BETTER);
    assert_int_equal(change_of(6, 4), COMPLEXITY_WORSE);
    assert_int_equal(change_of(6, 3), COMPLEXITY_BETTER);
    assert_int_equal(change_of(3, 8), COMPLEXITY_WORSE);
}

static void order_of_the_reports_turns_the_signs(void **state)
{
    ComplexityReport before;
    ComplexityReport after;
    ComplexityDelta delta;

    (void)state;
    make_before(&before);
    make_after(&after, 0, 0);
    assert_int_equal(complexity_delta_init(&delta, &after, &before), 0);
    assert_int_equal(delta.n_of[COMPLEXITY_ADDED], 2);
    assert_int_equal(delta.n_of[COMPLEXITY_REMOVED], 3);
    assert_int_equal(delta.cyclomatic, -7);
    complexity_delta_deinit(&delta);
    assert_int_equal(complexity_delta_init(&delta, &after, &after), 0);
    assert_int_equal(delta.n_rows, 0);
    assert_int_equal(delta.n_same, after.n_functions);
    complexity_delta_deinit(&delta);
    complexity_report_deinit(&before);
    complexity_report_deinit(&after);
}

static char *json_text(const ComplexityDelta *delta)
{
    JsonWriter w;
    Bytes out;
    char *text;

    bytes_init(&out, RIG_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    complexity_delta_write_members(delta, &w);
    json_write_end_object(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    text = malloc(out.n + 1);
    assert_non_null(text);
    memcpy(text, out.data, out.n);
    text[out.n] = '\0';
    bytes_deinit(&out);
    return text;
}

static void delta_is_told_as_json(void **state)
{
    ComplexityReport before;
    ComplexityReport after;
    ComplexityDelta delta;
    RigJson json;
    JsonValue root;
    char *text;

    (void)state;
    make_before(&before);
    make_after(&after, 3, 3);
    assert_int_equal(complexity_delta_init(&delta, &before, &after), 0);
    text = json_text(&delta);
    root = rig_json(&json, text);
    rig_json_is(root, "/since/added", "3");
    rig_json_is(root, "/since/removed", "2");
    rig_json_is(root, "/since/worse", "2");
    rig_json_is(root, "/since/better", "1");
    rig_json_is(root, "/since/unchanged", "2");
    rig_json_is(root, "/since/cyclomatic", "7");
    rig_json_is(root, "/since/cognitive", "2");
    rig_json_is(root, "/since/total", "8");
    rig_json_is(root, "/since/next_offset", "6");
    assert_int_equal(rig_json_count(root, "/since/rows"), 3);
    rig_json_is(root, "/since/rows/0/change", "\"removed\"");
    rig_json_is(root, "/since/rows/0/function", "\"gone\"");
    rig_json_is(root, "/since/rows/0/before/cyclomatic", "5");
    assert_false(rig_json_has(root, "/since/rows/0/after"));
    rig_json_is(root, "/since/rows/2/before/cognitive", "3");
    rig_json_is(root, "/since/rows/2/after/cognitive", "7");
    rig_json_is(root, "/since/rows/2/after/line", "20");
    arena_deinit(&json.arena);
    free(text);
    complexity_delta_deinit(&delta);
    complexity_report_deinit(&before);
    complexity_report_deinit(&after);
}

static void delta_is_told_in_words(void **state)
{
    ComplexityReport before;
    ComplexityReport after;
    ComplexityDelta delta;
    Bytes out;

    (void)state;
    make_before(&before);
    make_after(&after, 7, 0);
    assert_int_equal(complexity_delta_init(&delta, &before, &after), 0);
    bytes_init(&out, RIG_BYTES);
    assert_int_equal(complexity_delta_write_text(&delta, &out), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    rig_has(out.data, "3 added, 2 removed, 2 worse, 1 better, 2 unchanged\n");
    rig_has(out.data, "- **Cyclomatic:** +7\n");
    rig_has(out.data, "| worse | `grown` | `a.js` | 20 | 3 → 3 | 3 → 7 |\n");
    rig_has(out.data, "| removed | `gone` | `a.js` | 30 | 5 | 1 |\n");
    rig_has(out.data, "\n1 more; they begin at offset 7.\n");
    bytes_deinit(&out);
    complexity_delta_deinit(&delta);
    complexity_report_deinit(&before);
    complexity_report_deinit(&after);
}

typedef struct Reports {
    ComplexityReport before;
    ComplexityReport after;
} Reports;

static int whole_delta(void *context)
{
    const Reports *reports = context;
    ComplexityDelta delta;
    Bytes out;
    int r = complexity_delta_init(&delta, &reports->before, &reports->after);

    bytes_init(&out, RIG_BYTES);
    if (r == 0) {
        r = complexity_delta_write_text(&delta, &out);
    }
    bytes_deinit(&out);
    complexity_delta_deinit(&delta);
    return r;
}

static void delta_survives_want_of_memory(void **state)
{
    Reports reports;

    (void)state;
    make_before(&reports.before);
    make_after(&reports.after, 0, 0);
    test_oom_sweep(whole_delta, &reports);
    complexity_report_deinit(&reports.before);
    complexity_report_deinit(&reports.after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_found_by_path_name_and_order),
        cmocka_unit_test(worse_is_what_has_grown_on_the_whole),
        cmocka_unit_test(order_of_the_reports_turns_the_signs),
        cmocka_unit_test(delta_is_told_as_json),
        cmocka_unit_test(delta_is_told_in_words),
        cmocka_unit_test(delta_survives_want_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
