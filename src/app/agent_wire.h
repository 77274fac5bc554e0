/* app/agent_wire.h: the two descriptors between a shell and the agent: lines in, lines out.
 *
 * Lines are handed over as they come; what is written in one turn of the loop leaves in one write.
 * A shell that does not read is not read from. With a trace each line is also shown on stderr, with
 * secrets masked. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/logsink.h"
#include "base/span.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct AgentWire AgentWire;

typedef struct AgentWireConfig {
    IoLoop *loop;
    int in_fd; /* taken on success, as the next */
    int out_fd;
    bool trace;
    const char *const *secrets; /* not shown in the trace; NULL-terminated, borrowed; may be NULL */
    const LogSink *log;         /* may be NULL */
    void (*line)(void *context, Span line);
    /* A line that is longer than allowed; beginning: what there is of it. */
    void (*too_long)(void *context, Span beginning);
    /* No more lines come. Once. */
    void (*ended)(void *context);
    /* Nobody reads any more (negative errno), or nothing can be written. Once; nothing follows. */
    void (*failed)(void *context, int r);
    void *context;
} AgentWireConfig;

/* 0, -ENOMEM, another negative errno. Gives *ret. */
int agent_wire_new(AgentWire **ret, const AgentWireConfig *config);
AgentWire *agent_wire_free(AgentWire *wire);

/* Composes one line: append to *ret, then commit; or abort. 0; anything else: nothing is sent, and
 * there is nothing to abort. begin: wire may be NULL, which has failed. */
int agent_wire_begin(AgentWire *wire, Bytes **ret);
int agent_wire_commit(AgentWire *wire);
void agent_wire_abort(AgentWire *wire);

/* Bytes that the shell has not taken. */
size_t agent_wire_pending(const AgentWire *wire);

/* Shows a line of the trace, as --trace-protocol does: "[SEND] {…}", without secrets, nor the
 * values of those variables of environment whose names look like one. Both are NULL-terminated and
 * may be NULL. For tests: into out. */
int agent_wire_trace_line(Bytes *out, const char *mark, Span line, const char *const *environment,
                          const char *const *secrets);
