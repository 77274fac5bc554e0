/* app/agent_client_internal.h: what the files of the agent client share. Thread: loop. */
#pragma once

#include "app/agent_client.h"

#include "base/arena.h"
#include "base/diag.h"
#include "dialect/agent/shell.h"
#include "dialect/pipe/backoff.h"
#include "frame/ndjson.h"
#include "io/loop.h"
#include "io/process.h"
#include "io/stream.h"
#include "peer/mcp_peer_stderr.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum ClientState {
    CLIENT_OPEN,
    CLIENT_CLOSING,
    CLIENT_CLOSED
} ClientState;

struct AgentClient {
    AgentClientConfig config; /* its strings lie in `strings` */
    Arena strings;
    Arena arena; /* of the line in hand */
    AgentShell shell;
    IoStream *stream;
    IoProcess *process;
    IoTimer *timer;
    IoBeforeWait *settle;
    NdjsonReader reader;
    NdjsonWriter writer;
    McpPeerStderr words;
    PipeBackoff backoff;
    ClientState state;
    bool can_interrupt; /* the agent has said that it understands */
    bool has_output_ended;
    bool has_exited;
    bool is_over; /* is_once, and it has ended */
    IoProcessExit exit;
    uint64_t n_long;       /* lines longer than allowed */
    uint64_t n_interrupts; /* that we sent by ourselves */
    int64_t linger_end_ms;
    int64_t restart_at_ms;
    int64_t term_at_ms; /* closing: when asking is over */
    int64_t timer_ms;
    void (*done)(void *context);
    void *done_context;
};

/* Starts an agent and opens its streams. 0, -ENOMEM, another errno, AGENT_CLIENT_E_CANNOT_START. */
int agent_client_connect(AgentClient *client, Diag *reterr_diag);

/* Lets go of the agent, whatever state it is in; what it was not sent is sent to nobody. */
void agent_client_disconnect(AgentClient *client);

/* For the wire: an event of the session; the process ended; its output or its stderr did. */
void agent_client_tell(AgentClient *client, const AgentShellEvent *event, Span line);
void agent_client_on_exit(void *context, IoProcessExit exit);
void agent_client_look_at_end(AgentClient *client);

/* The 1st, 2nd, 4th, 8th… of its kind is worth a word: an agent that writes nothing else must not
 * fill the log. */
bool agent_client_counts_as_news(uint64_t n);
