/* `toolwire addin`: reads the settings, hands them to app/addin_run, and says what happens. */
#include "cli/cmd_addin.h"

#include <inttypes.h>
#include <stdio.h>

#include "app/addin_run.h"
#include "app/config.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "cli/limit_flags.h"
#include "io/error_text.h"
#include "io/pipe_place.h"

enum {
    OPTION_PIPE,
    OPTION_TOOLS,
    OPTION_NAME,
    OPTION_ONE_AT_A_TIME,
    OPTION_CONFIG,
    OPTION_DIAGNOSTICS,
    OPTION_TOOLKIT,
    OPTION_PING_INTERVAL,
    OPTION_PONG_TIMEOUT,
    OPTION_RETRY,
    OPTION_RETRY_MAX,
};

static const CliOption addin_options[] = {
    [OPTION_PIPE] = {"pipe", "NAME", "of the hub (" PIPE_DEFAULT_NAME ")"},
    [OPTION_TOOLS] = {"tools", "FILE", "offer the commands of this tools file"},
    [OPTION_NAME] = {"name", "NAME", "by which the hub is to know it (toolwire)"},
    [OPTION_ONE_AT_A_TIME] = {"one-at-a-time", NULL, "run calls one after the other"},
    [OPTION_CONFIG] = {"config", "FILE", "settings, as for serve; none are read without it"},
    [OPTION_DIAGNOSTICS] = {"diagnostics", NULL, "offer echo, sleep and fail"},
    [OPTION_TOOLKIT] = {"toolkit", NULL, "offer the template tools"},
    [OPTION_PING_INTERVAL] = {"ping-interval-ms", "TIME", "ping the hub this often (30s)"},
    [OPTION_PONG_TIMEOUT] = {"pong-timeout-ms", "TIME",
                             "one that is silent for so long is dead (10s)"},
    [OPTION_RETRY] = {"retry-ms", "TIME",
                      "connect again after this, then after twice as long (1s)"},
    [OPTION_RETRY_MAX] = {"retry-max-ms", "TIME", "and after this at the most (30s)"},
    LIMIT_FLAGS_CALLS("no limit", "no limit"),
    {NULL, NULL, NULL},
};

#define ADDIN_NAME        "toolwire"
#define ADDIN_TIME_MAX_MS 86400000

/* The words of the real client. */
static void addin_on_changed(void *context, AddinState state, Span why, int64_t retry_ms)
{
    bool is_whole = retry_ms % 1000 == 0;

    (void)context;
    switch (state) {
    case ADDIN_CONNECTING:
        fprintf(stderr, "toolwire addin: Connecting...\n");
        break;
    case ADDIN_CONNECTED:
        fprintf(stderr, "toolwire addin: Connected\n");
        break;
    case ADDIN_DISCONNECTED:
        fprintf(stderr, "toolwire addin: Disconnected: %.*s\n",
                why.n > 0 ? (int)why.n : (int)SPAN("the hub has closed the connection").n,
                why.n > 0 ? why.p : "the hub has closed the connection");
        break;
    case ADDIN_WAITING:
        if (why.n > 0) {
            fprintf(stderr, "toolwire addin: Disconnected: %.*s\n", (int)why.n, why.p);
        }
        fprintf(stderr, "toolwire addin: Reconnecting in %" PRId64 "%s...\n",
                is_whole ? retry_ms / 1000 : retry_ms, is_whole ? "s" : "ms");
        break;
    case ADDIN_STOPPED:
        fprintf(stderr, "toolwire addin: Stopped\n");
        break;
    }
}

/* An option's duration in place of what was there. 0, or CLI_EXIT_USAGE: it was explained. */
static int addin_read_time(const CliArgs *args, int option, int64_t *ms)
{
    int r = cli_args_time(args, (size_t)option, false, ms);

    if (r == 0 && *ms > ADDIN_TIME_MAX_MS && args->values[option] != NULL) {
        r = cli_usage_error(args, "--%s is '%s'; it can be a day at most",
                            addin_options[option].name, args->values[option]);
    }
    return r;
}

static int addin_read_times(const CliArgs *args, AddinRunOptions *options)
{
    int r = addin_read_time(args, OPTION_PING_INTERVAL, &options->ping_interval_ms);

    if (r == 0) {
        r = addin_read_time(args, OPTION_PONG_TIMEOUT, &options->pong_timeout_ms);
    }
    if (r == 0) {
        r = addin_read_time(args, OPTION_RETRY, &options->retry_ms);
    }
    return r != 0 ? r : addin_read_time(args, OPTION_RETRY_MAX, &options->retry_max_ms);
}

static int addin_at(const CliArgs *args, const Config *settings, const char *path)
{
    AddinRunOptions options = {
        .config = settings,
        .diagnostics = args->values[OPTION_DIAGNOSTICS] != NULL,
        .toolkit = args->values[OPTION_TOOLKIT] != NULL,
        .path = path,
        .name = args->values[OPTION_NAME] != NULL ? args->values[OPTION_NAME] : ADDIN_NAME,
        .one_at_a_time = args->values[OPTION_ONE_AT_A_TIME] != NULL,
        .ping_interval_ms = settings->pipe.ping_interval_ms,
        .pong_timeout_ms = settings->pipe.pong_timeout_ms,
        .log = &args->log,
        .changed = addin_on_changed,
    };
    Diag diag = DIAG_NULL;
    int r = addin_read_times(args, &options);

    if (r != 0) {
        return r;
    }
    r = addin_run(&options, &diag);
    if (r == 0) {
        return CLI_EXIT_DONE;
    }
    fprintf(stderr, "toolwire addin: %s\n", r > 0 ? diag.message : io_error_text(-r));
    return r == ADDIN_RUN_E_TOOLS || r == ADDIN_RUN_E_TEMPLATES ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}

static int addin_with(const CliArgs *args, const Config *config)
{
    Config settings = *config; /* the flags' paths are argv's, the file's are the file's */
    CLEANUP(mem_freep) char *path = NULL;
    const char *pipe = args->values[OPTION_PIPE];
    Diag diag = DIAG_NULL;
    int r = limit_flags_apply(args, &settings);

    if (r != 0) {
        return r;
    }
    if (args->values[OPTION_TOOLS] != NULL) {
        settings.tools = (char *)(uintptr_t)args->values[OPTION_TOOLS];
    }
    /* What a message can hold on this wire, a tool may be given, and give. */
    settings.max_request_bytes = LIMIT_PIPE_MESSAGE_BYTES;
    settings.max_response_bytes = LIMIT_PIPE_MESSAGE_BYTES;
    if (pipe == NULL) {
        pipe = settings.pipe.name != NULL ? settings.pipe.name : PIPE_DEFAULT_NAME;
    }
    r = io_pipe_place(&path, pipe, &diag);
    if (r > 0) {
        return cli_usage_error(args, "--pipe: %s", diag.message);
    }
    if (r != 0) {
        fprintf(stderr, "toolwire addin: %s\n", io_error_text(-r));
        return CLI_EXIT_FAILED;
    }
    return addin_at(args, &settings, path);
}

static bool addin_has_tools(const CliArgs *args, const Config *config)
{
    return args->values[OPTION_TOOLS] != NULL || args->values[OPTION_DIAGNOSTICS] != NULL ||
           args->values[OPTION_TOOLKIT] != NULL || config->tools != NULL ||
           config->call_socket != NULL;
}

static int addin_command_run(const CliArgs *args)
{
    Config config = CONFIG_NULL;
    Diag diag = DIAG_NULL;
    int status;

    if (args->n_operands > 0) {
        return cli_usage_error(args, "unexpected operand '%s'", args->operands[0]);
    }
    if (args->values[OPTION_NAME] != NULL && args->values[OPTION_NAME][0] == '\0') {
        return cli_usage_error(args, "--name: '' is no name");
    }
    if (args->values[OPTION_CONFIG] != NULL &&
        config_load(&config, args->values[OPTION_CONFIG], &diag) != 0) {
        fprintf(stderr, "toolwire addin: %s\n",
                diag.message[0] != '\0' ? diag.message : "out of memory");
        return CLI_EXIT_USAGE;
    }
    status = addin_has_tools(args, &config)
                 ? addin_with(args, &config)
                 : cli_usage_error(args, "there is no tool to offer; see --tools");
    config_deinit(&config);
    return status;
}

const CliCommand cmd_addin = {
    .name = "addin",
    .operands = NULL,
    .summary = "add-in that has tools, for a hub at a named pipe",
    .details =
        "Connects, again and again, and says on standard error how that goes. Ends on\n"
        "SIGTERM, SIGINT or SIGHUP when its calls have ended; a second signal does not wait\n"
        "for them. TIME is 500ms, 30s, 5m.",
    .options = addin_options,
    .run = addin_command_run,
};
