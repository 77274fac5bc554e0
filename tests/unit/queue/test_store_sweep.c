/* What happens by itself: leases, time-outs, delays, results that become old; and after a start. */
#include "queue/store.h"

#include "base/limits.h"
#include "queue/store_sqlite.h"
#include "support/queue_op.h"
#include "unit/queue/store_rig.h"

#define HOUR_MS ((int64_t)60 * 60 * 1000)

/* ---- leases and time-outs ---- */

static void an_expired_lease_ends_what_must_not_run_twice(void **state)
{
    const QueueJob *job;
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = rig_add_one(&rig);
    assert_int_equal(rig_claim(&rig, "", 1, 1000), 1);
    assert_int_equal(store_next_us(rig.store), rig.now.line_us + 1000 * 1000);
    rig_pass(&rig, 999);
    rig_sweep(&rig);
    assert_int_equal(rig.n_told, 0);
    rig_pass(&rig, 1);
    rig_sweep(&rig);
    assert_int_equal(rig.n_told, 1);
    assert_int_equal(rig.told[0], JOB_FAILED);
    job = rig_get(&rig, &id);
    assert_int_equal(job->state, JOB_FAILED);
    assert_text(job->code, "INTERRUPTED");
    rig_deinit(&rig);
}

static void an_expired_lease_returns_an_idempotent_job_until_it_is_dead(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = RIG_ADD(&rig, .is_idempotent = true, .max_attempts = 3);
    for (unsigned attempt = 1; attempt <= 3; attempt++) {
        assert_int_equal(rig_claim(&rig, "", 1, 50), 1);
        assert_int_equal(rig.op.jobs[0].n_attempts, attempt);
        assert_int_equal(rig.op.jobs[0].fence, attempt);
        rig_pass(&rig, 50);
        rig_sweep(&rig);
        assert_int_equal(rig_state(&rig, &id), attempt < 3 ? JOB_ENQUEUED : JOB_DEAD);
        if (attempt < 3) {
            rig_pass(&rig, (LIMIT_QUEUE_BACKOFF_MS << (attempt - 1)) - 1);
            rig_sweep(&rig);
            assert_int_equal(rig_claim(&rig, "", 1, 50), 0);
            rig_pass(&rig, 1);
            rig_sweep(&rig);
            assert_int_equal(rig.told[0], JOB_ENQUEUED);
        }
    }
    assert_text(rig_get(&rig, &id)->code, "INTERRUPTED");
    rig_deinit(&rig);
}

static void a_beat_prolongs_the_lease(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = rig_add_one(&rig);
    assert_int_equal(rig_claim(&rig, "", 1, 100), 1);
    for (int i = 0; i < 5; i++) {
        rig_pass(&rig, 90);
        rig_sweep(&rig);
        assert_int_equal(rig_beat(&rig, &id, 1, 0), 0); /* as long as before */
    }
    assert_int_equal(rig_beat(&rig, &id, 1, 5000), 0);
    rig_pass(&rig, 4999);
    rig_sweep(&rig);
    assert_int_equal(rig_state(&rig, &id), JOB_RUNNING);
    rig_pass(&rig, 1);
    rig_sweep(&rig);
    assert_int_equal(rig_state(&rig, &id), JOB_FAILED);
    rig_deinit(&rig);
}

static void the_time_of_an_attempt_passes_whatever_beats(void **state)
{
    RigId ids[2];
    Rig rig;

    (void)state;
    rig_init(&rig);
    ids[0] = RIG_ADD(&rig, .timeout_ms = 250);
    ids[1] = RIG_ADD(&rig, .timeout_ms = 250, .is_idempotent = true);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1); /* no lease: this process's */
    assert_int_equal(rig_claim(&rig, "", 1, 100), 1);
    rig_pass(&rig, 90);
    assert_int_equal(rig_beat(&rig, &ids[1], 1, 10000), 0);
    rig_pass(&rig, 160);
    rig_sweep(&rig);
    assert_int_equal(rig_state(&rig, &ids[0]), JOB_TIMEOUT);
    assert_text(rig_get(&rig, &ids[0])->code, "TIMEOUT");
    assert_int_equal(rig_state(&rig, &ids[1]), JOB_ENQUEUED);
    assert_int_equal(rig_complete(&rig, &ids[0], 1, JOB_SUCCEEDED), QUEUE_E_OVER);
    rig_deinit(&rig);
}

static void a_delayed_job_is_ready_when_its_time_has_come(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = RIG_ADD(&rig, .delay_ms = 300);
    assert_int_equal(rig_state(&rig, &id), JOB_ENQUEUED);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 0);
    rig_pass(&rig, 299);
    rig_sweep(&rig);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 0);
    assert_int_equal(store_next_us(rig.store), rig.now.line_us + 1000);
    rig_pass(&rig, 1);
    rig_sweep(&rig);
    assert_int_equal(rig.told[0], JOB_ENQUEUED);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    rig_deinit(&rig);
}

static void many_that_are_due_take_several_batches(void **state)
{
    Rig rig;
    int n_batches = 0;
    int r = STORE_E_MORE;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < 40; i++) {
        (void)RIG_ADD(&rig, .delay_ms = 10);
    }
    rig_pass(&rig, 10);
    while (r == STORE_E_MORE) {
        assert_int_equal(store_begin(rig.store, rig.now), 0);
        r = store_sweep(rig.store, 16, NULL, NULL);
        assert_int_equal(store_commit(rig.store, &rig.wrote), 0);
        n_batches++;
    }
    assert_int_equal(r, 0);
    assert_int_equal(n_batches, 3);
    assert_int_equal(rig_claim(&rig, "", 100, 0), 40);
    rig_deinit(&rig);
}

/* ---- what is old ---- */

static RigId add_done(Rig *rig, Span result, int64_t keep_ms)
{
    RigId id = RIG_ADD(rig, .keep_ms = keep_ms, .idempotency_key = SPAN_NULL);

    assert_int_equal(rig_claim(rig, "", 1, 0), 1);
    OP_SET(rig_op(rig, QUEUE_COMPLETE), id, span_from_str(id.text));
    rig->op.fence = 1;
    OP_SET(&rig->op, finish, (QueueFinish){.state = JOB_SUCCEEDED, .result = result});
    assert_int_equal(rig_run(rig), 0);
    return id;
}

static void results_go_when_they_are_old(void **state)
{
    QueueCounts counts;
    RigId usual;
    RigId brief;
    Rig rig;

    (void)state;
    rig_init(&rig);
    rig.store = store_close(rig.store);
    rig.config.keep_ms = 5000;
    rig_open(&rig);
    usual = add_done(&rig, SPAN("1"), 0);
    brief = add_done(&rig, SPAN("2"), 2000);
    rig_pass(&rig, 1999);
    rig_sweep(&rig);
    assert_int_equal(rig_state(&rig, &brief), JOB_SUCCEEDED);
    rig_pass(&rig, 1);
    assert_true(store_next_us(rig.store) <= rig.now.line_us + 1000 * 1000);
    rig_sweep(&rig);
    assert_int_equal(rig_do(&rig, QUEUE_GET, &brief), QUEUE_E_MISSING);
    assert_int_equal(rig_state(&rig, &usual), JOB_SUCCEEDED);
    rig_pass(&rig, 3000);
    rig_sweep(&rig);
    assert_int_equal(rig_do(&rig, QUEUE_GET, &usual), QUEUE_E_MISSING);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n[JOB_SUCCEEDED], 0);
    assert_int_equal(store_next_us(rig.store), INT64_MAX);
    rig_deinit(&rig);
}

static void a_key_is_free_again_when_its_job_has_gone(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = RIG_ADD(&rig, .idempotency_key = SPAN("k"), .keep_ms = 1000);
    assert_int_equal(rig_do(&rig, QUEUE_CANCEL, &id), 0);
    rig_pass(&rig, 1000);
    rig_sweep(&rig);
    (void)RIG_ADD(&rig, .idempotency_key = SPAN("k"));
    assert_false(rig.op.is_known);
    rig_deinit(&rig);
}

static void results_that_are_too_many_bytes_go_oldest_first(void **state)
{
    static char body[1000];
    RigId ids[5];
    Rig rig;

    (void)state;
    memset(body, '1', sizeof(body));
    rig_init(&rig);
    rig.store = store_close(rig.store);
    rig.config.keep_bytes = 3000;
    rig_open(&rig);
    for (int i = 0; i < 5; i++) {
        ids[i] = add_done(&rig, span_make(body, sizeof(body)), 0);
        rig_pass(&rig, 10);
    }
    rig_sweep(&rig);
    for (int i = 0; i < 5; i++) {
        const QueueJob *job = rig_get(&rig, &ids[i]);

        assert_int_equal(job->state, JOB_SUCCEEDED); /* that it succeeded stays known */
        assert_int_equal(job->result.n, i < 2 ? 0 : sizeof(body));
        assert_int_equal(job->is_dropped, i < 2); /* and that there was a result */
    }
    /* Later ones push out later ones. */
    (void)add_done(&rig, span_make(body, sizeof(body)), 0);
    rig_sweep(&rig);
    assert_int_equal(rig_get(&rig, &ids[2])->result.n, 0);
    assert_int_equal(rig_get(&rig, &ids[3])->result.n, sizeof(body));
    rig_deinit(&rig);
}

/* What has gone with its job, or for another attempt, takes no room any more. */
static void results_that_have_gone_do_not_count(void **state)
{
    static char body[1000];
    RigId failed;
    RigId kept;
    Rig rig;

    (void)state;
    memset(body, '1', sizeof(body));
    rig_init(&rig);
    rig.store = store_close(rig.store);
    rig.config.keep_bytes = 3000;
    rig_open(&rig);
    for (int i = 0; i < 3; i++) {
        (void)add_done(&rig, span_make(body, sizeof(body)), 0);
    }
    (void)rig_op(&rig, QUEUE_PURGE);
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_changed, 3);
    kept = add_done(&rig, span_make(body, sizeof(body)), 0);
    failed = rig_add_one(&rig);
    for (uint64_t fence = 1; fence <= 4; fence++) {
        assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
        OP_SET(rig_op(&rig, QUEUE_COMPLETE), id, span_from_str(failed.text));
        rig.op.fence = fence;
        OP_SET(&rig.op, finish,
               (QueueFinish){.state = JOB_FAILED, .result = span_make(body, sizeof(body))});
        assert_int_equal(rig_run(&rig), 0);
        if (fence < 4) {
            assert_int_equal(rig_do(&rig, QUEUE_RETRY, &failed), 0);
        }
    }
    rig_sweep(&rig);
    assert_int_equal(rig_get(&rig, &kept)->result.n, sizeof(body));
    assert_int_equal(rig_get(&rig, &failed)->result.n, sizeof(body));
    assert_false(rig_get(&rig, &kept)->is_dropped);
    rig_deinit(&rig);
}

static void one_that_never_had_a_result_lost_none(void **state)
{
    Rig rig;
    RigId id;

    (void)state;
    rig_init(&rig);
    id = rig_add_one(&rig);
    assert_false(rig_get(&rig, &id)->is_dropped);
    assert_int_equal(rig_do(&rig, QUEUE_CANCEL, &id), 0);
    assert_false(rig_get(&rig, &id)->is_dropped);
    rig_deinit(&rig);
}

static void purging_removes_what_is_over_and_asked_for(void **state)
{
    QueueCounts counts;
    Rig rig;
    RigId id;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < 600; i++) {
        id = rig_add_one(&rig);
        if (i % 3 == 0) {
            assert_int_equal(rig_do(&rig, QUEUE_CANCEL, &id), 0);
        } else if (i % 3 == 1) {
            (void)rig_claim(&rig, "", 1, 0);
            RigId claimed = rig_id(&rig.op.jobs[0]);

            assert_int_equal(rig_complete(&rig, &claimed, 1, JOB_SUCCEEDED), 0);
        }
    }
    rig_pass(&rig, 1000);
    id = RIG_ADD(&rig, .priority = 1);
    assert_int_equal(rig_do(&rig, QUEUE_CANCEL, &id), 0);
    rig_op(&rig, QUEUE_PURGE)->purge = (QueuePurge){.older_ms = 1000};
    rig.op.purge.states[JOB_CANCELLED] = true;
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_changed, 200);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n[JOB_CANCELLED], 1);
    assert_int_equal(counts.n[JOB_SUCCEEDED], 200);
    assert_int_equal(counts.n[JOB_ENQUEUED], 200);
    (void)rig_op(&rig, QUEUE_PURGE);
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_changed, 201);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n[JOB_CANCELLED] + counts.n[JOB_SUCCEEDED], 0);
    assert_int_equal(counts.n[JOB_ENQUEUED], 200);
    rig_deinit(&rig);
}

/* Nothing was begun: the attempt does not count, and only these are woken. */
static void what_was_put_by_waits_for_its_time_or_to_be_woken(void **state)
{
    QueueCounts counts;
    RigId delayed;
    Rig rig;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < 600; i++) {
        (void)rig_add_one(&rig);
    }
    for (int i = 0; i < 600; i++) {
        RigId id;

        (void)rig_claim(&rig, "", 1, 0);
        assert_int_equal(rig.op.n_jobs, 1);
        id = rig_id(&rig.op.jobs[0]);
        OP_SET(rig_op(&rig, QUEUE_COMPLETE), finish,
               (QueueFinish){.state = JOB_ENQUEUED, .away_ms = i == 0 ? 1000 : 2000});
        OP_SET(&rig.op, id, span_from_str(id.text));
        rig.op.fence = 1;
        assert_int_equal(rig_run(&rig), 0);
        assert_int_equal(rig.op.jobs[0].n_attempts, 0);
    }
    delayed = RIG_ADD(&rig, .delay_ms = 5000);
    (void)rig_claim(&rig, "", 600, 0);
    assert_int_equal(rig.op.n_jobs, 0);
    rig_pass(&rig, 1000);
    rig_sweep(&rig);
    (void)rig_claim(&rig, "", 600, 0);
    assert_int_equal(rig.op.n_jobs, 1);
    (void)rig_op(&rig, QUEUE_WAKE);
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_changed, 599);
    (void)rig_op(&rig, QUEUE_WAKE);
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_changed, 0);
    (void)rig_claim(&rig, "", 256, 0);
    assert_int_equal(rig.op.n_jobs, 256);
    assert_int_equal(rig.op.jobs[0].n_attempts, 1);
    assert_int_equal(rig_get(&rig, &delayed)->state, JOB_ENQUEUED);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n[JOB_ENQUEUED], 600 + 1 - 1 - 256);
    rig_deinit(&rig);
}

/* ---- after a start ---- */

static void what_a_process_had_for_itself_is_lost_with_it(void **state)
{
    QueueCounts counts;
    RigId once;
    RigId twice;
    RigId leased;
    RigId waiting;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    once = RIG_ADD(&rig, .priority = 1);
    twice = RIG_ADD(&rig, .priority = 2, .is_idempotent = true);
    leased = RIG_ADD(&rig, .priority = 3);
    waiting = rig_add_one(&rig);
    assert_int_equal(rig_claim(&rig, "", 2, 0), 2);
    assert_int_equal(rig_claim(&rig, "", 1, 60000), 1);
    rig_reopen(&rig);
    assert_int_equal(rig_state(&rig, &once), JOB_FAILED);
    assert_text(rig_get(&rig, &once)->code, "INTERRUPTED");
    assert_int_equal(rig_state(&rig, &twice), JOB_ENQUEUED);
    assert_int_equal(rig_state(&rig, &leased), JOB_DISPATCHING);
    assert_int_equal(rig_state(&rig, &waiting), JOB_ENQUEUED);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n[JOB_ENQUEUED], 2);
    assert_int_equal(counts.n[JOB_DISPATCHING], 1);
    assert_int_equal(counts.n[JOB_FAILED], 1);
    /* The worker with the lease is not this process, and goes on. */
    assert_int_equal(rig_complete(&rig, &leased, 1, JOB_SUCCEEDED), 0);
    rig_deinit(&rig);
}

static void a_lease_goes_on_over_a_restart_with_what_is_left_of_it(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    id = rig_add_one(&rig);
    assert_int_equal(rig_claim(&rig, "", 1, 1000), 1);
    rig.store = store_close(rig.store);
    rig_pass(&rig, 600); /* while nobody ran */
    rig_open(&rig);
    rig.now.line_us = store_line_start(rig.store, rig.now.wall_us);
    rig_pass(&rig, 399);
    rig_sweep(&rig);
    assert_int_equal(rig_state(&rig, &id), JOB_DISPATCHING);
    rig_pass(&rig, 1);
    rig_sweep(&rig);
    assert_int_equal(rig_state(&rig, &id), JOB_FAILED);
    rig_deinit(&rig);
}

static void a_clock_set_back_while_it_ran_changes_no_lease(void **state)
{
    RigId ids[3];
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    for (int i = 0; i < 3; i++) {
        ids[i] = rig_add_one(&rig);
    }
    assert_int_equal(rig_claim(&rig, "", 3, 10000), 3);
    /* An hour back: the stamp stands still, the line goes on. */
    rig.now.wall_us -= HOUR_MS * 1000;
    rig.now.wall_us += 4000 * 1000;
    rig.now.line_us += 4000 * 1000;
    assert_int_equal(rig_beat(&rig, &ids[0], 1, 10000), 0);
    assert_int_equal(rig.op.jobs[0].changed_us, rig.now.stamp_us);
    rig.store = store_close(rig.store);
    /* The new process believes the wall, and its line goes on where the old one was. */
    rig_open(&rig);
    assert_int_equal(store_line_start(rig.store, rig.now.wall_us), rig.now.line_us);
    rig.now.stamp_us = rig.now.wall_us;
    rig_pass(&rig, 6000);
    rig_sweep(&rig);
    assert_int_equal(rig_state(&rig, &ids[0]), JOB_RUNNING);
    assert_int_equal(rig_state(&rig, &ids[1]), JOB_FAILED);
    assert_int_equal(rig_state(&rig, &ids[2]), JOB_FAILED);
    /* What changed last does not go back, by its own stamps. */
    assert_true(rig_get(&rig, &ids[1])->changed_us > rig.now.stamp_us);
    rig_deinit(&rig);
}

static void a_clock_set_back_while_nothing_ran_holds_no_job_for_longer_than_its_span(void **state)
{
    RigId leased[3];
    RigId delayed;
    RigId timed;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    for (int i = 0; i < 3; i++) {
        leased[i] = RIG_ADD(&rig, .priority = 1); /* due at the same moment */
    }
    timed = RIG_ADD(&rig, .priority = 2, .timeout_ms = 3000);
    delayed = RIG_ADD(&rig, .delay_ms = 2000);
    assert_int_equal(rig_claim(&rig, "", 3, 1000), 3);
    assert_int_equal(rig_claim(&rig, "", 1, 9000), 1);
    rig.store = store_close(rig.store);
    rig.now.wall_us -= HOUR_MS * 1000;
    rig.now.stamp_us = rig.now.wall_us;
    rig.now.line_us -= HOUR_MS * 1000;
    rig_open(&rig);
    rig_pass(&rig, 1000);
    rig_sweep(&rig);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_state(&rig, &leased[i]), JOB_FAILED);
    }
    rig_pass(&rig, 1000);
    rig_sweep(&rig);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    assert_string_equal(rig.op.jobs[0].id, delayed.text);
    assert_int_equal(rig_state(&rig, &timed), JOB_DISPATCHING);
    rig_pass(&rig, 1000);
    rig_sweep(&rig);
    assert_int_equal(rig_state(&rig, &timed), JOB_TIMEOUT);
    rig_deinit(&rig);
}

/* ---- jobs that end their process ---- */

/* It ends in the middle of its jobs, and another starts. */
static void crash(Rig *rig)
{
    rig->store->is_broken = true; /* its end leaves no mark */
    rig_reopen(rig);
}

static void claim_after(Rig *rig, int64_t delay_ms)
{
    rig_pass(rig, delay_ms);
    rig_sweep(rig);
    assert_int_equal(rig_claim(rig, "", 1, 0), 1);
}

static void three_crashes_in_a_row_are_enough(void **state)
{
    const QueueJob *job;
    RigId id;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    id = RIG_ADD(&rig, .is_idempotent = true, .max_attempts = 100);
    for (int i = 0; i < LIMIT_QUEUE_CRASHES; i++) {
        assert_int_equal(rig_state(&rig, &id), JOB_ENQUEUED);
        claim_after(&rig, LIMIT_QUEUE_BACKOFF_MAX_MS);
        crash(&rig);
    }
    job = rig_get(&rig, &id);
    assert_int_equal(job->state, JOB_DEAD);
    assert_text(job->code, QUEUE_CODE_QUARANTINED);
    assert_text(job->message, QUEUE_TEXT_QUARANTINED);
    crash(&rig);
    assert_int_equal(rig_state(&rig, &id), JOB_DEAD);
    /* Whoever runs it again knows why. */
    assert_int_equal(rig_do(&rig, QUEUE_RETRY, &id), 0);
    claim_after(&rig, 0);
    crash(&rig);
    assert_int_equal(rig_state(&rig, &id), JOB_ENQUEUED);
    rig_deinit(&rig);
}

static void orderly_ends_are_no_crashes(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    id = RIG_ADD(&rig, .is_idempotent = true, .max_attempts = 100);
    for (int i = 0; i < 2 * LIMIT_QUEUE_CRASHES; i++) {
        claim_after(&rig, LIMIT_QUEUE_BACKOFF_MAX_MS);
        rig_reopen(&rig);
        assert_int_equal(rig_state(&rig, &id), JOB_ENQUEUED);
    }
    rig_deinit(&rig);
}

static void an_attempt_that_ends_breaks_the_row(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    id = RIG_ADD(&rig, .is_idempotent = true, .max_attempts = 100);
    for (int i = 0; i < 2 * LIMIT_QUEUE_CRASHES; i++) {
        claim_after(&rig, LIMIT_QUEUE_BACKOFF_MAX_MS);
        crash(&rig);
        assert_int_equal(rig_state(&rig, &id), JOB_ENQUEUED);
        if (i % 2 == 1) {
            claim_after(&rig, LIMIT_QUEUE_BACKOFF_MAX_MS);
            assert_int_equal(rig_complete(&rig, &id, rig.op.jobs[0].fence, JOB_ENQUEUED), 0);
        }
    }
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expired_lease_ends_what_must_not_run_twice),
        cmocka_unit_test(an_expired_lease_returns_an_idempotent_job_until_it_is_dead),
        cmocka_unit_test(a_beat_prolongs_the_lease),
        cmocka_unit_test(the_time_of_an_attempt_passes_whatever_beats),
        cmocka_unit_test(a_delayed_job_is_ready_when_its_time_has_come),
        cmocka_unit_test(many_that_are_due_take_several_batches),
        cmocka_unit_test(results_go_when_they_are_old),
        cmocka_unit_test(a_key_is_free_again_when_its_job_has_gone),
        cmocka_unit_test(results_that_are_too_many_bytes_go_oldest_first),
        cmocka_unit_test(results_that_have_gone_do_not_count),
        cmocka_unit_test(one_that_never_had_a_result_lost_none),
        cmocka_unit_test(purging_removes_what_is_over_and_asked_for),
        cmocka_unit_test(what_was_put_by_waits_for_its_time_or_to_be_woken),
        cmocka_unit_test(what_a_process_had_for_itself_is_lost_with_it),
        cmocka_unit_test(a_lease_goes_on_over_a_restart_with_what_is_left_of_it),
        cmocka_unit_test(a_clock_set_back_while_it_ran_changes_no_lease),
        cmocka_unit_test(a_clock_set_back_while_nothing_ran_holds_no_job_for_longer_than_its_span),
        cmocka_unit_test(three_crashes_in_a_row_are_enough),
        cmocka_unit_test(orderly_ends_are_no_crashes),
        cmocka_unit_test(an_attempt_that_ends_breaks_the_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
