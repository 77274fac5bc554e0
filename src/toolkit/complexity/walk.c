#include "toolkit/complexity/walk.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* A text with code in it may hold others, to any depth; reading each of them whole takes the square
 * of its length. Longer ones are taken to differ from one another. */
#define WALK_TEXT_MAX 1024

void complexity_walk_init(Walk *walk, HashSeed seed)
{
    *walk = (Walk){.lines = COMPLEXITY_LINES_NULL};
    complexity_tally_init(&walk->tally, seed);
}

void complexity_walk_deinit(Walk *walk)
{
    walk->frames = mem_free(walk->frames);
    walk->functions = mem_free(walk->functions);
    walk->groups = mem_free(walk->groups);
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

/* Closes what the node of the frame began. */
static int walk_leave(Walk *walk, const WalkFrame *frame)
{
    if (frame->has_group) {
        complexity_group_close(walk);
    }
    return frame->has_function ? err_pass(complexity_function_close(walk)) : 0;
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
    return r == 0 ? err_pass(walk_leave(walk, frame)) : err_pass(r);
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
            r = complexity_walk_meet_else(walk, parent, frame);
        }
        if (parent->has_group && (frame->does & RULE_STRING) != 0) {
            r = complexity_group_meet(walk, cursor, frame);
        }
        return r == 0 ? err_pass(complexity_token_whole(walk, node, frame->symbol, frame->does))
                      : err_pass(r);
    }
    if (walk->tree_has_error && ts_node_is_error(node)) {
        complexity_token_error(walk, node);
    }
    r = complexity_walk_enter(walk, cursor, parent, frame);
    if (r == 0 && parent->has_group) {
        r = complexity_group_meet(walk, cursor, frame);
    }
    return r == 0 ? err_pass(walk_descend(walk, cursor, frame, ret_down)) : err_pass(r);
}

/* 0, or why to end. The cursor takes memory too: as much as the tree is deep. */
static int walk_look(const Walk *walk)
{
    if (stop_is_asked(walk->options->stop)) {
        return COMPLEXITY_E_CANCELLED;
    }
    return complexity_memory_check(walk->memory);
}

/* A node, or the way back from one: both may be all that is done for long. */
static int walk_step(Walk *walk)
{
    return TW_UNLIKELY(walk->n_steps++ % STOP_STEPS == 0) ? walk_look(walk) : 0;
}

/* Goes on behind a node and all that is in it, closing what ends there; false in *ret_more at the
 * end of the tree. */
static int walk_next(Walk *walk, TSTreeCursor *cursor, bool *ret_more)
{
    int r;

    *ret_more = true;
    while (!ts_tree_cursor_goto_next_sibling(cursor)) {
        if (!ts_tree_cursor_goto_parent(cursor)) {
            *ret_more = false;
            return 0;
        }
        walk->n_frames--;
        r = walk_leave(walk, &walk->frames[walk->n_frames]);
        r = r == 0 ? walk_step(walk) : err_pass(r);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

static int walk_all(Walk *walk, TSTreeCursor *cursor)
{
    bool more = true;
    bool down = false;
    int r;

    while (more) {
        r = walk_step(walk);
        if (r == 0) {
            r = err_pass(walk_node(walk, cursor, &down));
        }
        if (r == 0 && !down) {
            r = walk_next(walk, cursor, &more);
        }
        if (r != 0) {
            return r;
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
    walk->n_steps = 0;
    walk->n_frames = 0;
    walk->n_functions = 0;
    walk->n_groups = 0;
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
                         const ComplexityOptions *options, const ComplexityMemory *memory,
                         Arena *arena)
{
    TSNode root = ts_tree_root_node(tree);
    TSTreeCursor cursor;
    int r;

    walk->language = language;
    walk->table = table;
    walk->options = options;
    walk->memory = memory;
    walk->arena = arena;
    walk->text = text;
    walk->tree_has_error = ts_node_has_error(root);
    r = walk_begin(walk, text, parsed);
    if (r != 0) {
        return err_pass(r);
    }
    cursor = ts_tree_cursor_new(root);
    /* It lies in the account's memory, and is gone with it. */
    r = walk_all(walk, &cursor);
    if (r == 0) {
        r = complexity_lines_sum(&walk->lines);
    }
    return r > 0 ? r : err_pass(r);
}
