/* dialect/command/query.h: the query of a URL, a name and a value at a time. Pure. Thread: any. */
#pragma once

#include "base/arena.h"
#include "base/span.h"

#include <stdbool.h>

enum {
    COMMAND_QUERY_E_END = 1,   /* there are no more */
    COMMAND_QUERY_E_MALFORMED, /* a % without its two hex digits, or what they say is no UTF-8 */
};

typedef struct CommandQuery {
    Span rest;
} CommandQuery;

/* query: what stands behind the '?'; may be empty. */
CommandQuery command_query(Span query);

/* The next pair, decoded ('+' is a blank), in the arena: the URL goes before the answer. 0,
 * -ENOMEM, COMMAND_QUERY_E_END, COMMAND_QUERY_E_MALFORMED. */
int command_query_next(CommandQuery *query, Arena *arena, Span *ret_name, Span *ret_value);

/* One part of a URL, in the arena. 0, -ENOMEM, COMMAND_QUERY_E_MALFORMED. */
int command_query_decode(Span text, bool plus_is_blank, Arena *arena, Span *ret);
