/* cli/peer_session_internal.h: what the files of a session share: its beginning and requests
 * (peer_session.c), which server it is with (peer_session_start.c), what that says
 * (peer_session_event.c), lists of many pages (peer_session_list.c).
 */
#pragma once

#include "app/end_signals.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "cli/peer_session.h"
#include "io/loop.h"
#include "peer/mcp_peer.h"

typedef enum SessionOutcome {
    SESSION_WAITS,
    SESSION_RESULT,
    SESSION_ERROR,  /* code, words */
    SESSION_FAILED, /* words */
} SessionOutcome;

struct PeerSession {
    const CliArgs *args;
    IoLoop *loop;
    IoSignal *signals[END_SIGNALS_N];
    McpPeer *peer;
    PeerAuth *auth; /* of a server over HTTP */
    McpIdentity identity;
    Arena strings;
    McpRequestId id; /* of the request at hand; 0: none */
    SessionOutcome outcome;
    int code;
    bool was_interrupted;
    bool shows_progress;
    bool has_progress; /* a line of it stands on the terminal */
    bool is_closed;
    Bytes text; /* the result at hand */
    Arena arena;
    JsonDoc doc;
    Bytes words; /* of the error at hand */
    Bytes error; /* the same as JSON, if the server said it; empty: it did not */
    Bytes list;
    bool wants_origins; /* of the list at hand */
    bool is_quiet;      /* about servers behind the one that is asked */
    const char *about;  /* the tool of which they speak; NULL: of everything */
    Bytes origins;      /* whose its entries are, one for each */
    Arena list_arena;
    Bytes params;
};

/* Of all pages of a list together. */
#define SESSION_LIST_BYTES ((size_t)64 * 1024 * 1024)

/* Beside the outcomes of mcp_peer_new: the options name no server. */
enum {
    PEER_SESSION_E_USAGE = MCP_PEER_E_CANNOT_START + 1
};

/* Starts or connects, as the options say. 0, a negative errno, MCP_PEER_E_CANNOT_START,
 * PEER_SESSION_E_USAGE; Diag. */
int peer_session_start(PeerSession *session, const McpClientConfig *client, Diag *diag);

/* Is what --server says the address of a server over HTTP? */
bool peer_session_is_url(const char *server);

/* Of McpPeerConfig, and of the signals that end the program. */
void peer_session_on_event(void *context, McpPeer *peer, const McpClientEvent *event);
void peer_session_on_signal(void *context, int signum);

/* Asks, and runs the loop until the answer is there; then the answer, or what went wrong, is said.
 */
void peer_session_ask(PeerSession *session, Span method, Span params);
int peer_session_report(PeerSession *session, JsonValue *ret);
