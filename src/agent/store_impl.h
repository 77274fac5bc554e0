/* agent/store_impl.h: what the files of agent/store.h share. Private to them and their tests.
 *
 *     store.c          the thread: who waits, who is told
 *     store_file.c     the database: whose it is, of which version, what is wrong with it
 *     store_verbs.c    operations, as SQL
 *     store_load.c     one of them: the messages of a conversation
 *     store_blocks.c   messages as JSON and back
 */
#pragma once

#include "agent/store.h"
#include "base/bytes.h"

#include <sqlite3.h>

typedef enum StoreSql {
    STORE_SQL_BEGIN_READ,
    STORE_SQL_BEGIN_WRITE,
    STORE_SQL_COMMIT,
    STORE_SQL_ROLLBACK,
    STORE_SQL_SAVE,
    STORE_SQL_RELEASE,
    STORE_SQL_BACK,
    STORE_SQL_FIND,
    STORE_SQL_ADD,
    STORE_SQL_TOUCH,
    STORE_SQL_SET_TITLE,
    STORE_SQL_REMOVE,
    STORE_SQL_ADD_MESSAGE,
    STORE_SQL_REMOVE_MESSAGES,
    STORE_SQL_NEWEST,
    STORE_SQL_FIRST,
    STORE_SQL_LIST,
    STORE_SQL_COUNT,
    STORE_N_SQL
} StoreSql;

/* The database, on the store's thread (on the opener's before that). */
typedef struct StoreFile {
    sqlite3 *db;
    sqlite3_stmt *sql[STORE_N_SQL];
    Bytes content; /* a message on its way to the disk */
    Arena scratch; /* the index of JSON */
    const LogSink *log;
} StoreFile;

#define STORE_FILE_NULL ((StoreFile){.db = NULL})

/* Opens or makes it. 0, a negative errno, AGENT_STORE_E_* with a Diag. store_file_close follows in
 * any case. */
int store_file_open(StoreFile *file, const char *path, Diag *reterr_diag);
void store_file_close(StoreFile *file);

/* Each brings the schema from its place's number to the next. */
extern const char *const store_file_migrations[];
extern const int store_file_n_migrations;

/* A prepared statement, reset; NULL and *ret_r: why not. */
sqlite3_stmt *store_file_sql(StoreFile *file, StoreSql which, int *ret_r);

/* What SQLite's word means for an operation: 0, a negative errno, AGENT_STORE_E_*. */
int store_file_error(int code);

/* A conversation as it lies there. */
typedef struct StoreRow {
    int64_t key;
    int64_t n_messages;
    AgentConversation about; /* spans in the operation's arena */
} StoreRow;

/* The operation's conversation. 0, AGENT_STORE_E_MISSING, another. (store_verbs.c) */
int store_row_find(StoreFile *file, AgentStoreOp *op, StoreRow *ret);

/* Tells the operation's owner of it: conversations[0]. 0, -ENOMEM. */
int store_row_tell(AgentStoreOp *op, const StoreRow *row);

/* A text, borrowed until the statement is stepped or reset. */
Span agent_store_column(sqlite3_stmt *sql, int at);

/* AGENT_STORE_LOAD. */
int store_load(StoreFile *file, AgentStoreOp *op);

/* Runs the operations from first on (by next) in one transaction, and sets r of each.
 * (store_verbs.c) */
void agent_store_run(StoreFile *file, AgentStoreOp *first, int64_t now_ms);

/* Appends the blocks of a message as a JSON array; scratch is used and not reset. 0, -ENOMEM,
 * BYTES_E_FULL. */
int store_blocks_write(Bytes *out, const AgentMessage *message, Arena *scratch);

/* Reads them back; text must outlive *ret, which is in the arena; scratch is for the index. 0,
 * -ENOMEM, STORE_BLOCKS_E_DAMAGED. */
enum {
    STORE_BLOCKS_E_DAMAGED = 1
};
int store_blocks_read(AgentMessage *ret, Span text, bool is_assistant, Arena *arena,
                      Arena *scratch);
