/* What functions are called, and what hooks need to find that out. */
#include "toolkit/complexity/walk.h"

#include <string.h>

#include "base/error.h"

/* How far around a closure is looked for what it is bound to. */
#define NAME_LOOK_MAX 16

/* Names are for people; and functions in functions in functions must not make ever longer ones. */
#define NAME_OWN_MAX  200
#define NAME_FULL_MAX 400

Span complexity_node_text(TSNode node, Span text)
{
    uint32_t start;
    uint32_t end;

    if (ts_node_is_null(node)) {
        return SPAN_NULL;
    }
    start = ts_node_start_byte(node);
    end = ts_node_end_byte(node);
    if (end > text.n || start >= end) {
        return SPAN_NULL;
    }
    return span_make(text.p + start, end - start);
}

TSNode complexity_node_field(TSNode node, const char *field)
{
    if (ts_node_is_null(node)) {
        return node;
    }
    return ts_node_child_by_field_name(node, field, (uint32_t)strlen(field));
}

Span complexity_node_field_text(TSNode node, const char *field, Span text)
{
    return complexity_node_text(complexity_node_field(node, field), text);
}

bool complexity_node_is(TSNode node, const char *type)
{
    return !ts_node_is_null(node) && strcmp(ts_node_type(node), type) == 0;
}

static bool node_is_among(TSNode node, const char *const *types)
{
    for (; types != NULL && *types != NULL; types++) {
        if (complexity_node_is(node, *types)) {
            return true;
        }
    }
    return false;
}

TSNode complexity_node_child(TSNode node, uint32_t i)
{
    return ts_node_is_null(node) ? node : ts_node_child(node, i);
}

TSNode complexity_node_named(TSNode node, uint32_t i)
{
    return ts_node_is_null(node) ? node : ts_node_named_child(node, i);
}

TSNode complexity_node_next(TSNode node)
{
    return ts_node_is_null(node) ? node : ts_node_next_sibling(node);
}

uint32_t complexity_node_n_children(TSNode node)
{
    return ts_node_is_null(node) ? 0 : ts_node_child_count(node);
}

uint32_t complexity_node_n_named(TSNode node)
{
    return ts_node_is_null(node) ? 0 : ts_node_named_child_count(node);
}

Span complexity_node_type(TSNode node)
{
    return ts_node_is_null(node) ? SPAN_NULL : span_from_str(ts_node_type(node));
}

bool complexity_node_is_named(TSNode node)
{
    return !ts_node_is_null(node) && ts_node_is_named(node);
}

bool complexity_node_is_extra(TSNode node)
{
    return !ts_node_is_null(node) && ts_node_is_extra(node);
}

bool complexity_node_is_error(TSNode node)
{
    return !ts_node_is_null(node) && ts_node_is_error(node);
}

bool complexity_node_has_error(TSNode node)
{
    return !ts_node_is_null(node) && ts_node_has_error(node);
}

bool complexity_node_children(TSNode node, TSTreeCursor *ret)
{
    if (ts_node_is_null(node)) {
        return false;
    }
    *ret = ts_tree_cursor_new(node);
    if (!ts_tree_cursor_goto_first_child(ret)) {
        ts_tree_cursor_delete(ret);
        return false;
    }
    return true;
}

bool complexity_node_go_on(TSTreeCursor *cursor)
{
    if (!ts_tree_cursor_goto_next_sibling(cursor)) {
        ts_tree_cursor_delete(cursor);
        return false;
    }
    return true;
}

uint32_t complexity_node_count(TSNode node, const char *const *except)
{
    TSTreeCursor cursor;
    uint32_t n = 0;

    for (bool more = complexity_node_children(node, &cursor); more;
         more = complexity_node_go_on(&cursor)) {
        TSNode child = ts_tree_cursor_current_node(&cursor);

        n += ts_node_is_named(child) && !ts_node_is_extra(child) && !node_is_among(child, except);
    }
    return n;
}

uint32_t complexity_node_count_of(TSNode node, const char *type)
{
    TSTreeCursor cursor;
    uint32_t n = 0;

    for (bool more = complexity_node_children(node, &cursor); more;
         more = complexity_node_go_on(&cursor)) {
        n += complexity_node_is(ts_tree_cursor_current_node(&cursor), type);
    }
    return n;
}

TSNode complexity_node_find(TSNode node, const char *type)
{
    TSNode found = {.id = NULL};
    TSTreeCursor cursor;

    for (bool more = complexity_node_children(node, &cursor); more;
         more = complexity_node_go_on(&cursor)) {
        TSNode child = ts_tree_cursor_current_node(&cursor);

        if (complexity_node_is(child, type)) {
            found = child;
            ts_tree_cursor_delete(&cursor);
            break;
        }
    }
    return found;
}

/* On one line, and not longer than that many bytes; a character is not cut in two. */
static Span name_cut(Span name, size_t max)
{
    const char *newline = name.n > 0 ? memchr(name.p, '\n', name.n) : NULL;

    if (newline != NULL) {
        name.n = (size_t)(newline - name.p);
    }
    while (name.n > 0 && (name.p[name.n - 1] == '\r' || name.p[name.n - 1] == ' ')) {
        name.n--;
    }
    if (name.n > max) {
        name.n = max;
        while (name.n > 0 && ((unsigned char)name.p[name.n] & 0xC0) == 0x80) {
            name.n--;
        }
    }
    return name;
}

/* scope separator name, of which either may be empty. */
static int name_join(Walk *walk, Span scope, Span name, Span *ret)
{
    Span separator = span_from_str(walk->language->separator);
    size_t n = scope.n + separator.n + name.n;
    char *p;

    if (scope.n == 0 || name.n == 0 || n > NAME_FULL_MAX) {
        *ret = name.n == 0 ? scope : name;
        return 0;
    }
    p = arena_alloc(walk->arena, n);
    if (p == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(p, scope.p, scope.n);
    memcpy(p + scope.n, separator.p, separator.n);
    memcpy(p + scope.n + separator.n, name.p, name.n);
    *ret = span_make(p, n);
    return 0;
}

/* Out of the text, which is borrowed only. */
static int name_own(Walk *walk, Span name, Span *ret)
{
    Span copy = SPAN_NULL;

    name = name_cut(name, NAME_OWN_MAX);
    if (name.n > 0) {
        copy = arena_copy(walk->arena, name);
        if (copy.p == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    *ret = copy;
    return 0;
}

int complexity_name_of(Walk *walk, const ComplexityPlace *place, Span scope, bool *ret_is,
                       Span *ret_name, Span *ret_scope)
{
    ComplexityName found = {.scope = SPAN_NULL, .name = SPAN_NULL};
    Span own;
    int r;

    if (walk->language->name_of == NULL) {
        found.name = complexity_node_field_text(place->node, "name", place->text);
    } else if (!walk->language->name_of(place, &found)) {
        *ret_is = false;
        return 0;
    }
    *ret_is = true;
    r = name_own(walk, found.scope, &own);
    if (r == 0) {
        r = name_join(walk, scope, own, &scope);
    }
    if (r == 0) {
        r = name_own(walk, found.name, &own);
    }
    if (r == 0) {
        r = name_join(walk, scope, own, ret_scope);
    }
    if (r == 0) {
        *ret_name = *ret_scope;
        r = own.n > 0 ? 0 : name_join(walk, scope, SPAN("(anonymous)"), ret_name);
    }
    return err_pass(r);
}

/* The frame that the closure is bound to; NULL if there is none. */
static const WalkFrame *name_find_binding(const Walk *walk, Span *ret)
{
    for (size_t i = walk->n_frames; i-- > 1 && i + NAME_LOOK_MAX >= walk->n_frames;) {
        const WalkFrame *frame = &walk->frames[i];

        *ret = walk->language->bound_to != NULL ? walk->language->bound_to(frame->node, walk->text)
                                                : SPAN_NULL;
        if (ret->n > 0) {
            return frame;
        }
        if ((frame->does & RULE_CONTAINER) != 0) {
            break;
        }
    }
    return NULL;
}

int complexity_name_closure(Walk *walk, Span *ret_name, Span *scope)
{
    Span own = SPAN_NULL;
    const WalkFrame *binding = name_find_binding(walk, &own);
    int r = 0;

    if (binding == NULL) {
        return err_pass(name_join(walk, *scope, SPAN("(closure)"), ret_name));
    }
    /* What is a container too has named what is in it already. */
    if ((binding->does & RULE_CONTAINER) == 0) {
        r = name_own(walk, own, &own);
        if (r == 0) {
            r = name_join(walk, binding->scope, own, scope);
        }
    }
    *ret_name = *scope;
    return err_pass(r);
}
