/* router/safety/gate.h: how many elements a command is about, and what its caller says is to become
 * of failures. Thread: any. */
#pragma once

#include "base/span.h"
#include "router/safety/safety.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

/* Ids in elementIds and elementId, at the top, in `target` and in the elements of `targets`, as
 * numbers, as text ("17", "1,2;3 4") or as lists of either. The documented system counts exactly
 * these; ids that are words (uniqueIds) count here too, since they delete as much. One too many
 * makes us ask once more, one too few destroys; in doubt it counts. */
size_t safety_count_targets(JsonValue arguments);

typedef struct SafetyHandling {
    SafetyMode mode; /* rollback, if nothing is said */
    bool is_explicit;
    bool is_unknown; /* a mode that we do not know was taken for rollback */
} SafetyHandling;

/* failureHandling, failure_handling, failureHandlingMode or failure_handling_mode: a flag (true:
 * rollback), a mode, or an object with `enabled` and mode, action or strategy; null is off. */
SafetyHandling safety_handling(JsonValue arguments);

const char *safety_mode_name(SafetyMode mode);
