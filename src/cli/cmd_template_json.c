#include "cli/cmd_template_json.h"

#include "cli/cmd_template_catalog.h"

/* Of all that one sub-command prints: 65,536 templates of 4 KiB each, and a project of 8 MiB. */
#define TEMPLATE_JSON_BYTES ((size_t)512 * 1024 * 1024)

void template_json_member(JsonWriter *w, const char *key, Span value)
{
    json_write_key(w, span_from_str(key));
    json_write_string(w, value);
}

void template_json_toolchain(JsonWriter *w, Span toolchain)
{
    json_write_key(w, SPAN("toolchain"));
    json_write_object(w);
    template_json_member(w, "type", toolchain);
    json_write_end_object(w);
}

void template_json_head(JsonWriter *w, const Template *t)
{
    template_json_member(w, "uri", t->uri_text);
    template_json_member(w, "name", t->name);
    template_json_member(w, "description", t->description);
    template_json_member(w, "category", t->uri.category);
    template_json_toolchain(w, t->uri.toolchain);
    template_json_member(w, "variant", t->uri.variant);
}

static void json_write_parameter(JsonWriter *w, const TemplateParameter *p)
{
    json_write_object(w);
    template_json_member(w, "name", p->name);
    template_json_member(w, "type", span_from_str(template_type_name(p->type)));
    json_write_key(w, SPAN("required"));
    json_write_bool(w, p->required);
    template_json_member(w, "description", p->description);
    if (p->default_.node != NULL) {
        json_write_key(w, SPAN("default"));
        json_write_value(w, p->default_);
    }
    if (p->pattern.n > 0) {
        template_json_member(w, "pattern", p->pattern);
    }
    if (p->has_minimum) {
        json_write_key(w, SPAN("minimum"));
        json_write_int(w, p->minimum);
    }
    if (p->has_maximum) {
        json_write_key(w, SPAN("maximum"));
        json_write_int(w, p->maximum);
    }
    if (p->choices.node != NULL) {
        json_write_key(w, SPAN("choices"));
        json_write_value(w, p->choices);
    }
    if (p->unique) {
        json_write_key(w, SPAN("unique"));
        json_write_bool(w, true);
    }
    if (p->reserved.node != NULL) {
        json_write_key(w, SPAN("reserved"));
        json_write_value(w, p->reserved);
    }
    json_write_end_object(w);
}

void template_json_write(JsonWriter *w, const Template *t, bool with_source)
{
    json_write_object(w);
    template_json_head(w, t);
    template_json_member(w, "version", t->version);
    template_json_member(w, "output", t->output);
    template_json_member(w, "mime_type", t->mime_type);
    json_write_key(w, SPAN("executable"));
    json_write_bool(w, t->executable);
    if (t->when.n > 0) {
        template_json_member(w, "when", t->when);
    }
    json_write_key(w, SPAN("parameters"));
    json_write_array(w);
    for (size_t i = 0; i < t->n_parameters; i++) {
        json_write_parameter(w, &t->parameters[i]);
    }
    json_write_end_array(w);
    json_write_key(w, SPAN("parameters_schema"));
    json_write_raw(w, t->schema);
    if (with_source) {
        template_json_member(w, "source", t->text);
    }
    json_write_end_object(w);
}

void template_json_faults(JsonWriter *w, const TemplateFault *const *faults, size_t n)
{
    json_write_array(w);
    for (size_t i = 0; i < n; i++) {
        json_write_object(w);
        template_json_member(w, "parameter", faults[i]->parameter);
        template_json_member(w, "code", span_from_str(faults[i]->code));
        template_json_member(w, "message", faults[i]->message);
        if (faults[i]->expected.n > 0) {
            template_json_member(w, "expected", faults[i]->expected);
        }
        if (faults[i]->got.n > 0) {
            json_write_key(w, SPAN("got"));
            /* No JSON value ends in a dot: what does was cut, and is no JSON any more. */
            if (span_ends_with(faults[i]->got, SPAN("..."))) {
                json_write_string(w, faults[i]->got);
            } else {
                json_write_raw(w, faults[i]->got);
            }
        }
        json_write_end_object(w);
    }
    json_write_end_array(w);
}

void template_json_file(JsonWriter *w, const TemplateFile *file)
{
    template_json_member(w, "template", file->template->uri_text);
    template_json_member(w, "path", file->path);
    json_write_key(w, SPAN("size"));
    json_write_uint(w, file->content.n);
    template_json_member(w, "checksum", span_from_str(file->sha256));
    json_write_key(w, SPAN("executable"));
    json_write_bool(w, file->executable);
}

int template_json_print(const CliArgs *args, JsonWriter *w)
{
    Bytes *out = w->out;

    if (json_writer_finish(w) != 0) {
        return template_cli_no_memory(args);
    }
    (void)fwrite(out->data, 1, out->n, stdout);
    (void)putc('\n', stdout);
    return CLI_EXIT_DONE;
}

/* As the MCP tools have them; here they are always the same, since nothing is left out. */
static void json_write_counts(JsonWriter *w, uint64_t n)
{
    json_write_key(w, SPAN("count"));
    json_write_uint(w, n);
    json_write_key(w, SPAN("total"));
    json_write_uint(w, n);
}

int template_json_print_list(const CliArgs *args, const TemplateCatalog *catalog,
                             const TemplateFilter *filter)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    uint64_t n = 0;
    JsonWriter w;

    bytes_init(&out, TEMPLATE_JSON_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("templates"));
    json_write_array(&w);
    for (size_t i = 0; i < template_catalog_count(catalog); i++) {
        if (template_matches(template_catalog_at(catalog, i), filter)) {
            template_json_write(&w, template_catalog_at(catalog, i), false);
            n++;
        }
    }
    json_write_end_array(&w);
    json_write_counts(&w, n);
    json_write_end_object(&w);
    return template_json_print(args, &w);
}

int template_json_print_hits(const CliArgs *args, Span query, const TemplateHit *hits, size_t n)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    JsonWriter w;

    bytes_init(&out, TEMPLATE_JSON_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("templates"));
    json_write_array(&w);
    for (size_t i = 0; i < n; i++) {
        json_write_object(&w);
        template_json_head(&w, hits[i].template);
        json_write_key(&w, SPAN("relevance"));
        json_write_int(&w, hits[i].relevance);
        json_write_end_object(&w);
    }
    json_write_end_array(&w);
    template_json_member(&w, "query", query);
    json_write_counts(&w, n);
    json_write_end_object(&w);
    return template_json_print(args, &w);
}
