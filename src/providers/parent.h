/* providers/parent.h: tools of another process, reached by its call socket.
 *
 * The parent has written a schema file (providers/tools_file.h says by which rules); its tools are
 * offered from there, without touching the socket. The first call connects; the connection is kept;
 * after a loss the next call connects again. A call that was sent is never sent twice, since it may
 * have run; one of which the system took nothing is tried on one more connection. Calls are sent
 * one at a time (dialect/callsock/caller.h). A parent that is neither ours nor root's is not talked
 * to. When the file changes the tools follow it, and listeners of the router are told; one that is
 * broken leaves the last good tools in place, with a word in the log, and so does one that is gone.
 * Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "io/loop.h"
#include "router/router.h"

#include <stddef.h>
#include <stdint.h>

enum {
    /* The schema file: unreadable, exposed, malformed, or it names a tool that another provider has
     * already; the Diag says. */
    PARENT_PROVIDER_E_SCHEMA = 1,
};

typedef struct ParentProvider ParentProvider;

typedef struct ParentProviderConfig {
    Router *router; /* borrowed until free, as loop and log */
    IoLoop *loop;
    const LogSink *log;      /* may be NULL */
    const char *socket_path; /* copied */
    const char *schema_path; /* copied */
} ParentProviderConfig;

/* Adds every tool of the schema file, or none. 0, -ENOMEM, another negative errno,
 * PARENT_PROVIDER_E_SCHEMA; the Diag names file, line and field. Gives *ret. */
int parent_provider_new(ParentProvider **ret, const ParentProviderConfig *config,
                        Diag *reterr_diag);

/* Removes the tools and fails their calls (unavailable). Before the router's and the loop's, and
 * not from inside the end of a call. */
ParentProvider *parent_provider_free(ParentProvider *provider);

/* The tools that are offered now. */
size_t parent_provider_count(const ParentProvider *provider);
