/* bench_stdio: `toolwire serve --diagnostics --rate off` on two pipes, beside what such pipes can
 * do at all and beside the official TypeScript server, in one run. Options: driver.h.
 *
 * The floor echoes the bytes of the same requests without looking at them (`floor`), or only scans
 * them for id and message (`floor-mcp`, for comparison).
 */
#include <stdbool.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/limits.h"
#include "driver.h"
#include "peer.h"
#include "report.h"
#include "rows.h"

#define STARTS      50
#define NODE_STARTS 5

static const char *const empty_argv[] = {BENCH_EMPTY, NULL};
static const PeerProgram empty = {.name = "empty", .argv = empty_argv};

static void report_start(Report *report, const PeerProgram *program, const char *era,
                         double *samples, double *ratios, size_t n)
{
    bool is_ours = program->is_ours;
    ReportFigure figures[] = {
        {.name = "p50_ms", .value = row_median(samples, n), .decimals = 3},
        {.name = "x_empty",
         .value = row_median(ratios, n),
         .decimals = 2,
         .goal = is_ours ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE,
         .limit = 2},
    };

    report_line(report, program->name, era, figures, TW_ARRAY_SIZE(figures));
}

/* Each start follows one of the empty program, which it is compared with. */
static void measure_starts(const PeerProgram *program, PeerEra era, const PeerTraffic *t,
                           Report *report)
{
    double samples[STARTS];
    double ratios[STARTS];
    size_t n = program->is_node ? NODE_STARTS : STARTS;

    for (size_t i = 0; i < n; i++) {
        double empty_ms;

        peer_watchdog();
        peer_place(PEER_PLACE_LAST_CORE);
        empty_ms = (double)peer_empty_time(&empty) / 1e6;
        peer_place(program->is_node ? PEER_PLACE_ANYWHERE : PEER_PLACE_LAST_CORE);
        samples[i] = program == &empty ? empty_ms : (double)peer_start_time(program, era, t) / 1e6;
        ratios[i] = samples[i] / empty_ms;
    }
    report_start(report, program, program == &empty ? "" : peer_era_name(era), samples, ratios, n);
}

static void run_start(const Row *row, const RowSetup *setup, Report *report)
{
    measure_starts(&empty, PEER_ERA_LEGACY, NULL, report);
    for (PeerEra era = 0; era < PEER_N_ERAS; era++) {
        PeerTraffic t;

        peer_traffic_init(&t, era, row->size, setup->depth);
        for (size_t i = 0; i < setup->n_programs; i++) {
            measure_starts(&setup->programs[i], era, &t, report);
        }
        peer_traffic_deinit(&t);
    }
}

#define ROUND_TRIP "round trip, driver and server on one core, argument of "
#define PIPELINED  "128 in flight (32 MB at most), driver and server on two cores, argument of "
#define ALLOCS     "allocations in the second half of the calls, argument of "

static const Row rows[] = {
    {"rtt-100", ROUND_TRIP "100 B", row_round_trip, .size = 100, .ratio_goal = 1.3},
    {"rtt-1k", ROUND_TRIP "1 KB", row_round_trip, .size = 1000, .ratio_goal = 1.3},
    {"rtt-64k", ROUND_TRIP "64 KB", row_round_trip, .size = 64000, .ratio_goal = 1.3},
    {"rtt-1m", ROUND_TRIP "almost 1 MiB", row_round_trip, .size = PEER_SIZE_MAX, .ratio_goal = 1.4},
    {"pipe-100", PIPELINED "100 B", row_pipelined, .size = 100},
    {"pipe-1k", PIPELINED "1 KB", row_pipelined, .size = 1000, .ratio_goal = 0.5, .cpu_goal = 2},
    {"pipe-64k", PIPELINED "64 KB", row_pipelined, .size = 64000},
    {"pipe-1m", PIPELINED "almost 1 MiB", row_pipelined, .size = PEER_SIZE_MAX, .ratio_goal = 0.7},
    {"start", "spawn to first answer, beside spawn to end of an empty C program, one core",
     run_start, .size = 100},
    {"memory", "resident after the first answer, and growth under 1 KB calls, 128 in flight",
     row_memory, .size = 1000, .rss_goal_mib = 4},
    {"allocs-1k", ALLOCS "1 KB, one after another", row_allocs, .size = 1000},
    {"allocs-1k-pipe", ALLOCS "1 KB, 128 in flight", row_allocs, .size = 1000, .pipelined = true},
    {"allocs-64k", ALLOCS "64 KB, one after another", row_allocs, .size = 64000},
    {"allocs-1m", ALLOCS "almost 1 MiB, one after another", row_allocs, .size = PEER_SIZE_MAX},
};

/* The floor first. */
static size_t choose_programs(const char *program, const char *only, PeerProgram *programs)
{
    static const char *const floor[] = {BENCH_FLOOR, NULL};
    static const char *const floor_mcp[] = {BENCH_FLOOR, "--mcp", NULL};
    static const char *const node_check[] = {"node", BENCH_TS_SERVER, "--check", NULL};
    static const char *const node[] = {"node", "--no-warnings", BENCH_TS_SERVER, NULL};
    static const char *toolwire[] = {NULL, "serve", "--diagnostics", "--rate", "off", NULL};
    size_t n = 0;

    toolwire[0] = program;
    programs[n++] = (PeerProgram){.name = "floor", .argv = floor, .is_echo = true};
    if (driver_is_listed(only, "floor-mcp")) {
        programs[n++] = (PeerProgram){.name = "floor-mcp", .argv = floor_mcp, .is_scan = true};
    }
    if (driver_is_listed(only, "toolwire")) {
        programs[n++] = (PeerProgram){.name = "toolwire", .argv = toolwire, .is_ours = true};
    }
    if (driver_is_listed(only, "ts-v2") && peer_program_succeeds(node_check)) {
        programs[n++] = (PeerProgram){.name = "ts-v2", .argv = node, .is_node = true};
    } else if (driver_is_listed(only, "ts-v2")) {
        printf("ts-v2: skipped, because node or @modelcontextprotocol/server is not installed "
               "(npm ci)\n");
    }
    return n;
}

int main(int argc, char **argv)
{
    static const Driver driver = {.title = "stdio",
                                  .peers = "floor (always), floor-mcp, toolwire, ts-v2",
                                  .rows = rows,
                                  .n_rows = TW_ARRAY_SIZE(rows),
                                  .depth = LIMIT_CALLS_IN_FLIGHT,
                                  .n_calls = 1000000,
                                  .choose = choose_programs};

    return driver_run(&driver, argc, argv);
}
