/* `toolwire serve`: reads the settings and hands them to app/serve. */
#include "cli/cmd_serve.h"

#include <string.h>

#include "app/config.h"
#include "app/serve.h"
#include "base/span.h"

enum {
    OPTION_CONFIG,
    OPTION_TOOLS,
    OPTION_DIAGNOSTICS,
    OPTION_RATE,
    OPTION_FIRST_NUMBER, /* from here on: settings of the same name (config_set) */
};

static const CliOption serve_options[] = {
    [OPTION_CONFIG] = {"config", "FILE",
                       "settings; else ./toolwire.json, else the user's, else none"},
    [OPTION_TOOLS] = {"tools", "FILE", "offer the commands of this tools file"},
    [OPTION_DIAGNOSTICS] = {"diagnostics", NULL, "offer echo, sleep and fail"},
    [OPTION_RATE] = {"rate", "off", "no limit to the rate of calls"},
    {"rate-burst", "N", "calls and lists at once (1000)"},
    {"rate-per-s", "N", "and per second in the long run (100)"},
    {"max-in-flight", "N", "calls that may run at the same time (128)"},
    {"call-timeout-ms", "TIME", "end a call without progress after this (30s)"},
    {"call-timeout-max-ms", "TIME", "end any call after this (1h)"},
    {"max-request-bytes", "SIZE", "refuse longer requests (1MiB)"},
    {"max-response-bytes", "SIZE", "refuse longer results (10MiB)"},
    {"drain-ms", "TIME", "at the end, wait this long for calls (30s)"},
    {"page-size", "N", "entries of a page of a list (all)"},
    {NULL, NULL, NULL},
};

/* "rate-burst" → the setting rate_burst. */
static int serve_set_number(const CliArgs *args, Config *config, size_t option)
{
    const char *flag = serve_options[option].name;
    char name[64];
    size_t n = strlen(flag);
    Diag diag = DIAG_NULL;

    memcpy(name, flag, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (name[i] == '-') {
            name[i] = '_';
        }
    }
    if (config_set(config, span_make(name, n), span_from_str(args->values[option]), &diag) != 0) {
        return cli_usage_error(args, "--%s: %s", flag, diag.message);
    }
    return 0;
}

static int serve_apply_flags(const CliArgs *args, Config *config)
{
    if (args->values[OPTION_RATE] != NULL) {
        if (strcmp(args->values[OPTION_RATE], "off") != 0) {
            return cli_usage_error(
                args, "--rate: only 'off' is possible; see --rate-burst and --rate-per-s");
        }
        config->limits.rate_off = true;
    }
    for (size_t i = OPTION_FIRST_NUMBER; serve_options[i].name != NULL; i++) {
        int status = args->values[i] == NULL ? 0 : serve_set_number(args, config, i);

        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int serve_with(const CliArgs *args, Config *config)
{
    Config settings = *config; /* the flags' paths are argv's, the file's are the file's */
    Diag diag = DIAG_NULL;
    int r = serve_apply_flags(args, &settings);

    if (r != 0) {
        return r;
    }
    if (args->values[OPTION_TOOLS] != NULL) {
        settings.tools = (char *)(uintptr_t)args->values[OPTION_TOOLS];
    }
    r = serve_stdio(&(ServeOptions){.config = &settings,
                                    .diagnostics = args->values[OPTION_DIAGNOSTICS] != NULL,
                                    .log = &args->log},
                    &diag);
    if (r == 0) {
        return CLI_EXIT_DONE;
    }
    if (r > 0) {
        fprintf(stderr, "toolwire serve: %s\n", diag.message);
        return CLI_EXIT_USAGE;
    }
    fprintf(stderr, "toolwire serve: %s\n", strerror(-r));
    return CLI_EXIT_FAILED;
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
