/* toolkit/templates/engine_expr.h: the inside of a tag: names, literals, arguments and calls.
 * Private to the parser. All functions: 0, -ENOMEM, TEMPLATE_E_SYNTAX. Thread: any. */
#pragma once

#include "toolkit/templates/engine_impl.h"

/* The name or the literal that a tag begins with. */
typedef struct TemplateHead {
    TemplateTokenKind kind; /* TOKEN_ID for paths */
    TemplatePathText path;  /* literals, too: as the name that they are looked up by */
    double number;
    Span text;
} TemplateHead;

/* A call whose arguments are being read. */
typedef struct TemplateCall {
    const char *at;
    Span name;
    uint8_t helper;
    uint32_t n_args;
} TemplateCall;

/* An expression while it is read. */
typedef struct TemplateExprDraft {
    uint32_t first;
    uint32_t stack; /* values that are there at the same time */
    TemplateCall calls[TEMPLATE_CALLS];
    uint32_t n_calls;
} TemplateExprDraft;

/* Reads the next token of the tag. */
int template_next(TemplateParser *parser);

/* The error that another token was expected. */
int template_unexpected(const TemplateParser *parser, const char *expected);
/* The same, unless the token is of that kind. */
int template_expect(TemplateParser *parser, TemplateTokenKind kind, const char *what);

/* Whether a name or a literal can begin so. */
bool template_is_head(TemplateTokenKind kind);
int template_parse_head(TemplateParser *parser, TemplateHead *ret);

/* Whether the name could be a helper's: one part, not of "../", "this." or a block parameter. */
bool template_is_simple(const TemplateParser *parser, const TemplatePathText *path);
/* Handlebars has helpers of these names, too; here they have no place. */
bool template_is_refused(Span name);

/* Adds the value of a path. */
int template_parse_name(TemplateParser *parser, TemplateExprDraft *expr,
                        const TemplatePathText *path);
/* All arguments of a tag; *ret_n is how many. */
int template_parse_arguments(TemplateParser *parser, TemplateExprDraft *expr, uint32_t *ret_n);
/* The name and arguments of {{name ...}}: a value, or a call of a helper. */
int template_parse_value(TemplateParser *parser, TemplateExprDraft *expr);
