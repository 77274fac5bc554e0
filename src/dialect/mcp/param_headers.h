/* dialect/mcp/param_headers.h: which arguments of a tool its schema wants to be said in HTTP
 * headers, too (2026-07-28, `x-mcp-header`). Thread: any.
 *
 * A property counts if only `properties` lead to it from the root of the schema, if it is a string,
 * an integer or a boolean, and if what it carries is the rest of a field name that no other
 * property has, case apart. An annotation that breaks a rule is overlooked: clients are to drop
 * such a tool, and nobody can be held to what it says.
 */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "json/json.h"

#include <stddef.h>

typedef struct McpParamHeader {
    Span name;       /* "Mcp-Param-Region" */
    JsonValue value; /* of the argument, null included; node NULL if there is none */
} McpParamHeader;

/* All of them, in order of their names. schema: inputSchema, any value; arguments: any value, or
 * node NULL. The array is in the arena, and borrows both. 0, -ENOMEM. */
int mcp_param_headers(JsonValue schema, JsonValue arguments, Arena *arena,
                      McpParamHeader **ret_headers, size_t *ret_n);

/* As a client has to look at it: false if the schema has an annotation that counts for nothing, for
 * it breaks a rule, or stands where nothing but `properties` does not lead; such a tool is not to
 * be used over HTTP. 0, -ENOMEM. */
int mcp_param_headers_check(JsonValue schema, Arena *arena, bool *ret_ok);
