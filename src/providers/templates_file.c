/* generate_template and validate_template: one template, and values for it. */
#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "providers/templates_impl.h"

/* The arguments of both: *ret_template NULL if the call has ended. 0, -ENOMEM. */
static int file_arguments(Templates *templates, Call *call, const Template **ret_template,
                          JsonValue *ret_parameters)
{
    Span uri;
    int r = templates_string(templates, call->arguments, "resource_uri", &uri);

    if (r != 0) {
        return err_pass(r);
    }
    *ret_parameters = JSON_VALUE_NULL;
    if (call->arguments.node != NULL) {
        (void)json_get(call->arguments, SPAN("parameters"), ret_parameters);
    }
    *ret_template = templates_find(templates, call, uri);
    return 0;
}

/* Writes the structured content; *ret_text is where the rendered text stands in it, as JSON. It is
 * the first member, so that all others can be told in one piece. */
static int file_write(Templates *templates, const TemplateFile *file, Span *ret_text)
{
    const Template *t = file->template;
    Span checksum = span_make(file->sha256, TEMPLATE_SHA256_HEX);
    size_t start;
    size_t n;
    JsonWriter w;
    int r;

    json_writer_init(&w, &templates->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("content"));
    start = templates->structured.n;
    json_write_string(&w, file->content);
    n = templates->structured.n - start;
    templates_write_text(&w, "filename", file->filename);
    templates_write_text(&w, "path", file->path);
    templates_write_text(&w, "checksum", checksum);
    templates_write_text(&w, "sha256", checksum);
    json_write_key(&w, SPAN("size"));
    json_write_uint(&w, file->content.n);
    json_write_key(&w, SPAN("executable"));
    json_write_bool(&w, file->executable);
    templates_write_text(&w, "mime_type", t->mime_type);
    templates_write_text(&w, "template_uri", t->uri_text);
    templates_write_toolchain(&w, t->uri.toolchain);
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    *ret_text = span_make(templates->structured.data + start, n);
    return r;
}

int templates_generate(Templates *templates, Call *call)
{
    const Template *t;
    JsonValue parameters;
    Span text;
    int r = file_arguments(templates, call, &t, &parameters);

    if (r != 0 || t == NULL) {
        return r;
    }
    r = template_project_one(&templates->project, t, parameters, clock_now_ms());
    if (r != 0) {
        return err_pass(r);
    }
    if (templates->project.n_files == 0) {
        templates_fail_file(templates, call, &templates->project.failures[0]);
        return 0;
    }
    r = file_write(templates, &templates->project.files[0], &text);
    if (r != 0) {
        return r;
    }
    {
        const Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"), text, SPAN("}")};
        CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);

        result.structured = bytes_span(&templates->structured);
        /* Behind the text and its comma: `content` itself has the blocks. */
        result.beside =
            templates_beside(templates, (size_t)(text.p - templates->structured.data) + text.n + 1);
        call_finish(call, &result);
    }
    return 0;
}

/* ---- validate_template ---- */

/* {"name": value} for each default that applies. */
static void validate_write_defaults(JsonWriter *w, const TemplateValues *values)
{
    json_write_object(w);
    for (size_t i = 0; i < values->n_defaulted; i++) {
        json_write_key(w, values->defaulted[i]->name);
        json_write_value(w, values->defaulted[i]->default_);
    }
    json_write_end_object(w);
}

/* Messages of those that are not about something missing, as the original has them. */
static void validate_write_messages(JsonWriter *w, const TemplateValues *values)
{
    json_write_array(w);
    for (size_t i = 0; i < values->n_faults; i++) {
        const TemplateFault *fault = &values->faults[i];

        if (!templates_is_missing(fault)) {
            json_write_string(w, fault->message);
        }
    }
    json_write_end_array(w);
}

static int validate_write(Templates *templates, const Template *t, const TemplateValues *values)
{
    const Span *variables = NULL;
    size_t n_variables = template_variables(t->content, &variables);
    JsonWriter w;

    json_writer_init(&w, &templates->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("valid"));
    json_write_bool(&w, values->n_faults == 0);
    templates_write_faults(&w, values->faults, values->n_faults, values->n_faults_total);
    json_write_key(&w, SPAN("missing_required"));
    templates_write_missing(&w, values->faults, values->n_faults);
    json_write_key(&w, SPAN("validation_errors"));
    validate_write_messages(&w, values);
    json_write_key(&w, SPAN("defaults"));
    validate_write_defaults(&w, values);
    json_write_key(&w, SPAN("variables"));
    json_write_array(&w);
    for (size_t i = 0; i < n_variables; i++) {
        json_write_string(&w, variables[i]);
    }
    json_write_end_array(&w);
    templates_write_text(&w, "template_uri", t->uri_text);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

static int validate_say_fault(Templates *templates, const TemplateFault *fault)
{
    CLEANUP(bytes_deinit) Bytes words = BYTES_NULL;
    int r;

    bytes_init(&words, TEMPLATES_ANSWER_BYTES);
    r = templates_write_fault(&words, fault);
    return r != 0 ? r : templates_say(templates, bytes_span(&words));
}

static int validate_say(Templates *templates, const TemplateValues *values)
{
    int r = templates_block(templates);

    if (values->n_faults == 0) {
        r = r != 0 ? r : templates_say(templates, SPAN("Template parameters are valid"));
    } else {
        r = r != 0 ? r
                   : templates_say_format(templates, "Validation failed: %zu error%s",
                                          values->n_faults_total,
                                          values->n_faults_total == 1 ? "" : "s");
        r = r != 0 ? r : templates_block_end(templates);
        r = r != 0 ? r : templates_block(templates);
    }
    for (size_t i = 0; r == 0 && i < values->n_faults; i++) {
        r = templates_say(templates, i == 0 ? SPAN("") : SPAN("\n"));
        r = r != 0 ? r : validate_say_fault(templates, &values->faults[i]);
    }
    if (r == 0 && values->n_faults_total > values->n_faults) {
        r = templates_say_format(templates, "\nand %zu more",
                                 values->n_faults_total - values->n_faults);
    }
    return r != 0 ? r : templates_block_end(templates);
}

int templates_validate(Templates *templates, Call *call)
{
    TemplateValues *values = &templates->values;
    const Template *t;
    JsonValue parameters;
    int r = file_arguments(templates, call, &t, &parameters);

    if (r != 0 || t == NULL) {
        return r;
    }
    r = template_values_check(values, t, parameters, NULL, NULL);
    r = r != 0 ? r : validate_write(templates, t, values);
    r = r != 0 ? r : validate_say(templates, values);
    if (r == 0) {
        templates_finish(templates, call, false);
    }
    return r;
}
