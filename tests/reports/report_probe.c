/* Writes a report with names that every format must escape, for readers that are not ours.
 *
 *     report_probe FORMAT [LIMIT [OFFSET]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toolkit/complexity/report.h"

#define PROBE_BYTES ((size_t)64 * 1024 * 1024)

/* As file names and as names of functions. */
static const Span names[] = {
    SPAN_INIT("plain.js"),
    SPAN_INIT("with blank, comma and \"quotes\".js"),
    SPAN_INIT("a|b`c``d*e_f_<g>&amp;'h.js"),
    SPAN_INIT("per%cent#hash?query:colon;[x]{y}^.js"),
    SPAN_INIT("new\nline\r\nand\ttab.js"),
    SPAN_INIT("control\x01\x1B[2J\x7F.js"),
    SPAN_INIT("umlaut-\xC3\xA4-\xF0\x9F\x98\x80-\xE2\x80\xA8.js"),
    SPAN_INIT("not-utf8-\xFF-.js"),
    SPAN_INIT("nonchar-\xEF\xBF\xBF-.js"),
    SPAN_INIT("]]><!--\\u0041\\.js"),
    SPAN_INIT("deep/folder/ns::Klass.method"),
    SPAN_INIT("."),
};

static ComplexityFunction probe_function(Span name, size_t i)
{
    uint32_t n = (uint32_t)i;

    return (ComplexityFunction){
        .name = name,
        .first_line = 1 + 10 * n,
        .last_line = 9 + 10 * n,
        .first_column = 1 + n,
        .last_column = 2,
        .cyclomatic = 1 + 5 * n,
        .cyclomatic_modified = 1 + 4 * n,
        .cognitive = 60 - 5 * n,
        .nesting = 3,
        .lines = 9,
        .code_lines = 7,
        .comment_lines = 1,
        .parameters = n,
        .tokens = 50 + n,
        .halstead = {10, 4, 12, 8 + n},
        .has_error = i == 2,
    };
}

static int probe_fill(ComplexityReport *report)
{
    ComplexityFunction functions[TW_ARRAY_SIZE(names)];
    ComplexityFile file = {
        .language = complexity_language_named(SPAN("javascript")),
        .functions = functions,
        .n_functions = TW_ARRAY_SIZE(names),
        .lines = 200,
        .code_lines = 150,
        .comment_lines = 30,
        .blank_lines = 20,
    };
    int r = 0;

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        functions[i] = probe_function(names[i], i);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(names) && r == 0; i++) {
        file.n_errors = i == 2 ? 4 : 0;
        file.first_error_line = i == 2 ? 33 : 0;
        r = complexity_report_add(report, names[i], &file);
        if (r == 0) {
            r = complexity_report_skip(report, names[i], (ComplexitySkip)(i % COMPLEXITY_N_SKIPS),
                                       names[i]);
        }
    }
    return r;
}

static size_t probe_number(const char *text)
{
    return (size_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    ComplexityReportOptions options = {
        .thresholds = complexity_thresholds_default,
        .ranks_files = true,
        .top_files = 5,
        .version = "1.2.3",
        .elapsed_us = 1500,
    };
    ComplexityFormat format;
    ComplexityReport report;
    Bytes out;
    bool ok;

    if (argc < 2 || !complexity_format_parse(span_from_str(argv[1]), &format)) {
        (void)fprintf(stderr, "usage: report_probe FORMAT [LIMIT [OFFSET]]\n");
        return 2;
    }
    options.limit = argc > 2 ? probe_number(argv[2]) : 0;
    options.offset = argc > 3 ? probe_number(argv[3]) : 0;
    bytes_init(&out, PROBE_BYTES);
    complexity_report_init(&report, &options);
    ok = probe_fill(&report) == 0 && complexity_report_finish(&report) == 0 &&
         complexity_report_write(&report, format, &out) == 0 &&
         fwrite(out.data, 1, out.n, stdout) == out.n;
    complexity_report_deinit(&report);
    bytes_deinit(&out);
    return ok ? 0 : 1;
}
