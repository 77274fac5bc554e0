/* `toolwire serve`: reads the settings and hands them to app/serve. */
#include "cli/cmd_serve.h"

#include <string.h>

#include "app/config.h"
#include "app/serve.h"
#include "cli/limit_flags.h"

enum {
    OPTION_CONFIG,
    OPTION_TOOLS,
    OPTION_CALL_SOCKET,
    OPTION_CALL_SOCKET_SCHEMA,
    OPTION_DIAGNOSTICS,
};

static const CliOption serve_options[] = {
    [OPTION_CONFIG] = {"config", "FILE",
                       "settings; else ./toolwire.json, else the user's, else none"},
    [OPTION_TOOLS] = {"tools", "FILE", "offer the commands of this tools file"},
    [OPTION_CALL_SOCKET] = {"call-socket", "PATH", "offer the tools of the parent at this socket"},
    [OPTION_CALL_SOCKET_SCHEMA] = {"call-socket-schema", "FILE", "which this file describes"},
    [OPTION_DIAGNOSTICS] = {"diagnostics", NULL, "offer echo, sleep and fail"},
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

static int serve_with(const CliArgs *args, const Config *config)
{
    Config settings = *config; /* the flags' paths are argv's, the file's are the file's */
    Diag diag = DIAG_NULL;
    int r = limit_flags_apply(args, &settings);

    if (r != 0) {
        return r;
    }
    serve_set_path(&settings.tools, args->values[OPTION_TOOLS]);
    serve_set_path(&settings.call_socket, args->values[OPTION_CALL_SOCKET]);
    serve_set_path(&settings.call_socket_schema, args->values[OPTION_CALL_SOCKET_SCHEMA]);
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
    fprintf(stderr, "toolwire serve: %s\n", r > 0 ? diag.message : strerror(-r));
    return r == SERVE_E_TOOLS ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
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
    status = serve_with(args, &config);
    config_deinit(&config);
    return status;
}

const CliCommand cmd_serve = {
    .name = "serve",
    .operands = NULL,
    .summary = "MCP server on standard input and output",
    .details = "Speaks every MCP revision from 2024-11-05 to 2026-07-28, one JSON message a line.\n"
               "TIME is 500ms, 30s, 5m; SIZE is 4096, 64KiB, 1MiB. An MCP client's configuration\n"
               "starts it: {\"command\": \"toolwire\", \"args\": [\"serve\", \"--tools\", "
               "\"tools.json\"]}",
    .options = serve_options,
    .run = serve_run,
};
