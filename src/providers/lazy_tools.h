/* providers/lazy_tools.h: three tools in place of many descriptions.
 *
 *     search_tools   {query, limit}      which tools there are for something
 *     describe_tool  {name}              all that is said of one, its schema included
 *     call_tool      {name, arguments}   runs it
 *
 * While this is there, lists that show few tools (Call.only_shown) hold these three, and those
 * whose names are said to be shown always. call_tool is carried out where a call begins
 * (dialect/mcp/server_calls.c): it becomes the call of the tool that it names. What arrives here
 * names none, and is told which was probably meant. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "router/router.h"

#include <stddef.h>

/* What search_tools gives unless asked for more, and at most. */
#define LAZY_TOOLS_LIMIT     10
#define LAZY_TOOLS_LIMIT_MAX 50

enum {
    LAZY_TOOLS_E_EXISTS =
        1, /* another tool has the name of one of the three; the Diag says which */
};

typedef struct LazyTools LazyTools;

/* always: names, with * at the end for all that begin so; NULL behind the last, or NULL for none.
 * Copied. Borrows router until free. 0, -ENOMEM, LAZY_TOOLS_E_EXISTS. Gives *ret. */
int lazy_tools_new(LazyTools **ret, Router *router, const char *const *always, Diag *reterr_diag);

/* Nothing is hidden any more. */
LazyTools *lazy_tools_free(LazyTools *lazy);
