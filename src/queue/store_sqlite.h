/* queue/store_sqlite.h: the store's own: tables, statements, and the row of a job. Private to
 * store_sqlite*.c and their tests.
 *
 * A job lies in up to four tables, so that what changes often is small and what is large is written
 * once: `spec` what was asked for, never changed; `job` its state, some 100 bytes; `outcome` how it
 * ended; `ask` questions and answers. Partial indices find work: job_ready (waiting, by pool,
 * priority and age), job_method (the same by method, of pools that others fetch from), job_due
 * (every job that somebody has, or that waits for its time), job_keep (what is over, by when it may
 * go).
 */
#pragma once

#include "queue/store.h"

#include <sqlite3.h>

/* What is never due, but has its place in job_due: a claimed job without lease and time-out. */
#define STORE_NEVER ((int64_t)1 << 62)

/* Added to the place in the queue of a job that has its answers: before all that never ran. */
#define STORE_FRONT (-((int64_t)1 << 60))

#define STORE_SECRET_BYTES 16

/* What no statement asks about, in one piece: its secret and eleven numbers, short where they are
 * small, and zeros up to a length that most of them have in common. Each column of its own would
 * cost every write of the row a little. */
#define STORE_REST_NUMBERS 11
#define STORE_REST_BYTES   40
#define STORE_REST_MAX     (STORE_SECRET_BYTES + 10 * STORE_REST_NUMBERS)

/* Zeros behind it, which make room for what the columns beside it will hold: a row that grows where
 * it lies makes SQLite move half of its page. A new job gets a time and the name of a worker, and
 * when it ends two times in place of one. */
#define STORE_REST_PAD_NEW     24
#define STORE_REST_PAD_CLAIMED 8

enum {
    STORE_FLAG_LEASED = 1u << 0,  /* its worker is not this process */
    STORE_FLAG_ASKING = 1u << 1,  /* waits for answers; nobody has it */
    STORE_FLAG_ASKED = 1u << 2,   /* has a row in `ask` */
    STORE_FLAG_AWAY = 1u << 3,    /* waits for whoever has it, or its time */
    STORE_FLAG_LATE = 1u << 4,    /* its lease or time ended, and nobody has claimed it since */
    STORE_FLAG_DAMAGED = 1u << 5, /* what was asked for is damaged: the next sweep ends it */
    STORE_FLAG_CRASH = 1u << 6,   /* how often in a row it ran when its process died: two bits */
    STORE_FLAG_CRASHES = 3u << 6,
};

/* What changes of a job. */
typedef struct StoreRow {
    int64_t id;
    JobState state;
    int64_t due_us; /* line: when the sweep looks at it; 0: it is ready, or over */
    int64_t seq;    /* its place among those of its pool and priority */
    int64_t fence;
    int64_t n_attempts;
    int64_t flags;
    int64_t version;
    int64_t lease_us; /* line: end of the lease; 0: none */
    int64_t end_us;   /* line: end of the attempt; 0: none */
    int64_t span_ms;  /* how long the lease, or the delay, was when it was set */
    int64_t started_us;
    int64_t beat_us;
    int64_t finished_us;
    int64_t changed_us;
    int64_t keep_us; /* when it may go; 0: it is not over */
    int64_t keep_ms; /* never changed, as what follows */
    int64_t priority;
    uint8_t secret[STORE_SECRET_BYTES];
} StoreRow;

typedef enum StoreSql {
    STORE_SQL_BEGIN,
    STORE_SQL_COMMIT,
    STORE_SQL_ROLLBACK,
    STORE_SQL_META,
    STORE_SQL_ADD_SPEC,
    STORE_SQL_ADD_JOB,
    STORE_SQL_FIND_KEY,
    STORE_SQL_READY,
    STORE_SQL_READY_METHOD,
    STORE_SQL_NAME_METHODS,
    STORE_SQL_SPEC,
    STORE_SQL_ROW,
    STORE_SQL_SET_ROW,
    STORE_SQL_CLAIM_ROW,
    STORE_SQL_END_ROW,
    STORE_SQL_SET_OUTCOME,
    STORE_SQL_JOB,
    STORE_SQL_ABOUT,
    STORE_SQL_OUTCOME_SIZE,
    STORE_SQL_DROP_RESULT,
    STORE_SQL_DROP_OUTCOME,
    STORE_SQL_DROP_SPEC,
    STORE_SQL_DROP_JOB,
    STORE_SQL_DROP_ASK,
    STORE_SQL_GET_ASK,
    STORE_SQL_SET_ASK,
    STORE_SQL_SET_NOTE,
    STORE_SQL_LIST_OWNER,
    STORE_SQL_LIST_WAITING,
    STORE_SQL_LIST_CLAIMED,
    STORE_SQL_LIST_ALL,
    STORE_SQL_DUE,
    STORE_SQL_AWAY,
    STORE_SQL_FIRST_DUE,
    STORE_SQL_LATER,
    STORE_SQL_CLAIMED,
    STORE_SQL_OLD,
    STORE_SQL_FIRST_OLD,
    STORE_SQL_OLD_RESULTS,
    STORE_SQL_OVER,
    STORE_N_SQL
} StoreSql;

/* What is counted rather than asked for; its row in `meta` is written with every commit. */
typedef struct StoreTally {
    int64_t next_id;
    int64_t n[JOB_N_STATES];
    int64_t n_asking;
    int64_t result_bytes;
    int64_t offset_us; /* wall clock minus line, when last looked at */
    int64_t is_open;   /* a process has it, or ended without saying so */
} StoreTally;

/* Rows that were read or written lately, by their ids: a job that is claimed was enqueued a moment
 * ago, and ends a moment later. Nobody else writes the file, so that they are what is in it. */
#define STORE_CACHE_ROWS 1024

/* What was asked for lately, where it is short: it never changes. */
#define STORE_CACHE_SPECS      512
#define STORE_CACHE_SPEC_BYTES 448
typedef struct StoreSpec {
    int64_t id;    /* 0: none */
    uint16_t n[7]; /* method, owner, source, rpc_id, key, note, params: bytes, in this order */
    bool is_idempotent;
    unsigned max_attempts;
    int64_t timeout_ms;
    int64_t enqueued_us;
    char text[STORE_CACHE_SPEC_BYTES];
} StoreSpec;

/* The first that are ready in a pool, read ahead; those before `next` have been claimed. What may
 * come before the last of them, or takes one of them away, clears it. */
typedef struct StorePlace {
    int64_t id;
    int64_t priority;
    int64_t seq;
} StorePlace;
#define STORE_READY_PLACES 64
#define STORE_READY_POOL   64 /* bytes of a name; pools with longer ones are asked for each time */
typedef struct StoreReady {
    char pool[STORE_READY_POOL];
    size_t n_pool;
    StorePlace at[STORE_READY_PLACES];
    size_t n;
    size_t next;
} StoreReady;

/* Rows that wait to be written, by what becomes of them; columns are counted from 1, and the first
 * is the id. Texts are borrowed until they are written. */
typedef enum StorePutKind {
    STORE_PUT_SPEC,
    STORE_PUT_JOB,
    STORE_PUT_CLAIM,
    STORE_PUT_OUTCOME,
    STORE_PUT_END,
    STORE_N_PUTS
} StorePutKind;

typedef struct StoreValue {
    enum {
        STORE_VALUE_NULL,
        STORE_VALUE_NUMBER,
        STORE_VALUE_TEXT,
        STORE_VALUE_REST, /* of the row */
    } kind;
    union {
        int64_t number;
        Span text;
    };
} StoreValue;

#define STORE_PUT_COLUMNS 13
typedef struct StorePut {
    StoreValue values[STORE_PUT_COLUMNS];
    uint8_t rest[STORE_REST_MAX + STORE_REST_PAD_NEW];
    size_t n_rest;
} StorePut;

#define STORE_PUTS 64 /* of a kind at once */
typedef struct StorePuts {
    StorePut at[STORE_PUTS];
    size_t n;
} StorePuts;

/* The lock that makes the file ours (store_sqlite_hold.c). */
typedef struct StoreHold {
    sqlite3_file *file; /* NULL: there is none */
    const sqlite3_io_methods *real;
    sqlite3_io_methods ours; /* what file has instead */
    bool is_held;
} StoreHold;

struct Store {
    sqlite3 *db;
    StoreHold hold;
    sqlite3_stmt *sql[STORE_N_SQL]; /* prepared when first used */
    StoreTally tally;
    StoreTally saved; /* as it was when the batch began */
    StoreNow now;
    int64_t next_us; /* line; not later than the first job that is due */
    int64_t saved_next_us;
    int64_t saved_next_old_us;
    int64_t swept_us;    /* line: the last sweep */
    int64_t next_old_us; /* stamp; not later than the first that may go */
    int64_t at_keep_us;  /* dropping of results by size stands here */
    int64_t at_keep_id;
    bool is_begun;
    bool is_dirty;    /* the batch has changed something */
    bool is_broken;   /* something failed: no orderly end */
    bool has_crashed; /* the process before this one did not say that it ended */
    int n_log_pages;  /* of the log that are not in the file yet */
    int settle_pages; /* the next attempt to move them */
    size_t max_body_bytes;
    uint64_t max_waiting;
    int64_t keep_ms;
    uint64_t keep_bytes;
    uint8_t random[4096]; /* not yet used for secrets */
    size_t n_random;
    StoreReady ready;
    bool names_methods; /* new jobs that are fetched have their method in its index at once, */
    bool has_methods;   /* and those before them by now */
    bool has_puts;      /* some of them are not empty */
    StorePuts puts[STORE_N_PUTS];
    StoreRow cache[STORE_CACHE_ROWS]; /* id 0: none */
    StoreSpec specs[STORE_CACHE_SPECS];
};

/* Version n of the schema is made by the n-th of these texts out of the one before. */
extern const char *const store_migrations[];
extern const int store_n_migrations;
#define STORE_APPLICATION_ID 0x74777131 /* "twq1" */

/* store_sqlite_schema.c: pragmas, lock, version. As store_open. */
int store_schema_open(Store *store, const char *path, Diag *reterr_diag);

/* store_sqlite_hold.c: from begin on, the first lock of a writer is kept until end, which comes
 * before the database is closed. May end twice, or without a begin. */
void store_hold_begin(Store *store);
void store_hold_end(Store *store);

/* store_sqlite_log.c: is the log damaged where it was whole once? 0 or a negative errno. */
int store_log_check(Store *store, size_t n_page, bool *ret_damaged);

/* The statement, ready to be bound; NULL: *ret_r says why. What waits to be written is written
 * first. */
sqlite3_stmt *store_sql(Store *store, StoreSql which, int *ret_r);

/* Steps a statement that gives no rows, and makes it ready again. 0 or a failure. */
int store_do(Store *store, sqlite3_stmt *sql);

/* Steps to the next row. Without one the statement is ready again. */
int store_step(Store *store, sqlite3_stmt *sql, bool *ret_has_row);

/* A result code of SQLite's as ours: QUEUE_E_DISK_FULL, QUEUE_E_DAMAGED, a negative errno. */
int store_error(Store *store, int code);

void store_bind(sqlite3_stmt *sql, int at, Span text);      /* empty: NULL */
void store_bind_text(sqlite3_stmt *sql, int at, Span text); /* empty: '' */
Span store_column(sqlite3_stmt *sql, int at);               /* borrowed until the next step */

/* store_sqlite_put.c: the tables of what waits; a code of SQLite's. */
int store_puts_open(Store *store);

/* A new row that waits; its columns are the caller's to set, all of them. NULL: *ret_r. */
StorePut *store_put(Store *store, StorePutKind kind, int64_t id, int *ret_r);
void store_put_number(StorePut *put, int at, int64_t number);
void store_put_null(StorePut *put, int at);
void store_put_text(StorePut *put, int at, Span text); /* empty: NULL */
void store_put_name(StorePut *put, int at, Span text); /* empty: '' */
void store_put_rest(StorePut *put, int at, const StoreRow *row, size_t n_pad);

/* Writes what waits; or forgets it, after everything was undone. */
int store_puts_write(Store *store);
void store_puts_clear(Store *store);

/* store_sqlite_row.c */
void store_row_read(sqlite3_stmt *sql, int first, StoreRow *ret);
int store_row_get(Store *store, int64_t id, StoreRow *ret, bool *ret_found);

/* Writes the row with its version and time of change. Moves the counts from the state and flags
 * that it had. */
int store_row_set(Store *store, StoreRow *row, JobState was, int64_t flags_were);

/* The same for one that was ready and is somebody's now. */
int store_row_claim(Store *store, StoreRow *row, int64_t flags_were, Span worker);

/* How many bytes of out it takes. */
size_t store_row_pack(const StoreRow *row, uint8_t out[STORE_REST_MAX]);

/* The row of a new job, which is in its table by now. */
void store_row_added(Store *store, const StoreRow *row);

/* The same for what was asked for. */
void store_spec_added(Store *store, int64_t id, const QueueSpec *spec);
void store_spec_changed(Store *store, int64_t id); /* is read from its table again */

/* What was asked for, if it is remembered; *ret_fits: into the arena. */
bool store_spec_find(const Store *store, int64_t id, Arena *arena, QueueJob *ret, bool *ret_fits);

/* It is not in its table any more. */
void store_row_removed(Store *store, int64_t id);

/* After everything was undone. */
void store_cache_clear(Store *store);
void store_ready_clear(Store *store);

/* Ends a job: state, code, message, result; nobody has it any more. */
int store_row_end(Store *store, StoreRow *row, const QueueFinish *finish);

/* Puts it back to those that wait, after a delay if that is above 0. */
int store_row_requeue(Store *store, StoreRow *row, int64_t delay_ms);

/* As if its last claim had not been; it waits for store_wake, or so long. */
int store_row_put_by(Store *store, StoreRow *row, int64_t away_ms);

/* What becomes of a job that was lost. */
typedef struct StoreAbout {
    bool is_idempotent;
    unsigned max_attempts;
    int64_t timeout_ms;
} StoreAbout;
int store_about(Store *store, int64_t id, StoreAbout *ret);

/* Gives a claimed job the end of its lease and of its attempt, and of both the earlier as its due
 * time. lease_ms 0: none. */
void store_row_times(const Store *store, StoreRow *row, int64_t lease_ms);
int store_row_lose(Store *store, StoreRow *row, JobLoss loss, const QueueFinish *finish);

/* Removes what the end of a job has left: result, code, message. */
int store_outcome_drop(Store *store, int64_t id);

/* In milliseconds, from 0 to LIMIT_TIME_MS. */
int64_t store_time_ms(int64_t ms);

/* Runs one of the statements whose only parameter is an id. */
int store_do_id(Store *store, StoreSql which, int64_t id);

/* store_sqlite_id.c */
void store_id_write(int64_t id, const uint8_t secret[STORE_SECRET_BYTES], char out[QUEUE_ID_BYTES]);
bool store_id_parse(Span text, int64_t *ret_id, uint8_t ret_secret[STORE_SECRET_BYTES]);

/* Finds the job that op->id names; if there is none (or it is not op->owner's), op->r says so. */
int store_find(Store *store, QueueOp *op, StoreRow *ret, bool *ret_found);

/* The same for a worker, whose fence must be the job's. Over: QUEUE_E_OVER, and jobs[0]. */
int store_find_held(Store *store, QueueOp *op, StoreRow *ret, bool *ret_has);

/* store_sqlite_read.c: the job as a QueueJob, in the arena. That it does not fit there is the
 * operation's own trouble, and no failure of the store. */
typedef enum StoreWant {
    STORE_WANT_TEXTS,
    STORE_WANT_BODIES
} StoreWant;
int store_job_read(Store *store, Arena *arena, int64_t id, StoreWant want, QueueJob *ret,
                   bool *ret_fits);
void store_job_numbers(const StoreRow *row, QueueJob *ret);

/* store_sqlite_sum.c: checksums of rows; of a spec the members of job that are in its row. */
int64_t store_sum_spec(int64_t id, const QueueJob *job);
int64_t store_sum_outcome(int64_t id, Span code, Span message, Span result);
int64_t store_sum_ask(int64_t id, Span asks, Span inputs);

/* Does the column hold that sum, or none? STORE_WANT_TEXTS: of the short columns. */
bool store_sum_holds(sqlite3_stmt *sql, int at, int64_t sum, StoreWant want);

/* The same from a row whose columns from `at` on are those of STORE_SQL_SPEC. False: the arena is
 * full. */
bool store_job_specs(sqlite3_stmt *sql, int at, Arena *arena, QueueJob *ret);
#define STORE_COLUMN_SPEC   8 /* of STORE_SQL_JOB */
#define STORE_COLUMN_PARAMS 18
#define STORE_SPEC_SUM      11 /* of STORE_SQL_SPEC */

/* Claims; the jobs are behind `first` that the caller fills in op->jobs. Nothing has changed if
 * op->r says that they do not fit. */
int store_claim_into(Store *store, QueueOp *op, size_t first);

/* A copy in the arena; nothing for nothing. False: it is full. */
bool store_copy(Arena *arena, Span s, Span *ret);

/* Verbs: as store_run, and each sets op->r. */
int store_enqueue(Store *store, QueueOp *op);
int store_claim(Store *store, QueueOp *op);
int store_complete(Store *store, QueueOp *op);
int store_beat(Store *store, QueueOp *op);
int store_ask(Store *store, QueueOp *op);
int store_answer(Store *store, QueueOp *op);
int store_cancel(Store *store, QueueOp *op);
int store_retry(Store *store, QueueOp *op);
int store_get(Store *store, QueueOp *op);
int store_list(Store *store, QueueOp *op);
int store_purge(Store *store, QueueOp *op);
int store_wake(Store *store, QueueOp *op);

/* jobs[0] of an operation that has found its job: read anew, with texts. Sets op->r. */
int store_answer_job(Store *store, QueueOp *op, int64_t id, StoreWant want);
