/* tree_sitter/changes.h: a tree whose text has changed, but no place in it, as what a parser starts
 * from; tree-sitter's own header has that for one change at a time. Defined by faster.cmake. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <tree_sitter/api.h>

/* Both texts in blocks of so many bytes. */
#define TW_CHANGE_BLOCK 16u

/* next_change[i]: the first block from the i-th on in which the texts differ; n_blocks: none. The
 * tree stays what it is for all but a parser. False: stops (may be NULL) has said so, and the rest
 * is not marked. */
bool tw_tree_mark_changes(TSTree *tree, const uint32_t *next_change, uint32_t n_blocks,
                          bool (*stops)(const void *context), const void *context);
