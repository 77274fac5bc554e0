/* geometry.h: points and polygons of a plan, in feet; x to the right, y up. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct Point {
    double x, y;
} Point;

/* Nothing in a plan is smaller than this (1/32 in), or farther from the origin than that (about 20
 * miles): numbers beyond would be mistakes, and cannot be drawn. */
#define MIN_LENGTH_FT (1.0 / 384)
#define MAX_EXTENT_FT 100000.0

/* Ends that are this close are one corner. */
#define SAME_POINT_FT 0.02

static inline Point point_add(Point a, Point b, double factor)
{
    return (Point){a.x + b.x * factor, a.y + b.y * factor};
}

static inline Point point_sub(Point a, Point b)
{
    return (Point){a.x - b.x, a.y - b.y};
}

static inline double point_dot(Point a, Point b)
{
    return a.x * b.x + a.y * b.y;
}

/* Positive if b is to the left of a. */
static inline double point_cross(Point a, Point b)
{
    return a.x * b.y - a.y * b.x;
}

static inline double point_distance(Point a, Point b)
{
    return hypot(a.x - b.x, a.y - b.y);
}

/* A quarter turn to the left. */
static inline Point point_left(Point a)
{
    return (Point){-a.y, a.x};
}

/* The direction from a to b, of length 1; they differ. */
Point point_direction(Point a, Point b);

/* Do the segments a-b and c-d cross or touch? Where, as a fraction of a-b. Parallel ones do not. */
bool segments_cross(Point a, Point b, Point c, Point d, double *ret_at);

/* Distance of p from the segment a-b, and where on it, as a fraction. */
double segment_distance(Point a, Point b, Point p, double *ret_at);

/* Positive if the points run counter-clockwise. */
double polygon_area(const Point *points, size_t n);
bool polygon_contains(const Point *points, size_t n, Point p);

/* Do two of its edges that are not neighbours meet? */
bool polygon_crosses_itself(const Point *points, size_t n);

/* A point inside for a label: the centre of gravity if it is inside, else `inside`. */
Point polygon_middle(const Point *points, size_t n, Point inside);
