/* The report in words, as Markdown: headings, averages, the worst five; and with every violation.
 */
#include "toolkit/complexity/report_format.h"

#include "base/alloc.h"
#include "base/error.h"

#define SUMMARY_HOTSPOTS 5

static void summary_line(ReportText *t, const char *what, uint64_t value)
{
    report_text_str(t, "- **");
    report_text_str(t, what);
    report_text_str(t, ":** ");
    report_text_uint(t, value);
}

static void summary_skipped(const ComplexitySummary *s, ReportText *t)
{
    size_t n = 0;
    const char *between = " (";

    for (size_t i = 0; i < COMPLEXITY_N_SKIPS; i++) {
        n += s->n_skipped[i];
    }
    if (n == 0) {
        return;
    }
    summary_line(t, "Files skipped", n);
    for (size_t i = 0; i < COMPLEXITY_N_SKIPS; i++) {
        if (s->n_skipped[i] > 0) {
            report_text_str(t, between);
            report_text_uint(t, s->n_skipped[i]);
            report_text_str(t, " ");
            report_text_str(t, report_skip_words((ComplexitySkip)i));
            between = ", ";
        }
    }
    report_text_str(t, ")\n");
}

static void summary_counts(const ComplexityReport *report, ReportText *t)
{
    const ComplexitySummary *s = &report->summary;

    summary_line(t, "Files analyzed", s->total_files);
    report_text_str(t, "\n");
    summary_line(t, "Total functions", s->total_functions);
    report_text_str(t, "\n");
    summary_line(t, "Lines", s->lines);
    report_text_str(t, " (");
    report_text_uint(t, s->code_lines);
    report_text_str(t, " code, ");
    report_text_uint(t, s->comment_lines);
    report_text_str(t, " comment)\n");
    summary_skipped(s, t);
    if (s->n_with_parse_errors > 0) {
        summary_line(t, "Files parsed with errors", s->n_with_parse_errors);
        report_text_str(t, "\n");
    }
    if (report->options.elapsed_us >= 0) {
        report_text_str(t, "- **Elapsed:** ");
        report_text_decimal(t, (double)report->options.elapsed_us / 1000);
        report_text_str(t, " ms\n");
    }
}

static void summary_spread(ReportText *t, const char *what, double average,
                           const uint32_t values[4])
{
    report_text_str(t, "| ");
    report_text_str(t, what);
    report_text_str(t, " | ");
    report_text_decimal(t, average);
    for (size_t i = 0; i < 4; i++) {
        report_text_str(t, " | ");
        report_text_uint(t, values[i]);
    }
    report_text_str(t, " |\n");
}

static void summary_metrics(const ComplexityReport *report, ReportText *t)
{
    const ComplexitySummary *s = &report->summary;
    uint32_t cyclomatic[4] = {s->median_cyclomatic, s->p90_cyclomatic, s->p99_cyclomatic,
                              s->max_cyclomatic};
    uint32_t cognitive[4] = {s->median_cognitive, s->p90_cognitive, s->p99_cognitive,
                             s->max_cognitive};

    /* Of no functions there is nothing to tell. */
    if (s->total_functions == 0) {
        return;
    }
    report_text_str(t,
                    "\n## Complexity\n\n"
                    "| Metric | Average | Median | 90th percentile | 99th percentile | Maximum |\n"
                    "|---|---:|---:|---:|---:|---:|\n");
    summary_spread(t, report->options.modified ? "Cyclomatic (modified)" : "Cyclomatic",
                   s->avg_cyclomatic, cyclomatic);
    summary_spread(t, "Cognitive", s->avg_cognitive, cognitive);
    report_text_str(t, "\n- **Technical debt:** ");
    report_text_decimal(t, s->technical_debt_hours);
    report_text_str(t, " hours\n");
}

static void summary_issues(ReportText *t, const char *what, size_t n, uint32_t cyclomatic,
                           uint32_t cognitive)
{
    summary_line(t, what, n);
    report_text_str(t, " (cyclomatic above ");
    report_text_uint(t, cyclomatic);
    report_text_str(t, ", cognitive above ");
    report_text_uint(t, cognitive);
    report_text_str(t, ")\n");
}

static void summary_hotspots(const ComplexityReport *report, ReportText *t)
{
    size_t n = report->n_hotspots < SUMMARY_HOTSPOTS ? report->n_hotspots : SUMMARY_HOTSPOTS;

    if (n == 0) {
        return;
    }
    report_text_str(t, "\n## Hotspots\n\n");
    for (size_t i = 0; i < n; i++) {
        const ComplexityRow *row = &report->hotspots[i];

        report_text_uint(t, i + 1);
        report_text_str(t, ". ");
        report_text_code(t, row->function->name);
        report_text_str(t, " in ");
        report_text_code(t, row->path);
        report_text_str(t, " line ");
        report_text_uint(t, row->function->first_line);
        report_text_str(t, ": cyclomatic ");
        report_text_uint(t, row->cyclomatic);
        report_text_str(t, ", cognitive ");
        report_text_uint(t, row->function->cognitive);
        report_text_str(t, "\n");
    }
}

void report_md_summary(const ComplexityReport *report, ReportText *t)
{
    const ComplexityThresholds *thresholds = &report->options.thresholds;
    const ComplexitySummary *s = &report->summary;

    report_text_str(t, "# Complexity Analysis Summary\n\n");
    summary_counts(report, t);
    summary_metrics(report, t);
    report_text_str(t, "\n## Issues\n\n");
    summary_issues(t, "Errors", s->n_errors, thresholds->cyclomatic_error,
                   thresholds->cognitive_error);
    summary_issues(t, "Warnings", s->n_warnings, thresholds->cyclomatic_warning,
                   thresholds->cognitive_warning);
    summary_hotspots(report, t);
}

int report_write_summary(const ComplexityReport *report, Bytes *out)
{
    ReportText t;

    report_text_begin(&t, out);
    report_md_top_files(report, &t);
    report_md_summary(report, &t);
    return report_text_end(&t);
}

static void full_violations(const ComplexityViolation *const *list, size_t n, ReportText *t)
{
    for (size_t i = 0; i < n; i++) {
        const ComplexityViolation *v = list[i];
        char message[REPORT_MESSAGE_SIZE];

        if (i == 0 || v->row.file != list[i - 1]->row.file) {
            report_text_str(t, "\n### ");
            report_text_code(t, v->row.path);
            report_text_str(t, "\n\n");
        }
        report_text_str(t, "- line ");
        report_text_uint(t, v->row.function->first_line);
        report_text_str(t, ", ");
        report_text_code(t, v->row.function->name);
        report_text_str(t, ": ");
        report_text_str(t, report_severity(v->is_error));
        report_text_str(t, ": ");
        report_text_span(t, report_message(v, message));
        report_text_str(t, "\n");
    }
}

int report_write_full(const ComplexityReport *report, Bytes *out)
{
    ReportPage page = report_page(&report->options, report->n_violations);
    CLEANUP(mem_freep) const ComplexityViolation **list = NULL;
    ReportText t;
    int r = report_violations_by_file(report, page, &list);

    if (r != 0) {
        return err_pass(r);
    }
    report_text_begin(&t, out);
    report_md_top_files(report, &t);
    report_md_summary(report, &t);
    if (page.to > page.from) {
        report_text_str(&t, "\n## Violations\n");
        full_violations(list, page.to - page.from, &t);
    }
    report_md_more(&report->options, report->n_violations, &t);
    report_md_not_measured(report, &t);
    return report_text_end(&t);
}
