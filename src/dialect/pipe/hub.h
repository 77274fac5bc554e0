/* dialect/pipe/hub.h: one add-in, seen from the hub: calls that are out, and whether it lives.
 *
 *     owner: frame → pipe_hub_receive → (finish of the call)      submit → sink → frame
 *
 * Any number of calls are out at once, told apart by id; how many is for the router's quotas to
 * say. A result that nobody waits for (late, second, unknown) is dropped and counted. A call that
 * ends may lead to the next submit or cancel before call_finish returns; it must not free the hub.
 * Performs no I/O; time is told, ids come from a source. Thread: loop.
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

typedef struct PipeHub PipeHub;

typedef struct PipeHubConfig {
    const PipeSink *sink;     /* borrowed */
    const PipeSource *source; /* ids and wall clock; borrowed */
    HashSeed seed;
    uint32_t max_bytes;       /* 0: LIMIT_PIPE_MESSAGE_BYTES */
    int64_t ping_interval_ms; /* 0: the default, as below */
    int64_t pong_timeout_ms;
    /* The add-in has said what it offers (an answer to list, each time it is asked); data as in
     * PipeMessage, node NULL if it knows no such tool, as real add-ins do not. Borrowed until
     * return. May be NULL. */
    void (*listed)(void *context, JsonValue data);
    /* The add-in said `error` about no call; for the log. Borrowed until return. May be NULL. */
    void (*told)(void *context, Span code, Span message);
    void *context;
} PipeHubConfig;

typedef struct PipeHubCounts {
    uint64_t late;    /* results, and errors about a call, that nobody waited for */
    uint64_t unknown; /* messages of unknown types */
    uint64_t bad;     /* messages of known types with wrong members */
    uint64_t errors;  /* `error` messages about no call */
} PipeHubCounts;

/* 0, -ENOMEM. Gives *ret. */
int pipe_hub_new(PipeHub **ret, const PipeHubConfig *config, int64_t now_ms);

/* Fails what is still out (PIPE_DISCONNECTED). */
PipeHub *pipe_hub_free(PipeHub *hub);

/* Sends a tool_call of toolwire.list_tools. It has no deadline, so it does not suspend the pong
 * rule: an add-in that never answers anything is found dead. 0 or a negative errno. Asked again by
 * itself whenever the add-in says that what it offers has changed. */
int pipe_hub_list(PipeHub *hub, int64_t now_ms);

/* A provider's start and cancel. name: what the add-in calls the tool, borrowed until return. A
 * call that reads a resource (CALL_READ; name is not looked at, its target is the URI) becomes one
 * of toolwire.read_resource, and ends as pipe_resource_read says. A message over the limit fails
 * the call with PIPE_MESSAGE_TOO_LARGE and is not sent; one that finds no room, since the add-in
 * does not read, or no add-in any more, with ADAPTER_NOT_AVAILABLE. A cancelled call is forgotten,
 * and what comes of it dropped; an add-in that understands tool_cancel is told, any other may be
 * inside until the call's deadline_ms (0: until now), and must then answer pings (keepalive.h).
 * tool_progress of the add-in becomes call_report. */
void pipe_hub_submit(PipeHub *hub, Call *call, Span name, int64_t now_ms);
void pipe_hub_cancel(PipeHub *hub, Call *call, int64_t now_ms);

/* One frame, borrowed until return. 0; PIPE_E_PROTOCOL: an error was written, flush and close, and
 * say lost; a negative errno that ends the connection, likewise. */
int pipe_hub_receive(PipeHub *hub, Span message, int64_t now_ms);

/* A frame declared more than the limit: writes why; the owner flushes and closes. */
int pipe_hub_refuse_size(PipeHub *hub, uint32_t declared);

/* The length that such a frame has in the other byte order, if it is the first and that is a good
 * one; else 0. */
uint32_t pipe_hub_other_order(const PipeHub *hub, uint32_t declared);

/* After refuse_size: the frame is the result of a call, which fails with PIPE_MESSAGE_TOO_LARGE:
 * the one whose id is in the head, the beginning of the message as far as it has come, or the only
 * one that is out. False: several are out, and the head names none of them (yet). */
bool pipe_hub_refuse_result(PipeHub *hub, uint32_t declared, Span head);

/* The add-in has gone: fails everything that is out, at once. why: may be empty. Nothing can be
 * sent from then on. */
void pipe_hub_lost(PipeHub *hub, Span why);

/* Sends pings that are due. False: the add-in is dead; close, and say lost. */
bool pipe_hub_advance(PipeHub *hub, int64_t now_ms);
int64_t pipe_hub_deadline(const PipeHub *hub);

/* Calls that are out, a list not counted. */
size_t pipe_hub_pending(const PipeHub *hub);
PipeHubCounts pipe_hub_counts(const PipeHub *hub);

/* A failure to send (negative errno) that ends the connection. */
int pipe_hub_error(const PipeHub *hub);
