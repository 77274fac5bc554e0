/* toolkit/churn/shares.h: what each author did to each file, or to each folder.
 *
 * Thread: any, one at a time.
 */
#pragma once

#include "toolkit/churn/index.h"

#include <stddef.h>
#include <stdint.h>

typedef struct ChurnShare {
    uint32_t thing; /* file or folder */
    uint32_t author;
    uint32_t commits;
    uint64_t changes;
} ChurnShare;

typedef struct ChurnShares {
    ChurnShare *items;
    size_t n;
    size_t cap;
    ChurnIndex index;
} ChurnShares;

#define CHURN_SHARES_NULL ((ChurnShares){.items = NULL})

/* May run twice. */
void churn_shares_deinit(ChurnShares *shares);

/* Adds to a share, made if it is not there. 0, -ENOMEM. */
int churn_shares_add(ChurnShares *shares, uint32_t thing, uint32_t author, uint32_t commits,
                     uint64_t changes);

/* Joins the shares of one author in one thing, after things were given new numbers, and sorts: by
 * thing, then most commits, then author, who are numbered by name. Only once, at the end: nothing
 * can be added any more. */
void churn_shares_settle(ChurnShares *shares);
