/* peer/mcp_peer.h: an MCP server that we use: a child process, a Unix socket or an address, and the
 * client session with it.
 *
 * Joins the session (dialect/mcp/client) with io/process, io/stream and frame/ndjson, or with
 * dialect/mcp/http_client and io/fetch. Restarts a child that ends on the probe. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "dialect/mcp/client.h"
#include "dialect/mcp/http_client.h"
#include "io/loop.h"
#include "peer/auth.h"
#include "peer/web.h"

typedef struct McpPeer McpPeer;

typedef struct McpPeerConfig {
    IoLoop *loop;
    const char *const *argv; /* the server to start; copied. NULL: connect to socket_path */
    const char
        *url; /* http://…, https://…, http+unix:SOCKET:/path; copied. NULL: one of the others */
    const McpHttpField *fields; /* url: sent with every request; copied, and never shown */
    size_t n_fields;
    PeerWeb *web;                   /* url: what peers share; borrowed. NULL: this one is alone */
    PeerAuth *auth;                 /* url: what to show; borrowed. NULL: nothing but fields */
    const char *const *environment; /* NULL: ours; copied */
    const char *folder;             /* NULL: ours */
    const char *socket_path;
    const char *name; /* whose turn it is, for the log (io/watchdog.h); NULL: "a server". Copied */
    bool is_own;      /* what serves it must be a process of this user, or of root */
    bool inherit_stderr;    /* else its lines go to the log at debug level */
    bool dies_with_us;      /* a child is killed when we are (io/process.h): for a loop whose thread
                               is there as long as the process is */
    McpClientConfig client; /* sink is ours */
    const LogSink *log;
    /* Every event of the session (dialect/mcp/client.h) but RESTART. It may call any function of
     * the peer but free. */
    void (*event)(void *context, McpPeer *peer, const McpClientEvent *event);
    void *context;
} McpPeerConfig;

enum {
    MCP_PEER_E_CANNOT_START = 1, /* the Diag says why */
};

/* Starts or connects, and begins the session. 0, -ENOMEM, MCP_PEER_E_CANNOT_START. Gives *ret. */
int mcp_peer_new(McpPeer **ret, const McpPeerConfig *config, Diag *reterr_diag);

/* Ends politely: closes the server's input, waits grace_ms for its exit, then TERM, then KILL; over
 * HTTP takes leave of the session, and waits grace_ms for the answer; `done` (may be NULL) comes
 * when it is over. */
void mcp_peer_close(McpPeer *peer, int64_t grace_ms, void (*done)(void *context), void *context);
McpPeer *mcp_peer_free(McpPeer *peer);

/* As mcp_client_*; what they write is sent before the loop waits. */
int mcp_peer_request(McpPeer *peer, Span method, Span params, bool wants_progress,
                     McpRequestId *ret);
int mcp_peer_request_with(McpPeer *peer, Span method, Span params, const McpRequestOptions *options,
                          McpRequestId *ret);
void mcp_peer_cancel(McpPeer *peer, McpRequestId id, Span reason);
int mcp_peer_answer(McpPeer *peer, uint64_t ask, Span result);
int mcp_peer_refuse(McpPeer *peer, uint64_t ask, int code, Span message);
int mcp_peer_notify(McpPeer *peer, Span method, Span params);
const McpClient *mcp_peer_client(const McpPeer *peer);

/* The last lines that a child wrote to its stderr; borrowed until the loop runs. */
Span mcp_peer_last_words(const McpPeer *peer);
