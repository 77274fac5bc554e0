#include "cli/cmd_analyze_tables.h"

#include "base/error.h"

/* Seconds that are worth a word. */
static void say_seconds(AnalyzeText *text, int64_t us)
{
    if (us >= 0) {
        analyze_say_span(text, SPAN(" in "));
        analyze_say_number(text, (double)us / 1e6, 2);
        analyze_say_span(text, SPAN(" s"));
    }
}

Span analyze_place(AnalyzeText *text, Span path, uint32_t line)
{
    char *place = arena_alloc(&text->arena, path.n + 16);
    int n;

    if (place == NULL) {
        text->r = text->r != 0 ? text->r : err_raise(-ENOMEM);
        return SPAN("");
    }
    memcpy(place, path.p, path.n);
    n = snprintf(place + path.n, 16, ":%u", line);
    return span_make(place, path.n + (n > 0 ? (size_t)n : 0));
}

ChartTone analyze_tone(uint32_t value, uint32_t warning, uint32_t error)
{
    return value > error ? CHART_ERROR : value > warning ? CHART_WARNING : CHART_PLAIN;
}

/* ---- the whole ---- */

static void say_head(AnalyzeText *text, const AnalyzeAsked *asked, const ComplexityReport *report)
{
    const ComplexitySummary *sum = &report->summary;

    analyze_say_name(text, span_from_str(asked->files.path));
    analyze_say_span(text, SPAN(": "));
    analyze_say_count(text, sum->total_files, "file", "files");
    analyze_say_span(text, SPAN(", "));
    analyze_say_count(text, sum->total_functions, "function", "functions");
    analyze_say_span(text, SPAN(", "));
    analyze_say_count(text, (size_t)sum->code_lines, "line of code", "lines of code");
    say_seconds(text, report->options.elapsed_us);
    analyze_say_span(text, SPAN("\n"));
}

static void say_averages(AnalyzeText *text, const ComplexityReport *report)
{
    static const ChartColumn columns[] = {{"", CHART_LEFT, 0},         {"mean", CHART_NUMBER, 0},
                                          {"median", CHART_NUMBER, 1}, {"90 %", CHART_NUMBER, 2},
                                          {"99 %", CHART_NUMBER, 3},   {"max", CHART_NUMBER, 0}};
    const ComplexityThresholds *t = &report->options.thresholds;
    const ComplexitySummary *sum = &report->summary;
    ChartGrid grid;

    analyze_say_span(text, SPAN("\n"));
    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    analyze_add_row(
        text, &grid,
        (ChartCell[]){analyze_cell(report->options.modified ? SPAN("cyclomatic (modified)")
                                                            : SPAN("cyclomatic")),
                      analyze_cell_number(text, sum->avg_cyclomatic, 1, CHART_PLAIN),
                      analyze_cell_number(text, sum->median_cyclomatic, 0, CHART_PLAIN),
                      analyze_cell_number(text, sum->p90_cyclomatic, 0, CHART_PLAIN),
                      analyze_cell_number(text, sum->p99_cyclomatic, 0, CHART_PLAIN),
                      analyze_cell_number(text, sum->max_cyclomatic, 0,
                                          analyze_tone(sum->max_cyclomatic, t->cyclomatic_warning,
                                                       t->cyclomatic_error))});
    analyze_add_row(
        text, &grid,
        (ChartCell[]){analyze_cell(SPAN("cognitive")),
                      analyze_cell_number(text, sum->avg_cognitive, 1, CHART_PLAIN),
                      analyze_cell_number(text, sum->median_cognitive, 0, CHART_PLAIN),
                      analyze_cell_number(text, sum->p90_cognitive, 0, CHART_PLAIN),
                      analyze_cell_number(text, sum->p99_cognitive, 0, CHART_PLAIN),
                      analyze_cell_number(text, sum->max_cognitive, 0,
                                          analyze_tone(sum->max_cognitive, t->cognitive_warning,
                                                       t->cognitive_error))});
    analyze_say_grid(text, &grid);
}

static void say_debt(AnalyzeText *text, const ComplexityReport *report)
{
    const ComplexityThresholds *t = &report->options.thresholds;
    const ComplexitySummary *sum = &report->summary;

    analyze_say_span(text, SPAN("\n"));
    analyze_say_count(text, sum->n_errors, "error", "errors");
    analyze_say(text, " (cyclomatic > %u, cognitive > %u), ", t->cyclomatic_error,
                t->cognitive_error);
    analyze_say_count(text, sum->n_warnings, "warning", "warnings");
    analyze_say(text, " (> %u, > %u)", t->cyclomatic_warning, t->cognitive_warning);
    if (sum->technical_debt_hours > 0) {
        analyze_say_span(text, SPAN("; technical debt: "));
        analyze_say_number(text, sum->technical_debt_hours, 1);
        analyze_say_span(text, SPAN(" h"));
    }
    analyze_say_span(text, SPAN("\n"));
}

/* How many functions lie in each step of cognitive complexity, between the thresholds. */
static void say_steps(AnalyzeText *text, const ComplexityReport *report)
{
    static const ChartColumn columns[] = {
        {"cognitive", CHART_NUMBER, 0}, {"functions", CHART_NUMBER, 0}, {"", CHART_BAR, 0}};
    uint32_t warning = report->options.thresholds.cognitive_warning;
    uint32_t error = report->options.thresholds.cognitive_error;
    uint32_t ends[] = {0,     warning / 3, 2 * warning / 3, warning, (warning + error) / 2,
                       error, UINT32_MAX};
    size_t counts[TW_ARRAY_SIZE(ends)] = {0};
    ChartGrid grid;

    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; i < report->n_functions; i++) {
        size_t step = 0;

        while (report->functions[i].function->cognitive > ends[step]) {
            step++;
        }
        counts[step]++;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(ends); i++) {
        uint32_t first = i == 0 ? 0 : ends[i - 1] + 1;
        ChartTone tone = analyze_tone(first, warning, error);
        ChartCell bar = {.value = (double)counts[i],
                         .tone = tone == CHART_PLAIN ? CHART_GOOD : tone};

        if (i > 0 && ends[i] <= ends[i - 1]) {
            continue; /* thresholds lie close together */
        }
        analyze_add_row(
            text, &grid,
            (ChartCell[]){analyze_cell(ends[i] == UINT32_MAX
                                           ? analyze_format(text, "> %u", first - 1)
                                       : first == ends[i]
                                           ? analyze_format(text, "%u", first)
                                           : analyze_format(text, "%u\u2013%u", first, ends[i])),
                          analyze_cell_number(text, (double)counts[i], 0, CHART_PLAIN), bar});
    }
    analyze_say_span(text, SPAN("\n"));
    analyze_say_grid(text, &grid);
}

/* ---- functions ---- */

static void say_increments(AnalyzeText *text, const ComplexityRow *row)
{
    const ComplexityFunction *f = row->function;

    analyze_say_span(text, SPAN("\n"));
    analyze_say_name(text, analyze_place(text, row->path, f->first_line));
    analyze_say_span(text, SPAN(" "));
    analyze_say_name(text, f->name);
    analyze_say(text, ": cognitive %u\n", f->cognitive);
    for (size_t i = 0; i < f->n_increments; i++) {
        const ComplexityIncrement *step = &f->increments[i];

        analyze_say(text, "  line %u: +%u %s", step->line, step->amount, step->construct);
        if (step->nesting > 0) {
            analyze_say(text, " (%u for nesting)", step->nesting);
        }
        analyze_say_span(text, SPAN("\n"));
    }
}

static void say_functions(AnalyzeText *text, const AnalyzeAsked *asked,
                          const ComplexityReport *report)
{
    static const ChartColumn columns[] = {
        {"cognitive", CHART_NUMBER, 0}, {"cyclomatic", CHART_NUMBER, 1},
        {"nesting", CHART_NUMBER, 2},   {"lines", CHART_NUMBER, 3},
        {"function", CHART_NAME, 0},    {"place", CHART_PATH, 0}};
    const ComplexityThresholds *t = &report->options.thresholds;
    size_t n = asked->functions < report->n_functions ? asked->functions : report->n_functions;
    ChartGrid grid;

    if (n == 0) {
        return;
    }
    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; i < n; i++) {
        const ComplexityRow *row = &report->functions[i];
        const ComplexityFunction *f = row->function;

        analyze_add_row(
            text, &grid,
            (ChartCell[]){analyze_cell_number(
                              text, f->cognitive, 0,
                              analyze_tone(f->cognitive, t->cognitive_warning, t->cognitive_error)),
                          analyze_cell_number(text, row->cyclomatic, 0,
                                              analyze_tone(row->cyclomatic, t->cyclomatic_warning,
                                                           t->cyclomatic_error)),
                          analyze_cell_number(text, f->nesting, 0, CHART_PLAIN),
                          analyze_cell_number(text, f->lines, 0, CHART_PLAIN),
                          analyze_cell(f->name),
                          analyze_cell(analyze_place(text, row->path, f->first_line))});
    }
    analyze_say_heading(text, "The most complex functions");
    analyze_say_grid(text, &grid);
    for (size_t i = 0; i < n && report->options.increments; i++) {
        say_increments(text, &report->functions[i]);
    }
}

/* ---- files ---- */

/* What is measured of functions only: a file without any has no such value, not 0. */
static ChartCell cell_of_functions(AnalyzeText *text, const ComplexityFileRow *row, double value,
                                   ChartTone tone)
{
    return row->file.n_functions == 0 ? analyze_cell(SPAN("\u2013"))
                                      : analyze_cell_number(text, value, 0, tone);
}

static void say_files(AnalyzeText *text, const AnalyzeAsked *asked, const ComplexityReport *report)
{
    static const ChartColumn columns[] = {
        {"score", CHART_NUMBER, 0},      {"", CHART_BAR, 0},
        {"cyclomatic", CHART_NUMBER, 2}, {"cognitive", CHART_NUMBER, 1},
        {"functions", CHART_NUMBER, 4},  {"lines", CHART_NUMBER, 3},
        {"file", CHART_PATH, 0}};
    const ComplexityThresholds *t = &report->options.thresholds;
    size_t n = asked->top < report->n_files ? asked->top : report->n_files;
    ChartGrid grid;

    if (n == 0) {
        return;
    }
    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; i < n; i++) {
        const ComplexityFileRow *row = report->ranked[i];
        ChartTone tone =
            analyze_tone(row->max_cyclomatic, t->cyclomatic_warning, t->cyclomatic_error);

        analyze_add_row(
            text, &grid,
            (ChartCell[]){
                analyze_cell_number(text, row->total_score, 2, CHART_PLAIN),
                {.value = row->total_score, .tone = tone == CHART_PLAIN ? CHART_GOOD : tone},
                cell_of_functions(text, row, row->max_cyclomatic, tone),
                cell_of_functions(text, row, (double)row->sum_cognitive, CHART_PLAIN),
                analyze_cell_number(text, (double)row->file.n_functions, 0, CHART_PLAIN),
                analyze_cell_number(text, row->file.code_lines, 0, CHART_PLAIN),
                analyze_cell(row->path)});
    }
    analyze_say_heading(
        text, "The most complex files (cyclomatic: the highest in it; cognitive: the sum)");
    analyze_say_grid(text, &grid);
}

/* Names of files that the analyser crashed over; more than these are only counted. */
#define TABLE_FAILED_MAX 10

/* A person will want to know which, and to tell us. */
static void say_failed(AnalyzeText *text, const ComplexityReport *report)
{
    size_t n_told = 0;

    for (size_t i = 0; i < report->n_skipped && n_told < TABLE_FAILED_MAX; i++) {
        if (report->skipped[i].reason == COMPLEXITY_SKIP_FAILED) {
            analyze_say_span(text, n_told++ == 0 ? SPAN("the analyser failed on: ") : SPAN(", "));
            analyze_say_name(text, report->skipped[i].path);
        }
    }
    analyze_say_span(text, n_told > 0 ? SPAN("\n") : SPAN(""));
}

void analyze_say_skipped(AnalyzeText *text, const ComplexityReport *report)
{
    size_t n_told = 0;

    for (size_t i = 0; i < COMPLEXITY_N_SKIPS; i++) {
        size_t n = report->summary.n_skipped[i];

        if (n > 0) {
            analyze_say_span(text, n_told++ == 0 ? SPAN("\nskipped: ") : SPAN(", "));
            analyze_say_number(text, (double)n, 0);
            analyze_say(text, " %s", complexity_skip_name((ComplexitySkip)i));
        }
    }
    analyze_say_span(text, n_told > 0 ? SPAN("\n") : SPAN(""));
    say_failed(text, report);
    if (report->summary.n_with_parse_errors > 0) {
        analyze_say_span(text, n_told > 0 ? SPAN("") : SPAN("\n"));
        analyze_say_span(text, SPAN("not understood in places: "));
        analyze_say_count(text, report->summary.n_with_parse_errors, "file", "files");
        analyze_say_span(text, SPAN("\n"));
    }
    analyze_wrap(text);
}

/* ---- what has changed ---- */

static ChartCell change_cell(AnalyzeText *text, uint32_t before, uint32_t after)
{
    ChartCell cell = {.text = before == after ? analyze_format(text, "%u", after)
                                              : analyze_format(text, "%u \u2192 %u", before, after),
                      .tone = after > before   ? CHART_WARNING
                              : after < before ? CHART_GOOD
                                               : CHART_PLAIN};

    return cell;
}

static void say_delta(AnalyzeText *text, const AnalyzeAsked *asked, const ComplexityDelta *delta)
{
    static const ChartColumn columns[] = {{"", CHART_LEFT, 0},
                                          {"cognitive", CHART_NUMBER, 0},
                                          {"cyclomatic", CHART_NUMBER, 1},
                                          {"function", CHART_NAME, 0},
                                          {"place", CHART_PATH, 0}};
    size_t n = asked->functions < delta->n_rows ? asked->functions : delta->n_rows;
    ChartGrid grid;

    analyze_say_span(text, SPAN("\nsince "));
    analyze_say_name(text, span_from_str(asked->files.since));
    analyze_say_span(text, SPAN(": "));
    for (size_t i = 0; i < COMPLEXITY_N_CHANGES; i++) {
        analyze_say_number(text, (double)delta->n_of[i], 0);
        analyze_say(text, " %s, ", complexity_change_name((ComplexityChange)i));
    }
    analyze_say_number(text, (double)delta->n_same, 0);
    analyze_say(text, " as before; cyclomatic %+lld, cognitive %+lld in all\n",
                (long long)delta->cyclomatic, (long long)delta->cognitive);
    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; i < n; i++) {
        const ComplexityDeltaRow *row = &delta->rows[i];
        const ComplexityRow *shown = row->after != NULL ? row->after : row->before;
        const ComplexityRow *before = row->before;
        const ComplexityRow *after = row->after;

        analyze_add_row(
            text, &grid,
            (ChartCell[]){
                analyze_cell(span_from_str(complexity_change_name(row->change))),
                change_cell(text, before == NULL ? 0 : before->function->cognitive,
                            after == NULL ? 0 : after->function->cognitive),
                change_cell(text, before == NULL ? 0 : before->cyclomatic,
                            after == NULL ? 0 : after->cyclomatic),
                analyze_cell(shown->function->name),
                analyze_cell(analyze_place(text, shown->path, shown->function->first_line))});
    }
    if (n > 0) {
        analyze_say_heading(text, "Functions that are not as before");
        analyze_say_grid(text, &grid);
    }
}

void analyze_tables_complexity(AnalyzeText *text, const AnalyzeAsked *asked,
                               const ComplexityReport *report, const ComplexityDelta *delta)
{
    bool has_functions = report->n_functions > 0;

    say_head(text, asked, report);
    if (has_functions) {
        say_averages(text, report);
        say_debt(text, report);
        say_steps(text, report);
    } else {
        analyze_say_span(text, SPAN("\nThere is no function to measure.\n"));
    }
    if (delta != NULL) {
        say_delta(text, asked, delta);
    }
    if (has_functions) {
        say_functions(text, asked, report);
        say_files(text, asked, report);
    }
    analyze_say_skipped(text, report);
}
