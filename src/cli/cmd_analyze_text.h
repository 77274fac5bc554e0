/* cli/cmd_analyze_text.h: what an analysis prints, gathered and printed at once. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "cli/cli.h"
#include "toolkit/chart/grid.h"

#include <stdbool.h>
#include <stddef.h>

/* The first failure sticks, and is told by analyze_text_print. */
typedef struct AnalyzeText {
    const CliArgs *args;
    Bytes out;
    Arena arena;  /* of the cells */
    size_t width; /* of the terminal; 0: none */
    bool coloured;
    size_t n_wrapped; /* of out: what is behind it may be too wide */
    int r;
} AnalyzeText;

#define ANALYZE_TEXT_NULL ((AnalyzeText){.args = NULL})

void analyze_text_init(AnalyzeText *text, const CliArgs *args);
void analyze_text_deinit(AnalyzeText *text);

TW_PRINTF(2, 3) void analyze_say(AnalyzeText *text, const char *format, ...);
void analyze_say_span(AnalyzeText *text, Span words); /* ours */
void analyze_say_name(AnalyzeText *text, Span name);  /* a stranger's */
void analyze_say_number(AnalyzeText *text, double value, unsigned decimals);
void analyze_say_count(AnalyzeText *text, size_t n, const char *one, const char *many);
void analyze_say_heading(AnalyzeText *text, const char *words);

/* Breaks the lines since the last grid that are wider than the terminal, at spaces. A grid does so
 * with what is before it. */
void analyze_wrap(AnalyzeText *text);

/* Cells of a grid. */
ChartCell analyze_cell(Span words);
ChartCell analyze_cell_number(AnalyzeText *text, double value, unsigned decimals, ChartTone tone);
TW_PRINTF(2, 3) Span analyze_format(AnalyzeText *text, const char *format, ...);
void analyze_add_row(AnalyzeText *text, ChartGrid *grid, const ChartCell *cells);
void analyze_say_grid(AnalyzeText *text, const ChartGrid *grid);

/* To stdout. 0 or CLI_EXIT_FAILED, explained. */
int analyze_text_print(AnalyzeText *text);
