/* Jobs of the library's own queue: given, worked on, ended; and what is refused, in which words. */
#include "unit/api/queue_place.h"

#include <errno.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static void a_job_is_enqueued_claimed_completed_and_read(void **state)
{
    Place *place = *state;
    char id[TW_JOB_ID_SIZE];
    TwJobs *jobs;
    const TwJob *job;

    place_enqueue(place->queue,
                  (TwJobSpec){.method = "mail",
                              .params_json = "{ \"to\": \"ada\" }",
                              .key = "k1",
                              .priority = 7,
                              .timeout_ms = 60000,
                              .max_attempts = 5,
                              .idempotent = true},
                  id);
    jobs = place_claim(place->queue, (TwJobClaim){.worker = "w1"});
    job = tw_jobs_at(jobs, 0);
    assert_int_equal(tw_jobs_count(jobs), 1);
    assert_null(tw_jobs_at(jobs, 1));
    assert_string_equal(job->id, id);
    assert_string_equal(job->method, "mail");
    assert_string_equal(job->params_json, "{ \"to\": \"ada\" }");
    assert_string_equal(job->key, "k1");
    assert_string_equal(job->worker, "w1");
    assert_int_equal(job->state, TW_JOB_RUNNING);
    assert_int_equal(job->priority, 7);
    assert_int_equal(job->timeout_ms, 60000);
    assert_int_equal(job->attempt, 1);
    assert_int_equal(job->max_attempts, 5);
    assert_true(job->idempotent);
    assert_true(job->enqueued_us > 0 && job->started_us >= job->enqueued_us);
    assert_int_equal(tw_queue_complete(place->queue, id, job->fence, "[1, 2]", NULL), TW_OK);
    tw_jobs_free(jobs);

    place_close(place);
    place_open(place);
    jobs = place_get(place->queue, id);
    job = tw_jobs_at(jobs, 0);
    assert_int_equal(job->state, TW_JOB_SUCCEEDED);
    assert_string_equal(job->code, "OK");
    assert_string_equal(job->result_json, "[1, 2]");
    assert_true(job->finished_us >= job->started_us);
    tw_jobs_free(jobs);
}

static void a_key_names_one_job(void **state)
{
    Place *place = *state;
    TwJobSpec spec = {.method = "m", .params_json = "{\"a\":1,\"b\":2}", .key = "k"};
    TwQueueError error;
    char first[TW_JOB_ID_SIZE];
    char second[TW_JOB_ID_SIZE];
    bool known = true;

    assert_int_equal(tw_queue_enqueue(place->queue, &spec, first, &known, NULL), TW_OK);
    assert_false(known);
    spec.params_json = "{\"b\":2, \"a\":1}";
    assert_int_equal(tw_queue_enqueue(place->queue, &spec, second, &known, NULL), TW_OK);
    assert_true(known);
    assert_string_equal(first, second);
    spec.params_json = "{\"b\":3}";
    assert_int_equal(tw_queue_enqueue(place->queue, &spec, second, &known, &error),
                     TW_ERROR_EXISTS);
    assert_non_null(strstr(error.message, "key"));
}

static void an_old_fence_is_refused(void **state)
{
    Place *place = *state;
    char id[TW_JOB_ID_SIZE];
    TwJobs *jobs;
    TwJobs *later;
    const TwJob *job;

    place_enqueue(place->queue, (TwJobSpec){.method = "m", .idempotent = true}, id);
    jobs = place_claim(place->queue, (TwJobClaim){.lease_ms = 1});
    job = tw_jobs_at(jobs, 0);
    /* Its lease passes, and after a while it is another's. */
    later = place_claim(place->queue, (TwJobClaim){.wait_ms = PLACE_WAIT_MS});
    assert_string_equal(tw_jobs_at(later, 0)->id, id);
    assert_true(tw_jobs_at(later, 0)->fence > job->fence);
    assert_int_equal(tw_jobs_at(later, 0)->attempt, 2);
    assert_int_equal(tw_queue_beat(place->queue, id, job->fence, 0, NULL), TW_ERROR_LEASE);
    assert_int_equal(tw_queue_complete(place->queue, id, job->fence, "1", NULL), TW_ERROR_LEASE);
    assert_int_equal(tw_queue_fail(place->queue, id, job->fence, NULL, NULL, NULL), TW_ERROR_LEASE);
    assert_int_equal(tw_queue_complete(place->queue, id, tw_jobs_at(later, 0)->fence, "2", NULL),
                     TW_OK);
    tw_jobs_free(later);
    tw_jobs_free(jobs);
    jobs = place_get(place->queue, id);
    assert_string_equal(tw_jobs_at(jobs, 0)->result_json, "2");
    tw_jobs_free(jobs);
}

static void a_beat_keeps_a_lease(void **state)
{
    Place *place = *state;
    char id[TW_JOB_ID_SIZE];
    TwJobs *jobs;

    place_enqueue(place->queue, (TwJobSpec){.method = "m"}, id);
    jobs = place_claim(place->queue, (TwJobClaim){.lease_ms = 600000});
    assert_int_equal(tw_jobs_at(jobs, 0)->state, TW_JOB_DISPATCHING);
    assert_int_equal(tw_queue_beat(place->queue, id, tw_jobs_at(jobs, 0)->fence, 0, NULL), TW_OK);
    assert_int_equal(place_state(place->queue, id), TW_JOB_RUNNING);
    assert_int_equal(tw_queue_cancel(place->queue, id, NULL), TW_OK);
    assert_int_equal(tw_queue_beat(place->queue, id, tw_jobs_at(jobs, 0)->fence, 0, NULL),
                     TW_ERROR_OVER);
    tw_jobs_free(jobs);
}

static void a_failure_is_final_or_tried_again(void **state)
{
    Place *place = *state;
    TwJobFailure failure = {.code = "NO_ROUTE", .message = "nobody there", .result_json = "{}"};
    TwJobState is;
    char id[TW_JOB_ID_SIZE];
    TwJobs *jobs;

    place_enqueue(place->queue, (TwJobSpec){.method = "m", .max_attempts = 2}, id);
    jobs = place_claim(place->queue, (TwJobClaim){.max = 1});
    failure.again = true;
    assert_int_equal(
        tw_queue_fail(place->queue, id, tw_jobs_at(jobs, 0)->fence, &failure, &is, NULL), TW_OK);
    assert_int_equal(is, TW_JOB_ENQUEUED);
    tw_jobs_free(jobs);
    jobs = place_claim(place->queue, (TwJobClaim){.wait_ms = PLACE_WAIT_MS});
    assert_int_equal(
        tw_queue_fail(place->queue, id, tw_jobs_at(jobs, 0)->fence, &failure, &is, NULL), TW_OK);
    assert_int_equal(is, TW_JOB_DEAD);
    tw_jobs_free(jobs);

    assert_int_equal(tw_queue_retry(place->queue, id, NULL), TW_OK);
    assert_int_equal(tw_queue_retry(place->queue, id, NULL), TW_ERROR_BUSY);
    jobs = place_claim(place->queue, (TwJobClaim){.max = 1});
    failure.again = false;
    assert_int_equal(
        tw_queue_fail(place->queue, id, tw_jobs_at(jobs, 0)->fence, &failure, &is, NULL), TW_OK);
    assert_int_equal(is, TW_JOB_FAILED);
    tw_jobs_free(jobs);
    jobs = place_get(place->queue, id);
    assert_string_equal(tw_jobs_at(jobs, 0)->code, "NO_ROUTE");
    assert_string_equal(tw_jobs_at(jobs, 0)->message, "nobody there");
    assert_string_equal(tw_jobs_at(jobs, 0)->result_json, "{}");
    tw_jobs_free(jobs);
}

static void the_next_job_comes_with_the_end_of_the_last(void **state)
{
    Place *place = *state;
    char ids[2][TW_JOB_ID_SIZE];
    TwJobs *jobs;
    TwJobs *next = NULL;

    place_enqueue(place->queue, (TwJobSpec){.method = "a"}, ids[0]);
    place_enqueue(place->queue, (TwJobSpec){.method = "b"}, ids[1]);
    jobs = place_claim(place->queue, (TwJobClaim){.max = 1});
    assert_int_equal(tw_queue_complete_and_claim(place->queue, ids[0], tw_jobs_at(jobs, 0)->fence,
                                                 NULL, NULL, &next, NULL),
                     TW_OK);
    tw_jobs_free(jobs);
    assert_int_equal(tw_jobs_count(next), 1);
    assert_string_equal(tw_jobs_at(next, 0)->id, ids[1]);
    assert_int_equal(place_state(place->queue, ids[0]), TW_JOB_SUCCEEDED);
    jobs = next;
    assert_int_equal(tw_queue_complete_and_claim(place->queue, ids[1], tw_jobs_at(jobs, 0)->fence,
                                                 "true", &(TwJobClaim){.wait_ms = 1}, &next, NULL),
                     TW_OK);
    assert_null(next);
    tw_jobs_free(jobs);
    assert_int_equal(place_state(place->queue, ids[1]), TW_JOB_SUCCEEDED);
}

static void order_is_priority_then_age_and_delays_wait(void **state)
{
    Place *place = *state;
    static const char *const wanted[] = {"late", "first", NULL};
    char id[TW_JOB_ID_SIZE];
    TwJobs *jobs;

    place_enqueue(place->queue, (TwJobSpec){.method = "second"}, id);
    place_enqueue(place->queue, (TwJobSpec){.method = "third"}, id);
    place_enqueue(place->queue, (TwJobSpec){.method = "first", .priority = 1}, id);
    place_enqueue(place->queue, (TwJobSpec){.method = "late", .delay_ms = 3600000}, id);
    jobs = place_claim(place->queue, (TwJobClaim){.methods = wanted, .max = 9});
    assert_int_equal(tw_jobs_count(jobs), 1);
    assert_string_equal(tw_jobs_at(jobs, 0)->method, "first");
    tw_jobs_free(jobs);
    jobs = place_claim(place->queue, (TwJobClaim){.max = 9});
    assert_int_equal(tw_jobs_count(jobs), 2);
    assert_string_equal(tw_jobs_at(jobs, 0)->method, "second");
    assert_string_equal(tw_jobs_at(jobs, 1)->method, "third");
    tw_jobs_free(jobs);
}

static void bad_input_has_its_words(void **state)
{
    Place *place = *state;
    TwQueue *queue = place->queue;
    TwQueue *other = NULL;
    TwQueueError error = {.message = ""};
    char id[TW_JOB_ID_SIZE];
    char again[TW_JOB_ID_SIZE];
    TwJobs *jobs = NULL;
    const char *none[] = {NULL};

    assert_int_equal(tw_queue_enqueue(queue, &(TwJobSpec){.params_json = "{}"}, id, NULL, &error),
                     TW_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "method"));
    assert_int_equal(tw_queue_enqueue(queue, &(TwJobSpec){.method = "m", .params_json = "{\"a\":}"},
                                      id, NULL, &error),
                     TW_ERROR_JSON);
    assert_non_null(strstr(error.message, "params_json, line 1, column 6"));
    assert_int_equal(
        tw_queue_enqueue(queue, &(TwJobSpec){.method = "m", .params_json = "[]"}, id, NULL, &error),
        TW_ERROR_JSON);
    assert_int_equal(
        tw_queue_enqueue(queue, &(TwJobSpec){.method = "m", .delay_ms = -1}, id, NULL, NULL),
        TW_ERROR_ARGUMENT);
    assert_int_equal(tw_queue_get(queue, "wall-7", 0, &jobs, &error), TW_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "id"));
    assert_int_equal(tw_queue_claim(queue, &(TwJobClaim){.wait_ms = -2}, &jobs, NULL),
                     TW_ERROR_ARGUMENT);
    assert_int_equal(tw_queue_claim(queue, &(TwJobClaim){.methods = none}, &jobs, NULL),
                     TW_ERROR_ARGUMENT);
    assert_int_equal(tw_queue_claim(queue, NULL, &jobs, &error), TW_ERROR_TIMEOUT);
    assert_null(jobs);
    place_enqueue(queue, (TwJobSpec){.method = "m"}, id);
    jobs = place_claim(queue, (TwJobClaim){.max = 1});
    assert_int_equal(tw_queue_complete(queue, id, tw_jobs_at(jobs, 0)->fence, "{", &error),
                     TW_ERROR_JSON);
    assert_int_equal(place_state(queue, id), TW_JOB_RUNNING);
    tw_jobs_free(jobs);
    assert_int_equal(tw_queue_cancel(queue, id, NULL), TW_OK);
    assert_int_equal(tw_queue_cancel(queue, id, NULL), TW_ERROR_OVER);
    assert_int_equal(tw_queue_purge(queue, 0, 0, NULL, NULL), TW_OK);
    assert_int_equal(tw_queue_cancel(queue, id, NULL), TW_ERROR_MISSING);

    assert_int_equal(tw_queue_open(&other, place->folder, NULL, &error), TW_ERROR_BUSY);
    assert_non_null(strstr(error.message, place->folder));
    assert_int_equal(tw_queue_open(&other, "/nowhere/at/all", NULL, &error), TW_ERROR_SYSTEM);
    assert_non_null(strstr(error.message, "/nowhere/at/all"));
    assert_int_equal(tw_queue_open(&other, "", NULL, NULL), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_queue_open(&other, place->folder, &(TwQueueOptions){.keep_ms = -1}, NULL),
                     TW_ERROR_ARGUMENT);
    assert_int_equal(tw_queue_enqueue(NULL, &(TwJobSpec){.method = "m"}, again, NULL, NULL),
                     TW_ERROR_ARGUMENT);
    tw_queue_stop(NULL);
    tw_queue_free(NULL);
}

static void limits_are_kept(void **state)
{
    TwQueue *queue = NULL;
    char id[TW_JOB_ID_SIZE];
    TwJobSpec spec = {.method = "m", .params_json = "{\"long\":\"0123456789\"}"};

    (void)state;
    assert_int_equal(tw_queue_open(&queue, ":memory:",
                                   &(TwQueueOptions){.max_waiting = 1, .max_body_bytes = 16}, NULL),
                     TW_OK);
    assert_int_equal(tw_queue_enqueue(queue, &spec, id, NULL, NULL), TW_ERROR_FULL);
    spec.params_json = NULL;
    assert_int_equal(tw_queue_enqueue(queue, &spec, id, NULL, NULL), TW_OK);
    assert_int_equal(tw_queue_enqueue(queue, &spec, id, NULL, NULL), TW_ERROR_FULL);
    tw_queue_free(queue);
}

static int open_and_close(void *context)
{
    TwQueue *queue = NULL;
    int r = tw_queue_open(&queue, ":memory:", NULL, NULL);

    (void)context;
    tw_queue_free(queue);
    return r == TW_ERROR_MEMORY ? -ENOMEM : r;
}

static void failed_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    test_oom_sweep(open_and_close, NULL);
}

/* Claimed on disk, and then there is no memory for the answer. */
static void a_claim_that_cannot_be_told_is_given_back(void **state)
{
    Place *place = *state;
    const TwJobClaim claim = {.wait_ms = PLACE_WAIT_MS};
    char id[TW_JOB_ID_SIZE];
    TwJobs *jobs = NULL;
    size_t n = 0;
    int r;

    place_enqueue(place->queue, (TwJobSpec){.method = "m"}, id);
    do {
        alloc_testing_reset(n++);
        r = tw_queue_claim(place->queue, &claim, &jobs, NULL);
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_true(r == TW_OK || r == TW_ERROR_MEMORY);
    } while (r != TW_OK);
    assert_true(n > 1);
    assert_string_equal(tw_jobs_at(jobs, 0)->id, id);
    assert_int_equal(tw_jobs_at(jobs, 0)->attempt, 1);
    tw_jobs_free(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_set_up, place_tear_down)
        IN_PLACE(a_job_is_enqueued_claimed_completed_and_read),
        IN_PLACE(a_key_names_one_job),
        IN_PLACE(an_old_fence_is_refused),
        IN_PLACE(a_beat_keeps_a_lease),
        IN_PLACE(a_failure_is_final_or_tried_again),
        IN_PLACE(the_next_job_comes_with_the_end_of_the_last),
        IN_PLACE(order_is_priority_then_age_and_delays_wait),
        IN_PLACE(bad_input_has_its_words),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
        IN_PLACE(a_claim_that_cannot_be_told_is_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
