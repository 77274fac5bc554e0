/* `toolwire queue`: the table of its sub-commands. */
#include "cli/cmd_queue.h"

static const CliCommand *const queue_commands[] = {
    &cmd_queue_ls,
    &cmd_queue_show,
    &cmd_queue_result,
    &cmd_queue_retry,
    &cmd_queue_cancel,
    &cmd_queue_purge,
    NULL,
};

const CliCommand cmd_queue = {
    .name = "queue",
    .summary = "jobs of the durable queue: look at them, end them, run them again",
    .details =
        "Asks the hub of this state folder, and where none runs its file. A job is named by\n"
        "its id, which 'toolwire queue ls' shows.",
    .subcommands = queue_commands,
};
