/* app/serve.h: the MCP server on standard input and output: hub, providers, door, signals. Thread:
 * loop. */
#pragma once

#include "app/config.h"
#include "base/diag.h"
#include "base/logsink.h"
#include "dialect/mcp/server.h"

#include <stdbool.h>

enum {
    SERVE_E_TOOLS = 1, /* the tools cannot be offered; the Diag says why */
    SERVE_E_PARENT,    /* nor those of the parent at call_socket */
    SERVE_E_PIPE,      /* the pipe cannot be there, or another live process has it */
    SERVE_E_TEMPLATES, /* a folder of templates, or write_root, cannot be used */
};

typedef struct ServeOptions {
    const Config *config;
    bool diagnostics;            /* offer echo, sleep and fail, too */
    const McpIdentity *identity; /* NULL: "toolwire" */
    const LogSink *log;
} ServeOptions;

/* Serves until the client has gone, SIGTERM, SIGINT, SIGHUP, or the end of the parent process;
 * calls in flight are given time to finish. 0, a negative errno, SERVE_E_*.
 *
 * For a process that ends afterwards: the three signals are blocked on return, so that one that
 * comes late does not spoil the exit status; one that comes while the tools are read waits until
 * they have been, and ends it then. */
int serve_stdio(const ServeOptions *options, Diag *reterr_diag);
