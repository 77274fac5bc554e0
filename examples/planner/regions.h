/* regions.h: what walls enclose.
 *
 * The centre lines of walls are cut where they meet, and what they then bound is walked around,
 * always along the first wall to the left; the walks that turn left in all are the regions. A
 * region's area is that between centre lines. A wall that stands alone inside a region takes
 * nothing off it.
 */
#pragma once

#include "geometry.h"

/* Corners and crossings that are looked at, and how often walls may meet in them; with more, no
 * region is found. Meetings grow with the square of the walls, each is looked up among all corners,
 * and somebody waits for the picture. */
#define REGIONS_MAX_NODES 4096
#define REGIONS_MAX_CUTS  40000

typedef struct RegionWall {
    Point start, end;
    double thickness;
} RegionWall;

typedef struct Region {
    Point *points; /* counter-clockwise */
    size_t n_points;
    double area;
} Region;

typedef struct Regions {
    Region *regions;
    size_t n_regions;
    bool is_too_many; /* there are more than that */
} Regions;

/* 0, or -1: no memory. *ret is zeroed before, and to be freed also after a failure. */
int regions_find(Regions *ret, const RegionWall *walls, size_t n_walls);
void regions_free(Regions *regions);

/* The smallest region around p; NULL if there is none. */
const Region *regions_at(const Regions *regions, Point p);
