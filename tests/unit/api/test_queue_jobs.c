/* Jobs that are listed, counted and removed. */
#include "unit/api/queue_place.h"

static void states_have_names(void **state)
{
    (void)state;
    assert_string_equal(tw_job_state_name(TW_JOB_ENQUEUED), "ENQUEUED");
    assert_string_equal(tw_job_state_name(TW_JOB_CANCELLED), "CANCELLED");
    assert_string_equal(tw_job_state_name(TW_JOB_ANY), "ANY");
    assert_string_equal(tw_job_state_name((TwJobState)99), "UNKNOWN");
    assert_false(tw_job_is_over(TW_JOB_ANY));
    assert_false(tw_job_is_over(TW_JOB_RUNNING));
    assert_true(tw_job_is_over(TW_JOB_SUCCEEDED));
    assert_true(tw_job_is_over(TW_JOB_CANCELLED));
    assert_int_equal(tw_jobs_count(NULL), 0);
    assert_null(tw_jobs_at(NULL, 0));
    tw_jobs_free(NULL);
}

static void lists_are_newest_first_by_pages_and_states(void **state)
{
    Place *place = *state;
    char ids[3][TW_JOB_ID_SIZE];
    TwJobs *jobs = NULL;

    for (size_t i = 0; i < 3; i++) {
        place_enqueue(place->queue, (TwJobSpec){.method = "m", .params_json = "{\"a\":1}"}, ids[i]);
    }
    assert_int_equal(tw_queue_cancel(place->queue, ids[1], NULL), TW_OK);
    assert_int_equal(tw_queue_list(place->queue, NULL, &jobs, NULL), TW_OK);
    assert_int_equal(tw_jobs_count(jobs), 3);
    assert_string_equal(tw_jobs_at(jobs, 0)->id, ids[2]);
    assert_null(tw_jobs_at(jobs, 0)->params_json);
    assert_string_equal(tw_jobs_at(jobs, 1)->code, "CANCELLED");
    tw_jobs_free(jobs);
    assert_int_equal(
        tw_queue_list(place->queue,
                      &(TwJobFilter){.state = TW_JOB_ENQUEUED, .limit = 1, .with_bodies = true},
                      &jobs, NULL),
        TW_OK);
    assert_int_equal(tw_jobs_count(jobs), 1);
    assert_string_equal(tw_jobs_at(jobs, 0)->params_json, "{\"a\":1}");
    tw_jobs_free(jobs);
    assert_int_equal(tw_queue_list(place->queue,
                                   &(TwJobFilter){.state = TW_JOB_ENQUEUED, .before = ids[2]},
                                   &jobs, NULL),
                     TW_OK);
    assert_int_equal(tw_jobs_count(jobs), 1);
    assert_string_equal(tw_jobs_at(jobs, 0)->id, ids[0]);
    tw_jobs_free(jobs);
    assert_int_equal(tw_queue_list(place->queue, &(TwJobFilter){.state = TW_JOB_DEAD}, &jobs, NULL),
                     TW_OK);
    assert_int_equal(tw_jobs_count(jobs), 0);
    tw_jobs_free(jobs);
    assert_int_equal(
        tw_queue_list(place->queue, &(TwJobFilter){.state = (TwJobState)42}, &jobs, NULL),
        TW_ERROR_ARGUMENT);
    assert_int_equal(tw_queue_list(place->queue, &(TwJobFilter){.before = "x"}, &jobs, NULL),
                     TW_ERROR_ARGUMENT);
}

static void what_is_over_can_be_removed(void **state)
{
    Place *place = *state;
    char ids[3][TW_JOB_ID_SIZE];
    TwJobs *jobs;
    uint64_t n = 0;

    for (size_t i = 0; i < 3; i++) {
        place_enqueue(place->queue, (TwJobSpec){.method = "m"}, ids[i]);
    }
    jobs = place_claim(place->queue, (TwJobClaim){.max = 1});
    assert_int_equal(tw_queue_complete(place->queue, ids[0], tw_jobs_at(jobs, 0)->fence, "1", NULL),
                     TW_OK);
    tw_jobs_free(jobs);
    assert_int_equal(tw_queue_cancel(place->queue, ids[1], NULL), TW_OK);
    assert_int_equal(tw_queue_count(place->queue, TW_JOB_ANY, &n, NULL), TW_OK);
    assert_int_equal(n, 3);
    assert_int_equal(tw_queue_purge(place->queue, 1u << TW_JOB_RUNNING, 0, &n, NULL),
                     TW_ERROR_ARGUMENT);
    assert_int_equal(tw_queue_purge(place->queue, 1u << 20, 0, &n, NULL), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_queue_purge(place->queue, 0, 3600000, &n, NULL), TW_OK);
    assert_int_equal(n, 0);
    assert_int_equal(tw_queue_purge(place->queue, 1u << TW_JOB_CANCELLED, 0, &n, NULL), TW_OK);
    assert_int_equal(n, 1);
    assert_int_equal(tw_queue_purge(place->queue, 0, 0, &n, NULL), TW_OK);
    assert_int_equal(n, 1);
    assert_int_equal(tw_queue_count(place->queue, TW_JOB_ENQUEUED, &n, NULL), TW_OK);
    assert_int_equal(n, 1);
    assert_int_equal(tw_queue_count(place->queue, TW_JOB_SUCCEEDED, &n, NULL), TW_OK);
    assert_int_equal(n, 0);
    assert_int_equal(tw_queue_count(place->queue, (TwJobState)-3, &n, NULL), TW_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_set_up, place_tear_down)
        cmocka_unit_test(states_have_names),
        IN_PLACE(lists_are_newest_first_by_pages_and_states),
        IN_PLACE(what_is_over_can_be_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
