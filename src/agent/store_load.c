/* Loading a conversation: the newest messages that fit, and the first. */
#include <errno.h>

#include "agent/store_impl.h"
#include "base/error.h"
#include "base/limits.h"

/* What was loaded so far, the newest first. */
typedef struct Loading {
    AgentStoreOp *op;
    size_t cap;
    size_t n_bytes;
} Loading;

static int loading_grow(Loading *loading)
{
    AgentStoreOp *op = loading->op;
    size_t cap = loading->cap == 0 ? 64 : 2 * loading->cap;
    AgentMessage *grown;

    if (op->n_loaded < loading->cap) {
        return 0;
    }
    grown = arena_grow(&op->arena, op->loaded, loading->cap * sizeof(*grown), cap * sizeof(*grown));
    if (grown == NULL) {
        return err_raise(-ENOMEM);
    }
    op->loaded = grown;
    loading->cap = cap;
    return 0;
}

/* The row that the statement stands at. One that cannot be read is left out, and the log says so.
 */
static int loading_take(Loading *loading, StoreFile *file, sqlite3_stmt *sql)
{
    AgentStoreOp *op = loading->op;
    Span content;
    int r = loading_grow(loading);

    if (r != 0) {
        return r;
    }
    content = arena_copy(&op->arena, agent_store_column(sql, 1));
    if (content.p == NULL) {
        return err_raise(-ENOMEM);
    }
    loading->n_bytes += content.n;
    arena_reset(&file->scratch, LIMIT_KEEP_BYTES);
    r = store_blocks_read(&op->loaded[op->n_loaded], content, sqlite3_column_int64(sql, 0) != 0,
                          &op->arena, &file->scratch);
    if (r == 0) {
        op->n_loaded++;
    } else if (r == STORE_BLOCKS_E_DAMAGED) {
        logsink_write(file->log, LOGSINK_LEVEL_DEBUG, "agent",
                      "a message of a conversation cannot be read, and is left out");
        r = 0;
    }
    return r;
}

/* As many of the newest as fit; *ret_is_all: the first is among them. */
static int load_newest(StoreFile *file, Loading *loading, const StoreRow *row, size_t max_bytes,
                       bool *ret_is_all)
{
    int r;
    sqlite3_stmt *sql = store_file_sql(file, STORE_SQL_NEWEST, &r);
    int code = SQLITE_ROW;

    if (sql == NULL) {
        return r;
    }
    *ret_is_all = false;
    (void)sqlite3_bind_int64(sql, 1, row->key);
    while (r == 0) {
        code = sqlite3_step(sql);
        if (code != SQLITE_ROW) {
            *ret_is_all = code == SQLITE_DONE;
            r = store_file_error(code);
            break;
        }
        if ((size_t)sqlite3_column_bytes(sql, 1) > max_bytes - loading->n_bytes) {
            break;
        }
        r = loading_take(loading, file, sql);
    }
    (void)sqlite3_reset(sql);
    return r;
}

static int load_first(StoreFile *file, Loading *loading, const StoreRow *row, size_t max_bytes)
{
    int r;
    sqlite3_stmt *sql = store_file_sql(file, STORE_SQL_FIRST, &r);
    size_t n_before = loading->op->n_loaded;
    int code;

    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, row->key);
    code = sqlite3_step(sql);
    if (code == SQLITE_ROW && (size_t)sqlite3_column_bytes(sql, 1) <= max_bytes) {
        r = loading_take(loading, file, sql);
        loading->op->has_first = loading->op->n_loaded > n_before;
    } else {
        r = store_file_error(code);
    }
    (void)sqlite3_reset(sql);
    return r;
}

static void loading_turn(AgentStoreOp *op)
{
    for (size_t i = 0, k = op->n_loaded; i + 1 < k; i++) {
        AgentMessage last = op->loaded[--k];

        op->loaded[k] = op->loaded[i];
        op->loaded[i] = last;
    }
}

int store_load(StoreFile *file, AgentStoreOp *op)
{
    size_t max_bytes = op->max_bytes > 0 ? op->max_bytes : LIMIT_AGENT_LOAD_BYTES;
    Loading loading = {.op = op};
    bool is_all = false;
    StoreRow row;
    int r = store_row_find(file, op, &row);

    r = r != 0 ? r : load_newest(file, &loading, &row, max_bytes, &is_all);
    if (r == 0 && is_all) {
        op->has_first = op->n_loaded > 0;
    } else if (r == 0) {
        r = load_first(file, &loading, &row, max_bytes);
    }
    if (r != 0) {
        return r;
    }
    loading_turn(op);
    op->n_left_out =
        (uint64_t)row.n_messages > op->n_loaded ? (size_t)row.n_messages - op->n_loaded : 0;
    return store_row_tell(op, &row);
}
