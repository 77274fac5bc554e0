/* Tags to nodes and expressions. Blocks and calls inside calls are kept on lists of fixed size, so
 * nothing here recurses. */
#include "toolkit/templates/engine_expr.h"
#include "toolkit/templates/helpers.h"

static int parse_add_node(TemplateParser *parser, const TemplateNode *node)
{
    int r = template_grow(&parser->scratch, &parser->nodes, parser->n_nodes, &parser->cap_nodes,
                          sizeof(TemplateNode));

    if (r == 0) {
        parser->nodes[parser->n_nodes++] = *node;
    }
    return r;
}

static int parse_print(TemplateParser *parser)
{
    TemplateExprDraft expr = {.first = parser->program->n_exprs};
    TemplateToken open = parser->token;
    bool is_raw = open.kind == TOKEN_OPEN_RAW;
    TemplateNode node = {.kind = NODE_PRINT, .strip_open = open.strip_open, .at = open.text.p};
    int r = template_next(parser);

    if (r == 0) {
        r = template_parse_value(parser, &expr);
    }
    if (r == 0) {
        r = template_expect(parser, is_raw ? TOKEN_CLOSE_RAW : TOKEN_CLOSE,
                            is_raw ? "'}}}'" : "'}}'");
    }
    if (r != 0) {
        return r;
    }
    node.strip_close = parser->token.strip_close;
    node.expr = expr.first;
    node.n_expr = parser->program->n_exprs - expr.first;
    return parse_add_node(parser, &node);
}

static TemplateBlock parse_block_kind(const TemplateParser *parser, const TemplateHead *head)
{
    static const struct {
        Span name;
        TemplateBlock block;
    } words[] = {{SPAN_INIT("if"), BLOCK_IF},
                 {SPAN_INIT("unless"), BLOCK_UNLESS},
                 {SPAN_INIT("each"), BLOCK_EACH},
                 {SPAN_INIT("with"), BLOCK_WITH}};

    if (template_is_simple(parser, &head->path)) {
        for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
            if (span_equals(head->path.parts[0], words[i].name)) {
                return words[i].block;
            }
        }
    }
    return BLOCK_SECTION;
}

/* {{#value}}: not a helper, and without arguments. */
static int parse_section(TemplateParser *parser, TemplateExprDraft *expr, const TemplateHead *head)
{
    const TemplatePathText *path = &head->path;
    uint8_t helper;

    if (parser->token.kind == TOKEN_LEFT || template_is_head(parser->token.kind)) {
        return template_syntax(&parser->lexer, path->at, "there is no block helper '%.*s'",
                               template_shown(path->original), path->original.p);
    }
    if (template_is_simple(parser, path) &&
        (template_helper_find(path->parts[0], &helper) != NULL ||
         template_is_refused(path->parts[0]))) {
        return template_syntax(&parser->lexer, path->at, "'%.*s' is a helper, and begins no block",
                               template_shown(path->parts[0]), path->parts[0].p);
    }
    return template_parse_name(parser, expr, path);
}

/* The names between bars; those of them that are visible in the body are added to the list, but
 * not counted yet. */
static int parse_params(TemplateParser *parser, TemplateBlock block, bool inverted, uint32_t *ret_n)
{
    const char *at = parser->token.text.p;
    int r;

    *ret_n = 0;
    if (parser->token.kind != TOKEN_OPEN_PARAMS) {
        return 0;
    }
    if ((block != BLOCK_EACH && block != BLOCK_WITH) || inverted) {
        return template_syntax(&parser->lexer, at,
                               "block parameters belong to {{#each}} and {{#with}}");
    }
    while ((r = template_next(parser)) == 0 && parser->token.kind == TOKEN_ID) {
        TemplateParam *param = &parser->params[parser->scope.n_params + *ret_n];

        if (parser->scope.n_params + *ret_n == TEMPLATE_PARAMS) {
            return template_syntax(&parser->lexer, at, "more than %d block parameters",
                                   TEMPLATE_PARAMS);
        }
        *param = (TemplateParam){.frame = parser->scope.n_frames + 1, .index = (uint8_t)*ret_n};
        param->name = parser->token.text;
        if (param->name.p[0] == '[') {
            return template_syntax(&parser->lexer, param->name.p,
                                   "a block parameter is a name without brackets");
        }
        (*ret_n)++;
    }
    if (r == 0 && (*ret_n == 0 || parser->token.kind != TOKEN_PIPE)) {
        return template_unexpected(parser, *ret_n == 0 ? "a name" : "a name or '|'");
    }
    return r != 0 ? r : template_next(parser);
}

/* What is around the first part of the block; then, for the second, what is around that. */
static void parse_enter(TemplateParser *parser, TemplateBlock block, bool is_body,
                        uint32_t n_params)
{
    TemplateScope *scope = &parser->scope;

    if (block == BLOCK_IF || block == BLOCK_UNLESS || (block != BLOCK_SECTION && !is_body)) {
        scope->null_is_object = true;
    } else if (is_body) {
        scope->n_frames++;
        scope->n_depths += block != BLOCK_SECTION;
        scope->n_params += n_params;
        scope->null_is_object = false;
    }
}

/* The inside of {{#…}}, {{^…}} and {{else …}}: node and block are filled in. */
static int parse_block_tag(TemplateParser *parser, TemplateNode *node, TemplateOpenBlock *block)
{
    TemplateExprDraft expr = {.first = parser->program->n_exprs};
    TemplateHead head;
    uint32_t n_args = 0;
    uint32_t n_params = 0;
    int r = template_next(parser);

    if (r == 0) {
        r = template_parse_head(parser, &head);
    }
    if (r != 0) {
        return r;
    }
    block->block = parse_block_kind(parser, &head);
    if (block->block == BLOCK_SECTION) {
        r = parse_section(parser, &expr, &head);
    } else {
        r = template_parse_arguments(parser, &expr, &n_args);
        if (r == 0 && n_args != 1) {
            r = template_syntax(&parser->lexer, head.path.at, "'%.*s' takes 1 argument, found %u",
                                template_shown(head.path.parts[0]), head.path.parts[0].p, n_args);
        }
    }
    if (r == 0) {
        r = parse_params(parser, block->block, block->inverted, &n_params);
    }
    if (r == 0) {
        r = template_expect(parser, TOKEN_CLOSE, "'}}'");
    }
    if (r != 0) {
        return r;
    }
    if (node->kind == NODE_OPEN) {
        block->name = head.path.original;
        block->kind = head.kind;
    }
    node->block = (uint8_t)block->block;
    node->strip_close = parser->token.strip_close;
    node->expr = expr.first;
    node->n_expr = parser->program->n_exprs - expr.first;
    block->outside = parser->scope;
    parse_enter(parser, block->block, !block->inverted, n_params);
    return 0;
}

static int parse_open(TemplateParser *parser)
{
    TemplateOpenBlock *block = &parser->blocks[parser->n_blocks];
    TemplateNode node = {.kind = NODE_OPEN,
                         .inverted = parser->token.kind == TOKEN_OPEN_INVERSE,
                         .strip_open = parser->token.strip_open,
                         .at = parser->token.text.p};
    int r;

    if (parser->n_blocks == TEMPLATE_DEPTH) {
        return template_syntax(&parser->lexer, node.at, "blocks are nested deeper than %d",
                               TEMPLATE_DEPTH);
    }
    *block = (TemplateOpenBlock){.open = parser->n_nodes,
                                 .last = parser->n_nodes,
                                 .inverted = node.inverted,
                                 .around = parser->scope};
    r = parse_block_tag(parser, &node, block);
    if (r == 0) {
        r = parse_add_node(parser, &node);
    }
    parser->n_blocks += r == 0;
    return r;
}

/* {{else}}, {{^}} and {{else name …}}. */
static int parse_else(TemplateParser *parser)
{
    TemplateOpenBlock *block;
    bool is_chain = parser->token.kind == TOKEN_OPEN_CHAIN;
    TemplateNode node = {.kind = NODE_ELSE,
                         .strip_open = parser->token.strip_open,
                         .strip_close = parser->token.strip_close,
                         .at = parser->token.text.p};
    bool was_inverted;
    int r = 0;

    if (parser->n_blocks == 0) {
        return template_syntax(&parser->lexer, node.at, "an else outside a block");
    }
    block = &parser->blocks[parser->n_blocks - 1];
    if (block->has_else) {
        return template_syntax(&parser->lexer, node.at, "the block has an {{else}} already");
    }
    if (is_chain && block->inverted) {
        return template_syntax(&parser->lexer, node.at,
                               "a block that begins with {{^ cannot go on with {{else ...}}");
    }
    template_space_body(parser, block->last + 1, parser->n_nodes, false);
    parser->nodes[block->last].next = parser->n_nodes;
    node.close = block->last;
    block->last = parser->n_nodes;
    was_inverted = block->inverted;
    parser->scope = block->outside;
    parse_enter(parser, block->block, was_inverted, 0);
    if (is_chain) {
        r = parse_block_tag(parser, &node, block);
    } else {
        block->has_else = true;
    }
    return r != 0 ? r : parse_add_node(parser, &node);
}

static int parse_close(TemplateParser *parser)
{
    TemplateOpenBlock *block;
    TemplateNode node = {
        .kind = NODE_CLOSE, .strip_open = parser->token.strip_open, .at = parser->token.text.p};
    TemplateHead head;
    int r = template_next(parser);

    if (r == 0) {
        r = template_parse_head(parser, &head);
    }
    if (r == 0) {
        r = template_expect(parser, TOKEN_CLOSE, "'}}'");
    }
    if (r != 0) {
        return r;
    }
    if (parser->n_blocks == 0) {
        return template_syntax(&parser->lexer, node.at, "{{/%.*s}} closes no block",
                               template_shown(head.path.original), head.path.original.p);
    }
    block = &parser->blocks[parser->n_blocks - 1];
    if (!span_equals(head.path.original, block->name) ||
        (head.kind != block->kind && !((head.kind == TOKEN_ID || head.kind == TOKEN_STRING) &&
                                       (block->kind == TOKEN_ID || block->kind == TOKEN_STRING)))) {
        return template_syntax(&parser->lexer, node.at, "expected {{/%.*s}}, found {{/%.*s}}",
                               template_shown(block->name), block->name.p,
                               template_shown(head.path.original), head.path.original.p);
    }
    node.strip_close = parser->token.strip_close;
    node.next = block->last;
    template_space_body(parser, block->last + 1, parser->n_nodes, false);
    parser->nodes[block->last].next = parser->n_nodes;
    parser->nodes[block->open].close = parser->n_nodes;
    r = parse_add_node(parser, &node);
    if (r == 0) {
        template_space_block(parser, block->open);
        parser->n_blocks--;
        parser->scope = block->around;
    }
    return r;
}

static int parse_statement(TemplateParser *parser)
{
    TemplateToken token = parser->token;
    TemplateNode node = {.kind = NODE_CONTENT,
                         .strip_open = token.strip_open,
                         .strip_close = token.strip_close,
                         .at = token.text.p,
                         .end = token.text.p + token.text.n,
                         .value = token.text.p,
                         .value_end = token.text.p + token.text.n};

    switch (token.kind) {
    case TOKEN_CONTENT:
        return parse_add_node(parser, &node);
    case TOKEN_COMMENT:
        node.kind = NODE_COMMENT;
        return parse_add_node(parser, &node);
    case TOKEN_OPEN:
    case TOKEN_OPEN_RAW:
        return parse_print(parser);
    case TOKEN_OPEN_BLOCK:
    case TOKEN_OPEN_INVERSE:
        return parse_open(parser);
    case TOKEN_OPEN_CHAIN:
    case TOKEN_INVERSE:
        return parse_else(parser);
    case TOKEN_OPEN_END:
        return parse_close(parser);
    default:
        return template_unexpected(parser, "text or a tag");
    }
}

int template_parse(TemplateParser *parser)
{
    int r = 0;

    while (r == 0) {
        r = template_next(parser);
        if (r == 0 && parser->token.kind == TOKEN_END) {
            break;
        }
        if (r == 0) {
            r = parse_statement(parser);
        }
    }
    if (r == 0 && parser->n_blocks > 0) {
        const TemplateOpenBlock *block = &parser->blocks[parser->n_blocks - 1];

        return template_syntax(&parser->lexer, parser->nodes[block->open].at,
                               "the block '%.*s' is not closed: expected {{/%.*s}}",
                               template_shown(block->name), block->name.p,
                               template_shown(block->name), block->name.p);
    }
    if (r == 0) {
        template_space_body(parser, 0, parser->n_nodes, true);
    }
    return r;
}
