/* toolkit/churn/texts.h: a number for each text: names of files, of authors, of folders.
 *
 * Thread: any, one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/span.h"
#include "toolkit/churn/index.h"

#include <stddef.h>
#include <stdint.h>

typedef struct ChurnTexts {
    Span *items; /* by number */
    size_t n;
    size_t cap;
    ChurnIndex index;
    HashSeed seed;
} ChurnTexts;

/* Empty; allocates nothing yet. */
void churn_texts_init(ChurnTexts *texts, HashSeed seed);

/* Releases all but the texts themselves, which lie in the arena. May run twice. */
void churn_texts_deinit(ChurnTexts *texts);

/* The number of text; CHURN_NONE: it is not there. */
uint32_t churn_texts_find(const ChurnTexts *texts, Span text);

/* Its number, a new one (texts->n before) if it was not there; then it is copied to arena, or
 * borrowed if arena is NULL. 0, -ENOMEM. */
int churn_texts_add(ChurnTexts *texts, Arena *arena, Span text, uint32_t *ret_id);
