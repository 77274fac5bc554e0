/* queue/store.h: where jobs lie. Does what an operation asks for, synchronously, inside a batch
 * that is on disk when its commit returns, or has not been.
 *
 *     store_begin(store, now);
 *     store_run(store, op) …            // several: each does its part, or says why not in op->r
 *     store_commit(store)               // now they may be told
 *
 * An operation and what it points to stay until the commit, or until everything is undone: rows of
 * a batch are collected, and written together.
 *
 * An operation that fails by its own fault (a bad id, an old fence) has changed nothing, and the
 * others of its batch are not touched. When the store fails, everything since store_begin is
 * undone.
 *
 * Two clocks. `stamp_us` is for people: the wall clock, which does not go back in a process.
 * `line_us` is for leases, time-outs and delays: it runs as monotonic time does, and begins anew in
 * each process where the wall clock is (store_line_start), of which `wall_us` is what it says,
 * forward or back. Thread: one at a time.
 */
#pragma once

#include "queue/queue.h"

typedef struct Store Store;

enum {
    STORE_E_MORE = 100, /* the operation has more to do: run it again in the next batch */
};

typedef struct StoreNow {
    int64_t line_us;
    int64_t stamp_us;
    int64_t wall_us;
} StoreNow;

/* Of QueueConfig: path, max_body_bytes, max_waiting, keep_ms, keep_bytes; 0: the default. Opens or
 * makes the file, and brings it to this version. Results as queue_open. Gives *ret. */
int store_open(Store **ret, const QueueConfig *config, Diag *reterr_diag);

/* Leaves a mark that the end was orderly, if nothing failed. May be NULL. Returns NULL. */
Store *store_close(Store *store);

/* Where this process's line begins, by the wall clock: further on or back by as much as the clock
 * has been set while earlier ones ran. */
int64_t store_line_start(const Store *store, int64_t wall_us);

/* After opening, in a batch: jobs that an ended process had for itself, and times that a clock
 * which was set back has put too far away. 0 or what store_run gives. */
int store_recover(Store *store);

/* Its file; "" in memory. */
const char *store_file(const Store *store);

/* 0, or as store_run. */
int store_begin(Store *store, StoreNow now);

/* 0: the operation is done, op->r says how. STORE_E_MORE. QUEUE_E_DISK_FULL, QUEUE_E_DAMAGED or a
 * negative errno: the store has failed; roll back. */
int store_run(Store *store, QueueOp *op);

/* Jobs whose time has come (leases, time-outs, delays), n at most, and results that are to go. What
 * became of each is told through `tell` while it runs (job borrowed, without bodies), which may be
 * NULL. Results as store_run; STORE_E_MORE: there is more. */
typedef void (*StoreTell)(void *context, const QueueJob *job);
int store_sweep(Store *store, size_t max_jobs, StoreTell tell, void *context);

/* When store_sweep has something to do, on the line; INT64_MAX: never, as things are. */
int64_t store_next_us(const Store *store);

/* 0: it is on disk. Else as store_run, and everything is undone. *ret_wrote: whether there was
 * something to write. */
int store_commit(Store *store, bool *ret_wrote);

/* Moves the log of what was committed into the file, if it has grown long: between batches. It
 * waits for the disk, so that a store that somebody waits for (is_idle false) puts it off for as
 * long as it can. What fails is tried again later; nothing is lost. True: it did something. */
bool store_settle(Store *store, bool is_idle);

/* Undoes the batch. Does nothing if none is open. */
void store_rollback(Store *store);
