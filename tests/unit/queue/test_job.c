#include "queue/job.h"

#include "support/cmocka.h"

#include "base/limits.h"

static void every_state_has_a_name_that_is_read_back(void **state)
{
    JobState parsed;

    (void)state;
    for (int i = 0; i < JOB_N_STATES; i++) {
        Span name = span_from_str(job_state_name((JobState)i));

        assert_true(job_state_parse(name, &parsed));
        assert_int_equal(parsed, i);
    }
    assert_true(job_state_parse(SPAN("dead"), &parsed));
    assert_int_equal(parsed, JOB_DEAD);
    assert_false(job_state_parse(SPAN("DONE"), &parsed));
    assert_false(job_state_parse(SPAN_NULL, &parsed));
    assert_string_equal(job_state_name(JOB_N_STATES), "UNKNOWN");
}

static void jobs_go_only_the_ways_that_are_drawn(void **state)
{
    /* Row: from; column: to, in the order of the enum. */
    static const char *const ways[JOB_N_STATES] = {
        [JOB_ENQUEUED] = ".xxx...x",    /* claim, claim and start, a late answer, cancel */
        [JOB_DISPATCHING] = "x.xxxxxx", /* lost, beat, the ends */
        [JOB_RUNNING] = "x..xxxxx",     [JOB_SUCCEEDED] = "........",
        [JOB_FAILED] = "x..x....", /* retry, a late answer */
        [JOB_TIMEOUT] = "x..x....",     [JOB_DEAD] = "x..x....",
        [JOB_CANCELLED] = "x.......",
    };

    (void)state;
    for (int from = 0; from < JOB_N_STATES; from++) {
        for (int to = 0; to < JOB_N_STATES; to++) {
            if (job_may((JobState)from, (JobState)to) != (ways[from][to] == 'x')) {
                fail_msg("%s to %s", job_state_name((JobState)from), job_state_name((JobState)to));
            }
        }
    }
    assert_false(job_may(JOB_N_STATES, JOB_ENQUEUED));
    assert_false(job_may(JOB_ENQUEUED, JOB_N_STATES));
}

static void five_states_are_ends(void **state)
{
    (void)state;
    for (int i = 0; i < JOB_N_STATES; i++) {
        assert_int_equal(job_is_over((JobState)i), i >= JOB_SUCCEEDED);
    }
    assert_false(job_is_over(JOB_N_STATES));
}

static void the_wait_doubles_up_to_its_maximum(void **state)
{
    (void)state;
    assert_int_equal(job_backoff_ms(0), LIMIT_QUEUE_BACKOFF_MS);
    assert_int_equal(job_backoff_ms(1), LIMIT_QUEUE_BACKOFF_MS);
    assert_int_equal(job_backoff_ms(2), 2 * LIMIT_QUEUE_BACKOFF_MS);
    assert_int_equal(job_backoff_ms(5), 16 * LIMIT_QUEUE_BACKOFF_MS);
    assert_int_equal(job_backoff_ms(10), LIMIT_QUEUE_BACKOFF_MAX_MS);
    assert_int_equal(job_backoff_ms(4000000000u), LIMIT_QUEUE_BACKOFF_MAX_MS);
}

static void what_may_have_run_runs_again_only_if_it_may(void **state)
{
    static const JobLoss may_have_run[] = {JOB_LOSS_CRASH, JOB_LOSS_LEASE, JOB_LOSS_TIMEOUT};
    int64_t delay_ms;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        JobLoss loss = may_have_run[i];
        JobState end = loss == JOB_LOSS_TIMEOUT ? JOB_TIMEOUT : JOB_FAILED;

        assert_int_equal(job_after_loss(loss, false, 1, 3, &delay_ms), end);
        assert_int_equal(delay_ms, 0);
        assert_int_equal(job_after_loss(loss, true, 1, 3, &delay_ms), JOB_ENQUEUED);
        assert_int_equal(delay_ms, LIMIT_QUEUE_BACKOFF_MS);
        assert_int_equal(job_after_loss(loss, true, 2, 3, &delay_ms), JOB_ENQUEUED);
        assert_int_equal(delay_ms, 2 * LIMIT_QUEUE_BACKOFF_MS);
        assert_int_equal(job_after_loss(loss, true, 3, 3, &delay_ms), JOB_DEAD);
        assert_int_equal(job_after_loss(loss, true, 1, 1, &delay_ms), end);
    }
}

static void what_did_not_begin_may_always_run_again(void **state)
{
    int64_t delay_ms;

    (void)state;
    assert_int_equal(job_after_loss(JOB_LOSS_AGAIN, false, 1, 2, &delay_ms), JOB_ENQUEUED);
    assert_int_equal(delay_ms, LIMIT_QUEUE_BACKOFF_MS);
    assert_int_equal(job_after_loss(JOB_LOSS_AGAIN, false, 2, 2, &delay_ms), JOB_DEAD);
    assert_int_equal(job_after_loss(JOB_LOSS_AGAIN, false, 1, 1, &delay_ms), JOB_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_has_a_name_that_is_read_back),
        cmocka_unit_test(jobs_go_only_the_ways_that_are_drawn),
        cmocka_unit_test(five_states_are_ends),
        cmocka_unit_test(the_wait_doubles_up_to_its_maximum),
        cmocka_unit_test(what_may_have_run_runs_again_only_if_it_may),
        cmocka_unit_test(what_did_not_begin_may_always_run_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
