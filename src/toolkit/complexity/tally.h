/* toolkit/complexity/tally.h: which tokens of a file are the same one. Private.
 *
 * Each distinct token has a number: an operator that of its symbol, an operand the next free one.
 * For each the place of its last occurrence is kept, counted in tokens; one that last occurred
 * before a function began is new to it. That settles "distinct" for all functions around a place at
 * once, without a set for each. Thread: any, one at a time. */
#pragma once

#include "base/compiler.h"
#include "base/hash.h"
#include "base/span.h"

#include <stddef.h>
#include <stdint.h>

typedef struct ComplexityOperand {
    uint64_t hash;
    Span text;
    uint32_t symbol;
} ComplexityOperand;

typedef struct ComplexityTallyUndo {
    uint32_t id;
    uint32_t last;
} ComplexityTallyUndo;

typedef struct ComplexityTally {
    HashSeed seed;
    uint32_t *slots; /* 1 + index of an operand, 0: free */
    uint32_t n_slots;
    uint32_t cap_slots;
    ComplexityOperand *operands; /* borrowed text */
    uint32_t n_operands;
    uint32_t cap_operands;
    uint32_t *last; /* by number; 0: never yet */
    uint32_t cap_last;
    uint32_t n_operators; /* symbols of the grammar: their numbers come first */
    uint32_t place;       /* of the next token, from 1 */
    ComplexityTallyUndo *undo;
    uint32_t n_undo;
    uint32_t cap_undo;
} ComplexityTally;

/* Empty; allocates nothing yet. */
void complexity_tally_init(ComplexityTally *tally, HashSeed seed);
void complexity_tally_deinit(ComplexityTally *tally);

/* For another file. 0, -ENOMEM. */
int complexity_tally_begin(ComplexityTally *tally, uint32_t n_operators);

/* The number of that operand; borrows text until the next begin. 0, -ENOMEM. */
int complexity_tally_operand(ComplexityTally *tally, uint32_t symbol, Span text, uint32_t *ret);

/* The number of an operand that is like no other. 0, -ENOMEM. */
int complexity_tally_unique(ComplexityTally *tally, uint32_t *ret);

/* The token occurs here: where it did last (0: never). */
TW_INLINE uint32_t complexity_tally_occur(ComplexityTally *tally, uint32_t id)
{
    uint32_t last = tally->last[id];

    tally->last[id] = tally->place++;
    return last;
}

/* For functions that do not count in those around them: keep notes what the last place was, revert
 * puts it back for all notes from n on. 0, -ENOMEM. */
int complexity_tally_keep(ComplexityTally *tally, uint32_t id, uint32_t last);
void complexity_tally_revert(ComplexityTally *tally, uint32_t n);
