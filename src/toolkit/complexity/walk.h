/* toolkit/complexity/walk.h: the one pass over a tree that measures its functions. Private.
 *
 * walk.c steps through the tree, effects.c does what the rule of each node says (rules.h), groups.c
 * reads tokens that the grammar made no tree of, tokens.c counts tokens and lines, functions.c
 * keeps the functions that are open, names.c names them. Nothing here calls itself: depth is the
 * length of a stack. Thread: any, one at a time. */
#pragma once

#include "base/arena.h"
#include "toolkit/complexity/lines.h"
#include "toolkit/complexity/measure.h"
#include "toolkit/complexity/memory.h"
#include "toolkit/complexity/table.h"
#include "toolkit/complexity/tally.h"

/* How far the else of an if has come. */
typedef enum WalkElse {
    WALK_ELSE_NONE,
    WALK_ELSE_SEEN, /* the token has been; what follows decides what it is */
    WALK_ELSE_IN,   /* it is a plain else, and what follows is in it */
} WalkElse;

/* A node that is open: the path from the root to where the walk is. */
typedef struct WalkFrame {
    const ComplexityBound *rule;
    uint64_t does;
    TSNode node;
    TSPoint else_at;
    TSSymbol symbol;       /* as the table has it */
    uint32_t level;        /* where it stands itself */
    uint32_t depth;        /* the same for the metric "nesting" */
    uint32_t run;          /* the frame whose run of logical operators this is in; 0: none */
    uint64_t run_operator; /* in that frame: RULE_AND or RULE_OR, whichever was last */
    Span scope;            /* the name of what is around its children */
    WalkElse else_state;
    bool is_else_if;
    bool nests_all;    /* children in whatever field are deeper */
    bool body_seen;    /* RULE_BODY_TOKEN */
    bool is_muted;     /* cyclomatic points of its children do not count */
    bool is_reset;     /* a function in it begins at level 0 */
    bool has_function; /* it is the innermost open function's */
    bool has_group;    /* it is the innermost open group's */
} WalkFrame;

/* An increment of the functions that are open. */
typedef struct WalkIncrement {
    ComplexityIncrement shown; /* with the level in the innermost of them that is open still */
    bool is_structure;         /* grows with the level */
} WalkIncrement;

/* A function that is open. */
typedef struct WalkFunction {
    TSNode node;
    bool has_row;
    bool wants_parameters; /* its list has not been yet */
    uint32_t row;
    uint32_t chain;      /* the outermost open function that it counts in; its own index: none */
    uint32_t start;      /* place of its first token (tally.h) */
    uint32_t base_level; /* of its body in the function around it */
    uint32_t base_depth;
    uint32_t n_undo;
    uint32_t n_errors; /* when it began */
    bool is_fixed;     /* its levels do not grow with those of the functions around */
    uint32_t parameters;
    uint32_t nesting;
    uint64_t cyclomatic;
    uint64_t modified;
    uint64_t cognitive;
    uint64_t n_structures; /* increments that grow with the level */
    int64_t n1;            /* less than 0 while a function in it holds the rest */
    int64_t n2;
    uint64_t N1;
    uint64_t N2;
    uint64_t tokens;
    size_t first_increment;
} WalkFunction;

/* Whose block is to come. */
typedef enum WalkBlock {
    WALK_BLOCK_OTHER, /* of a loop or an else */
    WALK_BLOCK_IF,
    WALK_BLOCK_MATCH,
} WalkBlock;

/* What the last token of a group was. */
typedef enum WalkBefore {
    WALK_BEFORE_NOTHING, /* or what may stand before an expression */
    WALK_BEFORE_OPERAND,
    WALK_BEFORE_PARENS, /* the same, with a run of operators that goes on */
    WALK_BEFORE_OPERATOR,
    WALK_BEFORE_NOT,
    WALK_BEFORE_LOGICAL,
    WALK_BEFORE_QUOTE, /* a macro that is not looked into, and its ! */
    WALK_BEFORE_QUOTE_MARK,
    WALK_BEFORE_IF_BLOCK,
    WALK_BEFORE_BLOCK,
} WalkBefore;

typedef enum WalkArm {
    WALK_ARM_NONE, /* not in the braces of a match */
    WALK_ARM_PATTERN,
    WALK_ARM_BODY,
    WALK_ARM_BLOCK, /* a block has been that may be all of the arm */
} WalkArm;

/* A pair of brackets that is open and holds tokens only. */
typedef struct WalkGroup {
    uint32_t level; /* of what is directly in it */
    uint32_t depth;
    uint32_t n_closures; /* begun in it and not ended by , or ; */
    uint32_t n_blocks;
    uint64_t blocks;       /* that many are to come: WalkBlock, the innermost lowest */
    uint32_t run;          /* the group whose run of logical operators this is in */
    uint64_t run_operator; /* in that group */
    WalkBefore before;
    TSPoint else_at;
    bool is_else; /* the last token was an else: of an if, or of a let */
    bool is_let_else;
    bool in_pattern;  /* behind let or for */
    bool in_bars;     /* between the bars of a closure */
    bool in_item;     /* behind impl: its `for` is no loop */
    bool plain_block; /* the next block is nobody's: unsafe { */
    WalkArm arm;
    uint32_t arm_tokens;
    bool in_guard;
    bool arm_is_rest;  /* so far, its pattern is `_` */
    bool arm_is_block; /* its body began with a word that has a block */
} WalkGroup;

typedef struct Walk {
    const ComplexityLanguage *language;
    const ComplexityTable *table;
    const ComplexityOptions *options;
    const ComplexityMemory *memory;
    Arena *arena;
    Span text;
    bool tree_has_error;
    size_t n_steps;

    WalkFrame *frames;
    size_t n_frames;
    size_t cap_frames;
    WalkFunction *functions;
    size_t n_functions;
    size_t cap_functions;
    WalkGroup *groups;
    size_t n_groups;
    size_t cap_groups;
    ComplexityFunction *rows;
    size_t n_rows;
    size_t cap_rows;
    WalkIncrement *increments; /* of the open functions, inner ones behind */
    size_t n_increments;
    size_t cap_increments;
    size_t n_listed; /* increments handed out, see COMPLEXITY_INCREMENTS_MAX */
    ComplexityLines lines;
    ComplexityTally tally;
    uint32_t n_errors;
    uint32_t n_semicolons; /* of these: one that is missing, which changes no number */
    uint32_t first_error_line;
} Walk;

/* An increment stands in the list of each row around it, so functions nested without end would need
 * memory without end: lists are left out behind that many entries in one file. */
#define COMPLEXITY_INCREMENTS_MAX ((size_t)1 << 20)

/* Allocates nothing yet; seed as for tables that others fill. */
void complexity_walk_init(Walk *walk, HashSeed seed);
void complexity_walk_deinit(Walk *walk);

/* Measures a tree: rows, lines and errors are then in walk. parsed: the text as the parser saw it.
 * memory: what tree-sitter holds. 0, -ENOMEM, COMPLEXITY_E_*. */
int complexity_walk_tree(Walk *walk, const ComplexityLanguage *language,
                         const ComplexityTable *table, const TSTree *tree, Span text, Span parsed,
                         const ComplexityOptions *options, const ComplexityMemory *memory,
                         Arena *arena);

/* Room for one more element of an array that grows by doubling. 0, -ENOMEM. */
int complexity_walk_room(void **array, size_t n, size_t *cap, size_t size);

/* effects.c. The node where the cursor is, as the frame that its children would have; and a node
 * directly behind an else, which says what that is. 0, -ENOMEM. */
int complexity_walk_enter(Walk *walk, const TSTreeCursor *cursor, WalkFrame *parent,
                          WalkFrame *frame);
int complexity_walk_meet_else(Walk *walk, WalkFrame *parent, WalkFrame *frame);

/* groups.c. Begins the group that the node of the frame is (RULE_GROUP); ends the innermost one.
 * And a child of one that is no comment, where the cursor is: may begin a group in it. 0, -ENOMEM.
 */
int complexity_group_open(Walk *walk, WalkFrame *frame);
void complexity_group_close(Walk *walk);
int complexity_group_meet(Walk *walk, const TSTreeCursor *cursor, WalkFrame *frame);

/* functions.c. Begins a function at the node of the frame, or (without a row) what counts nowhere.
 * base_level: what is directly in it has that level in the function around it. 0, -ENOMEM. */
int complexity_function_open(Walk *walk, const WalkFrame *frame, bool has_row, Span name,
                             uint32_t base_level);
/* Ends the innermost one. 0, -ENOMEM. */
int complexity_function_close(Walk *walk);

/* A point of cognitive complexity in the innermost function, and `nesting` more; grows: that is as
 * much more in functions around it as they are nested. 0, -ENOMEM. */
int complexity_function_increment(Walk *walk, TSPoint at, const char *construct, uint32_t nesting,
                                  bool grows);
/* A token in it, by its number in the tally; there must be one open. 0, -ENOMEM. */
int complexity_function_token(Walk *walk, uint32_t id, bool is_operator);

/* tokens.c. A leaf; something that is not looked into (comments, strings); an operand, which is
 * like no other one if it is longer than max. 0, -ENOMEM. And a place that the parser did not
 * understand.
 */
int complexity_token_leaf(Walk *walk, TSNode node, TSSymbol symbol, uint64_t does);
int complexity_token_whole(Walk *walk, TSNode node, TSSymbol symbol, uint64_t does);
int complexity_token_operand(Walk *walk, TSNode node, TSSymbol symbol, size_t max);
void complexity_token_error(Walk *walk, TSNode node);

/* names.c. What a function or container inside `scope` is called, and the scope of what is in it
 * (an anonymous one adds nothing to that), in the arena or constant. *ret_is is false if the node
 * is none; the others are set only if it is one. 0, -ENOMEM. */
int complexity_name_of(Walk *walk, const ComplexityPlace *place, Span scope, bool *ret_is,
                       Span *ret_name, Span *ret_scope);
/* The same for a closure in no function, in the innermost frame: named after what it is bound to,
 * else "(closure)", which adds nothing to *scope. 0, -ENOMEM. */
int complexity_name_closure(Walk *walk, Span *ret_name, Span *scope);
