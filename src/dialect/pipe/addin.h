/* dialect/pipe/addin.h: the hub, seen from an add-in: calls that come in, and whether the hub
 * lives.
 *
 *     owner: frame → pipe_addin_receive → pipe_addin_next → router_dispatch → (finish)
 *
 * Pings are answered at once, whatever runs. Calls become Call objects, as many at once as
 * max_running says (1: one after the other, as applications with one UI thread need); the others
 * wait here, LIMIT_PIPE_WAITING at most. toolwire.list_tools is answered here from what the owner
 * gives; toolwire.read_resource becomes a call of verb CALL_READ, whose target is the URI. An
 * answer that is larger than the limit becomes a failure that says so. With a hub that understands
 * it (message.h) calls report progress; tool_cancel ends a call with the code CANCELLED. Performs
 * no I/O. Thread: loop.
 */
#pragma once

#include "base/hash.h"
#include "base/span.h"
#include "call/call.h"
#include "dialect/pipe/message.h"
#include "dialect/pipe/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PipeAddin PipeAddin;

typedef struct PipeAddinConfig {
    const PipeSink *sink;     /* borrowed */
    const PipeSource *source; /* borrowed */
    HashSeed seed;
    uint32_t max_bytes;       /* 0: LIMIT_PIPE_MESSAGE_BYTES */
    size_t max_running;       /* 0: LIMIT_PIPE_CALLS */
    int64_t ping_interval_ms; /* 0: the default, as below */
    int64_t pong_timeout_ms;
    /* Appends the data that toolwire.list_tools is answered with, one line:
     * {"name","tools":[…],"resources":[…]}, the last only if there are any. 0; anything else is
     * told to the hub as a failure. May be NULL: then it is a tool like any other, and so is
     * toolwire.read_resource. */
    int (*list)(void *context, Bytes *out);
    /* The answer to a call that did not end while it was dispatched has been written, and a place
     * is free: flush, and ask next. The addin may be freed in here. May be NULL. */
    void (*wrote)(void *context);
    /* Stops the work of a running call (router_cancel), which must not finish any more. May be
     * NULL: then nothing can be cancelled. */
    void (*cancel)(void *context, Call *call);
    /* Does so much wait for the hub that progress is better left unsaid? May be NULL: never. */
    bool (*is_behind)(void *context);
    /* The hub said `error`; for the log. Borrowed until return. May be NULL. */
    void (*told)(void *context, Span code, Span message);
    void *context;
} PipeAddinConfig;

typedef struct PipeAddinCounts {
    uint64_t late;    /* results, which no hub should send */
    uint64_t unknown; /* messages of unknown types */
    uint64_t bad;     /* messages of known types with wrong members */
    uint64_t errors;  /* `error` messages */
} PipeAddinCounts;

/* 0, -ENOMEM. Gives *ret. */
int pipe_addin_new(PipeAddin **ret, const PipeAddinConfig *config, int64_t now_ms);

/* No call may be running any more: cancel them first (pipe_addin_first). */
PipeAddin *pipe_addin_free(PipeAddin *addin);

/* As pipe_hub_receive. */
int pipe_addin_receive(PipeAddin *addin, Span message, int64_t now_ms);
int pipe_addin_refuse_size(PipeAddin *addin, uint32_t declared);

/* The length that such a frame has in the other byte order, if it is the first and that is a good
 * one; else 0. */
uint32_t pipe_addin_other_order(const PipeAddin *addin, uint32_t declared);

/* The next call to be dispatched; its finish writes the answer. NULL if there is none, or if as
 * many run as may. Asked until it gives NULL after every receive, before the message that was
 * received goes away (a call borrows it until its provider's start returns), and after every
 * `wrote`. */
Call *pipe_addin_next(PipeAddin *addin);

/* A running call, for router_cancel when the hub has gone; NULL if none runs. drop after cancel. */
Call *pipe_addin_first(PipeAddin *addin);
void pipe_addin_drop(PipeAddin *addin, Call *call);

size_t pipe_addin_running(const PipeAddin *addin);
size_t pipe_addin_waiting(const PipeAddin *addin);

/* Has the hub said that it understands such messages? And: what is offered has changed, so that it
 * asks for the list again; false: there is no room for it now, or the session ends. */
bool pipe_addin_hub_understands(const PipeAddin *addin, PipeType type);
bool pipe_addin_tell_changed(PipeAddin *addin);

/* As many may run at once from now on; 0: all wait. Then ask next. */
void pipe_addin_set_max_running(PipeAddin *addin, size_t n);

/* A ping besides those of the rule: when the hub has answered it (is_ponged) it has read all that
 * was sent before, and all that it had sent by then has been received. Silence instead is its
 * death, as ever. false: there is no room for it now, or the session ends. */
bool pipe_addin_ping(PipeAddin *addin, int64_t now_ms);
bool pipe_addin_is_ponged(const PipeAddin *addin);

/* As pipe_hub_advance. */
bool pipe_addin_advance(PipeAddin *addin, int64_t now_ms);
int64_t pipe_addin_deadline(const PipeAddin *addin);
PipeAddinCounts pipe_addin_counts(const PipeAddin *addin);

/* A failure to send (negative errno) that ends the connection. */
int pipe_addin_error(const PipeAddin *addin);
