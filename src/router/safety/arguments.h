/* router/safety/arguments.h: what a command's arguments say about its safety. Callers write names
 * in several ways, and some nest all arguments once more in `params`. Thread: any. */
#pragma once

#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

/* The objects in which members are looked for: the arguments, and `params` in them. */
typedef struct SafetyScopes {
    JsonValue objects[2];
    size_t n;
} SafetyScopes;

/* arguments: any value, or node NULL. */
SafetyScopes safety_scopes(JsonValue arguments);

/* Is the key one of the names, which a NULL ends? ASCII letters have no case. */
bool safety_key_is(JsonValue key, const char *const *names);

/* The member of an object under the first of the names that it has; of several the last. */
bool safety_member(JsonValue object, const char *const *names, JsonValue *ret);

/* The same in all scopes, the outermost first. Null counts as absent if skips_null. */
bool safety_find(const SafetyScopes *scopes, const char *const *names, bool skips_null,
                 JsonValue *ret);

/* Longest text that safety_text decodes; words that we know are shorter. */
#define SAFETY_TEXT_BYTES 128

/* A string's content, trimmed: borrowed, or decoded into the buffer. False for anything else, and
 * for escaped ones that are too long. */
bool safety_text(JsonValue v, char buffer[SAFETY_TEXT_BYTES], Span *ret);

/* A flag in any scope: a boolean, or what stands for one. What cannot be read counts as true: these
 * flags ask for caution. */
bool safety_flag(const SafetyScopes *scopes, const char *const *names);

/* Does the value, of a flag, say no: false, 0, "false", "0", "no", "off", ""? */
bool safety_says_no(JsonValue v);

extern const char *const safety_names_dry_run[];
extern const char *const safety_names_confirm_token[];
extern const char *const safety_names_require_token[];
