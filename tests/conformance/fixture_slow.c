/* fixture_slow.c: tools that take a moment, each on a thread of its own, so that what they report
 * is seen to arrive before their result. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "fixture.h"

/* Between two reports, and what a client has to come back to a stream that was closed. */
#define STEP_MS 50
#define AWAY_MS 200

typedef struct Work {
    TwCall *call;
    void (*run)(TwCall *call);
} Work;

void fixture_wait_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&time, NULL);
}

static void *work_run(void *argument)
{
    Work *work = argument;

    work->run(work->call);
    tw_call_done(work->call);
    free(work);
    return NULL;
}

void fixture_work(TwCall *call, void (*run)(TwCall *call))
{
    Work *work = malloc(sizeof *work);
    pthread_t thread;

    if (work == NULL || tw_call_keep(call) != TW_OK) {
        free(work);
        tw_call_failed(call, "no memory");
        return;
    }
    *work = (Work){.call = call, .run = run};
    if (pthread_create(&thread, NULL, work_run, work) != 0) {
        tw_call_failed(call, "no thread");
        tw_call_done(call);
        free(work);
        return;
    }
    (void)pthread_detach(thread);
}

static void run_logging(TwCall *call)
{
    tw_call_log(call, TW_LOG_INFO, "Tool execution started");
    fixture_wait_ms(STEP_MS);
    tw_call_log(call, TW_LOG_INFO, "Tool processing data");
    fixture_wait_ms(STEP_MS);
    tw_call_log(call, TW_LOG_INFO, "Tool execution completed");
    tw_call_text(call, "Tool with logging executed successfully");
}

static void run_progress(TwCall *call)
{
    tw_call_progress(call, 0, 100, "Completed step 0 of 100");
    fixture_wait_ms(STEP_MS);
    tw_call_progress(call, 50, 100, "Completed step 50 of 100");
    fixture_wait_ms(STEP_MS);
    tw_call_progress(call, 100, 100, "Completed step 100 of 100");
    tw_call_text(call, "Tool with progress executed successfully");
}

static void run_reconnection(TwCall *call)
{
    tw_call_detach(call);
    fixture_wait_ms(AWAY_MS);
    tw_call_text(call, "Reconnection test completed successfully");
}

static void tool_with_logging(TwCall *call, void *user)
{
    (void)user;
    fixture_work(call, run_logging);
}

static void tool_with_progress(TwCall *call, void *user)
{
    (void)user;
    fixture_work(call, run_progress);
}

static void tool_reconnection(TwCall *call, void *user)
{
    (void)user;
    fixture_work(call, run_reconnection);
}

int fixture_add_slow_tools(Fixture *fixture)
{
    const TwTool tools[] = {
        {.name = "test_tool_with_logging", .handler = tool_with_logging},
        {.name = "test_tool_with_progress", .handler = tool_with_progress},
        {.name = "test_reconnection", .handler = tool_reconnection},
    };

    return fixture_add_all(fixture, tools, sizeof tools / sizeof tools[0]);
}
