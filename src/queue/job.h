/* queue/job.h: what a job is, and which way it may go. Pure.
 *
 *                 ┌────────── retry, back-off ──────────┐
 *                 ▼                                     │
 *     ENQUEUED ─claim→ DISPATCHING ─beat→ RUNNING ─┬→ FAILED, TIMEOUT ─(attempts used up)→ DEAD
 *        │  └──────claim and start──────→ RUNNING  ├→ SUCCEEDED
 *        └────────────── cancel ───────────────────┴→ CANCELLED
 *
 * A worker in this process claims and starts in one step (RUNNING); one that fetches its jobs over
 * a wire has them DISPATCHING until its first sign of life. Both may have run the job as soon as
 * they have claimed it: whoever loses one runs it again only if its tool is idempotent. Thread:
 * any.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are in files: they do not change. */
typedef enum JobState {
    JOB_ENQUEUED = 0,
    JOB_DISPATCHING = 1,
    JOB_RUNNING = 2,
    JOB_SUCCEEDED = 3,
    JOB_FAILED = 4,  /* also INTERRUPTED: it may have run, and must not run again unasked */
    JOB_TIMEOUT = 5, /* its own time passed */
    JOB_DEAD = 6,    /* every attempt failed */
    JOB_CANCELLED = 7,
    JOB_N_STATES
} JobState;

/* "ENQUEUED" …; parse ignores case. */
const char *job_state_name(JobState state);
bool job_state_parse(Span s, JobState *ret);

/* SUCCEEDED, FAILED, TIMEOUT, DEAD, CANCELLED: a result is there, and stays. */
bool job_is_over(JobState state);

/* May a job go from one state to the other? One table. */
bool job_may(JobState from, JobState to);

/* How long an attempt waits after n_attempts have failed: LIMIT_QUEUE_BACKOFF_MS doubled with each,
 * LIMIT_QUEUE_BACKOFF_MAX_MS at most. */
int64_t job_backoff_ms(unsigned n_attempts);

/* What becomes of a job whose worker was lost (crash, expired lease), and of one whose attempt
 * failed in a way that may be tried again. *ret_delay_ms: before the next attempt, for ENQUEUED. */
typedef enum JobLoss {
    JOB_LOSS_CRASH,   /* the process that ran it ended */
    JOB_LOSS_LEASE,   /* its worker gave no sign of life */
    JOB_LOSS_TIMEOUT, /* its time passed; the work was told to stop */
    JOB_LOSS_AGAIN,   /* the attempt failed before the tool could begin (program not there) */
} JobLoss;
JobState job_after_loss(JobLoss loss, bool is_idempotent, unsigned n_attempts,
                        unsigned max_attempts, int64_t *ret_delay_ms);
