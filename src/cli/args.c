/* Reading a command's words by its option table. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "base/text.h"
#include "io/program.h"

const CliOption cli_common_options[] = {
    [CLI_COMMON_HELP] = {"help", NULL, "print this help, and exit"},
    [CLI_COMMON_LOG_FORMAT] = {"log-format", "FORMAT",
                               "messages on stderr as text (default) or json"},
    [CLI_COMMON_LOG_LEVEL] = {"log-level", "LEVEL", "error, warn (default), info or debug"},
    {NULL, NULL, NULL},
};

int cli_usage_error(const CliArgs *args, const char *format, ...)
{
    va_list words;

    fprintf(stderr, "toolwire %s: ", args->command->name);
    va_start(words, format);
    (void)vfprintf(stderr, format, words);
    va_end(words);
    fprintf(stderr, "\n");
    return CLI_EXIT_USAGE;
}

int cli_args_time(const CliArgs *args, size_t place, bool may_be_zero, int64_t *ms)
{
    Span name = span_from_str(args->command->options[place].name);
    const char *value = args->values[place];
    Span text = span_from_str(value != NULL ? value : "");
    int64_t parsed = 0;

    if (value == NULL) {
        return 0;
    }
    if (text_parse_duration_ms(text, &parsed) != 0 ||
        (text.p[text.n - 1] <= '9' && !span_ends_with(name, SPAN("-ms")))) {
        return cli_usage_error(args, "--%s is '%s'; it needs a number and a unit: 500ms, 30s, 5m",
                               name.p, value);
    }
    if (parsed == 0 && !may_be_zero) {
        return cli_usage_error(args, "--%s is '%s'; it must be more than 0", name.p, value);
    }
    *ms = parsed;
    return 0;
}

bool cli_wants_colour(FILE *stream)
{
    const char *no_colour = getenv("NO_COLOR");

    return io_terminal_is(fileno(stream)) && (no_colour == NULL || no_colour[0] == '\0');
}

/* The option of that name in a table, and its place; NULL if there is none. */
static const CliOption *args_find(const CliOption *table, Span name, size_t *ret_place)
{
    for (size_t i = 0; table != NULL && table[i].name != NULL; i++) {
        if (span_equals(span_from_str(table[i].name), name)) {
            *ret_place = i;
            return &table[i];
        }
    }
    return NULL;
}

/* The dashes before the name of an option. */
static const char *args_dashes(const CliOption *option)
{
    return option->name[1] == '\0' ? "-" : "--";
}

static bool args_may_repeat(const CliOption *option)
{
    return option->argument != NULL && span_ends_with(span_from_str(option->argument), SPAN("..."));
}

static int args_unknown(const CliCommand *command, Span name, FILE *errors)
{
    const char *names[2 * CLI_MAX_OPTIONS];
    const char *nearest;
    size_t n = 0;

    for (const CliOption *o = command->options; o != NULL && o->name != NULL; o++) {
        names[n++] = o->name;
    }
    for (const CliOption *o = cli_common_options; o->name != NULL; o++) {
        names[n++] = o->name;
    }
    nearest = text_nearest(name, names, n);
    fprintf(errors, "toolwire %s: unknown option '--%.*s'", command->name, (int)name.n, name.p);
    if (nearest != NULL) {
        fprintf(errors, "; did you mean '--%s'?", nearest);
    }
    fprintf(errors, "\n");
    return CLI_EXIT_USAGE;
}

/* The value of an option, which may come several times if its table says so. */
static int args_keep(const CliOption *option, const char *value, const char **values, size_t place,
                     FILE *errors, CliArgs *args)
{
    values[place] = value;
    if (!args_may_repeat(option)) {
        return 0;
    }
    if (args->n_repeats == CLI_MAX_REPEATS) {
        fprintf(errors, "toolwire %s: option '%s%s' is given too often\n", args->command->name,
                args_dashes(option), option->name);
        return CLI_EXIT_USAGE;
    }
    args->repeats[args->n_repeats++] = (CliRepeat){place, value};
    return 0;
}

/* Takes the option at argv[*at], and the word after it where it needs one. */
static int args_take(const CliCommand *command, int argc, char **argv, int *at, FILE *errors,
                     CliArgs *args)
{
    bool is_letter = argv[*at][1] != '-';
    const char *word = argv[*at] + (is_letter ? 1 : 2);
    const char *equals = is_letter ? NULL : strchr(word, '=');
    Span name = span_make(word, equals == NULL ? strlen(word) : (size_t)(equals - word));
    const char **values = args->values;
    size_t place = 0;
    const CliOption *option = args_find(command->options, name, &place);

    if (option == NULL) {
        option = args_find(cli_common_options, name, &place);
        values = args->common;
    }
    /* A name of one letter has one dash, all others two. */
    if (option == NULL || is_letter != (name.n == 1)) {
        if (is_letter) {
            fprintf(errors, "toolwire %s: unknown option '%s'\n", command->name, argv[*at]);
            return CLI_EXIT_USAGE;
        }
        return args_unknown(command, name, errors);
    }
    if (option->argument == NULL && equals != NULL) {
        fprintf(errors, "toolwire %s: option '--%s' takes no value\n", command->name, option->name);
        return CLI_EXIT_USAGE;
    }
    if (values[place] != NULL && option->argument != NULL && !args_may_repeat(option)) {
        fprintf(errors, "toolwire %s: option '%s%s' is given twice\n", command->name,
                args_dashes(option), option->name);
        return CLI_EXIT_USAGE;
    }
    if (option->argument == NULL) {
        values[place] = "";
        return 0;
    }
    if (equals == NULL && *at + 1 == argc) {
        fprintf(errors, "toolwire %s: option '%s%s' needs a value: %s\n", command->name,
                args_dashes(option), option->name, option->argument);
        return CLI_EXIT_USAGE;
    }
    return args_keep(option, equals != NULL ? equals + 1 : argv[++*at], values, place, errors,
                     args);
}

/* The log flags, which every command has. */
static int args_set_log(CliArgs *args, FILE *errors)
{
    const char *format = args->common[CLI_COMMON_LOG_FORMAT];
    const char *level = args->common[CLI_COMMON_LOG_LEVEL];

    args->log = LOGSINK_STDERR;
    if (format != NULL && !logsink_parse_format(span_from_str(format), &args->log.format)) {
        fprintf(errors, "toolwire %s: --log-format is '%s'; it can be text or json\n",
                args->command->name, format);
        return CLI_EXIT_USAGE;
    }
    if (level != NULL && !logsink_parse_level(span_from_str(level), &args->log.level)) {
        fprintf(errors, "toolwire %s: --log-level is '%s'; it can be error, warn, info or debug\n",
                args->command->name, level);
        return CLI_EXIT_USAGE;
    }
    return 0;
}

int cli_args_parse(const CliCommand *command, int argc, char **argv, FILE *errors,
                   CliArgs *ret_args)
{
    CliArgs args = {.command = command, .operands = argv};
    bool options_ended = false;

    for (int i = 0; i < argc; i++) {
        if (!options_ended && strcmp(argv[i], "--") == 0) {
            options_ended = true;
        } else if (!options_ended && strcmp(argv[i], "-h") == 0) {
            args.common[CLI_COMMON_HELP] = "";
        } else if (!options_ended && argv[i][0] == '-' && argv[i][1] != '\0') {
            int r = args_take(command, argc, argv, &i, errors, &args);

            if (r != 0) {
                return r;
            }
        } else if (command->operands == NULL) {
            fprintf(errors, "toolwire %s: it takes no operand, but got '%s'\n", command->name,
                    argv[i]);
            return CLI_EXIT_USAGE;
        } else {
            args.operands[args.n_operands++] = argv[i];
        }
    }
    args.wants_help = args.common[CLI_COMMON_HELP] != NULL;
    if (args_set_log(&args, errors) != 0) {
        return CLI_EXIT_USAGE;
    }
    *ret_args = args;
    return 0;
}
