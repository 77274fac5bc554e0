#include "toolkit/complexity/tally.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Enough for the distinct operands of most files; cleared for each. */
#define TALLY_MIN_SLOTS 1024

/* Spreads small numbers over 64 bits. */
#define TALLY_SPREAD UINT64_C(0x9e3779b97f4a7c15)

void complexity_tally_init(ComplexityTally *tally, HashSeed seed)
{
    *tally = (ComplexityTally){.seed = seed};
}

void complexity_tally_deinit(ComplexityTally *tally)
{
    tally->slots = mem_free(tally->slots);
    tally->operands = mem_free(tally->operands);
    tally->last = mem_free(tally->last);
    tally->undo = mem_free(tally->undo);
    *tally = (ComplexityTally){.slots = NULL};
}

static void *tally_grown(void *p, uint32_t cap, size_t size)
{
    size_t n_bytes;

    return mem_size_mul(cap, size, &n_bytes) ? mem_realloc(p, n_bytes) : NULL;
}

static int tally_reserve_slots(ComplexityTally *tally, uint32_t n)
{
    if (n > tally->cap_slots) {
        uint32_t *slots = tally_grown(tally->slots, n, sizeof(*slots));

        if (slots == NULL) {
            return err_raise(-ENOMEM);
        }
        tally->slots = slots;
        tally->cap_slots = n;
    }
    tally->n_slots = n;
    memset(tally->slots, 0, n * sizeof(*tally->slots));
    return 0;
}

static int tally_reserve_last(ComplexityTally *tally, uint32_t n)
{
    uint32_t *last;
    uint32_t cap = n + n / 2;

    if (n <= tally->cap_last) {
        return 0;
    }
    last = tally_grown(tally->last, cap, sizeof(*last));
    if (last == NULL) {
        return err_raise(-ENOMEM);
    }
    tally->last = last;
    tally->cap_last = cap;
    return 0;
}

int complexity_tally_begin(ComplexityTally *tally, uint32_t n_operators)
{
    int r = tally_reserve_slots(tally, TALLY_MIN_SLOTS);

    if (r == 0) {
        r = tally_reserve_last(tally, n_operators + TALLY_MIN_SLOTS);
    }
    if (r != 0) {
        return err_pass(r);
    }
    memset(tally->last, 0, n_operators * sizeof(*tally->last));
    tally->n_operators = n_operators;
    tally->n_operands = 0;
    tally->n_undo = 0;
    tally->place = 1;
    return 0;
}

/* The slot where that operand is, or would be. */
static uint32_t *tally_slot(const ComplexityTally *tally, uint64_t hash, uint32_t symbol, Span text)
{
    uint32_t mask = tally->n_slots - 1;

    for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &tally->slots[i];
        const ComplexityOperand *operand;

        if (*slot == 0) {
            return slot;
        }
        operand = &tally->operands[*slot - 1];
        if (operand->hash == hash && operand->symbol == symbol &&
            span_equals(operand->text, text)) {
            return slot;
        }
    }
}

static int tally_rehash(ComplexityTally *tally)
{
    int r = tally_reserve_slots(tally, tally->n_slots * 4);
    uint32_t mask = tally->n_slots - 1;

    if (r != 0) {
        return err_pass(r);
    }
    for (uint32_t k = 0; k < tally->n_operands; k++) {
        uint32_t i = (uint32_t)tally->operands[k].hash & mask;

        while (tally->slots[i] != 0) {
            i = (i + 1) & mask;
        }
        tally->slots[i] = k + 1;
    }
    return 0;
}

static int tally_make_room(ComplexityTally *tally)
{
    if (tally->n_operands == tally->cap_operands) {
        uint32_t cap = tally->cap_operands == 0 ? TALLY_MIN_SLOTS / 2 : tally->cap_operands * 2;
        ComplexityOperand *operands = tally_grown(tally->operands, cap, sizeof(*operands));

        if (operands == NULL) {
            return err_raise(-ENOMEM);
        }
        tally->operands = operands;
        tally->cap_operands = cap;
    }
    return err_pass(tally_reserve_last(tally, tally->n_operators + tally->n_operands + 1));
}

/* Adds an operand that is not there, and its number. */
static int tally_add(ComplexityTally *tally, ComplexityOperand operand, uint32_t *ret)
{
    int r = tally_make_room(tally);

    if (r == 0 && tally->n_operands >= tally->n_slots / 2) {
        r = tally_rehash(tally);
    }
    if (r != 0) {
        return err_pass(r);
    }
    *ret = tally->n_operators + tally->n_operands;
    tally->last[*ret] = 0;
    tally->operands[tally->n_operands++] = operand;
    *tally_slot(tally, operand.hash, operand.symbol, operand.text) = tally->n_operands;
    return 0;
}

int complexity_tally_operand(ComplexityTally *tally, uint32_t symbol, Span text, uint32_t *ret)
{
    uint64_t hash = hash_span(tally->seed, text) + symbol * TALLY_SPREAD;
    uint32_t slot = *tally_slot(tally, hash, symbol, text);

    if (slot == 0) {
        return err_pass(tally_add(
            tally, (ComplexityOperand){.hash = hash, .text = text, .symbol = symbol}, ret));
    }
    *ret = tally->n_operators + slot - 1;
    return 0;
}

int complexity_tally_unique(ComplexityTally *tally, uint32_t *ret)
{
    /* No symbol is that large; the hash differs so that these do not pile up in one place. */
    uint32_t symbol = UINT32_MAX - tally->n_operands;

    return err_pass(tally_add(
        tally, (ComplexityOperand){.hash = symbol * TALLY_SPREAD, .symbol = symbol}, ret));
}

int complexity_tally_keep(ComplexityTally *tally, uint32_t id, uint32_t last)
{
    if (tally->n_undo == tally->cap_undo) {
        uint32_t cap = tally->cap_undo == 0 ? TALLY_MIN_SLOTS : tally->cap_undo * 2;
        ComplexityTallyUndo *undo = tally_grown(tally->undo, cap, sizeof(*undo));

        if (undo == NULL) {
            return err_raise(-ENOMEM);
        }
        tally->undo = undo;
        tally->cap_undo = cap;
    }
    tally->undo[tally->n_undo++] = (ComplexityTallyUndo){id, last};
    return 0;
}

void complexity_tally_revert(ComplexityTally *tally, uint32_t n)
{
    while (tally->n_undo > n) {
        ComplexityTallyUndo undo = tally->undo[--tally->n_undo];

        tally->last[undo.id] = undo.last;
    }
}
