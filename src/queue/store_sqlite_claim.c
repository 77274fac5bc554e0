#include "queue/store_sqlite.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

#define US_PER_MS 1000

/* Numbers of jobs that are looked at together for the index of methods, and how often, if none of
 * them has to be named: 20 ms at most, for which the others wait. */
#define CLAIM_NAME_IDS    4096
#define CLAIM_NAME_ROUNDS 16

/* What one claim has so far. */
typedef struct ClaimRound {
    QueueJob *jobs;
    size_t n;
    size_t max;
    size_t n_bytes; /* of their bodies */
    size_t n_away;  /* put by */
    bool is_full;   /* no more fit: the others are for the next claim */
    Span worker;    /* in the arena */
    Span pool;
} ClaimRound;

/* ---- one job ---- */

/* What was asked for; *ret_fits: into the arena. */
static int claim_read_spec(Store *store, QueueOp *op, int64_t id, QueueJob *job, bool *ret_fits)
{
    bool has_row = false;
    sqlite3_stmt *sql;
    int r;

    if (store_spec_find(store, id, &op->arena, job, ret_fits)) {
        return 0;
    }
    sql = store_sql(store, STORE_SQL_SPEC, &r);
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, id);
    r = store_step(store, sql, &has_row);
    if (r != 0 || !has_row) {
        return r != 0 ? r : store_error(store, SQLITE_CORRUPT);
    }
    *ret_fits = store_job_specs(sql, 0, &op->arena, job);
    job->is_damaged = *ret_fits && !store_sum_holds(sql, STORE_SPEC_SUM, store_sum_spec(id, job),
                                                    STORE_WANT_BODIES);
    (void)sqlite3_reset(sql);
    return 0;
}

/* And answers of an earlier round. */
static int claim_read(Store *store, QueueOp *op, const StoreRow *row, QueueJob *job, bool *ret_fits)
{
    int r = claim_read_spec(store, op, row->id, job, ret_fits);
    bool has_row = false;
    sqlite3_stmt *sql;

    if (r != 0 || (row->flags & STORE_FLAG_ASKED) == 0) {
        return r;
    }
    sql = store_sql(store, STORE_SQL_GET_ASK, &r);
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, row->id);
    r = store_step(store, sql, &has_row);
    if (r == 0 && has_row) {
        *ret_fits = *ret_fits && store_copy(&op->arena, store_column(sql, 1), &job->inputs);
        job->is_damaged =
            job->is_damaged ||
            !store_sum_holds(sql, 2, store_sum_ask(row->id, store_column(sql, 0), job->inputs),
                             STORE_WANT_BODIES);
        (void)sqlite3_reset(sql);
    }
    return r;
}

static int claim_take(Store *store, const QueueOp *op, StoreRow *row, QueueJob *job)
{
    const QueueClaim *claim = &queue_op_order(op)->claim;
    int64_t flags_were = row->flags;
    int r;

    row->state = claim->lease_ms > 0 ? JOB_DISPATCHING : JOB_RUNNING;
    row->flags &= ~(int64_t)STORE_FLAG_LATE;
    row->flags |= claim->lease_ms > 0 ? STORE_FLAG_LEASED : 0;
    row->fence++;
    row->n_attempts++;
    row->started_us = store->now.stamp_us;
    row->beat_us = store->now.stamp_us;
    row->end_us = job->timeout_ms > 0 ? store->now.line_us + job->timeout_ms * US_PER_MS : 0;
    store_row_times(store, row, claim->lease_ms);
    r = store_row_claim(store, row, flags_were, claim->worker);
    store_job_numbers(row, job);
    return r;
}

/* It stays where it is for a while. What was read ahead of the others holds. */
static int claim_put_by(Store *store, StoreRow *row, int64_t away_ms, ClaimRound *round)
{
    StoreReady ready = store->ready;
    int r;

    /* As many as one claim takes: others wait for this commit. */
    round->n_away++;
    round->is_full = round->n_away == LIMIT_QUEUE_CLAIM;
    round->max = round->is_full ? round->n : round->max;
    row->n_attempts++; /* as if it had been begun, which the other takes back */
    r = store_row_put_by(store, row, away_ms);
    store->ready = ready;
    return r;
}

/* The job is ready: is somebody there who can work on it? Else it is seen to. */
static int claim_ask(Store *store, const QueueOp *op, StoreRow *row, const QueueJob *job,
                     ClaimRound *round, bool *ret_can)
{
    const QueueClaim *claim = &queue_op_order(op)->claim;
    int64_t away_ms = claim->look == NULL ? 0 : claim->look(claim->context, job);

    *ret_can = away_ms == 0;
    if (away_ms <= 0) {
        round->is_full = away_ms < 0;
        round->max = away_ms < 0 ? round->n : round->max;
        return 0;
    }
    return claim_put_by(store, row, away_ms, round);
}

/* The job is ready; if it fits it is taken. */
static int claim_one(Store *store, QueueOp *op, int64_t id, ClaimRound *round)
{
    QueueJob *job = &round->jobs[round->n];
    StoreRow row;
    bool is_there = false;
    bool can = false;
    int r = store_row_get(store, id, &row, &is_there);

    if (r == 0 && !is_there) {
        r = store_error(store, SQLITE_CORRUPT); /* its index has it */
    }
    if (r == 0) {
        r = claim_read(store, op, &row, job, &is_there);
    }
    if (r != 0 || !is_there) {
        round->is_full = true;
        return r;
    }
    if (job->is_damaged) {
        /* Until the sweep, which ends it and tells whoever waits for it. */
        row.flags |= STORE_FLAG_DAMAGED;
        return claim_put_by(store, &row, 1, round);
    }
    r = claim_ask(store, op, &row, job, round, &can);
    if (r != 0 || !can) {
        return r;
    }
    job->worker = round->worker;
    job->pool = round->pool;
    r = claim_take(store, op, &row, job);
    round->n++;
    round->n_bytes += job->params.n + job->note.n;
    round->is_full = round->n == round->max || round->n_bytes >= LIMIT_QUEUE_BATCH_BYTES;
    return r;
}

/* ---- in the order of the pool ---- */

/* Reads the first that are ready ahead. */
static int claim_look(Store *store, Span pool)
{
    StoreReady *ready = &store->ready;
    bool is_kept = pool.n <= STORE_READY_POOL;
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_READY, &r);
    bool has_row = false;

    store_ready_clear(store);
    if (sql == NULL) {
        return r;
    }
    ready->n_pool = is_kept ? pool.n : 0;
    if (ready->n_pool > 0) {
        memcpy(ready->pool, pool.p, pool.n);
    }
    store_bind_text(sql, 1, pool);
    (void)sqlite3_bind_int64(sql, 2, is_kept ? STORE_READY_PLACES : 1);
    for (r = store_step(store, sql, &has_row); r == 0 && has_row;) {
        ready->at[ready->n++] =
            (StorePlace){sqlite3_column_int64(sql, 0), sqlite3_column_int64(sql, 1),
                         sqlite3_column_int64(sql, 2)};
        r = store_step(store, sql, &has_row);
    }
    (void)sqlite3_reset(sql);
    return r;
}

static int claim_next(Store *store, QueueOp *op, ClaimRound *round)
{
    const QueueClaim *claim = &queue_op_order(op)->claim;
    StoreReady *ready = &store->ready;
    int r = 0;

    if (!span_equals(claim->pool, span_make(ready->pool, ready->n_pool)) ||
        ready->next == ready->n) {
        r = claim_look(store, claim->pool);
    }
    if (r == 0 && ready->next == ready->n) {
        round->is_full = true; /* there is none */
        round->max = round->n;
        return 0;
    }
    if (r == 0) {
        size_t n = round->n + round->n_away;

        r = claim_one(store, op, ready->at[ready->next].id, round);
        ready->next += round->n + round->n_away > n ? 1 : 0;
    }
    if (claim->pool.n > STORE_READY_POOL) {
        store_ready_clear(store);
    }
    return r;
}

/* ---- by method ---- */

/* The first of several methods, in the order of the pool. */
typedef struct ClaimPlaces {
    StorePlace at[LIMIT_QUEUE_CLAIM];
    size_t n;
    size_t max;
} ClaimPlaces;

static bool claim_is_before(const StorePlace *a, const StorePlace *b)
{
    return a->priority != b->priority ? a->priority < b->priority : a->seq < b->seq;
}

/* False: it is behind all that are wanted, and so are those behind it. */
static bool claim_insert(ClaimPlaces *places, const StorePlace *place)
{
    size_t at = places->n;

    while (at > 0 && claim_is_before(place, &places->at[at - 1])) {
        at--;
    }
    if (at > 0 && places->at[at - 1].id == place->id) {
        return true; /* a method that is named twice */
    }
    if (at == places->max) {
        return false;
    }
    places->n += places->n < places->max ? 1 : 0;
    for (size_t i = places->n - 1; i > at; i--) {
        places->at[i] = places->at[i - 1];
    }
    places->at[at] = *place;
    return true;
}

/* An index of methods is a fifth of what it costs to put a job into the store, and few of those who
 * fetch name any. So jobs come into it when the first who does is there: those that are put from
 * then on at once, those that are taken back with that (STORE_SQL_SET_ROW), and those that wait
 * here, before it is answered. STORE_E_MORE: there may be others, behind op->at. */
static int claim_name_methods(Store *store, QueueOp *op)
{
    int n_changed = 0;
    int r = 0;

    store->names_methods = true;
    for (int i = 0; i < CLAIM_NAME_ROUNDS && n_changed == 0 && op->at < store->tally.next_id; i++) {
        sqlite3_stmt *sql = store_sql(store, STORE_SQL_NAME_METHODS, &r);

        if (sql == NULL) {
            return r;
        }
        (void)sqlite3_bind_int64(sql, 1, op->at);
        (void)sqlite3_bind_int64(sql, 2, op->at + CLAIM_NAME_IDS);
        r = store_do(store, sql);
        if (r != 0) {
            return r;
        }
        n_changed = sqlite3_changes(store->db);
        op->at += CLAIM_NAME_IDS;
    }
    store->is_dirty = store->is_dirty || n_changed > 0;
    store->has_methods = op->at >= store->tally.next_id;
    return store->has_methods ? 0 : STORE_E_MORE;
}

static int claim_find_method(Store *store, Span pool, Span method, ClaimPlaces *places)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_READY_METHOD, &r);
    bool has_row = false;

    if (sql == NULL) {
        return r;
    }
    store_bind_text(sql, 1, pool);
    store_bind_text(sql, 2, method);
    (void)sqlite3_bind_int64(sql, 3, (int64_t)places->max);
    for (r = store_step(store, sql, &has_row); r == 0 && has_row;) {
        const StorePlace place = {sqlite3_column_int64(sql, 0), sqlite3_column_int64(sql, 1),
                                  sqlite3_column_int64(sql, 2)};

        if (!claim_insert(places, &place)) {
            break;
        }
        r = store_step(store, sql, &has_row);
    }
    (void)sqlite3_reset(sql);
    return r;
}

/* Some of those that were found may have been put by: others may be behind them. */
static int claim_methods(Store *store, QueueOp *op, ClaimRound *round)
{
    const QueueClaim *claim = &queue_op_order(op)->claim;
    ClaimPlaces places;
    int r = 0;

    do {
        places = (ClaimPlaces){.max = round->max - round->n};
        for (size_t i = 0; r == 0 && i < claim->n_methods; i++) {
            r = claim_find_method(store, claim->pool, claim->methods[i], &places);
        }
        for (size_t i = 0; r == 0 && i < places.n && !round->is_full; i++) {
            r = claim_one(store, op, places.at[i].id, round);
        }
    } while (r == 0 && !round->is_full && places.n > 0 && places.n == places.max);
    if (!round->is_full) {
        round->max = round->n; /* there is no other */
    }
    store_ready_clear(store);
    return r;
}

/* ---- */

int store_claim_into(Store *store, QueueOp *op, size_t first)
{
    const QueueClaim *claim = &queue_op_order(op)->claim;
    ClaimRound round = {.max = claim->max < LIMIT_QUEUE_CLAIM ? claim->max : LIMIT_QUEUE_CLAIM};
    QueueJob *jobs;
    int r = 0;

    if (claim->worker.n > LIMIT_QUEUE_NAME_BYTES) {
        op->r = QUEUE_E_TOO_LARGE;
        return 0;
    }
    if (claim->methods != NULL && claim->pool.n == 0) {
        op->r = err_raise(-EINVAL);
        return 0;
    }
    if (claim->methods != NULL && !store->has_methods) {
        r = claim_name_methods(store, op);
        if (r != 0) {
            return r;
        }
    }
    if (round.max > (size_t)store->tally.n[JOB_ENQUEUED]) {
        round.max = (size_t)store->tally.n[JOB_ENQUEUED];
    }
    jobs = arena_alloc_array(&op->arena, first + round.max, sizeof(*jobs));
    if (jobs == NULL || !store_copy(&op->arena, claim->worker, &round.worker) ||
        !store_copy(&op->arena, claim->pool, &round.pool)) {
        op->r = err_raise(-ENOMEM);
        return 0;
    }
    round.jobs = jobs + first;
    round.is_full = round.max == 0;
    if (claim->methods != NULL && round.max > 0) {
        r = claim_methods(store, op, &round);
    }
    while (claim->methods == NULL && r == 0 && !round.is_full) {
        r = claim_next(store, op, &round);
    }
    /* The first does not fit: nothing was changed. */
    if (r != 0 || (round.n == 0 && round.max > 0)) {
        op->r = err_raise(-ENOMEM);
        return r;
    }
    op->jobs = jobs;
    op->n_jobs = first + round.n;
    op->n_changed = round.n_away;
    return 0;
}

int store_claim(Store *store, QueueOp *op)
{
    return store_claim_into(store, op, 0);
}
