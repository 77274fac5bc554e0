/* tests/support/sqlite_vfs.h: stands between SQLite and the disk: counts how often the disk is
 * waited for, and lets writing fail.
 *
 * One for each program, installed before a database is opened. Only the two calls are replaced;
 * everything else is the system's own.
 */
#pragma once

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>

typedef struct SqliteVfsMethods {
    const sqlite3_io_methods *real;
    sqlite3_io_methods ours;
} SqliteVfsMethods;

typedef struct SqliteVfs {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    SqliteVfsMethods methods[4]; /* by what the system has: files with locks, and without */
    atomic_size_t n_syncs;
    atomic_size_t n_writes;
    atomic_size_t n_unsynced; /* writes since the disk was last waited for */
    atomic_int write_result;  /* SQLITE_OK: as the disk says */
    atomic_int sync_result;
} SqliteVfs;

static SqliteVfs sqlite_vfs;

static inline const sqlite3_io_methods *sqlite_vfs_real(const sqlite3_file *file)
{
    for (size_t i = 0; i < 4; i++) {
        if (file->pMethods == &sqlite_vfs.methods[i].ours) {
            return sqlite_vfs.methods[i].real;
        }
    }
    /* Somebody stands before us, with our functions: of a database on disk. */
    return sqlite_vfs.methods[0].real;
}

static inline int sqlite_vfs_sync(sqlite3_file *file, int flags)
{
    int fails = atomic_load(&sqlite_vfs.sync_result);

    atomic_fetch_add(&sqlite_vfs.n_syncs, 1);
    atomic_store(&sqlite_vfs.n_unsynced, 0);
    return fails != SQLITE_OK ? fails : sqlite_vfs_real(file)->xSync(file, flags);
}

static inline int sqlite_vfs_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
    int fails = atomic_load(&sqlite_vfs.write_result);

    atomic_fetch_add(&sqlite_vfs.n_writes, 1);
    atomic_fetch_add(&sqlite_vfs.n_unsynced, 1);
    return fails != SQLITE_OK ? fails : sqlite_vfs_real(file)->xWrite(file, p, n, at);
}

static inline int sqlite_vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                                  int *ret_flags)
{
    int code = sqlite_vfs.real->xOpen(vfs, name, file, flags, ret_flags);

    for (size_t i = 0; code == SQLITE_OK && file->pMethods != NULL && i < 4; i++) {
        SqliteVfsMethods *methods = &sqlite_vfs.methods[i];

        if (methods->real == NULL) {
            methods->real = file->pMethods;
            methods->ours = *file->pMethods;
            methods->ours.xSync = sqlite_vfs_sync;
            methods->ours.xWrite = sqlite_vfs_write;
        }
        if (methods->real == file->pMethods) {
            file->pMethods = &methods->ours;
            break;
        }
    }
    return code;
}

/* 0: every database that is opened from now on is seen. */
static inline int sqlite_vfs_install(void)
{
    if (sqlite3_initialize() != SQLITE_OK || sqlite_vfs.real != NULL) {
        return -1;
    }
    sqlite_vfs.real = sqlite3_vfs_find(NULL);
    sqlite_vfs.vfs = *sqlite_vfs.real;
    sqlite_vfs.vfs.zName = "toolwire-test";
    sqlite_vfs.vfs.pNext = NULL;
    sqlite_vfs.vfs.xOpen = sqlite_vfs_open;
    return sqlite3_vfs_register(&sqlite_vfs.vfs, 1) == SQLITE_OK ? 0 : -1;
}
