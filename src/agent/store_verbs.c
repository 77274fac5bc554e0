/* Operations on conversations, as SQL. Those that wait together share a transaction; each that
 * writes has a savepoint in it, so that one that fails takes back nothing but its own. */
#include <errno.h>
#include <string.h>

#include "agent/store_impl.h"
#include "base/error.h"
#include "base/limits.h"

/* Room for what came of an operation besides what it loads. */
#define VERBS_ARENA_BYTES ((size_t)16 * 1024 * 1024)

/* A message in memory takes its text, perhaps the decoded text beside it, and its blocks. */
#define VERBS_ARENA_FACTOR 8

static bool verb_writes(AgentStoreVerb verb)
{
    return verb != AGENT_STORE_LOAD && verb != AGENT_STORE_LIST;
}

/* ---- statements ---- */

static void verb_bind(sqlite3_stmt *sql, int at, Span text)
{
    (void)sqlite3_bind_text64(sql, at, text.n == 0 ? "" : text.p, text.n, SQLITE_STATIC,
                              SQLITE_UTF8);
}

Span agent_store_column(sqlite3_stmt *sql, int at)
{
    const char *p = sqlite3_column_blob(sql, at);

    return p == NULL ? SPAN("") : span_make(p, (size_t)sqlite3_column_bytes(sql, at));
}

/* Runs a statement that gives no rows. */
static int verb_do(sqlite3_stmt *sql)
{
    int code = sqlite3_step(sql);

    (void)sqlite3_reset(sql);
    return store_file_error(code);
}

static int verb_simple(StoreFile *file, StoreSql which)
{
    int r;
    sqlite3_stmt *sql = store_file_sql(file, which, &r);

    return sql == NULL ? r : verb_do(sql);
}

static int verb_read_row(sqlite3_stmt *sql, Arena *arena, StoreRow *ret)
{
    Span id = arena_copy(arena, agent_store_column(sql, 1));
    Span title = arena_copy(arena, agent_store_column(sql, 2));

    if (id.p == NULL || title.p == NULL) {
        return err_raise(-ENOMEM);
    }
    ret->key = sqlite3_column_int64(sql, 0);
    ret->n_messages = sqlite3_column_int64(sql, 5);
    ret->about = (AgentConversation){.id = id,
                                     .title = title,
                                     .created_ms = sqlite3_column_int64(sql, 3),
                                     .updated_ms = sqlite3_column_int64(sql, 4),
                                     .n_messages = (uint64_t)ret->n_messages};
    return 0;
}

int store_row_find(StoreFile *file, AgentStoreOp *op, StoreRow *ret)
{
    int r;
    sqlite3_stmt *sql = store_file_sql(file, STORE_SQL_FIND, &r);
    int code;

    if (sql == NULL) {
        return r;
    }
    verb_bind(sql, 1, op->conversation);
    code = sqlite3_step(sql);
    if (code == SQLITE_ROW) {
        r = verb_read_row(sql, &op->arena, ret);
    } else {
        r = code == SQLITE_DONE ? AGENT_STORE_E_MISSING : store_file_error(code);
    }
    (void)sqlite3_reset(sql);
    return r;
}

int store_row_tell(AgentStoreOp *op, const StoreRow *row)
{
    op->conversations = arena_alloc_array(&op->arena, 1, sizeof(*op->conversations));
    if (op->conversations == NULL) {
        return err_raise(-ENOMEM);
    }
    op->conversations[0] = row->about;
    op->n_conversations = 1;
    return 0;
}

/* ---- beginning, titles ---- */

static int verb_set_title(StoreFile *file, AgentStoreOp *op, StoreRow *row, int64_t now_ms)
{
    int r;
    sqlite3_stmt *sql = store_file_sql(file, STORE_SQL_SET_TITLE, &r);
    Span title = arena_copy(&op->arena, op->title);

    if (sql == NULL || title.p == NULL) {
        return sql == NULL ? r : err_raise(-ENOMEM);
    }
    (void)sqlite3_bind_int64(sql, 1, row->key);
    verb_bind(sql, 2, title);
    (void)sqlite3_bind_int64(sql, 3, now_ms);
    row->about.title = title;
    row->about.updated_ms = now_ms;
    return verb_do(sql);
}

/* The conversation, which is made if it is not there. */
static int verb_begin(StoreFile *file, AgentStoreOp *op, int64_t now_ms, StoreRow *ret)
{
    int r;
    sqlite3_stmt *sql = store_file_sql(file, STORE_SQL_ADD, &r);

    if (sql == NULL) {
        return r;
    }
    verb_bind(sql, 1, op->conversation);
    (void)sqlite3_bind_int64(sql, 2, now_ms);
    r = verb_do(sql);
    return r != 0 ? r : store_row_find(file, op, ret);
}

static int verb_create(StoreFile *file, AgentStoreOp *op, int64_t now_ms)
{
    StoreRow row;
    int r = verb_begin(file, op, now_ms, &row);

    if (r == 0 && op->title.n > 0) {
        r = verb_set_title(file, op, &row, now_ms);
    }
    return r != 0 ? r : store_row_tell(op, &row);
}

static int verb_title(StoreFile *file, AgentStoreOp *op, int64_t now_ms)
{
    StoreRow row;
    int r = store_row_find(file, op, &row);

    r = r != 0 ? r : verb_set_title(file, op, &row, now_ms);
    return r != 0 ? r : store_row_tell(op, &row);
}

/* ---- appending, clearing, deleting ---- */

static int verb_touch(StoreFile *file, StoreRow *row, int64_t n_messages, int64_t now_ms)
{
    int r;
    sqlite3_stmt *sql = store_file_sql(file, STORE_SQL_TOUCH, &r);

    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, row->key);
    (void)sqlite3_bind_int64(sql, 2, now_ms);
    (void)sqlite3_bind_int64(sql, 3, n_messages);
    row->about.updated_ms = now_ms;
    row->about.n_messages = (uint64_t)n_messages;
    return verb_do(sql);
}

static int verb_add_message(StoreFile *file, const StoreRow *row, const AgentMessage *message,
                            int64_t now_ms)
{
    sqlite3_stmt *sql;
    int r;

    bytes_clear_keep(&file->content, LIMIT_KEEP_BYTES);
    arena_reset(&file->scratch, LIMIT_KEEP_BYTES);
    r = store_blocks_write(&file->content, message, &file->scratch);
    if (r != 0) {
        return r == BYTES_E_FULL ? AGENT_STORE_E_TOO_LARGE : r;
    }
    sql = store_file_sql(file, STORE_SQL_ADD_MESSAGE, &r);
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, row->key);
    (void)sqlite3_bind_int64(sql, 2, message->is_assistant ? 1 : 0);
    (void)sqlite3_bind_int64(sql, 3, now_ms);
    verb_bind(sql, 4, bytes_span(&file->content));
    return verb_do(sql);
}

static int verb_append(StoreFile *file, AgentStoreOp *op, int64_t now_ms)
{
    StoreRow row;
    int r = verb_begin(file, op, now_ms, &row);

    for (size_t i = 0; r == 0 && i < op->n_messages; i++) {
        r = verb_add_message(file, &row, &op->messages[i], now_ms);
    }
    r = r != 0 ? r : verb_touch(file, &row, row.n_messages + (int64_t)op->n_messages, now_ms);
    if (r == 0 && op->title.n > 0 && row.about.title.n == 0) {
        r = verb_set_title(file, op, &row, now_ms);
    }
    return r != 0 ? r : store_row_tell(op, &row);
}

static int verb_remove(StoreFile *file, StoreSql which, const StoreRow *row)
{
    int r;
    sqlite3_stmt *sql = store_file_sql(file, which, &r);

    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, row->key);
    return verb_do(sql);
}

static int verb_clear(StoreFile *file, AgentStoreOp *op, int64_t now_ms)
{
    StoreRow row;
    int r = store_row_find(file, op, &row);

    if (r != 0) {
        return r == AGENT_STORE_E_MISSING ? 0 : r;
    }
    r = verb_remove(file, STORE_SQL_REMOVE_MESSAGES, &row);
    op->n_changed = (uint64_t)row.n_messages;
    return r != 0 ? r : verb_touch(file, &row, 0, now_ms);
}

static int verb_delete(StoreFile *file, AgentStoreOp *op)
{
    StoreRow row;
    int r = store_row_find(file, op, &row);

    r = r != 0 ? r : verb_remove(file, STORE_SQL_REMOVE_MESSAGES, &row);
    op->n_changed = r == 0 ? (uint64_t)row.n_messages : 0;
    return r != 0 ? r : verb_remove(file, STORE_SQL_REMOVE, &row);
}

/* ---- lists ---- */

static int list_count(StoreFile *file, AgentStoreOp *op)
{
    int r;
    sqlite3_stmt *sql = store_file_sql(file, STORE_SQL_COUNT, &r);
    int code;

    if (sql == NULL) {
        return r;
    }
    code = sqlite3_step(sql);
    op->n_all = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(sql, 0) : 0;
    (void)sqlite3_reset(sql);
    return store_file_error(code);
}

static int verb_list(StoreFile *file, AgentStoreOp *op)
{
    size_t limit = op->limit == 0                     ? LIMIT_AGENT_LIST
                   : op->limit > LIMIT_AGENT_LIST_MAX ? LIMIT_AGENT_LIST_MAX
                                                      : op->limit;
    sqlite3_stmt *sql;
    int r = list_count(file, op);

    if (r != 0) {
        return r;
    }
    op->conversations = arena_alloc_array(&op->arena, limit, sizeof(*op->conversations));
    if (op->conversations == NULL) {
        return err_raise(-ENOMEM);
    }
    sql = store_file_sql(file, STORE_SQL_LIST, &r);
    if (sql == NULL) {
        return r;
    }
    (void)sqlite3_bind_int64(sql, 1, (int64_t)limit);
    (void)sqlite3_bind_int64(sql, 2, op->offset < INT64_MAX ? (int64_t)op->offset : INT64_MAX);
    while (r == 0) {
        int code = sqlite3_step(sql);
        StoreRow row;

        if (code != SQLITE_ROW) {
            r = store_file_error(code);
            break;
        }
        r = verb_read_row(sql, &op->arena, &row);
        if (r == 0) {
            op->conversations[op->n_conversations++] = row.about;
        }
    }
    (void)sqlite3_reset(sql);
    return r;
}

/* ---- all together ---- */

static void op_forget(AgentStoreOp *op)
{
    op->loaded = NULL;
    op->n_loaded = 0;
    op->n_left_out = 0;
    op->has_first = false;
    op->conversations = NULL;
    op->n_conversations = 0;
    op->n_all = 0;
    op->n_changed = 0;
}

static int verb_run(StoreFile *file, AgentStoreOp *op, int64_t now_ms)
{
    bool needs_id = op->verb != AGENT_STORE_LIST;

    if ((needs_id && op->conversation.n == 0) || op->conversation.n > LIMIT_AGENT_NAME_BYTES ||
        op->title.n > LIMIT_AGENT_NAME_BYTES) {
        return AGENT_STORE_E_TOO_LARGE;
    }
    switch (op->verb) {
    case AGENT_STORE_CREATE:
        return verb_create(file, op, now_ms);
    case AGENT_STORE_APPEND:
        return verb_append(file, op, now_ms);
    case AGENT_STORE_LOAD:
        return store_load(file, op);
    case AGENT_STORE_CLEAR:
        return verb_clear(file, op, now_ms);
    case AGENT_STORE_DELETE:
        return verb_delete(file, op);
    case AGENT_STORE_TITLE:
        return verb_title(file, op, now_ms);
    case AGENT_STORE_LIST:
        return verb_list(file, op);
    case AGENT_STORE_N_VERBS:
        break;
    }
    return err_raise(-EINVAL);
}

static void op_run(StoreFile *file, AgentStoreOp *op, int64_t now_ms)
{
    bool writes = verb_writes(op->verb);

    op_forget(op);
    arena_deinit(&op->arena);
    arena_init(&op->arena, VERBS_ARENA_BYTES +
                               VERBS_ARENA_FACTOR *
                                   (op->max_bytes > 0 ? op->max_bytes : LIMIT_AGENT_LOAD_BYTES));
    op->r = writes ? verb_simple(file, STORE_SQL_SAVE) : 0;
    op->r = op->r != 0 ? op->r : verb_run(file, op, now_ms);
    if (op->r != 0) {
        op_forget(op);
    }
    /* A disk that is full takes back the whole transaction by itself; then there is no savepoint.
     */
    if (writes && sqlite3_get_autocommit(file->db) == 0) {
        int r = op->r == 0 ? 0 : verb_simple(file, STORE_SQL_BACK);

        r = r != 0 ? r : verb_simple(file, STORE_SQL_RELEASE);
        op->r = op->r != 0 ? op->r : r;
    }
}

/* Those that had been done are not. */
static void ops_fail(AgentStoreOp *first, int r)
{
    for (AgentStoreOp *op = first; op != NULL; op = op->next) {
        if (op->r == 0 && verb_writes(op->verb)) {
            op_forget(op);
            op->r = r;
        }
    }
}

void agent_store_run(StoreFile *file, AgentStoreOp *first, int64_t now_ms)
{
    bool writes = false;
    int r;

    for (AgentStoreOp *op = first; op != NULL; op = op->next) {
        writes = writes || verb_writes(op->verb);
    }
    r = verb_simple(file, writes ? STORE_SQL_BEGIN_WRITE : STORE_SQL_BEGIN_READ);
    for (AgentStoreOp *op = first; op != NULL; op = op->next) {
        if (r == 0) {
            op_run(file, op, now_ms);
        } else {
            op_forget(op);
            op->r = r;
        }
    }
    if (r != 0) {
        return;
    }
    r = sqlite3_get_autocommit(file->db) != 0 ? AGENT_STORE_E_FULL
                                              : verb_simple(file, STORE_SQL_COMMIT);
    if (r != 0) {
        ops_fail(first, r);
        if (sqlite3_get_autocommit(file->db) == 0) {
            (void)verb_simple(file, STORE_SQL_ROLLBACK);
        }
    }
}
