/* Calls that are not durable while the queue writes at its full rate.
 *
 * One client calls echo, some 2,000 times a second, and its times count. Beside it another process
 * has nothing to do (idle), or clients that put jobs into the queue of the same hub as fast as they
 * are acknowledged (jobs), or as many clients that call echo (calls). One client that puts jobs
 * keeps the disk writing, commit after commit, and leaves the loop its time: it is compared with
 * idle. 64 take all the time that the loop has, as 64 that call do: they are compared with those,
 * since a request waits behind others whatever they ask for, and what is looked for is what the
 * queue adds. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "http_jobs.h"
#include "http_rows.h"
#include "report.h"
#include "rows.h"

#define MAX_SAMPLES ((size_t)1 << 20)
#define SETTLE_NS   50000000u
#define SLICE_NS    50000000u
#define PERIOD_NS   500000u /* between two calls: the other process must have the core as well */
#define LONGER      5u      /* than a round of other rows: a p99 needs calls */
#define TAIL_GOAL   1.5
#define LOAD_NICE   10

static double samples[MAX_SAMPLES];

/* What the process beside has done so far: shared with it. */
static atomic_size_t *n_beside;

typedef struct Beside {
    const char *name;
    const HttpLoadKind *kind; /* NULL: nothing */
    size_t n_clients;
    size_t to; /* its p99 is compared with that one's */
    bool has_goal;
    double p50_us[ROW_MAX_ROUNDS];
    double p99_us[ROW_MAX_ROUNDS];
    double beside[ROW_MAX_ROUNDS]; /* requests a second of the other process */
    double ratio[ROW_MAX_ROUNDS];
} Beside;

/* Another process, which gives way to the one that measures. */
static pid_t beside_start(const Beside *beside, const HttpSide *side)
{
    pid_t pid = beside->kind == NULL ? 0 : fork();
    HttpLoad *load;
    size_t n;

    if (beside->kind == NULL || pid > 0) {
        return pid;
    }
    if (pid < 0 || nice(LOAD_NICE) == -1) {
        peer_die(beside->name, strerror(errno));
    }
    load = http_load_new(side, beside->kind, beside->n_clients);
    for (;;) {
        atomic_fetch_add(n_beside, http_load_run(load, SLICE_NS, NULL, 0, &n).n_calls);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The client that counts: a connection, and its one request. */
typedef struct Probe {
    HttpSide *side;
    char *request;
    size_t n_request;
    int fd;
} Probe;

static void probe_open(Probe *probe, HttpSide *side)
{
    char session[HTTP_SESSION_BYTES];

    *probe = (Probe){.side = side, .fd = http_side_connect(side, 0)};
    http_side_open(side, probe->fd, session);
    probe->request = http_side_echo(side, session, "hello", &probe->n_request);
}

static void probe_close(Probe *probe)
{
    free(probe->request);
    (void)close(probe->fd);
}

/* A call each PERIOD_NS; how many, with their times in samples. */
static size_t probe_run(const Probe *probe, uint64_t for_ns)
{
    uint64_t end_ns = clock_monotonic_ns() + for_ns;
    size_t n = 0;

    while (clock_monotonic_ns() < end_ns && n < MAX_SAMPLES) {
        const struct timespec pause = {.tv_nsec = PERIOD_NS};
        uint64_t start_ns;

        (void)nanosleep(&pause, NULL);
        start_ns = clock_monotonic_ns();
        http_side_ask(probe->side, probe->fd, probe->request, probe->n_request,
                      "\"text\":\"hello\"");
        samples[n++] = (double)(clock_monotonic_ns() - start_ns) / 1e3;
    }
    return n;
}

static void beside_round(Beside *beside, size_t round, const Probe *probe, uint64_t for_ns)
{
    pid_t pid = beside_start(beside, probe->side);
    uint64_t start_ns;
    size_t n_before;
    size_t n;

    (void)probe_run(probe, SETTLE_NS);
    n_before = atomic_load(n_beside);
    start_ns = clock_monotonic_ns();
    n = probe_run(probe, for_ns);
    beside->beside[round] = (double)(atomic_load(n_beside) - n_before) * 1e9 /
                            (double)(clock_monotonic_ns() - start_ns);
    if (pid > 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
    if (n == 0) {
        peer_die(probe->side->program.name, "no call was answered");
    }
    qsort(samples, n, sizeof(samples[0]), compare);
    beside->p50_us[round] = samples[n / 2];
    beside->p99_us[round] = samples[n - 1 - n / 100];
}

void http_row_beside(const Row *row, const RowSetup *setup, Report *report)
{
    static Beside all[] = {
        {.name = "idle"},
        {.name = "jobs-1", .kind = &http_load_enqueue, .n_clients = 1, .has_goal = true},
        {.name = "calls-64", .kind = &http_load_echo, .n_clients = 64},
        {.name = "jobs-64", .kind = &http_load_enqueue, .n_clients = 64, .to = 2, .has_goal = true},
    };
    HttpSide side;
    Probe probe;

    (void)row;
    n_beside =
        mmap(NULL, sizeof(*n_beside), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n_beside == MAP_FAILED) {
        peer_die("beside", strerror(errno));
    }
    peer_place(PEER_PLACE_LAST_CORE);
    http_jobs_start(&side, http_toolwire(setup));
    peer_place(PEER_PLACE_FIRST_CORE);
    probe_open(&probe, &side);
    for (size_t round = 0; round < setup->n_rounds; round++) {
        peer_watchdog();
        for (size_t i = 0; i < TW_ARRAY_SIZE(all); i++) {
            beside_round(&all[i], round, &probe, setup->round_ns * LONGER);
            all[i].ratio[round] = all[i].p99_us[round] / all[all[i].to].p99_us[round];
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(all); i++) {
        report_line(
            report, all[i].name, "",
            (ReportFigure[]){
                {.name = "beside_per_s", .value = row_median(all[i].beside, setup->n_rounds)},
                {.name = "p50_us", .value = row_median(all[i].p50_us, setup->n_rounds)},
                {.name = "p99_us", .value = row_median(all[i].p99_us, setup->n_rounds)},
                {.name = "p99_ratio",
                 .value = row_median(all[i].ratio, setup->n_rounds),
                 .decimals = 2,
                 .goal = all[i].has_goal ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE,
                 .limit = TAIL_GOAL}},
            4);
    }
    probe_close(&probe);
    http_side_stop(&side);
}
