#include "base/map.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Slots point at entries, holes included. A slot is thus never emptied between two rebuilds, so
 * that probing needs no mark for "deleted", and since slots are twice the entries, an empty slot
 * always ends it. */
struct MapEntry {
    char *key; /* owned, NUL-terminated; NULL in a hole */
    size_t n_key;
    uint64_t hash;
    void *value;
};

#define MAP_MIN_CAP 8

/* Slots hold 32 bits, and cap may be twice the number of entries. */
#define MAP_MAX_ENTRIES ((size_t)1 << 30)

void map_init(Map *map, HashSeed seed, size_t max_entries)
{
    assert(max_entries <= MAP_MAX_ENTRIES);
    *map = (Map){.seed = seed, .max_entries = max_entries};
}

void map_deinit(Map *map)
{
    for (size_t i = 0; i < map->n_used; i++) {
        map->entries[i].key = mem_free(map->entries[i].key);
    }
    map->entries = mem_free(map->entries);
    map->slots = mem_free(map->slots);
    *map = MAP_NULL;
}

static size_t map_slot_mask(const Map *map)
{
    return map->cap * 2 - 1;
}

static MapEntry *map_lookup(const Map *map, Span key, uint64_t hash)
{
    if (map->n == 0) {
        return NULL;
    }
    for (size_t i = (size_t)hash & map_slot_mask(map); map->slots[i] != 0;
         i = (i + 1) & map_slot_mask(map)) {
        MapEntry *entry = &map->entries[map->slots[i] - 1];

        if (entry->key != NULL && entry->hash == hash &&
            span_equals(span_make(entry->key, entry->n_key), key)) {
            return entry;
        }
    }
    return NULL;
}

static void map_link(Map *map, size_t index)
{
    size_t i = (size_t)map->entries[index].hash & map_slot_mask(map);

    while (map->slots[i] != 0) {
        i = (i + 1) & map_slot_mask(map);
    }
    map->slots[i] = (uint32_t)index + 1;
}

/* Moves the entries over the holes and fills the (zeroed) slots anew. */
static void map_rebuild(Map *map)
{
    size_t n = 0;

    for (size_t i = 0; i < map->n_used; i++) {
        if (map->entries[i].key != NULL) {
            map->entries[n] = map->entries[i];
            map_link(map, n);
            n++;
        }
    }
    map->n_used = n;
}

/* Makes room for one more entry. 0 or -ENOMEM, then the map is unchanged. */
static int map_make_room(Map *map)
{
    size_t cap = map->cap == 0 ? MAP_MIN_CAP : map->cap * 2;
    MapEntry *entries;
    uint32_t *slots;

    if (map->n_used < map->cap) {
        return 0;
    }
    /* Half of it holes: closing them is enough, and pays for itself with as many additions to come.
     */
    if (map->cap > 0 && map->n <= map->cap / 2) {
        memset(map->slots, 0, map->cap * 2 * sizeof(*map->slots));
        map_rebuild(map);
        return 0;
    }
    entries = mem_alloc_array(cap, sizeof(*entries));
    slots = mem_alloc_array(cap * 2, sizeof(*slots));
    if (entries == NULL || slots == NULL) {
        (void)mem_free(entries);
        (void)mem_free(slots);
        return err_raise(-ENOMEM);
    }
    if (map->n_used > 0) {
        memcpy(entries, map->entries, map->n_used * sizeof(*entries));
    }
    map->entries = mem_free(map->entries);
    map->slots = mem_free(map->slots);
    map->entries = entries;
    map->slots = slots;
    map->cap = cap;
    map_rebuild(map);
    return 0;
}

int map_add(Map *map, Span key, void *value)
{
    uint64_t hash = hash_span(map->seed, key);
    size_t with_nul;
    char *copy;
    int r;

    if (map_lookup(map, key, hash) != NULL) {
        return MAP_E_EXISTS;
    }
    if (map->n >= map->max_entries) {
        return MAP_E_FULL;
    }
    if (!mem_size_add(key.n, 1, &with_nul)) {
        return err_raise(-ENOMEM);
    }
    copy = mem_alloc(with_nul);
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    r = map_make_room(map);
    if (r != 0) {
        (void)mem_free(copy);
        return err_pass(r);
    }
    if (key.n > 0) {
        memcpy(copy, key.p, key.n);
    }
    copy[key.n] = '\0';
    map->entries[map->n_used] = (MapEntry){copy, key.n, hash, value};
    map_link(map, map->n_used);
    map->n_used++;
    map->n++;
    return 0;
}

bool map_replace(Map *map, Span key, void *value)
{
    MapEntry *entry = map_lookup(map, key, hash_span(map->seed, key));

    if (entry != NULL) {
        entry->value = value;
    }
    return entry != NULL;
}

bool map_find(const Map *map, Span key, void **ret_value)
{
    MapEntry *entry = map_lookup(map, key, hash_span(map->seed, key));

    if (entry != NULL && ret_value != NULL) {
        *ret_value = entry->value;
    }
    return entry != NULL;
}

void *map_get(const Map *map, Span key)
{
    void *value = NULL;

    (void)map_find(map, key, &value);
    return value;
}

void *map_remove(Map *map, Span key)
{
    MapEntry *entry = map_lookup(map, key, hash_span(map->seed, key));
    void *value;

    if (entry == NULL) {
        return NULL;
    }
    value = entry->value;
    entry->key = mem_free(entry->key);
    entry->value = NULL;
    map->n--;
    return value;
}

bool map_next(const Map *map, size_t *cursor, Span *ret_key, void **ret_value)
{
    while (*cursor < map->n_used) {
        const MapEntry *entry = &map->entries[(*cursor)++];

        if (entry->key != NULL) {
            *ret_key = span_make(entry->key, entry->n_key);
            *ret_value = entry->value;
            return true;
        }
    }
    return false;
}
