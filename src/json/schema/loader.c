#include "json/schema/loader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/schema/uri.h"
#include "json/schema/vec.h"

/* Paths longer than this are cut in messages; a Diag's field is shorter still. */
#define LOADER_MAX_PATH 4096

#define LOADER_SHOWN_PATH 100

/* A subschema that the walk has yet to visit. */
typedef struct LoaderItem {
    const JsonNode *json;
    uint32_t resource;
    uint32_t depth;
} LoaderItem;

typedef struct LoaderWalk {
    SchemaLoader *loader;
    LoaderItem *items; /* a stack: no recursion on the schema's depth */
    uint32_t n, cap;
    uint32_t doc;
} LoaderWalk;

int loader_fail(SchemaLoader *loader, int code, uint32_t doc, const JsonNode *json,
                SchemaKeyword keyword, const char *format, ...)
{
    CLEANUP(bytes_deinit) Bytes path = BYTES_NULL;
    char words[DIAG_MESSAGE_SIZE];
    const char *dots = "";
    va_list args;
    Span shown;

    if (loader->diag == NULL) {
        return code;
    }
    bytes_init(&path, LOADER_MAX_PATH);
    /* A path that cannot be built (no memory, too long) is left out; the words still help. */
    if (doc > 0) {
        (void)bytes_append_format(&path, "%.*s#", (int)loader->docs[doc].uri.n,
                                  loader->docs[doc].uri.p);
    }
    (void)json_pointer_of(json_root(&loader->docs[doc].json), loader_value(loader, doc, json),
                          &path);
    if (keyword < SCHEMA_KW_COUNT) {
        (void)bytes_append_format(&path, "/%s", schema_keyword_info(keyword)->name.p);
    }
    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    shown = path.n == 0 ? SPAN("") : bytes_span(&path);
    if (shown.n > LOADER_SHOWN_PATH) {
        /* The end tells more than the beginning, and the words must fit behind it. */
        dots = "...";
        shown = span_make(shown.p + shown.n - LOADER_SHOWN_PATH, LOADER_SHOWN_PATH);
    }
    (void)diag_set(loader->diag, code, "%s%.*s%s%s", dots, (int)shown.n, shown.p,
                   shown.n > 0 ? ": " : "", words);
    diag_set_field(loader->diag, "%.*s", (int)path.n, path.n == 0 ? "" : path.data);
    if (doc == 0) {
        const JsonDoc *root = &loader->docs[0].json;

        diag_set_place(loader->diag, root->text, root->n_text, json->start);
    }
    return code;
}

int loader_string(SchemaLoader *loader, JsonValue v, Span *ret)
{
    int r = json_string(v, loader->arena, ret);

    return r == 0 ? 0 : err_fold(r);
}

int loader_string_exact(SchemaLoader *loader, JsonValue v, Span *ret)
{
    int r = json_string_exact(v, loader->arena, ret);

    return r == 0 ? 0 : err_fold(r);
}

/* The string that a keyword must have. */
static int loader_keyword_string(SchemaLoader *loader, uint32_t doc, const JsonNode *json,
                                 SchemaKeyword keyword, bool *ret_found, Span *ret)
{
    JsonValue v;

    *ret_found = json_get(loader_value(loader, doc, json), schema_keyword_info(keyword)->name, &v);
    if (!*ret_found) {
        return 0;
    }
    if (json_kind(v) != JSON_STRING) {
        return loader_fail(loader, SCHEMA_E_MALFORMED, doc, json, keyword,
                           "expected a string, got %s", json_kind_name(json_kind(v)));
    }
    return loader_string(loader, v, ret);
}

/* The first document that brings a URI keeps it, but one document must not give it twice. */
static int loader_add_uri(SchemaLoader *loader, Span uri, uint32_t resource)
{
    const SchemaResource *fresh = &loader->resources[resource];
    const SchemaResource *old;
    bool is_new;
    uint32_t *value = namemap_put(&loader->uris, loader->arena, 0, uri, &is_new);

    if (value == NULL) {
        return err_raise(-ENOMEM);
    }
    if (is_new) {
        *value = resource;
    }
    old = &loader->resources[*value];
    /* Where a document was found is no "$id"; another may override it. */
    if (*value != resource && old->doc == fresh->doc && span_equals(old->uri, uri)) {
        return loader_fail(loader, SCHEMA_E_MALFORMED, fresh->doc, fresh->json, SCHEMA_KW_ID,
                           "%.*s is the URI of another subschema already", (int)uri.n, uri.p);
    }
    return 0;
}

static int loader_add_anchor(SchemaLoader *loader, SchemaAnchor anchor, SchemaKeyword keyword)
{
    bool is_new;
    uint32_t *at;

    if (!VEC_ROOM(loader->arena, loader->anchors, loader->n_anchors, loader->cap_anchors)) {
        return err_raise(-ENOMEM);
    }
    at = namemap_put(&loader->anchor_names, loader->arena, anchor.resource, anchor.name, &is_new);
    if (at == NULL) {
        return err_raise(-ENOMEM);
    }
    if (is_new) {
        *at = loader->n_anchors;
        loader->anchors[loader->n_anchors++] = anchor;
        return 0;
    }
    if (loader->anchors[*at].json != anchor.json) {
        return loader_fail(loader, SCHEMA_E_MALFORMED, loader->resources[anchor.resource].doc,
                           anchor.json, keyword, "%.*s names another subschema already",
                           (int)anchor.name.n, anchor.name.p);
    }
    /* "$anchor" and "$dynamicAnchor" side by side. */
    loader->anchors[*at].is_dynamic |= anchor.is_dynamic;
    return 0;
}

/* "$schema" counts at the root of a resource. */
static int loader_read_dialect(SchemaLoader *loader, SchemaResource *resource)
{
    Span uri = SPAN_NULL;
    bool found;
    int r = loader_keyword_string(loader, resource->doc, resource->json, SCHEMA_KW_SCHEMA, &found,
                                  &uri);

    if (r != 0 || !found) {
        return r;
    }
    return loader_find_dialect(loader, resource->doc, resource->json, uri, &resource->dialect,
                               &resource->vocab);
}

static int loader_add_resource(SchemaLoader *loader, SchemaResource resource, uint32_t *ret)
{
    int r = loader_read_dialect(loader, &resource);

    if (r != 0) {
        return r;
    }
    if (!VEC_ROOM(loader->arena, loader->resources, loader->n_resources, loader->cap_resources)) {
        return err_raise(-ENOMEM);
    }
    loader->resources[loader->n_resources] = resource;
    *ret = loader->n_resources++;
    return loader_add_uri(loader, resource.uri, *ret);
}

/* In draft-07 "$ref" makes its neighbours void, "$id" included. */
static bool loader_ignores_id(const SchemaLoader *loader, const SchemaResource *resource,
                              const JsonNode *json)
{
    JsonValue v;

    return resource->dialect == SCHEMA_DIALECT_DRAFT_07 &&
           json_get(loader_value(loader, resource->doc, json), SPAN("$ref"), &v);
}

/* "$id": opens a resource, names the document's root, or, in draft-07, is an anchor ("#foo"). */
static int walk_read_id(LoaderWalk *walk, LoaderItem *item)
{
    SchemaLoader *loader = walk->loader;
    SchemaResource outer = loader->resources[item->resource];
    bool is_root = outer.json == item->json;
    Span id = SPAN_NULL;
    Span fragment;
    bool found;
    int r;

    if (loader_ignores_id(loader, &outer, item->json)) {
        return 0;
    }
    r = loader_keyword_string(loader, walk->doc, item->json, SCHEMA_KW_ID, &found, &id);
    if (r != 0 || !found) {
        return r;
    }
    uri_split_fragment(id, &id, &fragment);
    if (fragment.n > 0) {
        if (outer.dialect != SCHEMA_DIALECT_DRAFT_07) {
            return loader_fail(loader, SCHEMA_E_MALFORMED, walk->doc, item->json, SCHEMA_KW_ID,
                               "must not have a fragment; use \"$anchor\"");
        }
        if (id.n == 0) {
            return loader_add_anchor(
                loader, (SchemaAnchor){fragment, item->json, item->resource, false}, SCHEMA_KW_ID);
        }
    }
    r = uri_resolve(loader->arena, outer.uri, id, &id);
    if (r != 0) {
        return err_pass(r);
    }
    if (is_root) {
        loader->resources[item->resource].uri = id;
        return loader_add_uri(loader, id, item->resource);
    }
    outer.uri = id;
    outer.json = item->json;
    return loader_add_resource(loader, outer, &item->resource);
}

static int walk_read_anchors(LoaderWalk *walk, const LoaderItem *item)
{
    static const SchemaKeyword keywords[] = {SCHEMA_KW_ANCHOR, SCHEMA_KW_DYNAMIC_ANCHOR};
    SchemaLoader *loader = walk->loader;

    if (loader->resources[item->resource].dialect == SCHEMA_DIALECT_DRAFT_07) {
        return 0;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(keywords); i++) {
        Span name;
        bool found;
        int r = loader_keyword_string(loader, walk->doc, item->json, keywords[i], &found, &name);

        if (r == 0 && found) {
            r = loader_add_anchor(loader,
                                  (SchemaAnchor){name, item->json, item->resource,
                                                 keywords[i] == SCHEMA_KW_DYNAMIC_ANCHOR},
                                  keywords[i]);
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

static int walk_push(LoaderWalk *walk, JsonValue v, const LoaderItem *parent)
{
    SchemaLoader *loader = walk->loader;
    JsonKind kind = json_kind(v);

    if (kind != JSON_OBJECT && kind != JSON_TRUE && kind != JSON_FALSE) {
        return loader_fail(loader, SCHEMA_E_MALFORMED, walk->doc, v.node, SCHEMA_KW_COUNT,
                           "expected a schema (an object, true or false), got %s",
                           json_kind_name(kind));
    }
    if (loader_resource_of(loader, walk->doc, v.node) != SCHEMA_NONE) {
        return 0;
    }
    if (parent->depth + 1 > LIMIT_SCHEMA_DEPTH) {
        return loader_fail(loader, SCHEMA_E_LIMIT, walk->doc, v.node, SCHEMA_KW_COUNT,
                           "subschemas are nested deeper than %d", LIMIT_SCHEMA_DEPTH);
    }
    if (++loader->n_seen > LIMIT_SCHEMA_NODES) {
        return loader_fail(loader, SCHEMA_E_LIMIT, walk->doc, v.node, SCHEMA_KW_COUNT,
                           "more than %d subschemas", LIMIT_SCHEMA_NODES);
    }
    if (!VEC_ROOM(loader->arena, walk->items, walk->n, walk->cap)) {
        return err_raise(-ENOMEM);
    }
    walk->items[walk->n++] = (LoaderItem){v.node, parent->resource, parent->depth + 1};
    return 0;
}

/* Every element or member's value is a subschema; of dependencies, those that are not name lists.
 */
static int walk_push_all(LoaderWalk *walk, JsonValue v, const LoaderItem *parent, bool skip_arrays)
{
    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        int r = 0;

        if (!skip_arrays || json_kind(it.value) != JSON_ARRAY) {
            r = walk_push(walk, it.value, parent);
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

static int walk_push_keyword(LoaderWalk *walk, SchemaKeyword keyword, JsonValue v,
                             const LoaderItem *parent)
{
    SchemaLoader *loader = walk->loader;
    JsonKind kind = json_kind(v);
    bool is_07 = loader->resources[parent->resource].dialect == SCHEMA_DIALECT_DRAFT_07;

    switch (schema_keyword_info(keyword)->shape) {
    case SCHEMA_SHAPE_VALUE:
        return 0;
    case SCHEMA_SHAPE_ITEMS:
        if (is_07 && kind == JSON_ARRAY) {
            return walk_push_all(walk, v, parent, false);
        }
        return walk_push(walk, v, parent);
    case SCHEMA_SHAPE_SCHEMA:
        return walk_push(walk, v, parent);
    case SCHEMA_SHAPE_LIST:
        if (kind != JSON_ARRAY || json_count(v) == 0) {
            return loader_fail(loader, SCHEMA_E_MALFORMED, walk->doc, parent->json, keyword,
                               "expected an array of one or more schemas");
        }
        return walk_push_all(walk, v, parent, false);
    case SCHEMA_SHAPE_MAP:
    case SCHEMA_SHAPE_DEPENDENCY:
        if (kind != JSON_OBJECT) {
            return loader_fail(loader, SCHEMA_E_MALFORMED, walk->doc, parent->json, keyword,
                               "expected an object of schemas, got %s", json_kind_name(kind));
        }
        return walk_push_all(walk, v, parent, keyword == SCHEMA_KW_DEPENDENCIES);
    }
    return 0;
}

static int walk_visit(LoaderWalk *walk, LoaderItem item)
{
    SchemaLoader *loader = walk->loader;
    JsonValue v = loader_value(loader, walk->doc, item.json);
    const SchemaResource *resource;
    uint32_t dialect;
    uint32_t vocab;
    int r;

    if (walk->doc == 0) {
        if (!VEC_ROOM(loader->arena, loader->subschemas, loader->n_subschemas,
                      loader->cap_subschemas)) {
            return err_raise(-ENOMEM);
        }
        loader->subschemas[loader->n_subschemas++] =
            (uint32_t)(item.json - loader->docs[0].json.nodes);
    }
    r = json_kind(v) == JSON_OBJECT ? walk_read_id(walk, &item) : 0;
    if (r == 0 && json_kind(v) == JSON_OBJECT) {
        r = walk_read_anchors(walk, &item);
    }
    loader->marks[walk->doc][item.json - loader->docs[walk->doc].json.nodes] = item.resource + 1;
    resource = &loader->resources[item.resource];
    dialect = resource->dialect == SCHEMA_DIALECT_2020_12 ? SCHEMA_IN_2020 : SCHEMA_IN_07;
    vocab = resource->vocab;
    for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it);) {
        Span name;
        SchemaKeyword keyword;

        r = loader_string(loader, it.key, &name);
        if (r != 0) {
            break;
        }
        keyword = schema_keyword_find(name);
        if (keyword < SCHEMA_KW_COUNT && (schema_keyword_info(keyword)->dialects & dialect) != 0 &&
            (schema_keyword_info(keyword)->vocab & vocab) != 0) {
            r = walk_push_keyword(walk, keyword, it.value, &item);
        }
    }
    return r;
}

int loader_visit(SchemaLoader *loader, uint32_t doc, const JsonNode *json, uint32_t resource)
{
    LoaderWalk walk = {.loader = loader, .doc = doc};
    LoaderItem above = {.resource = resource};
    int r = walk_push(&walk, loader_value(loader, doc, json), &above);

    while (r == 0 && walk.n > 0) {
        walk.n--;
        r = walk_visit(&walk, walk.items[walk.n]);
    }
    return r;
}

int loader_add(SchemaLoader *loader, Span uri, Span text, SchemaDialect dialect,
               uint32_t *ret_resource)
{
    SchemaDoc doc = {.uri = arena_copy(loader->arena, uri)};
    SchemaResource root = {.dialect = dialect, .vocab = loader_default_vocab(dialect)};
    Span copy = arena_copy(loader->arena, text);
    uint32_t resource = 0;
    uint32_t *marks;
    int r;

    if (doc.uri.p == NULL || copy.p == NULL ||
        !VEC_ROOM(loader->arena, loader->docs, loader->n_docs, loader->cap_docs) ||
        !VEC_ROOM(loader->arena, loader->marks, loader->n_docs, loader->cap_marks)) {
        return err_raise(-ENOMEM);
    }
    r = json_parse(&doc.json, loader->arena, copy.p, copy.n, NULL, loader->diag);
    if (r != 0) {
        return r < 0 ? err_pass(r) : SCHEMA_E_SYNTAX;
    }
    marks = arena_alloc_array(loader->arena, doc.json.n_nodes, sizeof(*marks));
    if (marks == NULL) {
        return err_raise(-ENOMEM);
    }
    root.doc = loader->n_docs;
    root.json = doc.json.nodes;
    root.uri = doc.uri;
    loader->marks[loader->n_docs] = marks;
    loader->docs[loader->n_docs++] = doc;
    r = loader_add_resource(loader, root, &resource);
    if (r == 0) {
        r = loader_visit(loader, root.doc, root.json, resource);
    }
    *ret_resource = resource;
    return r;
}
