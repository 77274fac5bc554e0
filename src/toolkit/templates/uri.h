/* toolkit/templates/uri.h: template://CATEGORY/TOOLCHAIN/VARIANT, and nothing else. Thread: any. */
#pragma once

#include "base/span.h"

#include <stdbool.h>

#define TEMPLATE_URI_SCHEME   "template://"
#define TEMPLATE_URI_TEMPLATE "template://{category}/{toolchain}/{variant}"

/* Of a part: "python-uv", "makefile". */
#define TEMPLATE_URI_PART_MAX 64

typedef struct TemplateUri {
    Span category;
    Span toolchain;
    Span variant;
} TemplateUri;

/* Exactly three parts of small letters, digits, '-', '_', '.' and '+', beginning with a letter or
 * digit, no percent signs: what a file system could read otherwise is no URI of a template. Borrows
 * uri. */
bool template_uri_parse(Span uri, TemplateUri *ret);
bool template_uri_is_part(Span part);
