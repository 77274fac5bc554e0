/* Rows that wait for their statement. Starting a statement costs more than what it does to one row;
 * so that new rows, claims and ends of a batch are collected, and written by one statement for each
 * kind, which reads them from a virtual table. Whatever else the store asks the database comes
 * after them (store_sql). */
#include "queue/store_sqlite.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* ---- the rows as a table ---- */

/* What SQLite knows of a kind of rows. */
typedef struct PutTable {
    sqlite3_vtab base;
    const StorePuts *puts;
} PutTable;

typedef struct PutCursor {
    sqlite3_vtab_cursor base;
    size_t at;
} PutCursor;

static int put_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                       sqlite3_vtab **ret, char **reterr)
{
    PutTable *table = mem_alloc_array(1, sizeof(*table));
    int code;

    (void)argc;
    (void)argv;
    (void)reterr;
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    code = sqlite3_declare_vtab(
        db, "CREATE TABLE put(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13)");
    if (code != SQLITE_OK) {
        (void)mem_free(table);
        return code;
    }
    table->puts = context;
    *ret = &table->base;
    return SQLITE_OK;
}

static int put_disconnect(sqlite3_vtab *base)
{
    (void)mem_free(base);
    return SQLITE_OK;
}

static int put_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    info->estimatedCost = STORE_PUTS;
    info->estimatedRows = STORE_PUTS;
    return SQLITE_OK;
}

static int put_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
    PutCursor *cursor = mem_alloc_array(1, sizeof(*cursor));

    (void)base;
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *ret = &cursor->base;
    return SQLITE_OK;
}

static int put_close(sqlite3_vtab_cursor *base)
{
    (void)mem_free(base);
    return SQLITE_OK;
}

static int put_filter(sqlite3_vtab_cursor *base, int number, const char *name, int argc,
                      sqlite3_value **argv)
{
    (void)number;
    (void)name;
    (void)argc;
    (void)argv;
    ((PutCursor *)base)->at = 0;
    return SQLITE_OK;
}

static int put_next(sqlite3_vtab_cursor *base)
{
    ((PutCursor *)base)->at++;
    return SQLITE_OK;
}

static int put_eof(sqlite3_vtab_cursor *base)
{
    return ((PutCursor *)base)->at >= ((PutTable *)base->pVtab)->puts->n;
}

static int put_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
    *ret = (sqlite3_int64)((PutCursor *)base)->at;
    return SQLITE_OK;
}

/* The texts are lent: they stay until the statement has ended. */
static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int at)
{
    const StorePut *put = &((PutTable *)base->pVtab)->puts->at[((PutCursor *)base)->at];
    const StoreValue *value = &put->values[at];

    switch (value->kind) {
    case STORE_VALUE_NUMBER:
        sqlite3_result_int64(context, value->number);
        break;
    case STORE_VALUE_TEXT:
        sqlite3_result_text64(context, value->text.p, value->text.n, SQLITE_STATIC, SQLITE_UTF8);
        break;
    case STORE_VALUE_REST:
        sqlite3_result_blob64(context, put->rest, put->n_rest, SQLITE_STATIC);
        break;
    case STORE_VALUE_NULL:
    default:
        break;
    }
    return SQLITE_OK;
}

static const sqlite3_module put_module = {
    .xConnect = put_connect,
    .xBestIndex = put_best_index,
    .xDisconnect = put_disconnect,
    .xOpen = put_open,
    .xClose = put_close,
    .xFilter = put_filter,
    .xNext = put_next,
    .xEof = put_eof,
    .xColumn = put_column,
    .xRowid = put_rowid,
};

/* ---- */

static const struct {
    const char *name;
    StoreSql sql;
} put_kinds[STORE_N_PUTS] = {
    [STORE_PUT_SPEC] = {"put_spec", STORE_SQL_ADD_SPEC},
    [STORE_PUT_JOB] = {"put_job", STORE_SQL_ADD_JOB},
    [STORE_PUT_CLAIM] = {"put_claim", STORE_SQL_CLAIM_ROW},
    [STORE_PUT_OUTCOME] = {"put_outcome", STORE_SQL_SET_OUTCOME},
    [STORE_PUT_END] = {"put_end", STORE_SQL_END_ROW},
};

int store_puts_open(Store *store)
{
    int code = SQLITE_OK;

    for (size_t i = 0; code == SQLITE_OK && i < STORE_N_PUTS; i++) {
        code = sqlite3_create_module(store->db, put_kinds[i].name, &put_module, &store->puts[i]);
    }
    return code;
}

void store_puts_clear(Store *store)
{
    for (size_t i = 0; i < STORE_N_PUTS; i++) {
        store->puts[i].n = 0;
    }
    store->has_puts = false;
}

/* In the order of a job's life, in which no step of it comes twice: what takes a job back is a
 * statement of its own, and comes after these. */
int store_puts_write(Store *store)
{
    int r = 0;

    store->has_puts = false; /* store_sql is asked for the statements that write them */
    for (size_t i = 0; r == 0 && i < STORE_N_PUTS; i++) {
        sqlite3_stmt *sql = NULL;

        if (store->puts[i].n > 0) {
            sql = store_sql(store, put_kinds[i].sql, &r);
        }
        if (sql != NULL) {
            r = store_do(store, sql);
        }
        store->puts[i].n = 0;
    }
    if (r != 0) {
        store_puts_clear(store);
    }
    return r;
}

StorePut *store_put(Store *store, StorePutKind kind, int64_t id, int *ret_r)
{
    StorePuts *puts = &store->puts[kind];
    StorePut *put;

    *ret_r = puts->n == STORE_PUTS ? store_puts_write(store) : 0;
    if (*ret_r != 0) {
        return NULL;
    }
    put = &puts->at[puts->n++];
    store->has_puts = true;
    store->is_dirty = true;
    store_put_number(put, 1, id);
    return put;
}

void store_put_number(StorePut *put, int at, int64_t number)
{
    put->values[at - 1] = (StoreValue){.kind = STORE_VALUE_NUMBER, .number = number};
}

void store_put_null(StorePut *put, int at)
{
    put->values[at - 1].kind = STORE_VALUE_NULL;
}

void store_put_name(StorePut *put, int at, Span text)
{
    put->values[at - 1] = (StoreValue){.kind = STORE_VALUE_TEXT, .text = text};
    if (text.n == 0) {
        put->values[at - 1].text = SPAN("");
    }
}

void store_put_text(StorePut *put, int at, Span text)
{
    if (text.n > 0) {
        store_put_name(put, at, text);
    } else {
        store_put_null(put, at);
    }
}

void store_put_rest(StorePut *put, int at, const StoreRow *row, size_t n_pad)
{
    put->n_rest = store_row_pack(row, put->rest);
    memset(put->rest + put->n_rest, 0, n_pad);
    put->n_rest += n_pad;
    put->values[at - 1].kind = STORE_VALUE_REST;
}
