/* base/arena.h: many allocations with one end.
 *
 * One arena per inbound message: what is decoded lives and dies with it. Nothing is freed singly.
 * After arena_reset the storage is kept as one block big enough for all that was used (up to a
 * stated size), so that a steady stream of messages allocates nothing. Thread: any, one at a time.
 */
#pragma once

#include "base/compiler.h"
#include "base/span.h"

#include <stddef.h>

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    ArenaBlock *block; /* current block, the older ones behind it */
    char *at;          /* next free byte of the current block */
    char *end;
    size_t n_held;    /* bytes in all blocks */
    size_t max_bytes; /* n_held never exceeds this */
} Arena;

/* An empty arena of maximum 0: every allocation fails until arena_init. */
#define ARENA_NULL ((Arena){NULL, NULL, NULL, 0, 0})

/* Alignment of every allocation; enough for any scalar and for SSE loads. */
#define ARENA_ALIGN 16

void arena_init(Arena *a, size_t max_bytes);

/* Releases everything; may run twice. */
void arena_deinit(Arena *a);

/* n bytes, 16-aligned, uninitialised, until reset or deinit. NULL if memory or max_bytes is
 * exhausted. */
TW_NODISCARD void *arena_alloc(Arena *a, size_t n);

/* count * size bytes, zeroed; NULL also on overflow. */
TW_NODISCARD void *arena_alloc_array(Arena *a, size_t count, size_t size);

/* Grows an allocation of old_n bytes to new_n, in place if it is the newest and there is room, else
 * by moving it. NULL on failure; p stays valid then, else only the result is. p may be NULL if
 * old_n is 0. */
TW_NODISCARD void *arena_grow(Arena *a, void *p, size_t old_n, size_t new_n);

/* Gives back the end of the newest allocation, which shrinks from old_n to new_n. */
void arena_shrink(Arena *a, void *p, size_t old_n, size_t new_n);

/* Copies s with a NUL behind it; ret.p is NULL on failure. */
Span arena_copy(Arena *a, Span s);

/* Puts a copy in the place of a string, or of a list that ends in NULL with its strings; NULL stays
 * NULL. 0, -ENOMEM. */
int arena_keep_string(Arena *a, const char **s);
int arena_keep_strings(Arena *a, const char *const **list);

/* Forgets all allocations. Keeps storage for the next round, at most keep_bytes of it. */
void arena_reset(Arena *a, size_t keep_bytes);
