/* `toolwire host`: a parent. Reads the settings and hands them to app/host_run. */
#include "cli/cmd_host.h"

#include <errno.h>
#include <string.h>

#include "app/config.h"
#include "app/host.h"
#include "app/host_run.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "cli/limit_flags.h"
#include "io/error_text.h"
#include "io/program.h"

enum {
    OPTION_CONFIG,
    OPTION_TOOLS,
    OPTION_SOCKET,
    OPTION_SCHEMA,
    OPTION_DIAGNOSTICS,
    OPTION_TOOLKIT,
    OPTION_PRINT_CONFIG,
};

static const CliOption host_options[] = {
    [OPTION_CONFIG] = {"config", "FILE", "settings, as for serve; none are read without it"},
    [OPTION_TOOLS] = {"tools", "FILE", "offer the commands of this tools file"},
    [OPTION_SOCKET] = {"socket", "PATH", "serve here; else host.sock in the user's runtime folder"},
    [OPTION_SCHEMA] = {"schema", "FILE", "describe the tools here; else beside the socket"},
    [OPTION_DIAGNOSTICS] = {"diagnostics", NULL, "offer echo, sleep and fail"},
    [OPTION_TOOLKIT] = {"toolkit", NULL, "offer the template tools"},
    [OPTION_PRINT_CONFIG] = {"print-config", NULL,
                             "print the configuration of an MCP client, and exit"},
    LIMIT_FLAGS_CALLS("no limit", "no limit"),
    {NULL, NULL, NULL},
};

/* The name of the server in an MCP client's configuration, and of the files in the runtime folder.
 */
#define HOST_CLIENT_NAME "toolwire"
#define HOST_FILE_NAME   "host"

/* Of a printed configuration: it holds three paths, escaped. */
#define HOST_CONFIG_BYTES ((size_t)128 * 1024)

typedef struct HostPlace {
    char *socket;
    char *schema;
} HostPlace;

static int host_print_config(const HostPlace *place)
{
    CLEANUP(mem_freep) char *program = NULL;
    int status = CLI_EXIT_DONE;
    Bytes text;
    int r = io_program_path(&program);

    bytes_init(&text, HOST_CONFIG_BYTES);
    if (r == 0) {
        r = host_client_config(&text, HOST_CLIENT_NAME, program, place->socket, place->schema);
    }
    if (r == 0 && (fwrite(text.data, 1, text.n, stdout) != text.n || fflush(stdout) != 0)) {
        r = -errno;
    }
    if (r != 0) {
        fprintf(stderr, "toolwire host: %s\n",
                r > 0 ? "the paths are too long" : io_error_text(-r));
        status = CLI_EXIT_FAILED;
    }
    bytes_deinit(&text);
    return status;
}

static void host_on_ready(void *context, size_t n_tools)
{
    const HostPlace *place = context;

    fprintf(stderr, "toolwire host: %zu tool%s at %s, described in %s\n", n_tools,
            n_tools == 1 ? "" : "s", place->socket, place->schema);
}

static int host_serve(const CliArgs *args, const Config *settings, HostPlace *place)
{
    Diag diag = DIAG_NULL;
    int r = host_run(&(HostRunOptions){.config = settings,
                                       .diagnostics = args->values[OPTION_DIAGNOSTICS] != NULL,
                                       .toolkit = args->values[OPTION_TOOLKIT] != NULL,
                                       .socket_path = place->socket,
                                       .schema_path = place->schema,
                                       .log = &args->log,
                                       .ready = host_on_ready,
                                       .context = place},
                     &diag);

    if (r == 0) {
        return CLI_EXIT_DONE;
    }
    fprintf(stderr, "toolwire host: %s\n", r > 0 ? diag.message : io_error_text(-r));
    return r == HOST_RUN_E_TOOLS || r == HOST_RUN_E_TEMPLATES ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}

static int host_with(const CliArgs *args, const Config *config)
{
    Config settings = *config; /* the flags' paths are argv's, the file's are the file's */
    HostPlace place = {.socket = NULL};
    Diag diag = DIAG_NULL;
    int r = limit_flags_apply(args, &settings);

    if (r != 0) {
        return r;
    }
    if (args->values[OPTION_TOOLS] != NULL) {
        settings.tools = (char *)(uintptr_t)args->values[OPTION_TOOLS];
    }
    /* What a request can hold on this wire, its tool may be given. */
    settings.max_request_bytes = LIMIT_CALLSOCK_MESSAGE_BYTES;
    settings.max_response_bytes = LIMIT_CALLSOCK_MESSAGE_BYTES;
    r = host_paths(HOST_FILE_NAME, args->values[OPTION_SOCKET], args->values[OPTION_SCHEMA],
                   &place.socket, &place.schema, &diag);
    if (r != 0) {
        fprintf(stderr, "toolwire host: %s\n", r > 0 ? diag.message : io_error_text(-r));
        return CLI_EXIT_FAILED;
    }
    r = args->values[OPTION_PRINT_CONFIG] != NULL ? host_print_config(&place)
                                                  : host_serve(args, &settings, &place);
    place.socket = mem_free(place.socket);
    place.schema = mem_free(place.schema);
    return r;
}

static bool host_has_tools(const CliArgs *args, const Config *config)
{
    return args->values[OPTION_TOOLS] != NULL || args->values[OPTION_DIAGNOSTICS] != NULL ||
           args->values[OPTION_TOOLKIT] != NULL || args->values[OPTION_PRINT_CONFIG] != NULL ||
           config->tools != NULL || config->call_socket != NULL || config->pipe.name != NULL;
}

static int host_command_run(const CliArgs *args)
{
    Config config = CONFIG_NULL;
    Diag diag = DIAG_NULL;
    int status;

    if (args->n_operands > 0) {
        return cli_usage_error(args, "unexpected operand '%s'", args->operands[0]);
    }
    if (args->values[OPTION_CONFIG] != NULL &&
        config_load(&config, args->values[OPTION_CONFIG], &diag) != 0) {
        fprintf(stderr, "toolwire host: %s\n",
                diag.message[0] != '\0' ? diag.message : "out of memory");
        return CLI_EXIT_USAGE;
    }
    status = host_has_tools(args, &config)
                 ? host_with(args, &config)
                 : cli_usage_error(args, "there is no tool to offer; see --tools");
    config_deinit(&config);
    return status;
}

const CliCommand cmd_host = {
    .name = "host",
    .operands = NULL,
    .summary = "parent that has tools, for toolwire bridge to reach",
    .details = "Socket and schema file are for this user only, and removed at the end (SIGTERM,\n"
               "SIGINT, SIGHUP; a second signal does not wait for calls). What a parent that was\n"
               "killed left behind is replaced. TIME is 500ms, 30s, 5m.",
    .options = host_options,
    .run = host_command_run,
};
