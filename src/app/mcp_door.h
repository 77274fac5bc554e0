/* app/mcp_door.h: MCP clients on a pair of descriptors, served by a router.
 *
 * Joins io/stream, frame/ndjson, dialect/mcp and the router. Stops reading while the client does
 * not read its answers. When input ends, or on mcp_door_shutdown, calls in flight get drain_ms to
 * finish, are cancelled then, and `closed` is called once everything is written or cannot be. A
 * client on a socket that has closed all of it, not only its sending side, waits for nothing: its
 * calls are cancelled at once.
 * Thread: loop.
 */
#pragma once

#include "base/logsink.h"
#include "dialect/mcp/server.h"
#include "io/loop.h"
#include "router/quota.h"
#include "router/router.h"

typedef struct McpDoor McpDoor;

typedef struct McpDoorConfig {
    IoLoop *loop;
    Router *router;
    const McpIdentity *identity;          /* borrowed */
    const RouterLimits *limits;           /* borrowed until return; may be NULL */
    const McpSealer *sealer;              /* borrowed */
    bool logging;                         /* announce the logging capability */
    bool lists_change;                    /* announce that lists may change */
    bool expects_tools;                   /* announce tools even while there are none */
    bool expects_resources;               /* likewise */
    bool expects_prompts;                 /* likewise, and that arguments are completed */
    int in_fd;                            /* taken on success */
    int out_fd;                           /* taken on success; may equal in_fd */
    size_t max_request_bytes;             /* 0: LIMIT_MCP_REQUEST_BYTES */
    size_t max_response_bytes;            /* 0: LIMIT_MCP_RESPONSE_BYTES */
    size_t max_line_bytes;                /* with the newline; 0: LIMIT_MCP_LINE_BYTES */
    int64_t drain_ms;                     /* 0: LIMIT_DRAIN_MS */
    const LogSink *log;                   /* may be NULL */
    void (*closed)(void *context, int r); /* r: 0, or the negative errno that ended it */
    void *context;
} McpDoorConfig;

/* 0, -ENOMEM, another negative errno. Gives *ret. */
int mcp_door_new(McpDoor **ret, const McpDoorConfig *config);

/* Cancels what still runs. Not from inside `closed`'s caller: `closed` may call it. */
McpDoor *mcp_door_free(McpDoor *door);

/* As if input had ended. */
void mcp_door_shutdown(McpDoor *door);

/* True once input has ended, by itself or by shutdown; also while what came before its end is still
 * unread. Who does not want to wait for what is left frees the door. */
bool mcp_door_is_ending(const McpDoor *door);
