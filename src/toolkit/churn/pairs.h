/* toolkit/churn/pairs.h: files that change in the same commits.
 *
 * Of n files n²/2 pairs could be met, so their number is bounded: a full table forgets the pairs
 * that were met least, and remembers how much can be missing by that.
 * Thread: any, one at a time.
 */
#pragma once

#include "toolkit/churn/index.h"

#include <stddef.h>
#include <stdint.h>

typedef struct ChurnPair {
    uint32_t a; /* a < b */
    uint32_t b;
    uint32_t support; /* commits with both, of those that were counted */
} ChurnPair;

typedef struct ChurnPairs {
    ChurnPair *items;
    size_t n;
    size_t cap;
    size_t max;
    uint32_t missing; /* at most so many commits are missing in the support of any pair */
    ChurnIndex index;
} ChurnPairs;

/* Empty; allocates nothing yet. */
void churn_pairs_init(ChurnPairs *pairs, size_t max);

/* May run twice. */
void churn_pairs_deinit(ChurnPairs *pairs);

/* One commit with n different files: every pair of them. 0, -ENOMEM. */
int churn_pairs_add(ChurnPairs *pairs, const uint32_t *files, size_t n);

/* Joins pairs that are the same since files were given new numbers (a < b need not hold before),
 * drops those of a file with itself. Only once, at the end: nothing can be added any more. */
void churn_pairs_settle(ChurnPairs *pairs);
