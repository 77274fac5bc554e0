/* store.h: a document: one SQLite file, or memory, and the transactions on it.
 *
 *     store_begin(store, "revit.create_wall", &fault);
 *     store_run(store, &fault, "INSERT INTO walls …", "id", id, height);
 *     store_commit(store, &fault);
 *
 * A transaction is named "Orchestrator: TOOL". One that changed something makes the document's
 * revision one larger when it is committed; one that is rolled back leaves everything as it was,
 * the revision included. So whoever remembers a revision can tell whether the document, its
 * selection or its active view are still what they were.
 *
 * A transaction notes what it touches, in the temporary table `touched`: there the checks (check.h)
 * look for what has gone wrong. A step inside it can be taken back by itself. Thread: one.
 */
#pragma once

#include "fault.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* A newer program's document is refused; this number is in the file (user_version). */
#define STORE_FORMAT 2

typedef struct Store {
    sqlite3 *db;
    bool read_only;
    char transaction[120]; /* the name of the open one; "" */
    int changes_before;
    int64_t seen; /* by which SQLite tells whether another program has changed the file */
    /* Told what becomes of each transaction, in words; may be NULL. */
    void (*log)(void *user, const char *text);
    void *log_user;
} Store;

/* path NULL: in memory, gone when closed. A file that is not there becomes a new document: two
 * levels, their floor plans, a 3D view and some wall types. One that cannot be written is opened
 * for reading. 0, or -1 with *fault: not a document, damaged, of a newer format. */
int store_open(Store *store, const char *path, Fault *fault);
void store_close(Store *store);

int store_begin(Store *store, const char *tool, Fault *fault);

/* Has another program changed it since this was last asked? Inside a transaction none can. */
int store_is_changed(Store *store, bool *ret, Fault *fault);

/* -1: the document refused it, and it has been rolled back. */
int store_commit(Store *store, Fault *fault);
void store_rollback(Store *store, const char *why);

/* A step of the open transaction: kept, or as if it had never been. Not nested. */
int store_step_begin(Store *store, Fault *fault);
int store_step_end(Store *store, bool is_kept, Fault *fault);

/* Parameters by types: i int64_t, d double, s text (NULL is NULL). -1 with *fault. */
int store_run(Store *store, Fault *fault, const char *sql, const char *types, ...);

/* A statement to be stepped, and finalized by the caller. */
int store_query(Store *store, Fault *fault, sqlite3_stmt **ret, const char *sql, const char *types,
                ...);

/* 1 a row, 0 the end, -1 with *fault. */
int store_step(Store *store, Fault *fault, sqlite3_stmt *statement);

/* The first column of the first row as an integer; *ret stays as it is if there is no row. */
int store_number(Store *store, Fault *fault, int64_t *ret, const char *sql, const char *types, ...);
