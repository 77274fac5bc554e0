/* The table of commands, and the help that is made from it. */
#include "cli/cli.h"

#include <string.h>

#include "cli/cmd_addin.h"
#include "cli/cmd_bridge.h"
#include "cli/cmd_call.h"
#include "cli/cmd_host.h"
#include "cli/cmd_prompts.h"
#include "cli/cmd_resources.h"
#include "cli/cmd_serve.h"
#include "cli/cmd_tools.h"
#include "cli/cmd_validate.h"

const CliCommand *const cli_commands[] = {
    &cmd_serve,     &cmd_host,    &cmd_bridge, &cmd_addin,    &cmd_tools,
    &cmd_resources, &cmd_prompts, &cmd_call,   &cmd_validate, NULL,
};

const CliCommand *cli_command_find(const char *name)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (strcmp(cli_commands[i]->name, name) == 0) {
            return cli_commands[i];
        }
    }
    return NULL;
}

static void help_options(const CliOption *table, FILE *out)
{
    for (const CliOption *o = table; o != NULL && o->name != NULL; o++) {
        char word[64];

        (void)snprintf(word, sizeof(word), "--%s%s%s", o->name, o->argument == NULL ? "" : " ",
                       o->argument == NULL ? "" : o->argument);
        fprintf(out, "  %-22s  %s\n", word, o->summary);
    }
}

void cli_help_command(const CliCommand *command, FILE *out)
{
    fprintf(out, "usage: toolwire %s [OPTION...]%s%s\n\n%s\n\n", command->name,
            command->operands == NULL ? "" : " ",
            command->operands == NULL ? "" : command->operands, command->summary);
    help_options(command->options, out);
    help_options(cli_common_options, out);
    if (command->details != NULL) {
        fprintf(out, "\n%s\n", command->details);
    }
}

void cli_help_program(FILE *out)
{
    fprintf(
        out,
        "usage: toolwire COMMAND [OPTION...]\n\nThe local wire between AI agents and tools.\n\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        fprintf(out, "  %-10s  %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    }
    fprintf(out, "\n'toolwire COMMAND -h' says more; 'toolwire -V' prints the version.\n");
}
