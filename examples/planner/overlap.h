/* overlap.h: walls that stand on top of each other. */
#pragma once

#include "geometry.h"

#include <sqlite3.h>
#include <stdbool.h>

typedef struct Line {
    Point start, end;
} Line;

/* Which part of a line another one covers, from its start. */
typedef struct Overlap {
    double from, to;
    double length; /* of the whole line */
} Overlap;

/* The columns of a line in SQL, and the line in a row. */
#define OVERLAP_COLUMNS(wall) wall ".start_x, " wall ".start_y, " wall ".end_x, " wall ".end_y"
Line overlap_line(sqlite3_stmt *row, int column);

/* Does b lie on a, and over how much of it? Lines that meet or cross do not. */
bool overlap_find(Line a, Line b, Overlap *ret);
