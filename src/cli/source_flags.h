/* cli/source_flags.h: the options that say what there is to call, for the commands that offer it:
 * `serve`, `up` and `agent`. Each of them has an OPTION_* of these names in its own order.
 */
#pragma once

#include "app/config.h"
#include "cli/cli.h"

/* Rows of a command's option table. */
#define SOURCE_FLAGS                                                                               \
    [OPTION_TOOLS] = {"tools", "FILE", "offer the commands of this tools file"},                   \
    [OPTION_CALL_SOCKET] = {"call-socket", "PATH",                                                 \
                            "offer the tools of the parent at this socket"},                       \
    [OPTION_CALL_SOCKET_SCHEMA] = {"call-socket-schema", "FILE", "which this file describes"},     \
    [OPTION_PIPE] = {"pipe", "NAME", "offer the tools of the add-ins that connect to this pipe"},  \
    [OPTION_PIPE_TOOLS] = {"pipe-tools", "FILE", "and of this tools file, which they run"},        \
    [OPTION_PING_INTERVAL] = {"ping-interval-ms", "TIME", "ping each add-in this often (30s)"},    \
    [OPTION_PONG_TIMEOUT] = {"pong-timeout-ms", "TIME",                                            \
                             "one that is silent for so long is dead (10s)"},                      \
    [OPTION_DIAGNOSTICS] = {"diagnostics", NULL, "offer echo, sleep and fail"},                    \
    [OPTION_TEMPLATES] = {"templates", "DIR...",                                                   \
                          "offer the templates of this folder, too; may be repeated"},             \
    [OPTION_WRITE_ROOT] = {"write-root", "DIR", "scaffold_project may write in this folder"},      \
    [OPTION_STATE] = {"state", "DIR", "keep caches here; else in the user's state folder"},        \
    [OPTION_TOOLKIT] = {"toolkit", NULL, "offer templates and analyses beside other tools"},       \
    [OPTION_NO_TOOLKIT] = {"no-toolkit", NULL, "offer neither templates nor analyses"}

/* What the last two say in place of the settings. */
static inline void source_flags_set_toolkit(const char *with, const char *without, Config *config)
{
    if (without != NULL) {
        config->toolkit = CONFIG_TOOLKIT_LEFT_OUT;
    } else if (with != NULL) {
        config->toolkit = CONFIG_TOOLKIT_OFFERED;
    }
}

/* How much of a model's context is used; `serve` and `up`. */
#define ECONOMY_FLAGS                                                                              \
    [OPTION_LAZY_TOOLS] = {"lazy-tools", NULL,                                                     \
                           "list only search_tools, describe_tool and call_tool"},                 \
    [OPTION_MAX_RESULT] = {"max-result", "SIZE",                                                   \
                           "shorten longer results, and keep them to be read on (off)"}
