/* dialect/mcp/answer.h: what an answer of a client to a question must look like. Thread: any. */
#pragma once

#include "base/span.h"
#include "call/result.h"
#include "json/json.h"

enum {
    MCP_ANSWER_E_MALFORMED = 1,
};

/* What is wrong with an answer: "/content/name: expected string, got number". */
typedef struct McpProblem {
    char text[192];
} McpProblem;

/* Is it an answer to a question of that kind? schema: of a form, JSON; empty, or none that can be
 * compiled: the content may be any object. 0, MCP_ANSWER_E_MALFORMED with *problem set, -ENOMEM. */
int mcp_answer_check(CallAskKind kind, Span schema, JsonValue answer, McpProblem *problem);
