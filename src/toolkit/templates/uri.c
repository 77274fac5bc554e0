#include "toolkit/templates/uri.h"

#include <string.h>

static bool uri_is_small_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool template_uri_is_part(Span part)
{
    if (part.n == 0 || part.n > TEMPLATE_URI_PART_MAX || !uri_is_small_or_digit(part.p[0])) {
        return false;
    }
    for (size_t i = 1; i < part.n; i++) {
        char c = part.p[i];

        if (!uri_is_small_or_digit(c) && c != '-' && c != '_' && c != '.' && c != '+') {
            return false;
        }
    }
    return true;
}

/* Takes what stands before the next '/', or all if it is the last part. */
static Span uri_take_part(Span *rest, bool is_last)
{
    const char *slash = rest->n > 0 && !is_last ? memchr(rest->p, '/', rest->n) : NULL;
    Span part = *rest;

    if (slash == NULL) {
        *rest = SPAN_NULL;
        return part;
    }
    part.n = (size_t)(slash - rest->p);
    *rest = span_make(slash + 1, rest->n - part.n - 1);
    return part;
}

bool template_uri_parse(Span uri, TemplateUri *ret)
{
    Span scheme = SPAN(TEMPLATE_URI_SCHEME);
    TemplateUri parts;
    Span rest;

    if (!span_starts_with(uri, scheme)) {
        return false;
    }
    rest = span_make(uri.p + scheme.n, uri.n - scheme.n);
    parts.category = uri_take_part(&rest, false);
    parts.toolchain = uri_take_part(&rest, false);
    parts.variant = uri_take_part(&rest, true);
    if (!template_uri_is_part(parts.category) || !template_uri_is_part(parts.toolchain) ||
        !template_uri_is_part(parts.variant)) {
        return false;
    }
    *ret = parts;
    return true;
}
