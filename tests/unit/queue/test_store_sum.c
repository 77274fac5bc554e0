/* Bytes that a disk has changed where SQLite sees nothing wrong: they are told, and given to
 * nobody. */
#include "queue/store_sqlite.h"

#include "support/cmocka.h"

#include <fcntl.h>

#include "support/files.h"
#include "support/queue_op.h"
#include "unit/queue/store_rig.h"

/* Changes one byte of the only place in the file with that text; the store is closed meanwhile. */
static void damage(Rig *rig, const char *text)
{
    size_t n = 0;
    size_t n_text = strlen(text);
    char *bytes;
    char *at = NULL;
    int fd;

    rig->store = store_close(rig->store);
    bytes = files_read(rig->path, &n);
    for (size_t i = 0; i + n_text <= n; i++) {
        if (memcmp(bytes + i, text, n_text) == 0) {
            assert_null(at);
            at = bytes + i;
        }
    }
    assert_non_null(at);
    fd = open(rig->path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "#", 1, at - bytes + (off_t)(n_text / 2)), 1);
    assert_int_equal(close(fd), 0);
    free(bytes);
    rig_open(rig);
}

static void end_job(Rig *rig, const RigId *id, const char *message, const char *result)
{
    assert_int_equal(rig_claim(rig, "", 1, 0), 1);
    OP_SET(rig_op(rig, QUEUE_COMPLETE), id, span_from_str(id->text));
    rig->op.fence = 1;
    OP_SET(&rig->op, finish,
           (QueueFinish){.state = JOB_SUCCEEDED,
                         .message = span_from_str(message),
                         .result = span_from_str(result)});
    assert_int_equal(rig_run(rig), 0);
}

static void assert_damaged(const QueueJob *job)
{
    assert_true(job->is_damaged);
    assert_text(job->code, QUEUE_CODE_DAMAGED);
    assert_text(job->message, QUEUE_TEXT_DAMAGED);
    assert_int_equal(job->result.n, 0);
    assert_int_equal(job->params.n, 0);
    assert_int_equal(job->asks.n, 0);
    assert_int_equal(job->inputs.n, 0);
}

static void a_damaged_result_is_not_given_out(void **state)
{
    RigId good;
    RigId bad;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    good = rig_add_one(&rig);
    end_job(&rig, &good, "", "{\"answer\":\"the good one\"}");
    bad = rig_add_one(&rig);
    end_job(&rig, &bad, "", "{\"answer\":\"the bad one\"}");
    damage(&rig, "the bad one");
    assert_int_equal(rig_do(&rig, QUEUE_GET, &bad), 0);
    assert_int_equal(rig.op.jobs[0].state, JOB_SUCCEEDED);
    assert_damaged(&rig.op.jobs[0]);
    assert_int_equal(rig_do(&rig, QUEUE_GET, &good), 0);
    assert_false(rig.op.jobs[0].is_damaged);
    assert_text(rig.op.jobs[0].result, "{\"answer\":\"the good one\"}");
    /* One of many does not keep the others from being listed. */
    OP_SET(rig_op(&rig, QUEUE_LIST), list.with_bodies, true);
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_jobs, 2);
    assert_damaged(&rig.op.jobs[0]);
    assert_false(rig.op.jobs[1].is_damaged);
    rig_deinit(&rig);
}

static void a_damaged_message_is_seen_where_bodies_are_not_read(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    id = rig_add_one(&rig);
    end_job(&rig, &id, "words of the end", "{}");
    damage(&rig, "words of the end");
    rig_op(&rig, QUEUE_LIST);
    assert_int_equal(rig_run(&rig), 0);
    assert_damaged(&rig.op.jobs[0]);
    rig_deinit(&rig);
}

static void damaged_parameters_do_not_run(void **state)
{
    RigId bad;
    RigId good;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    bad = RIG_ADD(&rig, .params = SPAN("{\"remove\":\"this one\"}"));
    good = RIG_ADD(&rig, .params = SPAN("{\"remove\":\"that one\"}"));
    damage(&rig, "this one");
    assert_int_equal(rig_claim(&rig, "", 9, 0), 1);
    assert_string_equal(rig.op.jobs[0].id, good.text);
    assert_int_equal(rig_claim(&rig, "", 9, 0), 0);
    rig_pass(&rig, 2);
    rig_sweep(&rig);
    assert_int_equal(rig.n_told, 1);
    assert_int_equal(rig.told[0], JOB_FAILED);
    assert_int_equal(rig_do(&rig, QUEUE_GET, &bad), 0);
    assert_int_equal(rig.op.jobs[0].state, JOB_FAILED);
    assert_int_equal(rig.op.jobs[0].n_attempts, 0);
    assert_damaged(&rig.op.jobs[0]);
    rig_deinit(&rig);
}

static void a_worker_that_fetches_by_method_gets_none_either(void **state)
{
    Rig rig;
    const Span methods[] = {SPAN_INIT("a_method")};

    (void)state;
    rig_init_file(&rig);
    (void)RIG_ADD(&rig, .method = methods[0], .pool = SPAN("pull"),
                  .params = SPAN("{\"remove\":\"this one\"}"));
    damage(&rig, "this one");
    OP_SET(rig_op(&rig, QUEUE_CLAIM), claim,
           (QueueClaim){
               .pool = SPAN("pull"), .max = 4, .lease_ms = 9, .methods = methods, .n_methods = 1});
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_jobs, 0);
    rig_deinit(&rig);
}

static void damaged_answers_are_not_used(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    id = rig_add_one(&rig);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    OP_SET(rig_op(&rig, QUEUE_ASK), id, span_from_str(id.text));
    rig.op.fence = 1;
    OP_SET(&rig.op, asks, SPAN("{\"which\":\"of the two\"}"));
    OP_SET(&rig.op, spec.note, SPAN("{\"a\":\"note of its own\"}"));
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig_do(&rig, QUEUE_GET, &id), 0);
    assert_false(rig.op.jobs[0].is_damaged); /* a note that changes, too, has its sum */
    assert_text(rig.op.jobs[0].note, "{\"a\":\"note of its own\"}");
    damage(&rig, "of the two");
    assert_int_equal(rig_do(&rig, QUEUE_GET, &id), 0);
    assert_damaged(&rig.op.jobs[0]);
    OP_SET(rig_op(&rig, QUEUE_ANSWER), id, span_from_str(id.text));
    OP_SET(&rig.op, inputs, SPAN("{\"which\":1}"));
    assert_int_equal(rig_run(&rig), QUEUE_E_DAMAGED);
    rig_deinit(&rig);
}

static void a_result_that_was_dropped_is_not_called_damaged(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    rig.store = store_close(rig.store);
    rig.config.keep_bytes = 1;
    rig_open(&rig);
    id = rig_add_one(&rig);
    end_job(&rig, &id, "", "{\"answer\":42}");
    rig_sweep(&rig);
    assert_int_equal(rig_do(&rig, QUEUE_GET, &id), 0);
    assert_true(rig.op.jobs[0].is_dropped);
    assert_false(rig.op.jobs[0].is_damaged);
    rig_deinit(&rig);
}

/* What a row is made of counts, each in its place. */
static void every_part_of_a_row_counts(void **state)
{
    const QueueJob job = {.method = SPAN("m"), .params = SPAN("{\"a\":1}"), .max_attempts = 3};
    QueueJob other = job;
    int64_t sum = store_sum_spec(1, &job);

    (void)state;
    assert_true(store_sum_spec(2, &job) != sum);
    other.is_idempotent = true;
    assert_true(store_sum_spec(1, &other) != sum);
    other = job;
    other.owner = SPAN("x");
    sum = store_sum_spec(1, &other);
    other.owner = SPAN_NULL;
    other.source = SPAN("x");
    assert_true(store_sum_spec(1, &other) != sum);
    assert_true(store_sum_outcome(1, SPAN("a"), SPAN("b"), SPAN_NULL) !=
                store_sum_outcome(1, SPAN("b"), SPAN("a"), SPAN_NULL));
    other = job;
    other.params = SPAN("{}");
    sum = store_sum_spec(1, &other);
    other.params = SPAN_NULL; /* which means the same */
    assert_true(store_sum_spec(1, &other) == sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_result_is_not_given_out),
        cmocka_unit_test(a_damaged_message_is_seen_where_bodies_are_not_read),
        cmocka_unit_test(damaged_parameters_do_not_run),
        cmocka_unit_test(a_worker_that_fetches_by_method_gets_none_either),
        cmocka_unit_test(damaged_answers_are_not_used),
        cmocka_unit_test(a_result_that_was_dropped_is_not_called_damaged),
        cmocka_unit_test(every_part_of_a_row_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
