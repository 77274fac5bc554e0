/* bench_agent: what the agent runtime costs between a model's service and a shell.
 *
 *     bench_agent [--toolwire PATH] [--rounds N] [--talks N] [--tokens N] [--json FILE]
 *
 * A service that stamps each token with its own clock (agent_model.c), `toolwire agent`, and this
 * program as the shell. CPU per token: that of all threads of the agent, as the kernel counts it in
 * nanoseconds, as the difference of a long and a short answer, so that the costs of a request are
 * not in it. First token: from the shell's write to the service's read, and from the service's
 * write to the shell's read; what the service itself takes in between is not counted. Every token
 * is checked to be there, once, in its order.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "report.h"

enum {
    MAX_ROUNDS = 64,
    MAX_TALKS = 1000,
    READ_BYTES = 1 << 20,
    SINGLE = 200, /* requests of the row first_token */
    SHORT_TOKENS = 20
};

typedef struct Child {
    pid_t pid;
    int to;
    int from;
} Child;

typedef struct Options {
    const char *toolwire;
    size_t n_rounds;
    size_t n_talks;
    size_t n_tokens;
    char folder[64];
} Options;

static Child model;
static uint64_t began_ns; /* the model's, from which it counts */
static Child agent;
static char *unread; /* of the agent's output */
static size_t n_unread;

static void require(bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "bench_agent: %s: %s\n", what, strerror(errno));
        if (agent.pid > 0) {
            (void)kill(agent.pid, SIGKILL);
        }
        if (model.pid > 0) {
            (void)kill(model.pid, SIGKILL);
        }
        exit(1);
    }
}

/* ---- children ---- */

static Child start(const char *const *argv)
{
    int in[2];
    int out[2];
    Child child;

    require(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "pipe");
    child = (Child){.pid = fork(), .to = in[1], .from = out[0]};
    require(child.pid >= 0, "fork");
    if (child.pid == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    return child;
}

static void end(Child *child)
{
    int status = 0;

    (void)close(child->to);
    (void)close(child->from);
    (void)waitpid(child->pid, &status, 0);
    child->pid = 0;
}

/* ---- lines of the agent ---- */

/* The next line, without its end; good until the next call. */
static char *next_line(void)
{
    static size_t n_taken;
    char *newline;

    memmove(unread, unread + n_taken, n_unread - n_taken);
    n_unread -= n_taken;
    n_taken = 0;
    while ((newline = memchr(unread, '\n', n_unread)) == NULL) {
        ssize_t n;

        require(n_unread < READ_BYTES, "a line is too long");
        n = read(agent.from, unread + n_unread, READ_BYTES - n_unread);
        require(n > 0, "the agent ended");
        n_unread += (size_t)n;
    }
    *newline = '\0';
    n_taken = (size_t)(newline - unread) + 1;
    return unread;
}

static void say(const char *text)
{
    size_t n = strlen(text);

    require(write(agent.to, text, n) == (ssize_t)n, "write");
}

static bool is_type(const char *line, const char *type)
{
    return strncmp(line, "{\"type\":\"", 9) == 0 && strncmp(line + 9, type, strlen(type)) == 0;
}

/* The number behind the id's letter: {"type":"token","id":"r12",… */
static size_t line_request(const char *line)
{
    const char *id = strstr(line, "\"id\":\"r");

    require(id != NULL, line);
    return strtoul(id + 7, NULL, 10);
}

/* ---- the kernel's view of the agent ---- */

static uint64_t cpu_ns(void)
{
    char path[300];
    struct dirent *entry;
    uint64_t total = 0;
    DIR *tasks;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)agent.pid);
    tasks = opendir(path);
    require(tasks != NULL, path);
    while ((entry = readdir(tasks)) != NULL) {
        unsigned long long ns = 0;
        FILE *file;

        (void)snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)agent.pid,
                       entry->d_name);
        file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file != NULL) {
            if (fscanf(file, "%llu", &ns) == 1) {
                total += ns;
            }
            (void)fclose(file);
        }
    }
    (void)closedir(tasks);
    return total;
}

static double resident_mib(const char *which)
{
    char line[256];
    char path[64];
    double kib = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)agent.pid);
    file = fopen(path, "r");
    require(file != NULL, path);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, which, strlen(which)) == 0) {
            kib = strtod(line + strlen(which) + 1, NULL);
        }
    }
    (void)fclose(file);
    return kib / 1024;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(double *values, size_t n, double part)
{
    qsort(values, n, sizeof(*values), compare);
    return values[(size_t)(part * (double)(n - 1))];
}

/* ---- rows ---- */

typedef struct Talks {
    double cpu_us;
    double late_ms; /* tokens from the service's write to our read, the median of all */
} Talks;

/* n_talks conversations at once, a request each; all tokens in their order. */
static Talks run_talks(const Options *options, size_t round, size_t n_tokens)
{
    static size_t next[MAX_TALKS];
    size_t n_all = options->n_talks * n_tokens;
    double *late = malloc(n_all * sizeof(*late));
    uint64_t cpu = cpu_ns();
    size_t n_done = 0;
    size_t n_late = 0;
    Talks talks;

    require(late != NULL, "malloc");
    memset(next, 0, sizeof(next));
    for (size_t i = 0; i < options->n_talks; i++) {
        char line[256];

        (void)snprintf(line, sizeof(line),
                       "{\"id\":\"r%zu\",\"kind\":\"user_message\",\"message\":\"tokens=%zu "
                       "pause=1000\",\"metadata\":{\"conversationId\":\"t%zu-%zu-%zu\"}}\n",
                       i, n_tokens, round, n_tokens, i);
        say(line);
    }
    while (n_done < options->n_talks) {
        char *line = next_line();
        size_t i = line_request(line);

        require(i < options->n_talks && !is_type(line, "error"), line);
        if (is_type(line, "token")) {
            char *token = strstr(line, "\"token\":\"") + 9;
            char *behind;
            size_t index = strtoul(token, &behind, 10);
            uint64_t sent = began_ns + 1000 * strtoull(behind, NULL, 10);

            require(index == next[i], "a token is lost, or out of order");
            next[i]++;
            late[n_late++] = (double)(clock_monotonic_ns() - sent) / 1e6;
        } else {
            require(is_type(line, "done") && next[i] == n_tokens, line);
            n_done++;
        }
    }
    talks.cpu_us = (double)(cpu_ns() - cpu) / 1000;
    talks.late_ms = quantile(late, n_late, 0.5);
    free(late);
    return talks;
}

static void row_tokens(const Options *options, Report *report)
{
    double cpu[MAX_ROUNDS];
    double late[MAX_ROUNDS];

    for (size_t i = 0; i < options->n_rounds; i++) {
        Talks brief = run_talks(options, i, SHORT_TOKENS);
        Talks whole = run_talks(options, i, SHORT_TOKENS + options->n_tokens);

        cpu[i] = (whole.cpu_us - brief.cpu_us) / (double)(options->n_talks * options->n_tokens);
        late[i] = whole.late_ms;
    }
    report_row(report, "tokens", "conversations that stream at once, a token each per millisecond");
    {
        const ReportFigure figures[] = {
            {.name = "talks", .value = (double)options->n_talks},
            {.name = "cpu_us_per_token",
             .value = quantile(cpu, options->n_rounds, 0.5),
             .decimals = 2,
             .goal = REPORT_GOAL_AT_MOST,
             .limit = 10},
            {.name = "late_ms", .value = quantile(late, options->n_rounds, 0.5), .decimals = 2},
            {.name = "rss_mib", .value = resident_mib("VmRSS:"), .decimals = 1},
            {.name = "peak_rss_mib",
             .value = resident_mib("VmHWM:"),
             .decimals = 1,
             .goal = REPORT_GOAL_AT_MOST,
             .limit = 16},
        };

        report_line(report, "toolwire", "", figures, 5);
    }
}

static void row_first(Report *report)
{
    double ask[SINGLE];
    double answer[SINGLE];
    double both[SINGLE];

    for (size_t i = 0; i < SINGLE; i++) {
        char line[256];
        uint64_t wrote;
        char *read_line;
        char *behind;
        uint64_t sent;
        uint64_t came;

        (void)snprintf(line, sizeof(line),
                       "{\"id\":\"r%zu\",\"kind\":\"user_message\",\"message\":\"tokens=1\","
                       "\"metadata\":{\"conversationId\":\"f%zu\"}}\n",
                       i, i);
        wrote = clock_monotonic_ns();
        say(line);
        read_line = next_line();
        answer[i] = (double)clock_monotonic_ns();
        require(is_type(read_line, "token"), read_line);
        (void)strtoul(strstr(read_line, "\"token\":\"") + 9, &behind, 10);
        sent = began_ns + 1000 * strtoull(behind, &behind, 10);
        came = began_ns + 1000 * strtoull(behind, NULL, 10);
        ask[i] = (double)(came - wrote) / 1e6;
        answer[i] = (answer[i] - (double)sent) / 1e6;
        both[i] = ask[i] + answer[i];
        while (!is_type(next_line(), "done")) {
        }
    }
    report_row(report, "first_token", "one request at a time, each a new conversation");
    {
        const ReportFigure figures[] = {
            {.name = "request_ms", .value = quantile(ask, SINGLE, 0.5), .decimals = 3},
            {.name = "token_ms", .value = quantile(answer, SINGLE, 0.5), .decimals = 3},
            {.name = "both_ms",
             .value = quantile(both, SINGLE, 0.5),
             .decimals = 3,
             .goal = REPORT_GOAL_AT_MOST,
             .limit = 1},
            {.name = "both_p99_ms", .value = quantile(both, SINGLE, 0.99), .decimals = 3},
        };

        report_line(report, "toolwire", "", figures, 4);
    }
}

/* ---- the whole ---- */

static void start_both(const Options *options)
{
    const char *const model_argv[] = {BENCH_AGENT_MODEL, NULL};
    char url[64];
    char said[64] = "";
    char *behind;
    const char *const agent_argv[] = {
        options->toolwire, "agent",         "--config", "none",         "--model",
        "openai:fake",     "--base-url",    url,        "--state",      options->folder,
        "--root",          options->folder, "--alone",  "--no-toolkit", NULL};

    model = start(model_argv);
    require(read(model.from, said, sizeof(said) - 1) > 0, "the model did not start");
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%lu/v1", strtoul(said, &behind, 10));
    began_ns = strtoull(behind, NULL, 10);
    (void)setenv("OPENAI_API_KEY", "none", 1);
    agent = start(agent_argv);
    require(is_type(next_line(), "ready"), "the agent is not ready");
}

static void parse_options(Options *options, Report *report, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--toolwire") == 0) {
            options->toolwire = argv[i + 1];
        } else if (strcmp(argv[i], "--rounds") == 0) {
            options->n_rounds = strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--talks") == 0) {
            options->n_talks = strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--tokens") == 0) {
            options->n_tokens = strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--json") == 0) {
            report->json = fopen(argv[i + 1], "w");
            require(report->json != NULL, argv[i + 1]);
        } else {
            (void)fprintf(stderr, "usage: bench_agent [--toolwire PATH] [--rounds N] [--talks N] "
                                  "[--tokens N] [--json FILE]\n");
            exit(2);
        }
    }
    if (options->n_rounds == 0 || options->n_rounds > MAX_ROUNDS || options->n_talks == 0 ||
        options->n_talks > MAX_TALKS || options->n_tokens == 0) {
        (void)fprintf(stderr, "bench_agent: 1 to 64 rounds, 1 to 1000 talks, some tokens\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    Options options = {.toolwire = BENCH_TOOLWIRE,
                       .n_rounds = 5,
                       .n_talks = 100,
                       .n_tokens = 200,
                       .folder = "/tmp/bench_agent.XXXXXX"};
    Report report = {.json = NULL};
    char command[128];

    parse_options(&options, &report, argc, argv);
    require(mkdtemp(options.folder) != NULL, "mkdtemp");
    (void)signal(SIGPIPE, SIG_IGN);
    unread = malloc(READ_BYTES);
    require(unread != NULL, "malloc");
    start_both(&options);
    row_first(&report);
    row_tokens(&options, &report);
    end(&agent);
    end(&model);
    report_summary(&report);
    (void)snprintf(command, sizeof(command), "%s/agent.db", options.folder);
    (void)unlink(command);
    (void)rmdir(options.folder);
    free(unread);
    return 0;
}
