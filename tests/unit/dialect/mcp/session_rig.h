/* A server session with everything around it: a sink that keeps what is sent, a clock, and a
 * provider that does what the tool's name says.
 *
 *     tool       does
 *     echo       answers arguments.message as text
 *     whole      answers its arguments as structuredContent
 *     hold       waits for rig_finish; known by arguments.tag
 *     steps      reports progress 1 and 2 of 2, then answers
 *     logs       logs at debug, info and error, then answers
 *     big        answers a text of arguments.n bytes
 *     form, url, sample, roots
 *                asks that, with the key "it" and the state "s"; then answers the inputs as text
 *     badform    as form, with a schema that cannot be compiled
 *     both       asks a form "a" and the roots "b" at once
 *     twice      asks a form "a", then a form "b", each time with the state "round N"
 *     forever    asks the same form again and again
 *     bloat      asks with a state that is too long
 *     nothing    asks without a question
 *     job        becomes a task (t1, t2…) if the asker takes one, else answers "done"
 *     job_only   only becomes one
 *
 * Tasks stand still until rig_task_change moves them; one that asks wants a form "it".
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "call/call.h"
#include "dialect/mcp/server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RIG_MAX_HELD  1100
#define RIG_MAX_TASKS 8

/* How a task ended. */
typedef enum RigEnd {
    RIG_END_DONE,
    RIG_END_TOOL_FAILED,
    RIG_END_ERROR,
    RIG_END_CANCELLED
} RigEnd;

typedef struct RigTask {
    char id[8];
    CallTaskStatus status;
    RigEnd end;
    int64_t ttl_ms;
} RigTask;

typedef struct Rig {
    McpServer *server;
    McpServerConfig config;
    McpIdentity identity;
    McpSink sink;
    McpSealer sealer;
    McpOffer offer;
    int64_t now_ms;

    Bytes sent;         /* messages, each with a newline */
    size_t n_sent;      /* messages */
    size_t n_read;      /* bytes of `sent` that rig_take has given */
    size_t start;       /* of the message begun */
    size_t max_message; /* commit refuses longer ones; 0: never */
    bool is_refusing;   /* begin fails as if the queue were full */
    size_t n_lent;      /* messages with a part that was lent */
    int lend_fails;     /* what committing such a one returns, if not 0 */

    Call *held[RIG_MAX_HELD];
    char tags[RIG_MAX_HELD][16];
    size_t n_held;
    size_t n_started;
    size_t n_cancelled;
    char last_cancelled[16];

    RigTask tasks[RIG_MAX_TASKS];
    size_t n_tasks;
    const char *task_owner; /* whose they are */

    bool is_out_of_memory; /* a copy of arguments could not be had */
} Rig;

/* config may be changed between the two. 0, -ENOMEM. */
void rig_init(Rig *rig);
int rig_open(Rig *rig);

/* Lets the sink take large parts from where they lie. */
void rig_lend(Rig *rig);

/* Cancels what is held; may run twice. */
void rig_deinit(Rig *rig);

/* One message; then every event is served. What mcp_server_receive returned. */
int rig_receive(Rig *rig, Span message);
int rig_receive_text(Rig *rig, const char *message);
void rig_serve(Rig *rig);

/* The next message that was sent, NUL-terminated and borrowed until more is sent; NULL if there is
 * none. */
const char *rig_take(Rig *rig);

/* The call with that tag; NULL if it is not held. rig_finish answers it with "done", rig_ask
 * asks a form. */
Call *rig_held(Rig *rig, const char *tag);
void rig_finish(Rig *rig, const char *tag);
void rig_ask(Rig *rig, const char *tag);

/* The same without answering it. */
Call *rig_release(Rig *rig, const char *tag);
void rig_hold(Rig *rig, Call *call, Span tag);

/* session_rig_tasks.c: "working", "asks", "done", "tool_failed", "error", "cancelled"; false if
 * there is no such task. */
bool rig_task_change(Rig *rig, const char *id, const char *what);

/* A tool that may be a task, or may not: true if the call was taken. What is asked about tasks. */
bool rig_task_tool(Rig *rig, Call *call);
void rig_task_run(Rig *rig, Call *call);
