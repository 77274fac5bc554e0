/* app/agent_tools.h: the tools of a router as a model is offered them, and what may become of its
 * calls. Thread: loop. */
#pragma once

#include "agent/model.h"
#include "agent/policy.h"
#include "agent/turn.h"
#include "base/logsink.h"
#include "router/router.h"

#include <stddef.h>

typedef struct AgentTools AgentTools;

/* Borrows everything until free. 0, -ENOMEM. Gives *ret. */
int agent_tools_new(AgentTools **ret, Router *router, const AgentRule *rules, size_t n_rules,
                    const LogSink *log);
AgentTools *agent_tools_free(AgentTools *tools);

/* Those that may be used at all, LIMIT_AGENT_TOOLS at most; borrowed until the router's tools
 * change. Without memory there are none. */
const AgentToolSpec *agent_tools_offer(AgentTools *tools, size_t *ret_n);

/* What the offer takes of a request, in bytes. */
size_t agent_tools_bytes(AgentTools *tools);

TurnJudgement agent_tools_judge(AgentTools *tools, Span name);
