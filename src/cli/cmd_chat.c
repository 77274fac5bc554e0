/* `toolwire chat`: starts an agent, says what the person says, shows what it answers. */
#include "cli/cmd_chat.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/ask_line.h"
#include "cli/chat_session.h"
#include "cli/words.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/program.h"

enum {
    OPTION_AGENT,
    OPTION_ATTACH,
    OPTION_CONVERSATION,
    OPTION_YES,
    OPTION_TIMEOUT,
    OPTION_JSON,
    OPTION_FIRST_PASSED, /* from here on: the agent's, as they are */
};

static const CliOption chat_options[] = {
    [OPTION_AGENT] = {"agent", "COMMAND", "start this agent instead of 'toolwire agent'"},
    [OPTION_ATTACH] = {"attach", "FILE...", "send this with the first message; may be repeated"},
    [OPTION_CONVERSATION] = {"conversation", "ID", "go on with this conversation"},
    [OPTION_YES] = {"yes", NULL, "allow every tool that the agent asks for"},
    [OPTION_TIMEOUT] = {"timeout", "TIME", "give up after so long without a word (60s)"},
    [OPTION_JSON] = {"json", NULL, "print the agent's messages as they are"},
    {"model", "NAME", "of 'toolwire agent', as all that follow: its model"},
    {"base-url", "URL", "of the model's service"},
    {"config", "FILE", "its settings"},
    {"root", "DIR", "the folder of its file tools"},
    {"state", "DIR", "its state folder"},
    {"system", "FILE", "the prompt that says who the model is"},
    {"history", "FILE", "keep conversations here; off"},
    {"tool", "NAME=WORD...", "allow, ask or deny that tool; may be repeated"},
    {"commands", "NAME...", "run_command may start this; may be repeated"},
    {"attachments", "DIR...", "attachments may come from here, too; may be repeated"},
    {"tools", "FILE", "offer it the commands of this tools file"},
    {"alone", NULL, "it does not use the tools of a hub that runs"},
    {"trace-protocol", NULL, "it shows each message on stderr"},
    {NULL, NULL, NULL},
};

/* A line that a person types; a terminal gives no more than 4 KiB at a time. */
#define CHAT_LINE_BYTES 8192

/* The words of a command: two of ours, and each option with its value. */
#define CHAT_WORDS ((CLI_MAX_OPTIONS + CLI_MAX_REPEATS) * 2 + 8)

typedef struct ChatCommand {
    const CliArgs *args;
    ChatOptions options;
    Arena strings;
    char *program;
    const char *argv[CHAT_WORDS];
    const char *files[LIMIT_AGENT_ATTACHMENTS];
    Bytes message;
} ChatCommand;

/* ---- the agent's command ---- */

static const char *chat_dashed(ChatCommand *command, const char *name)
{
    size_t n = strlen(name) + 3;
    char *word = arena_alloc(&command->strings, n);

    if (word != NULL) {
        (void)snprintf(word, n, "--%s", name);
    }
    return word;
}

/* Appends an option with its values. 0, -ENOMEM. */
static int chat_pass(ChatCommand *command, size_t *n, const CliOption *option, size_t place)
{
    const CliArgs *args = command->args;
    bool is_repeated = option->argument != NULL && strstr(option->argument, "...") != NULL;
    const char *word = chat_dashed(command, option->name);

    if (word == NULL) {
        return -ENOMEM;
    }
    if (!is_repeated && args->values[place] != NULL) {
        command->argv[(*n)++] = word;
        if (option->argument != NULL) {
            command->argv[(*n)++] = args->values[place];
        }
    }
    for (size_t i = 0; is_repeated && i < args->n_repeats; i++) {
        if (args->repeats[i].place == place) {
            command->argv[(*n)++] = word;
            command->argv[(*n)++] = args->repeats[i].value;
        }
    }
    return 0;
}

/* This very program as the agent, with the options that are its. 0, -ENOMEM, another errno. */
static int chat_own_agent(ChatCommand *command)
{
    static const size_t common[] = {CLI_COMMON_LOG_FORMAT, CLI_COMMON_LOG_LEVEL};
    size_t n = 0;
    int r = io_program_path(&command->program);

    if (r != 0) {
        return r;
    }
    command->argv[n++] = command->program;
    command->argv[n++] = "agent";
    for (size_t i = OPTION_FIRST_PASSED; r == 0 && chat_options[i].name != NULL; i++) {
        r = chat_pass(command, &n, &chat_options[i], i);
    }
    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(common); i++) {
        const char *value = command->args->common[common[i]];

        if (value != NULL) {
            command->argv[n++] = chat_dashed(command, cli_common_options[common[i]].name);
            command->argv[n++] = value;
            r = command->argv[n - 2] == NULL ? -ENOMEM : 0;
        }
    }
    command->argv[n] = NULL;
    command->options.argv = command->argv;
    return r;
}

static int chat_find_agent(ChatCommand *command)
{
    const CliArgs *args = command->args;
    Diag diag = DIAG_NULL;
    char **words = NULL;
    size_t n = 0;
    int r;

    if (args->values[OPTION_AGENT] == NULL) {
        r = chat_own_agent(command);
    } else {
        for (size_t i = OPTION_FIRST_PASSED; chat_options[i].name != NULL; i++) {
            if (args->values[i] != NULL) {
                return cli_usage_error(args, "--%s is for 'toolwire agent', and excludes --agent",
                                       chat_options[i].name);
            }
        }
        r = words_split(&command->strings, args->values[OPTION_AGENT], &words, &n, &diag);
        command->options.argv = (const char *const *)words;
    }
    if (r > 0) {
        return cli_usage_error(args, "--agent: %s", diag.message);
    }
    if (r < 0) {
        fprintf(stderr, "toolwire chat: %s\n", io_error_text(-r));
        return CLI_EXIT_FAILED;
    }
    return 0;
}

/* ---- what is said ---- */

/* The operands as one text; or all of standard input, where that is no terminal. */
static int chat_take_message(ChatCommand *command)
{
    const CliArgs *args = command->args;
    int r = 0;

    for (size_t i = 0; r == 0 && i < args->n_operands; i++) {
        r = i > 0 ? bytes_append_byte(&command->message, ' ') : 0;
        r = r != 0 ? r : bytes_append_span(&command->message, span_from_str(args->operands[i]));
    }
    if (args->n_operands == 0 && !command->options.is_interactive) {
        r = io_file_read_fd(&command->message, fileno(stdin));
        if (r == 0 && text_trim(bytes_span(&command->message)).n == 0) {
            return cli_usage_error(args, "standard input is empty: there is nothing to say");
        }
    }
    if (r != 0) {
        return cli_usage_error(args, "cannot read the message: %s",
                               r < 0 ? io_error_text(-r) : "it is too long");
    }
    return 0;
}

/* Line by line, until the end of the input, or two times Ctrl-C. */
static int chat_converse(ChatSession *session)
{
    char line[CHAT_LINE_BYTES];

    while (!chat_session_is_over(session)) {
        size_t n = 0;
        bool is_read;

        ask_line_forget();
        is_read = ask_line_read("> ", line, sizeof(line), &n);
        if (ask_line_was_interrupted()) {
            ask_line_forget();
            fputs(chat_session_note_interrupt(session) ? "\n" : "\n(again to leave)\n", stderr);
            continue;
        }
        if (!is_read && n == 0) {
            fputc('\n', stderr);
            return CLI_EXIT_DONE;
        }
        if (text_trim(span_make(line, n)).n > 0) {
            int status = chat_session_say(session, span_make(line, n));

            /* Left in the middle of an answer, not at the prompt. */
            if (chat_session_is_over(session)) {
                return status;
            }
        }
    }
    return CLI_EXIT_DONE;
}

/* ---- options ---- */

static int chat_read_options(ChatCommand *command)
{
    const CliArgs *args = command->args;
    ChatOptions *options = &command->options;
    bool is_at_terminal = io_terminal_is(fileno(stdin)) && io_terminal_is(fileno(stderr));

    options->args = args;
    options->conversation = args->values[OPTION_CONVERSATION];
    options->is_json = args->values[OPTION_JSON] != NULL;
    options->allows_all = args->values[OPTION_YES] != NULL;
    options->can_ask = is_at_terminal && !options->is_json;
    options->is_interactive = args->n_operands == 0 && io_terminal_is(fileno(stdin));
    if (cli_args_time(args, OPTION_TIMEOUT, false, &options->idle_ms) != 0) {
        return CLI_EXIT_USAGE;
    }
    for (size_t i = 0; i < args->n_repeats; i++) {
        if (args->repeats[i].place == OPTION_ATTACH) {
            if (options->n_files == LIMIT_AGENT_ATTACHMENTS) {
                return cli_usage_error(args, "--attach: at most %d files", LIMIT_AGENT_ATTACHMENTS);
            }
            command->files[options->n_files++] = args->repeats[i].value;
        }
    }
    options->files = command->files;
    return 0;
}

static int chat_run_command(ChatCommand *command)
{
    CLEANUP(chat_session_closep) ChatSession *session = NULL;
    int status = chat_read_options(command);

    status = status != 0 ? status : chat_find_agent(command);
    status = status != 0 ? status : chat_take_message(command);
    status = status != 0 ? status : chat_session_open(&session, &command->options);
    if (status != 0) {
        return status;
    }
    return command->options.is_interactive
               ? chat_converse(session)
               : chat_session_say(session, text_trim(bytes_span(&command->message)));
}

static int chat_run(const CliArgs *args)
{
    ChatCommand command = {.args = args};
    int status;

    arena_init(&command.strings, SIZE_MAX);
    bytes_init(&command.message, LIMIT_AGENT_LINE_BYTES);
    status = chat_run_command(&command);
    bytes_deinit(&command.message);
    arena_deinit(&command.strings);
    command.program = mem_free(command.program);
    return status;
}

const CliCommand cmd_chat = {
    .name = "chat",
    .operands = "[MESSAGE...]",
    .summary = "talk with an agent, which this starts",
    .details = "Without MESSAGE a terminal is asked for one after the other; in a pipe, standard\n"
               "input is the message. Ctrl-C interrupts the answer, a second one leaves. A tool\n"
               "that needs approval is asked for on a terminal, and refused in a pipe but for\n"
               "--yes. TIME is 500ms, 30s, 5m. Exit status: 0 answered, or left at the prompt;\n"
               "1 the message failed or was interrupted; 2 wrong use.",
    .options = chat_options,
    .run = chat_run,
};
