/* json/schema/vec.h: arrays that grow inside an arena while a schema is compiled. */
#pragma once

#include "base/arena.h"
#include "base/compiler.h"

#include <stdint.h>

/* Room for one more element in items, which holds n of cap; false if there is no memory (items is
 * then NULL, and its elements still belong to the arena). */
#define VEC_ROOM(arena, items, n, cap)                                                             \
    ((n) < (cap) || ((items) = vec_grow((arena), (items), (n), &(cap), sizeof(*(items)))) != NULL)

TW_INLINE void *vec_grow(Arena *arena, void *items, uint32_t n, uint32_t *cap, size_t size)
{
    uint32_t more = n < 8 ? 16 : n * 2;
    void *fresh;

    if (more <= n) {
        return NULL;
    }
    fresh = arena_grow(arena, items, (size_t)n * size, (size_t)more * size);
    if (fresh != NULL) {
        *cap = more;
    }
    return fresh;
}
