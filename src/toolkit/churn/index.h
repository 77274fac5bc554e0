/* toolkit/churn/index.h: from hashes to numbers of things that lie in somebody else's array.
 *
 * Holds no keys: the caller compares, among the few whose hash begins alike.
 *
 *     for (id = churn_index_first(&index, hash, &at); id != CHURN_NONE;
 *          id = churn_index_next(&index, hash, &at)) …
 *
 * Thread: any, one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CHURN_NONE UINT32_MAX

typedef struct ChurnIndex {
    uint64_t *slots; /* upper half of the hash, 1 + number; 0: never used */
    size_t cap;      /* 0 or a power of two, at most two thirds of it in use */
    size_t n;
} ChurnIndex;

#define CHURN_INDEX_NULL ((ChurnIndex){NULL, 0, 0})

/* Releases the storage; index is then CHURN_INDEX_NULL. May run twice. */
void churn_index_deinit(ChurnIndex *index);

/* Forgets everything, keeps the storage. */
void churn_index_clear(ChurnIndex *index);

/* The numbers that may be meant, one after the other; CHURN_NONE at the end. */
uint32_t churn_index_first(const ChurnIndex *index, uint64_t hash, size_t *ret_at);
uint32_t churn_index_next(const ChurnIndex *index, uint64_t hash, size_t *at);

/* Adds a number that is not there. 0, -ENOMEM: unchanged. */
int churn_index_add(ChurnIndex *index, uint64_t hash, uint32_t id);

/* Spreads a number over all bits. Its inverse is known, so keys that somebody chooses must be
 * hashed with a seed before; numbers that we give out ourselves need not. */
uint64_t churn_index_mix(uint64_t key);

/* Makes room for one more item of `size` bytes behind the n in *items, which is *cap long. 0,
 * -ENOMEM: unchanged, also when there are more than numbers can tell. */
int churn_grow(void *items, size_t *cap, size_t n, size_t size);
