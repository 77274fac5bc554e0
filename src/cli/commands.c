/* The table of commands, and the help that is made from it. */
#include "cli/cli.h"

#include <string.h>

#include "base/span.h"
#include "base/text.h"
#include "cli/cmd_addin.h"
#include "cli/cmd_agent.h"
#include "cli/cmd_analyze.h"
#include "cli/cmd_auth.h"
#include "cli/cmd_bridge.h"
#include "cli/cmd_call.h"
#include "cli/cmd_chat.h"
#include "cli/cmd_host.h"
#include "cli/cmd_import.h"
#include "cli/cmd_prompts.h"
#include "cli/cmd_queue.h"
#include "cli/cmd_resources.h"
#include "cli/cmd_serve.h"
#include "cli/cmd_template.h"
#include "cli/cmd_tools.h"
#include "cli/cmd_up.h"
#include "cli/cmd_validate.h"

const CliCommand *const cli_commands[] = {
    &cmd_serve,     &cmd_up,       &cmd_host,    &cmd_bridge,   &cmd_addin,  &cmd_tools,
    &cmd_resources, &cmd_prompts,  &cmd_call,    &cmd_agent,    &cmd_chat,   &cmd_queue,
    &cmd_auth,      &cmd_template, &cmd_analyze, &cmd_validate, &cmd_import, NULL,
};

/* The last word of a command's name. */
static const char *command_word(const CliCommand *command)
{
    const char *blank = strrchr(command->name, ' ');

    return blank == NULL ? command->name : blank + 1;
}

const CliCommand *cli_command_find(const CliCommand *const *table, const char *name)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        if (strcmp(command_word(table[i]), name) == 0) {
            return table[i];
        }
    }
    return NULL;
}

int cli_command_unknown(const CliCommand *command, const char *name, FILE *errors)
{
    const CliCommand *const *table = command != NULL ? command->subcommands : cli_commands;
    const char *blank = command != NULL ? " " : "";
    const char *whose = command != NULL ? command->name : "";
    const char *names[64];
    const char *nearest;
    size_t n = 0;

    while (n < TW_ARRAY_SIZE(names) && table[n] != NULL) {
        names[n] = command_word(table[n]);
        n++;
    }
    nearest = text_nearest(span_from_str(name), names, n);
    fprintf(errors, "toolwire%s%s: unknown command '%s'", blank, whose, name);
    if (nearest != NULL) {
        fprintf(errors, "; did you mean '%s'?", nearest);
    }
    fprintf(errors, "\ntoolwire%s%s: 'toolwire%s%s -h' lists the commands\n", blank, whose, blank,
            whose);
    return CLI_EXIT_USAGE;
}

static void help_options(const CliOption *table, FILE *out)
{
    for (const CliOption *o = table; o != NULL && o->name != NULL; o++) {
        char word[64];

        (void)snprintf(word, sizeof(word), "%s%s%s%s", o->name[1] == '\0' ? "-" : "--", o->name,
                       o->argument == NULL ? "" : " ", o->argument == NULL ? "" : o->argument);
        fprintf(out, "  %-22s  %s\n", word, o->summary);
    }
}

static void help_commands(const CliCommand *const *table, FILE *out)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        fprintf(out, "  %-10s  %s\n", command_word(table[i]), table[i]->summary);
    }
}

/* Of a command that has sub-commands. */
static void help_subcommands(const CliCommand *command, FILE *out)
{
    fprintf(out, "usage: toolwire %s COMMAND [OPTION...]\n\n%s\n\n", command->name,
            command->summary);
    help_commands(command->subcommands, out);
    fprintf(out, "\n'toolwire %s COMMAND -h' says more.\n", command->name);
    if (command->details != NULL) {
        fprintf(out, "\n%s\n", command->details);
    }
}

void cli_help_command(const CliCommand *command, FILE *out)
{
    if (command->subcommands != NULL) {
        help_subcommands(command, out);
        return;
    }
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
    help_commands(cli_commands, out);
    fprintf(out, "\n'toolwire COMMAND -h' says more; 'toolwire -V' prints the version.\n");
}
