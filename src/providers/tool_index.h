/* providers/tool_index.h: tools found by words. Pure.
 *
 * A tool is known by the words of its name, title, description and parameters' names, in small
 * letters and cut at everything that is no letter or digit, and where a capital follows a small
 * letter ("listFiles"). A query is cut in the same way. A word of it is worth the more, the better
 * it fits (the word itself, another form of it, its beginning), the more the field says of a tool
 * (name before title before description before parameter), and the fewer tools have it; one that no
 * tool has may be misspelt. Tools need not have all words, for agents ask in sentences, but those
 * with more of them come first. Thread: any, one at a time.
 */
#pragma once

#include "base/span.h"
#include "json/json.h"

#include <stddef.h>
#include <stdint.h>

/* Words of a query; what follows is not looked at. */
#define TOOL_INDEX_QUERY_WORDS 32

/* Words of a tool; a longer description is not looked at beyond them. */
#define TOOL_INDEX_TOOL_WORDS 1000

typedef struct ToolIndex ToolIndex;

typedef struct ToolHit {
    size_t place; /* in the order of tool_index_add */
    uint64_t score;
} ToolHit;

/* 0, -ENOMEM. Gives *ret. */
int tool_index_new(ToolIndex **ret);
ToolIndex *tool_index_free(ToolIndex *index);

/* Adds a tool by its description (router/router.h), of which nothing is kept but words. 0, -ENOMEM.
 */
int tool_index_add(ToolIndex *index, JsonValue tool);

/* The best first, max at most; those that are equally good in the order in which they were added.
 * A query without words finds all that have some, in that order. *ret_total: how many there are. 0,
 * -ENOMEM. */
int tool_index_search(ToolIndex *index, Span query, ToolHit *hits, size_t max, size_t *ret_n,
                      size_t *ret_total);
