/* toolkit/complexity/lines.h: which lines of a file hold code, and which only comments. Private.
 *
 * A line is code if a token begins, ends or goes on in it, a comment if a comment does and no
 * token. Thread: any, one at a time. */
#pragma once

#include "base/compiler.h"
#include "base/span.h"

#include <stddef.h>
#include <stdint.h>

enum {
    COMPLEXITY_LINE_CODE = 1,
    COMPLEXITY_LINE_COMMENT = 2,
};

typedef struct ComplexityLines {
    uint8_t *kinds; /* by line, from 0 */
    uint32_t n;     /* lines of the file; what is behind the last newline is one unless empty */
    size_t cap;
    uint32_t *code; /* after complexity_lines_sum: lines of code before each 64th line */
    uint32_t *comments;
    size_t cap_sums;
} ComplexityLines;

#define COMPLEXITY_LINES_NULL ((ComplexityLines){.kinds = NULL})

/* For another text. 0, -ENOMEM. */
int complexity_lines_begin(ComplexityLines *lines, Span text);
void complexity_lines_deinit(ComplexityLines *lines);

/* Rows as tree-sitter counts them, from 0; there may be one behind the last newline. */
TW_INLINE void complexity_lines_mark(ComplexityLines *lines, uint32_t row, uint8_t kind)
{
    lines->kinds[row] |= kind;
}

/* Lines that differ in two texts of the same length, with the same ends of lines, are code. */
void complexity_lines_mark_changed(ComplexityLines *lines, Span a, Span b);

/* All of them have been marked. 0, -ENOMEM. */
int complexity_lines_sum(ComplexityLines *lines);

/* In the rows from first to last. */
uint32_t complexity_lines_code(const ComplexityLines *lines, uint32_t first, uint32_t last);
uint32_t complexity_lines_comments(const ComplexityLines *lines, uint32_t first, uint32_t last);
