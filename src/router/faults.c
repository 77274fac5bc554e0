#include "router/faults.h"

#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "json/writer.h"

/* What is said about one call. A path may be as long as the keys that a peer makes up; a sentence
 * of this length is more than anybody reads, and 32 of them fit. */
#define FAULTS_MESSAGE_BYTES ((size_t)4096)
#define FAULTS_MORE_BYTES    ((size_t)32) /* of these, for "; and 31 more" */
#define FAULTS_DATA_BYTES    ((size_t)64 * 1024)

/* Arguments of a tool among which a misspelt one is looked for. */
#define FAULTS_MAX_NAMES ((size_t)256)

static const JsonNode empty_object = {.start = 0, .size = 2, .skip = 1, .tag = JSON_OBJECT};

int router_faults_init(RouterFaults *faults)
{
    int r;

    *faults = (RouterFaults){.check = NULL};
    bytes_init(&faults->message, FAULTS_MESSAGE_BYTES);
    bytes_init(&faults->data, FAULTS_DATA_BYTES);
    /* A result was bounded by whoever made it. */
    arena_init(&faults->scratch, SIZE_MAX);
    r = schema_check_new(&faults->check);
    return err_pass(r);
}

void router_faults_deinit(RouterFaults *faults)
{
    faults->check = schema_check_free(faults->check);
    bytes_deinit(&faults->message);
    bytes_deinit(&faults->data);
    arena_deinit(&faults->scratch);
}

static void faults_clear(RouterFaults *faults)
{
    bytes_clear(&faults->message);
    bytes_clear(&faults->data);
    faults->n_unsaid = 0;
}

/* "arguments/count: expected integer, got string", behind what was said before. What does not fit
 * is counted: the router has words of its own for every error. */
static int faults_say(RouterFaults *faults, const char *what, Span path, Span message)
{
    size_t n_before = faults->message.n;
    int r = bytes_append_format(&faults->message, "%s%s", n_before > 0 ? "; " : "", what);

    if (r == 0) {
        r = bytes_append_span(&faults->message, path);
    }
    if (r == 0) {
        r = bytes_append(&faults->message, ": ", 2);
    }
    if (r == 0) {
        r = bytes_append_span(&faults->message, message);
    }
    if (r == 0 && faults->message.n > FAULTS_MESSAGE_BYTES - FAULTS_MORE_BYTES) {
        r = BYTES_E_FULL;
    }
    if (r != 0) {
        faults->message.n = n_before;
        faults->n_unsaid++;
    }
    return r > 0 ? 0 : err_pass(r);
}

/* One more element of data; whole or not at all. */
static int faults_list(RouterFaults *faults, Span path, Span message)
{
    size_t n_before = faults->data.n;
    JsonWriter w;
    int r = bytes_append_byte(&faults->data, n_before == 0 ? '[' : ',');

    json_writer_init(&w, &faults->data, JSON_STYLE_COMPACT);
    w.r = r;
    json_write_object(&w);
    json_write_key(&w, SPAN("path"));
    json_write_string(&w, path);
    json_write_key(&w, SPAN("message"));
    json_write_string(&w, message);
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    /* Room for the bracket that will close it. */
    if (r == 0) {
        r = bytes_reserve(&faults->data, 1);
    }
    if (r != 0) {
        faults->data.n = n_before;
    }
    return r > 0 ? 0 : err_pass(r);
}

static int faults_add(RouterFaults *faults, const char *what, Span path, Span message)
{
    int r = faults_say(faults, what, path, message);

    return r != 0 ? err_pass(r) : err_pass(faults_list(faults, path, message));
}

/* Closes the list, if there is one, and the sentence. */
static int faults_end(RouterFaults *faults)
{
    int r = 0;

    if (faults->data.n > 0) {
        r = bytes_append_byte(&faults->data, ']');
    }
    if (r == 0 && faults->message.n > 0 && faults->n_unsaid > 0) {
        r = bytes_append_format(&faults->message, "; and %zu more", faults->n_unsaid);
    }
    return r != 0 ? err_fold(r) : FAULTS_E_FOUND;
}

static int faults_one(RouterFaults *faults, const char *what, Span path, Span message)
{
    int r = faults_add(faults, what, path, message);

    return r != 0 ? err_pass(r) : faults_end(faults);
}

/* ---- the nearest name ---- */

/* The members of an object as names. Gives *ret, in the scratch arena; longer ones than anybody
 * types, and more than a schema should have, are left out. */
static int faults_names(RouterFaults *faults, JsonValue object, const char ***ret, size_t *ret_n)
{
    size_t n = json_count(object) < FAULTS_MAX_NAMES ? json_count(object) : FAULTS_MAX_NAMES;
    const char **names = arena_alloc_array(&faults->scratch, n + 1, sizeof(*names));
    JsonIter it = json_iter(object);

    if (names == NULL) {
        return err_raise(-ENOMEM);
    }
    for (*ret_n = 0; *ret_n < n && json_iter_next(&it); (*ret_n)++) {
        Span name;
        int r = json_string(it.key, &faults->scratch, &name);

        name = r == 0 ? arena_copy(&faults->scratch, name) : SPAN_NULL;
        if (name.p == NULL) {
            return r != 0 ? err_fold(r) : err_raise(-ENOMEM);
        }
        names[*ret_n] = name.p;
    }
    *ret = names;
    return 0;
}

/* An argument that is unknown: "unknown property; did you mean \"limit\"?" in scratch, if there is
 * one like it. */
static int faults_nearest(RouterFaults *faults, JsonValue description, const SchemaError *error,
                          Span *ret_message)
{
    JsonValue properties;
    const char **names = NULL;
    const char *nearest;
    size_t n = 0;
    Span name = error->instance_path;
    CLEANUP(bytes_deinit) Bytes words = BYTES_NULL;
    int r;

    if (!span_equals(error->schema_path, SPAN("#/additionalProperties")) || name.n < 2 ||
        json_pointer(description, SPAN("/inputSchema/properties"), &properties) != 0 ||
        json_kind(properties) != JSON_OBJECT) {
        return 0;
    }
    r = faults_names(faults, properties, &names, &n);
    if (r != 0) {
        return err_pass(r);
    }
    nearest = text_nearest(span_make(name.p + 1, name.n - 1), names, n);
    if (nearest == NULL) {
        return 0;
    }
    bytes_init(&words, FAULTS_MESSAGE_BYTES);
    r = bytes_append_span(&words, error->message);
    r = r != 0 ? r : bytes_append_format(&words, "; did you mean \"%s\"?", nearest);
    if (r == 0) {
        *ret_message = arena_copy(&faults->scratch, bytes_span(&words));
        r = ret_message->p == NULL ? err_raise(-ENOMEM) : 0;
    }
    return r > 0 ? 0 : err_pass(r);
}

/* Without a description (its node is NULL) the scratch arena is the value's. */
static int faults_add_error(RouterFaults *faults, const char *what, JsonValue description,
                            const SchemaError *error)
{
    Span message = error->message;
    int r;

    if (description.node == NULL) {
        return err_pass(faults_add(faults, what, error->instance_path, message));
    }
    r = faults_nearest(faults, description, error, &message);
    r = r != 0 ? r : faults_add(faults, what, error->instance_path, message);
    arena_reset(&faults->scratch, 0);
    return err_pass(r);
}

static int faults_validate(RouterFaults *faults, const Schema *schema, const char *what,
                           JsonValue description, JsonValue value)
{
    int r = schema_validate(schema, faults->check, value);

    if (r == 0) {
        return 0;
    }
    if (r == SCHEMA_E_LIMIT) {
        return faults_one(faults, what, SPAN_NULL,
                          SPAN("too deep, or too much work to check against the schema"));
    }
    if (r != SCHEMA_E_INVALID) {
        return err_fold(r);
    }
    for (size_t i = 0; i < schema_check_n_errors(faults->check); i++) {
        SchemaError error = schema_check_error(faults->check, i);

        r = faults_add_error(faults, what, description, &error);
        if (r != 0) {
            return err_pass(r);
        }
    }
    return faults_end(faults);
}

int router_faults_tool(RouterFaults *faults, const Schema *schema, JsonValue description,
                       JsonValue arguments)
{
    faults_clear(faults);
    if (arguments.node == NULL) {
        arguments = (JsonValue){"{}", &empty_object};
    }
    return faults_validate(faults, schema, "arguments", description, arguments);
}

/* A member of a prompt's arguments that is no string. */
static int faults_add_kind(RouterFaults *faults, JsonValue object, JsonValue value)
{
    CLEANUP(bytes_deinit) Bytes path = BYTES_NULL;
    char message[40];
    int r;

    (void)snprintf(message, sizeof(message), "expected string, got %s",
                   json_kind_name(json_kind(value)));
    bytes_init(&path, FAULTS_MESSAGE_BYTES);
    r = json_pointer_of(object, value, &path);
    if (r < 0) {
        return err_pass(r);
    }
    return faults_add(faults, "arguments", bytes_span(&path), span_from_str(message));
}

/* Is one of the members called that? */
static bool faults_has_key(JsonValue object, JsonValue name)
{
    if (object.node == NULL) {
        return false;
    }
    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        if (json_string_same(it.key, name)) {
            return true;
        }
    }
    return false;
}

static int faults_add_missing(RouterFaults *faults, JsonValue name)
{
    CLEANUP(bytes_deinit) Bytes message = BYTES_NULL;
    int r;

    bytes_init(&message, FAULTS_MESSAGE_BYTES);
    r = bytes_append_format(&message, "missing property ");
    if (r == 0) {
        r = bytes_append_span(&message, json_span(name));
    }
    if (r < 0) {
        return err_pass(r);
    }
    return faults_add(faults, "arguments", SPAN_NULL, bytes_span(&message));
}

int router_faults_prompt(RouterFaults *faults, JsonValue list, JsonValue arguments)
{
    size_t n = 0;
    int r = 0;

    faults_clear(faults);
    if (arguments.node != NULL && json_kind(arguments) != JSON_OBJECT) {
        return faults_one(faults, "arguments", SPAN_NULL, SPAN("expected object"));
    }
    if (arguments.node != NULL) {
        for (JsonIter it = json_iter(arguments); r == 0 && json_iter_next(&it);) {
            if (json_kind(it.value) != JSON_STRING && n++ < LIMIT_SCHEMA_ERRORS) {
                r = faults_add_kind(faults, arguments, it.value);
            }
        }
    }
    if (list.node != NULL) {
        for (JsonIter it = json_iter(list); r == 0 && json_iter_next(&it);) {
            JsonValue name;
            JsonValue required;
            bool flag = false;

            if (json_get(it.value, SPAN("required"), &required) && json_bool(required, &flag) &&
                flag && json_get(it.value, SPAN("name"), &name) &&
                !faults_has_key(arguments, name) && n++ < LIMIT_SCHEMA_ERRORS) {
                r = faults_add_missing(faults, name);
            }
        }
    }
    if (r != 0 || n == 0) {
        return err_pass(r);
    }
    return faults_end(faults);
}

int router_faults_structured(RouterFaults *faults, const Schema *schema, Span structured)
{
    JsonDoc doc;
    int r;

    faults_clear(faults);
    if (structured.n == 0) {
        return faults_one(faults, "structuredContent", SPAN_NULL,
                          SPAN("missing, though the tool has an output schema"));
    }
    arena_reset(&faults->scratch, LIMIT_KEEP_BYTES);
    r = json_parse(&doc, &faults->scratch, structured.p, structured.n, NULL, NULL);
    if (r > 0) {
        return faults_one(faults, "structuredContent", SPAN_NULL, SPAN("not JSON"));
    }
    if (r < 0) {
        return err_pass(r);
    }
    return faults_validate(faults, schema, "structuredContent", JSON_VALUE_NULL, json_root(&doc));
}

CallResult router_faults_result(const RouterFaults *faults, CallError error)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = error,
                         .message = bytes_span(&faults->message),
                         .data = bytes_span(&faults->data)};

    if (result.message.n == 0) {
        result.message = span_from_str(call_error_text(error));
    }
    return result;
}
