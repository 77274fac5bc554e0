#include "queue/store_sqlite.h"

#include <errno.h>

#include "base/error.h"
#include "base/limits.h"

#define US_PER_MS 1000

/* Jobs that one pass looks at before the operations that wait get their turn again. */
#define SWEEP_IDS 256

/* Results that have become old may stay a little longer: they are looked for once a second. */
#define SWEEP_OLD_US ((int64_t)1000 * 1000)

typedef struct SweepIds {
    int64_t ids[SWEEP_IDS];
    int64_t values[SWEEP_IDS]; /* the second column */
    size_t n;
} SweepIds;

/* Reads ids, and with has_values the column behind them, SWEEP_IDS at most; sql is bound. */
static int sweep_collect(Store *store, sqlite3_stmt *sql, bool has_values, SweepIds *ret)
{
    bool has_row = false;
    int r = store_step(store, sql, &has_row);

    ret->n = 0;
    while (r == 0 && has_row && ret->n < SWEEP_IDS) {
        ret->ids[ret->n] = sqlite3_column_int64(sql, 0);
        ret->values[ret->n] = has_values ? sqlite3_column_int64(sql, 1) : 0;
        ret->n++;
        r = store_step(store, sql, &has_row);
    }
    (void)sqlite3_reset(sql);
    return r;
}

/* The one number that a statement without parameters gives; INT64_MAX: none. */
static int sweep_number(Store *store, StoreSql which, int64_t *ret)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, which, &r);
    bool has_row = false;

    if (sql == NULL) {
        return r;
    }
    r = store_step(store, sql, &has_row);
    if (r == 0) {
        *ret = has_row && sqlite3_column_type(sql, 0) != SQLITE_NULL ? sqlite3_column_int64(sql, 0)
                                                                     : INT64_MAX;
        (void)sqlite3_reset(sql);
    }
    return r;
}

/* ---- what is due ---- */

static int sweep_job(Store *store, StoreRow *row)
{
    static const QueueFinish damaged = {.state = JOB_FAILED,
                                        .code = SPAN_INIT(QUEUE_CODE_DAMAGED),
                                        .message = SPAN_INIT(QUEUE_TEXT_DAMAGED)};

    if ((row->flags & STORE_FLAG_DAMAGED) != 0) {
        return store_row_end(store, row, &damaged);
    }
    if (row->state == JOB_ENQUEUED) {
        return store_row_requeue(store, row, 0); /* its delay is over */
    }
    if (row->end_us != 0 && row->end_us <= store->now.line_us) {
        return store_row_lose(store, row, JOB_LOSS_TIMEOUT, NULL);
    }
    return store_row_lose(store, row, JOB_LOSS_LEASE, NULL);
}

static int sweep_tell(Store *store, int64_t id, StoreTell tell, void *context)
{
    QueueJob job = {.state = JOB_ENQUEUED};
    Arena arena;
    bool fits = false;
    int r;

    arena_init(&arena, LIMIT_QUEUE_BODY_BYTES);
    r = store_job_read(store, &arena, id, STORE_WANT_TEXTS, &job, &fits);
    if (r == 0 && fits) {
        tell(context, &job);
    }
    arena_deinit(&arena);
    return r;
}

static int sweep_due(Store *store, size_t max, StoreTell tell, void *context, bool *ret_more)
{
    SweepIds ids;
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_DUE, &r);

    if (sql == NULL) {
        return r;
    }
    max = max < SWEEP_IDS ? max : SWEEP_IDS;
    (void)sqlite3_bind_int64(sql, 1, store->now.line_us);
    (void)sqlite3_bind_int64(sql, 2, (int64_t)max);
    r = sweep_collect(store, sql, false, &ids);
    for (size_t i = 0; r == 0 && i < ids.n; i++) {
        StoreRow row;
        bool found = false;

        r = store_row_get(store, ids.ids[i], &row, &found);
        if (r == 0 && found) {
            r = sweep_job(store, &row);
        }
        if (r == 0 && found && tell != NULL) {
            r = sweep_tell(store, row.id, tell, context);
        }
    }
    if (r != 0) {
        return r;
    }
    *ret_more = ids.n == max;
    return sweep_number(store, STORE_SQL_FIRST_DUE, &store->next_us);
}

/* ---- what is old ---- */

/* A job that is over, with all that it left. */
static int sweep_remove(Store *store, int64_t id, JobState state)
{
    int r = store_outcome_drop(store, id);

    if (r == 0) {
        r = store_do_id(store, STORE_SQL_DROP_SPEC, id);
    }
    if (r == 0) {
        r = store_do_id(store, STORE_SQL_DROP_JOB, id);
        store_row_removed(store, id);
    }
    if (r == 0 && (unsigned)state < JOB_N_STATES) {
        store->tally.n[state]--;
    }
    return r;
}

static int sweep_old(Store *store, bool *ret_more)
{
    SweepIds ids;
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_OLD, &r);

    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, store->now.stamp_us);
    (void)sqlite3_bind_int64(sql, 2, SWEEP_IDS);
    r = sweep_collect(store, sql, true, &ids);
    for (size_t i = 0; r == 0 && i < ids.n; i++) {
        r = sweep_remove(store, ids.ids[i], (JobState)ids.values[i]);
    }
    if (r != 0) {
        return r;
    }
    *ret_more = *ret_more || ids.n == SWEEP_IDS;
    return sweep_number(store, STORE_SQL_FIRST_OLD, &store->next_old_us);
}

/* While all results together are too many bytes: those of the jobs that would go first. */
static int sweep_results(Store *store, bool *ret_more)
{
    SweepIds ids;
    int r;
    sqlite3_stmt *sql;

    if (store->tally.result_bytes <= (int64_t)store->keep_bytes) {
        return 0;
    }
    sql = store_sql(store, STORE_SQL_OLD_RESULTS, &r);
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, store->at_keep_us);
    (void)sqlite3_bind_int64(sql, 2, store->at_keep_id);
    (void)sqlite3_bind_int64(sql, 3, SWEEP_IDS);
    r = sweep_collect(store, sql, true, &ids);
    for (size_t i = 0; r == 0 && i < ids.n; i++) {
        bool has_row = false;

        if (store->tally.result_bytes <= (int64_t)store->keep_bytes) {
            return 0;
        }
        store->at_keep_id = ids.ids[i];
        store->at_keep_us = ids.values[i];
        sql = store_sql(store, STORE_SQL_OUTCOME_SIZE, &r);
        if (sql == NULL) {
            return r;
        }
        (void)sqlite3_bind_int64(sql, 1, ids.ids[i]);
        r = store_step(store, sql, &has_row);
        if (r == 0 && has_row) {
            int64_t n_bytes = sqlite3_column_int64(sql, 0);

            (void)sqlite3_reset(sql);
            store->tally.result_bytes -= n_bytes;
            r = n_bytes > 0 ? store_do_id(store, STORE_SQL_DROP_RESULT, ids.ids[i]) : 0;
        }
    }
    if (ids.n < SWEEP_IDS) {
        /* Once around: what ended later but may go earlier is behind us. */
        store->at_keep_us = 0;
        store->at_keep_id = 0;
    }
    *ret_more = *ret_more || ids.n > 0;
    return r;
}

int store_sweep(Store *store, size_t max_jobs, StoreTell tell, void *context)
{
    bool is_more = false;
    int r = 0;

    if (store->next_us <= store->now.line_us) {
        r = sweep_due(store, max_jobs, tell, context, &is_more);
    }
    if (r == 0 && store->next_old_us <= store->now.stamp_us) {
        r = sweep_old(store, &is_more);
    }
    if (r == 0) {
        r = sweep_results(store, &is_more);
    }
    store->swept_us = store->now.line_us;
    return r == 0 && is_more ? STORE_E_MORE : r;
}

int64_t store_next_us(const Store *store)
{
    int64_t next_us = store->next_us < STORE_NEVER ? store->next_us : INT64_MAX;
    int64_t old_us = INT64_MAX;

    if (store->tally.result_bytes > (int64_t)store->keep_bytes) {
        old_us = store->now.line_us;
    } else if (store->next_old_us != INT64_MAX) {
        /* As far from now on the line as it is by the stamps. */
        old_us = store->now.line_us + (store->next_old_us - store->now.stamp_us);
    }
    if (old_us < store->swept_us + SWEEP_OLD_US) {
        old_us = store->swept_us + SWEEP_OLD_US;
    }
    return next_us < old_us ? next_us : old_us;
}

/* ---- by hand ---- */

int store_purge(Store *store, QueueOp *op)
{
    bool is_any = true;
    int64_t older_us = INT64_MAX;
    SweepIds ids;
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_OVER, &r);

    if (sql == NULL) {
        return r;
    }
    for (int i = 0; i < JOB_N_STATES; i++) {
        is_any = is_any && !op->purge.states[i];
    }
    if (op->purge.older_ms > 0) {
        older_us = op->purge.older_ms < LIMIT_TIME_MS ? op->purge.older_ms : LIMIT_TIME_MS;
        older_us = store->now.stamp_us - older_us * US_PER_MS;
    }
    (void)sqlite3_bind_int64(sql, 1, op->at);
    (void)sqlite3_bind_int64(sql, 2, older_us);
    (void)sqlite3_bind_int64(sql, 3, SWEEP_IDS);
    r = sweep_collect(store, sql, true, &ids);
    for (size_t i = 0; r == 0 && i < ids.n; i++) {
        int64_t state = ids.values[i];

        op->at = ids.ids[i];
        if (is_any || (state >= 0 && state < JOB_N_STATES && op->purge.states[state])) {
            r = sweep_remove(store, ids.ids[i], (JobState)state);
            op->n_changed++;
        }
    }
    return r == 0 && ids.n == SWEEP_IDS ? STORE_E_MORE : r;
}

int store_wake(Store *store, QueueOp *op)
{
    SweepIds ids;
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_AWAY, &r);

    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, SWEEP_IDS);
    r = sweep_collect(store, sql, false, &ids);
    for (size_t i = 0; r == 0 && i < ids.n; i++) {
        StoreRow row;
        bool found = false;

        r = store_row_get(store, ids.ids[i], &row, &found);
        if (r == 0 && !found) {
            r = store_error(store, SQLITE_CORRUPT); /* its index has it */
        }
        if (r == 0) {
            r = store_row_requeue(store, &row, 0);
            op->n_changed++;
        }
    }
    return r == 0 && ids.n == SWEEP_IDS ? STORE_E_MORE : r;
}

/* ---- after a start ---- */

static int recover_lost(Store *store)
{
    SweepIds ids = {.n = SWEEP_IDS};
    int r = 0;

    while (r == 0 && ids.n == SWEEP_IDS) {
        sqlite3_stmt *sql = store_sql(store, STORE_SQL_CLAIMED, &r);

        if (sql == NULL) {
            return r;
        }
        (void)sqlite3_bind_int64(sql, 1, SWEEP_IDS);
        r = sweep_collect(store, sql, false, &ids);
        for (size_t i = 0; r == 0 && i < ids.n; i++) {
            StoreRow row;
            bool found = false;

            r = store_row_get(store, ids.ids[i], &row, &found);
            if (r == 0 && found) {
                r = store_row_lose(store, &row, JOB_LOSS_CRASH, NULL);
            }
        }
    }
    return r;
}

/* At most as far away as it was when it was set. */
static int64_t recover_clamp(int64_t at_us, int64_t now_us, int64_t span_ms)
{
    int64_t most_us = now_us + span_ms * US_PER_MS;

    return at_us > most_us ? most_us : at_us;
}

static int recover_row(Store *store, StoreRow *row, bool *ret_changed)
{
    StoreRow was = *row;
    int64_t now_us = store->now.line_us;
    StoreAbout about;
    int r = store_about(store, row->id, &about);

    if (r != 0) {
        return r;
    }
    if (row->state == JOB_ENQUEUED) {
        row->due_us = recover_clamp(row->due_us, now_us, row->span_ms);
    } else {
        row->due_us = STORE_NEVER;
        if (row->lease_us != 0) {
            row->lease_us = recover_clamp(row->lease_us, now_us, row->span_ms);
            row->due_us = row->lease_us;
        }
        if (row->end_us != 0) {
            row->end_us = recover_clamp(row->end_us, now_us, about.timeout_ms);
            row->due_us = row->end_us < row->due_us ? row->end_us : row->due_us;
        }
    }
    *ret_changed =
        row->due_us != was.due_us || row->lease_us != was.lease_us || row->end_us != was.end_us;
    return *ret_changed ? store_row_set(store, row, was.state, was.flags) : 0;
}

/* Times that lie ahead, from the farthest that can be: after a clock was set back they would come
 * too late. Walks them in order; those that are mended lie behind the place where it stands. */
static int recover_times(Store *store)
{
    int64_t at_us = store->now.line_us;
    int64_t at_id = 0;
    bool has_row = true;
    int r = 0;

    while (r == 0 && has_row) {
        sqlite3_stmt *sql = store_sql(store, STORE_SQL_LATER, &r);
        StoreRow row;
        bool is_changed = false;

        if (sql == NULL) {
            return r;
        }
        (void)sqlite3_bind_int64(sql, 1, at_us);
        (void)sqlite3_bind_int64(sql, 2, at_id);
        (void)sqlite3_bind_int64(sql, 3, STORE_NEVER);
        r = store_step(store, sql, &has_row);
        if (r != 0 || !has_row) {
            break;
        }
        store_row_read(sql, 0, &row);
        (void)sqlite3_reset(sql);
        at_us = row.due_us;
        at_id = row.id;
        r = recover_row(store, &row, &is_changed);
    }
    return r;
}

int store_recover(Store *store)
{
    int r = recover_lost(store);

    if (r == 0) {
        r = recover_times(store);
    }
    if (r == 0) {
        r = sweep_number(store, STORE_SQL_FIRST_DUE, &store->next_us);
    }
    if (r == 0) {
        r = sweep_number(store, STORE_SQL_FIRST_OLD, &store->next_old_us);
    }
    return r;
}
