/* toolkit/chart/page.h: a picture of a code base, as an SVG file or as a page of HTML.
 *
 * A treemap: every file is a rectangle, its area one figure of the file, its colour another; and,
 * if it is asked for, the files as points between two axes. All in one file, which asks no network
 * and no other file for anything. The mouse and the keyboard (Tab, arrows, Home, End) show a file's
 * path and figures; a browser's light or dark scheme is followed. All text is escaped; a page of
 * HTML lets nothing run but the one script that is written here. Thread: any.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

#define CHART_MAX_FIGURES 8

/* Steps of colour. */
#define CHART_N_HEATS 7

/* More rectangles nobody can tell apart: of more files the smallest are drawn as one for each
 * folder at the top. Likewise of more points those of the smallest area are left out, and that is
 * said. */
#define CHART_MAX_CELLS 10000

/* Files in the table of a page: the first ones. */
#define CHART_LISTED 100

typedef struct ChartFigure {
    const char *name; /* "code lines" */
    unsigned decimals;
} ChartFigure;

typedef struct ChartFile {
    Span path;
    double figures[CHART_MAX_FIGURES]; /* 0 and more */
} ChartFile;

typedef struct ChartPage {
    Span title;
    Span subtitle;
    const ChartFigure *figures;
    size_t n_figures;
    size_t area;                          /* which figure is the area */
    size_t heat;                          /* and which the colour */
    double heat_edges[CHART_N_HEATS - 1]; /* a step ends at each; rising */
    bool has_scatter;
    size_t x; /* figures of the axes */
    size_t y;
    const ChartFile *files; /* the most important ones first */
    size_t n_files;
} ChartPage;

/* Appends. 0, -ENOMEM, BYTES_E_FULL; on failure out is as it was. */
int chart_page_write_svg(const ChartPage *page, Bytes *out);
int chart_page_write_html(const ChartPage *page, Bytes *out);
