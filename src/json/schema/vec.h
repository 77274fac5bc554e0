/* json/schema/vec.h: arrays that grow inside an arena while a schema is compiled. */
#pragma once

#include "base/arena.h"
#include "base/compiler.h"

#include <stdint.h>

/* Room for one more element in items, which holds n of cap; false if there is no memory, and then
 * items is as it was. */
#define VEC_ROOM(arena, items, n, cap)                                                             \
    ((n) < (cap) ||                                                                                \
     (((items) = vec_grow((arena), (items), (n), &(cap), sizeof(*(items)))) != NULL &&             \
      (n) < (cap)))

/* The array's new place; on failure the old one, and *cap unchanged. */
TW_INLINE void *vec_grow(Arena *arena, void *items, uint32_t n, uint32_t *cap, size_t size)
{
    uint32_t more = n < 8 ? 16 : n * 2;
    void *fresh;

    if (more <= n) {
        return items;
    }
    fresh = arena_grow(arena, items, (size_t)n * size, (size_t)more * size);
    if (fresh == NULL) {
        return items;
    }
    *cap = more;
    return fresh;
}
