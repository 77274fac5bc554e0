/* The functions that are open, and what they add up to. */
#include "toolkit/complexity/walk.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static uint32_t function_clamp(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static int function_add_row(Walk *walk, TSNode node, Span name)
{
    TSPoint start = ts_node_start_point(node);
    int r = complexity_walk_room((void **)&walk->rows, walk->n_rows, &walk->cap_rows,
                                 sizeof(*walk->rows));

    if (r != 0) {
        return err_pass(r);
    }
    walk->rows[walk->n_rows++] = (ComplexityFunction){
        .name = name,
        .first_line = start.row + 1,
        .first_column = start.column + 1,
    };
    return 0;
}

int complexity_function_open(Walk *walk, const WalkFrame *frame, bool has_row, Span name,
                             uint32_t base_level)
{
    uint32_t index = (uint32_t)walk->n_functions;
    bool is_apart = walk->language->rows_apart || !has_row || index == 0;
    int r = complexity_walk_room((void **)&walk->functions, walk->n_functions, &walk->cap_functions,
                                 sizeof(*walk->functions));

    if (r == 0 && has_row) {
        r = function_add_row(walk, frame->node, name);
    }
    if (r != 0) {
        return err_pass(r);
    }
    walk->functions[walk->n_functions++] = (WalkFunction){
        .node = frame->node,
        .has_row = has_row,
        .wants_parameters = has_row,
        .row = (uint32_t)walk->n_rows - 1,
        .chain = is_apart ? index : walk->functions[index - 1].chain,
        .start = walk->tally.place,
        .base_level = base_level,
        .is_fixed = frame->is_reset,
        .base_depth = frame->depth,
        .n_undo = walk->tally.n_undo,
        .n_errors = walk->n_errors - walk->n_semicolons,
        .cyclomatic = 1,
        .modified = 1,
        .first_increment = walk->n_increments,
    };
    return 0;
}

/* The last byte of the node, which may be a newline: then what is before it. */
static void function_set_end(const Walk *walk, TSNode node, ComplexityFunction *row)
{
    TSPoint end = ts_node_end_point(node);
    uint32_t start_byte = ts_node_start_byte(node);
    uint32_t at = ts_node_end_byte(node);
    uint32_t line_start;

    row->last_line = end.row + 1;
    row->last_column = end.column;
    if (end.column > 0) {
        return;
    }
    while (at > start_byte && (walk->text.p[at - 1] == '\n' || walk->text.p[at - 1] == '\r')) {
        at--;
        row->last_line -= walk->text.p[at] == '\n';
    }
    for (line_start = at; line_start > 0 && walk->text.p[line_start - 1] != '\n'; line_start--) {
    }
    row->last_column = at - line_start;
}

static int function_list_increments(Walk *walk, const WalkFunction *function,
                                    ComplexityFunction *row)
{
    size_t n = walk->n_increments - function->first_increment;

    if (!walk->options->increments) {
        return 0;
    }
    if (n > COMPLEXITY_INCREMENTS_MAX - walk->n_listed) {
        walk->n_listed = COMPLEXITY_INCREMENTS_MAX;
        return 0;
    }
    if (n > 0) {
        ComplexityIncrement *list = arena_alloc_array(walk->arena, n, sizeof(*list));

        if (list == NULL) {
            return err_raise(-ENOMEM);
        }
        for (size_t i = 0; i < n; i++) {
            list[i] = walk->increments[function->first_increment + i].shown;
        }
        row->increments = list;
    }
    row->n_increments = n;
    walk->n_listed += n;
    return 0;
}

static int function_set_row(Walk *walk, const WalkFunction *function)
{
    ComplexityFunction *row = &walk->rows[function->row];

    function_set_end(walk, function->node, row);
    row->has_error = walk->n_errors - walk->n_semicolons > function->n_errors;
    row->lines = row->last_line - row->first_line + 1;
    row->cyclomatic = function_clamp(function->cyclomatic);
    row->cyclomatic_modified = function_clamp(function->modified);
    row->cognitive = function_clamp(function->cognitive);
    row->nesting = function->nesting;
    row->parameters = function->parameters;
    row->tokens = function_clamp(function->tokens);
    row->halstead = (ComplexityHalstead){
        .n1 = (uint32_t)function->n1,
        .n2 = (uint32_t)function->n2,
        .N1 = function_clamp(function->N1),
        .N2 = function_clamp(function->N2),
    };
    return err_pass(function_list_increments(walk, function, row));
}

/* What a nested function has is in the one around it too, as much deeper as it stands there. */
static void function_merge(Walk *walk, const WalkFunction *inner)
{
    WalkFunction *outer = &walk->functions[walk->n_functions - 1];

    if (!walk->language->cyclomatic_apart) {
        outer->cyclomatic += inner->cyclomatic - 1;
        outer->modified += inner->modified - 1;
    }
    outer->cognitive += inner->cognitive + inner->n_structures * inner->base_level;
    if (!inner->is_fixed) {
        outer->n_structures += inner->n_structures;
    }
    if (inner->nesting > 0 && inner->base_depth + inner->nesting > outer->nesting) {
        outer->nesting = inner->base_depth + inner->nesting;
    }
    outer->n1 += inner->n1;
    outer->n2 += inner->n2;
    outer->N1 += inner->N1;
    outer->N2 += inner->N2;
    outer->tokens += inner->tokens;
    /* Behind the limit nobody will see them, so that this loop ends too. */
    if (walk->n_listed < COMPLEXITY_INCREMENTS_MAX) {
        for (size_t i = inner->first_increment; i < walk->n_increments; i++) {
            WalkIncrement *increment = &walk->increments[i];

            if (increment->is_structure) {
                increment->shown.nesting += inner->base_level;
                increment->shown.amount += inner->base_level;
                increment->is_structure = !inner->is_fixed;
            }
        }
    }
}

int complexity_function_close(Walk *walk)
{
    WalkFunction function = walk->functions[--walk->n_functions];
    int r = function.has_row ? function_set_row(walk, &function) : 0;

    if (function.chain < walk->n_functions) {
        function_merge(walk, &function);
    } else {
        complexity_tally_revert(&walk->tally, function.n_undo);
        walk->n_increments = function.first_increment;
    }
    return err_pass(r);
}

int complexity_function_increment(Walk *walk, TSPoint at, const char *construct, uint32_t nesting,
                                  bool grows)
{
    WalkFunction *function;
    int r;

    if (walk->n_functions == 0) {
        return 0;
    }
    function = &walk->functions[walk->n_functions - 1];
    function->cognitive += 1 + (uint64_t)nesting;
    function->n_structures += grows;
    if (!walk->options->increments || walk->n_listed >= COMPLEXITY_INCREMENTS_MAX) {
        return 0;
    }
    r = complexity_walk_room((void **)&walk->increments, walk->n_increments, &walk->cap_increments,
                             sizeof(*walk->increments));
    if (r != 0) {
        return err_pass(r);
    }
    walk->increments[walk->n_increments++] = (WalkIncrement){
        .shown = {.line = at.row + 1,
                  .column = at.column + 1,
                  .construct = construct,
                  .amount = 1 + nesting,
                  .nesting = nesting},
        .is_structure = grows,
    };
    return 0;
}

/* The outermost function from `chain` on that began behind that place. The innermost one did. */
static size_t function_outermost(const Walk *walk, uint32_t chain, uint32_t place)
{
    size_t low = chain;
    size_t high = walk->n_functions - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (walk->functions[middle].start > place) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The token is new to the innermost function, and to those around it that began behind its last
 * place. Only the innermost one counts it; when that closes, its count goes to the one around it,
 * and the first one to which the token was known takes it off again beforehand. */
static int function_count_new(Walk *walk, uint32_t id, uint32_t place, bool is_operator)
{
    WalkFunction *function = &walk->functions[walk->n_functions - 1];
    size_t outermost = function_outermost(walk, function->chain, place);

    *(is_operator ? &function->n1 : &function->n2) += 1;
    if (outermost > function->chain) {
        WalkFunction *knows = &walk->functions[outermost - 1];

        *(is_operator ? &knows->n1 : &knows->n2) -= 1;
        return 0;
    }
    /* Those further out do not have what is in this one, and must find their own places again. */
    return outermost > 0 ? err_pass(complexity_tally_keep(&walk->tally, id, place)) : 0;
}

int complexity_function_token(Walk *walk, uint32_t id, bool is_operator)
{
    WalkFunction *function = &walk->functions[walk->n_functions - 1];
    uint32_t place = complexity_tally_occur(&walk->tally, id);

    *(is_operator ? &function->N1 : &function->N2) += 1;
    if (place < function->start) {
        return err_pass(function_count_new(walk, id, place, is_operator));
    }
    return 0;
}
