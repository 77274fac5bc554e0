/* bench_gateway: another MCP server behind ours, beside the least that any program between them has
 * to do, in one run. Options: driver.h.
 *
 * stdio: the floor (`relay`) copies bytes between the driver's pipes and a bare C server on socket
 * pairs, without looking at them; `toolwire` is `toolwire serve` with that same server in
 * `mcpServers`, `toolwire-modern` with one that speaks 2026-07-28 only, and `relay-pipes` the floor
 * with pipes in place of socket pairs. HTTP: `toolwire up` before the server, beside the sum of a
 * bare HTTP responder (`http`, which gives the hub's own answer) and of the server on socket pairs
 * (`hop`). In round trips everything is on one core. Beside it, where they are installed, and for
 * clients of 2025-11-25, gateways from npm (gateway_others.h) before the same server, as ratios to
 * the same sum.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "driver.h"
#include "gateway_others.h"
#include "http_side.h"
#include "peer.h"
#include "report.h"
#include "rows.h"

#define IN_FLIGHT         128
#define MAX_SAMPLES       ((size_t)1 << 16)
#define WARM_UP_NS        50000000u
#define OTHERS_WARM_UP_NS 500000000u     /* until node has compiled what is used most */
#define HTTP_TOOL         "behind__echo" /* `echo` is the hub's own, for diagnostics */

static char folder[] = "/tmp/bench_gateway.XXXXXX";
static char configs[2][64];
static const char *chosen; /* --only */

static void clean_up(void)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(configs); i++) {
        (void)unlink(configs[i]);
    }
    (void)rmdir(folder);
}

/* The settings that name the server behind ours. */
static void write_config(char *path, size_t size, const char *name, const char *sort)
{
    FILE *f;

    (void)snprintf(path, size, "%s/%s.json", folder, name);
    f = fopen(path, "wx");
    if (f == NULL ||
        fprintf(f,
                "{\"mcpServers\":{\"behind\":{\"command\":\"%s\",\"args\":[\"%s\"],\"start\":"
                "\"eager\"}}}\n",
                BENCH_GATEWAY_PEER, sort) < 0 ||
        fclose(f) != 0) {
        peer_die(path, strerror(errno));
    }
}

static void prepare(void)
{
    static const char *const places[] = {"HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
                                         "XDG_CONFIG_HOME"};

    if (mkdtemp(folder) == NULL || atexit(clean_up) != 0) {
        peer_die(folder, strerror(errno));
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(places); i++) {
        (void)setenv(places[i], folder, 1);
    }
    write_config(configs[0], sizeof(configs[0]), "legacy", "server");
    write_config(configs[1], sizeof(configs[1]), "modern", "modern");
}

/* ---- HTTP ---- */

typedef struct Probe {
    HttpSide side;
    char *request;
    size_t n_request;
    int fd;
} Probe;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double probe_once(Probe *probe)
{
    uint64_t start = clock_monotonic_ns();

    http_side_ask(&probe->side, probe->fd, probe->request, probe->n_request, "HTTP/1.1 200");
    return (double)(clock_monotonic_ns() - start) / 1e3;
}

/* The median of the round trips of one round, in microseconds. */
static double probe_round(Probe *probe, Peer *hop, const PeerTraffic *t, uint64_t round_ns)
{
    static double samples[MAX_SAMPLES];
    uint64_t end = clock_monotonic_ns() + round_ns;
    size_t n = 0;

    do {
        samples[n] = hop != NULL ? (double)peer_round_trip(hop, t, n) / 1e3 : probe_once(probe);
        n++;
    } while (n < MAX_SAMPLES && clock_monotonic_ns() < end);
    qsort(samples, n, sizeof(*samples), compare_doubles);
    return samples[n / 2];
}

static void probe_start(Probe *hub, Probe *http, const char *toolwire, PeerEra era, size_t size)
{
    const char *const extra[] = {"--config", configs[0], NULL};
    char session[HTTP_SESSION_BYTES];
    char *text = calloc(1, size + 1);

    if (text == NULL) {
        peer_die("memory", "not enough");
    }
    memset(text, 'x', size);
    http_side_start(&hub->side, toolwire, era, extra);
    hub->side.tool = HTTP_TOOL;
    hub->fd = http_side_connect(&hub->side, 0);
    http_side_open(&hub->side, hub->fd, session);
    hub->request = http_side_echo(&hub->side, session, text, &hub->n_request);
    http_side_ask(&hub->side, hub->fd, hub->request, hub->n_request, text);
    http_side_start_floor(&http->side, &hub->side);
    http->fd = http_side_connect(&http->side, 0);
    http->request = hub->request;
    http->n_request = hub->n_request;
    free(text);
}

static void probe_stop(Probe *probe)
{
    (void)close(probe->fd);
    http_side_stop(&probe->side);
}

/* What one gateway needed, round by round. */
typedef struct Side {
    double us[ROW_MAX_ROUNDS];
    double ratios[ROW_MAX_ROUNDS]; /* to the sum of the floors */
} Side;

typedef struct HttpRun {
    Probe hub;
    Probe http;
    Peer hop;
    PeerTraffic traffic;
    Other others[OTHERS_MAX];
    size_t n_others;
    double http_us[ROW_MAX_ROUNDS];
    double hop_us[ROW_MAX_ROUNDS];
    Side sides[1 + OTHERS_MAX]; /* ours, then the others */
} HttpRun;

static double other_round(Other *other, uint64_t round_ns)
{
    static double samples[MAX_SAMPLES];
    uint64_t end = clock_monotonic_ns() + round_ns;
    size_t n = 0;

    do {
        uint64_t start = clock_monotonic_ns();

        other_ask(other);
        samples[n++] = (double)(clock_monotonic_ns() - start) / 1e3;
    } while (n < MAX_SAMPLES && clock_monotonic_ns() < end);
    qsort(samples, n, sizeof(*samples), compare_doubles);
    return samples[n / 2];
}

static void run_start(HttpRun *run, const Row *row, const char *toolwire, PeerEra era)
{
    static const char *const argv[] = {BENCH_GATEWAY_PEER, "server", NULL};
    static const PeerProgram server = {
        .name = "hop", .argv = argv, .is_scan = true, .on_sockets = true};

    *run = (HttpRun){.hub.fd = -1, .http.fd = -1};
    if (era == PEER_ERA_LEGACY) {
        peer_place(PEER_PLACE_ANYWHERE);
        run->n_others = others_start(run->others, folder, chosen, row->size);
    }
    peer_place(PEER_PLACE_LAST_CORE);
    peer_traffic_init(&run->traffic, era, row->size, 1);
    peer_start(&run->hop, &server, era, -1);
    peer_check(&run->hop, &run->traffic);
    probe_start(&run->hub, &run->http, toolwire, era, row->size);
    (void)probe_round(&run->hub, NULL, NULL, WARM_UP_NS);
    for (size_t i = 0; i < run->n_others; i++) {
        (void)other_round(&run->others[i], OTHERS_WARM_UP_NS);
    }
}

static void run_stop(HttpRun *run)
{
    others_stop(run->others, run->n_others);
    probe_stop(&run->hub);
    probe_stop(&run->http);
    free(run->hub.request);
    peer_stop(&run->hop);
    peer_traffic_deinit(&run->traffic);
}

static void run_report(HttpRun *run, const Row *row, size_t n_rounds, PeerEra era, Report *report)
{
    double http_us = row_median(run->http_us, n_rounds);
    double hop_us = row_median(run->hop_us, n_rounds);

    for (size_t i = 0; i <= run->n_others; i++) {
        bool has_goal = i == 0 && row->ratio_goal > 0;

        report_line(
            report, i == 0 ? "toolwire" : run->others[i - 1].name, peer_era_name(era),
            (ReportFigure[]){
                {.name = "http_us", .value = http_us, .decimals = 2},
                {.name = "hop_us", .value = hop_us, .decimals = 2},
                {.name = "hub_us", .value = row_median(run->sides[i].us, n_rounds), .decimals = 2},
                {.name = "x_sum",
                 .value = row_median(run->sides[i].ratios, n_rounds),
                 .decimals = 2,
                 .goal = has_goal ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE,
                 .limit = row->ratio_goal}},
            4);
    }
}

static void measure_http(const Row *row, const RowSetup *setup, PeerEra era, Report *report)
{
    static HttpRun run;

    run_start(&run, row, setup->programs[1].argv[0], era);
    for (size_t i = 0; i < setup->n_rounds; i++) {
        double sum;

        peer_watchdog();
        run.http_us[i] = probe_round(&run.http, NULL, NULL, setup->round_ns);
        run.hop_us[i] = probe_round(NULL, &run.hop, &run.traffic, setup->round_ns);
        run.sides[0].us[i] = probe_round(&run.hub, NULL, NULL, setup->round_ns);
        for (size_t j = 0; j < run.n_others; j++) {
            run.sides[j + 1].us[i] = other_round(&run.others[j], setup->round_ns);
        }
        sum = run.http_us[i] + run.hop_us[i];
        for (size_t j = 0; j <= run.n_others; j++) {
            run.sides[j].ratios[i] = run.sides[j].us[i] / sum;
        }
    }
    run_report(&run, row, setup->n_rounds, era, report);
    run_stop(&run);
}

static void run_http(const Row *row, const RowSetup *setup, Report *report)
{
    for (PeerEra era = 0; era < PEER_N_ERAS && setup->n_programs > 1; era++) {
        measure_http(row, setup, era, report);
    }
}

/* ---- rows ---- */

#define ROUND_TRIP "round trip, everything on one core, argument of "
#define PIPELINED  "128 in flight (32 MB at most), driver on the other core, argument of "
#define OVER_HTTP  "HTTP to the server behind, beside bare HTTP + one hop, argument of "
#define ALLOCS     "allocations of ours in the second half of the calls, argument of "

static const Row rows[] = {
    {"rtt-100", ROUND_TRIP "100 B", row_round_trip, .size = 100, .ratio_goal = 1.3},
    {"rtt-1k", ROUND_TRIP "1 KB", row_round_trip, .size = 1000, .ratio_goal = 1.3},
    {"rtt-64k", ROUND_TRIP "64 KB", row_round_trip, .size = 64000, .ratio_goal = 1.3},
    {"rtt-1m", ROUND_TRIP "almost 1 MiB", row_round_trip, .size = PEER_SIZE_MAX, .ratio_goal = 1.3},
    {"pipe-1k", PIPELINED "1 KB", row_pipelined, .size = 1000},
    {"pipe-64k", PIPELINED "64 KB", row_pipelined, .size = 64000},
    {"http-100", OVER_HTTP "100 B", run_http, .size = 100, .ratio_goal = 1.5},
    {"http-1k", OVER_HTTP "1 KB", run_http, .size = 1000, .ratio_goal = 1.5},
    {"http-64k", OVER_HTTP "64 KB", run_http, .size = 64000, .ratio_goal = 1.5},
    {"memory", "resident after the first answer, and growth under 1 KB calls, 128 in flight",
     row_memory, .size = 1000},
    {"allocs-1k", ALLOCS "1 KB, one after another", row_allocs, .size = 1000},
    {"allocs-64k", ALLOCS "64 KB, one after another", row_allocs, .size = 64000},
};

static size_t choose_programs(const char *toolwire, const char *only, PeerProgram *programs)
{
    static const char *relay[] = {BENCH_GATEWAY_PEER, "relay", BENCH_GATEWAY_PEER, "server", NULL};
    static const char *pipes[] = {BENCH_GATEWAY_PEER, "pipes", BENCH_GATEWAY_PEER, "server", NULL};
    static const char *ours[] = {NULL,  "serve",    "--no-toolkit", "--rate",
                                 "off", "--config", configs[0],     NULL};
    static const char *modern[] = {NULL,  "serve",    "--no-toolkit", "--rate",
                                   "off", "--config", configs[1],     NULL};
    size_t n = 0;

    prepare();
    chosen = only;
    others_look(only);
    ours[0] = modern[0] = toolwire;
    programs[n++] = (PeerProgram){.name = "relay", .argv = relay};
    if (driver_is_listed(only, "toolwire")) {
        programs[n++] = (PeerProgram){.name = "toolwire", .argv = ours, .is_ours = true};
    }
    if (driver_is_listed(only, "toolwire-modern")) {
        programs[n++] = (PeerProgram){.name = "toolwire-modern", .argv = modern};
    }
    if (driver_is_listed(only, "relay-pipes")) {
        programs[n++] = (PeerProgram){.name = "relay-pipes", .argv = pipes};
    }
    return n;
}

int main(int argc, char **argv)
{
    static const Driver driver = {
        .title = "gateway",
        .peers = "relay (always), toolwire, toolwire-modern, relay-pipes; over HTTP beside "
                 "toolwire: supergateway, mcp-proxy, mcp-hub",
        .rows = rows,
        .n_rows = TW_ARRAY_SIZE(rows),
        .depth = IN_FLIGHT,
        .n_calls = 200000,
        .no_spin = true,
        .choose = choose_programs};

    return driver_run(&driver, argc, argv);
}
