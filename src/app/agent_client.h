/* app/agent_client.h: an agent that we use: a child process, and the shell's session with it.
 *
 * Joins io/process, io/stream, frame/ndjson and dialect/agent/shell. An agent that ends is started
 * again, after a while that doubles each time until one has answered something; the requests that
 * it had are over. Requests that are made while there is none wait for the next one. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "base/span.h"
#include "dialect/agent/shell.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct AgentClient AgentClient;

/* How an agent ended, and what comes next. */
typedef struct AgentClientEnd {
    const char *words;     /* "the agent ended (exit status 3)" */
    bool was_ready;        /* it had said so */
    int64_t restart_in_ms; /* -1: it is not started again */
} AgentClientEnd;

typedef struct AgentClientConfig {
    IoLoop *loop;
    const char *const *argv;        /* the agent to start; copied */
    const char *const *environment; /* NULL: ours; copied */
    const char *folder;             /* NULL: ours */
    bool inherit_stderr;            /* else its lines go to the log at debug level */
    bool dies_with_thread;          /* io/process.h */
    bool is_once;                   /* it is not started again */
    int64_t idle_ms;                /* 0: LIMIT_AGENT_IDLE_MS */
    int64_t restart_ms;             /* 0: LIMIT_AGENT_RESTART_MS */
    const LogSink *log;
    /* Every event of the session (dialect/agent/shell.h); line: the agent's, where there was one.
     * NOISE is logged besides. Both functions may call any function of the client but free. */
    void (*event)(void *context, const AgentShellEvent *event, Span line);
    /* The agent has ended; its requests were told so before. May be NULL. */
    void (*ended)(void *context, const AgentClientEnd *end);
    void *context;
} AgentClientConfig;

enum {
    AGENT_CLIENT_E_CANNOT_START = 1, /* the Diag says why */
    AGENT_CLIENT_E_EXISTS,           /* the id is open already */
    AGENT_CLIENT_E_FULL,             /* too many requests are open, or too much is unsent */
    AGENT_CLIENT_E_TOO_LONG,         /* the request is no line that an agent would take */
    AGENT_CLIENT_E_CLOSED,           /* after close, or after the end of an agent that is_once */
};

/* Starts the agent. 0, -ENOMEM, another errno, AGENT_CLIENT_E_CANNOT_START. Gives *ret. */
int agent_client_new(AgentClient **ret, const AgentClientConfig *config, Diag *reterr_diag);

/* Ends politely: closes the agent's input, waits grace_ms for its exit, then TERM, then KILL;
 * `done` (may be NULL) comes when it is over. No event comes any more. */
void agent_client_close(AgentClient *client, int64_t grace_ms, void (*done)(void *context),
                        void *context);
AgentClient *agent_client_free(AgentClient *client);

/* Sends a request, before the loop waits; context comes with its events. 0, -ENOMEM,
 * AGENT_CLIENT_E_*. */
int agent_client_request(AgentClient *client, const AgentRequest *request, void *context);

/* Nobody wants to hear of it any more. */
void agent_client_forget(AgentClient *client, Span id);

/* The loop did not run for so long: nobody was silent, only nobody has listened. */
void agent_client_slept(AgentClient *client, int64_t ms);

/* Has the agent that runs now said that it is ready? */
bool agent_client_is_ready(const AgentClient *client);

/* Requests that are open. */
size_t agent_client_n_open(const AgentClient *client);
