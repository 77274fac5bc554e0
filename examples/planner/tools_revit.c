/* The tools of the application that this one stands in for, with its names and arguments, and the
 * workflow that is made of them. */
#include "tools.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "info.h"
#include "model.h"

/* ---- Walls ------------------------------------------------------------------------------ */

static int work_create_wall(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    NewWall wall = {.height = tw_call_double(call, "height", NAN),
                    .type_name = tw_call_string(call, "wall_type", NULL),
                    .level_name = tw_call_string(call, "level_name", NULL),
                    .mark = tw_call_string(call, "mark", NULL)};
    int64_t id = 0;
    int r;

    for (size_t i = 0; i < 3; i++) {
        wall.start[i] = argument_number(call, "start_point", i, "");
        wall.end[i] = argument_number(call, "end_point", i, "");
    }
    (void)out;
    r = model_create_wall(&planner->store, &wall, &id, fault);
    return r == 0 ? id_list_add(&planner->named, id, fault) : r;
}

static void tell_wall(const Planner *planner, TwJson *out)
{
    out_made(planner, out, "Wall created successfully",
             "No wall was created: it was removed again, to resolve a failure");
}

static NewWall wall_of_line(TwCall *call, size_t i)
{
    NewWall wall = {.height = tw_call_double(call, "height", NAN),
                    .type_name = tw_call_string(call, "wall_type", NULL),
                    .level_name = tw_call_string(call, "level_name", NULL)};

    for (size_t k = 0; k < 3; k++) {
        char more[16];

        (void)snprintf(more, sizeof(more), "/start/%zu", k);
        wall.start[k] = argument_number(call, "lines", i, more);
        (void)snprintf(more, sizeof(more), "/end/%zu", k);
        wall.end[k] = argument_number(call, "lines", i, more);
    }
    return wall;
}

/* One wall for each line. A line that cannot be one is told among the errors, and the others are
 * made all the same: the workflow itself never fails for a wall. */
static int work_create_walls(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    TwJson *errors = tw_json_new();
    int r = 0;

    (void)out;
    planner->errors = errors;
    tw_json_array(errors);
    for (size_t i = 0; r == 0 && i < tw_call_count(call, "lines"); i++) {
        NewWall wall = wall_of_line(call, i);
        int64_t id = 0;

        if (model_check_length(&wall, fault) == 0 &&
            model_create_wall(&planner->store, &wall, &id, fault) == 0) {
            r = id_list_add(&planner->named, id, fault);
        } else {
            char text[sizeof(fault->text) + 80];

            (void)snprintf(text, sizeof(text), "Wall %zu: %s - %s", i, fault->code, fault->text);
            tw_json_string(errors, text);
        }
    }
    tw_json_end(errors);
    return r;
}

static void tell_walls(const Planner *planner, TwJson *out)
{
    out_ids(out, "element_ids", &planner->named, 0, planner->named.n);
    out_int(out, "created_count", (int64_t)planner->named.n);
    tw_json_key(out, "errors");
    tw_json_raw(out, tw_json_text(planner->errors));
}

/* ---- Lists of elements ------------------------------------------------------------------ */

static int work_delete(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    IdList ids = {.ids = NULL};
    char message[80];
    size_t n_asked;
    int r = argument_ids(call, &ids, fault);

    n_asked = ids.n;
    if (r == 0) {
        r = model_delete(&planner->store, &ids, fault);
    }
    out_int(out, "deleted_count", (int64_t)ids.n);
    out_ids(out, "element_ids", &ids, 0, n_asked);
    out_ids(out, "dependent_ids", &ids, n_asked, ids.n);
    (void)snprintf(message, sizeof(message), "%zu deleted, and %zu that depended on them", n_asked,
                   ids.n - n_asked);
    out_string(out, "message", message);
    id_list_free(&ids);
    return r;
}

static int work_select(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    IdList ids = {.ids = NULL};
    int r = argument_ids(call, &ids, fault);

    if (r == 0) {
        r = model_select(&planner->store, &ids, fault);
    }
    out_ids(out, "element_ids", &ids, 0, ids.n);
    out_int(out, "selected_count", (int64_t)ids.n);
    id_list_free(&ids);
    return r;
}

static int work_activate(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    int64_t id = 0;
    int r = model_activate_view(&planner->store, tw_call_string(call, "view_name", NULL),
                                tw_call_int(call, "view_id", 0), &id, fault);

    out_int(out, "view_id", id);
    out_string(out, "message", "View activated");
    return r;
}

/* clang-format off */
#define POINT_SCHEMA \
    "{\"type\": \"array\", \"items\": {\"type\": \"number\"}, \"minItems\": 3, \"maxItems\": 3," \
    " \"description\": \"[x, y, z] in feet\"}"

/* Two members that both tools for walls have. */
#define WALL_SCHEMA \
    "\"height\": {\"type\": \"number\", \"minimum\": 0," \
    " \"description\": \"In feet; a wall of height 0 is refused.\"}," \
    "\"wall_type\": {\"type\": \"string\", \"description\": \"Its name, such as Generic - 200mm;" \
    " without it the first one. plan.list_elements lists them.\"}," \
    "\"level_name\": {\"type\": \"string\", \"description\": \"Without it the first level.\"}"

const Tool tools_revit[] = {
    {.name = "revit.create_wall",
     .title = "Create a wall",
     .description = "Creates a straight wall between two points. Lengths are feet.",
     .input_schema = "{\"type\": \"object\", \"additionalProperties\": false,"
                     " \"required\": [\"start_point\", \"end_point\", \"height\"],"
                     " \"properties\": {\"start_point\": " POINT_SCHEMA ", "
                     "\"end_point\": " POINT_SCHEMA ", " WALL_SCHEMA ", " MARK_SCHEMA "}}",
     .output_schema = "{\"type\": \"object\", \"required\": [\"element_id\", \"message\"],"
                      " \"properties\": {\"element_id\": {\"type\": [\"integer\", \"null\"]},"
                      " \"message\": {\"type\": \"string\"}, " REMOVED_SCHEMA "}}",
     .annotations = TW_TOOL_NOT_DESTRUCTIVE,
     .writes = true,
     .work = work_create_wall,
     .tell = tell_wall},

    {.name = "flow.create_walls_from_lines",
     .title = "Create walls from lines",
     .description = "Creates a wall for each line, in one transaction. Lines that cannot be a wall"
                    " are reported among the errors (\"Wall i: CODE - message\", i from 0), the"
                    " others become walls.",
     .input_schema = "{\"type\": \"object\", \"required\": [\"lines\", \"height\"],"
                     " \"additionalProperties\": false, \"properties\": {"
                     "\"lines\": {\"type\": \"array\", \"maxItems\": 1000, \"items\": {"
                     "\"type\": \"object\", \"required\": [\"start\", \"end\"], \"properties\": {"
                     "\"start\": " POINT_SCHEMA ", \"end\": " POINT_SCHEMA "}}}, "
                     WALL_SCHEMA "}}",
     .output_schema = JSON({
        "type": "object",
        "required": ["created_count", "element_ids", "errors"],
        "properties": {
            "created_count": {"type": "integer"},
            "element_ids": {"type": "array", "items": {"type": "integer"}},
            "removed_ids": {"type": "array", "items": {"type": "integer"}},
            "errors": {"type": "array", "items": {"type": "string"}}}}),
     .annotations = TW_TOOL_NOT_DESTRUCTIVE,
     .writes = true,
     .work = work_create_walls,
     .tell = tell_walls},

    {.name = "revit.get_element_info",
     .title = "Describe an element",
     .description = "Category, type, name and level of an element, its parameters, its place.",
     .input_schema = JSON({
        "type": "object",
        "required": ["element_id"],
        "additionalProperties": false,
        "properties": {
            "element_id": {"type": "integer"},
            "include_parameters": {"type": "boolean", "default": true},
            "include_geometry": {"type": "boolean", "default": false}}}),
     .output_schema = JSON({
        "type": "object",
        "required": ["element_id", "category", "type_name", "name"],
        "properties": {
            "element_id": {"type": "integer"},
            "category": {"type": "string"},
            "type_name": {"type": "string"},
            "name": {"type": "string"},
            "level": {"type": "string"},
            "mark": {"type": "string"},
            "parameters": {"type": "object"},
            "bounding_box": {
                "type": "object",
                "required": ["min", "max"],
                "properties": {
                    "min": {"type": "array", "items": {"type": "number"}},
                    "max": {"type": "array", "items": {"type": "number"}}}}}}),
     .annotations = TW_TOOL_READ_ONLY,
     .work = work_get_element_info},

    {.name = "revit.delete_elements",
     .title = "Delete elements",
     .description = "Deletes elements and what cannot be without them, such as the doors of a wall;"
                    " all or nothing. Says what went with them.",
     .input_schema = "{\"type\": \"object\", \"required\": [\"element_ids\"],"
                     " \"additionalProperties\": false,"
                     " \"properties\": {\"element_ids\": " IDS_SCHEMA(1) "}}",
     .output_schema = JSON({
        "type": "object",
        "required": ["deleted_count", "element_ids", "dependent_ids", "message"],
        "properties": {
            "deleted_count": {"type": "integer"},
            "element_ids": {"type": "array", "items": {"type": "integer"}},
            "dependent_ids": {"type": "array", "items": {"type": "integer"}},
            "message": {"type": "string"}}}),
     .annotations = TW_TOOL_DESTRUCTIVE,
     .writes = true,
     .work = work_delete},

    {.name = "revit.set_selection",
     .title = "Select elements",
     .description = "Makes these elements the selection; an empty list selects nothing.",
     .input_schema = "{\"type\": \"object\", \"required\": [\"element_ids\"],"
                     " \"additionalProperties\": false,"
                     " \"properties\": {\"element_ids\": " IDS_SCHEMA(0) "}}",
     .output_schema = JSON({
        "type": "object",
        "required": ["element_ids", "selected_count"],
        "properties": {
            "element_ids": {"type": "array", "items": {"type": "integer"}},
            "selected_count": {"type": "integer"}}}),
     .annotations = TW_TOOL_NOT_DESTRUCTIVE | TW_TOOL_IDEMPOTENT,
     .writes = true,
     .work = work_select},

    {.name = "revit.activate_view",
     .title = "Activate a view",
     .description = "Shows another view, by its name or its id.",
     .input_schema = JSON({
        "type": "object",
        "oneOf": [{"required": ["view_name"]}, {"required": ["view_id"]}],
        "additionalProperties": false,
        "properties": {"view_name": {"type": "string"}, "view_id": {"type": "integer"}}}),
     .output_schema = JSON({
        "type": "object",
        "required": ["view_id", "message"],
        "properties": {"view_id": {"type": "integer"}, "message": {"type": "string"}}}),
     .annotations = TW_TOOL_NOT_DESTRUCTIVE | TW_TOOL_IDEMPOTENT,
     .writes = true,
     .work = work_activate},

    {.name = NULL},
};
/* clang-format on */
