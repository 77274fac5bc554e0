/* bench/stdio_rows.h: what bench_stdio measures, one function a kind of row. */
#pragma once

#include <stddef.h>

#include "stdio_peer.h"
#include "stdio_report.h"

enum {
    ROW_MAX_ROUNDS = 64
};

/* What is measured, beside the floors. */
typedef struct RowSetup {
    const PeerProgram *programs; /* the floor first: ratios are to it */
    size_t n_programs;
    const PeerProgram *empty;
    size_t n_rounds; /* at most ROW_MAX_ROUNDS */
    uint64_t round_ns;
    size_t n_calls; /* of the memory row */
} RowSetup;

typedef struct Row Row;
struct Row {
    const char *name;
    const char *what;
    void (*run)(const Row *row, const RowSetup *setup, Report *report);
    size_t size;       /* of the argument string */
    double ratio_goal; /* to the floor; 0: none */
    double cpu_goal;   /* microseconds a call; 0: none */
    bool pipelined;    /* of the allocs rows */
};

extern const Row rows[];
extern const size_t n_rows;
