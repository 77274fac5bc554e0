#include "toolkit/churn/shares.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

void churn_shares_deinit(ChurnShares *shares)
{
    shares->items = mem_free(shares->items);
    churn_index_deinit(&shares->index);
    *shares = CHURN_SHARES_NULL;
}

int churn_shares_add(ChurnShares *shares, uint32_t thing, uint32_t author, uint32_t commits,
                     uint64_t changes)
{
    uint64_t hash = churn_index_mix((uint64_t)thing << 32 | author);
    size_t at = 0;
    uint32_t id = churn_index_first(&shares->index, hash, &at);
    int r;

    while (id != CHURN_NONE &&
           (shares->items[id].thing != thing || shares->items[id].author != author)) {
        id = churn_index_next(&shares->index, hash, &at);
    }
    if (id == CHURN_NONE) {
        r = churn_grow(&shares->items, &shares->cap, shares->n, sizeof(*shares->items));
        if (r == 0) {
            r = churn_index_add(&shares->index, hash, (uint32_t)shares->n);
        }
        if (r != 0) {
            return err_pass(r);
        }
        id = (uint32_t)shares->n++;
        shares->items[id] = (ChurnShare){.thing = thing, .author = author};
    }
    shares->items[id].commits += commits;
    shares->items[id].changes += changes;
    return 0;
}

static int shares_by_pair(const void *x, const void *y)
{
    const ChurnShare *a = x;
    const ChurnShare *b = y;

    if (a->thing != b->thing) {
        return a->thing < b->thing ? -1 : 1;
    }
    return a->author < b->author ? -1 : a->author > b->author;
}

static int shares_by_rank(const void *x, const void *y)
{
    const ChurnShare *a = x;
    const ChurnShare *b = y;

    if (a->thing == b->thing && a->commits != b->commits) {
        return a->commits > b->commits ? -1 : 1;
    }
    return shares_by_pair(x, y);
}

void churn_shares_settle(ChurnShares *shares)
{
    size_t n = 0;

    churn_index_deinit(&shares->index);
    if (shares->n == 0) {
        return;
    }
    qsort(shares->items, shares->n, sizeof(*shares->items), shares_by_pair);
    for (size_t i = 1; i < shares->n; i++) {
        ChurnShare *last = &shares->items[n];

        if (shares_by_pair(last, &shares->items[i]) == 0) {
            last->commits += shares->items[i].commits;
            last->changes += shares->items[i].changes;
        } else {
            shares->items[++n] = shares->items[i];
        }
    }
    shares->n = n + 1;
    qsort(shares->items, shares->n, sizeof(*shares->items), shares_by_rank);
}
