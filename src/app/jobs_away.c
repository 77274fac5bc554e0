/* Jobs whose tool nobody has when their turn comes. They have not begun, and their application may
 * be about to come (again): the hub was started before it, or it was lost with jobs of its queued.
 *
 * They are put by on disk without using up an attempt, looked at again after a while, twice as long
 * each time, and at once when tools come; until they have waited for config.away_ms since the tool
 * was first missed, or since they were enqueued if that was later. */
#include "app/jobs_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"

#define US_PER_MS 1000

/* ---- when tools come ---- */

static void away_wake(Jobs *jobs);

static void away_woken(JobsAsk *ask)
{
    Jobs *jobs = ask->jobs;

    if (ask->op.r != 0 && ask->op.r != QUEUE_E_CLOSED) {
        /* Each has its time, too. */
        logsink_write(jobs->config.log, LOGSINK_LEVEL_WARN, "queue",
                      "jobs whose tools have come cannot be woken now (%d)", ask->op.r);
    }
    jobs->is_waking = false;
    jobs->is_ready = jobs->is_ready || ask->op.n_changed > 0;
    queue_op_deinit(&ask->op);
    if (jobs->wakes_again) {
        away_wake(jobs);
    }
    jobs_claim(jobs);
}

static void away_wake(Jobs *jobs)
{
    JobsAsk *ask = &jobs->wake_ask;

    jobs->wakes_again = jobs->is_waking;
    if (jobs->is_waking || jobs->queue == NULL) {
        return;
    }
    jobs->is_waking = true;
    queue_op_init(&ask->op);
    ask->op.verb = QUEUE_WAKE;
    ask->told = away_woken;
    jobs_ask(jobs, ask);
}

/* Which of the tools that are missed have come? */
static void away_on_changed(RouterListener *listener, RouterKind kind)
{
    Jobs *jobs = (Jobs *)(void *)((char *)listener - offsetof(Jobs, tools));
    size_t cursor = 0;
    bool has_come = false;
    void *since;
    Span name;

    if (kind != ROUTER_TOOL) {
        return;
    }
    while (map_next(&jobs->away, &cursor, &name, &since)) {
        if (router_has_tool(jobs->router, name)) {
            has_come = true;
            mem_free(map_remove(&jobs->away, name));
        }
    }
    /* A name for which there was no room may be among them. */
    if (has_come || jobs->away.n == LIMIT_JOBS_AWAY_NAMES) {
        away_wake(jobs);
    }
}

/* ---- how long ---- */

/* Since when the tool is missing; notes it. Without room for it, since the start. */
static int64_t away_since_ms(Jobs *jobs, Span name)
{
    int64_t *since = map_get(&jobs->away, name);

    if (since == NULL) {
        since = mem_alloc(sizeof(*since));
        if (since == NULL || map_add(&jobs->away, name, since) != 0) {
            mem_free(since);
            return jobs->began_ms;
        }
        *since = io_loop_now_ms(jobs->loop);
    }
    return *since;
}

int64_t jobs_away_ms(Jobs *jobs, const QueueJob *job)
{
    int64_t waited_ms = io_loop_now_ms(jobs->loop) - away_since_ms(jobs, job->method);
    int64_t age_ms = (clock_now_us() - job->enqueued_us) / US_PER_MS;
    int64_t left_ms;
    int64_t next_ms;

    if (age_ms >= 0 && age_ms < waited_ms) {
        waited_ms = age_ms;
    }
    left_ms = jobs->config.away_ms - waited_ms;
    next_ms = waited_ms > LIMIT_QUEUE_BACKOFF_MS ? waited_ms : LIMIT_QUEUE_BACKOFF_MS;
    next_ms = next_ms < LIMIT_JOBS_AWAY_LOOK_MS ? next_ms : LIMIT_JOBS_AWAY_LOOK_MS;
    if (left_ms <= 0) {
        return 0;
    }
    return next_ms < left_ms ? next_ms : left_ms;
}

/* ---- life ---- */

int jobs_away_init(Jobs *jobs)
{
    HashSeed seed;
    int r = random_fill(&seed, sizeof(seed));

    if (r != 0) {
        return err_pass(r);
    }
    map_init(&jobs->away, seed, LIMIT_JOBS_AWAY_NAMES);
    jobs->began_ms = io_loop_now_ms(jobs->loop);
    jobs->tools = (RouterListener){.changed = away_on_changed};
    router_listen(jobs->router, &jobs->tools);
    /* What the last process put by: this one has its own look at it. */
    away_wake(jobs);
    return 0;
}

void jobs_away_deinit(Jobs *jobs)
{
    size_t cursor = 0;
    void *since;
    Span name;

    if (jobs->tools.changed != NULL) {
        router_unlisten(jobs->router, &jobs->tools);
    }
    while (map_next(&jobs->away, &cursor, &name, &since)) {
        mem_free(since);
    }
    map_deinit(&jobs->away);
}
