/* Tokens, and the lines that they are on. */
#include "toolkit/complexity/walk.h"

#include "base/error.h"

static WalkFunction *token_function(const Walk *walk)
{
    return walk->n_functions == 0 ? NULL : &walk->functions[walk->n_functions - 1];
}

void complexity_token_error(Walk *walk, TSNode node)
{
    if (walk->n_errors++ == 0) {
        walk->first_error_line = ts_node_start_point(node).row + 1;
    }
}

static void token_mark(Walk *walk, TSNode node, uint8_t kind)
{
    uint32_t first = ts_node_start_point(node).row;
    TSPoint end = ts_node_end_point(node);
    /* Some grammars' comments end with their newline. */
    uint32_t last = end.column == 0 && end.row > first ? end.row - 1 : end.row;

    for (uint32_t row = first; row <= last; row++) {
        complexity_lines_mark(&walk->lines, row, kind);
    }
}

int complexity_token_operand(Walk *walk, TSNode node, TSSymbol symbol, size_t max)
{
    WalkFunction *function = token_function(walk);
    uint32_t start = ts_node_start_byte(node);
    Span text = span_make(walk->text.p + start, ts_node_end_byte(node) - start);
    uint32_t id;
    int r;

    token_mark(walk, node, COMPLEXITY_LINE_CODE);
    if (function == NULL) {
        return 0;
    }
    function->tokens++;
    r = text.n > max ? complexity_tally_unique(&walk->tally, &id)
                     : complexity_tally_operand(&walk->tally, symbol, text, &id);
    return r == 0 ? err_pass(complexity_function_token(walk, id, false)) : err_pass(r);
}

int complexity_token_leaf(Walk *walk, TSNode node, TSSymbol symbol, uint64_t does)
{
    WalkFunction *function = token_function(walk);

    /* What is missing is no token, and what was not understood has no kind. */
    if (walk->tree_has_error && ts_node_is_missing(node)) {
        complexity_token_error(walk, node);
        walk->n_semicolons += complexity_node_is(node, ";");
        return 0;
    }
    if (walk->tree_has_error && ts_node_is_error(node)) {
        token_mark(walk, node, COMPLEXITY_LINE_CODE);
        return 0;
    }
    if ((does & RULE_OPERATOR) == 0) {
        return err_pass(complexity_token_operand(walk, node, symbol, SIZE_MAX));
    }
    complexity_lines_mark(&walk->lines, ts_node_start_point(node).row, COMPLEXITY_LINE_CODE);
    if (function == NULL) {
        return 0;
    }
    function->tokens++;
    if ((does & RULE_CLOSE) != 0) {
        return 0;
    }
    return err_pass(complexity_function_token(walk, symbol, true));
}

int complexity_token_whole(Walk *walk, TSNode node, TSSymbol symbol, uint64_t does)
{
    if (walk->tree_has_error && ts_node_has_error(node)) {
        complexity_token_error(walk, node);
    }
    if ((does & RULE_COMMENT) != 0) {
        token_mark(walk, node, COMPLEXITY_LINE_COMMENT);
    } else if ((does & RULE_STRING) != 0) {
        return err_pass(complexity_token_operand(walk, node, symbol, SIZE_MAX));
    }
    return 0;
}
