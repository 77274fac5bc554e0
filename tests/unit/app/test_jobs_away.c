/* Jobs whose tool, or whoever has it, is not there when their turn comes; and how long they have.
 */
#include "unit/app/jobs_rig.h"

/* ---- time ---- */

static void a_job_has_the_time_of_its_tool(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    rig_enqueue(rig, &(QueueSpec){.method = SPAN("brief")}, id);
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_TIMEOUT);
    assert_string_equal(job.code, "TIMEOUT");
    assert_int_equal(rig->n_cancelled, 1);
}

static void its_own_time_comes_before_that_of_its_tool(void **state)
{
    Rig *rig = *state;
    char brief[QUEUE_ID_BYTES];
    char id[QUEUE_ID_BYTES];

    rig_enqueue(rig, &(QueueSpec){.method = SPAN("brief"), .timeout_ms = 3600 * 1000}, id);
    rig_run_until_held(rig, 1);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("brief")}, brief);
    /* Which began later, and is over by then. */
    assert_int_equal(rig_end_of(rig, brief).state, JOB_TIMEOUT);
    assert_int_equal(rig_job(rig, id).state, JOB_RUNNING);
    rig_release(rig);
    assert_int_equal(rig_end_of(rig, id).state, JOB_SUCCEEDED);
}

/* ---- nobody has the tool ---- */

/* Until it was looked at, and put by. */
static void run_until_put_by(Rig *rig, const char *id)
{
    uint64_t version = rig_job(rig, id).version;

    while (version < 2) { /* enqueued, put by: it was never claimed */
        version = rig_job(rig, id).version;
    }
    assert_int_equal(version, 2);
}

/* In this process or an earlier one. */
static void run_until_put_by_again(Rig *rig, const char *id)
{
    uint64_t version = rig_job(rig, id).version;

    while (version % 2 == 1) { /* put by, woken */
        version = rig_job(rig, id).version;
    }
}

static void a_job_waits_for_its_tool(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob before;
    RigJob job;

    rig_enqueue(rig, &(QueueSpec){.method = SPAN("late"), .max_attempts = 1}, id);
    run_until_put_by(rig, id);
    before = rig_job(rig, id);
    assert_int_equal(before.state, JOB_ENQUEUED);
    assert_int_equal(before.n_attempts, 0);
    assert_int_equal(before.version, 2);
    rig_add(rig, "other", "", ROUTER_LATER_MAY);
    assert_int_equal(rig_job(rig, id).version, before.version);
    rig_add(rig, "late", "", ROUTER_LATER_MAY);
    /* It is ready before anything else is asked, and not when its time has come. */
    assert_true(rig_job(rig, id).version > before.version);
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_SUCCEEDED);
    assert_int_equal(job.n_attempts, 1);
}

/* And does not keep others from running. */
static void jobs_wait_for_their_tool_after_a_restart(void **state)
{
    Rig *rig = *state;
    char ids[6][QUEUE_ID_BYTES];
    char other[QUEUE_ID_BYTES];

    rig_close(rig);
    rig->config.max_running = 1;
    rig_open(rig);
    for (size_t i = 0; i < 6; i++) {
        rig_enqueue(rig, &(QueueSpec){.method = SPAN("late"), .max_attempts = 1}, ids[i]);
    }
    rig_close(rig);
    rig_open(rig);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("echo")}, other);
    assert_int_equal(rig_end_of(rig, other).state, JOB_SUCCEEDED);
    rig_add(rig, "late", "", ROUTER_LATER_MAY);
    for (size_t i = 0; i < 6; i++) {
        RigJob job = rig_end_of(rig, ids[i]);

        assert_int_equal(job.state, JOB_SUCCEEDED);
        assert_int_equal(job.n_attempts, 1);
    }
}

/* What was put by by one process is looked at by the next at once. */
static void what_was_put_by_is_ready_after_a_restart(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    uint64_t version;

    rig_enqueue(rig, &(QueueSpec){.method = SPAN("late")}, id);
    run_until_put_by(rig, id);
    version = rig_job(rig, id).version;
    rig_close(rig);
    rig_open(rig);
    assert_true(rig_job(rig, id).version > version);
}

static void a_tool_that_does_not_come_fails_its_jobs(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    rig_close(rig);
    rig->config.away_ms = 1;
    rig_open(rig);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("ecko")}, id);
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_FAILED);
    assert_string_equal(job.code, "UNKNOWN_COMMAND");
    assert_non_null(strstr(job.message, "there is no command 'ecko'"));
    assert_non_null(strstr(job.result, "\"nextActions\":[{\"method\":\"echo\""));
    assert_int_equal(rig->n_started, 0);
}

/* ---- nobody is there for it ---- */

static void addin_start(void *context, Call *call)
{
    (void)context;
    tool_answer(call, SPAN("{\"error\":{\"code\":\"ADAPTER_NOT_AVAILABLE\",\"message\":\"no\"}}"),
                SPAN("no"), true);
}

static void add_unserved(Rig *rig, const CallProvider *provider)
{
    assert_int_equal(router_add(hub_router(rig->hub),
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = SPAN("{\"name\":\"wall\",\"inputSchema\":{"
                                                           "\"type\":\"object\"}}"),
                                              .provider = provider,
                                              .context = rig,
                                              .later = ROUTER_LATER_MAY},
                                NULL),
                     0);
}

static bool is_served;
static bool is_leaving; /* seems to be there until it is called */

static bool addin_is_there(void *context)
{
    (void)context;
    return is_served || is_leaving;
}

static void addin_serve(void *context, Call *call)
{
    is_leaving = false;
    if (is_served) {
        tool_start(context, call);
    } else {
        addin_start(context, call);
    }
}

static const CallProvider declared = {
    .name = "addin", .start = addin_serve, .is_there = addin_is_there};

/* Its tool is in the list, and whoever runs it comes later. */
static void a_job_waits_for_the_addin_of_its_tool(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    is_served = false;
    add_unserved(rig, &declared);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("wall"), .max_attempts = 1}, id);
    run_until_put_by(rig, id);
    job = rig_job(rig, id);
    assert_int_equal(job.state, JOB_ENQUEUED);
    assert_int_equal(job.n_attempts, 0);
    assert_int_equal(rig->n_started, 0);
    is_served = true;
    router_there_changed(hub_router(rig->hub));
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_SUCCEEDED);
    assert_int_equal(job.n_attempts, 1);
    /* It has gone again, with the next one enqueued. */
    is_served = false;
    router_there_changed(hub_router(rig->hub));
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("wall"), .max_attempts = 1}, id);
    run_until_put_by(rig, id);
    is_served = true;
    router_there_changed(hub_router(rig->hub));
    assert_int_equal(rig_end_of(rig, id).state, JOB_SUCCEEDED);
}

/* Makes a task; what it says of itself from the beginning. */
static void make_and_read(Rig *rig, const char *tool, Asked *ret)
{
    asked_init(ret, rig, CALL_TOOL, tool);
    ret->call.later = CALL_LATER_MAY;
    asked_run(ret);
    assert_int_equal(ret->kind, CALL_RESULT_TASK);
    assert_int_equal(ret->status, CALL_TASK_WORKING);
    asked_deinit(ret);
}

static void a_task_says_that_it_waits_only_if_it_does(void **state)
{
    static const char waits[] = "waits for whoever has the tool, who is not there now";
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    is_served = false;
    add_unserved(rig, &declared);
    make_and_read(rig, "hold", &asked);
    assert_string_equal(asked.says, "");
    rig_run_until_held(rig, 1);
    rig_ask(rig, &asked, CALL_TASK_GET, asked.id, NULL);
    assert_string_equal(asked.says, "");
    rig_release(rig);
    make_and_read(rig, "wall", &asked);
    assert_string_equal(asked.says, waits);
    (void)snprintf(id, sizeof(id), "%s", asked.id);
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_string_equal(asked.says, waits);
    is_served = true;
    router_there_changed(hub_router(rig->hub));
    assert_int_equal(rig_end_of(rig, id).state, JOB_SUCCEEDED);
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_string_not_equal(asked.says, waits);
    make_and_read(rig, "wall", &asked);
    assert_string_equal(asked.says, "");
}

/* Its own time is how long it waits. */
static void an_addin_that_does_not_come_fails_its_jobs(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    is_served = false;
    add_unserved(rig, &declared);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("wall"), .timeout_ms = 1000}, id);
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_FAILED);
    assert_int_equal(job.n_attempts, 1);
    assert_string_equal(job.code, "ADAPTER_NOT_AVAILABLE");
    assert_string_equal(job.message, "no");
}

/* It goes between the claim and the start, which nobody can tell before. */
static void a_job_whose_addin_goes_meanwhile_is_put_by(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    is_served = false;
    is_leaving = true;
    add_unserved(rig, &declared);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("wall"), .max_attempts = 1}, id);
    do {
        job = rig_job(rig, id);
    } while (job.version < 3); /* enqueued, claimed, put by */
    assert_int_equal(job.state, JOB_ENQUEUED);
    assert_int_equal(job.n_attempts, 0);
    is_served = true;
    router_there_changed(hub_router(rig->hub));
    assert_int_equal(rig_end_of(rig, id).state, JOB_SUCCEEDED);
}

/* It is there, and takes no more at the moment. */
static void an_addin_that_refuses_is_asked_again(void **state)
{
    static const CallProvider busy = {.name = "addin", .start = addin_start};
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    add_unserved(rig, &busy);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("wall"), .max_attempts = 2}, id);
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_DEAD);
    assert_int_equal(job.n_attempts, 2);
    assert_string_equal(job.code, "ADAPTER_NOT_AVAILABLE");
    assert_string_equal(job.message, "no");
}

/* The pipe ended in the middle of a call: it may have been done. */
static void lost_start(void *context, Call *call)
{
    call->may_have_run = true;
    addin_start(context, call);
}

static void what_was_lost_begins_again_only_if_that_does_no_harm(void **state)
{
    static const CallProvider lost = {.name = "addin", .start = lost_start};
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    add_unserved(rig, &lost);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("wall"), .max_attempts = 2}, id);
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_FAILED);
    assert_int_equal(job.n_attempts, 1);
    assert_string_equal(job.code, "INTERRUPTED");
    assert_string_equal(job.message, "no");
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("wall"), .max_attempts = 2, .is_idempotent = true},
                id);
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_DEAD);
    assert_int_equal(job.n_attempts, 2);
}

/* A hub that is killed again and again before the tool comes has begun nothing. */
static void a_job_without_its_tool_survives_restarts(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    rig_enqueue(rig, &(QueueSpec){.method = SPAN("late"), .max_attempts = 1}, id);
    for (size_t i = 0; i < 4; i++) {
        run_until_put_by_again(rig, id);
        rig_close(rig);
        rig_open(rig);
    }
    job = rig_job(rig, id);
    assert_int_equal(job.state, JOB_ENQUEUED);
    assert_int_equal(job.n_attempts, 0);
    assert_int_equal(job.fence, 0);
}

/* A tool that says so has run. */
static void what_other_tools_say_by_that_name_is_an_answer(void **state)
{
    static const CallProvider other = {.name = "exec", .start = addin_start};
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    add_unserved(rig, &other);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("wall")}, id);
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_SUCCEEDED);
    assert_int_equal(job.n_attempts, 1);
}

#define JOBS_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(a_job_has_the_time_of_its_tool),
        JOBS_TEST(its_own_time_comes_before_that_of_its_tool),
        JOBS_TEST(a_job_waits_for_its_tool),
        JOBS_TEST(jobs_wait_for_their_tool_after_a_restart),
        JOBS_TEST(what_was_put_by_is_ready_after_a_restart),
        JOBS_TEST(a_tool_that_does_not_come_fails_its_jobs),
        JOBS_TEST(a_job_without_its_tool_survives_restarts),
        JOBS_TEST(a_job_waits_for_the_addin_of_its_tool),
        JOBS_TEST(a_task_says_that_it_waits_only_if_it_does),
        JOBS_TEST(an_addin_that_does_not_come_fails_its_jobs),
        JOBS_TEST(a_job_whose_addin_goes_meanwhile_is_put_by),
        JOBS_TEST(an_addin_that_refuses_is_asked_again),
        JOBS_TEST(what_was_lost_begins_again_only_if_that_does_no_harm),
        JOBS_TEST(what_other_tools_say_by_that_name_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
