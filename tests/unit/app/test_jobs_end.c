/* Tasks beyond the life of a process: what is left, what runs again, and disks that are full. */
#include "unit/app/jobs_rig.h"

#include "support/sqlite_vfs.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void a_result_is_read_after_a_restart(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "echo", "{\"a\":1}", id);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    rig_close(rig);
    rig_open(rig);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_string_equal(asked.structured, "{\"a\":1}");
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_COMPLETED);
    assert_int_equal(rig->n_started, 0);
}

/* It has completed, and that stays so; but what it answered is not said to be nothing. */
static void a_dropped_result_is_no_failure_and_not_empty(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "echo", "{\"a\":1}", id);
    assert_int_equal(rig_end_of(rig, id).state, JOB_SUCCEEDED);
    rig_close(rig);
    rig->config.keep_bytes = 1;
    rig_open(rig);
    do {
        rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    } while (asked.kind == CALL_RESULT_TOOL); /* until the queue has looked at it */
    assert_int_equal(asked.error, CALL_ERROR_DROPPED);
    assert_non_null(strstr(asked.message, "keep_bytes"));
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_COMPLETED);
    assert_int_equal(asked.error, CALL_ERROR_DROPPED);
}

/* It may have done what it does: nobody runs it again unasked. */
static void what_was_running_is_interrupted(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "hold", NULL, id);
    rig_run_until_held(rig, 1);
    rig_close(rig);
    assert_int_equal(rig->n_cancelled, 1);
    rig_open(rig);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_int_equal(asked.error, CALL_ERROR_INTERNAL);
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_FAILED);
    assert_int_equal(rig->n_started, 0);
}

static void what_may_run_twice_runs_again(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "safe", NULL, id);
    rig_run_until_held(rig, 1);
    rig_close(rig);
    rig_open(rig);
    rig_run_until_held(rig, 1);
    rig_release(rig);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_string_equal(asked.structured, "{\"held\":true}");
    assert_int_equal(rig->n_started, 1);
}

static void what_had_not_begun_begins_after_a_restart(void **state)
{
    Rig *rig = *state;
    char first[QUEUE_ID_BYTES];
    char second[QUEUE_ID_BYTES];
    Asked asked;

    rig_close(rig);
    rig->config.max_running = 1;
    rig_open(rig);
    rig_make(rig, "hold", NULL, first);
    rig_run_until_held(rig, 1);
    rig_make(rig, "echo", "{\"b\":2}", second);
    assert_int_equal(jobs_n_running(rig->jobs), 1);
    rig_close(rig);
    rig_open(rig);
    rig_ask(rig, &asked, CALL_TASK_RESULT, second, NULL);
    assert_string_equal(asked.structured, "{\"b\":2}");
}

/* The question, the answer and the state are on disk, each by itself. */
static void a_question_waits_through_restarts(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "form", NULL, id);
    rig_run_until_news(rig, 1);
    rig_close(rig);
    rig_open(rig);
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_INPUT_REQUIRED);
    assert_string_equal(asked.key, "it");
    rig_ask(rig, &asked, CALL_TASK_UPDATE, id, "{\"it\":{\"action\":\"cancel\"}}");
    rig_close(rig);
    rig_open(rig);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_string_equal(asked.structured, "{\"it\":{\"action\":\"cancel\"}}");
    assert_string_equal(asked.text, "{\"type\":\"text\",\"text\":\"where \\\"we\\\" were\"}");
}

static void no_more_run_at_once_than_may(void **state)
{
    Rig *rig = *state;
    char ids[6][QUEUE_ID_BYTES];
    Asked asked;

    rig_close(rig);
    rig->config.max_running = 2;
    rig_open(rig);
    for (size_t i = 0; i < 6; i++) {
        rig_make(rig, "hold", NULL, ids[i]);
    }
    rig_run_until_held(rig, 2);
    for (size_t i = 0; i < 6; i++) {
        assert_true(rig->n_held <= 2 && jobs_n_running(rig->jobs) <= 2);
        rig_run_until_held(rig, 1);
        rig_release(rig);
        rig_ask(rig, &asked, CALL_TASK_RESULT, ids[i], NULL);
        assert_string_equal(asked.structured, "{\"held\":true}");
    }
    assert_int_equal(rig->n_started, 6);
}

static void what_runs_may_end_while_shutting_down(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    char waiting[QUEUE_ID_BYTES];
    Asked asked;

    rig_make(rig, "hold", NULL, id);
    rig_run_until_held(rig, 1);
    jobs_shutdown(rig->jobs, 3600 * 1000, rig_on_closed, rig);
    rig_make(rig, "echo", NULL, waiting); /* nothing new is begun */
    assert_false(rig->is_closed);
    rig_release(rig);
    while (!rig->is_closed) {
        rig_run(rig);
    }
    assert_int_equal(rig->n_started, 1);
    rig_ask(rig, &asked, CALL_TASK_GET, waiting, NULL);
    assert_int_equal(asked.status, CALL_TASK_WORKING);
    rig_close(rig);
    rig_open(rig);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_string_equal(asked.structured, "{\"held\":true}");
    rig_ask(rig, &asked, CALL_TASK_RESULT, waiting, NULL);
    assert_int_equal(asked.kind, CALL_RESULT_TOOL);
}

static void shutting_down_ends_though_a_tool_does_not(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];

    rig_make(rig, "hold", NULL, id);
    rig_run_until_held(rig, 1);
    jobs_shutdown(rig->jobs, 1, rig_on_closed, rig);
    while (!rig->is_closed) {
        rig_run(rig);
    }
    assert_int_equal(rig->n_held, 1);
    /* And with nothing that runs. */
    rig_close(rig);
    rig_open(rig);
    jobs_shutdown(rig->jobs, 3600 * 1000, rig_on_closed, rig);
    while (!rig->is_closed) {
        rig_run(rig);
    }
}

/* Claimed, and then told to stop: it is given back, and not taken for one that had begun. When the
 * claim is answered is not in our hands, so that it is tried a few times. */
static void what_was_claimed_and_not_begun_is_given_back(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    for (int i = 0; i < 20; i++) {
        size_t n_before = rig->n_started; /* the last one may have begun before it was cancelled */
        size_t n_begun;

        rig_make(rig, "hold", NULL, id);
        n_begun = rig->n_started - n_before;
        rig_close(rig);
        assert_int_equal(rig->n_started, n_before + n_begun);
        rig_open(rig);
        rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
        assert_int_equal(asked.status, n_begun > 0 ? CALL_TASK_FAILED : CALL_TASK_WORKING);
        rig_ask(rig, &asked, CALL_TASK_CANCEL, id, NULL);
        assert_int_equal(asked.kind, n_begun > 0 ? CALL_RESULT_ERROR : CALL_RESULT_TASK);
    }
}

/* No file may grow while it is on. */
static void set_full(bool is_full)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = is_full ? 1 : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void an_end_that_the_disk_does_not_take_is_offered_again(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    (void)signal(SIGXFSZ, SIG_IGN);
    rig_make(rig, "hold", NULL, id);
    rig_run_until_held(rig, 1);
    set_full(true);
    rig_release(rig);
    /* New tasks are refused; what there is can be read. */
    asked_init(&asked, rig, CALL_TOOL, "echo");
    asked.call.later = CALL_LATER_ALWAYS;
    asked_run(&asked);
    asked_deinit(&asked);
    assert_int_equal(asked.kind, CALL_RESULT_ERROR);
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_WORKING);
    assert_int_equal(jobs_n_running(rig->jobs), 1);
    set_full(false);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_string_equal(asked.structured, "{\"held\":true}");
    assert_int_equal(rig->n_started, 1);
}

/* As the store says it when the disk is full, which is no error number. */
static void an_end_waits_for_room_on_the_disk(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    RigJob job;

    rig_enqueue(rig, &(QueueSpec){.method = SPAN("hold")}, id);
    rig_run_until_held(rig, 1);
    atomic_store(&sqlite_vfs.write_result, SQLITE_FULL);
    rig_release(rig);
    /* Asked behind it, so that it has been refused by then. */
    assert_int_equal(rig_job(rig, id).state, JOB_RUNNING);
    assert_int_equal(jobs_n_running(rig->jobs), 1);
    atomic_store(&sqlite_vfs.write_result, SQLITE_OK);
    job = rig_end_of(rig, id);
    assert_int_equal(job.state, JOB_SUCCEEDED);
    assert_non_null(strstr(job.result, "\"held\":true"));
    assert_int_equal(rig->n_started, 1);
    assert_int_equal(jobs_n_running(rig->jobs), 0);
}

/* A log that waits for a claim to fail; the queue's thread writes other lines. */
static void note_claim(void *context, const char *line, size_t n)
{
    Rig *rig = context;
    char text[128];

    rig_copy(text, sizeof(text), span_make(line, n));
    if (strstr(text, "cannot claim") != NULL) {
        rig->is_closed = true;
        io_loop_stop(hub_loop(rig->hub));
    }
}

/* Nothing else would tell that there is something to do. */
static void a_claim_waits_for_room_on_the_disk(void **state)
{
    Rig *rig = *state;
    LogSink log = {.level = LOGSINK_LEVEL_DEBUG, .write_fn = note_claim, .context = rig};
    char id[QUEUE_ID_BYTES];

    jobs_shutdown(rig->jobs, 0, NULL, NULL);
    rig_enqueue(rig, &(QueueSpec){.method = SPAN("echo")}, id);
    rig_close(rig);
    rig->config.log = &log;
    rig_open(rig);
    atomic_store(&sqlite_vfs.write_result, SQLITE_FULL);
    while (!rig->is_closed) {
        rig_run(rig);
    }
    assert_int_equal(rig->n_started, 0);
    atomic_store(&sqlite_vfs.write_result, SQLITE_OK);
    assert_int_equal(rig_end_of(rig, id).state, JOB_SUCCEEDED);
    rig_close(rig);
    rig->config.log = NULL;
    rig_open(rig);
}

static void a_result_that_is_too_large_fails_its_task(void **state)
{
    Rig *rig = *state;
    char id[QUEUE_ID_BYTES];
    Asked asked;

    rig_close(rig);
    rig->config.max_body_bytes = 64;
    rig_open(rig);
    rig_make(rig, "echo", "{\"a\":\"12345678901234567890123456789012345678901234\"}", id);
    rig_ask(rig, &asked, CALL_TASK_RESULT, id, NULL);
    assert_int_equal(asked.kind, CALL_RESULT_ERROR);
    rig_ask(rig, &asked, CALL_TASK_GET, id, NULL);
    assert_int_equal(asked.status, CALL_TASK_FAILED);
    asked_init(&asked, rig, CALL_TOOL, "echo");
    asked.call.arguments =
        asked_parse(&asked, "{\"a\":\"123456789012345678901234567890123456789012345678901234567890"
                            "1234567890\"}");
    asked.call.later = CALL_LATER_ALWAYS;
    asked_run(&asked);
    asked_deinit(&asked);
    assert_int_equal(asked.error, CALL_ERROR_TOO_LARGE);
}

static void another_process_cannot_have_the_store(void **state)
{
    Rig *rig = *state;
    Diag diag = DIAG_NULL;
    Jobs *other = NULL;
    Hub *hub = NULL;
    JobsConfig config = {.path = rig->path};

    assert_int_equal(hub_new(&hub, NULL), 0);
    config.hub = hub;
    assert_int_equal(jobs_new(&other, &config, &diag), QUEUE_E_BUSY);
    assert_false(router_has_later(hub_router(hub)));
    (void)hub_free(hub);
}

#define JOBS_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(a_result_is_read_after_a_restart),
        JOBS_TEST(a_dropped_result_is_no_failure_and_not_empty),
        JOBS_TEST(what_was_running_is_interrupted),
        JOBS_TEST(what_may_run_twice_runs_again),
        JOBS_TEST(what_had_not_begun_begins_after_a_restart),
        JOBS_TEST(a_question_waits_through_restarts),
        JOBS_TEST(no_more_run_at_once_than_may),
        JOBS_TEST(what_runs_may_end_while_shutting_down),
        JOBS_TEST(shutting_down_ends_though_a_tool_does_not),
        JOBS_TEST(what_was_claimed_and_not_begun_is_given_back),
        JOBS_TEST(an_end_that_the_disk_does_not_take_is_offered_again),
        JOBS_TEST(an_end_waits_for_room_on_the_disk),
        JOBS_TEST(a_claim_waits_for_room_on_the_disk),
        JOBS_TEST(a_result_that_is_too_large_fails_its_task),
        JOBS_TEST(another_process_cannot_have_the_store),
    };

    if (sqlite_vfs_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
