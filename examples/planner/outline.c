#include "outline.h"

#include <stdlib.h>

/* A mitre that would reach farther than this many half thicknesses is left out: two walls at a
 * very sharp angle. */
#define MITRE_LIMIT 4.0

/* An end of a wall, seen from its point into the wall. */
typedef struct End {
    Point at, into;
    double half; /* of the thickness */
} End;

static End wall_end(const FloorWall *wall, bool at_end)
{
    Point from = at_end ? wall->end : wall->start;
    Point to = at_end ? wall->start : wall->end;

    return (End){from, point_direction(from, to), wall->thickness / 2};
}

static Point end_corner(const End *end, double side)
{
    return point_add(end->at, point_left(end->into), side * end->half);
}

/* Where the face of one wall, on that side (1: left), meets the facing one of its neighbour. */
static Point end_mitre(const End *end, const End *next, double side)
{
    Point corner = end_corner(end, side);
    Point facing = point_add(end->at, point_left(next->into), -side * next->half);
    double turn = point_cross(end->into, next->into);
    double reach;
    Point meeting;

    /* Almost straight on: the faces meet nowhere near, or everywhere. */
    if (fabs(turn) < 0.02) {
        return corner;
    }
    reach = point_cross(point_sub(facing, corner), next->into) / turn;
    meeting = point_add(corner, end->into, reach);
    if (point_distance(meeting, end->at) > MITRE_LIMIT * fmax(end->half, next->half)) {
        return corner;
    }
    return meeting;
}

/* The corners of an end; the neighbours there are the walls next to it by angle. */
static void end_corners(const Floor *floor, size_t wall, bool at_end, Point *ret_left,
                        Point *ret_right)
{
    End end = wall_end(&floor->walls[wall], at_end);
    double smallest = 10;
    double largest = -10;

    *ret_left = end_corner(&end, 1);
    *ret_right = end_corner(&end, -1);
    for (size_t i = 0; i < 2 * floor->n_walls; i++) {
        const FloorWall *neighbour = &floor->walls[i / 2];
        Point at = i % 2 == 1 ? neighbour->end : neighbour->start;
        double angle;
        End other;

        if (fabs(at.x - end.at.x) > SAME_POINT_FT || fabs(at.y - end.at.y) > SAME_POINT_FT ||
            i == 2 * wall + (at_end ? 1 : 0)) {
            continue;
        }
        other = wall_end(neighbour, i % 2 == 1);
        angle = atan2(point_cross(end.into, other.into), point_dot(end.into, other.into));
        angle += angle < 0 ? 2 * 3.14159265358979323846 : 0;
        if (angle < smallest) {
            smallest = angle;
            *ret_left = end_mitre(&end, &other, 1);
        }
        if (angle > largest) {
            largest = angle;
            *ret_right = end_mitre(&end, &other, -1);
        }
    }
}

static void outline_point(Outline *outline, Point point)
{
    outline->points[outline->n_points++] = point;
}

/* Straight across the wall, from its left to its right face or back. */
static void outline_cut(Outline *outline, double at, bool from_left)
{
    const FloorWall *wall = outline->wall;
    Point along = point_direction(wall->start, wall->end);
    Point middle = point_add(wall->start, along, at);
    double side = (from_left ? 1 : -1) * wall->thickness / 2;

    outline_point(outline, point_add(middle, point_left(along), side));
    outline_point(outline, point_add(middle, point_left(along), -side));
}

/* The wall from one place to another; a negative place is that end, with its corners. Counter-
 * clockwise: back at the left, over the start, forth at the right. */
static Outline outline_piece(const Floor *floor, size_t wall, double from, double to)
{
    Outline piece = {.n_points = 0, .wall = &floor->walls[wall]};
    Point left;
    Point right;

    if (from < 0) {
        end_corners(floor, wall, false, &left, &right);
        outline_point(&piece, left);
        outline_point(&piece, piece.wall->start);
        outline_point(&piece, right);
    } else {
        outline_cut(&piece, from, true);
    }
    if (to < 0) {
        /* Seen from there, left is the wall's right. */
        end_corners(floor, wall, true, &left, &right);
        outline_point(&piece, left);
        outline_point(&piece, piece.wall->end);
        outline_point(&piece, right);
    } else {
        outline_cut(&piece, to, false);
    }
    return piece;
}

int outlines_make(const Floor *floor, Outlines *ret)
{
    size_t door = 0;

    ret->n = 0;
    ret->outlines = calloc(floor->n_walls + floor->n_doors + 1, sizeof(*ret->outlines));
    if (ret->outlines == NULL) {
        return -1;
    }
    for (size_t i = 0; i < floor->n_walls; i++) {
        const FloorWall *wall = &floor->walls[i];
        double length = point_distance(wall->start, wall->end);
        double from = -1;

        /* Doors are in the order of walls; one at the very end leaves no piece. */
        for (; door < floor->n_doors && floor->doors[door].wall == i; door++) {
            double half = floor->doors[door].width / 2;
            double opening = floor->doors[door].distance - half;

            if (opening > fmax(from, 0) + MIN_LENGTH_FT) {
                ret->outlines[ret->n++] = outline_piece(floor, i, from, opening);
            }
            from = opening + 2 * half;
        }
        if (from < length - MIN_LENGTH_FT) {
            ret->outlines[ret->n++] = outline_piece(floor, i, from, -1);
        }
    }
    return 0;
}

void outlines_free(Outlines *outlines)
{
    free(outlines->outlines);
    *outlines = (Outlines){.outlines = NULL};
}
