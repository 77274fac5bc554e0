/* `toolwire up`: the hub. Reads the settings, again for each reload, and hands them to app/up. */
#include "cli/cmd_up.h"

#include <errno.h>
#include <string.h>

#include "app/config.h"
#include "app/up.h"
#include "base/alloc.h"
#include "base/error.h"
#include "cli/limit_flags.h"
#include "cli/source_flags.h"
#include "cli/up_text.h"
#include "io/error_text.h"
#include "io/keep.h"
#include "io/pipe_place.h"
#include "io/place.h"
#include "io/private_file.h"
#include "io/program.h"

enum {
    OPTION_CONFIG,
    OPTION_HTTP,
    OPTION_TOKEN_FILE,
    OPTION_AUDIT,
    OPTION_QUEUE,
    OPTION_TOOLS,
    OPTION_CALL_SOCKET,
    OPTION_CALL_SOCKET_SCHEMA,
    OPTION_PIPE,
    OPTION_PIPE_TOOLS,
    OPTION_PING_INTERVAL,
    OPTION_PONG_TIMEOUT,
    OPTION_DIAGNOSTICS,
    OPTION_TEMPLATES,
    OPTION_WRITE_ROOT,
    OPTION_STATE,
    OPTION_LAZY_TOOLS,
    OPTION_MAX_RESULT,
    OPTION_TOOLKIT,
    OPTION_NO_TOOLKIT,
    OPTION_JSON,
};

static const CliOption up_options[] = {
    [OPTION_CONFIG] = {"config", "FILE",
                       "settings, or none; else ./toolwire.json, else the user's, if there"},
    [OPTION_HTTP] = {"http", "ADDR", "serve HTTP here (" CONFIG_HTTP_ADDRESS "); unix:PATH; off"},
    [OPTION_TOKEN_FILE] = {"token-file", "FILE", "let in only who brings the token in this file"},
    [OPTION_AUDIT] = {"audit", "FILE", "write a line about each call to this file"},
    [OPTION_QUEUE] = {"queue", "FILE",
                      "keep jobs in this file (queue.db in the state folder); off"},
    SOURCE_FLAGS,
    ECONOMY_FLAGS,
    [OPTION_JSON] = {"json", NULL, "print one line of JSON when it serves"},
    LIMIT_FLAGS_CALLS("1000", "100"),
    LIMIT_FLAGS_MCP("1MiB", "10MiB"),
    {"keep-ms", "TIME", "keep the results of jobs for so long (1d)"},
    {"keep-bytes", "SIZE", "and no more than this of them (256MiB)"},
    {"max-waiting", "N", "jobs that may be in the queue and not over (1048576)"},
    {"max-running", "N", "jobs that this hub runs at the same time (16)"},
    {NULL, NULL, NULL},
};

/* What is printed: a page, with paths in it. */
#define UP_OUTPUT_BYTES ((size_t)256 * 1024)

/* ---- settings ---- */

static int up_set_templates(const CliArgs *args, Config *config)
{
    const char *folders[CLI_MAX_REPEATS + 1];
    size_t n = 0;

    for (size_t i = 0; i < args->n_repeats; i++) {
        if (args->repeats[i].place == OPTION_TEMPLATES) {
            folders[n++] = args->repeats[i].value;
        }
    }
    folders[n] = NULL;
    return n == 0 ? 0 : err_pass(config_replace_list(&config->templates, folders));
}

/* The flags in place of what the file says. */
static int up_apply_flags(const CliArgs *args, Config *config)
{
    const struct {
        size_t option;
        char **setting;
    } strings[] = {
        {OPTION_HTTP, &config->http.address},
        {OPTION_TOKEN_FILE, &config->http.token_file},
        {OPTION_AUDIT, &config->audit.file},
        {OPTION_QUEUE, &config->queue.file},
        {OPTION_TOOLS, &config->tools},
        {OPTION_CALL_SOCKET, &config->call_socket},
        {OPTION_CALL_SOCKET_SCHEMA, &config->call_socket_schema},
        {OPTION_PIPE, &config->pipe.name},
        {OPTION_PIPE_TOOLS, &config->pipe.tools},
        {OPTION_WRITE_ROOT, &config->write_root},
        {OPTION_STATE, &config->state},
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(strings); i++) {
        const char *value = args->values[strings[i].option];
        int r = value == NULL ? 0 : config_replace(strings[i].setting, value);

        if (r != 0) {
            return err_pass(r);
        }
    }
    source_flags_set_toolkit(args->values[OPTION_TOOLKIT], args->values[OPTION_NO_TOOLKIT], config);
    config->lazy_tools = config->lazy_tools || args->values[OPTION_LAZY_TOOLS] != NULL;
    /* Their values were checked before the start. */
    (void)limit_flags_apply(args, config);
    return err_pass(up_set_templates(args, config));
}

/* What the file and the flags say only together. */
static int up_check(const Config *config, Diag *reterr_diag)
{
    if ((config->call_socket == NULL) != (config->call_socket_schema == NULL)) {
        return diag_set(reterr_diag, CONFIG_E_INVALID,
                        "--call-socket and --call-socket-schema belong together");
    }
    if (config->path != NULL && config->pipe.tools != NULL && config->pipe.name == NULL) {
        return diag_set(reterr_diag, CONFIG_E_INVALID, "--pipe-tools needs a --pipe");
    }
    if (config->audit.file != NULL && config->audit.file[0] == '\0') {
        return diag_set(reterr_diag, CONFIG_E_INVALID, "--audit: expected the path of a file");
    }
    if (config->queue.file != NULL && config->queue.file[0] == '\0') {
        return diag_set(reterr_diag, CONFIG_E_INVALID,
                        "--queue: expected the path of a file, or off");
    }
    return 0;
}

/* What is done with a hub that runs. */
typedef struct UpCommand {
    const CliArgs *args;
    /* The file of the settings, found once: a hub that has one never goes over to another, or to
     * none (and so to no token), because it is missing for a while. NULL: embedded defaults. */
    char *path;
} UpCommand;

static int up_on_load(void *context, Config *ret, Diag *reterr_diag)
{
    const UpCommand *command = context;
    const CliArgs *args = command->args;
    int r;

    *ret = CONFIG_NULL;
    r = command->path == NULL ? 0 : config_load(ret, command->path, reterr_diag);
    if (r != 0) {
        return r;
    }
    r = up_apply_flags(args, ret);
    r = r != 0 ? r : up_check(ret, reterr_diag);
    if (r != 0) {
        config_deinit(ret);
    }
    return r;
}

/* Flags that are wrong by themselves are wrong use, and told by their names. */
static int up_check_flags(const CliArgs *args)
{
    CLEANUP(mem_freep) char *path = NULL;
    const char *address = args->values[OPTION_HTTP];
    const char *pipe = args->values[OPTION_PIPE];
    Config scratch = CONFIG_NULL;
    Diag diag = DIAG_NULL;

    if (args->n_operands > 0) {
        return cli_usage_error(args, "unexpected operand '%s'", args->operands[0]);
    }
    if (address != NULL && config_check_http_address(address, &diag) != 0) {
        return cli_usage_error(args, "--http: %s", diag.message);
    }
    if (pipe != NULL && io_pipe_place(&path, pipe, &diag) == PIPE_PLACE_E_NAME) {
        return cli_usage_error(args, "--pipe: %s", diag.message);
    }
    return limit_flags_apply(args, &scratch);
}

/* ---- output ---- */

static int up_print(const CliArgs *args, const UpFacts *facts)
{
    CLEANUP(mem_freep) char *program = NULL;
    CLEANUP(mem_freep) char *state = NULL;
    PrivateFolderVariables variables;
    UpTextWith with = {.pid = io_program_pid()};
    Bytes text;
    int r = io_program_path(&program);

    private_folder_runtime_variables(&variables);
    with.variables = variables.list;
    with.n_variables = variables.n;
    if (r == 0) {
        r = facts->state != NULL ? io_place_absolute(&state, facts->state) : io_keep_folder(&state);
    }
    if (r == -ENOENT && facts->state == NULL) {
        r = 0; /* users without a home have none, whoever starts what */
    }
    if (r != 0) {
        return err_pass(r);
    }
    with.program = program;
    with.state = state;
    bytes_init(&text, UP_OUTPUT_BYTES);
    r = args->values[OPTION_JSON] != NULL ? up_text_write_json(&text, facts, &with)
                                          : up_text_write(&text, facts, &with);
    if (r == 0 && (fwrite(text.data, 1, text.n, stdout) != text.n || fflush(stdout) != 0)) {
        r = -errno;
    }
    bytes_deinit(&text);
    return r;
}

/* Who does not read what is printed can still use the hub. */
static void up_on_ready(void *context, const UpFacts *facts)
{
    const UpCommand *command = context;
    int r = up_print(command->args, facts);

    if (r != 0) {
        fprintf(stderr, "toolwire up: it serves, but cannot say so: %s\n",
                r > 0 ? "the paths are too long" : io_error_text(-r));
    }
}

/* What the first line has said is corrected; --json is one line, which says how many are missing.
 */
static void up_on_listed(void *context, const UpFacts *facts)
{
    const UpCommand *command = context;

    if (command->args->values[OPTION_JSON] != NULL) {
        return;
    }
    printf("toolwire serves %zu tool%s now", facts->n_tools, facts->n_tools == 1 ? "" : "s");
    if (facts->n_unlisted > 0) {
        printf("; %zu server%s not listed %s yet", facts->n_unlisted,
               facts->n_unlisted == 1 ? " has" : "s have",
               facts->n_unlisted == 1 ? "its own" : "theirs");
    }
    printf("\n");
    (void)fflush(stdout);
}

static int up_command_run(const CliArgs *args)
{
    UpCommand command = {.args = args};
    Diag diag = DIAG_NULL;
    int r = up_check_flags(args);

    if (r != 0) {
        return r;
    }
    r = config_find(&command.path, args->values[OPTION_CONFIG]);
    if (r != 0) {
        fprintf(stderr, "toolwire up: the settings: %s\n", io_error_text(-r));
        return CLI_EXIT_FAILED;
    }
    r = up_run(&(UpOptions){.load = up_on_load,
                            .ready = up_on_ready,
                            .listed = up_on_listed,
                            .context = &command,
                            .diagnostics = args->values[OPTION_DIAGNOSTICS] != NULL,
                            .log = &args->log},
               &diag);
    mem_free(command.path);
    if (r == 0) {
        return CLI_EXIT_DONE;
    }
    fprintf(stderr, "toolwire up: %s\n", r > 0 ? diag.message : io_error_text(-r));
    return r == UP_E_CONFIG || r == UP_E_TOOLS ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}

const CliCommand cmd_up = {
    .name = "up",
    .operands = NULL,
    .summary = "the hub: everything that is configured, over HTTP and for fronts",
    .details = "Prints what listens where, and how MCP clients are told of it, and serves until\n"
               "SIGTERM or SIGINT; calls may finish, unless a second one comes. Settings are read\n"
               "again on SIGHUP and when their file changes; only what differs is restarted.\n"
               "ADDR is 127.0.0.1:7410, [::1]:0 (any free port), or unix:PATH; one that other\n"
               "machines reach needs a token. TIME is 500ms, 30s, 5m; SIZE is 4096, 64KiB, 1MiB.",
    .options = up_options,
    .run = up_command_run,
};
