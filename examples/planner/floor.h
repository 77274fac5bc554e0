/* floor.h: all that is on one level, read from the document: what is drawn, and what rooms are
 * found in. */
#pragma once

#include "geometry.h"
#include "regions.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names have 100 characters at most, of up to 4 bytes. */
#define NAME_SIZE 401

typedef struct FloorWall {
    int64_t id;
    Point start, end;
    double thickness;
    bool is_selected;
} FloorWall;

typedef struct FloorDoor {
    int64_t id;
    size_t wall;     /* its index */
    double distance; /* from the wall's start to the middle of the door */
    double width;
    bool hinge_at_end;
    bool to_right; /* opens to the right of the wall, seen from its start */
    bool is_selected;
} FloorDoor;

typedef struct FloorRoom {
    int64_t id;
    char name[NAME_SIZE];
    Point at;
    const Point *points; /* its boundary, of this object or its regions; NULL: not enclosed */
    size_t n_points;
    Point *own_points; /* of a room that does not depend on walls */
    bool is_selected;
} FloorRoom;

typedef struct Floor {
    int64_t level_id;
    char level_name[NAME_SIZE];
    FloorWall *walls;
    FloorDoor *doors; /* by wall and distance */
    FloorRoom *rooms;
    size_t n_walls, n_doors, n_rooms;
    Regions regions;
} Floor;

#define FLOOR_NULL ((Floor){.level_id = 0})

/* 0, or -1 with *fault. *ret is FLOOR_NULL before, and to be freed also after a failure. */
int floor_load(Store *store, int64_t level_id, Floor *ret, Fault *fault);
void floor_free(Floor *floor);
