/* dialect/mcp/server.h: one MCP session, seen from the server. Performs no I/O.
 *
 *     transport: one message → mcp_server_receive → mcp_server_next until false
 *                    MCP_EVENT_CALL    → router_dispatch(…, event.call)
 *                    MCP_EVENT_CANCEL  → router_cancel(…, event.call), mcp_server_drop(event.call)
 *                and flush the sink.
 *
 * The era is decided for each message: a request whose `_meta` names a protocol version is served
 * as 2026-07-28, statelessly; `initialize` opens the legacy session, of which there is one; both
 * may alternate. What needs no tool (initialize, ping, discover, levels, subscriptions, every
 * error) is answered in here; everything else comes out as a Call, whose CallDoor writes the answer
 * in the form of the revision that asked. Nothing calls back into the owner except the sink.
 *
 * Legacy states: UNINITIALIZED -initialize→ INITIALIZING -initialized→ READY
 * -shutdown→ SHUTTING → CLOSED. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/hash.h"
#include "base/span.h"
#include "call/call.h"
#include "dialect/mcp/revision.h"
#include "frame/http1.h"
#include "json/look.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct McpServer McpServer;

typedef enum McpState {
    MCP_STATE_UNINITIALIZED,
    MCP_STATE_INITIALIZING, /* `initialize` was answered; requests are served already */
    MCP_STATE_READY,
    MCP_STATE_SHUTTING, /* no new requests; calls in flight may end */
    MCP_STATE_CLOSED
} McpState;

/* Who we are. Text unless said otherwise; borrowed for the life of the session. */
typedef struct McpIdentity {
    Span name;
    Span version;
    Span title;       /* may be empty, as all below */
    Span description; /* from 2025-11-25 */
    Span website_url;
    Span icons; /* JSON array */
    Span instructions;
} McpIdentity;

/* A tool that calls another one, {"name", "arguments"}: where lists show only some (McpOffer). */
#define MCP_CALL_TOOL "call_tool"

/* What there is; capabilities say this and no more. Asked whenever it matters. */
typedef struct McpOffer {
    bool tools;
    bool resources;
    bool prompts;
    bool completions;
    bool logging;
    bool lists_change; /* mcp_server_list_changed may be called */
    bool tasks;        /* tools may run as tasks: the core's of 2025-11-25, later the extension's */
    bool lazy_tools;   /* lists of tools hold what the router shows (Call.only_shown), and
                          MCP_CALL_TOOL stands for the tool that it names */
    bool lists_tasks; /* tasks/list, too (2025-11-25): it is known who asks, or there is only one */
} McpOffer;

/* What a message is about, for transports that have more than one stream. */
typedef struct McpAbout {
    void *stream;       /* McpFrom.stream of the request that it concerns; NULL: it concerns none */
    bool is_answer;     /* the last message about that request, or about the batch that it is in */
    bool opens_session; /* the answer to `initialize` */
    bool is_modern;     /* of the modern era */
    bool must_arrive;   /* a question, or what was subscribed to: not to be left out */
    int code;           /* the session itself refused the message: the JSON-RPC error; 0: it did
                           not, and whatever the answer says is its provider's or the router's */
} McpAbout;

/* Where messages go, one at a time: begin, append to *ret, commit or abort. A transport's writer
 * (frame/ndjson.h) fits directly. begin and commit: 0, -ENOMEM, or > 0 (full, too long). */
typedef struct McpSink {
    /* Before each begin: what is begun now. May be NULL. */
    void (*about)(void *context, const McpAbout *about);
    int (*begin)(void *context, Bytes **ret);
    int (*commit)(void *context);
    /* As commit, with a large part that was lent and not appended; borrowed until return. May be
     * NULL: then nothing is lent. */
    int (*commit_lent)(void *context, BytesLent lent);
    void (*abort)(void *context);
    /* The request that came by that stream will take long: the client may be let go, to come back
     * for the answer. May be NULL. */
    void (*detach)(void *context, void *stream);
    /* Does more wait unread at the client of that stream than may? Then reports of progress and log
     * records are left out; answers and questions never. May be NULL: it does not. */
    bool (*is_behind)(void *context, void *stream);
    void *context;
} McpSink;

/* Authenticates what a client must bring back unchanged (requestState, cursors need none). 0 or a
 * negative errno. */
typedef struct McpSealer {
    int (*seal)(void *context, const Span *pieces, size_t n, uint8_t ret_code[32]);
    void *context;
} McpSealer;

typedef struct McpServerConfig {
    const McpIdentity *identity;
    McpOffer (*offer)(void *context);
    bool (*is_tool)(void *context,
                    Span method); /* accepts a tool's name as a method; may be NULL */
    /* Somebody wants to be told of that resource, or does not any more; as often as it is wanted.
     * Must not come back here. May be NULL. */
    void (*wants)(void *context, Span uri, bool is_wanted);
    /* Nobody will answer what a provider asked with that state: the client took its request back,
     * has gone, refused, or could not be asked. A modern client that was asked is never told of
     * here. Must not come back here. May be NULL. */
    void (*forsakes)(void *context, Span state);
    void *context; /* for the four */
    const McpSink *sink;
    const McpSealer *sealer;
    HashSeed seed;
    size_t max_request_bytes;  /* 0: LIMIT_MCP_REQUEST_BYTES */
    size_t max_response_bytes; /* 0: LIMIT_MCP_RESPONSE_BYTES */
    const char *too_large;     /* borrowed: what is said of an answer over max_response_bytes; NULL:
                                  the number, and that name */
    uint32_t max_open;         /* requests open at once, calls and questions included; 0: twice
                                  LIMIT_CALLS_IN_FLIGHT. Beyond it -32003 */
    int64_t state_ttl_ms;      /* how long a requestState is good; 0: LIMIT_MCP_STATE_MS */
} McpServerConfig;

typedef enum McpEventKind {
    MCP_EVENT_CALL,   /* dispatch it; also again, when the answers to its questions have come */
    MCP_EVENT_CANCEL, /* the client took it back: stop the work, then mcp_server_drop */
} McpEventKind;

typedef struct McpEvent {
    McpEventKind kind;
    Call *call; /* the session's; valid until it is finished or dropped */
} McpEvent;

/* 0, -ENOMEM. Gives *ret. Borrows what config points to. */
int mcp_server_new(McpServer **ret, const McpServerConfig *config);

/* No call of it may be running. */
McpServer *mcp_server_free(McpServer *server);

/* How a message came, where that matters. */
typedef struct McpFrom {
    void *stream; /* the transport's; comes back in McpAbout */
    /* The HTTP request that it is the body of; NULL: no HTTP. What the modern era wants in its
     * headers is held against the message. Borrowed until return, as all of McpFrom. */
    const Http1Head *head;
    /* The description of a tool, JSON, for what its schema wants in headers; empty if there is
     * none. May be NULL. */
    Span (*tool)(void *context, Span name);
    void *context;
    Span owner; /* whose tasks the client sees (Call.owner). Borrowed until its calls have ended */
} McpFrom;

/* One message as it came off the wire; borrows it until mcp_server_next has returned false. now_ms:
 * monotonic. 0; a negative errno if the session cannot go on (out of memory, sink failed). */
int mcp_server_receive(McpServer *server, Span message, int64_t now_ms);
int mcp_server_receive_from(McpServer *server, Span message, const McpFrom *from, int64_t now_ms);

/* The stream is no more. Requests of the modern era that came by it are taken back, as if the
 * client had cancelled them (events follow), and its subscriptions end; those of a legacy session
 * go on, and concern no stream any more. */
void mcp_server_gone(McpServer *server, const void *stream);

/* A server that has no session, no request and no error can serve another client: forgets all that
 * is about the last one. False if it cannot. */
bool mcp_server_reuse(McpServer *server);

/* The transport met a message that is longer than allowed and skipped it: answered with -32600.
 * look has seen all of it. */
int mcp_server_receive_too_long(McpServer *server, const JsonLook *look, int64_t now_ms);

/* Did the message that was received last hold a request, or something that had to be answered as
 * one? Else it was notifications and responses, and nothing will come of it. */
bool mcp_server_had_request(const McpServer *server);

/* Is there a request that came by that stream and has no answer yet? */
bool mcp_server_is_open(const McpServer *server, const void *stream);

/* Whether it is that of a subscription. */
bool mcp_server_is_listening(const McpServer *server, const void *stream);

/* Nothing is to be read or written for a while: gives back what was kept for it. */
void mcp_server_trim(McpServer *server);

/* The revision of the legacy session; false if there is none. */
bool mcp_server_revision(const McpServer *server, McpRevision *ret);

/* The next thing for the owner to do; false if there is none. */
bool mcp_server_next(McpServer *server, McpEvent *ret);

/* A call that was cancelled, by the client or by the owner: forgets it; no answer is sent (a
 * cancelled request gets none). */
void mcp_server_drop(McpServer *server, Call *call);

/* Something changed; notifications go to whoever asked for them, in the form of their era. */
typedef enum McpListKind {
    MCP_LIST_TOOLS,
    MCP_LIST_RESOURCES,
    MCP_LIST_PROMPTS
} McpListKind;
void mcp_server_list_changed(McpServer *server, McpListKind kind);
void mcp_server_resource_updated(McpServer *server, Span uri);

/* A task has come to another status: told to the legacy session that made it, and to subscriptions
 * of its owner (empty: everybody's) that named it. The latter want what tasks/get would say; an end
 * without its result, or questions that are not there, are left to those who ask. */
void mcp_server_task_changed(McpServer *server, const CallTask *task, Span owner);

/* The end begins: subscriptions are closed with their result, new requests are refused with a named
 * error (-32600, "invalid transition: … in state Shutting"; a legacy ping is still answered).
 * Questions are taken back and their calls end with an error: nobody waits for people now. Calls in
 * flight may still finish. */
void mcp_server_shutdown(McpServer *server);

/* Everything is over: questions to the client will have no answer. Calls left are to be cancelled
 * and dropped by the owner (mcp_server_first_call). */
void mcp_server_close(McpServer *server);

/* A call in flight, or NULL; and how many there are (those waiting for answers included). */
Call *mcp_server_first_call(McpServer *server);
size_t mcp_server_n_calls(const McpServer *server);

McpState mcp_server_state(const McpServer *server);

/* Questions to the client have a deadline too. INT64_MAX if none is open. Expired ones end their
 * call with an error. The session knows the time from here and from receive only: a provider that
 * asks after long work has its deadline counted from the last of them, so an owner calls advance
 * whenever it wakes up, before results come in. */
int64_t mcp_server_next_deadline(const McpServer *server);
void mcp_server_advance(McpServer *server, int64_t now_ms);

/* Only says what time it is; nothing expires. Also from within the sink. */
void mcp_server_tell_time(McpServer *server, int64_t now_ms);

/* First failure of the sink or of memory; the owner closes the session. 0 if all is well. */
int mcp_server_error(const McpServer *server);
