/* dialect/mcp/client.h: one MCP session, seen from the client. Performs no I/O.
 *
 *     mcp_client_start → transport writes what the sink got
 *     transport: one message → mcp_client_receive → mcp_client_next until false → events below
 *     transport: the peer ended → mcp_client_peer_ended
 *
 * Speaks to servers of every revision. In MCP_CLIENT_AUTO it first sends `server/discover`: an
 * answer, or the error -32022, means a modern server; any other error, silence until the probe's
 * deadline, or a peer that ends, means a legacy one, and `initialize` follows (after a restart of
 * the peer where it ended). Requests made before the session is ready wait for it. In the modern
 * era an `input_required` result is turned into the same MCP_CLIENT_ASK events as a legacy server's
 * requests, and the call is repeated with the answers; the owner does not see the difference.
 *
 * Nobody waits for an answer that was thrown away. An answer that names an open request but cannot
 * be used (result and error, or neither; a result that is no object; a batch where there are none)
 * ends that request with -32603 at once. So does a message that cannot be read (too long, nested
 * too deep, not JSON) if its brackets show one object with that id; if they show a `method` or
 * another id it is skipped. Where nothing can be made out of it (not JSON to the end; the id lies
 * behind what was kept of it), it may have been any answer: `initialize` fails, or every request
 * that waits for an answer ends, subscriptions excepted, and the server is told; the session goes
 * on. The probe then just runs into its short deadline. A line that does not begin as an object, or
 * as an array of objects or arrays, is a stray print and is skipped.
 * Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "call/call.h"
#include "dialect/mcp/revision.h"
#include "dialect/mcp/server.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MCP_CLIENT_E_BUSY = 1, /* max_open requests are open */
    MCP_CLIENT_E_ENDED,    /* the session is over */
};

/* Codes of MCP_CLIENT_ERROR that are ours; others are the server's, or one of MCP_ERROR_* where its
 * answer was not as it must be. */
enum {
    MCP_CLIENT_CODE_ENDED = -32000,     /* the session, or what the request was about */
    MCP_CLIENT_CODE_TIMEOUT = -32001,   /* silence, or the hard maximum (LIMIT_CALL_MAX_MS) */
    MCP_CLIENT_CODE_CANCELLED = -32800, /* by mcp_client_cancel */
};

/* Of an error that the transport made in place of an answer. */
typedef enum McpClientLoss {
    MCP_CLIENT_ANSWERED,  /* the server did answer, if with nothing that can be used */
    MCP_CLIENT_CUT,       /* the request was sent, or may have been */
    MCP_CLIENT_UNREACHED, /* it was not: the server cannot be reached */
} McpClientLoss;

typedef struct McpClient McpClient;

typedef enum McpClientMode {
    MCP_CLIENT_AUTO,   /* probe, fall back */
    MCP_CLIENT_LEGACY, /* `initialize` at once */
    MCP_CLIENT_MODERN, /* probe; a server that does not answer it is an error */
    MCP_CLIENT_ASSUME, /* modern without a probe: READY at once, with no value (node NULL) */
} McpClientMode;

typedef struct McpClientConfig {
    const McpIdentity *identity; /* borrowed for the life of the session */
    McpClientMode mode;
    bool is_http; /* each message goes by itself: silence proves no era and nothing is to be
                     restarted; what a modern server refuses for its version or its headers is sent
                     once more */
    McpRevision
        legacy_revision;    /* asked for by `initialize`; MCP_2025_11_25 unless told otherwise */
    unsigned can;           /* CALL_CAN_*: what we answer, and so declare */
    CallLogLevel log_level; /* what the server may log to us; CALL_LOG_NONE: nothing */
    const McpSink *sink;
    size_t max_message_bytes;   /* received; 0: LIMIT_MCP_RESPONSE_BYTES */
    uint32_t max_open;          /* 0: LIMIT_MCP_CLIENT_OPEN */
    uint32_t max_rounds;        /* of input_required for one call; 0: LIMIT_MCP_ROUNDS */
    int64_t probe_timeout_ms;   /* 0: LIMIT_MCP_PROBE_MS; never more than request_timeout_ms */
    int64_t request_timeout_ms; /* 0: LIMIT_MCP_CLIENT_REQUEST_MS; progress starts it anew. Also of
                                   `initialize`. Both: LIMIT_TIME_MS at most */
} McpClientConfig;

/* Our name for an open request; never 0, never used twice in a session. */
typedef uint64_t McpRequestId;

typedef enum McpClientEventKind {
    MCP_CLIENT_READY,    /* revision; value: the initialize or discover result */
    MCP_CLIENT_RENEWED,  /* the server had forgotten the session and has begun a new one
                            (mcp_client_renew): subscriptions are gone, lists may differ. value: the
                            initialize result */
    MCP_CLIENT_RESULT,   /* id; value: the result, complete */
    MCP_CLIENT_ERROR,    /* id; code, text, value (data, node NULL if none). Also our own:
                            MCP_CLIENT_CODE_*, and too many rounds of input (-32603) */
    MCP_CLIENT_ASK,      /* ask, ask_kind, value: params (node NULL if none); id: the request that
                            waits for it, 0 if that is not known: in legacy eras only the transport
                            may know it; text: its key among the questions of that request, empty in
                            legacy eras. Owner must answer with mcp_client_answer or
                            mcp_client_refuse, now or later; until then no clock of ours runs but
                            the hard maximum */
    MCP_CLIENT_UNASK,    /* ask: the server takes the question back */
    MCP_CLIENT_PROGRESS, /* id; progress */
    MCP_CLIENT_NOTIFICATION, /* text: method; value: params (node NULL if none) */
    MCP_CLIENT_RESTART,      /* the legacy server ended after the probe, or refused it and fell
                                silent: end it, start it anew, then mcp_client_restarted. At most
                                once */
    MCP_CLIENT_FAILED, /* text: why the session cannot go on; every open request has had its ERROR
                        */
} McpClientEventKind;

typedef struct McpClientEvent {
    McpClientEventKind kind;
    McpRequestId id;
    void *context; /* of the request (McpRequestOptions); NULL: none */
    McpRevision revision;
    JsonValue value; /* borrowed, as everything here, until the next next, receive or call */
    Span text;
    int code;
    bool is_ours;       /* ERROR: of the session, not the server's */
    McpClientLoss loss; /* ERROR */
    uint64_t ask;
    CallAskKind ask_kind;
    CallProgress progress;
} McpClientEvent;

/* 0, -ENOMEM. Gives *ret. */
int mcp_client_new(McpClient **ret, const McpClientConfig *config);
McpClient *mcp_client_free(McpClient *client);

/* Sends the probe or `initialize`. 0, negative errno. */
int mcp_client_start(McpClient *client, int64_t now_ms);

/* One message off the wire; borrowed until mcp_client_next returned false. What is not an answer, a
 * request or a notification that we understand is counted and skipped, unless somebody may be
 * waiting for it (see above). 0, negative errno. */
int mcp_client_receive(McpClient *client, Span message, int64_t now_ms);

/* The same, where the transport knows which of our requests (its number on the wire; 0: none) the
 * message came with. */
int mcp_client_receive_with(McpClient *client, Span message, uint64_t with, int64_t now_ms);

/* The same, of a message that the transport wrote because the answer to that request is lost. */
int mcp_client_receive_instead(McpClient *client, Span message, uint64_t with, McpClientLoss loss,
                               int64_t now_ms);

/* A message that was dropped for its length. beginning: as much of it as there is, empty if
 * nothing; borrowed until return. 0, negative errno. */
int mcp_client_receive_too_long(McpClient *client, Span beginning, int64_t now_ms);
bool mcp_client_next(McpClient *client, McpClientEvent *ret);

/* The peer closed its end. During the probe: MCP_CLIENT_RESTART; later: MCP_CLIENT_FAILED. */
void mcp_client_peer_ended(McpClient *client, int64_t now_ms);

/* The peer runs anew: sends `initialize`. */
int mcp_client_restarted(McpClient *client, int64_t now_ms);

/* The server has forgotten a legacy session that was ready: sends `initialize` anew. Requests that
 * are open stay open; those to come wait. MCP_CLIENT_RENEWED follows. Does nothing in any other
 * state. 0, negative errno. */
int mcp_client_renew(McpClient *client, int64_t now_ms);

/* The transport cannot go on: everything ends, with `why` as the text of MCP_CLIENT_FAILED. */
void mcp_client_break(McpClient *client, Span why, int64_t now_ms);

/* What a request has besides its params, for an owner that asks on behalf of others. */
typedef struct McpRequestOptions {
    bool wants_progress; /* MCP_CLIENT_PROGRESS may come */
    /* The two that follow are said of this request alone, in the modern era, where each request
     * says them; legacy servers were told those of the session. */
    bool speaks_for_itself;
    unsigned can; /* CALL_CAN_* */
    CallLogLevel log_level;
    int64_t timeout_ms; /* in place of request_timeout_ms; 0: that */
    void *context;      /* comes back in every event of this request */
    Span arguments; /* one JSON value without line ends: a further member of params, of that name;
                       may be empty; borrowed until return. Large ones are not copied on their way
                       to a sink that takes what is lent */
    Span meta; /* members for `_meta`, `"name":value` with commas in between, none of ours; may be
                  empty; borrowed until return */
} McpRequestOptions;

/* A request; params: one JSON object without `_meta` (added here) and without raw newlines, or
 * empty; borrowed until return. wants_progress asks for MCP_CLIENT_PROGRESS. A
 * `subscriptions/listen` has no deadline; its notifications come as MCP_CLIENT_NOTIFICATION. 0,
 * -ENOMEM, -ENOBUFS (the sink is full, or the message too long for it), MCP_CLIENT_E_BUSY,
 * MCP_CLIENT_E_ENDED. */
int mcp_client_request(McpClient *client, Span method, Span params, bool wants_progress,
                       int64_t now_ms, McpRequestId *ret);
int mcp_client_request_with(McpClient *client, Span method, Span params,
                            const McpRequestOptions *options, int64_t now_ms, McpRequestId *ret);

/* Takes a request back: tells the server; its MCP_CLIENT_ERROR follows, a late answer is dropped.
 * Does nothing for a request that is not open. */
void mcp_client_cancel(McpClient *client, McpRequestId id, Span reason);

/* A notification of ours (legacy: roots/list_changed); params as above. Sends nothing to a modern
 * server, which knows none, nor before the session is ready. 0, -ENOMEM, -ENOBUFS,
 * MCP_CLIENT_E_ENDED. */
int mcp_client_notify(McpClient *client, Span method, Span params);

/* Answers a question: result is one JSON object. refuse: an error in legacy eras; in the modern one
 * a form or URL is declined, and what cannot be declined ends the call with an error. Both do
 * nothing for a question that is not open any more. 0, -ENOMEM, -ENOBUFS. */
int mcp_client_answer(McpClient *client, uint64_t ask, Span result, int64_t now_ms);
int mcp_client_refuse(McpClient *client, uint64_t ask, int code, Span message, int64_t now_ms);

/* When to call advance; it may be too early, but not time after time. INT64_MAX if nothing is open.
 */
int64_t mcp_client_next_deadline(const McpClient *client);
void mcp_client_advance(McpClient *client, int64_t now_ms);

bool mcp_client_is_ready(const McpClient *client);
McpRevision mcp_client_revision(const McpClient *client);

/* Messages that were skipped, for those who want to say so. */
uint64_t mcp_client_n_skipped(const McpClient *client);
