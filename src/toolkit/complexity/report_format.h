/* toolkit/complexity/report_format.h: what the files that write a report share. One file a format.
 * Thread: any, one at a time. */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "toolkit/complexity/report.h"
#include "toolkit/complexity/report_text.h"
#include "json/writer.h"

#include <stdbool.h>
#include <stddef.h>

/* The rows of a list of n that this answer has: [from, to). */
typedef struct ReportPage {
    size_t from;
    size_t to;
} ReportPage;

ReportPage report_page(const ComplexityReportOptions *options, size_t n);

/* Where the next answer begins, or 0 if the longest of the lists that a format shows ends in this
 * one. */
size_t report_next_offset(const ComplexityReportOptions *options, size_t n_longest);

/* In front of each row of a list that may be long: whether it is to be written. If the report is
 * stopped, *r says so. */
bool report_goes_on(const ComplexityReport *report, size_t i, int *r);

/* The violations of a page by path, place and rule; n + 1 pointers with NULL at the end. 0,
 * -ENOMEM, -ECANCELED. Gives *ret, for mem_free. */
int report_violations_by_file(const ComplexityReport *report, ReportPage page,
                              const ComplexityViolation ***ret);

/* "cyclomatic-complexity" or "cognitive-complexity". */
const char *report_rule_id(bool is_cognitive);

/* "error" or "warning". */
const char *report_severity(bool is_error);

/* "Cyclomatic complexity of 25 exceeds maximum allowed complexity of 20", or a recommended one. */
#define REPORT_MESSAGE_SIZE 128
Span report_message(const ComplexityViolation *violation, char buffer[REPORT_MESSAGE_SIZE]);

/* What is to be measured by a rule and what helps; constant. */
const char *report_rule_words(bool is_cognitive);
const char *report_rule_help(bool is_cognitive);

/* Why a file is not measured, for people: "too large". Constant. */
const char *report_skip_words(ComplexitySkip reason);

/* The language of a row's file. */
Span report_language(const ComplexityReport *report, const ComplexityRow *row);

/* Shortened writing of members. */
void report_json_uint(JsonWriter *w, Span key, uint64_t value);
void report_json_double(JsonWriter *w, Span key, double value);
void report_json_string(JsonWriter *w, Span key, Span value);

/* Parts that the texts in Markdown have in common. */
void report_md_summary(const ComplexityReport *report, ReportText *t);
void report_md_top_files(const ComplexityReport *report, ReportText *t); /* if asked for */
void report_md_not_measured(const ComplexityReport *report, ReportText *t);

/* "12 more; they begin at offset 20.", if a list of n goes on behind this answer. */
void report_md_more(const ComplexityReportOptions *options, size_t n, ReportText *t);

int report_write_summary(const ComplexityReport *report, Bytes *out);
int report_write_full(const ComplexityReport *report, Bytes *out);
int report_write_json(const ComplexityReport *report, Bytes *out);
int report_write_sarif(const ComplexityReport *report, Bytes *out);
int report_write_csv(const ComplexityReport *report, Bytes *out);
int report_write_checkstyle(const ComplexityReport *report, Bytes *out);
int report_write_markdown(const ComplexityReport *report, Bytes *out);
