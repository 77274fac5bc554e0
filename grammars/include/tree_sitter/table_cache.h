/* tree_sitter/table_cache.h: what a parser has found in its language's tables, kept for the next
 * text; without it each text begins anew. Defined by faster.cmake. */
#pragma once

#include <stddef.h>

#define TW_TABLE_CACHE_BYTES ((size_t)32 * 1024)

/* For the parsers that this thread runs from here on: so many bytes, aligned for a uint32_t, that
 * were zero at first and have served no other language since; NULL: none. Borrowed. */
void tw_parser_use_table_cache(void *memory);
