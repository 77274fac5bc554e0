/* dialect/mcp/server_internal.h: the inside of an MCP server session, shared by the files that are
 * it.
 *
 *     server.c           life, receiving, events
 *     server_output.c    one message out, batches
 *     server_methods.c   from an envelope to its method; what is answered at once
 *     server_params.c    members of params, found and checked
 *     server_meta.c      the era of a request, and what its `_meta` says
 *     server_headers.c   what HTTP headers say about it
 *     server_calls.c     requests that become calls
 *     server_ask.c       questions to the client; answers of the legacy eras
 *     server_inputs.c    answers of the modern era
 *     server_answer.c    what an answer must look like
 *     server_listen.c    who is told of changes
 *     server_tasks.c     calls whose answer comes later
 *     server_stream.c    what transports with many streams ask
 *
 * Thread: loop.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/map.h"
#include "dialect/mcp/answer.h"
#include "dialect/mcp/jsonrpc.h"
#include "dialect/mcp/render.h"
#include "dialect/mcp/request.h"
#include "dialect/mcp/server.h"

/* The answers of one batch, which leave together when the last is there. */
struct McpBatch {
    McpLink link;
    void *stream; /* McpFrom.stream */
    Bytes out;    /* "[" and the answers so far */
    size_t n_answers;
    size_t n_open;   /* requests whose answer is to come, */
    size_t n_ids;    /* and the bytes of their ids */
    size_t n_unread; /* messages that have not been looked at, */
    size_t n_text;   /* and their bytes */
    bool is_reading;
};

/* A `_meta` that the modern era accepts, and what it says. Clients say the same in each request,
 * and reading it costs as much as the rest of a small call; so the last one is kept, to be told by
 * its bytes. n = 0: none yet. */
#define MCP_SAID_BYTES ((size_t)512)

typedef struct McpSaid {
    size_t n;
    unsigned can;
    bool takes_tasks;
    CallLogLevel log_level;
    char text[MCP_SAID_BYTES];
} McpSaid;

struct McpServer {
    McpServerConfig config; /* zeros replaced by defaults */
    McpState state;
    int error;
    int64_t now_ms;

    /* The legacy session; before `initialize` nothing of it counts. */
    bool has_session;
    McpRevision revision;
    unsigned can;
    CallLogLevel log_level;
    McpOffer announced;
    Map subscribed; /* URI → not NULL if it changed before the client was ready to hear it */
    size_t n_subscribed_bytes; /* of the URIs in it */
    bool has_changed[3];       /* by McpListKind; likewise */
    Map tasks;                 /* ids of those that the session made and that have not ended */

    /* Of the message that is being received; all NULL otherwise. */
    McpFrom from;
    bool had_request; /* mcp_server_had_request */
    McpAbout about;   /* what is begun next; zeros otherwise */

    McpSaid said;
    McpRequests requests;
    McpLink events; /* requests whose `turn` it is to be fetched */
    McpLink
        waiting; /* those with open questions; all wait equally long, so the oldest ends first */
    McpLink listens;
    McpLink batches;
    size_t n_listens;
    size_t n_listen_uris;
    uint64_t last_question;

    Arena arena;       /* of the message received last */
    Arena scratch;     /* for rendering; empty in between */
    Bytes text;        /* for composing; empty in between */
    Bytes server_info; /* mcp_render_server_info, once */
};

/* The members of params that more than one method has; node NULL where there is none. */
typedef struct McpParams {
    JsonValue meta;
    JsonValue name;
    JsonValue uri;
    JsonValue arguments;
    JsonValue cursor;
    JsonValue responses; /* inputResponses */
    JsonValue state;     /* requestState */
    JsonValue task;
    JsonValue task_id;
} McpParams;

/* A request that is being looked at. */
typedef struct McpInbound {
    const JsonrpcMessage *message;
    Span key; /* of its id */
    McpBatch *batch;
    McpRevision revision;
    JsonValue params; /* an object; node NULL if absent */
    McpParams known;  /* of it */
    Span token;
    CallLogLevel log_level;
    unsigned can;
    bool takes_tasks; /* modern: the request declares the extension */
    McpOffer offer;
} McpInbound;

/* server.c */

/* When a question that is asked now has waited long enough. */
int64_t mcp_expiry_ms(const McpServer *server);

/* server_output.c */

enum {
    MCP_OUT_E_FULL = 1, /* the message does not fit; it is gone */
    MCP_OUT_E_CLOSED,   /* the session is closed: nothing is sent any more */
};

/* One message on its way: begin, render into `bytes`, end. */
typedef struct McpOut {
    McpServer *server;
    McpBatch *batch;
    Bytes *bytes; /* NULL if begin failed */
    size_t start;
    size_t max_end; /* the message may not reach further */
    BytesLent lent; /* a part of it that is not in `bytes` */
} McpOut;

/* What is begun next concerns that request, or the message that is being received; else it concerns
 * nothing. Comes right before mcp_out_begin. */
void mcp_about_request(const McpRequest *request, bool is_answer);
void mcp_about_received(McpServer *server, const McpInbound *in, int code);

/* batch may be NULL: then the message goes to the sink. is_result: of an open request, and of any
 * size; in a batch it must leave room for an error for every other. 0, MCP_OUT_E_FULL,
 * MCP_OUT_E_CLOSED, or a negative errno, to be handed to end, as what rendering returned is. */
int mcp_out_begin(McpOut *out, McpServer *server, McpBatch *batch, bool is_result);
int mcp_out_end(McpOut *out, int r);

/* The session cannot go on; r as from mcp_out_end. Only the first is kept; CLOSED is none. */
void mcp_server_fail(McpServer *server, int r);

/* A sentence that names a field, a method or an answer; longer ones are cut. So much of a name that
 * the client chose is in it. */
#define MCP_REFUSAL_BYTES 320
#define MCP_NAME_BYTES    ((size_t)100)

/* Answers that need no provider. `what` is a sentence. answer_error: to a message that is not a
 * request of any era yet. */
void mcp_answer_error(McpServer *server, McpBatch *batch, Span id, int code, Span message);
void mcp_refuse(McpServer *server, const McpInbound *in, int code, const char *what);
TW_PRINTF(4, 5)
void mcp_refuse_format(McpServer *server, const McpInbound *in, int code, const char *format, ...);
McpReply mcp_reply_to(const McpServer *server, const McpInbound *in);

/* The answer to an open request. What does not fit is replaced by CALL_ERROR_TOO_LARGE. */
McpReply mcp_reply_to_request(const McpRequest *request);

/* CALL_ERROR_TOO_LARGE, with the limit and the name of its setting. */
void mcp_answer_too_large(McpRequest *request);
void mcp_answer_result(McpRequest *request, const CallResult *result);

/* A message that does not fit is left out, and call_error_text stands for it; so with none. */
void mcp_answer_call_error(McpRequest *request, CallError error, Span message);

/* The request is over, answered or not: takes it out of its batch, too. */
void mcp_request_end(McpRequest *request);

/* Nobody will answer what a call of that verb asked with that state; it may be empty. */
void mcp_forsake(const McpServer *server, CallVerb verb, Span state);

/* 0, -ENOMEM. messages: an array. */
int mcp_batch_new(McpServer *server, JsonValue messages, McpBatch **ret);
McpBatch *mcp_batch_free(McpBatch *batch);

/* The next message of it is looked at now. */
void mcp_batch_read(McpBatch *batch, JsonValue message);

/* The request's answer will be part of it. */
void mcp_batch_join(McpBatch *batch, McpRequest *request);

/* Sends the batch and frees it if nothing is missing. */
void mcp_batch_settle(McpServer *server, McpBatch *batch);

/* server_methods.c */

/* Serves one request whose envelope is sound. */
void mcp_serve_request(McpServer *server, const JsonrpcMessage *message, McpBatch *batch);

/* server_params.c */

/* Finds them in one walk; of equal names the last counts. 0, -ENOMEM. */
int mcp_params_read(McpParams *ret, JsonValue params, Arena *arena);

/* For the checks of params: false if the member is wrong; the request is then refused with a
 * message that says `path`. *ret keeps its value where an optional member is absent. check: v is
 * the member, its node NULL if absent; take: looks it up first. */
bool mcp_check_string(McpServer *server, const McpInbound *in, JsonValue v, const char *path,
                      bool is_required, Span *ret);
bool mcp_check_object(McpServer *server, const McpInbound *in, JsonValue v, const char *path,
                      bool is_required, JsonValue *ret);
bool mcp_take_string(McpServer *server, const McpInbound *in, JsonValue object, Span name,
                     const char *path, bool is_required, Span *ret);
bool mcp_take_object(McpServer *server, const McpInbound *in, JsonValue object, Span name,
                     const char *path, bool is_required, JsonValue *ret);

/* server_meta.c */

/* How an error names a member of `_meta`. */
#define MCP_META_PATH(name) "params._meta[\"io.modelcontextprotocol/" name "\"]"

/* Decides the era and reads `_meta`. False if the request was refused. */
bool mcp_take_meta(McpServer *server, McpInbound *in);

/* CALL_CAN_* that a capabilities object declares. */
unsigned mcp_client_can(JsonValue capabilities, McpRevision revision);

/* server_headers.c */

/* Do the headers of the HTTP request (server->from.head, which there is) say what the message says?
 * The era is known. False if the request was refused. */
bool mcp_check_headers(McpServer *server, const McpInbound *in);
/* The same of a notification, which may leave them out. */
bool mcp_check_notification_headers(McpServer *server, const JsonrpcMessage *message);

/* server_calls.c */

/* Makes a call of the request and queues it as an event, or refuses it. */
void mcp_serve_call(McpServer *server, const McpInbound *in, Span method, CallVerb verb);
void mcp_serve_bare_tool(McpServer *server, const McpInbound *in);

/* server_ask.c */

/* The call ended in an ASK. */
void mcp_ask(McpRequest *request, const CallResult *result);

/* A response of the client: an answer, or nothing of ours. */
void mcp_take_answer(McpServer *server, const JsonrpcMessage *message);

/* Takes back what is still unanswered. */
void mcp_unask(McpRequest *request, Span reason);

/* server_inputs.c */

/* What a modern client brings back: *ret_inputs and *ret_state live in the session's arena. False
 * if the request was refused. */
bool mcp_take_inputs(McpServer *server, const McpInbound *in, Span method, Span target,
                     JsonValue arguments, JsonValue *ret_inputs, Span *ret_state);

/* The answers alone, which belong to no requestState: an object of objects; node NULL if there are
 * none. False if the request was refused. */
bool mcp_take_responses(McpServer *server, const McpInbound *in, bool is_required, JsonValue *ret);

/* server_tasks.c */

/* Has that revision tasks, in its core or as an extension? */
bool mcp_has_tasks(McpRevision revision);

/* What a tools/call says about when its answer may come. False if the request was refused. */
bool mcp_take_later(McpServer *server, const McpInbound *in, CallLater *ret, int64_t *ret_ms);

/* Refuses a request that is about tasks and does not declare the extension. */
void mcp_refuse_undeclared(McpServer *server, const McpInbound *in);

/* A call of the legacy session became a task: it will be told of what becomes of it. */
void mcp_task_made(McpServer *server, const CallTask *task);

/* server_answer.c */

/* The names of kinds, as the requestState has them. False if it is none. */
Span mcp_ask_kind_name(CallAskKind kind);
bool mcp_ask_kind_parse(JsonValue name, CallAskKind *ret);

/* server_listen.c */

void mcp_serve_listen(McpServer *server, const McpInbound *in);
void mcp_serve_unsubscribe(McpServer *server, const McpInbound *in);
void mcp_listen_forget(McpRequest *listen);

/* The client is ready, which happens once: tells it what has changed since `initialize`. */
void mcp_tell_changes(McpServer *server);

/* The URI may be added to the legacy subscriptions. 0, -ENOMEM, MAP_E_FULL. */
int mcp_subscribe(McpServer *server, Span uri);
void mcp_unsubscribe(McpServer *server, Span uri);

/* Nobody here is told of anything any more. */
void mcp_unsubscribe_all(McpServer *server);
