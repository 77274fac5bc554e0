#include "toolkit/chart/page.h"

#include "toolkit/chart/draw.h"

/* Of an SVG file: the words at its top, the line of colours, the line that says what is pointed at.
 */
#define PAGE_HEAD   56
#define PAGE_LEGEND 26
#define PAGE_DETAIL 28

#define PAGE_ARENA_BYTES ((size_t)1024 * 1024 * 1024)

static void svg_open(Draw *draw, double height)
{
    draw_format(draw,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" "
                "font-family=\"ui-monospace,Menlo,Consolas,monospace\" font-size=\"%d\"",
                DRAW_WIDTH, height, DRAW_FONT);
}

static void svg_document(Draw *draw)
{
    const ChartPage *page = draw->page;
    double y = PAGE_HEAD;
    double height =
        PAGE_HEAD + DRAW_MAP + PAGE_LEGEND + PAGE_DETAIL + (page->has_scatter ? DRAW_SCATTER : 0);

    draw_raw(draw, SPAN("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
    svg_open(draw, height);
    draw_raw(draw, SPAN(">\n<title>"));
    draw_text(draw, page->title);
    draw_raw(draw, SPAN("</title>\n<style>"));
    draw_raw(draw, draw_style);
    draw_raw(draw, SPAN("</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
                        "<text class=\"head\" x=\"2\" y=\"24\">"));
    draw_text_in(draw, page->title, DRAW_WIDTH * 0.6, CHART_CUT_START);
    draw_raw(draw, SPAN("</text>\n<text x=\"2\" y=\"44\">"));
    draw_text_in(draw, page->subtitle, DRAW_WIDTH - 4, CHART_CUT_END);
    draw_raw(draw, SPAN("</text>\n"));
    draw_map(draw, y);
    y += DRAW_MAP + 2;
    draw_legend(draw, y);
    y += PAGE_LEGEND;
    if (page->has_scatter) {
        draw_scatter(draw, y);
        y += DRAW_SCATTER;
    }
    draw_format(draw, "<text id=\"detail\" x=\"2\" y=\"%.2f\" aria-live=\"polite\"></text>\n",
                y + 16);
    draw_raw(draw, SPAN("<script>"));
    draw_raw(draw, draw_script);
    draw_raw(draw, SPAN("</script>\n</svg>\n"));
}

/* A page's own rules; those of the pictures are in draw_style. The table may be wider than a small
 * screen, and is then moved by itself, not with the page. */
static const Span page_style = SPAN_INIT(
    "\nbody{margin:0 auto;max-width:1200px;padding:16px 16px 64px;"
    "background:var(--ground);color:var(--ink);font:14px/1.4 system-ui,sans-serif}\n"
    "h1{font-size:20px;margin:0;overflow-wrap:anywhere}\nh2{font-size:16px}\n"
    "p{margin:4px 0 12px;overflow-wrap:anywhere}\nsvg{display:block;width:100%;height:auto}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:3px 8px;text-align:right;border-bottom:1px solid var(--rule)}\n"
    "th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere;"
    "min-width:12em;font-family:ui-monospace,Menlo,Consolas,monospace;font-weight:normal}\n"
    "#detail{position:fixed;left:0;right:0;bottom:0;margin:0;padding:8px 16px;"
    "background:var(--bar);color:var(--bar-ink);overflow-wrap:anywhere;min-height:1.4em}\n");

static void html_head(Draw *draw)
{
    draw_raw(draw,
             SPAN("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src '"));
    draw_raw(draw, draw_script_hash);
    draw_raw(draw, SPAN("'; base-uri 'none'; form-action 'none'\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>"));
    draw_text(draw, draw->page->title);
    draw_raw(draw, SPAN("</title>\n<style>"));
    draw_raw(draw, draw_style);
    draw_raw(draw, page_style);
    draw_raw(draw, SPAN("</style>\n</head>\n<body>\n<h1>"));
    draw_text(draw, draw->page->title);
    draw_raw(draw, SPAN("</h1>\n<p>"));
    draw_text(draw, draw->page->subtitle);
    draw_raw(draw, SPAN("</p>\n"));
}

static void html_picture(Draw *draw, const char *label, double height)
{
    svg_open(draw, height);
    draw_format(draw, " role=\"group\" aria-label=\"%s\">\n", label);
}

static void html_table(Draw *draw)
{
    const ChartPage *page = draw->page;
    size_t n = page->n_files < CHART_LISTED ? page->n_files : CHART_LISTED;

    draw_raw(draw, SPAN("<h2>"));
    if (n < page->n_files) {
        draw_format(draw, "The first %zu of ", n);
    }
    draw_number(draw, (double)page->n_files, 0);
    draw_raw(draw, page->n_files == 1 ? SPAN(" file</h2>\n") : SPAN(" files</h2>\n"));
    draw_raw(draw, SPAN("<div class=\"wide\" role=\"region\" aria-label=\"Figures of the files\" "
                        "tabindex=\"0\">\n<table>\n<thead><tr><th scope=\"col\">file</th>"));
    for (size_t i = 0; i < page->n_figures; i++) {
        draw_raw(draw, SPAN("<th scope=\"col\">"));
        draw_text(draw, span_from_str(page->figures[i].name));
        draw_raw(draw, SPAN("</th>"));
    }
    draw_raw(draw, SPAN("</tr></thead>\n<tbody>\n"));
    for (size_t row = 0; row < n; row++) {
        draw_raw(draw, SPAN("<tr><th scope=\"row\">"));
        draw_text(draw, page->files[row].path);
        draw_raw(draw, SPAN("</th>"));
        for (size_t i = 0; i < page->n_figures; i++) {
            draw_raw(draw, SPAN("<td>"));
            draw_number(draw, page->files[row].figures[i], page->figures[i].decimals);
            draw_raw(draw, SPAN("</td>"));
        }
        draw_raw(draw, SPAN("</tr>\n"));
    }
    draw_raw(draw, SPAN("</tbody>\n</table>\n</div>\n"));
}

static void html_document(Draw *draw)
{
    html_head(draw);
    html_picture(draw, "Map of the files", DRAW_MAP + PAGE_LEGEND);
    draw_map(draw, 0);
    draw_legend(draw, DRAW_MAP + 2);
    draw_raw(draw, SPAN("</svg>\n"));
    if (draw->page->has_scatter) {
        html_picture(draw, "Files by two figures", DRAW_SCATTER);
        draw_scatter(draw, 0);
        draw_raw(draw, SPAN("</svg>\n"));
    }
    html_table(draw);
    draw_raw(draw,
             SPAN("<p id=\"detail\" aria-live=\"polite\">Point at a file, or press Tab and the "
                  "arrow keys.</p>\n<script>"));
    draw_raw(draw, draw_script);
    draw_raw(draw, SPAN("</script>\n</body>\n</html>\n"));
}

static int page_write(const ChartPage *page, void (*document)(Draw *draw), Bytes *out)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    Draw draw = {.page = page, .out = out, .arena = &arena};
    size_t n = out->n;

    arena_init(&arena, PAGE_ARENA_BYTES);
    document(&draw);
    if (draw.r != 0) {
        out->n = n;
    }
    return draw.r;
}

int chart_page_write_svg(const ChartPage *page, Bytes *out)
{
    return page_write(page, svg_document, out);
}

int chart_page_write_html(const ChartPage *page, Bytes *out)
{
    return page_write(page, html_document, out);
}
