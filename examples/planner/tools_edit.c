/* The tools that change many elements at once, and the one that tells what is wrong. */
#include "tools.h"

#include <math.h>

#include "check.h"
#include "model.h"

static Point read_way(TwCall *call)
{
    return (Point){argument_number(call, "translation", 0, ""),
                   argument_number(call, "translation", 1, "")};
}

static int work_move(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    int r = argument_ids(call, &planner->named, fault);

    (void)out;
    return r == 0 ? model_move(&planner->store, &planner->named, read_way(call), fault) : r;
}

static void tell_ids(const Planner *planner, TwJson *out, const char *count)
{
    out_ids(out, "element_ids", &planner->named, 0, planner->named.n);
    out_int(out, count, (int64_t)planner->named.n);
}

static void tell_moved(const Planner *planner, TwJson *out)
{
    tell_ids(planner, out, "moved_count");
}

static int work_copy(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    IdList ids = {.ids = NULL};
    int r = argument_ids(call, &ids, fault);

    (void)out;
    if (r == 0) {
        r = model_copy(&planner->store, &ids, read_way(call), &planner->named, fault);
    }
    id_list_free(&ids);
    return r;
}

static void tell_copied(const Planner *planner, TwJson *out)
{
    tell_ids(planner, out, "copied_count");
}

static int work_set_mark(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    const char *mark = tw_call_string(call, "mark", NULL);
    int r = argument_ids(call, &planner->named, fault);

    (void)out;
    return r == 0 ? model_set_mark(&planner->store, &planner->named, mark, fault) : r;
}

static void tell_marked(const Planner *planner, TwJson *out)
{
    tell_ids(planner, out, "marked_count");
}

static int work_get_warnings(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    Issues issues = {.items = NULL};
    int r = check_document(&planner->store, &issues, fault);

    (void)call;
    out_int(out, "total_count", (int64_t)issues.n);
    tw_json_key(out, "document_warnings");
    tw_json_array(out);
    for (size_t i = 0; r == 0 && i < issues.n; i++) {
        const Issue *issue = &issues.items[i];

        tw_json_object(out);
        out_string(out, "id", issue_definitions[issue->kind].id);
        out_string(out, "message", issue->text);
        tw_json_key(out, "element_ids");
        tw_json_array(out);
        for (size_t k = 0; k < issue->n_ids; k++) {
            tw_json_int(out, issue->ids[k]);
        }
        tw_json_end(out);
        tw_json_end(out);
    }
    tw_json_end(out);
    issues_free(&issues);
    return r;
}

/* clang-format off */
#define TRANSLATION_SCHEMA \
    "\"translation\": {\"type\": \"array\", \"items\": {\"type\": \"number\"}, \"minItems\": 2," \
    " \"maxItems\": 3, \"description\": \"[x, y] in feet.\"}"

#define IDS_RESULT(count) \
    "{\"type\": \"object\", \"required\": [\"element_ids\", \"" count "\"], \"properties\": {" \
    "\"element_ids\": {\"type\": \"array\", \"items\": {\"type\": \"integer\"}}," \
    " \"" count "\": {\"type\": \"integer\"}, " REMOVED_SCHEMA "}}"

const Tool tools_edit[] = {
    {.name = "plan.move_elements",
     .title = "Move elements",
     .description = "Moves walls with their doors, rooms, and doors along their wall.",
     .input_schema = "{\"type\": \"object\", \"required\": [\"element_ids\", \"translation\"],"
                     " \"additionalProperties\": false, \"properties\": {"
                     "\"element_ids\": " IDS_SCHEMA(1) ", " TRANSLATION_SCHEMA "}}",
     .output_schema = IDS_RESULT("moved_count"),
     .annotations = TW_TOOL_NOT_DESTRUCTIVE,
     .writes = true,
     .work = work_move,
     .tell = tell_moved},

    {.name = "plan.copy_elements",
     .title = "Copy elements",
     .description = "Copies walls, doors and rooms to another place, with their marks.",
     .input_schema = "{\"type\": \"object\", \"required\": [\"element_ids\", \"translation\"],"
                     " \"additionalProperties\": false, \"properties\": {"
                     "\"element_ids\": " IDS_SCHEMA(1) ", " TRANSLATION_SCHEMA "}}",
     .output_schema = IDS_RESULT("copied_count"),
     .annotations = TW_TOOL_NOT_DESTRUCTIVE,
     .writes = true,
     .work = work_copy,
     .tell = tell_copied},

    {.name = "plan.set_mark",
     .title = "Mark elements",
     .description = "Gives elements a mark, or takes it away.",
     .input_schema = "{\"type\": \"object\", \"required\": [\"element_ids\"],"
                     " \"additionalProperties\": false, \"properties\": {"
                     "\"element_ids\": " IDS_SCHEMA(1) ", " MARK_SCHEMA "}}",
     .output_schema = IDS_RESULT("marked_count"),
     .annotations = TW_TOOL_NOT_DESTRUCTIVE | TW_TOOL_IDEMPOTENT,
     .writes = true,
     .work = work_set_mark,
     .tell = tell_marked},

    {.name = "plan.get_warnings",
     .title = "List what is wrong",
     .description = "What is wrong with the document, and has not been let go.",
     .input_schema = JSON({"type": "object", "additionalProperties": false}),
     .output_schema = JSON({
        "type": "object",
        "required": ["total_count", "document_warnings"],
        "properties": {
            "total_count": {"type": "integer"},
            "document_warnings": {"type": "array", "items": {
                "type": "object",
                "required": ["id", "message", "element_ids"],
                "properties": {
                    "id": {"type": "string"},
                    "message": {"type": "string"},
                    "element_ids": {"type": "array", "items": {"type": "integer"}}}}}}}),
     .annotations = TW_TOOL_READ_ONLY,
     .work = work_get_warnings},

    {.name = NULL},
};
/* clang-format on */
