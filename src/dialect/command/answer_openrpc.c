/* The tools as an OpenRPC document. */
#include "dialect/command/answer.h"

#include "call/envelope.h"
#include "json/json.h"
#include "json/writer.h"

static void write_member(JsonWriter *w, const char *key, Span text)
{
    json_write_key(w, span_from_str(key));
    json_write_string(w, text);
}

/* A member of a description as it is; false if it is not there. */
static bool splice(JsonWriter *w, const char *key, JsonValue object, const char *from)
{
    JsonValue value;

    if (!json_get(object, span_from_str(from), &value)) {
        return false;
    }
    json_write_key(w, span_from_str(key));
    json_write_raw(w, json_span(value));
    return true;
}

static bool is_required(JsonValue schema, JsonValue name)
{
    JsonValue list;

    if (!json_get(schema, SPAN("required"), &list) || json_kind(list) != JSON_ARRAY) {
        return false;
    }
    for (JsonIter it = json_iter(list); json_iter_next(&it);) {
        if (json_kind(it.value) == JSON_STRING && json_string_same(it.value, name)) {
            return true;
        }
    }
    return false;
}

/* The members of the input schema as parameters by name. */
static void write_params(JsonWriter *w, JsonValue tool)
{
    JsonValue schema;
    JsonValue properties;

    json_write_key(w, SPAN("paramStructure"));
    json_write_string(w, SPAN("by-name"));
    json_write_key(w, SPAN("params"));
    json_write_array(w);
    if (json_get(tool, SPAN("inputSchema"), &schema) &&
        json_get(schema, SPAN("properties"), &properties) && json_kind(properties) == JSON_OBJECT) {
        for (JsonIter it = json_iter(properties); json_iter_next(&it);) {
            json_write_object(w);
            json_write_key(w, SPAN("name"));
            json_write_raw(w, json_span(it.key));
            json_write_key(w, SPAN("required"));
            json_write_bool(w, is_required(schema, it.key));
            json_write_key(w, SPAN("schema"));
            json_write_raw(w, json_span(it.value));
            json_write_end_object(w);
        }
    }
    json_write_end_array(w);
}

/* Whatever a tool says of its output, what comes here is the envelope with that in it. */
static int write_result(JsonWriter *w, JsonValue tool, Bytes *schema)
{
    JsonValue own;
    int r;

    bytes_clear(schema);
    r = envelope_write_schema(
        json_get(tool, SPAN("outputSchema"), &own) ? json_span(own) : SPAN_NULL, schema);
    json_write_key(w, SPAN("result"));
    json_write_object(w);
    write_member(w, "name", SPAN("payload"));
    json_write_key(w, SPAN("schema"));
    json_write_raw(w, r == 0 ? bytes_span(schema) : SPAN("{}"));
    json_write_end_object(w);
    return r;
}

int command_write_openrpc(Span title, Span version, const JsonValue *tools, size_t n, Bytes *out)
{
    Bytes schema;
    JsonWriter w;
    int r = 0;
    int written;

    bytes_init(&schema, out->max_bytes);
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_member(&w, "openrpc", SPAN("1.3.2"));
    json_write_key(&w, SPAN("info"));
    json_write_object(&w);
    write_member(&w, "title", title);
    write_member(&w, "version", version);
    json_write_end_object(&w);
    json_write_key(&w, SPAN("methods"));
    json_write_array(&w);
    for (size_t i = 0; i < n && r == 0; i++) {
        json_write_object(&w);
        (void)splice(&w, "name", tools[i], "name");
        (void)splice(&w, "summary", tools[i], "title");
        (void)splice(&w, "description", tools[i], "description");
        write_params(&w, tools[i]);
        r = write_result(&w, tools[i], &schema);
        json_write_end_object(&w);
    }
    json_write_end_array(&w);
    json_write_end_object(&w);
    written = json_writer_finish(&w);
    bytes_deinit(&schema);
    return r != 0 ? r : written;
}
