#include "toolkit/templates/project_names.h"

#include <string.h>

#include "base/error.h"

/* What a name says; variant is empty if it is not said. */
static bool name_split(Span toolchain, Span name, TemplateUri *ret)
{
    const char *slash = name.n > 0 ? memchr(name.p, '/', name.n) : NULL;
    size_t n = slash != NULL ? (size_t)(slash - name.p) : name.n;

    if (span_starts_with(name, SPAN(TEMPLATE_URI_SCHEME))) {
        return template_uri_parse(name, ret);
    }
    *ret = (TemplateUri){.category = span_make(name.p, n), .toolchain = toolchain};
    if (slash != NULL) {
        ret->variant = span_make(slash + 1, name.n - n - 1);
    }
    return template_uri_is_part(ret->category) && template_uri_is_part(toolchain) &&
           (slash == NULL || template_uri_is_part(ret->variant));
}

const Template *project_find(const TemplateCatalog *catalog, Span toolchain, Span name,
                             bool *ret_is_uri)
{
    const Template *first = NULL;
    TemplateUri uri;
    TemplateFilter filter;

    *ret_is_uri = name_split(toolchain, name, &uri);
    if (!*ret_is_uri) {
        return NULL;
    }
    filter = (TemplateFilter){uri.toolchain, uri.category, uri.variant};
    for (size_t i = 0; i < template_catalog_count(catalog); i++) {
        const Template *t = template_catalog_at(catalog, i);

        if (!template_matches(t, &filter)) {
            continue;
        }
        if (uri.variant.n > 0 || span_equals(t->uri.variant, SPAN("cli"))) {
            return t;
        }
        first = first != NULL ? first : t;
    }
    return first;
}

int project_write_not_found(Bytes *out, Span toolchain, Span name, bool is_uri)
{
    TemplateUri uri;

    if (!is_uri || !name_split(toolchain, name, &uri)) {
        return bytes_append_format(out, "Invalid template URI: %.*s",
                                   (int)(name.n < 200 ? name.n : 200), name.n > 0 ? name.p : "");
    }
    if (uri.variant.n == 0) {
        uri.variant = SPAN("cli");
    }
    return bytes_append_format(out, "Template not found: " TEMPLATE_URI_SCHEME "%.*s/%.*s/%.*s",
                               (int)uri.category.n, uri.category.p, (int)uri.toolchain.n,
                               uri.toolchain.p, (int)uri.variant.n, uri.variant.p);
}
