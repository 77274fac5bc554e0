/* tests/e2e/stress_calls.h: calls that follow from a seed, and whether an answer is the right one.
 *
 * A call is known by the number of its bridge and its place in that bridge's sequence; its id is
 * "BRIDGE.SEQ". Five in eight are `echo`, two `sleep` for 0 or 1 ms, one `fail`; the text of an
 * echo or a failure is no other call's. One text in 256 is longer than a pipe holds.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct StressCalls {
    uint64_t seed;
    Bytes text; /* of the call at hand: a JSON string */
} StressCalls;

void stress_calls_init(StressCalls *calls, uint64_t seed);
void stress_calls_deinit(StressCalls *calls);

/* The same number for the same seed and place. */
uint64_t stress_calls_random(const StressCalls *calls, uint64_t a, uint64_t b);

/* Appends the call as an MCP line; modern: of 2026-07-28. */
void stress_calls_ask(StressCalls *calls, Bytes *out, size_t bridge, size_t seq, bool is_modern);

/* The place in the sequence, from the id of an answer; false if that is none of this bridge's. */
bool stress_calls_seq(JsonValue answer, size_t bridge, size_t *ret_seq);

/* Is this what the tool answers to that call? */
bool stress_calls_is_right(StressCalls *calls, JsonValue answer, size_t bridge, size_t seq);
