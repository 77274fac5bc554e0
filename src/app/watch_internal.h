/* app/watch_internal.h: what watch.c (counts) and watch_metrics.c (writes) share. */
#pragma once

#include "app/watch.h"

/* Series that names did not find room in, one a verb, lie behind the others. */
#define WATCH_OTHER "other"

/* A bound of the histogram: in nanoseconds, and as a label says it, in seconds. */
typedef struct WatchBound {
    uint64_t ns;
    const char *label;
} WatchBound;

extern const WatchBound watch_bounds[WATCH_N_BOUNDS];

/* The record of calls that it tells; NULL: none. */
const Audit *watch_audit(const Watch *watch);

/* Lines that it has lost, and those before it. */
uint64_t watch_n_audit_dropped(const Watch *watch);
