#include "json/look.h"

#include <string.h>

#include "base/error.h"
#include "json/json.h"

void json_look_init(JsonLook *look)
{
    look->state = JSON_LOOK_BEFORE;
    look->depth = 0;
    look->is_in_string = false;
    look->is_escaped = false;
    look->has_method = false;
    look->is_value_id = false;
    look->n_name = 0;
    look->n_value = 0;
    look->n_id = 0;
}

static bool look_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void look_keep(char *buffer, size_t *n, size_t max, char c)
{
    if (*n < max) {
        buffer[*n] = c;
        *n += 1;
    }
}

/* One more byte inside a string. True: it was the closing quote. */
static bool look_in_string(JsonLook *look, char c)
{
    if (look->is_escaped) {
        look->is_escaped = false;
        return false;
    }
    look->is_escaped = c == '\\';
    return c == '"';
}

static bool look_name_is(const JsonLook *look, Span name)
{
    return span_equals(span_make(look->name, look->n_name), name);
}

/* A name has ended. With a backslash it may be a name in disguise, which nobody writes. */
static void look_end_name(JsonLook *look)
{
    if (memchr(look->name, '\\', look->n_name) != NULL) {
        look->state = JSON_LOOK_STOPPED;
        return;
    }
    look->is_value_id = look_name_is(look, SPAN("id\""));
    look->has_method = look->has_method || look_name_is(look, SPAN("method\""));
    look->state = JSON_LOOK_COLON;
}

/* A value has ended: is it one that an id may be? */
static void look_end_value(JsonLook *look, JsonLookState next)
{
    look->state = next;
    if (look->is_value_id) {
        look->n_id = look->n_value < JSON_LOOK_VALUE_BYTES ? look->n_value : 0;
        memcpy(look->id, look->value, look->n_id);
    }
}

static void look_begin_value(JsonLook *look, char c)
{
    look->n_value = 0;
    look_keep(look->value, &look->n_value, JSON_LOOK_VALUE_BYTES, c);
    if (c == '"') {
        look->state = JSON_LOOK_IN_STRING;
    } else if (c == '{' || c == '[') {
        look->state = JSON_LOOK_IN_NESTED;
        look->depth = 1;
        look->n_id = look->is_value_id ? 0 : look->n_id;
        look->is_value_id = false;
    } else if (c == ',' || c == '}' || c == ']' || c == ':') {
        look->state = JSON_LOOK_STOPPED;
    } else {
        look->state = JSON_LOOK_IN_BARE;
    }
}

static void look_in_nested(JsonLook *look, char c)
{
    if (look->is_in_string) {
        look->is_in_string = !look_in_string(look, c);
        return;
    }
    look->is_in_string = c == '"';
    look->depth += c == '{' || c == '[';
    look->depth -= c == '}' || c == ']';
    if (look->depth == 0) {
        look->state = JSON_LOOK_AFTER;
    }
}

static void look_after(JsonLook *look, char c)
{
    look->state = c == ',' ? JSON_LOOK_NAME : JSON_LOOK_STOPPED;
}

static void look_in_bare(JsonLook *look, char c)
{
    if (look_is_space(c) || c == ',' || c == '}') {
        look_end_value(look, JSON_LOOK_AFTER);
        if (!look_is_space(c)) {
            look_after(look, c);
        }
    } else if (c == '"' || c == '{' || c == '[' || c == ']' || c == ':') {
        look->state = JSON_LOOK_STOPPED;
    } else {
        look_keep(look->value, &look->n_value, JSON_LOOK_VALUE_BYTES, c);
    }
}

/* Between the tokens of the outermost object. */
static void look_between(JsonLook *look, char c)
{
    if (look_is_space(c)) {
        return;
    }
    switch (look->state) {
    case JSON_LOOK_BEFORE:
        look->state = c == '{' ? JSON_LOOK_NAME : JSON_LOOK_STOPPED;
        break;
    case JSON_LOOK_NAME:
        look->state = c == '"' ? JSON_LOOK_IN_NAME : JSON_LOOK_STOPPED;
        look->n_name = 0;
        break;
    case JSON_LOOK_COLON:
        look->state = c == ':' ? JSON_LOOK_VALUE : JSON_LOOK_STOPPED;
        break;
    case JSON_LOOK_VALUE:
        look_begin_value(look, c);
        break;
    default:
        look_after(look, c);
        break;
    }
}

static void look_byte(JsonLook *look, char c)
{
    switch (look->state) {
    case JSON_LOOK_IN_NAME:
        look_keep(look->name, &look->n_name, JSON_LOOK_NAME_BYTES, c);
        if (look_in_string(look, c)) {
            look_end_name(look);
        }
        break;
    case JSON_LOOK_IN_STRING:
        look_keep(look->value, &look->n_value, JSON_LOOK_VALUE_BYTES, c);
        if (look_in_string(look, c)) {
            look_end_value(look, JSON_LOOK_AFTER);
        }
        break;
    case JSON_LOOK_IN_BARE:
        look_in_bare(look, c);
        break;
    case JSON_LOOK_IN_NESTED:
        look_in_nested(look, c);
        break;
    default:
        look_between(look, c);
        break;
    }
}

void json_look_feed(JsonLook *look, Span text)
{
    for (size_t i = 0; i < text.n && look->state != JSON_LOOK_STOPPED; i++) {
        look_byte(look, text.p[i]);
    }
}

Span json_look_id(const JsonLook *look)
{
    return look->has_method ? span_make(look->id, look->n_id) : SPAN_NULL;
}

int json_look_text_id(Span text, Arena *arena, Span *ret)
{
    JsonLook look;
    JsonDoc doc;
    Span id;
    int r;

    *ret = SPAN_NULL;
    json_look_init(&look);
    json_look_feed(&look, text);
    id = arena_copy(arena, span_make(look.id, look.n_id));
    if (id.p == NULL) {
        return err_raise(-ENOMEM);
    }
    r = json_parse(&doc, arena, id.p, id.n, NULL, NULL);
    if (r == 0 && json_kind(json_root(&doc)) == JSON_STRING) {
        r = json_string_exact(json_root(&doc), arena, ret);
    }
    return r < 0 ? err_pass(r) : 0;
}
