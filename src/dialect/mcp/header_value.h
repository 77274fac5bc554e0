/* dialect/mcp/header_value.h: what a modern client says in headers beside the body (Mcp-Name,
 * Mcp-Param-*). Thread: any.
 *
 * Visible ASCII with blanks and tabs inside goes as it is. Anything else, and what would be taken
 * for it, goes as `=?base64?…?=`, the base64 of its UTF-8.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "json/json.h"

enum {
    MCP_HEADER_E_NONE = BYTES_E_FULL + 1, /* null, an array or an object: there is no header */
};

/* Appends the header's form of a text. 0, -ENOMEM, BYTES_E_FULL. */
int mcp_header_text(Bytes *out, Span text);

/* The same of an argument: a string, an integer in decimal, true or false. 0, -ENOMEM,
 * BYTES_E_FULL, MCP_HEADER_E_NONE. */
int mcp_header_value(Bytes *out, JsonValue value);
