/* `toolwire template`: the table of its sub-commands. */
#include "cli/cmd_template.h"

static const CliCommand *const template_commands[] = {
    &cmd_template_ls,
    &cmd_template_show,
    &cmd_template_render,
    &cmd_template_scaffold,
    &cmd_template_search,
    &cmd_template_lint,
    NULL,
};

const CliCommand cmd_template = {
    .name = "template",
    .summary = "make files and projects from templates",
    .details = "A template is named by its URI, or by CATEGORY/TOOLCHAIN[/VARIANT]:\n"
               "  toolwire template show makefile/rust\n"
               "  toolwire template scaffold c -p project_name=demo",
    .subcommands = template_commands,
};
