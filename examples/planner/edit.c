/* Changes to elements that are there, many at once. */
#include <stdio.h>
#include <string.h>

#include "model.h"

/* ---- One element ------------------------------------------------------------------------ */

/* What can be moved and copied; "" for what cannot. */
typedef struct Movable {
    const char *category;
    int (*move)(Store *store, int64_t id, Point by, Fault *fault);
    const char *copy; /* ?1: the new element, ?2: that one, ?3 and ?4: the way */
} Movable;

static int move_wall(Store *store, int64_t id, Point by, Fault *fault)
{
    return store_run(store, fault,
                     "UPDATE walls SET start_x = start_x + ?1, start_y = start_y + ?2,"
                     " end_x = end_x + ?1, end_y = end_y + ?2 WHERE id = ?3",
                     "ddi", by.x, by.y, id);
}

/* How far along its wall a door goes. */
static int door_way(Store *store, int64_t id, Point by, double *ret, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT start_x, start_y, end_x, end_y FROM walls"
                        " JOIN doors ON walls.id = wall_id WHERE doors.id = ?",
                        "i", id);

    *ret = 0;
    if (r == 0 && (r = store_step(store, fault, row)) == 1) {
        Point start = {sqlite3_column_double(row, 0), sqlite3_column_double(row, 1)};
        Point end = {sqlite3_column_double(row, 2), sqlite3_column_double(row, 3)};

        *ret = point_distance(start, end) < MIN_LENGTH_FT
                   ? 0
                   : point_dot(by, point_direction(start, end));
        r = 0;
    }
    (void)sqlite3_finalize(row);
    return r;
}

static int move_door(Store *store, int64_t id, Point by, Fault *fault)
{
    double way = 0;
    int r = door_way(store, id, by, &way, fault);

    return r == 0 ? store_run(store, fault, "UPDATE doors SET distance = distance + ? WHERE id = ?",
                              "di", way, id)
                  : r;
}

static int move_room(Store *store, int64_t id, Point by, Fault *fault)
{
    int r = store_run(store, fault, "UPDATE rooms SET x = x + ?, y = y + ? WHERE id = ?", "ddi",
                      by.x, by.y, id);

    return r == 0 ? store_run(store, fault,
                              "UPDATE room_points SET x = x + ?, y = y + ? WHERE room_id = ?",
                              "ddi", by.x, by.y, id)
                  : r;
}

static const Movable movables[] = {
    {"Walls", move_wall,
     "INSERT INTO walls SELECT ?1, start_x, start_y, end_x, end_y, base_z, height, type_id,"
     " level_id FROM walls WHERE id = ?2"},
    {"Doors", move_door,
     "INSERT INTO doors SELECT ?1, wall_id, distance, width, hinge, side FROM doors WHERE id = ?2"},
    {"Rooms", move_room,
     "INSERT INTO rooms SELECT ?1, name, x, y, level_id FROM rooms"
     " WHERE id = ?2"},
};

/* mark: NAME_SIZE; "" if it has none. */
static int find_movable(Store *store, int64_t id, const Movable **ret, char *mark, Fault *fault)
{
    char category[40] = "";
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT category, coalesce(mark, '') FROM elements WHERE id = ?", "i", id);

    if (r == 0 && (r = store_step(store, fault, row)) == 1) {
        (void)snprintf(category, sizeof(category), "%s", (const char *)sqlite3_column_text(row, 0));
        (void)snprintf(mark, NAME_SIZE, "%s", (const char *)sqlite3_column_text(row, 1));
        r = 0;
    } else if (r == 0) {
        r = fault_set(fault, FAULT_API, "Element with ID %lld not found", (long long)id);
    }
    (void)sqlite3_finalize(row);
    for (size_t i = 0; r == 0 && i < sizeof(movables) / sizeof(movables[0]); i++) {
        if (strcmp(category, movables[i].category) == 0) {
            *ret = &movables[i];
            return 0;
        }
    }
    return r != 0
               ? r
               : fault_set(fault, FAULT_API,
                           "Element %lld has no place: walls, doors and rooms have", (long long)id);
}

static int check_way(Point by, Fault *fault)
{
    if (!isfinite(by.x) || !isfinite(by.y) || fabs(by.x) > MAX_EXTENT_FT ||
        fabs(by.y) > MAX_EXTENT_FT) {
        return fault_set(fault, FAULT_API, "translation must be numbers from -%.0f to %.0f ft",
                         MAX_EXTENT_FT, MAX_EXTENT_FT);
    }
    return 0;
}

/* ---- Many ------------------------------------------------------------------------------- */

/* A door's place is a distance along its wall, which takes it along. */
static int goes_with_its_wall(Store *store, int64_t id, const IdList *ids, bool *ret, Fault *fault)
{
    int64_t wall = 0;
    int r = store_number(store, fault, &wall, "SELECT wall_id FROM doors WHERE id = ?", "i", id);

    *ret = r == 0 && wall != 0 && id_list_has(ids, wall);
    return r;
}

int model_move(Store *store, const IdList *ids, Point by, Fault *fault)
{
    int r = check_way(by, fault);

    for (size_t i = 0; r == 0 && i < ids->n; i++) {
        const Movable *movable = NULL;
        char mark[NAME_SIZE];
        bool is_taken_along = false;

        r = find_movable(store, ids->ids[i], &movable, mark, fault);
        if (r == 0) {
            r = goes_with_its_wall(store, ids->ids[i], ids, &is_taken_along, fault);
        }
        if (r == 0 && !is_taken_along) {
            r = movable->move(store, ids->ids[i], by, fault);
        }
    }
    return r;
}

static int copy_one(Store *store, int64_t id, Point by, int64_t *ret_id, Fault *fault)
{
    const Movable *movable = NULL;
    char mark[NAME_SIZE];
    int r = find_movable(store, id, &movable, mark, fault);

    if (r == 0) {
        r = model_new_element(store, movable->category, mark[0] != '\0' ? mark : NULL, ret_id,
                              fault);
    }
    if (r == 0) {
        r = store_run(store, fault, movable->copy, "ii", *ret_id, id);
    }
    if (r == 0) {
        r = store_run(store, fault,
                      "INSERT INTO room_points SELECT ?1, position, x, y FROM room_points"
                      " WHERE room_id = ?2",
                      "ii", *ret_id, id);
    }
    return r == 0 ? movable->move(store, *ret_id, by, fault) : r;
}

int model_copy(Store *store, const IdList *ids, Point by, IdList *ret_copies, Fault *fault)
{
    int r = check_way(by, fault);

    for (size_t i = 0; r == 0 && i < ids->n; i++) {
        int64_t id = 0;

        r = copy_one(store, ids->ids[i], by, &id, fault);
        if (r == 0) {
            r = id_list_add(ret_copies, id, fault);
        }
    }
    return r;
}

int model_set_mark(Store *store, const IdList *ids, const char *mark, Fault *fault)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ids->n; i++) {
        r = model_must_exist(store, ids->ids[i], fault);
        if (r == 0) {
            /* What has it already is not touched. */
            r = store_run(store, fault,
                          "UPDATE elements SET mark = ?1 WHERE id = ?2 AND mark IS NOT ?1", "si",
                          mark, ids->ids[i]);
        }
    }
    return r;
}
