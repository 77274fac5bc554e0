#include "toolkit/complexity/lines.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Bytes, or lines, that are looked at together: what is counted in them fits a byte, so that
 * compilers count many at once. Looking for each newline would take a second for a text that has
 * nothing else. */
#define LINES_BLOCK ((size_t)64)

static size_t lines_newlines_in(const char *p, size_t n)
{
    uint8_t count = 0;

    for (size_t i = 0; i < n; i++) {
        count = (uint8_t)(count + (p[i] == '\n'));
    }
    return count;
}

static size_t lines_newlines(Span text)
{
    size_t at = 0;
    size_t n = 0;

    for (; text.n - at >= LINES_BLOCK; at += LINES_BLOCK) {
        n += lines_newlines_in(text.p + at, LINES_BLOCK);
    }
    return n + lines_newlines_in(text.p + at, text.n - at);
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
    uint32_t row = 0;

    for (size_t at = 0; at < a.n; at += LINES_BLOCK) {
        size_t n = a.n - at < LINES_BLOCK ? a.n - at : LINES_BLOCK;

        if (memcmp(a.p + at, b.p + at, n) == 0) {
            row += (uint32_t)lines_newlines_in(a.p + at, n);
            continue;
        }
        for (size_t i = at; i < at + n; i++) {
            if (a.p[i] != b.p[i]) {
                complexity_lines_mark(lines, row, COMPLEXITY_LINE_CODE);
            }
            row += a.p[i] == '\n';
        }
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

/* Of n lines, a block at most. */
static uint32_t lines_count_code(const uint8_t *kinds, size_t n)
{
    uint8_t count = 0;

    for (size_t i = 0; i < n; i++) {
        count = (uint8_t)(count + (kinds[i] & COMPLEXITY_LINE_CODE));
    }
    return count;
}

static uint32_t lines_count_comments(const uint8_t *kinds, size_t n)
{
    uint8_t count = 0;

    for (size_t i = 0; i < n; i++) {
        count = (uint8_t)(count + (kinds[i] == COMPLEXITY_LINE_COMMENT));
    }
    return count;
}

int complexity_lines_sum(ComplexityLines *lines)
{
    size_t n_blocks = lines->n / LINES_BLOCK;
    int r = lines_reserve_sums(lines, n_blocks + 1);

    if (r != 0) {
        return err_pass(r);
    }
    lines->code[0] = 0;
    lines->comments[0] = 0;
    for (size_t i = 0; i < n_blocks; i++) {
        const uint8_t *kinds = lines->kinds + i * LINES_BLOCK;

        lines->code[i + 1] = lines->code[i] + lines_count_code(kinds, LINES_BLOCK);
        lines->comments[i + 1] = lines->comments[i] + lines_count_comments(kinds, LINES_BLOCK);
    }
    return 0;
}

/* Before that row. */
static uint32_t lines_code_before(const ComplexityLines *lines, uint32_t row)
{
    size_t start = row - row % LINES_BLOCK;

    return lines->code[row / LINES_BLOCK] + lines_count_code(lines->kinds + start, row - start);
}

static uint32_t lines_comments_before(const ComplexityLines *lines, uint32_t row)
{
    size_t start = row - row % LINES_BLOCK;

    return lines->comments[row / LINES_BLOCK] +
           lines_count_comments(lines->kinds + start, row - start);
}

static uint32_t lines_end(const ComplexityLines *lines, uint32_t last)
{
    return last < lines->n ? last + 1 : lines->n;
}

uint32_t complexity_lines_code(const ComplexityLines *lines, uint32_t first, uint32_t last)
{
    uint32_t end = lines_end(lines, last);

    return first < end ? lines_code_before(lines, end) - lines_code_before(lines, first) : 0;
}

uint32_t complexity_lines_comments(const ComplexityLines *lines, uint32_t first, uint32_t last)
{
    uint32_t end = lines_end(lines, last);

    return first < end ? lines_comments_before(lines, end) - lines_comments_before(lines, first)
                       : 0;
}
