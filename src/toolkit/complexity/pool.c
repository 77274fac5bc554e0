#include "toolkit/complexity/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/error.h"

/* So long that a chunk is rarely asked for, so short that small files cost little. */
#define POOL_CHUNK_BYTES ((size_t)1024 * 1024)

/* A pool that holds so much may become much larger. Its further chunks are parts of longer blocks:
 * these are the system's own, in huge pages where it has them (base/alloc.c), so that a gigabyte is
 * given back in milliseconds to whoever has given up and waits for that. */
#define POOL_SLABS_FROM  ((size_t)16 * 1024 * 1024)
#define POOL_SLAB_CHUNKS ((size_t)32)

#define POOL_ALIGN ((size_t)16)

struct PoolChunk {
    PoolChunk *next;
    size_t n; /* of all, this head included; 0 in a slab, whose chunks all have the same length */
    /* Blocks follow; each begins with its PoolHead, and what its user sees is aligned. */
};

struct PoolSlab {
    PoolSlab *next;
    size_t n_used;
    /* Its chunks follow. */
};

/* In front of each block: how many bytes its user may have, a multiple of 8. */
typedef struct PoolHead {
    uint64_t n;
} PoolHead;

/* In that number: the block is as long as the heap's own, but lies in the reserve. */
#define POOL_IN_RESERVE ((uint64_t)1)

/* A block of the heap's own; its PoolHead is the last member, right before the user's bytes. */
struct PoolLarge {
    PoolLarge *next;
    PoolLarge **at; /* what points here */
    uint64_t unused;
    PoolHead head;
};

static_assert(sizeof(PoolHead) == 8, "a head and a block of 8 + 16 k bytes make up 16 (k + 1)");
static_assert(sizeof(PoolChunk) % POOL_ALIGN == 0, "a chunk's first block is aligned");
static_assert(sizeof(PoolSlab) % POOL_ALIGN == 0, "a slab's first chunk is aligned");
static_assert(sizeof(PoolLarge) % POOL_ALIGN == 0, "what follows is aligned");

static PoolHead *pool_head(void *p)
{
    return (PoolHead *)p - 1;
}

/* ---- sizes: what a user asks for becomes 8 + 16 k bytes, so that its end is where the next head
 * may stand ---- */

static size_t pool_small_list(size_t n)
{
    return (n + POOL_ALIGN / 2 - 1) / POOL_ALIGN;
}

static size_t pool_small_size(size_t list)
{
    return list * POOL_ALIGN + POOL_ALIGN / 2;
}

/* The smallest power of two that holds n and a head, less that. */
static size_t pool_medium(size_t n, size_t *ret_list)
{
    size_t size = 2048;
    size_t list = 0;

    while (size - sizeof(PoolHead) < n) {
        size *= 2;
        list++;
    }
    *ret_list = list;
    return size - sizeof(PoolHead);
}

/* Where blocks of n bytes wait, and how long they are. */
TW_INLINE void **pool_list(ComplexityPool *pool, size_t n, size_t *ret_n)
{
    size_t list;

    if (TW_LIKELY(n <= POOL_SMALL_BYTES)) {
        list = pool_small_list(n);
        *ret_n = pool_small_size(list);
        return &pool->free_small[list];
    }
    *ret_n = pool_medium(n, &list);
    return &pool->free_medium[list];
}

/* ---- chunks ---- */

static PoolChunk *pool_new_chunk(size_t n)
{
    PoolChunk *chunk = mem_alloc(n);

    if (chunk != NULL) {
        *chunk = (PoolChunk){.n = n};
    }
    return chunk;
}

/* Of the last slab, or of another one. NULL: there is none, and a single chunk may do. */
static PoolChunk *pool_slab_chunk(ComplexityPool *pool)
{
    PoolSlab *slab = pool->slabs;
    PoolChunk *chunk;

    if (slab == NULL || slab->n_used == POOL_SLAB_CHUNKS) {
        slab = mem_alloc(sizeof(*slab) + POOL_SLAB_CHUNKS * POOL_CHUNK_BYTES);
        if (slab == NULL) {
            return NULL;
        }
        *slab = (PoolSlab){.next = pool->slabs};
        pool->slabs = slab;
    }
    chunk = (PoolChunk *)(void *)((char *)(slab + 1) + slab->n_used++ * POOL_CHUNK_BYTES);
    *chunk = (PoolChunk){.n = 0};
    return chunk;
}

static size_t pool_chunk_size(const PoolChunk *chunk)
{
    return chunk->n > 0 ? chunk->n : POOL_CHUNK_BYTES;
}

/* Another chunk to take blocks from; false: there is none any more. */
static bool pool_grow(ComplexityPool *pool)
{
    PoolChunk *chunk = pool->spare;

    if (chunk != NULL) {
        pool->spare = chunk->next;
    } else if (!pool->is_out && pool->bytes >= POOL_SLABS_FROM) {
        chunk = pool_slab_chunk(pool);
    }
    if (chunk == NULL && !pool->is_out) {
        chunk = pool_new_chunk(POOL_CHUNK_BYTES);
    }
    if (chunk == NULL) {
        pool->is_out = true;
        chunk = pool->reserve;
        pool->reserve = NULL;
        if (chunk == NULL) {
            return false;
        }
    }
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    pool->bytes += pool_chunk_size(chunk);
    pool->next = (char *)(chunk + 1) + POOL_ALIGN - sizeof(PoolHead);
    pool->end = (char *)chunk + pool_chunk_size(chunk);
    return true;
}

/* A new block of exactly n bytes. */
static void *pool_cut(ComplexityPool *pool, size_t n)
{
    size_t whole = sizeof(PoolHead) + n;
    PoolHead *head;

    while (TW_UNLIKELY((size_t)(pool->end - pool->next) < whole)) {
        if (!pool_grow(pool)) {
            return NULL;
        }
    }
    head = (PoolHead *)(void *)pool->next;
    head->n = n;
    pool->next += whole;
    return head + 1;
}

/* ---- large blocks ---- */

static PoolLarge *pool_large_of(void *p)
{
    return (PoolLarge *)p - 1;
}

static void pool_link(ComplexityPool *pool, PoolLarge *large)
{
    large->next = pool->large;
    large->at = &pool->large;
    if (large->next != NULL) {
        large->next->at = &large->next;
    }
    pool->large = large;
    pool->bytes += large->head.n;
}

static void pool_unlink(ComplexityPool *pool, PoolLarge *large)
{
    *large->at = large->next;
    if (large->next != NULL) {
        large->next->at = large->at;
    }
    pool->bytes -= large->head.n;
}

/* p: NULL, or one that is to become longer, and stays what it is if the heap gives nothing. */
static void *pool_resize_large(ComplexityPool *pool, void *p, size_t n)
{
    PoolLarge *large = NULL;
    size_t whole;

    if (pool->is_out || !mem_size_add(n, sizeof(*large) + POOL_ALIGN, &whole)) {
        return NULL;
    }
    if (p != NULL) {
        large = pool_large_of(p);
        pool_unlink(pool, large);
    }
    n = pool_small_size(pool_small_list(n));
    p = mem_realloc(large, sizeof(*large) + n);
    if (p != NULL) {
        large = p;
        large->head.n = n;
    } else {
        pool->is_out = true;
    }
    if (large != NULL) {
        pool_link(pool, large);
    }
    return p != NULL ? large + 1 : NULL;
}

static void *pool_alloc_large(ComplexityPool *pool, size_t n)
{
    void *p = pool_resize_large(pool, NULL, n);

    if (p == NULL && n < SIZE_MAX - 2 * POOL_ALIGN) {
        p = pool_cut(pool, pool_small_size(pool_small_list(n)));
        if (p != NULL) {
            pool_head(p)->n |= POOL_IN_RESERVE;
        }
    }
    return p;
}

/* What lies in the reserve although it is long has no list, and is not used again. */
static void pool_free_large(ComplexityPool *pool, void *p)
{
    if ((pool_head(p)->n & POOL_IN_RESERVE) == 0) {
        pool_unlink(pool, pool_large_of(p));
        (void)mem_free(pool_large_of(p));
    }
}

/* ---- blocks ---- */

void *complexity_pool_alloc(ComplexityPool *pool, size_t n)
{
    void **list;
    void *p;

    if (TW_UNLIKELY(n > POOL_MEDIUM_BYTES)) {
        return pool_alloc_large(pool, n);
    }
    list = pool_list(pool, n, &n);
    p = *list;
    if (p != NULL) {
        memcpy(list, p, sizeof(*list));
        return p;
    }
    return pool_cut(pool, n);
}

void *complexity_pool_alloc_zeroed(ComplexityPool *pool, size_t count, size_t size)
{
    size_t n;
    void *p;

    if (!mem_size_mul(count, size, &n)) {
        return NULL;
    }
    p = complexity_pool_alloc(pool, n);
    if (p != NULL) {
        memset(p, 0, n);
    }
    return p;
}

void complexity_pool_free(ComplexityPool *pool, void *p)
{
    void **list;
    size_t n;

    if (p == NULL) {
        return;
    }
    n = pool_head(p)->n;
    if (TW_UNLIKELY(n > POOL_MEDIUM_BYTES)) {
        pool_free_large(pool, p);
        return;
    }
    list = pool_list(pool, n, &n);
    memcpy(p, list, sizeof(*list));
    *list = p;
}

void *complexity_pool_realloc(ComplexityPool *pool, void *p, size_t n)
{
    void *fresh = NULL;
    size_t n_old;

    if (p == NULL) {
        return complexity_pool_alloc(pool, n);
    }
    n_old = pool_head(p)->n;
    if (n <= (n_old & ~POOL_IN_RESERVE)) {
        return p;
    }
    if (n_old > POOL_MEDIUM_BYTES && (n_old & POOL_IN_RESERVE) == 0) {
        fresh = pool_resize_large(pool, p, n);
        if (fresh != NULL) {
            return fresh;
        }
    }
    fresh = complexity_pool_alloc(pool, n);
    if (fresh != NULL) {
        memcpy(fresh, p, n_old & ~POOL_IN_RESERVE);
        complexity_pool_free(pool, p);
    }
    return fresh;
}

/* ---- the pool ---- */

int complexity_pool_ready(ComplexityPool *pool, size_t n_reserve)
{
    if (pool->reserve == NULL || pool->n_reserve != n_reserve) {
        pool->reserve = mem_free(pool->reserve);
        pool->reserve = pool_new_chunk(n_reserve);
        if (pool->reserve == NULL) {
            return err_raise(-ENOMEM);
        }
        pool->n_reserve = n_reserve;
    }
    return 0;
}

void complexity_pool_reset(ComplexityPool *pool, size_t keep_bytes)
{
    PoolChunk *chunk = pool->chunks;
    size_t kept = 0;

    for (PoolChunk *one = pool->spare; one != NULL; one = one->next) {
        kept += one->n;
    }
    while (chunk != NULL) {
        PoolChunk *next = chunk->next;

        if (chunk->n == 0) {
            /* It goes with its slab. */
        } else if (chunk->n == POOL_CHUNK_BYTES && kept + chunk->n <= keep_bytes) {
            kept += chunk->n;
            chunk->next = pool->spare;
            pool->spare = chunk;
        } else {
            (void)mem_free(chunk);
        }
        chunk = next;
    }
    while (pool->slabs != NULL) {
        PoolSlab *next = pool->slabs->next;

        (void)mem_free(pool->slabs);
        pool->slabs = next;
    }
    while (pool->large != NULL) {
        PoolLarge *large = pool->large;

        pool_unlink(pool, large);
        (void)mem_free(large);
    }
    pool->chunks = NULL;
    pool->next = pool->end = NULL;
    memset(pool->free_small, 0, sizeof(pool->free_small));
    memset(pool->free_medium, 0, sizeof(pool->free_medium));
    pool->bytes = 0;
    pool->is_out = false;
}

void complexity_pool_deinit(ComplexityPool *pool)
{
    complexity_pool_reset(pool, 0);
    while (pool->spare != NULL) {
        PoolChunk *next = pool->spare->next;

        (void)mem_free(pool->spare);
        pool->spare = next;
    }
    pool->reserve = mem_free(pool->reserve);
}
