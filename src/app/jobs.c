/* What the queue's thread tells comes here through two lists under one lock: answers to what was
 * asked, and news of jobs that changed by themselves. One wake serves any number of them. */
#include "app/jobs.h"

#include <string.h>

#include "app/jobs_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"

/* ---- on the queue's thread ---- */

static void jobs_on_done(QueueOp *op)
{
    JobsAsk *ask = op->context;
    Jobs *jobs = ask->jobs;

    ask->next = NULL;
    io_mutex_lock(&jobs->lock);
    if (jobs->last_answer != NULL) {
        jobs->last_answer->next = ask;
    } else {
        jobs->first_answer = ask;
    }
    jobs->last_answer = ask;
    io_mutex_unlock(&jobs->lock);
    io_wake_send(jobs->wake);
}

/* What tells a job's state and whose it is, in one piece. NULL: no memory. */
static JobsNews *news_new(const QueueJob *job)
{
    const Span from[] = {job->method, job->pool,    job->owner, job->source,
                         job->code,   job->message, job->rpc_id};
    size_t n = sizeof(JobsNews);
    JobsNews *news;
    char *at;

    for (size_t i = 0; i < TW_ARRAY_SIZE(from); i++) {
        n += from[i].n; /* each is in memory already: no overflow */
    }
    news = mem_alloc(n);
    if (news == NULL) {
        return NULL;
    }
    news->next = NULL;
    news->job = *job;
    news->job.params = news->job.note = news->job.result = SPAN_NULL;
    news->job.worker = news->job.idempotency_key = SPAN_NULL;
    Span *to[] = {&news->job.method, &news->job.pool,    &news->job.owner, &news->job.source,
                  &news->job.code,   &news->job.message, &news->job.rpc_id};

    at = news->texts;
    for (size_t i = 0; i < TW_ARRAY_SIZE(from); i++) {
        *to[i] = SPAN_NULL;
        if (from[i].n > 0) {
            memcpy(at, from[i].p, from[i].n);
            *to[i] = span_make(at, from[i].n);
            at += from[i].n;
        }
    }
    /* Whether it asks, or was answered, shows in its state as a task; what does not matter here. */
    news->job.asks = job->asks.n > 0 ? SPAN("{}") : SPAN_NULL;
    news->job.inputs = job->inputs.n > 0 ? SPAN("{}") : SPAN_NULL;
    return news;
}

static void jobs_on_changed(void *context, const QueueJob *job)
{
    Jobs *jobs = context;
    JobsNews *news = news_new(job);

    io_mutex_lock(&jobs->lock);
    if (news == NULL) {
        jobs->lost_news = true;
    } else if (jobs->last_news != NULL) {
        jobs->last_news->next = news;
        jobs->last_news = news;
    } else {
        jobs->first_news = jobs->last_news = news;
    }
    io_mutex_unlock(&jobs->lock);
    io_wake_send(jobs->wake);
}

/* ---- on the loop ---- */

/* Was this change, or a later one, told before? Notes it. */
static bool jobs_was_told(Jobs *jobs, const QueueJob *job)
{
    uint64_t id = hash_span((HashSeed){0}, span_from_str(job->id));
    struct JobsTold *told = &jobs->told[id % JOBS_MAX_TOLD];

    if (told->id == id && told->version >= job->version) {
        return true;
    }
    *told = (struct JobsTold){.id = id, .version = job->version};
    return false;
}

static void jobs_tell_listeners(Jobs *jobs, const QueueJob *job)
{
    jobs->listener_walk = jobs->listeners;
    while (jobs->listener_walk != NULL) {
        JobsListener *listener = jobs->listener_walk;

        jobs->listener_walk = listener->next;
        listener->changed(listener, job);
    }
}

void jobs_changed(Jobs *jobs, const QueueJob *job)
{
    if (job->state == JOB_ENQUEUED && job->pool.n == 0) {
        jobs->is_ready = true;
    }
    if (jobs_was_told(jobs, job)) {
        return;
    }
    jobs_run_changed(jobs, job);
    jobs_later_changed(jobs, job);
    jobs_tell_listeners(jobs, job);
}

/* A job that has just been put into the queue: nobody runs it yet, or waits for its end. */
static void jobs_enqueued(Jobs *jobs, const QueueOp *op)
{
    const QueueSpec *spec = &queue_op_order(op)->spec;
    QueueJob job;

    if (op->verb != QUEUE_ENQUEUE || op->r != 0 || op->n_jobs == 0 || op->is_known ||
        spec->delay_ms > 0) {
        return;
    }
    job = op->jobs[0];
    job.method = spec->method;
    job.pool = spec->pool;
    job.owner = spec->owner;
    job.source = spec->source;
    job.rpc_id = spec->rpc_id;
    jobs->is_ready = jobs->is_ready || spec->pool.n == 0;
    jobs_tell_listeners(jobs, &job);
}

void jobs_tell(Jobs *jobs, const QueueJob *job)
{
    jobs_changed(jobs, job);
    jobs_claim(jobs);
}

static void jobs_hear(Jobs *jobs)
{
    JobsAsk *answer;
    JobsNews *news;

    io_mutex_lock(&jobs->lock);
    answer = jobs->first_answer;
    news = jobs->first_news;
    jobs->first_answer = jobs->last_answer = NULL;
    jobs->first_news = jobs->last_news = NULL;
    if (jobs->lost_news) {
        jobs->lost_news = false;
        jobs->is_ready = true;
    }
    io_mutex_unlock(&jobs->lock);
    jobs_away_hear(jobs);
    while (answer != NULL) {
        JobsAsk *next = answer->next;

        jobs_enqueued(jobs, &answer->op);
        answer->told(answer);
        answer = next;
    }
    while (news != NULL) {
        JobsNews *next = news->next;

        jobs_changed(jobs, &news->job);
        (void)mem_free(news);
        news = next;
    }
    jobs_claim(jobs);
}

static void jobs_on_wake(void *context)
{
    jobs_hear(context);
}

static void jobs_submit(Jobs *jobs)
{
    QueueOp *first = jobs->first_asked;

    jobs->first_asked = jobs->last_asked = NULL;
    if (first != NULL) {
        queue_submit_all(jobs->queue, first);
    }
}

static void jobs_on_turn(void *context)
{
    jobs_submit(context);
}

void jobs_ask(Jobs *jobs, JobsAsk *ask)
{
    const QueueSpec *spec = &queue_op_order(&ask->op)->spec;

    ask->jobs = jobs;
    ask->op.done = jobs_on_done;
    ask->op.context = ask;
    if (ask->op.verb == QUEUE_ENQUEUE && spec->pool.n == 0) {
        jobs_away_expect(jobs, spec->method);
    }
    ask->op.is_quiet = true; /* the loop hears of it with the answer */
    if (jobs->queue != NULL) {
        ask->op.next = NULL;
        if (jobs->last_asked != NULL) {
            jobs->last_asked->next = &ask->op;
        } else {
            jobs->first_asked = &ask->op;
        }
        jobs->last_asked = &ask->op;
        if (io_loop_is_settling(jobs->loop)) {
            jobs_submit(jobs);
        }
    } else {
        ask->op.r = QUEUE_E_CLOSED;
        jobs_on_done(&ask->op);
    }
}

void jobs_listen(Jobs *jobs, JobsListener *listener)
{
    listener->prev = NULL;
    listener->next = jobs->listeners;
    if (listener->next != NULL) {
        listener->next->prev = listener;
    }
    jobs->listeners = listener;
}

void jobs_unlisten(Jobs *jobs, JobsListener *listener)
{
    if (jobs->listener_walk == listener) {
        jobs->listener_walk = listener->next;
    }
    if (listener->prev != NULL) {
        listener->prev->next = listener->next;
    } else {
        jobs->listeners = listener->next;
    }
    if (listener->next != NULL) {
        listener->next->prev = listener->prev;
    }
    listener->next = listener->prev = NULL;
}

/* ---- life ---- */

static int jobs_init(Jobs *jobs, Diag *reterr_diag)
{
    const JobsConfig *config = &jobs->config;
    int r = io_mutex_init(&jobs->lock);

    if (r != 0) {
        return err_pass(r);
    }
    jobs->has_lock = true;
    r = io_wake_new(&jobs->wake, jobs->loop, jobs_on_wake, jobs);
    if (r != 0) {
        return err_pass(r);
    }
    r = jobs_away_init(jobs);
    if (r != 0) {
        return err_pass(r);
    }
    r = io_before_wait_new(&jobs->turn, jobs->loop, jobs_on_turn, jobs);
    if (r != 0) {
        return err_pass(r);
    }
    r = queue_open(&jobs->queue,
                   &(QueueConfig){
                       .path = config->path,
                       .max_body_bytes = config->max_body_bytes,
                       .max_waiting = config->max_waiting,
                       .keep_ms = config->keep_ms,
                       .keep_bytes = config->keep_bytes,
                       .changed = jobs_on_changed,
                       .context = jobs,
                       .log = config->log,
                   },
                   reterr_diag);
    if (r != 0) {
        return r;
    }
    jobs_away_begin(jobs);
    router_set_later(jobs->router, &jobs_later, jobs);
    jobs->is_ready = true; /* what the last process left */
    io_wake_send(jobs->wake);
    return 0;
}

int jobs_new(Jobs **ret, const JobsConfig *config, Diag *reterr_diag)
{
    Jobs *jobs = mem_alloc_array(1, sizeof(*jobs));
    int r;

    if (jobs == NULL) {
        return err_raise(-ENOMEM);
    }
    *jobs = (Jobs){
        .config = *config,
        .loop = hub_loop(config->hub),
        .router = hub_router(config->hub),
    };
    if (jobs->config.max_running == 0) {
        jobs->config.max_running = LIMIT_JOBS_RUNNING;
    }
    if (jobs->config.away_ms == 0) {
        jobs->config.away_ms = LIMIT_JOBS_AWAY_MS;
    }
    r = jobs_init(jobs, reterr_diag);
    if (r != 0) {
        (void)jobs_free(jobs);
        return r;
    }
    *ret = jobs;
    return 0;
}

static void jobs_tell_closed(Jobs *jobs)
{
    void (*closed)(void *context) = jobs->closed;

    jobs->closed = NULL;
    if (closed != NULL) {
        closed(jobs->closed_context);
    }
}

static void jobs_on_drained(void *context)
{
    jobs_tell_closed(context);
}

void jobs_run_idle(Jobs *jobs)
{
    if (jobs->is_stopping && jobs->drain != NULL) {
        io_timer_start_at(jobs->drain, io_loop_now_ms(jobs->loop)); /* not from inside a call */
    }
}

void jobs_shutdown(Jobs *jobs, int64_t drain_ms, void (*closed)(void *context), void *context)
{
    jobs->is_stopping = true;
    jobs->closed = closed;
    jobs->closed_context = context;
    if (jobs->drain == NULL &&
        io_timer_new(&jobs->drain, jobs->loop, false, jobs_on_drained, jobs) != 0) {
        jobs_tell_closed(jobs);
        return;
    }
    io_timer_start_at(jobs->drain,
                      io_loop_now_ms(jobs->loop) + (jobs->n_running == 0 ? 0 : drain_ms));
}

void jobs_resume(Jobs *jobs)
{
    jobs->is_stopping = false;
    jobs->closed = NULL;
    if (jobs->drain != NULL) {
        io_timer_stop(jobs->drain);
    }
    jobs->is_ready = true;
    io_wake_send(jobs->wake);
}

/* What was claimed meanwhile is given back, and not left as if it had been begun: waits for the
 * claims that are on their way. */
static void jobs_settle(Jobs *jobs)
{
    QueueOp op;

    if (jobs->n_reserved == 0) {
        return;
    }
    queue_op_init(&op);
    queue_op_set(&op, QUEUE_COUNT, NULL);
    (void)queue_run(jobs->queue, &op);
    queue_op_deinit(&op);
    jobs_hear(jobs);
}

Jobs *jobs_free(Jobs *jobs)
{
    if (jobs == NULL) {
        return NULL;
    }
    jobs->is_stopping = true;
    jobs->closed = NULL;
    if (jobs->queue != NULL) {
        router_set_later(jobs->router, NULL, NULL);
        jobs_submit(jobs);
        jobs_settle(jobs);
        jobs_submit(jobs);
        jobs->queue = queue_close(jobs->queue);
    }
    while (jobs->first_answer != NULL || jobs->first_news != NULL) {
        jobs_hear(jobs);
    }
    jobs_run_end(jobs);
    jobs_later_end(jobs);
    jobs_away_deinit(jobs);
    jobs->retry = io_timer_free(jobs->retry);
    jobs->drain = io_timer_free(jobs->drain);
    jobs->turn = io_before_wait_free(jobs->turn);
    jobs->wake = io_wake_free(jobs->wake);
    if (jobs->has_lock) {
        io_mutex_deinit(&jobs->lock);
    }
    mem_free(jobs);
    return NULL;
}

size_t jobs_n_running(const Jobs *jobs)
{
    return jobs->n_running;
}

QueueFigures jobs_figures(Jobs *jobs)
{
    return queue_figures(jobs->queue);
}

const char *jobs_file(const Jobs *jobs)
{
    return queue_file(jobs->queue);
}
