/* cli/cmd_queue.h: `toolwire queue`: the durable queue for people. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_queue;

/* Its sub-commands. */
extern const CliCommand cmd_queue_ls;
extern const CliCommand cmd_queue_show;
extern const CliCommand cmd_queue_result;
extern const CliCommand cmd_queue_retry;
extern const CliCommand cmd_queue_cancel;
extern const CliCommand cmd_queue_purge;
