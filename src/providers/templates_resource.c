/* Every template as a resource, and completion of its URI. */
#include <errno.h>

#include "base/error.h"
#include "base/text.h"
#include "providers/templates_impl.h"

int templates_describe_resource(const Template *t, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    templates_write_text(&w, "uri", t->uri_text);
    templates_write_text(&w, "name", t->name);
    if (t->description.n > 0) {
        templates_write_text(&w, "description", t->description);
    }
    templates_write_text(&w, "mimeType", t->mime_type);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

static void resource_read(Templates *templates, Call *call)
{
    const Template *t = templates_find(templates, call, call->target);

    if (t != NULL) {
        call_answer_reset(&templates->answer, CALL_RESULT_RESOURCE);
        call_answer_contents_text(&templates->answer, t->uri_text, t->mime_type, t->text);
        call_answer_finish(&templates->answer, call);
    }
}

/* ---- completion ---- */

static bool begins_with(Span text, Span typed)
{
    return text.n >= typed.n && text_equals_nocase(span_make(text.p, typed.n), typed);
}

static bool resource_has(const TemplateCatalog *catalog, const TemplateFilter *filter)
{
    for (size_t i = 0; i < template_catalog_count(catalog); i++) {
        if (template_matches(template_catalog_at(catalog, i), filter)) {
            return true;
        }
    }
    return false;
}

/* The values of one variable (part of filter) that go with what was chosen for the others. */
static void resource_complete_part(Templates *templates, TemplateFilter *filter, Span *part,
                                   const Span *values, size_t n, Span typed)
{
    int64_t total = 0;

    for (size_t i = 0; i < n; i++) {
        *part = values[i];
        if (begins_with(values[i], typed) && resource_has(templates->catalog, filter)) {
            call_answer_value(&templates->answer, values[i]);
            total++;
        }
    }
    templates->answer.result.total = total;
}

static void resource_complete(Templates *templates, Call *call)
{
    const CallCompletion *completion = &call->completion;
    const TemplateCatalog *catalog = templates->catalog;
    TemplateFilter filter = {.variant = SPAN_NULL};
    const Span *values = NULL;
    size_t n = 0;
    int r = templates_string(templates, completion->context, "toolchain", &filter.toolchain);

    r = r != 0 ? r : templates_string(templates, completion->context, "category", &filter.category);
    r = r != 0 ? r : templates_string(templates, completion->context, "variant", &filter.variant);
    if (r != 0) {
        templates_fail_system(call, r);
        return;
    }
    call_answer_reset(&templates->answer, CALL_RESULT_COMPLETION);
    templates->answer.result.total = 0;
    if (span_equals(completion->argument, SPAN("category"))) {
        n = template_catalog_categories(catalog, &values);
        resource_complete_part(templates, &filter, &filter.category, values, n, completion->value);
    } else if (span_equals(completion->argument, SPAN("toolchain"))) {
        n = template_catalog_toolchains(catalog, &values);
        resource_complete_part(templates, &filter, &filter.toolchain, values, n, completion->value);
    } else if (span_equals(completion->argument, SPAN("variant"))) {
        n = template_catalog_variants(catalog, &values);
        resource_complete_part(templates, &filter, &filter.variant, values, n, completion->value);
    }
    call_answer_finish(&templates->answer, call);
}

static void resource_start(void *context, Call *call)
{
    Templates *templates = context;

    if (templates->catalog == NULL) {
        templates_fail_system(call, -ENOMEM); /* it could not be read just now */
        return;
    }
    templates_begin(templates);
    if (call->verb == CALL_COMPLETE) {
        resource_complete(templates, call);
    } else {
        resource_read(templates, call);
    }
}

const CallProvider templates_resource_provider = {.name = "templates", .start = resource_start};
