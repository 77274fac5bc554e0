/* dialect/mcp/state.h: requestState: what a modern client brings back with its answers.
 *
 * base64url of a version byte, the expiry, the answers of earlier rounds and the provider's own
 * state, then a code over all of it together with the method, the target and the arguments
 * (compared in compact form): it is good for this request, until then, and nobody else can make
 * one. Performs no I/O. Thread: any.
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

/* answers: JSON object of all answers so far, or empty. Appends text (no quotes). scratch is used
 * and not reset. 0, -ENOMEM, -EIO, BYTES_E_FULL as MCP_STATE_E_TOO_LARGE. */
int mcp_state_seal(Bytes *out, Arena *scratch, const McpSealer *sealer,
                   const McpStateBinding *binding, int64_t expires_ms, Span answers, Span state);

/* *ret_answers (JSON object or empty) and *ret_state live in the arena. 0, -ENOMEM, -EIO,
 * MCP_STATE_E_FORGED, MCP_STATE_E_EXPIRED, MCP_STATE_E_TOO_LARGE. */
int mcp_state_open(Arena *arena, const McpSealer *sealer, const McpStateBinding *binding,
                   int64_t now_ms, Span text, Span *ret_answers, Span *ret_state);
