/* dialect/mcp/render_content.h: what a provider made, for clients that know less. Of the renderers
 * alone.
 *
 * Content is spliced as it came wherever CallResult.content_kinds says that the revision knows it
 * all. The bits of known kinds vouch for plain blocks, with the members that every revision of the
 * kind has; CALL_CONTENT_UNKNOWN (or no bit at all) does not, and such content is looked through
 * for every revision but the newest, and parsed for that unless its provider has done so. Thread:
 * any.
 */
#pragma once

#include "base/arena.h"
#include "call/result.h"
#include "dialect/mcp/render_out.h"
#include "dialect/mcp/revision.h"

enum {
    MCP_CONTENT_E_MALFORMED = 1, /* the pieces are not JSON, against their contract */
};

/* Content that is ready to be appended. */
typedef struct McpContent {
    const CallResult *result;
    McpRevision revision;
    JsonValue elements; /* parsed, if some must be replaced; node NULL if it is spliced */
} McpContent;

/* Decides how, and parses where it must. 0, -ENOMEM, MCP_CONTENT_E_MALFORMED. */
int mcp_content_prepare(McpContent *ret, Arena *scratch, McpRevision revision,
                        const CallResult *result);

/* Appends the elements with their commas, without brackets. */
void mcp_out_content(McpOut *o, const McpContent *content);

/* The members of a tool's result but for `_meta`: content, structuredContent, isError… */
void mcp_out_tool_members(McpOut *o, const McpContent *content);

/* Bytes that it takes if it is spliced, for reserving. */
size_t mcp_content_size(const CallResult *result);
