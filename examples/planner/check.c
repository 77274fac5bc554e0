#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overlap.h"

const IssueDefinition issue_definitions[ISSUE_N_KINDS] = {
    [ISSUE_ZERO_LENGTH] = {"Planner.ZeroLengthWall", "7a0f6d6e-7f0b-4a3c-9c53-0c4f4d1c1a01", true},
    [ISSUE_DOOR_WITHOUT_WALL] = {"Planner.DoorWithoutWall", "7a0f6d6e-7f0b-4a3c-9c53-0c4f4d1c1a02",
                                 true},
    [ISSUE_OVERLAP] = {"Planner.OverlappingWalls", "7a0f6d6e-7f0b-4a3c-9c53-0c4f4d1c1a03", false},
    [ISSUE_DUPLICATE_MARK] = {"Planner.DuplicateMark", "7a0f6d6e-7f0b-4a3c-9c53-0c4f4d1c1a04",
                              false},
};

void issues_free(Issues *issues)
{
    free(issues->items);
    *issues = (Issues){.items = NULL};
}

bool issue_is_same(const Issue *a, const Issue *b)
{
    return a->kind == b->kind && a->n_ids == b->n_ids && a->ids[0] == b->ids[0] &&
           a->ids[1] == b->ids[1];
}

static int issues_add(Issues *issues, const Issue *issue, Fault *fault)
{
    if (issues->n >= ISSUES_MAX) {
        return fault_set(fault, FAULT_TRANSACTION, "More than %d failures", ISSUES_MAX);
    }
    /* Grows at each power of two. */
    if ((issues->n & (issues->n - 1)) == 0) {
        size_t n = issues->n == 0 ? 1 : 2 * issues->n;
        Issue *items = realloc(issues->items, n * sizeof(*items));

        if (items == NULL) {
            return fault_memory(fault);
        }
        issues->items = items;
    }
    issues->items[issues->n++] = *issue;
    return 0;
}

/* ---- The checks ------------------------------------------------------------------------- */

/* ?1 in all of them: look at everything, and not only at what this transaction has touched. A pair
 * of which both were touched is found once. */
#define IS_TOUCHED(what, id)                                                                       \
    "EXISTS (SELECT 1 FROM temp.touched AS t WHERE t.what = '" what "' AND t.id = " id ")"
#define IS_PAIR(what, newer, older)                                                                \
    "(?1 OR " IS_TOUCHED(what, newer) ") AND " older " <> " newer " AND (" older " < " newer       \
                                      " OR (NOT ?1 AND NOT " IS_TOUCHED(what, older) "))"
#define IS_NOT_DISMISSED(kind, newer, older)                                                       \
    "NOT EXISTS (SELECT 1 FROM dismissed WHERE warning = '" kind "' AND first_id = min(" newer     \
    ", " older ") AND second_id = max(" newer ", " older "))"

static int check_lengths(Store *store, bool all, Issues *issues, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT id FROM walls WHERE (?1 OR " IS_TOUCHED(
                            "wall", "walls.id") ")"
                                                " AND (start_x - end_x) * (start_x - end_x) + "
                                                "(start_y - end_y) * (start_y - end_y)"
                                                " < ?2 * ?2 ORDER BY id",
                        "id", (int64_t)all, MIN_LENGTH_FT);

    while (r == 0 && (r = store_step(store, fault, row)) == 1) {
        Issue issue = {
            .kind = ISSUE_ZERO_LENGTH, .ids = {sqlite3_column_int64(row, 0)}, .n_ids = 1};

        (void)snprintf(issue.text, sizeof(issue.text),
                       "Wall %lld has no length: it ends where it begins.",
                       (long long)issue.ids[0]);
        r = issues_add(issues, &issue, fault);
    }
    (void)sqlite3_finalize(row);
    return r;
}

/* Of all doors: what they lost may be gone, and is not among what was touched. */
static int check_doors(Store *store, Issues *issues, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT doors.id, wall_id, walls.id IS NULL FROM doors"
                        " LEFT JOIN walls ON walls.id = wall_id WHERE walls.id IS NULL"
                        " OR distance - width / 2 < -?1"
                        " OR (distance + width / 2 > ?1 AND"
                        "  (distance + width / 2 - ?1) * (distance + width / 2 - ?1)"
                        "  > (start_x - end_x) * (start_x - end_x)"
                        "  + (start_y - end_y) * (start_y - end_y)) ORDER BY doors.id",
                        "d", SAME_POINT_FT);

    while (r == 0 && (r = store_step(store, fault, row)) == 1) {
        Issue issue = {
            .kind = ISSUE_DOOR_WITHOUT_WALL, .ids = {sqlite3_column_int64(row, 0)}, .n_ids = 1};

        (void)snprintf(
            issue.text, sizeof(issue.text),
            sqlite3_column_int(row, 2) != 0
                ? "Door %lld has no wall: wall %lld is not there."
                : "Door %lld has no wall where it stands: wall %lld does not reach there.",
            (long long)issue.ids[0], (long long)sqlite3_column_int64(row, 1));
        r = issues_add(issues, &issue, fault);
    }
    (void)sqlite3_finalize(row);
    return r;
}

/* Boxes that touch; the rest is geometry. */
#define BOXES_TOUCH(c)                                                                             \
    "min(a.start_" c ", a.end_" c ") <= max(b.start_" c ", b.end_" c ") + ?2"                      \
    " AND min(b.start_" c ", b.end_" c ") <= max(a.start_" c ", a.end_" c ") + ?2"

static int check_overlaps(Store *store, bool all, Issues *issues, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(
        store, fault, &row,
        "SELECT b.id, a.id, " OVERLAP_COLUMNS("a") ", " OVERLAP_COLUMNS(
            "b") " FROM walls AS a JOIN walls AS b ON b.level_id = a.level_id"
                 " WHERE " IS_PAIR("wall", "a.id", "b.id") " AND " BOXES_TOUCH(
                     "x") " AND " BOXES_TOUCH("y") " AND a.base_z < b.base_z + b.height AND "
                                                   "b.base_z < a.base_z + a.height"
                                                   " AND " IS_NOT_DISMISSED(
                                                       "Planner.OverlappingWalls", "a.id",
                                                       "b.id") " ORDER BY a.id, b.id",
        "id", (int64_t)all, SAME_POINT_FT);

    while (r == 0 && (r = store_step(store, fault, row)) == 1) {
        Issue issue = {.kind = ISSUE_OVERLAP,
                       .ids = {sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)},
                       .n_ids = 2};
        Overlap overlap;

        r = 0;
        if (overlap_find(overlap_line(row, 2), overlap_line(row, 6), &overlap)) {
            (void)snprintf(issue.text, sizeof(issue.text),
                           "Walls %lld and %lld overlap over %.4g ft.", (long long)issue.ids[0],
                           (long long)issue.ids[1], overlap.to - overlap.from);
            r = issues_add(issues, &issue, fault);
        }
    }
    (void)sqlite3_finalize(row);
    return r;
}

/* Each with the first one that has the same mark. */
static int check_marks(Store *store, bool all, Issues *issues, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT min(b.id), a.id, a.mark FROM elements AS a"
                        " JOIN elements AS b ON b.category = a.category AND b.mark = a.mark"
                        " WHERE " IS_PAIR("mark", "a.id", "b.id") " AND " IS_NOT_DISMISSED(
                            "Planner.DuplicateMark", "a.id", "b.id") " GROUP BY a.id ORDER BY a.id",
                        "i", (int64_t)all);

    while (r == 0 && (r = store_step(store, fault, row)) == 1) {
        Issue issue = {.kind = ISSUE_DUPLICATE_MARK,
                       .ids = {sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)},
                       .n_ids = 2};

        (void)snprintf(issue.text, sizeof(issue.text),
                       "Elements %lld and %lld have the same mark '%.100s'.",
                       (long long)issue.ids[0], (long long)issue.ids[1],
                       (const char *)sqlite3_column_text(row, 2));
        r = issues_add(issues, &issue, fault);
    }
    (void)sqlite3_finalize(row);
    return r;
}

static int check(Store *store, bool all, Issues *ret, Fault *fault)
{
    int r = check_lengths(store, all, ret, fault);

    if (r == 0) {
        r = check_doors(store, ret, fault);
    }
    if (r == 0) {
        r = check_overlaps(store, all, ret, fault);
    }
    return r == 0 ? check_marks(store, all, ret, fault) : r;
}

int check_changes(Store *store, Issues *ret, Fault *fault)
{
    return check(store, false, ret, fault);
}

int check_document(Store *store, Issues *ret, Fault *fault)
{
    return check(store, true, ret, fault);
}

int issue_dismiss(Store *store, const Issue *issue, Fault *fault)
{
    return store_run(store, fault,
                     "INSERT OR IGNORE INTO dismissed VALUES (?1, min(?2, ?3), max(?2, ?3))", "sii",
                     issue_definitions[issue->kind].id, issue->ids[0], issue->ids[1]);
}
