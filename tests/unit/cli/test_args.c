#include "cli/cli.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPTION_NAME,
    OPTION_LOUD,
    OPTION_LETTER,
    OPTION_MANY,
    OPTION_FLAG_LETTER,
    OPTION_WAIT,
    OPTION_WAIT_MS,
};

static const CliOption options[] = {
    [OPTION_NAME] = {"name", "WORD", "a word"},
    [OPTION_LOUD] = {"loud", NULL, "a flag"},
    [OPTION_LETTER] = {"l", "LETTER...", "a letter, several times"},
    [OPTION_MANY] = {"many", "WORD...", "a word, several times"},
    [OPTION_FLAG_LETTER] = {"q", NULL, "a flag of one letter"},
    [OPTION_WAIT] = {"wait", "TIME", "a time"},
    [OPTION_WAIT_MS] = {"wait-ms", "TIME", "a time whose name has a unit"},
    {NULL, NULL, NULL},
};

static int run_nothing(const CliArgs *args)
{
    (void)args;
    return 0;
}

static const CliCommand greet = {
    .name = "greet", .operands = "FILE...", .summary = "s", .options = options, .run = run_nothing};
static const CliCommand bare = {
    .name = "bare", .summary = "s", .options = options, .run = run_nothing};

/* Parses words (NULL-terminated); returns the outcome and, in said, what was explained. */
static int parse(const CliCommand *command, const char *const *words, CliArgs *args, char *said,
                 size_t size)
{
    static char *argv[16];
    static char storage[16][64];
    FILE *errors = fmemopen(said, size, "w");
    int argc = 0;
    int r;

    memset(said, 0, size);
    while (words[argc] != NULL) {
        (void)snprintf(storage[argc], sizeof(storage[argc]), "%s", words[argc]);
        argv[argc] = storage[argc];
        argc++;
    }
    r = cli_args_parse(command, argc, argv, errors, args);
    (void)fclose(errors);
    return r;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void options_and_operands_are_sorted_in_any_order(void **state)
{
    CliArgs args;
    char said[256];

    (void)state;
    assert_int_equal(
        parse(&greet, WORDS("a", "--name", "x", "-", "--loud", "b"), &args, said, sizeof(said)), 0);
    assert_string_equal(args.values[OPTION_NAME], "x");
    assert_non_null(args.values[OPTION_LOUD]);
    assert_int_equal(args.n_operands, 3);
    assert_string_equal(args.operands[0], "a");
    assert_string_equal(args.operands[1], "-");
    assert_string_equal(args.operands[2], "b");
    assert_false(args.wants_help);
    assert_string_equal(said, "");
}

static void value_may_stand_behind_an_equals_sign(void **state)
{
    CliArgs args;
    char said[256];

    (void)state;
    assert_int_equal(parse(&greet, WORDS("--name=x=y"), &args, said, sizeof(said)), 0);
    assert_string_equal(args.values[OPTION_NAME], "x=y");
    assert_int_equal(parse(&greet, WORDS("--name="), &args, said, sizeof(said)), 0);
    assert_string_equal(args.values[OPTION_NAME], "");
}

static void double_dash_ends_the_options(void **state)
{
    CliArgs args;
    char said[256];

    (void)state;
    assert_int_equal(parse(&greet, WORDS("--", "--loud", "-h"), &args, said, sizeof(said)), 0);
    assert_null(args.values[OPTION_LOUD]);
    assert_int_equal(args.n_operands, 2);
    assert_string_equal(args.operands[0], "--loud");
    assert_false(args.wants_help);
}

static void help_is_found_anywhere(void **state)
{
    CliArgs args;
    char said[256];

    (void)state;
    assert_int_equal(parse(&greet, WORDS("a", "-h"), &args, said, sizeof(said)), 0);
    assert_true(args.wants_help);
    assert_int_equal(parse(&greet, WORDS("--help"), &args, said, sizeof(said)), 0);
    assert_true(args.wants_help);
}

static void wrong_words_are_explained(void **state)
{
    static const struct {
        const CliCommand *command;
        const char *const words[3];
        const char *said;
    } cases[] = {
        {&greet,
         {"--nmae", "x"},
         "toolwire greet: unknown option '--nmae'; did you mean '--name'?\n"},
        {&greet, {"--zzzzzzzz"}, "toolwire greet: unknown option '--zzzzzzzz'\n"},
        {&greet, {"-x"}, "toolwire greet: unknown option '-x'\n"},
        {&greet, {"-lx"}, "toolwire greet: unknown option '-lx'\n"},
        {&greet, {"-loud"}, "toolwire greet: unknown option '-loud'\n"},
        {&greet, {"--l", "x"}, "toolwire greet: unknown option '--l'\n"},
        {&greet, {"-l"}, "toolwire greet: option '-l' needs a value: LETTER...\n"},
        {&greet, {"--many"}, "toolwire greet: option '--many' needs a value: WORD...\n"},
        {&greet, {"--name"}, "toolwire greet: option '--name' needs a value: WORD\n"},
        {&greet, {"--loud=1"}, "toolwire greet: option '--loud' takes no value\n"},
        {&greet, {"--name=a", "--name=b"}, "toolwire greet: option '--name' is given twice\n"},
        {&bare, {"file"}, "toolwire bare: it takes no operand, but got 'file'\n"},
        {&greet,
         {"--log-format=xml"},
         "toolwire greet: --log-format is 'xml'; it can be text or json\n"},
        {&greet,
         {"--log-level=all"},
         "toolwire greet: --log-level is 'all'; it can be error, warn, info or debug\n"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        CliArgs args;
        char said[256];

        assert_int_equal(parse(cases[i].command, cases[i].words, &args, said, sizeof(said)),
                         CLI_EXIT_USAGE);
        assert_string_equal(said, cases[i].said);
    }
}

static void options_that_may_repeat_keep_every_value_in_order(void **state)
{
    CliArgs args;
    char said[256];

    (void)state;
    assert_int_equal(parse(&greet,
                           WORDS("-l", "a=1", "--many", "x", "-l", "-b", "--many=y", "o", "-q"),
                           &args, said, sizeof(said)),
                     0);
    assert_int_equal(args.n_repeats, 4);
    assert_int_equal(args.repeats[0].place, OPTION_LETTER);
    assert_string_equal(args.repeats[0].value, "a=1");
    assert_int_equal(args.repeats[1].place, OPTION_MANY);
    assert_string_equal(args.repeats[1].value, "x");
    assert_int_equal(args.repeats[2].place, OPTION_LETTER);
    assert_string_equal(args.repeats[2].value, "-b");
    assert_string_equal(args.repeats[3].value, "y");
    assert_string_equal(args.values[OPTION_MANY], "y");
    assert_non_null(args.values[OPTION_FLAG_LETTER]);
    assert_int_equal(args.n_operands, 1);
    assert_string_equal(args.operands[0], "o");
}

static void too_many_repeated_values_are_refused(void **state)
{
    static char letter[] = "-l";
    static char value[] = "v";
    char *argv[2 * CLI_MAX_REPEATS + 2];
    char said[256] = "";
    FILE *errors = fmemopen(said, sizeof(said), "w");
    CliArgs args;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(argv); i += 2) {
        argv[i] = letter;
        argv[i + 1] = value;
    }
    assert_int_equal(cli_args_parse(&greet, (int)TW_ARRAY_SIZE(argv) - 2, argv, errors, &args), 0);
    assert_int_equal(args.n_repeats, CLI_MAX_REPEATS);
    for (size_t i = 0; i < TW_ARRAY_SIZE(argv); i += 2) {
        argv[i] = letter;
        argv[i + 1] = value;
    }
    assert_int_equal(cli_args_parse(&greet, (int)TW_ARRAY_SIZE(argv), argv, errors, &args),
                     CLI_EXIT_USAGE);
    (void)fclose(errors);
    assert_string_equal(said, "toolwire greet: option '-l' is given too often\n");
}

static void a_time_has_a_unit_unless_the_name_has_one(void **state)
{
    static const struct {
        const char *value;
        bool may_be_zero;
        int64_t ms;    /* -1: refused */
        int64_t ms_ms; /* with --wait-ms */
    } cases[] = {
        {"250ms", false, 250, 250},
        {"5s", false, 5000, 5000},
        {"2m", false, 120000, 120000},
        {"1h", false, 3600000, 3600000},
        {"1d", false, 86400000, 86400000},
        {"5", false, -1, 5},
        {"5000", true, -1, 5000},
        {"0", true, -1, 0},
        {"0s", true, 0, 0},
        {"0s", false, -1, -1},
        {"0", false, -1, -1},
        {"", true, -1, -1},
        {"s", true, -1, -1},
        {"5x", true, -1, -1},
        {"1.5s", true, -1, -1},
        {"-5s", true, -1, -1},
    };
    CliArgs args = {.command = &greet};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        int64_t ms = 7;
        int64_t ms_ms = 7;

        args.values[OPTION_WAIT] = args.values[OPTION_WAIT_MS] = cases[i].value;
        assert_int_equal(cli_args_time(&args, OPTION_WAIT, cases[i].may_be_zero, &ms),
                         cases[i].ms >= 0 ? 0 : CLI_EXIT_USAGE);
        assert_int_equal(ms, cases[i].ms >= 0 ? cases[i].ms : 7);
        assert_int_equal(cli_args_time(&args, OPTION_WAIT_MS, cases[i].may_be_zero, &ms_ms),
                         cases[i].ms_ms >= 0 ? 0 : CLI_EXIT_USAGE);
        assert_int_equal(ms_ms, cases[i].ms_ms >= 0 ? cases[i].ms_ms : 7);
    }
    args.values[OPTION_WAIT] = NULL;
    assert_int_equal(cli_args_time(&args, OPTION_WAIT, false, &(int64_t){1}), 0);
}

static void log_flags_set_the_sink(void **state)
{
    CliArgs args;
    char said[256];

    (void)state;
    assert_int_equal(parse(&greet, WORDS("--log-format", "json", "--log-level=debug"), &args, said,
                           sizeof(said)),
                     0);
    assert_int_equal(args.log.format, LOGSINK_FORMAT_JSON);
    assert_int_equal(args.log.level, LOGSINK_LEVEL_DEBUG);
    assert_int_equal(parse(&greet, WORDS("a"), &args, said, sizeof(said)), 0);
    assert_int_equal(args.log.format, LOGSINK_FORMAT_TEXT);
    assert_int_equal(args.log.level, LOGSINK_LEVEL_WARN);
}

static void check_command(const CliCommand *const *table, const CliCommand *command)
{
    const char *blank = strrchr(command->name, ' ');
    size_t n = 0;

    assert_ptr_equal(cli_command_find(table, blank != NULL ? blank + 1 : command->name), command);
    assert_non_null(command->run);
    while (command->options[n].name != NULL) {
        n++;
    }
    assert_true(n < CLI_MAX_OPTIONS);
}

static void every_command_fits_the_tables(void **state)
{
    size_t n_subcommands = 0;

    (void)state;
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const CliCommand *command = cli_commands[i];

        if (command->subcommands == NULL) {
            check_command(cli_commands, command);
            continue;
        }
        assert_ptr_equal(cli_command_find(cli_commands, command->name), command);
        for (size_t k = 0; command->subcommands[k] != NULL; k++) {
            /* "template ls": help and errors say how it is called. */
            assert_memory_equal(command->subcommands[k]->name, command->name,
                                strlen(command->name));
            check_command(command->subcommands, command->subcommands[k]);
            n_subcommands++;
        }
    }
    assert_int_equal(n_subcommands, 18);
    assert_null(cli_command_find(cli_commands, "no-such-command"));
    assert_null(cli_command_find(cli_commands, "ls"));
}

static void unknown_commands_get_the_nearest_name(void **state)
{
    const CliCommand *template = cli_command_find(cli_commands, "template");
    char said[512] = "";
    FILE *errors = fmemopen(said, sizeof(said), "w");

    (void)state;
    assert_int_equal(cli_command_unknown(NULL, "templat", errors), CLI_EXIT_USAGE);
    assert_int_equal(cli_command_unknown(template, "scafold", errors), CLI_EXIT_USAGE);
    (void)fclose(errors);
    assert_string_equal(said,
                        "toolwire: unknown command 'templat'; did you mean 'template'?\n"
                        "toolwire: 'toolwire -h' lists the commands\n"
                        "toolwire template: unknown command 'scafold'; did you mean 'scaffold'?\n"
                        "toolwire template: 'toolwire template -h' lists the commands\n");
}

static void help_names_options_of_one_letter_and_subcommands(void **state)
{
    const CliCommand *template = cli_command_find(cli_commands, "template");
    char said[4096] = "";
    FILE *out = fmemopen(said, sizeof(said), "w");

    (void)state;
    cli_help_command(&greet, out);
    cli_help_command(template, out);
    (void)fclose(out);
    assert_non_null(strstr(said, "  -l LETTER...            a letter, several times\n"));
    assert_non_null(strstr(said, "  --many WORD...          a word, several times\n"));
    assert_non_null(strstr(said, "usage: toolwire template COMMAND [OPTION...]\n"));
    assert_non_null(strstr(said, "\n  scaffold    make the files of a project\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_operands_are_sorted_in_any_order),
        cmocka_unit_test(value_may_stand_behind_an_equals_sign),
        cmocka_unit_test(double_dash_ends_the_options),
        cmocka_unit_test(help_is_found_anywhere),
        cmocka_unit_test(wrong_words_are_explained),
        cmocka_unit_test(options_that_may_repeat_keep_every_value_in_order),
        cmocka_unit_test(too_many_repeated_values_are_refused),
        cmocka_unit_test(a_time_has_a_unit_unless_the_name_has_one),
        cmocka_unit_test(log_flags_set_the_sink),
        cmocka_unit_test(every_command_fits_the_tables),
        cmocka_unit_test(unknown_commands_get_the_nearest_name),
        cmocka_unit_test(help_names_options_of_one_letter_and_subcommands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
