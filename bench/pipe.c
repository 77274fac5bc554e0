/* bench_pipe: the hub of the pipe, beside the least that any program with the same frames on the
 * same socket has to do, in one run. Options: driver.h.
 *
 * Floor: a frame is written, a frame is read; at the other end a bare C program sends frames back.
 * Hub: a call is dispatched by the router to the provider of the pipe, and its result comes back;
 * at the other end a bare C add-in takes the message from its place and answers with it. Both are
 * in this process; round trips are measured with everything on one core, large frames with the
 * other end on another.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/limits.h"
#include "driver.h"
#include "peer.h"
#include "pipe_sides.h"
#include "report.h"
#include "rows.h"

#define MAX_SAMPLES ((size_t)1 << 16)
#define WARM_UP_NS  50000000u
/* So much below the limit: the envelope of a result, and its pieces. */
#define BELOW_LIMIT  ((size_t)1024)
#define LARGE_BYTES  ((size_t)LIMIT_PIPE_MESSAGE_BYTES - BELOW_LIMIT)
#define MEMORY_GOAL  3.0 /* frames */
#define BESIDE_BYTES ((size_t)1000)
#define BESIDE_GOAL  2.0 /* times the p99 without a misbehaving add-in */

static double samples[MAX_SAMPLES];

typedef struct Rounds {
    double median_us[ROW_MAX_ROUNDS];
    double p99_us[ROW_MAX_ROUNDS];
    double bytes_per_us[ROW_MAX_ROUNDS];
} Rounds;

static const char *scratch(void)
{
    static char folder[] = "/tmp/bench_pipe_XXXXXX";
    static bool made;

    if (!made && mkdtemp(folder) == NULL) {
        peer_die(folder, strerror(errno));
    }
    made = true;
    return folder;
}

static double total(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return sum;
}

static void note(Rounds *rounds, size_t round, size_t n, size_t size)
{
    rounds->bytes_per_us[round] =
        (double)n * (double)pipe_side_bytes(size) / (total(samples, n) / 1e3);
    rounds->median_us[round] = row_median(samples, n) / 1e3; /* sorts */
    rounds->p99_us[round] = samples[(n - 1) * 99 / 100] / 1e3;
}

/* Both sides, round by round in turn. */
static void measure(const RowSetup *setup, size_t size, bool is_large, Rounds *floor, Rounds *hub)
{
    FloorSide *floor_side;
    HubSide *hub_side;

    peer_place(PEER_PLACE_LAST_CORE); /* what is started here stays there */
    floor_side = floor_side_new(scratch(), size);
    hub_side = hub_side_new(scratch(), size);
    peer_place(is_large ? PEER_PLACE_FIRST_CORE : PEER_PLACE_LAST_CORE);
    (void)floor_side_run(floor_side, WARM_UP_NS, samples, MAX_SAMPLES);
    (void)hub_side_run(hub_side, WARM_UP_NS, samples, MAX_SAMPLES);
    for (size_t round = 0; round < setup->n_rounds; round++) {
        peer_watchdog();
        note(floor, round, floor_side_run(floor_side, setup->round_ns, samples, MAX_SAMPLES), size);
        note(hub, round, hub_side_run(hub_side, setup->round_ns, samples, MAX_SAMPLES), size);
    }
    hub_side_free(hub_side);
    floor_side_free(floor_side);
}

static void run_round_trip(const Row *row, const RowSetup *setup, Report *report)
{
    static Rounds floor;
    static Rounds hub;
    double ratio[ROW_MAX_ROUNDS];

    measure(setup, row->size, false, &floor, &hub);
    for (size_t i = 0; i < setup->n_rounds; i++) {
        ratio[i] = hub.median_us[i] / floor.median_us[i];
    }
    report_line(
        report, "floor", "-",
        (ReportFigure[]){
            {.name = "p50_us",
             .value = row_median(floor.median_us, setup->n_rounds),
             .decimals = 2},
            {.name = "p99_us", .value = row_median(floor.p99_us, setup->n_rounds), .decimals = 2},
            {.name = "ratio", .value = 1, .decimals = 2}},
        3);
    report_line(
        report, "hub", "-",
        (ReportFigure[]){
            {.name = "p50_us", .value = row_median(hub.median_us, setup->n_rounds), .decimals = 2},
            {.name = "p99_us", .value = row_median(hub.p99_us, setup->n_rounds), .decimals = 2},
            {.name = "ratio",
             .value = row_median(ratio, setup->n_rounds),
             .decimals = 2,
             .goal = row->ratio_goal > 0 ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE,
             .limit = row->ratio_goal}},
        3);
}

static void run_large(const Row *row, const RowSetup *setup, Report *report)
{
    static Rounds floor;
    static Rounds hub;
    double ratio[ROW_MAX_ROUNDS];

    measure(setup, row->size, true, &floor, &hub);
    for (size_t i = 0; i < setup->n_rounds; i++) {
        ratio[i] = hub.bytes_per_us[i] / floor.bytes_per_us[i];
    }
    report_line(report, "floor", "-",
                (ReportFigure[]){
                    {.name = "MB_per_s", .value = row_median(floor.bytes_per_us, setup->n_rounds)},
                    {.name = "ratio", .value = 1, .decimals = 2}},
                2);
    report_line(report, "hub", "-",
                (ReportFigure[]){
                    {.name = "MB_per_s", .value = row_median(hub.bytes_per_us, setup->n_rounds)},
                    {.name = "ratio",
                     .value = row_median(ratio, setup->n_rounds),
                     .decimals = 2,
                     .goal = row->ratio_goal > 0 ? REPORT_GOAL_AT_LEAST : REPORT_GOAL_NONE,
                     .limit = row->ratio_goal}},
                2);
}

/* What /proc/self/status says of `name`, in bytes. */
static double own_memory(const char *name)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double bytes = -1;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            bytes = (double)strtoul(line + strlen(name), NULL, 10) * 1024;
        }
    }
    if (f == NULL || bytes < 0) {
        peer_die(name, "not known");
    }
    (void)fclose(f);
    return bytes;
}

/* The highest that the process had, from now on. */
static void forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    if (f == NULL || fputs("5", f) < 0 || fclose(f) != 0) {
        peer_die("/proc/self/clear_refs", strerror(errno));
    }
}

/* The arguments are there before, as they would be in the reader of whoever asks: one frame. */
static void run_memory(const Row *row, const RowSetup *setup, Report *report)
{
    HubSide *side;
    double before;
    double peak;
    size_t n;

    peer_place(PEER_PLACE_LAST_CORE);
    side = hub_side_new(scratch(), row->size);
    peer_place(PEER_PLACE_FIRST_CORE);
    before = own_memory("VmRSS:");
    forget_peak();
    n = hub_side_run(side, setup->round_ns * 10, samples, MAX_SAMPLES);
    peak = own_memory("VmHWM:");
    hub_side_free(side);
    report_line(
        report, "hub", "-",
        (ReportFigure[]){{.name = "calls", .value = (double)n},
                         {.name = "grown_mib", .value = (peak - before) / 1048576.0, .decimals = 1},
                         {.name = "frames",
                          .value = 1 + (peak - before) / LIMIT_PIPE_MESSAGE_BYTES,
                          .decimals = 2,
                          .goal = REPORT_GOAL_AT_MOST,
                          .limit = MEMORY_GOAL}},
        3);
}

/* Round trips of one add-in while another one misbehaves, and without it, in turn; the misbehaving
 * one is on the other core. The storm, a thousand connections a second, is for information. */
static void run_beside(const char *kind, const RowSetup *setup, Report *report, bool has_goal)
{
    static Rounds before;
    static Rounds beside;
    double ratio[ROW_MAX_ROUNDS];
    HubSide *side;

    peer_place(PEER_PLACE_LAST_CORE);
    side = hub_side_new(scratch(), BESIDE_BYTES);
    (void)hub_side_run(side, WARM_UP_NS, samples, MAX_SAMPLES);
    for (size_t round = 0; round < setup->n_rounds; round++) {
        pid_t bad;

        peer_watchdog();
        note(&before, round, hub_side_run(side, setup->round_ns, samples, MAX_SAMPLES),
             BESIDE_BYTES);
        bad = pipe_side_start(BENCH_PIPE_BAD, kind, hub_side_path(side));
        peer_place_process(bad, PEER_PLACE_FIRST_CORE);
        note(&beside, round, hub_side_run(side, setup->round_ns, samples, MAX_SAMPLES),
             BESIDE_BYTES);
        (void)kill(bad, SIGKILL);
        (void)waitpid(bad, NULL, 0);
        ratio[round] = beside.p99_us[round] / before.p99_us[round];
    }
    hub_side_free(side);
    report_line(
        report, kind, "-",
        (ReportFigure[]){
            {.name = "p99_us", .value = row_median(before.p99_us, setup->n_rounds), .decimals = 2},
            {.name = "beside_us",
             .value = row_median(beside.p99_us, setup->n_rounds),
             .decimals = 2},
            {.name = "ratio",
             .value = row_median(ratio, setup->n_rounds),
             .decimals = 2,
             .goal = has_goal ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE,
             .limit = BESIDE_GOAL}},
        3);
}

static void run_bystander(const Row *row, const RowSetup *setup, Report *report)
{
    static const char *const kinds[] = {"unknown-type", "no-call-id",    "wrong-id",
                                        "bad-utf8",     "bad-length",    "silent",
                                        "never-reads",  "byte-a-second", "storm"};

    (void)row;
    for (size_t i = 0; i < TW_ARRAY_SIZE(kinds); i++) {
        run_beside(kinds[i], setup, report, i + 1 < TW_ARRAY_SIZE(kinds));
    }
}

#define ROUND_TRIP "round trip, everything on one core, argument of "

static const Row rows[] = {
    /* First: what the others leave in the allocator would count. */
    {"memory", "most memory during calls with 16 MiB frames, the arguments included, in frames",
     run_memory, .size = LARGE_BYTES},
    {"rtt-100", ROUND_TRIP "100 bytes", run_round_trip, .size = 100},
    {"rtt-1k", ROUND_TRIP "1 KB", run_round_trip, .size = 1000, .ratio_goal = 1.3},
    {"rtt-64k", ROUND_TRIP "64 KB", run_round_trip, .size = 64000},
    {"large-1m", "frames of 1 MB both ways, one call at a time", run_large, .size = 1000000},
    {"large-16m", "frames of 16 MiB both ways, one call at a time", run_large, .size = LARGE_BYTES,
     .ratio_goal = 0.6},
    {"bystander", "p99 of round trips with 1 KB while another add-in misbehaves, and without it",
     run_bystander, .size = 0},
};

/* Both sides are here. */
static size_t choose_programs(const char *toolwire, const char *only, PeerProgram *programs)
{
    (void)toolwire;
    (void)only;
    (void)programs;
    return 0;
}

int main(int argc, char **argv)
{
    static const Driver driver = {.title = "pipe",
                                  .peers = "floor, hub (always both)",
                                  .rows = rows,
                                  .n_rows = TW_ARRAY_SIZE(rows),
                                  .depth = 1,
                                  .n_calls = 1,
                                  .choose = choose_programs};
    int status = driver_run(&driver, argc, argv);

    (void)rmdir(scratch());
    return status;
}
