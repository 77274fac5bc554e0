/* providers/diagnostics.h: three tools inside the process, for measuring and for trying things out.
 *
 *     echo {message}            the same text
 *     sleep {ms}                answers later; reports progress; can be cancelled
 *     fail {code?, message?}    a tool error, or with a code a protocol error
 *
 * Thread: loop.
 */
#pragma once

#include "io/loop.h"
#include "router/router.h"

typedef struct Diagnostics Diagnostics;

/* Adds the tools to the router; borrows both until free. 0, -ENOMEM, another negative errno. Gives
 * *ret. */
int diagnostics_new(Diagnostics **ret, Router *router, IoLoop *loop);

/* The first of its names that a tool of the router has; empty: none. Constant. */
Span diagnostics_taken(const Router *router);

/* Removes them; calls that still sleep must have been cancelled before. */
Diagnostics *diagnostics_free(Diagnostics *diagnostics);
