#include "toolkit/complexity/report_format.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"

ReportPage report_page(const ComplexityReportOptions *options, size_t n)
{
    size_t from = options->offset < n ? options->offset : n;
    size_t left = n - from;

    return (ReportPage){
        .from = from,
        .to = from + (options->limit > 0 && options->limit < left ? options->limit : left),
    };
}

size_t report_next_offset(const ComplexityReportOptions *options, size_t n_longest)
{
    ReportPage page = report_page(options, n_longest);

    return page.to < n_longest ? page.to : 0;
}

bool report_goes_on(const ComplexityReport *report, size_t i, int *r)
{
    if (*r == 0 && stop_is_asked_at(report->options.stop, i)) {
        *r = err_raise(-ECANCELED);
    }
    return *r == 0;
}

static int compare_by_file(const void *a, const void *b)
{
    const ComplexityViolation *x = *(const ComplexityViolation *const *)a;
    const ComplexityViolation *y = *(const ComplexityViolation *const *)b;

    if (x->row.file != y->row.file) {
        return x->row.file < y->row.file ? -1 : 1;
    }
    if (x->row.function != y->row.function) {
        return x->row.function < y->row.function ? -1 : 1;
    }
    return (int)x->is_cognitive - (int)y->is_cognitive;
}

int report_violations_by_file(const ComplexityReport *report, ReportPage page,
                              const ComplexityViolation ***ret)
{
    size_t n = page.to - page.from;
    const ComplexityViolation **list = mem_alloc_array(n + 1, sizeof(ComplexityViolation *));
    int r;

    if (list == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = &report->violations[page.from + i];
    }
    r = sort_items(list, n, sizeof(*list), compare_by_file, report->options.stop);
    if (r != 0) {
        (void)mem_free(list);
        return err_pass(r);
    }
    *ret = list;
    return 0;
}

const char *report_rule_id(bool is_cognitive)
{
    return is_cognitive ? "cognitive-complexity" : "cyclomatic-complexity";
}

const char *report_severity(bool is_error)
{
    return is_error ? "error" : "warning";
}

Span report_message(const ComplexityViolation *violation, char buffer[REPORT_MESSAGE_SIZE])
{
    int n = snprintf(
        buffer, REPORT_MESSAGE_SIZE, "%s complexity of %u exceeds %s complexity of %u",
        violation->is_cognitive ? "Cognitive" : "Cyclomatic", (unsigned)violation->value,
        violation->is_error ? "maximum allowed" : "recommended", (unsigned)violation->threshold);

    return span_make(buffer, n > 0 ? (size_t)n : 0);
}

const char *report_rule_words(bool is_cognitive)
{
    return is_cognitive
               ? "How hard a function is to follow: each break of its linear flow counts, and "
                 "counts more the deeper it is nested."
               : "How many independent paths lead through a function: one, and one more for each "
                 "decision.";
}

const char *report_rule_help(bool is_cognitive)
{
    return is_cognitive
               ? "Return early in place of nesting, move nested blocks into functions with a name, "
                 "and split conditions that mix operators."
               : "Move groups of decisions into functions with a name, or put cases that differ "
                 "only in data into a table. Each path wants a test.";
}

const char *report_skip_words(ComplexitySkip reason)
{
    static const char *const words[COMPLEXITY_N_SKIPS] = {
        [COMPLEXITY_SKIP_IGNORED] = "ignored by git",
        [COMPLEXITY_SKIP_EXCLUDED] = "excluded by the caller",
        [COMPLEXITY_SKIP_VENDORED] = "somebody else's code",
        [COMPLEXITY_SKIP_GENERATED] = "generated",
        [COMPLEXITY_SKIP_MINIFIED] = "minified",
        [COMPLEXITY_SKIP_BINARY] = "binary",
        [COMPLEXITY_SKIP_TOO_LARGE] = "too large",
        [COMPLEXITY_SKIP_TOO_COSTLY] = "too costly to parse",
        [COMPLEXITY_SKIP_LINK] = "a symbolic link",
        [COMPLEXITY_SKIP_UNREADABLE] = "cannot be read",
        [COMPLEXITY_SKIP_SPECIAL] = "a pipe, a socket or a device",
        [COMPLEXITY_SKIP_NO_LANGUAGE] = "in no language that is known",
        [COMPLEXITY_SKIP_OTHER_TOOLCHAIN] = "in a language that the toolchain does not have",
        [COMPLEXITY_SKIP_FAILED] = "the analyser failed on it",
    };

    return words[reason];
}

Span report_language(const ComplexityReport *report, const ComplexityRow *row)
{
    return complexity_language_name(report->files[row->file].file.language);
}

int complexity_report_write(const ComplexityReport *report, ComplexityFormat format, Bytes *out)
{
    static int (*const writers[COMPLEXITY_N_FORMATS])(const ComplexityReport *, Bytes *) = {
        [COMPLEXITY_SUMMARY] = report_write_summary,
        [COMPLEXITY_FULL] = report_write_full,
        [COMPLEXITY_JSON] = report_write_json,
        [COMPLEXITY_SARIF] = report_write_sarif,
        [COMPLEXITY_CSV] = report_write_csv,
        [COMPLEXITY_CHECKSTYLE] = report_write_checkstyle,
        [COMPLEXITY_MARKDOWN] = report_write_markdown,
    };

    return writers[format](report, out);
}
