/* toolwire: finds the command, reads its words, runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/start.h"
#include "io/error_text.h"
#include "io/loop.h"
#include "providers/analysis_worker.h"

/* This program, whatever has become of its file. */
#ifndef _WIN32
static const char *const main_worker[] = {"/proc/self/exe", ANALYSIS_WORKER_WORD, NULL};
#endif

/* Output that did not reach its reader is a failure, whatever the command thought of it. */
static int main_close_stdout(int status)
{
    int error = output_finish();

    if (error != 0) {
        fprintf(stderr, "toolwire: cannot write to standard output: %s\n", io_error_text(error));
        return status == CLI_EXIT_DONE ? CLI_EXIT_FAILED : status;
    }
    return status;
}

static bool main_is_help(const char *word)
{
    return strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}

/* Reads the words behind a command's name, and runs it. */
static int main_run_command(const CliCommand *command, int argc, char **argv)
{
    CliArgs args;

    if (cli_args_parse(command, argc, argv, stderr, &args) != 0) {
        return CLI_EXIT_USAGE;
    }
    if (args.wants_help) {
        cli_help_command(command, stdout);
        return CLI_EXIT_DONE;
    }
    return command->run(&args);
}

static int main_run_subcommand(const CliCommand *command, int argc, char **argv)
{
    const CliCommand *subcommand;

    if (argc == 0) {
        fprintf(stderr, "toolwire %s: a command is missing; 'toolwire %s -h' lists them\n",
                command->name, command->name);
        return CLI_EXIT_USAGE;
    }
    if (main_is_help(argv[0])) {
        cli_help_command(command, stdout);
        return CLI_EXIT_DONE;
    }
    subcommand = cli_command_find(command->subcommands, argv[0]);
    return subcommand == NULL ? cli_command_unknown(command, argv[0], stderr)
                              : main_run_command(subcommand, argc - 1, argv + 1);
}

static int main_run(int argc, char **argv)
{
    const CliCommand *command;

    if (argc < 2) {
        fprintf(stderr, "toolwire: a command is missing; 'toolwire -h' lists them\n");
        return CLI_EXIT_USAGE;
    }
    if (main_is_help(argv[1])) {
        cli_help_program(stdout);
        return CLI_EXIT_DONE;
    }
    if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0) {
        printf("toolwire %s\n", TOOLWIRE_VERSION);
        return CLI_EXIT_DONE;
    }
    command = cli_command_find(cli_commands, argv[1]);
    if (command == NULL) {
        return cli_command_unknown(NULL, argv[1], stderr);
    }
    return command->subcommands != NULL ? main_run_subcommand(command, argc - 2, argv + 2)
                                        : main_run_command(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
    /* We are the worker of an analysis, and nobody's command. */
    if (argc == 2 && strcmp(argv[1], ANALYSIS_WORKER_WORD) == 0) {
        return analysis_worker_main() == 0 ? CLI_EXIT_DONE : CLI_EXIT_FAILED;
    }
#ifndef _WIN32
    analysis_worker_use(main_worker);
#endif
    cli_start();
    io_ignore_sigxfsz();
    return main_close_stdout(main_run(argc, argv));
}
