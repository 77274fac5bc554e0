/* The tools of this program's own: doors, rooms, lists, the document and its picture. */
#include "tools.h"

#include <math.h>
#include <stdlib.h>

#include "model.h"
#include "render.h"

static int work_create_door(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    NewDoor door = {.wall_id = tw_call_int(call, "wall_id", -1),
                    .distance = tw_call_double(call, "distance", NAN),
                    .width = tw_call_double(call, "width", 3),
                    .hinge = tw_call_string(call, "hinge", "start"),
                    .side = tw_call_string(call, "side", "left"),
                    .mark = tw_call_string(call, "mark", NULL)};
    int64_t id = 0;
    int r = model_create_door(&planner->store, &door, &id, fault);

    (void)out;
    return r == 0 ? id_list_add(&planner->named, id, fault) : r;
}

static void tell_door(const Planner *planner, TwJson *out)
{
    out_made(planner, out, "Door created successfully",
             "No door was created: it was removed again, to resolve a failure");
}

static int work_create_room(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    Point points[MODEL_MAX_POINTS];
    size_t n = tw_call_count(call, "boundary");
    NewRoom room = {
        .name = tw_call_string(call, "name", ""),
        .level_name = tw_call_string(call, "level_name", NULL),
        .at = {tw_call_double(call, "/point/0", NAN), tw_call_double(call, "/point/1", NAN)}};
    double area = 0;
    int64_t id = 0;
    int r;

    /* The schema allows no more. */
    for (size_t i = 0; i < n && i < MODEL_MAX_POINTS; i++) {
        points[i] = (Point){argument_number(call, "boundary", i, "/0"),
                            argument_number(call, "boundary", i, "/1")};
        room.points = points;
        room.n_points = i + 1;
    }
    r = model_create_room(&planner->store, &room, &id, &area, fault);
    out_int(out, "element_id", id);
    out_double(out, "area", area);
    out_string(out, "message", "Room created successfully");
    return r;
}

static int work_list(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    const char *category = tw_call_string(call, "category", NULL);
    const char *level = tw_call_string(call, "level_name", NULL);
    int64_t limit = tw_call_int(call, "limit", 100);
    sqlite3_stmt *row = NULL;
    int64_t n = 0;
    int r = 0;

    if (level != NULL) {
        int64_t id;

        r = model_level(&planner->store, level, &id, fault);
    }
    if (r == 0) {
        r = store_query(&planner->store, fault, &row,
                        "SELECT elements.id, category, named.name, levels.name, mark FROM elements"
                        " JOIN named USING (id) LEFT JOIN levels ON levels.id = level_id"
                        " WHERE (?1 IS NULL OR category = ?1) AND (?2 IS NULL OR levels.name = ?2)"
                        " ORDER BY elements.id",
                        "ss", category, level);
    }
    tw_json_key(out, "elements");
    tw_json_array(out);
    while (r == 0 && (r = store_step(&planner->store, fault, row)) == 1) {
        r = 0;
        if (n++ >= limit) {
            continue;
        }
        tw_json_object(out);
        out_int(out, "element_id", sqlite3_column_int64(row, 0));
        out_string(out, "category", (const char *)sqlite3_column_text(row, 1));
        out_string(out, "name", (const char *)sqlite3_column_text(row, 2));
        if (sqlite3_column_type(row, 3) != SQLITE_NULL) {
            out_string(out, "level", (const char *)sqlite3_column_text(row, 3));
        }
        if (sqlite3_column_type(row, 4) != SQLITE_NULL) {
            out_string(out, "mark", (const char *)sqlite3_column_text(row, 4));
        }
        tw_json_end(out);
    }
    tw_json_end(out);
    out_int(out, "total_count", n);
    (void)sqlite3_finalize(row);
    return r;
}

/* ---- The document ----------------------------------------------------------------------- */

static int out_selection(Planner *planner, TwJson *out, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(&planner->store, fault, &row,
                        "SELECT element_id FROM selection ORDER BY element_id", "");

    tw_json_key(out, "selection");
    tw_json_array(out);
    while (r == 0 && (r = store_step(&planner->store, fault, row)) == 1) {
        tw_json_int(out, sqlite3_column_int64(row, 0));
        r = 0;
    }
    tw_json_end(out);
    (void)sqlite3_finalize(row);
    return r;
}

static int out_counts(Planner *planner, TwJson *out, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(&planner->store, fault, &row,
                        "SELECT category, count(*) FROM elements GROUP BY category ORDER BY 1", "");

    tw_json_key(out, "counts");
    tw_json_object(out);
    while (r == 0 && (r = store_step(&planner->store, fault, row)) == 1) {
        out_int(out, (const char *)sqlite3_column_text(row, 0), sqlite3_column_int64(row, 1));
        r = 0;
    }
    tw_json_end(out);
    (void)sqlite3_finalize(row);
    return r;
}

static int work_get_document(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(&planner->store, fault, &row,
                        "SELECT title, revision, views.id, views.name FROM document"
                        " JOIN views ON views.id = active_view_id",
                        "");

    (void)call;
    if (r == 0 && (r = store_step(&planner->store, fault, row)) == 1) {
        out_string(out, "title", (const char *)sqlite3_column_text(row, 0));
        out_int(out, "revision", sqlite3_column_int64(row, 1));
        tw_json_key(out, "active_view");
        tw_json_object(out);
        out_int(out, "view_id", sqlite3_column_int64(row, 2));
        out_string(out, "name", (const char *)sqlite3_column_text(row, 3));
        tw_json_end(out);
        tw_json_key(out, "is_read_only");
        tw_json_bool(out, planner->store.read_only);
        r = 0;
    }
    (void)sqlite3_finalize(row);
    if (r == 0) {
        r = out_selection(planner, out, fault);
    }
    return r == 0 ? out_counts(planner, out, fault) : r;
}

/* ---- The picture ------------------------------------------------------------------------ */

static int work_render(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    const char *level = tw_call_string(call, "level_name", NULL);
    int width = (int)tw_call_int(call, "width", RENDER_WIDTH);
    Picture picture = {.svg = NULL};
    Floor floor = FLOOR_NULL;
    int r = plan_picture(planner, level, width, &floor, &picture, fault);

    if (r == 0) {
        out_string(out, "level_name", floor.level_name);
        out_int(out, "width", picture.width);
        out_int(out, "height", picture.height);
        out_double(out, "pixels_per_ft", picture.pixels_per_ft);
        out_int(out, "walls", (int64_t)floor.n_walls);
        out_int(out, "doors", (int64_t)floor.n_doors);
        out_int(out, "rooms", (int64_t)floor.n_rooms);
        out_string(out, "svg", picture.svg);
    }
    free(picture.svg);
    floor_free(&floor);
    return r;
}

/* clang-format off */
#define CREATED_SCHEMA \
    "{\"type\": \"object\", \"required\": [\"element_id\", \"message\"], \"properties\": {" \
    "\"element_id\": {\"type\": [\"integer\", \"null\"]}, \"message\": {\"type\": \"string\"}," \
    REMOVED_SCHEMA "," \
    " \"area\": {\"type\": \"number\", \"description\": \"Square feet.\"}}}"

const Tool tools_plan[] = {
    {.name = "plan.create_door",
     .title = "Put a door into a wall",
     .description = "Puts a door into a wall. Lengths are feet.",
     .input_schema = JSON({
        "type": "object",
        "required": ["wall_id", "distance"],
        "additionalProperties": false,
        "properties": {
            "wall_id": {"type": "integer"},
            "distance": {"type": "number",
                         "description": "From the start of the wall to the middle of the door."},
            "width": {"type": "number", "exclusiveMinimum": 0, "default": 3},
            "hinge": {"type": "string", "enum": ["start", "end"], "default": "start",
                      "description": "At which end of the wall the hinge is."},
            "side": {"type": "string", "enum": ["left", "right"], "default": "left",
                     "description": "Where it opens to, seen from the start of the wall."},
            "mark": {"type": "string", "minLength": 1, "maxLength": 100}}}),
     .output_schema = CREATED_SCHEMA,
     .annotations = TW_TOOL_NOT_DESTRUCTIVE,
     .writes = true,
     .work = work_create_door,
     .tell = tell_door},

    {.name = "plan.create_room",
     .title = "Name a room",
     .description = "Names a room: the one whose walls enclose a point, or any boundary. The area"
                    " is that between the centre lines of the walls, in square feet.",
     .input_schema = JSON({
        "type": "object",
        "required": ["name"],
        "oneOf": [{"required": ["point"]}, {"required": ["boundary"]}],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 100},
            "level_name": {"type": "string", "description": "Without it the first level."},
            "point": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3,
                      "description": "[x, y] in feet, anywhere in the room."},
            "boundary": {"type": "array", "minItems": 3, "maxItems": 100,
                         "items": {"type": "array", "items": {"type": "number"},
                                   "minItems": 2, "maxItems": 3}}}}),
     .output_schema = CREATED_SCHEMA,
     .annotations = TW_TOOL_NOT_DESTRUCTIVE,
     .writes = true,
     .work = work_create_room},

    {.name = "plan.list_elements",
     .title = "List elements",
     .description = "The elements of the document, by category and level, in the order of ids.",
     .input_schema = JSON({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "category": {"type": "string",
                         "enum": ["Levels", "Views", "Wall Types", "Walls", "Doors", "Rooms"]},
            "level_name": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 100}}}),
     .output_schema = JSON({
        "type": "object",
        "required": ["elements", "total_count"],
        "properties": {
            "total_count": {"type": "integer", "description": "Also those beyond the limit."},
            "elements": {"type": "array", "items": {
                "type": "object",
                "required": ["element_id", "category", "name"],
                "properties": {
                    "element_id": {"type": "integer"},
                    "category": {"type": "string"},
                    "name": {"type": "string"},
                    "level": {"type": "string"},
                    "mark": {"type": "string"}}}}}}),
     .annotations = TW_TOOL_READ_ONLY,
     .work = work_list},

    {.name = "plan.get_document",
     .title = "Describe the document",
     .description = "Title, revision, active view, selection, and how many elements there are. The"
                    " revision grows with every change, also of selection and active view.",
     .input_schema = JSON({"type": "object", "additionalProperties": false}),
     .output_schema = JSON({
        "type": "object",
        "required": ["title", "revision", "active_view", "is_read_only", "selection", "counts"],
        "properties": {
            "title": {"type": "string"},
            "revision": {"type": "integer"},
            "active_view": {
                "type": "object",
                "required": ["view_id", "name"],
                "properties": {"view_id": {"type": "integer"}, "name": {"type": "string"}}},
            "is_read_only": {"type": "boolean"},
            "selection": {"type": "array", "items": {"type": "integer"}},
            "counts": {"type": "object", "additionalProperties": {"type": "integer"}}}}),
     .annotations = TW_TOOL_READ_ONLY,
     .work = work_get_document},

    {.name = "plan.render",
     .title = "Draw the plan",
     .description = "Draws a level as SVG, in the member svg, and says what is on it.",
     .input_schema = JSON({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "level_name": {"type": "string", "description": "Without it that of the active view."},
            "width": {"type": "integer", "minimum": 240, "maximum": 4000, "default": 960,
                      "description": "Of the picture, in pixels."}}}),
     .output_schema = JSON({
        "type": "object",
        "required": ["level_name", "width", "height", "pixels_per_ft", "walls", "doors", "rooms",
                     "svg"],
        "properties": {
            "level_name": {"type": "string"},
            "width": {"type": "integer"},
            "height": {"type": "integer"},
            "pixels_per_ft": {"type": "number"},
            "walls": {"type": "integer"},
            "doors": {"type": "integer"},
            "rooms": {"type": "integer"},
            "svg": {"type": "string"}}}),
     .annotations = TW_TOOL_READ_ONLY,
     .work = work_render},

    {.name = NULL},
};
/* clang-format on */
