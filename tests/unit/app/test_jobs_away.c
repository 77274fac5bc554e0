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

    while (version < 3) { /* enqueued, claimed, put by */
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
                                              .context = rig},
                                NULL),
                     0);
}

static void without_an_addin_a_job_is_tried_again_and_then_dead(void **state)
{
    static const CallProvider addin = {.name = "addin", .start = addin_start};
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    add_unserved(rig, &addin);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("wall"), .max_attempts = 2}, id);
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_DEAD);
    assert_int_equal(job.n_attempts, 2);
    assert_string_equal(job.code, "ADAPTER_NOT_AVAILABLE");
    assert_string_equal(job.message, "no");
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
        JOBS_TEST(without_an_addin_a_job_is_tried_again_and_then_dead),
        JOBS_TEST(what_other_tools_say_by_that_name_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
