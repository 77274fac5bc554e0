#include "toolkit/complexity/lines.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static size_t lines_newlines(Span text)
{
    const char *p = text.p;
    size_t left = text.n;
    size_t n = 0;

    while (left > 0) {
        const char *newline = memchr(p, '\n', left);

        if (newline == NULL) {
            break;
        }
        n++;
        left -= (size_t)(newline - p) + 1;
        p = newline + 1;
    }
    return n;
}

int complexity_lines_begin(ComplexityLines *lines, Span text)
{
    size_t n = lines_newlines(text);
    size_t n_rows = n + 1;

    if (n_rows > lines->cap) {
        uint8_t *kinds = mem_realloc(lines->kinds, n_rows);

        if (kinds == NULL) {
            return err_raise(-ENOMEM);
        }
        lines->kinds = kinds;
        lines->cap = n_rows;
    }
    memset(lines->kinds, 0, n_rows);
    lines->n = (uint32_t)(text.n > 0 && text.p[text.n - 1] != '\n' ? n_rows : n);
    return 0;
}

void complexity_lines_mark_changed(ComplexityLines *lines, Span a, Span b)
{
    size_t at = 0;

    for (uint32_t row = 0; at < a.n; row++) {
        const char *newline = memchr(a.p + at, '\n', a.n - at);
        size_t n = newline != NULL ? (size_t)(newline - a.p) + 1 - at : a.n - at;

        if (memcmp(a.p + at, b.p + at, n) != 0) {
            complexity_lines_mark(lines, row, COMPLEXITY_LINE_CODE);
        }
        at += n;
    }
}

void complexity_lines_deinit(ComplexityLines *lines)
{
    lines->kinds = mem_free(lines->kinds);
    lines->code = mem_free(lines->code);
    *lines = COMPLEXITY_LINES_NULL;
}

/* Both sums lie in one block. */
static int lines_reserve_sums(ComplexityLines *lines, size_t n)
{
    size_t size;
    uint32_t *sums;

    if (n > lines->cap_sums) {
        if (!mem_size_mul(n, 2 * sizeof(*sums), &size)) {
            return err_raise(-ENOMEM);
        }
        sums = mem_realloc(lines->code, size);
        if (sums == NULL) {
            return err_raise(-ENOMEM);
        }
        lines->code = sums;
        lines->cap_sums = n;
    }
    lines->comments = lines->code + lines->cap_sums;
    return 0;
}

int complexity_lines_sum(ComplexityLines *lines)
{
    uint32_t n_code = 0;
    uint32_t n_comments = 0;
    int r = lines_reserve_sums(lines, (size_t)lines->n + 1);

    if (r != 0) {
        return err_pass(r);
    }
    for (uint32_t i = 0; i < lines->n; i++) {
        lines->code[i] = n_code;
        lines->comments[i] = n_comments;
        n_code += (lines->kinds[i] & COMPLEXITY_LINE_CODE) != 0;
        n_comments += lines->kinds[i] == COMPLEXITY_LINE_COMMENT;
    }
    lines->code[lines->n] = n_code;
    lines->comments[lines->n] = n_comments;
    return 0;
}

static uint32_t lines_between(const ComplexityLines *lines, const uint32_t *sums, uint32_t first,
                              uint32_t last)
{
    uint32_t end = last < lines->n ? last + 1 : lines->n;

    return first < end ? sums[end] - sums[first] : 0;
}

uint32_t complexity_lines_code(const ComplexityLines *lines, uint32_t first, uint32_t last)
{
    return lines_between(lines, lines->code, first, last);
}

uint32_t complexity_lines_comments(const ComplexityLines *lines, uint32_t first, uint32_t last)
{
    return lines_between(lines, lines->comments, first, last);
}
