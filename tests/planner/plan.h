/* A document in memory for each test, and what is done to it in a few words. */
#pragma once

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define PLAN_UNUSED __attribute__((unused))

typedef struct Plan {
    Store store;
    Fault fault;
    char log[4096]; /* what became of each transaction, a line each */
} Plan;

PLAN_UNUSED static void plan_log(void *user, const char *text)
{
    Plan *plan = user;
    size_t n = strlen(plan->log);

    (void)snprintf(plan->log + n, sizeof(plan->log) - n, "%s\n", text);
}

PLAN_UNUSED static int plan_setup(void **state)
{
    Plan *plan = calloc(1, sizeof(*plan));

    assert_non_null(plan);
    plan->store.log = plan_log;
    plan->store.log_user = plan;
    assert_int_equal(store_open(&plan->store, NULL, &plan->fault), 0);
    *state = plan;
    return 0;
}

PLAN_UNUSED static int plan_teardown(void **state)
{
    Plan *plan = *state;

    store_close(&plan->store);
    free(plan);
    return 0;
}

PLAN_UNUSED static int64_t plan_number(Plan *plan, const char *sql)
{
    int64_t number = -1;

    assert_int_equal(store_number(&plan->store, &plan->fault, &number, sql, ""), 0);
    return number;
}

PLAN_UNUSED static int64_t plan_revision(Plan *plan)
{
    return plan_number(plan, "SELECT revision FROM document");
}

PLAN_UNUSED static void plan_begin(Plan *plan)
{
    assert_int_equal(store_begin(&plan->store, "a.test", &plan->fault), 0);
}

PLAN_UNUSED static void plan_commit(Plan *plan)
{
    assert_int_equal(store_commit(&plan->store, &plan->fault), 0);
}

/* Of the first type, on the first level; in a transaction of its own. */
PLAN_UNUSED static int64_t plan_wall(Plan *plan, double x1, double y1, double x2, double y2)
{
    NewWall wall = {.start = {x1, y1, 0}, .end = {x2, y2, 0}, .height = 8};
    int64_t id = 0;

    plan_begin(plan);
    assert_int_equal(model_create_wall(&plan->store, &wall, &id, &plan->fault), 0);
    plan_commit(plan);
    return id;
}

/* Four walls from the origin, counter-clockwise; gives the first, at the bottom. */
PLAN_UNUSED static int64_t plan_box(Plan *plan, double width, double height)
{
    int64_t first = plan_wall(plan, 0, 0, width, 0);

    (void)plan_wall(plan, width, 0, width, height);
    (void)plan_wall(plan, width, height, 0, height);
    (void)plan_wall(plan, 0, height, 0, 0);
    return first;
}

PLAN_UNUSED static int64_t plan_door(Plan *plan, int64_t wall_id, double distance)
{
    NewDoor door = {wall_id, distance, 3, "start", "left", NULL};
    int64_t id = 0;

    plan_begin(plan);
    assert_int_equal(model_create_door(&plan->store, &door, &id, &plan->fault), 0);
    plan_commit(plan);
    return id;
}

PLAN_UNUSED static int64_t plan_room(Plan *plan, const char *name, double x, double y)
{
    NewRoom room = {.name = name, .at = {x, y}};
    double area = 0;
    int64_t id = 0;

    plan_begin(plan);
    assert_int_equal(model_create_room(&plan->store, &room, &id, &area, &plan->fault), 0);
    plan_commit(plan);
    return id;
}

PLAN_UNUSED static void plan_select(Plan *plan, int64_t id)
{
    plan_begin(plan);
    assert_int_equal(model_select(&plan->store, &(IdList){&id, 1}, &plan->fault), 0);
    plan_commit(plan);
}

/* The work failed with that code, for that reason; it is rolled back. */
PLAN_UNUSED static void plan_refused(Plan *plan, int r, const char *code, const char *words)
{
    assert_int_equal(r, -1);
    assert_string_equal(plan->fault.code, code);
    if (strstr(plan->fault.text, words) == NULL) {
        fail_msg("'%s' does not say '%s'", plan->fault.text, words);
    }
    store_rollback(&plan->store, plan->fault.text);
}
