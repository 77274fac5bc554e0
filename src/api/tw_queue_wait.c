/* Those who wait for a job, and for the end of one.
 *
 * Whoever asks and finds nothing is put into a list, on the queue's thread (wait_on_done); what
 * makes a job ready, or ends it, is told there, too, and sends the first whom it concerns back to
 * ask again. The queue tells in the order in which it did things: whoever asked before a job came
 * is in the list when it is told, whoever asked later has found it. So nobody misses one, and one
 * job wakes one thread. Whoever is sent for one job and finds another first passes the news on:
 * those behind may want what they left.
 *
 *             ┌── nothing ──▶ in the list ──┐ time passed, stopped ─▶ done, with nothing
 *     asking ─┤                  ▲          │
 *             └── found ─▶ done  └─ asking ◀┘ changed
 */
#include "api/tw_queue.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"

#define NS_PER_MS ((uint64_t)1000 * 1000)

/* Of an operation that is asked again. */
#define WAIT_KEEP_BYTES ((size_t)16 * 1024)

struct ApiWait {
    QueueOp op; /* a claim or a get; asked for by the one who waits, then by the queue's thread */
    TwQueue *queue;
    IoCondition changed;
    /* With the queue's lock. */
    bool is_listed;
    bool is_last; /* the time has passed: what is asked now is the end of it */
    bool is_done;
    ApiWait *next;
    ApiWait *prev;
    /* The queue's thread's: the job that a claim was sent back for; "": none. */
    char sent_id[QUEUE_ID_BYTES];
    char sent_method[LIMIT_QUEUE_NAME_BYTES];
    size_t n_sent_method;
};

/* ---- the list; with the lock ---- */

static void wait_list(TwQueue *queue, ApiWait *wait)
{
    wait->is_listed = true;
    queue->n_waiting++;
    wait->next = NULL;
    wait->prev = queue->last;
    if (queue->last != NULL) {
        queue->last->next = wait;
    } else {
        queue->first = wait;
    }
    queue->last = wait;
}

static void wait_unlist(TwQueue *queue, ApiWait *wait)
{
    wait->is_listed = false;
    queue->n_waiting--;
    if (wait->prev != NULL) {
        wait->prev->next = wait->next;
    } else {
        queue->first = wait->next;
    }
    if (wait->next != NULL) {
        wait->next->prev = wait->prev;
    } else {
        queue->last = wait->prev;
    }
}

static void wait_end(ApiWait *wait)
{
    wait->is_done = true;
    io_condition_signal(&wait->changed);
}

/* ---- on the queue's thread ---- */

static bool wait_has_found(const QueueOp *op)
{
    if (op->r != 0) {
        return true;
    }
    return op->verb == QUEUE_CLAIM ? op->n_jobs > 0 : job_is_over(op->jobs[0].state);
}

/* Was the job, for which this claim was sent back, left? If it found nothing, somebody has it. */
static bool wait_has_left(const ApiWait *wait)
{
    const QueueOp *op = &wait->op;

    if (wait->sent_id[0] == '\0' || (op->r == 0 && op->n_jobs == 0)) {
        return false;
    }
    for (size_t i = 0; i < op->n_jobs; i++) {
        if (strcmp(op->jobs[i].id, wait->sent_id) == 0) {
            return false;
        }
    }
    return true;
}

static void wait_pass_on(ApiWait *wait)
{
    QueueJob job = {.state = JOB_ENQUEUED, .pool = SPAN(API_QUEUE_POOL)};

    if (wait_has_left(wait)) {
        memcpy(job.id, wait->sent_id, sizeof(job.id));
        job.method = span_make(wait->sent_method, wait->n_sent_method);
        api_queue_changed(wait->queue, &job);
    }
    wait->sent_id[0] = '\0';
}

static void wait_on_done(QueueOp *op)
{
    ApiWait *wait = op->context;
    TwQueue *queue = wait->queue;

    wait_pass_on(wait);
    io_mutex_lock(&queue->lock);
    if (wait_has_found(op) || wait->is_last || queue->is_stopped) {
        wait_end(wait);
    } else {
        wait_list(queue, wait);
    }
    io_mutex_unlock(&queue->lock);
}

static bool wait_takes_method(const QueueClaim *claim, Span method)
{
    for (size_t i = 0; i < claim->n_methods; i++) {
        if (span_equals(claim->methods[i], method)) {
            return true;
        }
    }
    return claim->methods == NULL;
}

static bool wait_is_for(const ApiWait *wait, const QueueJob *job)
{
    const QueueOp *op = &wait->op;

    if (op->verb == QUEUE_CLAIM) {
        return job->state == JOB_ENQUEUED && span_equals(job->pool, SPAN(API_QUEUE_POOL)) &&
               wait_takes_method(&queue_op_order(op)->claim, job->method);
    }
    return job_is_over(job->state) && span_equals(queue_op_order(op)->id, span_from_str(job->id));
}

/* Back to ask again, because of that job. */
static void wait_send(ApiWait *wait, const QueueJob *job)
{
    if (wait->op.verb == QUEUE_CLAIM && job->method.n <= sizeof(wait->sent_method)) {
        memcpy(wait->sent_id, job->id, sizeof(wait->sent_id));
        memcpy(wait->sent_method, job->method.p, job->method.n);
        wait->n_sent_method = job->method.n;
    }
    arena_reset(&wait->op.arena, WAIT_KEEP_BYTES);
    queue_submit(wait->queue->queue, &wait->op);
}

/* One of those who want work, or all who want to hear of an end. */
void api_queue_changed(void *context, const QueueJob *job)
{
    TwQueue *queue = context;
    ApiWait *again = NULL;
    ApiWait *next;
    bool is_taken = false;

    io_mutex_lock(&queue->lock);
    for (ApiWait *wait = queue->first; wait != NULL && !is_taken; wait = next) {
        next = wait->next;
        if (!wait_is_for(wait, job)) {
            continue;
        }
        is_taken = wait->op.verb == QUEUE_CLAIM;
        wait_unlist(queue, wait);
        wait->next = again;
        again = wait;
    }
    io_mutex_unlock(&queue->lock);
    for (; again != NULL; again = next) {
        next = again->next;
        wait_send(again, job);
    }
}

/* ---- operations that do not wait for others ---- */

typedef struct ApiRun {
    TwQueue *queue;
    IoSemaphore done;
} ApiRun;

/* The queue does not tell of what its own worker says: that is us. */
static void run_on_done(QueueOp *op)
{
    ApiRun *run = op->context;

    if (op->verb == QUEUE_COMPLETE && op->r == 0 && job_is_over(op->jobs[0].state)) {
        api_queue_changed(run->queue, &op->jobs[0]);
    }
    io_semaphore_post(&run->done);
}

int api_queue_run(TwQueue *queue, QueueOp *op)
{
    ApiRun run = {.queue = queue};
    int r = io_semaphore_init(&run.done);

    if (r != 0) {
        return r;
    }
    op->done = run_on_done;
    op->context = &run;
    queue_submit(queue->queue, op);
    io_semaphore_wait(&run.done);
    io_semaphore_deinit(&run.done);
    return op->r;
}

/* ---- waiting ---- */

/* With the lock: until it is done, or the time has passed and nothing is asked any more. */
static void wait_for(ApiWait *wait, int64_t wait_ms)
{
    uint64_t start_ns = clock_monotonic_ns();
    uint64_t all_ns = wait_ms < 0 ? UINT64_MAX : (uint64_t)wait_ms * NS_PER_MS;

    while (!wait->is_done) {
        uint64_t passed_ns = clock_monotonic_ns() - start_ns;

        if (passed_ns >= all_ns && wait->is_listed) {
            wait_unlist(wait->queue, wait);
            return;
        }
        if (all_ns == UINT64_MAX || passed_ns >= all_ns) {
            wait->is_last = passed_ns >= all_ns;
            io_condition_wait(&wait->changed, &wait->queue->lock);
        } else {
            (void)io_condition_wait_for(&wait->changed, &wait->queue->lock, all_ns - passed_ns);
        }
    }
}

/* Asks, until something is found, wait_ms have passed, or the queue is stopped (*ret_stopped).
 * op->r. */
static int wait_run(TwQueue *queue, ApiWait *wait, int64_t wait_ms, bool *ret_stopped)
{
    int r = io_condition_init(&wait->changed);

    if (r != 0) {
        return r;
    }
    wait->queue = queue;
    wait->op.done = wait_on_done;
    wait->op.context = wait;
    wait->is_last = wait_ms == 0;
    queue_submit(queue->queue, &wait->op);
    io_mutex_lock(&queue->lock);
    wait_for(wait, wait_ms < 0 ? wait_ms : api_time(wait_ms));
    *ret_stopped = queue->is_stopped;
    io_mutex_unlock(&queue->lock);
    io_condition_deinit(&wait->changed);
    return wait->op.r;
}

void tw_queue_stop(TwQueue *queue)
{
    if (queue == NULL) {
        return;
    }
    io_mutex_lock(&queue->lock);
    queue->is_stopped = true;
    while (queue->first != NULL) {
        ApiWait *wait = queue->first;

        wait_unlist(queue, wait);
        wait_end(wait);
    }
    io_mutex_unlock(&queue->lock);
}

/* ---- claims ---- */

void api_queue_give_back(TwQueue *queue, QueueOp *op, size_t at)
{
    const QueueJob *jobs = op->jobs; /* in its arena, which stays as it is */
    size_t n = op->n_jobs;

    for (size_t i = at; i < n; i++) {
        queue_op_set(op, QUEUE_COMPLETE,
                     &(QueueOrder){.id = span_from_str(jobs[i].id),
                                   .finish = {.state = JOB_ENQUEUED, .away_ms = 1}});
        op->fence = jobs[i].fence;
        (void)api_queue_run(queue, op);
    }
}

/* Gives *ret_methods. 0, -ENOMEM. */
static int claim_methods(const char *const *names, QueueClaim *ret, Span **ret_methods)
{
    Span *methods;
    size_t n = 0;

    while (names[n] != NULL) {
        n++;
    }
    methods = mem_alloc_array(n + 1, sizeof(*methods));
    if (methods == NULL) {
        return TW_ERROR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        methods[i] = span_from_str(names[i]);
    }
    ret->methods = methods;
    ret->n_methods = n;
    *ret_methods = methods;
    return TW_OK;
}

int api_queue_claim_read(const TwJobClaim *claim, QueueClaim *ret, Span **ret_methods,
                         TwQueueError *reterr)
{
    static const TwJobClaim plain = {.max = 1};

    claim = claim != NULL ? claim : &plain;
    *ret = (QueueClaim){
        .pool = SPAN(API_QUEUE_POOL),
        .worker = api_span(claim->worker),
        .max = claim->max == 0 ? 1 : claim->max,
        .lease_ms = api_time(claim->lease_ms),
    };
    if (claim->lease_ms < 0 || claim->wait_ms < TW_WAIT_FOREVER) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "lease_ms or wait_ms is negative");
    }
    if (claim->methods == NULL) {
        return TW_OK;
    }
    if (claim->methods[0] == NULL) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "methods names none");
    }
    if (claim_methods(claim->methods, ret, ret_methods) != TW_OK) {
        return api_queue_refuse(reterr, TW_ERROR_MEMORY, "no memory");
    }
    return TW_OK;
}

/* What a claim gave. */
static int claim_end(ApiWait *wait, bool is_stopped, TwJobs **ret, TwQueueError *reterr)
{
    TwJobs *jobs;

    if (wait->op.n_jobs == 0) {
        return is_stopped ? api_queue_refuse(reterr, TW_ERROR_CLOSED, "the queue is stopped")
                          : api_queue_refuse(reterr, TW_ERROR_TIMEOUT, "no job is ready");
    }
    jobs = api_jobs_new(&wait->op, 0);
    if (jobs == NULL) {
        api_queue_give_back(wait->queue, &wait->op, 0);
        return api_queue_refuse(reterr, TW_ERROR_MEMORY, "no memory");
    }
    *ret = jobs;
    return TW_OK;
}

int tw_queue_claim(TwQueue *queue, const TwJobClaim *claim, TwJobs **ret, TwQueueError *reterr)
{
    CLEANUP(mem_freep) Span *methods = NULL;
    QueueOrder order = {.id = SPAN_NULL};
    ApiWait wait = {.is_done = false};
    bool is_stopped;
    int r;

    if (queue == NULL || ret == NULL) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "queue and ret must be there");
    }
    queue_op_init(&wait.op);
    r = api_queue_claim_read(claim, &order.claim, &methods, reterr);
    queue_op_set(&wait.op, QUEUE_CLAIM, &order);
    io_mutex_lock(&queue->lock);
    is_stopped = queue->is_stopped;
    io_mutex_unlock(&queue->lock);
    if (r == 0 && !is_stopped) {
        r = api_queue_error(wait_run(queue, &wait, claim == NULL ? 0 : claim->wait_ms, &is_stopped),
                            reterr);
    }
    if (r == 0) {
        r = claim_end(&wait, is_stopped, ret, reterr);
    }
    queue_op_deinit(&wait.op);
    return r;
}

/* ---- gets ---- */

int tw_queue_get(TwQueue *queue, const char *id, int64_t wait_ms, TwJobs **ret,
                 TwQueueError *reterr)
{
    ApiWait wait = {.is_done = false};
    bool is_stopped;
    int r;

    if (queue == NULL || id == NULL || ret == NULL || wait_ms < TW_WAIT_FOREVER) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT,
                                "queue, id and ret must be there, and wait_ms not negative");
    }
    queue_op_init(&wait.op);
    queue_op_set(&wait.op, QUEUE_GET, &(QueueOrder){.id = api_span(id)});
    r = api_queue_error(wait_run(queue, &wait, wait_ms, &is_stopped), reterr);
    if (r == 0) {
        TwJobs *jobs = api_jobs_new(&wait.op, 0);

        r = jobs != NULL ? TW_OK : api_queue_refuse(reterr, TW_ERROR_MEMORY, "no memory");
        *ret = jobs != NULL ? jobs : *ret;
    }
    queue_op_deinit(&wait.op);
    return r;
}
