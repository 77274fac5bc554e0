#include "toolkit/chart/draw.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

void draw_raw(Draw *draw, Span text)
{
    if (draw->r == 0) {
        draw->r = bytes_append_span(draw->out, text);
    }
}

void draw_format(Draw *draw, const char *format, ...)
{
    char text[512]; /* tags with a few numbers, never text of others */
    va_list words;
    int n;

    va_start(words, format);
    n = vsnprintf(text, sizeof(text), format, words);
    va_end(words);
    if (n < 0 || (size_t)n >= sizeof(text)) {
        draw->r = draw->r != 0 ? draw->r : err_raise(-EOVERFLOW);
        return;
    }
    draw_raw(draw, span_make(text, (size_t)n));
}

void draw_text(Draw *draw, Span text)
{
    if (draw->r == 0) {
        draw->r = chart_text_append_xml(draw->out, text, SIZE_MAX, CHART_CUT_END);
    }
}

void draw_text_in(Draw *draw, Span text, double width, ChartCut cut)
{
    if (draw->r == 0) {
        size_t letters = width > 0 ? (size_t)(width / DRAW_LETTER) : 0;

        draw->r = chart_text_append_xml(draw->out, text, letters, cut);
    }
}

void draw_number(Draw *draw, double value, unsigned decimals)
{
    if (draw->r == 0) {
        draw->r = chart_number_append(draw->out, value, decimals);
    }
}

void draw_figures(Draw *draw, const double *figures)
{
    for (size_t i = 0; i < draw->page->n_figures; i++) {
        draw_raw(draw, i > 0 ? SPAN(" · ") : SPAN(""));
        draw_text(draw, span_from_str(draw->page->figures[i].name));
        draw_raw(draw, SPAN(" "));
        draw_number(draw, figures[i], draw->page->figures[i].decimals);
    }
}

size_t draw_heat(const ChartPage *page, double value)
{
    size_t heat = 0;

    while (heat < CHART_N_HEATS - 1 && value > page->heat_edges[heat]) {
        heat++;
    }
    return heat;
}

void draw_open_mark(Draw *draw, bool is_first)
{
    draw_format(draw, "<g class=\"m\" tabindex=\"%s\" role=\"img\">", is_first ? "0" : "-1");
}

void draw_legend(Draw *draw, double y)
{
    const ChartPage *page = draw->page;
    const ChartFigure *heat = &page->figures[page->heat];
    double x = 0;

    draw_format(draw, "<g class=\"legend\" transform=\"translate(0 %.2f)\"><text x=\"2\" y=\"15\">",
                y);
    draw_raw(draw, SPAN("area: "));
    draw_text(draw, span_from_str(page->figures[page->area].name));
    draw_raw(draw, SPAN("; colour: "));
    draw_text(draw, span_from_str(heat->name));
    draw_raw(draw, SPAN("</text>"));
    x = DRAW_WIDTH - CHART_N_HEATS * 84.0;
    for (size_t i = 0; i < CHART_N_HEATS; i++, x += 84) {
        draw_format(draw,
                    "<g class=\"h%zu\"><rect x=\"%.2f\" y=\"2\" width=\"82\" height=\"18\"/>"
                    "<text x=\"%.2f\" y=\"15\">",
                    i, x, x + 6);
        draw_raw(draw, i + 1 < CHART_N_HEATS ? SPAN("≤ ") : SPAN("> "));
        draw_number(draw, page->heat_edges[i + 1 < CHART_N_HEATS ? i : i - 1], heat->decimals);
        draw_raw(draw, SPAN("</text></g>"));
    }
    draw_raw(draw, SPAN("</g>\n"));
}
