/* bench_http: `toolwire up` over HTTP, beside a bare responder on llhttp and libuv that answers the
 * same requests with the same bytes, in one run. Options: driver.h.
 *
 * Driver on the first core, servers on the last. All clients have one connection each, which they
 * keep, and one call at a time; every answer is looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"
#include "driver.h"
#include "http_load.h"
#include "http_rows.h"
#include "http_side.h"
#include "peer.h"
#include "report.h"
#include "rows.h"

#define MAX_SAMPLES ((size_t)1 << 20)
#define WARM_UP_NS  50000000u
#define CPU_GOAL    1.3 /* times the floor's, a call */

#define CROWD        ((size_t)2000)
#define CROWD_ROUNDS ((size_t)3)
#define CROWD_LONGER 10u  /* than a round of other rows */
#define TAIL_GOAL    10.0 /* p99, in times of p50 */

#define JOB_RATE_GOAL 0.5 /* of the floor's */

#define STREAMS     ((size_t)1000)
#define STREAM_GOAL 30.0 /* KiB each */
#define MIB         1048576.0

static double samples[MAX_SAMPLES];

/* A server with its clients, and what was measured of it. */
typedef struct Entry {
    HttpSide side;
    HttpLoad *load;
    double rate[ROW_MAX_ROUNDS];
    double p50_us[ROW_MAX_ROUNDS];
    double p99_us[ROW_MAX_ROUNDS];
    double cpu_us[ROW_MAX_ROUNDS];
    double ratio[ROW_MAX_ROUNDS]; /* of CPU time, to the floor */
    double tail[ROW_MAX_ROUNDS];
    size_t n_refused;
} Entry;

/* ---- both sides ---- */

const char *http_toolwire(const RowSetup *setup)
{
    return setup->programs[0].argv[0];
}

void http_sides_start(HttpSide *ours, HttpSide *floor, const RowSetup *setup, PeerEra era,
                      const char *text, const char *const *extra)
{
    char session[HTTP_SESSION_BYTES];
    char *request;
    size_t n;
    int fd;

    peer_place(PEER_PLACE_LAST_CORE);
    http_side_start(ours, http_toolwire(setup), era, extra);
    fd = http_side_connect(ours, 0);
    http_side_open(ours, fd, session);
    request = http_side_echo(ours, session, text, &n);
    http_side_ask(ours, fd, request, n, text);
    http_side_start_floor(floor, ours);
    peer_place(PEER_PLACE_FIRST_CORE);
    free(request);
    (void)close(fd);
}

static void entries_start(Entry *entries, const RowSetup *setup, PeerEra era, size_t n_clients)
{
    memset(entries, 0, HTTP_N_SIDES * sizeof(*entries));
    http_sides_start(&entries[HTTP_OURS].side, &entries[HTTP_FLOOR].side, setup, era, "hello",
                     NULL);
    for (size_t i = 0; i < HTTP_N_SIDES; i++) {
        entries[i].load = http_load_new(&entries[i].side, &http_load_echo, n_clients);
    }
}

static void entries_stop(Entry *entries)
{
    for (size_t i = 0; i < HTTP_N_SIDES; i++) {
        http_load_free(entries[i].load);
        http_side_stop(&entries[i].side);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void entry_round(Entry *e, size_t round, uint64_t for_ns)
{
    uint64_t cpu_ns = peer_cpu_ns(&e->side.peer);
    size_t n;
    HttpLoadResult result = http_load_run(e->load, for_ns, samples, MAX_SAMPLES, &n);

    cpu_ns = peer_cpu_ns(&e->side.peer) - cpu_ns;
    e->n_refused += result.n_refused;
    if (n == 0) {
        peer_die(e->side.program.name, "no call was answered");
    }
    qsort(samples, n, sizeof(samples[0]), compare);
    e->rate[round] = (double)result.n_calls * 1e9 / (double)result.ns;
    e->p50_us[round] = samples[n / 2];
    e->p99_us[round] = samples[n - 1 - n / 100];
    e->tail[round] = e->p99_us[round] / e->p50_us[round];
    e->cpu_us[round] = (double)cpu_ns / 1e3 / (double)result.n_calls;
}

static void entries_run(Entry *entries, size_t n_rounds, uint64_t round_ns)
{
    for (size_t i = 0; i < HTTP_N_SIDES; i++) {
        entry_round(&entries[i], 0, WARM_UP_NS);
    }
    for (size_t round = 0; round < n_rounds; round++) {
        peer_watchdog();
        for (size_t i = 0; i < HTTP_N_SIDES; i++) {
            entry_round(&entries[i], round, round_ns);
            entries[i].ratio[round] = entries[i].cpu_us[round] / entries[HTTP_FLOOR].cpu_us[round];
        }
    }
}

/* ---- calls ---- */

static void report_calls(Entry *e, size_t n_rounds, Report *report)
{
    report_line(report, e->side.program.name, peer_era_name(e->side.peer.era),
                (ReportFigure[]){
                    {.name = "calls_per_s", .value = row_median(e->rate, n_rounds)},
                    {.name = "p50_us", .value = row_median(e->p50_us, n_rounds), .decimals = 1},
                    {.name = "p99_us", .value = row_median(e->p99_us, n_rounds), .decimals = 1},
                    {.name = "cpu_us", .value = row_median(e->cpu_us, n_rounds), .decimals = 2},
                    {.name = "cpu_x_floor",
                     .value = row_median(e->ratio, n_rounds),
                     .decimals = 2,
                     .goal = e->side.program.is_ours ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE,
                     .limit = CPU_GOAL}},
                5);
}

/* row->size: clients. */
static void run_calls(const Row *row, const RowSetup *setup, Report *report)
{
    static Entry entries[HTTP_N_SIDES];

    for (PeerEra era = 0; era < PEER_N_ERAS; era++) {
        entries_start(entries, setup, era, row->size);
        entries_run(entries, setup->n_rounds, setup->round_ns);
        for (size_t i = 0; i < HTTP_N_SIDES; i++) {
            if (entries[i].n_refused != 0) {
                peer_die(entries[i].side.program.name, "it refused a call");
            }
            report_calls(&entries[i], setup->n_rounds, report);
        }
        entries_stop(entries);
    }
}

/* ---- a crowd ---- */

static void report_crowd(Entry *e, size_t n_rounds, Report *report)
{
    ReportGoal goal = e->side.program.is_ours ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE;

    report_line(
        report, e->side.program.name, peer_era_name(e->side.peer.era),
        (ReportFigure[]){
            {.name = "calls_per_s", .value = row_median(e->rate, n_rounds)},
            {.name = "p50_us", .value = row_median(e->p50_us, n_rounds), .decimals = 0},
            {.name = "p99_us", .value = row_median(e->p99_us, n_rounds), .decimals = 0},
            {.name = "p99_x_p50",
             .value = row_median(e->tail, n_rounds),
             .decimals = 2,
             .goal = goal,
             .limit = TAIL_GOAL},
            {.name = "refused", .value = (double)e->n_refused, .goal = goal, .limit = 0},
            {.name = "cpu_x_floor", .value = row_median(e->ratio, n_rounds), .decimals = 2}},
        6);
}

static void run_crowd(const Row *row, const RowSetup *setup, Report *report)
{
    static Entry entries[HTTP_N_SIDES];
    size_t n_rounds = setup->n_rounds < CROWD_ROUNDS ? setup->n_rounds : CROWD_ROUNDS;

    for (PeerEra era = 0; era < PEER_N_ERAS; era++) {
        entries_start(entries, setup, era, row->size);
        entries_run(entries, n_rounds, setup->round_ns * CROWD_LONGER);
        for (size_t i = 0; i < HTTP_N_SIDES; i++) {
            report_crowd(&entries[i], n_rounds, report);
        }
        entries_stop(entries);
    }
}

/* ---- streams ---- */

/* Its head has come, and in the modern era what acknowledges it. */
static int stream_open(const HttpSide *side)
{
    static char text[8192];
    const char *wanted =
        side->peer.era == PEER_ERA_MODERN ? "subscriptions/acknowledged" : "\r\n\r\n";
    char session[HTTP_SESSION_BYTES];
    int fd = http_side_connect(side, 0);
    size_t n_text = 0;
    size_t n;
    char *request;

    http_side_open(side, fd, session);
    request = http_side_listen(side, session, &n);
    http_side_send(fd, request, n);
    free(request);
    do {
        ssize_t n_read = read(fd, text + n_text, sizeof(text) - n_text);

        if (n_read <= 0) {
            peer_die(side->program.name, "a stream ends");
        }
        n_text += (size_t)n_read;
    } while (memmem(text, n_text, wanted, strlen(wanted)) == NULL);
    if (memmem(text, n_text, "text/event-stream", 17) == NULL) {
        peer_die(side->program.name, "an answer that is no stream");
    }
    return fd;
}

static void run_streams(const Row *row, const RowSetup *setup, Report *report)
{
    static int fds[STREAMS];

    (void)row;
    for (PeerEra era = 0; era < PEER_N_ERAS; era++) {
        HttpSide side;
        double before;
        double grown;
        int first;

        peer_watchdog();
        http_side_start(&side, http_toolwire(setup), era, NULL);
        first = stream_open(&side);
        before = (double)http_side_memory(&side);
        for (size_t i = 0; i < STREAMS; i++) {
            fds[i] = stream_open(&side);
        }
        grown = (double)http_side_memory(&side) - before;
        report_line(report, side.program.name, peer_era_name(era),
                    (ReportFigure[]){{.name = "streams", .value = (double)STREAMS},
                                     {.name = "before_mib", .value = before / MIB, .decimals = 2},
                                     {.name = "grown_mib", .value = grown / MIB, .decimals = 2},
                                     {.name = "kib_each",
                                      .value = grown / 1024 / (double)STREAMS,
                                      .decimals = 2,
                                      .goal = REPORT_GOAL_AT_MOST,
                                      .limit = STREAM_GOAL}},
                    4);
        for (size_t i = 0; i < STREAMS; i++) {
            (void)close(fds[i]);
        }
        (void)close(first);
        http_side_stop(&side);
    }
}

static const Row rows[] = {
    {"call-1", "calls of echo, one client", run_calls, .size = 1},
    {"call-64", "calls of echo, 64 clients at once", run_calls, .size = 64},
    {"crowd", "calls of echo, 2,000 clients at once", run_crowd, .size = CROWD},
    {"streams", "memory of 1,000 streams that wait for changes", run_streams, .size = STREAMS},
    {"job-put-64", "jobs put into the queue, each acknowledged when on disk; 64 clients",
     http_row_enqueue, .size = 64},
    {"job-put-512", "the same, 512 clients", http_row_enqueue, .size = 512,
     .ratio_goal = JOB_RATE_GOAL},
    {"job-512", "whole jobs: put, fetched and answered by a request each; 512 clients",
     http_row_job, .size = 512, .ratio_goal = JOB_RATE_GOAL},
    {"job-put-free", "jobs put into the queue, 512 clients; nobody is bound to a core",
     http_row_enqueue, .size = 512, .ratio_goal = JOB_RATE_GOAL, .is_free = true},
    {"job-free", "whole jobs, 512 clients; nobody is bound to a core", http_row_job, .size = 512,
     .ratio_goal = JOB_RATE_GOAL, .is_free = true},
    {"beside", "calls of echo, one client, beside others at full rate", http_row_beside, .size = 1},
    {"slow-10m", "memory while 10 MiB are read slowly (peak: and before that)", http_row_slow,
     .size = HTTP_LARGE_BYTES},
    {"fast-10m", "an echo of 10 MiB, there and back", http_row_fast, .size = HTTP_LARGE_BYTES},
};

static size_t choose_programs(const char *toolwire, const char *only, PeerProgram *programs)
{
    static const char *argv[2];

    (void)only;
    argv[0] = toolwire;
    programs[0] = (PeerProgram){.name = "toolwire", .argv = argv, .is_ours = true};
    return 1;
}

/* For us, and for the servers, which inherit it. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        peer_die("descriptors", strerror(errno));
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 3 * CROWD) {
        peer_die("descriptors", "the hard limit is below 6000: ulimit -Hn");
    }
}

int main(int argc, char **argv)
{
    static const Driver driver = {.title = "http",
                                  .peers = "floor, toolwire (always both)",
                                  .rows = rows,
                                  .n_rows = TW_ARRAY_SIZE(rows),
                                  .depth = 1,
                                  .n_calls = 1,
                                  .choose = choose_programs};

    raise_descriptors();
    return driver_run(&driver, argc, argv);
}
