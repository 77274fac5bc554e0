/* bench/rows.h: kinds of measurement, for every driver of a server on two pipes: a driver has a
 * table of rows, and each row names one of these functions or one of the driver's own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peer.h"
#include "report.h"

enum {
    ROW_MAX_ROUNDS = 64
};

/* What is measured, beside the floors. */
typedef struct RowSetup {
    const PeerProgram *programs; /* the floor first: ratios are to it */
    size_t n_programs;
    size_t depth;    /* requests in flight, if pipelined */
    size_t n_rounds; /* at most ROW_MAX_ROUNDS */
    uint64_t round_ns;
    size_t n_calls; /* of the memory row */
} RowSetup;

typedef struct Row Row;
struct Row {
    const char *name;
    const char *what;
    void (*run)(const Row *row, const RowSetup *setup, Report *report);
    size_t size;         /* of the argument string */
    double ratio_goal;   /* to the floor; 0: none */
    double cpu_goal;     /* microseconds a call; 0: none */
    double rss_goal_mib; /* of the memory row: after the first answer; 0: none */
    bool pipelined;      /* of the allocs rows */
    bool is_free;        /* of the rows of jobs: driver and servers are on whatever core they get */
};

/* Round trips, driver and server on one core; ratio_goal is at most. */
void row_round_trip(const Row *row, const RowSetup *setup, Report *report);

/* Several requests in flight, driver and server on two cores; ratio_goal is at least. */
void row_pipelined(const Row *row, const RowSetup *setup, Report *report);

/* Resident memory after the first answer, and its growth over setup->n_calls. */
void row_memory(const Row *row, const RowSetup *setup, Report *report);

/* Allocations a call of those servers that are ours. */
void row_allocs(const Row *row, const RowSetup *setup, Report *report);

/* Sorts the values. */
double row_median(double *values, size_t n);
