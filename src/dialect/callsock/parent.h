/* dialect/callsock/parent.h: one connection, seen from the parent, who has the tools.
 *
 *     owner: frame → callsock_parent_receive → callsock_parent_next → router_dispatch → (finish)
 *
 * One request at a time: while a call runs (is_busy) the owner keeps further frames, and hands over
 * the next one when `idle` says that the answer is written. A bridge that sends ahead breaks the
 * contract; it is served in order all the same. A response that is larger than the limit becomes an
 * error response. Performs no I/O. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "call/call.h"
#include "dialect/callsock/message.h"
#include "dialect/callsock/sink.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct CallsockParent CallsockParent;

typedef struct CallsockParentConfig {
    const CallsockSink *sink; /* borrowed */
    uint32_t max_bytes;       /* 0: LIMIT_CALLSOCK_MESSAGE_BYTES */
    /* The answer to a call that did not end inside dispatch has been written: flush, and hand over
     * the next frame, or end the session if callsock_parent_error says so; the parent may be freed
     * in here. A call has left dispatch when it has copies of what was lent to it, as the router
     * makes them (call_keep_arguments). May be NULL. */
    void (*idle)(void *context);
    void *context;
} CallsockParentConfig;

/* 0, -ENOMEM. Gives *ret. */
int callsock_parent_new(CallsockParent **ret, const CallsockParentConfig *config);

/* The call must not be running any more: cancel it first (callsock_parent_call). */
CallsockParent *callsock_parent_free(CallsockParent *parent);

/* One message, borrowed until return unless it became a call, which borrows it until its provider's
 * start returns. Not while busy. 0 (answered, or a call waits in next), CALLSOCK_E_PROTOCOL (an
 * error was written: flush it and close), or a negative errno that ends the connection. */
int callsock_parent_receive(CallsockParent *parent, Span message);

/* A frame declared more than the limit: writes why. The owner then flushes and closes. 0 or a
 * negative errno. */
int callsock_parent_refuse_size(CallsockParent *parent, uint32_t declared);

/* The length that such a frame has in the other byte order, if it is the first and that is a good
 * one; else 0. */
uint32_t callsock_parent_other_order(const CallsockParent *parent, uint32_t declared);

/* The call that the last message became, once; NULL if it was answered at once. To be dispatched;
 * its finish writes the response. */
Call *callsock_parent_next(CallsockParent *parent);

/* Is a call running, whose answer is to come? */
bool callsock_parent_is_busy(const CallsockParent *parent);

/* That call, for router_cancel when the bridge has gone; NULL if none runs. The owner says drop
 * after it cancelled. */
Call *callsock_parent_call(CallsockParent *parent);
void callsock_parent_drop(CallsockParent *parent);

/* How the connection failed while writing an answer: 0, or a negative errno; the owner closes. */
int callsock_parent_error(const CallsockParent *parent);
