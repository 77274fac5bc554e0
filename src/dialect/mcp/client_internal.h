/* dialect/mcp/client_internal.h: what the files of the client session share. Included by client*.c
 * alone.
 *
 *     client.c            the interface, and the life of a request
 *     client_table.c      requests by number, questions, events, deadlines
 *     client_handshake.c  probe, `initialize`, restart, failure
 *     client_receive.c    what the server sent
 *     client_ask.c        its questions, in the form of either era
 *     client_retry.c      what a modern server over HTTP refuses once
 *     client_write.c      what we send
 *
 * States:
 *
 *     NEW ─start→ PROBING ─answer→ READY
 *            │       ├─error, silence→ INITIALIZING ─answer→ READY
 *            │       └─peer ended→ RESTARTING ─restarted→ INITIALIZING
 *            └─(legacy)→ INITIALIZING         every state ─failure→ ENDED
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "call/call.h"
#include "dialect/mcp/client.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Questions that wait for the owner at once. A person answers one at a time; a server that asks
 * more is refused. */
#define CLIENT_MAX_ASKS 64

/* Of a server's request id, or its name for a question: they are counters, UUIDs and words. */
#define CLIENT_NAME_BYTES 1024

/* Of a requestState, which goes back in a request: what servers take for one. */
#define CLIENT_STATE_BYTES ((size_t)1024 * 1024)

/* Of our answer to a question: the same, since it goes back in a request, too. */
#define CLIENT_ANSWER_BYTES ((size_t)1024 * 1024)

/* Storage that an idle request or question keeps: covers common arguments. */
#define CLIENT_KEEP_BYTES ((size_t)4096)

/* Events that belong to no request and no question: READY, RESTART, FAILED and the one of the
 * message at hand. */
#define CLIENT_SPARE_EVENTS 4

typedef enum ClientState {
    CLIENT_NEW,
    CLIENT_PROBING,
    CLIENT_RESTARTING,
    CLIENT_INITIALIZING,
    CLIENT_READY,
    CLIENT_ENDED
} ClientState;

typedef struct ClientRequest ClientRequest;

/* What a request says, but for its number: as mcp_client_request_with has it. */
typedef struct ClientText {
    Span method;
    Span params;    /* a JSON object, or empty */
    Span arguments; /* a JSON value for params, or empty */
    Span meta;      /* members for `_meta`, or empty */
} ClientText;

struct ClientRequest {
    McpRequestId id;     /* the owner's name for it */
    void *context;       /* the owner's, too */
    uint64_t wire_id;    /* of the JSON-RPC request that is open for it; 0: none at the moment */
    ClientRequest *next; /* among the open ones, oldest first; or among the unused */
    ClientRequest *prev;
    ClientRequest *in_chain; /* same place of the table */
    Bytes kept;              /* its ClientText, where it will be written later or again */
    size_t n_method;         /* the parts of that, in their order; what is left is meta */
    size_t n_params;
    size_t n_arguments;
    Bytes state; /* requestState as it came, quotes and escapes included; empty: none */
    uint32_t n_rounds;
    uint32_t n_asks; /* of it that have no answer yet */
    bool may_ask;    /* a modern server may answer it with questions */
    bool is_ours;    /* the owner does not know of it */
    bool is_endless; /* a subscription: it has no deadline */
    bool wants_progress;
    bool was_sent;
    bool was_retried;    /* after an error that asks for it */
    bool waits_for_list; /* it is sent again when the tools have been listed */
    unsigned can;        /* what it declares, in the modern era, as the level */
    CallLogLevel log_level;
    int64_t timeout_ms;
    int64_t deadline_ms; /* moves with progress */
    int64_t hard_deadline_ms;
};

/* Requests whose numbers share a place in the table. */
typedef struct ClientChain {
    ClientRequest *first;
} ClientChain;

typedef struct ClientAsk {
    uint64_t number; /* 0: this place is free */
    CallAskKind kind;
    ClientRequest *request; /* modern: whose answer waits for it; NULL in legacy eras */
    McpRequestId with;      /* legacy: the request that it came with; 0: not known */
    Bytes name;             /* legacy: the id, as JSON; modern: the key, as text */
    Bytes answer;           /* modern: JSON, once it is there */
    bool is_answered;
} ClientAsk;

struct McpClient {
    McpClientConfig config;
    ClientState state;
    McpRevision revision;
    int64_t now_ms; /* of the last call that said it */

    uint64_t last_number;  /* requests and questions are numbered in one row */
    uint64_t handshake_id; /* of the probe or `initialize` that is open; 0: none */
    int64_t handshake_deadline_ms;
    bool was_probed;    /* this process of the peer has had the probe, which may have upset it */
    bool has_answered;  /* the probe, with whatever */
    bool has_retried;   /* the probe, after a wrong -32022 */
    bool is_renewing;   /* it was ready before */
    uint64_t came_with; /* the message at hand: number of the request, 0 if not known */
    McpClientLoss loss; /* what it stands for */
    ClientRequest *refresh; /* our own tools/list, after -32020; NULL: none */
    uint32_t n_refresh_pages;

    ClientChain *table; /* by wire_id */
    size_t n_table;     /* a power of two */
    ClientRequest *first;
    ClientRequest *last;
    ClientRequest *unused;
    uint32_t n_open;
    int64_t earliest_ms; /* no request ends of age before it */

    ClientAsk asks[CLIENT_MAX_ASKS];
    uint32_t n_asks;

    McpClientEvent *events; /* [at, n) wait for the owner */
    size_t events_at;
    size_t n_events;
    size_t events_cap;

    Arena arena;    /* index and texts of the message at hand */
    JsonIter batch; /* what is left of it, if it is a batch */
    bool in_batch;
    uint64_t n_skipped;

    Bytes meta;        /* modern: members of every `_meta`, without the brackets */
    char failure[512]; /* text of MCP_CLIENT_FAILED */
    char flaw[128];    /* text of MCP_CLIENT_ERROR: what is wrong with the answer */
};

/* client_table.c */

/* Room for the events that everything open can cause, and `extra` more, so that pushing them
 * cannot fail. 0, -ENOMEM. */
int client_events_ensure(McpClient *client, size_t extra);
McpClientEvent *client_event_push(McpClient *client, McpClientEventKind kind);

/* An open request without a wire id. 0, -ENOMEM. */
int client_request_open(McpClient *client, ClientRequest **ret);
/* Forgets it, silently. */
void client_request_close(McpClient *client, ClientRequest *request);
/* Ends it with an error of our own, which the owner gets; takes its questions back. */
void client_request_end(McpClient *client, ClientRequest *request, int code, Span text);
int client_request_keep(ClientRequest *request, const ClientText *text);
void client_request_set_wire(McpClient *client, ClientRequest *request, uint64_t wire_id);
ClientRequest *client_request_by_wire(const McpClient *client, uint64_t wire_id);
ClientRequest *client_request_by_id(const McpClient *client, McpRequestId id);

void client_deadline_start(McpClient *client, ClientRequest *request, int64_t now_ms);
void client_deadlines_look(McpClient *client);

/* A free place for a question; NULL if there is none. Numbered. */
ClientAsk *client_ask_open(McpClient *client, CallAskKind kind, ClientRequest *request);
void client_ask_close(McpClient *client, ClientAsk *ask);
ClientAsk *client_ask_find(McpClient *client, uint64_t number);

/* client.c */

/* Writes it and starts its clock. 0, negative errno. */
int client_request_send(McpClient *client, ClientRequest *request, const ClientText *text);
/* As it was kept by client_request_keep. */
int client_request_send_kept(McpClient *client, ClientRequest *request);

/* client_handshake.c */

int client_handshake_answer(McpClient *client, JsonValue message);
/* Its answer has come, but cannot be used; flaw ends the sentence "The answer…". 0, negative errno.
 */
int client_handshake_flawed(McpClient *client, const char *flaw);
/* Its deadline has passed. */
void client_handshake_expire(McpClient *client);
/* Ends the session: every request and question, then the event that says why. */
TW_PRINTF(2, 3) void client_fail(McpClient *client, const char *format, ...);

/* client_receive.c */

/* The next element of a batch. */
void client_receive_more(McpClient *client);
/* An error's members. */
typedef struct ClientError {
    int code;
    Span text;
    JsonValue data;
} ClientError;
/* 0, -ENOMEM. What is not as it must be gets the code -32603. */
int client_error_read(McpClient *client, JsonValue error, ClientError *ret);

/* client_retry.c */

/* The error of a request. *ret_taken: it is sent again, and the owner does not hear of it. 0,
 * negative errno. */
int client_retry(McpClient *client, ClientRequest *request, const ClientError *error,
                 bool *ret_taken);
/* The answer to client->refresh; node NULL: it was an error. 0, negative errno. */
int client_retry_listed(McpClient *client, JsonValue result);
/* Whether an array of versions, which may not be one, names the modern one that we speak. */
bool client_names_modern(JsonValue versions);

/* client_ask.c */

/* A request of a legacy server. 0, negative errno. */
int client_ask_legacy(McpClient *client, JsonValue message, JsonValue id, Span method);
/* Its notifications/cancelled. */
void client_ask_cancelled(McpClient *client, JsonValue id);
/* A result that says input_required. 0, negative errno. */
int client_ask_modern(McpClient *client, ClientRequest *request, JsonValue result);

/* client_write.c: each writes one message into the sink. 0, -ENOMEM, -ENOBUFS (the sink is full, or
 * the message is longer than it takes). */

int client_write_make_meta(McpClient *client);
int client_write_probe(McpClient *client, uint64_t id);
int client_write_initialize(McpClient *client, uint64_t id);
/* request: whose state and answers go with it; may be NULL. token: 0 for none. */
int client_write_request(McpClient *client, uint64_t id, const ClientText *text,
                         const ClientRequest *request, uint64_t token);
int client_write_notification(McpClient *client, Span method, Span params);
int client_write_cancelled(McpClient *client, uint64_t id, Span reason);
int client_write_result(McpClient *client, Span id, Span result);
int client_write_error(McpClient *client, Span id, int code, Span message);

TW_INLINE bool client_is_modern(const McpClient *client)
{
    return client->revision >= MCP_FIRST_MODERN;
}
