/* tests/support/mcp_schema.h: the official schemas of MCP, checked by our own validator.
 *
 * Every message that a test makes us send is held against the schema of its revision. Failures end
 * the test with the message and what is wrong with it. The schemas lie outside the repository: a
 * test program calls mcp_schema_require first and is skipped without them. Compiled schemas are
 * kept for the life of the program, so nothing here may be called inside an OOM sweep.
 */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "dialect/mcp/revision.h"
#include "json/json.h"

#include <stdbool.h>

/* Ends the program as skipped if the schemas are not there. */
void mcp_schema_require(void);

/* For a test that has more to do than this: false if they are not there, which the first call says
 * on stderr (stdout may be the wire). */
bool mcp_schema_is_there(void);

/* A message that a server sends: notification, request, result or error. method: of the request
 * that it answers, which chooses the definition of the result; NULL (or a method that the revision
 * does not know) checks the envelope only. A result may hold nothing that its definition does not
 * name; one of a tool in a revision without structured content nothing that a later one names. An
 * error whose id is null is checked without it, since the schemas have no such id where JSON-RPC
 * wants it. */
void mcp_schema_assert_message(McpRevision revision, const char *method, Span message);

/* The same for a message that a client sends; method: of the server's request that it answers. */
void mcp_schema_assert_client_message(McpRevision revision, const char *method, Span message);

/* Both, without ending the test. */
typedef enum McpSchemaSide {
    MCP_SCHEMA_SERVER,
    MCP_SCHEMA_CLIENT
} McpSchemaSide;
bool mcp_schema_allows(McpRevision revision, McpSchemaSide side, const char *method, Span message);

/* Any value against a definition by name ("Tool"), which must exist. False if it is not valid; *ret
 * (optional, NUL-terminated, n bytes) then says why. */
bool mcp_schema_is_valid(McpRevision revision, const char *definition, JsonValue value, char *ret,
                         size_t n);

/* The definition itself, as JSON; false if the revision has none of that name. */
bool mcp_schema_definition(McpRevision revision, const char *definition, JsonValue *ret);
