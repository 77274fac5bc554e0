/* Nodes to code: one pass in the order of the text, which is the order of the code, too. */
#include "toolkit/templates/engine_impl.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

/* A block whose code is being written. */
typedef struct EmitBlock {
    uint32_t code;  /* of its tag, or of its last {{else name}} */
    uint32_t part;  /* 0: behind the tag, 1: behind its else */
    uint32_t patch; /* the last jump to the end of the whole; each names the one before */
    uint8_t block;
    bool inverted;
} EmitBlock;

typedef struct Emit {
    TemplateParser *parser;
    TemplateProgram *program;
    size_t cap;
    EmitBlock blocks[TEMPLATE_DEPTH];
    uint32_t n_blocks;
} Emit;

static int emit_add(Emit *emit, TemplateCode code)
{
    TemplateProgram *program = emit->program;
    int r = template_grow(&program->arena, &program->code, program->n_code, &emit->cap,
                          sizeof(TemplateCode));

    if (r == 0) {
        program->code[program->n_code++] = code;
    }
    return r;
}

static int emit_text(Emit *emit, const TemplateNode *node)
{
    Span text = span_make(node->value, (size_t)(node->value_end - node->value));

    if (node->value_end <= node->value) {
        return 0;
    }
    return emit_add(emit, (TemplateCode){.op = OP_TEXT, .text = text});
}

static int emit_print(Emit *emit, const TemplateNode *node)
{
    const TemplateExpr *expr = &emit->program->exprs[node->expr];
    TemplateCode code = {.op = OP_PRINT, .expr = node->expr, .n_expr = node->n_expr};

    if (node->n_expr == 1 && expr->op == EXPR_PATH) {
        const TemplatePath *path = &emit->program->paths[expr->path];

        if (path->kind == PATH_CONTEXT && path->depth == 0 && path->n_parts == 1 &&
            path->slot != TEMPLATE_NONE) {
            code.op = OP_NAME;
            code.expr = path->slot;
            code.text = path->parts[0];
        }
    }
    return emit_add(emit, code);
}

/* Whether the part that is being written is the one with a frame. */
static bool emit_is_body(const EmitBlock *block)
{
    return (block->part == 0) != block->inverted;
}

static bool emit_has_frame(const EmitBlock *block)
{
    return block->block == BLOCK_EACH || block->block == BLOCK_WITH ||
           block->block == BLOCK_SECTION;
}

/* Says where the part that begins now is. */
static void emit_begin_part(Emit *emit, EmitBlock *block)
{
    TemplateCode *code = &emit->program->code[block->code];
    bool is_body = emit_is_body(block);

    if (block->block == BLOCK_UNLESS) {
        is_body = !is_body;
    }
    *(is_body ? &code->body : &code->inverse) = emit->program->n_code;
}

static int emit_end_part(Emit *emit, const EmitBlock *block)
{
    if (emit_is_body(block) && emit_has_frame(block)) {
        return emit_add(emit, (TemplateCode){.op = OP_NEXT});
    }
    return 0;
}

static int emit_tag(Emit *emit, EmitBlock *block, const TemplateNode *node)
{
    static const uint8_t ops[] = {[BLOCK_IF] = OP_IF,
                                  [BLOCK_UNLESS] = OP_IF,
                                  [BLOCK_EACH] = OP_EACH,
                                  [BLOCK_WITH] = OP_WITH,
                                  [BLOCK_SECTION] = OP_SECTION};
    int r;

    block->code = emit->program->n_code;
    block->part = 0;
    block->block = node->block;
    r = emit_add(emit, (TemplateCode){.op = ops[node->block],
                                      .expr = node->expr,
                                      .n_expr = node->n_expr,
                                      .body = TEMPLATE_NONE,
                                      .inverse = TEMPLATE_NONE,
                                      .end = block->patch});
    if (r == 0) {
        block->patch = block->code;
        emit_begin_part(emit, block);
    }
    return r;
}

static int emit_else(Emit *emit, const TemplateNode *node)
{
    EmitBlock *block = &emit->blocks[emit->n_blocks - 1];
    int r = emit_end_part(emit, block);

    if (r == 0) {
        r = emit_add(emit, (TemplateCode){.op = OP_JUMP, .end = block->patch});
    }
    if (r != 0) {
        return r;
    }
    block->patch = emit->program->n_code - 1;
    block->part = 1;
    emit_begin_part(emit, block);
    if (node->block != BLOCK_NONE) {
        block->inverted = false;
        r = emit_tag(emit, block, node);
    }
    return r;
}

static int emit_close(Emit *emit)
{
    EmitBlock *block = &emit->blocks[--emit->n_blocks];
    int r = emit_end_part(emit, block);

    /* All that goes to the end is linked by what will name the end. */
    for (uint32_t i = block->patch; r == 0 && i != TEMPLATE_NONE;) {
        TemplateCode *code = &emit->program->code[i];

        i = code->end;
        code->end = emit->program->n_code;
    }
    return r;
}

int template_emit(TemplateParser *parser)
{
    Emit emit = {.parser = parser, .program = parser->program};
    int r = 0;

    for (uint32_t i = 0; i < parser->n_nodes && r == 0; i++) {
        const TemplateNode *node = &parser->nodes[i];

        switch ((TemplateNodeKind)node->kind) {
        case NODE_CONTENT:
            r = emit_text(&emit, node);
            break;
        case NODE_PRINT:
            r = emit_print(&emit, node);
            break;
        case NODE_OPEN:
            emit.blocks[emit.n_blocks] =
                (EmitBlock){.patch = TEMPLATE_NONE, .inverted = node->inverted};
            r = emit_tag(&emit, &emit.blocks[emit.n_blocks++], node);
            break;
        case NODE_ELSE:
            r = emit_else(&emit, node);
            break;
        case NODE_CLOSE:
            r = emit_close(&emit);
            break;
        case NODE_COMMENT:
            break;
        }
    }
    return r != 0 ? r : emit_add(&emit, (TemplateCode){.op = OP_END});
}

/* Fit to be read: not too long, UTF-8, and no NUL, which Handlebars refuses, too. */
static int compile_check(const TemplateLexer *lexer)
{
    size_t n = (size_t)(lexer->end - lexer->text);
    const char *nul = n == 0 ? NULL : memchr(lexer->text, '\0', n);
    size_t bad;

    if (!utf8_valid(lexer->text, n, &bad)) {
        return template_syntax(lexer, lexer->text + bad, "invalid UTF-8");
    }
    if (nul != NULL) {
        return template_syntax(lexer, nul, "a NUL byte");
    }
    return 0;
}

static int compile_run(TemplateProgram *program, Diag *reterr_diag)
{
    TemplateParser *parser = mem_alloc_array(1, sizeof(*parser));
    int r;

    if (parser == NULL) {
        return err_raise(-ENOMEM);
    }
    parser->program = program;
    parser->lexer = (TemplateLexer){.text = program->text.p,
                                    .at = program->text.p,
                                    .end = program->text.p + program->text.n,
                                    .diag = reterr_diag};
    arena_init(&parser->scratch, TEMPLATE_PROGRAM_BYTES);
    arena_init(&parser->scratch_names, TEMPLATE_PROGRAM_BYTES);
    r = compile_check(&parser->lexer);
    if (r == 0) {
        r = template_parse(parser);
    }
    if (r == 0) {
        r = template_emit(parser);
    }
    if (r == 0) {
        r = template_unite_variables(parser);
    }
    arena_deinit(&parser->scratch_names);
    arena_deinit(&parser->scratch);
    (void)mem_free(parser);
    return r;
}

int template_compile(TemplateProgram **ret, Span text, Diag *reterr_diag)
{
    TemplateProgram *program;
    int r = 0;

    if (text.n > TEMPLATE_TEXT_BYTES) {
        return diag_set(reterr_diag, TEMPLATE_E_SYNTAX, "longer than %zu bytes",
                        TEMPLATE_TEXT_BYTES);
    }
    program = mem_alloc_array(1, sizeof(*program));
    if (program == NULL) {
        return err_raise(-ENOMEM);
    }
    arena_init(&program->arena, TEMPLATE_PROGRAM_BYTES);
    program->text = arena_copy(&program->arena, text);
    if (program->text.p == NULL) {
        r = err_raise(-ENOMEM);
    }
    if (r == 0) {
        r = compile_run(program, reterr_diag);
    }
    if (r != 0) {
        (void)template_free(program);
        return r;
    }
    *ret = program;
    return 0;
}

TemplateProgram *template_free(TemplateProgram *program)
{
    if (program != NULL) {
        arena_deinit(&program->arena);
    }
    return mem_free(program);
}

size_t template_variables(const TemplateProgram *program, const Span **ret_names)
{
    *ret_names = program->variables;
    return program->n_variables;
}
