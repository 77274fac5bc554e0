/* cli/call_arguments.h: what a person types after a tool's name, as the JSON object of its
 * arguments.
 *
 *     k=v      the type is what the tool's schema says of k; where it says nothing, JSON if v is
 * JSON k:=JSON  JSON, whatever the schema says
 *
 * Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    CALL_ARGUMENTS_E_WRONG = 1, /* a word that cannot be used; the Diag says why */
};

/* Appends the object to out. schema: the tool's inputSchema; node NULL if unknown. all_strings:
 * every value is a string, as a prompt's are. 0, -ENOMEM, CALL_ARGUMENTS_E_WRONG. */
int call_arguments_build(Bytes *out, Arena *arena, char *const *words, size_t n, JsonValue schema,
                         bool all_strings, Diag *reterr_diag);

/* Does any of the words need the schema to be understood? */
bool call_arguments_need_schema(char *const *words, size_t n);
