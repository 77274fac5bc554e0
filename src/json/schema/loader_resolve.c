/* What a reference means: from a URI with a fragment to a subschema. */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "json/schema/loader.h"
#include "json/schema/uri.h"

/* Objects and arrays of more members are indexed when a pointer first leads through them, so that
 * twenty thousand references into "$defs" do not read it from the front each time. */
#define RESOLVE_SMALL 32

/* Marks, beside an object's own scope, that its members are in the index. */
#define RESOLVE_INDEXED ((uint64_t)1 << 63)

static int resolve_find_resource(SchemaLoader *loader, Span uri, SchemaDialect dialect,
                                 uint32_t *ret)
{
    Span text;

    if (namemap_find(&loader->uris, 0, uri, ret)) {
        return 0;
    }
    if (!loader_find_text(loader, uri, &text)) {
        return SCHEMA_E_UNRESOLVED;
    }
    return loader_add(loader, uri, text, dialect, ret);
}

static int resolve_anchor(const SchemaLoader *loader, uint32_t resource, Span name,
                          SchemaTarget *ret)
{
    const SchemaAnchor *anchor;
    uint32_t at;

    if (!namemap_find(&loader->anchor_names, resource, name, &at)) {
        return SCHEMA_E_UNRESOLVED;
    }
    anchor = &loader->anchors[at];
    ret->json = anchor->json;
    if (anchor->is_dynamic) {
        ret->dynamic_name = anchor->name;
    }
    return 0;
}

/* A member's name, or an element's position in the only spelling that a pointer may use. */
static int resolve_name(SchemaLoader *loader, const JsonIter *it, uint32_t index, Span *ret)
{
    char digits[16];
    int n;

    if (it->is_object) {
        return loader_string(loader, it->key, ret);
    }
    n = snprintf(digits, sizeof(digits), "%u", (unsigned)index);
    *ret = arena_copy(loader->arena, span_make(digits, (size_t)n));
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

static int resolve_index(SchemaLoader *loader, uint32_t doc, uint64_t scope, JsonValue v)
{
    bool is_new;
    uint32_t index = 0;

    if (namemap_put(&loader->members, loader->arena, scope | RESOLVE_INDEXED, SPAN(""), &is_new) ==
        NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(v); is_new && json_iter_next(&it);) {
        bool is_first;
        Span name;
        uint32_t *at;
        int r = resolve_name(loader, &it, index++, &name);

        if (r != 0) {
            return err_pass(r);
        }
        at = namemap_put(&loader->members, loader->arena, scope, name, &is_first);
        if (at == NULL) {
            return err_raise(-ENOMEM);
        }
        /* The last of duplicates counts, as everywhere. */
        *at = (uint32_t)(it.value.node - loader->docs[doc].json.nodes);
    }
    return 0;
}

/* Undoes ~0 and ~1; SCHEMA_E_UNRESOLVED for any other use of the tilde. */
static int resolve_decode(SchemaLoader *loader, Span *token)
{
    Span copy;
    char *out;
    size_t n = 0;

    if (token->n == 0 || memchr(token->p, '~', token->n) == NULL) {
        return 0;
    }
    copy = arena_copy(loader->arena, *token);
    if (copy.p == NULL) {
        return err_raise(-ENOMEM);
    }
    out = (char *)(uintptr_t)copy.p;
    for (size_t i = 0; i < token->n; i++) {
        char c = token->p[i];

        if (c == '~') {
            i++;
            if (i == token->n || (token->p[i] != '0' && token->p[i] != '1')) {
                return SCHEMA_E_UNRESOLVED;
            }
            c = token->p[i] == '0' ? '~' : '/';
        }
        out[n++] = c;
    }
    *token = span_make(out, n);
    return 0;
}

/* From v to its member or element; token has its slash before it. */
static int resolve_step(SchemaLoader *loader, uint32_t doc, Span token, JsonValue *v)
{
    const JsonNode *nodes = loader->docs[doc].json.nodes;
    uint64_t scope = (uint64_t)doc << 32 | (uint64_t)(v->node - nodes);
    uint32_t at;
    int r;

    if (json_count(*v) <= RESOLVE_SMALL) {
        return json_pointer(*v, token, v) == 0 ? 0 : SCHEMA_E_UNRESOLVED;
    }
    token = span_make(token.p + 1, token.n - 1);
    r = resolve_decode(loader, &token);
    if (r == 0) {
        r = resolve_index(loader, doc, scope, *v);
    }
    if (r != 0) {
        return r;
    }
    if (!namemap_find(&loader->members, scope, token, &at)) {
        return SCHEMA_E_UNRESOLVED;
    }
    v->node = nodes + at;
    return 0;
}

/* Follows an RFC 6901 pointer from the root of *resource, which becomes the innermost resource on
 * the way. */
static int resolve_pointer(SchemaLoader *loader, Span pointer, uint32_t *resource,
                           const JsonNode **ret)
{
    uint32_t doc = loader->resources[*resource].doc;
    JsonValue v = loader_value(loader, doc, loader->resources[*resource].json);
    size_t at = 0;

    while (at < pointer.n) {
        size_t end = at + 1;
        uint32_t inner;
        int r;

        while (end < pointer.n && pointer.p[end] != '/') {
            end++;
        }
        r = resolve_step(loader, doc, span_make(pointer.p + at, end - at), &v);
        if (r != 0) {
            return r;
        }
        inner = loader_resource_of(loader, doc, v.node);
        *resource = inner != SCHEMA_NONE ? inner : *resource;
        at = end;
    }
    *ret = v.node;
    return 0;
}

int loader_resolve(SchemaLoader *loader, uint32_t resource, const JsonNode *json,
                   SchemaKeyword keyword, Span ref, SchemaTarget *ret)
{
    SchemaResource from = loader->resources[resource];
    SchemaTarget target = {.dynamic_name = SPAN_NULL};
    Span uri;
    Span fragment;
    uint32_t found = 0;
    int r;

    uri_split_fragment(ref, &uri, &fragment);
    r = uri_resolve(loader->arena, from.uri, uri, &uri);
    if (r == 0) {
        r = uri_percent_decode(loader->arena, fragment, &fragment);
    }
    if (r != 0) {
        return err_pass(r);
    }
    r = resolve_find_resource(loader, uri, from.dialect, &found);
    if (r == SCHEMA_E_UNRESOLVED) {
        return loader_fail(loader, r, from.doc, json, keyword,
                           "%.*s is not registered, and nothing is fetched", (int)uri.n, uri.p);
    }
    if (r != 0) {
        return r;
    }
    target.doc = loader->resources[found].doc;
    if (fragment.n > 0 && fragment.p[0] != '/') {
        r = resolve_anchor(loader, found, fragment, &target);
    } else {
        r = resolve_pointer(loader, fragment, &found, &target.json);
    }
    if (r == SCHEMA_E_UNRESOLVED) {
        return loader_fail(loader, SCHEMA_E_UNRESOLVED, from.doc, json, keyword,
                           "there is nothing at %.*s", (int)ref.n, ref.p);
    }
    if (r == 0) {
        r = loader_visit(loader, target.doc, target.json, found);
    }
    if (r == 0) {
        *ret = target;
    }
    return r;
}
