/* dialect/agent/server.h: the agent's side of the wire: which requests are open, and what becomes
 * of lines that are none.
 *
 *     line → agent_server_receive → a request, which is open from now on
 *                                 → or nothing to do: an answer may have been written, and the Diag
 *                                   has a sentence for the log
 *     …the owner writes responses (message.h), the last of them done, error or status…
 *     agent_server_end → the id may be used again
 *
 * The rules that are kept here: what is not JSON is answered only if its id can be read; a request
 * without id is only logged; an unknown kind, a wrong member, and an id that is open are answered
 * with an error; too many at once too. Performs no I/O. Thread: any, one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/span.h"
#include "dialect/agent/message.h"

#include <stdint.h>

enum {
    AGENT_SERVER_E_REFUSED = 1, /* no request; the Diag says what was wrong with the line */
};

typedef struct AgentServer {
    Map open; /* id → what the owner keeps for it */
} AgentServer;

#define AGENT_SERVER_NULL ((AgentServer){.open = {.entries = NULL}})

/* At most max_open requests at a time. Allocates nothing yet. */
void agent_server_init(AgentServer *server, HashSeed seed, size_t max_open);
void agent_server_deinit(AgentServer *server);

/* Takes a line: on 0 *ret is a request (borrows line and arena, message.h) whose id is open. On
 * AGENT_SERVER_E_REFUSED an error may have been appended to out (out->n tells), as one message
 * without its newline. 0, -ENOMEM, BYTES_E_FULL (nothing is open, nothing written), or REFUSED. */
int agent_server_receive(AgentServer *server, AgentRequest *ret, Arena *arena, Span line,
                         int64_t wall_ms, Bytes *out, Diag *reterr_diag);

/* What the owner keeps for an open request (NULL until set; NULL if it is not open). */
void agent_server_set(AgentServer *server, Span id, void *owner);
void *agent_server_get(const AgentServer *server, Span id);

/* The request is answered: its id is free. */
void agent_server_end(AgentServer *server, Span id);
