/* What the floor-plan program finds wrong with a document, how it is mended, and that all of it can
 * be undone. */
#include "planner/plan.h"

#include "check.h"

/* ---- In a few words --------------------------------------------------------------------- */

/* What the open transaction has caused: "Planner.A 10 11; Planner.B 12". */
static const char *found(Plan *plan, bool all)
{
    static char text[2000];
    Issues issues = {.items = NULL};
    size_t n = 0;

    text[0] = '\0';
    assert_int_equal((all ? check_document : check_changes)(&plan->store, &issues, &plan->fault),
                     0);
    for (size_t i = 0; i < issues.n; i++) {
        const Issue *issue = &issues.items[i];

        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %lld", n > 0 ? "; " : "",
                              issue_definitions[issue->kind].id + strlen("Planner."),
                              (long long)issue->ids[0]);
        if (issue->n_ids > 1) {
            n += (size_t)snprintf(text + n, sizeof(text) - n, " %lld", (long long)issue->ids[1]);
        }
        assert_true(issue->text[0] != '\0');
    }
    issues_free(&issues);
    return text;
}

static const char *caused(Plan *plan)
{
    return found(plan, false);
}

static const char *is_left(Plan *plan)
{
    return found(plan, true);
}

/* Mends the first one; whether that worked. */
static bool mend(Plan *plan)
{
    Issues issues = {.items = NULL};
    IdList removed = {.ids = NULL};
    bool worked = false;

    assert_int_equal(check_changes(&plan->store, &issues, &plan->fault), 0);
    assert_true(issues.n > 0);
    assert_int_equal(issue_resolve(&plan->store, &issues.items[0], &removed, &worked, &plan->fault),
                     0);
    for (size_t i = 0; i < removed.n; i++) {
        int64_t n = -1;

        assert_int_equal(store_number(&plan->store, &plan->fault, &n,
                                      "SELECT count(*) FROM elements WHERE id = ?", "i",
                                      removed.ids[i]),
                         0);
        assert_int_equal(n, 0);
    }
    id_list_free(&removed);
    issues_free(&issues);
    return worked;
}

/* In the open transaction. */
static int64_t add_wall(Plan *plan, double x1, double y1, double x2, double y2, const char *mark)
{
    NewWall wall = {.start = {x1, y1, 0}, .end = {x2, y2, 0}, .height = 8, .mark = mark};
    int64_t id = 0;

    assert_int_equal(model_create_wall(&plan->store, &wall, &id, &plan->fault), 0);
    return id;
}

static void mark(Plan *plan, int64_t id, const char *text)
{
    assert_int_equal(model_set_mark(&plan->store, &(IdList){&id, 1}, text, &plan->fault), 0);
}

static void move(Plan *plan, int64_t id, double x, double y)
{
    assert_int_equal(model_move(&plan->store, &(IdList){&id, 1}, (Point){x, y}, &plan->fault), 0);
}

/* All that is in the document, as one number that any change changes. */
static int64_t digest(Plan *plan)
{
    static const char *const queries[] = {
        "SELECT coalesce(sum(id * 31 + length(coalesce(mark, '')) * 7), 0) FROM elements",
        "SELECT coalesce(sum(id * (start_x * 3 + start_y * 5 + end_x * 7 + end_y * 11 + height)),"
        " 0) * 64 FROM walls",
        "SELECT coalesce(sum(id * (distance * 3 + width + wall_id)), 0) * 64 FROM doors",
        "SELECT coalesce(sum(id * (x * 3 + y)), 0) * 64 FROM rooms",
        "SELECT count(*) FROM dismissed",
        "SELECT revision FROM document",
    };
    int64_t sum = 0;

    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        sum = sum * 1009 + plan_number(plan, queries[i]);
    }
    return sum;
}

/* ---- Walls of no length ----------------------------------------------------------------- */

static void wall_without_length_is_an_error(void **state)
{
    static const double ends[][2] = {{1, 1}, {1.001, 1}, {1, 0.999}};
    Plan *plan = *state;

    assert_true(issue_definitions[ISSUE_ZERO_LENGTH].is_error);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        int64_t id;
        char wanted[80];

        plan_begin(plan);
        id = add_wall(plan, 1, 1, ends[i][0], ends[i][1], NULL);
        (void)snprintf(wanted, sizeof(wanted), "ZeroLengthWall %lld", (long long)id);
        assert_string_equal(caused(plan), wanted);
        store_rollback(&plan->store, "test");
    }
    plan_begin(plan);
    (void)add_wall(plan, 1, 1, 1.01, 1, NULL);
    assert_string_equal(caused(plan), "");
    plan_commit(plan);
}

static void wall_without_length_is_mended_by_removal(void **state)
{
    Plan *plan = *state;

    plan_begin(plan);
    (void)add_wall(plan, 1, 1, 1, 1, NULL);
    assert_true(mend(plan));
    assert_string_equal(caused(plan), "");
    plan_commit(plan);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM walls"), 0);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM elements"), 9);
}

/* ---- Doors without a wall --------------------------------------------------------------- */

static void door_beyond_its_wall_is_an_error(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);
    int64_t door = plan_door(plan, wall, 5);
    char wanted[80];

    (void)snprintf(wanted, sizeof(wanted), "DoorWithoutWall %lld", (long long)door);
    assert_true(issue_definitions[ISSUE_DOOR_WITHOUT_WALL].is_error);
    plan_begin(plan);
    move(plan, door, 3.5, 99);
    assert_string_equal(caused(plan), ""); /* its edge is at the end of the wall */
    move(plan, door, 0.5, 0);
    assert_string_equal(caused(plan), wanted);
    move(plan, door, -8, 0);
    assert_string_equal(caused(plan), wanted);
    assert_true(mend(plan));
    assert_string_equal(caused(plan), "");
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM doors"), 0);
    store_rollback(&plan->store, "test");
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM doors WHERE distance = 5"), 1);
}

static void door_whose_wall_is_gone_is_an_error(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);
    int64_t door = plan_door(plan, wall, 5);
    char wanted[80];

    (void)snprintf(wanted, sizeof(wanted), "DoorWithoutWall %lld", (long long)door);
    plan_begin(plan);
    assert_int_equal(
        store_run(&plan->store, &plan->fault, "DELETE FROM elements WHERE id = ?", "i", wall), 0);
    assert_string_equal(caused(plan), wanted);
    assert_true(mend(plan));
    assert_string_equal(caused(plan), "");
    plan_commit(plan);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM elements"), 9);
}

/* ---- Walls on top of each other --------------------------------------------------------- */

static void walls_that_overlap_are_found(void **state)
{
    static const struct {
        double line[4];
        bool is_overlap;
    } cases[] = {
        {{0, 0, 10, 0}, true},      {{10, 0, 0, 0}, true},      {{2, 0, 5, 0}, true},
        {{-5, 0, 3, 0}, true},      {{5, 0, 20, 0}, true},      {{-5, 0, 20, 0}, true},
        {{2, 0.01, 5, 0.01}, true}, {{10, 0, 20, 0}, false},    {{-5, 0, 0, 0}, false},
        {{0, 0, 0, 9}, false},      {{5, -5, 5, 5}, false},     {{2, 0.5, 5, 0.5}, false},
        {{0, 0, 10, 0.5}, false},   {{9.999, 0, 12, 0}, false}, {{11, 0, 12, 0}, false},
    };
    Plan *plan = *state;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);

    assert_false(issue_definitions[ISSUE_OVERLAP].is_error);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const double *line = cases[i].line;
        char wanted[80] = "";
        int64_t id;

        plan_begin(plan);
        id = add_wall(plan, line[0], line[1], line[2], line[3], NULL);
        if (cases[i].is_overlap) {
            (void)snprintf(wanted, sizeof(wanted), "OverlappingWalls %lld %lld", (long long)wall,
                           (long long)id);
        }
        if (strcmp(caused(plan), wanted) != 0) {
            fail_msg("case %zu: '%s', not '%s'", i, caused(plan), wanted);
        }
        store_rollback(&plan->store, "test");
    }
}

static void walls_of_other_levels_and_heights_do_not_overlap(void **state)
{
    NewWall above = {.start = {0, 0, 0}, .end = {10, 0, 0}, .height = 8, .level_name = "Level 2"};
    NewWall high = {.start = {0, 0, 8}, .end = {10, 0, 8}, .height = 8};
    Plan *plan = *state;
    int64_t id = 0;

    (void)plan_wall(plan, 0, 0, 10, 0);
    plan_begin(plan);
    assert_int_equal(model_create_wall(&plan->store, &above, &id, &plan->fault), 0);
    assert_int_equal(model_create_wall(&plan->store, &high, &id, &plan->fault), 0);
    assert_string_equal(caused(plan), "");
    plan_commit(plan);
}

static void overlap_is_told_once_and_only_by_who_causes_it(void **state)
{
    Plan *plan = *state;

    plan_begin(plan);
    (void)add_wall(plan, 0, 0, 10, 0, NULL);
    (void)add_wall(plan, 5, 0, 15, 0, NULL);
    assert_string_equal(caused(plan), "OverlappingWalls 10 11");
    plan_commit(plan);
    plan_begin(plan);
    (void)add_wall(plan, 0, 5, 10, 5, NULL);
    assert_string_equal(caused(plan), "");
    assert_string_equal(is_left(plan), "OverlappingWalls 10 11");
    move(plan, 10, 0, 0); /* the older one is touched, and so the one to be mended */
    assert_string_equal(caused(plan), "OverlappingWalls 11 10");
    plan_commit(plan);
}

static void overlap_is_mended(void **state)
{
    static const struct {
        double line[4];
        bool works;
        double left[4]; /* of it; nothing if both ends are the same */
    } cases[] = {
        {{2, 0, 5, 0}, true, {0}},
        {{0, 0, 10, 0}, true, {0}},
        {{5, 0, 20, 0}, true, {10, 0, 20, 0}},
        {{20, 0, 5, 0}, true, {20, 0, 10, 0}},
        {{-5, 0, 3, 0}, true, {-5, 0, 0, 0}},
        {{-5, 0, 20, 0}, false, {-5, 0, 20, 0}},
    };
    Plan *plan = *state;

    (void)plan_wall(plan, 0, 0, 10, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const double *line = cases[i].line;
        const double *left = cases[i].left;
        bool is_gone = left[0] == left[2] && left[1] == left[3];
        char sql[300];
        int64_t id;

        plan_begin(plan);
        id = add_wall(plan, line[0], line[1], line[2], line[3], NULL);
        assert_int_equal(mend(plan), cases[i].works);
        assert_string_equal(caused(plan), cases[i].works ? "" : is_left(plan));
        (void)snprintf(sql, sizeof(sql),
                       "SELECT count(*) FROM walls WHERE id = %lld AND abs(start_x - %g) < 0.001"
                       " AND abs(start_y - %g) < 0.001 AND abs(end_x - %g) < 0.001"
                       " AND abs(end_y - %g) < 0.001",
                       (long long)id, left[0], left[1], left[2], left[3]);
        if (plan_number(plan, sql) != (is_gone ? 0 : 1)) {
            fail_msg("case %zu", i);
        }
        store_rollback(&plan->store, "test");
    }
}

static void doors_stay_where_they_are_when_their_wall_is_shortened(void **state)
{
    NewDoor door = {.distance = 12, .width = 3, .hinge = "start", .side = "left"};
    Plan *plan = *state;
    int64_t id = 0;

    (void)plan_wall(plan, 0, 0, 10, 0);
    plan_begin(plan);
    door.wall_id = add_wall(plan, 5, 0, 25, 0, NULL);
    assert_int_equal(model_create_door(&plan->store, &door, &id, &plan->fault), 0);
    assert_true(mend(plan));
    assert_string_equal(caused(plan), "");
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM doors WHERE distance = 7"), 1);
    store_rollback(&plan->store, "test");
    /* One in the part that would go. */
    door.distance = 4;
    plan_begin(plan);
    door.wall_id = add_wall(plan, 5, 0, 25, 0, NULL);
    assert_int_equal(model_create_door(&plan->store, &door, &id, &plan->fault), 0);
    assert_false(mend(plan));
    store_rollback(&plan->store, "test");
}

/* ---- Marks ------------------------------------------------------------------------------ */

static void same_mark_twice_in_a_category_is_found(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);
    int64_t other = plan_wall(plan, 0, 5, 10, 5);
    int64_t door = plan_door(plan, wall, 5);

    assert_false(issue_definitions[ISSUE_DUPLICATE_MARK].is_error);
    plan_begin(plan);
    mark(plan, wall, "A1");
    mark(plan, door, "A1");
    assert_string_equal(caused(plan), "");
    plan_commit(plan);
    plan_begin(plan);
    mark(plan, other, "A1");
    assert_string_equal(caused(plan), "DuplicateMark 10 11");
    mark(plan, other, "A2");
    assert_string_equal(caused(plan), "");
    mark(plan, other, NULL);
    assert_string_equal(caused(plan), "");
    plan_commit(plan);
}

static void mark_becomes_the_next_free_one(void **state)
{
    static const struct {
        const char *mark;
        const char *next;
    } cases[] = {{"W1", "W3"}, {"Wall", "Wall2"}, {"009", "10"}, {"7", "8"}};
    Plan *plan = *state;

    plan_begin(plan);
    (void)add_wall(plan, 0, 0, 10, 0, "W2");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double y = (double)(2 * i + 1);
        char sql[200];
        int64_t id;

        (void)add_wall(plan, 0, y, 10, y, cases[i].mark);
        id = add_wall(plan, 0, y + 1, 10, y + 1, cases[i].mark);
        assert_true(mend(plan));
        assert_string_equal(caused(plan), "");
        (void)snprintf(sql, sizeof(sql),
                       "SELECT count(*) FROM elements WHERE id = %lld AND mark = '%s'",
                       (long long)id, cases[i].next);
        if (plan_number(plan, sql) != 1) {
            fail_msg("case %zu", i);
        }
    }
    plan_commit(plan);
}

static void many_with_one_mark_are_each_told_with_the_first(void **state)
{
    Plan *plan = *state;

    plan_begin(plan);
    for (int i = 0; i < 4; i++) {
        (void)add_wall(plan, 0, i, 10, i, "W1");
    }
    assert_string_equal(caused(plan),
                        "DuplicateMark 10 11; DuplicateMark 10 12; DuplicateMark 10 13");
    plan_commit(plan);
}

/* ---- Warnings that stay, and that are let go -------------------------------------------- */

static void warning_that_was_let_go_is_not_told_again(void **state)
{
    Plan *plan = *state;
    Issues issues = {.items = NULL};

    plan_begin(plan);
    (void)add_wall(plan, 0, 0, 10, 0, "W1");
    (void)add_wall(plan, 0, 0, 10, 0, "W1");
    assert_string_equal(caused(plan), "OverlappingWalls 10 11; DuplicateMark 10 11");
    assert_int_equal(check_changes(&plan->store, &issues, &plan->fault), 0);
    assert_int_equal(issue_dismiss(&plan->store, &issues.items[0], &plan->fault), 0);
    assert_string_equal(caused(plan), "DuplicateMark 10 11");
    plan_commit(plan);
    assert_string_equal(is_left(plan), "DuplicateMark 10 11");
    issues_free(&issues);
    /* With the wall goes what was said about it. */
    plan_begin(plan);
    assert_int_equal(
        store_run(&plan->store, &plan->fault, "DELETE FROM elements WHERE id = 11", ""), 0);
    plan_commit(plan);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM dismissed"), 0);
}

static void too_many_failures_are_a_fault(void **state)
{
    Plan *plan = *state;
    Issues issues = {.items = NULL};

    plan_begin(plan);
    for (int i = 0; i <= ISSUES_MAX; i++) {
        (void)add_wall(plan, 1, i, 1, i, NULL);
    }
    assert_int_equal(check_changes(&plan->store, &issues, &plan->fault), -1);
    assert_string_equal(plan->fault.code, FAULT_TRANSACTION);
    issues_free(&issues);
    store_rollback(&plan->store, "test");
}

/* ---- Many at once, and undo ------------------------------------------------------------- */

static void doors_go_with_their_wall_and_are_moved_once(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);
    int64_t ids[] = {wall, plan_door(plan, wall, 5)};

    plan_begin(plan);
    assert_int_equal(model_move(&plan->store, &(IdList){ids, 2}, (Point){2, 3}, &plan->fault), 0);
    assert_string_equal(caused(plan), "");
    plan_commit(plan);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM walls JOIN doors WHERE start_x = 2"
                                       " AND end_y = 3 AND distance = 5"),
                     1);
}

static void copies_have_the_mark_and_the_place(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_box(plan, 16, 12);
    int64_t ids[] = {wall, plan_door(plan, wall, 4), plan_room(plan, "Hall", 8, 6)};
    IdList copies = {.ids = NULL};

    plan_begin(plan);
    mark(plan, wall, "W1");
    plan_commit(plan);
    plan_begin(plan);
    assert_int_equal(
        model_copy(&plan->store, &(IdList){ids, 3}, (Point){4, 1}, &copies, &plan->fault), 0);
    assert_int_equal(copies.n, 3);
    assert_string_equal(caused(plan), "DuplicateMark 10 16");
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM doors WHERE id = 17 AND distance = 8"
                                       " AND wall_id = 10"),
                     1);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM rooms WHERE id = 18 AND x = 12"), 1);
    plan_commit(plan);
    id_list_free(&copies);
}

static void what_has_no_place_is_refused(void **state)
{
    Plan *plan = *state;
    int64_t level = 1;
    int64_t none = 999;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);
    IdList copies = {.ids = NULL};

    plan_begin(plan);
    plan_refused(plan, model_move(&plan->store, &(IdList){&level, 1}, (Point){1, 1}, &plan->fault),
                 FAULT_API, "has no place");
    plan_begin(plan);
    plan_refused(
        plan, model_copy(&plan->store, &(IdList){&none, 1}, (Point){1, 1}, &copies, &plan->fault),
        FAULT_API, "999 not found");
    plan_begin(plan);
    plan_refused(plan, model_move(&plan->store, &(IdList){&wall, 1}, (Point){1e9, 1}, &plan->fault),
                 FAULT_API, "translation");
    id_list_free(&copies);
}

static void step_can_be_taken_back_by_itself(void **state)
{
    Plan *plan = *state;

    plan_begin(plan);
    (void)add_wall(plan, 0, 0, 10, 0, NULL);
    assert_int_equal(store_step_begin(&plan->store, &plan->fault), 0);
    (void)add_wall(plan, 0, 0, 10, 0, "W1");
    assert_string_equal(caused(plan), "OverlappingWalls 10 11");
    assert_int_equal(store_step_end(&plan->store, false, &plan->fault), 0);
    assert_string_equal(caused(plan), "");
    assert_int_equal(store_step_begin(&plan->store, &plan->fault), 0);
    (void)add_wall(plan, 0, 5, 10, 5, NULL);
    assert_int_equal(store_step_end(&plan->store, true, &plan->fault), 0);
    plan_commit(plan);
    assert_int_equal(plan_number(plan, "SELECT count(*) FROM walls"), 2);
}

static void rollback_undoes_everything(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_box(plan, 16, 12);
    int64_t door = plan_door(plan, wall, 4);
    IdList ids = {.ids = NULL};
    IdList copies = {.ids = NULL};
    int64_t before;

    (void)plan_room(plan, "Hall", 8, 6);
    before = digest(plan);
    plan_begin(plan);
    for (int64_t id = wall; id <= wall + 5; id++) {
        assert_int_equal(id_list_add(&ids, id, &plan->fault), 0);
    }
    mark(plan, wall, "W1");
    assert_int_equal(model_copy(&plan->store, &ids, (Point){0, 0}, &copies, &plan->fault), 0);
    assert_int_equal(model_move(&plan->store, &ids, (Point){3, 3}, &plan->fault), 0);
    move(plan, door, 99, 0);
    while (caused(plan)[0] != '\0') {
        assert_true(mend(plan));
    }
    ids.n = 4; /* the walls; the door has gone */
    assert_int_equal(model_delete(&plan->store, &ids, &plan->fault), 0);
    assert_true(digest(plan) != before);
    store_rollback(&plan->store, "test");
    assert_true(digest(plan) == before);
    assert_string_equal(is_left(plan), "");
    id_list_free(&ids);
    id_list_free(&copies);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plan_setup, plan_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(wall_without_length_is_an_error),
        TEST(wall_without_length_is_mended_by_removal),
        TEST(door_beyond_its_wall_is_an_error),
        TEST(door_whose_wall_is_gone_is_an_error),
        TEST(walls_that_overlap_are_found),
        TEST(walls_of_other_levels_and_heights_do_not_overlap),
        TEST(overlap_is_told_once_and_only_by_who_causes_it),
        TEST(overlap_is_mended),
        TEST(doors_stay_where_they_are_when_their_wall_is_shortened),
        TEST(same_mark_twice_in_a_category_is_found),
        TEST(mark_becomes_the_next_free_one),
        TEST(many_with_one_mark_are_each_told_with_the_first),
        TEST(warning_that_was_let_go_is_not_told_again),
        TEST(too_many_failures_are_a_fault),
        TEST(doors_go_with_their_wall_and_are_moved_once),
        TEST(copies_have_the_mark_and_the_place),
        TEST(what_has_no_place_is_refused),
        TEST(step_can_be_taken_back_by_itself),
        TEST(rollback_undoes_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
