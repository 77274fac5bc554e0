#include "floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more element of an array, which doubles at each power of two. */
static void *grown(void *array, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0) {
        return array;
    }
    return realloc(array, (n == 0 ? 1 : 2 * n) * size);
}

static Point point_at(sqlite3_stmt *row, int column)
{
    return (Point){sqlite3_column_double(row, column), sqlite3_column_double(row, column + 1)};
}

static int load_walls(Store *store, Floor *floor, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT walls.id, start_x, start_y, end_x, end_y, thickness,"
                        " walls.id IN (SELECT element_id FROM selection)"
                        " FROM walls JOIN wall_types ON wall_types.id = type_id"
                        " WHERE level_id = ? ORDER BY walls.id",
                        "i", floor->level_id);

    while (r == 0 && (r = store_step(store, fault, row)) == 1) {
        FloorWall *walls = grown(floor->walls, floor->n_walls, sizeof(*walls));

        if (walls == NULL) {
            r = fault_memory(fault);
            break;
        }
        floor->walls = walls;
        walls[floor->n_walls++] = (FloorWall){.id = sqlite3_column_int64(row, 0),
                                              .start = point_at(row, 1),
                                              .end = point_at(row, 3),
                                              .thickness = sqlite3_column_double(row, 5),
                                              .is_selected = sqlite3_column_int(row, 6) != 0};
        r = 0;
    }
    (void)sqlite3_finalize(row);
    return r;
}

static size_t wall_index(const Floor *floor, int64_t id)
{
    size_t i = 0;

    while (i < floor->n_walls && floor->walls[i].id != id) {
        i++;
    }
    return i;
}

static int load_doors(Store *store, Floor *floor, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT doors.id, wall_id, distance, width, hinge = 'end', side = 'right',"
                        " doors.id IN (SELECT element_id FROM selection)"
                        " FROM doors JOIN walls ON walls.id = wall_id"
                        " WHERE level_id = ? ORDER BY wall_id, distance, doors.id",
                        "i", floor->level_id);

    while (r == 0 && (r = store_step(store, fault, row)) == 1) {
        FloorDoor *doors = grown(floor->doors, floor->n_doors, sizeof(*doors));

        if (doors == NULL) {
            r = fault_memory(fault);
            break;
        }
        floor->doors = doors;
        doors[floor->n_doors++] =
            (FloorDoor){.id = sqlite3_column_int64(row, 0),
                        .wall = wall_index(floor, sqlite3_column_int64(row, 1)),
                        .distance = sqlite3_column_double(row, 2),
                        .width = sqlite3_column_double(row, 3),
                        .hinge_at_end = sqlite3_column_int(row, 4) != 0,
                        .to_right = sqlite3_column_int(row, 5) != 0,
                        .is_selected = sqlite3_column_int(row, 6) != 0};
        r = 0;
    }
    (void)sqlite3_finalize(row);
    return r;
}

static int load_points(Store *store, FloorRoom *room, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT x, y FROM room_points WHERE room_id = ? ORDER BY position", "i",
                        room->id);

    while (r == 0 && (r = store_step(store, fault, row)) == 1) {
        Point *points = grown(room->own_points, room->n_points, sizeof(*points));

        if (points == NULL) {
            r = fault_memory(fault);
            break;
        }
        room->own_points = points;
        points[room->n_points++] = point_at(row, 0);
        r = 0;
    }
    room->points = room->own_points;
    (void)sqlite3_finalize(row);
    return r;
}

static int load_room(Store *store, Floor *floor, sqlite3_stmt *row, Fault *fault)
{
    const char *name = (const char *)sqlite3_column_text(row, 1);
    FloorRoom *rooms = grown(floor->rooms, floor->n_rooms, sizeof(*rooms));
    FloorRoom *room;

    if (rooms == NULL) {
        return fault_memory(fault);
    }
    floor->rooms = rooms;
    room = &rooms[floor->n_rooms++];
    *room = (FloorRoom){.id = sqlite3_column_int64(row, 0),
                        .at = point_at(row, 2),
                        .is_selected = sqlite3_column_int(row, 4) != 0};
    (void)snprintf(room->name, sizeof(room->name), "%s", name != NULL ? name : "");
    if (load_points(store, room, fault) != 0) {
        return -1;
    }
    if (room->points == NULL) {
        const Region *region = regions_at(&floor->regions, room->at);

        room->points = region != NULL ? region->points : NULL;
        room->n_points = region != NULL ? region->n_points : 0;
    }
    return 0;
}

static int load_rooms(Store *store, Floor *floor, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT id, name, x, y, id IN (SELECT element_id FROM selection)"
                        " FROM rooms WHERE level_id = ? ORDER BY id",
                        "i", floor->level_id);

    while (r == 0 && (r = store_step(store, fault, row)) == 1) {
        r = load_room(store, floor, row, fault);
    }
    (void)sqlite3_finalize(row);
    return r;
}

static int load_regions(Floor *floor, Fault *fault)
{
    RegionWall *walls = calloc(floor->n_walls + 1, sizeof(*walls));
    int r;

    if (walls == NULL) {
        return fault_memory(fault);
    }
    for (size_t i = 0; i < floor->n_walls; i++) {
        walls[i] =
            (RegionWall){floor->walls[i].start, floor->walls[i].end, floor->walls[i].thickness};
    }
    r = regions_find(&floor->regions, walls, floor->n_walls);
    free(walls);
    return r == 0 ? 0 : fault_memory(fault);
}

int floor_load(Store *store, int64_t level_id, Floor *ret, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row, "SELECT name FROM levels WHERE id = ?", "i", level_id);

    ret->level_id = level_id;
    if (r == 0 && (r = store_step(store, fault, row)) == 1) {
        (void)snprintf(ret->level_name, sizeof(ret->level_name), "%s",
                       (const char *)sqlite3_column_text(row, 0));
        r = 0;
    } else if (r == 0) {
        r = fault_set(fault, FAULT_API, "Level with ID %lld not found", (long long)level_id);
    }
    (void)sqlite3_finalize(row);
    if (r == 0) {
        r = load_walls(store, ret, fault);
    }
    if (r == 0) {
        r = load_doors(store, ret, fault);
    }
    if (r == 0) {
        r = load_regions(ret, fault);
    }
    return r == 0 ? load_rooms(store, ret, fault) : r;
}

void floor_free(Floor *floor)
{
    for (size_t i = 0; i < floor->n_rooms; i++) {
        free(floor->rooms[i].own_points);
    }
    regions_free(&floor->regions);
    free(floor->walls);
    free(floor->doors);
    free(floor->rooms);
    *floor = FLOOR_NULL;
}
