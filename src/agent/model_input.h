/* agent/model_input.h: what models write: the inputs of tools, texts, and ids for calls that have
 * none. Private to agent/model* and agent/script*. Thread: any. */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the index of an input of n bytes, and two copies that escapes may make twice as long. */
#define MODEL_INPUT_ARENA_BYTES(n) ((size_t)21 * (n) + (size_t)128 * 1024)

/* An object: *ret_input is it, without white space around it and without line ends, borrowed from
 * raw or in the arena; nothing at all is {}. Anything else is bad: *ret_input is raw. 0, -ENOMEM
 * (also if the arena is smaller than MODEL_INPUT_ARENA_BYTES of it). */
int model_input_read(Arena *arena, Span raw, Span *ret_input, bool *ret_is_bad);

/* A member that is a text, in the arena or borrowed; empty if there is none. 0, -ENOMEM. */
int model_member_text(Arena *arena, JsonValue object, Span key, Span *ret);

/* "call_" and 20 hex digits. */
#define MODEL_ID_SIZE 32

/* The n-th id of a seed; never two alike. */
Span model_id_make(char ret[MODEL_ID_SIZE], uint64_t seed, uint32_t n);
