/* providers/addin_words.h: how the pipe says what went wrong on our side; used by its hub only.
 * Thread: loop. */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "call/result.h"

#include <stdbool.h>

/* A tool's error that the router found, as the pipe says it: a deadline that passed is
 * PIPE_TIMEOUT, arguments that the schema refuses are SCHEMA_VALIDATION_FAILED, and a result that
 * the output schema refuses is PIPE_PROTOCOL_ERROR, both with the list of what is wrong as the
 * error's data. Built in the arena. False if the pipe has no words for it, or
 * if there is no memory. */
bool addin_words_for(CallResult *ret, Arena *arena, const CallResult *error);
