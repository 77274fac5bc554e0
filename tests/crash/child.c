/* The process that is killed. */
#include "crash.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/thread.h"
#include "queue/queue.h"

enum {
    PRODUCERS = 4,
    WORKERS = 3,
    MAX_BODY = 24 * 1024,
    CLOSE_AFTER = 60,  /* acknowledged jobs, where the step is in the orderly end */
    FULL_FAILURES = 40 /* refused, and then the disk has room again */
};

typedef struct Child {
    const CrashPlan *plan;
    Queue *queue;
    int told_fd;
    int runs_fd;
    atomic_uint n_steps;
    atomic_bool is_ending;
    atomic_uint n_told;
    atomic_uint n_refused;
} Child;

typedef struct Worker {
    Child *child;
    uint64_t random;
    unsigned index;
    IoThread thread;
} Worker;

/* ---- steps ---- */

static void on_step(void *context, const char *name)
{
    Child *child = context;

    if (strcmp(name, child->plan->step) == 0 &&
        atomic_fetch_add(&child->n_steps, 1) + 1 == child->plan->step_count) {
        (void)raise(SIGKILL);
    }
}

/* One line, one write: it is there whole, whatever happens next. */
static void note(int fd, const char *line, int n)
{
    if (n <= 0 || write(fd, line, (size_t)n) != n) {
        static const char words[] = "crash: a note could not be written\n";

        (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
        _exit(7);
    }
}

/* ---- producers ---- */

static size_t make_body(Worker *worker, char *body)
{
    uint64_t random = crash_random(&worker->random);
    size_t n = random % 16 == 0 ? random / 16 % (MAX_BODY - 16) : random / 16 % 300;
    size_t at = 6;

    memcpy(body, "{\"x\":\"", at);
    while (at < n + 6) {
        random = crash_random(&worker->random);
        for (int i = 0; i < 12 && at < n + 6; i++, random >>= 5) {
            body[at++] = (char)('a' + (random & 15));
        }
    }
    memcpy(body + at, "\"}", 2);
    return at + 2;
}

/* The disk has room again when it has refused often enough. Both is said. */
static void refused(Child *child)
{
    unsigned n = atomic_fetch_add(&child->n_refused, 1) + 1;

    if (n == 1) {
        (void)!write(child->plan->ready_fd, "f", 1);
    }
    if (n == FULL_FAILURES) {
        struct rlimit limit;

        (void)getrlimit(RLIMIT_FSIZE, &limit);
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_FSIZE, &limit);
        (void)!write(child->plan->ready_fd, "l", 1);
    }
}

static void cancel(Worker *worker, QueueOp *op)
{
    char id[QUEUE_ID_BYTES];
    char line[160];

    memcpy(id, op->jobs[0].id, sizeof(id));
    queue_op_set(op, QUEUE_CANCEL, &(QueueOrder){.id = span_from_str(id)});
    if (queue_run(worker->child->queue, op) == 0) {
        note(worker->child->told_fd, line, snprintf(line, sizeof(line), "C %s\n", id));
    }
}

static void produce(void *context)
{
    Worker *worker = context;
    Child *child = worker->child;
    char *body = malloc(MAX_BODY);
    QueueOp op;

    queue_op_init(&op);
    while (body != NULL && !atomic_load(&child->is_ending)) {
        size_t n = make_body(worker, body);
        uint64_t random = crash_random(&worker->random);
        char line[160];
        int r;

        queue_op_set(&op, QUEUE_ENQUEUE,
                     &(QueueOrder){.spec = {.method = SPAN("work"),
                                            .params = span_make(body, n),
                                            .priority = 1 + (int)(random & 3),
                                            .max_attempts = 1000,
                                            .delay_ms = (random & 0x70) == 0 ? 2 : 0,
                                            .is_idempotent = (random & 4) != 0}});
        r = queue_run(child->queue, &op);
        if (r == 0) {
            note(child->told_fd, line,
                 snprintf(line, sizeof(line), "E %s %016llx\n", op.jobs[0].id,
                          (unsigned long long)crash_sum(body, n)));
            atomic_fetch_add(&child->n_told, 1);
            if ((random & 0x700) == 0) {
                cancel(worker, &op);
            }
        } else {
            refused(child);
        }
        arena_reset(&op.arena, 4096);
    }
    queue_op_deinit(&op);
    free(body);
}

/* ---- workers ---- */

/* The job at `at` is about to run: written down before anything else. */
static void run_job(Worker *worker, const QueueJob *job, char *result, size_t *ret_n)
{
    char line[160];

    note(worker->child->runs_fd, line,
         snprintf(line, sizeof(line), "R %s %llu %d\n", job->id, (unsigned long long)job->fence,
                  job->is_idempotent));
    *ret_n = (size_t)snprintf(result, MAX_BODY, "{\"sum\":\"%016llx\",\"pad\":\"",
                              (unsigned long long)crash_sum(job->params.p, job->params.n));
    for (uint64_t n = crash_random(&worker->random) % 2000; n > 0; n--) {
        result[(*ret_n)++] = (char)('A' + n % 26);
    }
    memcpy(result + *ret_n, "\"}", 2);
    *ret_n += 2;
}

/* Two work for this process, one fetches under a lease and often does not come back. */
static bool is_lazy(const Worker *worker)
{
    return worker->index == 0 && !worker->child->plan->is_drain;
}

static QueueClaim claim_of(const Worker *worker)
{
    return (QueueClaim){.max = 1, .lease_ms = is_lazy(worker) ? 8 : 0, .worker = SPAN("w")};
}

/* Completes the job that op has in hand, and claims the next with it; false: there is none. */
static bool finish_job(Worker *worker, QueueOp *op, size_t at, char *result)
{
    Child *child = worker->child;
    JobState state = crash_random(&worker->random) % 8 == 0 ? JOB_FAILED : JOB_SUCCEEDED;
    QueueClaim claim = claim_of(worker);
    char id[QUEUE_ID_BYTES];
    char line[160];
    size_t n;

    run_job(worker, &op->jobs[at], result, &n);
    memcpy(id, op->jobs[at].id, sizeof(id));
    claim.max = is_lazy(worker) ? 0 : 1;
    op->fence = op->jobs[at].fence;
    queue_op_set(op, QUEUE_COMPLETE,
                 &(QueueOrder){.id = span_from_str(id),
                               .finish = {.state = state, .result = span_make(result, n)},
                               .claim = claim});
    while (queue_run(child->queue, op) != 0) {
        if (op->r == QUEUE_E_OVER || op->r == QUEUE_E_LEASE || op->r == QUEUE_E_CLOSED) {
            return false; /* cancelled, or too late */
        }
        refused(child); /* the disk: it ran, and its end is told until it is taken */
    }
    note(child->told_fd, line,
         snprintf(line, sizeof(line), "D %s %d %016llx\n", id, (int)state,
                  (unsigned long long)crash_sum(result, n)));
    return op->n_jobs > 1;
}

static void work(void *context)
{
    Worker *worker = context;
    Child *child = worker->child;
    char *result = malloc(MAX_BODY);
    QueueOp op;

    queue_op_init(&op);
    while (result != NULL && !atomic_load(&child->is_ending)) {
        QueueClaim claim = claim_of(worker);

        queue_op_set(&op, QUEUE_CLAIM, &(QueueOrder){.claim = claim});
        if (queue_run(child->queue, &op) != 0) {
            refused(child);
        } else if (op.n_jobs == 0 && child->plan->is_drain) {
            break;
        } else if (op.n_jobs > 0 && is_lazy(worker) && crash_random(&worker->random) % 2 == 0) {
            size_t n;

            run_job(worker, &op.jobs[0], result, &n);
        } else if (op.n_jobs > 0) {
            size_t at = 0;

            while (finish_job(worker, &op, at, result)) {
                at = 1;
            }
        }
        arena_reset(&op.arena, 4096);
    }
    queue_op_deinit(&op);
    free(result);
}

/* ---- life ---- */

/* No file may grow much beyond the notes; the log begins anew with each process. */
static void fill_disk(const CrashPlace *place, uint64_t *random)
{
    const char *const notes[] = {place->told, place->runs};
    struct rlimit limit;
    struct stat about;
    off_t most = 0;

    for (size_t i = 0; i < 2; i++) {
        if (stat(notes[i], &about) == 0 && about.st_size > most) {
            most = about.st_size;
        }
    }
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = (rlim_t)most + 64 * 1024 + crash_random(random) % (256 * 1024);
    (void)setrlimit(RLIMIT_FSIZE, &limit);
}

static int child_open(Child *child)
{
    const CrashPlan *plan = child->plan;
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    QueueConfig config = {.path = plan->place.queue, .step = on_step, .context = child};
    Diag diag = DIAG_NULL;
    int r;

    child->told_fd = open(plan->place.told, flags, 0600);
    child->runs_fd = open(plan->place.runs, flags, 0600);
    if (child->told_fd < 0 || child->runs_fd < 0) {
        return 1;
    }
    r = queue_open(&child->queue, &config, &diag);
    if (r != 0) {
        (void)fprintf(stderr, "crash: the queue cannot be opened: %d: %s\n", r, diag.message);
        return 1;
    }
    if (plan->ready_fd >= 0) {
        (void)!write(plan->ready_fd, "!", 1);
    }
    return 0;
}

int crash_child(const CrashPlan *plan)
{
    Worker workers[PRODUCERS + WORKERS];
    Child child = {.plan = plan};
    uint64_t random = plan->seed;
    bool is_closing = strcmp(plan->step, "closing") == 0;

    if (child_open(&child) != 0) {
        return 3;
    }
    if (plan->is_disk_full) {
        fill_disk(&plan->place, &random);
    }
    for (unsigned i = plan->is_drain ? PRODUCERS : 0; i < PRODUCERS + WORKERS; i++) {
        workers[i] = (Worker){.child = &child,
                              .random = crash_random(&random) | 1,
                              .index = i < PRODUCERS ? i : i - PRODUCERS};
        if (io_thread_start(&workers[i].thread, i < PRODUCERS ? produce : work, &workers[i]) != 0) {
            return 3;
        }
    }
    while (is_closing && atomic_load(&child.n_told) < CLOSE_AFTER) {
        (void)usleep(500);
    }
    atomic_store(&child.is_ending, is_closing);
    for (unsigned i = plan->is_drain ? PRODUCERS : 0; i < PRODUCERS + WORKERS; i++) {
        io_thread_join(&workers[i].thread);
    }
    child.queue = queue_close(child.queue);
    return 0;
}
