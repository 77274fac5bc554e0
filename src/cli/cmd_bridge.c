/* `toolwire bridge`: an MCP server that has nothing but the tools of a parent. */
#include "cli/cmd_bridge.h"

#include <string.h>

#include "app/config.h"
#include "app/serve.h"
#include "app/version.h"
#include "base/limits.h"
#include "cli/limit_flags.h"
#include "io/error_text.h"

/* A call and a result that fill the call socket's limit, each in its MCP message: whatever is too
 * large meets that limit first, and is refused in its words. */
#define BRIDGE_MESSAGE_BYTES ((size_t)LIMIT_CALLSOCK_MESSAGE_BYTES + 1024 * 1024)

static const CliOption bridge_options[] = {
    LIMIT_FLAGS_CALLS("1000", "100"),
    LIMIT_FLAGS_MCP("11MiB", "11MiB"),
    {NULL, NULL, NULL},
};

static const McpIdentity bridge_identity = {
    .name = SPAN_INIT("toolwire-bridge"),
    .version = SPAN_INIT(TOOLWIRE_VERSION),
    .title = SPAN_INIT("toolwire bridge"),
};

static int bridge_run(const CliArgs *args)
{
    /* No configuration is read: what a client's configuration names is all that is served. */
    Config config = CONFIG_NULL;
    Diag diag = DIAG_NULL;
    int r;

    if (args->n_operands != 2) {
        fprintf(stderr, "usage: toolwire %s [OPTION...] %s\n", args->command->name,
                args->command->operands);
        return cli_usage_error(args, "expected a socket and a schema file");
    }
    config.max_request_bytes = BRIDGE_MESSAGE_BYTES;
    config.max_response_bytes = BRIDGE_MESSAGE_BYTES;
    r = limit_flags_apply(args, &config);
    if (r != 0) {
        return r;
    }
    config.call_socket = args->operands[0];
    config.call_socket_schema = args->operands[1];
    r = serve_stdio(
        &(ServeOptions){.config = &config, .identity = &bridge_identity, .log = &args->log}, &diag);
    if (r == 0) {
        return CLI_EXIT_DONE;
    }
    fprintf(stderr, "toolwire bridge: %s\n", r > 0 ? diag.message : io_error_text(-r));
    return CLI_EXIT_FAILED;
}

const CliCommand cmd_bridge = {
    .name = "bridge",
    .operands = "SOCKET SCHEMA",
    .summary = "MCP server for the tools of a parent, such as toolwire host",
    .details = "SOCKET is the parent's call socket, SCHEMA the file in which it describes its\n"
               "tools. The parent is called when a tool is, and found again after its end.\n"
               "A call ends after its tool's timeout_ms in SCHEMA, else after --call-timeout-ms\n"
               "(30s).\n"
               "An MCP client's configuration starts it; 'toolwire host -h' says how to have one\n"
               "printed. TIME is 500ms, 30s, 5m; SIZE is 4096, 64KiB, 1MiB.",
    .options = bridge_options,
    .run = bridge_run,
};
