/* toolwire: finds the command, reads its words, runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/start.h"

static int main_unknown(const char *name)
{
    const char *names[64];
    const char *nearest;
    size_t n = 0;

    while (cli_commands[n] != NULL && n < TW_ARRAY_SIZE(names)) {
        names[n] = cli_commands[n]->name;
        n++;
    }
    nearest = text_nearest(span_from_str(name), names, n);
    fprintf(stderr, "toolwire: unknown command '%s'", name);
    if (nearest != NULL) {
        fprintf(stderr, "; did you mean '%s'?", nearest);
    }
    fprintf(stderr, "\ntoolwire: 'toolwire -h' lists the commands\n");
    return CLI_EXIT_USAGE;
}

/* Output that did not reach its reader is a failure, whatever the command thought of it. */
static int main_close_stdout(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("toolwire: cannot write to standard output");
        return status == CLI_EXIT_DONE ? CLI_EXIT_FAILED : status;
    }
    return status;
}

static int main_run(int argc, char **argv)
{
    const CliCommand *command;
    CliArgs args;

    if (argc < 2) {
        fprintf(stderr, "toolwire: a command is missing; 'toolwire -h' lists them\n");
        return CLI_EXIT_USAGE;
    }
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
        cli_help_program(stdout);
        return CLI_EXIT_DONE;
    }
    if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0) {
        printf("toolwire %s\n", TOOLWIRE_VERSION);
        return CLI_EXIT_DONE;
    }
    command = cli_command_find(argv[1]);
    if (command == NULL) {
        return main_unknown(argv[1]);
    }
    if (cli_args_parse(command, argc - 2, argv + 2, stderr, &args) != 0) {
        return CLI_EXIT_USAGE;
    }
    if (args.wants_help) {
        cli_help_command(command, stdout);
        return CLI_EXIT_DONE;
    }
    return command->run(&args);
}

int main(int argc, char **argv)
{
    cli_start();
    return main_close_stdout(main_run(argc, argv));
}
