/* tests/crash/crash.h: a process with a queue that is killed, and another that looks what is left.
 *
 * The child runs producers and workers, and writes down what the queue has told it, each line with
 * one write to a file that survives the child. The parent kills it (or a step of the queue does),
 * and holds the queue that it finds against what was written down.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Files of one store. */
typedef struct CrashPlace {
    char folder[64];
    char queue[80];
    char log[88];  /* SQLite's, beside it */
    char told[80]; /* what was acknowledged: "E id sum", "D id state sum", "C id" */
    char runs[80]; /* what was about to run: "R id fence is_idempotent" */
} CrashPlace;

void crash_place_name(CrashPlace *place, const char *folder);

/* xorshift; the state is not 0. */
uint64_t crash_random(uint64_t *state);
uint64_t crash_sum(const char *p, size_t n); /* FNV-1a */

/* ---- the child (child.c) ---- */

typedef struct CrashPlan {
    CrashPlace place;
    uint64_t seed;
    char step[32];       /* end at this step of the queue; "": when somebody kills it */
    unsigned step_count; /* the so manieth time */
    bool is_disk_full;   /* files cannot grow for a while */
    bool is_drain;       /* workers only, until nothing is ready */
    int ready_fd;        /* a byte when the queue is open; -1: nobody wants to know */
} CrashPlan;

/* Does not return but by the orderly end of a drain, or of a plan whose step never came. */
int crash_child(const CrashPlan *plan);

/* ---- what is left (check.c) ---- */

typedef struct CrashCounts {
    size_t n_jobs;      /* acknowledged */
    size_t n_results;   /* acknowledged */
    size_t n_cancelled; /* acknowledged */
    size_t n_runs;
    size_t n_lost;      /* acknowledged, and not there */
    size_t n_changed;   /* there, and not what was acknowledged */
    size_t n_twice;     /* ran twice, and must not */
    size_t n_uncounted; /* the queue's own counts are not what is in it */
    size_t n_stuck;     /* after a drain: neither over nor waiting for their time */
} CrashCounts;

/* 0: the queue could be opened, and counts say the rest (they are of the whole store). */
int crash_check(const CrashPlace *place, bool is_drained, CrashCounts *ret);

/* ---- the log (log.c) ---- */

/* Where the last commit of SQLite's log ends; 0: there is none. *ret_third_last: where the commit
 * ends behind which two more follow; 0: there are fewer. */
uint64_t crash_log_committed(const CrashPlace *place, uint64_t *ret_third_last);

/* Other bytes where nothing is committed: garbage behind, or the rest cut or garbled. */
bool crash_log_tear(const CrashPlace *place, uint64_t *random);

/* In a copy: garbles what is committed, and opens it. 1: it was found; 0: it was not; -1: there was
 * too little to garble. */
int crash_log_garble(const CrashPlace *place, uint64_t *random);
