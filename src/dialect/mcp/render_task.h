/* dialect/mcp/render_task.h: tasks, in the form of the two revisions that have them. Of the
 * renderers alone. Thread: any. */
#pragma once

#include "base/arena.h"
#include "call/result.h"
#include "dialect/mcp/render_out.h"

#include <stdbool.h>

/* Is it an answer that says how one task or several stand, or that one was cancelled? */
bool mcp_is_task_answer(const McpReply *reply, const CallResult *result);
void mcp_out_task_answer(McpOut *o, Arena *scratch, const McpReply *reply,
                         const CallResult *result);
