/* agent/outcome.h: how a call ended, as the shell is told and as the model reads it. Pure. Thread:
 * any. */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "call/result.h"

#include <stdbool.h>

typedef struct AgentOutcome {
    bool is_error; /* the tool failed, or there was no call */
    Span json;     /* for the shell, if it worked: the structured content, else the text of a single
                      block as a string, else {"content":[…]} */
    Span text;     /* for the model; of an error the words for both. Never empty */
} AgentOutcome;

/* Spans are the result's, or in the arena. Without memory, or if what the tool gave cannot be read,
 * it is an error that says so. */
void agent_outcome(AgentOutcome *ret, const CallResult *result, Arena *arena);
