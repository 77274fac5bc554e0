/* json/schema/strtable.h: a fixed set of strings, looked up by their first and last eight bytes.
 *
 * Property names and enum values are mostly shorter than 17 bytes; for those the two words and the
 * length are the whole string, and a look-up is one hash, one compare, no loop over bytes. Sets
 * that this serves badly (long strings that differ in the middle, or chosen to collide) get a table
 * by a keyed hash of the whole string instead. Built once, read by many. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct StrSlot {
    uint64_t head; /* first 8 bytes, zeros behind a shorter string */
    uint64_t tail; /* last 8 bytes of a string of 8 or more, else 0 */
    const char *p;
    uint32_t n;
    uint32_t
        index; /* position in the list that the table was built from; STRTABLE_NONE: empty slot */
} StrSlot;

typedef struct StrTable {
    const StrSlot *slots;
    uint64_t seed;
    uint32_t shift; /* 64 - log2(number of slots) */
    uint32_t mask;
    const StrSlot *hashed; /* NULL, or the table by hash; slots is then empty, so that the first
                            * look never settles anything and need not know */
    HashSeed hash_seed;
    uint32_t hashed_mask;
} StrTable;

#define STRTABLE_NONE UINT32_MAX

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define STRTABLE_LITTLE_ENDIAN 1
#else
#define STRTABLE_LITTLE_ENDIAN 0
#endif

/* Builds a table of n strings, which are borrowed for the table's life; of equal ones the first
 * counts. 0, -ENOMEM. */
int strtable_build(StrTable *ret, Arena *arena, const Span *strings, uint32_t n);

typedef struct StrKey {
    uint64_t head;
    uint64_t tail;
    const char *p;
    uint32_t n;
} StrKey;

TW_INLINE uint64_t strtable_load(const char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof(w));
    return w;
}

/* The bytes of a short string as a word, one by one: at the end of a text, and on big-endian
 * machines. */
uint64_t strtable_short_head(const char *p, uint32_t n);

/* The words of a string behind which one may read up to end: loading eight bytes of a shorter
 * string, and masking, spares a loop. */
TW_INLINE StrKey strtable_key(const char *p, uint32_t n, const char *end)
{
    StrKey key = {0, 0, p, n};

    if (n >= 8) {
        key.head = strtable_load(p);
        key.tail = strtable_load(p + n - 8);
    } else if (STRTABLE_LITTLE_ENDIAN && TW_LIKELY(end - p >= 8)) {
        key.head = strtable_load(p) & ~(UINT64_MAX << (8 * n));
    } else {
        key.head = strtable_short_head(p, n);
    }
    return key;
}

TW_INLINE uint32_t strtable_slot(const StrKey *key, uint64_t seed, uint32_t shift)
{
    uint64_t mixed = (key->head + key->n) ^ (key->tail << 23 | key->tail >> 41);

    return (uint32_t)((mixed * seed) >> shift);
}

/* The same from slot `at` on, for all that the first look does not settle. */
uint32_t strtable_find_from(const StrTable *t, const char *p, uint32_t n, uint64_t head,
                            uint64_t tail, uint32_t at);

/* The string's index, or STRTABLE_NONE. Nearly every look-up ends at the first slot; what does not
 * is left to a call, so that this stays small enough to be inlined into loops. */
TW_INLINE uint32_t strtable_find(const StrTable *t, const StrKey *key)
{
    uint32_t at = strtable_slot(key, t->seed, t->shift);
    const StrSlot *slot = &t->slots[at];

    if (TW_LIKELY(slot->head == key->head && slot->tail == key->tail && slot->n == key->n &&
                  key->n <= 16)) {
        return slot->index;
    }
    return strtable_find_from(t, key->p, key->n, key->head, key->tail, at);
}
