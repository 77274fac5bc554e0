/* How what is wrong with a document is mended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model.h"
#include "overlap.h"

/* Marks that are tried before it is given up. */
#define MARKS_TRIED 10000

/* A longer mark has no room for a larger number: 100 characters are the most. */
#define MARK_BYTES 90

/* It goes, with what depends on it. */
static int resolve_by_removal(Store *store, int64_t id, IdList *removed, bool *ret_worked,
                              Fault *fault)
{
    IdList ids = {.ids = NULL};
    int r = id_list_add(&ids, id, fault);

    if (r == 0) {
        r = model_delete(store, &ids, fault);
    }
    for (size_t i = 0; r == 0 && i < ids.n; i++) {
        r = id_list_add(removed, ids.ids[i], fault);
    }
    id_list_free(&ids);
    *ret_worked = r == 0;
    return r;
}

/* ---- Walls on top of each other --------------------------------------------------------- */

static int load_lines(Store *store, const Issue *issue, Line lines[2], bool *ret_found,
                      Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row,
                        "SELECT " OVERLAP_COLUMNS("a") ", " OVERLAP_COLUMNS(
                            "b") " FROM walls AS a, walls AS b WHERE a.id = ? AND b.id = ?",
                        "ii", issue->ids[1], issue->ids[0]);

    *ret_found = false;
    if (r == 0 && (r = store_step(store, fault, row)) == 1) {
        lines[0] = overlap_line(row, 0);
        lines[1] = overlap_line(row, 4);
        *ret_found = true;
        r = 0;
    }
    (void)sqlite3_finalize(row);
    return r;
}

/* Has the wall a door that reaches into that part of it? */
static int has_door(Store *store, int64_t wall, double from, double to, bool *ret, Fault *fault)
{
    int64_t n = 0;
    int r = store_number(store, fault, &n,
                         "SELECT count(*) FROM doors WHERE wall_id = ?1"
                         " AND distance + width / 2 > ?2 + ?4 AND distance - width / 2 < ?3 - ?4",
                         "iddd", wall, from, to, MIN_LENGTH_FT);

    *ret = n > 0;
    return r;
}

/* What another wall has at its beginning, or at its end, goes; its doors stay where they are. */
static int shorten(Store *store, int64_t wall, Line line, const Overlap *part, Fault *fault)
{
    Point along = point_direction(line.start, line.end);
    bool at_start = part->from <= SAME_POINT_FT;
    Point start = at_start ? point_add(line.start, along, part->to) : line.start;
    Point end = at_start ? line.end : point_add(line.start, along, part->from);
    int r = store_run(store, fault,
                      "UPDATE walls SET start_x = ?, start_y = ?, end_x = ?, end_y = ?"
                      " WHERE id = ?",
                      "ddddi", start.x, start.y, end.x, end.y, wall);

    return r == 0 && at_start
               ? store_run(store, fault,
                           "UPDATE doors SET distance = distance - ? WHERE wall_id = ?", "di",
                           part->to, wall)
               : r;
}

static int resolve_overlap(Store *store, const Issue *issue, IdList *removed, bool *ret_worked,
                           Fault *fault)
{
    int64_t wall = issue->ids[1];
    bool is_there = false;
    bool is_hindered = true;
    Overlap part = {.length = 0};
    Line lines[2];
    bool is_whole;
    int r = load_lines(store, issue, lines, &is_there, fault);

    if (r != 0 || !is_there || !overlap_find(lines[0], lines[1], &part)) {
        return r;
    }
    r = has_door(store, wall, part.from, part.to, &is_hindered, fault);
    is_whole = part.from <= SAME_POINT_FT && part.to >= part.length - SAME_POINT_FT;
    if (r != 0 || is_hindered ||
        (part.from > SAME_POINT_FT && part.to < part.length - SAME_POINT_FT)) {
        return r; /* in its middle: it would have to become two walls */
    }
    if (is_whole) {
        return resolve_by_removal(store, wall, removed, ret_worked, fault);
    }
    r = shorten(store, wall, lines[0], &part, fault);
    *ret_worked = r == 0;
    return r;
}

/* ---- Marks ------------------------------------------------------------------------------ */

/* "W1" is W and 1; what ends in no number counts from 1. */
static long split_mark(char *mark)
{
    size_t n = strlen(mark);
    size_t digits = 0;
    long number;

    while (digits < 6 && digits < n && mark[n - digits - 1] >= '0' && mark[n - digits - 1] <= '9') {
        digits++;
    }
    number = digits > 0 ? strtol(mark + n - digits, NULL, 10) : 1;
    mark[n - digits] = '\0';
    return number;
}

static int read_mark(Store *store, int64_t id, char *mark, Fault *fault)
{
    sqlite3_stmt *row = NULL;
    int r = store_query(store, fault, &row, "SELECT coalesce(mark, '') FROM elements WHERE id = ?",
                        "i", id);

    mark[0] = '\0';
    if (r == 0 && (r = store_step(store, fault, row)) == 1) {
        (void)snprintf(mark, NAME_SIZE, "%s", (const char *)sqlite3_column_text(row, 0));
        r = 0;
    }
    (void)sqlite3_finalize(row);
    return r;
}

static int resolve_mark(Store *store, const Issue *issue, bool *ret_worked, Fault *fault)
{
    int64_t id = issue->ids[1];
    char mark[NAME_SIZE];
    long number;
    int r = read_mark(store, id, mark, fault);

    if (r != 0 || mark[0] == '\0' || strlen(mark) > MARK_BYTES) {
        return r;
    }
    number = split_mark(mark);
    for (long i = 1; r == 0 && i <= MARKS_TRIED; i++) {
        char next[NAME_SIZE + 24];
        int64_t n = 0;

        (void)snprintf(next, sizeof(next), "%s%ld", mark, number + i);
        r = store_number(store, fault, &n,
                         "SELECT count(*) FROM elements WHERE mark = ?1 AND category ="
                         " (SELECT category FROM elements WHERE id = ?2)",
                         "si", next, id);
        if (r == 0 && n == 0) {
            *ret_worked = true;
            return store_run(store, fault, "UPDATE elements SET mark = ? WHERE id = ?", "si", next,
                             id);
        }
    }
    return r;
}

int issue_resolve(Store *store, const Issue *issue, IdList *removed, bool *ret_worked, Fault *fault)
{
    bool worked = false;
    int r = store_step_begin(store, fault);

    *ret_worked = false;
    if (r != 0) {
        return r;
    }
    switch (issue->kind) {
    case ISSUE_OVERLAP:
        r = resolve_overlap(store, issue, removed, &worked, fault);
        break;
    case ISSUE_DUPLICATE_MARK:
        r = resolve_mark(store, issue, &worked, fault);
        break;
    default:
        r = resolve_by_removal(store, issue->ids[0], removed, &worked, fault);
        break;
    }
    if (r != 0) {
        return r; /* all of it is rolled back */
    }
    *ret_worked = worked;
    return store_step_end(store, worked, fault);
}
