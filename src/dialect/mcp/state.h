/* dialect/mcp/state.h: requestState: what a modern client brings back with its answers.
 *
 * base64url of a version byte, the expiry, what was asked, the answers of earlier rounds and the
 * provider's own state, then a code over all of it together with the method, the target and the
 * arguments (compared in compact form): it is good for this request, until then, and nobody else
 * can make one. Performs no I/O. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "dialect/mcp/server.h"
#include "json/json.h"

#include <stdint.h>

enum {
    MCP_STATE_E_FORGED = 1, /* not ours, changed, or for another request */
    MCP_STATE_E_EXPIRED,
    MCP_STATE_E_TOO_LARGE, /* LIMIT_MCP_STATE_BYTES */
};

typedef struct McpStateBinding {
    Span method;
    Span target;
    JsonValue arguments; /* node NULL if none; {} counts as none */
} McpStateBinding;

/* What is carried; each may be empty. */
typedef struct McpStateParts {
    Span asked;   /* JSON object: key of a question → its kind and schema */
    Span answers; /* JSON object: key of a question → answer, of all rounds so far */
    Span own;     /* the provider's; any bytes */
} McpStateParts;

/* Appends text (no quotes). scratch is used and not reset. 0, -ENOMEM, -EIO, BYTES_E_FULL as
 * MCP_STATE_E_TOO_LARGE. */
int mcp_state_seal(Bytes *out, Arena *scratch, const McpSealer *sealer,
                   const McpStateBinding *binding, int64_t expires_ms, const McpStateParts *parts);

/* The parts live in the arena. 0, -ENOMEM, -EIO, MCP_STATE_E_FORGED, MCP_STATE_E_EXPIRED,
 * MCP_STATE_E_TOO_LARGE. */
int mcp_state_open(Arena *arena, const McpSealer *sealer, const McpStateBinding *binding,
                   int64_t now_ms, Span text, McpStateParts *ret);
