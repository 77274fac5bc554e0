/* tests/support/mcp_watch.h: stands beside a wire and holds what we send against the official
 * schemas (support/mcp_schema.h).
 *
 * The bytes of both directions are shown to it, in pieces of any size, a request before its answer.
 * It knows by the ids which request each answer belongs to, and of which revision it is: a request
 * whose _meta names a protocol version is modern, any other has the revision that `initialize`
 * agreed on. A line that is not valid, and an answer that nobody asked for, fail the test. What the
 * other side sends may be broken. Without the schemas nothing is checked, and the output says so.
 * Not inside an OOM sweep.
 */
#pragma once

#include "dialect/mcp/revision.h"

#include <stdbool.h>
#include <stddef.h>

/* The sides that are ours. */
enum {
    MCP_WATCH_SERVER = 1u << 0,
    MCP_WATCH_CLIENT = 1u << 1
};

typedef struct McpWatchCall McpWatchCall;

/* Requests that wait for their answers, oldest first. */
typedef struct McpWatchCalls {
    McpWatchCall *first;
    McpWatchCall *last;
} McpWatchCalls;

/* The beginning of a line whose end has not come yet. */
typedef struct McpWatchLine {
    char *data;
    size_t n;
    size_t cap;
} McpWatchLine;

typedef struct McpWatch {
    unsigned ours;
    bool is_agreed; /* initialize was answered */
    McpRevision revision;
    McpWatchCalls of_client;
    McpWatchCalls of_server;
    McpWatchLine from_client;
    McpWatchLine from_server;
    size_t n_checked; /* messages that were found valid */
} McpWatch;

void mcp_watch_init(McpWatch *watch, unsigned ours);
/* A zeroed one is fine; it watched nothing. */
void mcp_watch_deinit(McpWatch *watch);

void mcp_watch_client_sends(McpWatch *watch, const void *p, size_t n);
void mcp_watch_server_sends(McpWatch *watch, const void *p, size_t n);

/* The client sends no more: what is left is its last line. */
void mcp_watch_client_ends(McpWatch *watch);
