/* What the rule of a node does: levels, points, functions. */
#include "toolkit/complexity/walk.h"

#include <string.h>

#include "base/error.h"

/* Children are found by counting from the first, so that nobody may look at all of them that way.
 */
#define WALK_LOOK_MAX 8

/* Bits that only say what kind of token a leaf is: a node with no others needs no second look. */
#define WALK_PLAIN (RULE_OPERATOR | RULE_CLOSE | RULE_CODE)

static WalkFunction *walk_function(const Walk *walk)
{
    return walk->n_functions == 0 ? NULL : &walk->functions[walk->n_functions - 1];
}

/* Levels and else. */

static bool walk_nests_child(const WalkFrame *parent, const TSTreeCursor *cursor)
{
    const ComplexityBound *rule = parent->rule;
    TSFieldId field;

    if ((parent->does & RULE_NEST_TOKEN) != 0) {
        return parent->body_seen;
    }
    if (rule->n_nests == 0 || parent->nests_all) {
        return true;
    }
    field = ts_tree_cursor_current_field_id(cursor);
    for (uint16_t i = 0; i < rule->n_nests; i++) {
        if (rule->nests[i] == field) {
            return true;
        }
    }
    return false;
}

static void walk_set_level(const WalkFrame *parent, const TSTreeCursor *cursor, WalkFrame *frame)
{
    frame->level = parent->level;
    frame->depth = parent->depth;
    if ((frame->does & RULE_AT_PARENT) != 0) {
        return;
    }
    if (parent->else_state == WALK_ELSE_IN) {
        frame->level++;
        frame->depth++;
    } else if ((parent->does & (RULE_NEST | RULE_CLOSURE)) != 0 &&
               walk_nests_child(parent, cursor)) {
        frame->level++;
        frame->depth += (parent->does & RULE_DEEPEN) != 0;
    }
}

int complexity_walk_meet_else(Walk *walk, WalkFrame *parent, WalkFrame *frame)
{
    bool is_if = (frame->does & RULE_IS_IF) != 0;

    frame->level = parent->level + !is_if;
    frame->depth = parent->depth + !is_if;
    frame->is_else_if = is_if;
    frame->nests_all = is_if && walk->language->else_if_nests;
    parent->else_state = is_if ? WALK_ELSE_NONE : WALK_ELSE_IN;
    return err_pass(
        complexity_function_increment(walk, parent->else_at, is_if ? "else if" : "else", 0, false));
}

/* Logical operators. */

/* Whether `a OP b` is one of ours. */
static bool walk_is_logical(const Walk *walk, const WalkFrame *frame)
{
    uint32_t n = ts_node_child_count(frame->node);

    for (uint32_t i = 1; i < n && i < WALK_LOOK_MAX; i++) {
        TSNode child = ts_node_child(frame->node, i);
        uint64_t does =
            complexity_table_rule(walk->table, ts_node_symbol(child), frame->symbol)->does;

        if ((does & (RULE_COMMENT | RULE_SKIP)) == 0) {
            return (does & (RULE_AND | RULE_OR)) != 0;
        }
    }
    return false;
}

static void walk_set_run(const Walk *walk, const WalkFrame *parent, WalkFrame *frame)
{
    if ((frame->does & RULE_PAREN) != 0) {
        frame->run = parent->run;
    } else if ((frame->does & RULE_BINARY) != 0 && walk_is_logical(walk, frame)) {
        frame->run = parent->run != 0 ? parent->run : (uint32_t)walk->n_frames;
    }
}

static int walk_operator(Walk *walk, const WalkFrame *parent, const WalkFrame *frame)
{
    uint64_t kind = frame->does & (RULE_AND | RULE_OR);
    WalkFunction *function = walk_function(walk);
    WalkFrame *run = &walk->frames[parent->run];
    const char *shown = frame->rule->shown;

    if ((parent->does & RULE_BINARY) == 0 || function == NULL) {
        return 0;
    }
    if (!parent->is_muted) {
        function->cyclomatic++;
        function->modified++;
    }
    if (kind == 0 || (parent->run != 0 && run->run_operator == kind)) {
        return 0;
    }
    /* Without a run (its operator was not found among comments) it is one of its own. */
    run->run_operator = kind;
    if (shown == NULL) {
        shown = kind == RULE_AND ? "&&" : "||";
    }
    return err_pass(
        complexity_function_increment(walk, ts_node_start_point(frame->node), shown, 0, false));
}

/* Functions. */

static void walk_count_parameters(Walk *walk, const ComplexityPlace *place)
{
    WalkFunction *function = walk_function(walk);

    if (function == NULL || !function->wants_parameters) {
        return;
    }
    function->wants_parameters = false;
    function->parameters = walk->language->parameters != NULL
                               ? walk->language->parameters(place)
                               : complexity_node_count(place->node, NULL);
}

/* The level of what is in a function, in the function around it. */
static uint32_t walk_base_level(const Walk *walk, const WalkFrame *frame)
{
    const WalkFunction *outer = walk_function(walk);
    ComplexityPlace place;

    if (outer == NULL || frame->is_reset) {
        return 0;
    }
    place = (ComplexityPlace){.node = outer->node, .text = walk->text};
    return walk->language->wraps != NULL && walk->language->wraps(&place) ? frame->level
                                                                          : frame->level + 1;
}

static int walk_count(Walk *walk, const WalkFrame *parent, const WalkFrame *frame);

/* What the parser took for a function may be a statement. */
static int walk_take_for(Walk *walk, const ComplexityPlace *place, const WalkFrame *parent,
                         WalkFrame *frame)
{
    const char *name = NULL;
    TSSymbol symbol;

    if (walk->tree_has_error && walk->language->really != NULL) {
        name = walk->language->really(place);
    }
    if (name == NULL) {
        return 0;
    }
    symbol =
        ts_language_symbol_for_name(walk->language->grammar(), name, (uint32_t)strlen(name), true);
    frame->rule = complexity_table_rule(walk->table, symbol, parent->symbol);
    frame->does = frame->rule->does;
    frame->nests_all = true;
    return err_pass(walk_count(walk, parent, frame));
}

static int walk_begin_function(Walk *walk, WalkFrame *frame, bool has_row, Span name)
{
    int r = complexity_function_open(walk, frame, has_row, name, walk_base_level(walk, frame));

    if (r != 0) {
        return err_pass(r);
    }
    frame->has_function = true;
    frame->does &= ~RULE_CLOSURE;
    frame->level = 0;
    frame->depth = 0;
    frame->is_muted = false;
    frame->is_reset = false;
    return 0;
}

static int walk_open(Walk *walk, const ComplexityPlace *place, const WalkFrame *parent,
                     WalkFrame *frame)
{
    bool has_row = (frame->does & RULE_FUNCTION) != 0;
    Span name = SPAN_NULL;
    bool is = true;
    int r = 0;

    if ((frame->does & (RULE_FUNCTION | RULE_CONTAINER)) != 0) {
        r = complexity_name_of(walk, place, frame->scope, &is, &name, &frame->scope);
    }
    if (r != 0) {
        return err_pass(r);
    }
    if (!is) {
        frame->does &= ~(RULE_FUNCTION | RULE_CONTAINER);
        return has_row ? err_pass(walk_take_for(walk, place, parent, frame)) : 0;
    }
    if ((frame->does & (RULE_FUNCTION | RULE_APART)) == 0) {
        return 0;
    }
    r = walk_begin_function(walk, frame, has_row, name);
    if (r == 0 && has_row && walk->language->parameters_of != NULL) {
        walk->functions[walk->n_functions - 1].parameters = walk->language->parameters_of(place);
    }
    return err_pass(r);
}

/* In a function it counts there; in none it is a function itself. */
static int walk_open_closure(Walk *walk, WalkFrame *frame)
{
    Span name = SPAN_NULL;
    int r;

    if (walk->n_functions > 0) {
        /* The next list of parameters is the closure's. */
        walk_function(walk)->wants_parameters = false;
        return 0;
    }
    r = complexity_name_closure(walk, &name, &frame->scope);
    return r == 0 ? err_pass(walk_begin_function(walk, frame, true, name)) : err_pass(r);
}

/* Points. */

static int walk_count(Walk *walk, const WalkFrame *parent, const WalkFrame *frame)
{
    WalkFunction *function = walk_function(walk);
    uint64_t does = frame->does;
    const char *shown = frame->rule->shown != NULL ? frame->rule->shown : "?";
    bool is_structure;

    if (function == NULL) {
        return 0;
    }
    if (!parent->is_muted) {
        function->cyclomatic += (does & (RULE_CYCLOMATIC | RULE_CASE)) != 0;
        function->modified += (does & (RULE_CYCLOMATIC | RULE_SWITCH_ONCE)) != 0;
    }
    if ((does & RULE_DEEPEN) != 0 && frame->depth + 1 > function->nesting) {
        function->nesting = frame->depth + 1;
    }
    /* An else-if was counted when its else was. */
    if (((does & RULE_STRUCTURE) == 0 || frame->is_else_if) && (does & RULE_FLAT) == 0) {
        return 0;
    }
    is_structure = (does & RULE_STRUCTURE) != 0;
    return err_pass(complexity_function_increment(walk, ts_node_start_point(frame->node), shown,
                                                  is_structure ? frame->level : 0,
                                                  is_structure && !parent->is_reset));
}

#define WALK_OPENS (RULE_FUNCTION | RULE_APART | RULE_CONTAINER)
#define WALK_COUNTS                                                                                \
    (RULE_CYCLOMATIC | RULE_CASE | RULE_SWITCH_ONCE | RULE_STRUCTURE | RULE_FLAT | RULE_DEEPEN)

/* The innermost frame is that of the parent. */
static ComplexityPlace walk_place(const Walk *walk, const WalkFrame *parent, TSNode node)
{
    ComplexityPlace place = {.node = node, .parent = parent->node, .text = walk->text};

    if (walk->n_frames > 1) {
        place.above = walk->frames[walk->n_frames - 2].node;
    }
    place.in_function = walk->n_functions > 0;
    return place;
}

/* What the rule of a node does, where it does more than tell tokens apart. */
static int walk_apply(Walk *walk, WalkFrame *parent, WalkFrame *frame)
{
    uint64_t does = frame->does;
    ComplexityPlace place = walk_place(walk, parent, frame->node);
    int r = 0;

    if ((does & RULE_PARAMETERS) != 0) {
        walk_count_parameters(walk, &place);
    }
    if ((does & (RULE_BINARY | RULE_PAREN)) != 0) {
        walk_set_run(walk, parent, frame);
    }
    if ((does & (RULE_AND | RULE_OR | RULE_COALESCE)) != 0) {
        r = walk_operator(walk, parent, frame);
    }
    if (r == 0 && (does & WALK_COUNTS) != 0) {
        r = walk_count(walk, parent, frame);
    }
    if (r == 0 && (does & WALK_OPENS) != 0) {
        r = walk_open(walk, &place, parent, frame);
    }
    if (r == 0 && (frame->does & RULE_CLOSURE) != 0) {
        r = walk_open_closure(walk, frame);
    }
    if (r == 0 && (does & RULE_GROUP) != 0) {
        r = complexity_group_open(walk, frame);
    }
    if ((does & RULE_RESET) != 0) {
        frame->level = 0;
        frame->is_reset = true;
    }
    if ((does & RULE_ELSE_TOKEN) != 0 && (parent->does & RULE_TAKES_ELSE) != 0) {
        parent->else_state = WALK_ELSE_SEEN;
        parent->else_at = ts_node_start_point(frame->node);
    }
    parent->body_seen |= (does & RULE_BODY_TOKEN) != 0;
    return err_pass(r);
}

int complexity_walk_enter(Walk *walk, const TSTreeCursor *cursor, WalkFrame *parent,
                          WalkFrame *frame)
{
    int r = 0;

    frame->level = parent->level;
    frame->depth = parent->depth;
    frame->scope = parent->scope;
    frame->is_muted = parent->is_muted || (frame->does & RULE_MUTE) != 0;
    frame->is_reset = parent->is_reset;
    if ((frame->does & RULE_OPERATOR) == 0) {
        if (parent->else_state == WALK_ELSE_SEEN) {
            r = complexity_walk_meet_else(walk, parent, frame);
        } else {
            walk_set_level(parent, cursor, frame);
        }
    }
    if (r == 0 && (frame->does & ~WALK_PLAIN) != 0) {
        r = walk_apply(walk, parent, frame);
    }
    return err_pass(r);
}
