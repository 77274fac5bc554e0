/* dialect/mcp/render_error.h: calls that have no result. Of the renderers alone. Thread: any. */
#pragma once

#include "base/arena.h"
#include "call/result.h"
#include "dialect/mcp/render_out.h"

/* A result of kind CALL_RESULT_ERROR: a JSON-RPC error, or a tool's result with isError. */
void mcp_out_call_error(McpOut *o, Arena *scratch, const McpReply *reply, const CallResult *result);

/* Is the error told as a tool's result in that revision? Then its members are these, up to isError;
 * else it is this object. */
bool mcp_error_is_report(McpRevision revision, CallError error);
void mcp_out_tool_failure(McpOut *o, const CallResult *result);
void mcp_out_error_object(McpOut *o, const McpReply *reply, const CallResult *result);

/* The provider gave what no answer to this request can be. */
void mcp_out_broken_result(McpOut *o, Arena *scratch, const McpReply *reply);
