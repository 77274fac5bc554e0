/* dialect/mcp/revision.h: the five revisions of MCP, and what each of them knows. Thread: any. */
#pragma once

#include "base/span.h"

#include <stdbool.h>

/* In order of time: comparisons by < and >= are meant. */
typedef enum McpRevision {
    MCP_2024_11_05,
    MCP_2025_03_26,
    MCP_2025_06_18,
    MCP_2025_11_25,
    MCP_2026_07_28,
    MCP_N_REVISIONS
} McpRevision;

/* The newest one that has `initialize`; and the first that has not. */
#define MCP_NEWEST_LEGACY MCP_2025_11_25
#define MCP_FIRST_MODERN  MCP_2026_07_28

/* "2024-11-05"… */
Span mcp_revision_text(McpRevision revision);

/* False for a version that we do not speak. */
bool mcp_revision_parse(Span text, McpRevision *ret);
