/* dialect/mcp/render_error.h: calls that have no result. Of the renderers alone. Thread: any. */
#pragma once

#include "base/arena.h"
#include "call/result.h"
#include "dialect/mcp/render_out.h"

/* A result of kind CALL_RESULT_ERROR: a JSON-RPC error, or a tool's result with isError. */
void mcp_out_call_error(McpOut *o, Arena *scratch, const McpReply *reply, const CallResult *result);

/* The provider gave what no answer to this request can be. */
void mcp_out_broken_result(McpOut *o, Arena *scratch, const McpReply *reply);
