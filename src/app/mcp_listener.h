/* app/mcp_listener.h: MCP clients on a Unix socket: any number, a line for each message, each with
 * a door of its own (app/mcp_door.h), all served by one router.
 *
 * A client that goes away or breaks the protocol ends its door, and no other notices. On shutdown
 * nobody is let in any more, each door comes to its orderly end, and `closed` is called. Thread:
 * loop.
 */
#pragma once

#include "app/mcp_door.h"
#include "base/diag.h"

#include <stddef.h>

typedef struct McpListener McpListener;

typedef struct McpListenerConfig {
    McpDoorConfig door;            /* of each client; in_fd, out_fd, closed and context are ours,
                                      limits (may be NULL) are copied, the rest is borrowed */
    const char *path;              /* of the socket (io/unix_socket.h); copied */
    void (*closed)(void *context); /* after shutdown, once, not from inside it; may free it */
    void *context;
} McpListenerConfig;

/* 0, a negative errno, UNIX_SOCKET_E_* (the Diag says why). Gives *ret. */
int mcp_listener_new(McpListener **ret, const McpListenerConfig *config, Diag *reterr_diag);

/* Removes the socket, closes every connection, cancels what still runs. */
McpListener *mcp_listener_free(McpListener *listener);

/* Other settings for those who connect from now on; as McpListenerConfig.door. */
void mcp_listener_update(McpListener *listener, const McpDoorConfig *door);

/* May come twice. */
void mcp_listener_shutdown(McpListener *listener);

/* Clients that are connected. */
size_t mcp_listener_n_clients(const McpListener *listener);
