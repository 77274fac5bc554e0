/* providers/upstream_chain.h: toolwires that start toolwires.
 *
 * A server in the settings may be toolwire itself, and its settings may name it again: without a
 * bound each would start the next. So each child gets TOOLWIRE_WITHIN: for every toolwire that it
 * runs within, outermost first, "PID:HASH", where HASH is that of the command, its arguments, its
 * environment and its folder. Thread: loop (it reads the process's environment).
 */
#pragma once

#include "base/arena.h"
#include "providers/upstream.h"

#include <stdbool.h>

#define UPSTREAM_CHAIN_VARIABLE "TOOLWIRE_WITHIN"

enum {
    UPSTREAM_CHAIN_E_SAME = 1, /* we were started by the very same entry */
    UPSTREAM_CHAIN_E_DEEP,     /* too many are around us */
};

/* What the child of the entry is to have as its value, in the arena. 0, -ENOMEM,
 * UPSTREAM_CHAIN_E_*. */
int upstream_chain_make(const char **ret, Arena *arena, const UpstreamSpec *spec);

/* Do we run within the process of that number? */
bool upstream_chain_has(long pid);
