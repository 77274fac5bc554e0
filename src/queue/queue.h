/* queue/queue.h: jobs that survive: on disk before they are acknowledged, claimed by one worker at
 * a time, run once, and kept with their results until those are old.
 *
 * One thread owns the store. What is asked of it while it writes waits together and shares the next
 * commit (group commit), so that the disk is asked once for all of it; `done` of each comes after
 * that commit, with what was read or written. Nothing is acknowledged before it is on disk.
 *
 *     queue_op_init(&op);
 *     queue_op_set(&op, QUEUE_ENQUEUE, &(QueueOrder){.spec = {.method = …, .params = …}});
 *     op.done = done;
 *     queue_submit(queue, &op);          // any thread; op stays until done
 *       → done(&op): op.r, op.jobs[0].id
 *
 * What an operation is about crosses to another thread, and outlives whoever lent it: so it is
 * copied when it is set (QueueOrder), and an operation has no member that a borrowed text could be
 * put into.
 *
 * Jobs are named by ids of our own: what a client calls its request (rpc_id) is only kept for it.
 * Each claim gives a fence, a number that grows with every claim of that job: completing, beating
 * or asking with an older one is refused, so that a worker that was thought dead cannot overwrite
 * what its successor did. While it has no successor its answer may come late (QueueFinish). Times
 * on disk are wall-clock microseconds that never go back within a process (where the clock is set
 * back they go on from where they were, so that durations stay true); leases and time-outs count
 * monotonic time in a process and what is left of it after a restart. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/logsink.h"
#include "base/span.h"
#include "queue/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    QUEUE_E_MISSING = 1, /* there is no such job, or it is another owner's */
    QUEUE_E_BAD_ID,      /* that is no id of a job */
    QUEUE_E_KEY,         /* the idempotency key is another method's, or other parameters' */
    QUEUE_E_LEASE,       /* another worker has it by now, or nobody: the fence is old */
    QUEUE_E_OVER,        /* it has ended already: cannot be cancelled, beaten, asked, answered */
    QUEUE_E_NOT_OVER,    /* retry: it has not ended */
    QUEUE_E_SUCCEEDED,   /* retry: it has succeeded */
    QUEUE_E_TOO_LARGE,   /* parameters or result over their limit */
    QUEUE_E_FULL,        /* as many jobs wait as may (max_waiting) */
    QUEUE_E_DISK_FULL,   /* the disk takes no more: nothing was written */
    QUEUE_E_BUSY,        /* open: another process has the store */
    QUEUE_E_NEWER,       /* open: a newer version of this program wrote it */
    QUEUE_E_DAMAGED,     /* open: it is not a store, or the check found it damaged; the Diag says.
                            Later:     a page that was read is */
    QUEUE_E_READ_ONLY,   /* open: the folder or file cannot be written */
    QUEUE_E_CLOSED,      /* the queue is being closed */
};

typedef struct Queue Queue;

/* "job-" and hex digits, part of them random: cannot be guessed. */
#define QUEUE_ID_BYTES 64

/* How many jobs there are in each state. */
typedef struct QueueCounts {
    uint64_t n[JOB_N_STATES];
    uint64_t n_asking; /* of RUNNING: they wait for answers, and nobody works on them */
} QueueCounts;

/* What is said of a job whose bytes the disk has changed (QueueJob.is_damaged). Waiting ones end
 * FAILED with it, and do not run. */
#define QUEUE_CODE_DAMAGED "RECORD_DAMAGED"
#define QUEUE_TEXT_DAMAGED                                                                         \
    "what the queue's file holds of this job is damaged (checksum): it is not given out"

/* What is said of a job that was running when its process died, LIMIT_QUEUE_CRASHES times in a row:
 * it ends DEAD, whatever attempts it has left. */
#define QUEUE_CODE_QUARANTINED "QUARANTINED"
#define QUEUE_TEXT_QUARANTINED                                                                     \
    "it was running when the process that ran it died, three times in a row: it is not run again " \
    "by itself; to run it nevertheless: toolwire queue retry JOB"

/* One job, read. Spans are in the operation's arena. Times: microseconds since 1970; 0: not yet. */
typedef struct QueueJob {
    char id[QUEUE_ID_BYTES];
    JobState state;
    Span method;
    Span params; /* one JSON object */
    Span pool;   /* who works on it (QueueSpec) */
    Span owner;
    Span source;
    Span rpc_id; /* JSON, or empty */
    Span idempotency_key;
    Span note; /* the submitter's own JSON, or empty */
    int priority;
    int64_t timeout_ms; /* of one attempt; 0: none */
    int64_t keep_ms;    /* after its end; < 0: by the queue's rule */
    bool is_idempotent;
    unsigned n_attempts;
    unsigned max_attempts;
    uint64_t fence;
    Span worker; /* that has or had it; may be empty */
    int64_t enqueued_us;
    int64_t started_us; /* the last attempt */
    int64_t beat_us;
    int64_t finished_us;
    int64_t changed_us;
    Span code; /* "OK", "INTERRUPTED"…; empty until it is over */
    Span message;
    Span result;      /* JSON (call/record.h), or empty: none, not asked for, or dropped */
    bool is_dropped;  /* there was a result, and it went (keep_bytes); known where bodies are */
    bool is_damaged;  /* its bytes are not those that were written: texts are empty, and code and
                         message are those below; of bodies only where they are */
    Span asks;        /* JSON object of questions without an answer yet; empty: none */
    Span inputs;      /* JSON object of answers; empty: none */
    uint64_t version; /* grows with each change: an ETag */
} QueueJob;

/* A new job. Members that are 0 or empty: the default. */
typedef struct QueueSpec {
    Span method;
    Span params; /* one JSON object; kept byte for byte; empty: {} */
    Span pool;   /* "": this process's router; "pull": applications that fetch */
    Span owner;  /* whoever may ask for it again; empty: everybody */
    Span source; /* "mcp", "http", "cli", "library" */
    Span rpc_id;
    Span idempotency_key; /* bound to method and params within the owner */
    Span note;
    int priority;     /* lower first; 100 is usual, and what 0 means here */
    int64_t delay_ms; /* not before */
    int64_t timeout_ms;
    int64_t keep_ms; /* how long the result stays after the end; 0: the queue's; < 0 likewise */
    unsigned max_attempts; /* 0: LIMIT_QUEUE_ATTEMPTS */
    bool is_idempotent;    /* its tool may run twice */
} QueueSpec;

typedef enum QueueVerb {
    QUEUE_ENQUEUE, /* spec → jobs[0] (id, state; is_known: the key was there, and it is that job) */
    QUEUE_CLAIM, /* claim → jobs[0 … n): with params, inputs and note; n_changed (claim.look) */
    QUEUE_COMPLETE, /* id, fence, finish → jobs[0]; and if claim.max > 0 the next claim in the same
                       commit: jobs[1 …) */
    QUEUE_BEAT,     /* id, fence (or has_no_fence), lease_ms: DISPATCHING becomes RUNNING →
                       jobs[0] */
    QUEUE_ASK, /* id, fence, asks: nobody works on it until every key has its answer; spec.note, if
                  not empty, becomes its note → jobs[0] */
    QUEUE_ANSWER, /* id, inputs: an object of answers; unknown keys and answered ones are left
                     alone. When none is missing the job is ENQUEUED again, in front → jobs[0] */
    QUEUE_CANCEL, /* id → jobs[0]; what runs is told by `changed`. QUEUE_E_OVER: jobs[0], too */
    QUEUE_RETRY,  /* id of a job that is over and did not succeed: ENQUEUED, attempts from 0 */
    QUEUE_WAKE,   /* what waits for whoever has it (finish.away_ms) is ready now → n_changed */
    QUEUE_GET,    /* id, without_bodies → jobs[0] */
    QUEUE_LIST,   /* list → jobs */
    QUEUE_COUNT,  /* → counts */
    QUEUE_PURGE,  /* purge → n_changed */
    QUEUE_N_VERBS
} QueueVerb;

typedef struct QueueClaim {
    Span pool;
    Span worker;      /* a name for people */
    size_t max;       /* as many as are ready, this many at most */
    int64_t lease_ms; /* DISPATCHING under a lease; 0: RUNNING, and this process's until it ends */
    const Span *methods; /* only these; NULL: all. Not of the pool "" (-EINVAL) */
    size_t n_methods;
    /* What is to become of a job that is ready, asked on the queue's thread; NULL: it is taken, as
     * for 0. Above 0, whoever has its tool is away: it stays ENQUEUED, without an attempt, for so
     * many ms or until QUEUE_WAKE, and n_changed counts it. Below 0, nobody knows yet: neither it
     * nor what is behind it is touched. Borrows job until return. */
    int64_t (*look)(void *context, const QueueJob *job);
    void *context;
} QueueClaim;

typedef struct QueueFinish {
    JobState state; /* SUCCEEDED, FAILED, TIMEOUT, CANCELLED; ENQUEUED: this attempt did not begin
                       (job_after_loss decides what becomes of it) */
    Span code;
    Span message;
    Span result; /* JSON, or empty */
    /* Of ENQUEUED, > 0: whoever has the tool is away. The attempt is none, and the next comes after
     * so long, or with QUEUE_WAKE. */
    int64_t away_ms;
    /* Of SUCCEEDED: also if its lease or its time has ended, while nobody else has claimed the job:
     * it was lost (ENQUEUED again, FAILED, TIMEOUT or DEAD), and has succeeded then. */
    bool may_be_late;
} QueueFinish;

typedef struct QueueList {
    bool has_state;
    JobState state;
    Span owner;       /* only its; empty: all */
    Span source;      /* likewise */
    size_t limit;     /* 0: LIMIT_QUEUE_LIST; newest first */
    Span before;      /* an id: those that are older */
    bool with_bodies; /* params and results, too */
} QueueList;

typedef struct QueuePurge {
    bool states[JOB_N_STATES]; /* of those that are over; none: all of them */
    int64_t older_ms;          /* since their end; 0: any */
} QueuePurge;

/* What an operation is about, as far as it is text: borrowed until queue_op_set returns, which
 * copies it. */
typedef struct QueueOrder {
    Span id;
    Span owner; /* GET, CANCEL, ANSWER, RETRY: only a job of that owner; empty: any */
    Span asks;
    Span inputs;
    QueueSpec spec;
    QueueClaim claim;
    QueueFinish finish;
    QueueList list;
} QueueOrder;

/* Such a copy, in memory of its own. Only op.c knows what is in it. */
typedef struct QueueOwned QueueOwned;

typedef struct QueueOp QueueOp;
struct QueueOp {
    QueueVerb verb;
    QueueOwned *owned;  /* queue_op_set, queue_op_order */
    bool has_no_memory; /* for that copy: submitting it ends with -ENOMEM */

    /* Numbers, which are nobody else's. */
    uint64_t fence;
    bool has_no_fence; /* BEAT: from whoever has the lease */
    int64_t lease_ms;
    bool without_bodies; /* GET: neither params nor result */
    QueuePurge purge;
    bool is_quiet; /* ENQUEUE: `changed` is not called, since whoever submits it sees to the job */

    /* After the commit, or its failure; on the queue's thread. The op is its owner's again. */
    void (*done)(QueueOp *op);
    void *context;

    /* What came of it. */
    int r; /* 0, a negative errno (-EIO, -ENOMEM, -EINVAL), QUEUE_E_* */
    bool is_known;
    QueueJob *jobs;
    size_t n_jobs;
    QueueCounts counts;
    uint64_t n_changed;
    Arena arena; /* queue_op_deinit; may be used again after arena_reset */

    /* The queue's, from submitting on. */
    QueueOp *next;
    int64_t at; /* where a purge that goes on in the next batch stands */
};

void queue_op_init(QueueOp *op);
void queue_op_deinit(QueueOp *op); /* not while it is on its way */

/* What it is to do, and about what: copies all of it, in the place of what was set before, of which
 * order may be made; NULL: nothing, as for what has no texts (COUNT, PURGE, WAKE). Not while it is
 * on its way. Where there is no memory for the copy it ends with -ENOMEM; an operation that
 * was set before has enough for the id of a job and a few words. */
void queue_op_set(QueueOp *op, QueueVerb verb, const QueueOrder *order);

/* What was set, in the operation's own memory: borrowed until it is set again. Never NULL. */
const QueueOrder *queue_op_order(const QueueOp *op);

/* As after init, but with so much of its memory. */
void queue_op_clear(QueueOp *op, size_t keep_bytes);

typedef struct QueueConfig {
    const char *path;      /* of the store; its folder exists. ":memory:" for tests */
    size_t max_body_bytes; /* params, result: 0: LIMIT_QUEUE_BODY_BYTES */
    uint64_t max_waiting;  /* jobs that are not over; 0: LIMIT_QUEUE_WAITING */
    int64_t keep_ms;       /* results; 0: LIMIT_QUEUE_KEEP_MS */
    uint64_t keep_bytes;   /* all results together; oldest go first; 0: LIMIT_QUEUE_KEEP_BYTES */
    /* A job changed that no operation of the caller's changed just now: cancelled, timed out, its
     * lease expired, its time to try again has come; or became ready (enqueued unless quietly,
     * answered, retried):
     * whoever can work on that pool claims. On the queue's thread, after the commit and before the
     * operation's own `done`; job borrowed until return (without bodies). May be NULL. */
    void (*changed)(void *context, const QueueJob *job);
    void *context;
    const LogSink *log; /* may be NULL; used on the queue's thread */
    /* Tests: called with a name at every step between reading an operation and telling that it is
     * done (queue_steps); may end the process. NULL: nobody asks. Also the wall clock, in
     * microseconds; NULL: the system's. */
    void (*step)(void *context, const char *name);
    int64_t (*wall_us)(void *context);
} QueueConfig;

/* Opens or makes the store, brings an older one to this version, and sees to jobs that a process
 * that ended had claimed for itself (job_after_loss). 0, a negative errno, QUEUE_E_BUSY, NEWER,
 * DAMAGED, READ_ONLY; the Diag says why. Gives *ret. Borrows config's strings until return, the
 * functions until close. */
int queue_open(Queue **ret, const QueueConfig *config, Diag *reterr_diag);

/* What was submitted is done first, what comes later ends with QUEUE_E_CLOSED. Waits for the
 * thread. May be NULL. Returns NULL. */
Queue *queue_close(Queue *queue);

/* Any thread. op->done always comes, not before this returns if called on a thread that is not the
 * queue's. */
void queue_submit(Queue *queue, QueueOp *op);

/* Several at once, in their order: linked by `next`, the last one with NULL. */
void queue_submit_all(Queue *queue, QueueOp *first);

/* The names that `step` is called with; ends with NULL. */
extern const char *const queue_steps[];

/* Submits and waits; `done` and `context` are used by it. Returns op->r. Not on the queue's thread.
 */
int queue_run(Queue *queue, QueueOp *op);

/* Commits, and the operations that they carried, since the start: for those who watch and measure.
 */
typedef struct QueueFigures {
    uint64_t n_commits;
    uint64_t n_ops;
    uint64_t n_writes;  /* operations among them that changed something */
    QueueCounts counts; /* jobs, as of the last commit */
} QueueFigures;
QueueFigures queue_figures(Queue *queue);

/* Its file; borrowed until close. "" in memory. Any thread. */
const char *queue_file(const Queue *queue);

/* What to do about a file that is damaged; %s is its path. */
#define QUEUE_REMEDY                                                                               \
    "stop the hub, move it aside with the files beside it, and put a copy back, or begin "         \
    "without; "                                                                                    \
    "sqlite3 %s .dump prints what can be read"
