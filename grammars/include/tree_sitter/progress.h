/* tree_sitter/progress.h: a question to a parser that is at work, which tree-sitter's own header
 * does not have. Defined by faster.cmake beside the parser. */
#pragma once

#include <stdint.h>

#include <tree_sitter/api.h>

/* For progress callbacks. More than 0: whatever comes, the tree will have errors. */
uint32_t tw_parser_least_error(const TSParser *parser);
