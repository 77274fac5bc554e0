/* json/schema/namemap.h: numbers by name, within scopes. Inside json/schema only.
 *
 * The loader's index of URIs, anchors and the members of large objects: a schema of a megabyte may
 * hold twenty thousand of each. Lives in an arena; entries are never removed.
 */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct NameMapSlot {
    Span name;
    uint64_t scope;
    uint32_t value;
    bool is_used;
} NameMapSlot;

typedef struct NameMap {
    NameMapSlot *slots;
    uint32_t n;
    uint32_t n_slots; /* a power of two, or 0 */
    HashSeed seed;
} NameMap;

/* Where the name's value is, valid until the next call; *ret_is_new says that it was added now,
 * with the value 0. The name is borrowed for the map's life. NULL if there is no memory. */
uint32_t *namemap_put(NameMap *map, Arena *arena, uint64_t scope, Span name, bool *ret_is_new);

/* False if the name is not there. */
bool namemap_find(const NameMap *map, uint64_t scope, Span name, uint32_t *ret);
