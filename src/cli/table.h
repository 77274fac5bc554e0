/* cli/table.h: text for people: aligned columns, and a peer's words without control characters. */
#pragma once

#include "base/arena.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_MAX_COLUMNS 6

/* Rows of cells; all but the last column are as wide as their widest cell. */
typedef struct Table {
    Arena *arena; /* borrowed; holds the rows */
    size_t n_columns;
    Span *cells; /* n_columns for each row */
    size_t n_rows;
    size_t cap;
} Table;

void table_init(Table *table, Arena *arena, size_t n_columns);

/* Borrows the cells' text until the table is printed. 0, -ENOMEM. */
int table_add(Table *table, const Span *cells);

/* A cell shows the first line of its text. On a terminal the last column is cut to its width. */
void table_print(const Table *table, FILE *out);

/* Of the terminal behind the stream; 0 if it is none. */
size_t table_terminal_width(FILE *stream);

/* Text that a peer chose, its control characters shown as \xNN; newlines and tabs stay if
 * keep_lines. */
void table_print_safe(FILE *out, Span text, bool keep_lines);
