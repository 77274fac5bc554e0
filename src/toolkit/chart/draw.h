/* toolkit/chart/draw.h: what the files of page.h share. Private. */
#pragma once

#include "base/arena.h"
#include "toolkit/chart/page.h"
#include "toolkit/chart/text.h"

/* The width of every picture, and the height of the map and the points. Units of SVG: pixels,
 * where the page is so wide. */
#define DRAW_WIDTH   1200
#define DRAW_MAP     720
#define DRAW_SCATTER 520

/* Of the letters in a picture, which all have the same width. */
#define DRAW_FONT   11
#define DRAW_LETTER 6.62
#define DRAW_LINE   16

/* Writes to out; the first failure sticks. */
typedef struct Draw {
    const ChartPage *page;
    Bytes *out;
    Arena *arena;
    int r;
} Draw;

void draw_raw(Draw *draw, Span text);
TW_PRINTF(2, 3) void draw_format(Draw *draw, const char *format, ...);
void draw_text(Draw *draw, Span text);
void draw_text_in(Draw *draw, Span text, double width, ChartCut cut);
void draw_number(Draw *draw, double value, unsigned decimals);

/* "code lines 120 · commits 3" */
void draw_figures(Draw *draw, const double *figures);

size_t draw_heat(const ChartPage *page, double value);

/* A mark is what the mouse and the keyboard find: opened with its place in the order of Tab, it
 * holds a title, and is closed by the caller. */
void draw_open_mark(Draw *draw, bool is_first);

/* Moved down by y. */
void draw_map(Draw *draw, double y);
void draw_legend(Draw *draw, double y);
void draw_scatter(Draw *draw, double y);

extern const Span draw_style;       /* of the pictures, for both kinds of file */
extern const Span draw_script;      /* without a '<', so that it may stand in XML */
extern const Span draw_script_hash; /* "sha256-…", for the policy of a page */
