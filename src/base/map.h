/* base/map.h: an ordered map from byte strings to pointers.
 *
 * Entries are met in the order in which they were added, also after removals. Look-up is by a keyed
 * hash, so that a peer that chooses the keys cannot make it slow. The map owns copies of its keys
 * and never touches the values. It cannot be created without its maximum. Thread: any, one at a
 * time.
 */
#pragma once

#include "base/compiler.h"
#include "base/hash.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MAP_E_FULL = 1, /* max_entries are in the map already */
    MAP_E_EXISTS    /* the key is in the map already */
};

typedef struct MapEntry MapEntry;

typedef struct Map {
    MapEntry *entries; /* in order of insertion, with holes where one was removed */
    uint32_t *slots;   /* hash table: 1 + index into entries, 0 if never used */
    size_t n;          /* entries in the map */
    size_t n_used;     /* entries and holes */
    size_t cap;        /* room in entries; slots has twice as many */
    size_t max_entries;
    HashSeed seed;
} Map;

/* An empty map of maximum 0. */
#define MAP_NULL ((Map){.entries = NULL})

/* Empty; allocates nothing yet. max_entries is at most 2^30. The seed comes from random_fill, once
 * per map that a peer can fill. */
void map_init(Map *map, HashSeed seed, size_t max_entries);

/* Releases keys and storage, not the values; map is then MAP_NULL. May run twice. */
void map_deinit(Map *map);

/* Adds an entry at the end; copies the key, keeps the value's pointer (may be NULL).
 * 0, -ENOMEM, MAP_E_EXISTS, MAP_E_FULL; on failure the map is unchanged. */
int map_add(Map *map, Span key, void *value);

/* Replaces the value of a key that is in the map, keeping its place. False if it is not there. */
bool map_replace(Map *map, Span key, void *value);

/* The value; NULL if the key is not there. Where NULL is a value too, map_find tells them apart. */
void *map_get(const Map *map, Span key);

/* Whether the key is there; *ret_value (optional) is then its value. */
bool map_find(const Map *map, Span key, void **ret_value);

/* Removes an entry and returns its value, which is the caller's again; NULL if it was not there. */
void *map_remove(Map *map, Span key);

/* Steps through the entries in order: *cursor starts at 0, false at the end. The key is
 * NUL-terminated and borrowed until it is removed. Between two steps entries may be removed, not
 * added. */
bool map_next(const Map *map, size_t *cursor, Span *ret_key, void **ret_value);
