/* dialect/agent/shell.h: the shell's side of the wire: requests that are open, and to which of them
 * a line belongs.
 *
 *     agent_shell_open → the line to send
 *     line → agent_shell_receive → an event: ready, a response to an open request, its end; or what
 *                                  belongs to none; or noise, a line that is no message at all
 *     next_deadline → expire: requests about which nothing was heard for idle_ms, one event each
 *     agent_shell_lose: the agent has gone, and with it every request, one event each
 *
 * Responses may come in any order. While a tool waits for the shell's approval the request's clock
 * stands still: it is not the agent that is silent. What an agent prints beside its messages is
 * given back as plain text for the log. Performs no I/O. Thread: any, one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/span.h"
#include "dialect/agent/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    AGENT_SHELL_E_EXISTS = 2, /* the id is open already */
    AGENT_SHELL_E_FULL,       /* too many requests are open */
};

typedef struct AgentShellRequest AgentShellRequest;

typedef struct AgentShell {
    Map open;                  /* id → AgentShellRequest */
    Map approvals;             /* tool id → AgentShellRequest that waits for an answer of ours */
    AgentShellRequest *oldest; /* of those whose clock runs, by what was heard last */
    AgentShellRequest *newest;
    AgentShellRequest *ended; /* what the last event was about */
    Bytes noise;
    int64_t idle_ms;
    uint64_t n_noise; /* lines that were no messages, over its life */
    bool is_ready;
} AgentShell;

#define AGENT_SHELL_NULL ((AgentShell){.oldest = NULL})

typedef enum AgentShellEventKind {
    AGENT_SHELL_READY,    /* response */
    AGENT_SHELL_RESPONSE, /* about an open request, which goes on: token, tool_* */
    AGENT_SHELL_END,      /* done, error or status: the request is over */
    AGENT_SHELL_TIMEOUT,  /* the request is over: silence; text says so */
    AGENT_SHELL_LOST,     /* the request is over: the agent has gone */
    AGENT_SHELL_UNASKED,  /* a response to no open request: a late one, or an error without id */
    AGENT_SHELL_NOISE,    /* no message: text is what may be shown of it, cut */
} AgentShellEventKind;

/* All of it is borrowed until the next function of this shell, or longer where message.h says so.
 */
typedef struct AgentShellEvent {
    AgentShellEventKind kind;
    Span id;       /* of the request; empty if there is none */
    void *context; /* of the request */
    AgentResponse response;
    Span text;
} AgentShellEvent;

/* idle_ms 0: LIMIT_AGENT_IDLE_MS. Allocates nothing yet. */
void agent_shell_init(AgentShell *shell, HashSeed seed, int64_t idle_ms);
void agent_shell_deinit(AgentShell *shell);

/* Appends the request to out, as one message without its newline, and opens it: context comes with
 * its events. An approval also lets the clock of the request go on that waits for it. 0, -ENOMEM,
 * BYTES_E_FULL, AGENT_SHELL_E_EXISTS, AGENT_SHELL_E_FULL; on failure nothing has changed. */
int agent_shell_open(AgentShell *shell, const AgentRequest *request, void *context, int64_t now_ms,
                     Bytes *out);

/* Nobody wants to hear of this request any more; what comes about it is unasked. */
void agent_shell_forget(AgentShell *shell, Span id);

/* Takes a line; there is always one event. Borrows line and arena for as long as *ret is used. 0,
 * -ENOMEM. */
int agent_shell_receive(AgentShell *shell, AgentShellEvent *ret, Arena *arena, Span line,
                        int64_t now_ms);

/* When expire has something to do; INT64_MAX: never. */
int64_t agent_shell_next_deadline(const AgentShell *shell);

/* One request whose time is over; false if there is none (any more). */
bool agent_shell_expire(AgentShell *shell, AgentShellEvent *ret, int64_t now_ms);

/* Nobody has listened for so long: that was not the agent's silence. */
void agent_shell_slept(AgentShell *shell, int64_t ms);

/* The agent has gone: gives each open request once, then false. Then a new one may begin. */
bool agent_shell_lose(AgentShell *shell, AgentShellEvent *ret);

TW_INLINE size_t agent_shell_n_open(const AgentShell *shell)
{
    return shell->open.n;
}
