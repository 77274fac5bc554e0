/* cli/cmd_template.h: `toolwire template`: the templates for people. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_template;

/* Its sub-commands, a file each. */
extern const CliCommand cmd_template_ls;
extern const CliCommand cmd_template_show;
extern const CliCommand cmd_template_render;
extern const CliCommand cmd_template_scaffold;
extern const CliCommand cmd_template_search;
extern const CliCommand cmd_template_lint;
