#include "toolkit/churn/index.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define INDEX_MIN_CAP ((size_t)64)
#define GROW_MIN_CAP  ((size_t)16)

/* Numbers are 32 bits wide, and CHURN_NONE is none of them. */
#define GROW_MAX_ITEMS ((size_t)1 << 31)

void churn_index_deinit(ChurnIndex *index)
{
    index->slots = mem_free(index->slots);
    *index = CHURN_INDEX_NULL;
}

void churn_index_clear(ChurnIndex *index)
{
    if (index->cap > 0) {
        memset(index->slots, 0, index->cap * sizeof(*index->slots));
    }
    index->n = 0;
}

/* The slots from *at on, up to the first unused one, that have the hash's upper half. */
static uint32_t index_search(const ChurnIndex *index, uint64_t hash, size_t *at)
{
    for (size_t i = *at; index->slots[i] != 0; i = (i + 1) & (index->cap - 1)) {
        if (index->slots[i] >> 32 == hash >> 32) {
            *at = i;
            return (uint32_t)index->slots[i] - 1;
        }
    }
    return CHURN_NONE;
}

uint32_t churn_index_first(const ChurnIndex *index, uint64_t hash, size_t *ret_at)
{
    if (index->cap == 0) {
        return CHURN_NONE;
    }
    *ret_at = (size_t)(hash >> 32) & (index->cap - 1);
    return index_search(index, hash, ret_at);
}

uint32_t churn_index_next(const ChurnIndex *index, uint64_t hash, size_t *at)
{
    *at = (*at + 1) & (index->cap - 1);
    return index_search(index, hash, at);
}

static void index_put(ChurnIndex *index, uint64_t slot)
{
    size_t i = (size_t)(slot >> 32) & (index->cap - 1);

    while (index->slots[i] != 0) {
        i = (i + 1) & (index->cap - 1);
    }
    index->slots[i] = slot;
}

static int index_grow(ChurnIndex *index)
{
    ChurnIndex bigger = {.cap = index->cap == 0 ? INDEX_MIN_CAP : index->cap * 2, .n = index->n};

    bigger.slots = mem_alloc_array(bigger.cap, sizeof(*bigger.slots));
    if (bigger.slots == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < index->cap; i++) {
        if (index->slots[i] != 0) {
            index_put(&bigger, index->slots[i]);
        }
    }
    index->slots = mem_free(index->slots);
    *index = bigger;
    return 0;
}

int churn_index_add(ChurnIndex *index, uint64_t hash, uint32_t id)
{
    if (index->n >= index->cap / 3 * 2) {
        int r = index_grow(index);

        if (r != 0) {
            return err_pass(r);
        }
    }
    index_put(index, (hash >> 32) << 32 | ((uint64_t)id + 1));
    index->n++;
    return 0;
}

/* The finaliser of Stafford's "variant 13" (2011), as splitmix64 uses it. */
uint64_t churn_index_mix(uint64_t key)
{
    key += 0x9E3779B97F4A7C15u;
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBu;
    return key ^ (key >> 31);
}

int churn_grow(void *items, size_t *cap, size_t n, size_t size)
{
    size_t bigger = *cap == 0 ? GROW_MIN_CAP : *cap + *cap / 2;
    size_t n_bytes;
    void *p;

    if (n < *cap) {
        return 0;
    }
    if (bigger > GROW_MAX_ITEMS || !mem_size_mul(bigger, size, &n_bytes)) {
        return err_raise(-ENOMEM);
    }
    /* Copied as bytes: the array's pointer has a type of its own. */
    memcpy(&p, items, sizeof(p));
    p = mem_realloc(p, n_bytes);
    if (p == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(items, &p, sizeof(p));
    *cap = bigger;
    return 0;
}
