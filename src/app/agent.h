/* app/agent.h: the agent runtime on standard input and output: requests of a shell in, the answers
 * of a language model and what its tools do out (docs/agent.md). Thread: loop.
 */
#pragma once

#include "app/config.h"
#include "base/diag.h"
#include "base/logsink.h"

#include <stdbool.h>

enum {
    AGENT_E_TOOLS = 1, /* the tools cannot be offered; the Diag says why */
    AGENT_E_ROOT,      /* nor the files of the root */
    AGENT_E_MODEL,     /* there is no such model */
    AGENT_E_SYSTEM,    /* the file of the prompt cannot be read */
};

typedef struct AgentOptions {
    const Config *config;
    const char *hub_path; /* the socket of a hub whose tools are used in place of our own; may be
                             NULL */
    bool diagnostics;     /* as in ServeOptions */
    bool trace;           /* show the protocol on stderr */
    const LogSink *log;   /* may be NULL */
} AgentOptions;

/* Serves until the shell has closed its end, SIGTERM, SIGINT or SIGHUP; turns that run may end, for
 * agent.grace_ms, and are cut then; a second signal cuts them at once. What was said is on disk on
 * return. 0, a negative errno, AGENT_E_*. For a process that ends afterwards, as serve_stdio. */
int agent_stdio(const AgentOptions *options, Diag *reterr_diag);
