#include "tools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

void tool_fail(TwCall *call, const Fault *fault)
{
    TwJson *json = tw_json_new();

    tw_json_object(json);
    tw_json_key(json, "error");
    tw_json_object(json);
    out_string(json, "code", fault->code);
    out_string(json, "message", fault->text);
    tw_json_end(json);
    tw_json_end(json);
    tw_call_failedf(call, "%s: %s", fault->code, fault->text);
    tw_call_structured(call, tw_json_text(json));
    tw_json_free(json);
}

/* The work, and around it the transaction of a tool that writes. */
static int tool_work(Planner *planner, const Tool *tool, TwCall *call, TwJson *out, Fault *fault)
{
    int r;

    if (!tool->writes) {
        return tool->work(planner, call, out, fault);
    }
    if (store_begin(&planner->store, tool->name, fault) != 0) {
        return -1;
    }
    r = tool->work(planner, call, out, fault);
    if (r != 0) {
        store_rollback(&planner->store, r < 0 ? fault->text : "it is answered later");
        return r;
    }
    return store_commit(&planner->store, fault);
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
        if (bound->tool->writes) {
            (void)tw_server_resource_updated(bound->planner->server, PLAN_URI);
        }
    } else if (r < 0) {
        tool_fail(call, &fault);
    }
    tw_json_free(out);
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
        r = tw_server_add_tool(planner->server,
                               &(TwTool){.name = tool->name,
                                         .title = tool->title,
                                         .description = tool->description,
                                         .input_schema = tool->input_schema,
                                         .output_schema = tool->output_schema,
                                         .annotations = tool->annotations | TW_TOOL_CLOSED_WORLD,
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
