/* toolkit/complexity/rules.h: what a language's table says. Private to this folder.
 *
 * A language is one file lang_NAME.c that defines one constant ComplexityLanguage, a declaration at
 * the end of this header, a line in language.c, its name in fuzz/CMakeLists.txt, a corpus and a
 * test. The walk (walk.c) knows no language; it
 * meets the nodes of the tree in the order of the text, and a node does what the bits of its rule
 * say. A node without a rule does nothing but hold others: if it has no children, it is a token.
 *
 * Which rule: `nodes` lists named nodes ("if_statement"), `tokens` lists the anonymous ones ("if",
 * "&&"): a name that the grammar has for both is thus two things. The same name may stand in a
 * table several times with different `parent`; the first line that fits is taken, so the line
 * without parent comes last. A name that the grammar does not have is a mistake that the test of
 * the tables finds.
 *
 * Levels. Each node has a level (the nesting that cognitive complexity adds) at which it stands
 * itself. RULE_NEST puts its children one level deeper: those in the fields `nests`, or all of them
 * if it names none. Examples:
 *
 *   {"while_statement", NULL, RULE_LOOP, "while", {NULL}}          all of it nests
 *   {"if_statement", NULL, RULE_IF, "if", {"consequence"}}         only the body does
 *   {"case", "switch_label", RULE_CASE, NULL, {NULL}}              in tokens: +1, default has none
 *   {"label", "break_expression", RULE_FLAT, "break", {NULL}}      a jump only if it has a label
 *
 * If and else. Three shapes of grammar, each with its lines:
 *   - `else` and the next if or block are children of the if itself (Go, Java): the node is RULE_IF
 *     (which includes RULE_TAKES_ELSE), the token "else" is RULE_ELSE_TOKEN.
 *   - they are children of an else_clause inside the if (C, Rust): as above, and the else_clause is
 *     RULE_ELSE_CLAUSE. In both cases an `if` directly behind the `else` is an else-if (+1 flat,
 *     no deeper), anything else is an else (+1 flat, its children deeper).
 *   - elif/elsif has a node of its own (Python, Ruby, Bash): that is RULE_ELSE_IF, with `nests`;
 *     its else node is RULE_ELSE_CLAUSE if it holds the token "else".
 * RULE_ELSE_IF and RULE_ELSE_CLAUSE stand at the level of the node around them, whatever field they
 * are in. A grammar without fields for the body marks the token before the body ("then", "do",
 * ")") as RULE_BODY_TOKEN with that parent: what follows it in the parent is deeper, and the parent
 * has RULE_NEST | RULE_NEST_TOKEN (both part of its bits, `nests` empty).
 *
 * Logical operators. A node that may be `a && b` is RULE_BINARY; its second child that is not a
 * comment is the operator. The tokens are RULE_AND and RULE_OR (cyclomatic +1 each, and a run of
 * like ones cognitive +1), or RULE_COALESCE (cyclomatic only). They count inside RULE_BINARY only,
 * so that C++'s `T &&x` is none. RULE_PAREN nodes (parentheses) do not end a run; all other nodes
 * do, which makes negations and arguments start a new one by themselves.
 *
 * Tokens. A leaf that is anonymous is an operator, told apart by its symbol; a leaf that is named
 * is an operand, told apart by symbol and text. RULE_OPERATOR makes an operator of a named leaf
 * ("primitive_type"). RULE_CLOSE tokens (")", "]", "}", and ">" where it closes) are counted as
 * tokens, but not by Halstead, as the opening one stands for the pair. RULE_STRING is one operand
 * and is not looked into; RULE_TEXT is one operand too, but the code in it (its children that are
 * RULE_CODE: "${…}", f-string fields) is walked. RULE_COMMENT is no token at all. RULE_SKIP is
 * passed over as if it were not there.
 */
#pragma once

#include "base/span.h"
#include "base/stop.h"
#include "toolkit/complexity/language.h"

#include <tree_sitter/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a rule does, as bits. */
#define RULE_BIT(n) ((uint64_t)1 << (n))

/* Cyclomatic complexity: in both variants, only in the classic one, only in the modified one.
 */
#define RULE_CYCLOMATIC  RULE_BIT(0)
#define RULE_CASE        RULE_BIT(1)
#define RULE_SWITCH_ONCE RULE_BIT(2)

/* Cognitive complexity: 1 + level, or 1; .shown names it. */
#define RULE_STRUCTURE RULE_BIT(3)
#define RULE_FLAT      RULE_BIT(4)

/* Levels: children are one deeper; and so are they in the metric "nesting". */
#define RULE_NEST       RULE_BIT(5)
#define RULE_DEEPEN     RULE_BIT(6)
#define RULE_NEST_TOKEN RULE_BIT(7) /* the children behind RULE_BODY_TOKEN only */
#define RULE_BODY_TOKEN RULE_BIT(8)

/* else: see above. */
#define RULE_TAKES_ELSE RULE_BIT(9)
#define RULE_IS_IF      RULE_BIT(10)
#define RULE_ELSE_TOKEN RULE_BIT(11)
#define RULE_AT_PARENT  RULE_BIT(12) /* stands at the level of the node around it */

/* Logical operators. */
#define RULE_BINARY   RULE_BIT(13)
#define RULE_PAREN    RULE_BIT(14)
#define RULE_AND      RULE_BIT(15)
#define RULE_OR       RULE_BIT(16)
#define RULE_COALESCE RULE_BIT(17)

/* Functions. A function has a row if .name_of says that it is one; a closure counts in the one
 * around it, one level deeper, and has no row, unless there is none around it; what is apart (a
 * class field's initialiser in JavaScript) counts nowhere; a container gives its name to the
 * functions in it. In a language with .rows_apart closures make no sense: there every function is
 * RULE_FUNCTION. A node that is both is a closure where .name_of says that it is no function. */
#define RULE_FUNCTION   RULE_BIT(18)
#define RULE_CLOSURE    RULE_BIT(19)
#define RULE_APART      RULE_BIT(20)
#define RULE_CONTAINER  RULE_BIT(21)
#define RULE_PARAMETERS RULE_BIT(22) /* the list; the first one in a function is its own */

/* Tokens. */
#define RULE_COMMENT  RULE_BIT(23)
#define RULE_STRING   RULE_BIT(24)
#define RULE_TEXT     RULE_BIT(25)
#define RULE_CODE     RULE_BIT(26)
#define RULE_OPERATOR RULE_BIT(27)
#define RULE_CLOSE    RULE_BIT(28)
#define RULE_SKIP     RULE_BIT(29)

/* The rule holds only if the language's .counts says so; else it is as if there were none. */
#define RULE_ASK RULE_BIT(30)

/* For one analyser's sake each: cyclomatic points inside do not count, except those of
 * functions in it, which have rows of their own; levels inside begin at 0, and a function directly
 * in it is no level deeper. */
#define RULE_MUTE  RULE_BIT(31)
#define RULE_RESET RULE_BIT(32)

/* Brackets with tokens in them that the grammar made no tree of, which .word_of tells apart. */
#define RULE_GROUP RULE_BIT(33)

/* What most languages mean. */
#define RULE_IF                                                                                    \
    (RULE_CYCLOMATIC | RULE_STRUCTURE | RULE_NEST | RULE_DEEPEN | RULE_TAKES_ELSE | RULE_IS_IF)
#define RULE_ELSE_IF     (RULE_CYCLOMATIC | RULE_FLAT | RULE_NEST | RULE_DEEPEN | RULE_AT_PARENT)
#define RULE_ELSE_CLAUSE (RULE_TAKES_ELSE | RULE_AT_PARENT)
#define RULE_LOOP        (RULE_CYCLOMATIC | RULE_STRUCTURE | RULE_NEST | RULE_DEEPEN)
#define RULE_CATCH       RULE_LOOP
#define RULE_SWITCH      (RULE_SWITCH_ONCE | RULE_STRUCTURE | RULE_NEST | RULE_DEEPEN)
#define RULE_TERNARY     (RULE_CYCLOMATIC | RULE_STRUCTURE | RULE_NEST)

#define RULE_NESTS_MAX 3

typedef struct ComplexityRule {
    const char *node;   /* the grammar's name; NULL ends the table */
    const char *parent; /* only inside that named node; NULL: anywhere */
    uint64_t does;      /* RULE_* */
    const char *shown;  /* the construct of an increment; NULL: the rule makes none */
    const char *nests[RULE_NESTS_MAX]; /* fields; a NULL ends them */
} ComplexityRule;

/* A node that a hook is asked about. The parent is the node around it, above the one around that,
 * or null (ts_node_is_null). */
typedef struct ComplexityPlace {
    TSNode node;
    TSNode parent;
    TSNode above;
    Span text;        /* of the file */
    bool in_function; /* is it inside a function? */
} ComplexityPlace;

/* Borrowed from the text, or constant. */
typedef struct ComplexityName {
    Span scope; /* a container that the node names itself (a receiver's type); may be empty */
    Span name;  /* empty: a function is "(anonymous)", a container adds nothing */
} ComplexityName;

/* A token of a RULE_GROUP. */
typedef enum ComplexityWordKind {
    COMPLEXITY_WORD_NONE,    /* any other punctuation */
    COMPLEXITY_WORD_BRACKET, /* the brackets of the group themselves */
    COMPLEXITY_WORD_GROUP,   /* brackets in it */
    COMPLEXITY_WORD_OPERAND, /* a name, a literal, whatever else a value ends with */
    COMPLEXITY_WORD_KEYWORD, /* a word before an expression: return */
    COMPLEXITY_WORD_QUOTE,   /* a macro whose arguments are code of something else */
    COMPLEXITY_WORD_IF,
    COMPLEXITY_WORD_ELSE,
    COMPLEXITY_WORD_LOOP,
    COMPLEXITY_WORD_FOR,
    COMPLEXITY_WORD_MATCH,
    COMPLEXITY_WORD_LET,
    COMPLEXITY_WORD_IN,
    COMPLEXITY_WORD_ITEM,   /* impl */
    COMPLEXITY_WORD_UNSAFE, /* a word with a block that counts nothing */
    COMPLEXITY_WORD_JUMP,
    COMPLEXITY_WORD_AND,
    COMPLEXITY_WORD_OR,
    COMPLEXITY_WORD_BAR,
    COMPLEXITY_WORD_NOT,
    COMPLEXITY_WORD_TRY,
    COMPLEXITY_WORD_ARROW,
    COMPLEXITY_WORD_ASSIGN,
    COMPLEXITY_WORD_COMMA, /* or a semicolon */
    COMPLEXITY_WORD_REST,  /* _ */
    COMPLEXITY_WORD_LABEL, /* ' */
} ComplexityWordKind;

typedef struct ComplexityWord {
    ComplexityWordKind kind;
    const char *shown; /* the construct of its increment */
} ComplexityWord;

struct ComplexityLanguage {
    Span name;
    const char *spellings;  /* others, in lower case, with a space between: "js jsx node" */
    const char *extensions; /* "js mjs cjs", in lower case */
    const char *files;      /* whole names of files ("Rakefile"); may be NULL */
    const char *commands;   /* behind "#!", without versions ("python"); may be NULL */
    const char *toolchain;  /* of the seed's three: "rust", "deno", "python-uv"; NULL: none */
    const TSLanguage *(*grammar)(void);
    const ComplexityRule *nodes;
    const ComplexityRule *tokens;
    const char *separator; /* between container and name: ".", "::" */

    /* Every function is a row, and nothing of it counts in the one around it. */
    bool rows_apart;
    /* Cyclomatic points of a nested RULE_FUNCTION do not count in the one around it; cognitive ones
     * do. */
    bool cyclomatic_apart;
    /* The condition of an else-if is a level deeper than that of its if. */
    bool else_if_nests;

    /* What a RULE_FUNCTION or RULE_CONTAINER is called; false: it is none (a declaration without a
     * body) and its rule does nothing. NULL: its field "name". */
    bool (*name_of)(const ComplexityPlace *place, ComplexityName *ret);
    /* For RULE_ASK. */
    bool (*counts)(const ComplexityPlace *place);
    /* How many parameters a RULE_PARAMETERS list holds. NULL: its named children that are no
     * comments. */
    uint32_t (*parameters)(const ComplexityPlace *place);
    /* How many a function has that lie outside of it, if it has no list. NULL: none. */
    uint32_t (*parameters_of)(const ComplexityPlace *place);
    /* Does this function (with a row) only wrap the functions in it, so that they are no level
     * deeper? NULL: none does. */
    bool (*wraps)(const ComplexityPlace *place);
    /* A RULE_FUNCTION in a tree with errors that .name_of says is none: the node that it would be
     * if the parser had understood it ("if_statement"), whose rule it then has; NULL: nothing.
     * NULL: never asked. */
    const char *(*really)(const ComplexityPlace *place);

    /* The variable, field or constant that this node declares, after which a closure in it that is
     * in no function is called; empty: none. NULL: never asked. */
    Span (*bound_to)(TSNode node, Span text);
    /* For RULE_GROUP. */
    ComplexityWord (*word_of)(TSNode node, Span text);

    /* Overwrites what the grammar should not see, but no end of a line; true if that changed
     * something. What was overwritten is code. Stopped, it leaves the rest. NULL: the grammar sees
     * the file. */
    bool (*prepare)(char *text, size_t n, Stop stop);
    /* The same for what it did not understand; the file is then parsed again, and the tree with
     * fewer errors counts. 0, -ENOMEM. NULL: nothing. */
    int (*mend)(char *text, size_t n, Stop stop, bool *ret_changed);
};

/* For hooks (names.c). In a tree with errors anything may be missing, also what the grammar says is
 * always there. So hooks call nothing of tree-sitter that follows a node (scripts/check-source),
 * but these, which all take a null one: it is of no type and has no bytes and no children. */

/* The bytes of a node; its child in that field (null if there is none); the bytes of that child. */
Span complexity_node_text(TSNode node, Span text);
TSNode complexity_node_field(TSNode node, const char *field);
Span complexity_node_field_text(TSNode node, const char *field, Span text);
/* Is the node of that type? Which type is it of? */
bool complexity_node_is(TSNode node, const char *type);
Span complexity_node_type(TSNode node);
/* What tree-sitter says of it. */
bool complexity_node_is_named(TSNode node);
bool complexity_node_is_extra(TSNode node);
bool complexity_node_is_error(TSNode node);
bool complexity_node_has_error(TSNode node);
/* Its i-th child, its i-th named child, the node behind it; null if there is none. They count from
 * the first child on, so a loop over all of them is for nodes with few only. */
TSNode complexity_node_child(TSNode node, uint32_t i);
TSNode complexity_node_named(TSNode node, uint32_t i);
TSNode complexity_node_next(TSNode node);
uint32_t complexity_node_n_children(TSNode node);
uint32_t complexity_node_n_named(TSNode node);
/* A loop over all children; false: there is none (any more), and no cursor to delete. */
bool complexity_node_children(TSNode node, TSTreeCursor *ret);
bool complexity_node_go_on(TSTreeCursor *cursor);
/* How many named children it has, without comments and (may be NULL) those of the types in
 * `except`, which a NULL ends. */
uint32_t complexity_node_count(TSNode node, const char *const *except);
/* How many children of that type it has, and the first of them (null if there is none). */
uint32_t complexity_node_count_of(TSNode node, const char *type);
TSNode complexity_node_find(TSNode node, const char *type);

/* One each; listed in language.c. */
extern const ComplexityLanguage complexity_language_bash;
extern const ComplexityLanguage complexity_language_c;
extern const ComplexityLanguage complexity_language_cpp;
extern const ComplexityLanguage complexity_language_csharp;
extern const ComplexityLanguage complexity_language_go;
extern const ComplexityLanguage complexity_language_java;
extern const ComplexityLanguage complexity_language_javascript;
extern const ComplexityLanguage complexity_language_kotlin;
extern const ComplexityLanguage complexity_language_lua;
extern const ComplexityLanguage complexity_language_php;
extern const ComplexityLanguage complexity_language_python;
extern const ComplexityLanguage complexity_language_ruby;
extern const ComplexityLanguage complexity_language_rust;
extern const ComplexityLanguage complexity_language_tsx;
extern const ComplexityLanguage complexity_language_typescript;
extern const ComplexityLanguage complexity_language_zig;
