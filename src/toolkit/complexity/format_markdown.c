/* The report as tables, and the tables that the texts have in common. */
#include "toolkit/complexity/report_format.h"

static void md_uint(ReportText *t, uint64_t value)
{
    report_text_str(t, " | ");
    report_text_uint(t, value);
}

static void md_decimal(ReportText *t, double value)
{
    report_text_str(t, " | ");
    report_text_decimal(t, value);
}

static void md_code(ReportText *t, Span s)
{
    report_text_str(t, " | ");
    report_text_code(t, s);
}

void report_md_more(const ComplexityReportOptions *options, size_t n, ReportText *t)
{
    size_t next = report_next_offset(options, n);

    if (next > 0) {
        report_text_str(t, "\n");
        report_text_uint(t, n - next);
        report_text_str(t, " more; they begin at offset ");
        report_text_uint(t, next);
        report_text_str(t, ".\n");
    }
}

void report_md_top_files(const ComplexityReport *report, ReportText *t)
{
    size_t n =
        report->options.top_files < report->n_files ? report->options.top_files : report->n_files;

    if (!report->options.ranks_files || n == 0) {
        return;
    }
    report_text_str(t, "# Top Files by Complexity\n\n"
                       "| Rank | File | Functions | Max Cyclomatic | Avg Cognitive | Halstead | "
                       "Score |\n"
                       "|---:|---|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < n && report_goes_on(report, i, &t->r); i++) {
        const ComplexityFileRow *row = report->ranked[i];

        report_text_str(t, "| ");
        report_text_uint(t, i + 1);
        md_code(t, row->path);
        md_uint(t, row->file.n_functions);
        md_uint(t, row->max_cyclomatic);
        md_decimal(t, row->avg_cognitive);
        md_decimal(t, row->halstead_effort);
        md_decimal(t, row->total_score);
        report_text_str(t, " |\n");
    }
    report_text_str(t, "\n");
}

static void md_parse_errors(const ComplexityReport *report, ReportText *t)
{
    ReportPage page = report_page(&report->options, report->n_files);
    bool is_first = true;

    for (size_t i = page.from; i < page.to && report_goes_on(report, i, &t->r); i++) {
        const ComplexityFile *file = &report->files[i].file;

        if (file->n_errors == 0) {
            continue;
        }
        if (is_first) {
            report_text_str(t, "\n## Parsed with Errors\n\n"
                               "| File | Places | First line |\n|---|---:|---:|\n");
        }
        is_first = false;
        report_text_str(t, "| ");
        report_text_code(t, report->files[i].path);
        md_uint(t, file->n_errors);
        md_uint(t, file->first_error_line);
        report_text_str(t, " |\n");
    }
}

void report_md_not_measured(const ComplexityReport *report, ReportText *t)
{
    ReportPage page = report_page(&report->options, report->n_skipped);

    md_parse_errors(report, t);
    if (page.from == page.to) {
        return;
    }
    report_text_str(t, "\n## Not Measured\n\n| File | Reason |\n|---|---|\n");
    for (size_t i = page.from; i < page.to && report_goes_on(report, i, &t->r); i++) {
        const ComplexitySkipped *row = &report->skipped[i];

        report_text_str(t, "| ");
        report_text_code(t, row->path);
        report_text_str(t, " | ");
        report_text_str(t, report_skip_words(row->reason));
        report_text_str(t, row->detail.n > 0 ? ": " : "");
        report_text_words(t, row->detail);
        report_text_str(t, " |\n");
    }
    report_md_more(&report->options, report->n_skipped, t);
}

static void md_functions(const ComplexityReport *report, ReportText *t)
{
    ReportPage page = report_page(&report->options, report->n_functions);

    if (page.from == page.to) {
        return;
    }
    report_text_str(t,
                    "\n## Functions\n\n"
                    "| Function | File | Lines | Cyclomatic | Cognitive | Nesting | Code Lines | "
                    "Parameters | Halstead |\n"
                    "|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = page.from; i < page.to && report_goes_on(report, i, &t->r); i++) {
        const ComplexityRow *row = &report->functions[i];
        const ComplexityFunction *f = row->function;

        report_text_str(t, "| ");
        report_text_code(t, f->name);
        md_code(t, row->path);
        md_uint(t, f->first_line);
        report_text_str(t, "-");
        report_text_uint(t, f->last_line);
        md_uint(t, row->cyclomatic);
        md_uint(t, f->cognitive);
        md_uint(t, f->nesting);
        md_uint(t, f->code_lines);
        md_uint(t, f->parameters);
        md_decimal(t, complexity_halstead_effort(&f->halstead));
        report_text_str(t, " |\n");
    }
    report_md_more(&report->options, report->n_functions, t);
}

static void md_violations(const ComplexityReport *report, ReportText *t)
{
    ReportPage page = report_page(&report->options, report->n_violations);

    if (page.from == page.to) {
        return;
    }
    report_text_str(t, "\n## Violations\n\n"
                       "| Severity | Function | File | Line | Rule | Value | Threshold |\n"
                       "|---|---|---|---:|---|---:|---:|\n");
    for (size_t i = page.from; i < page.to && report_goes_on(report, i, &t->r); i++) {
        const ComplexityViolation *v = &report->violations[i];

        report_text_str(t, "| ");
        report_text_str(t, report_severity(v->is_error));
        md_code(t, v->row.function->name);
        md_code(t, v->row.path);
        md_uint(t, v->row.function->first_line);
        report_text_str(t, " | ");
        report_text_str(t, report_rule_id(v->is_cognitive));
        md_uint(t, v->value);
        md_uint(t, v->threshold);
        report_text_str(t, " |\n");
    }
    report_md_more(&report->options, report->n_violations, t);
}

int report_write_markdown(const ComplexityReport *report, Bytes *out)
{
    ReportText t;

    report_text_begin(&t, out);
    report_md_top_files(report, &t);
    report_md_summary(report, &t);
    md_violations(report, &t);
    md_functions(report, &t);
    report_md_not_measured(report, &t);
    return report_text_end(&t);
}
