/* app/jobs_run.h: a job that runs as a call; what jobs_run.c (its start) and jobs_end.c (its end)
 * share. Thread: loop. */
#pragma once

#include "app/jobs_internal.h"

struct JobsRun {
    JobsRun *next;
    JobsRun *prev;
    Jobs *jobs;
    Call call;
    CallAsker asker;
    QueueJob job; /* spans in the arena */
    Arena arena;
    QueueFinish finish; /* how it ended; spans in the arena and record */
    JobsAsk ask;        /* the same, on its way */
    size_t n_reserved;  /* places for what is claimed with it */
    Bytes record;
    Bytes note;
    Bytes inputs;
    const char *provider; /* the sort of its tool's when it began; NULL: there is no such tool */
    bool is_over;         /* its call has ended; ask is on its way, or due again */
    bool is_asking;       /* ask is on its way */
};

/* jobs_end.c: how the call of a job reaches us, and it the queue. */
extern const CallDoor jobs_run_door;

/* The end begins: what the queue is to do. Then it is offered, with a claim for the room there will
 * be. */
void jobs_run_begin_end(JobsRun *run, QueueVerb verb);
void jobs_run_send(JobsRun *run);

/* What the disk did not take is offered again in a while: ends, and a claim. */
void jobs_run_retry_later(Jobs *jobs);

/* It ends with an error before its call has begun; message may be empty. */
void jobs_run_fail(JobsRun *run, CallError error, Span message);

/* jobs_run.c: what was claimed begins, or is given back; and a run is over. */
void jobs_run_start_all(Jobs *jobs, const QueueJob *job, size_t n);
void jobs_run_free(JobsRun *run);
