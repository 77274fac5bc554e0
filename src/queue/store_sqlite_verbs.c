#include "queue/store_sqlite.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "queue/params.h"

#define US_PER_MS 1000

/* ---- enqueue ---- */

static int verbs_secret(Store *store, uint8_t out[STORE_SECRET_BYTES])
{
    if (store->n_random < STORE_SECRET_BYTES) {
        int r = random_fill(store->random, sizeof(store->random));

        if (r != 0) {
            return err_pass(r);
        }
        store->n_random = sizeof(store->random);
    }
    store->n_random -= STORE_SECRET_BYTES;
    memcpy(out, store->random + store->n_random, STORE_SECRET_BYTES);
    return 0;
}

static bool verbs_is_too_large(const Store *store, const QueueSpec *spec)
{
    const Span names[] = {spec->method, spec->pool,   spec->owner,
                          spec->source, spec->rpc_id, spec->idempotency_key};

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        if (names[i].n > LIMIT_QUEUE_NAME_BYTES) {
            return true;
        }
    }
    return spec->params.n > store->max_body_bytes || spec->note.n > store->max_body_bytes;
}

static Span verbs_params(Span params)
{
    return params.n == 0 ? SPAN("{}") : params;
}

/* Is the key known? Then op is answered: by that job, or by QUEUE_E_KEY. */
static int verbs_find_key(Store *store, QueueOp *op, bool *ret_found)
{
    const QueueSpec *spec = &queue_op_order(op)->spec;
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_FIND_KEY, &r);
    int64_t id;
    bool is_same;

    if (sql == NULL) {
        return r;
    }
    store_bind_text(sql, 1, spec->owner);
    store_bind_text(sql, 2, spec->idempotency_key);
    r = store_step(store, sql, ret_found);
    if (r != 0 || !*ret_found) {
        return r;
    }
    id = sqlite3_column_int64(sql, 0);
    is_same = span_equals(store_column(sql, 1), spec->method) &&
              queue_params_same(verbs_params(store_column(sql, 2)), verbs_params(spec->params));
    (void)sqlite3_reset(sql);
    if (!is_same) {
        op->r = QUEUE_E_KEY;
        return 0;
    }
    op->is_known = true;
    return store_answer_job(store, op, id, STORE_WANT_TEXTS);
}

int64_t store_time_ms(int64_t ms)
{
    if (ms <= 0) {
        return 0;
    }
    return ms < LIMIT_TIME_MS ? ms : LIMIT_TIME_MS;
}

static int verbs_add_spec(Store *store, const QueueSpec *spec, int64_t id)
{
    const QueueJob job = {
        .method = spec->method,
        .params = spec->params,
        .owner = spec->owner,
        .source = spec->source,
        .rpc_id = spec->rpc_id,
        .idempotency_key = spec->idempotency_key,
        .note = spec->note,
        .timeout_ms = store_time_ms(spec->timeout_ms),
        .max_attempts = spec->max_attempts > 0 ? spec->max_attempts : LIMIT_QUEUE_ATTEMPTS,
        .is_idempotent = spec->is_idempotent,
        .enqueued_us = store->now.stamp_us,
    };
    int r;
    StorePut *put = store_put(store, STORE_PUT_SPEC, id, &r);

    if (put == NULL) {
        return r;
    }
    store_put_name(put, 2, spec->method);
    store_put_text(put, 3, spec->params);
    store_put_name(put, 4, spec->owner);
    store_put_text(put, 5, spec->source);
    store_put_text(put, 6, spec->rpc_id);
    store_put_text(put, 7, spec->idempotency_key);
    store_put_text(put, 8, spec->note);
    store_put_number(put, 9, job.timeout_ms);
    store_put_number(put, 10, job.max_attempts);
    store_put_number(put, 11, job.is_idempotent ? 1 : 0);
    store_put_number(put, 12, job.enqueued_us);
    store_put_number(put, 13, store_sum_spec(id, &job));
    return 0;
}

static int verbs_add_job(Store *store, const QueueSpec *spec, const StoreRow *row)
{
    int r;
    StorePut *put = store_put(store, STORE_PUT_JOB, row->id, &r);

    if (put == NULL) {
        return r;
    }
    store_put_number(put, 2, row->due_us);
    store_put_number(put, 3, row->priority);
    store_put_rest(put, 4, row, STORE_REST_PAD_NEW);
    store_put_name(put, 5, spec->pool);
    /* Only what others fetch is looked for by its method, if anybody does (claim_name_methods). */
    store_put_text(put, 6, store->names_methods && spec->pool.n > 0 ? spec->method : SPAN_NULL);
    if (row->due_us == 0) {
        store_put_number(put, 7, row->seq);
    } else {
        store_put_null(put, 7);
    }
    return 0;
}

/* What was read ahead stays right if the new job is behind it. */
static void verbs_mind_ready(Store *store, const QueueSpec *spec, const StoreRow *row)
{
    StoreReady *ready = &store->ready;
    const StorePlace *last = ready->n > ready->next ? &ready->at[ready->n - 1] : NULL;

    if (row->due_us == 0 && last != NULL && row->priority < last->priority &&
        span_equals(spec->pool, span_make(ready->pool, ready->n_pool))) {
        store_ready_clear(store);
    }
}

static bool verbs_is_full(const Store *store)
{
    const int64_t *n = store->tally.n;

    return (uint64_t)(n[JOB_ENQUEUED] + n[JOB_DISPATCHING] + n[JOB_RUNNING]) >= store->max_waiting;
}

/* The row that a new job gets, with a secret of its own. */
static int verbs_new_row(Store *store, const QueueSpec *spec, StoreRow *ret)
{
    int64_t delay_ms = store_time_ms(spec->delay_ms);
    int64_t id = store->tally.next_id;

    *ret = (StoreRow){
        .id = id,
        .seq = id,
        .state = JOB_ENQUEUED,
        .version = 1,
        .due_us = delay_ms > 0 ? store->now.line_us + delay_ms * US_PER_MS : 0,
        .span_ms = delay_ms,
        .changed_us = store->now.stamp_us,
        .keep_ms = spec->keep_ms > 0 ? spec->keep_ms : -1,
        .priority = spec->priority == 0 ? 100 : spec->priority,
    };
    return verbs_secret(store, ret->secret);
}

static int verbs_add(Store *store, QueueOp *op)
{
    const QueueSpec *spec = &queue_op_order(op)->spec;
    StoreRow row;
    int r = verbs_new_row(store, spec, &row);

    store->is_dirty = true;
    if (r == 0) {
        r = verbs_add_spec(store, spec, row.id);
    }
    if (r == 0) {
        r = verbs_add_job(store, spec, &row);
    }
    if (r != 0) {
        return r;
    }
    store->tally.next_id++;
    store_row_added(store, &row);
    store_spec_added(store, row.id, spec);
    verbs_mind_ready(store, spec, &row);
    store_job_numbers(&row, &op->jobs[0]);
    op->jobs[0].enqueued_us = store->now.stamp_us;
    op->n_jobs = 1;
    return 0;
}

int store_enqueue(Store *store, QueueOp *op)
{
    const QueueSpec *spec = &queue_op_order(op)->spec;
    bool is_known = false;
    int r = 0;

    if (spec->method.n == 0 || verbs_is_too_large(store, spec)) {
        op->r = spec->method.n == 0 ? err_raise(-EINVAL) : QUEUE_E_TOO_LARGE;
        return 0;
    }
    if (spec->idempotency_key.n > 0) {
        r = verbs_find_key(store, op, &is_known);
    }
    if (r != 0 || is_known) {
        return r;
    }
    if (verbs_is_full(store)) {
        op->r = QUEUE_E_FULL;
        return 0;
    }
    op->jobs = arena_alloc_array(&op->arena, 1, sizeof(*op->jobs));
    if (op->jobs == NULL) {
        op->r = err_raise(-ENOMEM);
        return 0;
    }
    return verbs_add(store, op);
}

/* ---- what a worker says ---- */

/* Is it the fence of the last claim? A sign of life may come without one: it is then from whoever
 * has the lease. */
static bool verbs_is_fence(const QueueOp *op, const StoreRow *row)
{
    if (op->verb == QUEUE_BEAT && op->has_no_fence) {
        return job_is_over(row->state) || (row->flags & STORE_FLAG_LEASED) != 0;
    }
    return row->fence == (int64_t)op->fence;
}

/* An answer that comes after its lease has ended, to a job that nobody has claimed since. */
static bool verbs_is_late(const QueueOp *op, const StoreRow *row)
{
    const QueueFinish *finish = &queue_op_order(op)->finish;
    return op->verb == QUEUE_COMPLETE && finish->may_be_late && finish->state == JOB_SUCCEEDED &&
           (row->flags & STORE_FLAG_LATE) != 0;
}

/* Has whoever says so the job? Else op->r says why not, and jobs[0] of one that is over. */
static int verbs_check_fence(Store *store, QueueOp *op, const StoreRow *row, bool *ret_has)
{
    *ret_has = false;
    if (!verbs_is_fence(op, row)) {
        op->r = QUEUE_E_LEASE;
        return 0;
    }
    if (verbs_is_late(op, row)) {
        *ret_has = true;
        return 0;
    }
    if (job_is_over(row->state)) {
        int r = store_answer_job(store, op, row->id, STORE_WANT_TEXTS);

        op->r = op->r == 0 ? QUEUE_E_OVER : op->r;
        return r;
    }
    *ret_has = row->state != JOB_ENQUEUED && (row->flags & STORE_FLAG_ASKING) == 0;
    if (!*ret_has) {
        op->r = QUEUE_E_LEASE;
    }
    return 0;
}

int store_find_held(Store *store, QueueOp *op, StoreRow *ret, bool *ret_has)
{
    int r = store_find(store, op, ret, ret_has);

    return r != 0 || !*ret_has ? r : verbs_check_fence(store, op, ret, ret_has);
}

static bool verbs_is_end(const QueueFinish *finish)
{
    switch (finish->state) {
    case JOB_SUCCEEDED:
    case JOB_FAILED:
    case JOB_TIMEOUT:
    case JOB_CANCELLED:
    case JOB_ENQUEUED:
        return true;
    case JOB_DISPATCHING:
    case JOB_RUNNING:
    case JOB_DEAD:
    case JOB_N_STATES:
    default:
        return false;
    }
}

/* jobs[0] and the next claim. Before anything is written, so that an arena which is full leaves all
 * as it was. */
static int verbs_complete_claim(Store *store, QueueOp *op)
{
    if (queue_op_order(op)->claim.max > 0) {
        return store_claim_into(store, op, 1);
    }
    op->jobs = arena_alloc_array(&op->arena, 1, sizeof(*op->jobs));
    op->n_jobs = 1;
    if (op->jobs == NULL) {
        op->n_jobs = 0;
        op->r = err_raise(-ENOMEM);
    }
    return 0;
}

int store_complete(Store *store, QueueOp *op)
{
    const QueueFinish *finish = &queue_op_order(op)->finish;
    Span code = SPAN_NULL;
    Span message = SPAN_NULL;
    StoreRow row;
    bool has = false;
    int r;

    if (!verbs_is_end(finish)) {
        op->r = err_raise(-EINVAL);
        return 0;
    }
    if (finish->result.n > store->max_body_bytes || finish->message.n > store->max_body_bytes ||
        finish->code.n > LIMIT_QUEUE_NAME_BYTES) {
        op->r = QUEUE_E_TOO_LARGE;
        return 0;
    }
    r = store_find_held(store, op, &row, &has);
    if (r != 0 || !has) {
        return r;
    }
    if (!store_copy(&op->arena, finish->code, &code) ||
        !store_copy(&op->arena, finish->message, &message)) {
        op->r = err_raise(-ENOMEM);
        return 0;
    }
    r = verbs_complete_claim(store, op);
    if (r != 0 || op->r != 0) {
        return r;
    }
    if (job_is_over(row.state)) {
        r = store_outcome_drop(store, row.id); /* that it was lost */
    }
    if (r != 0) {
        return r;
    }
    if (finish->state != JOB_ENQUEUED) {
        r = store_row_end(store, &row, finish);
    } else if (finish->away_ms > 0) {
        r = store_row_put_by(store, &row, finish->away_ms);
    } else {
        r = store_row_lose(store, &row, JOB_LOSS_AGAIN, finish);
    }
    store_job_numbers(&row, &op->jobs[0]);
    if (job_is_over(row.state)) {
        op->jobs[0].code = code;
        op->jobs[0].message = message;
    }
    return r;
}

int store_beat(Store *store, QueueOp *op)
{
    StoreRow row;
    JobState was;
    bool has = false;
    int r = store_find_held(store, op, &row, &has);

    if (r == 0 && has) {
        r = store_answer_job(store, op, row.id, STORE_WANT_TEXTS);
    }
    if (r != 0 || !has || op->r != 0) {
        return r;
    }
    was = row.state;
    row.state = JOB_RUNNING;
    row.beat_us = store->now.stamp_us;
    /* Who has it for this process has no lease to prolong. */
    if ((row.flags & STORE_FLAG_LEASED) != 0) {
        op->lease_ms = op->lease_ms > 0 ? op->lease_ms : row.span_ms;
        store_row_times(store, &row, op->lease_ms);
    }
    r = store_row_set(store, &row, was, row.flags);
    store_job_numbers(&row, &op->jobs[0]);
    return r;
}

/* ---- what the submitter says ---- */

int store_cancel(Store *store, QueueOp *op)
{
    static const QueueFinish finish = {
        .state = JOB_CANCELLED, .code = SPAN_INIT("CANCELLED"), .message = SPAN_INIT("cancelled")};
    StoreRow row;
    bool found = false;
    int r = store_find(store, op, &row, &found);

    if (r == 0 && found) {
        r = store_answer_job(store, op, row.id, STORE_WANT_TEXTS);
    }
    if (r != 0 || !found || op->r != 0) {
        return r;
    }
    if (job_is_over(row.state)) {
        op->r = QUEUE_E_OVER;
        return 0;
    }
    r = store_row_end(store, &row, &finish);
    store_job_numbers(&row, &op->jobs[0]);
    op->jobs[0].code = finish.code;
    op->jobs[0].message = finish.message;
    op->jobs[0].asks = SPAN_NULL;
    op->jobs[0].inputs = SPAN_NULL;
    return r;
}

/* May it be tried again? Else the reason. */
static int verbs_check_retry(const Store *store, const StoreRow *row)
{
    if (!job_is_over(row->state)) {
        return QUEUE_E_NOT_OVER;
    }
    if (!job_may(row->state, JOB_ENQUEUED)) {
        return QUEUE_E_SUCCEEDED;
    }
    return verbs_is_full(store) ? QUEUE_E_FULL : 0;
}

int store_retry(Store *store, QueueOp *op)
{
    StoreRow row;
    bool found = false;
    int r = store_find(store, op, &row, &found);

    if (r != 0 || !found) {
        return r;
    }
    op->r = verbs_check_retry(store, &row);
    if (op->r == 0) {
        r = store_answer_job(store, op, row.id, STORE_WANT_TEXTS);
    }
    if (r != 0 || op->r != 0) {
        return r;
    }
    r = store_outcome_drop(store, row.id);
    if (r == 0) {
        row.n_attempts = 0;
        r = store_row_requeue(store, &row, 0);
    }
    store_job_numbers(&row, &op->jobs[0]);
    op->jobs[0].code = SPAN_NULL;
    op->jobs[0].message = SPAN_NULL;
    return r;
}
