/* cli/cli.h: what a command is, and how its words are read.
 *
 * A command is one file, cmd_NAME.c, that exports one constant CliCommand; commands.c lists them.
 * Parsing and help come from its option table; a test compares the manual's SYNOPSIS with them.
 */
#pragma once

#include "base/compiler.h"
#include "base/logsink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses of every command. */
enum {
    CLI_EXIT_DONE = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 2,
};

/* Options of one command, those of every command (cli_common_options) included. */
#define CLI_MAX_OPTIONS 48

/* Words of options that may come several times: a person types a tenth of it. */
#define CLI_MAX_REPEATS 256

typedef struct CliOption {
    const char *name;     /* without the dashes, one for a single letter; NULL ends a table */
    const char *argument; /* what follows it, as help shows it; NULL for a flag; with "..." at its
                             end the option may come several times */
    const char *summary;
} CliOption;

typedef struct CliCommand CliCommand;

/* What was given to an option that may come several times. */
typedef struct CliRepeat {
    size_t place; /* in the command's table */
    const char *value;
} CliRepeat;

/* The words of one call, sorted. Points into argv. */
typedef struct CliArgs {
    const CliCommand *command;
    const char *values[CLI_MAX_OPTIONS]; /* by place in the command's table; NULL if not given */
    const char *common[CLI_MAX_OPTIONS]; /* likewise for cli_common_options */
    CliRepeat repeats[CLI_MAX_REPEATS];  /* all values of options that may come several times, as
                                            they came; values has the last */
    size_t n_repeats;
    char **operands;
    size_t n_operands;
    bool wants_help;
    LogSink log;
} CliArgs;

struct CliCommand {
    const char *name;     /* of a sub-command with its command's: "template ls" */
    const char *operands; /* as help shows them; NULL if the command takes none */
    const char *summary;  /* half a sentence */
    const char *details;  /* what help says below the options; may be NULL */
    const CliOption *options;
    int (*run)(const CliArgs *args);      /* returns an exit status */
    const CliCommand *const *subcommands; /* NULL-terminated; instead of operands, options and run
                                           */
};

/* Places in cli_common_options. */
enum {
    CLI_COMMON_HELP,
    CLI_COMMON_LOG_FORMAT,
    CLI_COMMON_LOG_LEVEL,
};

/* Options that every command has. */
extern const CliOption cli_common_options[];

/* Every command, NULL-terminated. */
extern const CliCommand *const cli_commands[];

/* The command of that name (its last word) in a NULL-terminated table, or NULL. */
const CliCommand *cli_command_find(const CliCommand *const *table, const char *name);

/* Says on `errors` that a command has no such sub-command, or with command NULL that there is no
 * such command, and which was probably meant. Returns CLI_EXIT_USAGE. */
int cli_command_unknown(const CliCommand *command, const char *name, FILE *errors);

/* Sorts the argc words of argv (those after the command's name; reordered in place) into *ret_args.
 * Options are `--name value`, `--name=value` or `--name`, or `-n value` and `-n` for a single
 * letter; `--` ends them; `-` is an operand. A wrong word is explained on `errors`. 0 or
 * CLI_EXIT_USAGE. */
int cli_args_parse(const CliCommand *command, int argc, char **argv, FILE *errors,
                   CliArgs *ret_args);

/* Prints the help of one command, and of the program. */
void cli_help_command(const CliCommand *command, FILE *out);
void cli_help_program(FILE *out);

/* Explains wrong use on stderr, as "toolwire validate: …", and returns CLI_EXIT_USAGE. */
TW_PRINTF(2, 3) int cli_usage_error(const CliArgs *args, const char *format, ...);

/* The time that was given to the option at that place of the command's table, into *ms; untouched
 * if none was. It has a unit (500ms, 30s, 5m), unless the option's name has one: --drain-ms 500.
 * More than 0 unless may_be_zero. 0, or CLI_EXIT_USAGE: it was explained. */
int cli_args_time(const CliArgs *args, size_t place, bool may_be_zero, int64_t *ms);

/* Whether output for people on this stream may be coloured: a terminal, and NO_COLOR unset or
 * empty. */
bool cli_wants_colour(FILE *stream);
