#include "json/schema/strtable.h"

#include <errno.h>

#include "base/error.h"

/* An empty slot must match no key: no string is this long. */
#define STRTABLE_EMPTY_N UINT32_MAX

/* Multipliers tried for the one with the fewest collisions; with half the slots free most sets of a
 * dozen names find one without any. Large sets never do, and one multiplier is as good as another.
 */
#define STRTABLE_SEEDS       32
#define STRTABLE_LARGE       256
#define STRTABLE_LARGE_SEEDS 3

/* Slots passed over on the way to a string's own: beyond this a multiplier is given up, and if all
 * are, so are the two words. With half the slots free, even the worst of a random hundred thousand
 * stays below. */
#define STRTABLE_MAX_STEPS 64

uint64_t strtable_short_head(const char *p, uint32_t n)
{
    uint64_t word = 0;

    if (n > 0) {
        memcpy(&word, p, n);
    }
    return word;
}

static bool strtable_slot_is(const StrSlot *slot, const StrKey *key)
{
    return slot->head == key->head && slot->tail == key->tail && slot->n == key->n &&
           (key->n <= 16 || memcmp(slot->p, key->p, key->n) == 0);
}

/* The key's slot, or the empty one where it would be, from slot `at` on. */
static uint32_t strtable_probe(const StrSlot *slots, uint32_t mask, const StrKey *key, uint32_t at)
{
    while (slots[at].index != STRTABLE_NONE && !strtable_slot_is(&slots[at], key)) {
        at = (at + 1) & mask;
    }
    return at;
}

static uint32_t strtable_hash(const StrTable *t, const StrKey *key)
{
    return (uint32_t)hash_span(t->hash_seed, span_make(key->p, key->n)) & t->hashed_mask;
}

uint32_t strtable_find_from(const StrTable *t, const char *p, uint32_t n, uint64_t head,
                            uint64_t tail, uint32_t at)
{
    StrKey key = {head, tail, p, n};

    if (t->hashed != NULL) {
        at = strtable_probe(t->hashed, t->hashed_mask, &key, strtable_hash(t, &key));
        return t->hashed[at].index;
    }
    return t->slots[strtable_probe(t->slots, t->mask, &key, at)].index;
}

static uint32_t strtable_log2_slots(uint32_t n)
{
    uint32_t bits = 1;

    while (bits < 31 && (1u << bits) < n * 2u) {
        bits++;
    }
    return bits;
}

static void strtable_clear(StrSlot *slots, uint32_t mask)
{
    for (uint32_t i = 0; i <= mask; i++) {
        slots[i] = (StrSlot){0, 0, NULL, STRTABLE_EMPTY_N, STRTABLE_NONE};
    }
}

static StrKey strtable_key_of(Span s)
{
    return strtable_key(s.p, (uint32_t)s.n, s.p + s.n);
}

/* Places all strings; returns how many slots were passed over on the way, UINT32_MAX if that were
 * too many for one of them. */
static uint32_t strtable_fill(StrTable *t, StrSlot *slots, const Span *strings, uint32_t n)
{
    uint32_t n_collisions = 0;

    strtable_clear(slots, t->mask);
    for (uint32_t i = 0; i < n; i++) {
        StrKey key = strtable_key_of(strings[i]);
        uint32_t at = strtable_slot(&key, t->seed, t->shift);
        uint32_t n_steps = 0;

        while (slots[at].index != STRTABLE_NONE && !strtable_slot_is(&slots[at], &key)) {
            at = (at + 1) & t->mask;
            if (++n_steps > STRTABLE_MAX_STEPS) {
                return UINT32_MAX;
            }
        }
        n_collisions += n_steps;
        if (slots[at].index == STRTABLE_NONE) {
            slots[at] = (StrSlot){key.head, key.tail, key.p, key.n, i};
        }
    }
    return n_collisions;
}

/* The table by hash takes over the slots; two empty ones stand in for them. */
static int strtable_fill_hashed(StrTable *t, Arena *arena, StrSlot *slots, const Span *strings,
                                uint32_t n)
{
    StrSlot *empty = arena_alloc_array(arena, 2, sizeof(*empty));

    if (empty == NULL) {
        return err_raise(-ENOMEM);
    }
    strtable_clear(empty, 1);
    strtable_clear(slots, t->mask);
    t->hashed = slots;
    t->hashed_mask = t->mask;
    /* Only speed depends on the seed, so addresses, which the schema's author cannot know, are
     * random enough. */
    t->hash_seed = (HashSeed){(uint64_t)(uintptr_t)slots, (uint64_t)(uintptr_t)arena};
    t->slots = empty;
    t->mask = 1;
    t->shift = 63;
    for (uint32_t i = 0; i < n; i++) {
        StrKey key = strtable_key_of(strings[i]);
        uint32_t at = strtable_probe(slots, t->hashed_mask, &key, strtable_hash(t, &key));

        if (slots[at].index == STRTABLE_NONE) {
            slots[at] = (StrSlot){key.head, key.tail, key.p, key.n, i};
        }
    }
    return 0;
}

int strtable_build(StrTable *ret, Arena *arena, const Span *strings, uint32_t n)
{
    uint32_t bits = strtable_log2_slots(n);
    StrTable t = {.shift = 64 - bits, .mask = (1u << bits) - 1};
    StrSlot *slots = arena_alloc_array(arena, (size_t)t.mask + 1, sizeof(*slots));
    int n_seeds = n > STRTABLE_LARGE ? STRTABLE_LARGE_SEEDS : STRTABLE_SEEDS;
    uint64_t best_seed = 1;
    uint32_t best = UINT32_MAX;
    uint64_t seed = 0x9E3779B97F4A7C15u;
    int r = 0;

    if (slots == NULL) {
        return err_raise(-ENOMEM);
    }
    for (int i = 0; i < n_seeds && best > 0; i++) {
        uint32_t n_collisions;

        t.seed = seed | 1;
        n_collisions = strtable_fill(&t, slots, strings, n);
        if (n_collisions < best) {
            best = n_collisions;
            best_seed = t.seed;
        }
        seed = seed * 6364136223846793005u + 1442695040888963407u;
    }
    t.seed = best_seed;
    t.slots = slots;
    if (best == UINT32_MAX) {
        r = strtable_fill_hashed(&t, arena, slots, strings, n);
    } else {
        (void)strtable_fill(&t, slots, strings, n);
    }
    *ret = t;
    return r;
}
