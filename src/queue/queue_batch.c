/* One commit for many: runs the operations of a batch, commits, and tells.
 *
 * When the store fails (a full disk, say), all of the batch is undone, and everything in it that
 * would have changed something ends with that failure. What only reads is run again, by itself:
 * a disk that is full can still be read. */
#include "queue/queue_impl.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"

/* Jobs that a batch looks at because their time has come. */
#define BATCH_SWEEP_JOBS 256

/* After a sweep that failed: the disk may be full for long, and what is due stays due. */
#define BATCH_SWEEP_AGAIN_US ((int64_t)1000 * 1000)

/* Who keeps asking while the disk is full is answered each time; the log says it so often. */
#define BATCH_SAY_AGAIN_US ((int64_t)60 * 1000 * 1000)

/* News of one batch: texts of BATCH_SWEEP_JOBS jobs. */
#define BATCH_KEEP_BYTES ((size_t)64 * 1024)

/* ---- news ---- */

static bool batch_copy(Arena *arena, Span *s)
{
    Span copy = s->n == 0 ? SPAN_NULL : arena_copy(arena, *s);
    bool fits = s->n == 0 || copy.p != NULL;

    *s = copy;
    return fits;
}

/* Of a sweep, which tells before the commit: kept until that is done. */
static void batch_on_swept(void *context, const QueueJob *job)
{
    Queue *queue = context;
    QueueNews *news = arena_alloc_array(&queue->arena, 1, sizeof(*news));
    bool fits = news != NULL;

    if (fits) {
        news->job = *job;
        Span *texts[] = {&news->job.method, &news->job.params,  &news->job.pool,
                         &news->job.owner,  &news->job.source,  &news->job.rpc_id,
                         &news->job.note,   &news->job.worker,  &news->job.idempotency_key,
                         &news->job.code,   &news->job.message, &news->job.result,
                         &news->job.asks,   &news->job.inputs};

        for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
            fits = batch_copy(&queue->arena, texts[i]) && fits;
        }
    }
    if (!fits) {
        logsink_write(queue->log, LOGSINK_LEVEL_WARN, "queue",
                      "no memory to tell that %s has changed", job->id);
        return;
    }
    *queue->news_end = news;
    queue->news_end = &news->next;
}

static void batch_forget_news(Queue *queue)
{
    queue->news = NULL;
    queue->news_end = &queue->news;
    arena_reset(&queue->arena, BATCH_KEEP_BYTES);
}

/* The job of an operation that has made it ready, or taken it from whoever runs it. */
static void batch_tell_job(Queue *queue, const QueueOp *op)
{
    const QueueSpec *spec = &queue_op_order(op)->spec;
    const QueueJob *own = op->n_jobs > 0 ? &op->jobs[0] : NULL;
    QueueJob job;

    if (queue->changed == NULL || op->r != 0 || own == NULL) {
        return;
    }
    switch (op->verb) {
    case QUEUE_ENQUEUE:
        if (op->is_known || op->is_quiet || spec->delay_ms > 0) {
            return;
        }
        job = *own;
        job.method = spec->method;
        job.pool = spec->pool;
        job.owner = spec->owner;
        job.source = spec->source;
        job.rpc_id = spec->rpc_id;
        job.idempotency_key = spec->idempotency_key;
        job.note = spec->note;
        queue->changed(queue->context, &job);
        return;
    case QUEUE_ASK:
    case QUEUE_ANSWER:
    case QUEUE_RETRY:
        if (own->state == JOB_ENQUEUED) {
            queue->changed(queue->context, own);
        }
        return;
    case QUEUE_CANCEL:
        queue->changed(queue->context, own);
        return;
    case QUEUE_CLAIM:
    case QUEUE_COMPLETE:
    case QUEUE_BEAT:
    case QUEUE_WAKE:
    case QUEUE_GET:
    case QUEUE_LIST:
    case QUEUE_COUNT:
    case QUEUE_PURGE:
    case QUEUE_N_VERBS:
    default:
        return;
    }
}

/* ---- one batch ---- */

static bool batch_is_read(const QueueOp *op)
{
    return op->verb == QUEUE_GET || op->verb == QUEUE_LIST || op->verb == QUEUE_COUNT;
}

static bool batch_has_written(const QueueOp *op)
{
    return op->r == 0 && !batch_is_read(op) && !op->is_known &&
           (op->verb != QUEUE_CLAIM || op->n_jobs > 0 || op->n_changed > 0) &&
           (op->verb != QUEUE_WAKE || op->n_changed > 0);
}

/* What is due; a failure is the batch's. */
static int batch_sweep(Queue *queue, StoreNow now)
{
    int r;

    if (now.line_us < queue->sweep_after_us ||
        (!queue->is_sweep_more && store_next_us(queue->store) > now.line_us)) {
        return 0;
    }
    r = store_sweep(queue->store, BATCH_SWEEP_JOBS, queue->changed != NULL ? batch_on_swept : NULL,
                    queue);
    queue->is_sweep_more = r == STORE_E_MORE;
    if (r != 0 && r != STORE_E_MORE) {
        queue->sweep_after_us = now.line_us + BATCH_SWEEP_AGAIN_US;
        return r;
    }
    queue_step(queue, QUEUE_STEP_SWEPT);
    return 0;
}

/* Runs the operations of the batch; those with more to do go to *more. */
static int batch_operate(Queue *queue, QueueOps *ops, QueueOps *more)
{
    QueueOps done = {NULL, NULL};
    QueueOp *op;
    int r = 0;

    while (r == 0 && (op = queue_ops_pop(ops)) != NULL) {
        r = store_run(queue->store, op);
        queue_ops_push(r == STORE_E_MORE ? more : &done, op);
        r = r == STORE_E_MORE ? 0 : r;
        queue_step(queue, QUEUE_STEP_RUN);
    }
    /* What has not run after a failure stays behind what has. */
    while ((op = queue_ops_pop(ops)) != NULL) {
        queue_ops_push(&done, op);
    }
    *ops = done;
    return r;
}

static void batch_count(Queue *queue, const QueueOps *ops, bool wrote)
{
    QueueOp count = {.verb = QUEUE_COUNT};
    uint64_t n_ops = 0;
    uint64_t n_writes = 0;

    (void)store_run(queue->store, &count);
    for (const QueueOp *op = ops->first; op != NULL; op = op->next) {
        n_ops++;
        n_writes += batch_has_written(op) ? 1 : 0;
    }
    io_mutex_lock(&queue->lock);
    queue->figures.n_commits += wrote ? 1 : 0;
    queue->figures.n_ops += n_ops;
    queue->figures.n_writes += n_writes;
    queue->figures.counts = count.counts;
    io_mutex_unlock(&queue->lock);
}

/* May the log have such a line now? Failures and successes may alternate. */
static bool batch_may_say(Queue *queue, StoreNow now, QueueSaid what)
{
    if (now.line_us < queue->quiet_until_us[what]) {
        return false;
    }
    queue->quiet_until_us[what] = now.line_us + BATCH_SAY_AGAIN_US;
    return true;
}

static void batch_say_failed(Queue *queue, StoreNow now, int r)
{
    const char *file = store_file(queue->store);
    QueueSaid what = r == QUEUE_E_DISK_FULL ? QUEUE_SAID_FULL
                     : r == QUEUE_E_DAMAGED ? QUEUE_SAID_DAMAGED
                                            : QUEUE_SAID_FAILED;

    queue->n_failed++;
    if (!batch_may_say(queue, now, what)) {
        return;
    }
    switch (what) {
    case QUEUE_SAID_FULL:
        logsink_write(queue->log, LOGSINK_LEVEL_ERROR, "queue",
                      "the disk of %s is full: jobs are refused, and ends are not recorded, until "
                      "there is room",
                      file);
        break;
    case QUEUE_SAID_DAMAGED:
        logsink_write(queue->log, LOGSINK_LEVEL_ERROR, "queue", "%s is damaged: " QUEUE_REMEDY,
                      file, file);
        break;
    default:
        logsink_write(queue->log, LOGSINK_LEVEL_ERROR, "queue",
                      "%s cannot be read or written (%d): jobs are refused", file, r);
        break;
    }
    queue->is_failure_said = true;
}

static void batch_say_works(Queue *queue, StoreNow now)
{
    if (!queue->is_failure_said || !batch_may_say(queue, now, QUEUE_SAID_WORKS)) {
        return;
    }
    logsink_write(queue->log, LOGSINK_LEVEL_WARN, "queue",
                  "%s is written again; %" PRIu64 " commits have failed", store_file(queue->store),
                  queue->n_failed);
    queue->is_failure_said = false;
    queue->n_failed = 0;
}

/* 0: ops and *more are on disk. Else nothing is, and *more is empty. */
static int batch_commit(Queue *queue, QueueOps *ops, QueueOps *more, bool with_sweep)
{
    StoreNow now = queue_now(queue);
    bool wrote = false;
    QueueOp *op;
    int r = store_begin(queue->store, now);

    if (r == 0) {
        queue_step(queue, QUEUE_STEP_BEGUN);
        r = with_sweep ? batch_sweep(queue, now) : 0;
    }
    if (r == 0) {
        r = batch_operate(queue, ops, more);
    }
    if (r == 0) {
        queue_step(queue, QUEUE_STEP_COMMIT);
        r = store_commit(queue->store, &wrote);
    }
    if (r == 0) {
        queue_step(queue, QUEUE_STEP_COMMITTED);
        batch_count(queue, ops, wrote);
        if (wrote) {
            batch_say_works(queue, now);
        }
        return 0;
    }
    store_rollback(queue->store);
    batch_forget_news(queue);
    while ((op = queue_ops_pop(more)) != NULL) {
        queue_ops_push(ops, op);
    }
    queue->sweep_after_us = now.line_us + BATCH_SWEEP_AGAIN_US;
    batch_say_failed(queue, now, r);
    return r;
}

static void batch_clear(QueueOp *op, int r)
{
    op->r = r;
    op->is_known = false;
    op->jobs = NULL;
    op->n_jobs = 0;
}

/* The batch has failed with r: what reads is run again, the rest has failed with it. */
static void batch_fail(Queue *queue, QueueOps *ops, int r)
{
    QueueOps reads = {NULL, NULL};
    QueueOps writes = {NULL, NULL};
    QueueOps more = {NULL, NULL};
    QueueOp *op;

    while ((op = queue_ops_pop(ops)) != NULL) {
        batch_clear(op, batch_is_read(op) ? 0 : r);
        queue_ops_push(batch_is_read(op) ? &reads : &writes, op);
    }
    if (reads.first != NULL) {
        r = batch_commit(queue, &reads, &more, false);
    }
    while ((op = queue_ops_pop(&reads)) != NULL) {
        if (r != 0) {
            batch_clear(op, r);
        }
        queue_ops_push(&writes, op);
    }
    *ops = writes;
}

/* Once for each job, be it asked for as often as it may. */
static void batch_say_damaged(Queue *queue, const QueueJob *job)
{
    if (!job->is_damaged && !span_equals(job->code, SPAN(QUEUE_CODE_DAMAGED))) {
        return;
    }
    for (size_t i = 0; i < QUEUE_DAMAGED_SAID; i++) {
        if (strcmp(queue->damaged_said[i], job->id) == 0) {
            return;
        }
    }
    memcpy(queue->damaged_said[queue->n_damaged_said++ % QUEUE_DAMAGED_SAID], job->id,
           QUEUE_ID_BYTES);
    logsink_write(queue->log, LOGSINK_LEVEL_ERROR, "queue", "%s: " QUEUE_TEXT_DAMAGED, job->id);
}

static void batch_tell(Queue *queue, QueueOps *ops)
{
    QueueOp *op;

    for (const QueueNews *news = queue->news; news != NULL; news = news->next) {
        batch_say_damaged(queue, &news->job);
        queue->changed(queue->context, &news->job);
    }
    batch_forget_news(queue);
    while ((op = queue_ops_pop(ops)) != NULL) {
        for (size_t i = 0; batch_is_read(op) && i < op->n_jobs; i++) {
            batch_say_damaged(queue, &op->jobs[i]);
        }
        batch_tell_job(queue, op);
        op->done(op); /* from here on it is its owner's */
        queue_step(queue, QUEUE_STEP_TOLD);
    }
}

static void batch_settle(Queue *queue)
{
    bool is_idle;

    io_mutex_lock(&queue->lock);
    is_idle = queue->ops.first == NULL && queue->taken.first == NULL && queue->again.first == NULL;
    io_mutex_unlock(&queue->lock);
    queue_step(queue, QUEUE_STEP_SETTLE);
    if (store_settle(queue->store, is_idle)) {
        queue_step(queue, QUEUE_STEP_SETTLED);
    }
}

void queue_batch_run(Queue *queue)
{
    int r = batch_commit(queue, &queue->batch, &queue->again, true);

    if (r != 0) {
        batch_fail(queue, &queue->batch, r);
    }
    batch_tell(queue, &queue->batch);
    batch_settle(queue);
}

uint64_t queue_batch_wait_ns(Queue *queue)
{
    int64_t now_us = queue_now(queue).line_us;
    int64_t next_us = queue->is_sweep_more ? now_us : store_next_us(queue->store);

    if (next_us < queue->sweep_after_us) {
        next_us = queue->sweep_after_us;
    }
    if (next_us == INT64_MAX) {
        return UINT64_MAX;
    }
    return next_us > now_us ? (uint64_t)(next_us - now_us) * 1000 : 0;
}

int queue_batch_recover(Queue *queue)
{
    bool wrote;
    int r = store_begin(queue->store, queue_now(queue));

    if (r == 0) {
        r = store_recover(queue->store);
    }
    if (r == 0) {
        queue_step(queue, QUEUE_STEP_RECOVERED);
        r = store_commit(queue->store, &wrote);
    }
    if (r != 0) {
        store_rollback(queue->store);
    }
    return r;
}
