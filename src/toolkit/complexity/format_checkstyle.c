/* The XML that Checkstyle made common: violations by file. Readers take a file element for each
 * file, so those of one file come together, files in order of path. */
#include "toolkit/complexity/report_format.h"

#include "base/alloc.h"
#include "base/error.h"

static void checkstyle_error(const ComplexityViolation *v, ReportText *t)
{
    char message[REPORT_MESSAGE_SIZE];

    report_text_str(t, "    <error line=\"");
    report_text_uint(t, v->row.function->first_line);
    report_text_str(t, "\" column=\"");
    report_text_uint(t, v->row.function->first_column);
    report_text_str(t, "\" severity=\"");
    report_text_str(t, report_severity(v->is_error));
    report_text_str(t, "\" message=\"");
    report_text_xml(t, v->row.function->name);
    report_text_str(t, ": ");
    report_text_xml(t, report_message(v, message));
    report_text_str(t, "\" source=\"toolwire.");
    report_text_str(t, report_rule_id(v->is_cognitive));
    report_text_str(t, "\"/>\n");
}

int report_write_checkstyle(const ComplexityReport *report, Bytes *out)
{
    ReportPage page = report_page(&report->options, report->n_violations);
    CLEANUP(mem_freep) const ComplexityViolation **list = NULL;
    size_t n = page.to - page.from;
    ReportText t;
    int r = report_violations_by_file(report, page, &list);

    if (r != 0) {
        return err_pass(r);
    }
    report_text_begin(&t, out);
    report_text_str(&t,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"4.3\">\n");
    for (size_t i = 0; i < n && report_goes_on(report, i, &t.r); i++) {
        if (i == 0 || list[i]->row.file != list[i - 1]->row.file) {
            report_text_str(&t, "  <file name=\"");
            report_text_xml(&t, list[i]->row.path);
            report_text_str(&t, "\">\n");
        }
        checkstyle_error(list[i], &t);
        if (i + 1 == n || list[i]->row.file != list[i + 1]->row.file) {
            report_text_str(&t, "  </file>\n");
        }
    }
    report_text_str(&t, "</checkstyle>\n");
    return report_text_end(&t);
}
