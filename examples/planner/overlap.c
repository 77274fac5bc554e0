#include "overlap.h"

Line overlap_line(sqlite3_stmt *row, int column)
{
    return (Line){{sqlite3_column_double(row, column), sqlite3_column_double(row, column + 1)},
                  {sqlite3_column_double(row, column + 2), sqlite3_column_double(row, column + 3)}};
}

bool overlap_find(Line a, Line b, Overlap *ret)
{
    double length = point_distance(a.start, a.end);
    double p;
    double q;
    Point along;

    if (length < MIN_LENGTH_FT || point_distance(b.start, b.end) < MIN_LENGTH_FT) {
        return false;
    }
    along = point_direction(a.start, a.end);
    if (fabs(point_cross(along, point_sub(b.start, a.start))) > SAME_POINT_FT ||
        fabs(point_cross(along, point_sub(b.end, a.start))) > SAME_POINT_FT) {
        return false;
    }
    p = point_dot(along, point_sub(b.start, a.start));
    q = point_dot(along, point_sub(b.end, a.start));
    *ret = (Overlap){.from = fmax(fmin(p, q), 0), .to = fmin(fmax(p, q), length), .length = length};
    return ret->to - ret->from > SAME_POINT_FT;
}
