#include "queue/store_sqlite.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

/* ---- one job ---- */

bool store_copy(Arena *arena, Span s, Span *ret)
{
    *ret = s.n == 0 ? SPAN_NULL : arena_copy(arena, s);
    return s.n == 0 || ret->p != NULL;
}

void store_job_numbers(const StoreRow *row, QueueJob *ret)
{
    store_id_write(row->id, row->secret, ret->id);
    ret->state = row->state;
    ret->priority = (int)row->priority;
    ret->keep_ms = row->keep_ms;
    ret->n_attempts = (unsigned)row->n_attempts;
    ret->fence = (uint64_t)row->fence;
    ret->started_us = row->started_us;
    ret->beat_us = row->beat_us;
    ret->finished_us = row->finished_us;
    ret->changed_us = row->changed_us;
    ret->version = (uint64_t)row->version;
}

bool store_job_specs(sqlite3_stmt *sql, int at, Arena *arena, QueueJob *ret)
{
    bool fits = store_copy(arena, store_column(sql, at), &ret->method) &&
                store_copy(arena, store_column(sql, at + 1), &ret->owner) &&
                store_copy(arena, store_column(sql, at + 2), &ret->source) &&
                store_copy(arena, store_column(sql, at + 3), &ret->rpc_id) &&
                store_copy(arena, store_column(sql, at + 4), &ret->idempotency_key) &&
                store_copy(arena, store_column(sql, at + 5), &ret->note) &&
                store_copy(arena, store_column(sql, at + 10), &ret->params);

    if (ret->params.n == 0) {
        ret->params = SPAN("{}");
    }
    ret->timeout_ms = sqlite3_column_int64(sql, at + 6);
    ret->max_attempts = (unsigned)sqlite3_column_int64(sql, at + 7);
    ret->is_idempotent = sqlite3_column_int(sql, at + 8) != 0;
    ret->enqueued_us = sqlite3_column_int64(sql, at + 9);
    return fits;
}

/* One that was dropped is empty, and not NULL as where there never was one; but for those that
 * earlier versions dropped: what has succeeded had a result. */
static bool read_is_dropped(sqlite3_stmt *sql, int at, JobState state, StoreWant want)
{
    int type = sqlite3_column_type(sql, at);

    return want == STORE_WANT_BODIES && job_is_over(state) &&
           (type == SQLITE_NULL ? state == JOB_SUCCEEDED : sqlite3_column_bytes(sql, at) == 0);
}

/* Does all that was read of it hold? */
static bool read_is_whole(sqlite3_stmt *sql, int64_t id, StoreWant want, const QueueJob *job)
{
    const int at = STORE_COLUMN_PARAMS + 8;
    /* What was dropped, and what was never there, has nothing to be damaged. */
    StoreWant outcome = job->result.n > 0 ? want : STORE_WANT_TEXTS;

    return store_sum_holds(sql, at, store_sum_spec(id, job), want) &&
           store_sum_holds(sql, at + 1, store_sum_outcome(id, job->code, job->message, job->result),
                           outcome) &&
           store_sum_holds(sql, at + 2, store_sum_ask(id, job->asks, job->inputs),
                           STORE_WANT_BODIES);
}

/* What is left of a job whose row is not what was written: that it is there, and how it stands. */
static void read_damaged(QueueJob *job)
{
    job->is_damaged = true;
    job->is_dropped = false;
    job->params = SPAN_NULL;
    job->result = SPAN_NULL;
    job->note = SPAN_NULL;
    job->asks = SPAN_NULL;
    job->inputs = SPAN_NULL;
    job->code = SPAN(QUEUE_CODE_DAMAGED);
    job->message = SPAN(QUEUE_TEXT_DAMAGED);
}

int store_job_read(Store *store, Arena *arena, int64_t id, StoreWant want, QueueJob *ret,
                   bool *ret_fits)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_JOB, &r);
    const int at = STORE_COLUMN_PARAMS;
    bool has_row = false;
    StoreRow row;

    *ret_fits = true;
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, id);
    (void)sqlite3_bind_int(sql, 2, want == STORE_WANT_BODIES);
    r = store_step(store, sql, &has_row);
    if (r != 0) {
        return r;
    }
    if (!has_row) {
        return store_error(store, SQLITE_CORRUPT); /* a job without what was asked for */
    }
    store_row_read(sql, 0, &row);
    store_job_numbers(&row, ret);
    *ret_fits = store_job_specs(sql, STORE_COLUMN_SPEC, arena, ret) &&
                store_copy(arena, store_column(sql, at + 1), &ret->pool) &&
                store_copy(arena, store_column(sql, at + 2), &ret->worker) &&
                store_copy(arena, store_column(sql, at + 3), &ret->code) &&
                store_copy(arena, store_column(sql, at + 4), &ret->message) &&
                store_copy(arena, store_column(sql, at + 5), &ret->result) &&
                store_copy(arena, store_column(sql, at + 6), &ret->asks) &&
                store_copy(arena, store_column(sql, at + 7), &ret->inputs);
    ret->is_dropped = read_is_dropped(sql, at + 5, row.state, want);
    if (*ret_fits && !read_is_whole(sql, id, want, ret)) {
        read_damaged(ret);
    }
    if (want != STORE_WANT_BODIES) {
        ret->params = SPAN_NULL;
    }
    (void)sqlite3_reset(sql);
    return 0;
}

int store_answer_job(Store *store, QueueOp *op, int64_t id, StoreWant want)
{
    bool fits = false;
    int r = 0;

    op->jobs = arena_alloc_array(&op->arena, 1, sizeof(*op->jobs));
    if (op->jobs != NULL) {
        r = store_job_read(store, &op->arena, id, want, &op->jobs[0], &fits);
    }
    op->n_jobs = fits ? 1 : 0;
    op->r = fits ? 0 : err_raise(-ENOMEM);
    return r;
}

int store_get(Store *store, QueueOp *op)
{
    StoreRow row;
    bool found = false;
    int r = store_find(store, op, &row, &found);

    if (r != 0 || !found) {
        return r;
    }
    return store_answer_job(store, op, row.id,
                            op->without_bodies ? STORE_WANT_TEXTS : STORE_WANT_BODIES);
}

/* ---- lists ---- */

/* Waiting jobs up to so many are found by their indices and sorted; when there are more, walking
 * back from the newest meets them soon. */
#define READ_WAITING_SORTED 4096

/* Which way leads to the fewest jobs that are not wanted. */
static StoreSql read_list_way(const Store *store, const QueueList *list)
{
    if (list->owner.n > 0) {
        return STORE_SQL_LIST_OWNER;
    }
    if (list->has_state && (list->state == JOB_DISPATCHING || list->state == JOB_RUNNING)) {
        return STORE_SQL_LIST_CLAIMED;
    }
    if (list->has_state && list->state == JOB_ENQUEUED &&
        store->tally.n[JOB_ENQUEUED] <= READ_WAITING_SORTED) {
        return STORE_SQL_LIST_WAITING;
    }
    return STORE_SQL_LIST_ALL;
}

/* How many there can be at most: the walk ends when they have been met. */
static size_t read_list_max(const Store *store, const QueueList *list)
{
    size_t max = list->limit > 0 ? list->limit : LIMIT_QUEUE_LIST;
    int64_t total = 0;

    max = max < LIMIT_QUEUE_LIST_MAX ? max : LIMIT_QUEUE_LIST_MAX;
    for (int i = 0; i < JOB_N_STATES; i++) {
        total += !list->has_state || (int)list->state == i ? store->tally.n[i] : 0;
    }
    return total < (int64_t)max ? (size_t)total : max;
}

/* The next job of the list into job, or *ret_has_row false. */
static int read_list_next(Store *store, QueueOp *op, sqlite3_stmt *sql, QueueJob *job,
                          bool *ret_has_row)
{
    const QueueList *list = &queue_op_order(op)->list;
    StoreWant want = list->with_bodies ? STORE_WANT_BODIES : STORE_WANT_TEXTS;
    bool fits = true;
    int r = 0;

    for (;;) {
        r = store_step(store, sql, ret_has_row);
        if (r != 0 || !*ret_has_row) {
            return r;
        }
        *job = (QueueJob){.state = JOB_ENQUEUED};
        r = store_job_read(store, &op->arena, sqlite3_column_int64(sql, 0), want, job, &fits);
        if (r != 0 || !fits) {
            op->r = fits ? 0 : err_raise(-ENOMEM);
            *ret_has_row = false;
            return r;
        }
        if (list->source.n == 0 || span_equals(list->source, job->source)) {
            return 0;
        }
    }
}

int store_list(Store *store, QueueOp *op)
{
    const QueueList *list = &queue_op_order(op)->list;
    uint8_t secret[STORE_SECRET_BYTES];
    size_t max = read_list_max(store, list);
    int64_t before = INT64_MAX;
    bool has_row = true;
    sqlite3_stmt *sql;
    int r;

    if (list->before.n > 0 && !store_id_parse(list->before, &before, secret)) {
        op->r = QUEUE_E_BAD_ID;
        return 0;
    }
    if (list->has_state && (unsigned)list->state >= JOB_N_STATES) {
        op->r = err_raise(-EINVAL);
        return 0;
    }
    op->jobs = arena_alloc_array(&op->arena, max, sizeof(*op->jobs));
    if (op->jobs == NULL) {
        op->r = err_raise(-ENOMEM);
        return 0;
    }
    sql = store_sql(store, read_list_way(store, list), &r);
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, before);
    (void)sqlite3_bind_int(sql, 2, list->has_state ? (int)list->state : -1);
    if (list->owner.n > 0) {
        store_bind_text(sql, 3, list->owner);
    }
    while (r == 0 && has_row && op->n_jobs < max) {
        r = read_list_next(store, op, sql, &op->jobs[op->n_jobs], &has_row);
        op->n_jobs += r == 0 && has_row ? 1 : 0;
    }
    (void)sqlite3_reset(sql);
    if (op->r != 0) {
        op->n_jobs = 0;
    }
    return r;
}
