/* `toolwire analyze`: the table of its sub-commands. */
#include "cli/cmd_analyze.h"

static const CliCommand *const analyze_commands[] = {
    &cmd_analyze_complexity,
    &cmd_analyze_churn,
    &cmd_analyze_hotspots,
    NULL,
};

const CliCommand cmd_analyze = {
    .name = "analyze",
    .summary = "measure code: complexity, changes, and where both meet",
    .details = "PATH is a folder or a file, and \".\" if it is left out:\n"
               "  toolwire analyze complexity src --fail-over 25\n"
               "  toolwire analyze hotspots --days 90 --html hotspots.html",
    .subcommands = analyze_commands,
};
