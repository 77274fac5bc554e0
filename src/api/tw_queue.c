/* A program's own durable queue: its life, and what does not wait for others. */
#include "api/tw_queue.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/limits.h"

/* In a folder: as a hub names it (app/up_queue.c). */
#define QUEUE_FILE "queue.db"

_Static_assert(TW_JOB_ID_SIZE >= QUEUE_ID_BYTES, "an id does not fit");

/* ---- errors ---- */

int api_queue_refuse(TwQueueError *reterr, int error, const char *format, ...)
{
    va_list args;

    if (reterr != NULL) {
        va_start(args, format);
        (void)vsnprintf(reterr->message, sizeof(reterr->message), format, args);
        va_end(args);
    }
    return error;
}

int api_queue_error(int r, TwQueueError *reterr)
{
    static const struct {
        int r;
        int error;
        const char *words;
    } rows[] = {
        {QUEUE_E_MISSING, TW_ERROR_MISSING, "there is no such job"},
        {QUEUE_E_BAD_ID, TW_ERROR_ARGUMENT, "id: that is no id of a job"},
        {QUEUE_E_KEY, TW_ERROR_EXISTS, "key: it is another method's job, or one of other params"},
        {QUEUE_E_LEASE, TW_ERROR_LEASE, "the job is somebody else's by now, or nobody's"},
        {QUEUE_E_OVER, TW_ERROR_OVER, "the job has ended"},
        {QUEUE_E_NOT_OVER, TW_ERROR_BUSY, "the job has not ended"},
        {QUEUE_E_SUCCEEDED, TW_ERROR_OVER, "the job has succeeded"},
        {QUEUE_E_TOO_LARGE, TW_ERROR_FULL, "a text is larger than the queue takes"},
        {QUEUE_E_FULL, TW_ERROR_FULL, "the queue is full: as many jobs wait as may"},
        {QUEUE_E_DISK_FULL, TW_ERROR_FULL, "the disk is full"},
        {QUEUE_E_BUSY, TW_ERROR_BUSY, "another process has the queue"},
        {QUEUE_E_NEWER, TW_ERROR_SYSTEM, "a newer version has written the queue"},
        {QUEUE_E_DAMAGED, TW_ERROR_SYSTEM, "the queue is damaged"},
        {QUEUE_E_READ_ONLY, TW_ERROR_SYSTEM, "the queue cannot be written"},
        {QUEUE_E_CLOSED, TW_ERROR_CLOSED, "the queue is being closed"},
        {-EINVAL, TW_ERROR_ARGUMENT, "a parameter is wrong"},
        {-ENOMEM, TW_ERROR_MEMORY, "no memory"},
        {-ENOSPC, TW_ERROR_FULL, "the disk is full"},
    };

    if (r == 0) {
        return TW_OK;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        if (rows[i].r == r) {
            return api_queue_refuse(reterr, rows[i].error, "%s", rows[i].words);
        }
    }
    return api_queue_refuse(reterr, api_error_of(r), "the queue's file cannot be read or written");
}

/* ---- life ---- */

/* Gives *ret (mem_free). */
static int queue_path(char **ret, const char *path)
{
    struct stat info;
    size_t size = strlen(path) + sizeof("/" QUEUE_FILE);
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    char *whole = mem_alloc(size);

    if (whole == NULL) {
        return -ENOMEM;
    }
    (void)snprintf(whole, size, "%s%s", path, is_folder ? "/" QUEUE_FILE : "");
    *ret = whole;
    return 0;
}

static int queue_init(TwQueue *queue, const char *path, const TwQueueOptions *options, Diag *diag)
{
    QueueConfig config = {.changed = api_queue_changed, .context = queue};
    CLEANUP(mem_freep) char *whole = NULL;
    int r = io_mutex_init(&queue->lock);

    queue->has_lock = r == 0;
    if (r == 0) {
        r = queue_path(&whole, path);
    }
    if (r != 0) {
        return r;
    }
    config.path = whole;
    if (options != NULL) {
        config.keep_ms = api_time(options->keep_ms);
        config.keep_bytes = options->keep_bytes;
        config.max_waiting = options->max_waiting;
        config.max_body_bytes = options->max_body_bytes;
    }
    return queue_open(&queue->queue, &config, diag);
}

int tw_queue_open(TwQueue **ret, const char *path, const TwQueueOptions *options,
                  TwQueueError *reterr)
{
    Diag diag = DIAG_NULL;
    TwQueue *queue;
    int r;

    if (ret == NULL || path == NULL || path[0] == '\0') {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "ret and path must be there");
    }
    if (options != NULL && options->keep_ms < 0) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "keep_ms is negative");
    }
    /* What the store counts is signed. */
    if (options != NULL && (options->keep_bytes > INT64_MAX || options->max_waiting > INT64_MAX ||
                            options->max_body_bytes > LIMIT_QUEUE_BODY_BYTES)) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT,
                                "keep_bytes, max_waiting or max_body_bytes is more than there is");
    }
    queue = mem_alloc_array(1, sizeof(*queue));
    if (queue == NULL) {
        return api_queue_error(-ENOMEM, reterr);
    }
    r = queue_init(queue, path, options, &diag);
    if (r != 0) {
        tw_queue_free(queue);
        r = api_queue_error(r, reterr);
        return diag.message[0] == '\0' ? r : api_queue_refuse(reterr, r, "%s", diag.message);
    }
    *ret = queue;
    return TW_OK;
}

void tw_queue_free(TwQueue *queue)
{
    if (queue == NULL) {
        return;
    }
    queue->queue = queue_close(queue->queue);
    if (queue->has_lock) {
        io_mutex_deinit(&queue->lock);
    }
    (void)mem_free(queue);
}

/* ---- parameters ---- */

/* A text of the caller's that is to be kept; NULL is none. */
static int queue_json(const char *text, ApiJsonKind kind, const char *field, Span *ret,
                      TwQueueError *reterr)
{
    Diag diag = DIAG_NULL;
    JsonValue v;
    Arena arena;
    int r;

    *ret = api_span(text);
    if (text == NULL) {
        return TW_OK;
    }
    arena_init(&arena, LIMIT_QUEUE_OP_BYTES);
    r = api_json_check(text, kind, field, &arena, &v, &diag);
    arena_deinit(&arena);
    return r == 0 ? TW_OK : api_queue_refuse(reterr, r, "%s", diag.message);
}

/* An operation on one job. */
static int queue_begin(QueueOp *op, QueueOrder *order, const TwQueue *queue, const char *id,
                       TwQueueError *reterr)
{
    queue_op_init(op);
    if (queue == NULL || id == NULL) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "queue and id must be there");
    }
    order->id = api_span(id);
    return TW_OK;
}

static int queue_ask(TwQueue *queue, QueueOp *op, QueueVerb verb, const QueueOrder *order,
                     TwQueueError *reterr)
{
    queue_op_set(op, verb, order);
    return api_queue_error(api_queue_run(queue, op), reterr);
}

/* ---- who has work ---- */

static int spec_read(const TwJobSpec *spec, QueueSpec *ret, TwQueueError *reterr)
{
    int r;

    if (spec->method == NULL || spec->method[0] == '\0') {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "method must be there");
    }
    if (spec->delay_ms < 0 || spec->timeout_ms < 0 || spec->keep_ms < 0) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT,
                                "delay_ms, timeout_ms or keep_ms is negative");
    }
    *ret = (QueueSpec){
        .method = api_span(spec->method),
        .pool = SPAN(API_QUEUE_POOL),
        .source = SPAN("library"),
        .idempotency_key = api_span(spec->key),
        .priority = spec->priority,
        .delay_ms = api_time(spec->delay_ms),
        .timeout_ms = api_time(spec->timeout_ms),
        .keep_ms = api_time(spec->keep_ms),
        .max_attempts = spec->max_attempts,
        .is_idempotent = spec->idempotent,
    };
    r = queue_json(spec->params_json == NULL ? "{}" : spec->params_json, API_JSON_OBJECT,
                   "params_json", &ret->params, reterr);
    return r;
}

int tw_queue_enqueue(TwQueue *queue, const TwJobSpec *spec, char ret_id[TW_JOB_ID_SIZE],
                     bool *ret_known, TwQueueError *reterr)
{
    QueueOrder order = {.id = SPAN_NULL};
    QueueOp op;
    int r;

    if (queue == NULL || spec == NULL || ret_id == NULL) {
        return api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "queue, spec and ret_id must be there");
    }
    queue_op_init(&op);
    r = spec_read(spec, &order.spec, reterr);
    if (r == 0) {
        r = queue_ask(queue, &op, QUEUE_ENQUEUE, &order, reterr);
    }
    if (r == 0) {
        memcpy(ret_id, op.jobs[0].id, sizeof(op.jobs[0].id));
        if (ret_known != NULL) {
            *ret_known = op.is_known;
        }
    }
    queue_op_deinit(&op);
    return r;
}

static int queue_do(TwQueue *queue, QueueVerb verb, const char *id, TwQueueError *reterr)
{
    QueueOrder order = {.id = SPAN_NULL};
    QueueOp op;
    int r = queue_begin(&op, &order, queue, id, reterr);

    if (r == 0) {
        r = queue_ask(queue, &op, verb, &order, reterr);
    }
    queue_op_deinit(&op);
    return r;
}

int tw_queue_cancel(TwQueue *queue, const char *id, TwQueueError *reterr)
{
    return queue_do(queue, QUEUE_CANCEL, id, reterr);
}

int tw_queue_retry(TwQueue *queue, const char *id, TwQueueError *reterr)
{
    return queue_do(queue, QUEUE_RETRY, id, reterr);
}

/* ---- who works ---- */

int tw_queue_beat(TwQueue *queue, const char *id, uint64_t fence, int64_t lease_ms,
                  TwQueueError *reterr)
{
    QueueOrder order = {.id = SPAN_NULL};
    QueueOp op;
    int r = queue_begin(&op, &order, queue, id, reterr);

    if (r == 0 && lease_ms < 0) {
        r = api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "lease_ms is negative");
    }
    if (r == 0) {
        op.fence = fence;
        op.lease_ms = api_time(lease_ms);
        r = queue_ask(queue, &op, QUEUE_BEAT, &order, reterr);
    }
    queue_op_deinit(&op);
    return r;
}

int tw_queue_complete(TwQueue *queue, const char *id, uint64_t fence, const char *result_json,
                      TwQueueError *reterr)
{
    QueueOrder order = {.finish = {.state = JOB_SUCCEEDED, .code = SPAN("OK")}};
    QueueOp op;
    int r = queue_begin(&op, &order, queue, id, reterr);

    op.fence = fence;
    if (r == 0) {
        r = queue_json(result_json, API_JSON_ANY, "result_json", &order.finish.result, reterr);
    }
    if (r == 0) {
        r = queue_ask(queue, &op, QUEUE_COMPLETE, &order, reterr);
    }
    queue_op_deinit(&op);
    return r;
}

/* The job is completed, whatever becomes of the claim: what came with it, or comes yet. */
static void queue_next(TwQueue *queue, QueueOp *op, const TwJobClaim *claim, TwJobs **ret)
{
    TwJobs *jobs = NULL;

    if (op->n_jobs > 1) {
        jobs = api_jobs_new(op, 1);
        if (jobs == NULL) {
            api_queue_give_back(queue, op, 1);
        }
        *ret = jobs;
        return;
    }
    if (claim != NULL && claim->wait_ms != 0) {
        (void)tw_queue_claim(queue, claim, &jobs, NULL);
    }
    *ret = jobs;
}

int tw_queue_complete_and_claim(TwQueue *queue, const char *id, uint64_t fence,
                                const char *result_json, const TwJobClaim *claim, TwJobs **ret,
                                TwQueueError *reterr)
{
    CLEANUP(mem_freep) Span *methods = NULL;
    QueueOrder order = {.finish = {.state = JOB_SUCCEEDED, .code = SPAN("OK")}};
    QueueOp op;
    int r = queue_begin(&op, &order, queue, id, reterr);

    op.fence = fence;
    if (r == 0 && ret == NULL) {
        r = api_queue_refuse(reterr, TW_ERROR_ARGUMENT, "ret must be there");
    }
    if (r == 0) {
        r = queue_json(result_json, API_JSON_ANY, "result_json", &order.finish.result, reterr);
    }
    if (r == 0) {
        r = api_queue_claim_read(claim, &order.claim, &methods, reterr);
    }
    if (r == 0) {
        io_mutex_lock(&queue->lock);
        order.claim.max = queue->is_stopped ? 0 : order.claim.max;
        io_mutex_unlock(&queue->lock);
        r = queue_ask(queue, &op, QUEUE_COMPLETE, &order, reterr);
    }
    if (r == 0) {
        queue_next(queue, &op, claim, ret);
    }
    queue_op_deinit(&op);
    return r;
}

int tw_queue_fail(TwQueue *queue, const char *id, uint64_t fence, const TwJobFailure *failure,
                  TwJobState *ret_state, TwQueueError *reterr)
{
    static const TwJobFailure plain = {.code = NULL};
    QueueOrder order = {.id = SPAN_NULL};
    QueueOp op;
    int r = queue_begin(&op, &order, queue, id, reterr);

    failure = failure != NULL ? failure : &plain;
    op.fence = fence;
    order.finish = (QueueFinish){
        .state = failure->again ? JOB_ENQUEUED : JOB_FAILED,
        .code = api_span(failure->code == NULL ? "FAILED" : failure->code),
        .message = api_span(failure->message),
    };
    if (r == 0) {
        r = queue_json(failure->result_json, API_JSON_ANY, "result_json", &order.finish.result,
                       reterr);
    }
    if (r == 0) {
        r = queue_ask(queue, &op, QUEUE_COMPLETE, &order, reterr);
    }
    if (r == 0 && ret_state != NULL) {
        *ret_state = api_job_state_of(op.jobs[0].state);
    }
    queue_op_deinit(&op);
    return r;
}
