/* outline.h: the shape of walls: bands of their type's thickness, mitred where they meet, and cut
 * open at doors. */
#pragma once

#include "floor.h"

/* A piece between two doors, or a door and an end. */
#define OUTLINE_MAX_POINTS 6

typedef struct Outline {
    Point points[OUTLINE_MAX_POINTS];
    size_t n_points;
    const FloorWall *wall;
} Outline;

typedef struct Outlines {
    Outline *outlines;
    size_t n;
} Outlines;

/* 0, or -1: no memory. Borrows the floor until free. */
int outlines_make(const Floor *floor, Outlines *ret);
void outlines_free(Outlines *outlines);
