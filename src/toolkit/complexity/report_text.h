/* toolkit/complexity/report_text.h: text that is put together piece by piece into a Bytes.
 *
 * The first failure sticks, and what follows it writes nothing; report_text_end says which it was.
 * Names of files and functions are anybody's bytes: each escape below makes them harmless for what
 * it is named after. Thread: any, one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

#include <stddef.h>
#include <stdint.h>

typedef struct ReportText {
    Bytes *out; /* borrowed until end */
    size_t start;
    int r;
} ReportText;

void report_text_begin(ReportText *t, Bytes *out);

/* 0, -ENOMEM, BYTES_E_FULL; on failure out is cut back to where it was. */
int report_text_end(ReportText *t);

void report_text_str(ReportText *t, const char *s);
void report_text_span(ReportText *t, Span s);
void report_text_uint(ReportText *t, uint64_t value);
void report_text_int(ReportText *t, int64_t value);

/* With one decimal, whatever the locale; value is not negative. */
void report_text_decimal(ReportText *t, double value);

/* The shortest decimal that reads back as the same double. */
void report_text_double(ReportText *t, double value);

/* A code span, also inside a table: fenced, pipes escaped, and what cannot be shown written as
 * toolkit/shown.h says, here and below. Nothing for nothing. */
void report_text_code(ReportText *t, Span s);

/* Words in Markdown, likewise harmless. */
void report_text_words(ReportText *t, Span s);

/* The value of an attribute, without its quotes; tabs and ends of lines as XML writes them. */
void report_text_xml(ReportText *t, Span s);

/* A field of RFC 4180, in quotes if it must be; always on one line. */
void report_text_csv(ReportText *t, Span s);

/* A path as a relative reference of RFC 3986, every byte but the harmless ones percent-encoded; an
 * absolute one as a file: URI. */
void report_text_uri(ReportText *t, Span path);
