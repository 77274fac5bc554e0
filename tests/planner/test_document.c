/* The document of the floor-plan program: elements, transactions, selection and views. */
#include "planner/plan.h"

#include <math.h>

static void new_document_has_levels_views_and_types(void **state)
{
    Plan *plan = *state;

    assert_int_equal(plan_number(plan, "SELECT count(*) FROM levels WHERE (name, elevation) IN"
                                       " (('Level 1', 0), ('Level 2', 10))"),
                     2);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM views WHERE name IN"
                                       " ('Level 1', 'Level 2', '{3D}')"),
                     3);
    assert_int_equal(plan_number(plan,
                                 "SELECT count(*) FROM wall_types WHERE name = 'Generic - 200mm'"
                                 " AND abs(thickness - 0.656) < 0.001"),
                     1);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM elements JOIN named USING (id)"), 9);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM document WHERE title = 'Untitled'"),
                     1);
    assert_int_equal(plan_revision(plan), 1);
}

static void wall_gets_first_level_and_type(void **state)
{
    Plan *plan = *state;
    int64_t id = plan_wall(plan, 0, 0, 10, 0);

    assert_true(id > 9);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM walls JOIN wall_types"
                                       " ON wall_types.id = type_id JOIN levels"
                                       " ON levels.id = level_id WHERE levels.name = 'Level 1'"
                                       " AND wall_types.name = 'Generic - 200mm'"),
                     1);
    assert_int_equal(plan_revision(plan), 2);
    assert_string_equal(plan->log, "Orchestrator: a.test: committed, revision 2\n");
}

static void wall_that_cannot_be_is_refused(void **state)
{
    static const struct {
        NewWall wall;
        const char *words;
    } cases[] = {
        {{.start = {0, 0, 0}, .end = {9, 0, 0}, .height = 0}, "zero height"},
        {{.start = {0, 0, 0}, .end = {9, 0, 1}, .height = 8}, "same z"},
        {{.start = {NAN, 0, 0}, .end = {9, 0, 0}, .height = 8}, "start_point must be a number"},
        {{.start = {0, 0, 0}, .end = {0, INFINITY, 0}, .height = 8}, "end_point must be a number"},
        {{.start = {0, 0, 0}, .end = {0, 1e6, 0}, .height = 8}, "from -100000 to 100000 ft"},
        {{.start = {0, 0, 0}, .end = {9, 0, 0}, .height = 1e300}, "height must be a number"},
        {{.start = {0, 0, 0}, .end = {9, 0, 0}, .height = 8, .level_name = "Attic"},
         "Level 'Attic' not found"},
        {{.start = {0, 0, 0}, .end = {9, 0, 0}, .height = 8, .type_name = "Straw"},
         "Wall type 'Straw' not found"},
    };
    Plan *plan = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t id = 0;

        plan_begin(plan);
        plan_refused(plan, model_create_wall(&plan->store, &cases[i].wall, &id, &plan->fault),
                     FAULT_API, cases[i].words);
    }
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM elements"), 9);
    assert_int_equal(plan_revision(plan), 1);
}

static void rollback_undoes_what_was_done_before_the_failure(void **state)
{
    Plan *plan = *state;
    NewWall good = {.start = {0, 0, 0}, .end = {9, 0, 0}, .height = 8};
    NewWall bad = {.start = {0, 0, 0}, .end = {9, 0, 0}, .height = 0};
    int64_t id = 0;

    plan_begin(plan);
    assert_int_equal(model_create_wall(&plan->store, &good, &id, &plan->fault), 0);
    plan_refused(plan, model_create_wall(&plan->store, &bad, &id, &plan->fault), FAULT_API, "zero");
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM walls"), 0);
    assert_int_equal(plan_revision(plan), 1);
    assert_non_null(strstr(plan->log, "Orchestrator: a.test: rolled back: A wall cannot"));
}

static void commit_that_the_document_refuses_is_rolled_back(void **state)
{
    Plan *plan = *state;
    int64_t id = plan_wall(plan, 0, 0, 9, 0);

    plan_begin(plan);
    assert_int_equal(store_run(&plan->store, &plan->fault,
                               "UPDATE walls SET level_id = -1, height = 99 WHERE id = ?", "i", id),
                     0);
    assert_int_equal(store_commit(&plan->store, &plan->fault), -1);
    assert_string_equal(plan->fault.code, FAULT_TRANSACTION);
    assert_non_null(strstr(plan->fault.text, "FOREIGN KEY"));
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM walls WHERE height = 99"), 0);
    assert_int_equal(plan_revision(plan), 2);
    /* And the next one is not hindered. */
    (void)plan_wall(plan, 0, 0, 0, 9);
    assert_int_equal(plan_revision(plan), 3);
}

static void statement_that_breaks_a_rule_fails_the_transaction(void **state)
{
    Plan *plan = *state;

    plan_begin(plan);
    plan_refused(
        plan,
        store_run(&plan->store, &plan->fault, "INSERT INTO levels VALUES (1, 'Level 1', 0)", ""),
        FAULT_TRANSACTION, "UNIQUE");
}

static void transaction_without_change_keeps_the_revision(void **state)
{
    Plan *plan = *state;

    plan_begin(plan);
    plan_commit(plan);
    assert_int_equal(plan_revision(plan), 1);
    assert_string_equal(plan->log, "Orchestrator: a.test: committed, nothing changed\n");
}

static void category_that_is_full_takes_no_more(void **state)
{
    Plan *plan = *state;
    NewWall wall = {.start = {0, 0, 0}, .end = {9, 0, 0}, .height = 8};
    int64_t id = 0;

    plan_begin(plan);
    assert_int_equal(store_run(&plan->store, &plan->fault,
                               "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                               " WHERE i < 5000) INSERT INTO elements (category)"
                               " SELECT 'Walls' FROM n",
                               ""),
                     0);
    plan_refused(plan, model_create_wall(&plan->store, &wall, &id, &plan->fault), FAULT_API,
                 "5000 Walls, and can have no more");
}

static void door_that_does_not_fit_is_refused(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);
    int64_t door = plan_door(plan, wall, 5);
    const struct {
        NewDoor door;
        const char *words;
    } cases[] = {
        {{wall, 1, 3, "start", "left", NULL}, "does not fit"},
        {{wall, 9, 3, "start", "left", NULL}, "does not fit"},
        {{wall, 7.5, 3, "start", "left", NULL}, "is in the way"},
        {{wall, 8, 0, "start", "left", NULL}, "zero width"},
        {{wall, NAN, 3, "start", "left", NULL}, "distance must be a number"},
        {{wall, 8, INFINITY, "start", "left", NULL}, "width must be a number"},
        {{999, 5, 3, "start", "left", NULL}, "Wall with ID 999 not found"},
        {{door, 1, 1, "start", "left", NULL}, "not found"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t id = 0;

        plan_begin(plan);
        plan_refused(plan, model_create_door(&plan->store, &cases[i].door, &id, &plan->fault),
                     FAULT_API, cases[i].words);
    }
    /* Beside it, and at the very end of the wall. */
    (void)plan_door(plan, wall, 8.5);
    (void)plan_door(plan, wall, 1.5);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM doors"), 3);
}

static void delete_takes_what_depends(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_box(plan, 10, 8);
    int64_t door = plan_door(plan, wall, 5);
    IdList ids = {.ids = NULL};

    (void)plan_room(plan, "Study", 5, 4);
    plan_select(plan, door);
    plan_begin(plan);
    assert_int_equal(id_list_add(&ids, wall, &plan->fault), 0);
    assert_int_equal(model_delete(&plan->store, &ids, &plan->fault), 0);
    plan_commit(plan);
    assert_int_equal(ids.n, 2);
    assert_int_equal(ids.ids[1], door);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM doors"), 0);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM selection"), 0);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM walls"), 3);
    id_list_free(&ids);

    /* A level: walls, room and view. It is shown, though. */
    plan_begin(plan);
    assert_int_equal(id_list_add(&ids, 1, &plan->fault), 0);
    plan_refused(plan, model_delete(&plan->store, &ids, &plan->fault), FAULT_API,
                 "View 3 is active");
    id_list_free(&ids);
    plan_begin(plan);
    assert_int_equal(model_activate_view(&plan->store, "{3D}", 0, &wall, &plan->fault), 0);
    assert_int_equal(id_list_add(&ids, 1, &plan->fault), 0);
    assert_int_equal(model_delete(&plan->store, &ids, &plan->fault), 0);
    plan_commit(plan);
    assert_int_equal(ids.n, 6);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM elements"), 7);
    id_list_free(&ids);
}

static void delete_is_all_or_nothing(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);
    IdList ids = {.ids = NULL};

    plan_begin(plan);
    assert_int_equal(id_list_add(&ids, wall, &plan->fault), 0);
    assert_int_equal(id_list_add(&ids, 999, &plan->fault), 0);
    plan_refused(plan, model_delete(&plan->store, &ids, &plan->fault), FAULT_API,
                 "Element with ID 999 not found");
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM walls"), 1);
    id_list_free(&ids);

    /* A type that a wall has: only the commit finds out. */
    plan_begin(plan);
    assert_int_equal(id_list_add(&ids, 6, &plan->fault), 0);
    assert_int_equal(model_delete(&plan->store, &ids, &plan->fault), 0);
    assert_int_equal(store_commit(&plan->store, &plan->fault), -1);
    assert_string_equal(plan->fault.code, FAULT_TRANSACTION);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM wall_types"), 4);
    id_list_free(&ids);
}

static void ids_are_never_used_again(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);
    IdList ids = {.ids = NULL};

    plan_begin(plan);
    assert_int_equal(id_list_add(&ids, wall, &plan->fault), 0);
    assert_int_equal(model_delete(&plan->store, &ids, &plan->fault), 0);
    plan_commit(plan);
    assert_int_equal(plan_wall(plan, 0, 0, 10, 0), wall + 1);
    id_list_free(&ids);
}

static void selection_changes_the_revision_only_if_it_changes(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);
    int64_t nothing = 999;

    plan_select(plan, wall);
    assert_int_equal(plan_revision(plan), 3);
    plan_select(plan, wall);
    assert_int_equal(plan_revision(plan), 3);
    plan_select(plan, 1);
    assert_int_equal(plan_revision(plan), 4);
    assert_int_equal(plan_number(plan, "SELECT element_id FROM selection"), 1);
    plan_begin(plan);
    plan_refused(plan, model_select(&plan->store, &(IdList){&nothing, 1}, &plan->fault), FAULT_API,
                 "Element with ID 999 not found");
    assert_int_equal(plan_number(plan, "SELECT element_id FROM selection"), 1);
    plan_begin(plan);
    assert_int_equal(model_select(&plan->store, &(IdList){.n = 0}, &plan->fault), 0);
    plan_commit(plan);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM selection"), 0);
    assert_int_equal(plan_revision(plan), 5);
}

static void view_is_activated_by_name_or_id(void **state)
{
    Plan *plan = *state;
    int64_t id = 0;
    int64_t level = 0;

    plan_begin(plan);
    assert_int_equal(model_activate_view(&plan->store, "Level 2", 0, &id, &plan->fault), 0);
    plan_commit(plan);
    assert_int_equal(id, 4);
    assert_int_equal(plan_revision(plan), 2);
    assert_int_equal(model_active_level(&plan->store, &level, &plan->fault), 0);
    assert_int_equal(level, 2);
    plan_begin(plan);
    assert_int_equal(model_activate_view(&plan->store, NULL, 4, &id, &plan->fault), 0);
    plan_commit(plan);
    assert_int_equal(plan_revision(plan), 2);
    plan_begin(plan);
    assert_int_equal(model_activate_view(&plan->store, NULL, 5, &id, &plan->fault), 0);
    plan_commit(plan);
    /* It shows all levels; the first one stands for them. */
    assert_int_equal(model_active_level(&plan->store, &level, &plan->fault), 0);
    assert_int_equal(level, 1);
    plan_begin(plan);
    plan_refused(plan, model_activate_view(&plan->store, "Cellar", 0, &id, &plan->fault), FAULT_API,
                 "View 'Cellar' not found");
    plan_begin(plan);
    plan_refused(plan, model_activate_view(&plan->store, NULL, 1, &id, &plan->fault), FAULT_API,
                 "View with ID 1 not found");
}

static void room_is_bounded_by_the_walls_around_it(void **state)
{
    Plan *plan = *state;
    NewRoom room = {.name = "Study", .at = {5, 4}};
    IdList ids = {.ids = NULL};
    Floor floor = FLOOR_NULL;
    double area = 0;
    int64_t id = 0;

    (void)plan_box(plan, 10, 8);
    plan_begin(plan);
    assert_int_equal(model_create_room(&plan->store, &room, &id, &area, &plan->fault), 0);
    plan_commit(plan);
    assert_true(fabs(area - 80) < 1e-9);
    plan_begin(plan);
    plan_refused(plan, model_create_room(&plan->store, &room, &id, &area, &plan->fault), FAULT_API,
                 "'Study' is in that place already");
    room.at.x = 11;
    plan_begin(plan);
    plan_refused(plan, model_create_room(&plan->store, &room, &id, &area, &plan->fault), FAULT_API,
                 "No walls enclose the point (11, 4) on Level 1");
    room.at.x = NAN;
    plan_begin(plan);
    plan_refused(plan, model_create_room(&plan->store, &room, &id, &area, &plan->fault), FAULT_API,
                 "point must be a number");

    /* Without one of its walls it is open. */
    plan_begin(plan);
    assert_int_equal(id_list_add(&ids, 10, &plan->fault), 0);
    assert_int_equal(model_delete(&plan->store, &ids, &plan->fault), 0);
    plan_commit(plan);
    assert_int_equal(floor_load(&plan->store, 1, &floor, &plan->fault), 0);
    assert_int_equal(floor.n_rooms, 1);
    assert_null(floor.rooms[0].points);
    floor_free(&floor);
    id_list_free(&ids);
}

static void room_with_a_boundary_needs_no_walls(void **state)
{
    static const Point square[] = {{0, 0}, {4, 0}, {4, 3}, {0, 3}};
    static const Point bow[] = {{0, 0}, {4, 4}, {4, 0}, {0, 5}};
    static const Point line[] = {{0, 0}, {4, 0}, {8, 0}};
    static const Point far[] = {{0, 0}, {4, 0}, {8, INFINITY}};
    const struct {
        NewRoom room;
        const char *words;
    } cases[] = {
        {{.name = "Bow", .points = bow, .n_points = 4}, "crosses itself"},
        {{.name = "Line", .points = line, .n_points = 3}, "no area"},
        {{.name = "Two", .points = square, .n_points = 2}, "3 to 100 points"},
        {{.name = "Far", .points = far, .n_points = 3}, "boundary must be a number"},
        {{.name = "", .points = square, .n_points = 4}, "needs a name"},
        {{.name = "High", .points = square, .n_points = 4, .level_name = "Sky"}, "'Sky' not found"},
    };
    Plan *plan = *state;
    NewRoom room = {.name = "Terrace", .points = square, .n_points = 4, .level_name = "Level 2"};
    Floor floor = FLOOR_NULL;
    double area = 0;
    int64_t id = 0;

    plan_begin(plan);
    assert_int_equal(model_create_room(&plan->store, &room, &id, &area, &plan->fault), 0);
    plan_commit(plan);
    assert_true(fabs(area - 12) < 1e-9);
    assert_int_equal(floor_load(&plan->store, 2, &floor, &plan->fault), 0);
    assert_int_equal(floor.rooms[0].n_points, 4);
    assert_true(floor.rooms[0].points[2].y == 3);
    floor_free(&floor);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plan_begin(plan);
        plan_refused(plan,
                     model_create_room(&plan->store, &cases[i].room, &id, &area, &plan->fault),
                     FAULT_API, cases[i].words);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plan_setup, plan_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(new_document_has_levels_views_and_types),
        TEST(wall_gets_first_level_and_type),
        TEST(wall_that_cannot_be_is_refused),
        TEST(rollback_undoes_what_was_done_before_the_failure),
        TEST(commit_that_the_document_refuses_is_rolled_back),
        TEST(statement_that_breaks_a_rule_fails_the_transaction),
        TEST(transaction_without_change_keeps_the_revision),
        TEST(category_that_is_full_takes_no_more),
        TEST(door_that_does_not_fit_is_refused),
        TEST(delete_takes_what_depends),
        TEST(delete_is_all_or_nothing),
        TEST(ids_are_never_used_again),
        TEST(selection_changes_the_revision_only_if_it_changes),
        TEST(view_is_activated_by_name_or_id),
        TEST(room_is_bounded_by_the_walls_around_it),
        TEST(room_with_a_boundary_needs_no_walls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
