/* queue/queue_impl.h: the queue's own. Private to queue.c and queue_batch.c. */
#pragma once

#include "io/thread.h"
#include "queue/store.h"

/* Operations in the order in which they came; last is NULL when there is none. */
typedef struct QueueOps {
    QueueOp *first;
    QueueOp *last;
} QueueOps;

void queue_ops_push(QueueOps *ops, QueueOp *op);
QueueOp *queue_ops_pop(QueueOps *ops);             /* NULL: there is none */
void queue_ops_move(QueueOps *to, QueueOps *from); /* all of them, behind those that are there */

/* A change that is told after the commit. */
typedef struct QueueNews QueueNews;
struct QueueNews {
    QueueJob job;
    QueueNews *next;
};

/* Names of the steps; the order is that of queue_steps. */
typedef enum QueueStep {
    QUEUE_STEP_TAKEN,
    QUEUE_STEP_BEGUN,
    QUEUE_STEP_SWEPT,
    QUEUE_STEP_RUN,
    QUEUE_STEP_COMMIT,
    QUEUE_STEP_COMMITTED,
    QUEUE_STEP_TOLD,
    QUEUE_STEP_SETTLE,
    QUEUE_STEP_SETTLED,
    QUEUE_STEP_RECOVERED,
    QUEUE_STEP_CLOSE,
    QUEUE_N_STEPS
} QueueStep;

/* What the log hears of the file, each at most once a minute. */
typedef enum QueueSaid {
    QUEUE_SAID_FULL,
    QUEUE_SAID_DAMAGED,
    QUEUE_SAID_FAILED,
    QUEUE_SAID_WORKS,
    QUEUE_N_SAID
} QueueSaid;

/* Damaged jobs that the log has named and does not name again. */
#define QUEUE_DAMAGED_SAID 64

struct Queue {
    /* Set before the thread starts. */
    void (*changed)(void *context, const QueueJob *job);
    void (*step)(void *context, const char *name);
    int64_t (*wall_us)(void *context);
    void *context;
    const LogSink *log;
    uint64_t start_ns;     /* monotonic */
    int64_t line_start_us; /* the line then */

    /* Of the thread alone, while it runs. */
    Store *store;
    QueueOps taken; /* from those that are shared, and not in a batch yet */
    QueueOps batch; /* what shares the commit */
    QueueOps again; /* has more to do in the next one */
    int64_t stamp_us;
    int64_t stamp_line_us;  /* the line when the stamp was made */
    int64_t sweep_after_us; /* line: a sweep has failed; not again before */
    bool is_sweep_more;
    int64_t quiet_until_us[QUEUE_N_SAID]; /* line: no such line in the log before */
    bool is_failure_said;                 /* and not yet that the file is written again */
    uint64_t n_failed;                    /* commits, since that was said */
    char damaged_said[QUEUE_DAMAGED_SAID][QUEUE_ID_BYTES]; /* the last ones */
    size_t n_damaged_said;
    Arena arena; /* of the news of a batch */
    QueueNews *news;
    QueueNews **news_end;

    /* Shared, under the lock. */
    IoMutex lock;
    IoCondition wake;
    QueueOps ops;
    QueueOps late; /* came after the end began */
    QueueFigures figures;
    bool is_waiting; /* the thread, for `wake` */
    bool is_closing;

    IoThread thread;
    bool has_lock;
    bool has_wake;
    bool has_thread;
};

/* queue.c */
void queue_step(Queue *queue, QueueStep step);

/* Now, by both clocks. */
StoreNow queue_now(Queue *queue);

/* queue_batch.c: runs what queue->batch holds, and what is due, in one commit, and tells. What has
 * more to do is in queue->again afterwards. */
void queue_batch_run(Queue *queue);

/* How long the thread may wait if nobody asks for anything, in nanoseconds; UINT64_MAX: for ever.
 */
uint64_t queue_batch_wait_ns(Queue *queue);

/* After opening: the jobs of a process that ended. 0 or as queue_open. */
int queue_batch_recover(Queue *queue);
