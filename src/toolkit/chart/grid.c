#include "toolkit/chart/grid.h"

#include <limits.h>
#include <stdint.h>

#include "base/error.h"
#include "toolkit/chart/text.h"

/* Between two columns. */
#define GRID_GAP 2

/* Of a column of bars: what it is where there is room, and the least at which it still says
 * something. */
#define GRID_BAR     24
#define GRID_BAR_MIN 8

/* Names and paths are not cut further than this as long as there is a column that can be left out
 * instead. */
#define GRID_NAME 12
#define GRID_PATH 20

/* And then not further than this: a file's name can still be guessed. */
#define GRID_NAME_MIN 8

void chart_grid_init(ChartGrid *grid, Arena *arena, const ChartColumn *columns, size_t n_columns)
{
    *grid = (ChartGrid){.arena = arena, .columns = columns, .n_columns = n_columns};
}

int chart_grid_add(ChartGrid *grid, const ChartCell *cells)
{
    size_t row = grid->n_columns * sizeof(*cells);
    ChartCell *added;

    if (grid->n_rows == grid->cap) {
        size_t cap = grid->cap == 0 ? 16 : 2 * grid->cap;
        ChartCell *grown = arena_grow(grid->arena, grid->cells, grid->n_rows * row, cap * row);

        if (grown == NULL) {
            return err_raise(-ENOMEM);
        }
        grid->cells = grown;
        grid->cap = cap;
    }
    added = grid->cells + grid->n_rows * grid->n_columns;
    memcpy(added, cells, row);
    for (size_t i = 0; i < grid->n_columns; i++) {
        added[i].text = arena_copy(grid->arena, cells[i].text);
        if (added[i].text.p == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    grid->n_rows++;
    return 0;
}

Span chart_tone_on(ChartTone tone)
{
    static const Span codes[] = {
        [CHART_PLAIN] = SPAN_INIT(""),           [CHART_FAINT] = SPAN_INIT("\033[2m"),
        [CHART_STRONG] = SPAN_INIT("\033[1m"),   [CHART_GOOD] = SPAN_INIT("\033[32m"),
        [CHART_WARNING] = SPAN_INIT("\033[33m"), [CHART_ERROR] = SPAN_INIT("\033[31m"),
    };

    return codes[tone];
}

Span chart_tone_off(ChartTone tone)
{
    return tone == CHART_PLAIN ? SPAN("") : SPAN("\033[0m");
}

int chart_bar_append(Bytes *out, double value, double max, size_t width, size_t *ret_width)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double share = max > 0 && value > 0 ? value / max : 0;
    size_t eighths = (size_t)((share > 1 ? 1 : share) * (double)(8 * width) + 0.5);
    int r = 0;

    if (eighths == 0 && value > 0 && width > 0) {
        eighths = 1;
    }
    for (size_t i = 0; i < eighths / 8 && r == 0; i++) {
        r = bytes_append_span(out, SPAN("█"));
    }
    if (r == 0) {
        r = bytes_append_span(out, span_from_str(parts[eighths % 8]));
    }
    *ret_width = eighths / 8 + (eighths % 8 > 0 ? 1 : 0);
    return r;
}

/* What a grid comes to when it is written. */
typedef struct GridLayout {
    const ChartGrid *grid;
    bool coloured;
    bool has_head;
    bool is_left_out[CHART_MAX_COLUMNS];
    size_t widths[CHART_MAX_COLUMNS];
    double max[CHART_MAX_COLUMNS]; /* of bars */
} GridLayout;

static void layout_measure(GridLayout *layout)
{
    const ChartGrid *grid = layout->grid;

    for (size_t i = 0; i < grid->n_columns; i++) {
        const char *title = grid->columns[i].title;

        layout->has_head = layout->has_head || title != NULL;
        layout->widths[i] = title != NULL ? chart_text_width(span_from_str(title)) : 0;
        if (grid->columns[i].kind == CHART_BAR && layout->widths[i] < GRID_BAR) {
            layout->widths[i] = GRID_BAR;
        }
        for (size_t row = 0; row < grid->n_rows; row++) {
            const ChartCell *cell = &grid->cells[row * grid->n_columns + i];
            size_t width = chart_text_width(cell->text);

            if (grid->columns[i].kind == CHART_BAR) {
                layout->max[i] = cell->value > layout->max[i] ? cell->value : layout->max[i];
            } else if (width > layout->widths[i]) {
                layout->widths[i] = width;
            }
        }
    }
}

/* How far a column may give way; is_last: there is nothing else that could. */
static size_t column_min(const ChartColumn *column, size_t width, bool is_last)
{
    size_t least = width;

    if (column->kind == CHART_BAR) {
        least = GRID_BAR_MIN;
    } else if (column->kind == CHART_NAME) {
        least = is_last ? GRID_NAME_MIN : GRID_NAME;
    } else if (column->kind == CHART_PATH) {
        least = is_last ? GRID_NAME_MIN : GRID_PATH;
    }
    return width < least ? width : least;
}

/* Columns of the terminal that are taken, with the gaps; is_least: when all have given way. */
static size_t layout_width(const GridLayout *layout, bool is_least)
{
    size_t width = 0;
    size_t n = 0;

    for (size_t i = 0; i < layout->grid->n_columns; i++) {
        if (!layout->is_left_out[i]) {
            width += n++ > 0 ? GRID_GAP : 0;
            width += is_least ? column_min(&layout->grid->columns[i], layout->widths[i], false)
                              : layout->widths[i];
        }
    }
    return width;
}

/* Leaves one more column out: a bar, since its value stands beside it, or else the one that can be
 * spared most. False: all that are left are needed. */
static bool layout_leave_out(GridLayout *layout)
{
    size_t found = SIZE_MAX;
    unsigned most = 0;

    for (size_t i = 0; i < layout->grid->n_columns; i++) {
        const ChartColumn *column = &layout->grid->columns[i];
        unsigned spare = column->kind == CHART_BAR ? UINT_MAX : column->spare;

        if (!layout->is_left_out[i] && spare > most) {
            found = i;
            most = spare;
        }
    }
    if (found != SIZE_MAX) {
        layout->is_left_out[found] = true;
    }
    return found != SIZE_MAX;
}

/* The column that gives way next: the bars, then the widest name; SIZE_MAX if none can. */
static size_t layout_widest(const GridLayout *layout, bool is_last)
{
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < layout->grid->n_columns; i++) {
        const ChartColumn *column = &layout->grid->columns[i];

        if (layout->is_left_out[i] ||
            layout->widths[i] <= column_min(column, layout->widths[i], is_last)) {
            continue;
        }
        if (column->kind == CHART_BAR) {
            return i;
        }
        if (found == SIZE_MAX || layout->widths[i] > layout->widths[found]) {
            found = i;
        }
    }
    return found;
}

static void layout_fit(GridLayout *layout, size_t width)
{
    bool is_last = false;
    size_t used;

    while (!is_last && layout_width(layout, true) > width) {
        is_last = !layout_leave_out(layout);
    }
    for (used = layout_width(layout, false); used > width; used--) {
        size_t i = layout_widest(layout, is_last);

        if (i == SIZE_MAX) {
            return; /* better a broken line than a number without its digits */
        }
        layout->widths[i]--;
    }
}

static int append_blanks(Bytes *out, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        r = bytes_append_byte(out, ' ');
    }
    return r;
}

/* Appends the cell's content; *ret_width: columns taken. */
static int append_content(const GridLayout *layout, size_t i, const ChartCell *cell, Bytes *out,
                          size_t *ret_width)
{
    const ChartColumn *column = &layout->grid->columns[i];
    size_t width = chart_text_width(cell->text);

    if (column->kind == CHART_BAR && cell->text.n == 0) {
        return chart_bar_append(out, cell->value, layout->max[i], layout->widths[i], ret_width);
    }
    *ret_width = width < layout->widths[i] ? width : layout->widths[i];
    return chart_text_append(out, cell->text, layout->widths[i],
                             column->kind == CHART_PATH ? CHART_CUT_START : CHART_CUT_END);
}

static int append_row(const GridLayout *layout, const ChartCell *cells, Bytes *out)
{
    size_t n_blanks = 0; /* owed before the next cell, so that no line ends in blanks */
    int r = 0;

    for (size_t i = 0; i < layout->grid->n_columns && r == 0; i++) {
        ChartTone tone = layout->coloured ? cells[i].tone : CHART_PLAIN;
        bool is_number = layout->grid->columns[i].kind == CHART_NUMBER;
        size_t width = chart_text_width(cells[i].text);
        size_t taken = 0;

        if (layout->is_left_out[i]) {
            continue;
        }
        if (is_number && width < layout->widths[i]) {
            n_blanks += layout->widths[i] - width;
        }
        if (cells[i].text.n > 0 || cells[i].value > 0) {
            r = append_blanks(out, n_blanks);
            r = r != 0 ? r : bytes_append_span(out, chart_tone_on(tone));
            r = r != 0 ? r : append_content(layout, i, &cells[i], out, &taken);
            r = r != 0 ? r : bytes_append_span(out, chart_tone_off(tone));
            n_blanks = 0;
        }
        n_blanks += GRID_GAP + (is_number ? 0 : layout->widths[i] - taken);
    }
    return r != 0 ? r : bytes_append_byte(out, '\n');
}

static int append_head(const GridLayout *layout, Bytes *out)
{
    ChartCell cells[CHART_MAX_COLUMNS] = {{.value = 0}};

    for (size_t i = 0; i < layout->grid->n_columns; i++) {
        const char *title = layout->grid->columns[i].title;

        cells[i].text = title != NULL ? span_from_str(title) : SPAN("");
        cells[i].tone = CHART_FAINT;
    }
    return append_row(layout, cells, out);
}

int chart_grid_write(const ChartGrid *grid, size_t width, bool coloured, Bytes *out)
{
    GridLayout layout = {.grid = grid, .coloured = coloured};
    size_t n = out->n;
    int r = 0;

    layout_measure(&layout);
    if (width > 0) {
        layout_fit(&layout, width);
    }
    if (layout.has_head) {
        r = append_head(&layout, out);
    }
    for (size_t row = 0; row < grid->n_rows && r == 0; row++) {
        r = append_row(&layout, grid->cells + row * grid->n_columns, out);
    }
    if (r != 0) {
        out->n = n;
    }
    return r;
}
