/* bench/queue_sides.h: the same jobs through three queues, ours by both of its doors.
 *
 * A whole job is enqueued, claimed and completed, each acknowledged after it is on disk; whoever
 * has the acknowledgement of one goes on with the next. In the library and in SQLite by hand 64
 * jobs are at each stage at once, so that one commit carries 64 whole jobs. In Redis each of 64
 * connections takes its job through the stages one after another, three waits for the disk instead
 * of one: its figure is that of this use, and not the most that Redis can do. Each side runs n jobs
 * in a folder of its own and gives the time from the first enqueue to the last completion.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIDE_PRODUCERS = 64
};

/* What every job carries: as large as an ordinary call and its answer. */
#define SIDE_METHOD "revit.set_parameter"
#define SIDE_PARAMS                                                                                \
    "{\"element\":\"wall-4711\",\"parameter\":\"Comments\",\"value\":\"checked by the agent, "     \
    "level 2, axis C\"}"
#define SIDE_RESULT                                                                                \
    "{\"content\":[{\"type\":\"text\",\"text\":\"Comments of wall-4711 are set; 1 element has "    \
    "changed\"}]}"

typedef struct SideRun {
    double seconds;
    double syncs; /* waits for the disk; 0: not known */
} SideRun;

/* The library: one operation each, submitted from its own callbacks. */
SideRun side_library(const char *folder, size_t n_jobs);

/* The library's public functions (toolwire/queue.h), by 128 threads that wait. */
SideRun side_threads(const char *folder, size_t n_jobs);

/* SQLite by hand: one thread, one table, and each commit holds 64 new jobs, a claim of 64 by one
 * statement, and the results of 64 that were claimed before. The same settings: log, FULL. */
SideRun side_sqlite(const char *folder, size_t n_jobs);

/* Redis streams, appendfsync always: XADD, XREADGROUP, then HSET of the result with XACK and XDEL,
 * over 64 connections. False: there is no redis-server ($REDIS_SERVER, or /usr/bin,
 * /usr/local/bin). */
bool side_redis_start(const char *folder);
SideRun side_redis(size_t n_jobs);
void side_redis_stop(void);

/* Ends the program with words. */
void side_require(bool ok, const char *what);

/* Waits for the disk since the start, of all databases. */
size_t side_n_syncs(void);
