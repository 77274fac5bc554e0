/* base/escape.h: text as the content of a JSON string. Thread: any. */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

#include <stdbool.h>

/* Appends s, which is valid UTF-8, without quotes around it. Escaped are `"`, `\`, the controls
 * below U+0020
 * (\b \f \n \r \t, else \u00xx), and U+2028 and U+2029, which end a line in older JavaScript and in
 * tools that split lines by Unicode. All else is copied as it is. 0, -ENOMEM, BYTES_E_FULL; on
 * failure nothing was appended. */
int escape_json(Bytes *out, Span s);

/* Whether escape_json would change anything. */
bool escape_json_needed(Span s);
