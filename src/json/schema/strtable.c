#include "json/schema/strtable.h"

#include <errno.h>

#include "base/error.h"

/* An empty slot must match no key: no string is this long. */
#define STRTABLE_EMPTY_N UINT32_MAX

/* Multipliers tried for the one with the fewest collisions; with half the slots free most sets of a
 * dozen names find one without any. */
#define STRTABLE_SEEDS 32

uint64_t strtable_short_head(const char *p, uint32_t n)
{
    uint64_t word = 0;

    if (n > 0) {
        memcpy(&word, p, n);
    }
    return word;
}

uint32_t strtable_find_from(const StrTable *t, const char *p, uint32_t n, uint64_t head,
                            uint64_t tail, uint32_t at)
{
    for (;; at = (at + 1) & t->mask) {
        const StrSlot *slot = &t->slots[at];

        if (slot->index == STRTABLE_NONE) {
            return STRTABLE_NONE;
        }
        if (slot->head == head && slot->tail == tail && slot->n == n &&
            (n <= 16 || memcmp(slot->p, p, n) == 0)) {
            return slot->index;
        }
    }
}

static uint32_t strtable_log2_slots(uint32_t n)
{
    uint32_t bits = 1;

    while (bits < 31 && (1u << bits) < n * 2u) {
        bits++;
    }
    return bits;
}

/* Places all strings; returns how many slots were passed over on the way. */
static uint32_t strtable_fill(StrTable *t, StrSlot *slots, const Span *strings, uint32_t n)
{
    uint32_t n_collisions = 0;

    for (uint32_t i = 0; i <= t->mask; i++) {
        slots[i] = (StrSlot){0, 0, NULL, STRTABLE_EMPTY_N, STRTABLE_NONE};
    }
    for (uint32_t i = 0; i < n; i++) {
        StrKey key =
            strtable_key(strings[i].p, (uint32_t)strings[i].n, strings[i].p + strings[i].n);
        uint32_t at = strtable_slot(&key, t->seed, t->shift);

        while (slots[at].index != STRTABLE_NONE) {
            at = (at + 1) & t->mask;
            n_collisions++;
        }
        slots[at] = (StrSlot){key.head, key.tail, key.p, key.n, i};
    }
    return n_collisions;
}

int strtable_build(StrTable *ret, Arena *arena, const Span *strings, uint32_t n)
{
    uint32_t bits = strtable_log2_slots(n);
    StrTable t = {.shift = 64 - bits, .mask = (1u << bits) - 1};
    StrSlot *slots = arena_alloc_array(arena, (size_t)t.mask + 1, sizeof(*slots));
    uint64_t best_seed = 0;
    uint32_t best = UINT32_MAX;
    uint64_t seed = 0x9E3779B97F4A7C15u;

    if (slots == NULL) {
        return err_raise(-ENOMEM);
    }
    for (int i = 0; i < STRTABLE_SEEDS && best > 0; i++) {
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
    (void)strtable_fill(&t, slots, strings, n);
    t.slots = slots;
    *ret = t;
    return 0;
}
