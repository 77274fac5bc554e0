/* Jobs whose tool nobody has when their turn comes. They have not begun, and their application may
 * be about to come (again): the hub was started before it, or it was lost with jobs of its queued.
 *
 * They stay ENQUEUED: before a job is claimed the queue's thread looks here whether its tool is
 * there, and puts it by if it is not, without using up an attempt, until tools come. It has its own
 * time (timeoutSec), or config.away_ms, since the tool was first missed, or since it was enqueued
 * if that was later; then it is claimed nevertheless, and ends when it cannot be begun.
 *
 * Only the loop can ask the router. It writes down what it knows of each tool that a job was seen
 * for; a name that it has not looked at yet is left to it, and the job waits for that.
 */
#include "app/jobs_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"

#define US_PER_MS 1000
#define NS_PER_MS 1000000

/* What is known of one tool. */
typedef struct AwayTool {
    bool is_known; /* the loop has looked */
    bool is_there;
    bool was_there;   /* at any time */
    int64_t since_ms; /* it is not there, on the clock of away_now_ms */
} AwayTool;

static int64_t away_now_ms(void)
{
    return (int64_t)(clock_monotonic_ns() / NS_PER_MS);
}

/* With the lock. NULL: there is no room for one more. */
static AwayTool *away_get(Jobs *jobs, Span name)
{
    AwayTool *tool = map_get(&jobs->away, name);

    if (tool == NULL) {
        tool = mem_alloc_array(1, sizeof(*tool));
        if (tool != NULL && map_add(&jobs->away, name, tool) != 0) {
            tool = mem_free(tool);
        }
    }
    return tool;
}

/* ---- on the loop ---- */

/* With the lock. Has it come? */
static bool away_look(const Jobs *jobs, Span name, AwayTool *tool)
{
    bool was_there = tool->is_known && tool->is_there;

    tool->is_there = router_tool_is_there(jobs->router, name);
    tool->was_there = tool->was_there || tool->is_there;
    if (!tool->is_there) {
        (void)router_knock(jobs->router); /* it may be of a server that has yet to be started */
    }
    if (!tool->is_there && (was_there || !tool->is_known)) {
        tool->since_ms = away_now_ms();
    }
    tool->is_known = true;
    return tool->is_there && !was_there;
}

static void away_wake(Jobs *jobs);

static void away_woken(JobsAsk *ask)
{
    Jobs *jobs = ask->jobs;

    if (ask->op.r != 0 && ask->op.r != QUEUE_E_CLOSED) {
        /* The queue has said why. Each has its time, too. */
        logsink_write(jobs->config.log, LOGSINK_LEVEL_DEBUG, "queue",
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
    queue_op_set(&ask->op, QUEUE_WAKE, NULL);
    ask->told = away_woken;
    jobs_ask(jobs, ask);
}

/* Looks at all, or at those that nobody has looked at yet. True: one of them has come. */
static bool away_look_at(Jobs *jobs, bool all)
{
    size_t cursor = 0;
    bool has_come = false;
    void *value;
    Span name;

    io_mutex_lock(&jobs->away_lock);
    jobs->has_unknown = false;
    while (map_next(&jobs->away, &cursor, &name, &value)) {
        AwayTool *tool = value;

        if (all || !tool->is_known) {
            has_come = away_look(jobs, name, tool) || has_come;
        }
    }
    io_mutex_unlock(&jobs->away_lock);
    return has_come;
}

void jobs_away_hear(Jobs *jobs)
{
    bool has_unknown;

    io_mutex_lock(&jobs->away_lock);
    has_unknown = jobs->has_unknown;
    io_mutex_unlock(&jobs->away_lock);
    if (has_unknown) {
        (void)away_look_at(jobs, false);
        jobs->is_ready = true; /* they wait where they are */
    }
}

static void away_on_there(RouterListener *listener)
{
    Jobs *jobs = (Jobs *)(void *)((char *)listener - offsetof(Jobs, tools));
    bool has_come = away_look_at(jobs, true);

    /* A name for which there was no room may be among them. */
    if (has_come || jobs->away.n == LIMIT_JOBS_AWAY_NAMES) {
        away_wake(jobs);
    }
}

static void away_on_changed(RouterListener *listener, RouterKind kind)
{
    if (kind == ROUTER_TOOL) {
        away_on_there(listener);
    }
}

void jobs_away_expect(Jobs *jobs, Span method)
{
    AwayTool *tool;

    io_mutex_lock(&jobs->away_lock);
    tool = away_get(jobs, method);
    if (tool != NULL && !tool->is_known) {
        (void)away_look(jobs, method, tool);
    }
    io_mutex_unlock(&jobs->away_lock);
}

bool jobs_away_knew(Jobs *jobs, Span method)
{
    const AwayTool *tool;
    bool knew;

    io_mutex_lock(&jobs->away_lock);
    tool = map_get(&jobs->away, method);
    knew = tool != NULL && tool->was_there;
    io_mutex_unlock(&jobs->away_lock);
    return knew;
}

/* ---- how long ---- */

/* With the lock. 0: its time is over. */
static int64_t away_left_ms(const Jobs *jobs, const AwayTool *tool, const QueueJob *job)
{
    int64_t waited_ms = away_now_ms() - (tool != NULL ? tool->since_ms : jobs->began_ms);
    int64_t age_ms = (clock_now_us() - job->enqueued_us) / US_PER_MS;
    int64_t most_ms = job->timeout_ms > 0 ? job->timeout_ms : jobs->config.away_ms;

    if (age_ms >= 0 && age_ms < waited_ms) {
        waited_ms = age_ms;
    }
    return waited_ms < most_ms ? most_ms - waited_ms : 0;
}

int64_t jobs_away_ms(Jobs *jobs, const QueueJob *job)
{
    AwayTool *tool;
    int64_t left_ms;

    io_mutex_lock(&jobs->away_lock);
    tool = away_get(jobs, job->method);
    if (tool != NULL) {
        (void)away_look(jobs, job->method, tool);
    }
    left_ms = away_left_ms(jobs, tool, job);
    /* One that no place was found for is not told of; and it may be there by now. */
    if ((tool == NULL || tool->is_there) && left_ms > LIMIT_QUEUE_BACKOFF_MS) {
        left_ms = LIMIT_QUEUE_BACKOFF_MS;
    }
    io_mutex_unlock(&jobs->away_lock);
    return left_ms;
}

/* On the queue's thread (QueueClaim.look). */
int64_t jobs_away_claim(void *context, const QueueJob *job)
{
    Jobs *jobs = context;
    AwayTool *tool;
    int64_t left_ms = 0;

    io_mutex_lock(&jobs->away_lock);
    tool = away_get(jobs, job->method);
    if (tool != NULL && !tool->is_known) {
        jobs->has_unknown = true;
        left_ms = -1;
    } else if (tool != NULL && !tool->is_there) {
        left_ms = away_left_ms(jobs, tool, job);
    }
    io_mutex_unlock(&jobs->away_lock);
    if (left_ms < 0) {
        io_wake_send(jobs->wake);
    }
    return left_ms;
}

/* ---- life ---- */

int jobs_away_init(Jobs *jobs)
{
    HashSeed seed;
    int r = random_fill(&seed, sizeof(seed));

    if (r == 0) {
        r = io_mutex_init(&jobs->away_lock);
    }
    if (r != 0) {
        return err_pass(r);
    }
    map_init(&jobs->away, seed, LIMIT_JOBS_AWAY_NAMES);
    jobs->began_ms = away_now_ms();
    jobs->tools = (RouterListener){.changed = away_on_changed, .there = away_on_there};
    router_listen(jobs->router, &jobs->tools);
    return 0;
}

void jobs_away_begin(Jobs *jobs)
{
    /* What the last process put by: this one has its own look at it. */
    away_wake(jobs);
}

void jobs_away_deinit(Jobs *jobs)
{
    size_t cursor = 0;
    void *tool;
    Span name;

    if (jobs->tools.changed == NULL) {
        return;
    }
    router_unlisten(jobs->router, &jobs->tools);
    while (map_next(&jobs->away, &cursor, &name, &tool)) {
        mem_free(tool);
    }
    map_deinit(&jobs->away);
    io_mutex_deinit(&jobs->away_lock);
}
