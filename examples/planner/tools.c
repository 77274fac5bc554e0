#include "tools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "failures.h"
#include "model.h"
#include "render.h"

/* A tool and whose it is: the `user` of its handler. */
typedef struct Bound {
    Planner *planner;
    const Tool *tool;
} Bound;

void out_int(TwJson *out, const char *key, int64_t value)
{
    tw_json_key(out, key);
    tw_json_int(out, value);
}

void out_double(TwJson *out, const char *key, double value)
{
    tw_json_key(out, key);
    tw_json_double(out, value);
}

void out_string(TwJson *out, const char *key, const char *value)
{
    tw_json_key(out, key);
    tw_json_string(out, value);
}

double argument_number(TwCall *call, const char *name, size_t i, const char *more)
{
    char pointer[80];

    (void)snprintf(pointer, sizeof(pointer), "/%s/%zu%s", name, i, more);
    return tw_call_double(call, pointer, NAN);
}

int argument_ids(TwCall *call, IdList *ids, Fault *fault)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < tw_call_count(call, "element_ids"); i++) {
        char pointer[40];

        (void)snprintf(pointer, sizeof(pointer), "/element_ids/%zu", i);
        r = id_list_add(ids, tw_call_int(call, pointer, -1), fault);
    }
    return r;
}

void out_ids(TwJson *out, const char *key, const IdList *ids, size_t from, size_t to)
{
    tw_json_key(out, key);
    tw_json_array(out);
    for (size_t i = from; i < to; i++) {
        tw_json_int(out, ids->ids[i]);
    }
    tw_json_end(out);
}

void out_made(const Planner *planner, TwJson *out, const char *made, const char *removed)
{
    bool is_there = planner->named.n > 0;

    tw_json_key(out, "element_id");
    if (is_there) {
        tw_json_int(out, planner->named.ids[0]);
    } else {
        tw_json_null(out);
    }
    out_string(out, "message", is_there ? made : removed);
}

void tool_fail(TwCall *call, const Fault *fault)
{
    TwJson *json = tw_json_new();

    tw_json_object(json);
    tw_json_key(json, "ok");
    tw_json_bool(json, false);
    out_string(json, "code", fault->code);
    out_string(json, "msg", fault->text);
    tw_json_end(json);
    tw_call_failed(call, NULL);
    tw_call_structured(call, tw_json_text(json));
    tw_json_free(json);
}

/* ---- What is in front ------------------------------------------------------------------- */

static int show_selection(Planner *planner, Fault *fault)
{
    IdList ids = {.ids = NULL};
    sqlite3_stmt *row = NULL;
    int r = store_query(&planner->store, fault, &row, "SELECT element_id FROM selection", "");

    while (r == 0 && (r = store_step(&planner->store, fault, row)) == 1) {
        r = id_list_add(&ids, sqlite3_column_int64(row, 0), fault);
    }
    (void)sqlite3_finalize(row);
    if (r == 0 && tw_server_show_selection(planner->server, ids.ids, ids.n) != 0) {
        r = fault_memory(fault);
    }
    id_list_free(&ids);
    return r;
}

int planner_show(Planner *planner, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(&planner->store, fault, &row,
                        "SELECT guid, title, views.id, views.name, kind, revision FROM document"
                        " JOIN views ON views.id = active_view_id",
                        "");

    if (r == 0 && (r = store_step(&planner->store, fault, row)) == 1) {
        TwDocument document = {.guid = (const char *)sqlite3_column_text(row, 0),
                               .path = sqlite3_db_filename(planner->store.db, "main"),
                               .title = (const char *)sqlite3_column_text(row, 1),
                               .view_id = sqlite3_column_int64(row, 2),
                               .view_name = (const char *)sqlite3_column_text(row, 3),
                               .view_type = (const char *)sqlite3_column_text(row, 4),
                               .revision = (uint64_t)sqlite3_column_int64(row, 5)};

        r = tw_server_show_document(planner->server, &document) == 0 ? 0 : fault_memory(fault);
    }
    (void)sqlite3_finalize(row);
    return r == 0 ? show_selection(planner, fault) : r;
}

/* Another program may have the same file open. What it did is shown now; a caller who said what it
 * knows knows something else. */
static int planner_look(Planner *planner, TwCall *call, Fault *fault)
{
    static const char *const places[] = {"", "/params", "/meta", "/_meta"};
    static const char *const spellings[] = {"expectedContextToken", "__expectedContextToken",
                                            "expected_context_token"};
    const size_t n_spellings = sizeof(spellings) / sizeof(spellings[0]);
    bool is_changed = false;
    int r = store_is_changed(&planner->store, &is_changed, fault);

    if (r != 0 || !is_changed) {
        return r;
    }
    r = planner_show(planner, fault);
    for (size_t i = 0; r == 0 && i < n_spellings * sizeof(places) / sizeof(places[0]); i++) {
        char pointer[40];

        (void)snprintf(pointer, sizeof(pointer), "%s/%s", places[i / n_spellings],
                       spellings[i % n_spellings]);
        if (tw_call_json(call, pointer) != NULL) {
            r = fault_set(fault, FAULT_STALE,
                          "Another program has changed the document. Call"
                          " get_context and retry.");
        }
    }
    return r;
}

/* ---- Running ---------------------------------------------------------------------------- */

/* What was done is undone, and has been answered: it cannot stay. */
#define TOOL_UNDONE 2

/* The answer of a tool whose failures are settled. */
static void tool_tell(Planner *planner, const Tool *tool, TwJson *out)
{
    size_t n = 0;

    if (tool->tell == NULL) {
        return;
    }
    for (size_t i = 0; i < planner->named.n; i++) {
        if (!id_list_has(&planner->removed, planner->named.ids[i])) {
            planner->named.ids[n++] = planner->named.ids[i];
        }
    }
    planner->named.n = n;
    tool->tell(planner, out);
    if (planner->removed.n > 0) {
        out_ids(out, "removed_ids", &planner->removed, 0, planner->removed.n);
    }
}

/* The end of a transaction whose work has been done. */
static int tool_end(Planner *planner, const Tool *tool, TwCall *call, TwJson *out, Fault *fault)
{
    char why[FAILURES_WHY_SIZE];
    int r = failures_settle(planner, call, why, fault);

    if (r < 0) {
        store_rollback(&planner->store, fault->text);
        return r;
    }
    if (r > 0) {
        store_rollback(&planner->store, why);
        (void)tw_call_rolled_back(call, why);
        return TOOL_UNDONE;
    }
    tool_tell(planner, tool, out);
    if (tw_call_is_dry_run(call)) {
        store_rollback(&planner->store, "a dry run");
        (void)tw_call_rolled_back(call, NULL);
        return 0;
    }
    r = store_commit(&planner->store, fault);
    if (r == 0) {
        r = planner_show(planner, fault);
        (void)tw_server_resource_updated(planner->server, PLAN_URI);
    }
    return r;
}

/* The work, and around it the transaction of a tool that writes. */
static int tool_work(Planner *planner, const Tool *tool, TwCall *call, TwJson *out, Fault *fault)
{
    int r;

    if (!tool->writes) {
        r = planner_look(planner, call, fault);
        return r == 0 ? tool->work(planner, call, out, fault) : r;
    }
    if (store_begin(&planner->store, tool->name, fault) != 0) {
        return -1;
    }
    r = planner_look(planner, call, fault);
    if (r == 0) {
        r = tool->work(planner, call, out, fault);
    }
    if (r == 0) {
        r = tool_end(planner, tool, call, out, fault);
    } else {
        store_rollback(&planner->store, r < 0 ? fault->text : "it is answered later");
    }
    if (r < 0) {
        (void)tw_call_rolled_back(call, NULL);
    }
    return r;
}

static void tool_run(TwCall *call, void *user)
{
    const Bound *bound = user;
    TwJson *out = tw_json_new();
    Fault fault = {.code = FAULT_API};
    int r;

    tw_json_object(out);
    r = tool_work(bound->planner, bound->tool, call, out, &fault);
    tw_json_end(out);
    if (r == 0) {
        tw_call_structured(call, tw_json_text(out));
    } else if (r < 0) {
        tool_fail(call, &fault);
    }
    tw_json_free(out);
    tw_json_free(bound->planner->errors);
    bound->planner->errors = NULL;
    id_list_free(&bound->planner->named);
    id_list_free(&bound->planner->removed);
}

int plan_picture(Planner *planner, const char *level, int width, Floor *floor, Picture *ret,
                 Fault *fault)
{
    Store *store = &planner->store;
    sqlite3_stmt *row = NULL;
    int64_t level_id = 0;
    int r = level != NULL ? model_level(store, level, &level_id, fault)
                          : model_active_level(store, &level_id, fault);

    if (r == 0) {
        r = floor_load(store, level_id, floor, fault);
    }
    if (r == 0) {
        r = store_query(store, fault, &row, "SELECT title FROM document", "");
    }
    if (r == 0 && (r = store_step(store, fault, row)) == 1) {
        r = render_floor(floor, (const char *)sqlite3_column_text(row, 0), width, ret, fault);
    }
    (void)sqlite3_finalize(row);
    return r;
}

static void plan_resource(TwCall *call, void *user)
{
    Picture picture = {.svg = NULL};
    Fault fault = {.code = FAULT_API};
    Floor floor = FLOOR_NULL;

    if (plan_picture(user, NULL, RENDER_WIDTH, &floor, &picture, &fault) == 0) {
        tw_call_resource_text(call, NULL, "image/svg+xml", picture.svg);
    } else {
        tw_call_failedf(call, "%s: %s", fault.code, fault.text);
    }
    free(picture.svg);
    floor_free(&floor);
}

static int tools_add_table(Planner *planner, const Tool *table)
{
    int r = 0;

    for (const Tool *tool = table; r == 0 && tool->name != NULL; tool++) {
        Bound *bound = malloc(sizeof(*bound));

        if (bound == NULL) {
            return TW_ERROR_MEMORY;
        }
        *bound = (Bound){planner, tool};
        r = tw_server_add_tool(
            planner->server,
            &(TwTool){.name = tool->name,
                      .title = tool->title,
                      .description = tool->description,
                      .input_schema = tool->input_schema,
                      .output_schema = tool->output_schema,
                      .annotations = tool->annotations | TW_TOOL_CLOSED_WORLD,
                      .command = tool->writes ? TW_COMMAND_CAN_UNDO : TW_COMMAND_PLAIN,
                      .handler = tool_run,
                      .user = bound,
                      .release = free});
        if (r != 0) {
            free(bound);
        }
    }
    return r;
}

int tools_add(Planner *planner)
{
    int r = tools_add_table(planner, tools_revit);

    if (r == 0) {
        r = tools_add_table(planner, tools_plan);
    }
    if (r == 0) {
        r = tools_add_table(planner, tools_edit);
    }
    if (r == 0) {
        r = tools_add_table(planner, tools_fail);
    }
    if (r == 0) {
        r = tw_server_add_resource(
            planner->server,
            &(TwResource){.uri = PLAN_URI,
                          .name = "document.svg",
                          .title = "The plan",
                          .description = "A picture of the level that the active view shows.",
                          .mime_type = "image/svg+xml",
                          .handler = plan_resource,
                          .user = planner});
    }
    return r;
}
