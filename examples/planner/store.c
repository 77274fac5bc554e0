#include "store.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format.h"

/* How long another program's write to the same file is waited for. */
#define BUSY_MS 1000

static void store_log(const Store *store, const char *outcome, const char *detail)
{
    char text[800];

    if (store->log != NULL) {
        (void)snprintf(text, sizeof(text), "%s: %s%s", store->transaction, outcome, detail);
        store->log(store->log_user, text);
    }
}

/* SQLite's own words are good; only what a person would not understand is said anew. */
static int store_fault(const Store *store, Fault *fault)
{
    int code = sqlite3_errcode(store->db) & 0xff;
    const char *words = sqlite3_errmsg(store->db);

    switch (code) {
    case SQLITE_READONLY:
        return fault_set(fault, FAULT_TRANSACTION, "The document is read-only.");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fault_set(fault, FAULT_TRANSACTION, "Another program is using the document.");
    case SQLITE_CONSTRAINT:
    case SQLITE_FULL:
        return fault_set(fault, FAULT_TRANSACTION, "The document refused the change: %s.", words);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return fault_set(fault, FAULT_API, "The document is damaged: %s.", words);
    default:
        return fault_set(fault, FAULT_API, "The document cannot be used: %s.", words);
    }
}

/* ---- Statements ------------------------------------------------------------------------- */

static int store_prepare(Store *store, Fault *fault, sqlite3_stmt **ret, const char *sql,
                         const char *types, va_list args)
{
    sqlite3_stmt *statement = NULL;
    int r = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);

    for (int i = 1; r == SQLITE_OK && types[i - 1] != '\0'; i++) {
        switch (types[i - 1]) {
        case 'i':
            r = sqlite3_bind_int64(statement, i, va_arg(args, int64_t));
            break;
        case 'd':
            r = sqlite3_bind_double(statement, i, va_arg(args, double));
            break;
        default:
            r = sqlite3_bind_text(statement, i, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
            break;
        }
    }
    if (r != SQLITE_OK) {
        (void)store_fault(store, fault);
        (void)sqlite3_finalize(statement);
        return -1;
    }
    *ret = statement;
    return 0;
}

int store_query(Store *store, Fault *fault, sqlite3_stmt **ret, const char *sql, const char *types,
                ...)
{
    va_list args;
    int r;

    va_start(args, types);
    r = store_prepare(store, fault, ret, sql, types, args);
    va_end(args);
    return r;
}

int store_step(Store *store, Fault *fault, sqlite3_stmt *statement)
{
    switch (sqlite3_step(statement)) {
    case SQLITE_ROW:
        return 1;
    case SQLITE_DONE:
        return 0;
    default:
        return store_fault(store, fault);
    }
}

int store_run(Store *store, Fault *fault, const char *sql, const char *types, ...)
{
    sqlite3_stmt *statement = NULL;
    va_list args;
    int r;

    va_start(args, types);
    r = store_prepare(store, fault, &statement, sql, types, args);
    va_end(args);
    if (r == 0) {
        r = store_step(store, fault, statement);
    }
    (void)sqlite3_finalize(statement);
    return r < 0 ? -1 : 0;
}

int store_number(Store *store, Fault *fault, int64_t *ret, const char *sql, const char *types, ...)
{
    sqlite3_stmt *statement = NULL;
    va_list args;
    int r;

    va_start(args, types);
    r = store_prepare(store, fault, &statement, sql, types, args);
    va_end(args);
    if (r == 0) {
        r = store_step(store, fault, statement);
    }
    if (r == 1) {
        *ret = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    return r < 0 ? -1 : 0;
}

/* ---- Transactions ----------------------------------------------------------------------- */

int store_begin(Store *store, const char *tool, Fault *fault)
{
    /* At once for writing, so that a document in use is found out before any work is done. */
    int r = store_run(store, fault, store->read_only ? "BEGIN" : "BEGIN IMMEDIATE", "");

    if (r == 0) {
        r = store_run(store, fault, "DELETE FROM temp.touched", "");
        if (r != 0) {
            (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
        }
    }
    if (r == 0) {
        (void)snprintf(store->transaction, sizeof(store->transaction), "Orchestrator: %s", tool);
        store->changes_before = sqlite3_total_changes(store->db);
    }
    return r;
}

void store_rollback(Store *store, const char *why)
{
    /* Some failures make SQLite roll back by itself. */
    if (sqlite3_get_autocommit(store->db) == 0) {
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    store_log(store, "rolled back: ", why);
    store->transaction[0] = '\0';
}

int store_commit(Store *store, Fault *fault)
{
    bool is_changed = sqlite3_total_changes(store->db) != store->changes_before;
    int64_t revision = 0;
    char words[60] = ", nothing changed";
    int r = 0;

    if (is_changed) {
        r = store_run(store, fault, "UPDATE document SET revision = revision + 1", "");
    }
    if (r == 0 && is_changed) {
        r = store_number(store, fault, &revision, "SELECT revision FROM document", "");
        (void)snprintf(words, sizeof(words), ", revision %lld", (long long)revision);
    }
    if (r == 0) {
        r = store_run(store, fault, "COMMIT", "");
    }
    if (r != 0) {
        fault->code = FAULT_TRANSACTION;
        store_rollback(store, fault->text);
        return -1;
    }
    store_log(store, "committed", words);
    store->transaction[0] = '\0';
    return 0;
}

int store_is_changed(Store *store, bool *ret, Fault *fault)
{
    int64_t seen = 0;
    int r = store_number(store, fault, &seen, "PRAGMA data_version", "");

    *ret = r == 0 && store->seen != 0 && seen != store->seen;
    if (r == 0) {
        store->seen = seen;
    }
    return r;
}

int store_step_begin(Store *store, Fault *fault)
{
    return store_run(store, fault, "SAVEPOINT step", "");
}

int store_step_end(Store *store, bool is_kept, Fault *fault)
{
    int r = is_kept ? 0 : store_run(store, fault, "ROLLBACK TO step", "");

    return r == 0 ? store_run(store, fault, "RELEASE step", "") : r;
}

/* ---- The file --------------------------------------------------------------------------- */

/* Notes what a transaction touches: the shape of walls and doors, and marks. */
static const char *const touching[] = {
    "CREATE TEMP TABLE touched (what TEXT, id INTEGER, PRIMARY KEY (what, id)) WITHOUT ROWID",
    "CREATE TEMP TRIGGER new_wall AFTER INSERT ON main.walls"
    " BEGIN INSERT OR IGNORE INTO touched VALUES ('wall', NEW.id); END",
    "CREATE TEMP TRIGGER other_wall AFTER UPDATE ON main.walls"
    " BEGIN INSERT OR IGNORE INTO touched VALUES ('wall', NEW.id); END",
    "CREATE TEMP TRIGGER new_mark AFTER INSERT ON main.elements WHEN NEW.mark IS NOT NULL"
    " BEGIN INSERT OR IGNORE INTO touched VALUES ('mark', NEW.id); END",
    "CREATE TEMP TRIGGER other_mark AFTER UPDATE OF mark ON main.elements"
    " WHEN NEW.mark IS NOT NULL"
    " BEGIN INSERT OR IGNORE INTO touched VALUES ('mark', NEW.id); END",
};

static int store_watch(Store *store, Fault *fault)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(touching) / sizeof(touching[0]); i++) {
        r = store_run(store, fault, touching[i], "");
    }
    return r;
}

int store_open(Store *store, const char *path, Fault *fault)
{
    const char *file = path != NULL ? path : ":memory:";
    int r = sqlite3_open_v2(file, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

    store->transaction[0] = '\0';
    if (r != SQLITE_OK) {
        (void)fault_set(fault, FAULT_API, "%s cannot be opened: %s.", file,
                        store->db != NULL ? sqlite3_errmsg(store->db) : "no memory");
        store_close(store);
        return -1;
    }
    (void)sqlite3_busy_timeout(store->db, BUSY_MS);
    store->read_only = sqlite3_db_readonly(store->db, "main") == 1;
    /* An older format is made a newer one before references are checked. */
    r = format_check(store, path, fault);
    if (r == 0) {
        r = store_run(store, fault, "PRAGMA foreign_keys = ON", "");
    }
    if (r == 0) {
        r = store_watch(store, fault);
    }
    if (r != 0) {
        char words[sizeof(fault->text)];

        (void)snprintf(words, sizeof(words), "%s", fault->text);
        (void)fault_set(fault, FAULT_API, "%.200s: %.400s", file, words);
        store_close(store);
    }
    return r;
}

void store_close(Store *store)
{
    (void)sqlite3_close(store->db);
    store->db = NULL;
}
