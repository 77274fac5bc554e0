/* The output schema of a command: the standard members, and the command's own beside them.
 *
 * Its own schema was written for the answer without an envelope. So of its members
 *
 *     $schema $id $defs definitions title description …   stay where they are: references lead
 * there properties                                          stand beside the standard ones
 *     additionalProperties unevaluatedProperties          go: the standard members, and what the
 *     propertyNames maxProperties                         router adds, would break them
 *     all others (required, allOf …)                      hold where `ok` is true
 *
 * A property that failures fill in their way (`data` …) keeps its schema where `ok` is true. What
 * is no object in its own schema becomes property `result`, as envelope_read does it. */
#include "call/envelope.h"

#include "base/compiler.h"
#include "base/error.h"
#include "call/envelope_impl.h"
#include "json/writer.h"

#define SCHEMA_MS "{\"type\":\"number\",\"minimum\":0}"

static const char *const member_schemas[ENVELOPE_N_MEMBERS] = {
    [ENVELOPE_MEMBER_OK] = "{\"type\":\"boolean\"}",
    [ENVELOPE_MEMBER_CODE] = "{\"type\":\"string\",\"description\":\"OK, or what went wrong\"}",
    [ENVELOPE_MEMBER_MSG] = "{\"type\":\"string\"}",
    [ENVELOPE_MEMBER_WARNINGS] = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}",
    [ENVELOPE_MEMBER_NEXT_ACTIONS] =
        "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"method\":{\"type\":"
        "\"string\"},\"reason\":{\"type\":\"string\"}}}}",
    [ENVELOPE_MEMBER_TIMINGS] =
        "{\"type\":\"object\",\"properties\":{\"queueWaitMs\":" SCHEMA_MS ",\"revitMs\":" SCHEMA_MS
        ",\"transferMs\":" SCHEMA_MS ",\"totalMs\":" SCHEMA_MS
        "},\"required\":[\"queueWaitMs\",\"revitMs\",\"totalMs\"]}",
    [ENVELOPE_MEMBER_CONTEXT] = "{\"type\":\"object\"}",
};

/* Stay at the root. */
static const char *const root_names[] = {
    "$schema",  "$id",     "$defs",       "definitions", "title",         "description",
    "$comment", "$anchor", "$vocabulary", "examples",    "$dynamicAnchor"};

/* Go; type is written anew. */
static const char *const dropped_names[] = {
    "type",          "properties",   "additionalProperties", "unevaluatedProperties",
    "propertyNames", "maxProperties"};

/* What failures say besides (envelope_of_result, router/safety). */
static const char *const failure_names[] = {"data",
                                            "error",
                                            "errorType",
                                            "errorNumber",
                                            "retryAfterMs",
                                            "failureHandling",
                                            "dryRun",
                                            "dryRunRequested",
                                            "dryRunApplied",
                                            "confirmToken",
                                            "confirmTokenExpiresAtUtc",
                                            "confirmTokenTtlSec",
                                            "confirmTokenMethod"};

static bool is_key_of(JsonValue key, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (json_string_equals(key, span_from_str(names[i]))) {
            return true;
        }
    }
    return false;
}

/* Of members that are there twice the last counts: the others must not be written. */
static bool is_last(JsonValue object, JsonValue key, JsonValue value)
{
    Span plain;
    JsonValue last;

    return !json_string_plain(key, &plain) || !json_get(object, plain, &last) ||
           last.node == value.node;
}

static void write_member(JsonWriter *w, JsonValue key, JsonValue value)
{
    json_write_raw(w, json_span(key));
    w->r = w->r != 0 ? w->r : bytes_append_byte(w->out, ':');
    json_write_value(w, value);
}

/* Does it describe an object? What names no type does. */
static bool is_of_object(JsonValue schema)
{
    JsonValue type;

    if (!json_get(schema, SPAN("type"), &type)) {
        return true;
    }
    if (json_kind(type) != JSON_ARRAY) {
        return json_string_equals(type, SPAN("object"));
    }
    for (JsonIter it = json_iter(type); json_iter_next(&it);) {
        if (json_string_equals(it.value, SPAN("object"))) {
            return true;
        }
    }
    return false;
}

static void write_named(JsonWriter *w, JsonValue schema, const char *const *names, size_t n)
{
    for (JsonIter it = json_iter(schema); json_iter_next(&it);) {
        if (is_key_of(it.key, names, n) && is_last(schema, it.key, it.value)) {
            write_member(w, it.key, it.value);
        }
    }
}

/* Those that failures fill in, too, or the others. */
static bool write_own_properties(JsonWriter *w, JsonValue properties, bool is_of_failures)
{
    bool any = false;

    for (JsonIter it = json_iter(properties); it.is_object && json_iter_next(&it);) {
        bool is_shared = is_key_of(it.key, failure_names, TW_ARRAY_SIZE(failure_names));

        if (is_shared == is_of_failures && envelope_member_of(it.key) == ENVELOPE_N_MEMBERS &&
            is_last(properties, it.key, it.value)) {
            if (w != NULL) {
                write_member(w, it.key, it.value);
            }
            any = true;
        }
    }
    return any;
}

static void write_properties(JsonWriter *w, JsonValue own, JsonValue properties)
{
    json_write_key(w, SPAN("properties"));
    json_write_object(w);
    if (own.node != NULL && !is_of_object(own)) {
        json_write_key(w, SPAN("result"));
        json_write_value(w, own);
    } else if (properties.node != NULL) {
        (void)write_own_properties(w, properties, false);
    }
    for (size_t i = 0; i < ENVELOPE_N_MEMBERS; i++) {
        json_write_key(w, envelope_member_name((EnvelopeMember)i));
        json_write_raw(w, span_from_str(member_schemas[i]));
    }
    json_write_end_object(w);
}

static void write_required(JsonWriter *w)
{
    json_write_key(w, SPAN("required"));
    json_write_array(w);
    for (size_t i = 0; i < ENVELOPE_N_MEMBERS; i++) {
        json_write_string(w, envelope_member_name((EnvelopeMember)i));
    }
    json_write_end_array(w);
}

static bool is_conditional(JsonValue key)
{
    return !is_key_of(key, root_names, TW_ARRAY_SIZE(root_names)) &&
           !is_key_of(key, dropped_names, TW_ARRAY_SIZE(dropped_names));
}

/* What holds where `ok` is true. */
static void write_condition(JsonWriter *w, JsonValue own, JsonValue properties)
{
    bool is_shared = properties.node != NULL && write_own_properties(NULL, properties, true);
    bool is_needed = is_shared || !is_of_object(own);

    for (JsonIter it = json_iter(own); !is_needed && json_iter_next(&it);) {
        is_needed = is_conditional(it.key);
    }
    if (!is_needed) {
        return;
    }
    json_write_key(w, SPAN("if"));
    json_write_raw(w, SPAN("{\"properties\":{\"ok\":{\"const\":true}}}"));
    json_write_key(w, SPAN("then"));
    json_write_object(w);
    if (!is_of_object(own)) {
        json_write_key(w, SPAN("required"));
        json_write_raw(w, SPAN("[\"result\"]"));
        json_write_end_object(w);
        return;
    }
    if (is_shared) {
        json_write_key(w, SPAN("properties"));
        json_write_object(w);
        (void)write_own_properties(w, properties, true);
        json_write_end_object(w);
    }
    for (JsonIter it = json_iter(own); json_iter_next(&it);) {
        if (is_conditional(it.key) && is_last(own, it.key, it.value)) {
            write_member(w, it.key, it.value);
        }
    }
    json_write_end_object(w);
}

static int write_merged(JsonValue own, Bytes *out)
{
    JsonValue properties = JSON_VALUE_NULL;
    JsonWriter w;

    if (own.node != NULL && !json_get(own, SPAN("properties"), &properties)) {
        properties = JSON_VALUE_NULL;
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("type"));
    json_write_string(&w, SPAN("object"));
    if (own.node != NULL) {
        write_named(&w, own, root_names, TW_ARRAY_SIZE(root_names));
    }
    write_properties(&w, own, properties);
    write_required(&w);
    if (own.node != NULL) {
        write_condition(&w, own, properties);
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* Is it one that was merged already, by whoever executes the command? */
static bool is_merged(JsonValue own)
{
    JsonValue properties;
    JsonValue required;
    size_t n_required = 0;

    if (!json_get(own, SPAN("properties"), &properties) ||
        !json_get(own, SPAN("required"), &required)) {
        return false;
    }
    for (size_t i = 0; i < ENVELOPE_N_MEMBERS; i++) {
        Span name = envelope_member_name((EnvelopeMember)i);
        JsonValue value;

        if (!json_get(properties, name, &value)) {
            return false;
        }
        for (JsonIter it = json_iter(required); json_iter_next(&it);) {
            n_required += !it.is_object && json_string_equals(it.value, name);
        }
    }
    return n_required == ENVELOPE_N_MEMBERS;
}

static int write_again(JsonValue own, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_value(&w, own);
    return json_writer_finish(&w);
}

int envelope_write_schema(Span own_schema, Bytes *out)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    JsonDoc doc;
    int r;

    if (own_schema.n == 0) {
        return err_pass(write_merged(JSON_VALUE_NULL, out));
    }
    arena_init(&arena, SIZE_MAX);
    r = json_parse(&doc, &arena, own_schema.p, own_schema.n, NULL, NULL);
    if (r < 0) {
        return err_pass(r);
    }
    if (r == 0 && is_merged(json_root(&doc))) {
        return err_pass(write_again(json_root(&doc), out));
    }
    /* What is no schema says nothing. */
    return err_pass(write_merged(
        r == 0 && json_kind(json_root(&doc)) == JSON_OBJECT ? json_root(&doc) : JSON_VALUE_NULL,
        out));
}
