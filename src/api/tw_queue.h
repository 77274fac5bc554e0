/* api/tw_queue.h: what tw_queue.c (life and what does not wait), tw_queue_wait.c (claims and gets,
 * which do) and tw_queue_jobs.c (what was read) share. */
#pragma once

#include "api/tw_internal.h"
#include "io/thread.h"
#include "queue/queue.h"

#include <toolwire/queue.h>

/* The jobs of programs: a hub that has the same file at another time leaves them alone. */
#define API_QUEUE_POOL "library"

typedef struct ApiWait ApiWait;

struct TwQueue {
    Queue *queue;
    IoMutex lock; /* of what follows */
    bool has_lock;
    bool is_stopped;
    ApiWait *first; /* those who have found nothing, longest first */
    ApiWait *last;
    size_t n_waiting; /* in the list */
};

/* tw_queue.c: the TW_ERROR_* for what an operation gave, with its words. */
int api_queue_error(int r, TwQueueError *reterr);

/* The same with words of our own. */
int api_queue_refuse(TwQueueError *reterr, int error, const char *format, ...) TW_PRINTF(3, 4);

/* tw_queue_wait.c: runs op, whose changes those who wait hear of, and waits for it. op->r. */
int api_queue_run(TwQueue *queue, QueueOp *op);

/* QueueConfig.changed, with TwQueue as its context. */
void api_queue_changed(void *context, const QueueJob *job);

/* The claim as the queue knows it; *ret_methods (mem_free) is what it points to. 0, TW_ERROR_*. */
int api_queue_claim_read(const TwJobClaim *claim, QueueClaim *ret, Span **ret_methods,
                         TwQueueError *reterr);

/* Jobs of op from `at` on that were claimed, and of which nobody can be told: as if they had not
 * been. Uses op, since there may be no memory for another. */
void api_queue_give_back(TwQueue *queue, QueueOp *op, size_t at);

/* tw_queue_jobs.c: a copy of the operation's jobs from `at` on. NULL: no memory. */
TwJobs *api_jobs_new(const QueueOp *op, size_t at);

/* Of TW_JOB_ANY and numbers that are none, false. */
bool api_job_state(TwJobState state, JobState *ret);
TwJobState api_job_state_of(JobState state);
