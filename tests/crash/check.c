/* Holds what a queue has against what was written down. */
#include "crash.h"

#include <stdlib.h>
#include <string.h>

#include "queue/queue.h"

typedef struct Entry {
    char id[QUEUE_ID_BYTES];
    uint64_t number; /* fence of a run, sum of the rest */
    int state;
    bool is_idempotent;
} Entry;

typedef struct Entries {
    Entry *all;
    size_t n;
    size_t room;
} Entries;

static void entries_add(Entries *entries, const Entry *entry)
{
    if (entries->n == entries->room) {
        entries->room = entries->room == 0 ? 1024 : 2 * entries->room;
        entries->all = realloc(entries->all, entries->room * sizeof(*entries->all));
        if (entries->all == NULL) {
            abort();
        }
    }
    entries->all[entries->n++] = *entry;
}

static bool parse_line(const char *line, Entry *ret)
{
    unsigned long long number = 0;
    int flag = 0;

    *ret = (Entry){.state = -1};
    switch (line[0]) {
    case 'E':
        ret->state = -1;
        return sscanf(line, "E %63s %llx", ret->id, &number) == 2 && (ret->number = number, true);
    case 'D':
        return sscanf(line, "D %63s %d %llx", ret->id, &ret->state, &number) == 3 &&
               (ret->number = number, true);
    case 'C':
        ret->state = JOB_CANCELLED;
        return sscanf(line, "C %63s", ret->id) == 1;
    case 'R':
        return sscanf(line, "R %63s %llu %d", ret->id, &number, &flag) == 3 &&
               (ret->number = number, ret->is_idempotent = flag != 0, true);
    default:
        return false;
    }
}

/* Lines are whole: each was one write. */
static void entries_read(Entries *entries, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256];
    Entry entry;

    *entries = (Entries){.n = 0};
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (parse_line(line, &entry)) {
            entries_add(entries, &entry);
        } else {
            (void)fprintf(stderr, "crash: a note cannot be read: %s", line);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const Entry *)a)->id, ((const Entry *)b)->id);
}

/* ---- acknowledged ---- */

static bool is_as_told(const Entry *told, const QueueJob *job)
{
    if (told->state < 0) {
        return crash_sum(job->params.p, job->params.n) == told->number;
    }
    if (told->state == JOB_CANCELLED) {
        return job->state == JOB_CANCELLED;
    }
    return (int)job->state == told->state &&
           crash_sum(job->result.p, job->result.n) == told->number;
}

static void complain(const char *what, const char *id, const QueueOp *op)
{
    (void)fprintf(stderr, "crash: %s: %s (%d, %s)\n", what, id, op->r,
                  op->n_jobs > 0 ? job_state_name(op->jobs[0].state) : "no job");
}

static void check_told(Queue *queue, const Entries *told, bool is_drained, CrashCounts *ret)
{
    QueueOp op;

    queue_op_init(&op);
    for (size_t i = 0; i < told->n; i++) {
        const Entry *entry = &told->all[i];

        queue_op_set(&op, QUEUE_GET, &(QueueOrder){.id = span_from_str(entry->id)});
        ret->n_jobs += entry->state < 0 ? 1 : 0;
        ret->n_cancelled += entry->state == JOB_CANCELLED ? 1 : 0;
        ret->n_results += entry->state >= 0 && entry->state != JOB_CANCELLED ? 1 : 0;
        if (queue_run(queue, &op) != 0) {
            complain("acknowledged and lost", entry->id, &op);
            ret->n_lost++;
        } else if (!is_as_told(entry, &op.jobs[0])) {
            complain("not what was acknowledged", entry->id, &op);
            ret->n_changed++;
        } else if (is_drained && !job_is_over(op.jobs[0].state) &&
                   op.jobs[0].state != JOB_ENQUEUED) {
            complain("stuck", entry->id, &op);
            ret->n_stuck++;
        }
        arena_reset(&op.arena, 65536);
    }
    queue_op_deinit(&op);
}

/* ---- runs ---- */

static void check_runs(Entries *runs, CrashCounts *ret)
{
    ret->n_runs += runs->n;
    if (runs->n > 0) {
        qsort(runs->all, runs->n, sizeof(*runs->all), compare_ids);
    }
    for (size_t i = 1; i < runs->n; i++) {
        const Entry *a = &runs->all[i - 1];
        const Entry *b = &runs->all[i];

        if (strcmp(a->id, b->id) == 0 && (!b->is_idempotent || a->number == b->number)) {
            (void)fprintf(stderr, "crash: ran twice: %s (fences %llu, %llu)\n", a->id,
                          (unsigned long long)a->number, (unsigned long long)b->number);
            ret->n_twice++;
        }
    }
}

/* ---- counts ---- */

static bool read_counts(Queue *queue, QueueCounts *ret)
{
    QueueOp op;
    bool ok;

    queue_op_init(&op);
    op.verb = QUEUE_COUNT;
    ok = queue_run(queue, &op) == 0;
    *ret = op.counts;
    queue_op_deinit(&op);
    return ok;
}

/* One by one. */
static bool count_jobs(Queue *queue, uint64_t n[JOB_N_STATES])
{
    char before[QUEUE_ID_BYTES] = "";
    bool ok;
    QueueOp op;

    memset(n, 0, JOB_N_STATES * sizeof(*n));
    queue_op_init(&op);
    do {
        arena_reset(&op.arena, 65536);
        queue_op_set(&op, QUEUE_LIST,
                     &(QueueOrder){.list = {.limit = 500, .before = span_from_str(before)}});
        ok = queue_run(queue, &op) == 0;
        for (size_t i = 0; i < op.n_jobs; i++) {
            n[op.jobs[i].state]++;
            memcpy(before, op.jobs[i].id, sizeof(before));
        }
    } while (ok && op.n_jobs > 0);
    queue_op_deinit(&op);
    return ok;
}

static void check_counts(Queue *queue, CrashCounts *ret)
{
    uint64_t n[JOB_N_STATES];
    QueueCounts first;
    QueueCounts then;

    /* Leases end meanwhile, a handful of them. */
    for (int i = 0; i < 20; i++) {
        if (!read_counts(queue, &first) || !count_jobs(queue, n) || !read_counts(queue, &then)) {
            break;
        }
        if (memcmp(first.n, then.n, sizeof(then.n)) == 0 &&
            memcmp(n, then.n, sizeof(then.n)) == 0) {
            return;
        }
    }
    (void)fprintf(stderr, "crash: the counts are wrong\n");
    ret->n_uncounted++;
}

int crash_check(const CrashPlace *place, bool is_drained, CrashCounts *ret)
{
    QueueConfig config = {.path = place->queue};
    Diag diag = DIAG_NULL;
    Queue *queue = NULL;
    Entries told;
    Entries runs;
    int r = queue_open(&queue, &config, &diag);

    *ret = (CrashCounts){.n_jobs = 0};
    if (r != 0) {
        (void)fprintf(stderr, "crash: the queue cannot be opened: %d: %s\n", r, diag.message);
        return -1;
    }
    entries_read(&told, place->told);
    entries_read(&runs, place->runs);
    check_told(queue, &told, is_drained, ret);
    check_runs(&runs, ret);
    check_counts(queue, ret);
    (void)queue_close(queue);
    free(told.all);
    free(runs.all);
    return 0;
}
