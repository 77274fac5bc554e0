#include "queue/store_sqlite.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* Windows has no such number of its own. */
#ifndef EDQUOT
#define EDQUOT ENOSPC
#endif

/* The columns of a StoreRow: those that statements ask about, and the rest in one piece. */
#define ROW "j.id, j.state, j.due_us, j.flags, j.priority, j.finished_us, j.keep_us, j.rest"

/* What was asked for; in STORE_SQL_JOB behind a row. */
#define SPEC                                                                                       \
    "s.method, s.owner, s.source, s.rpc_id, s.idem, s.note, s.timeout_ms, s.max_attempts,"         \
    " s.is_idempotent, s.enqueued_us"

static const char *const store_texts[STORE_N_SQL] = {
    [STORE_SQL_BEGIN] = "BEGIN",
    [STORE_SQL_COMMIT] = "COMMIT",
    [STORE_SQL_ROLLBACK] = "ROLLBACK",
    [STORE_SQL_META] = "UPDATE meta SET next_id = ?1, n0 = ?2, n1 = ?3, n2 = ?4, n3 = ?5, n4 = ?6,"
                       " n5 = ?7, n6 = ?8, n7 = ?9, n_asking = ?10, result_bytes = ?11,"
                       " offset_us = ?12, is_open = ?13 WHERE id = 1",
    /* What writes sets of rows (store_sqlite_put.c). OR FAIL: whatever fails undoes the batch, so
     * that no copy of the pages as they were before the statement is needed. */
    [STORE_SQL_ADD_SPEC] = "INSERT OR FAIL INTO spec(id, method, params, owner, source, rpc_id,"
                           " idem, note, timeout_ms, max_attempts, is_idempotent, enqueued_us,"
                           " sum) SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13"
                           " FROM put_spec",
    [STORE_SQL_ADD_JOB] = "INSERT OR FAIL INTO job(id, state, due_us, flags, priority,"
                          " finished_us, keep_us, rest, pool, method, ready)"
                          " SELECT c1, 0, c2, 0, c3, 0, 0, c4, c5, c6, c7 FROM put_job",
    [STORE_SQL_FIND_KEY] = "SELECT id, method, params FROM spec INDEXED BY spec_key"
                           " WHERE owner = ?1 AND idem = ?2",
    [STORE_SQL_READY] = "SELECT id, priority, ready FROM job INDEXED BY job_ready"
                        " WHERE ready IS NOT NULL AND pool = ?1 ORDER BY priority, ready LIMIT ?2",
    [STORE_SQL_READY_METHOD] = "SELECT id, priority, ready FROM job INDEXED BY job_method"
                               " WHERE ready IS NOT NULL AND pool = ?1 AND method = ?2"
                               " ORDER BY priority, ready LIMIT ?3",
    [STORE_SQL_NAME_METHODS] = "UPDATE OR FAIL job NOT INDEXED SET method ="
                               " (SELECT s.method FROM spec s WHERE s.id = job.id)"
                               " WHERE id > ?1 AND id <= ?2 AND ready IS NOT NULL"
                               " AND method IS NULL AND pool <> ''",
    [STORE_SQL_SPEC] = "SELECT " SPEC ", s.params, s.sum FROM spec s WHERE s.id = ?1",
    [STORE_SQL_ROW] = "SELECT " ROW " FROM job j WHERE j.id = ?1",
    [STORE_SQL_SET_ROW] = "UPDATE job SET state = ?2, due_us = ?3, flags = ?4, finished_us = ?5,"
                          " keep_us = ?6, rest = ?7, ready = ?8, method = CASE WHEN ?8 IS NOT NULL"
                          " AND method IS NULL AND pool <> '' THEN (SELECT s.method FROM spec s"
                          " WHERE s.id = ?1) ELSE method END WHERE id = ?1",
    /* What a claim changes, and an end of what is claimed: other indices are left alone. The rows
     * are there; an UPDATE would collect the set in a table of its own first. */
    [STORE_SQL_CLAIM_ROW] = "INSERT INTO job(id, state, due_us, flags, rest, worker)"
                            " SELECT c1, c2, c3, c4, c5, c6 FROM put_claim WHERE true"
                            " ON CONFLICT(id) DO UPDATE SET state = excluded.state,"
                            " due_us = excluded.due_us, flags = excluded.flags,"
                            " rest = excluded.rest, worker = excluded.worker, ready = NULL",
    [STORE_SQL_END_ROW] = "INSERT INTO job(id, state, finished_us, keep_us, rest)"
                          " SELECT c1, c2, c3, c4, c5 FROM put_end WHERE true"
                          " ON CONFLICT(id) DO UPDATE SET state = excluded.state, due_us = 0,"
                          " flags = 0, finished_us = excluded.finished_us,"
                          " keep_us = excluded.keep_us, rest = excluded.rest",
    [STORE_SQL_SET_OUTCOME] = "INSERT OR REPLACE INTO outcome(id, code, message, result, sum)"
                              " SELECT c1, c2, c3, c4, c5 FROM put_outcome",
    [STORE_SQL_JOB] =
        "SELECT " ROW ", " SPEC ", CASE WHEN ?2 THEN s.params END,"
        " j.pool, j.worker, o.code, o.message, CASE WHEN ?2 THEN o.result END, a.asks,"
        " a.inputs, s.sum, o.sum, a.sum FROM job j JOIN spec s ON s.id = j.id LEFT JOIN outcome o"
        " ON o.id = j.id LEFT JOIN ask a ON a.id = j.id WHERE j.id = ?1",
    [STORE_SQL_ABOUT] =
        "SELECT is_idempotent, max_attempts, timeout_ms, owner FROM spec WHERE id = ?1",
    [STORE_SQL_OUTCOME_SIZE] = "SELECT length(CAST(result AS BLOB)) FROM outcome WHERE id = ?1",
    [STORE_SQL_DROP_RESULT] = "UPDATE outcome SET result = '' WHERE id = ?1",
    [STORE_SQL_DROP_OUTCOME] = "DELETE FROM outcome WHERE id = ?1",
    [STORE_SQL_DROP_SPEC] = "DELETE FROM spec WHERE id = ?1",
    [STORE_SQL_DROP_JOB] = "DELETE FROM job WHERE id = ?1",
    [STORE_SQL_DROP_ASK] = "DELETE FROM ask WHERE id = ?1",
    [STORE_SQL_GET_ASK] = "SELECT asks, inputs, sum FROM ask WHERE id = ?1",
    [STORE_SQL_SET_ASK] = "INSERT OR REPLACE INTO ask(id, asks, inputs, sum)"
                          " VALUES(?1, ?2, ?3, ?4)",
    [STORE_SQL_SET_NOTE] = "UPDATE spec SET note = ?2, sum = ?3 WHERE id = ?1",
    [STORE_SQL_LIST_OWNER] = "SELECT j.id, j.state FROM spec s INDEXED BY spec_owner JOIN job j"
                             " ON j.id = s.id WHERE s.owner = ?3 AND s.owner <> '' AND s.id < ?1"
                             " AND (?2 < 0 OR j.state = ?2) ORDER BY s.id DESC",
    [STORE_SQL_LIST_WAITING] = "SELECT id, 0 FROM (SELECT id FROM job INDEXED BY job_ready"
                               " WHERE ready IS NOT NULL UNION ALL SELECT id FROM job"
                               " INDEXED BY job_due WHERE due_us <> 0 AND state = ?2)"
                               " WHERE id < ?1 ORDER BY id DESC",
    [STORE_SQL_LIST_CLAIMED] = "SELECT id, state FROM job INDEXED BY job_due WHERE due_us <> 0"
                               " AND state = ?2 AND id < ?1 ORDER BY id DESC",
    [STORE_SQL_LIST_ALL] = "SELECT id, state FROM job WHERE id < ?1 AND (?2 < 0 OR state = ?2)"
                           " ORDER BY id DESC",
    [STORE_SQL_DUE] = "SELECT id FROM job INDEXED BY job_due WHERE due_us <> 0 AND due_us <= ?1"
                      " ORDER BY due_us LIMIT ?2",
    [STORE_SQL_AWAY] = "SELECT id FROM job INDEXED BY job_due WHERE due_us <> 0"
                       " AND state = 0 AND (flags & 8) <> 0 LIMIT ?1",
    [STORE_SQL_FIRST_DUE] = "SELECT min(due_us) FROM job INDEXED BY job_due WHERE due_us <> 0",
    [STORE_SQL_LATER] = "SELECT " ROW " FROM job j INDEXED BY job_due WHERE j.due_us <> 0"
                        " AND (j.due_us, j.id) > (?1, ?2) AND j.due_us < ?3"
                        " ORDER BY j.due_us, j.id LIMIT 1",
    [STORE_SQL_CLAIMED] = "SELECT id FROM job INDEXED BY job_due WHERE due_us <> 0"
                          " AND state IN (1, 2) AND (flags & 3) = 0 LIMIT ?1",
    [STORE_SQL_OLD] = "SELECT id, state FROM job INDEXED BY job_keep WHERE keep_us <> 0"
                      " AND keep_us <= ?1 ORDER BY keep_us LIMIT ?2",
    [STORE_SQL_FIRST_OLD] = "SELECT min(keep_us) FROM job INDEXED BY job_keep WHERE keep_us <> 0",
    [STORE_SQL_OLD_RESULTS] = "SELECT id, keep_us FROM job INDEXED BY job_keep WHERE keep_us <> 0"
                              " AND (keep_us, id) > (?1, ?2) ORDER BY keep_us, id LIMIT ?3",
    [STORE_SQL_OVER] = "SELECT id, state FROM job WHERE id > ?1 AND keep_us <> 0"
                       " AND finished_us <= ?2 ORDER BY id LIMIT ?3",
};

sqlite3_stmt *store_sql(Store *store, StoreSql which, int *ret_r)
{
    if (store->has_puts) {
        *ret_r = store_puts_write(store);
        if (*ret_r != 0) {
            return NULL;
        }
    }
    if (TW_UNLIKELY(store->sql[which] == NULL)) {
        int code = sqlite3_prepare_v3(store->db, store_texts[which], -1, SQLITE_PREPARE_PERSISTENT,
                                      &store->sql[which], NULL);

        if (code != SQLITE_OK) {
            *ret_r = store_error(store, code);
            return NULL;
        }
    }
    *ret_r = 0;
    return store->sql[which];
}

/* A quota, or a limit of the process, is a disk that is full for us. SQLite knows of one errno
 * only; what went wrong with a file, the file remembers. */
static bool store_has_no_room(const Store *store)
{
    static const int files[] = {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER};

    for (size_t i = 0; i < TW_ARRAY_SIZE(files); i++) {
        sqlite3_file *file = NULL;
        int error = 0;

        (void)sqlite3_file_control(store->db, "main", files[i], &file);
        if (file != NULL && file->pMethods != NULL &&
            file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK &&
            (error == ENOSPC || error == EDQUOT || error == EFBIG)) {
            return true;
        }
    }
    return false;
}

int store_error(Store *store, int code)
{
    store->is_broken = true;
    switch (code & 0xFF) {
    case SQLITE_FULL:
        return QUEUE_E_DISK_FULL;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return QUEUE_E_DAMAGED;
    case SQLITE_NOMEM:
        return err_raise(-ENOMEM);
    case SQLITE_IOERR:
        if (code != SQLITE_IOERR_NOMEM && store_has_no_room(store)) {
            return QUEUE_E_DISK_FULL;
        }
        return err_raise(code == SQLITE_IOERR_NOMEM ? -ENOMEM : -EIO);
    default:
        return err_raise(-EIO);
    }
}

int store_do(Store *store, sqlite3_stmt *sql)
{
    int code = sqlite3_step(sql);
    int reset = sqlite3_reset(sql);

    if (TW_LIKELY(code == SQLITE_DONE || code == SQLITE_ROW)) {
        return 0;
    }
    return store_error(store, reset != SQLITE_OK ? reset : code);
}

int store_step(Store *store, sqlite3_stmt *sql, bool *ret_has_row)
{
    int code = sqlite3_step(sql);

    *ret_has_row = code == SQLITE_ROW;
    if (code == SQLITE_ROW) {
        return 0;
    }
    (void)sqlite3_reset(sql);
    return code == SQLITE_DONE ? 0 : store_error(store, code);
}

void store_bind(sqlite3_stmt *sql, int at, Span text)
{
    (void)sqlite3_bind_text64(sql, at, text.n == 0 ? NULL : text.p, text.n, SQLITE_STATIC,
                              SQLITE_UTF8);
}

void store_bind_text(sqlite3_stmt *sql, int at, Span text)
{
    (void)sqlite3_bind_text64(sql, at, text.n == 0 ? "" : text.p, text.n, SQLITE_STATIC,
                              SQLITE_UTF8);
}

Span store_column(sqlite3_stmt *sql, int at)
{
    /* The bytes as they lie there: no conversion, no copy. */
    const char *p = sqlite3_column_blob(sql, at);

    return p == NULL ? SPAN_NULL : span_make(p, (size_t)sqlite3_column_bytes(sql, at));
}

/* ---- life ---- */

/* Pages in the log at which it is moved: when nobody waits, and more of them in any case. Some 200
 * and 1,000 commits of one job each; three waits for the disk each time. */
#define STORE_SETTLE_IDLE 1000
#define STORE_SETTLE_BUSY 4000

/* SQLite's own word after a commit: the pages in the log. */
static int store_on_log(void *context, sqlite3 *db, const char *name, int n_pages)
{
    Store *store = context;

    (void)db;
    (void)name;
    store->n_log_pages = n_pages;
    return SQLITE_OK;
}

static int store_mark_open(Store *store, bool is_open)
{
    /* Whatever the time is, the clocks are as far apart as they were. */
    int r = store_begin(store, (StoreNow){.wall_us = store->tally.offset_us});
    bool wrote;

    if (r != 0) {
        return r;
    }
    store->tally.is_open = is_open ? 1 : 0;
    store->is_dirty = true;
    return store_commit(store, &wrote);
}

int store_open(Store **ret, const QueueConfig *config, Diag *reterr_diag)
{
    Store *store = mem_alloc_array(1, sizeof(*store));
    int r;

    if (store == NULL) {
        return err_raise(-ENOMEM);
    }
    store->max_body_bytes =
        config->max_body_bytes > 0 ? config->max_body_bytes : LIMIT_QUEUE_BODY_BYTES;
    store->max_waiting = config->max_waiting > 0 ? config->max_waiting : LIMIT_QUEUE_WAITING;
    store->keep_ms = config->keep_ms > 0 ? config->keep_ms : LIMIT_QUEUE_KEEP_MS;
    store->keep_bytes = config->keep_bytes > 0 ? config->keep_bytes : LIMIT_QUEUE_KEEP_BYTES;
    store->settle_pages = STORE_SETTLE_IDLE;
    r = store_schema_open(store, config->path, reterr_diag);
    if (r == 0) {
        (void)sqlite3_wal_hook(store->db, store_on_log, store);
        store->has_crashed = store->tally.is_open != 0;
        r = store_mark_open(store, true);
        if (r != 0) {
            r = diag_set(reterr_diag, r == QUEUE_E_DISK_FULL ? -ENOSPC : r,
                         "cannot write the queue at %s: %s", config->path,
                         sqlite3_errmsg(store->db));
        }
    }
    if (r != 0) {
        store->is_broken = true;
        (void)store_close(store);
        return r;
    }
    *ret = store;
    return 0;
}

Store *store_close(Store *store)
{
    if (store == NULL) {
        return NULL;
    }
    store_rollback(store);
    if (!store->is_broken) {
        (void)store_mark_open(store, false);
    }
    for (size_t i = 0; i < STORE_N_SQL; i++) {
        (void)sqlite3_finalize(store->sql[i]);
    }
    store_hold_end(store);
    (void)sqlite3_close(store->db);
    return mem_free(store);
}

const char *store_file(const Store *store)
{
    const char *file = sqlite3_db_filename(store->db, "main");

    return file != NULL ? file : "";
}

/* Further than this the wall clock has been set, and not merely been slow. */
#define STORE_DRIFT_US ((int64_t)1000 * 1000)

int64_t store_line_start(const Store *store, int64_t wall_us)
{
    return wall_us - store->tally.offset_us;
}

/* ---- batches ---- */

int store_begin(Store *store, StoreNow now)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_BEGIN, &r);

    if (sql != NULL) {
        r = store_do(store, sql);
    }
    if (r != 0) {
        return r;
    }
    store->is_begun = true;
    store->is_dirty = false;
    store->saved = store->tally;
    store->saved_next_us = store->next_us;
    store->saved_next_old_us = store->next_old_us;
    store->now = now;
    return 0;
}

static int store_write_tally(Store *store)
{
    int r;
    sqlite3_stmt *sql = store_sql(store, STORE_SQL_META, &r);
    StoreTally *tally = &store->tally;
    int64_t offset_us = store->now.wall_us - store->now.line_us;

    if (sql == NULL) {
        return r;
    }
    if (offset_us > tally->offset_us + STORE_DRIFT_US ||
        offset_us < tally->offset_us - STORE_DRIFT_US) {
        tally->offset_us = offset_us;
    }
    (void)sqlite3_bind_int64(sql, 1, tally->next_id);
    for (int i = 0; i < JOB_N_STATES; i++) {
        (void)sqlite3_bind_int64(sql, 2 + i, tally->n[i]);
    }
    (void)sqlite3_bind_int64(sql, 10, tally->n_asking);
    (void)sqlite3_bind_int64(sql, 11, tally->result_bytes);
    (void)sqlite3_bind_int64(sql, 12, tally->offset_us);
    (void)sqlite3_bind_int64(sql, 13, tally->is_open);
    return store_do(store, sql);
}

int store_commit(Store *store, bool *ret_wrote)
{
    int r = store->is_dirty ? store_write_tally(store) : 0;
    sqlite3_stmt *sql = r == 0 ? store_sql(store, STORE_SQL_COMMIT, &r) : NULL;

    if (sql != NULL) {
        r = store_do(store, sql);
    }
    if (r != 0) {
        store_rollback(store);
        return r;
    }
    store->is_begun = false;
    *ret_wrote = store->is_dirty;
    return 0;
}

void store_rollback(Store *store)
{
    int r;
    sqlite3_stmt *sql;

    if (!store->is_begun) {
        return;
    }
    store_puts_clear(store);
    for (size_t i = 0; i < STORE_N_SQL; i++) {
        if (store->sql[i] != NULL) {
            (void)sqlite3_reset(store->sql[i]);
        }
    }
    /* A grave failure has undone everything already. */
    if (sqlite3_get_autocommit(store->db) == 0) {
        sql = store_sql(store, STORE_SQL_ROLLBACK, &r);
        if (sql != NULL) {
            (void)store_do(store, sql);
        }
    }
    store->is_begun = false;
    store->has_methods = false;
    store->tally = store->saved;
    store_cache_clear(store);
    store_ready_clear(store);
    store->next_us = store->saved_next_us;
    store->next_old_us = store->saved_next_old_us;
}

bool store_settle(Store *store, bool is_idle)
{
    int n_pages = 0;
    int n_moved = 0;
    int code;

    if (store->n_log_pages < store->settle_pages + (is_idle ? 0 : STORE_SETTLE_BUSY)) {
        return false;
    }
    code =
        sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &n_pages, &n_moved);
    if (code == SQLITE_OK && n_moved == n_pages) {
        store->n_log_pages = 0;
        store->settle_pages = STORE_SETTLE_IDLE;
    } else {
        store->settle_pages = store->n_log_pages + STORE_SETTLE_IDLE;
    }
    return true;
}

int store_run(Store *store, QueueOp *op)
{
    if (op->has_no_memory) {
        op->r = err_raise(-ENOMEM);
        return 0;
    }
    switch (op->verb) {
    case QUEUE_ENQUEUE:
        return store_enqueue(store, op);
    case QUEUE_CLAIM:
        return store_claim(store, op);
    case QUEUE_COMPLETE:
        return store_complete(store, op);
    case QUEUE_BEAT:
        return store_beat(store, op);
    case QUEUE_ASK:
        return store_ask(store, op);
    case QUEUE_ANSWER:
        return store_answer(store, op);
    case QUEUE_CANCEL:
        return store_cancel(store, op);
    case QUEUE_RETRY:
        return store_retry(store, op);
    case QUEUE_WAKE:
        return store_wake(store, op);
    case QUEUE_GET:
        return store_get(store, op);
    case QUEUE_LIST:
        return store_list(store, op);
    case QUEUE_COUNT:
        for (int i = 0; i < JOB_N_STATES; i++) {
            op->counts.n[i] = (uint64_t)store->tally.n[i];
        }
        op->counts.n_asking = (uint64_t)store->tally.n_asking;
        return 0;
    case QUEUE_PURGE:
        return store_purge(store, op);
    case QUEUE_N_VERBS:
    default:
        op->r = err_raise(-EINVAL);
        return 0;
    }
}
