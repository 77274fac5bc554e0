#include "model.h"

#include <stdlib.h>
#include <string.h>

int id_list_add(IdList *list, int64_t id, Fault *fault)
{
    /* Grows at each power of two. */
    if ((list->n & (list->n - 1)) == 0) {
        size_t size = list->n == 0 ? 1 : 2 * list->n;
        int64_t *ids = realloc(list->ids, size * sizeof(*ids));

        if (ids == NULL) {
            return fault_memory(fault);
        }
        list->ids = ids;
    }
    list->ids[list->n++] = id;
    return 0;
}

void id_list_free(IdList *list)
{
    free(list->ids);
    *list = (IdList){.ids = NULL};
}

bool id_list_has(const IdList *list, int64_t id)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* ---- Finding things --------------------------------------------------------------------- */

int model_must_exist(Store *store, int64_t id, Fault *fault)
{
    int64_t n = 0;
    int r = store_number(store, fault, &n, "SELECT count(*) FROM elements WHERE id = ?", "i", id);

    if (r == 0 && n == 0) {
        r = fault_set(fault, FAULT_API, "Element with ID %lld not found", (long long)id);
    }
    return r;
}

int model_level(Store *store, const char *name, int64_t *ret_id, Fault *fault)
{
    int64_t id = 0;
    int r;

    if (name == NULL) {
        r = store_number(store, fault, &id, "SELECT id FROM levels ORDER BY elevation, id", "");
    } else {
        r = store_number(store, fault, &id, "SELECT id FROM levels WHERE name = ?", "s", name);
    }
    if (r == 0 && id == 0) {
        r = name == NULL ? fault_set(fault, FAULT_API, "The document has no levels")
                         : fault_set(fault, FAULT_API, "Level '%s' not found", name);
    }
    if (r == 0) {
        *ret_id = id;
    }
    return r;
}

int model_active_level(Store *store, int64_t *ret_id, Fault *fault)
{
    int64_t id = 0;
    int r = store_number(store, fault, &id,
                         "SELECT coalesce(level_id, 0) FROM views JOIN document"
                         " ON views.id = active_view_id",
                         "");

    if (r == 0 && id == 0) {
        return model_level(store, NULL, ret_id, fault);
    }
    *ret_id = id;
    return r;
}

static int find_wall_type(Store *store, const char *name, int64_t *ret_id, Fault *fault)
{
    int r;

    *ret_id = 0;
    if (name == NULL) {
        r = store_number(store, fault, ret_id, "SELECT min(id) FROM wall_types", "");
    } else {
        r = store_number(store, fault, ret_id, "SELECT id FROM wall_types WHERE name = ?", "s",
                         name);
    }
    if (r == 0 && *ret_id == 0) {
        r = name == NULL ? fault_set(fault, FAULT_API, "The document has no wall types")
                         : fault_set(fault, FAULT_API, "Wall type '%s' not found", name);
    }
    return r;
}

/* ---- Creating --------------------------------------------------------------------------- */

/* A number of a plan: not infinite, not miles away. */
static int check_number(double number, const char *what, Fault *fault)
{
    if (!isfinite(number) || fabs(number) > MAX_EXTENT_FT) {
        return fault_set(fault, FAULT_API, "%s must be a number from -%.0f to %.0f ft", what,
                         MAX_EXTENT_FT, MAX_EXTENT_FT);
    }
    return 0;
}

int model_new_element(Store *store, const char *category, const char *mark, int64_t *ret_id,
                      Fault *fault)
{
    int64_t n = 0;
    int r = store_number(store, fault, &n, "SELECT count(*) FROM elements WHERE category = ?", "s",
                         category);

    if (r == 0 && n >= MODEL_MAX_ELEMENTS) {
        r = fault_set(fault, FAULT_API, "The document has %lld %s, and can have no more",
                      (long long)n, category);
    }
    if (r == 0) {
        r = store_run(store, fault, "INSERT INTO elements (category, mark) VALUES (?, ?)", "ss",
                      category, mark);
    }
    if (r == 0) {
        *ret_id = sqlite3_last_insert_rowid(store->db);
    }
    return r;
}

int model_check_length(const NewWall *wall, Fault *fault)
{
    Point start = {wall->start[0], wall->start[1]};
    Point end = {wall->end[0], wall->end[1]};

    if (point_distance(start, end) < MIN_LENGTH_FT) {
        return fault_set(fault, FAULT_API,
                         "A wall cannot have zero length: start_point and "
                         "end_point are the same in the plan");
    }
    return 0;
}

static int check_wall(const NewWall *wall, Fault *fault)
{
    int r = 0;

    for (int i = 0; r == 0 && i < 3; i++) {
        r = check_number(wall->start[i], "start_point", fault);
        if (r == 0) {
            r = check_number(wall->end[i], "end_point", fault);
        }
    }
    if (r == 0) {
        r = check_number(wall->height, "height", fault);
    }
    if (r != 0) {
        return r;
    }
    if (fabs(wall->start[2] - wall->end[2]) > MIN_LENGTH_FT) {
        return fault_set(fault, FAULT_API,
                         "A wall stands level: start_point and end_point must "
                         "have the same z");
    }
    if (wall->height < MIN_LENGTH_FT) {
        return fault_set(fault, FAULT_API,
                         "A wall cannot have zero height: height must be greater "
                         "than 0");
    }
    return 0;
}

int model_create_wall(Store *store, const NewWall *wall, int64_t *ret_id, Fault *fault)
{
    int64_t type_id = 0;
    int64_t level_id = 0;
    int r = check_wall(wall, fault);

    if (r == 0) {
        r = find_wall_type(store, wall->type_name, &type_id, fault);
    }
    if (r == 0) {
        r = model_level(store, wall->level_name, &level_id, fault);
    }
    if (r == 0) {
        r = model_new_element(store, "Walls", wall->mark, ret_id, fault);
    }
    if (r == 0) {
        r = store_run(store, fault, "INSERT INTO walls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                      "iddddddii", *ret_id, wall->start[0], wall->start[1], wall->end[0],
                      wall->end[1], wall->start[2], wall->height, type_id, level_id);
    }
    return r;
}

static int wall_length(Store *store, int64_t id, double *ret, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT start_x, start_y, end_x, end_y FROM walls WHERE id = ?", "i", id);

    if (r == 0 && (r = store_step(store, fault, row)) == 1) {
        *ret = hypot(sqlite3_column_double(row, 2) - sqlite3_column_double(row, 0),
                     sqlite3_column_double(row, 3) - sqlite3_column_double(row, 1));
        r = 0;
    } else if (r == 0) {
        r = fault_set(fault, FAULT_API, "Wall with ID %lld not found", (long long)id);
    }
    (void)sqlite3_finalize(row);
    return r;
}

/* The wall must be there, long enough, and without another door at that place. */
static int check_door(Store *store, const NewDoor *door, Fault *fault)
{
    double length = 0;
    int64_t other = 0;
    int r = wall_length(store, door->wall_id, &length, fault);

    if (r == 0) {
        r = check_number(door->distance, "distance", fault);
    }
    if (r == 0) {
        r = check_number(door->width, "width", fault);
    }
    if (r != 0) {
        return r;
    }
    if (door->width < MIN_LENGTH_FT) {
        return fault_set(fault, FAULT_API, "A door cannot have zero width");
    }
    if (door->distance - door->width / 2 < -MIN_LENGTH_FT ||
        door->distance + door->width / 2 > length + MIN_LENGTH_FT) {
        return fault_set(fault, FAULT_API,
                         "A door of %g ft at %g ft does not fit into wall %lld, "
                         "which is %g ft long",
                         door->width, door->distance, (long long)door->wall_id, length);
    }
    r = store_number(store, fault, &other,
                     "SELECT id FROM doors WHERE wall_id = ?"
                     " AND abs(distance - ?) < (width + ?) / 2 - ?",
                     "iddd", door->wall_id, door->distance, door->width, MIN_LENGTH_FT);
    if (r == 0 && other != 0) {
        r = fault_set(fault, FAULT_API, "Door %lld is in the way", (long long)other);
    }
    return r;
}

int model_create_door(Store *store, const NewDoor *door, int64_t *ret_id, Fault *fault)
{
    int r = check_door(store, door, fault);

    if (r == 0) {
        r = model_new_element(store, "Doors", door->mark, ret_id, fault);
    }
    if (r == 0) {
        r = store_run(store, fault, "INSERT INTO doors VALUES (?, ?, ?, ?, ?, ?)", "iiddss",
                      *ret_id, door->wall_id, door->distance, door->width, door->hinge, door->side);
    }
    return r;
}

static int check_boundary(const NewRoom *room, double *ret_area, Fault *fault)
{
    int r = room->n_points >= 3 && room->n_points <= MODEL_MAX_POINTS
                ? 0
                : fault_set(fault, FAULT_API, "A boundary has 3 to %d points", MODEL_MAX_POINTS);

    for (size_t i = 0; r == 0 && i < room->n_points; i++) {
        r = check_number(room->points[i].x, "boundary", fault);
        if (r == 0) {
            r = check_number(room->points[i].y, "boundary", fault);
        }
    }
    if (r != 0) {
        return r;
    }
    *ret_area = fabs(polygon_area(room->points, room->n_points));
    if (*ret_area < MIN_LENGTH_FT) {
        return fault_set(fault, FAULT_API, "The boundary has no area");
    }
    if (polygon_crosses_itself(room->points, room->n_points)) {
        return fault_set(fault, FAULT_API, "The boundary crosses itself");
    }
    return 0;
}

/* The walls around the point, and no other room within them. */
static int check_enclosed(const Floor *floor, const NewRoom *room, double *ret_area, Fault *fault)
{
    const Region *region = regions_at(&floor->regions, room->at);

    if (floor->regions.is_too_many) {
        return fault_set(fault, FAULT_API,
                         "%s has too many walls to find a room by a point; give "
                         "its boundary",
                         floor->level_name);
    }
    if (region == NULL) {
        return fault_set(fault, FAULT_API, "No walls enclose the point (%g, %g) on %s", room->at.x,
                         room->at.y, floor->level_name);
    }
    for (size_t i = 0; i < floor->n_rooms; i++) {
        if (floor->rooms[i].points == region->points) {
            return fault_set(fault, FAULT_API, "Room %lld '%s' is in that place already",
                             (long long)floor->rooms[i].id, floor->rooms[i].name);
        }
    }
    *ret_area = region->area;
    return 0;
}

static int check_room(Store *store, const NewRoom *room, int64_t level_id, double *ret_area,
                      Fault *fault)
{
    Floor floor = FLOOR_NULL;
    int r;

    if (room->points != NULL) {
        return check_boundary(room, ret_area, fault);
    }
    r = check_number(room->at.x, "point", fault);
    if (r == 0) {
        r = check_number(room->at.y, "point", fault);
    }
    if (r == 0) {
        r = floor_load(store, level_id, &floor, fault);
    }
    if (r == 0) {
        r = check_enclosed(&floor, room, ret_area, fault);
    }
    floor_free(&floor);
    return r;
}

int model_create_room(Store *store, const NewRoom *room, int64_t *ret_id, double *ret_area,
                      Fault *fault)
{
    Point at = room->points != NULL && room->n_points > 0 ? room->points[0] : room->at;
    int64_t level_id = 0;
    int r = model_level(store, room->level_name, &level_id, fault);

    if (r == 0 && room->name[0] == '\0') {
        r = fault_set(fault, FAULT_API, "A room needs a name");
    }
    if (r == 0) {
        r = check_room(store, room, level_id, ret_area, fault);
    }
    if (r == 0) {
        r = model_new_element(store, "Rooms", NULL, ret_id, fault);
    }
    if (r == 0) {
        r = store_run(store, fault, "INSERT INTO rooms VALUES (?, ?, ?, ?, ?)", "isddi", *ret_id,
                      room->name, at.x, at.y, level_id);
    }
    for (size_t i = 0; r == 0 && room->points != NULL && i < room->n_points; i++) {
        r = store_run(store, fault, "INSERT INTO room_points VALUES (?, ?, ?, ?)", "iidd", *ret_id,
                      (int64_t)i, room->points[i].x, room->points[i].y);
    }
    return r;
}

/* ---- Deleting, selecting, looking ------------------------------------------------------- */

static int add_dependents(Store *store, IdList *ids, int64_t id, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(
        store, fault, &row,
        "SELECT dependent_id FROM dependents WHERE element_id = ? ORDER BY dependent_id", "i", id);

    while (r == 0 && (r = store_step(store, fault, row)) == 1) {
        int64_t dependent = sqlite3_column_int64(row, 0);

        r = id_list_has(ids, dependent) ? 0 : id_list_add(ids, dependent, fault);
    }
    (void)sqlite3_finalize(row);
    return r;
}

int model_delete(Store *store, IdList *ids, Fault *fault)
{
    int64_t active = 0;
    int r = store_number(store, fault, &active, "SELECT active_view_id FROM document", "");

    /* The list grows meanwhile: what depends on a dependent goes, too. */
    for (size_t i = 0; r == 0 && i < ids->n; i++) {
        r = model_must_exist(store, ids->ids[i], fault);
        if (r == 0) {
            r = add_dependents(store, ids, ids->ids[i], fault);
        }
    }
    if (r == 0 && id_list_has(ids, active)) {
        r = fault_set(fault, FAULT_API, "View %lld is active; activate another one first",
                      (long long)active);
    }
    for (size_t i = 0; r == 0 && i < ids->n; i++) {
        r = store_run(store, fault, "DELETE FROM elements WHERE id = ?", "i", ids->ids[i]);
    }
    return r;
}

/* Only what changes is written, so that the same selection again is no new revision. */
int model_select(Store *store, const IdList *ids, Fault *fault)
{
    IdList others = {.ids = NULL};
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row, "SELECT element_id FROM selection", "");

    while (r == 0 && (r = store_step(store, fault, row)) == 1) {
        int64_t id = sqlite3_column_int64(row, 0);

        r = id_list_has(ids, id) ? 0 : id_list_add(&others, id, fault);
    }
    (void)sqlite3_finalize(row);
    for (size_t i = 0; r == 0 && i < others.n; i++) {
        r = store_run(store, fault, "DELETE FROM selection WHERE element_id = ?", "i",
                      others.ids[i]);
    }
    for (size_t i = 0; r == 0 && i < ids->n; i++) {
        r = model_must_exist(store, ids->ids[i], fault);
        if (r == 0) {
            r = store_run(store, fault, "INSERT OR IGNORE INTO selection VALUES (?)", "i",
                          ids->ids[i]);
        }
    }
    id_list_free(&others);
    return r;
}

int model_activate_view(Store *store, const char *name, int64_t id, int64_t *ret_id, Fault *fault)
{
    int64_t found = 0;
    int r;

    if (name != NULL) {
        r = store_number(store, fault, &found, "SELECT id FROM views WHERE name = ? ORDER BY id",
                         "s", name);
    } else {
        r = store_number(store, fault, &found, "SELECT id FROM views WHERE id = ?", "i", id);
    }
    if (r == 0 && found == 0) {
        r = name != NULL
                ? fault_set(fault, FAULT_API, "View '%s' not found", name)
                : fault_set(fault, FAULT_API, "View with ID %lld not found", (long long)id);
    }
    if (r == 0) {
        r = store_run(store, fault,
                      "UPDATE document SET active_view_id = ?1 WHERE active_view_id <> ?1", "i",
                      found);
    }
    if (r == 0) {
        *ret_id = found;
    }
    return r;
}
