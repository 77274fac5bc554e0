#include "dialect/mcp/param_headers.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "frame/http1_scan.h"

/* An object of the schema whose properties are to be looked at, and what stands for it in the
 * arguments. */
typedef struct Place {
    JsonValue properties;
    JsonValue arguments; /* node NULL if nothing stands for it */
} Place;

/* Places are looked at in the order in which they were found, so depth costs no stack. */
typedef struct Walk {
    Arena *arena;
    Place *places;
    size_t n_places;
    size_t cap_places;
    McpParamHeader *headers;
    size_t n_headers;
    size_t cap_headers;
} Walk;

static const Span prefix = SPAN_INIT("Mcp-Param-");

/* Room for one more of n; NULL if there is no memory. */
static void *grow(Arena *arena, void *array, size_t n, size_t *cap, size_t size)
{
    size_t new_cap = *cap == 0 ? 8 : *cap * 2;
    void *grown;

    if (n < *cap) {
        return array;
    }
    grown = arena_grow(arena, array, *cap * size, new_cap * size);
    if (grown != NULL) {
        *cap = new_cap;
    }
    return grown;
}

static int add_place(Walk *walk, JsonValue properties, JsonValue arguments)
{
    Place *places =
        grow(walk->arena, walk->places, walk->n_places, &walk->cap_places, sizeof(*walk->places));

    if (places == NULL) {
        return err_raise(-ENOMEM);
    }
    walk->places = places;
    walk->places[walk->n_places++] = (Place){properties, arguments};
    return 0;
}

static int add_header(Walk *walk, Span annotation, JsonValue value)
{
    McpParamHeader *headers = grow(walk->arena, walk->headers, walk->n_headers, &walk->cap_headers,
                                   sizeof(*walk->headers));
    char *name = NULL;

    if (headers != NULL) {
        walk->headers = headers;
        name = arena_alloc(walk->arena, prefix.n + annotation.n);
    }
    if (name == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(name, prefix.p, prefix.n);
    memcpy(name + prefix.n, annotation.p, annotation.n);
    walk->headers[walk->n_headers++] =
        (McpParamHeader){span_make(name, prefix.n + annotation.n), value};
    return 0;
}

static bool is_primitive(JsonValue type)
{
    return json_string_equals(type, SPAN("string")) || json_string_equals(type, SPAN("integer")) ||
           json_string_equals(type, SPAN("boolean"));
}

/* One of the three types; that it may be null as well takes nothing away. */
static bool has_type(JsonValue property)
{
    size_t n_types = 0;
    JsonValue type;

    if (!json_get(property, SPAN("type"), &type)) {
        return false;
    }
    if (json_kind(type) != JSON_ARRAY) {
        return is_primitive(type);
    }
    for (JsonIter it = json_iter(type); json_iter_next(&it);) {
        if (is_primitive(it.value)) {
            n_types++;
        } else if (!json_string_equals(it.value, SPAN("null"))) {
            return false;
        }
    }
    return n_types == 1;
}

/* What stands for a property in the arguments. */
static int find_argument(const Walk *walk, JsonValue arguments, JsonValue key, JsonValue *ret)
{
    Span name;
    int r;

    *ret = JSON_VALUE_NULL;
    if (arguments.node == NULL) {
        return 0;
    }
    r = json_string(key, walk->arena, &name);
    if (r != 0) {
        return err_fold(r);
    }
    (void)json_get(arguments, name, ret);
    return 0;
}

static int visit_property(Walk *walk, JsonValue key, JsonValue property, JsonValue arguments)
{
    JsonValue annotation = JSON_VALUE_NULL;
    JsonValue properties = JSON_VALUE_NULL;
    JsonValue value;
    Span text;
    int r;

    (void)json_get(property, SPAN("x-mcp-header"), &annotation);
    (void)json_get(property, SPAN("properties"), &properties);
    if (annotation.node == NULL && properties.node == NULL) {
        return 0;
    }
    r = find_argument(walk, arguments, key, &value);
    if (r == 0 && properties.node != NULL) {
        r = add_place(walk, properties, value);
    }
    if (r != 0 || annotation.node == NULL || json_kind(annotation) != JSON_STRING ||
        !has_type(property)) {
        return err_pass(r);
    }
    r = json_string(annotation, walk->arena, &text);
    if (r == 0 && http1_scan_is_token(text)) {
        r = add_header(walk, text, value);
    }
    return err_fold(r);
}

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static int compare_names(const void *a, const void *b)
{
    Span x = ((const McpParamHeader *)a)->name;
    Span y = ((const McpParamHeader *)b)->name;
    size_t n = x.n < y.n ? x.n : y.n;

    for (size_t i = 0; i < n; i++) {
        if (lower(x.p[i]) != lower(y.p[i])) {
            return lower(x.p[i]) < lower(y.p[i]) ? -1 : 1;
        }
    }
    return x.n < y.n ? -1 : x.n > y.n;
}

/* Sorts, and drops every one whose name another one has, too. */
static size_t drop_repeated(McpParamHeader *headers, size_t n)
{
    size_t n_kept = 0;
    size_t end;

    if (n > 0) {
        qsort(headers, n, sizeof(*headers), compare_names);
    }
    for (size_t i = 0; i < n; i = end) {
        end = i + 1;
        while (end < n && text_equals_nocase(headers[i].name, headers[end].name)) {
            end++;
        }
        if (end == i + 1) {
            headers[n_kept++] = headers[i];
        }
    }
    return n_kept;
}

int mcp_param_headers(JsonValue schema, JsonValue arguments, Arena *arena,
                      McpParamHeader **ret_headers, size_t *ret_n)
{
    Walk walk = {.arena = arena};
    JsonValue properties;
    int r = 0;

    if (json_get(schema, SPAN("properties"), &properties)) {
        r = add_place(&walk, properties, arguments);
    }
    for (size_t i = 0; r == 0 && i < walk.n_places; i++) {
        Place place = walk.places[i];

        if (json_kind(place.properties) != JSON_OBJECT) {
            continue;
        }
        for (JsonIter it = json_iter(place.properties); r == 0 && json_iter_next(&it);) {
            r = visit_property(&walk, it.key, it.value, place.arguments);
        }
    }
    if (r != 0) {
        return err_pass(r);
    }
    *ret_headers = walk.headers;
    *ret_n = drop_repeated(walk.headers, walk.n_headers);
    return 0;
}
