/* Whether all annotations of a schema count, as clients must ask before they use a tool. */
#include "dialect/mcp/param_headers.h"

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"

/* What is still to be looked at. */
typedef struct Item {
    JsonValue value;
    bool is_named; /* its members are schemas, whatever they are called */
} Item;

typedef struct Look {
    Arena *arena;
    Item *items;
    size_t n;
    size_t cap;
    size_t n_found;
} Look;

static int look_later(Look *look, JsonValue value, bool is_named)
{
    size_t cap = look->cap == 0 ? 32 : look->cap * 2;
    Item *items;

    if (json_kind(value) != JSON_OBJECT && json_kind(value) != JSON_ARRAY) {
        return 0;
    }
    if (look->n == look->cap) {
        items =
            arena_grow(look->arena, look->items, look->cap * sizeof(*items), cap * sizeof(*items));
        if (items == NULL) {
            return err_raise(-ENOMEM);
        }
        look->items = items;
        look->cap = cap;
    }
    look->items[look->n++] = (Item){value, is_named};
    return 0;
}

static bool key_is_one_of(JsonValue key, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (json_string_equals(key, span_from_str(names[i]))) {
            return true;
        }
    }
    return false;
}

static int look_at_member(Look *look, const Item *item, JsonValue key, JsonValue value)
{
    static const char *const data[] = {"default", "const", "enum", "examples"};
    static const char *const named[] = {"properties", "patternProperties", "$defs", "definitions",
                                        "dependentSchemas"};

    if (item->is_named) {
        return look_later(look, value, false);
    }
    if (json_string_equals(key, SPAN("x-mcp-header"))) {
        look->n_found++;
        return 0;
    }
    if (key_is_one_of(key, data, TW_ARRAY_SIZE(data))) {
        return 0; /* values, not schemas */
    }
    return look_later(look, value, key_is_one_of(key, named, TW_ARRAY_SIZE(named)));
}

static int look_at(Look *look, const Item *item)
{
    int r = 0;

    for (JsonIter it = json_iter(item->value); r == 0 && json_iter_next(&it);) {
        r = json_kind(item->value) == JSON_ARRAY ? look_later(look, it.value, false)
                                                 : look_at_member(look, item, it.key, it.value);
    }
    return r;
}

int mcp_param_headers_check(JsonValue schema, Arena *arena, bool *ret_ok)
{
    Look look = {.arena = arena};
    McpParamHeader *headers;
    size_t n_headers = 0;
    int r = look_later(&look, schema, false);

    while (r == 0 && look.n > 0) {
        Item item = look.items[--look.n];

        r = look_at(&look, &item);
    }
    if (r == 0 && look.n_found > 0) {
        r = mcp_param_headers(schema, JSON_VALUE_NULL, arena, &headers, &n_headers);
    }
    if (r == 0) {
        *ret_ok = n_headers == look.n_found;
    }
    return err_pass(r);
}
