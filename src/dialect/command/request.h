/* dialect/command/request.h: the command door's HTTP requests, read. Pure.
 *
 *     POST   /enqueue               {method, params, id, priority, timeoutSec, idempotencyKey, …}
 *     POST   /rpc, /rpc/{method}    a JSON-RPC request, or for the second its params alone; the
 *                                   method is the path's
 *     GET    /job/{id}              ?waitMs=  If-None-Match
 *     DELETE /job/{id}              cancels; also POST /job/{id}/cancel
 *     POST   /job/{id}/retry
 *     GET    /get_result            ?jobId=  ?waitMs=
 *     GET    /jobs                  ?state=  ?limit=  ?before=
 *     DELETE /jobs                  ?state=a,b  ?olderMs=: forgets jobs that are over
 *     GET    /pending_request       ?waitMs=  ?methods=a,b  ?worker=  ?leaseMs=
 *     POST   /post_result           a JSON-RPC response whose id is the one that was handed out
 *     POST   /heartbeat             {id | jobId, leaseMs}, or as GET
 *     GET    /heartbeat             ?rpcId= | ?jobId=  ?leaseMs=
 *     GET    /health, /docs/openrpc.json, /debug/capabilities
 *
 * Names are accepted in the spellings of the real clients (jobId, job_id, id …). What is wrong is
 * said with the field. An id that is handed out to an application (pending_request) is our job's id
 * and the fence of its lease in one text, so that one who only echoes `id` is bound to its own
 * lease: "job-….7". Requests that have an effect are not taken from another site's page.
 * Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "call/envelope.h"
#include "frame/http1.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COMMAND_E_REFUSED = 1, /* the refusal says why, and with which status */
};

typedef enum CommandVerb {
    COMMAND_NONE, /* no path of ours */
    COMMAND_ENQUEUE,
    COMMAND_RPC,
    COMMAND_JOB,
    COMMAND_CANCEL,
    COMMAND_RETRY,
    COMMAND_RESULT,
    COMMAND_JOBS,
    COMMAND_PURGE,
    COMMAND_PENDING,
    COMMAND_POST_RESULT,
    COMMAND_HEARTBEAT,
    COMMAND_HEALTH,
    COMMAND_OPENRPC,
    COMMAND_CAPABILITIES,
    COMMAND_N_VERBS
} CommandVerb;

/* Where a path leads: one table. allow: the methods that there are, for Allow. */
typedef struct CommandRoute {
    CommandVerb verb; /* NONE with allow: another method is needed (405) */
    Span allow;
    Span rest; /* what stands behind the prefix: a job's id, a method; as sent */
} CommandRoute;

CommandRoute command_route(Http1Method method, Span path);

/* A path of ours behind which something must stand, and nothing does: it leads nowhere. */
bool command_is_stub(Span path);

/* Where a web page could not read the answer, but the request has its effect: those need a JSON
 * content type, which no form can send. */
bool command_needs_json(CommandVerb verb);

/* The request changes something, be it that a job is handed out. */
bool command_has_effect(CommandVerb verb);

/* A request; spans are decoded text, or JSON where said, in the arena or the body: nothing of it is
 * in the head, which goes before the answer. */
typedef struct CommandRequest {
    CommandVerb verb;
    Span method;          /* ENQUEUE, RPC */
    JsonValue params;     /* an object; node NULL: none */
    JsonValue beside;     /* what stands around them (meta …); node NULL: nothing */
    Span rpc_id;          /* JSON as the client wrote it; empty: none */
    bool is_notification; /* RPC without an id */
    int64_t priority;     /* 0: usual */
    int64_t timeout_ms;   /* 0: not said */
    int64_t delay_ms;
    int64_t max_attempts; /* 0: not said */
    Span idempotency_key;
    bool is_idempotent; /* may run twice; for what is no tool that says so itself */
    int64_t wait_ms;    /* how long the answer may take; 0: at once */
    Span job;           /* id */
    bool has_fence;
    uint64_t fence;
    int64_t lease_ms; /* 0: usual */
    Span worker;
    const Span *methods; /* PENDING: only these; NULL: all */
    size_t n_methods;
    Span etags; /* If-None-Match, as it was sent (command_etag_matches); empty: none */
    bool has_state;
    Span state;
    size_t limit; /* 0: usual */
    Span before;
    int64_t older_ms; /* PURGE: since their end; 0: any */
    JsonValue
        result;    /* POST_RESULT: the JSON-RPC response; without its version `result` or `error` */
    bool is_error; /* it was a JSON-RPC error */
} CommandRequest;

typedef struct CommandRefusal {
    unsigned status;  /* 400, 403, 415 */
    const char *code; /* "INVALID_JSON", "E_NO_METHOD", "INVALID_PARAMS" … */
    Span message;     /* in the arena; names the field or byte */
    Span rpc_id;      /* of the request, where it could be read */
} CommandRefusal;

/* 0, -ENOMEM, COMMAND_E_REFUSED. Arena: as json_parse needs. */
int command_read(const CommandRoute *route, const Http1Head *head, Span body, Arena *arena,
                 CommandRequest *ret, CommandRefusal *ret_refusal);

/* Whether one of the tags of an If-None-Match, weak or not, is etag (with its quotes), or is "*".
 */
bool command_etag_matches(Span etags, Span etag);

/* "job-….7" to its parts; without a fence all of it is the id. False: no such text. */
bool command_split_id(Span text, Span *ret_id, bool *ret_has_fence, uint64_t *ret_fence);
