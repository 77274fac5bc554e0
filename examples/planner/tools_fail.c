/* The tool that fails, in the ways in which tools fail: for tests, and to see what an agent makes
 * of it. */
#include "tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model.h"

static const NewWall some_wall = {.start = {0, 0, 0}, .end = {1, 0, 0}, .height = 8};

/* The first half is done, the second cannot be. */
static int fail_error(Planner *planner, Fault *fault)
{
    NewWall no_wall = some_wall;
    int64_t id;
    int r = model_create_wall(&planner->store, &some_wall, &id, fault);

    no_wall.height = 0;
    return r == 0 ? model_create_wall(&planner->store, &no_wall, &id, fault) : r;
}

/* A wall on a level that is not there: the document finds out when all is to be committed. */
static int fail_transaction(Planner *planner, Fault *fault)
{
    int64_t id;
    int r = model_create_wall(&planner->store, &some_wall, &id, fault);

    if (r == 0) {
        r = store_run(&planner->store, fault, "UPDATE walls SET level_id = -1 WHERE id = ?", "i",
                      id);
    }
    return r;
}

/* ---- Slow ------------------------------------------------------------------------------- */

typedef struct Slow {
    Workers *workers;
    TwCall *call;
    int64_t ms;
} Slow;

static struct timespec time_after(clockid_t clock, int64_t ms)
{
    struct timespec at;

    (void)clock_gettime(clock, &at);
    at.tv_sec += (time_t)(ms / 1000);
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static void wake_workers(TwCall *call, void *user)
{
    Workers *workers = user;

    (void)call;
    (void)pthread_mutex_lock(&workers->lock);
    (void)pthread_cond_broadcast(&workers->changed);
    (void)pthread_mutex_unlock(&workers->lock);
}

static void *slow_thread(void *argument)
{
    Slow slow = *(Slow *)argument;
    struct timespec until = time_after(CLOCK_REALTIME, slow.ms);
    TwJson *out = tw_json_new();
    int r = 0;

    free(argument);
    (void)pthread_mutex_lock(&slow.workers->lock);
    while (r != ETIMEDOUT && !tw_call_is_cancelled(slow.call)) {
        r = pthread_cond_timedwait(&slow.workers->changed, &slow.workers->lock, &until);
    }
    (void)pthread_mutex_unlock(&slow.workers->lock);
    tw_json_object(out);
    out_string(out, "message", "Done at last");
    out_int(out, "waited_ms", slow.ms);
    tw_json_end(out);
    tw_call_structured(slow.call, tw_json_text(out));
    tw_json_free(out);
    tw_call_done(slow.call);
    (void)pthread_mutex_lock(&slow.workers->lock);
    slow.workers->n--;
    (void)pthread_cond_broadcast(&slow.workers->changed);
    (void)pthread_mutex_unlock(&slow.workers->lock);
    return NULL;
}

/* Keeps the call, so that everybody else is served meanwhile. */
static int fail_slow(Planner *planner, TwCall *call, int64_t ms, Fault *fault)
{
    Workers *workers = &planner->workers;
    Slow *slow = malloc(sizeof(*slow));
    pthread_t thread;

    if (slow == NULL || tw_call_keep(call) != 0) {
        free(slow);
        return fault_memory(fault);
    }
    *slow = (Slow){workers, call, ms};
    (void)tw_call_on_cancel(call, wake_workers, workers);
    (void)pthread_mutex_lock(&workers->lock);
    workers->n++;
    (void)pthread_mutex_unlock(&workers->lock);
    if (pthread_create(&thread, NULL, slow_thread, slow) != 0) {
        (void)fault_set(fault, FAULT_API, "There is no thread left.");
        tool_fail(call, fault);
        tw_call_done(call);
        (void)pthread_mutex_lock(&workers->lock);
        workers->n--;
        (void)pthread_mutex_unlock(&workers->lock);
        free(slow);
        return TOOL_LATER;
    }
    (void)pthread_detach(thread);
    return TOOL_LATER;
}

void tools_finish(Planner *planner)
{
    Workers *workers = &planner->workers;

    (void)pthread_mutex_lock(&workers->lock);
    while (workers->n > 0) {
        (void)pthread_cond_wait(&workers->changed, &workers->lock);
    }
    (void)pthread_mutex_unlock(&workers->lock);
}

/* Does not keep the call: nothing else happens in the program, as behind a modal dialog. */
static int fail_block(int64_t ms, TwJson *out)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    out_string(out, "message", "The dialog was closed");
    out_int(out, "waited_ms", ms);
    return 0;
}

static int work_fail(Planner *planner, TwCall *call, TwJson *out, Fault *fault)
{
    const char *mode = tw_call_string(call, "mode", "");
    int64_t ms = tw_call_int(call, "ms", 1000);

    if (strcmp(mode, "error") == 0) {
        return fail_error(planner, fault);
    }
    if (strcmp(mode, "transaction") == 0) {
        return fail_transaction(planner, fault);
    }
    if (strcmp(mode, "slow") == 0) {
        return fail_slow(planner, call, ms, fault);
    }
    return fail_block(ms, out);
}

/* clang-format off */
const Tool tools_fail[] = {
    {.name = "plan.fail",
     .title = "Fail on purpose",
     .description = "Fails, or is slow, as tools are; the document stays as it was. error: the"
                    " second half of the work cannot be done. transaction: the document refuses"
                    " the commit."
                    " slow: answers after ms, others are served meanwhile. block: the same, but"
                    " nothing else is served, as behind a modal dialog.",
     .input_schema = JSON({
        "type": "object",
        "required": ["mode"],
        "additionalProperties": false,
        "properties": {
            "mode": {"type": "string", "enum": ["error", "transaction", "slow", "block"]},
            "ms": {"type": "integer", "minimum": 0, "maximum": 3600000, "default": 1000,
                   "description": "How long slow and block take, in milliseconds."}}}),
     .output_schema = JSON({
        "type": "object",
        "required": ["message", "waited_ms"],
        "properties": {"message": {"type": "string"}, "waited_ms": {"type": "integer"}}}),
     .annotations = TW_TOOL_NOT_DESTRUCTIVE | TW_TOOL_IDEMPOTENT,
     .writes = true,
     .work = work_fail},
    {.name = NULL},
};
/* clang-format on */
