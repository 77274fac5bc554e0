/* base/base64.h: bytes as text and back, RFC 4648.
 *
 * Two forms, each strict: BASE64_STANDARD (section 4: `+` and `/`) is written with padding and read
 * only with it; BASE64_URL (section 5: `-` and `_`) is written without padding and read only
 * without. In both, blanks, line breaks, letters of the other alphabet and bits left over that are
 * not zero are refused, so that one sequence of bytes has one text. Thread: any.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

#include <stddef.h>

enum {
    BASE64_E_SYNTAX = BYTES_E_FULL + 1, /* not that form of base64 */
};

typedef enum Base64Form {
    BASE64_STANDARD,
    BASE64_URL
} Base64Form;

/* Appends the text of data. 0, -ENOMEM, BYTES_E_FULL; on failure nothing was appended. */
int base64_encode(Bytes *out, Base64Form form, Span data);

/* Appends the bytes of text. 0, -ENOMEM, BYTES_E_FULL, BASE64_E_SYNTAX; on failure nothing was
 * appended. */
int base64_decode(Bytes *out, Base64Form form, Span text);
