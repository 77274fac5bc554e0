/* json/equals.h: deep equality whose work is bounded and known. Private to src/json and
 * json/schema. */
#pragma once

#include "json/json.h"

enum {
    EQUALS_E_DIFFERENT = 1,
    EQUALS_E_LIMIT /* the work ran out before the answer was known */
};

/* Room for the members of large objects in different order; kept from one comparison to the next.
 * Zeroed at first. */
typedef struct EqualsScratch {
    uint32_t *words; /* a stack */
    size_t n_words;
    size_t cap_words;
} EqualsScratch;

void equals_scratch_deinit(EqualsScratch *scratch);

/* As json_equals, but objects of any size and order are compared in time that is proportional to
 * their size. Takes its work from *n_steps_left: a step, about 10 ns, for each value and each look
 * at a key, and more for long ones. 0 (equal), EQUALS_E_DIFFERENT, EQUALS_E_LIMIT, -ENOMEM. */
int equals_within(JsonValue a, JsonValue b, EqualsScratch *scratch, int64_t *n_steps_left);

/* A hash of the string's decoded bytes. */
uint64_t equals_hash_string(JsonValue v);
