/* toolkit/complexity/parse.h: the tree of a text, mended where the grammar did not understand it.
 * Private.
 *
 * A language may have a second reading of a text in which the first tree has errors (.mend); the
 * tree with the lesser errors counts. The second is made out of the first, as far as the text is
 * the same and the tree without errors: the whole would take as long once more. Each has its own
 * time, and its own memory, so that the second goes at once if it is the worse. Thread: any, one
 * at a time.
 */
#pragma once

#include <tree_sitter/api.h>

#include "base/span.h"
#include "toolkit/complexity/measure.h"
#include "toolkit/complexity/memory.h"

/* What stays between texts. */
typedef struct ComplexityParser {
    ComplexityMemory memory[2];
    char *seen[2]; /* the text as the grammar sees it, and the same once more */
    size_t cap_seen[2];
    uint32_t *changes; /* where these differ */
    size_t cap_changes;
    void *tables; /* tree_sitter/table_cache.h; of that language */
    const ComplexityLanguage *tables_of;
    uint64_t parse_ns; /* spent by tree-sitter */
} ComplexityParser;

void complexity_parser_deinit(ComplexityParser *parser);

/* Gives the tree, the text that it is of (text itself or a copy in the parser), and the account in
 * which the tree lies and its cursors must; all of it until complexity_parser_end, which is due
 * after failures, too. 0, -ENOMEM, COMPLEXITY_E_*. */
int complexity_parser_read(ComplexityParser *parser, const ComplexityLanguage *language, Span text,
                           const ComplexityOptions *options, TSTree **ret_tree, Span *ret_text,
                           ComplexityMemory **ret_memory);
void complexity_parser_end(ComplexityParser *parser);
