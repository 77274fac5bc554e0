/* app/jobs.h: the durable queue behind a hub's router.
 *
 * Runs what is in the queue's own pool as calls of the router, as many at once as may be, each
 * claimed on disk before it starts; takes calls that become tasks (router_set_later) and answers
 * what is asked about them; and lets others ask the queue, and be told of changes. The queue's
 * thread does the waiting for the disk; everything here happens on the loop.
 *
 *     a tool that runs as a task, or a door's job ─▶ queue ─▶ claimed ─▶ router_dispatch ─▶ queue
 *
 * Thread: loop.
 */
#pragma once

#include "app/hub.h"
#include "base/diag.h"
#include "base/logsink.h"
#include "queue/queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Jobs Jobs;

/* The pool of applications that fetch their jobs; the router's own is "". */
#define JOBS_POOL_PULL "pull"

typedef struct JobsConfig {
    Hub *hub;
    const char *path;   /* of the store; its folder exists */
    size_t max_running; /* at once; 0: LIMIT_JOBS_RUNNING */
    int64_t keep_ms;    /* as in QueueConfig, all below */
    uint64_t keep_bytes;
    uint64_t max_waiting;
    size_t max_body_bytes;
    int64_t away_ms;    /* how long a job waits for a tool that nobody has; 0: LIMIT_JOBS_AWAY_MS */
    const LogSink *log; /* may be NULL */
} JobsConfig;

/* Opens the store and takes the router's tasks. 0, a negative errno, QUEUE_E_* (queue_open). Gives
 * *ret. Jobs run from the loop's next turn on. */
int jobs_new(Jobs **ret, const JobsConfig *config, Diag *reterr_diag);

/* Nothing new is started; what runs may end within drain_ms, and is then left as a process that
 * ended leaves it. closed(context) comes once, from the loop, also if nothing ran, unless it is
 * NULL or another call replaces it. Asking goes on until free. */
void jobs_shutdown(Jobs *jobs, int64_t drain_ms, void (*closed)(void *context), void *context);

/* As if it had not been shut down; closed does not come any more. */
void jobs_resume(Jobs *jobs);

/* Before the hub, after whoever asks. Waits for the disk. May be NULL. Returns NULL. */
Jobs *jobs_free(Jobs *jobs);

/* One question to the queue. The asker's memory; told comes on the loop, once, after jobs_ask has
 * returned. What told finds in op is its own until queue_op_deinit. */
typedef struct JobsAsk JobsAsk;
struct JobsAsk {
    QueueOp op; /* done and context are ours */
    void (*told)(JobsAsk *ask);
    Jobs *jobs; /* as next: ours */
    JobsAsk *next;
};
void jobs_ask(Jobs *jobs, JobsAsk *ask);

/* Has it been a tool of the router's since a job of it was seen? */
bool jobs_away_knew(Jobs *jobs, Span method);

/* Whoever changed a job by asking tells the others what it is now. */
void jobs_tell(Jobs *jobs, const QueueJob *job);

/* Told of every change of a job, whoever caused it; the job is without bodies, borrowed until
 * return. May leave while it is told. */
typedef struct JobsListener JobsListener;
struct JobsListener {
    void (*changed)(JobsListener *listener, const QueueJob *job);
    JobsListener *next;
    JobsListener *prev;
};
void jobs_listen(Jobs *jobs, JobsListener *listener);
void jobs_unlisten(Jobs *jobs, JobsListener *listener);

size_t jobs_n_running(const Jobs *jobs);
QueueFigures jobs_figures(Jobs *jobs);
const char *jobs_file(const Jobs *jobs); /* borrowed, until free */
