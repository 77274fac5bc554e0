/* model.h: what can be done to a document: its elements, selection and active view. Everything
 * that writes belongs inside a transaction (store.h). Lengths are feet. */
#pragma once

#include "floor.h"
#include "geometry.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of each category; a plan is drawn while somebody waits. */
#define MODEL_MAX_ELEMENTS 5000
#define MODEL_MAX_POINTS   100

typedef struct NewWall {
    double start[3], end[3];
    double height;
    const char *type_name;  /* NULL: the first one */
    const char *level_name; /* NULL: the first level, from below */
    const char *mark;       /* NULL: none */
} NewWall;

typedef struct NewDoor {
    int64_t wall_id;
    double distance; /* from the wall's start to the middle of the door */
    double width;
    const char *hinge; /* "start" or "end" */
    const char *side;  /* "left" or "right" */
    const char *mark;  /* NULL: none */
} NewDoor;

typedef struct NewRoom {
    const char *name;
    const char *level_name; /* NULL: as above */
    Point at;               /* without points: the walls around this point bound it */
    const Point *points;    /* may be NULL */
    size_t n_points;
} NewRoom;

/* Ids that grow. */
typedef struct IdList {
    int64_t *ids;
    size_t n;
} IdList;

int id_list_add(IdList *list, int64_t id, Fault *fault);
bool id_list_has(const IdList *list, int64_t id);
void id_list_free(IdList *list);

/* All: 0, or -1 with *fault. What is wrong with an element that is there (a wall of no length, one
 * on top of another) is not found here, but by the checks at the end (check.h). */
int model_create_wall(Store *store, const NewWall *wall, int64_t *ret_id, Fault *fault);
int model_create_door(Store *store, const NewDoor *door, int64_t *ret_id, Fault *fault);
int model_create_room(Store *store, const NewRoom *room, int64_t *ret_id, double *ret_area,
                      Fault *fault);

/* Can there be a wall from its start to its end? */
int model_check_length(const NewWall *wall, Fault *fault);

/* Moves walls, rooms, and doors along their wall; a door whose wall moves, too, goes with it. */
int model_move(Store *store, const IdList *ids, Point by, Fault *fault);

/* Copies of walls, doors and rooms, at another place; with their marks. */
int model_copy(Store *store, const IdList *ids, Point by, IdList *ret_copies, Fault *fault);

/* mark NULL: none. */
int model_set_mark(Store *store, const IdList *ids, const char *mark, Fault *fault);

/* Deletes the elements in the list and what cannot be without them, which is added to the list. */
int model_delete(Store *store, IdList *ids, Fault *fault);

int model_select(Store *store, const IdList *ids, Fault *fault);

/* By name or, if that is NULL, by id. */
int model_activate_view(Store *store, const char *name, int64_t id, int64_t *ret_id, Fault *fault);

/* name NULL: the first level, from below. */
int model_level(Store *store, const char *name, int64_t *ret_id, Fault *fault);

/* The level of the active view; for one that shows all, the first. */
int model_active_level(Store *store, int64_t *ret_id, Fault *fault);

int model_must_exist(Store *store, int64_t id, Fault *fault);

/* A row of its own for an element of that category; mark NULL: none. */
int model_new_element(Store *store, const char *category, const char *mark, int64_t *ret_id,
                      Fault *fault);
