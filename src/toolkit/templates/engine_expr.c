#include "toolkit/templates/engine_expr.h"

#include "base/error.h"
#include "toolkit/templates/helpers.h"

/* Of what is no token, in a message. */
#define PARSE_WORD_BYTES 20

int template_next(TemplateParser *parser)
{
    return template_lex(&parser->lexer, &parser->token);
}

/* Says what cannot be a token at all: a quote without its end, or a word with a sign in it. */
static int parse_invalid(const TemplateParser *parser, const char *expected)
{
    const TemplateLexer *lexer = &parser->lexer;
    Span rest = span_make(parser->token.text.p, (size_t)(lexer->end - parser->token.text.p));
    char c = rest.p[0];
    size_t n = 0;

    if (c == '"' || c == '\'' || c == '[') {
        return template_syntax(lexer, rest.p, "the %s is not closed: expected %c",
                               c == '[' ? "name" : "text", c == '[' ? ']' : c);
    }
    while (n < rest.n && template_space_at(rest.p + n, lexer->end) == 0 && rest.p[n] != '}' &&
           n < PARSE_WORD_BYTES) {
        n++;
    }
    if (n == rest.n) {
        return template_syntax(lexer, rest.p, "the tag is not closed: expected '}}'");
    }
    rest.n = n == 0 ? parser->token.text.n : n;
    return template_syntax(lexer, rest.p, "expected %s, found '%.*s'", expected,
                           template_shown(rest), rest.p);
}

int template_unexpected(const TemplateParser *parser, const char *expected)
{
    const TemplateToken *token = &parser->token;

    if (token->kind == TOKEN_INVALID) {
        return parse_invalid(parser, expected);
    }
    if (token->kind == TOKEN_END) {
        return template_syntax(&parser->lexer, token->text.p, "expected %s, found the end",
                               expected);
    }
    return template_syntax(&parser->lexer, token->text.p, "expected %s, found '%.*s'", expected,
                           template_shown(token->text), token->text.p);
}

static int parse_add_expr(TemplateParser *parser, const TemplateExpr *expr)
{
    TemplateProgram *program = parser->program;
    int r = template_grow(&program->arena, &program->exprs, program->n_exprs, &parser->cap_exprs,
                          sizeof(TemplateExpr));

    if (r == 0) {
        program->exprs[program->n_exprs++] = *expr;
    }
    return r;
}

/* A literal in the place of a name is the name that it prints as: {{12}} is {{[12]}}. */
static int parse_literal(TemplateParser *parser, TemplateHead *head)
{
    const TemplateToken token = parser->token;
    char digits[JSON_DOUBLE_SIZE];
    TemplateValue number;
    JsonNode node;

    head->text = token.text;
    if (token.kind == TOKEN_STRING) {
        int r = template_name_of(parser, &token, &head->text);

        if (r != 0) {
            return r;
        }
    } else if (token.kind == TOKEN_NUMBER) {
        /* Leading zeros, which JSON does not have, say nothing. */
        Span s = token.text;
        bool is_negative = s.p[0] == '-';

        s = span_make(s.p + is_negative, s.n - is_negative);
        while (s.n > 1 && s.p[0] == '0' && s.p[1] != '.') {
            s = span_make(s.p + 1, s.n - 1);
        }
        node = (JsonNode){.size = (uint32_t)s.n, .skip = 1, .tag = JSON_NUMBER};
        number = template_value_json((JsonValue){s.p, &node});
        head->number = template_value_double(&number);
        head->number = is_negative ? -head->number : head->number;
    }
    head->path = (TemplatePathText){.at = token.text.p, .n_parts = 1};
    head->path.parts = arena_alloc(&parser->program->arena, sizeof(Span));
    if (head->path.parts == NULL) {
        return err_raise(-ENOMEM);
    }
    head->path.parts[0] = head->text;
    if (token.kind == TOKEN_NUMBER) {
        size_t n = template_number_text(head->number, digits);

        head->path.parts[0] = arena_copy(&parser->program->arena, span_make(digits, n));
        if (head->path.parts[0].p == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    head->path.original = head->path.parts[0];
    head->path.is_scoped = template_path_is_scoped(head->path.original);
    return template_next(parser);
}

bool template_is_head(TemplateTokenKind kind)
{
    return kind == TOKEN_ID || kind == TOKEN_AT || kind == TOKEN_STRING || kind == TOKEN_NUMBER ||
           kind == TOKEN_TRUE || kind == TOKEN_FALSE || kind == TOKEN_UNDEFINED ||
           kind == TOKEN_NULL;
}

int template_parse_head(TemplateParser *parser, TemplateHead *ret)
{
    *ret = (TemplateHead){.kind = parser->token.kind};
    if (!template_is_head(ret->kind)) {
        return template_unexpected(parser, "a name");
    }
    if (ret->kind == TOKEN_ID || ret->kind == TOKEN_AT) {
        ret->kind = TOKEN_ID;
        return template_parse_path(parser, &ret->path);
    }
    return parse_literal(parser, ret);
}

/* Whether the name could be a helper's: one part, not of "../", "this." or a block parameter. */
bool template_is_simple(const TemplateParser *parser, const TemplatePathText *path)
{
    return path->n_parts == 1 && !path->is_scoped && path->depth == 0 &&
           template_find_param(parser, path) == NULL;
}

int template_parse_name(TemplateParser *parser, TemplateExprDraft *expr,
                        const TemplatePathText *path)
{
    TemplateExpr e = {.op = EXPR_PATH, .at = path->at};
    int r = template_add_path(parser, path, &e.path);

    expr->stack++;
    return r != 0 ? r : parse_add_expr(parser, &e);
}

static int parse_add_value(TemplateParser *parser, TemplateExprDraft *expr,
                           const TemplateHead *head)
{
    TemplateExpr e = {.at = head->path.at, .text = head->text, .number = head->number};

    switch (head->kind) {
    case TOKEN_STRING:
        e.op = EXPR_STRING;
        break;
    case TOKEN_NUMBER:
        e.op = EXPR_NUMBER;
        break;
    case TOKEN_TRUE:
        e.op = EXPR_TRUE;
        break;
    case TOKEN_FALSE:
        e.op = EXPR_FALSE;
        break;
    case TOKEN_NULL:
        e.op = EXPR_NULL;
        break;
    case TOKEN_UNDEFINED:
        e.op = EXPR_UNDEFINED;
        break;
    default:
        return template_parse_name(parser, expr, &head->path);
    }
    expr->stack++;
    return parse_add_expr(parser, &e);
}

/* Handlebars has these, too; here they have no place. */
static bool parse_is_block_word(Span name)
{
    return span_equals(name, SPAN("if")) || span_equals(name, SPAN("unless")) ||
           span_equals(name, SPAN("each")) || span_equals(name, SPAN("with"));
}

bool template_is_refused(Span name)
{
    return span_equals(name, SPAN("lookup")) || span_equals(name, SPAN("log"));
}

static int parse_unknown_helper(const TemplateParser *parser, const TemplatePathText *path)
{
    Span name = path->original;
    const char *nearest = template_helper_nearest(name);
    int n = template_shown(name);

    if (nearest != NULL) {
        return template_syntax(&parser->lexer, path->at,
                               "there is no helper '%.*s'; did you mean '%s'?", n, name.p, nearest);
    }
    return template_syntax(&parser->lexer, path->at, "there is no helper '%.*s'", n, name.p);
}

/* Opens a call of the helper that `path` names. Where it could be a value as well, {{@name}} is
 * {{name}}. */
static int parse_begin_call(TemplateParser *parser, TemplateExprDraft *expr,
                            const TemplatePathText *path, bool may_be_value)
{
    TemplateCall *call = &expr->calls[expr->n_calls];
    Span name = may_be_value && path->n_parts == 1 ? path->parts[0] : path->original;

    if (template_is_simple(parser, path) && parse_is_block_word(path->parts[0])) {
        return template_syntax(&parser->lexer, path->at,
                               "'%.*s' begins a block: write {{#%.*s ...}}",
                               template_shown(path->parts[0]), path->parts[0].p,
                               template_shown(path->parts[0]), path->parts[0].p);
    }
    if (expr->n_calls == TEMPLATE_CALLS) {
        return template_syntax(&parser->lexer, path->at, "calls are nested deeper than %d",
                               TEMPLATE_CALLS);
    }
    *call = (TemplateCall){.at = path->at};
    if (!template_is_simple(parser, path) || template_helper_find(name, &call->helper) == NULL) {
        return parse_unknown_helper(parser, path);
    }
    call->name = name;
    expr->n_calls++;
    return 0;
}

static int parse_end_call(TemplateParser *parser, TemplateExprDraft *expr)
{
    const TemplateCall *call = &expr->calls[--expr->n_calls];
    const TemplateHelper *helper = template_helper_at(call->helper);
    TemplateExpr e = {
        .op = EXPR_CALL, .helper = call->helper, .n_args = helper->n_args, .at = call->at};

    if (call->n_args != helper->n_args) {
        return template_syntax(&parser->lexer, call->at, "'%s' takes %u argument%s, found %u",
                               helper->name, helper->n_args, helper->n_args == 1 ? "" : "s",
                               call->n_args);
    }
    expr->stack = expr->stack - helper->n_args + 1;
    return parse_add_expr(parser, &e);
}

/* One argument, or the beginning or end of a call inside. *ret_more: there may be another. */
static int parse_argument(TemplateParser *parser, TemplateExprDraft *expr, uint32_t least_calls,
                          uint32_t *n_args, bool *ret_more)
{
    TemplateHead head;
    int r;

    *ret_more = true;
    if (parser->token.kind == TOKEN_RIGHT && expr->n_calls > least_calls) {
        r = parse_end_call(parser, expr);
        return r != 0 ? r : template_next(parser);
    }
    if (parser->token.kind != TOKEN_LEFT && !template_is_head(parser->token.kind)) {
        *ret_more = false;
        return expr->n_calls > least_calls ? template_unexpected(parser, "an argument or ')'") : 0;
    }
    if (expr->stack == TEMPLATE_STACK) {
        return template_syntax(&parser->lexer, parser->token.text.p, "more than %d arguments",
                               TEMPLATE_STACK);
    }
    (*(expr->n_calls > least_calls ? &expr->calls[expr->n_calls - 1].n_args : n_args))++;
    if (parser->token.kind == TOKEN_LEFT) {
        r = template_next(parser);
        if (r == 0) {
            r = template_parse_head(parser, &head);
        }
        /* Handlebars lets a block parameter stand alone in brackets. */
        if (r == 0 && parser->token.kind == TOKEN_RIGHT &&
            template_find_param(parser, &head.path) != NULL && head.path.n_parts == 1) {
            r = template_parse_name(parser, expr, &head.path);
            return r != 0 ? r : template_next(parser);
        }
        return r != 0 ? r : parse_begin_call(parser, expr, &head.path, false);
    }
    r = template_parse_head(parser, &head);
    if (r == 0 && parser->token.kind == TOKEN_EQUALS) {
        return template_syntax(&parser->lexer, head.path.at, "named arguments are not supported");
    }
    return r != 0 ? r : parse_add_value(parser, expr, &head);
}

/* All arguments of a tag. */
int template_parse_arguments(TemplateParser *parser, TemplateExprDraft *expr, uint32_t *ret_n)
{
    uint32_t least_calls = expr->n_calls;
    bool more = true;
    int r = 0;

    *ret_n = 0;
    while (r == 0 && more) {
        r = parse_argument(parser, expr, least_calls, ret_n, &more);
    }
    return r;
}

int template_expect(TemplateParser *parser, TemplateTokenKind kind, const char *what)
{
    return parser->token.kind == kind ? 0 : template_unexpected(parser, what);
}

/* The name and arguments of {{name …}}: a value, or a call of a helper. */
int template_parse_value(TemplateParser *parser, TemplateExprDraft *expr)
{
    TemplateTokenKind after;
    TemplateHead head;
    uint32_t n_args;
    uint8_t helper;
    int r = template_parse_head(parser, &head);

    if (r != 0) {
        return r;
    }
    after = parser->token.kind;
    if (after == TOKEN_EQUALS) {
        return template_unexpected(parser, "'}}'");
    }
    if (template_is_simple(parser, &head.path) && template_is_refused(head.path.parts[0])) {
        return template_syntax(&parser->lexer, head.path.at, "the helper '%.*s' is not supported",
                               template_shown(head.path.parts[0]), head.path.parts[0].p);
    }
    if (after == TOKEN_LEFT || template_is_head(after) ||
        (template_is_simple(parser, &head.path) &&
         (template_helper_find(head.path.parts[0], &helper) != NULL ||
          parse_is_block_word(head.path.parts[0])))) {
        r = parse_begin_call(parser, expr, &head.path,
                             after != TOKEN_LEFT && !template_is_head(after));
        if (r == 0) {
            r = template_parse_arguments(parser, expr, &n_args);
        }
        if (r == 0) {
            expr->calls[0].n_args = n_args;
            r = parse_end_call(parser, expr);
        }
        return r;
    }
    return template_parse_name(parser, expr, &head.path);
}
