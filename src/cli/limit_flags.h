/* cli/limit_flags.h: the options that set limits, for every command that serves calls. Each is
 * named like its setting in the configuration (app/config.h): --rate-burst sets rate_burst.
 */
#pragma once

#include "app/config.h"
#include "cli/cli.h"

/* Rows of a command's option table; the arguments are the defaults that help shows. */
#define LIMIT_FLAGS_CALLS(rate_burst, rate_per_s)                                                  \
    {"rate-burst", "N", "calls and lists at once (" rate_burst ")"},                               \
        {"rate-per-s", "N", "and per second in the long run (" rate_per_s ")"},                    \
        {"call-timeout-ms", "TIME", "end a call without progress after this (30s)"},               \
        {"call-timeout-max-ms", "TIME", "end any call after this (1h)"},                           \
    {                                                                                              \
        "drain-ms", "TIME", "at the end, wait this long for calls (30s)"                           \
    }

#define LIMIT_FLAGS_MCP(max_request, max_response)                                                 \
    {"rate", "off", "no limit to the rate of calls"},                                              \
        {"max-in-flight", "N", "calls that may run at the same time (128)"},                       \
        {"max-request-bytes", "SIZE", "refuse longer requests (" max_request ")"},                 \
        {"max-response-bytes", "SIZE", "refuse longer results (" max_response ")"},                \
        {"max-line-bytes", "SIZE", "write no longer line to a client (10420224)"},                 \
    {                                                                                              \
        "page-size", "N", "entries of a page of a list (all)"                                      \
    }

/* Puts the options that were given into the settings. 0, or CLI_EXIT_USAGE: it was explained. */
int limit_flags_apply(const CliArgs *args, Config *config);
