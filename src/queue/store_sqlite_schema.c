#include "queue/store_sqlite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/logsink.h"
#include "io/database_file.h"
#include "io/error_text.h"
#include "io/place.h"

/* A second process is told at once that the store is in use; so long does one that is ending get to
 * let it go. */
#define SCHEMA_BUSY_MS 250

/* A file up to so many pages is looked through after an end that was not orderly: 16 MiB, some 50
 * ms. Larger ones would keep the start waiting, and what is damaged shows when it is read. */
#define SCHEMA_CHECK_PAGES 4096

const char *const store_migrations[] = {
    /* 1 */
    "CREATE TABLE meta(id INTEGER PRIMARY KEY CHECK (id = 1), next_id INTEGER NOT NULL,"
    " n0 INTEGER NOT NULL, n1 INTEGER NOT NULL, n2 INTEGER NOT NULL, n3 INTEGER NOT NULL,"
    " n4 INTEGER NOT NULL, n5 INTEGER NOT NULL, n6 INTEGER NOT NULL, n7 INTEGER NOT NULL,"
    " n_asking INTEGER NOT NULL, result_bytes INTEGER NOT NULL, offset_us INTEGER NOT NULL,"
    " is_open INTEGER NOT NULL);"
    "INSERT INTO meta VALUES(1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);"
    "CREATE TABLE spec(id INTEGER PRIMARY KEY, method TEXT NOT NULL, params TEXT, owner TEXT NOT "
    "NULL,"
    " source TEXT, rpc_id TEXT, idem TEXT, note TEXT, timeout_ms INTEGER NOT NULL,"
    " max_attempts INTEGER NOT NULL, is_idempotent INTEGER NOT NULL, enqueued_us INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX spec_key ON spec(owner, idem) WHERE idem IS NOT NULL;"
    "CREATE TABLE job(id INTEGER PRIMARY KEY, state INTEGER, due_us INTEGER, flags INTEGER,"
    " priority INTEGER, finished_us INTEGER, keep_us INTEGER, rest BLOB, pool TEXT, method TEXT,"
    " ready INTEGER, worker TEXT);"
    "CREATE INDEX job_ready ON job(pool, priority, ready) WHERE ready IS NOT NULL;"
    "CREATE INDEX job_method ON job(pool, method, priority, ready)"
    " WHERE ready IS NOT NULL AND method IS NOT NULL;"
    "CREATE INDEX job_due ON job(due_us) WHERE due_us <> 0;"
    "CREATE INDEX job_keep ON job(keep_us) WHERE keep_us <> 0;"
    "CREATE TABLE outcome(id INTEGER PRIMARY KEY, code TEXT, message TEXT, result TEXT);"
    "CREATE TABLE ask(id INTEGER PRIMARY KEY, asks TEXT, inputs TEXT);",
    /* 2: the lists of an owner. */
    "CREATE INDEX spec_owner ON spec(owner, id) WHERE owner <> '';",
    /* 3: job.method of what waits may be NULL, which claims by method before it would not find. */
    "",
    /* 4: checksums; rows of before have none. */
    "ALTER TABLE spec ADD COLUMN sum INTEGER; ALTER TABLE outcome ADD COLUMN sum INTEGER;"
    "ALTER TABLE ask ADD COLUMN sum INTEGER;",
};
const int store_n_migrations = TW_ARRAY_SIZE(store_migrations);

/* What SQLite said when the file was opened, in our words. */
static int schema_fail(Store *store, int code, const char *path, Diag *reterr_diag)
{
    int error = sqlite3_system_errno(store->db);

    switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return diag_set(reterr_diag, QUEUE_E_BUSY, "another process has the queue at %s", path);
    case SQLITE_NOTADB:
        return diag_set(reterr_diag, QUEUE_E_DAMAGED,
                        "%s is no queue: it is not a database; move it aside", path);
    case SQLITE_CORRUPT:
        return diag_set(reterr_diag, QUEUE_E_DAMAGED,
                        "the queue at %s is damaged (%s): " QUEUE_REMEDY, path,
                        sqlite3_errmsg(store->db), path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return diag_set(reterr_diag, QUEUE_E_READ_ONLY, "the queue at %s cannot be written", path);
    case SQLITE_CANTOPEN:
        /* Of the file, or of the log beside it; not everything leaves its errno. */
        if (error == EACCES || error == EROFS || error == EPERM || error == 0) {
            return diag_set(reterr_diag, QUEUE_E_READ_ONLY,
                            "the queue at %s, or the folder around it, cannot be written", path);
        }
        return diag_set(reterr_diag, err_raise(-error), "cannot open the queue at %s: %s", path,
                        io_error_text(error));
    case SQLITE_NOMEM:
        return err_raise(-ENOMEM);
    case SQLITE_FULL:
        return diag_set(reterr_diag, err_raise(-ENOSPC), "the disk of the queue at %s is full",
                        path);
    default:
        return diag_set(reterr_diag, err_raise(-EIO), "cannot open the queue at %s: %s", path,
                        sqlite3_errmsg(store->db));
    }
}

/* A pragma's first column as a number; what is no number is 0. */
static int schema_number(Store *store, const char *sql, int64_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL);

    if (code == SQLITE_OK) {
        code = sqlite3_step(stmt);
        *ret = code == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
        code = code == SQLITE_ROW || code == SQLITE_DONE ? sqlite3_reset(stmt) : code;
    }
    (void)sqlite3_finalize(stmt);
    return code;
}

static int schema_exec(Store *store, const char *sql)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

/* The lock is the database's own, taken here for as long as the connection lives
 * (store_hold_begin), and let go by the system when the process dies. synchronous FULL: a commit
 * returns when the disk has it. The log is moved into the file by store_settle, when nobody waits
 * for it, and keeps its room: writing over is twice as fast as appending. */
static int schema_settings(Store *store)
{
    int code = schema_exec(store, "PRAGMA journal_mode = WAL");

    if (code == SQLITE_OK) {
        code =
            schema_exec(store, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
                               "PRAGMA journal_size_limit = 33554432; PRAGMA cache_size = -16384;"
                               "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = FAST;"
                               "BEGIN EXCLUSIVE; COMMIT");
    }
    return code;
}

static int schema_migrate(Store *store, int64_t version)
{
    int code = schema_exec(store, "BEGIN IMMEDIATE");
    char set[96];

    for (int64_t i = version; code == SQLITE_OK && i < store_n_migrations; i++) {
        code = schema_exec(store, store_migrations[i]);
    }
    if (code == SQLITE_OK) {
        (void)snprintf(set, sizeof(set), "PRAGMA user_version = %d; PRAGMA application_id = %d",
                       store_n_migrations, STORE_APPLICATION_ID);
        code = schema_exec(store, set);
    }
    if (code == SQLITE_OK) {
        code = schema_exec(store, "COMMIT");
    }
    if (code != SQLITE_OK && sqlite3_get_autocommit(store->db) == 0) {
        (void)schema_exec(store, "ROLLBACK");
    }
    return code;
}

/* Of which version it is; older ones are brought to ours. */
static int schema_version(Store *store, const char *path, Diag *reterr_diag)
{
    int64_t version = 0;
    int code = schema_number(store, "PRAGMA user_version", &version);

    if (code != SQLITE_OK) {
        return schema_fail(store, code, path, reterr_diag);
    }
    if (version > store_n_migrations) {
        return diag_set(
            reterr_diag, QUEUE_E_NEWER,
            "the queue at %s is of version %lld, and this program knows %d: a newer one "
            "wrote it",
            path, (long long)version, store_n_migrations);
    }
    code = version < store_n_migrations ? schema_migrate(store, version) : SQLITE_OK;
    return code == SQLITE_OK ? 0 : schema_fail(store, code, path, reterr_diag);
}

static int schema_tally(Store *store)
{
    sqlite3_stmt *sql = NULL;
    StoreTally *tally = &store->tally;
    int code = sqlite3_prepare_v2(store->db,
                                  "SELECT next_id, n0, n1, n2, n3, n4, n5, n6, n7, n_asking,"
                                  " result_bytes, offset_us, is_open FROM meta WHERE id = 1",
                                  -1, &sql, NULL);

    if (code == SQLITE_OK) {
        code = sqlite3_step(sql);
    }
    if (code == SQLITE_ROW) {
        tally->next_id = sqlite3_column_int64(sql, 0);
        for (int i = 0; i < JOB_N_STATES; i++) {
            tally->n[i] = sqlite3_column_int64(sql, 1 + i);
        }
        tally->n_asking = sqlite3_column_int64(sql, 9);
        tally->result_bytes = sqlite3_column_int64(sql, 10);
        tally->offset_us = sqlite3_column_int64(sql, 11);
        tally->is_open = sqlite3_column_int64(sql, 12);
        code = SQLITE_OK;
    } else if (code == SQLITE_DONE) {
        code = SQLITE_CORRUPT;
    }
    (void)sqlite3_finalize(sql);
    return code;
}

/* SQLite says first in which database it is, of one. */
static Span schema_last_line(Span text)
{
    for (size_t i = text.n; i > 0; i--) {
        if (text.p[i - 1] == '\n') {
            return span_make(text.p + i, text.n - i);
        }
    }
    return text;
}

/* Looks through a small file whose last process did not say that it ended. */
static int schema_check(Store *store, const char *path, Diag *reterr_diag)
{
    sqlite3_stmt *sql = NULL;
    int64_t n_pages = 0;
    int code = schema_number(store, "PRAGMA page_count", &n_pages);
    int r = 0;

    if (code == SQLITE_OK && (store->tally.is_open == 0 || n_pages > SCHEMA_CHECK_PAGES)) {
        return 0;
    }
    if (code == SQLITE_OK) {
        code = sqlite3_prepare_v2(store->db, "PRAGMA quick_check(1)", -1, &sql, NULL);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(sql);
    }
    if (code != SQLITE_ROW) {
        r = schema_fail(store, code == SQLITE_DONE ? SQLITE_CORRUPT : code, path, reterr_diag);
    } else if (!span_equals(store_column(sql, 0), SPAN("ok"))) {
        Span what = schema_last_line(store_column(sql, 0));

        r = diag_set(reterr_diag, QUEUE_E_DAMAGED,
                     "the queue at %s is damaged (%.*s): " QUEUE_REMEDY, path,
                     (int)(what.n < 60 ? what.n : 60), what.p, path);
    }
    (void)sqlite3_finalize(sql);
    return r;
}

/* Before anything is written: what is damaged stays as it is, log and all. */
static int schema_log(Store *store, const char *path, Diag *reterr_diag)
{
    int64_t n_page = 0;
    bool is_damaged = false;
    int code = schema_number(store, "PRAGMA page_size", &n_page);
    int r;

    if (code != SQLITE_OK) {
        return schema_fail(store, code, path, reterr_diag);
    }
    r = store_log_check(store, (size_t)n_page, &is_damaged);
    if (r != 0) {
        return diag_set(reterr_diag, r, "cannot read the log of the queue at %s", path);
    }
    if (is_damaged) {
        (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        return diag_set(
            reterr_diag, QUEUE_E_DAMAGED,
            "the log of the queue (%s-wal) is damaged, and jobs behind that place would "
            "be lost; keep a copy of both before you remove it",
            path);
    }
    return 0;
}

/* Whose file it is, from its first page and before SQLite reads any: what is not ours stays as it
 * is, to the byte. */
static int schema_look(Store *store, const char *path, Diag *reterr_diag)
{
    uint8_t head[DATABASE_FILE_HEAD_BYTES];
    DatabaseFileKind kind = DATABASE_FILE_OTHER;
    sqlite3_file *file = NULL;
    sqlite3_int64 n = 0;
    int code = sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    int r;

    if (code == SQLITE_OK) {
        code = file->pMethods->xFileSize(file, &n);
    }
    n = n < DATABASE_FILE_HEAD_BYTES ? n : DATABASE_FILE_HEAD_BYTES;
    if (code == SQLITE_OK && n > 0) {
        code = file->pMethods->xRead(file, head, (int)n, 0);
    }
    if (code != SQLITE_OK) {
        return schema_fail(store, code, path, reterr_diag);
    }
    r = database_file_judge(path, head, (size_t)n, STORE_APPLICATION_ID, &kind);
    if (r != 0) {
        return diag_set(reterr_diag, r, "cannot read the log of the queue at %s: %s", path,
                        io_error_text(-r));
    }
    switch (kind) {
    case DATABASE_FILE_OTHER:
        return schema_fail(store, SQLITE_NOTADB, path, reterr_diag);
    case DATABASE_FILE_FOREIGN:
        return diag_set(reterr_diag, QUEUE_E_DAMAGED,
                        "%s is no queue: it is another program's database; move it aside", path);
    case DATABASE_FILE_EMPTY:
        return diag_set(reterr_diag, QUEUE_E_DAMAGED,
                        "the queue at %s is empty, which no queue ever is: its jobs are lost%s. "
                        "Put a copy back, or remove the file to begin a new queue",
                        path, database_file_has_log(path) ? " but those in its log (-wal)" : "");
    case DATABASE_FILE_OURS:
    case DATABASE_FILE_BLANK:
    default:
        return 0;
    }
}

/* For this user's eyes from its first moment; the log beside it takes over its permissions. A file
 * that is there is not touched: closing any descriptor of it would let our own lock go. */
static int schema_make(const char *path, Diag *reterr_diag)
{
    int r;

    if (io_place_exists(path)) {
        return 0;
    }
    if (database_file_has_log(path)) {
        return diag_set(reterr_diag, QUEUE_E_DAMAGED,
                        "there is no queue at %s, but its log is (%s-wal): put the file back "
                        "beside it, or move the log aside to begin a new queue",
                        path, path);
    }
    r = database_file_make(path, STORE_APPLICATION_ID);
    return r == 0 || r == -EEXIST
               ? 0
               : io_place_fail(reterr_diag, QUEUE_E_READ_ONLY, -r, "make the queue", path);
}

/* Opens the file, and reads or writes nothing of it. */
static int schema_open_file(Store *store, const char *path, bool is_memory)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (is_memory ? SQLITE_OPEN_CREATE : 0);
    int code = sqlite3_open_v2(path, &store->db, flags, NULL);

    if (code == SQLITE_OK) {
        (void)sqlite3_busy_timeout(store->db, SCHEMA_BUSY_MS);
        (void)sqlite3_extended_result_codes(store->db, 1);
        if (sqlite3_db_readonly(store->db, "main") == 1) {
            code = SQLITE_READONLY;
        }
    }
    return code;
}

int store_schema_open(Store *store, const char *path, Diag *reterr_diag)
{
    bool is_memory = strcmp(path, ":memory:") == 0;
    int r = is_memory ? 0 : schema_make(path, reterr_diag);
    int code;

    if (r != 0) {
        return r;
    }
    code = schema_open_file(store, path, is_memory);
    if (code != SQLITE_OK) {
        return schema_fail(store, code, path, reterr_diag);
    }
    r = is_memory ? 0 : schema_look(store, path, reterr_diag);
    if (r != 0) {
        return r;
    }
    store_hold_begin(store);
    code = store_puts_open(store);
    if (code == SQLITE_OK) {
        code = schema_settings(store);
    }
    if (code != SQLITE_OK) {
        return schema_fail(store, code, path, reterr_diag);
    }
    r = schema_log(store, path, reterr_diag);
    if (r == 0) {
        r = schema_version(store, path, reterr_diag);
    }
    if (r != 0) {
        return r;
    }
    code = schema_tally(store);
    if (code != SQLITE_OK) {
        return schema_fail(store, code, path, reterr_diag);
    }
    return schema_check(store, path, reterr_diag);
}
