/* bench/driver.h: what the drivers of servers on two pipes have in common: options, choice of rows
 * and peers, the order of events.
 *
 *     PROGRAM [--toolwire PATH] [--row NAME[,NAME…]] [--only PEER[,PEER…]] [--rounds N]
 *             [--round-ms N] [--calls N] [--json FILE] [--no-spin]
 *
 * All peers get the same system calls from the driver: the whole message is written, then bytes are
 * read until the newline. Rounds of all peers alternate and medians count; a ratio is the median of
 * the ratios of each round, so that a slow minute of the machine hits both sides. Nothing here
 * fails because of a figure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "peer.h"
#include "rows.h"

enum {
    DRIVER_MAX_PROGRAMS = 4
};

typedef struct Driver {
    const char *title;
    const char *peers; /* their names, for the usage */
    const Row *rows;
    size_t n_rows;
    size_t depth;          /* requests in flight, if pipelined */
    unsigned long n_calls; /* of the memory row, unless --calls says otherwise */
    bool no_spin;          /* as --no-spin: where what is measured has sessions of its own, which
                              the system weighs against ours as a whole, idle processes too */
    /* Fills the programs to measure, the floor first, and returns how many. `only`: what --only
     * said, for driver_is_listed. */
    size_t (*choose)(const char *toolwire, const char *only, PeerProgram *programs);
} Driver;

/* The whole of main. */
int driver_run(const Driver *driver, int argc, char **argv);

/* Is the name one of those between commas? No list (NULL) holds every name. */
bool driver_is_listed(const char *list, const char *name);
