/* toolwire/queue.h: jobs that survive: on disk before they are acknowledged, claimed by one worker
 * at a time, and kept with their results.
 *
 *     TwQueue *queue = NULL;
 *     TwQueueError error;
 *     TwJobSpec spec = {.method = "mail", .params_json = "{\"to\":\"ada\"}"};
 *     TwJobs *jobs = NULL;
 *     char id[TW_JOB_ID_SIZE];
 *
 *     if (tw_queue_open(&queue, "mail.db", NULL, &error) != 0 ||
 *         tw_queue_enqueue(queue, &spec, id, NULL, &error) != 0) {
 *         fprintf(stderr, "%s\n", error.message);
 *     }
 *     // any thread, now or after a restart
 *     while (tw_queue_claim(queue, &(TwJobClaim){.wait_ms = TW_WAIT_FOREVER}, &jobs, NULL) == 0) {
 *         const TwJob *job = tw_jobs_at(jobs, 0);
 *         … work …
 *         tw_queue_complete(queue, job->id, job->fence, "{\"sent\":true}", NULL);
 *         tw_jobs_free(jobs);
 *     }
 *
 * A function that changes something returns when the change is on disk. What many threads ask for
 * at once shares one wait for the disk, so that 64 producers are not 64 times as slow as one.
 *
 * Each claim has a fence, a number that grows with every claim of that job. Whoever lost a job (its
 * lease or time has passed) cannot complete it any more: TW_ERROR_LEASE or TW_ERROR_OVER.
 *
 * A claim without a lease holds until the job is completed or failed, or this process ends. A job
 * whose worker is lost, by the end of the process or of its lease, is tried again only if its spec
 * says that it is idempotent. Else it ends as TW_JOB_FAILED with the code "INTERRUPTED", since it
 * may have run: nothing runs twice unasked.
 *
 * One process has the file at a time: one that another process has, a hub say, is refused
 * (TW_ERROR_BUSY). `toolwire queue …` cannot read it meanwhile, either.
 *
 * The last parameter of most functions (may be NULL) is filled with words if they fail. Strings
 * that are passed in are borrowed until return. Each function also fails with TW_ERROR_ARGUMENT
 * (something is missing or wrong), TW_ERROR_SYSTEM (the disk refuses), TW_ERROR_FULL (a limit, or
 * the disk is full) and TW_ERROR_MEMORY. Thread: any, many at once, but for tw_queue_free.
 */
#pragma once

#include <toolwire/api.h>
#include <toolwire/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TW_BEGIN_C

typedef struct TwQueue TwQueue;
typedef struct TwJobs TwJobs;

/* A sentence about a failure. Yours; written only by a function that fails. */
typedef struct TwQueueError {
    char message[256];
} TwQueueError;

/* Room for the id of a job and its NUL. Ids cannot be guessed. */
#define TW_JOB_ID_SIZE 64

/* For wait_ms: until there is something, or tw_queue_stop. */
#define TW_WAIT_FOREVER ((int64_t)-1)

typedef enum TwJobState {
    TW_JOB_ANY = 0,
    TW_JOB_ENQUEUED = 1,
    TW_JOB_DISPATCHING = 2, /* claimed under a lease, without a beat yet */
    TW_JOB_RUNNING = 3,
    TW_JOB_SUCCEEDED = 4, /* from here on it is over */
    TW_JOB_FAILED = 5,
    TW_JOB_TIMEOUT = 6, /* its own time has passed */
    TW_JOB_DEAD = 7,    /* every attempt has failed */
    TW_JOB_CANCELLED = 8
} TwJobState;

/* "ENQUEUED" …; "ANY"; never NULL. */
TW_API const char *tw_job_state_name(TwJobState state);
TW_API bool tw_job_is_over(TwJobState state);

/* ---- the queue -------------------------------------------------------------------------- */

/* Members that are 0: the default of each. */
typedef struct TwQueueOptions {
    int64_t keep_ms;       /* jobs that are over: 1 day */
    uint64_t keep_bytes;   /* all results together, oldest go first: 256 MiB */
    uint64_t max_waiting;  /* jobs that are not over: 1 Mi */
    size_t max_body_bytes; /* parameters, or a result: 16 MiB */
    void *reserved[4];
} TwQueueOptions;

/* Opens or makes the file; in a folder, that is queue.db, as a hub names it. Jobs that an ended
 * process had claimed are seen to (above). options (copied) may be NULL. Gives *ret.
 * TW_ERROR_BUSY: somebody has it. TW_ERROR_SYSTEM: it cannot be written, is damaged or of a newer
 * version. */
TW_API int tw_queue_open(TwQueue **ret, const char *path, const TwQueueOptions *options,
                         TwQueueError *reterr);

/* No job is claimed any more, and whoever waits returns: claims with TW_ERROR_CLOSED. What was
 * claimed can still be completed; new jobs are taken for the next process. */
TW_API void tw_queue_stop(TwQueue *queue);

/* When no other thread uses it any more (tw_queue_stop, then join them). What is still claimed
 * without a lease is left as by a process that ended. May be NULL. */
TW_API void tw_queue_free(TwQueue *queue);

/* ---- who has work ----------------------------------------------------------------------- */

/* Only `method` is needed; members that are 0 or NULL: the default of each. */
typedef struct TwJobSpec {
    const char *method;
    const char *params_json; /* one object, kept byte for byte; {} */
    const char *key;         /* the same key, method and params again: the same job */
    int priority;            /* lower first; 100 */
    int64_t delay_ms;        /* not before */
    int64_t timeout_ms;      /* of one attempt; none */
    int64_t keep_ms;         /* after its end; as the queue's */
    unsigned max_attempts;   /* 3 */
    bool idempotent;         /* may run twice: a lost worker is no end */
    void *reserved[4];
} TwJobSpec;

/* Returns when the job is on disk, with its id. *ret_known (may be NULL): the key was there, and it
 * is that job. TW_ERROR_EXISTS: the key is another method's, or other parameters'.
 * TW_ERROR_JSON. */
TW_API int tw_queue_enqueue(TwQueue *queue, const TwJobSpec *spec, char ret_id[TW_JOB_ID_SIZE],
                            bool *ret_known, TwQueueError *reterr);

/* One job, with its result; waits up to wait_ms for its end, and gives it as it is then. Gives
 * *ret. TW_ERROR_MISSING: there is none of that id, or it is too old to be kept. */
TW_API int tw_queue_get(TwQueue *queue, const char *id, int64_t wait_ms, TwJobs **ret,
                        TwQueueError *reterr);

/* Whoever works on it hears of it with the next beat. TW_ERROR_OVER: it has ended already.
 * TW_ERROR_MISSING. */
TW_API int tw_queue_cancel(TwQueue *queue, const char *id, TwQueueError *reterr);

/* A job that is over and has not succeeded is tried again, as if it were new. TW_ERROR_BUSY: it has
 * not ended. TW_ERROR_OVER: it has succeeded. TW_ERROR_MISSING. */
TW_API int tw_queue_retry(TwQueue *queue, const char *id, TwQueueError *reterr);

/* ---- who works -------------------------------------------------------------------------- */

/* Members that are 0 or NULL: the default of each. */
typedef struct TwJobClaim {
    const char *const *methods; /* only these, ended by NULL; all */
    size_t max;                 /* as many as are ready, so many at most: 1 (256 are the most) */
    int64_t lease_ms;           /* without a beat for so long, it is lost; 0: no lease */
    int64_t wait_ms;            /* for the first one; TW_WAIT_FOREVER */
    const char *worker;         /* a name for people */
    void *reserved[4];
} TwJobClaim;

/* Takes what is ready, by priority and age; claim may be NULL. Those who wait longest come first.
 * Gives *ret, with one job at least. TW_ERROR_TIMEOUT: there was none in time. TW_ERROR_CLOSED:
 * tw_queue_stop. */
TW_API int tw_queue_claim(TwQueue *queue, const TwJobClaim *claim, TwJobs **ret,
                          TwQueueError *reterr);

/* A sign of life: the lease (lease_ms; 0: as long as before) begins anew. TW_ERROR_LEASE: it is
 * somebody else's by now, or nobody's. TW_ERROR_OVER: it was cancelled or its time has passed: stop
 * working. TW_ERROR_MISSING. So also for complete and fail. */
TW_API int tw_queue_beat(TwQueue *queue, const char *id, uint64_t fence, int64_t lease_ms,
                         TwQueueError *reterr);

/* The job has succeeded. result_json: any JSON value; NULL: none. TW_ERROR_JSON. */
TW_API int tw_queue_complete(TwQueue *queue, const char *id, uint64_t fence,
                             const char *result_json, TwQueueError *reterr);

/* As tw_queue_complete, and takes the next jobs in the same commit; waits for them as
 * tw_queue_claim does. Gives *ret, or NULL if the claim found none in time or failed: the job is
 * completed nevertheless. */
TW_API int tw_queue_complete_and_claim(TwQueue *queue, const char *id, uint64_t fence,
                                       const char *result_json, const TwJobClaim *claim,
                                       TwJobs **ret, TwQueueError *reterr);

typedef struct TwJobFailure {
    const char *code;        /* for programs; "FAILED" */
    const char *message;     /* for people; may be NULL */
    const char *result_json; /* what there is to tell; may be NULL */
    bool again;              /* try it again after a while, if it has attempts left */
    void *reserved[4];
} TwJobFailure;

/* The attempt has failed; failure may be NULL. With `again` the job is TW_JOB_ENQUEUED until its
 * attempts are used up, then TW_JOB_DEAD; without it is TW_JOB_FAILED. *ret_state (may be NULL)
 * says which. TW_ERROR_JSON. */
TW_API int tw_queue_fail(TwQueue *queue, const char *id, uint64_t fence,
                         const TwJobFailure *failure, TwJobState *ret_state, TwQueueError *reterr);

/* ---- who looks after it ----------------------------------------------------------------- */

typedef struct TwJobFilter {
    TwJobState state;   /* TW_JOB_ANY: all */
    const char *before; /* an id: older ones; the next page. NULL: from the newest on */
    size_t limit;       /* 0: 50; 1000 at most */
    bool with_bodies;   /* parameters and results, too */
    void *reserved[4];
} TwJobFilter;

/* Newest first; filter may be NULL. Gives *ret, which may hold none. */
TW_API int tw_queue_list(TwQueue *queue, const TwJobFilter *filter, TwJobs **ret,
                         TwQueueError *reterr);

/* How many there are in that state; TW_JOB_ANY: in all. */
TW_API int tw_queue_count(TwQueue *queue, TwJobState state, uint64_t *ret_n, TwQueueError *reterr);

/* Removes jobs that have been over for older_ms: those of `states` (1u << TW_JOB_FAILED | …; 0: all
 * that are over). *ret_n may be NULL. */
TW_API int tw_queue_purge(TwQueue *queue, unsigned states, int64_t older_ms, uint64_t *ret_n,
                          TwQueueError *reterr);

/* ---- jobs that were read ---------------------------------------------------------------- */

/* Strings are never NULL, but for those that say so. Times: microseconds since 1970; 0: not yet. */
typedef struct TwJob {
    const char *id;
    const char *method;
    const char *params_json; /* NULL: not asked for */
    const char *key;
    const char *worker;
    TwJobState state;
    int priority;
    int64_t timeout_ms;
    uint64_t fence;
    unsigned attempt; /* this one, from 1; 0: never begun */
    unsigned max_attempts;
    bool idempotent;
    int64_t enqueued_us;
    int64_t started_us; /* the last attempt */
    int64_t beat_us;
    int64_t finished_us;
    const char *code; /* "OK", "INTERRUPTED"…; "" until it is over. "RECORD_DAMAGED": the disk has
                         changed what was kept of the job, which is not given out */
    const char *message;
    const char *result_json; /* NULL: none, not asked for, or dropped */
    bool is_dropped;         /* there was a result, and it went (keep_bytes) */
} TwJob;

/* Lives as long as jobs; NULL behind the last one. 0 and NULL for NULL. */
TW_API size_t tw_jobs_count(const TwJobs *jobs);
TW_API const TwJob *tw_jobs_at(const TwJobs *jobs, size_t at);

/* May be NULL. */
TW_API void tw_jobs_free(TwJobs *jobs);

TW_END_C
