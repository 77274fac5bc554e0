/* `toolwire serve`: reads the settings and hands them to app/serve. */
#include "cli/cmd_serve.h"

#include <string.h>

#include "app/config.h"
#include "app/front.h"
#include "app/hub_place.h"
#include "app/serve.h"
#include "base/alloc.h"
#include "cli/limit_flags.h"
#include "cli/source_flags.h"
#include "io/error_text.h"
#include "io/pipe_place.h"

enum {
    OPTION_CONFIG,
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
    OPTION_ALONE,
};

static const CliOption serve_options[] = {
    [OPTION_CONFIG] = {"config", "FILE",
                       "settings, or none; else ./toolwire.json, else the user's, if there"},
    SOURCE_FLAGS,
    ECONOMY_FLAGS,
    [OPTION_ALONE] = {"alone", NULL, "be no front to a hub that runs"},
    LIMIT_FLAGS_CALLS("1000", "100"),
    LIMIT_FLAGS_MCP("1MiB", "10MiB"),
    {NULL, NULL, NULL},
};

/* An option's value in place of the configuration's; it is argv's. */
static void serve_set_path(char **path, const char *value)
{
    if (value != NULL) {
        *path = (char *)(uintptr_t)value;
    }
}

/* The folders of the flag in place of the configuration's; the array is the caller's. */
static void serve_set_templates(const CliArgs *args, char *folders[CLI_MAX_REPEATS + 1],
                                Config *settings)
{
    size_t n = 0;

    for (size_t i = 0; i < args->n_repeats; i++) {
        if (args->repeats[i].place == OPTION_TEMPLATES) {
            folders[n++] = (char *)(uintptr_t)args->repeats[i].value;
        }
    }
    folders[n] = NULL;
    if (n > 0) {
        settings->templates = folders;
    }
}

/* The name of the configuration's was checked with its line; this is for the flag's. */
static int serve_check_pipe(const CliArgs *args, const Config *settings)
{
    CLEANUP(mem_freep) char *path = NULL;
    Diag diag = DIAG_NULL;
    int r;

    if (settings->pipe.name == NULL) {
        return settings->pipe.tools == NULL ? 0
                                            : cli_usage_error(args, "--pipe-tools needs a --pipe");
    }
    r = io_pipe_place(&path, settings->pipe.name, &diag);
    if (r == PIPE_PLACE_E_NAME) {
        return cli_usage_error(args, "--pipe: %s", diag.message);
    }
    if (r != 0) {
        fprintf(stderr, "toolwire serve: %s\n", io_error_text(-r));
        return CLI_EXIT_FAILED;
    }
    return 0;
}

/* Whoever says what is to be served wants that, and not what a hub serves: only options that name
 * the settings and the state folder leave it to the hub. */
static bool serve_may_be_front(const CliArgs *args)
{
    for (size_t i = 0; serve_options[i].name != NULL; i++) {
        if (args->values[i] != NULL && i != OPTION_CONFIG && i != OPTION_STATE) {
            return false;
        }
    }
    return true;
}

/* Mostly it is a hub that has the pipe: why this is no front to it. */
static void serve_tell_hub(const CliArgs *args, const Config *settings)
{
    CLEANUP(mem_freep) char *place = NULL;

    if (serve_may_be_front(args) && hub_place(&place, settings->state, NULL) == 0) {
        fprintf(stderr,
                "toolwire serve: if that process is a hub ('toolwire up'), start this one with the "
                "same --config, --state and XDG_RUNTIME_DIR; it was looked for at %s\n",
                place);
    }
}

static int serve_with(const CliArgs *args, const Config *config)
{
    Config settings = *config; /* the flags' paths are argv's, the file's are the file's */
    char *folders[CLI_MAX_REPEATS + 1];
    Diag diag = DIAG_NULL;
    int r = limit_flags_apply(args, &settings);

    if (r != 0) {
        return r;
    }
    serve_set_path(&settings.tools, args->values[OPTION_TOOLS]);
    serve_set_path(&settings.call_socket, args->values[OPTION_CALL_SOCKET]);
    serve_set_path(&settings.call_socket_schema, args->values[OPTION_CALL_SOCKET_SCHEMA]);
    serve_set_path(&settings.pipe.tools, args->values[OPTION_PIPE_TOOLS]);
    serve_set_path(&settings.pipe.name, args->values[OPTION_PIPE]);
    serve_set_path(&settings.write_root, args->values[OPTION_WRITE_ROOT]);
    serve_set_path(&settings.state, args->values[OPTION_STATE]);
    serve_set_templates(args, folders, &settings);
    source_flags_set_toolkit(args->values[OPTION_TOOLKIT], args->values[OPTION_NO_TOOLKIT],
                             &settings);
    settings.lazy_tools = settings.lazy_tools || args->values[OPTION_LAZY_TOOLS] != NULL;
    r = serve_check_pipe(args, &settings);
    if (r != 0) {
        return r;
    }
    if ((settings.call_socket == NULL) != (settings.call_socket_schema == NULL)) {
        return cli_usage_error(args, "--call-socket and --call-socket-schema belong together");
    }
    r = serve_stdio(&(ServeOptions){.config = &settings,
                                    .diagnostics = args->values[OPTION_DIAGNOSTICS] != NULL,
                                    .log = &args->log},
                    &diag);
    if (r == 0) {
        return CLI_EXIT_DONE;
    }
    fprintf(stderr, "toolwire serve: %s\n", r > 0 ? diag.message : io_error_text(-r));
    if (r == SERVE_E_PIPE) {
        serve_tell_hub(args, &settings);
    }
    return r == SERVE_E_TOOLS || r == SERVE_E_TEMPLATES ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}

/* Passes everything to the hub of this state folder. False: there is none, *ret_status is
 * untouched. */
static bool serve_as_front(const CliArgs *args, const Config *config, int *ret_status)
{
    const char *state = args->values[OPTION_STATE];
    Diag diag = DIAG_NULL;
    int fd = -1;
    int r;

    if (!serve_may_be_front(args)) {
        return false;
    }
    r = front_find(&fd, state != NULL ? state : config->state, config->path);
    if (r == FRONT_E_WITHIN) {
        fprintf(stderr, "toolwire serve: the hub of this state folder has started this command as "
                        "one of its servers: it would be its own\n");
        *ret_status = CLI_EXIT_USAGE;
        return true;
    }
    if (r != 0) {
        return false;
    }
    r = front_stdio(fd, &diag);
    if (r != 0) {
        fprintf(stderr, "toolwire serve: %s\n", r > 0 ? diag.message : io_error_text(-r));
    }
    *ret_status = r == 0 ? CLI_EXIT_DONE : CLI_EXIT_FAILED;
    return true;
}

static int serve_run(const CliArgs *args)
{
    Config config;
    Diag diag = DIAG_NULL;
    int status;

    if (args->n_operands > 0) {
        return cli_usage_error(args, "unexpected operand '%s'", args->operands[0]);
    }
    if (config_load(&config, args->values[OPTION_CONFIG], &diag) != 0) {
        fprintf(stderr, "toolwire serve: %s\n",
                diag.message[0] != '\0' ? diag.message : "out of memory");
        return CLI_EXIT_USAGE;
    }
    if (!serve_as_front(args, &config, &status)) {
        status = serve_with(args, &config);
    }
    config_deinit(&config);
    return status;
}

const CliCommand cmd_serve = {
    .name = "serve",
    .operands = NULL,
    .summary = "MCP server on standard input and output",
    .details =
        "Speaks every MCP revision from 2024-11-05 to 2026-07-28, one JSON message a line.\n"
        "Where 'toolwire up' runs with the same state folder and settings, it passes all to\n"
        "that hub, unless an option but --config and --state is given.\n"
        "TIME is 500ms, 30s, 5m; SIZE is 4096, 64KiB, 1MiB. An MCP client's configuration\n"
        "starts it: {\"command\": \"toolwire\", \"args\": [\"serve\", \"--tools\", "
        "\"tools.json\"]}",
    .options = serve_options,
    .run = serve_run,
};
