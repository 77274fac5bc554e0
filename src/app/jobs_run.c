/* Jobs as calls. A job is claimed on disk before its call is dispatched, and its end is on disk
 * before anybody hears of it; the next claim shares that commit.
 *
 *     is_ready ─▶ QUEUE_CLAIM ─▶ run: router_dispatch ─▶ finish ─▶ QUEUE_COMPLETE + claim ─▶ run …
 *                                                              └─ QUEUE_ASK (questions)
 *
 * Here is the beginning; the end is in jobs_end.c. */
#include "app/jobs_run.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/json.h"

/* The index of parameters and answers: 16 bytes a value, at most one value for two bytes. */
#define RUN_ARENA_BYTES ((size_t)32 * LIMIT_QUEUE_BODY_BYTES + (size_t)1024 * 1024)

/* A record is the result with a few names around it. */
#define RUN_RECORD_BYTES (LIMIT_QUEUE_BODY_BYTES + (size_t)64 * 1024)

/* ---- life ---- */

static void run_unlink(JobsRun *run)
{
    Jobs *jobs = run->jobs;

    if (run->prev != NULL) {
        run->prev->next = run->next;
    } else {
        jobs->runs = run->next;
    }
    if (run->next != NULL) {
        run->next->prev = run->prev;
    }
    jobs->n_running--;
}

void jobs_run_free(JobsRun *run)
{
    run_unlink(run);
    call_deinit(&run->call);
    queue_op_deinit(&run->ask.op);
    bytes_deinit(&run->record);
    bytes_deinit(&run->note);
    bytes_deinit(&run->inputs);
    arena_deinit(&run->arena);
    mem_free(run);
}

/* Copies what the call needs of the job. 0, -ENOMEM. */
static int run_copy_job(JobsRun *run, const QueueJob *job)
{
    const Span *from[] = {&job->method, &job->params, &job->owner, &job->source,
                          &job->rpc_id, &job->inputs, &job->note};
    Span *to[] = {&run->job.method, &run->job.params, &run->job.owner, &run->job.source,
                  &run->job.rpc_id, &run->job.inputs, &run->job.note};

    run->job = *job;
    run->job.pool = run->job.idempotency_key = SPAN_NULL;
    run->job.worker = run->job.code = run->job.message = run->job.result = run->job.asks =
        SPAN_NULL;
    for (size_t i = 0; i < TW_ARRAY_SIZE(from); i++) {
        *to[i] = SPAN_NULL;
        if (from[i]->n > 0) {
            *to[i] = arena_copy(&run->arena, *from[i]);
            if (to[i]->p == NULL) {
                return err_raise(-ENOMEM);
            }
        }
    }
    return 0;
}

static int run_new(JobsRun **ret, Jobs *jobs, const QueueJob *job)
{
    JobsRun *run = mem_alloc_array(1, sizeof(*run));

    if (run == NULL) {
        return err_raise(-ENOMEM);
    }
    *run = (JobsRun){.jobs = jobs};
    call_init(&run->call);
    queue_op_init(&run->ask.op);
    arena_init(&run->arena, RUN_ARENA_BYTES);
    bytes_init(&run->record, RUN_RECORD_BYTES);
    bytes_init(&run->note, RUN_RECORD_BYTES);
    bytes_init(&run->inputs, 2 * RUN_RECORD_BYTES);
    run->next = jobs->runs;
    if (run->next != NULL) {
        run->next->prev = run;
    }
    jobs->runs = run;
    jobs->n_running++;
    if (run_copy_job(run, job) != 0) {
        jobs_run_free(run);
        return err_raise(-ENOMEM);
    }
    *ret = run;
    return 0;
}

/* ---- the start of a job ---- */

static int run_parse(JobsRun *run, Span json, JsonValue *ret)
{
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    int r;

    *ret = JSON_VALUE_NULL;
    if (json.n == 0) {
        return 0;
    }
    r = json_parse(&doc, &run->arena, json.p, json.n, NULL, &diag);
    if (r == 0) {
        *ret = json_root(&doc);
    }
    return r;
}

/* Its own time, or its tool's. Who takes a task does not wait: without either it may run for as
 * long as a call may at all. */
static int64_t run_timeout_ms(const JobsRun *run)
{
    int64_t timeout_ms = run->job.timeout_ms;

    if (timeout_ms <= 0) {
        timeout_ms = router_tool_timeout_ms(run->jobs->router, run->job.method);
    }
    return timeout_ms > 0 ? timeout_ms : -1;
}

static void run_start(JobsRun *run)
{
    Call *call = &run->call;
    JobsNote note;
    int64_t waited_us = clock_now_us() - run->job.enqueued_us;

    run->asker = (CallAsker){.dialect = "queue", .who = run->job.id};
    call->door = &jobs_run_door;
    call->asker = &run->asker;
    call->verb = CALL_TOOL;
    call->later = CALL_LATER_IS_TASK;
    call->target = run->job.method;
    call->timeout_ms = run_timeout_ms(run);
    call->waited_us = waited_us > 0 ? waited_us : 0;
    if (run_parse(run, run->job.params, &call->arguments) != 0 ||
        jobs_note_read(run->job.note, &run->arena, &note) != 0 ||
        jobs_inputs_write(&note, run->job.inputs, &run->arena, &run->inputs) != 0 ||
        run_parse(run, bytes_span(&run->inputs), &call->inputs) != 0) {
        jobs_run_fail(run, CALL_ERROR_INTERNAL, SPAN("what is kept of the job cannot be read"));
        return;
    }
    call->can = note.can;
    call->state = note.state;
    run->provider = router_provider(run->jobs->router, ROUTER_TOOL, run->job.method);
    router_dispatch(run->jobs->router, NULL, call);
}

/* It was claimed, and is not begun: the next process may, or this one if it goes on. */
static void run_give_back(JobsRun *run)
{
    jobs_run_begin_end(run, QUEUE_COMPLETE);
    run->finish = (QueueFinish){.state = JOB_ENQUEUED, .away_ms = LIMIT_QUEUE_BACKOFF_MS};
    jobs_run_send(run);
}

/* A job that cannot be begun for want of memory stays claimed, and is found again by the next
 * process; that is told. */
void jobs_run_start_all(Jobs *jobs, const QueueJob *job, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        JobsRun *run = NULL;

        if (run_new(&run, jobs, &job[i]) != 0) {
            logsink_write(jobs->config.log, LOGSINK_LEVEL_ERROR, "queue", "no memory to begin %s",
                          job[i].id);
            continue;
        }
        if (jobs->is_stopping) {
            run_give_back(run);
            continue;
        }
        jobs_changed(jobs, &job[i]);
        run_start(run);
    }
}

static void claim_told(JobsAsk *ask)
{
    Jobs *jobs = ask->jobs;
    QueueOp op = ask->op;
    size_t n_asked = jobs->n_claiming;

    jobs->is_claiming = false;
    jobs->n_reserved -= n_asked;
    queue_op_init(&ask->op); /* what it had is op's, until that is over */
    if (op.r == 0) {
        /* As many as we wanted: there may be more. */
        jobs->is_ready = jobs->is_ready || op.n_jobs == n_asked || op.n_changed > 0;
        jobs_run_start_all(jobs, op.jobs, op.n_jobs);
    } else if (op.r != QUEUE_E_CLOSED) {
        /* The queue has said why, as often as is good. */
        logsink_write(jobs->config.log, op.r == -ENOMEM ? LOGSINK_LEVEL_ERROR : LOGSINK_LEVEL_DEBUG,
                      "queue", "cannot claim jobs (%d)", op.r);
        jobs_run_retry_later(jobs);
    }
    queue_op_deinit(&op);
    jobs_claim(jobs);
}

void jobs_claim(Jobs *jobs)
{
    JobsAsk *ask = &jobs->claim;

    size_t n_taken = jobs->n_running + jobs->n_reserved;

    if (jobs->is_claiming || jobs->is_stopping || !jobs->is_ready ||
        n_taken >= jobs->config.max_running) {
        return;
    }
    jobs->is_ready = false;
    jobs->is_claiming = true;
    jobs->n_claiming = jobs->config.max_running - n_taken;
    jobs->n_reserved += jobs->n_claiming;
    queue_op_init(&ask->op);
    queue_op_set(&ask->op, QUEUE_CLAIM,
                 &(QueueOrder){.claim = {.worker = SPAN("hub"),
                                         .max = jobs->n_claiming,
                                         .look = jobs_away_claim,
                                         .context = jobs}});
    ask->told = claim_told;
    jobs_ask(jobs, ask);
}

/* ---- cancelled ---- */

/* It was cancelled, or its time passed: then it may be waiting for its next attempt already. */
void jobs_run_changed(Jobs *jobs, const QueueJob *job)
{
    if (!job_is_over(job->state) && job->state != JOB_ENQUEUED) {
        return;
    }
    for (JobsRun *run = jobs->runs; run != NULL; run = run->next) {
        if (!run->is_over && job->version > run->job.version && strcmp(run->job.id, job->id) == 0) {
            router_cancel(jobs->router, &run->call);
            jobs_run_free(run);
            if (jobs->n_running == 0) {
                jobs_run_idle(jobs);
            }
            jobs_claim(jobs);
            return;
        }
    }
}

void jobs_run_end(Jobs *jobs)
{
    while (jobs->runs != NULL) {
        JobsRun *run = jobs->runs;

        router_cancel(jobs->router, &run->call);
        jobs_run_free(run);
    }
}
