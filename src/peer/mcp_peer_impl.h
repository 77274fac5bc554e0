/* peer/mcp_peer_impl.h: what the files of mcp_peer share.
 *
 *     mcp_peer.c        the session, its events, its clock; the owner's side
 *     mcp_peer_lines.c  a child process or a Unix socket: messages as lines; mcp_peer_lines_end.c
 *                       how such a server ends
 *     mcp_peer_http.c   a server over HTTP: messages as requests
 *     mcp_peer_fetch.c  one of these requests, and authorization
 *
 * States: OPEN → CLOSING (the server is given time to go) → CLOSED (the owner was told).
 */
#pragma once

#include "base/arena.h"
#include "io/loop.h"
#include "io/watchdog.h"
#include "peer/mcp_peer.h"

typedef enum PeerState {
    PEER_OPEN,
    PEER_CLOSING,
    PEER_CLOSED
} PeerState;

/* A kind of wire; wire is what open gave. */
typedef struct McpPeerWire {
    McpSink sink; /* context: wire */
    /* Before the session begins. *ret may be set on failure, too: it is then freed. 0, -ENOMEM,
     * another negative errno, MCP_PEER_E_CANNOT_START. */
    int (*open)(McpPeer *peer, void **ret, Diag *reterr_diag);
    void (*free)(void *wire);
    /* The server goes, whatever state it is in; afterwards only free. */
    void (*let_go)(void *wire);
    /* MCP_CLIENT_RESTART. May be NULL. */
    void (*restart)(void *wire);
    /* MCP_CLIENT_FAILED: may put more words into text. May be NULL. */
    void (*explain)(const void *wire, McpClientEvent *event, char *text, size_t size);
    /* The last that was said beside the session. May be NULL. */
    Span (*words)(const void *wire);
    /* MCP_CLIENT_READY, and FAILED before that. May be NULL. */
    void (*judged)(void *wire, bool is_ready);
    /* What was written is sent. */
    void (*flush)(void *wire);
    /* When tick is to be called, beside the session's own time. */
    int64_t (*deadline)(const void *wire);
    void (*tick)(void *wire, int64_t now_ms);
    /* The state is CLOSING. mcp_peer_finish_close follows, never in here. */
    void (*close)(void *wire, int64_t grace_ms);
} McpPeerWire;

extern const McpPeerWire mcp_peer_lines;
extern const McpPeerWire mcp_peer_http;

struct McpPeer {
    McpPeerConfig config; /* its strings lie in `strings` */
    Arena strings;
    McpClient *client;
    McpSink sink;
    const McpPeerWire *ops;
    void *wire;
    IoTimer *timer;
    IoBeforeWait *settle;
    PeerState state;
    bool is_pumping;
    bool was_ready;
    bool is_overdue; /* its turn took too long: the session was broken off */
    const IoTurnName *turn;
    int64_t timer_ms;
    void (*done)(void *context);
    void *done_context;
};

/* Hands the events to the owner, who may cause more. */
void mcp_peer_pump(McpPeer *peer);
/* Between two steps of a turn: whether it took too long. The session is then broken off, once; who
 * asked ends the turn. */
bool mcp_peer_is_overdue(McpPeer *peer);
void mcp_peer_set_timer(McpPeer *peer);
/* Closing is over: the owner is told, and may free the peer. */
void mcp_peer_finish_close(McpPeer *peer);
