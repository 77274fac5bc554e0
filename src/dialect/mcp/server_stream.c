/* What transports with many streams want to know. */
#include "dialect/mcp/server_internal.h"

/* The newest are looked at first: mostly it is about the message that has just come. */
static bool is_among(const McpLink *head, const void *stream)
{
    for (McpLink *at = head->prev; at != head; at = at->prev) {
        if (MCP_LINK_OWNER(at, McpRequest, link)->stream == stream) {
            return true;
        }
    }
    return false;
}

bool mcp_server_is_open(const McpServer *server, const void *stream)
{
    return is_among(&server->requests.open, stream) || is_among(&server->listens, stream);
}

bool mcp_server_is_listening(const McpServer *server, const void *stream)
{
    return is_among(&server->listens, stream);
}

void mcp_server_trim(McpServer *server)
{
    arena_reset(&server->arena, 0);
    arena_reset(&server->scratch, 0);
    bytes_clear_keep(&server->text, 0);
}

bool mcp_server_revision(const McpServer *server, McpRevision *ret)
{
    if (server->has_session) {
        *ret = server->revision;
    }
    return server->has_session;
}

void mcp_server_tell_time(McpServer *server, int64_t now_ms)
{
    if (now_ms > server->now_ms) {
        server->now_ms = now_ms;
    }
}
