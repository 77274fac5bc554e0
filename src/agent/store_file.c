/* The database of conversations: opening it, its schema, its statements. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/store_impl.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/database_file.h"
#include "io/error_text.h"
#include "io/keep.h"
#include "io/place.h"

/* "twag", in the file's head: a database that is somebody else's is not touched. */
#define FILE_APPLICATION_ID 0x74776167

/* Other processes write for milliseconds; one that was stopped in the middle holds everybody up. */
#define FILE_BUSY_MS 5000

/* A file up to so many pages is looked through when it is opened: 8 MiB, some 10 ms. */
#define FILE_CHECK_PAGES 2048

/* While another process turns the file into one with a log, SQLite does not wait by itself. */
#define FILE_WAL_TRIES 2000

const char *const store_file_migrations[] = {
    /* 1 */
    "CREATE TABLE conversation(key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " title TEXT NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
    " n_messages INTEGER NOT NULL);"
    "CREATE INDEX conversation_updated ON conversation(updated_ms);"
    "CREATE TABLE message(key INTEGER PRIMARY KEY AUTOINCREMENT, conversation INTEGER NOT NULL"
    " REFERENCES conversation(key) ON DELETE CASCADE, is_assistant INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL, content TEXT NOT NULL);"
    "CREATE INDEX message_conversation ON message(conversation, key);",
};
const int store_file_n_migrations = TW_ARRAY_SIZE(store_file_migrations);

#define CONVERSATION "key, id, title, created_ms, updated_ms, n_messages"

static const char *const file_texts[STORE_N_SQL] = {
    [STORE_SQL_BEGIN_READ] = "BEGIN",
    [STORE_SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [STORE_SQL_COMMIT] = "COMMIT",
    [STORE_SQL_ROLLBACK] = "ROLLBACK",
    [STORE_SQL_SAVE] = "SAVEPOINT op",
    [STORE_SQL_RELEASE] = "RELEASE op",
    [STORE_SQL_BACK] = "ROLLBACK TO op",
    [STORE_SQL_FIND] = "SELECT " CONVERSATION " FROM conversation WHERE id = ?1",
    [STORE_SQL_ADD] = "INSERT OR IGNORE INTO conversation(id, title, created_ms, updated_ms,"
                      " n_messages) VALUES(?1, '', ?2, ?2, 0)",
    [STORE_SQL_TOUCH] = "UPDATE conversation SET updated_ms = ?2, n_messages = ?3 WHERE key = ?1",
    [STORE_SQL_SET_TITLE] = "UPDATE conversation SET title = ?2, updated_ms = ?3 WHERE key = ?1",
    [STORE_SQL_REMOVE] = "DELETE FROM conversation WHERE key = ?1",
    [STORE_SQL_ADD_MESSAGE] = "INSERT INTO message(conversation, is_assistant, created_ms, content)"
                              " VALUES(?1, ?2, ?3, ?4)",
    [STORE_SQL_REMOVE_MESSAGES] = "DELETE FROM message WHERE conversation = ?1",
    [STORE_SQL_NEWEST] = "SELECT is_assistant, content FROM message INDEXED BY message_conversation"
                         " WHERE conversation = ?1 ORDER BY key DESC",
    [STORE_SQL_FIRST] = "SELECT is_assistant, content FROM message INDEXED BY message_conversation"
                        " WHERE conversation = ?1 ORDER BY key LIMIT 1",
    [STORE_SQL_LIST] = "SELECT " CONVERSATION " FROM conversation"
                       " ORDER BY updated_ms DESC, key DESC LIMIT ?1 OFFSET ?2",
    [STORE_SQL_COUNT] = "SELECT count(*) FROM conversation",
};

int store_file_error(int code)
{
    switch (code & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_NOMEM:
        return err_raise(-ENOMEM);
    case SQLITE_FULL:
        return AGENT_STORE_E_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return AGENT_STORE_E_BUSY;
    case SQLITE_TOOBIG:
        return AGENT_STORE_E_TOO_LARGE;
    case SQLITE_READONLY:
        return err_raise(-EROFS);
    default:
        return err_raise(-EIO);
    }
}

sqlite3_stmt *store_file_sql(StoreFile *file, StoreSql which, int *ret_r)
{
    if (file->sql[which] == NULL) {
        int code = sqlite3_prepare_v3(file->db, file_texts[which], -1, SQLITE_PREPARE_PERSISTENT,
                                      &file->sql[which], NULL);

        if (code != SQLITE_OK) {
            *ret_r = store_file_error(code);
            return NULL;
        }
    }
    (void)sqlite3_reset(file->sql[which]);
    *ret_r = 0;
    return file->sql[which];
}

/* ---- opening ---- */

/* What SQLite said when the file was opened, in our words. */
static int file_fail(const StoreFile *file, int code, const char *path, Diag *reterr_diag)
{
    int error = file->db != NULL ? sqlite3_system_errno(file->db) : 0;

    switch (code & 0xFF) {
    case SQLITE_NOMEM:
        return err_raise(-ENOMEM);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return diag_set(reterr_diag, AGENT_STORE_E_BUSY,
                        "another process holds the conversations at %s", path);
    case SQLITE_NOTADB:
        return diag_set(reterr_diag, AGENT_STORE_E_DAMAGED,
                        "%s holds no conversations: it is not a database; move it aside", path);
    case SQLITE_CORRUPT:
        return diag_set(reterr_diag, AGENT_STORE_E_DAMAGED,
                        "the conversations at %s are damaged (%s); move the file aside", path,
                        sqlite3_errmsg(file->db));
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return diag_set(reterr_diag, AGENT_STORE_E_READ_ONLY,
                        "the conversations at %s cannot be written", path);
    case SQLITE_CANTOPEN:
        return diag_set(reterr_diag, AGENT_STORE_E_READ_ONLY,
                        "the conversations at %s, or the folder around them, cannot be written: %s",
                        path, io_error_text(error != 0 ? error : EACCES));
    default:
        return diag_set(reterr_diag, err_raise(-EIO), "cannot open the conversations at %s: %s",
                        path, sqlite3_errmsg(file->db));
    }
}

static int file_exec(const StoreFile *file, const char *sql)
{
    return sqlite3_exec(file->db, sql, NULL, NULL, NULL);
}

/* The first column of the first row as a number; 0 if there is none. */
static int file_number(const StoreFile *file, const char *sql, int64_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(file->db, sql, -1, &stmt, NULL);

    *ret = 0;
    if (code == SQLITE_OK) {
        code = sqlite3_step(stmt);
        *ret = code == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
        code = code == SQLITE_ROW || code == SQLITE_DONE ? sqlite3_reset(stmt) : code;
    }
    (void)sqlite3_finalize(stmt);
    return code;
}

static int file_settings(const StoreFile *file)
{
    int code = SQLITE_BUSY;

    for (int i = 0; code == SQLITE_BUSY && i < FILE_WAL_TRIES; i++) {
        if (i > 0) {
            io_place_nap();
        }
        code = file_exec(file, "PRAGMA journal_mode = WAL") & 0xFF;
    }
    return code != SQLITE_OK ? code
                             : file_exec(file, "PRAGMA synchronous = FULL;"
                                               "PRAGMA foreign_keys = ON;"
                                               "PRAGMA secure_delete = FAST;"
                                               "PRAGMA temp_store = MEMORY;"
                                               /* A conversation is read once and then appended
                                                * to: 256 KiB of pages are as good as 2 MiB. */
                                               "PRAGMA cache_size = -256");
}

/* With the write lock, so that of two processes one does it and the other finds it done. */
static int file_migrate(const StoreFile *file)
{
    int64_t version = 0;
    char set[96];
    int code = file_exec(file, "BEGIN IMMEDIATE");

    if (code == SQLITE_OK) {
        code = file_number(file, "PRAGMA user_version", &version);
    }
    for (int64_t i = version; code == SQLITE_OK && i < store_file_n_migrations; i++) {
        code = file_exec(file, store_file_migrations[i]);
    }
    if (code == SQLITE_OK && version < store_file_n_migrations) {
        (void)snprintf(set, sizeof(set), "PRAGMA user_version = %d; PRAGMA application_id = %d",
                       store_file_n_migrations, FILE_APPLICATION_ID);
        code = file_exec(file, set);
    }
    if (code == SQLITE_OK) {
        code = file_exec(file, "COMMIT");
    }
    if (code != SQLITE_OK && sqlite3_get_autocommit(file->db) == 0) {
        (void)file_exec(file, "ROLLBACK");
    }
    return code;
}

/* Of which version it is; older ones are brought to ours. */
static int file_version(const StoreFile *file, const char *path, Diag *reterr_diag)
{
    int64_t version = 0;
    int code = file_number(file, "PRAGMA user_version", &version);

    if (code != SQLITE_OK) {
        return file_fail(file, code, path, reterr_diag);
    }
    if (version > store_file_n_migrations) {
        return diag_set(reterr_diag, AGENT_STORE_E_NEWER,
                        "the conversations at %s are of version %lld, and this program knows %d: a "
                        "newer one wrote them",
                        path, (long long)version, store_file_n_migrations);
    }
    code = version < store_file_n_migrations ? file_migrate(file) : SQLITE_OK;
    return code == SQLITE_OK ? 0 : file_fail(file, code, path, reterr_diag);
}

static int file_check(const StoreFile *file, const char *path, Diag *reterr_diag)
{
    sqlite3_stmt *sql = NULL;
    int64_t n_pages = 0;
    int code = file_number(file, "PRAGMA page_count", &n_pages);
    int r = 0;

    if (code == SQLITE_OK && n_pages > FILE_CHECK_PAGES) {
        return 0;
    }
    if (code == SQLITE_OK) {
        code = sqlite3_prepare_v2(file->db, "PRAGMA quick_check(1)", -1, &sql, NULL);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(sql);
    }
    if (code != SQLITE_ROW) {
        r = file_fail(file, code == SQLITE_DONE ? SQLITE_CORRUPT : code, path, reterr_diag);
    } else if (strcmp((const char *)sqlite3_column_text(sql, 0), "ok") != 0) {
        r = diag_set(reterr_diag, AGENT_STORE_E_DAMAGED,
                     "the conversations at %s are damaged (%.80s); move the file aside", path,
                     (const char *)sqlite3_column_text(sql, 0));
    }
    (void)sqlite3_finalize(sql);
    return r;
}

/* For this user's eyes from its first moment; the log beside it takes over its permissions. A file
 * that is there is not touched: closing any descriptor of it would let our own locks go. */
static int file_make(const char *path, Diag *reterr_diag)
{
    int r;

    if (io_place_exists(path)) {
        return 0;
    }
    if (database_file_has_log(path)) {
        return diag_set(reterr_diag, AGENT_STORE_E_DAMAGED,
                        "there are no conversations at %s, but their log is (%s-wal): put the "
                        "file back beside it, or move the log aside to begin anew",
                        path, path);
    }
    r = io_keep_make_folders(path);
    r = r != 0 ? r : database_file_make(path, FILE_APPLICATION_ID);
    r = r == -EEXIST ? 0 : r;
    return r == 0 || r == -ENOMEM ? r
                                  : io_place_fail(reterr_diag, AGENT_STORE_E_READ_ONLY, -r,
                                                  "keep conversations at", path);
}

/* Whose file it is, from its first page and before SQLite reads any: what is not ours stays as it
 * is, to the byte. */
static int file_look(const StoreFile *file, const char *path, Diag *reterr_diag)
{
    uint8_t head[DATABASE_FILE_HEAD_BYTES];
    DatabaseFileKind kind = DATABASE_FILE_OTHER;
    sqlite3_file *disk = NULL;
    sqlite3_int64 n = 0;
    int code = sqlite3_file_control(file->db, "main", SQLITE_FCNTL_FILE_POINTER, &disk);
    int r;

    if (code == SQLITE_OK) {
        code = disk->pMethods->xFileSize(disk, &n);
    }
    n = n < DATABASE_FILE_HEAD_BYTES ? n : DATABASE_FILE_HEAD_BYTES;
    if (code == SQLITE_OK && n > 0) {
        code = disk->pMethods->xRead(disk, head, (int)n, 0);
    }
    if (code != SQLITE_OK) {
        return file_fail(file, code, path, reterr_diag);
    }
    r = database_file_judge(path, head, (size_t)n, FILE_APPLICATION_ID, &kind);
    if (r != 0) {
        return r;
    }
    switch (kind) {
    case DATABASE_FILE_OTHER:
        return file_fail(file, SQLITE_NOTADB, path, reterr_diag);
    case DATABASE_FILE_FOREIGN:
        return diag_set(reterr_diag, AGENT_STORE_E_DAMAGED,
                        "%s holds no conversations: it is another program's database; move it "
                        "aside",
                        path);
    case DATABASE_FILE_EMPTY:
        return diag_set(reterr_diag, AGENT_STORE_E_DAMAGED,
                        "%s is empty, which a file of conversations never is: they are lost. Put a "
                        "copy back, or remove the file to begin anew",
                        path);
    case DATABASE_FILE_OURS:
    case DATABASE_FILE_BLANK:
    default:
        return 0;
    }
}

int store_file_open(StoreFile *file, const char *path, Diag *reterr_diag)
{
    bool is_memory = strcmp(path, ":memory:") == 0;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (is_memory ? SQLITE_OPEN_CREATE : 0);
    int r = is_memory ? 0 : file_make(path, reterr_diag);
    int code;

    bytes_init(&file->content, LIMIT_AGENT_MESSAGE_BYTES);
    arena_init(&file->scratch, SIZE_MAX / 2);
    if (r != 0) {
        return r;
    }
    code = sqlite3_open_v2(path, &file->db, flags, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_extended_result_codes(file->db, 1);
        (void)sqlite3_busy_timeout(file->db, FILE_BUSY_MS);
        code = sqlite3_db_readonly(file->db, "main") == 1 ? SQLITE_READONLY : SQLITE_OK;
    }
    r = code != SQLITE_OK || is_memory ? 0 : file_look(file, path, reterr_diag);
    if (r != 0) {
        return r;
    }
    code = code == SQLITE_OK ? file_settings(file) : code;
    if (code != SQLITE_OK) {
        return file_fail(file, code, path, reterr_diag);
    }
    r = file_version(file, path, reterr_diag);
    return r != 0 ? r : file_check(file, path, reterr_diag);
}

void store_file_close(StoreFile *file)
{
    for (size_t i = 0; i < STORE_N_SQL; i++) {
        (void)sqlite3_finalize(file->sql[i]);
        file->sql[i] = NULL;
    }
    (void)sqlite3_close(file->db);
    file->db = NULL;
    bytes_deinit(&file->content);
    arena_deinit(&file->scratch);
}
