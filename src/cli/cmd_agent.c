/* `toolwire agent`: reads the settings and hands them to app/agent. */
#include "cli/cmd_agent.h"

#include <errno.h>
#include <string.h>

#include "app/agent.h"
#include "app/config.h"
#include "app/front.h"
#include "app/hub_place.h"
#include "base/alloc.h"
#include "base/error.h"
#include "cli/limit_flags.h"
#include "cli/source_flags.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"

enum {
    OPTION_CONFIG,
    OPTION_MODEL,
    OPTION_BASE_URL,
    OPTION_ROOT,
    OPTION_SYSTEM,
    OPTION_HISTORY,
    OPTION_TOOL,
    OPTION_COMMANDS,
    OPTION_ATTACHMENTS,
    OPTION_ALLOW_NETWORK,
    OPTION_ALLOW_UNCONFINED,
    OPTION_TRACE,
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
    OPTION_TOOLKIT,
    OPTION_NO_TOOLKIT,
    OPTION_ALONE,
};

static const CliOption agent_options[] = {
    [OPTION_CONFIG] = {"config", "FILE",
                       "settings, or none; else ./toolwire.json, else the user's, if there"},
    [OPTION_MODEL] = {"model", "NAME", "openai:NAME, anthropic:NAME, script[:FILE]; else chosen"},
    [OPTION_BASE_URL] = {"base-url", "URL", "of the model's service"},
    [OPTION_ROOT] = {"root", "DIR", "the folder of the file tools (the working folder)"},
    [OPTION_SYSTEM] = {"system", "FILE", "the prompt that says who the model is"},
    [OPTION_HISTORY] = {"history", "FILE",
                        "keep conversations here (agent.db in the state folder); off"},
    [OPTION_TOOL] = {"tool", "NAME=WORD...",
                     "allow, ask or deny that tool; * in NAME; may be repeated"},
    [OPTION_COMMANDS] = {"commands", "NAME...", "run_command may start this; may be repeated"},
    [OPTION_ATTACHMENTS] = {"attachments", "DIR...",
                            "attachments may come from here, too; may be repeated"},
    [OPTION_ALLOW_NETWORK] = {"allow-network", NULL, "commands may use the network"},
    [OPTION_ALLOW_UNCONFINED] = {"allow-unconfined", NULL,
                                 "commands run where the system cannot confine them"},
    [OPTION_TRACE] = {"trace-protocol", NULL, "show each message on stderr, secrets masked"},
    SOURCE_FLAGS,
    [OPTION_ALONE] = {"alone", NULL, "do not use the tools of a hub that runs"},
    {"max-tokens", "N", "of an answer (4096)"},
    {"budget-tokens", "N", "of a request to the model, the conversation cut to fit (64000)"},
    {"max-rounds", "N", "of tools for one message (10)"},
    {"grace-ms", "TIME", "at the end, wait this long for answers (5s)"},
    {"stall-ms", "TIME", "give up a model that is silent for so long (2m)"},
    {"approval-ms", "TIME", "a call that nobody allows in time is refused (10m)"},
    {"call-timeout-ms", "TIME", "end a call without progress after this (30s)"},
    {"call-timeout-max-ms", "TIME", "end any call after this (1h)"},
    {NULL, NULL, NULL},
};

/* ---- settings ---- */

/* The values of an option that may be repeated; the array is the caller's. */
static size_t agent_gather(const CliArgs *args, size_t option, const char *values[])
{
    size_t n = 0;

    for (size_t i = 0; i < args->n_repeats; i++) {
        if (args->repeats[i].place == option) {
            values[n++] = args->repeats[i].value;
        }
    }
    values[n] = NULL;
    return n;
}

/* NAME=WORD; behind those of the file, so that they count before them. */
static int agent_add_rules(const CliArgs *args, Config *config)
{
    const char *values[CLI_MAX_REPEATS + 1];
    size_t n = agent_gather(args, OPTION_TOOL, values);

    for (size_t i = 0; i < n; i++) {
        const char *equals = strchr(values[i], '=');
        Diag diag = DIAG_NULL;
        int r = equals == NULL ? CONFIG_E_INVALID
                               : config_add_rule(&config->agent,
                                                 span_make(values[i], (size_t)(equals - values[i])),
                                                 span_from_str(equals + 1), &diag);

        if (r < 0) {
            return err_pass(r);
        }
        if (r > 0) {
            return cli_usage_error(args,
                                   "--tool is '%s'; it can be write_file=ask, *=allow, "
                                   "git_*=deny",
                                   values[i]);
        }
    }
    return 0;
}

static int agent_set_lists(const CliArgs *args, Config *config)
{
    const struct {
        size_t option;
        char ***setting;
    } lists[] = {
        {OPTION_TEMPLATES, &config->templates},
        {OPTION_COMMANDS, &config->agent.commands},
        {OPTION_ATTACHMENTS, &config->agent.attachments},
    };
    const char *values[CLI_MAX_REPEATS + 1];
    int r = 0;

    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(lists); i++) {
        if (agent_gather(args, lists[i].option, values) > 0) {
            r = config_replace_list(lists[i].setting, values);
        }
    }
    return r;
}

/* The flags in place of what the file says. 0, a negative errno, CLI_EXIT_USAGE. */
static int agent_apply_flags(const CliArgs *args, Config *config)
{
    const struct {
        size_t option;
        char **setting;
    } strings[] = {
        {OPTION_MODEL, &config->agent.model},
        {OPTION_BASE_URL, &config->agent.base_url},
        {OPTION_ROOT, &config->agent.root},
        {OPTION_SYSTEM, &config->agent.system},
        {OPTION_HISTORY, &config->agent.history},
        {OPTION_TOOLS, &config->tools},
        {OPTION_CALL_SOCKET, &config->call_socket},
        {OPTION_CALL_SOCKET_SCHEMA, &config->call_socket_schema},
        {OPTION_PIPE, &config->pipe.name},
        {OPTION_PIPE_TOOLS, &config->pipe.tools},
        {OPTION_WRITE_ROOT, &config->write_root},
        {OPTION_STATE, &config->state},
    };
    int r = limit_flags_apply(args, config);

    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(strings); i++) {
        const char *value = args->values[strings[i].option];

        r = value == NULL ? 0 : config_replace(strings[i].setting, value);
    }
    r = r != 0 ? r : agent_set_lists(args, config);
    r = r != 0 ? r : agent_add_rules(args, config);
    source_flags_set_toolkit(args->values[OPTION_TOOLKIT], args->values[OPTION_NO_TOOLKIT], config);
    if (args->values[OPTION_ALLOW_NETWORK] != NULL) {
        config->agent.allow_network = true;
    }
    if (args->values[OPTION_ALLOW_UNCONFINED] != NULL) {
        config->agent.allow_unconfined = true;
    }
    return r;
}

/* What the file and the flags say only together. */
static int agent_check(const CliArgs *args, const Config *config)
{
    if ((config->call_socket == NULL) != (config->call_socket_schema == NULL)) {
        return cli_usage_error(args, "--call-socket and --call-socket-schema belong together");
    }
    if (config->pipe.tools != NULL && config->pipe.name == NULL) {
        return cli_usage_error(args, "--pipe-tools needs a --pipe");
    }
    if (config->agent.history != NULL && config->agent.history[0] == '\0') {
        return cli_usage_error(args, "--history: expected the path of a file, or off");
    }
    return 0;
}

/* ---- the hub ---- */

/* Whoever says what tools there are wants those, and not what a hub has. */
static bool agent_may_use_hub(const CliArgs *args)
{
    static const size_t options[] = {
        OPTION_TOOLS,        OPTION_CALL_SOCKET, OPTION_CALL_SOCKET_SCHEMA,
        OPTION_PIPE,         OPTION_PIPE_TOOLS,  OPTION_PING_INTERVAL,
        OPTION_PONG_TIMEOUT, OPTION_DIAGNOSTICS, OPTION_TEMPLATES,
        OPTION_WRITE_ROOT,   OPTION_TOOLKIT,     OPTION_NO_TOOLKIT,
        OPTION_ALONE,
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(options); i++) {
        if (args->values[options[i]] != NULL) {
            return false;
        }
    }
    return true;
}

/* The socket of the hub of this state folder, if one serves it with these settings; else NULL.
 * Gives *ret (mem_free). */
static void agent_find_hub(const CliArgs *args, const Config *config, char **ret)
{
    int fd = -1;

    *ret = NULL;
    if (!agent_may_use_hub(args) || front_find(&fd, config->state, config->path) != 0) {
        return;
    }
    io_fd_close(fd);
    if (hub_place(ret, config->state, NULL) != 0) {
        *ret = NULL;
    }
}

/* ---- the command ---- */

static int agent_serve(const CliArgs *args, const Config *config)
{
    CLEANUP(mem_freep) char *hub_path = NULL;
    Diag diag = DIAG_NULL;
    int r;

    agent_find_hub(args, config, &hub_path);
    r = agent_stdio(&(AgentOptions){.config = config,
                                    .hub_path = hub_path,
                                    .diagnostics = args->values[OPTION_DIAGNOSTICS] != NULL,
                                    .trace = args->values[OPTION_TRACE] != NULL,
                                    .log = &args->log},
                    &diag);
    if (r == 0) {
        return CLI_EXIT_DONE;
    }
    fprintf(stderr, "toolwire agent: %s\n", r > 0 ? diag.message : io_error_text(-r));
    return r > 0 ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}

static int agent_run(const CliArgs *args)
{
    Config config;
    Diag diag = DIAG_NULL;
    int r;

    if (config_load(&config, args->values[OPTION_CONFIG], &diag) != 0) {
        fprintf(stderr, "toolwire agent: %s\n",
                diag.message[0] != '\0' ? diag.message : "out of memory");
        return CLI_EXIT_USAGE;
    }
    r = agent_apply_flags(args, &config);
    r = r != 0 ? r : agent_check(args, &config);
    if (r < 0) {
        fprintf(stderr, "toolwire agent: %s\n", io_error_text(-r));
    }
    r = r < 0 ? CLI_EXIT_FAILED : r > 0 ? r : agent_serve(args, &config);
    config_deinit(&config);
    return r;
}

const CliCommand cmd_agent = {
    .name = "agent",
    .operands = NULL,
    .summary = "agent runtime on standard input and output",
    .details =
        "A shell writes requests, one JSON message a line, and reads tokens, tool calls and\n"
        "their results as they come (docs/agent.md). Keys of models come from the environment\n"
        "(OPENAI_API_KEY, ANTHROPIC_API_KEY). Without any, a model server on this machine is\n"
        "looked for, and else a built-in script answers, which knows /tools, /call and /echo.\n"
        "Tools that only read are allowed and the user is asked about others, unless --tool\n"
        "says otherwise. Where 'toolwire up' runs with the same state folder and settings, its\n"
        "tools are used. 'toolwire chat' is a shell for it.",
    .options = agent_options,
    .run = agent_run,
};
