#include "cli/cli.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPTION_NAME,
    OPTION_LOUD
};

static const CliOption options[] = {
    [OPTION_NAME] = {"name", "WORD", "a word"},
    [OPTION_LOUD] = {"loud", NULL, "a flag"},
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

static void every_command_fits_the_tables(void **state)
{
    (void)state;
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const CliCommand *command = cli_commands[i];
        size_t n = 0;

        assert_ptr_equal(cli_command_find(command->name), command);
        assert_non_null(command->run);
        while (command->options[n].name != NULL) {
            n++;
        }
        assert_true(n < CLI_MAX_OPTIONS);
    }
    assert_null(cli_command_find("no-such-command"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_operands_are_sorted_in_any_order),
        cmocka_unit_test(value_may_stand_behind_an_equals_sign),
        cmocka_unit_test(double_dash_ends_the_options),
        cmocka_unit_test(help_is_found_anywhere),
        cmocka_unit_test(wrong_words_are_explained),
        cmocka_unit_test(log_flags_set_the_sink),
        cmocka_unit_test(every_command_fits_the_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
