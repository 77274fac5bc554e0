#include "cli/table.h"

#include "base/error.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "io/program.h"

/* Between two columns. */
#define TABLE_GAP 2

/* A column of names that is wider than this would leave no room for what they mean. */
#define TABLE_MAX_WIDTH 48

void table_init(Table *table, Arena *arena, size_t n_columns)
{
    *table = (Table){.arena = arena, .n_columns = n_columns};
}

int table_add(Table *table, const Span *cells)
{
    size_t row = table->n_columns * sizeof(Span);

    if (table->n_rows == table->cap) {
        size_t cap = table->cap == 0 ? 16 : 2 * table->cap;
        Span *grown = arena_grow(table->arena, table->cells, table->n_rows * row, cap * row);

        if (grown == NULL) {
            return err_raise(-ENOMEM);
        }
        table->cells = grown;
        table->cap = cap;
    }
    memcpy(table->cells + table->n_rows * table->n_columns, cells, row);
    table->n_rows++;
    return 0;
}

size_t table_terminal_width(FILE *stream)
{
    return (size_t)io_terminal_columns(fileno(stream));
}

/* Half of a surrogate pair as U+FFFD, a whole one as its character; returns the bytes it has. */
static size_t print_surrogate(FILE *out, Span text)
{
    char shown[6];
    size_t n = text.n < sizeof(shown) ? 3 : sizeof(shown);
    size_t n_shown;

    memcpy(shown, text.p, n);
    n_shown = utf8_mend(shown, n);
    if (n_shown > 4) { /* two that do not belong together */
        n_shown = n = 3;
    }
    (void)fwrite(shown, 1, n_shown, out);
    return n;
}

void table_print_safe(FILE *out, Span text, bool keep_lines)
{
    unsigned before = 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned c = (unsigned char)text.p[i];
        /* U+0080 to U+009F are controls, too: the byte 0xC2 and one of these. */
        bool is_c1 = before == 0xC2 && c >= 0x80 && c < 0xA0;
        bool is_kept = keep_lines && (c == '\n' || c == '\t');

        if (utf8_surrogate(text.p + i, text.p + text.n) != 0) {
            i += print_surrogate(out, span_make(text.p + i, text.n - i)) - 1;
        } else if ((c < 0x20 && !is_kept) || c == 0x7F || is_c1) {
            fprintf(out, "\\x%02x", c);
        } else {
            (void)putc((int)c, out);
        }
        before = c;
    }
}

static Span first_line(Span text)
{
    const char *newline;

    while (text.n > 0 && (text.p[0] == '\n' || text.p[0] == ' ' || text.p[0] == '\r')) {
        text = span_make(text.p + 1, text.n - 1);
    }
    newline = text.n == 0 ? NULL : memchr(text.p, '\n', text.n);
    if (newline != NULL) {
        text.n = (size_t)(newline - text.p);
    }
    while (text.n > 0 && (text.p[text.n - 1] == '\r' || text.p[text.n - 1] == ' ')) {
        text.n--;
    }
    return text;
}

/* As many whole characters as fit into width; *ret_cut if that is not all of them. */
static Span fit(Span text, size_t width, bool *ret_cut)
{
    size_t n = 0;
    size_t at = 0;

    *ret_cut = utf8_count(text.p, text.n) > width;
    if (!*ret_cut) {
        return text;
    }
    /* The last place is for the mark that says so. */
    while (at < text.n && n + 1 < width) {
        at++;
        while (at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80) {
            at++;
        }
        n++;
    }
    return span_make(text.p, at);
}

/* Prints one cell; returns how many places it took. */
static size_t print_cell(FILE *out, Span text, size_t width)
{
    bool is_cut = false;
    Span shown = width == 0 ? text : fit(text, width, &is_cut);

    table_print_safe(out, shown, false);
    if (is_cut) {
        fputs("\u2026", out);
    }
    return utf8_count(shown.p, shown.n) + (is_cut ? 1 : 0);
}

static void table_measure(const Table *table, size_t *widths)
{
    for (size_t column = 0; column < table->n_columns; column++) {
        widths[column] = 0;
        for (size_t row = 0; row < table->n_rows; row++) {
            Span cell = first_line(table->cells[row * table->n_columns + column]);
            size_t n = utf8_count(cell.p, cell.n);

            if (n > widths[column]) {
                widths[column] = n < TABLE_MAX_WIDTH ? n : TABLE_MAX_WIDTH;
            }
        }
    }
}

static void print_row(const Table *table, const Span *cells, const size_t *widths, FILE *out)
{
    bool coloured = cli_wants_colour(out);
    size_t n_blanks = 0; /* owed before the next cell, so that no line ends in blanks */

    for (size_t i = 0; i < table->n_columns; i++) {
        bool is_last = i + 1 == table->n_columns;
        Span cell = first_line(cells[i]);
        size_t n = 0;

        if (widths[i] == 0 && !is_last) {
            continue; /* an empty column takes no room */
        }
        if (cell.n > 0) {
            fprintf(out, "%*s%s", (int)n_blanks, "", coloured && i == 0 ? "\033[1m" : "");
            /* A long name is not cut: it is what people type; the rest of its row moves. */
            n = print_cell(out, cell, i == 0 ? 0 : widths[i]);
            fputs(coloured && i == 0 ? "\033[0m" : "", out);
            n_blanks = 0;
        }
        n_blanks += (widths[i] > n ? widths[i] - n : 0) + TABLE_GAP;
    }
    (void)putc('\n', out);
}

void table_print(const Table *table, FILE *out)
{
    size_t widths[TABLE_MAX_COLUMNS] = {0};
    size_t terminal = table_terminal_width(out);
    size_t last = table->n_columns - 1;
    size_t used = 0;

    table_measure(table, widths);
    for (size_t i = 0; i < last; i++) {
        used += widths[i] + (widths[i] > 0 ? TABLE_GAP : 0);
    }
    /* What would have no room at all is better shown whole. */
    widths[last] = terminal > used + TABLE_GAP ? terminal - used : 0;
    for (size_t row = 0; row < table->n_rows; row++) {
        print_row(table, table->cells + row * table->n_columns, widths, out);
    }
}
