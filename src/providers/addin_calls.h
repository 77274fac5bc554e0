/* providers/addin_calls.h: calls that are out at an add-in, each with the link that has it; used by
 * the hub of the pipe only.
 *
 * The session of an add-in (dialect/pipe/hub.h) is given a call of ours in place of the one that
 * was asked: so we know where a call is when it is taken back, and hear of its end. They are
 * pooled. Thread: loop.
 */
#pragma once

#include "call/call.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct AddinCall AddinCall;
typedef struct AddinCalls AddinCalls;

struct AddinCall {
    Call call;   /* what the session has; first, since its door gets that */
    Call *asked; /* its provider_data points here */
    void *link;
    AddinCalls *pool;
    bool *ret_ended; /* set while the session is being given the call */
    AddinCall *next_free;
};

struct AddinCalls {
    AddinCall *free;
    size_t n_free;
};

#define ADDIN_CALLS_NULL ((AddinCalls){.free = NULL})

/* No call is out any more. May run twice. */
void addin_calls_deinit(AddinCalls *calls);

/* Ours, for a session to be given: it asks what asked does, and ends it when it ends. Borrows asked
 * until then. NULL if there is no memory. */
AddinCall *addin_calls_begin(AddinCalls *calls, Call *asked, void *link);

/* The session has been told to forget it; asked is not ended. */
void addin_calls_forget(AddinCall *call);
