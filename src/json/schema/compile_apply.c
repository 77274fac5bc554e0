/* References, combinations of subschemas, and what was left unevaluated. */
#include <errno.h>

#include "base/error.h"
#include "json/schema/compile.h"

/* A name that some "$dynamicRef" needs at run time. */
static int apply_dynamic_name(Compiler *c, Span name, uint32_t *ret)
{
    bool is_new;
    uint32_t *index = namemap_put(&c->dynamic_names, &c->schema->arena, 0, name, &is_new);

    if (index == NULL) {
        return err_raise(-ENOMEM);
    }
    if (is_new) {
        *index = c->dynamic_names.n - 1;
    }
    *ret = *index;
    return 0;
}

static int apply_reference(Subschema *s, SchemaKeyword keyword)
{
    Compiler *c = s->c;
    JsonValue v = s->kw[keyword];
    SchemaTarget target;
    uint32_t name = 0;
    uint32_t node;
    Span ref;
    int r;

    if (v.node == NULL) {
        return 0;
    }
    if (json_kind(v) != JSON_STRING) {
        return compile_malformed(s, keyword, "expected a string, got %s",
                                 json_kind_name(json_kind(v)));
    }
    r = loader_string(&c->loader, v, &ref);
    if (r == 0) {
        r = loader_resolve(&c->loader, s->resource, s->json, keyword, ref, &target);
    }
    if (r == 0) {
        r = compile_intern(c, target.doc, target.json, &node);
    }
    if (r != 0) {
        return r;
    }
    if (keyword == SCHEMA_KW_DYNAMIC_REF && target.dynamic_name.p != NULL) {
        r = apply_dynamic_name(c, target.dynamic_name, &name);
        if (r == 0) {
            compile_emit(s, SCHEMA_ALL_KINDS, SCHEMA_OP_DYNAMIC_REF, keyword, node, name, 0);
        }
        return r;
    }
    compile_emit(s, SCHEMA_ALL_KINDS, SCHEMA_OP_REF, keyword, node, 0, 0);
    return compile_edge(s, node);
}

static int apply_list(Subschema *s, SchemaKeyword keyword, SchemaOpCode code)
{
    Compiler *c = s->c;
    Schema *schema = c->schema;
    JsonValue v = s->kw[keyword];
    uint32_t first = c->n_lists;
    int r = 0;

    if (v.node == NULL) {
        return 0;
    }
    for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it);) {
        uint32_t node;

        r = compile_child(s, it.value, &node);
        if (r == 0) {
            r = compile_edge(s, node);
        }
        if (r == 0 && !VEC_ROOM(&schema->arena, schema->lists, c->n_lists, c->cap_lists)) {
            r = err_raise(-ENOMEM);
        }
        if (r == 0) {
            schema->lists[c->n_lists++] = node;
        }
    }
    compile_emit(s, SCHEMA_ALL_KINDS, code, keyword, first, c->n_lists - first, 0);
    return r;
}

static int apply_not(Subschema *s)
{
    uint32_t node;
    int r;

    if (!subschema_has(s, SCHEMA_KW_NOT)) {
        return 0;
    }
    r = compile_child(s, s->kw[SCHEMA_KW_NOT], &node);
    if (r != 0) {
        return r;
    }
    compile_emit(s, SCHEMA_ALL_KINDS, SCHEMA_OP_NOT, SCHEMA_KW_NOT, node, 0, 0);
    return compile_edge(s, node);
}

static int apply_if(Subschema *s)
{
    uint32_t nodes[3] = {SCHEMA_NONE, SCHEMA_NONE, SCHEMA_NONE};
    static const SchemaKeyword keywords[3] = {SCHEMA_KW_IF, SCHEMA_KW_THEN, SCHEMA_KW_ELSE};

    if (!subschema_has(s, SCHEMA_KW_IF)) {
        return 0;
    }
    for (size_t i = 0; i < 3; i++) {
        int r = subschema_has(s, keywords[i]) ? compile_child(s, s->kw[keywords[i]], &nodes[i]) : 0;

        if (r != 0) {
            return r;
        }
    }
    /* Even without "then" and "else", "if" marks what it looks at as evaluated. */
    compile_emit(s, SCHEMA_ALL_KINDS, SCHEMA_OP_IF, SCHEMA_KW_IF, nodes[0], nodes[1], nodes[2]);
    return compile_edge(s, nodes[0]);
}

int compile_applicators(Subschema *s)
{
    int r = apply_reference(s, SCHEMA_KW_REF);

    if (r == 0) {
        r = apply_reference(s, SCHEMA_KW_DYNAMIC_REF);
    }
    if (r == 0) {
        r = apply_list(s, SCHEMA_KW_ALL_OF, SCHEMA_OP_ALL);
    }
    if (r == 0) {
        r = apply_list(s, SCHEMA_KW_ANY_OF, SCHEMA_OP_ANY);
    }
    if (r == 0) {
        r = apply_list(s, SCHEMA_KW_ONE_OF, SCHEMA_OP_ONE);
    }
    if (r == 0) {
        r = apply_not(s);
    }
    return r != 0 ? r : apply_if(s);
}

int compile_unevaluated(Subschema *s)
{
    static const struct {
        SchemaKeyword keyword;
        SchemaOpCode code;
        uint32_t kinds;
    } both[] = {
        {SCHEMA_KW_UNEVALUATED_ITEMS, SCHEMA_OP_UNEVALUATED_ITEMS, COMPILE_KINDS_ARRAY},
        {SCHEMA_KW_UNEVALUATED_PROPERTIES, SCHEMA_OP_UNEVALUATED_PROPERTIES, COMPILE_KINDS_OBJECT},
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(both); i++) {
        uint32_t node;
        int r;

        if (!subschema_has(s, both[i].keyword)) {
            continue;
        }
        r = compile_child(s, s->kw[both[i].keyword], &node);
        if (r != 0) {
            return r;
        }
        compile_emit(s, both[i].kinds, both[i].code, both[i].keyword, node, 0, 0);
        s->flags |= SCHEMA_NODE_TRACKS;
    }
    return 0;
}

int compile_dynamic_table(Compiler *c, bool *ret_grew)
{
    Schema *schema = c->schema;
    uint32_t n_before = schema->n_nodes;
    uint32_t n_names = c->dynamic_names.n;
    size_t n;

    *ret_grew = false;
    if (n_names == 0) {
        return 0;
    }
    n = (size_t)c->loader.n_resources * n_names;
    schema->dynamic = arena_alloc_array(&schema->arena, n, sizeof(*schema->dynamic));
    if (schema->dynamic == NULL) {
        return err_raise(-ENOMEM);
    }
    memset(schema->dynamic, 0xFF, n * sizeof(*schema->dynamic));
    schema->n_dynamic_names = n_names;
    for (uint32_t i = 0; i < c->loader.n_anchors; i++) {
        SchemaAnchor anchor = c->loader.anchors[i];
        uint32_t name;
        int r;

        if (!anchor.is_dynamic || !namemap_find(&c->dynamic_names, 0, anchor.name, &name)) {
            continue;
        }
        r = compile_intern(c, c->loader.resources[anchor.resource].doc, anchor.json,
                           &schema->dynamic[(size_t)anchor.resource * n_names + name]);
        if (r != 0) {
            return r;
        }
    }
    *ret_grew = schema->n_nodes > n_before;
    return 0;
}
