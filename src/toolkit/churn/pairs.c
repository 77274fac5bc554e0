#include "toolkit/churn/pairs.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

void churn_pairs_init(ChurnPairs *pairs, size_t max)
{
    *pairs = (ChurnPairs){.max = max};
}

void churn_pairs_deinit(ChurnPairs *pairs)
{
    pairs->items = mem_free(pairs->items);
    churn_index_deinit(&pairs->index);
    *pairs = (ChurnPairs){.max = pairs->max};
}

static uint64_t pairs_hash(const ChurnPair *pair)
{
    return churn_index_mix((uint64_t)pair->a << 32 | pair->b);
}

/* The least support by which at least a quarter can be forgotten. */
static uint32_t pairs_threshold(const ChurnPairs *pairs)
{
    uint32_t support = 1;

    for (;; support++) {
        size_t n = 0;

        for (size_t i = 0; i < pairs->n; i++) {
            n += pairs->items[i].support <= support;
        }
        if (n * 4 >= pairs->n) {
            return support;
        }
    }
}

static int pairs_forget(ChurnPairs *pairs)
{
    uint32_t support = pairs_threshold(pairs);
    size_t n = 0;

    churn_index_clear(&pairs->index);
    for (size_t i = 0; i < pairs->n; i++) {
        if (pairs->items[i].support > support) {
            int r = churn_index_add(&pairs->index, pairs_hash(&pairs->items[i]), (uint32_t)n);

            if (r != 0) {
                return err_pass(r);
            }
            pairs->items[n++] = pairs->items[i];
        }
    }
    pairs->n = n;
    pairs->missing += support;
    return 0;
}

static int pairs_add_one(ChurnPairs *pairs, uint32_t a, uint32_t b)
{
    ChurnPair pair = {a < b ? a : b, a < b ? b : a, 1};
    uint64_t hash = pairs_hash(&pair);
    size_t at = 0;
    uint32_t id = churn_index_first(&pairs->index, hash, &at);
    int r = 0;

    while (id != CHURN_NONE) {
        if (pairs->items[id].a == pair.a && pairs->items[id].b == pair.b) {
            pairs->items[id].support++;
            return 0;
        }
        id = churn_index_next(&pairs->index, hash, &at);
    }
    if (pairs->n >= pairs->max) {
        r = pairs_forget(pairs);
    }
    if (r == 0) {
        r = churn_grow(&pairs->items, &pairs->cap, pairs->n, sizeof(*pairs->items));
    }
    if (r == 0) {
        r = churn_index_add(&pairs->index, hash, (uint32_t)pairs->n);
    }
    if (r != 0) {
        return err_pass(r);
    }
    pairs->items[pairs->n++] = pair;
    return 0;
}

int churn_pairs_add(ChurnPairs *pairs, const uint32_t *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            int r = pairs_add_one(pairs, files[i], files[k]);

            if (r != 0) {
                return err_pass(r);
            }
        }
    }
    return 0;
}

static int pairs_by_files(const void *x, const void *y)
{
    const ChurnPair *a = x;
    const ChurnPair *b = y;

    if (a->a != b->a) {
        return a->a < b->a ? -1 : 1;
    }
    return a->b < b->b ? -1 : a->b > b->b;
}

void churn_pairs_settle(ChurnPairs *pairs)
{
    size_t n = 0;

    churn_index_deinit(&pairs->index);
    for (size_t i = 0; i < pairs->n; i++) {
        ChurnPair pair = pairs->items[i];

        if (pair.a != pair.b) {
            pairs->items[n++] = (ChurnPair){pair.a < pair.b ? pair.a : pair.b,
                                            pair.a < pair.b ? pair.b : pair.a, pair.support};
        }
    }
    pairs->n = n;
    if (n == 0) {
        return;
    }
    qsort(pairs->items, n, sizeof(*pairs->items), pairs_by_files);
    n = 0;
    for (size_t i = 1; i < pairs->n; i++) {
        if (pairs_by_files(&pairs->items[n], &pairs->items[i]) == 0) {
            pairs->items[n].support += pairs->items[i].support;
        } else {
            pairs->items[++n] = pairs->items[i];
        }
    }
    pairs->n = n + 1;
}
