/* providers/exec.h: tools that are commands, from a tools file (providers/tools_file.h).
 *
 * A call starts the command without a shell, in a process group of its own. It reads the arguments
 * from its stdin, JSON and a newline, byte for byte as the asker wrote them: one line, unless the
 * asker used more. What it writes to stdout is the result: text, or structured if the tool has an
 * output schema and the output is a JSON object. Another exit status than 0 is a tool error with
 * the end of stderr. Its environment is a short list of ours and what the tools file says. Calls
 * run side by side.
 *
 * A cancelled call ends the group, TERM and then KILL. When a call is answered the same happens to
 * what the command has left running in its group; a daemon that is to stay leaves the group
 * (setsid). Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "io/loop.h"
#include "router/router.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    EXEC_PROVIDER_E_MALFORMED = 1, /* the tools file, or a name that is taken; the Diag says */
    EXEC_PROVIDER_E_UNREADABLE,    /* there is no such file, no permission…; the Diag says */
};

typedef struct ExecProvider ExecProvider;

typedef struct ExecProviderConfig {
    Router *router;
    IoLoop *loop;
    const char *path;          /* the tools file; borrowed until return */
    const LogSink *log;        /* may be NULL */
    bool yields;               /* a tool whose name is taken is left out, with a warning */
    size_t max_request_bytes;  /* arguments of a call; 0: LIMIT_MCP_REQUEST_BYTES */
    size_t max_response_bytes; /* output of a command, and the result made of it; 0:
                                  LIMIT_MCP_RESPONSE_BYTES */
} ExecProviderConfig;

/* Adds every tool of the file to the router (but those that yield), or none; borrows router, loop
 * and log until free; the limits are below SIZE_MAX / 32. 0, -ENOMEM, EXEC_PROVIDER_E_MALFORMED,
 * EXEC_PROVIDER_E_UNREADABLE; the Diag names file, line and field. Gives *ret. */
int exec_provider_load(ExecProvider **ret, const ExecProviderConfig *config, Diag *reterr_diag);

/* Removes the tools, ends their calls (unavailable) and kills their commands. Before the router's
 * and the loop's. */
ExecProvider *exec_provider_free(ExecProvider *provider);

/* Takes the tools out of the router, for another provider to have the names; calls that run go on.
 * offer puts them back: 0, -ENOMEM, EXEC_PROVIDER_E_MALFORMED (a name is taken; then none is). */
void exec_provider_withdraw(ExecProvider *provider);
int exec_provider_offer(ExecProvider *provider);

/* Is a call of its tools on the way? */
bool exec_provider_is_busy(const ExecProvider *provider);

/* Commands that still run although their call is over. */
size_t exec_provider_ending(const ExecProvider *provider);

size_t exec_provider_count(const ExecProvider *provider);
