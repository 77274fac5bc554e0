/* toolkit/chart/grid.h: tables and bars of text, for a terminal.
 *
 * Columns are as wide as what is in them. Where that is more than the terminal has, the bars become
 * short, then the longest names; then the bars are left out, and after them the columns that can be
 * spared. Numbers are never cut. Thread: any, one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

#define CHART_MAX_COLUMNS 12

typedef enum ChartKind {
    CHART_LEFT,   /* never cut */
    CHART_NUMBER, /* at the right side of its column, never cut */
    CHART_NAME,   /* may lose its end */
    CHART_PATH,   /* may lose its beginning */
    CHART_BAR,    /* a bar as long as its cell's value, the largest one as long as the column */
} ChartKind;

typedef enum ChartTone {
    CHART_PLAIN,
    CHART_FAINT,
    CHART_STRONG,
    CHART_GOOD,
    CHART_WARNING,
    CHART_ERROR,
} ChartTone;

typedef struct ChartColumn {
    const char *title; /* NULL in all columns: there is no head */
    ChartKind kind;
    unsigned spare; /* where there is no room, the highest is left out first; 0: never */
} ChartColumn;

typedef struct ChartCell {
    Span text;
    double value; /* of bars: 0 and more */
    ChartTone tone;
} ChartCell;

typedef struct ChartGrid {
    Arena *arena; /* borrowed; holds the cells and copies of their text */
    const ChartColumn *columns;
    size_t n_columns;
    ChartCell *cells; /* n_columns for each row */
    size_t n_rows;
    size_t cap;
} ChartGrid;

/* Borrows columns. */
void chart_grid_init(ChartGrid *grid, Arena *arena, const ChartColumn *columns, size_t n_columns);

/* Copies the texts. 0, -ENOMEM. */
int chart_grid_add(ChartGrid *grid, const ChartCell *cells);

/* Appends the rows. width: of the terminal; 0: nothing is cut. 0, -ENOMEM, BYTES_E_FULL. */
int chart_grid_write(const ChartGrid *grid, size_t width, bool coloured, Bytes *out);

/* A bar of value/max of width columns, in steps of an eighth; not 0, if value is not. 0, -ENOMEM,
 * BYTES_E_FULL. *ret_width: columns taken. */
int chart_bar_append(Bytes *out, double value, double max, size_t width, size_t *ret_width);

/* What turns a tone on; and off. Empty: nothing to do. */
Span chart_tone_on(ChartTone tone);
Span chart_tone_off(ChartTone tone);
