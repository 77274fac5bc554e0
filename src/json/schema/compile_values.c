/* Keywords that look at one value alone: type, enum, const, and those of numbers and strings. */
#include <errno.h>

#include "base/error.h"
#include "json/schema/compile.h"

typedef struct TypeName {
    Span name;
    uint32_t bits;
} TypeName;

static const TypeName type_names[] = {
    {{"null", 4}, COMPILE_KIND(JSON_NULL)},
    {{"boolean", 7}, COMPILE_KIND(JSON_TRUE) | COMPILE_KIND(JSON_FALSE)},
    {{"number", 6}, COMPILE_KIND(JSON_NUMBER)},
    {{"string", 6}, COMPILE_KIND(JSON_STRING)},
    {{"array", 5}, COMPILE_KIND(JSON_ARRAY)},
    {{"object", 6}, COMPILE_KIND(JSON_OBJECT)},
    {{"integer", 7}, SCHEMA_TYPE_INTEGER},
};

static int values_add_type(Subschema *s, JsonValue v, uint32_t *bits)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(type_names); i++) {
        if (json_string_equals(v, type_names[i].name)) {
            *bits |= type_names[i].bits;
            return 0;
        }
    }
    return compile_malformed(
        s, SCHEMA_KW_TYPE,
        "%.*s is no type; expected null, boolean, integer, number, string, array or object",
        (int)json_span(v).n, json_span(v).p);
}

static int values_type(Subschema *s)
{
    JsonValue v = s->kw[SCHEMA_KW_TYPE];
    uint32_t bits = 0;
    int r = 0;

    if (v.node == NULL) {
        return 0;
    }
    if (json_kind(v) == JSON_ARRAY && json_count(v) > 0) {
        for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it);) {
            r = values_add_type(s, it.value, &bits);
        }
    } else {
        r = values_add_type(s, v, &bits);
    }
    if (r != 0) {
        return r;
    }
    s->declared = bits;
    s->types = bits & SCHEMA_ALL_KINDS;
    if ((bits & SCHEMA_TYPE_INTEGER) != 0 && (bits & COMPILE_KINDS_NUMBER) == 0) {
        s->types |= COMPILE_KINDS_NUMBER;
        compile_emit(s, COMPILE_KINDS_NUMBER, SCHEMA_OP_WHOLE, SCHEMA_KW_TYPE, 0, 0, 0);
    }
    return 0;
}

/* The strings among the values become a table; escaped ones are decoded into it. */
static int values_enum_strings(Subschema *s, SchemaKeyword keyword, const JsonValue *values,
                               uint32_t n)
{
    Compiler *c = s->c;
    Schema *schema = c->schema;
    Span *strings = arena_alloc_array(&schema->arena, n, sizeof(*strings));
    int r = 0;

    if (strings == NULL || !VEC_ROOM(&schema->arena, schema->tables, c->n_tables, c->cap_tables)) {
        return err_raise(-ENOMEM);
    }
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        r = loader_string_exact(&c->loader, values[i], &strings[i]);
    }
    if (r == 0) {
        r = strtable_build(&schema->tables[c->n_tables], &schema->arena, strings, n);
    }
    if (r != 0) {
        return err_pass(r);
    }
    compile_emit(s, COMPILE_KINDS_STRING, SCHEMA_OP_ENUM_STRINGS, keyword, c->n_tables++, 0, 0);
    return 0;
}

/* Emits one op per kind, over the values of that kind only; a kind without any fails always. */
static int values_enum(Subschema *s, SchemaKeyword keyword, const JsonValue *all, uint32_t n)
{
    Compiler *c = s->c;
    Schema *schema = c->schema;

    for (uint32_t kind = 0; kind < SCHEMA_N_KINDS; kind++) {
        uint32_t first = c->n_values;

        for (uint32_t i = 0; i < n; i++) {
            if (json_kind(all[i]) == (JsonKind)kind) {
                if (!VEC_ROOM(&schema->arena, schema->values, c->n_values, c->cap_values)) {
                    return err_raise(-ENOMEM);
                }
                schema->values[c->n_values++] = all[i];
            }
        }
        if (kind == JSON_STRING && c->n_values > first) {
            int r = values_enum_strings(s, keyword, schema->values + first, c->n_values - first);

            if (r != 0) {
                return r;
            }
        } else {
            compile_emit(s, COMPILE_KIND(kind), SCHEMA_OP_ENUM_VALUES, keyword, first,
                         c->n_values - first, 0);
        }
    }
    return 0;
}

static int values_choices(Subschema *s)
{
    JsonValue list = s->kw[SCHEMA_KW_ENUM];
    JsonValue *all;
    uint32_t n = 0;
    int r = 0;

    if (subschema_has(s, SCHEMA_KW_CONST)) {
        r = values_enum(s, SCHEMA_KW_CONST, &s->kw[SCHEMA_KW_CONST], 1);
    }
    if (r != 0 || list.node == NULL) {
        return r;
    }
    if (json_kind(list) != JSON_ARRAY) {
        return compile_malformed(s, SCHEMA_KW_ENUM, "expected an array, got %s",
                                 json_kind_name(json_kind(list)));
    }
    all = arena_alloc_array(&s->c->schema->arena, json_count(list), sizeof(*all));
    if (all == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(list); json_iter_next(&it);) {
        all[n++] = it.value;
    }
    return values_enum(s, SCHEMA_KW_ENUM, all, n);
}

/* Whole numbers that leave room for one more digit's worth of sums. */
#define VALUES_SMALL ((int64_t)1 << 62)

static int values_bound(Subschema *s, SchemaKeyword keyword, SchemaOpCode code)
{
    Compiler *c = s->c;
    Schema *schema = c->schema;
    SchemaBound bound = {.value = s->kw[keyword]};

    if (bound.value.node == NULL) {
        return 0;
    }
    if (json_kind(bound.value) != JSON_NUMBER) {
        return compile_malformed(s, keyword, "expected a number, got %s",
                                 json_kind_name(json_kind(bound.value)));
    }
    bound.is_small = json_int64(bound.value, &bound.whole) == 0 && bound.whole > -VALUES_SMALL &&
                     bound.whole < VALUES_SMALL;
    if (code == SCHEMA_OP_MULTIPLE) {
        Span text = json_span(bound.value);

        if (text.p[0] == '-' || (bound.is_small && bound.whole == 0)) {
            return compile_malformed(s, keyword, "must be greater than 0, got %.*s", (int)text.n,
                                     text.p);
        }
    }
    if (!VEC_ROOM(&schema->arena, schema->bounds, c->n_bounds, c->cap_bounds)) {
        return err_raise(-ENOMEM);
    }
    schema->bounds[c->n_bounds] = bound;
    compile_emit(s, COMPILE_KINDS_NUMBER, code, keyword, c->n_bounds++, 0, 0);
    return 0;
}

/* Narrows a range by one bound; false if the bound is not a small whole number. */
static bool values_narrow(const Subschema *s, SchemaKeyword keyword, SchemaRange *range,
                          uint32_t *n)
{
    JsonValue v = s->kw[keyword];
    int64_t bound;

    if (v.node == NULL) {
        return true;
    }
    if (json_kind(v) != JSON_NUMBER || json_int64(v, &bound) != 0 || bound <= -VALUES_SMALL ||
        bound >= VALUES_SMALL) {
        return false;
    }
    (*n)++;
    if (keyword == SCHEMA_KW_MINIMUM || keyword == SCHEMA_KW_EXCLUSIVE_MINIMUM) {
        bound += keyword == SCHEMA_KW_EXCLUSIVE_MINIMUM;
        range->least = bound > range->least ? bound : range->least;
    } else {
        bound -= keyword == SCHEMA_KW_EXCLUSIVE_MAXIMUM;
        range->most = bound < range->most ? bound : range->most;
    }
    return true;
}

/* A shortcut before the bounds themselves, which stay: they decide near the borders, and word the
 * error. */
static int values_range(Subschema *s)
{
    Compiler *c = s->c;
    Schema *schema = c->schema;
    SchemaRange range = {-VALUES_SMALL, VALUES_SMALL};
    uint32_t n = 0;

    if (!values_narrow(s, SCHEMA_KW_MINIMUM, &range, &n) ||
        !values_narrow(s, SCHEMA_KW_MAXIMUM, &range, &n) ||
        !values_narrow(s, SCHEMA_KW_EXCLUSIVE_MINIMUM, &range, &n) ||
        !values_narrow(s, SCHEMA_KW_EXCLUSIVE_MAXIMUM, &range, &n) || n == 0) {
        return 0;
    }
    if (!VEC_ROOM(&schema->arena, schema->ranges, c->n_ranges, c->cap_ranges)) {
        return err_raise(-ENOMEM);
    }
    schema->ranges[c->n_ranges] = range;
    compile_emit(s, COMPILE_KINDS_NUMBER, SCHEMA_OP_RANGE, SCHEMA_KW_MINIMUM, c->n_ranges++, n, 0);
    return 0;
}

static int values_numbers(Subschema *s)
{
    static const struct {
        SchemaKeyword keyword;
        SchemaOpCode code;
    } bounds[] = {
        {SCHEMA_KW_MINIMUM, SCHEMA_OP_MINIMUM},
        {SCHEMA_KW_MAXIMUM, SCHEMA_OP_MAXIMUM},
        {SCHEMA_KW_EXCLUSIVE_MINIMUM, SCHEMA_OP_EXCLUSIVE_MINIMUM},
        {SCHEMA_KW_EXCLUSIVE_MAXIMUM, SCHEMA_OP_EXCLUSIVE_MAXIMUM},
        {SCHEMA_KW_MULTIPLE_OF, SCHEMA_OP_MULTIPLE},
    };
    int r = values_range(s);

    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(bounds); i++) {
        r = values_bound(s, bounds[i].keyword, bounds[i].code);
    }
    return r;
}

static int values_format(Subschema *s)
{
    uint32_t vocab = s->c->loader.resources[s->resource].vocab;
    JsonValue v = s->kw[SCHEMA_KW_FORMAT];
    SchemaFormat format;
    Span name;
    int r;

    if (v.node == NULL) {
        return 0;
    }
    if (json_kind(v) != JSON_STRING) {
        return compile_malformed(s, SCHEMA_KW_FORMAT, "expected a string, got %s",
                                 json_kind_name(json_kind(v)));
    }
    if (!s->c->options->assert_formats && (vocab & SCHEMA_VOCAB_ASSERT) == 0) {
        return 0;
    }
    r = loader_string(&s->c->loader, v, &name);
    if (r != 0) {
        return err_pass(r);
    }
    format = schema_format_find(name);
    if (format < SCHEMA_FORMAT_COUNT) {
        compile_emit(s, COMPILE_KINDS_STRING, SCHEMA_OP_FORMAT, SCHEMA_KW_FORMAT, format, 0, 0);
    }
    return 0;
}

/* A code point is at most twelve bytes of a JSON text (two \u escapes). */
#define VALUES_MAX_POINT_BYTES 12

static int values_length(Subschema *s)
{
    uint64_t surely;
    uint32_t least;
    uint32_t most;
    int r = compile_count(s, SCHEMA_KW_MIN_LENGTH, 0, &least);

    if (r == 0) {
        r = compile_count(s, SCHEMA_KW_MAX_LENGTH, UINT32_MAX, &most);
    }
    if (r != 0 || (least == 0 && most == UINT32_MAX)) {
        return r;
    }
    surely = least == 0 ? 0 : (uint64_t)(least - 1) * VALUES_MAX_POINT_BYTES + 1;
    compile_emit(s, COMPILE_KINDS_STRING, SCHEMA_OP_LENGTH, SCHEMA_KW_MIN_LENGTH, least, most,
                 surely < UINT32_MAX ? (uint32_t)surely : UINT32_MAX);
    return 0;
}

static int values_strings(Subschema *s)
{
    uint32_t regex;
    int r = values_length(s);

    if (r == 0 && subschema_has(s, SCHEMA_KW_PATTERN)) {
        r = compile_regex(s, SCHEMA_KW_PATTERN, s->kw[SCHEMA_KW_PATTERN], &regex);
        if (r == 0) {
            compile_emit(s, COMPILE_KINDS_STRING, SCHEMA_OP_PATTERN, SCHEMA_KW_PATTERN, regex, 0,
                         0);
        }
    }
    return r != 0 ? r : values_format(s);
}

int compile_values(Subschema *s)
{
    int r = values_type(s);

    if (r == 0) {
        r = values_choices(s);
    }
    if (r == 0) {
        r = values_numbers(s);
    }
    return r != 0 ? r : values_strings(s);
}
