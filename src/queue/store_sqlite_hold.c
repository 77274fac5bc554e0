/* One process has the file, and others may read it.
 *
 * Of the locks of a database with a log, that of writers is the first byte of its -shm file
 * (WAL_WRITE_LOCK: https://www.sqlite.org/walformat.html). SQLite takes it for each transaction; a
 * store takes it once and keeps it, by standing between SQLite and its function for locks. So
 * nobody else can write, which the rows that a store remembers need, while a copy can be made at
 * any time (sqlite3 FILE .backup). PRAGMA locking_mode = EXCLUSIVE would keep readers out as well.
 */
#include "queue/store_sqlite.h"

#include <stddef.h>

#define HOLD_WRITE_LOCK 0

static StoreHold *hold_of(const sqlite3_file *file)
{
    const char *ours = (const char *)file->pMethods;

    /* The table is in a hold, which is not const. */
    return (StoreHold *)(uintptr_t)(ours - offsetof(StoreHold, ours));
}

static int hold_lock(sqlite3_file *file, int first, int n, int flags)
{
    StoreHold *hold = hold_of(file);
    int code;

    if (first != HOLD_WRITE_LOCK || n != 1) {
        return hold->real->xShmLock(file, first, n, flags);
    }
    if (hold->is_held || (flags & SQLITE_SHM_UNLOCK) != 0) {
        return SQLITE_OK;
    }
    code = hold->real->xShmLock(file, first, n, flags);
    hold->is_held = code == SQLITE_OK;
    return code;
}

void store_hold_begin(Store *store)
{
    StoreHold *hold = &store->hold;
    sqlite3_file *file = NULL;

    (void)sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (file == NULL || file->pMethods == NULL || file->pMethods->iVersion < 2 ||
        file->pMethods->xShmLock == NULL) {
        return; /* in memory */
    }
    hold->file = file;
    hold->real = file->pMethods;
    hold->ours = *file->pMethods;
    hold->ours.xShmLock = hold_lock;
    file->pMethods = &hold->ours;
}

void store_hold_end(Store *store)
{
    StoreHold *hold = &store->hold;

    if (hold->file == NULL) {
        return;
    }
    hold->file->pMethods = hold->real;
    if (hold->is_held) {
        (void)hold->real->xShmLock(hold->file, HOLD_WRITE_LOCK, 1,
                                   SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
    }
    *hold = (StoreHold){.file = NULL};
}
