/* Questions that a job asks while it runs, and their answers. */
#include "queue/store.h"

#include <errno.h>

#include "support/queue_op.h"
#include "unit/queue/store_rig.h"

static int ask(Rig *rig, const RigId *id, uint64_t fence, const char *asks)
{
    QueueOp *op = rig_op(rig, QUEUE_ASK);

    OP_SET(op, id, span_from_str(id->text));
    op->fence = fence;
    OP_SET(op, asks, span_from_str(asks));
    return rig_run(rig);
}

static int answer(Rig *rig, const RigId *id, const char *inputs)
{
    QueueOp *op = rig_op(rig, QUEUE_ANSWER);

    OP_SET(op, id, span_from_str(id->text));
    OP_SET(op, inputs, span_from_str(inputs));
    return rig_run(rig);
}

static RigId add_claimed(Rig *rig)
{
    RigId id = RIG_ADD(rig, .timeout_ms = 1000);

    assert_int_equal(rig_claim(rig, "", 1, 500), 1);
    return id;
}

static void a_job_waits_until_every_question_has_its_answer(void **state)
{
    QueueCounts counts;
    RigId id;
    RigId later;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = add_claimed(&rig);
    later = RIG_ADD(&rig, .priority = 0);
    assert_int_equal(ask(&rig, &id, 1, "{\"a\":{\"q\":1},\"b\":2,\"c\":3}"), 0);
    assert_int_equal(rig.op.jobs[0].state, JOB_RUNNING);
    assert_text(rig.op.jobs[0].asks, "{\"a\":{\"q\":1},\"b\":2,\"c\":3}");
    rig_count(&rig, &counts);
    assert_int_equal(counts.n_asking, 1);
    assert_int_equal(counts.n[JOB_RUNNING], 1);

    /* Nobody has it, and no time passes for it. */
    assert_int_equal(rig_beat(&rig, &id, 1, 500), QUEUE_E_LEASE);
    assert_int_equal(rig_complete(&rig, &id, 1, JOB_SUCCEEDED), QUEUE_E_LEASE);
    rig_pass(&rig, 100000);
    rig_sweep(&rig);
    assert_int_equal(rig.n_told, 0);

    assert_int_equal(answer(&rig, &id, "{\"b\":\"yes\",\"unknown\":1}"), 0);
    assert_text(rig.op.jobs[0].asks, "{\"a\":{\"q\":1},\"c\":3}");
    assert_text(rig.op.jobs[0].inputs, "{\"b\":\"yes\"}");
    /* What is answered is left alone. */
    assert_int_equal(answer(&rig, &id, "{\"b\":\"no\",\"c\":null}"), 0);
    assert_text(rig.op.jobs[0].asks, "{\"a\":{\"q\":1}}");
    assert_int_equal(answer(&rig, &id, "{\"a\":[1, 2]}"), 0);
    assert_int_equal(rig.op.jobs[0].state, JOB_ENQUEUED);
    assert_int_equal(rig.op.jobs[0].asks.n, 0);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n_asking, 0);

    /* In front of those that never ran, and with its answers. */
    assert_int_equal(rig_claim(&rig, "", 9, 0), 2);
    assert_string_equal(rig.op.jobs[0].id, id.text);
    assert_text(rig.op.jobs[0].inputs, "{\"b\":\"yes\",\"c\":null,\"a\":[1,2]}");
    assert_int_equal(rig.op.jobs[0].n_attempts, 1); /* asking was no failure */
    assert_int_equal(rig.op.jobs[0].fence, 2);
    assert_string_equal(rig.op.jobs[1].id, later.text);
    assert_int_equal(rig.op.jobs[1].inputs.n, 0);
    rig_deinit(&rig);
}

static void a_second_round_keeps_the_answers_of_the_first(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = add_claimed(&rig);
    assert_int_equal(ask(&rig, &id, 1, "{\"a\":1,\"b\":1}"), 0);
    assert_int_equal(answer(&rig, &id, "{\"a\":\"x\",\"b\":\"y\"}"), 0);
    assert_int_equal(rig_claim(&rig, "", 1, 500), 1);
    assert_int_equal(ask(&rig, &id, 2, "{\"a\":2,\"c\":2}"), 0); /* a anew */
    assert_text(rig.op.jobs[0].inputs, "{\"b\":\"y\"}");
    assert_int_equal(answer(&rig, &id, "{\"c\":3,\"a\":4}"), 0);
    assert_int_equal(rig_claim(&rig, "", 1, 500), 1);
    assert_text(rig.op.jobs[0].inputs, "{\"b\":\"y\",\"a\":4,\"c\":3}");
    rig_deinit(&rig);
}

static void asking_nothing_makes_it_ready_again(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = add_claimed(&rig);
    assert_int_equal(ask(&rig, &id, 1, "{}"), 0);
    assert_int_equal(rig.op.jobs[0].state, JOB_ENQUEUED);
    rig_deinit(&rig);
}

static void questions_and_answers_are_objects(void **state)
{
    static const char *const bad[] = {"[]", "1", "{", "{\"a\":}", "nothing"};
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = add_claimed(&rig);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(ask(&rig, &id, 1, bad[i]), -EINVAL);
    }
    assert_int_equal(ask(&rig, &id, 7, "{}"), QUEUE_E_LEASE);
    assert_int_equal(ask(&rig, &id, 1, "{\"a\":1}"), 0);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(answer(&rig, &id, bad[i]), -EINVAL);
        assert_false(rig.wrote);
    }
    assert_int_equal(rig_state(&rig, &id), JOB_RUNNING);
    rig_deinit(&rig);
}

static void answers_to_a_job_that_asks_nothing_are_left_alone(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = add_claimed(&rig);
    assert_int_equal(answer(&rig, &id, "{\"a\":1}"), 0);
    assert_false(rig.wrote);
    assert_int_equal(rig.op.jobs[0].state, JOB_DISPATCHING);
    assert_int_equal(rig_complete(&rig, &id, 1, JOB_SUCCEEDED), 0);
    assert_int_equal(answer(&rig, &id, "{\"a\":1}"), QUEUE_E_OVER);
    assert_int_equal(rig.op.jobs[0].state, JOB_SUCCEEDED);
    assert_int_equal(ask(&rig, &id, 1, "{\"a\":1}"), QUEUE_E_OVER);
    rig_deinit(&rig);
}

static void a_job_that_asks_survives_a_restart_and_may_be_cancelled(void **state)
{
    QueueCounts counts;
    const QueueJob *job;
    RigId id;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    id = add_claimed(&rig);
    assert_int_equal(ask(&rig, &id, 1, "{\"a\":1}"), 0);
    rig_reopen(&rig);
    job = rig_get(&rig, &id);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_text(job->asks, "{\"a\":1}");
    assert_int_equal(rig_do(&rig, QUEUE_CANCEL, &id), 0);
    assert_int_equal(rig_get(&rig, &id)->asks.n, 0);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n_asking, 0);
    rig_deinit(&rig);
}

static void questions_have_their_limit(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    rig.store = store_close(rig.store);
    rig.config.max_body_bytes = 64;
    rig_open(&rig);
    id = add_claimed(&rig);
    assert_int_equal(
        ask(&rig, &id, 1, "{\"a\":\"0123456789012345678901234567890123456789012345678901234567\"}"),
        QUEUE_E_TOO_LARGE);
    assert_int_equal(ask(&rig, &id, 1, "{\"a\":1}"), 0);
    assert_int_equal(
        answer(&rig, &id, "{\"a\":\"0123456789012345678901234567890123456789012345678901234567\"}"),
        QUEUE_E_TOO_LARGE);
    rig_deinit(&rig);
}

/* Also by a process that remembers what it was when the job was new. */
static void a_note_that_was_changed_with_a_question_comes_with_the_next_claim(void **state)
{
    QueueOp *op;
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = RIG_ADD(&rig, .note = SPAN("{\"n\":1}"));
    assert_int_equal(rig_claim(&rig, "", 1, 500), 1);
    assert_text(rig.op.jobs[0].note, "{\"n\":1}");
    op = rig_op(&rig, QUEUE_ASK);
    OP_SET(op, id, span_from_str(id.text));
    op->fence = 1;
    OP_SET(op, asks, SPAN("{\"a\":1}"));
    OP_SET(op, spec.note, SPAN("{\"n\":2}"));
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(answer(&rig, &id, "{\"a\":true}"), 0);
    assert_int_equal(rig_claim(&rig, "", 1, 500), 1);
    assert_text(rig.op.jobs[0].note, "{\"n\":2}");
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_waits_until_every_question_has_its_answer),
        cmocka_unit_test(a_note_that_was_changed_with_a_question_comes_with_the_next_claim),
        cmocka_unit_test(a_second_round_keeps_the_answers_of_the_first),
        cmocka_unit_test(asking_nothing_makes_it_ready_again),
        cmocka_unit_test(questions_and_answers_are_objects),
        cmocka_unit_test(answers_to_a_job_that_asks_nothing_are_left_alone),
        cmocka_unit_test(a_job_that_asks_survives_a_restart_and_may_be_cancelled),
        cmocka_unit_test(questions_have_their_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
