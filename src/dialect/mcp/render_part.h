/* dialect/mcp/render_part.h: what MCP's objects look like in each revision: entries of lists,
 * content blocks and resource contents. Of the renderers alone.
 *
 * One table (render_part.c) says which members came or went with which revision. All else is kept
 * in every revision: members that no revision defines are somebody's extension, every schema allows
 * them, and a hub that dropped them would break the two who agreed on them. Thread: any.
 */
#pragma once

#include "dialect/mcp/render_out.h"
#include "dialect/mcp/revision.h"
#include "json/json.h"

#include <stdbool.h>

typedef enum McpPart {
    MCP_PART_TOOL,
    MCP_PART_RESOURCE,
    MCP_PART_TEMPLATE,
    MCP_PART_PROMPT,
    MCP_PART_PROMPT_ARGUMENT,
    MCP_PART_TEXT,
    MCP_PART_IMAGE,
    MCP_PART_AUDIO,
    MCP_PART_EMBEDDED,
    MCP_PART_LINK,
    MCP_PART_CONTENTS,
    MCP_N_PARTS
} McpPart;

/* Whether the revision knows all of it, so that it can be passed on as it is. */
bool mcp_part_is_whole(McpRevision revision, McpPart part, JsonValue value);

/* Appends value, which is spliced whole where the revision knows all of it. */
void mcp_out_part(McpOut *o, McpRevision revision, McpPart part, JsonValue value);
