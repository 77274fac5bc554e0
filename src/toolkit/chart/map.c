/* The treemap: which files are drawn, where, and which of them have room for their names. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "toolkit/chart/draw.h"
#include "toolkit/chart/treemap.h"

/* Room for a name: three letters and a sign that there are more. */
#define LABEL_MIN_WIDTH 34
#define LABEL_INSET     4

/* A folder's name is worth showing on no less than this. */
#define CHIP_MIN_WIDTH  64
#define CHIP_MIN_HEIGHT 40
#define CHIP_MAX        400

/* A rectangle to be: a file, or all that are too small to be drawn in one folder at the top. */
typedef struct MapCell {
    const ChartFile *file; /* NULL: several */
    size_t n_files;
    double heat;
} MapCell;

typedef struct Map {
    Draw *draw;
    ChartLeaf *leaves;
    MapCell *cells; /* of the leaves */
    size_t n;
    ChartTree tree;
    ChartRect chips[CHIP_MAX]; /* where folders' names are */
    size_t n_chips;
} Map;

static double map_area(const ChartPage *page, size_t i)
{
    return page->files[i].figures[page->area];
}

static int area_compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return left > right ? -1 : left < right;
}

/* The area from which on a file has a rectangle of its own. 0, -ENOMEM. */
static int map_least(Draw *draw, double *ret)
{
    const ChartPage *page = draw->page;
    double *areas;

    *ret = 0;
    if (page->n_files <= CHART_MAX_CELLS) {
        return 0;
    }
    areas = arena_alloc_array(draw->arena, page->n_files, sizeof(*areas));
    if (areas == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < page->n_files; i++) {
        areas[i] = map_area(page, i);
    }
    qsort(areas, page->n_files, sizeof(*areas), area_compare);
    *ret = areas[CHART_MAX_CELLS - 1];
    return 0;
}

/* "src" of "src/io/file.c"; "" of "main.c". */
static Span path_top(Span path)
{
    const char *slash = path.n == 0 ? NULL : memchr(path.p, '/', path.n);

    return span_make(path.p, slash == NULL ? 0 : (size_t)(slash - path.p));
}

static int file_compare(const void *a, const void *b)
{
    const ChartFile *const *left = a;
    const ChartFile *const *right = b;

    return span_compare((*left)->path, (*right)->path);
}

static void map_add(Map *map, Span path, double weight, MapCell cell)
{
    map->leaves[map->n] = (ChartLeaf){path, weight};
    map->cells[map->n] = cell;
    map->n++;
}

/* Files below the least area, one rectangle for each folder at the top. `small` is sorted by path.
 */
static int map_add_small(Map *map, const ChartFile **small, size_t n)
{
    const ChartPage *page = map->draw->page;
    size_t at = 0;

    while (at < n) {
        Span top = path_top(small[at]->path);
        char *path = arena_alloc(map->draw->arena, top.n + 2);
        double weight = 0;
        double heat = 0;
        size_t first = at;

        if (path == NULL) {
            return err_raise(-ENOMEM);
        }
        for (; at < n && span_equals(path_top(small[at]->path), top); at++) {
            double value = small[at]->figures[page->heat];

            weight += small[at]->figures[page->area];
            heat = value > heat ? value : heat;
        }
        memcpy(path, top.p, top.n);
        memcpy(path + top.n, "/*", 2);
        map_add(map, top.n > 0 ? span_make(path, top.n + 2) : SPAN("*"), weight,
                (MapCell){.n_files = at - first, .heat = heat});
    }
    return 0;
}

/* 0, -ENOMEM. */
static int map_choose(Map *map)
{
    const ChartPage *page = map->draw->page;
    const ChartFile **small =
        arena_alloc_array(map->draw->arena, page->n_files + 1, sizeof(ChartFile *));
    size_t n_own = 0;
    size_t n_small = 0;
    double least = 0;
    int r = map_least(map->draw, &least);

    map->leaves = arena_alloc_array(map->draw->arena, page->n_files + 1, sizeof(*map->leaves));
    map->cells = arena_alloc_array(map->draw->arena, page->n_files + 1, sizeof(*map->cells));
    if (r != 0 || small == NULL || map->leaves == NULL || map->cells == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < page->n_files; i++) {
        const ChartFile *file = &page->files[i];
        double area = map_area(page, i);

        if (area <= 0) {
            continue; /* nothing to draw */
        }
        if (area >= least && n_own < CHART_MAX_CELLS) {
            map_add(map, file->path, area, (MapCell){file, 1, file->figures[page->heat]});
            n_own++;
        } else {
            small[n_small++] = file;
        }
    }
    qsort(small, n_small, sizeof(ChartFile *), file_compare);
    return map_add_small(map, small, n_small);
}

/* ---- names of folders ---- */

static bool rects_meet(const ChartRect *a, const ChartRect *b)
{
    return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h && b->y < a->y + a->h;
}

static bool map_meets_chip(const Map *map, const ChartRect *rect)
{
    for (size_t i = 0; i < map->n_chips; i++) {
        if (rects_meet(&map->chips[i], rect)) {
            return true;
        }
    }
    return false;
}

/* The name of a folder stands in its upper left corner; where the folder around it has its own name
 * there, behind that. */
static void map_draw_chip(Map *map, const ChartNode *node)
{
    Span name = chart_path_name(node->path);
    double width = (double)chart_text_width(name) * DRAW_LETTER + 2 * LABEL_INSET + 2;
    ChartRect chip = {node->rect.x + 2, node->rect.y + 2, width, DRAW_LINE};

    while (chip.x + width <= node->rect.x + node->rect.w - 2 && map_meets_chip(map, &chip)) {
        chip.x += DRAW_LETTER;
    }
    if (chip.x + width > node->rect.x + node->rect.w - 2 || map->n_chips == CHIP_MAX) {
        return;
    }
    map->chips[map->n_chips++] = chip;
    draw_format(map->draw,
                "<g class=\"chip\"><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%d\" "
                "rx=\"3\"/><text x=\"%.2f\" y=\"%.2f\">",
                chip.x, chip.y, chip.w, DRAW_LINE, chip.x + LABEL_INSET, chip.y + 12);
    draw_text(map->draw, name);
    draw_raw(map->draw, SPAN("</text></g>\n"));
}

/* Folders: a line around each, and names where there is room. They are drawn last, since they lie
 * over the files, but the names are placed first. */
static void map_draw_folders(Map *map, bool names)
{
    for (size_t i = 1; i < map->tree.n; i++) {
        const ChartNode *node = &map->tree.nodes[i];

        if (node->item != SIZE_MAX) {
            continue;
        }
        if (!names) {
            draw_format(map->draw,
                        "<rect class=\"folder\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                        "height=\"%.2f\"/>\n",
                        node->rect.x, node->rect.y, node->rect.w, node->rect.h);
        } else if (node->rect.w >= CHIP_MIN_WIDTH && node->rect.h >= CHIP_MIN_HEIGHT) {
            map_draw_chip(map, node);
        }
    }
}

/* ---- files ---- */

static void map_draw_title(Map *map, const ChartNode *node, const MapCell *cell)
{
    Draw *draw = map->draw;
    const ChartPage *page = draw->page;

    draw_raw(draw, SPAN("<title>"));
    if (cell->file != NULL) {
        draw_text(draw, cell->file->path);
        draw_raw(draw, SPAN("\n"));
        draw_figures(draw, cell->file->figures);
    } else {
        draw_text(draw, node->path);
        draw_raw(draw, SPAN("\n"));
        draw_number(draw, (double)cell->n_files, 0);
        draw_raw(draw, cell->n_files == 1 ? SPAN(" small file · ") : SPAN(" small files · "));
        draw_text(draw, span_from_str(page->figures[page->area].name));
        draw_raw(draw, SPAN(" "));
        draw_number(draw, node->weight, page->figures[page->area].decimals);
        draw_raw(draw, SPAN(" · highest "));
        draw_text(draw, span_from_str(page->figures[page->heat].name));
        draw_raw(draw, SPAN(" "));
        draw_number(draw, cell->heat, page->figures[page->heat].decimals);
    }
    draw_raw(draw, SPAN("</title>"));
}

/* In the lower left corner: the upper one is for folders. */
static void map_draw_label(Map *map, const ChartNode *node)
{
    ChartRect label = {node->rect.x, node->rect.y + node->rect.h - DRAW_LINE - 2, node->rect.w,
                       DRAW_LINE};

    if (node->rect.w < LABEL_MIN_WIDTH || node->rect.h < DRAW_LINE + 2 ||
        map_meets_chip(map, &label)) {
        return;
    }
    draw_format(map->draw, "<text x=\"%.2f\" y=\"%.2f\">", node->rect.x + LABEL_INSET,
                node->rect.y + node->rect.h - 6);
    draw_text_in(map->draw, chart_path_name(node->path), node->rect.w - 2 * LABEL_INSET,
                 CHART_CUT_END);
    draw_raw(map->draw, SPAN("</text>"));
}

static void map_draw_files(Map *map)
{
    bool is_first = true;

    for (size_t i = 1; i < map->tree.n; i++) {
        const ChartNode *node = &map->tree.nodes[i];
        const MapCell *cell;

        if (node->item == SIZE_MAX) {
            continue;
        }
        cell = &map->cells[node->item];
        draw_open_mark(map->draw, is_first);
        is_first = false;
        map_draw_title(map, node, cell);
        draw_format(map->draw,
                    "<g class=\"h%zu\"><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                    "height=\"%.2f\"/>",
                    draw_heat(map->draw->page, cell->heat), node->rect.x, node->rect.y,
                    node->rect.w, node->rect.h);
        map_draw_label(map, node);
        draw_raw(map->draw, SPAN("</g></g>\n"));
    }
}

void draw_map(Draw *draw, double y)
{
    CLEANUP(bytes_deinit) Bytes names = BYTES_NULL;
    Map *map = arena_alloc_array(draw->arena, 1, sizeof(*map));
    Bytes *out = draw->out;

    if (draw->r != 0) {
        return;
    }
    if (map == NULL) {
        draw->r = err_raise(-ENOMEM);
        return;
    }
    map->draw = draw;
    draw->r = map_choose(map);
    if (draw->r == 0) {
        draw->r = chart_tree_make(&map->tree, draw->arena, map->leaves, map->n,
                                  (ChartRect){0, 0, DRAW_WIDTH, DRAW_MAP});
    }
    if (draw->r != 0) {
        return;
    }
    draw_format(draw, "<g class=\"map\" transform=\"translate(0 %.2f)\">\n", y);
    bytes_init(&names, out->max_bytes);
    draw->out = &names;
    map_draw_folders(map, true);
    draw->out = out;
    map_draw_files(map);
    map_draw_folders(map, false);
    draw_raw(draw, bytes_span(&names));
    draw_raw(draw, SPAN("</g>\n"));
}
