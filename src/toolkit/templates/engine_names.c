/* Paths: how they are written, what they mean where they stand, and which names at the top they
 * use. */
#include "toolkit/templates/engine_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define NAMES_MIN_CAP 16

int template_grow(Arena *arena, void *list, size_t n, size_t *cap, size_t size)
{
    void **slot = list;
    size_t wanted = *cap == 0 ? NAMES_MIN_CAP : *cap * 2;
    void *p;

    if (n < *cap) {
        return 0;
    }
    p = arena_grow(arena, *slot, *cap * size, wanted * size);
    if (p == NULL) {
        return err_raise(-ENOMEM);
    }
    *slot = p;
    *cap = wanted;
    return 0;
}

/* Takes the backslashes away that stand before `mark` (and, where that is a bracket, before another
 * backslash). */
static int names_unescape(TemplateParser *parser, Span raw, char mark, Span *ret)
{
    char *out;
    size_t n = 0;

    if (raw.n == 0 || memchr(raw.p, '\\', raw.n) == NULL) {
        *ret = raw;
        return 0;
    }
    out = arena_alloc(&parser->program->arena, raw.n);
    if (out == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < raw.n; i++) {
        if (raw.p[i] == '\\' && i + 1 < raw.n &&
            (raw.p[i + 1] == mark || (mark == ']' && raw.p[i + 1] == '\\'))) {
            i++;
        }
        out[n++] = raw.p[i];
    }
    *ret = span_make(out, n);
    return 0;
}

/* "." of a regular expression stops at these, and so the brackets stay around such a name. */
static bool names_has_line_end(Span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\n' || s.p[i] == '\r' ||
            (s.n - i >= 3 && memcmp(s.p + i, "\xE2\x80", 2) == 0 &&
             (s.p[i + 2] == '\xA8' || s.p[i + 2] == '\xA9'))) {
            return true;
        }
    }
    return false;
}

int template_name_of(TemplateParser *parser, const TemplateToken *token, Span *ret)
{
    Span raw = token->text;
    int r;

    if (token->kind == TOKEN_STRING) {
        return names_unescape(parser, span_make(raw.p + 1, raw.n - 2), raw.p[0], ret);
    }
    if (raw.p[0] != '[') {
        *ret = raw;
        return 0;
    }
    /* In this order, so that the bracket of [a\] ends the name, escaped or not. */
    r = names_unescape(parser, raw, ']', &raw);
    if (r == 0) {
        *ret = names_has_line_end(raw) ? raw : span_make(raw.p + 1, raw.n - 2);
    }
    return r;
}

static bool names_is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Handlebars asks /^\.|this\b/ of the whole path, so "athis" counts, too. */
bool template_path_is_scoped(Span s)
{
    if (s.n > 0 && s.p[0] == '.') {
        return true;
    }
    for (size_t i = 0; i + 4 <= s.n; i++) {
        if (memcmp(s.p + i, "this", 4) == 0 && (i + 4 == s.n || !names_is_word(s.p[i + 4]))) {
            return true;
        }
    }
    return false;
}

/* Adds one part; `..`, `.` and `this` say where to begin, unless they are in brackets. */
static int names_add_part(TemplateParser *parser, TemplatePathText *path, size_t *cap,
                          Bytes *original)
{
    const TemplateToken *token = &parser->token;
    Span name;
    bool is_literal;
    int r = template_name_of(parser, token, &name);

    if (r == 0) {
        r = err_fold(bytes_append_span(original, name));
    }
    if (r != 0) {
        return r;
    }
    is_literal = !span_equals(name, token->text);
    if (!is_literal && (span_equals(name, SPAN("..")) || span_equals(name, SPAN(".")) ||
                        span_equals(name, SPAN("this")))) {
        if (path->n_parts > 0) {
            return template_syntax(&parser->lexer, token->text.p,
                                   "'%.*s' must stand at the beginning of a path",
                                   template_shown(name), name.p);
        }
        path->depth += name.n == 2;
        return 0;
    }
    r = template_grow(&parser->program->arena, &path->parts, path->n_parts, cap, sizeof(Span));
    if (r == 0) {
        path->parts[path->n_parts++] = name;
    }
    return r;
}

static int names_read_parts(TemplateParser *parser, TemplatePathText *path, Bytes *original)
{
    size_t cap = 0;
    int r;

    for (;;) {
        if (parser->token.kind != TOKEN_ID) {
            return template_syntax(&parser->lexer, parser->token.text.p,
                                   "expected a name in the path");
        }
        r = names_add_part(parser, path, &cap, original);
        if (r == 0) {
            r = template_lex(&parser->lexer, &parser->token);
        }
        if (r != 0 || parser->token.kind != TOKEN_SEPARATOR) {
            return r;
        }
        r = err_fold(bytes_append_span(original, parser->token.text));
        if (r == 0) {
            r = template_lex(&parser->lexer, &parser->token);
        }
        if (r != 0) {
            return r;
        }
    }
}

int template_parse_path(TemplateParser *parser, TemplatePathText *ret)
{
    Bytes original;
    Span copy;
    int r = 0;

    *ret = (TemplatePathText){.at = parser->token.text.p};
    bytes_init(&original, TEMPLATE_TEXT_BYTES);
    if (parser->token.kind == TOKEN_AT) {
        ret->is_data = true;
        r = err_fold(bytes_append_byte(&original, '@'));
        if (r == 0) {
            r = template_lex(&parser->lexer, &parser->token);
        }
    }
    if (r == 0) {
        r = names_read_parts(parser, ret, &original);
    }
    if (r == 0) {
        copy = arena_copy(&parser->program->arena, bytes_span(&original));
        r = copy.p == NULL ? err_raise(-ENOMEM) : 0;
    }
    if (r == 0) {
        ret->original = copy;
        ret->is_scoped = template_path_is_scoped(copy);
    }
    bytes_deinit(&original);
    return r;
}

const TemplateParam *template_find_param(const TemplateParser *parser, const TemplatePathText *text)
{
    if (text->depth > 0 || text->is_scoped || text->n_parts == 0) {
        return NULL;
    }
    for (uint32_t i = parser->scope.n_params; i > 0; i--) {
        const TemplateParam *param = &parser->params[i - 1];
        const TemplateParam *first = param;

        if (!span_equals(param->name, text->parts[0])) {
            continue;
        }
        /* Of one block's parameters with the same name, the first. */
        while (first > parser->params && first[-1].frame == param->frame) {
            first--;
            if (span_equals(first->name, text->parts[0])) {
                param = first;
            }
        }
        return param;
    }
    return NULL;
}

static TemplatePathKind names_data_kind(Span name)
{
    static const struct {
        Span name;
        TemplatePathKind kind;
    } names[] = {{SPAN_INIT("root"), PATH_ROOT},
                 {SPAN_INIT("index"), PATH_INDEX},
                 {SPAN_INIT("key"), PATH_KEY},
                 {SPAN_INIT("first"), PATH_FIRST},
                 {SPAN_INIT("last"), PATH_LAST}};

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        if (span_equals(name, names[i].name)) {
            return names[i].kind;
        }
    }
    return PATH_UNKNOWN;
}

/* Look-ups of the same name from the same place share what is remembered. */
static uint32_t names_slot(TemplateParser *parser, const TemplatePath *path)
{
    TemplateProgram *program = parser->program;
    TemplateSlot wanted = {.depth = path->depth, .is_root = path->kind == PATH_ROOT};

    if ((path->kind != PATH_CONTEXT && path->kind != PATH_ROOT) || path->n_parts == 0) {
        return TEMPLATE_NONE;
    }
    wanted.name = path->parts[0];
    for (uint32_t i = 0; i < program->n_slots; i++) {
        const TemplateSlot *slot = &parser->slots[i];

        if (slot->depth == wanted.depth && slot->is_root == wanted.is_root &&
            span_equals(slot->name, wanted.name)) {
            return i;
        }
    }
    if (program->n_slots == TEMPLATE_SLOTS) {
        return TEMPLATE_NONE;
    }
    parser->slots[program->n_slots] = wanted;
    return program->n_slots++;
}

/* Remembers a name that is looked up in the values themselves; those that come again go at the end,
 * all at once. */
static int names_add_variable(TemplateParser *parser, const TemplatePath *path)
{
    bool is_top = path->kind == PATH_ROOT ||
                  (path->kind == PATH_CONTEXT && path->depth >= parser->scope.n_depths);
    int r;

    if (!is_top || path->n_parts == 0 || span_equals(path->parts[0], SPAN(TEMPLATE_TIMESTAMP))) {
        return 0;
    }
    r = template_grow(&parser->scratch_names, &parser->variables, parser->n_variables,
                      &parser->cap_variables, sizeof(TemplateVariable));
    if (r == 0) {
        parser->variables[parser->n_variables] =
            (TemplateVariable){path->parts[0], parser->n_variables};
        parser->n_variables++;
    }
    return r;
}

static int names_by_name(const void *left, const void *right)
{
    const TemplateVariable *a = left;
    const TemplateVariable *b = right;
    int c = span_compare(a->name, b->name);

    return c != 0 ? c : a->order < b->order ? -1 : a->order > b->order;
}

static int names_by_order(const void *left, const void *right)
{
    const TemplateVariable *a = left;
    const TemplateVariable *b = right;

    return a->order < b->order ? -1 : a->order > b->order;
}

int template_unite_variables(TemplateParser *parser)
{
    TemplateProgram *program = parser->program;
    TemplateVariable *list = parser->variables;
    size_t n = 0;

    if (parser->n_variables == 0) {
        return 0;
    }
    qsort(list, parser->n_variables, sizeof(*list), names_by_name);
    for (uint32_t i = 0; i < parser->n_variables; i++) {
        if (n == 0 || !span_equals(list[n - 1].name, list[i].name)) {
            list[n++] = list[i];
        }
    }
    qsort(list, n, sizeof(*list), names_by_order);
    program->variables = arena_alloc_array(&program->arena, n, sizeof(Span));
    if (program->variables == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        program->variables[i] = list[i].name;
    }
    program->n_variables = n;
    return 0;
}

int template_add_path(TemplateParser *parser, const TemplatePathText *text, uint32_t *ret)
{
    TemplateProgram *program = parser->program;
    const TemplateParam *param = template_find_param(parser, text);
    TemplatePath path = {.depth = text->depth,
                         .parts = text->parts,
                         .n_parts = text->n_parts,
                         .null_is_object = parser->scope.null_is_object};
    /* To Handlebars {{[].x}} is {{this}}. */
    bool is_empty = param == NULL && text->n_parts > 0 && text->parts[0].n == 0;
    bool is_data = param == NULL && text->is_data && text->n_parts > 0 && !is_empty;
    int r;

    if (param != NULL) {
        path.kind = PATH_PARAM;
        path.depth = param->frame;
        path.param = param->index;
    } else if (is_data) {
        path.kind = (uint8_t)names_data_kind(text->parts[0]);
    }
    if (is_empty) {
        path.n_parts = 0;
    }
    /* Those two have used up the first part. */
    if (param != NULL || is_data) {
        path.parts++;
        path.n_parts--;
    }
    path.slot = names_slot(parser, &path);
    program->uses_depths = program->uses_depths || (path.kind == PATH_CONTEXT && path.depth > 0);
    r = names_add_variable(parser, &path);
    if (r == 0) {
        r = template_grow(&program->arena, &program->paths, program->n_paths, &parser->cap_paths,
                          sizeof(TemplatePath));
    }
    if (r == 0) {
        *ret = program->n_paths;
        program->paths[program->n_paths++] = path;
    }
    return r;
}
