#include "dialect/mcp/revision.h"

#include "base/compiler.h"

static const Span revision_texts[MCP_N_REVISIONS] = {
    [MCP_2024_11_05] = {"2024-11-05", 10}, [MCP_2025_03_26] = {"2025-03-26", 10},
    [MCP_2025_06_18] = {"2025-06-18", 10}, [MCP_2025_11_25] = {"2025-11-25", 10},
    [MCP_2026_07_28] = {"2026-07-28", 10},
};

Span mcp_revision_text(McpRevision revision)
{
    return revision_texts[revision];
}

bool mcp_revision_parse(Span text, McpRevision *ret)
{
    for (size_t i = 0; i < MCP_N_REVISIONS; i++) {
        if (span_equals(text, revision_texts[i])) {
            *ret = (McpRevision)i;
            return true;
        }
    }
    return false;
}
