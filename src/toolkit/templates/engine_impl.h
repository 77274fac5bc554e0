/* toolkit/templates/engine_impl.h: what the files of the engine share. Private to them.
 *
 *     engine_lex.c      text -> tokens
 *     engine_expr.c     the inside of a tag: names, arguments, calls
 *     engine_parse.c    tokens -> TemplateNode, in the order of the text, and expressions
 *     engine_names.c    the paths of expressions, and the names at the top
 *     engine_space.c    which white space around tags is no output
 *     engine_compile.c  nodes -> TemplateCode, a flat list with jumps
 *     engine_value.c    values, and what JavaScript makes of them
 *     engine_members.c  the members of an object in JavaScript's order
 *     engine_path.c     a path or an expression -> its value, while rendering
 *     engine_render.c   runs the code
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/rfc3339.h"
#include "base/span.h"
#include "toolkit/templates/engine.h"
#include "json/json.h"
#include "json/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text, so that places in it fit 32 bits with room to spare; a file of source code is never near.
 */
#define TEMPLATE_TEXT_BYTES ((size_t)16 << 20)

/* What a compiled text may take: some 40 bytes for each of its bytes, were it nothing but tags. */
#define TEMPLATE_PROGRAM_BYTES ((size_t)1 << 31)

/* Values that one tag may need at once: its arguments and those of the calls inside them. */
#define TEMPLATE_STACK 32

/* Calls inside calls: (upper (lower (title x))). */
#define TEMPLATE_CALLS 16

/* Names of block parameters that are visible at once. */
#define TEMPLATE_PARAMS 128

/* Names whose last look-up is remembered while rendering; more are looked up each time. */
#define TEMPLATE_SLOTS 64

/* Work of one rendering, in steps of some nanoseconds: loops in loops over a large array could
 * otherwise run for years without a byte of output. */
#define TEMPLATE_STEPS 5000000

/* Text that arguments of helpers may make, at once. */
#define TEMPLATE_SCRATCH_BYTES ((size_t)16 << 20)

#define TEMPLATE_NONE UINT32_MAX

/* --- tokens ---------------------------------------------------------------------------------- */

typedef enum TemplateTokenKind {
    TOKEN_END,
    TOKEN_CONTENT,
    TOKEN_COMMENT,
    TOKEN_OPEN,
    TOKEN_OPEN_RAW, /* {{{ */
    TOKEN_OPEN_BLOCK,
    TOKEN_OPEN_END,     /* {{/ */
    TOKEN_OPEN_INVERSE, /* {{^name */
    TOKEN_OPEN_CHAIN,   /* {{else name */
    TOKEN_INVERSE,      /* {{else}}, {{^}} */
    TOKEN_CLOSE,
    TOKEN_CLOSE_RAW, /* }}} */
    TOKEN_LEFT,      /* ( */
    TOKEN_RIGHT,
    TOKEN_EQUALS,
    TOKEN_ID,
    TOKEN_SEPARATOR,
    TOKEN_STRING,
    TOKEN_AT,
    TOKEN_TRUE,
    TOKEN_FALSE,
    TOKEN_UNDEFINED,
    TOKEN_NULL,
    TOKEN_NUMBER,
    TOKEN_OPEN_PARAMS, /* as | */
    TOKEN_PIPE,
    TOKEN_INVALID
} TemplateTokenKind;

typedef struct TemplateToken {
    TemplateTokenKind kind;
    Span text;        /* as written, with quotes and brackets */
    bool strip_open;  /* {{~ */
    bool strip_close; /* ~}} */
} TemplateToken;

typedef enum TemplateLexState {
    LEX_TEXT,
    LEX_ESCAPED, /* at the {{ behind a backslash */
    LEX_TAG
} TemplateLexState;

typedef struct TemplateLexer {
    const char *text;
    const char *at;
    const char *end;
    TemplateLexState state;
    Diag *diag;
} TemplateLexer;

/* 0, TEMPLATE_E_SYNTAX. */
int template_lex(TemplateLexer *lexer, TemplateToken *ret);

/* Sets the diag, with the place of `at`; returns TEMPLATE_E_SYNTAX. */
TW_PRINTF(3, 4)
int template_syntax(const TemplateLexer *lexer, const char *at, const char *format, ...);

/* How many bytes of s a message shows: whole characters, up to the first that would break its line.
 */
int template_shown(Span s);

/* Bytes of the white space (JavaScript's \s) at p, or that ends at p; 0 if there is none. */
size_t template_space_at(const char *p, const char *end);
size_t template_space_before(const char *begin, const char *p);

/* --- nodes: the text cut into pieces, in its order ------------------------------------------- */

typedef enum TemplateNodeKind {
    NODE_CONTENT,
    NODE_COMMENT,
    NODE_PRINT,
    NODE_OPEN,
    NODE_ELSE,
    NODE_CLOSE
} TemplateNodeKind;

typedef enum TemplateBlock {
    BLOCK_NONE, /* of a plain {{else}} */
    BLOCK_IF,
    BLOCK_UNLESS,
    BLOCK_EACH,
    BLOCK_WITH,
    BLOCK_SECTION /* {{#value}} */
} TemplateBlock;

typedef struct TemplateNode {
    uint8_t kind;
    uint8_t block; /* NODE_OPEN, NODE_ELSE */
    bool inverted; /* NODE_OPEN: {{^ */
    bool strip_open;
    bool strip_close;
    bool left_stripped; /* NODE_CONTENT, as Handlebars keeps them */
    bool right_stripped;
    /* NODE_OPEN, of the block as a whole, for the program around it. */
    bool around_open;
    bool around_close;
    bool open_alone;
    bool close_alone;
    const char *at; /* of the tag, or of the content as it was */
    const char *end;
    const char *value; /* NODE_CONTENT: what is left of it */
    const char *value_end;
    uint32_t next;        /* NODE_OPEN, NODE_ELSE: the next else, or the close; NODE_CLOSE: the last
                             else, or the open */
    uint32_t close;       /* NODE_OPEN: the close; NODE_ELSE: the else before, or the open */
    uint32_t first_inner; /* NODE_OPEN: what stands behind the opening tag, if alone on its line */
    uint32_t last_inner;  /* the same in front of the closing one */
    uint32_t expr;
    uint32_t n_expr;
} TemplateNode;

/* --- expressions: in the order in which they are evaluated ----------------------------------- */

typedef enum TemplateExprOp {
    EXPR_PATH,
    EXPR_STRING,
    EXPR_NUMBER,
    EXPR_TRUE,
    EXPR_FALSE,
    EXPR_NULL,
    EXPR_UNDEFINED,
    EXPR_CALL /* takes n_args values, leaves one */
} TemplateExprOp;

typedef struct TemplateExpr {
    uint8_t op;
    uint8_t helper;
    uint8_t n_args;
    uint32_t path;
    Span text;
    double number;
    const char *at;
} TemplateExpr;

typedef enum TemplatePathKind {
    PATH_CONTEXT,
    PATH_PARAM,
    PATH_ROOT, /* from here on: @data */
    PATH_INDEX,
    PATH_KEY,
    PATH_FIRST,
    PATH_LAST,
    PATH_UNKNOWN
} TemplatePathKind;

typedef struct TemplatePath {
    uint8_t kind;
    bool null_is_object; /* a null context is an empty object here */
    uint8_t param;       /* PATH_PARAM: 0 the value, 1 the key, more: nothing */
    uint32_t depth;      /* "../"; PATH_PARAM: the frame */
    const Span *parts;   /* what is looked up in that value, one behind the other */
    uint32_t n_parts;
    uint32_t slot; /* where the first look-up is remembered, or TEMPLATE_NONE */
} TemplatePath;

/* --- the program ----------------------------------------------------------------------------- */

typedef enum TemplateOp {
    OP_END,
    OP_TEXT,
    OP_NAME,  /* prints parts[0] of the path, looked up in the context */
    OP_PRINT, /* prints the value of an expression */
    OP_IF,
    OP_EACH,
    OP_WITH,
    OP_SECTION,
    OP_NEXT, /* the end of a body: once more, or leave the frame */
    OP_JUMP
} TemplateOp;

typedef struct TemplateCode {
    uint8_t op;
    uint32_t expr;
    uint32_t n_expr;
    uint32_t body; /* where to go on; TEMPLATE_NONE: there is no such part, go to `end` */
    uint32_t inverse;
    uint32_t end;
    Span text;
} TemplateCode;

struct TemplateProgram {
    Arena arena;
    Span text;
    TemplateCode *code;
    uint32_t n_code;
    TemplateExpr *exprs;
    uint32_t n_exprs;
    TemplatePath *paths;
    uint32_t n_paths;
    uint32_t n_slots;
    bool uses_depths;
    Span *variables;
    size_t n_variables;
};

/* --- compiling ------------------------------------------------------------------------------- */

typedef struct TemplateParam {
    Span name;
    uint32_t frame;
    uint8_t index;
} TemplateParam;

/* Where in the nesting the parser is. */
typedef struct TemplateScope {
    uint32_t n_frames;   /* of each, with and sections around */
    uint32_t n_depths;   /* the same without sections: what "../" surely leaves */
    uint32_t n_params;   /* visible here */
    bool null_is_object; /* see TemplatePath */
} TemplateScope;

/* A block that is open. */
typedef struct TemplateOpenBlock {
    uint32_t open;          /* its node */
    uint32_t last;          /* its last else, or open */
    Span name;              /* that the closing tag must repeat */
    TemplateTokenKind kind; /* of what name was written as: {{#1}} is not closed by {{/[1]}} */
    TemplateScope around;   /* of the whole block */
    TemplateScope outside;  /* of the tag itself, or of its last {{else name}} */
    TemplateBlock block;    /* of the last {{else name}}, or its own */
    bool inverted;
    bool has_else;
} TemplateOpenBlock;

typedef struct TemplateSlot {
    Span name;
    uint32_t depth;
    bool is_root;
} TemplateSlot;

typedef struct TemplateVariable {
    Span name;
    uint32_t order;
} TemplateVariable;

typedef struct TemplateParser {
    TemplateProgram *program;
    TemplateLexer lexer;
    TemplateToken token; /* the one to look at next, inside a tag */
    Arena scratch;       /* nodes */
    Arena scratch_names; /* variables; a second one, so that both grow in place */
    TemplateVariable *variables;
    uint32_t n_variables;
    TemplateNode *nodes;
    uint32_t n_nodes;
    size_t cap_nodes;
    size_t cap_exprs;
    size_t cap_paths;
    size_t cap_variables;
    TemplateOpenBlock blocks[TEMPLATE_DEPTH];
    uint32_t n_blocks;
    TemplateScope scope;
    TemplateParam params[TEMPLATE_PARAMS];
    TemplateSlot slots[TEMPLATE_SLOTS];
} TemplateParser;

/* A path as it is written. */
typedef struct TemplatePathText {
    const char *at;
    Span original; /* parts with what is between them, brackets taken off */
    Span *parts;
    uint32_t n_parts;
    uint32_t depth;
    bool is_data;
    bool is_scoped; /* begins with ".", or holds "this": neither a helper nor a block parameter */
} TemplatePathText;

/* All: 0, -ENOMEM, TEMPLATE_E_SYNTAX. */
int template_parse(TemplateParser *parser);
int template_parse_path(TemplateParser *parser, TemplatePathText *ret);
int template_name_of(TemplateParser *parser, const TemplateToken *token, Span *ret);
int template_add_path(TemplateParser *parser, const TemplatePathText *text, uint32_t *ret);
const TemplateParam *template_find_param(const TemplateParser *parser,
                                         const TemplatePathText *text);
bool template_path_is_scoped(Span original);
/* Room for one more of `size` bytes each; *list may move. 0, -ENOMEM. */
int template_grow(Arena *arena, void *list, size_t n, size_t *cap, size_t size);

/* White space of the nodes from `first` to before `end`, which are all of one body. */
void template_space_body(TemplateParser *parser, uint32_t first, uint32_t end, bool is_root);
/* White space inside the block that `open` begins, once its close is known. */
void template_space_block(TemplateParser *parser, uint32_t open);

/* Gives the program its list of variables, each name once. 0, -ENOMEM. */
int template_unite_variables(TemplateParser *parser);

/* 0, -ENOMEM. */
int template_emit(TemplateParser *parser);

/* --- values ---------------------------------------------------------------------------------- */

/* From VALUE_NULL on in the order of JsonKind. */
typedef enum TemplateValueKind {
    VALUE_UNDEFINED,
    VALUE_NULL,
    VALUE_FALSE,
    VALUE_TRUE,
    VALUE_NUMBER,
    VALUE_TEXT,
    VALUE_ARRAY,
    VALUE_OBJECT,
    VALUE_EMPTY_OBJECT /* that Handlebars puts in the place of a null context */
} TemplateValueKind;

typedef struct TemplateValue {
    uint32_t kind;
    bool is_json; /* of the values given: json has it, else number or text; arrays always are */
    union {
        JsonValue json;
        double number;
        Span text;
    };
} TemplateValue;

/* Memory in the manner of a stack: what was taken since a mark goes at once. The first bytes are
 * the caller's own, so that rendering an ordinary text allocates nothing. */
typedef struct TemplateScratchChunk TemplateScratchChunk;
typedef struct TemplateScratch {
    TemplateScratchChunk *chunk; /* the newest; NULL: `first` is in use */
    size_t n;                    /* in use of the newest */
    size_t n_held;
    _Alignas(16) char first[512];
} TemplateScratch;
typedef struct TemplateMark {
    TemplateScratchChunk *chunk;
    size_t n;
} TemplateMark;

void template_scratch_init(TemplateScratch *scratch);
/* 0, -ENOMEM, BYTES_E_FULL: more than TEMPLATE_SCRATCH_BYTES. */
int template_scratch_take(TemplateScratch *scratch, size_t n, void *ret);
TemplateMark template_scratch_mark(const TemplateScratch *scratch);
void template_scratch_release(TemplateScratch *scratch, TemplateMark mark);

TW_INLINE TemplateValue template_value_of(TemplateValueKind kind)
{
    return (TemplateValue){.kind = kind};
}

TW_INLINE TemplateValue template_value_text(Span text)
{
    return (TemplateValue){.kind = VALUE_TEXT, .text = text};
}

TW_INLINE TemplateValue template_value_number(double number)
{
    return (TemplateValue){.kind = VALUE_NUMBER, .number = number};
}

TW_INLINE TemplateValue template_value_json(JsonValue v)
{
    return (TemplateValue){.kind = (uint32_t)json_kind(v) + 1, .is_json = true, .json = v};
}

TW_INLINE bool template_value_is_nothing(const TemplateValue *v)
{
    return v->kind <= VALUE_NULL;
}

/* As String(number) has it, without a NUL; returns its length. */
size_t template_number_text(double number, char out[JSON_DOUBLE_SIZE]);
double template_value_double(const TemplateValue *v);
/* What `if` asks: everything but undefined, null, false, 0, "" and []. */
bool template_value_is_true(const TemplateValue *v);
/* What `with` asks: as above, but 0 is something. */
bool template_value_is_empty(const TemplateValue *v);
/* JavaScript's own truth: [] is true. */
bool template_value_is_truthy(const TemplateValue *v);
/* As String(v) has it; nothing for undefined and null. 0, -ENOMEM, BYTES_E_FULL. */
int template_value_print(const TemplateValue *v, Bytes *out);
/* The elements of an array, each as above, with separator between them; arrays in it by ",". */
int template_value_join(const TemplateValue *array, Span separator, Bytes *out);
/* The text of a VALUE_TEXT. 0, -ENOMEM, BYTES_E_FULL. */
int template_value_span(const TemplateValue *v, TemplateScratch *scratch, Span *ret);
/* JavaScript's ==. 0, -ENOMEM, BYTES_E_FULL. */
int template_value_same(const TemplateValue *a, const TemplateValue *b, bool *ret);
/* v[name] where it is a property of its own; undefined otherwise. */
int template_value_property(const TemplateValue *v, Span name, TemplateScratch *scratch,
                            TemplateValue *ret);

/* --- rendering ------------------------------------------------------------------------------- */

typedef struct TemplateMember {
    Span name; /* decoded */
    TemplateValue value;
    uint32_t order;  /* of its first mention */
    uint32_t number; /* if it is an array index */
    bool is_number;
} TemplateMember;

/* The members of an object as JavaScript lists them: array indices by their value, then the others
 * in the order of their first mention, each with the last value. extra (may be NULL) comes in
 * addition, or in place of the member of its name. *ret is scratch's. 0, -ENOMEM, BYTES_E_FULL. */
int template_members(JsonValue object, const TemplateMember *extra, TemplateScratch *scratch,
                     TemplateMember **ret, uint32_t *ret_n);
/* Whether that is just the order of the text, as far as a short look can tell. */
bool template_members_are_plain(JsonValue object);

typedef struct TemplateFrame {
    TemplateValue context;
    TemplateValue key;
    TemplateMark mark;
    uint32_t head; /* the frame whose context is depths[0] */
    uint32_t data; /* the frame that @index speaks of, or TEMPLATE_NONE */
    bool is_loop;
    uint32_t i;
    uint32_t n;
    const char *text;     /* of what is looped over */
    const JsonNode *next; /* NULL: members */
    bool has_keys;
    const TemplateMember *members;
} TemplateFrame;

typedef struct TemplateLookup {
    const JsonNode *object; /* NULL: nothing is remembered */
    const JsonNode *found;  /* NULL: there is no such member */
} TemplateLookup;

typedef struct TemplateRun {
    const TemplateProgram *program;
    JsonValue root; /* node NULL: {} */
    Bytes *out;
    Diag *diag;
    int64_t unix_ms;
    uint64_t n_steps;
    uint32_t top;                 /* frame in use */
    char timestamp[RFC3339_SIZE]; /* written when it is first asked for */
    TemplateScratch scratch;
    TemplateLookup slots[TEMPLATE_SLOTS];
    TemplateValue stack[TEMPLATE_STACK];
    TemplateFrame frames[TEMPLATE_DEPTH + 1];
} TemplateRun;

#define TEMPLATE_TIMESTAMP "current_timestamp"

/* {{name}} that was looked up in this context before: false if it was not. */
TW_INLINE bool template_is_known(const TemplateRun *run, uint32_t slot, TemplateValue *ret)
{
    const TemplateValue *context = &run->frames[run->top].context;
    const TemplateLookup *known = &run->slots[slot];

    if (context->kind != VALUE_OBJECT || known->object != context->json.node) {
        return false;
    }
    *ret = known->found == NULL
               ? template_value_of(VALUE_UNDEFINED)
               : template_value_json((JsonValue){context->json.text, known->found});
    return true;
}

/* All: 0, -ENOMEM, BYTES_E_FULL, TEMPLATE_E_RENDER. */
int template_eval_path(TemplateRun *run, const TemplatePath *path, TemplateValue *ret);
int template_eval(TemplateRun *run, uint32_t expr, uint32_t n_expr, TemplateValue *ret);
/* As template_eval, but what a helper writes as the last step goes straight to the output. */
int template_eval_print(TemplateRun *run, uint32_t expr, uint32_t n_expr);
/* Counts work; TEMPLATE_E_RENDER when it is too much. */
int template_charge(TemplateRun *run, uint64_t steps);
Span template_timestamp(TemplateRun *run);
/* Sets the diag with the place of `at`; returns TEMPLATE_E_RENDER. */
TW_PRINTF(3, 4)
int template_render_fault(const TemplateRun *run, const char *at, const char *format, ...);
