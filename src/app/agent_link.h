/* app/agent_link.h: the tools of a hub that runs for the same state folder, in our router.
 *
 * One MCP session with the hub's socket. Its tools are added to the router as they are listed; a
 * call of one is a tools/call there. When the hub goes, its calls end with words that say so, and
 * the tools stay: the next turn connects again (agent_link_refresh), and finds them or others.
 * Thread: loop.
 */
#pragma once

#include "base/logsink.h"
#include "io/loop.h"
#include "router/router.h"

#include <stdbool.h>

typedef struct AgentLink AgentLink;

typedef struct AgentLinkConfig {
    IoLoop *loop;
    Router *router;
    const char *path;   /* of the hub's socket; copied */
    const LogSink *log; /* may be NULL */
    /* The tools are there, or cannot be had for now: whoever waits need not any more. */
    void (*settled)(void *context);
    void *context;
} AgentLinkConfig;

/* Begins to connect. 0, -ENOMEM. Gives *ret. */
int agent_link_new(AgentLink **ret, const AgentLinkConfig *config);

/* Ends its calls (unavailable), and takes the tools out of the router. */
AgentLink *agent_link_free(AgentLink *link);

/* Before a turn: connects again if the hub had gone. True: the tools are as they can be; false:
 * settled follows. May be NULL. */
bool agent_link_refresh(AgentLink *link);

bool agent_link_is_connected(const AgentLink *link);
