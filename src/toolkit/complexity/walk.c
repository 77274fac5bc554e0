#include "toolkit/complexity/walk.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* How often the walk looks whether it is still wanted: some tens of microseconds. */
#define WALK_STEPS_PER_LOOK 1024

/* A text with code in it may hold others, to any depth; reading each of them whole takes the square
 * of its length. Longer ones are taken to differ from one another. */
#define WALK_TEXT_MAX 1024

/* Children are found by counting from the first, so that nobody may look at all of them that way.
 */
#define WALK_LOOK_MAX 8

/* Bits that only say what kind of token a leaf is: a node with no others needs no second look. */
#define WALK_PLAIN (RULE_OPERATOR | RULE_CLOSE | RULE_CODE)

void complexity_walk_init(Walk *walk, HashSeed seed)
{
    *walk = (Walk){.lines = COMPLEXITY_LINES_NULL};
    complexity_tally_init(&walk->tally, seed);
}

void complexity_walk_deinit(Walk *walk)
{
    walk->frames = mem_free(walk->frames);
    walk->functions = mem_free(walk->functions);
    walk->rows = mem_free(walk->rows);
    walk->increments = mem_free(walk->increments);
    complexity_lines_deinit(&walk->lines);
    complexity_tally_deinit(&walk->tally);
    *walk = (Walk){.lines = COMPLEXITY_LINES_NULL};
}

int complexity_walk_room(void **array, size_t n, size_t *cap, size_t size)
{
    size_t new_cap = *cap == 0 ? 64 : *cap * 2;
    size_t n_bytes;
    void *p;

    if (TW_LIKELY(n < *cap)) {
        return 0;
    }
    p = mem_size_mul(new_cap, size, &n_bytes) ? mem_realloc(*array, n_bytes) : NULL;
    if (p == NULL) {
        return err_raise(-ENOMEM);
    }
    *array = p;
    *cap = new_cap;
    return 0;
}

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

/* A node directly behind an else says what that is. */
static int walk_meet_else(Walk *walk, WalkFrame *parent, WalkFrame *frame)
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
    r = complexity_function_open(walk, frame, has_row, name, walk_base_level(walk, frame));
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
    if ((frame->does & RULE_CLOSURE) != 0 && walk->n_functions > 0) {
        /* The next list of parameters is the closure's. */
        walk_function(walk)->wants_parameters = false;
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

/* The node where the cursor is, as the frame that its children would have. */
static int walk_enter(Walk *walk, const TSTreeCursor *cursor, WalkFrame *parent, WalkFrame *frame)
{
    int r = 0;

    frame->level = parent->level;
    frame->depth = parent->depth;
    frame->scope = parent->scope;
    frame->is_muted = parent->is_muted || (frame->does & RULE_MUTE) != 0;
    frame->is_reset = parent->is_reset;
    if ((frame->does & RULE_OPERATOR) == 0) {
        if (parent->else_state == WALK_ELSE_SEEN) {
            r = walk_meet_else(walk, parent, frame);
        } else {
            walk_set_level(parent, cursor, frame);
        }
    }
    if (r == 0 && (frame->does & ~WALK_PLAIN) != 0) {
        r = walk_apply(walk, parent, frame);
    }
    return err_pass(r);
}

/* Whether the rule of a node holds here. */
static bool walk_asks(const Walk *walk, const WalkFrame *parent, TSNode node)
{
    ComplexityPlace place = {.node = node, .parent = parent->node, .text = walk->text};

    return walk->language->counts != NULL && walk->language->counts(&place);
}

static void walk_find_rule(const Walk *walk, const WalkFrame *parent, TSNode node, WalkFrame *frame)
{
    TSSymbol symbol = ts_node_symbol(node);

    *frame = (WalkFrame){.node = node, .symbol = complexity_table_same(walk->table, symbol)};
    frame->rule = complexity_table_rule(walk->table, symbol, parent->symbol);
    if ((frame->rule->does & RULE_ASK) != 0 && !walk_asks(walk, parent, node)) {
        frame->rule = complexity_table_none(walk->table, frame->rule);
    }
    frame->does = frame->rule->does;
    if ((parent->does & RULE_TEXT) != 0 && (frame->does & RULE_CODE) == 0) {
        frame->does = RULE_SKIP;
    }
}

/* Goes down into the node of the frame if there is something in it; if not, it is a token. */
static int walk_descend(Walk *walk, TSTreeCursor *cursor, WalkFrame *frame, bool *ret_down)
{
    int r = 0;

    if ((frame->does & RULE_TEXT) != 0) {
        r = complexity_token_operand(walk, frame->node, frame->symbol, WALK_TEXT_MAX);
        if (r != 0) {
            return err_pass(r);
        }
    }
    *ret_down = ts_tree_cursor_goto_first_child(cursor);
    if (*ret_down) {
        walk->n_frames++;
        return 0;
    }
    if ((frame->does & RULE_TEXT) == 0) {
        r = complexity_token_leaf(walk, frame->node, frame->symbol, frame->does);
    }
    if (r == 0 && frame->has_function) {
        r = complexity_function_close(walk);
    }
    return err_pass(r);
}

/* Deals with the node where the cursor is; true in *ret_down if it went down to its first child. */
static int walk_node(Walk *walk, TSTreeCursor *cursor, bool *ret_down)
{
    TSNode node = ts_tree_cursor_current_node(cursor);
    WalkFrame *parent;
    WalkFrame *frame;
    int r = complexity_walk_room((void **)&walk->frames, walk->n_frames, &walk->cap_frames,
                                 sizeof(*walk->frames));

    *ret_down = false;
    if (r != 0) {
        return err_pass(r);
    }
    parent = &walk->frames[walk->n_frames - 1];
    frame = &walk->frames[walk->n_frames];
    walk_find_rule(walk, parent, node, frame);
    if ((frame->does & (RULE_COMMENT | RULE_STRING | RULE_SKIP)) != 0) {
        /* `else "text"`: that is what the else is. */
        if ((frame->does & RULE_STRING) != 0 && parent->else_state == WALK_ELSE_SEEN) {
            r = walk_meet_else(walk, parent, frame);
        }
        return r == 0 ? err_pass(complexity_token_whole(walk, node, frame->symbol, frame->does))
                      : err_pass(r);
    }
    if (walk->tree_has_error && ts_node_is_error(node)) {
        complexity_token_error(walk, node);
    }
    r = walk_enter(walk, cursor, parent, frame);
    return r == 0 ? err_pass(walk_descend(walk, cursor, frame, ret_down)) : err_pass(r);
}

/* Goes on behind a node and all that is in it, closing what ends there; false in *ret_more at the
 * end of the tree. */
static int walk_next(Walk *walk, TSTreeCursor *cursor, bool *ret_more)
{
    *ret_more = true;
    while (!ts_tree_cursor_goto_next_sibling(cursor)) {
        if (!ts_tree_cursor_goto_parent(cursor)) {
            *ret_more = false;
            return 0;
        }
        walk->n_frames--;
        if (walk->frames[walk->n_frames].has_function) {
            int r = complexity_function_close(walk);

            if (r != 0) {
                return err_pass(r);
            }
        }
    }
    return 0;
}

static bool walk_is_cancelled(const Walk *walk)
{
    const atomic_bool *cancel = walk->options->cancel;

    return cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed);
}

static int walk_all(Walk *walk, TSTreeCursor *cursor)
{
    uint32_t n_steps = 0;
    bool more = true;
    bool down;
    int r;

    while (more) {
        if (n_steps++ % WALK_STEPS_PER_LOOK == 0 && walk_is_cancelled(walk)) {
            return COMPLEXITY_E_CANCELLED;
        }
        r = walk_node(walk, cursor, &down);
        if (r == 0 && !down) {
            r = walk_next(walk, cursor, &more);
        }
        if (r != 0) {
            return err_pass(r);
        }
    }
    return 0;
}

/* Ready for a tree; the frame around the root is there. */
static int walk_begin(Walk *walk, Span text, Span parsed)
{
    int r = complexity_lines_begin(&walk->lines, text);

    if (r == 0 && parsed.p != text.p) {
        complexity_lines_mark_changed(&walk->lines, text, parsed);
    }
    walk->n_frames = 0;
    walk->n_functions = 0;
    walk->n_rows = 0;
    walk->n_increments = 0;
    walk->n_listed = 0;
    walk->n_errors = 0;
    walk->n_semicolons = 0;
    walk->first_error_line = 0;
    if (r == 0) {
        r = complexity_tally_begin(&walk->tally, walk->table->n_symbols);
    }
    if (r == 0) {
        r = complexity_walk_room((void **)&walk->frames, 0, &walk->cap_frames,
                                 sizeof(*walk->frames));
    }
    if (r == 0) {
        walk->frames[walk->n_frames++] = (WalkFrame){.rule = &walk->table->rules[0]};
    }
    return err_pass(r);
}

int complexity_walk_tree(Walk *walk, const ComplexityLanguage *language,
                         const ComplexityTable *table, const TSTree *tree, Span text, Span parsed,
                         const ComplexityOptions *options, Arena *arena)
{
    TSNode root = ts_tree_root_node(tree);
    TSTreeCursor cursor;
    int r;

    walk->language = language;
    walk->table = table;
    walk->options = options;
    walk->arena = arena;
    walk->text = text;
    walk->tree_has_error = ts_node_has_error(root);
    r = walk_begin(walk, text, parsed);
    if (r != 0) {
        return err_pass(r);
    }
    cursor = ts_tree_cursor_new(root);
    r = walk_all(walk, &cursor);
    ts_tree_cursor_delete(&cursor);
    if (r == 0) {
        r = complexity_lines_sum(&walk->lines);
    }
    return r > 0 ? r : err_pass(r);
}
