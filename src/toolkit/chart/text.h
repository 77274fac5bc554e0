/* toolkit/chart/text.h: names that strangers chose, as a terminal and a browser may show them.
 *
 * What cannot be shown as it is, is written with a backslash (shown.h): a text is one line, reads
 * as it is stored, and no two names look alike because of it. Thread: any.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a text that is too long loses its letters. */
typedef enum ChartCut {
    CHART_CUT_END,   /* "a_long_na…" */
    CHART_CUT_START, /* "…/folder/file.c": the end of a path says the most */
} ChartCut;

/* Columns of a terminal that the text takes: two for a wide letter, none for a mark upon another.
 */
size_t chart_text_width(Span text);

/* Appends as much as fits into so many columns, with a "…" for what does not. SIZE_MAX: all. 0,
 * -ENOMEM, BYTES_E_FULL. */
int chart_text_append(Bytes *out, Span text, size_t width, ChartCut cut);

/* The same, for the content and for the quoted attributes of XML and HTML. */
int chart_text_append_xml(Bytes *out, Span text, size_t width, ChartCut cut);

/* 1234567.5 as "1,234,567.5". 0, -ENOMEM, BYTES_E_FULL. */
int chart_number_append(Bytes *out, double value, unsigned decimals);
