/* toolkit/templates/helpers.h: the functions that templates may call, by name.
 *
 *     snake_case TEXT    "HelloWorld" -> hello_world: a '_' before each capital that follows no
 *                        capital, small letters, '-' and blanks become '_'
 *     kebab_case TEXT    the same with '-'
 *     pascal_case TEXT   hello_world -> HelloWorld: '_', '-' and blanks go, the letter behind each
 *                        is a capital
 *     upper, lower TEXT
 *     title TEXT         each word begins with a capital; '_', '-' and blanks end a word and stay
 *     default VALUE ELSE ELSE if VALUE is missing, null, "" or an empty array
 *     join ARRAY TEXT    the elements with TEXT between them; nothing if it is missing or null
 *     current_year       of the time given to template_render, in UTC
 *     current_date       2025-01-15
 *
 * Letters are those of ASCII; others stay as they are. Private to the engine. Thread: any.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "toolkit/templates/engine_impl.h"

#include <stdint.h>

typedef struct TemplateHelperCall {
    const TemplateValue *args;
    Span text; /* of the first argument, where the helper wants text there */
    Span separator;
    int64_t unix_ms;
} TemplateHelperCall;

typedef struct TemplateHelper {
    const char *name;
    uint8_t n_args;
    bool wants_text;  /* the first argument must be text */
    bool wants_array; /* the first must be an array or missing, the second text */
    /* Appends the result. NULL: the result is the first argument, or the second if it is nothing.
     * 0, -ENOMEM, BYTES_E_FULL. */
    int (*write_fn)(const TemplateHelperCall *call, Bytes *out);
} TemplateHelper;

/* NULL if there is none of that name. */
const TemplateHelper *template_helper_find(Span name, uint8_t *ret_index);
const TemplateHelper *template_helper_at(uint8_t index);
/* The known helper whose name is nearest, for "did you mean"; NULL if none is near. */
const char *template_helper_nearest(Span name);
