/* peer/mcp_peer_fetch.h: the HTTP request of an exchange, with what authorization has to show. Part
 * of mcp_peer.
 *
 * A refusal for want of authorization is handed to PeerAuth, and the request sent again if that has
 * something new; who started it hears only of the answer that counts. Thread: loop.
 */
#pragma once

#include "dialect/mcp/http_client.h"
#include "io/fetch.h"
#include "peer/auth.h"

typedef struct McpPeerFetch McpPeerFetch;

typedef struct McpPeerFetchOps {
    void (*head)(void *context, McpHttpExchange *exchange, const McpHttpHead *head);
    void (*data)(void *context, McpHttpExchange *exchange, Span bytes);
    /* Once, and the last; the fetch is gone. */
    void (*done)(void *context, McpHttpExchange *exchange, McpHttpEnd end, const char *words);
} McpPeerFetchOps;

/* What all requests of a peer have in common; outlives them. */
typedef struct McpPeerFetchPlace {
    IoFetcher *fetcher;
    PeerAuth *auth;          /* may be NULL */
    const char *unix_socket; /* may be NULL */
    const McpPeerFetchOps *ops;
    void *context;
} McpPeerFetchPlace;

/* Of an MCP_HTTP_CLIENT_BEGIN. 0, -ENOMEM, IO_FETCH_E_REQUEST. Nothing is told before it returns.
 */
int mcp_peer_fetch_start(McpPeerFetch **ret, const McpPeerFetchPlace *place,
                         const McpHttpClientEvent *event, Diag *reterr_diag);

/* Lets go of it; nothing more is told. May be NULL. Returns NULL. */
McpPeerFetch *mcp_peer_fetch_free(McpPeerFetch *fetch);
