/* bench_bridge: `toolwire bridge` between two pipes and a Unix socket, beside the least that any
 * program between them has to do, in one run. Options: driver.h.
 *
 * The floor (`relay`) is a bare C program that turns lines into frames and back, before a server
 * that echoes them; `toolwire` is the bridge before a bare C parent that finds the message by
 * searching; `toolwire-host`, for information, is the bridge before `toolwire host --diagnostics`.
 * On the socket all of them have one request at a time. Where one core is named, the process behind
 * the socket is on it too; otherwise it shares the core of the driver, and what is measured has the
 * other for itself, but for the rows whose name says `shared`.
 */
#include <stddef.h>

#include "base/compiler.h"
#include "bridge_parents.h"
#include "driver.h"
#include "peer.h"
#include "report.h"
#include "rows.h"

/* Enough that the next request always waits when an answer leaves; the socket has one at a time. */
#define IN_FLIGHT         16
#define STARTS            50
#define START_CPU_GOAL_MS 5

static void measure_starts(const PeerProgram *program, PeerEra era, Report *report)
{
    double to_list[STARTS];
    double to_end[STARTS];
    double longest = 0;

    peer_watchdog();
    for (size_t i = 0; i < STARTS; i++) {
        PeerStartCpu cpu = peer_start_cpu(program, era, PARENTS_LAST_TOOL);

        to_list[i] = (double)cpu.to_list / 1e6;
        to_end[i] = (double)cpu.to_end / 1e6;
        longest = to_list[i] > longest ? to_list[i] : longest;
    }

    ReportFigure figures[] = {
        {.name = "cpu_ms",
         .value = row_median(to_list, STARTS),
         .decimals = 3,
         .goal = REPORT_GOAL_AT_MOST,
         .limit = START_CPU_GOAL_MS},
        {.name = "cpu_max_ms", .value = longest, .decimals = 3},
        {.name = "cpu_end_ms", .value = row_median(to_end, STARTS), .decimals = 3},
    };
    report_line(report, program->name, peer_era_name(era), figures, TW_ARRAY_SIZE(figures));
}

static void run_start(const Row *row, const RowSetup *setup, Report *report)
{
    (void)row;
    peer_place(PEER_PLACE_LAST_CORE);
    for (size_t i = 0; i < setup->n_programs; i++) {
        for (PeerEra era = 0; era < PEER_N_ERAS && setup->programs[i].is_ours; era++) {
            measure_starts(&setup->programs[i], era, report);
        }
    }
}

static void run_pipelined(const Row *row, const RowSetup *setup, Report *report)
{
    parents_place(PEER_PLACE_FIRST_CORE);
    row_pipelined(row, setup, report);
    parents_place(PEER_PLACE_LAST_CORE);
}

#define ROUND_TRIP "round trip, everything on one core, argument of "
#define PIPELINED  "16 in flight (32 MB at most), everything else on another core, argument of "
#define SHARED     "16 in flight, the parent on the bridge's core, argument of "
#define ALLOCS     "the bridge's allocations in the second half of the calls, argument of "

static const Row rows[] = {
    {"rtt-1k", ROUND_TRIP "1 KB", row_round_trip, .size = 1000, .ratio_goal = 1.3},
    {"rtt-64k", ROUND_TRIP "64 KB", row_round_trip, .size = 64000},
    {"rtt-1m", ROUND_TRIP "1 MB", row_round_trip, .size = 1000000},
    {"pipe-1k", PIPELINED "1 KB", run_pipelined, .size = 1000},
    {"pipe-64k", PIPELINED "64 KB", run_pipelined, .size = 64000, .ratio_goal = 0.7},
    {"pipe-1m", PIPELINED "1 MB", run_pipelined, .size = 1000000, .ratio_goal = 0.7},
    {"pipe-64k-shared", SHARED "64 KB", row_pipelined, .size = 64000},
    {"pipe-1m-shared", SHARED "1 MB", row_pipelined, .size = 1000000},
    {"start", "CPU time from the start of the bridge to its list of 20 tools, and to its end",
     run_start, .size = 0},
    {"memory", "resident after the first answer, and growth under 1 KB calls, 16 in flight",
     row_memory, .size = 1000},
    {"allocs-1k", ALLOCS "1 KB, one after another", row_allocs, .size = 1000},
    {"allocs-1k-pipe", ALLOCS "1 KB, 16 in flight", row_allocs, .size = 1000, .pipelined = true},
    {"allocs-64k", ALLOCS "64 KB, one after another", row_allocs, .size = 64000},
    {"allocs-1m", ALLOCS "1 MB, one after another", row_allocs, .size = 1000000},
};

/* The relay and the server behind it: the floor. */
static PeerProgram start_relay(void)
{
    static const char *server[] = {BENCH_BRIDGE_PEER, "echo", NULL, NULL};
    static const char *relay[] = {BENCH_BRIDGE_PEER, "relay", NULL, NULL};

    server[2] = relay[2] = parents_path("echo.sock");
    parents_start(server, server[2]);
    return (PeerProgram){.name = "relay", .argv = relay, .is_echo = true};
}

/* The bridge and a bare parent; the schema is the driver's. */
static PeerProgram start_bridge(const char *toolwire)
{
    static const char *parent[] = {BENCH_BRIDGE_PEER, "parent", NULL, NULL};
    static const char *bridge[] = {NULL, "bridge", "--rate", "off", NULL, NULL, NULL};

    bridge[0] = toolwire;
    bridge[4] = parent[2] = parents_path("parent.sock");
    bridge[5] = parents_path("parent.json");
    parents_write_schema(bridge[5]);
    parents_start(parent, parent[2]);
    return (PeerProgram){.name = "toolwire", .argv = bridge, .is_ours = true};
}

/* The bridge and our own parent, which writes its schema itself. */
static PeerProgram start_bridge_and_host(const char *toolwire)
{
    static const char *host[] = {NULL, "host", "--diagnostics", "--socket", NULL, NULL};
    static const char *bridge[] = {NULL, "bridge", "--rate", "off", NULL, NULL, NULL};

    host[0] = bridge[0] = toolwire;
    bridge[4] = host[4] = parents_path("host.sock");
    bridge[5] = parents_path("host.json");
    parents_start(host, host[4]);
    return (PeerProgram){.name = "toolwire-host", .argv = bridge};
}

static size_t choose_programs(const char *toolwire, const char *only, PeerProgram *programs)
{
    size_t n = 0;

    programs[n++] = start_relay();
    if (driver_is_listed(only, "toolwire")) {
        programs[n++] = start_bridge(toolwire);
    }
    if (driver_is_listed(only, "toolwire-host")) {
        programs[n++] = start_bridge_and_host(toolwire);
    }
    return n;
}

int main(int argc, char **argv)
{
    static const Driver driver = {.title = "bridge",
                                  .peers = "relay (always), toolwire, toolwire-host",
                                  .rows = rows,
                                  .n_rows = TW_ARRAY_SIZE(rows),
                                  .depth = IN_FLIGHT,
                                  .n_calls = 200000,
                                  .choose = choose_programs};

    return driver_run(&driver, argc, argv);
}
