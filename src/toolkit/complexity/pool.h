/* toolkit/complexity/pool.h: memory for one file's tree, given back at once. Private.
 *
 * A parser makes and frees a block for almost every token. Here a block is a step of a pointer, or
 * one of its size that was freed; nothing but the longest goes back to the heap until the whole
 * pool is emptied, and nobody has to walk through a tree of millions of nodes for that. What the
 * pool holds is known at any time. Where the heap gives nothing more, a reserve that was taken
 * before is used, so that there is time to stop in order. Thread: any; a pool belongs to one at a
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Blocks up to here have a list for each step of 16 bytes. */
#define POOL_SMALL_BYTES ((size_t)1032)
#define POOL_N_SMALL     65

/* Above, for each power of two; above these, they are the heap's own. */
#define POOL_MEDIUM_BYTES ((size_t)256 * 1024 - 8)
#define POOL_N_MEDIUM     8

typedef struct PoolChunk PoolChunk;
typedef struct PoolSlab PoolSlab;
typedef struct PoolLarge PoolLarge;

typedef struct ComplexityPool {
    char *next; /* in the chunk that is in use */
    char *end;
    PoolChunk *chunks; /* that one first */
    PoolChunk *spare;  /* emptied ones, to be used again */
    PoolSlab *slabs;   /* the one that is in use first */
    PoolLarge *large;
    void *free_small[POOL_N_SMALL];
    void *free_medium[POOL_N_MEDIUM];
    PoolChunk *reserve; /* not in use yet */
    size_t n_reserve;
    size_t bytes; /* of the chunks in use and the large blocks */
    bool is_out;  /* the heap gave nothing */
} ComplexityPool;

#define COMPLEXITY_POOL_NULL ((ComplexityPool){.next = NULL})

/* Takes the reserve, if there is none of that size; so before each file. 0, -ENOMEM. */
int complexity_pool_ready(ComplexityPool *pool, size_t n_reserve);

/* Everything that was allocated is gone. Chunks worth keep_bytes stay for the next use. */
void complexity_pool_reset(ComplexityPool *pool, size_t keep_bytes);
void complexity_pool_deinit(ComplexityPool *pool);

/* As malloc and its relatives, of 16 bytes alignment; NULL only when the reserve is used up too. */
void *complexity_pool_alloc(ComplexityPool *pool, size_t n);
void *complexity_pool_alloc_zeroed(ComplexityPool *pool, size_t count, size_t size);
void *complexity_pool_realloc(ComplexityPool *pool, void *p, size_t n);
void complexity_pool_free(ComplexityPool *pool, void *p);
