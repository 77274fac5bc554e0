/* The files as points between two axes. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "toolkit/chart/draw.h"

/* Around the field, for the axes' words. */
#define SCATTER_LEFT   64
#define SCATTER_RIGHT  24
#define SCATTER_TOP    28
#define SCATTER_BOTTOM 48

/* Inside it, for the halves of the largest circles. */
#define SCATTER_PAD 16

#define SCATTER_MAX_TICKS 64

/* Figures differ by powers of ten, so an axis is as long as the logarithm of one more than its
 * figure: 0 has a place, too. */
typedef struct ScatterAxis {
    size_t figure;
    double ticks[SCATTER_MAX_TICKS];
    size_t n_ticks;
} ScatterAxis;

/* 0, 1, 2, 5, 10, 20, 50… up to what is not below the largest value. */
static void axis_init(ScatterAxis *axis, const ChartPage *page, size_t figure)
{
    static const double steps[] = {1, 2, 5};
    double power = 1;
    double max = 0;

    *axis = (ScatterAxis){.figure = figure, .n_ticks = 1};
    for (size_t i = 0; i < page->n_files; i++) {
        double value = page->files[i].figures[figure];

        max = value > max ? value : max;
    }
    for (size_t i = 0; axis->n_ticks < SCATTER_MAX_TICKS; i++) {
        double tick = steps[i % 3] * power;

        axis->ticks[axis->n_ticks++] = tick;
        if (tick >= max) {
            return;
        }
        power *= i % 3 == 2 ? 10 : 1;
    }
}

/* 0 at its beginning, 1 at its end. */
static double axis_place(const ScatterAxis *axis, double value)
{
    double place = log1p(value > 0 ? value : 0) / log1p(axis->ticks[axis->n_ticks - 1]);

    return place < 1 ? place : 1;
}

static double scatter_x(const ScatterAxis *axis, double value)
{
    return SCATTER_LEFT + SCATTER_PAD +
           axis_place(axis, value) * (DRAW_WIDTH - SCATTER_LEFT - SCATTER_RIGHT - 2 * SCATTER_PAD);
}

static double scatter_y(const ScatterAxis *axis, double value)
{
    return DRAW_SCATTER - SCATTER_BOTTOM - SCATTER_PAD -
           axis_place(axis, value) *
               (DRAW_SCATTER - SCATTER_BOTTOM - SCATTER_TOP - 2 * SCATTER_PAD);
}

static void scatter_draw_axes(Draw *draw, const ScatterAxis *x, const ScatterAxis *y)
{
    const ChartFigure *figures = draw->page->figures;

    for (size_t i = 0; i < x->n_ticks; i++) {
        double at = scatter_x(x, x->ticks[i]);

        draw_format(draw,
                    "<path class=\"tick\" d=\"M%.2f %d V%d\"/><text class=\"middle\" x=\"%.2f\" "
                    "y=\"%d\">",
                    at, SCATTER_TOP, DRAW_SCATTER - SCATTER_BOTTOM, at,
                    DRAW_SCATTER - SCATTER_BOTTOM + 16);
        draw_number(draw, x->ticks[i], 0);
        draw_raw(draw, SPAN("</text>"));
    }
    for (size_t i = 0; i < y->n_ticks; i++) {
        double at = scatter_y(y, y->ticks[i]);

        draw_format(draw,
                    "<path class=\"tick\" d=\"M%d %.2f H%d\"/><text class=\"end\" x=\"%d\" "
                    "y=\"%.2f\">",
                    SCATTER_LEFT, at, DRAW_WIDTH - SCATTER_RIGHT, SCATTER_LEFT - 6, at + 4);
        draw_number(draw, y->ticks[i], 0);
        draw_raw(draw, SPAN("</text>"));
    }
    draw_format(draw, "<text class=\"middle axis\" x=\"%d\" y=\"%d\">",
                (DRAW_WIDTH + SCATTER_LEFT - SCATTER_RIGHT) / 2, DRAW_SCATTER - 10);
    draw_text(draw, span_from_str(figures[x->figure].name));
    draw_format(draw, " →</text><text class=\"axis\" x=\"2\" y=\"16\">↑ ");
    draw_text(draw, span_from_str(figures[y->figure].name));
    draw_raw(draw, SPAN("</text>\n"));
}

/* For sorting; the page is beside the file since qsort has no place for it. */
typedef struct ScatterPoint {
    const ChartFile *file;
    double area;
} ScatterPoint;

static int point_compare(const void *a, const void *b)
{
    const ScatterPoint *left = a;
    const ScatterPoint *right = b;

    if (left->area != right->area) {
        return left->area > right->area ? -1 : 1;
    }
    return left->file < right->file ? -1 : left->file > right->file;
}

static void scatter_draw_points(Draw *draw, const ScatterAxis *x, const ScatterAxis *y,
                                const ScatterPoint *points, size_t n)
{
    double max = n > 0 && points[0].area > 0 ? points[0].area : 1;

    for (size_t i = 0; i < n; i++) {
        const double *figures = points[i].file->figures;

        draw_open_mark(draw, i == 0);
        draw_raw(draw, SPAN("<title>"));
        draw_text(draw, points[i].file->path);
        draw_raw(draw, SPAN("\n"));
        draw_figures(draw, figures);
        draw_format(draw,
                    "</title><g class=\"h%zu\"><circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"/></g>"
                    "</g>\n",
                    draw_heat(draw->page, figures[draw->page->heat]),
                    scatter_x(x, figures[x->figure]), scatter_y(y, figures[y->figure]),
                    3.0 + 11.0 * sqrt(points[i].area / max));
    }
}

void draw_scatter(Draw *draw, double y)
{
    const ChartPage *page = draw->page;
    size_t n = page->n_files;
    ScatterPoint *points = arena_alloc_array(draw->arena, n + 1, sizeof(*points));
    ScatterAxis across;
    ScatterAxis up;

    if (points == NULL) {
        draw->r = draw->r != 0 ? draw->r : err_raise(-ENOMEM);
        return;
    }
    /* Large ones first: the small ones lie upon them, and can be pointed at. */
    for (size_t i = 0; i < n; i++) {
        points[i] = (ScatterPoint){&page->files[i], page->files[i].figures[page->area]};
    }
    qsort(points, n, sizeof(*points), point_compare);
    axis_init(&across, page, page->x);
    axis_init(&up, page, page->y);
    draw_format(draw, "<g class=\"scatter\" transform=\"translate(0 %.2f)\">\n", y);
    scatter_draw_axes(draw, &across, &up);
    if (n > CHART_MAX_CELLS) {
        draw_format(draw, "<text class=\"end\" x=\"%d\" y=\"16\">", DRAW_WIDTH - SCATTER_RIGHT);
        draw_number(draw, (double)(n - CHART_MAX_CELLS), 0);
        draw_raw(draw, n == CHART_MAX_CELLS + 1 ? SPAN(" smaller file is left out</text>\n")
                                                : SPAN(" smaller files are left out</text>\n"));
        n = CHART_MAX_CELLS;
    }
    scatter_draw_points(draw, &across, &up, points, n);
    draw_raw(draw, SPAN("</g>\n"));
}
