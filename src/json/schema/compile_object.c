/* Keywords of objects. All names that any of them mentions go into one table, so that one look-up
 * per member serves "properties", "required" and the dependencies alike. */
#include <errno.h>

#include "base/error.h"
#include "json/schema/compile.h"

typedef struct ObjectNames {
    Arena *arena;
    Span *names;
    uint32_t *children;
    NameMap indexes;
    uint32_t n, cap_names, cap_children;
} ObjectNames;

/* The index of the (string) value's text, added if it is new. */
static int names_index(Subschema *s, ObjectNames *names, JsonValue v, uint32_t *ret)
{
    bool is_new;
    uint32_t *index;
    Span name;
    int r = loader_string_exact(&s->c->loader, v, &name);

    if (r != 0) {
        return err_pass(r);
    }
    if (!VEC_ROOM(names->arena, names->names, names->n, names->cap_names) ||
        !VEC_ROOM(names->arena, names->children, names->n, names->cap_children)) {
        return err_raise(-ENOMEM);
    }
    index = namemap_put(&names->indexes, names->arena, 0, name, &is_new);
    if (index == NULL) {
        return err_raise(-ENOMEM);
    }
    if (is_new) {
        names->names[names->n] = name;
        names->children[names->n] = SCHEMA_NONE;
        *index = names->n++;
    }
    *ret = *index;
    return 0;
}

int compile_check_names(Subschema *s, SchemaKeyword keyword, JsonValue v)
{
    if (json_kind(v) != JSON_ARRAY) {
        return compile_malformed(s, keyword, "expected an array of names, got %s",
                                 json_kind_name(json_kind(v)));
    }
    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        if (json_kind(it.value) != JSON_STRING) {
            return compile_malformed(s, keyword, "expected names (strings), got %s",
                                     json_kind_name(json_kind(it.value)));
        }
    }
    return 0;
}

static int object_properties(Subschema *s, ObjectNames *names)
{
    JsonValue v = s->kw[SCHEMA_KW_PROPERTIES];

    if (v.node == NULL) {
        return 0;
    }
    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        uint32_t index = 0;
        int r = names_index(s, names, it.key, &index);

        if (r == 0) {
            r = compile_child(s, it.value, &names->children[index]);
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* Indexes of a list of names, in the arena. */
static int object_name_list(Subschema *s, ObjectNames *names, SchemaKeyword keyword, JsonValue v,
                            const uint32_t **ret, uint32_t *ret_n)
{
    uint32_t *list;
    uint32_t n = 0;
    int r = compile_check_names(s, keyword, v);

    if (r != 0) {
        return r;
    }
    list = arena_alloc_array(names->arena, json_count(v), sizeof(*list));
    if (list == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it);) {
        r = names_index(s, names, it.value, &list[n++]);
    }
    *ret = list;
    *ret_n = n;
    return r;
}

static int object_dependent(Subschema *s, ObjectNames *names, SchemaKeyword keyword, JsonIter *it,
                            SchemaDependent *ret)
{
    SchemaDependent rule = {.node = SCHEMA_NONE, .keyword = (uint8_t)keyword};
    bool is_list = keyword == SCHEMA_KW_DEPENDENT_REQUIRED ||
                   (keyword == SCHEMA_KW_DEPENDENCIES && json_kind(it->value) == JSON_ARRAY);
    int r = names_index(s, names, it->key, &rule.trigger);

    if (r == 0 && is_list) {
        r = object_name_list(s, names, keyword, it->value, &rule.required, &rule.n_required);
    } else if (r == 0) {
        r = compile_child(s, it->value, &rule.node);
        /* The branch is taken only if a member is there, but then for the same value. */
    }
    *ret = rule;
    return r;
}

static int object_dependents(Subschema *s, ObjectNames *names, SchemaObjectPlan *plan)
{
    static const SchemaKeyword keywords[] = {SCHEMA_KW_DEPENDENT_REQUIRED,
                                             SCHEMA_KW_DEPENDENT_SCHEMAS, SCHEMA_KW_DEPENDENCIES};
    SchemaDependent *rules;
    uint32_t n = 0;
    int r = 0;

    for (size_t i = 0; i < TW_ARRAY_SIZE(keywords); i++) {
        JsonValue v = s->kw[keywords[i]];

        if (v.node != NULL && json_kind(v) != JSON_OBJECT) {
            return compile_malformed(s, keywords[i], "expected an object, got %s",
                                     json_kind_name(json_kind(v)));
        }
        n += v.node != NULL ? json_count(v) : 0;
    }
    if (n == 0) {
        return 0;
    }
    rules = arena_alloc_array(names->arena, n, sizeof(*rules));
    if (rules == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(keywords); i++) {
        if (s->kw[keywords[i]].node == NULL) {
            continue;
        }
        for (JsonIter it = json_iter(s->kw[keywords[i]]); r == 0 && json_iter_next(&it);) {
            r = object_dependent(s, names, keywords[i], &it, &rules[plan->n_dependents++]);
        }
    }
    plan->dependents = rules;
    return r;
}

static int object_patterns(Subschema *s, SchemaObjectPlan *plan)
{
    JsonValue v = s->kw[SCHEMA_KW_PATTERN_PROPERTIES];
    SchemaPatternRule *rules;
    int r = 0;

    if (v.node == NULL || json_count(v) == 0) {
        return 0;
    }
    rules = arena_alloc_array(&s->c->schema->arena, json_count(v), sizeof(*rules));
    if (rules == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it);) {
        SchemaPatternRule *rule = &rules[plan->n_patterns++];

        r = compile_regex(s, SCHEMA_KW_PATTERN_PROPERTIES, it.key, &rule->regex);
        if (r == 0) {
            r = compile_child(s, it.value, &rule->node);
        }
    }
    plan->patterns = rules;
    return r;
}

/* "required" as a bit set over the names, once all names are known. */
static int object_finish(ObjectNames *names, SchemaObjectPlan *plan, const uint32_t *required,
                         uint32_t n_required)
{
    uint64_t *words;

    plan->names = names->names;
    plan->children = names->children;
    plan->n_names = names->n;
    plan->n_words = (names->n + 63) / 64;
    words = arena_alloc_array(names->arena, plan->n_words + 1, sizeof(*words));
    if (words == NULL) {
        return err_raise(-ENOMEM);
    }
    for (uint32_t i = 0; i < n_required; i++) {
        words[required[i] / 64] |= (uint64_t)1 << (required[i] % 64);
    }
    plan->required = words;
    plan->walks_members = names->n > 0 || plan->n_patterns > 0 || plan->additional != SCHEMA_NONE ||
                          plan->property_names != SCHEMA_NONE;
    plan->is_plain =
        plan->n_patterns == 0 && plan->property_names == SCHEMA_NONE && plan->n_words <= 1;
    return strtable_build(&plan->table, names->arena, names->names, names->n);
}

/* The keywords that hold one subschema, and the counts. */
static int object_simple(Subschema *s, SchemaObjectPlan *plan)
{
    int r = compile_count(s, SCHEMA_KW_MIN_PROPERTIES, 0, &plan->min_properties);

    if (r == 0) {
        r = compile_count(s, SCHEMA_KW_MAX_PROPERTIES, UINT32_MAX, &plan->max_properties);
    }
    if (r == 0 && subschema_has(s, SCHEMA_KW_ADDITIONAL_PROPERTIES)) {
        r = compile_child(s, s->kw[SCHEMA_KW_ADDITIONAL_PROPERTIES], &plan->additional);
    }
    if (r == 0 && subschema_has(s, SCHEMA_KW_PROPERTY_NAMES)) {
        r = compile_child(s, s->kw[SCHEMA_KW_PROPERTY_NAMES], &plan->property_names);
    }
    return r;
}

int compile_object(Subschema *s)
{
    Compiler *c = s->c;
    Schema *schema = c->schema;
    ObjectNames names = {.arena = &schema->arena};
    SchemaObjectPlan plan = {.additional = SCHEMA_NONE, .property_names = SCHEMA_NONE};
    const uint32_t *required = NULL;
    uint32_t n_required = 0;
    int r = object_simple(s, &plan);

    if (r == 0) {
        r = object_properties(s, &names);
    }
    if (r == 0 && subschema_has(s, SCHEMA_KW_REQUIRED)) {
        r = object_name_list(s, &names, SCHEMA_KW_REQUIRED, s->kw[SCHEMA_KW_REQUIRED], &required,
                             &n_required);
    }
    if (r == 0) {
        r = object_dependents(s, &names, &plan);
    }
    if (r == 0) {
        r = object_patterns(s, &plan);
    }
    if (r == 0) {
        r = object_finish(&names, &plan, required, n_required);
    }
    if (r != 0) {
        return r;
    }
    if (!plan.walks_members && plan.min_properties == 0 && plan.max_properties == UINT32_MAX) {
        return 0;
    }
    if (!VEC_ROOM(&schema->arena, schema->objects, c->n_objects, c->cap_objects)) {
        return err_raise(-ENOMEM);
    }
    schema->objects[c->n_objects] = plan;
    compile_emit(s, COMPILE_KINDS_OBJECT, SCHEMA_OP_OBJECT, SCHEMA_KW_PROPERTIES, c->n_objects++, 0,
                 0);
    return 0;
}
