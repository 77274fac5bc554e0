/* router/safety/expected.h: the context token that a caller expects, wherever it says so, and how
 * often. Thread: any. */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "router/safety/arguments.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

/* Of arguments six, see safety_expected_add; and what comes with them. */
#define SAFETY_EXPECTED_PLACES 9

/* Steps through them. */
typedef struct SafetyExpected {
    JsonValue places[SAFETY_EXPECTED_PLACES];
    size_t n;
    size_t i;
    JsonIter at;
    char buffer[SAFETY_TEXT_BYTES];
} SafetyExpected;

void safety_expected_init(SafetyExpected *expected);

/* Looks into an object, too, and into `meta` and `_meta` in it; is_arguments: likewise into
 * `params`. What is no object, or node NULL, says nothing. */
void safety_expected_add(SafetyExpected *expected, JsonValue object, bool is_arguments);

/* The next token: its value, and its text, until the next call; what is no text expects something
 * that cannot be, and is as it was written. Null and the empty text are none. */
bool safety_expected_next(SafetyExpected *expected, JsonValue *ret, Span *ret_text);

/* What a request expects beside its arguments (`beside`: its meta, or all of it, with the members
 * `meta` and `_meta`), put into the arguments if they do not say the same: so it gets to the desk
 * whatever way the arguments go. *ret: the arguments as JSON, in the arena; p NULL: as they were.
 * 0, -ENOMEM. */
int safety_expected_join(JsonValue arguments, JsonValue beside, Arena *arena, Span *ret);
