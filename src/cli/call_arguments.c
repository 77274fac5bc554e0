#include "cli/call_arguments.h"

#include <string.h>

#include "base/error.h"
#include "json/writer.h"

/* One word, cut. */
typedef struct Argument {
    Span key;
    Span value;
    bool is_json; /* `:=` */
} Argument;

static bool argument_cut(const char *word, Argument *ret)
{
    const char *equals = strchr(word, '=');
    size_t n_key;

    if (equals == NULL) {
        return false;
    }
    n_key = (size_t)(equals - word);
    ret->is_json = n_key > 0 && word[n_key - 1] == ':';
    ret->key = span_make(word, n_key - (ret->is_json ? 1 : 0));
    ret->value = span_from_str(equals + 1);
    return ret->key.n > 0;
}

bool call_arguments_need_schema(char *const *words, size_t n)
{
    Argument argument;

    for (size_t i = 0; i < n; i++) {
        if (argument_cut(words[i], &argument) && !argument.is_json) {
            return true;
        }
    }
    return false;
}

/* Whether a schema's `type`, one name or several, allows values of that kind. */
static bool type_allows(JsonValue type, JsonValue value)
{
    const char *kind = json_kind_name(json_kind(value));
    bool is_whole = json_kind(value) == JSON_NUMBER && json_number_is_whole(value);

    if (json_kind(type) == JSON_STRING) {
        return json_string_equals(type, span_from_str(kind)) ||
               (is_whole && json_string_equals(type, SPAN("integer")));
    }
    for (JsonIter it = json_iter(type); json_iter_next(&it);) {
        if (json_string_equals(it.value, span_from_str(kind)) ||
            (is_whole && json_string_equals(it.value, SPAN("integer")))) {
            return true;
        }
    }
    return false;
}

static bool type_names(JsonValue type, Span name)
{
    if (json_kind(type) == JSON_STRING) {
        return json_string_equals(type, name);
    }
    for (JsonIter it = json_iter(type); json_iter_next(&it);) {
        if (json_string_equals(it.value, name)) {
            return true;
        }
    }
    return false;
}

/* The type that the schema gives a property; false if it says nothing about it. */
static bool type_of(JsonValue schema, Span key, JsonValue *ret)
{
    JsonValue properties;
    JsonValue property;

    return schema.node != NULL && json_get(schema, SPAN("properties"), &properties) &&
           json_get(properties, key, &property) && json_get(property, SPAN("type"), ret) &&
           (json_kind(*ret) == JSON_STRING || json_kind(*ret) == JSON_ARRAY);
}

/* Writes the value of one argument. */
static int argument_write(JsonWriter *w, Arena *arena, const Argument *argument, JsonValue schema,
                          bool all_strings, Diag *reterr_diag)
{
    JsonValue type;
    JsonDoc doc;
    bool has_type = type_of(schema, argument->key, &type);
    int r = json_parse(&doc, arena, argument->value.p, argument->value.n, NULL, NULL);
    bool is_json = r == 0;

    if (r < 0) {
        return err_pass(r);
    }
    if (argument->is_json && !is_json) {
        return diag_set(reterr_diag, CALL_ARGUMENTS_E_WRONG, "'%.*s' is not JSON: %.*s",
                        (int)argument->key.n, argument->key.p, (int)argument->value.n,
                        argument->value.p);
    }
    if (argument->is_json || (!all_strings && is_json &&
                              (!has_type || (type_allows(type, json_root(&doc)) &&
                                             json_kind(json_root(&doc)) != JSON_STRING)))) {
        /* Without the blanks that a person may type: a message is one line. */
        json_write_value(w, json_root(&doc));
        return 0;
    }
    if (!all_strings && has_type && !type_names(type, SPAN("string"))) {
        Span names = json_span(type);

        return diag_set(reterr_diag, CALL_ARGUMENTS_E_WRONG, "'%.*s' must be %.*s, but is: %.*s",
                        (int)argument->key.n, argument->key.p, (int)names.n, names.p,
                        (int)argument->value.n, argument->value.p);
    }
    json_write_string(w, argument->value);
    return 0;
}

static bool is_repeated(char *const *words, size_t n, Span key)
{
    Argument other;

    for (size_t i = 0; i < n; i++) {
        if (argument_cut(words[i], &other) && span_equals(other.key, key)) {
            return true;
        }
    }
    return false;
}

int call_arguments_build(Bytes *out, Arena *arena, char *const *words, size_t n, JsonValue schema,
                         bool all_strings, Diag *reterr_diag)
{
    JsonWriter w;
    int r = 0;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    for (size_t i = 0; r == 0 && i < n; i++) {
        Argument argument;

        if (!argument_cut(words[i], &argument)) {
            r = diag_set(reterr_diag, CALL_ARGUMENTS_E_WRONG,
                         "'%s' is not an argument: write name=value, or name:=JSON", words[i]);
        } else if (is_repeated(words, i, argument.key)) {
            r = diag_set(reterr_diag, CALL_ARGUMENTS_E_WRONG, "'%.*s' is given twice",
                         (int)argument.key.n, argument.key.p);
        } else {
            json_write_key(&w, argument.key);
            r = argument_write(&w, arena, &argument, schema, all_strings, reterr_diag);
        }
    }
    if (r != 0) {
        out->n = w.start;
        return r;
    }
    json_write_end_object(&w);
    return err_fold(json_writer_finish(&w));
}
