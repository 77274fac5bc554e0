/* RFC 4180: a header, a line a function in the order of the ranked list, CRLF. */
#include "toolkit/complexity/report_format.h"

static void csv_number(ReportText *t, uint64_t value)
{
    report_text_str(t, ",");
    report_text_uint(t, value);
}

static void csv_double(ReportText *t, double value)
{
    report_text_str(t, ",");
    report_text_double(t, value);
}

static void csv_function(const ComplexityReport *report, const ComplexityRow *row, ReportText *t)
{
    const ComplexityFunction *f = row->function;

    report_text_csv(t, row->path);
    report_text_str(t, ",");
    report_text_csv(t, f->name);
    report_text_str(t, ",");
    report_text_csv(t, report_language(report, row));
    csv_number(t, f->first_line);
    csv_number(t, f->last_line);
    csv_number(t, row->cyclomatic);
    csv_number(t, f->cognitive);
    csv_number(t, f->nesting);
    csv_number(t, f->lines);
    csv_number(t, f->code_lines);
    csv_number(t, f->comment_lines);
    csv_number(t, f->parameters);
    csv_number(t, f->tokens);
    csv_double(t, complexity_halstead_volume(&f->halstead));
    csv_double(t, complexity_halstead_difficulty(&f->halstead));
    csv_double(t, complexity_halstead_effort(&f->halstead));
    report_text_str(t, f->has_error ? ",true\r\n" : ",false\r\n");
}

int report_write_csv(const ComplexityReport *report, Bytes *out)
{
    ReportPage page = report_page(&report->options, report->n_functions);
    ReportText t;

    report_text_begin(&t, out);
    report_text_str(&t, "file,function,language,first_line,last_line,cyclomatic,cognitive,nesting,"
                        "lines,code_lines,comment_lines,parameters,tokens,halstead_volume,"
                        "halstead_difficulty,halstead_effort,parse_error\r\n");
    for (size_t i = page.from; i < page.to && report_goes_on(report, i, &t.r); i++) {
        csv_function(report, &report->functions[i], &t);
    }
    return report_text_end(&t);
}
