/* dialect/mcp/request.h: the requests of a client that are not answered yet.
 *
 * A pool and a table by id. A request that ends goes back to the pool with its storage, so that
 * steady traffic allocates nothing; its Call is its first member, so that what the router hands
 * back leads here. Private to the server session. Thread: loop.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/span.h"
#include "call/call.h"
#include "dialect/mcp/revision.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct McpBatch McpBatch;
typedef struct McpRequest McpRequest;
typedef struct McpServer McpServer;

/* A place in a ring whose head is an McpLink too; alone it points to itself. */
typedef struct McpLink {
    struct McpLink *prev;
    struct McpLink *next;
} McpLink;

void mcp_link_init(McpLink *link);
bool mcp_link_is_alone(const McpLink *link);
void mcp_link_append(McpLink *head, McpLink *link);
void mcp_link_remove(McpLink *link);

/* The object that a link is a member of. */
#define MCP_LINK_OWNER(pointer, type, member)                                                      \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

typedef enum McpRequestState {
    MCP_REQUEST_FREE,
    MCP_REQUEST_QUEUED,    /* a call that the owner has not fetched yet */
    MCP_REQUEST_RUNNING,   /* fetched; its finish will come */
    MCP_REQUEST_CANCELLED, /* was running; no answer any more, the owner drops it */
    MCP_REQUEST_WAITING,   /* for answers to its questions */
    MCP_REQUEST_LISTENING, /* a subscription */
} McpRequestState;

/* A request of ours to a legacy client, on behalf of a call. */
typedef struct McpQuestion {
    uint64_t id;
    CallAskKind kind;
    size_t key_at; /* in question_words */
    size_t n_key;
    size_t n_schema; /* behind the key; 0 if it has none */
    bool is_answered;
    bool takes_error; /* CallAsk.takes_error */
} McpQuestion;

struct McpRequest {
    Call call;
    McpServer *server;
    McpRequestState state;
    McpLink link;               /* among the free ones, the open calls, or the subscriptions */
    McpLink turn;               /* among the events, or those waiting; else alone */
    McpRequest *next_in_bucket; /* or among the young ones */
    uint64_t hash;
    bool is_indexed; /* in the table; else among the young ones, without a hash */

    Bytes words; /* id, key and token */
    Span id;     /* JSON, as it came */
    Span key;    /* jsonrpc_id_key */
    Span token;  /* JSON, as it came; empty if no progress is wanted */
    Span method; /* a constant */
    McpRevision revision;
    bool is_bare;
    McpBatch *batch; /* whose answer this one is part of, or NULL */
    void *stream;    /* McpFrom.stream; NULL: none */

    /* Legacy questions. */
    McpQuestion *questions;
    size_t n_questions;
    size_t cap_questions;
    size_t n_unanswered;
    uint32_t n_rounds;
    int64_t deadline_ms;
    Bytes question_words;
    Bytes answers; /* JSON object of the answers of all rounds, or empty */
    Arena answers_arena;
    Bytes asked_state;

    /* A subscription. */
    bool lists[3]; /* by McpListKind */
    Span *uris;    /* owned; behind them the ids of tasks, and the text of both and of owner */
    size_t n_uris;
    size_t n_tasks;
    Span owner; /* McpFrom.owner */
};

typedef struct McpRequests {
    McpRequest **buckets;
    size_t n_buckets;  /* a power of two */
    McpRequest *young; /* not in the table yet: what is answered at once never gets there */
    McpLink open;      /* calls, in order of arrival */
    McpLink free;
    size_t n_open; /* calls */
    size_t n_used; /* calls and subscriptions */
    HashSeed seed;
} McpRequests;

/* For about max_open requests. 0, -ENOMEM. */
int mcp_requests_init(McpRequests *requests, HashSeed seed, size_t max_open);

/* Frees every request, open or not. */
void mcp_requests_deinit(McpRequests *requests);

/* The open request of that key, or NULL. */
McpRequest *mcp_requests_find(McpRequests *requests, Span key);

/* A fresh request, in the table; copies id, key and token. Calls are also among the open ones. The
 * key must not be in the table. 0, -ENOMEM. */
int mcp_requests_open(McpRequests *requests, Span id, Span key, Span token, bool is_call,
                      McpRequest **ret);

/* Takes it out of everything and puts it into the pool. */
void mcp_requests_close(McpRequests *requests, McpRequest *request);
