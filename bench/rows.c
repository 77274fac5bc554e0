#include "rows.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"

#define MAX_PEERS       8
#define MAX_SAMPLES     ((size_t)1 << 16)
#define WARM_UP_NS      50000000u
#define NODE_WARM_UP_NS 1000000000u     /* until most of it is compiled */
#define ALLOC_CALLS     ((size_t)20000) /* twice; of 1 KB, fewer of larger ones */
#define ALLOC_BYTES     ((size_t)256 * 1000 * 1000)
#define MEMORY_STEPS    10
#define NODE_SHARE      50 /* of the calls of the memory row, node gets the fiftieth part */
#define MEBIBYTE        1048576.0
/* What resident memory may grow between a tenth of the calls and all of them: the kernel counts
 * pages, and a stack may touch one more. A leak of one byte in ten calls is more than this. */
#define GROWTH_GOAL_KIB 64.0

/* One server in one era, and its figures of each round. */
typedef struct Entry {
    Peer peer;
    PeerTraffic *traffic;
    size_t floor; /* its floor's place among the entries */
    double first[ROW_MAX_ROUNDS];
    double second[ROW_MAX_ROUNDS];
    double ratio[ROW_MAX_ROUNDS];
} Entry;

typedef struct Field {
    PeerTraffic traffic[PEER_N_ERAS];
    Entry entries[MAX_PEERS];
    size_t n;
} Field;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the values. */
static double quantile(double *values, size_t n, double q)
{
    qsort(values, n, sizeof(*values), compare_doubles);
    return values[(size_t)((double)(n - 1) * q + 0.5)];
}

double row_median(double *values, size_t n)
{
    return quantile(values, n, 0.5);
}

/* Every program in every era, era by era, so that each follows its floor; answers checked. The
 * servers have the last core, and the driver is put where the caller says. Node has threads that
 * need a core of their own when the driver has one. */
static Field *field_new(const RowSetup *setup, size_t size, PeerPlace driver)
{
    Field *field = calloc(1, sizeof(*field));

    if (field == NULL) {
        peer_die("memory", "not enough");
    }
    for (PeerEra era = 0; era < PEER_N_ERAS; era++) {
        size_t floor = field->n;

        peer_traffic_init(&field->traffic[era], era, size, setup->depth);
        for (size_t i = 0; i < setup->n_programs && field->n < MAX_PEERS; i++) {
            Entry *e = &field->entries[field->n++];
            bool is_free;

            e->floor = floor;
            e->traffic = &field->traffic[era];
            is_free = setup->programs[i].is_node && driver != PEER_PLACE_LAST_CORE;
            peer_place(is_free ? PEER_PLACE_ANYWHERE : PEER_PLACE_LAST_CORE);
            peer_start(&e->peer, &setup->programs[i], era, -1);
            peer_open(&e->peer);
            peer_check(&e->peer, e->traffic);
        }
    }
    peer_place(driver);
    return field;
}

static void field_free(Field *field)
{
    for (size_t i = 0; i < field->n; i++) {
        peer_stop(&field->entries[i].peer);
    }
    for (PeerEra era = 0; era < PEER_N_ERAS; era++) {
        peer_traffic_deinit(&field->traffic[era]);
    }
    free(field);
}

static uint64_t warm_up_ns(const Entry *e)
{
    return e->peer.program->is_node ? NODE_WARM_UP_NS : WARM_UP_NS;
}

/* Fills p50 and p99 of one round, in microseconds; round_ns 0: one trip only. */
static void round_trips(Entry *e, size_t round, uint64_t round_ns)
{
    static double samples[MAX_SAMPLES];
    uint64_t end = clock_monotonic_ns() + round_ns;
    size_t n = 0;

    do {
        samples[n] = (double)peer_round_trip(&e->peer, e->traffic, n) / 1e3;
        n++;
    } while (n < MAX_SAMPLES && clock_monotonic_ns() < end);
    e->first[round] = quantile(samples, n, 0.5);
    e->second[round] = quantile(samples, n, 0.99);
}

void row_round_trip(const Row *row, const RowSetup *setup, Report *report)
{
    Field *field = field_new(setup, row->size, PEER_PLACE_LAST_CORE);

    for (size_t i = 0; i < field->n; i++) {
        round_trips(&field->entries[i], 0, warm_up_ns(&field->entries[i]));
    }
    for (size_t round = 0; round < setup->n_rounds; round++) {
        peer_watchdog();
        for (size_t i = 0; i < field->n; i++) {
            Entry *e = &field->entries[i];

            round_trips(e, round, setup->round_ns);
            e->ratio[round] = e->first[round] / field->entries[e->floor].first[round];
        }
    }
    for (size_t i = 0; i < field->n; i++) {
        Entry *e = &field->entries[i];
        bool judged = e->peer.program->is_ours && row->ratio_goal > 0;
        ReportFigure figures[] = {
            {.name = "p50_us", .value = row_median(e->first, setup->n_rounds), .decimals = 2},
            {.name = "p99_us", .value = row_median(e->second, setup->n_rounds), .decimals = 2},
            {.name = "x_floor",
             .value = row_median(e->ratio, setup->n_rounds),
             .decimals = 2,
             .goal = judged ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE,
             .limit = row->ratio_goal},
        };

        report_line(report, e->peer.program->name, peer_era_name(e->peer.era), figures,
                    TW_ARRAY_SIZE(figures));
    }
    field_free(field);
}

/* Calls a second, and microseconds of the server's CPU a call. */
static void pipeline(Entry *e, size_t round, uint64_t round_ns)
{
    uint64_t start = clock_monotonic_ns();
    uint64_t cpu = peer_cpu_ns(&e->peer);
    size_t n = peer_pipeline(&e->peer, e->traffic, round_ns, SIZE_MAX / 4 / e->traffic->n_message);

    cpu = peer_cpu_ns(&e->peer) - cpu;
    e->first[round] = (double)n * 1e9 / (double)(clock_monotonic_ns() - start);
    e->second[round] = (double)cpu / 1e3 / (double)n;
}

static void report_pipelined(const Row *row, size_t n_rounds, Entry *e, Report *report)
{
    bool is_ours = e->peer.program->is_ours;
    double rate = row_median(e->first, n_rounds);
    ReportFigure figures[] = {
        {.name = "calls_per_s", .value = rate},
        {.name = "MB_per_s", .value = rate * (double)e->traffic->n_message / 1e6},
        {.name = "x_floor",
         .value = row_median(e->ratio, n_rounds),
         .decimals = 2,
         .goal = is_ours && row->ratio_goal > 0 ? REPORT_GOAL_AT_LEAST : REPORT_GOAL_NONE,
         .limit = row->ratio_goal},
        {.name = "cpu_us",
         .value = row_median(e->second, n_rounds),
         .decimals = 2,
         .goal = is_ours && row->cpu_goal > 0 ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE,
         .limit = row->cpu_goal},
    };

    report_line(report, e->peer.program->name, peer_era_name(e->peer.era), figures,
                TW_ARRAY_SIZE(figures));
}

void row_pipelined(const Row *row, const RowSetup *setup, Report *report)
{
    Field *field = field_new(setup, row->size, PEER_PLACE_FIRST_CORE);

    for (size_t i = 0; i < field->n; i++) {
        pipeline(&field->entries[i], 0, warm_up_ns(&field->entries[i]));
    }
    for (size_t round = 0; round < setup->n_rounds; round++) {
        peer_watchdog();
        for (size_t i = 0; i < field->n; i++) {
            Entry *e = &field->entries[i];

            pipeline(e, round, setup->round_ns);
            e->ratio[round] = e->first[round] / field->entries[e->floor].first[round];
        }
    }
    for (size_t i = 0; i < field->n; i++) {
        report_pipelined(row, setup->n_rounds, &field->entries[i], report);
    }
    field_free(field);
}

static void measure_memory(const Row *row, const RowSetup *setup, const PeerProgram *program,
                           const PeerTraffic *t, PeerEra era, Report *report)
{
    size_t n_calls = (program->is_node ? setup->n_calls / NODE_SHARE : setup->n_calls);
    size_t n_step = n_calls / MEMORY_STEPS > 0 ? n_calls / MEMORY_STEPS : 1;
    ReportGoal goal = program->is_ours ? REPORT_GOAL_AT_MOST : REPORT_GOAL_NONE;
    size_t at_start;
    size_t anonymous;
    size_t early = 0;
    size_t now = 0;
    Peer peer;

    peer_start(&peer, program, era, -1);
    peer_open(&peer);
    peer_check(&peer, t);
    peer_memory(&peer, &at_start, &anonymous);
    for (size_t i = 0; i < MEMORY_STEPS; i++) {
        size_t ignored;

        peer_watchdog();
        (void)peer_pipeline(&peer, t, UINT64_MAX / 2, n_step);
        peer_memory(&peer, &now, &ignored);
        early = i == 0 ? now : early;
    }
    peer_stop(&peer);

    ReportFigure figures[] = {
        {.name = "start_MiB",
         .value = (double)at_start / MEBIBYTE,
         .decimals = 2,
         .goal = row->rss_goal_mib > 0 ? goal : REPORT_GOAL_NONE,
         .limit = row->rss_goal_mib},
        {.name = "own_MiB", .value = (double)anonymous / MEBIBYTE, .decimals = 2},
        {.name = "calls", .value = (double)(n_step * MEMORY_STEPS)},
        {.name = "end_MiB", .value = (double)now / MEBIBYTE, .decimals = 2},
        {.name = "growth_KiB",
         .value = ((double)now - (double)early) / 1024,
         .goal = goal,
         .limit = GROWTH_GOAL_KIB},
    };
    report_line(report, program->name, peer_era_name(era), figures, TW_ARRAY_SIZE(figures));
}

void row_memory(const Row *row, const RowSetup *setup, Report *report)
{
    peer_place(PEER_PLACE_ANYWHERE);
    for (PeerEra era = 0; era < PEER_N_ERAS; era++) {
        PeerTraffic t;

        peer_traffic_init(&t, era, row->size, setup->depth);
        for (size_t i = 0; i < setup->n_programs; i++) {
            measure_memory(row, setup, &setup->programs[i], &t, era, report);
        }
        peer_traffic_deinit(&t);
    }
}

static unsigned long allocations_after(Peer *peer, const PeerTraffic *t, bool pipelined,
                                       size_t n_calls, const atomic_ulong *counter)
{
    if (pipelined) {
        (void)peer_pipeline(peer, t, UINT64_MAX / 2, n_calls);
    }
    for (size_t i = 0; !pipelined && i < n_calls; i++) {
        (void)peer_round_trip(peer, t, i);
    }
    return atomic_load(counter);
}

/* The first half of the calls warms up, the second counts. */
static void measure_allocs(const Row *row, const RowSetup *setup, const PeerProgram *program,
                           PeerEra era, Report *report)
{
    int fd = memfd_create("allocations", 0);
    atomic_ulong *counter = MAP_FAILED;
    unsigned long counts[2];
    size_t n_calls;
    PeerTraffic t;
    Peer peer;

    if (fd >= 0 && ftruncate(fd, sizeof(*counter)) == 0) {
        counter = mmap(NULL, sizeof(*counter), PROT_READ, MAP_SHARED, fd, 0);
    }
    if (counter == MAP_FAILED) {
        peer_die("allocations", "no shared page");
    }
    peer_watchdog();
    peer_traffic_init(&t, era, row->size, setup->depth);
    n_calls = ALLOC_BYTES / t.n_message < ALLOC_CALLS ? ALLOC_BYTES / t.n_message : ALLOC_CALLS;
    peer_start(&peer, program, era, fd);
    peer_open(&peer);
    peer_check(&peer, &t);
    counts[0] = allocations_after(&peer, &t, row->pipelined, n_calls, counter);
    counts[1] = allocations_after(&peer, &t, row->pipelined, n_calls, counter);
    if (counts[0] == 0) {
        peer_die(program->name, "no allocation at all was counted: is it linked statically?");
    }
    peer_stop(&peer);
    (void)munmap(counter, sizeof(*counter));
    (void)close(fd);

    ReportFigure figures[] = {
        {.name = "calls", .value = (double)n_calls},
        {.name = "until_then", .value = (double)counts[0]},
        {.name = "allocations", .value = (double)(counts[1] - counts[0])},
        {.name = "per_call",
         .value = (double)(counts[1] - counts[0]) / (double)n_calls,
         .decimals = 4,
         .goal = REPORT_GOAL_AT_MOST,
         .limit = 0},
    };
    report_line(report, program->name, peer_era_name(era), figures, TW_ARRAY_SIZE(figures));
    peer_traffic_deinit(&t);
}

void row_allocs(const Row *row, const RowSetup *setup, Report *report)
{
    peer_place(row->pipelined ? PEER_PLACE_ANYWHERE : PEER_PLACE_LAST_CORE);
    for (size_t i = 0; i < setup->n_programs; i++) {
        for (PeerEra era = 0; era < PEER_N_ERAS && setup->programs[i].is_ours; era++) {
            measure_allocs(row, setup, &setup->programs[i], era, report);
        }
    }
}
