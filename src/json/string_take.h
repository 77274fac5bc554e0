/* json/string_take.h: a string of the index, code point by code point. Private to src/json. */
#pragma once

#include "json/json.h"

/* What stands between the quotes of the string v. */
TW_INLINE Span json_string_content(JsonValue v)
{
    return span_make(v.text + v.node->start + 1, v.node->size - 2);
}

/* Takes one code point, escaped or not, from the front of the valid *rest (not empty) into out;
 * returns its length in bytes. */
unsigned json_string_take(Span *rest, char out[4]);

/* The same with U+FFFD for a lone surrogate, which json_string_take leaves as it is (three bytes
 * that are no UTF-8), so that different strings stay different. */
unsigned json_string_take_utf8(Span *rest, char out[4]);
