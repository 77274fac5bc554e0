/* bench_queue: the durable queue beside SQLite by hand and beside Redis streams, in one run; how
 * often a lone producer waits for the disk; and what a claim costs among a million jobs.
 *
 *     bench_queue [--rounds N] [--jobs N] [--many N] [--folder PATH] [--json FILE]
 *
 * Rounds of all sides alternate, and a ratio is the median of the ratios of each round, so that a
 * slow minute of the disk hits all alike. The folder decides on which disk: /tmp by default.
 */
#include "queue_sides.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "queue/store_sqlite.h"
#include "report.h"
#include "support/sqlite_vfs.h"

enum {
    MAX_ROUNDS = 32,
    CLAIMS = 512,
    FILL_BATCH = 5000
};

typedef struct Options {
    size_t n_rounds;
    size_t n_jobs;
    size_t n_many;
    const char *parent;
    char folder[128];
} Options;

void side_require(bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "bench_queue: %s\n", what);
        side_redis_stop();
        exit(1);
    }
}

size_t side_n_syncs(void)
{
    return atomic_load(&sqlite_vfs.n_syncs);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* ---- whole jobs ---- */

typedef struct Side {
    const char *name;
    double rate[MAX_ROUNDS];
    double ratio[MAX_ROUNDS]; /* the library's to this one's */
    double jobs_per_sync;
} Side;

static void measure(Side *side, size_t round, const SideRun *run, size_t n_jobs)
{
    side->rate[round] = (double)n_jobs / run->seconds;
    side->jobs_per_sync = run->syncs > 0 ? (double)n_jobs / run->syncs : 0;
}

static void print_side(Report *report, Side *side, size_t n_rounds, double goal)
{
    const ReportFigure figures[] = {
        {.name = "jobs_per_s", .value = median(side->rate, n_rounds)},
        {.name = "jobs_per_sync", .value = side->jobs_per_sync, .decimals = 1},
        {.name = "library_ratio",
         .value = median(side->ratio, n_rounds),
         .decimals = 2,
         .goal = goal > 0 ? REPORT_GOAL_AT_LEAST : REPORT_GOAL_NONE,
         .limit = goal},
    };

    report_line(report, side->name, "", figures, 3);
}

static void row_whole(Report *report, const Options *options)
{
    Side library = {.name = "library"};
    Side threads = {.name = "threads"};
    Side hands = {.name = "sqlite"};
    Side redis = {.name = "redis"};
    bool has_redis = side_redis_start(options->folder);

    for (size_t i = 0; i < options->n_rounds; i++) {
        SideRun run = side_sqlite(options->folder, options->n_jobs);

        measure(&hands, i, &run, options->n_jobs);
        run = side_library(options->folder, options->n_jobs);
        measure(&library, i, &run, options->n_jobs);
        run = side_threads(options->folder, options->n_jobs);
        measure(&threads, i, &run, options->n_jobs);
        threads.ratio[i] = library.rate[i] / threads.rate[i];
        if (has_redis) {
            run = side_redis(options->n_jobs);
            measure(&redis, i, &run, options->n_jobs);
            redis.ratio[i] = library.rate[i] / redis.rate[i];
        }
        library.ratio[i] = 1;
        hands.ratio[i] = library.rate[i] / hands.rate[i];
    }
    report_row(report, "whole", "whole jobs, 64 producers; each stage acknowledged when on disk");
    print_side(report, &library, options->n_rounds, 0);
    print_side(report, &threads, options->n_rounds, 0);
    print_side(report, &hands, options->n_rounds, 0.8);
    if (has_redis) {
        print_side(report, &redis, options->n_rounds, 0);
        side_redis_stop();
    } else {
        printf("  redis          SKIPPED: there is no redis-server (set REDIS_SERVER)\n");
    }
}

/* ---- a lone producer ---- */

static void row_lone(Report *report, const Options *options)
{
    char path[256];
    QueueConfig config = {.path = path};
    Diag diag = DIAG_NULL;
    Queue *queue = NULL;
    size_t n_syncs;
    uint64_t start_ns;
    QueueOp op;

    (void)snprintf(path, sizeof(path), "%s/lone.db", options->folder);
    side_require(queue_open(&queue, &config, &diag) == 0, diag.message);
    queue_op_init(&op);
    n_syncs = side_n_syncs();
    start_ns = clock_monotonic_ns();
    for (size_t i = 0; i < options->n_jobs; i++) {
        queue_op_set(
            &op, QUEUE_ENQUEUE,
            &(QueueOrder){.spec = {.method = SPAN(SIDE_METHOD), .params = SPAN(SIDE_PARAMS)}});
        arena_reset(&op.arena, 4096);
        side_require(queue_run(queue, &op) == 0, "enqueue");
    }
    {
        double n = (double)options->n_jobs;
        const ReportFigure figures[] = {
            {.name = "syncs_per_job",
             .value = (double)(side_n_syncs() - n_syncs) / n,
             .decimals = 3,
             .goal = REPORT_GOAL_AT_MOST,
             .limit = 1.2},
            {.name = "us_per_job", .value = (double)(clock_monotonic_ns() - start_ns) / n / 1e3},
        };

        report_row(report, "lone", "one producer that waits for each acknowledgement");
        report_line(report, "library", "", figures, 2);
    }
    queue_op_deinit(&op);
    (void)queue_close(queue);
    (void)unlink(path);
}

/* ---- a claim among many ---- */

static const StoreNow now = {.line_us = 1000000, .stamp_us = 1000000, .wall_us = 1000000};

static void fill(Store *store, size_t n)
{
    bool wrote;
    QueueOp ops[5]; /* one for each priority: a batch reads what they have at its end */

    for (int i = 0; i < 5; i++) {
        queue_op_init(&ops[i]);
        queue_op_set(&ops[i], QUEUE_ENQUEUE,
                     &(QueueOrder){.spec = {.method = SPAN(SIDE_METHOD),
                                            .params = SPAN(SIDE_PARAMS),
                                            .priority = 1 + i}});
    }
    for (size_t i = 0; i < n; i++) {
        QueueOp *op = &ops[i % 5];

        if (i % FILL_BATCH == 0) {
            side_require(store_begin(store, now) == 0, "begin");
        }
        arena_reset(&op->arena, 4096);
        side_require(store_run(store, op) == 0 && op->r == 0, "enqueue");
        if (i % FILL_BATCH == FILL_BATCH - 1 || i + 1 == n) {
            side_require(store_commit(store, &wrote) == 0, "commit");
            (void)store_settle(store, true);
        }
    }
    for (int i = 0; i < 5; i++) {
        queue_op_deinit(&ops[i]);
    }
}

/* With the write of its row, and without the disk. The mean, since one claim in 64 looks for the
 * next ones; in microseconds. */
static double claim_us(Store *store)
{
    double us = 0;
    bool wrote;
    QueueOp op;

    queue_op_init(&op);
    for (size_t i = 0; i < CLAIMS; i++) {
        uint64_t start_ns;

        side_require(store_begin(store, now) == 0, "begin");
        queue_op_set(&op, QUEUE_CLAIM, &(QueueOrder){.claim = {.max = 1}});
        arena_reset(&op.arena, 4096);
        start_ns = clock_monotonic_ns();
        side_require(store_run(store, &op) == 0 && op.n_jobs == 1, "claim");
        side_require(store_puts_write(store) == 0, "claim");
        us += (double)(clock_monotonic_ns() - start_ns) / 1e3;
        side_require(store_commit(store, &wrote) == 0, "commit");
    }
    queue_op_deinit(&op);
    return us / CLAIMS;
}

static double claim_among(const Options *options, size_t n)
{
    char path[256];
    QueueConfig config = {.path = path, .max_waiting = (uint64_t)2 * n + 1000};
    Diag diag = DIAG_NULL;
    Store *store = NULL;
    double us;

    (void)snprintf(path, sizeof(path), "%s/many.db", options->folder);
    side_require(store_open(&store, &config, &diag) == 0, diag.message);
    fill(store, n);
    us = claim_us(store);
    (void)store_close(store);
    (void)unlink(path);
    return us;
}

static void row_many(Report *report, const Options *options)
{
    double few = claim_among(options, 1000);
    double many = claim_among(options, options->n_many);
    char name[32];

    report_row(report, "claim", "one claim without its commit, among jobs that wait");
    for (int i = 0; i < 2; i++) {
        const ReportFigure figures[] = {
            {.name = "us", .value = i == 0 ? few : many, .decimals = 1},
            {.name = "ratio",
             .value = i == 0 ? 1 : many / few,
             .decimals = 2,
             .goal = i == 0 ? REPORT_GOAL_NONE : REPORT_GOAL_AT_MOST,
             .limit = 2},
        };

        (void)snprintf(name, sizeof(name), "%zu", i == 0 ? (size_t)1000 : options->n_many);
        report_line(report, name, "", figures, 2);
    }
}

/* ---- */

static size_t number(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    side_require(*end == '\0' && n > 0, "a number is expected");
    return n;
}

static void parse(int argc, char **argv, Options *options, Report *report)
{
    for (int i = 1; i < argc; i += 2) {
        side_require(i + 1 < argc, "usage: bench_queue [--rounds N] [--jobs N] [--many N]"
                                   " [--folder PATH] [--json FILE]");
        if (strcmp(argv[i], "--rounds") == 0) {
            options->n_rounds = number(argv[i + 1]);
            side_require(options->n_rounds <= MAX_ROUNDS, "too many rounds");
        } else if (strcmp(argv[i], "--jobs") == 0) {
            options->n_jobs = number(argv[i + 1]);
            side_require(options->n_jobs >= SIDE_PRODUCERS, "too few jobs");
        } else if (strcmp(argv[i], "--many") == 0) {
            options->n_many = number(argv[i + 1]);
        } else if (strcmp(argv[i], "--folder") == 0) {
            options->parent = argv[i + 1];
        } else if (strcmp(argv[i], "--json") == 0) {
            report->json = fopen(argv[i + 1], "w");
            side_require(report->json != NULL, strerror(errno));
        } else {
            side_require(false, argv[i]);
        }
    }
}

/* What redis leaves lies in a folder of its own making. */
static void remove_folder(const char *folder)
{
    static const char *const left[] = {"appendonlydir/appendonly.aof.1.base.rdb",
                                       "appendonlydir/appendonly.aof.1.incr.aof",
                                       "appendonlydir/appendonly.aof.manifest", "redis.sock"};
    char path[256];

    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, left[i]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof(path), "%s/appendonlydir", folder);
    (void)rmdir(path);
    if (rmdir(folder) != 0) {
        (void)fprintf(stderr, "bench_queue: something is left in %s\n", folder);
    }
}

int main(int argc, char **argv)
{
    Options options = {.n_rounds = 15, .n_jobs = 6400, .n_many = 1000000, .parent = "/tmp"};
    Report report = {.json = NULL};

    parse(argc, argv, &options, &report);
    (void)snprintf(options.folder, sizeof(options.folder), "%s/tw-bench-queue-XXXXXX",
                   options.parent);
    side_require(mkdtemp(options.folder) != NULL, strerror(errno));
    side_require(sqlite_vfs_install() == 0, "sqlite3_vfs_register");
    row_whole(&report, &options);
    row_lone(&report, &options);
    row_many(&report, &options);
    report_summary(&report);
    remove_folder(options.folder);
    if (report.json != NULL) {
        (void)fclose(report.json);
    }
    return 0;
}
