#include "info.h"

#include <string.h>

#include "model.h"

/* A place in the building; z from the level up. */
typedef struct Box {
    Point low, high;
    double bottom, top;
} Box;

#define BOX_EMPTY ((Box){{1e9, 1e9}, {-1e9, -1e9}, 0, 0})

static void box_extend(Box *box, Point p)
{
    box->low = (Point){fmin(box->low.x, p.x), fmin(box->low.y, p.y)};
    box->high = (Point){fmax(box->high.x, p.x), fmax(box->high.y, p.y)};
}

static const char *text_at(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text != NULL ? text : "";
}

static void out_corner(TwJson *out, const char *key, Point p, double z)
{
    tw_json_key(out, key);
    tw_json_array(out);
    tw_json_double(out, p.x);
    tw_json_double(out, p.y);
    tw_json_double(out, z);
    tw_json_end(out);
}

/* ---- The parameters of each category ---------------------------------------------------- */

static void wall_parameters(sqlite3_stmt *row, TwJson *out, Box *box)
{
    Point start = {sqlite3_column_double(row, 0), sqlite3_column_double(row, 1)};
    Point end = {sqlite3_column_double(row, 2), sqlite3_column_double(row, 3)};
    double height = sqlite3_column_double(row, 5);
    double thickness = sqlite3_column_double(row, 6);
    Point across = point_left(point_direction(start, end));

    out_string(out, "Type", text_at(row, 7));
    out_double(out, "Length", point_distance(start, end));
    out_double(out, "Unconnected Height", height);
    out_double(out, "Width", thickness);
    out_double(out, "Area", point_distance(start, end) * height);
    for (int side = -1; side <= 1; side += 2) {
        box_extend(box, point_add(start, across, side * thickness / 2));
        box_extend(box, point_add(end, across, side * thickness / 2));
    }
    box->bottom = sqlite3_column_double(row, 8) + sqlite3_column_double(row, 4);
    box->top = box->bottom + height;
}

static void door_parameters(sqlite3_stmt *row, TwJson *out, Box *box)
{
    Point start = {sqlite3_column_double(row, 0), sqlite3_column_double(row, 1)};
    Point end = {sqlite3_column_double(row, 2), sqlite3_column_double(row, 3)};
    Point along = point_direction(start, end);
    double distance = sqlite3_column_double(row, 5);
    double width = sqlite3_column_double(row, 6);

    out_int(out, "Host Id", sqlite3_column_int64(row, 4));
    out_double(out, "Distance", distance);
    out_double(out, "Width", width);
    out_string(out, "Hinge", text_at(row, 7));
    out_string(out, "Side", text_at(row, 8));
    box_extend(box, point_add(start, along, distance - width / 2));
    box_extend(box, point_add(start, along, distance + width / 2));
    box->bottom = sqlite3_column_double(row, 9);
    box->top = box->bottom;
}

static void level_parameters(sqlite3_stmt *row, TwJson *out, Box *box)
{
    (void)box;
    out_double(out, "Elevation", sqlite3_column_double(row, 0));
}

static void type_parameters(sqlite3_stmt *row, TwJson *out, Box *box)
{
    (void)box;
    out_double(out, "Width", sqlite3_column_double(row, 0));
}

static void view_parameters(sqlite3_stmt *row, TwJson *out, Box *box)
{
    (void)box;
    out_string(out, "View Type", text_at(row, 0));
    tw_json_key(out, "Is Active");
    tw_json_bool(out, sqlite3_column_int(row, 1) != 0);
}

typedef struct Category {
    const char *name;
    const char *sql;
    void (*parameters)(sqlite3_stmt *row, TwJson *out, Box *box);
} Category;

static const Category categories[] = {
    {"Walls",
     "SELECT start_x, start_y, end_x, end_y, base_z, height, thickness, wall_types.name, elevation"
     " FROM walls JOIN wall_types ON wall_types.id = type_id JOIN levels ON levels.id = level_id"
     " WHERE walls.id = ?",
     wall_parameters},
    {"Doors",
     "SELECT start_x, start_y, end_x, end_y, wall_id, distance, width, hinge, side,"
     " elevation + base_z FROM doors JOIN walls ON walls.id = wall_id"
     " JOIN levels ON levels.id = level_id WHERE doors.id = ?",
     door_parameters},
    {"Levels", "SELECT elevation FROM levels WHERE id = ?", level_parameters},
    {"Wall Types", "SELECT thickness FROM wall_types WHERE id = ?", type_parameters},
    {"Views", "SELECT kind, id = (SELECT active_view_id FROM document) FROM views WHERE id = ?",
     view_parameters},
};

/* A room's are on its floor: they follow from the walls around it. */
static int room_parameters(Store *store, int64_t id, TwJson *out, Box *box, Fault *fault)
{
    Floor floor = FLOOR_NULL;
    int64_t level_id = 0;
    int r =
        store_number(store, fault, &level_id, "SELECT level_id FROM rooms WHERE id = ?", "i", id);

    if (r == 0) {
        r = floor_load(store, level_id, &floor, fault);
    }
    for (size_t i = 0; r == 0 && i < floor.n_rooms; i++) {
        const FloorRoom *room = &floor.rooms[i];

        if (room->id != id) {
            continue;
        }
        out_string(out, "Name", room->name);
        tw_json_key(out, "Is Enclosed");
        tw_json_bool(out, room->points != NULL);
        out_double(out, "Area",
                   room->points != NULL ? fabs(polygon_area(room->points, room->n_points)) : 0);
        for (size_t j = 0; room->points != NULL && j < room->n_points; j++) {
            box_extend(box, room->points[j]);
        }
    }
    floor_free(&floor);
    return r;
}

static int out_parameters(Store *store, int64_t id, const char *category, TwJson *out, Box *box,
                          Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = 0;

    if (strcmp(category, "Rooms") == 0) {
        return room_parameters(store, id, out, box, fault);
    }
    for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
        if (strcmp(category, categories[i].name) != 0) {
            continue;
        }
        r = store_query(store, fault, &row, categories[i].sql, "i", id);
        if (r == 0 && (r = store_step(store, fault, row)) == 1) {
            categories[i].parameters(row, out, box);
            r = 0;
        }
        (void)sqlite3_finalize(row);
        break;
    }
    return r;
}

/* Where the parameters come; whether they are wanted is the caller's choice. */
static int out_details(Store *store, TwCall *call, int64_t id, const char *category, TwJson *out,
                       Fault *fault)
{
    TwJson *parameters = tw_json_new();
    Box box = BOX_EMPTY;
    int r;

    tw_json_object(parameters);
    r = out_parameters(store, id, category, parameters, &box, fault);
    tw_json_end(parameters);
    if (r == 0 && tw_call_bool(call, "include_parameters", true)) {
        tw_json_key(out, "parameters");
        tw_json_raw(out, tw_json_text(parameters));
    }
    if (r == 0 && tw_call_bool(call, "include_geometry", false) && box.low.x <= box.high.x) {
        tw_json_key(out, "bounding_box");
        tw_json_object(out);
        out_corner(out, "min", box.low, box.bottom);
        out_corner(out, "max", box.high, box.top);
        tw_json_end(out);
    }
    tw_json_free(parameters);
    return r;
}

int work_get_element_info(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    int64_t id = tw_call_int(call, "element_id", -1);
    sqlite3_stmt *row = NULL;
    int r = model_must_exist(&planner->store, id, fault);

    if (r == 0) {
        r = store_query(&planner->store, fault, &row,
                        "SELECT category, type_name, named.name, levels.name, mark FROM elements"
                        " JOIN named USING (id) LEFT JOIN levels ON levels.id = level_id"
                        " WHERE elements.id = ?",
                        "i", id);
    }
    if (r == 0 && (r = store_step(&planner->store, fault, row)) == 1) {
        out_int(out, "element_id", id);
        out_string(out, "category", text_at(row, 0));
        out_string(out, "type_name", text_at(row, 1));
        out_string(out, "name", text_at(row, 2));
        if (sqlite3_column_type(row, 3) != SQLITE_NULL) {
            out_string(out, "level", text_at(row, 3));
        }
        if (sqlite3_column_type(row, 4) != SQLITE_NULL) {
            out_string(out, "mark", text_at(row, 4));
        }
        r = out_details(&planner->store, call, id, text_at(row, 0), out, fault);
    }
    (void)sqlite3_finalize(row);
    return r;
}
