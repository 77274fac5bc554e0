#include "queue_sides.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

typedef struct Hands {
    sqlite3 *db;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    sqlite3_stmt *add;
    sqlite3_stmt *claim;
    sqlite3_stmt *finish;
    sqlite3_int64 claimed[SIDE_PRODUCERS];
    size_t n_claimed;
} Hands;

static void exec(Hands *hands, const char *sql)
{
    if (sqlite3_exec(hands->db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        side_require(false, sqlite3_errmsg(hands->db));
    }
}

static sqlite3_stmt *prepare(Hands *hands, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v3(hands->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL) !=
        SQLITE_OK) {
        side_require(false, sqlite3_errmsg(hands->db));
    }
    return stmt;
}

static void step(Hands *hands, sqlite3_stmt *stmt)
{
    if (sqlite3_step(stmt) != SQLITE_DONE) {
        side_require(false, sqlite3_errmsg(hands->db));
    }
    (void)sqlite3_reset(stmt);
}

static void hands_open(Hands *hands, const char *path)
{
    *hands = (Hands){.n_claimed = 0};
    side_require(sqlite3_open_v2(path, &hands->db,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                 NULL) == SQLITE_OK,
                 "sqlite3_open");
    exec(hands, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
                "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384");
    exec(hands, "CREATE TABLE job(id INTEGER PRIMARY KEY, state INTEGER NOT NULL, priority INTEGER"
                " NOT NULL, method TEXT NOT NULL, params TEXT NOT NULL, owner TEXT, worker TEXT,"
                " fence INTEGER NOT NULL, n_attempts INTEGER NOT NULL, created_us INTEGER NOT NULL,"
                " started_us INTEGER, finished_us INTEGER, code TEXT, result TEXT);"
                "CREATE INDEX job_ready ON job(priority, id) WHERE state = 0");
    hands->begin = prepare(hands, "BEGIN IMMEDIATE");
    hands->commit = prepare(hands, "COMMIT");
    hands->add =
        prepare(hands, "INSERT INTO job(state, priority, method, params, fence, n_attempts,"
                       " created_us) VALUES(0, 100, ?1, ?2, 0, 0, ?3)");
    hands->claim =
        prepare(hands, "UPDATE job SET state = 2, worker = 'bench', fence = fence + 1,"
                       " n_attempts = n_attempts + 1, started_us = ?1 WHERE id IN (SELECT"
                       " id FROM job WHERE state = 0 ORDER BY priority, id LIMIT ?2)"
                       " RETURNING id, method, params");
    hands->finish = prepare(hands, "UPDATE job SET state = 3, finished_us = ?2, code = 'OK',"
                                   " result = ?3 WHERE id = ?1 AND fence = 1 AND state = 2");
}

static void hands_close(Hands *hands)
{
    sqlite3_stmt *all[] = {hands->begin, hands->commit, hands->add, hands->claim, hands->finish};

    for (size_t i = 0; i < 5; i++) {
        (void)sqlite3_finalize(all[i]);
    }
    (void)sqlite3_close(hands->db);
}

static void add(Hands *hands, int64_t now_us)
{
    (void)sqlite3_bind_text(hands->add, 1, SIDE_METHOD, sizeof(SIDE_METHOD) - 1, SQLITE_STATIC);
    (void)sqlite3_bind_text(hands->add, 2, SIDE_PARAMS, sizeof(SIDE_PARAMS) - 1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(hands->add, 3, now_us);
    step(hands, hands->add);
}

static void finish_claimed(Hands *hands, int64_t now_us)
{
    for (size_t i = 0; i < hands->n_claimed; i++) {
        (void)sqlite3_bind_int64(hands->finish, 1, hands->claimed[i]);
        (void)sqlite3_bind_int64(hands->finish, 2, now_us);
        (void)sqlite3_bind_text(hands->finish, 3, SIDE_RESULT, sizeof(SIDE_RESULT) - 1,
                                SQLITE_STATIC);
        step(hands, hands->finish);
        side_require(sqlite3_changes(hands->db) == 1, "nobody had the job");
    }
}

static void claim(Hands *hands, int64_t now_us)
{
    (void)sqlite3_bind_int64(hands->claim, 1, now_us);
    (void)sqlite3_bind_int64(hands->claim, 2, SIDE_PRODUCERS);
    hands->n_claimed = 0;
    while (sqlite3_step(hands->claim) == SQLITE_ROW) {
        /* A worker reads what it is to do. */
        side_require(sqlite3_column_bytes(hands->claim, 2) == sizeof(SIDE_PARAMS) - 1, "params");
        hands->claimed[hands->n_claimed++] = sqlite3_column_int64(hands->claim, 0);
    }
    (void)sqlite3_reset(hands->claim);
}

SideRun side_sqlite(const char *folder, size_t n_jobs)
{
    char path[256];
    size_t n_enqueued = 0;
    size_t n_done = 0;
    size_t n_syncs;
    uint64_t start_ns;
    SideRun run;
    Hands hands;

    (void)snprintf(path, sizeof(path), "%s/hands.db", folder);
    hands_open(&hands, path);
    n_syncs = side_n_syncs();
    start_ns = clock_monotonic_ns();
    while (n_done < n_jobs) {
        int64_t now_us = clock_now_us();
        size_t n_finishing = hands.n_claimed;

        step(&hands, hands.begin);
        /* Completed first, then claimed: what was enqueued before this commit began. */
        finish_claimed(&hands, now_us);
        claim(&hands, now_us);
        for (size_t i = 0; i < SIDE_PRODUCERS && n_enqueued < n_jobs; i++, n_enqueued++) {
            add(&hands, now_us);
        }
        step(&hands, hands.commit);
        n_done += n_finishing;
    }
    run.seconds = (double)(clock_monotonic_ns() - start_ns) / 1e9;
    run.syncs = (double)(side_n_syncs() - n_syncs);
    hands_close(&hands);
    (void)unlink(path);
    return run;
}
