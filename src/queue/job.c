#include "queue/job.h"

#include "base/compiler.h"
#include "base/limits.h"
#include "base/text.h"

static const char *const job_names[JOB_N_STATES] = {
    [JOB_ENQUEUED] = "ENQUEUED",   [JOB_DISPATCHING] = "DISPATCHING", [JOB_RUNNING] = "RUNNING",
    [JOB_SUCCEEDED] = "SUCCEEDED", [JOB_FAILED] = "FAILED",           [JOB_TIMEOUT] = "TIMEOUT",
    [JOB_DEAD] = "DEAD",           [JOB_CANCELLED] = "CANCELLED",
};

#define JOB_TO(state) (1u << (state))

/* Where each state leads to. Back to ENQUEUED goes what may be tried again, what has its answers,
 * and, from the states of an end, what somebody asks to be tried again. A job whose lease or
 * time has ended (ENQUEUED, FAILED, TIMEOUT, DEAD) may still get its answer. */
static const unsigned job_ways[JOB_N_STATES] = {
    [JOB_ENQUEUED] = JOB_TO(JOB_DISPATCHING) | JOB_TO(JOB_RUNNING) | JOB_TO(JOB_CANCELLED) |
                     JOB_TO(JOB_SUCCEEDED),
    [JOB_DISPATCHING] = JOB_TO(JOB_ENQUEUED) | JOB_TO(JOB_RUNNING) | JOB_TO(JOB_SUCCEEDED) |
                        JOB_TO(JOB_FAILED) | JOB_TO(JOB_TIMEOUT) | JOB_TO(JOB_DEAD) |
                        JOB_TO(JOB_CANCELLED),
    [JOB_RUNNING] = JOB_TO(JOB_ENQUEUED) | JOB_TO(JOB_SUCCEEDED) | JOB_TO(JOB_FAILED) |
                    JOB_TO(JOB_TIMEOUT) | JOB_TO(JOB_DEAD) | JOB_TO(JOB_CANCELLED),
    [JOB_SUCCEEDED] = 0,
    [JOB_FAILED] = JOB_TO(JOB_ENQUEUED) | JOB_TO(JOB_SUCCEEDED),
    [JOB_TIMEOUT] = JOB_TO(JOB_ENQUEUED) | JOB_TO(JOB_SUCCEEDED),
    [JOB_DEAD] = JOB_TO(JOB_ENQUEUED) | JOB_TO(JOB_SUCCEEDED),
    [JOB_CANCELLED] = JOB_TO(JOB_ENQUEUED),
};

const char *job_state_name(JobState state)
{
    return (unsigned)state < JOB_N_STATES ? job_names[state] : "UNKNOWN";
}

bool job_state_parse(Span s, JobState *ret)
{
    for (unsigned i = 0; i < JOB_N_STATES; i++) {
        if (text_equals_nocase(s, span_from_str(job_names[i]))) {
            *ret = (JobState)i;
            return true;
        }
    }
    return false;
}

bool job_is_over(JobState state)
{
    return state >= JOB_SUCCEEDED && state < JOB_N_STATES;
}

bool job_may(JobState from, JobState to)
{
    return (unsigned)from < JOB_N_STATES && (unsigned)to < JOB_N_STATES &&
           (job_ways[from] & JOB_TO(to)) != 0;
}

int64_t job_backoff_ms(unsigned n_attempts)
{
    int64_t delay_ms = LIMIT_QUEUE_BACKOFF_MS;

    for (unsigned i = 1; i < n_attempts && delay_ms < LIMIT_QUEUE_BACKOFF_MAX_MS; i++) {
        delay_ms *= 2;
    }
    return delay_ms < LIMIT_QUEUE_BACKOFF_MAX_MS ? delay_ms : LIMIT_QUEUE_BACKOFF_MAX_MS;
}

JobState job_after_loss(JobLoss loss, bool is_idempotent, unsigned n_attempts,
                        unsigned max_attempts, int64_t *ret_delay_ms)
{
    /* What it is called if it was the only attempt that it had. */
    JobState end = loss == JOB_LOSS_TIMEOUT ? JOB_TIMEOUT : JOB_FAILED;

    *ret_delay_ms = 0;
    /* It may have run, or run half: nobody asked for a second time. */
    if (loss != JOB_LOSS_AGAIN && !is_idempotent) {
        return end;
    }
    if (n_attempts < max_attempts) {
        *ret_delay_ms = job_backoff_ms(n_attempts);
        return JOB_ENQUEUED;
    }
    return max_attempts > 1 ? JOB_DEAD : end;
}
