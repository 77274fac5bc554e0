#include "json/schema/namemap.h"

static NameMapSlot *namemap_slot(NameMapSlot *slots, uint32_t n_slots, HashSeed seed,
                                 uint64_t scope, Span name)
{
    uint64_t hash = hash_span(seed, name) ^ ((scope * 0x9E3779B97F4A7C15u) >> 24);
    uint32_t at = (uint32_t)hash & (n_slots - 1);

    while (slots[at].is_used && (slots[at].scope != scope || !span_equals(slots[at].name, name))) {
        at = (at + 1) & (n_slots - 1);
    }
    return &slots[at];
}

static bool namemap_grow(NameMap *map, Arena *arena)
{
    uint32_t n_slots = map->n_slots == 0 ? 16 : map->n_slots * 2;
    NameMapSlot *slots = arena_alloc_array(arena, n_slots, sizeof(*slots));

    if (slots == NULL) {
        return false;
    }
    if (map->n_slots == 0) {
        /* Only speed depends on the seed, so addresses, which the schema's author cannot know, are
         * random enough. */
        map->seed = (HashSeed){(uint64_t)(uintptr_t)arena, (uint64_t)(uintptr_t)slots};
    }
    for (uint32_t i = 0; i < map->n_slots; i++) {
        if (map->slots[i].is_used) {
            *namemap_slot(slots, n_slots, map->seed, map->slots[i].scope, map->slots[i].name) =
                map->slots[i];
        }
    }
    map->slots = slots;
    map->n_slots = n_slots;
    return true;
}

uint32_t *namemap_put(NameMap *map, Arena *arena, uint64_t scope, Span name, bool *ret_is_new)
{
    NameMapSlot *slot;

    if (map->n * 2 >= map->n_slots && !namemap_grow(map, arena)) {
        return NULL;
    }
    slot = namemap_slot(map->slots, map->n_slots, map->seed, scope, name);
    *ret_is_new = !slot->is_used;
    if (!slot->is_used) {
        *slot = (NameMapSlot){.name = name, .scope = scope, .is_used = true};
        map->n++;
    }
    return &slot->value;
}

bool namemap_find(const NameMap *map, uint64_t scope, Span name, uint32_t *ret)
{
    const NameMapSlot *slot;

    if (map->n_slots == 0) {
        return false;
    }
    slot = namemap_slot(map->slots, map->n_slots, map->seed, scope, name);
    if (slot->is_used) {
        *ret = slot->value;
    }
    return slot->is_used;
}
