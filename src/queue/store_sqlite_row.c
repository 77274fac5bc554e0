#include "queue/store_sqlite.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"

#define US_PER_MS 1000

int store_do_id(Store *store, StoreSql which, int64_t id)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, which, &r);

    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, id);
    store->is_dirty = true;
    return store_do(store, sql);
}

/* ---- the packed piece ---- */

/* Seven bits a byte, the lowest first; 10 bytes at most. */
static uint8_t *row_put_number(uint8_t *at, uint64_t number)
{
    while (number >= 0x80) {
        *at++ = (uint8_t)(number | 0x80);
        number >>= 7;
    }
    *at++ = (uint8_t)number;
    return at;
}

/* Gives 0 behind the end: of a damaged row. */
static uint64_t row_take_number(const uint8_t **at, const uint8_t *end)
{
    uint64_t number = 0;

    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;

        number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    return number;
}

/* Numbers near 0, on either side, as small ones. */
static uint64_t row_fold(int64_t number)
{
    return ((uint64_t)number << 1) ^ (number < 0 ? UINT64_MAX : 0);
}

static int64_t row_unfold(uint64_t number)
{
    return (int64_t)((number >> 1) ^ ((number & 1) != 0 ? UINT64_MAX : 0));
}

/* The difference, whatever they are. */
static uint64_t row_fold_from(int64_t number, int64_t from)
{
    return row_fold((int64_t)((uint64_t)number - (uint64_t)from));
}

static int64_t row_unfold_from(uint64_t number, int64_t from)
{
    return (int64_t)((uint64_t)row_unfold(number) + (uint64_t)from);
}

/* Its place is most often its id, and times lie close to each other. */
size_t store_row_pack(const StoreRow *row, uint8_t out[STORE_REST_MAX])
{
    const uint64_t numbers[STORE_REST_NUMBERS] = {
        row_fold_from(row->seq, row->id),
        row_fold(row->fence),
        row_fold(row->n_attempts),
        row_fold(row->version),
        row_fold(row->lease_us),
        row_fold(row->end_us),
        row_fold(row->span_ms),
        row_fold(row->started_us),
        row_fold_from(row->beat_us, row->started_us),
        row_fold_from(row->changed_us, row->started_us),
        row_fold(row->keep_ms),
    };
    uint8_t *at = out + STORE_SECRET_BYTES;
    size_t n;

    memcpy(out, row->secret, STORE_SECRET_BYTES);
    for (size_t i = 0; i < STORE_REST_NUMBERS; i++) {
        at = row_put_number(at, numbers[i]);
    }
    n = (size_t)(at - out);
    if (n < STORE_REST_BYTES) {
        memset(at, 0, STORE_REST_BYTES - n);
        n = STORE_REST_BYTES;
    }
    return n;
}

static void row_unpack(Span rest, StoreRow *ret)
{
    uint64_t numbers[STORE_REST_NUMBERS];
    const uint8_t *at = (const uint8_t *)rest.p + STORE_SECRET_BYTES;

    if (rest.n < STORE_REST_BYTES) {
        return; /* damaged: a job that nobody knows the secret of */
    }
    memcpy(ret->secret, rest.p, STORE_SECRET_BYTES);
    for (size_t i = 0; i < STORE_REST_NUMBERS; i++) {
        numbers[i] = row_take_number(&at, (const uint8_t *)rest.p + rest.n);
    }
    ret->seq = row_unfold_from(numbers[0], ret->id);
    ret->fence = row_unfold(numbers[1]);
    ret->n_attempts = row_unfold(numbers[2]);
    ret->version = row_unfold(numbers[3]);
    ret->lease_us = row_unfold(numbers[4]);
    ret->end_us = row_unfold(numbers[5]);
    ret->span_ms = row_unfold(numbers[6]);
    ret->started_us = row_unfold(numbers[7]);
    ret->beat_us = row_unfold_from(numbers[8], ret->started_us);
    ret->changed_us = row_unfold_from(numbers[9], ret->started_us);
    ret->keep_ms = row_unfold(numbers[10]);
}

/* ---- rows ---- */

void store_row_read(sqlite3_stmt *sql, int first, StoreRow *ret)
{
    *ret = (StoreRow){
        .id = sqlite3_column_int64(sql, first),
        .state = (JobState)sqlite3_column_int(sql, first + 1),
        .due_us = sqlite3_column_int64(sql, first + 2),
        .flags = sqlite3_column_int64(sql, first + 3),
        .priority = sqlite3_column_int64(sql, first + 4),
        .finished_us = sqlite3_column_int64(sql, first + 5),
        .keep_us = sqlite3_column_int64(sql, first + 6),
    };
    row_unpack(store_column(sql, first + 7), ret);
    /* A damaged file may hold anything: no state beyond those that we count. */
    if ((unsigned)ret->state >= JOB_N_STATES) {
        ret->state = JOB_FAILED;
    }
}

static StoreRow *row_cached(Store *store, int64_t id)
{
    return &store->cache[(uint64_t)id % STORE_CACHE_ROWS];
}

int store_row_get(Store *store, int64_t id, StoreRow *ret, bool *ret_found)
{
    int r;
    sqlite3_stmt *sql;

    *ret_found = id > 0 && row_cached(store, id)->id == id;
    if (*ret_found) {
        *ret = *row_cached(store, id);
        return 0;
    }
    sql = store_sql(store, STORE_SQL_ROW, &r);
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, id);
    r = store_step(store, sql, ret_found);
    if (r == 0 && *ret_found) {
        store_row_read(sql, 0, ret);
        (void)sqlite3_reset(sql);
        *row_cached(store, id) = *ret;
    }
    return r;
}

/* A write of the row is about to be made. */
static void row_touch(Store *store, StoreRow *row)
{
    row->version++;
    if (store->now.stamp_us > row->changed_us) {
        row->changed_us = store->now.stamp_us;
    }
    store->is_dirty = true;
}

/* It has been made. */
static void row_wrote(Store *store, const StoreRow *row, JobState was, int64_t flags_were)
{
    store->tally.n[was]--;
    store->tally.n[row->state]++;
    store->tally.n_asking += ((row->flags & STORE_FLAG_ASKING) != 0 ? 1 : 0) -
                             ((flags_were & STORE_FLAG_ASKING) != 0 ? 1 : 0);
    if (row->due_us != 0 && row->due_us < store->next_us) {
        store->next_us = row->due_us;
    }
    *row_cached(store, row->id) = *row;
}

void store_row_added(Store *store, const StoreRow *row)
{
    store->tally.n[row->state]++;
    if (row->due_us != 0 && row->due_us < store->next_us) {
        store->next_us = row->due_us;
    }
    *row_cached(store, row->id) = *row;
}

void store_row_removed(Store *store, int64_t id)
{
    if (store->specs[(uint64_t)id % STORE_CACHE_SPECS].id == id) {
        store->specs[(uint64_t)id % STORE_CACHE_SPECS].id = 0;
    }
    if (row_cached(store, id)->id == id) {
        row_cached(store, id)->id = 0;
    }
}

int store_row_set(Store *store, StoreRow *row, JobState was, int64_t flags_were)
{
    uint8_t rest[STORE_REST_MAX];
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_SET_ROW, &r);

    if (sql == NULL) {
        return r;
    }
    row_touch(store, row);
    if (was == JOB_ENQUEUED || row->state == JOB_ENQUEUED) {
        store_ready_clear(store);
    }
    (void)sqlite3_bind_int64(sql, 1, row->id);
    (void)sqlite3_bind_int(sql, 2, (int)row->state);
    (void)sqlite3_bind_int64(sql, 3, row->due_us);
    (void)sqlite3_bind_int64(sql, 4, row->flags);
    (void)sqlite3_bind_int64(sql, 5, row->finished_us);
    (void)sqlite3_bind_int64(sql, 6, row->keep_us);
    if (row->state == JOB_ENQUEUED && row->due_us == 0) {
        (void)sqlite3_bind_int64(sql, 8, row->seq);
    } else {
        (void)sqlite3_bind_null(sql, 8);
    }
    (void)sqlite3_bind_blob(sql, 7, rest, (int)store_row_pack(row, rest), SQLITE_STATIC);
    r = store_do(store, sql);
    (void)sqlite3_bind_null(sql, 7); /* it was only lent */
    if (r == 0) {
        row_wrote(store, row, was, flags_were);
    }
    return r;
}

int store_row_claim(Store *store, StoreRow *row, int64_t flags_were, Span worker)
{
    int r;
    StorePut *put = store_put(store, STORE_PUT_CLAIM, row->id, &r);

    if (put == NULL) {
        return r;
    }
    row_touch(store, row);
    store_put_number(put, 2, row->state);
    store_put_number(put, 3, row->due_us);
    store_put_number(put, 4, row->flags);
    store_put_rest(put, 5, row, STORE_REST_PAD_CLAIMED);
    store_put_text(put, 6, worker);
    row_wrote(store, row, JOB_ENQUEUED, flags_were);
    return 0;
}

/* Of one that is somebody's. */
static int row_set_end(Store *store, StoreRow *row, JobState was, int64_t flags_were)
{
    int r;
    StorePut *put = store_put(store, STORE_PUT_END, row->id, &r);

    if (put == NULL) {
        return r;
    }
    row_touch(store, row);
    store_put_number(put, 2, row->state);
    store_put_number(put, 3, row->finished_us);
    store_put_number(put, 4, row->keep_us);
    store_put_rest(put, 5, row, 0);
    row_wrote(store, row, was, flags_were);
    return 0;
}

static int64_t row_ms_to_us(int64_t ms)
{
    return (ms < LIMIT_TIME_MS ? ms : LIMIT_TIME_MS) * US_PER_MS;
}

void store_row_times(const Store *store, StoreRow *row, int64_t lease_ms)
{
    row->lease_us = lease_ms > 0 ? store->now.line_us + row_ms_to_us(lease_ms) : 0;
    row->span_ms = lease_ms > 0 ? lease_ms : 0;
    row->due_us = STORE_NEVER;
    if (row->lease_us != 0) {
        row->due_us = row->lease_us;
    }
    if (row->end_us != 0 && row->end_us < row->due_us) {
        row->due_us = row->end_us;
    }
}

int store_outcome_drop(Store *store, int64_t id)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_OUTCOME_SIZE, &r);
    bool has_row = false;

    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, id);
    r = store_step(store, sql, &has_row);
    if (r != 0 || !has_row) {
        return r;
    }
    store->tally.result_bytes -= sqlite3_column_int64(sql, 0);
    (void)sqlite3_reset(sql);
    return store_do_id(store, STORE_SQL_DROP_OUTCOME, id);
}

static int row_put_outcome(Store *store, int64_t id, const QueueFinish *finish)
{
    int r;
    StorePut *put = store_put(store, STORE_PUT_OUTCOME, id, &r);
    Span code = finish->code;

    if (put == NULL) {
        return r;
    }
    if (code.n == 0) {
        code = finish->state == JOB_SUCCEEDED ? SPAN("OK")
                                              : span_from_str(job_state_name(finish->state));
    }
    store_put_text(put, 2, code);
    store_put_text(put, 3, finish->message);
    store_put_text(put, 4, finish->result);
    store_put_number(put, 5, store_sum_outcome(id, code, finish->message, finish->result));
    store->tally.result_bytes += (int64_t)finish->result.n;
    return 0;
}

static int row_end(Store *store, StoreRow *row, const QueueFinish *finish, int64_t flags)
{
    JobState was = row->state;
    int64_t flags_were = row->flags;
    int r = 0;

    if ((row->flags & STORE_FLAG_ASKED) != 0) {
        r = store_do_id(store, STORE_SQL_DROP_ASK, row->id);
    }
    if (r == 0) {
        r = row_put_outcome(store, row->id, finish);
    }
    if (r != 0) {
        return r;
    }
    row->state = finish->state;
    row->flags = flags;
    row->due_us = 0;
    row->lease_us = 0;
    row->end_us = 0;
    row->finished_us = store->now.stamp_us;
    row->keep_us =
        row->finished_us + row_ms_to_us(row->keep_ms >= 0 ? row->keep_ms : store->keep_ms);
    if (row->keep_us < store->next_old_us) {
        store->next_old_us = row->keep_us;
    }
    /* The short way is for the usual end, of one that is somebody's; it writes no flags. */
    return was == JOB_ENQUEUED || job_is_over(was) || flags != 0
               ? store_row_set(store, row, was, flags_were)
               : row_set_end(store, row, was, flags_were);
}

int store_row_end(Store *store, StoreRow *row, const QueueFinish *finish)
{
    return row_end(store, row, finish, 0);
}

static int row_requeue(Store *store, StoreRow *row, int64_t delay_ms, int64_t flags)
{
    JobState was = row->state;
    int64_t flags_were = row->flags;

    row->state = JOB_ENQUEUED;
    row->flags &= ~(int64_t)(STORE_FLAG_LEASED | STORE_FLAG_ASKING | STORE_FLAG_AWAY);
    /* An attempt that ended while its process lives breaks the row of crashes. */
    row->flags &= was == JOB_ENQUEUED ? ~(int64_t)0 : ~(int64_t)STORE_FLAG_CRASHES;
    row->flags |= flags;
    row->due_us = delay_ms > 0 ? store->now.line_us + row_ms_to_us(delay_ms) : 0;
    row->span_ms = delay_ms > 0 ? delay_ms : 0;
    row->lease_us = 0;
    row->end_us = 0;
    row->finished_us = 0;
    row->keep_us = 0;
    return store_row_set(store, row, was, flags_were);
}

int store_row_requeue(Store *store, StoreRow *row, int64_t delay_ms)
{
    return row_requeue(store, row, delay_ms, 0);
}

int store_row_put_by(Store *store, StoreRow *row, int64_t away_ms)
{
    row->n_attempts--;
    return row_requeue(store, row, away_ms, STORE_FLAG_AWAY | (row->flags & STORE_FLAG_CRASHES));
}

int store_about(Store *store, int64_t id, StoreAbout *ret)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_ABOUT, &r);
    bool has_row = false;

    *ret = (StoreAbout){.max_attempts = 1};
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, id);
    r = store_step(store, sql, &has_row);
    if (r == 0 && has_row) {
        *ret = (StoreAbout){.is_idempotent = sqlite3_column_int(sql, 0) != 0,
                            .max_attempts = (unsigned)sqlite3_column_int64(sql, 1),
                            .timeout_ms = sqlite3_column_int64(sql, 2)};
        (void)sqlite3_reset(sql);
    }
    return r;
}

/* Counts a death of the process that ran it; true: one too many. */
static bool row_has_crashed(const Store *store, StoreRow *row)
{
    int64_t n = (row->flags & STORE_FLAG_CRASHES) / STORE_FLAG_CRASH;

    if (store->has_crashed && n < LIMIT_QUEUE_CRASHES) {
        row->flags += STORE_FLAG_CRASH;
        n++;
    }
    return n >= LIMIT_QUEUE_CRASHES;
}

int store_row_lose(Store *store, StoreRow *row, JobLoss loss, const QueueFinish *finish)
{
    static const QueueFinish quarantined = {
        .state = JOB_DEAD,
        .code = SPAN_INIT(QUEUE_CODE_QUARANTINED),
        .message = SPAN_INIT(QUEUE_TEXT_QUARANTINED),
    };
    static const struct {
        Span code;
        Span message;
    } words[] = {
        [JOB_LOSS_CRASH] = {SPAN_INIT("INTERRUPTED"),
                            SPAN_INIT("the process that ran it ended; it may have run")},
        [JOB_LOSS_LEASE] = {SPAN_INIT("INTERRUPTED"),
                            SPAN_INIT("its worker gave no sign of life; it may have run")},
        [JOB_LOSS_TIMEOUT] = {SPAN_INIT("TIMEOUT"), SPAN_INIT("its time passed; it may have run")},
        [JOB_LOSS_AGAIN] = {SPAN_INIT("NOT_STARTED"), SPAN_INIT("it could not be started")},
    };
    /* Whoever has it under a lease may still answer; what this process runs is stopped. */
    bool may_be_late = loss == JOB_LOSS_LEASE ||
                       (loss == JOB_LOSS_TIMEOUT && (row->flags & STORE_FLAG_LEASED) != 0);
    int64_t flags = may_be_late ? STORE_FLAG_LATE : 0;
    bool is_poison = loss == JOB_LOSS_CRASH && row_has_crashed(store, row);
    StoreAbout about;
    int64_t delay_ms;
    QueueFinish end = {.code = words[loss].code, .message = words[loss].message};
    int r = store_about(store, row->id, &about);

    if (r != 0) {
        return r;
    }
    end.state = job_after_loss(loss, about.is_idempotent, (unsigned)row->n_attempts,
                               about.max_attempts, &delay_ms);
    if (is_poison && about.is_idempotent) {
        return row_end(store, row, &quarantined, 0);
    }
    if (end.state == JOB_ENQUEUED) {
        flags |= loss == JOB_LOSS_CRASH ? row->flags & STORE_FLAG_CRASHES : 0;
        return row_requeue(store, row, delay_ms, flags);
    }
    if (finish != NULL) {
        end.code = finish->code.n > 0 ? finish->code : end.code;
        end.message = finish->message.n > 0 ? finish->message : end.message;
        end.result = finish->result;
    }
    return row_end(store, row, &end, flags);
}
