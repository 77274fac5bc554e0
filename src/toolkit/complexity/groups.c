/* Tokens that the grammar made no tree of: what a macro is called with. Words that have a block are
 * known by themselves, and the block is the next pair of braces in the same brackets. */
#include "toolkit/complexity/walk.h"

#include <string.h>

#include "base/error.h"

/* How far the block of an if may be from it, in tokens: behind that it is taken to have none. */
#define GROUP_LOOK_MAX 256

/* Blocks to come, two bits each; more are forgotten. */
#define GROUP_BLOCKS_MAX 32

static WalkGroup *group_top(const Walk *walk)
{
    return &walk->groups[walk->n_groups - 1];
}

static int group_add(Walk *walk, WalkFrame *frame, WalkGroup group)
{
    int r = complexity_walk_room((void **)&walk->groups, walk->n_groups, &walk->cap_groups,
                                 sizeof(*walk->groups));

    if (r != 0) {
        return err_pass(r);
    }
    walk->groups[walk->n_groups++] = group;
    frame->has_group = true;
    return 0;
}

int complexity_group_open(Walk *walk, WalkFrame *frame)
{
    if (walk->n_functions == 0) {
        return 0;
    }
    return err_pass(group_add(walk, frame,
                              (WalkGroup){.level = frame->level,
                                          .depth = frame->depth,
                                          .run = (uint32_t)walk->n_groups}));
}

void complexity_group_close(Walk *walk)
{
    walk->n_groups--;
}

/* State. */

static uint32_t group_level(const WalkGroup *group)
{
    return group->level + group->n_blocks + group->n_closures;
}

static void group_expect(WalkGroup *group, WalkBlock block)
{
    if (group->n_blocks < GROUP_BLOCKS_MAX) {
        group->blocks = group->blocks << 2 | (uint64_t)block;
        group->n_blocks++;
    }
}

static void group_end_run(Walk *walk)
{
    walk->groups[group_top(walk)->run].run_operator = 0;
}

/* An expression, or what separates them, is over. */
static void group_end_expression(Walk *walk, WalkGroup *group)
{
    group_end_run(walk);
    group->before = WALK_BEFORE_NOTHING;
    group->n_blocks = 0;
    group->n_closures = 0;
    group->in_pattern = false;
    group->in_item = false;
    group->plain_block = false;
}

static bool group_is_operand(const WalkGroup *group)
{
    return group->before == WALK_BEFORE_OPERAND || group->before == WALK_BEFORE_PARENS;
}

/* Points. */

static void group_point(Walk *walk, bool classic, bool modified)
{
    WalkFunction *function = &walk->functions[walk->n_functions - 1];

    function->cyclomatic += classic;
    function->modified += modified;
}

/* A word that has a block. */
static int group_structure(Walk *walk, TSPoint at, const char *shown, WalkBlock block,
                           bool is_else_if)
{
    WalkGroup *group = group_top(walk);
    WalkFunction *function = &walk->functions[walk->n_functions - 1];
    uint32_t depth = group->depth + group->n_blocks + 1;
    uint32_t level = group_level(group);

    group_point(walk, block != WALK_BLOCK_MATCH, true);
    group_end_run(walk);
    if (depth > function->nesting) {
        function->nesting = depth;
    }
    group->before = WALK_BEFORE_NOTHING;
    group_expect(group, block);
    return is_else_if ? 0 : err_pass(complexity_function_increment(walk, at, shown, level, true));
}

/* Its first byte; 0 if the parser made it up at the end of the text. */
static char group_bracket(const Walk *walk, TSNode node)
{
    uint32_t start = ts_node_start_byte(node);

    return start < walk->text.n ? walk->text.p[start] : '\0';
}

/* Whether an if has a block: in `matches!(x, y if z)` it has none. */
static bool group_has_block(const Walk *walk, const TSTreeCursor *cursor)
{
    TSTreeCursor look = ts_tree_cursor_copy(cursor);
    bool found = false;

    for (int i = 0; i < GROUP_LOOK_MAX && !found && ts_tree_cursor_goto_next_sibling(&look); i++) {
        TSNode node = ts_tree_cursor_current_node(&look);
        ComplexityWordKind kind = walk->language->word_of(node, walk->text).kind;

        if (kind == COMPLEXITY_WORD_COMMA || kind == COMPLEXITY_WORD_ARROW) {
            break;
        }
        found = kind == COMPLEXITY_WORD_GROUP && group_bracket(walk, node) == '{';
    }
    ts_tree_cursor_delete(&look);
    return found;
}

/* Words. */

static Span group_behind(const Walk *walk, TSNode node)
{
    size_t at = ts_node_end_byte(node);

    while (at < walk->text.n && strchr(" \t\r\n", walk->text.p[at]) != NULL) {
        at++;
    }
    return span_make(walk->text.p + at, walk->text.n - at);
}

/* `break 'a`, and not `break 'a'`. */
static bool group_has_label(const Walk *walk, TSNode node)
{
    Span rest = group_behind(walk, node);

    return rest.n > 2 && rest.p[0] == '\'' && rest.p[1] != '\\' && rest.p[2] != '\'';
}

/* What follows an else says what that is. */
static int group_settle_else(Walk *walk, WalkGroup *group, bool is_if, bool is_block)
{
    group->is_else = false;
    if (group->is_let_else) {
        group_point(walk, is_block, is_block);
        group->plain_block = is_block;
        return 0;
    }
    if (!is_if) {
        group_expect(group, WALK_BLOCK_OTHER);
    }
    return err_pass(
        complexity_function_increment(walk, group->else_at, is_if ? "else if" : "else", 0, false));
}

static int group_meet_logical(Walk *walk, WalkGroup *group, TSPoint at, uint64_t kind)
{
    WalkGroup *run = &walk->groups[group->run];

    if (!group_is_operand(group)) {
        /* `&&x`, `|| x` */
        group->n_closures += kind == RULE_OR;
        group->before = WALK_BEFORE_NOTHING;
        return 0;
    }
    group->before = WALK_BEFORE_LOGICAL;
    group_point(walk, true, true);
    if (run->run_operator == kind) {
        return 0;
    }
    run->run_operator = kind;
    return err_pass(
        complexity_function_increment(walk, at, kind == RULE_AND ? "&&" : "||", 0, false));
}

static void group_meet_bar(WalkGroup *group)
{
    if (group->in_bars) {
        group->in_bars = false;
        group->n_closures++;
    } else {
        group->in_bars = !group_is_operand(group) && !group->in_pattern;
    }
    group->before = WALK_BEFORE_NOTHING;
}

/* Braces: *ret is what is in them, but for its level. */
static void group_meet_block(Walk *walk, WalkGroup *group, WalkGroup *ret)
{
    WalkBefore before = WALK_BEFORE_BLOCK;

    if (group->in_pattern || group->in_bars || group->before == WALK_BEFORE_NOT) {
        before = WALK_BEFORE_OPERAND;
    } else if (group->plain_block || group->in_item) {
        group->in_item = false;
    } else if (group->n_blocks > 0) {
        WalkBlock block = (WalkBlock)(group->blocks & 3);

        group->blocks >>= 2;
        group->n_blocks--;
        ret->arm = block == WALK_BLOCK_MATCH ? WALK_ARM_PATTERN : WALK_ARM_NONE;
        before = block == WALK_BLOCK_IF ? WALK_BEFORE_IF_BLOCK : WALK_BEFORE_BLOCK;
    } else if (group_is_operand(group)) {
        before = WALK_BEFORE_OPERAND;
    }
    group_end_run(walk);
    group->before = before;
    if (group->arm == WALK_ARM_BODY && group->arm_is_block && group->n_blocks == 0) {
        group->arm = WALK_ARM_BLOCK;
    }
}

static int group_meet_group(Walk *walk, WalkGroup *group, WalkFrame *frame)
{
    char bracket = group_bracket(walk, frame->node);
    WalkGroup inner = {.level = frame->level, .depth = frame->depth};
    bool shares_run;

    if (group->before == WALK_BEFORE_QUOTE_MARK) {
        group->before = WALK_BEFORE_OPERAND;
        return 0;
    }
    shares_run = bracket == '(' &&
                 (group->before == WALK_BEFORE_NOTHING || group->before == WALK_BEFORE_LOGICAL);
    inner.run = shares_run ? group->run : (uint32_t)walk->n_groups;
    if (bracket == '{') {
        group_meet_block(walk, group, &inner);
    } else {
        group->before = shares_run ? WALK_BEFORE_PARENS : WALK_BEFORE_OPERAND;
    }
    return err_pass(group_add(walk, frame, inner));
}

static int group_meet_if(Walk *walk, const TSTreeCursor *cursor, TSPoint at, bool is_else_if)
{
    if (is_else_if || group_has_block(walk, cursor)) {
        return err_pass(group_structure(walk, at, "if", WALK_BLOCK_IF, is_else_if));
    }
    /* A guard. */
    group_point(walk, true, true);
    group_end_run(walk);
    group_top(walk)->before = WALK_BEFORE_NOTHING;
    return 0;
}

static int group_meet_for(Walk *walk, WalkGroup *group, const WalkFrame *frame, TSPoint at,
                          const char *shown)
{
    Span rest = group_behind(walk, frame->node);

    /* `impl A for B`, `for<'a> Fn(…)` */
    if (group->in_item || (rest.n > 0 && rest.p[0] == '<')) {
        group->before = WALK_BEFORE_NOTHING;
        return 0;
    }
    group->in_pattern = true;
    return err_pass(group_structure(walk, at, shown, WALK_BLOCK_OTHER, false));
}

/* Any other punctuation. */
static void group_meet_operator(Walk *walk, WalkGroup *group, ComplexityWordKind kind)
{
    /* What was in the parentheses was no operand of ours. */
    if (group->before == WALK_BEFORE_PARENS || kind == COMPLEXITY_WORD_ASSIGN) {
        group_end_run(walk);
    }
    if (kind == COMPLEXITY_WORD_ASSIGN) {
        group->in_pattern = false;
        group->before = WALK_BEFORE_NOTHING;
    } else if (kind == COMPLEXITY_WORD_NOT) {
        group->before =
            group->before == WALK_BEFORE_QUOTE ? WALK_BEFORE_QUOTE_MARK : WALK_BEFORE_NOT;
    } else {
        group->before = WALK_BEFORE_OPERATOR;
    }
}

/* Words that count nothing by themselves. */
static void group_meet_plain(Walk *walk, WalkGroup *group, ComplexityWordKind kind)
{
    switch (kind) {
    case COMPLEXITY_WORD_OPERAND:
        group->before = WALK_BEFORE_OPERAND;
        return;
    case COMPLEXITY_WORD_QUOTE:
        group->before = WALK_BEFORE_QUOTE;
        return;
    case COMPLEXITY_WORD_COMMA:
    case COMPLEXITY_WORD_ARROW:
        if (!group->in_bars) {
            group_end_expression(walk, group);
        }
        group->before = WALK_BEFORE_NOTHING;
        return;
    case COMPLEXITY_WORD_BAR:
        group_meet_bar(group);
        return;
    case COMPLEXITY_WORD_LET:
        group_end_run(walk);
        group->in_pattern = true;
        break;
    case COMPLEXITY_WORD_IN:
        group->in_pattern = false;
        break;
    case COMPLEXITY_WORD_ITEM:
        group->in_item = true;
        break;
    case COMPLEXITY_WORD_UNSAFE:
        group->plain_block = true;
        break;
    case COMPLEXITY_WORD_KEYWORD:
    case COMPLEXITY_WORD_REST:
    case COMPLEXITY_WORD_LABEL:
        break;
    default:
        group_meet_operator(walk, group, kind);
        return;
    }
    group->before = WALK_BEFORE_NOTHING;
}

static int group_meet_word(Walk *walk, const TSTreeCursor *cursor, WalkFrame *frame,
                           ComplexityWord word, bool is_else_if)
{
    WalkGroup *group = group_top(walk);
    TSPoint at = ts_node_start_point(frame->node);

    switch (word.kind) {
    case COMPLEXITY_WORD_GROUP:
        return err_pass(group_meet_group(walk, group, frame));
    case COMPLEXITY_WORD_IF:
        return err_pass(group_meet_if(walk, cursor, at, is_else_if));
    case COMPLEXITY_WORD_LOOP:
        return err_pass(group_structure(walk, at, word.shown, WALK_BLOCK_OTHER, false));
    case COMPLEXITY_WORD_MATCH:
        return err_pass(group_structure(walk, at, word.shown, WALK_BLOCK_MATCH, false));
    case COMPLEXITY_WORD_FOR:
        return err_pass(group_meet_for(walk, group, frame, at, word.shown));
    case COMPLEXITY_WORD_AND:
        return err_pass(group_meet_logical(walk, group, at, RULE_AND));
    case COMPLEXITY_WORD_OR:
        return err_pass(group_meet_logical(walk, group, at, RULE_OR));
    case COMPLEXITY_WORD_ELSE:
        group->is_else = true;
        group->is_let_else = group->before != WALK_BEFORE_IF_BLOCK;
        group->else_at = at;
        group->before = WALK_BEFORE_NOTHING;
        return 0;
    case COMPLEXITY_WORD_TRY:
        group_point(walk, group_is_operand(group), group_is_operand(group));
        return 0;
    case COMPLEXITY_WORD_JUMP:
        group->before = WALK_BEFORE_NOTHING;
        return group_has_label(walk, frame->node)
                   ? err_pass(complexity_function_increment(walk, at, word.shown, 0, false))
                   : 0;
    default:
        group_meet_plain(walk, group, word.kind);
        return 0;
    }
}

/* Arms of a match. */

static void group_begin_arm(Walk *walk, WalkGroup *group)
{
    group_end_expression(walk, group);
    group->arm = WALK_ARM_PATTERN;
    group->arm_tokens = 0;
    group->arm_is_rest = false;
    group->in_guard = false;
}

/* True if the token needs no other look. */
static bool group_meet_pattern(Walk *walk, WalkGroup *group, ComplexityWordKind kind)
{
    if (kind == COMPLEXITY_WORD_ARROW) {
        group_point(walk, !group->arm_is_rest, false);
        group_end_expression(walk, group);
        group->arm = WALK_ARM_BODY;
        group->arm_tokens = 0;
        return true;
    }
    if (group->in_guard) {
        return false;
    }
    if (kind == COMPLEXITY_WORD_COMMA) {
        group_begin_arm(walk, group);
        return true;
    }
    group->arm_tokens++;
    group->before = WALK_BEFORE_NOTHING;
    if (kind == COMPLEXITY_WORD_IF) {
        group_point(walk, true, true);
        group->in_guard = true;
        return true;
    }
    group->arm_is_rest = group->arm_tokens == 1 && kind == COMPLEXITY_WORD_REST;
    return kind != COMPLEXITY_WORD_GROUP;
}

static bool group_meet_arm(Walk *walk, WalkGroup *group, TSNode node, ComplexityWordKind kind)
{
    if (group->arm == WALK_ARM_BLOCK) {
        if (kind == COMPLEXITY_WORD_ELSE) {
            group->arm = WALK_ARM_BODY;
        } else {
            group_begin_arm(walk, group);
        }
    }
    if (group->arm == WALK_ARM_PATTERN) {
        return group_meet_pattern(walk, group, kind);
    }
    if (kind == COMPLEXITY_WORD_COMMA && !group->in_bars) {
        group_begin_arm(walk, group);
        return true;
    }
    if (group->arm_tokens++ == 0) {
        group->arm_is_block = kind == COMPLEXITY_WORD_IF || kind == COMPLEXITY_WORD_MATCH ||
                              kind == COMPLEXITY_WORD_LOOP || kind == COMPLEXITY_WORD_FOR ||
                              kind == COMPLEXITY_WORD_UNSAFE || kind == COMPLEXITY_WORD_LABEL ||
                              (kind == COMPLEXITY_WORD_GROUP && group_bracket(walk, node) == '{');
    }
    return false;
}

int complexity_group_meet(Walk *walk, const TSTreeCursor *cursor, WalkFrame *frame)
{
    ComplexityWord word = walk->language->word_of(frame->node, walk->text);
    WalkGroup *group = group_top(walk);
    bool is_block;
    bool is_else_if = false;
    bool was_plain = group->plain_block;
    int r = 0;

    if (word.kind == COMPLEXITY_WORD_BRACKET) {
        return 0;
    }
    if (group->arm != WALK_ARM_NONE && group_meet_arm(walk, group, frame->node, word.kind)) {
        return 0;
    }
    if (group->is_else) {
        is_block = word.kind == COMPLEXITY_WORD_GROUP && group_bracket(walk, frame->node) == '{';
        is_else_if = word.kind == COMPLEXITY_WORD_IF && !group->is_let_else;
        r = group_settle_else(walk, group, is_else_if, is_block);
    }
    frame->level = group_level(group);
    frame->depth = group->depth + group->n_blocks;
    if (r == 0) {
        r = group_meet_word(walk, cursor, frame, word, is_else_if);
    }
    /* `unsafe {`, `async move {` */
    if (was_plain && word.kind != COMPLEXITY_WORD_KEYWORD) {
        walk->groups[walk->n_groups - 1 - frame->has_group].plain_block = false;
    }
    return err_pass(r);
}
