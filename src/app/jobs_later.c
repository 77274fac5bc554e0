/* Calls as jobs: a tool that runs as a task becomes a job, and its asker is told as soon as it is
 * on disk; what is asked about tasks is read from there.
 *
 * Each call waits in a JobsWait, for the queue's answer or, asking for a result, for the end of the
 * job. A call that is taken back leaves its wait to the answer that is on its way. */
#include "app/jobs_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/json.h"

#define WAIT_ARENA_BYTES ((size_t)32 * LIMIT_QUEUE_BODY_BYTES + (size_t)1024 * 1024)

/* Where all tasks come from: what they are listed by. */
#define TASK_SOURCE "mcp"

struct JobsWait {
    JobsWait *next;
    JobsWait *prev;
    Jobs *jobs;
    Call *call; /* NULL: taken back */
    JobsAsk ask;
    Arena arena;
    Bytes note;
    char id[QUEUE_ID_BYTES]; /* of the job that it is about; "": not known yet */
    bool is_asking;          /* ask is on its way */
    bool is_stale;           /* the job changed meanwhile: ask again */
    bool is_waiting;         /* for the job's end */
    bool is_checking;        /* reads what its answers are for */
    bool is_news;            /* no call: the change to `version` is to be told */
    uint64_t version;
};

/* ---- waits ---- */

static void wait_free(JobsWait *wait)
{
    if (wait->prev != NULL) {
        wait->prev->next = wait->next;
    } else {
        wait->jobs->waits = wait->next;
    }
    if (wait->next != NULL) {
        wait->next->prev = wait->prev;
    }
    queue_op_deinit(&wait->ask.op);
    bytes_deinit(&wait->note);
    arena_deinit(&wait->arena);
    mem_free(wait);
}

static JobsWait *wait_new(Jobs *jobs, Call *call)
{
    JobsWait *wait = mem_alloc_array(1, sizeof(*wait));

    if (wait == NULL) {
        return NULL;
    }
    *wait = (JobsWait){.jobs = jobs, .call = call, .next = jobs->waits};
    queue_op_init(&wait->ask.op);
    arena_init(&wait->arena, WAIT_ARENA_BYTES);
    bytes_init(&wait->note, WAIT_ARENA_BYTES);
    if (wait->next != NULL) {
        wait->next->prev = wait;
    }
    jobs->waits = wait;
    if (call != NULL) {
        call->provider_data = wait;
    }
    return wait;
}

/* An id that is too long is nobody's. */
static void wait_set_id(JobsWait *wait, Span id)
{
    size_t n = id.n < sizeof(wait->id) ? id.n : 0;

    if (n > 0) {
        memcpy(wait->id, id.p, n);
    }
    wait->id[n] = '\0';
}

/* Ends the call, and the wait with it: nothing of either is touched afterwards. */
static void wait_finish(JobsWait *wait, const CallResult *result)
{
    Call *call = wait->call;

    wait->call = NULL;
    call->provider_data = NULL;
    call_finish(call, result);
    wait_free(wait);
}

static void wait_fail(JobsWait *wait, CallError error, Span message)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = error,
                         .message =
                             message.n > 0 ? message : span_from_str(call_error_text(error))};

    wait_finish(wait, &result);
}

/* What the queue refused, as an error of the call. */
static void wait_fail_queue(JobsWait *wait, int r)
{
    switch (r) {
    case QUEUE_E_MISSING:
    case QUEUE_E_BAD_ID:
        wait_fail(wait,
                  wait->call->verb == CALL_LIST_TASKS ? CALL_ERROR_INVALID_CURSOR
                                                      : CALL_ERROR_UNKNOWN_TASK,
                  SPAN_NULL);
        return;
    case QUEUE_E_OVER:
        wait_fail(wait, CALL_ERROR_TASK_OVER, SPAN_NULL);
        return;
    case QUEUE_E_FULL:
        wait_fail(wait, CALL_ERROR_UNAVAILABLE, SPAN("the queue is full"));
        return;
    case QUEUE_E_DISK_FULL:
        wait_fail(wait, CALL_ERROR_UNAVAILABLE, SPAN("the disk of the queue is full"));
        return;
    case QUEUE_E_DAMAGED:
        wait_fail(wait, CALL_ERROR_INTERNAL,
                  SPAN("the queue's file is damaged; the hub's log says what to do"));
        return;
    case QUEUE_E_TOO_LARGE:
        wait_fail(wait, CALL_ERROR_TOO_LARGE, SPAN("the arguments are too large for a task"));
        return;
    case QUEUE_E_CLOSED:
        wait_fail(wait, CALL_ERROR_CANCELLED, SPAN_NULL);
        return;
    default:
        wait_fail(wait, CALL_ERROR_INTERNAL, SPAN("the queue cannot be used now"));
    }
}

static void wait_told(JobsAsk *ask);

static void wait_send(JobsWait *wait, QueueVerb verb, const QueueOrder *order)
{
    QueueOp *op = &wait->ask.op;

    queue_op_set(op, verb, order);
    arena_reset(&op->arena, 0);
    wait->ask.told = wait_told;
    wait->is_asking = true;
    wait->is_stale = false;
    jobs_ask(wait->jobs, &wait->ask);
}

/* Reads the job once more. */
static void wait_read(JobsWait *wait)
{
    arena_reset(&wait->arena, 0);
    wait_send(wait, QUEUE_GET, &(QueueOrder){.id = span_from_str(wait->id)}); /* its owner's */
}

/* ---- answers ---- */

/* All that there is to say of the task; what is beside is in *ended and the wait's arena. 0, or an
 * error: what it asks cannot be read. */
static int wait_task(JobsWait *wait, const QueueJob *job, CallTask *ret, CallResult *ended)
{
    *ret = jobs_task(wait->jobs, job);
    if (job_is_over(job->state)) {
        *ended = job->state == JOB_SUCCEEDED && job->is_dropped
                     ? (CallResult){.kind = CALL_RESULT_ERROR,
                                    .error = CALL_ERROR_DROPPED,
                                    .message = span_from_str(call_error_text(CALL_ERROR_DROPPED))}
                     : jobs_result(job, &wait->arena);
        ret->result = ended;
    } else if (job->asks.n > 0) {
        return err_pass(jobs_asks_read(job->asks, &wait->arena, &ret->asks, &ret->n_asks));
    }
    return 0;
}

static void wait_tell_task(JobsWait *wait, const QueueJob *job)
{
    CallTask task;
    CallResult ended;
    CallResult result = {.kind = CALL_RESULT_TASK, .tasks = &task, .n_tasks = 1};

    if (wait_task(wait, job, &task, &ended) != 0) {
        wait_fail(wait, CALL_ERROR_INTERNAL, SPAN("what the task asks cannot be read"));
        return;
    }
    wait_finish(wait, &result);
}

/* The answer to the call that became a task; of the row there is little yet. */
static void wait_tell_made(JobsWait *wait, const QueueJob *job)
{
    const QueueSpec *spec = &queue_op_order(&wait->ask.op)->spec;
    QueueJob made = *job;

    made.method = spec->method;
    made.pool = spec->pool;
    made.keep_ms = spec->keep_ms;
    wait_tell_task(wait, &made);
}

/* The job's end, its questions, or nothing yet. */
static void wait_tell_result(JobsWait *wait, const QueueJob *job)
{
    CallTask task;
    CallResult ended;
    CallResult ask = {.kind = CALL_RESULT_ASK};

    if (wait_task(wait, job, &task, &ended) != 0) {
        wait_fail(wait, CALL_ERROR_INTERNAL, SPAN("what the task asks cannot be read"));
        return;
    }
    if (task.result != NULL) {
        wait_finish(wait, &ended);
        return;
    }
    if (task.n_asks > 0) {
        ask.asks = task.asks;
        ask.n_asks = task.n_asks;
        wait_finish(wait, &ask);
        return;
    }
    wait->is_waiting = true;
    if (wait->is_stale) {
        wait_read(wait);
    }
}

/* Whoever listens is told what a task has come to, if it still has. */
static void wait_tell_news(JobsWait *wait, const QueueJob *job)
{
    CallTask task;
    CallResult ended;

    if (job->version == wait->version && wait_task(wait, job, &task, &ended) == 0) {
        router_task_changed(wait->jobs->router, &task, job->owner);
    }
    wait_free(wait);
}

static void wait_tell_list(JobsWait *wait, const QueueOp *op)
{
    CallTask *tasks = arena_alloc(&wait->arena, (op->n_jobs + 1) * sizeof(*tasks));
    CallResult result = {.kind = CALL_RESULT_TASKS, .tasks = tasks, .n_tasks = op->n_jobs};

    if (tasks == NULL) {
        wait_fail(wait, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    for (size_t i = 0; i < op->n_jobs; i++) {
        tasks[i] = jobs_task(wait->jobs, &op->jobs[i]);
    }
    if (op->n_jobs == LIMIT_QUEUE_LIST) {
        result.next_cursor = span_from_str(op->jobs[op->n_jobs - 1].id);
    }
    wait_finish(wait, &result);
}

/* Its asker has gone before it heard of its task: nobody could ever ask for it. */
static void wait_drop(JobsWait *wait)
{
    QueueOp *op = &wait->ask.op;

    if (op->verb == QUEUE_ENQUEUE && op->r == 0 && op->n_jobs > 0 && !op->is_known) {
        wait_set_id(wait, span_from_str(op->jobs[0].id));
        wait_send(wait, QUEUE_CANCEL, &(QueueOrder){.id = span_from_str(wait->id)});
        return;
    }
    wait_free(wait);
}

/* What the task asks is read: are these answers to it? A name is asked once in the life of a task,
 * so what was read still holds when they are written. */
static void wait_check(JobsWait *wait)
{
    QueueOp *op = &wait->ask.op;
    Span problem = SPAN_NULL;
    int r;

    wait->is_checking = false;
    if (op->r != 0 || op->n_jobs == 0) {
        wait_fail_queue(wait, op->r);
        return;
    }
    r = jobs_inputs_check(op->jobs[0].asks, queue_op_order(op)->inputs, &wait->arena, &problem);
    if (r != 0) {
        wait_fail(wait, CALL_ERROR_INTERNAL, SPAN("what the task asks cannot be read"));
    } else if (problem.n > 0) {
        wait_fail(wait, CALL_ERROR_INVALID_ARGUMENTS, problem);
    } else {
        wait_send(wait, QUEUE_ANSWER, queue_op_order(op));
    }
}

/* The queue has done it; the call waits. */
static void wait_tell(JobsWait *wait)
{
    QueueOp *op = &wait->ask.op;
    CallVerb verb = wait->call->verb;
    CallResult done = CALL_RESULT_NULL;

    /* Answers that come too late are left alone, as those that nobody asked for. */
    if (op->r == QUEUE_E_OVER && op->verb == QUEUE_ANSWER) {
        op->r = 0;
        if (verb == CALL_TASK_RESULT) {
            wait_read(wait);
            return;
        }
    }
    if (op->r != 0 || (op->n_jobs == 0 && op->verb != QUEUE_LIST)) {
        wait_fail_queue(wait, op->r);
    } else if (op->verb == QUEUE_LIST) {
        wait_tell_list(wait, op);
    } else if (op->verb == QUEUE_ENQUEUE) {
        wait_tell_made(wait, &op->jobs[0]);
    } else if (verb == CALL_TASK_RESULT) {
        wait_tell_result(wait, &op->jobs[0]);
    } else if (verb == CALL_TASK_UPDATE) {
        wait_finish(wait, &done);
    } else {
        wait_tell_task(wait, &op->jobs[0]);
    }
}

static void wait_told(JobsAsk *ask)
{
    JobsWait *wait = (JobsWait *)((char *)ask - offsetof(JobsWait, ask));
    Jobs *jobs = wait->jobs;
    QueueOp *op = &ask->op;

    wait->is_asking = false;
    if (op->r == 0 && op->n_jobs == 1 && (op->verb == QUEUE_CANCEL || op->verb == QUEUE_ANSWER)) {
        jobs_changed(jobs, &op->jobs[0]);
    }
    if (wait->is_news && op->r == 0 && op->n_jobs == 1) {
        wait_tell_news(wait, &op->jobs[0]);
    } else if (wait->call == NULL) {
        wait_drop(wait);
    } else if (wait->is_checking) {
        wait_check(wait);
    } else {
        wait_tell(wait);
    }
    jobs_claim(jobs);
}

/* ---- the provider ---- */

/* May its tool run twice? */
static bool later_is_idempotent(const Call *call)
{
    static const char *const hints[] = {"idempotentHint", "readOnlyHint"};
    JsonValue annotations;
    JsonValue hint;

    if (!json_get(router_call_description(call), SPAN("annotations"), &annotations)) {
        return false;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(hints); i++) {
        if (json_get(annotations, span_from_str(hints[i]), &hint) && json_kind(hint) == JSON_TRUE) {
            return true;
        }
    }
    return false;
}

/* As long as its asker wants, but no longer than anything is kept. 0: the queue's rule. */
static int64_t later_keep_ms(const Jobs *jobs, int64_t wanted_ms)
{
    int64_t max_ms = jobs->config.keep_ms > 0 ? jobs->config.keep_ms : LIMIT_QUEUE_KEEP_MS;

    return wanted_ms <= 0 || wanted_ms > max_ms ? 0 : wanted_ms;
}

static void later_enqueue(JobsWait *wait, const Call *call)
{
    JobsNote note = {.can = call->can, .state = call->state, .inputs = call->inputs};

    if (jobs_note_write(&note, &wait->note) != 0) {
        wait_fail(wait, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    wait_send(
        wait, QUEUE_ENQUEUE,
        &(QueueOrder){.spec = {.method = call->target,
                               .params = call->arguments.node == NULL ? SPAN("{}")
                                                                      : json_span(call->arguments),
                               .owner = call->owner,
                               .source = SPAN(TASK_SOURCE),
                               .note = bytes_span(&wait->note),
                               .timeout_ms = call->timeout_ms != 0 ? call->timeout_ms
                                                                   : router_call_timeout_ms(call),
                               .keep_ms = later_keep_ms(wait->jobs, call->later_ms),
                               .is_idempotent = later_is_idempotent(call)}});
}

static void later_list(JobsWait *wait, const Call *call)
{
    wait_send(wait, QUEUE_LIST,
              &(QueueOrder){.list = {.owner = call->owner,
                                     .source = SPAN(TASK_SOURCE),
                                     .limit = LIMIT_QUEUE_LIST,
                                     .before = call->has_cursor ? call->cursor : SPAN_NULL}});
}

static void later_start(void *context, Call *call)
{
    JobsWait *wait = wait_new(context, call);
    QueueOrder order = {.id = call->target, .owner = call->owner};

    if (wait == NULL) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    if (call->inputs.node != NULL) {
        order.inputs = json_span(call->inputs);
    }
    if (call->verb == CALL_TOOL) {
        later_enqueue(wait, call);
        return;
    }
    if (call->verb == CALL_LIST_TASKS) {
        later_list(wait, call);
        return;
    }
    wait_set_id(wait, order.id);
    if (call->verb == CALL_TASK_CANCEL) {
        wait_send(wait, QUEUE_CANCEL, &order);
    } else if (order.inputs.n > 0 && call->verb == CALL_TASK_RESULT) {
        wait_send(wait, QUEUE_ANSWER, &order); /* whoever asked has checked them */
    } else {
        wait->is_checking = order.inputs.n > 0 && call->verb == CALL_TASK_UPDATE;
        wait_send(wait, QUEUE_GET, &order);
    }
}

static void later_cancel(void *context, Call *call)
{
    JobsWait *wait = call->provider_data;

    (void)context;
    call->provider_data = NULL;
    wait->call = NULL;
    if (!wait->is_asking) {
        wait_free(wait);
    }
}

const CallProvider jobs_later = {.name = "queue", .start = later_start, .cancel = later_cancel};

/* Has it come to another status as a task? Beginning to work is none. */
static bool later_is_news(const QueueJob *job)
{
    return job_is_over(job->state) || job->asks.n > 0 ||
           (job->state == JOB_ENQUEUED && job->inputs.n > 0);
}

/* What it has come to is read first, where there is something to read. */
static void later_tell_news(Jobs *jobs, const QueueJob *job)
{
    CallTask task = jobs_task(jobs, job);
    JobsWait *wait;

    if (task.status == CALL_TASK_WORKING || task.status == CALL_TASK_CANCELLED) {
        router_task_changed(jobs->router, &task, job->owner);
        return;
    }
    wait = wait_new(jobs, NULL);
    if (wait != NULL) {
        wait->is_news = true;
        wait->version = job->version;
        wait_set_id(wait, span_from_str(job->id));
        wait_read(wait);
    }
}

void jobs_later_changed(Jobs *jobs, const QueueJob *job)
{
    JobsWait *next;

    for (JobsWait *wait = jobs->waits; wait != NULL; wait = next) {
        next = wait->next;
        if (wait->call == NULL || wait->call->verb != CALL_TASK_RESULT ||
            strcmp(wait->id, job->id) != 0) {
            continue;
        }
        if (wait->is_asking) {
            wait->is_stale = true;
        } else if (wait->is_waiting) {
            wait_read(wait);
        }
    }
    if (span_equals(job->source, SPAN(TASK_SOURCE)) && later_is_news(job)) {
        later_tell_news(jobs, job);
    }
}

/* The router is about to end, or has nobody to take tasks any more: what still waits is told. */
void jobs_later_end(Jobs *jobs)
{
    while (jobs->waits != NULL) {
        JobsWait *wait = jobs->waits;

        if (wait->call != NULL) {
            wait_fail(wait, CALL_ERROR_CANCELLED, SPAN_NULL);
        } else {
            wait_free(wait);
        }
    }
}
