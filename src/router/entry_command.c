#include "router/entry_command.h"

#include "base/compiler.h"
#include "base/error.h"
#include "base/limits.h"
#include "call/envelope.h"
#include "router/safety/kind.h"
#include "json/writer.h"

/* What the desk reads of a command's arguments (router/safety/arguments.h). */
static const struct {
    Span name;
    const char *schema;
    const char *schema_stays; /* of a command that cannot be undone; NULL: the same */
    bool is_of_risky;         /* said of destructive commands only */
} controls[] = {
    {SPAN_INIT("expectedContextToken"),
     "{\"type\":[\"string\",\"null\"],\"description\":\"context.contextToken of the answer that "
     "this call is based on: the command does not run unless that is still the token of now\"}",
     NULL, false},
    {SPAN_INIT("failureHandling"),
     "{\"description\":\"What is to become of failures while it runs: {\\\"enabled\\\":false}, or "
     "{\\\"enabled\\\":true,\\\"mode\\\":\\\"rollback\\\"|\\\"delete\\\"|\\\"resolve\\\"}. Must be "
     "said where many elements are named\"}",
     "{\"description\":\"{\\\"enabled\\\":false}, or {\\\"enabled\\\":true,\\\"mode\\\":"
     "\\\"rollback\\\"}. Must be said where many elements are named. This command cannot be "
     "undone: "
     "what it has done stays\"}",
     false},
    {SPAN_INIT("dryRun"),
     "{\"type\":[\"boolean\",\"null\"],\"description\":\"Run it and undo it; the answer has a "
     "confirmToken for the real run\"}",
     "{\"type\":[\"boolean\",\"null\"],\"description\":\"This command cannot be undone: with true "
     "it "
     "is refused, and does not run\"}",
     true},
    {SPAN_INIT("requireConfirmToken"),
     "{\"type\":[\"boolean\",\"null\"],\"description\":\"Do not run it without a right "
     "confirmToken\"}",
     "{\"type\":[\"boolean\",\"null\"],\"description\":\"Do not run it without a right "
     "confirmToken: of this command there is none\"}",
     true},
    {SPAN_INIT("confirmToken"),
     "{\"type\":[\"string\",\"null\"],\"description\":\"Of the dry run with the same parameters; "
     "for one use\"}",
     "{\"type\":[\"string\",\"null\"],\"description\":\"This command has no dry run, and so no "
     "token is right\"}",
     true},
};

/* The other spellings, which a closed schema must let pass, too. */
#define OTHER_NAMES                                                                                \
    "__expectedContextToken|expected_context_token|failure_handling|failureHandlingMode|"          \
    "failure_handling_mode|dry_run|require_confirm_token|confirm_token"

/* And the other places: what is in `params` may only be what the desk reads there, or a caller who
 * puts all arguments into it would not be told that nobody reads them. */
static const struct {
    const char *name; /* of a property which the tool may have itself */
    const char *pattern;
    const char *schema;
} passes[] = {
    {NULL, "^(" OTHER_NAMES ")$", "true"},
    {"params", "^params$",
     "{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^(expectedContextToken|failureHandling|"
     "dryRun|requireConfirmToken|confirmToken|meta|_meta|" OTHER_NAMES ")$\"}}"},
    {"meta", "^meta$", "{\"type\":\"object\"}"},
    {"_meta", "^_meta$", "{\"type\":\"object\"}"},
};

static bool has(JsonValue object, const char *name)
{
    JsonValue value;

    return json_get(object, span_from_str(name), &value);
}

/* A hint: 1 true, 0 false, -1 not said. */
static int hint_of(JsonValue annotations, const char *name)
{
    JsonValue value;
    bool flag;

    return json_get(annotations, span_from_str(name), &value) && json_bool(value, &flag) ? flag
                                                                                         : -1;
}

SafetyCommand router_command_of(Span name, JsonValue description)
{
    SafetyCommand command = {.method = name};
    JsonValue annotations;

    if (description.node != NULL && json_get(description, SPAN("annotations"), &annotations)) {
        int read_only = hint_of(annotations, "readOnlyHint");
        int destructive = hint_of(annotations, "destructiveHint");

        command.is_read_only = read_only == 1;
        command.is_writing = read_only == 0;
        command.is_destructive = destructive == 1;
        command.is_not_destructive = destructive == 0;
    }
    return command;
}

static void write_key_of(JsonWriter *w, JsonValue key)
{
    json_write_raw(w, json_span(key));
    w->r = w->r != 0 ? w->r : bytes_append_byte(w->out, ':');
}

static void write_controls(JsonWriter *w, JsonValue properties, const SafetyCommand *command)
{
    bool is_risky = safety_is_risky(command);
    bool stays = command->cannot_undo && safety_is_write(command);

    for (size_t i = 0; i < TW_ARRAY_SIZE(controls); i++) {
        const char *schema = stays && controls[i].schema_stays != NULL ? controls[i].schema_stays
                                                                       : controls[i].schema;

        if ((is_risky || !controls[i].is_of_risky) &&
            (properties.node == NULL || !has(properties, controls[i].name.p))) {
            json_write_key(w, controls[i].name);
            json_write_raw(w, span_from_str(schema));
        }
    }
}

static void write_members(JsonWriter *w, JsonValue object)
{
    for (JsonIter it = json_iter(object); it.is_object && json_iter_next(&it);) {
        write_key_of(w, it.key);
        json_write_value(w, it.value);
    }
}

/* An object member with what it has, if it is there, and more behind. */
static JsonValue write_opened(JsonWriter *w, JsonValue schema, const char *name)
{
    JsonValue value = JSON_VALUE_NULL;

    json_write_key(w, span_from_str(name));
    json_write_object(w);
    if (json_get(schema, span_from_str(name), &value)) {
        write_members(w, value);
    }
    return value;
}

/* One that is no object of objects is left as it is, to be found wrong. */
static bool can_be_merged(JsonValue schema)
{
    JsonValue value;

    return json_kind(schema) == JSON_OBJECT &&
           (!json_get(schema, SPAN("properties"), &value) || json_kind(value) == JSON_OBJECT) &&
           (!json_get(schema, SPAN("patternProperties"), &value) ||
            json_kind(value) == JSON_OBJECT);
}

/* patternProperties of a closed schema. */
static void write_passes(JsonWriter *w, JsonValue schema, JsonValue properties)
{
    (void)write_opened(w, schema, "patternProperties");
    for (size_t i = 0; i < TW_ARRAY_SIZE(passes); i++) {
        if (passes[i].name == NULL || properties.node == NULL || !has(properties, passes[i].name)) {
            json_write_key(w, span_from_str(passes[i].pattern));
            json_write_raw(w, span_from_str(passes[i].schema));
        }
    }
    json_write_end_object(w);
}

static void write_input(JsonWriter *w, JsonValue schema, const SafetyCommand *command)
{
    JsonValue properties;
    bool is_closed = has(schema, "additionalProperties") || has(schema, "unevaluatedProperties");

    if (!can_be_merged(schema)) {
        json_write_value(w, schema);
        return;
    }
    json_write_object(w);
    for (JsonIter it = json_iter(schema); json_iter_next(&it);) {
        if (!json_string_equals(it.key, SPAN("properties")) &&
            !(is_closed && json_string_equals(it.key, SPAN("patternProperties")))) {
            write_key_of(w, it.key);
            json_write_value(w, it.value);
        }
    }
    properties = write_opened(w, schema, "properties");
    write_controls(w, properties, command);
    json_write_end_object(w);
    if (is_closed) {
        write_passes(w, schema, properties);
    }
    json_write_end_object(w);
}

/* Has whoever guards the command merged it already? */
static bool is_of_envelope(JsonValue schema)
{
    static const char *const names[] = {"ok",          "code",    "msg",    "warnings",
                                        "nextActions", "timings", "context"};
    JsonValue properties;

    if (!json_get(schema, SPAN("properties"), &properties)) {
        return false;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        if (!has(properties, names[i])) {
            return false;
        }
    }
    return true;
}

static int write_output(JsonWriter *w, JsonValue description, bool is_guarded)
{
    CLEANUP(bytes_deinit) Bytes merged = BYTES_NULL;
    JsonValue own = JSON_VALUE_NULL;
    int r;

    json_write_key(w, SPAN("outputSchema"));
    if (json_get(description, SPAN("outputSchema"), &own) &&
        (json_kind(own) != JSON_OBJECT || (is_guarded && is_of_envelope(own)))) {
        json_write_value(w, own); /* as above */
        return 0;
    }
    bytes_init(&merged, w->out->max_bytes);
    r = envelope_write_schema(own.node != NULL ? json_span(own) : SPAN_NULL, &merged);
    if (r == 0) {
        json_write_raw(w, bytes_span(&merged));
    }
    return r;
}

static SafetyCommand description_command(JsonValue description, bool can_undo)
{
    SafetyCommand command;
    JsonValue name;
    Span text = SPAN_NULL;

    /* A name has no character that needs an escape: it is found wrong. */
    if (json_get(description, SPAN("name"), &name)) {
        (void)json_string_plain(name, &text);
    }
    command = router_command_of(text, description);
    command.cannot_undo = !can_undo;
    return command;
}

int router_command_describe(JsonValue description, bool is_guarded, bool can_undo, Bytes *out)
{
    SafetyCommand command = description_command(description, can_undo);
    JsonWriter w;
    int r;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    for (JsonIter it = json_iter(description); json_iter_next(&it);) {
        if (json_string_equals(it.key, SPAN("outputSchema"))) {
            continue;
        }
        write_key_of(&w, it.key);
        if (!is_guarded && json_string_equals(it.key, SPAN("inputSchema"))) {
            write_input(&w, it.value, &command);
        } else {
            json_write_value(&w, it.value);
        }
    }
    r = write_output(&w, description, is_guarded);
    json_write_end_object(&w);
    w.r = w.r != 0 ? w.r : r;
    return json_writer_finish(&w);
}
