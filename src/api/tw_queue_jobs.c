/* Jobs as the program reads them, and what lists, counts and removes them. */
#include "api/tw_queue.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/limits.h"

struct TwJobs {
    Arena arena;
    TwJob *jobs;
    size_t n;
};

/* ---- states ---- */

bool api_job_state(TwJobState state, JobState *ret)
{
    if ((int)state < TW_JOB_ENQUEUED || (int)state > TW_JOB_CANCELLED) {
        return false;
    }
    *ret = (JobState)((int)state - TW_JOB_ENQUEUED);
    return true;
}

TwJobState api_job_state_of(JobState state)
{
    return (TwJobState)((int)state + TW_JOB_ENQUEUED);
}

_Static_assert((int)JOB_CANCELLED + (int)TW_JOB_ENQUEUED == (int)TW_JOB_CANCELLED &&
                   (int)JOB_N_STATES == (int)TW_JOB_CANCELLED,
               "the states differ");

const char *tw_job_state_name(TwJobState state)
{
    JobState own;

    if (state == TW_JOB_ANY) {
        return "ANY";
    }
    return api_job_state(state, &own) ? job_state_name(own) : "UNKNOWN";
}

bool tw_job_is_over(TwJobState state)
{
    JobState own;

    return api_job_state(state, &own) && job_is_over(own);
}

/* ---- reading ---- */

/* A copy that ends in NUL, which texts of the store need not do. */
static bool job_text(TwJobs *jobs, Span s, const char *none, const char **ret)
{
    *ret = s.n == 0 ? none : api_copy_utf8(&jobs->arena, s);
    return s.n == 0 || *ret != NULL;
}

/* False: no memory. */
static bool job_read(TwJobs *jobs, const QueueJob *from, TwJob *ret)
{
    *ret = (TwJob){
        .state = api_job_state_of(from->state),
        .priority = from->priority,
        .timeout_ms = from->timeout_ms,
        .fence = from->fence,
        .attempt = from->n_attempts,
        .max_attempts = from->max_attempts,
        .idempotent = from->is_idempotent,
        .enqueued_us = from->enqueued_us,
        .started_us = from->started_us,
        .beat_us = from->beat_us,
        .finished_us = from->finished_us,
        .is_dropped = from->is_dropped,
    };
    return job_text(jobs, span_from_str(from->id), "", &ret->id) &&
           job_text(jobs, from->method, "", &ret->method) &&
           job_text(jobs, from->params, NULL, &ret->params_json) &&
           job_text(jobs, from->idempotency_key, "", &ret->key) &&
           job_text(jobs, from->worker, "", &ret->worker) &&
           job_text(jobs, from->code, "", &ret->code) &&
           job_text(jobs, from->message, "", &ret->message) &&
           job_text(jobs, from->result, NULL, &ret->result_json);
}

TwJobs *api_jobs_new(const QueueOp *op, size_t at)
{
    TwJobs *jobs = mem_alloc_array(1, sizeof(*jobs));
    size_t n = op->n_jobs - at;
    bool fits;

    if (jobs == NULL) {
        return NULL;
    }
    /* Those texts, and a NUL behind each. */
    arena_init(&jobs->arena, 2 * LIMIT_QUEUE_OP_BYTES);
    jobs->jobs = arena_alloc_array(&jobs->arena, n + 1, sizeof(*jobs->jobs));
    fits = jobs->jobs != NULL;
    for (size_t i = 0; fits && i < n; i++) {
        fits = job_read(jobs, &op->jobs[at + i], &jobs->jobs[i]);
    }
    if (!fits) {
        tw_jobs_free(jobs);
        return NULL;
    }
    jobs->n = n;
    return jobs;
}

size_t tw_jobs_count(const TwJobs *jobs)
{
    return jobs == NULL ? 0 : jobs->n;
}

const TwJob *tw_jobs_at(const TwJobs *jobs, size_t at)
{
    return jobs == NULL || at >= jobs->n ? NULL : &jobs->jobs[at];
}

void tw_jobs_free(TwJobs *jobs)
{
    if (jobs != NULL) {
        arena_deinit(&jobs->arena);
        (void)mem_free(jobs);
    }
}

/* ---- all of them ---- */

static int list_read(const TwJobFilter *filter, QueueList *ret)
{
    if (filter == NULL) {
        return 0;
    }
    if (filter->state != TW_JOB_ANY) {
        ret->has_state = api_job_state(filter->state, &ret->state);
        if (!ret->has_state) {
            return -EINVAL;
        }
    }
    ret->before = api_span(filter->before);
    ret->limit = filter->limit;
    ret->with_bodies = filter->with_bodies;
    return 0;
}

int tw_queue_list(TwQueue *queue, const TwJobFilter *filter, TwJobs **ret, TwQueueError *reterr)
{
    QueueOrder order = {.id = SPAN_NULL};
    QueueOp op;
    int r;

    if (queue == NULL || ret == NULL) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "queue and ret must be there");
    }
    queue_op_init(&op);
    r = list_read(filter, &order.list) == 0
            ? TW_OK
            : api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "state: that is none");
    if (r == 0) {
        queue_op_set(&op, QUEUE_LIST, &order);
        r = api_queue_error(api_queue_run(queue, &op), reterr);
    }
    if (r == 0) {
        TwJobs *jobs = api_jobs_new(&op, 0);

        r = jobs != NULL ? TW_OK : api_queue_error(-ENOMEM, reterr);
        *ret = jobs != NULL ? jobs : *ret;
    }
    queue_op_deinit(&op);
    return r;
}

int tw_queue_count(TwQueue *queue, TwJobState state, uint64_t *ret_n, TwQueueError *reterr)
{
    JobState only = JOB_N_STATES;
    uint64_t n = 0;
    QueueOp op;
    int r;

    if (queue == NULL || ret_n == NULL || (state != TW_JOB_ANY && !api_job_state(state, &only))) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT,
                                "queue and ret_n must be there, and state be one");
    }
    queue_op_init(&op);
    queue_op_set(&op, QUEUE_COUNT, NULL);
    r = api_queue_error(api_queue_run(queue, &op), reterr);
    for (unsigned i = 0; i < JOB_N_STATES; i++) {
        n += only == JOB_N_STATES || only == (JobState)i ? op.counts.n[i] : 0;
    }
    if (r == 0) {
        *ret_n = n;
    }
    queue_op_deinit(&op);
    return r;
}

int tw_queue_purge(TwQueue *queue, unsigned states, int64_t older_ms, uint64_t *ret_n,
                   TwQueueError *reterr)
{
    QueueOp op;
    int r;

    if (queue == NULL || older_ms < 0) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT,
                                "queue must be there, and older_ms not negative");
    }
    queue_op_init(&op);
    queue_op_set(&op, QUEUE_PURGE, NULL);
    op.purge.older_ms = api_time(older_ms);
    for (unsigned i = 0; i < JOB_N_STATES; i++) {
        unsigned bit = 1u << api_job_state_of((JobState)i);

        op.purge.states[i] = (states & bit) != 0 && job_is_over((JobState)i);
        states &= op.purge.states[i] ? ~bit : ~0u;
    }
    r = states == 0
            ? api_queue_error(api_queue_run(queue, &op), reterr)
            : api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "states: not all of them are ends");
    if (r == 0 && ret_n != NULL) {
        *ret_n = op.n_changed;
    }
    queue_op_deinit(&op);
    return r;
}
