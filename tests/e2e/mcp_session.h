/* tests/e2e/mcp_session.h: `toolwire serve` as a client of one revision meets it: a request, its
 * answer, and what is at a place in the answer. */
#pragma once

#include "e2e/peer.h"

#include <stdbool.h>

#include "base/arena.h"
#include "base/span.h"
#include "json/json.h"

/* Every revision there is, oldest first. */
#define MCP_SESSION_REVISIONS                                                                      \
    {                                                                                              \
        "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"                       \
    }

typedef struct McpSession {
    Peer peer;
    const char *revision;
    char folder[64]; /* where the server runs */
    char place[96];  /* another one, of the test's own */
    Arena arena;
    char *line; /* the last answer */
    JsonValue answer;
    int n_sent;
} McpSession;

bool mcp_session_is_modern(const McpSession *s);

/* From when on a tool's failure is a result, and results are structured. */
bool mcp_session_tells_in_results(const McpSession *s);

/* Parameters are JSON members with ' for ". */
void mcp_session_send(McpSession *s, const char *method, const char *members);

/* The next message becomes the answer. */
void mcp_session_take(McpSession *s);

/* Both. */
void mcp_session_ask(McpSession *s, const char *method, const char *members);
void mcp_session_tool(McpSession *s, const char *name, const char *arguments);

/* By JSON pointer in the answer. */
bool mcp_session_has(const McpSession *s, const char *pointer);
Span mcp_session_at(const McpSession *s, const char *pointer);
void mcp_session_assert_at(const McpSession *s, const char *pointer, const char *json);
