/* Keywords of arrays. */
#include <errno.h>

#include "base/error.h"
#include "json/schema/compile.h"

/* Subschemas by position: "prefixItems", or in draft-07 "items" as an array. */
static int array_prefix(Subschema *s, SchemaArrayPlan *plan, SchemaKeyword keyword)
{
    JsonValue list = s->kw[keyword];
    uint32_t *nodes = arena_alloc_array(&s->c->schema->arena, json_count(list), sizeof(*nodes));
    int r = 0;

    if (nodes == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(list); r == 0 && json_iter_next(&it);) {
        r = compile_child(s, it.value, &nodes[plan->n_prefix++]);
    }
    plan->prefix = nodes;
    plan->prefix_keyword = (uint8_t)keyword;
    return r;
}

static int array_rest(Subschema *s, SchemaArrayPlan *plan, SchemaKeyword keyword)
{
    plan->items_keyword = (uint8_t)keyword;
    return subschema_has(s, keyword) ? compile_child(s, s->kw[keyword], &plan->items) : 0;
}

static int array_children(Subschema *s, SchemaArrayPlan *plan)
{
    JsonValue items = s->kw[SCHEMA_KW_ITEMS];
    int r;

    if (items.node != NULL && json_kind(items) == JSON_ARRAY) {
        r = array_prefix(s, plan, SCHEMA_KW_ITEMS);
        return r != 0 ? r : array_rest(s, plan, SCHEMA_KW_ADDITIONAL_ITEMS);
    }
    if (subschema_has(s, SCHEMA_KW_PREFIX_ITEMS)) {
        r = array_prefix(s, plan, SCHEMA_KW_PREFIX_ITEMS);
        if (r != 0) {
            return r;
        }
    }
    return array_rest(s, plan, SCHEMA_KW_ITEMS);
}

static int array_contains(Subschema *s)
{
    uint32_t node;
    uint32_t at_least;
    uint32_t at_most;
    int r = compile_count(s, SCHEMA_KW_MIN_CONTAINS, 1, &at_least);

    if (r == 0) {
        r = compile_count(s, SCHEMA_KW_MAX_CONTAINS, UINT32_MAX, &at_most);
    }
    if (r != 0 || !subschema_has(s, SCHEMA_KW_CONTAINS)) {
        return r;
    }
    r = compile_child(s, s->kw[SCHEMA_KW_CONTAINS], &node);
    if (r == 0) {
        compile_emit(s, COMPILE_KINDS_ARRAY, SCHEMA_OP_CONTAINS, SCHEMA_KW_CONTAINS, node, at_least,
                     at_most);
    }
    return r;
}

static int array_unique(Subschema *s)
{
    JsonValue v = s->kw[SCHEMA_KW_UNIQUE_ITEMS];
    bool flag;

    if (v.node == NULL) {
        return 0;
    }
    if (!json_bool(v, &flag)) {
        return compile_malformed(s, SCHEMA_KW_UNIQUE_ITEMS, "expected true or false, got %s",
                                 json_kind_name(json_kind(v)));
    }
    if (flag) {
        compile_emit(s, COMPILE_KINDS_ARRAY, SCHEMA_OP_UNIQUE, SCHEMA_KW_UNIQUE_ITEMS, 0, 0, 0);
    }
    return 0;
}

int compile_array(Subschema *s)
{
    Compiler *c = s->c;
    Schema *schema = c->schema;
    SchemaArrayPlan plan = {.items = SCHEMA_NONE};
    int r = compile_count(s, SCHEMA_KW_MIN_ITEMS, 0, &plan.min_items);

    if (r == 0) {
        r = compile_count(s, SCHEMA_KW_MAX_ITEMS, UINT32_MAX, &plan.max_items);
    }
    if (r == 0) {
        r = array_children(s, &plan);
    }
    if (r != 0) {
        return r;
    }
    if (plan.n_prefix > 0 || plan.items != SCHEMA_NONE || plan.min_items > 0 ||
        plan.max_items < UINT32_MAX) {
        if (!VEC_ROOM(&schema->arena, schema->arrays, c->n_arrays, c->cap_arrays)) {
            return err_raise(-ENOMEM);
        }
        schema->arrays[c->n_arrays] = plan;
        compile_emit(s, COMPILE_KINDS_ARRAY, SCHEMA_OP_ARRAY, SCHEMA_KW_ITEMS, c->n_arrays++, 0, 0);
    }
    r = array_contains(s);
    return r != 0 ? r : array_unique(s);
}
