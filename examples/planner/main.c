/* planner: a small floor-plan program whose tools agents reach through a hub, or directly.
 *
 *     planner [--pipe NAME] [--document FILE.plan] [--whitelist FILE.json] [--one-at-a-time]
 *     planner --stdio [--document FILE.plan] [--whitelist FILE.json]
 *
 * Without --stdio it is an add-in: it connects to the hub that has the pipe (`toolwire serve
 * --pipe NAME`), and connects again when the hub comes back. With --stdio it is an MCP server with
 * the same tools.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <toolwire/addin.h>
#include <toolwire/toolwire.h>

#include "tools.h"

#define DEFAULT_PIPE "RevitOrchestrator"

static const char usage[] =
    "usage: planner [--pipe NAME] [--document FILE.plan] [--whitelist FILE.json] [--stdio]\n"
    "               [--one-at-a-time]\n"
    "\n"
    "a floor-plan program with tools for agents\n"
    "\n"
    "  --pipe NAME             the hub's pipe (" DEFAULT_PIPE ")\n"
    "  --document FILE.plan    the document, made if it is not there (in memory)\n"
    "  --whitelist FILE.json   which failures may be deleted or resolved; without it, the file\n"
    "                          that REVITMCP_FAILURE_WHITELIST_PATH names (none)\n"
    "  --stdio                 be an MCP server on standard input and output instead\n"
    "  --one-at-a-time         begin a call when the last one is answered, as applications\n"
    "                          with one user-interface thread must\n"
    "  --ping-interval MS      ask the hub for a sign of life this often (30000)\n"
    "  --pong-timeout MS       and give it this long to answer (10000)\n"
    "  --retry MS              first wait before connecting again (1000), doubled up to 30 s\n"
    "  --quiet                 say nothing about transactions and the connection\n"
    "  --help                  print this help, and exit\n";

typedef struct Options {
    const char *pipe;
    const char *document;
    const char *whitelist;
    bool stdio;
    bool quiet;
    bool help;
    TwAddinOptions addin;
} Options;

/* ---- The command line ------------------------------------------------------------------- */

static bool parse_ms(const char *text, int64_t *ret)
{
    char *end = NULL;
    long long ms = strtoll(text, &end, 10);

    if (end == text || *end != '\0' || ms < 1 || ms > 86400000) {
        return false;
    }
    *ret = ms;
    return true;
}

/* An option with a value; its name was found. */
static bool parse_value(Options *options, const char *name, const char *value)
{
    if (strcmp(name, "--pipe") == 0) {
        options->pipe = value;
    } else if (strcmp(name, "--document") == 0) {
        options->document = value;
    } else if (strcmp(name, "--whitelist") == 0) {
        options->whitelist = value;
    } else if (strcmp(name, "--ping-interval") == 0) {
        return parse_ms(value, &options->addin.ping_interval_ms);
    } else if (strcmp(name, "--pong-timeout") == 0) {
        return parse_ms(value, &options->addin.pong_timeout_ms);
    } else if (strcmp(name, "--retry") == 0) {
        return parse_ms(value, &options->addin.retry_ms);
    } else {
        return false;
    }
    return value[0] != '\0';
}

/* False after it has said what is wrong. */
static bool parse_options(int argc, char **argv, Options *options)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--stdio") == 0) {
            options->stdio = true;
        } else if (strcmp(argv[i], "--one-at-a-time") == 0) {
            options->addin.one_at_a_time = true;
        } else if (strcmp(argv[i], "--quiet") == 0) {
            options->quiet = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            options->help = true;
        } else if (i + 1 < argc && parse_value(options, argv[i], argv[i + 1])) {
            i++;
        } else {
            (void)fprintf(stderr,
                          "planner: '%s' is no option, or its value is missing or wrong; "
                          "see planner --help\n",
                          argv[i]);
            return false;
        }
    }
    return true;
}

/* ---- Running ---------------------------------------------------------------------------- */

static void log_line(void *user, const char *text)
{
    (void)user;
    (void)fprintf(stderr, "planner: %s\n", text);
}

static void log_state(void *user, TwAddinState state, const char *message)
{
    static const char *const words[] = {"Connecting...", "Connected", "Disconnected",
                                        "Reconnecting", "Stopped"};

    (void)user;
    (void)fprintf(stderr, "planner: %s%s%s\n", words[state], message[0] != '\0' ? ": " : "",
                  message);
}

static _Atomic(TwAddin *) running;

static void on_signal(int signum)
{
    (void)signum;
    tw_addin_stop(running);
}

static int run_addin(TwServer *server, const Options *options)
{
    struct sigaction stop = {.sa_handler = on_signal};
    struct sigaction end = {.sa_handler = SIG_DFL};
    TwAddin *addin = NULL;
    int r = tw_addin_open(server, options->pipe, &options->addin, &addin);

    if (r == 0) {
        running = addin;
        (void)sigaction(SIGINT, &stop, NULL);
        (void)sigaction(SIGTERM, &stop, NULL);
        r = tw_addin_run(addin);
        (void)sigaction(SIGINT, &end, NULL);
        (void)sigaction(SIGTERM, &end, NULL);
    }
    tw_addin_close(addin);
    return r;
}

/* What is open, and what may become of failures. */
static int show(Planner *planner, const Options *options)
{
    const char *whitelist =
        options->whitelist != NULL ? options->whitelist : getenv("REVITMCP_FAILURE_WHITELIST_PATH");
    bool is_changed;
    Fault fault;
    int r = 0;

    if (whitelist != NULL && whitelist[0] != '\0') {
        r = tw_server_set_whitelist(planner->server, whitelist);
    }
    if (r == 0 && (store_is_changed(&planner->store, &is_changed, &fault) != 0 ||
                   planner_show(planner, &fault) != 0)) {
        (void)fprintf(stderr, "planner: %s\n", fault.text);
        r = TW_ERROR_SYSTEM;
    }
    return r;
}

static int run(Planner *planner, const Options *options)
{
    int r;

    planner->server = tw_server_new("planner", "1.0");
    r = tw_server_set_options(
        planner->server,
        &(TwServerOptions){
            .title = "Planner",
            .description = "A floor plan: levels, walls, doors, rooms.",
            .instructions =
                "Lengths are feet; x is east, y north, z up. Create walls, put doors into "
                "them, name the rooms that they enclose, then look at plan.render.",
            .rate_off = true,
            .drain_ms = 5000});
    if (r == 0) {
        r = tools_add(planner);
    }
    if (r == 0) {
        r = show(planner, options);
    }
    if (r == 0) {
        r = options->stdio ? tw_server_serve_stdio(planner->server)
                           : run_addin(planner->server, options);
    }
    if (r != 0) {
        (void)fprintf(stderr, "planner: %s: %s\n", tw_error_text(r),
                      tw_server_message(planner->server));
    }
    tools_finish(planner);
    tw_server_free(planner->server);
    return r == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static Planner planner = {
        .workers = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}};
    Options options = {.pipe = DEFAULT_PIPE};
    Fault fault;
    int status;

    if (!parse_options(argc, argv, &options)) {
        return 2;
    }
    if (options.help) {
        (void)fputs(usage, stdout);
        return 0;
    }
    if (!options.quiet) {
        planner.store.log = log_line;
        options.addin.changed = log_state;
    }
    if (store_open(&planner.store, options.document, &fault) != 0) {
        (void)fprintf(stderr, "planner: %s\n", fault.text);
        return 1;
    }
    if (planner.store.read_only) {
        log_line(NULL, "the document is read-only; tools that write will fail");
    }
    status = run(&planner, &options);
    store_close(&planner.store);
    return status;
}
