/* The end of a job: its result, its questions, or what stands for them, until the queue has it.
 *
 * An end that the disk does not take is kept here and offered again: the tool has run, and its
 * result must not be lost for a disk that is full for a while. */
#include "app/jobs_run.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "call/envelope.h"
#include "call/record.h"
#include "dialect/pipe/message.h"

static void run_finish(Call *call, const CallResult *result);
static void run_progress(Call *call, const CallProgress *progress);
static void run_log(Call *call, CallLogLevel level, Span logger, Span data);

/* Nobody listens to a task while it works; its progress only moves its deadline. */
const CallDoor jobs_run_door = {.finish = run_finish, .progress = run_progress, .log = run_log};

static void run_progress(Call *call, const CallProgress *progress)
{
    (void)call;
    (void)progress;
}

static void run_log(Call *call, CallLogLevel level, Span logger, Span data)
{
    (void)call;
    (void)level;
    (void)logger;
    (void)data;
}

static JobsRun *run_of_call(Call *call)
{
    return (JobsRun *)((char *)call - offsetof(JobsRun, call));
}

/* Offers the end to the queue, and claims what there will be room for. */
void jobs_run_send(JobsRun *run)
{
    Jobs *jobs = run->jobs;
    QueueOp *op = &run->ask.op;
    size_t n_taken = jobs->n_running - 1 + jobs->n_reserved;
    bool is_ask = op->verb == QUEUE_ASK;

    run->n_reserved = 0;
    if (!is_ask && !jobs->is_stopping && n_taken < jobs->config.max_running) {
        run->n_reserved = jobs->config.max_running - n_taken;
    }
    jobs->n_reserved += run->n_reserved;
    queue_op_set(op, op->verb,
                 &(QueueOrder){
                     .id = span_from_str(run->job.id),
                     .asks = is_ask ? bytes_span(&run->record) : SPAN_NULL,
                     .spec.note = is_ask ? bytes_span(&run->note) : SPAN_NULL,
                     .finish = run->finish,
                     .claim = {.worker = SPAN("hub"),
                               .max = run->n_reserved,
                               .look = jobs_away_claim,
                               .context = jobs},
                 });
    run->is_over = true;
    run->is_asking = true;
    jobs_ask(jobs, &run->ask);
}

static void run_retry(void *context)
{
    Jobs *jobs = context;

    for (JobsRun *run = jobs->runs; run != NULL; run = run->next) {
        if (run->is_over && !run->is_asking) {
            jobs_run_send(run);
        }
    }
    jobs->is_ready = true; /* a claim may have failed, too */
    jobs_claim(jobs);
}

void jobs_run_retry_later(Jobs *jobs)
{
    if (jobs->retry == NULL && io_timer_new(&jobs->retry, jobs->loop, true, run_retry, jobs) != 0) {
        return; /* with the next end that is written */
    }
    io_timer_start_at(jobs->retry, io_loop_now_ms(jobs->loop) + LIMIT_JOBS_RETRY_MS);
}

/* The disk did not take it: once more, in a while. */
static void run_offer_again(JobsRun *run, int r)
{
    Jobs *jobs = run->jobs;

    /* The queue has said why, as often as is good. */
    logsink_write(jobs->config.log, r == -ENOMEM ? LOGSINK_LEVEL_ERROR : LOGSINK_LEVEL_DEBUG,
                  "queue", "the end of %s cannot be written (%d); it is tried again", run->job.id,
                  r);
    arena_reset(&run->ask.op.arena, 0);
    jobs_run_retry_later(jobs);
}

static void run_told(JobsAsk *ask);

void jobs_run_begin_end(JobsRun *run, QueueVerb verb)
{
    QueueOp *op = &run->ask.op;

    op->verb = verb;
    op->fence = run->job.fence;
    run->finish = (QueueFinish){.state = JOB_SUCCEEDED};
    run->ask.told = run_told;
}

static void run_end_too_large(JobsRun *run)
{
    arena_reset(&run->ask.op.arena, 0);
    jobs_run_begin_end(run, QUEUE_COMPLETE);
    run->finish = (QueueFinish){.state = JOB_FAILED,
                                .code = span_from_str(envelope_code_name(ENVELOPE_TOO_LARGE)),
                                .message = span_from_str(call_error_text(CALL_ERROR_TOO_LARGE))};
    jobs_run_send(run);
}

/* The queue says how the job stands; whose it is we know. */
static void run_tell(JobsRun *run, const QueueJob *job)
{
    QueueJob told = *job;

    told.method = run->job.method;
    told.owner = run->job.owner;
    told.source = run->job.source;
    told.rpc_id = run->job.rpc_id;
    if (job_is_over(told.state) && told.code.n == 0) {
        told.code = run->finish.code;
        told.message = run->finish.message;
    }
    jobs_changed(run->jobs, &told);
}

static void run_told(JobsAsk *ask)
{
    JobsRun *run = (JobsRun *)((char *)ask - offsetof(JobsRun, ask));
    Jobs *jobs = run->jobs;
    QueueOp *op = &ask->op;

    run->is_asking = false;
    jobs->n_reserved -= run->n_reserved;
    /* Once: an end without a body is never too large. */
    if (op->r == QUEUE_E_TOO_LARGE && (op->verb == QUEUE_ASK || run->finish.result.n > 0)) {
        run_end_too_large(run);
        return;
    }
    if (op->r < 0 || op->r == QUEUE_E_DISK_FULL || op->r == QUEUE_E_DAMAGED) {
        run_offer_again(run, op->r);
        return;
    }
    /* Otherwise it is written, or was decided without us (cancelled, its time passed). */
    if (op->n_jobs > 0) {
        run_tell(run, &op->jobs[0]);
    }
    jobs->is_ready = jobs->is_ready || (op->r == 0 && op->n_changed > 0);
    if (op->r == 0 && op->n_jobs > 1) {
        jobs->is_ready = jobs->is_ready || op->n_jobs - 1 == run->n_reserved;
        jobs_run_start_all(jobs, op->jobs + 1, op->n_jobs - 1);
    }
    jobs_run_free(run);
    if (jobs->n_running == 0) {
        jobs_run_idle(jobs);
    }
    jobs_claim(jobs);
}

/* What an error means for the job. */
static JobState run_state_of_error(CallError error)
{
    switch (error) {
    case CALL_ERROR_TIMEOUT:
        return JOB_TIMEOUT;
    case CALL_ERROR_UNAVAILABLE: /* whoever has the tool is not there: it did not begin */
    case CALL_ERROR_BUSY:
    case CALL_ERROR_RATE:
        return JOB_ENQUEUED;
    default:
        return JOB_FAILED;
    }
}

/* `code` and `msg` of an envelope that the tool answered with, or what stands for them. */
static void run_name_end(JobsRun *run, const CallResult *result, QueueFinish *finish)
{
    Envelope envelope;
    bool is_ok = finish->state == JOB_SUCCEEDED && !result->is_error;

    /* Copied: what the tool lent is gone when the queue gets to it. */
    if (envelope_of_result(result, &run->arena, &envelope) == 0) {
        finish->code = arena_copy(&run->arena, envelope.code);
        finish->message = arena_copy(&run->arena, envelope.message);
        is_ok = is_ok && envelope.is_ok;
    }
    if (finish->code.n == 0) {
        finish->code = span_from_str(envelope_code_name(is_ok ? ENVELOPE_OK : ENVELOPE_ERROR));
    }
}

/* The pipe has a result of a tool for what others say by an error: that there is no add-in for it
 * (the call has not run), or that the add-in was late. What other tools say by that name is their
 * own. */
static bool run_pipe_says(const JobsRun *run, const CallResult *result, const char *code)
{
    return result->kind == CALL_RESULT_TOOL && result->is_error && run->provider != NULL &&
           strcmp(run->provider, "addin") == 0 &&
           span_equals(run->finish.code, span_from_str(code));
}

/* Whoever has the tool has gone since the job was claimed. It may come (again): the job has not
 * begun, and waits for it. False: it is there, or was waited for long enough. */
static bool run_put_by(JobsRun *run)
{
    int64_t away_ms = router_tool_is_there(run->jobs->router, run->job.method)
                          ? 0
                          : jobs_away_ms(run->jobs, &run->job);

    if (away_ms > 0) {
        jobs_run_begin_end(run, QUEUE_COMPLETE);
        run->finish = (QueueFinish){.state = JOB_ENQUEUED, .away_ms = away_ms};
        jobs_run_send(run);
    }
    return away_ms > 0;
}

/* Whoever ran it has gone, and it may have been done: it begins again only if that does no harm. It
 * has no result, since what was answered is the provider's and not the tool's. */
static void run_lost(JobsRun *run)
{
    QueueFinish *finish = &run->finish;

    if (run->job.is_idempotent) {
        finish->state = JOB_ENQUEUED;
    } else {
        finish->state = JOB_FAILED;
        finish->code = span_from_str(envelope_code_name(ENVELOPE_INTERRUPTED));
    }
    jobs_run_send(run);
}

/* A tool that answered has run, be it that its answer is a failure: the code says that. */
static void run_complete(JobsRun *run, const CallResult *result)
{
    QueueFinish *finish = &run->finish;
    CallResult late = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_TIMEOUT};

    jobs_run_begin_end(run, QUEUE_COMPLETE);
    if (result->kind == CALL_RESULT_ERROR) {
        finish->state = run_state_of_error(result->error);
    }
    run_name_end(run, result, finish);
    if (run->call.may_have_run) {
        run_lost(run);
        return;
    }
    if (run_pipe_says(run, result, PIPE_CODE_TIMEOUT)) {
        late.message = finish->message;
        result = &late;
        finish->state = JOB_TIMEOUT;
        finish->code = span_from_str(envelope_code_name(ENVELOPE_TIMEOUT));
    }
    if (run_pipe_says(run, result, PIPE_CODE_NOT_AVAILABLE)) {
        if (run_put_by(run)) {
            return;
        }
        /* One that is there, and takes no more at the moment, is tried again. */
        finish->state =
            router_tool_is_there(run->jobs->router, run->job.method) ? JOB_ENQUEUED : JOB_FAILED;
    }
    bytes_clear(&run->record);
    if (call_record_write(result, &run->record) != 0) {
        run_end_too_large(run);
        return;
    }
    finish->result = bytes_span(&run->record);
    jobs_run_send(run);
}

static unsigned run_needs(const CallResult *result)
{
    unsigned needs = 0;

    for (size_t i = 0; i < result->n_asks; i++) {
        needs |= 1u << result->asks[i].kind;
    }
    return needs;
}

void jobs_run_fail(JobsRun *run, CallError error, Span message)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = error,
                         .message =
                             message.n > 0 ? message : span_from_str(call_error_text(error))};

    run_complete(run, &result);
}

/* ---- without its tool ---- */

/* As the door says it when somebody calls a tool that there is not: an envelope with names that are
 * near. 0, -ENOMEM, BYTES_E_FULL. */
static int run_write_unknown(JobsRun *run, Span message)
{
    const Router *router = run->jobs->router;
    size_t n = router_count(router, ROUTER_TOOL);
    Span *names = arena_alloc(&run->arena, (n + 1) * sizeof(*names));
    const EnvelopeTimes times = {.queue_us = run->call.waited_us, .total_us = run->call.waited_us};
    Envelope envelope = {.code = span_from_str(envelope_code_name(ENVELOPE_UNKNOWN_COMMAND)),
                         .message = message,
                         .run_us = -1};
    int r;

    if (names == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = router_tool_name_at(router, i);
    }
    bytes_clear(&run->inputs);
    bytes_clear(&run->note);
    r = envelope_write_nearest(run->job.method, names, n, &run->inputs);
    envelope.next_actions = bytes_span(&run->inputs);
    return r != 0 ? err_pass(r)
                  : err_pass(envelope_write(&envelope, &times, run->job.method, &run->note));
}

/* Nobody has the tool. */
static void run_miss_tool(JobsRun *run)
{
    int64_t waited_ms = run->job.timeout_ms > 0 ? run->job.timeout_ms : run->jobs->config.away_ms;
    Span method = run->job.method;
    char message[256];
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_UNKNOWN_TOOL};

    if (run_put_by(run)) {
        return;
    }
    (void)snprintf(message, sizeof(message),
                   "there is no command '%.*s', and nobody who has it came for %lld s",
                   (int)(method.n < 128 ? method.n : 128), method.p, (long long)(waited_ms / 1000));
    result.message = span_from_str(message);
    if (run_write_unknown(run, result.message) == 0) {
        result.data = bytes_span(&run->note);
    }
    run_complete(run, &result);
}

/* The tool asks: the job waits on disk for the answers, and nobody works on it. */
static void run_ask(JobsRun *run, const CallResult *result)
{
    JobsNote note;
    int r = jobs_note_read(run->job.note, &run->arena, &note);

    if (result->n_asks == 0 || (run_needs(result) & ~run->call.can) != 0) {
        jobs_run_fail(run, CALL_ERROR_CANNOT_ASK, SPAN_NULL);
        return;
    }
    note.state = result->state;
    bytes_clear(&run->record);
    bytes_clear(&run->inputs);
    if (r == 0) {
        r = jobs_asks_write(result, run->job.inputs, &run->arena, &note, &run->record,
                            &run->inputs);
    }
    if (r == 0) {
        r = jobs_note_write(&note, &run->note);
    }
    if (r != 0) {
        jobs_run_fail(run, CALL_ERROR_TOO_LARGE, SPAN("the questions are too large"));
        return;
    }
    jobs_run_begin_end(run, QUEUE_ASK);
    jobs_run_send(run);
}

static void run_finish(Call *call, const CallResult *result)
{
    JobsRun *run = run_of_call(call);

    assert(!run->is_over);
    if (result->kind == CALL_RESULT_ASK) {
        run_ask(run, result);
    } else if (result->kind == CALL_RESULT_ERROR && result->error == CALL_ERROR_UNKNOWN_TOOL &&
               run->provider == NULL) {
        run_miss_tool(run);
    } else {
        run_complete(run, result);
    }
}
