/* bench/report.h: what a driver prints: a table for people, JSON lines for programs, and which
 * goals are met. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum ReportGoal {
    REPORT_GOAL_NONE,
    REPORT_GOAL_AT_MOST,
    REPORT_GOAL_AT_LEAST
} ReportGoal;

/* One number of a line; the goal is on this number. */
typedef struct ReportFigure {
    const char *name; /* with its unit; the key in JSON and the head of the column */
    double value;
    int decimals;
    ReportGoal goal;
    double limit;
} ReportFigure;

enum {
    REPORT_MAX_FIGURES = 6,
    REPORT_MAX_MISSED = 64
};

typedef struct Report {
    FILE *json; /* NULL: no JSON */
    const char *row;
    bool has_heads;
    size_t n_met;
    size_t n_missed;
    char missed[REPORT_MAX_MISSED][96];
} Report;

/* Starts a row's table; borrows `row` until the next. */
void report_row(Report *report, const char *row, const char *what);

/* One line; figures of all lines of a row have the same names. */
void report_line(Report *report, const char *peer, const char *era, const ReportFigure *figures,
                 size_t n_figures);

void report_summary(const Report *report);
