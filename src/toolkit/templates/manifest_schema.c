/* The parameters of a template as JSON Schema, so that an agent fills them in without a guess. */
#include <errno.h>

#include "base/bytes.h"
#include "base/error.h"
#include "toolkit/templates/manifest_read.h"
#include "json/writer.h"

/* Names of the two bounds for each type; NULL where there are none. */
static const struct {
    const char *type;
    const char *minimum;
    const char *maximum;
} schema_words[TEMPLATE_N_TYPES] = {
    [TEMPLATE_STRING] = {"string", "minLength", "maxLength"},
    [TEMPLATE_BOOLEAN] = {"boolean", NULL, NULL},
    [TEMPLATE_INTEGER] = {"integer", "minimum", "maximum"},
    [TEMPLATE_ARRAY] = {"array", "minItems", "maxItems"},
    [TEMPLATE_CHOICE] = {"string", NULL, NULL},
};

static void schema_write_text(JsonWriter *w, const char *key, Span text)
{
    if (text.n > 0) {
        json_write_key(w, span_from_str(key));
        json_write_string(w, text);
    }
}

static void schema_write_value(JsonWriter *w, const char *key, JsonValue v)
{
    if (v.node != NULL) {
        json_write_key(w, span_from_str(key));
        json_write_value(w, v);
    }
}

static void schema_write_parameter(JsonWriter *w, const TemplateParameter *p)
{
    json_write_object(w);
    schema_write_text(w, "type", span_from_str(schema_words[p->type].type));
    schema_write_text(w, "description", p->description);
    if (p->type == TEMPLATE_ARRAY) {
        json_write_key(w, SPAN("items"));
        json_write_object(w);
        schema_write_text(w, "type", SPAN("string"));
        schema_write_text(w, "pattern", p->pattern);
        json_write_end_object(w);
    } else {
        schema_write_text(w, "pattern", p->pattern);
    }
    if (p->has_minimum) {
        json_write_key(w, span_from_str(schema_words[p->type].minimum));
        json_write_int(w, p->minimum);
    }
    if (p->has_maximum) {
        json_write_key(w, span_from_str(schema_words[p->type].maximum));
        json_write_int(w, p->maximum);
    }
    if (p->unique) {
        json_write_key(w, SPAN("uniqueItems"));
        json_write_bool(w, true);
    }
    schema_write_value(w, "enum", p->choices);
    schema_write_value(w, "default", p->default_);
    json_write_end_object(w);
}

/* It may be given to any template, since it names the folder of the files. */
static bool schema_has_project_name(const Template *t)
{
    for (size_t i = 0; i < t->n_parameters; i++) {
        if (span_equals(t->parameters[i].name, SPAN("project_name"))) {
            return true;
        }
    }
    return false;
}

static void schema_write(JsonWriter *w, const Template *t)
{
    bool has_required = false;

    json_write_object(w);
    schema_write_text(w, "type", SPAN("object"));
    json_write_key(w, SPAN("properties"));
    json_write_object(w);
    for (size_t i = 0; i < t->n_parameters; i++) {
        json_write_key(w, t->parameters[i].name);
        schema_write_parameter(w, &t->parameters[i]);
        has_required = has_required || t->parameters[i].required;
    }
    if (!schema_has_project_name(t)) {
        json_write_key(w, SPAN("project_name"));
        json_write_raw(w, SPAN("{\"type\":\"string\",\"description\":"
                               "\"Name of the project's folder\"}"));
    }
    json_write_end_object(w);
    if (has_required) {
        json_write_key(w, SPAN("required"));
        json_write_array(w);
        for (size_t i = 0; i < t->n_parameters; i++) {
            if (t->parameters[i].required) {
                json_write_string(w, t->parameters[i].name);
            }
        }
        json_write_end_array(w);
    }
    json_write_key(w, SPAN("additionalProperties"));
    json_write_bool(w, false);
    json_write_end_object(w);
}

int manifest_schema(TemplateManifest *manifest, Template *t)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    JsonWriter w;
    int r;

    /* Text of the manifest, the longest spelling of each byte of it, and words between. */
    bytes_init(&out, TEMPLATE_MANIFEST_BYTES * 8);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    schema_write(&w, t);
    r = json_writer_finish(&w);
    if (r != 0) {
        return err_fold(r);
    }
    t->schema = arena_copy(&manifest->arena, bytes_span(&out));
    return t->schema.p != NULL ? 0 : err_raise(-ENOMEM);
}
