/* bench_stdio: `toolwire serve --diagnostics --rate off` on two pipes, beside what such pipes can
 * do at all and beside the official TypeScript server, in one run.
 *
 *     bench_stdio [--toolwire PATH] [--row NAME[,NAME…]] [--only PEER[,PEER…]] [--rounds N]
 *                 [--round-ms N] [--calls N] [--json FILE] [--no-spin]
 *
 * The floor echoes the bytes of the same requests without looking at them (`floor`), or only scans
 * them for id and message (`floor mcp`, for comparison). All peers get the same system calls from
 * the driver: the whole message is written, then bytes are read until the newline. Rounds of all
 * peers alternate and medians count; a ratio is the median of the ratios of each round, so that a
 * slow minute of the machine hits both sides. Nothing here fails because of a figure.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "stdio_peer.h"
#include "stdio_report.h"
#include "stdio_rows.h"

typedef struct Options {
    const char *toolwire;
    const char *rows;  /* NULL: all */
    const char *peers; /* NULL: all */
    const char *json;
    unsigned long n_rounds;
    unsigned long round_ms;
    unsigned long n_calls;
    bool spin;
} Options;

static _Noreturn void wrong_use(const char *what)
{
    (void)fprintf(stderr,
                  "bench_stdio: %s\nusage: bench_stdio [--toolwire PATH] [--row NAME[,NAME...]] "
                  "[--only PEER[,PEER...]] [--rounds N] [--round-ms N] [--calls N] [--json FILE] "
                  "[--no-spin]\npeers: floor (always), floor-mcp, toolwire, ts-v2\nrows:",
                  what);
    for (size_t i = 0; i < n_rows; i++) {
        (void)fprintf(stderr, " %s", rows[i].name);
    }
    (void)fprintf(stderr, "\n");
    exit(2);
}

static unsigned long parse_number(const char *text, unsigned long max)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || n == 0 || n > max) {
        wrong_use(text);
    }
    return n;
}

static void parse_options(Options *o, int argc, char **argv)
{
    *o = (Options){.toolwire = BENCH_TOOLWIRE,
                   .n_rounds = 9,
                   .round_ms = 100,
                   .n_calls = 1000000,
                   .spin = true};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--no-spin") == 0) {
            o->spin = false;
            continue;
        }
        if (value == NULL) {
            wrong_use(argv[i]);
        } else if (strcmp(argv[i], "--toolwire") == 0) {
            o->toolwire = value;
        } else if (strcmp(argv[i], "--row") == 0) {
            o->rows = value;
        } else if (strcmp(argv[i], "--only") == 0) {
            o->peers = value;
        } else if (strcmp(argv[i], "--json") == 0) {
            o->json = value;
        } else if (strcmp(argv[i], "--rounds") == 0) {
            o->n_rounds = parse_number(value, ROW_MAX_ROUNDS);
        } else if (strcmp(argv[i], "--round-ms") == 0) {
            o->round_ms = parse_number(value, 10000);
        } else if (strcmp(argv[i], "--calls") == 0) {
            o->n_calls = parse_number(value, 1000000000);
        } else {
            wrong_use(argv[i]);
        }
        i++;
    }
}

/* Is the name one of those between commas? No list holds every name. */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = list; p != NULL;) {
        const char *comma = strchr(p, ',');
        size_t n_item = comma == NULL ? strlen(p) : (size_t)(comma - p);

        if (n_item == n && memcmp(p, name, n) == 0) {
            return true;
        }
        p = comma == NULL ? NULL : comma + 1;
    }
    return list == NULL;
}

/* The floor first. */
static size_t choose_programs(const Options *o, PeerProgram *programs)
{
    static const char *const floor[] = {BENCH_FLOOR, NULL};
    static const char *const floor_mcp[] = {BENCH_FLOOR, "--mcp", NULL};
    static const char *const node_check[] = {"node", BENCH_TS_SERVER, "--check", NULL};
    static const char *const node[] = {"node", "--no-warnings", BENCH_TS_SERVER, NULL};
    static const char *toolwire[] = {NULL, "serve", "--diagnostics", "--rate", "off", NULL};
    size_t n = 0;

    toolwire[0] = o->toolwire;
    programs[n++] = (PeerProgram){.name = "floor", .argv = floor, .is_echo = true};
    if (is_listed(o->peers, "floor-mcp")) {
        programs[n++] = (PeerProgram){.name = "floor-mcp", .argv = floor_mcp, .is_scan = true};
    }
    if (is_listed(o->peers, "toolwire")) {
        programs[n++] = (PeerProgram){.name = "toolwire", .argv = toolwire, .is_ours = true};
    }
    if (is_listed(o->peers, "ts-v2") && peer_program_succeeds(node_check)) {
        programs[n++] = (PeerProgram){.name = "ts-v2", .argv = node, .is_node = true};
    } else if (is_listed(o->peers, "ts-v2")) {
        printf("ts-v2: skipped, because node or @modelcontextprotocol/server is not installed "
               "(npm ci)\n");
    }
    return n;
}

static void check_row_names(const char *list)
{
    size_t n_found = 0;
    size_t n_asked = 1;

    for (const char *p = list; p != NULL && *p != '\0'; p++) {
        n_asked += *p == ',';
    }
    for (size_t i = 0; i < n_rows; i++) {
        n_found += is_listed(list, rows[i].name);
    }
    if (list != NULL && n_found != n_asked) {
        wrong_use("--row names a row that is not there");
    }
}

int main(int argc, char **argv)
{
    static const char *const empty_argv[] = {BENCH_EMPTY, NULL};
    const PeerProgram empty = {.name = "empty", .argv = empty_argv};
    static Report report;
    PeerProgram programs[4];
    Options o;
    RowSetup setup;

    parse_options(&o, argc, argv);
    check_row_names(o.rows);
    (void)signal(SIGPIPE, SIG_IGN);
    if (o.json != NULL && (report.json = fopen(o.json, "w")) == NULL) {
        perror(o.json);
        return 1;
    }
    setup = (RowSetup){.programs = programs,
                       .n_programs = choose_programs(&o, programs),
                       .empty = &empty,
                       .n_rounds = o.n_rounds,
                       .round_ns = o.round_ms * 1000000u,
                       .n_calls = o.n_calls};
    if (o.spin) {
        peer_keep_awake();
    }
    printf("stdio: medians of %lu interleaved rounds of %lu ms; cores %s\n", o.n_rounds, o.round_ms,
           o.spin ? "kept awake" : "left alone");
    for (size_t i = 0; i < n_rows; i++) {
        if (is_listed(o.rows, rows[i].name)) {
            report_row(&report, rows[i].name, rows[i].what);
            rows[i].run(&rows[i], &setup, &report);
        }
    }
    report_summary(&report);
    return report.json != NULL && fclose(report.json) != 0;
}
