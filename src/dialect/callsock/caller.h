/* dialect/callsock/caller.h: the bridge's side: calls that queue for one connection to a parent.
 *
 *     submit ─▶ queued ─▶ sent ─▶ answered
 *                 │         ├─▶ lost        the connection ended: failed, and never sent again, for
 *                 │         │               it may have run; if nothing of it left, it is the
 *                 │         │               first of the queue again, once
 *                 │         └─▶ abandoned   its asker has gone: the answer is awaited and dropped
 *                 └─▶ dropped, or failed if no connection can be had
 *
 * Strictly one request at a time: the next one is sent when the answer to the last has come. An
 * abandoned call holds up the others for late_ms at most; then the owner is asked for another
 * connection (wants_reset). The owner connects when there is something to send (wants_connection),
 * so that a parent which nobody calls is never touched. A call that ends may lead to the next
 * submit or cancel before call_finish returns; it must not free the caller. How many may wait is
 * for the router's quotas to say.
 *
 * The protocol has no ids: an answer belongs to the request that is out. Bytes behind an answer,
 * and an answer while nothing is out, are breaches, and the connection ends before another request
 * is sent on it. One answer too many that arrives after the next request was sent cannot be told
 * from the answer to that. Performs no I/O; time is told. Thread: loop.
 */
#pragma once

#include "base/span.h"
#include "call/call.h"
#include "dialect/callsock/message.h"
#include "dialect/callsock/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CallsockCaller CallsockCaller;

typedef struct CallsockCallerConfig {
    const CallsockSink *sink; /* borrowed; only used while connected */
    uint32_t max_bytes;       /* 0: LIMIT_CALLSOCK_MESSAGE_BYTES */
    int64_t late_ms;          /* 0: LIMIT_CALLSOCK_LATE_MS */
    const char *place;        /* the socket's path, for messages; borrowed */
} CallsockCallerConfig;

/* 0, -ENOMEM. Gives *ret. */
int callsock_caller_new(CallsockCaller **ret, const CallsockCallerConfig *config);

/* Fails what is still queued or sent (unavailable). */
CallsockCaller *callsock_caller_free(CallsockCaller *caller);

/* Takes a tool's call (a provider's start). Sent at once if the connection is free; a request over
 * the limit fails at once (CALL_ERROR_TOO_LARGE, with words about the arguments) and touches
 * nothing. name: what the parent calls the tool, borrowed as long as the call. */
void callsock_caller_submit(CallsockCaller *caller, Call *call, Span name, int64_t now_ms);

/* The asker has gone (a provider's cancel): forgets the call. */
void callsock_caller_cancel(CallsockCaller *caller, Call *call, int64_t now_ms);

/* Is something queued while there is no connection? Then the owner connects, and says how it went.
 */
bool callsock_caller_wants_connection(const CallsockCaller *caller);

/* The connection stands: the first of the queue is sent. */
void callsock_caller_connected(CallsockCaller *caller, int64_t now_ms);

/* It cannot be had: fails everything that is queued, with a message that says what to do. why: such
 * as "Connection refused". */
void callsock_caller_unreachable(CallsockCaller *caller, Span why);

/* Whoever listens must not be talked to: as unreachable. why: such as "it is another user's". */
void callsock_caller_refused(CallsockCaller *caller, Span why);

/* The system has taken bytes of the request that is out: the call needs its arguments no more
 * (took_arguments, so a provider says it before its start returns). Until then they are kept, to be
 * sent again. */
void callsock_caller_taken(CallsockCaller *caller);

/* It ended, by the parent or by the owner: fails the call that was sent (not the queue, which waits
 * for the next connection). why: may be empty. is_unsent: the system has taken no byte of the
 * request that is out, so it has not run; it becomes the first of the queue, and fails if that has
 * happened to it before. */
void callsock_caller_lost(CallsockCaller *caller, Span why, bool is_unsent);

/* One frame from the parent: the answer, or how far the call is, if its asker wants to know.
 * has_more: bytes lie behind it already. 0; CALLSOCK_E_PROTOCOL if it is
 * none of this protocol's (the call has been failed), if nothing was asked, or if there is more
 * (the call has got its answer): the owner closes the connection and says lost. */
int callsock_caller_receive(CallsockCaller *caller, Span message, bool has_more, int64_t now_ms);

/* A frame declared more than the limit: fails the call with words; the owner closes and says lost.
 */
void callsock_caller_refuse_size(CallsockCaller *caller, uint32_t declared);

/* When callsock_caller_wants_reset may become true; INT64_MAX if nothing is awaited. */
int64_t callsock_caller_deadline(const CallsockCaller *caller);

/* Has an abandoned call kept others waiting for too long? Then the owner closes the connection,
 * says lost, and connects again if that is wanted. */
bool callsock_caller_wants_reset(const CallsockCaller *caller, int64_t now_ms);

/* Is a request out, whose answer may come at any time? Also that of an abandoned call. */
bool callsock_caller_is_awaiting(const CallsockCaller *caller);

/* Calls queued or sent, not counting an abandoned one. */
size_t callsock_caller_pending(const CallsockCaller *caller);

/* A failure to send (negative errno) that ends the connection: the owner closes it and says lost.
 */
int callsock_caller_error(const CallsockCaller *caller);
