#include "cli/cmd_analyze_text.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "cli/cmd_analyze_options.h"
#include "cli/table.h"
#include "io/error_text.h"
#include "toolkit/chart/text.h"

/* Of all that is printed: a report of a million functions in JSON. */
#define TEXT_BYTES ((size_t)4 * 1024 * 1024 * 1024)

void analyze_text_init(AnalyzeText *text, const CliArgs *args)
{
    *text = (AnalyzeText){
        .args = args, .width = table_terminal_width(stdout), .coloured = cli_wants_colour(stdout)};
    bytes_init(&text->out, TEXT_BYTES);
    arena_init(&text->arena, TEXT_BYTES);
}

void analyze_text_deinit(AnalyzeText *text)
{
    bytes_deinit(&text->out);
    arena_deinit(&text->arena);
}

static void text_take(AnalyzeText *text, int r)
{
    text->r = text->r != 0 ? text->r : r;
}

void analyze_say_span(AnalyzeText *text, Span words)
{
    if (text->r == 0) {
        text_take(text, bytes_append_span(&text->out, words));
    }
}

void analyze_say(AnalyzeText *text, const char *format, ...)
{
    char words[512];
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(words, sizeof(words), format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= sizeof(words)) {
        text_take(text, err_raise(-EOVERFLOW));
        return;
    }
    analyze_say_span(text, span_make(words, (size_t)n));
}

void analyze_say_name(AnalyzeText *text, Span name)
{
    if (text->r == 0) {
        text_take(text, chart_text_append(&text->out, name, SIZE_MAX, CHART_CUT_END));
    }
}

void analyze_say_number(AnalyzeText *text, double value, unsigned decimals)
{
    if (text->r == 0) {
        text_take(text, chart_number_append(&text->out, value, decimals));
    }
}

void analyze_say_count(AnalyzeText *text, size_t n, const char *one, const char *many)
{
    analyze_say_number(text, (double)n, 0);
    analyze_say(text, " %s", n == 1 ? one : many);
}

void analyze_say_heading(AnalyzeText *text, const char *words)
{
    ChartTone tone = text->coloured ? CHART_STRONG : CHART_PLAIN;

    analyze_say_span(text, SPAN("\n"));
    analyze_say_span(text, chart_tone_on(tone));
    analyze_say(text, "%s", words);
    analyze_say_span(text, chart_tone_off(tone));
    analyze_say_span(text, SPAN("\n"));
}

/* How many bytes the next thing on the line has, and how many columns it takes. */
static size_t text_step(Span rest, size_t *ret_columns)
{
    size_t n = 1;

    *ret_columns = 0;
    if (rest.p[0] == '\033') {
        while (n < rest.n && rest.p[n - 1] != 'm') {
            n++; /* a tone */
        }
        return n;
    }
    while (n < rest.n && ((unsigned char)rest.p[n] & 0xC0) == 0x80) {
        n++;
    }
    *ret_columns = chart_text_width(span_make(rest.p, n));
    return n;
}

/* One line; returns the place behind its newline. */
static size_t text_wrap_line(AnalyzeText *text, size_t at)
{
    Span out = bytes_span(&text->out);
    size_t space = SIZE_MAX;
    size_t column = 0;
    size_t at_space = 0;
    size_t columns;

    for (; at < out.n && out.p[at] != '\n'; column += columns) {
        if (out.p[at] == ' ' && column > 0) {
            space = at;
            at_space = column + 1;
        }
        at += text_step(span_make(out.p + at, out.n - at), &columns);
        if (column + columns > text->width && space != SIZE_MAX) {
            text->out.data[space] = '\n';
            column += columns - at_space;
            columns = 0;
            space = SIZE_MAX;
        }
    }
    return at + 1;
}

void analyze_wrap(AnalyzeText *text)
{
    size_t at = text->n_wrapped;

    while (text->width > 0 && text->r == 0 && at < text->out.n) {
        at = text_wrap_line(text, at);
    }
    text->n_wrapped = text->out.n;
}

ChartCell analyze_cell(Span words)
{
    return (ChartCell){.text = words};
}

Span analyze_format(AnalyzeText *text, const char *format, ...)
{
    char words[256];
    va_list list;
    Span copy;
    int n;

    va_start(list, format);
    n = vsnprintf(words, sizeof(words), format, list);
    va_end(list);
    copy = arena_copy(&text->arena, span_make(words, n < 0 ? 0 : strlen(words)));
    if (copy.p == NULL) {
        text_take(text, err_raise(-ENOMEM));
    }
    return copy;
}

ChartCell analyze_cell_number(AnalyzeText *text, double value, unsigned decimals, ChartTone tone)
{
    CLEANUP(bytes_deinit) Bytes digits = BYTES_NULL;
    Span copy;

    bytes_init(&digits, 1024);
    text_take(text, chart_number_append(&digits, value, decimals));
    copy = arena_copy(&text->arena, bytes_span(&digits));
    if (copy.p == NULL) {
        text_take(text, err_raise(-ENOMEM));
    }
    return (ChartCell){.text = copy, .tone = tone};
}

void analyze_add_row(AnalyzeText *text, ChartGrid *grid, const ChartCell *cells)
{
    if (text->r == 0) {
        text_take(text, chart_grid_add(grid, cells));
    }
}

void analyze_say_grid(AnalyzeText *text, const ChartGrid *grid)
{
    analyze_wrap(text);
    if (text->r == 0) {
        text_take(text, chart_grid_write(grid, text->width, text->coloured, &text->out));
    }
    text->n_wrapped = text->out.n;
}

int analyze_text_print(AnalyzeText *text)
{
    if (text->r != 0) {
        return analyze_fail(text->args, "cannot print the result: %s",
                            text->r == BYTES_E_FULL ? "it is too long" : io_error_text(-text->r));
    }
    /* What cannot be written is told when the program ends (main.c). */
    if (text->out.n > 0) {
        (void)fwrite(text->out.data, 1, text->out.n, stdout);
    }
    return 0;
}
