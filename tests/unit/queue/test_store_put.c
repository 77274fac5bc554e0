/* Rows that wait for their statement: nobody who asks in the same batch can tell. */
#include "queue/store_sqlite.h"

#include "store_rig.h"
#include "support/queue_op.h"

enum {
    MANY = 3 * STORE_PUTS + 7
};

/* One for each step of a job: an operation is not used again before its batch is committed. */
static QueueOp ops[MANY];
static QueueOp claims[MANY];
static QueueOp ends[MANY];
static RigId ids[MANY];

static void ops_init(void)
{
    for (size_t i = 0; i < MANY; i++) {
        queue_op_init(&ops[i]);
        queue_op_init(&claims[i]);
        queue_op_init(&ends[i]);
    }
}

static void ops_deinit(void)
{
    for (size_t i = 0; i < MANY; i++) {
        queue_op_deinit(&ops[i]);
        queue_op_deinit(&claims[i]);
        queue_op_deinit(&ends[i]);
    }
}

static void begin(Rig *rig)
{
    assert_int_equal(store_begin(rig->store, rig->now), 0);
}

static void commit(Rig *rig)
{
    assert_int_equal(store_commit(rig->store, &rig->wrote), 0);
    assert_true(rig->wrote);
}

static void run(Rig *rig, QueueOp *op)
{
    assert_int_equal(store_run(rig->store, op), 0);
    assert_int_equal(op->r, 0);
}

static void enqueue(Rig *rig, size_t i)
{
    ops[i].verb = QUEUE_ENQUEUE;
    OP_SET(&ops[i], spec, (QueueSpec){.method = SPAN("m"), .params = SPAN("{\"a\":1}")});
    run(rig, &ops[i]);
    ids[i] = rig_id(&ops[i].jobs[0]);
}

static void claim(Rig *rig, size_t i)
{
    claims[i].verb = QUEUE_CLAIM;
    OP_SET(&claims[i], claim, (QueueClaim){.max = 1, .worker = SPAN("w")});
    run(rig, &claims[i]);
    assert_int_equal(claims[i].n_jobs, 1);
    assert_string_equal(claims[i].jobs[0].id, ids[i].text);
}

static void complete(Rig *rig, size_t i)
{
    ends[i].verb = QUEUE_COMPLETE;
    OP_SET(&ends[i], id, span_from_str(ids[i].text));
    ends[i].fence = 1;
    OP_SET(&ends[i], finish, (QueueFinish){.state = JOB_SUCCEEDED, .result = SPAN("{\"b\":2}")});
    run(rig, &ends[i]);
}

static void assert_ended(Rig *rig, const RigId *id)
{
    const QueueJob *job = rig_get(rig, id);

    assert_int_equal(job->state, JOB_SUCCEEDED);
    assert_text(job->params, "{\"a\":1}");
    assert_text(job->result, "{\"b\":2}");
    assert_text(job->code, "OK");
    assert_text(job->worker, "w");
    assert_int_equal(job->fence, 1);
    assert_int_equal(job->version, 3);
}

static void more_rows_than_wait_at_once_are_all_written(void **state)
{
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    ops_init();
    begin(&rig);
    for (size_t i = 0; i < MANY; i++) {
        enqueue(&rig, i);
    }
    commit(&rig);
    begin(&rig);
    for (size_t i = 0; i < MANY; i++) {
        claim(&rig, i);
    }
    commit(&rig);
    begin(&rig);
    for (size_t i = 0; i < MANY; i++) {
        complete(&rig, i);
    }
    commit(&rig);
    rig_reopen(&rig);
    for (size_t i = 0; i < MANY; i++) {
        assert_ended(&rig, &ids[i]);
    }
    assert_int_equal(rig_claim(&rig, "", 1, 0), 0);
    ops_deinit();
    rig_deinit(&rig);
}

static void a_whole_life_may_be_in_one_batch(void **state)
{
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    ops_init();
    begin(&rig);
    for (size_t i = 0; i < 3; i++) {
        enqueue(&rig, i);
    }
    for (size_t i = 0; i < 3; i++) {
        claim(&rig, i);
        complete(&rig, i);
    }
    commit(&rig);
    rig_reopen(&rig);
    for (size_t i = 0; i < 3; i++) {
        assert_ended(&rig, &ids[i]);
    }
    ops_deinit();
    rig_deinit(&rig);
}

static void what_is_asked_in_the_same_batch_sees_them(void **state)
{
    QueueOp get;
    Rig rig;

    (void)state;
    rig_init(&rig);
    ops_init();
    queue_op_init(&get);
    begin(&rig);
    enqueue(&rig, 0);
    get.verb = QUEUE_GET;
    OP_SET(&get, id, span_from_str(ids[0].text));
    run(&rig, &get);
    assert_text(get.jobs[0].params, "{\"a\":1}");
    claim(&rig, 0);
    get.verb = QUEUE_LIST;
    OP_SET(&get, list, (QueueList){.has_state = true, .state = JOB_RUNNING});
    run(&rig, &get);
    assert_int_equal(get.n_jobs, 1);
    complete(&rig, 0);
    get.verb = QUEUE_GET;
    run(&rig, &get);
    assert_int_equal(get.jobs[0].state, JOB_SUCCEEDED);
    assert_text(get.jobs[0].result, "{\"b\":2}");
    commit(&rig);
    queue_op_deinit(&get);
    ops_deinit();
    rig_deinit(&rig);
}

static void a_key_that_waits_is_known(void **state)
{
    Rig rig;

    (void)state;
    rig_init(&rig);
    ops_init();
    begin(&rig);
    for (size_t i = 0; i < 2; i++) {
        ops[i].verb = QUEUE_ENQUEUE;
        OP_SET(&ops[i], spec, (QueueSpec){.method = SPAN("m"), .idempotency_key = SPAN("k")});
        run(&rig, &ops[i]);
    }
    assert_false(ops[0].is_known);
    assert_true(ops[1].is_known);
    assert_string_equal(ops[0].jobs[0].id, ops[1].jobs[0].id);
    commit(&rig);
    ops_deinit();
    rig_deinit(&rig);
}

static void what_is_undone_is_not_written_later(void **state)
{
    QueueCounts counts;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    ops_init();
    begin(&rig);
    enqueue(&rig, 0);
    store_rollback(rig.store);
    begin(&rig);
    enqueue(&rig, 1); /* by the same number, and another secret */
    commit(&rig);
    assert_int_equal(rig_do(&rig, QUEUE_GET, &ids[0]), QUEUE_E_MISSING);
    begin(&rig);
    ops[2].verb = QUEUE_CLAIM;
    OP_SET(&ops[2], claim, (QueueClaim){.max = 1});
    run(&rig, &ops[2]);
    assert_int_equal(ops[2].n_jobs, 1);
    store_rollback(rig.store);
    rig_reopen(&rig);
    assert_int_equal(rig_state(&rig, &ids[1]), JOB_ENQUEUED);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n[JOB_ENQUEUED], 1);
    assert_int_equal(rig_claim(&rig, "", 8, 0), 1);
    ops_deinit();
    rig_deinit(&rig);
}

static void a_retry_comes_behind_the_end_that_waits(void **state)
{
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    ops_init();
    begin(&rig);
    enqueue(&rig, 0);
    commit(&rig);
    begin(&rig);
    claim(&rig, 0);
    ops[1].verb = QUEUE_COMPLETE;
    OP_SET(&ops[1], id, span_from_str(ids[0].text));
    ops[1].fence = 1;
    OP_SET(&ops[1], finish, (QueueFinish){.state = JOB_FAILED, .result = SPAN("{\"b\":2}")});
    run(&rig, &ops[1]);
    ops[2].verb = QUEUE_RETRY;
    OP_SET(&ops[2], id, span_from_str(ids[0].text));
    run(&rig, &ops[2]);
    commit(&rig);
    rig_reopen(&rig);
    assert_int_equal(rig_get(&rig, &ids[0])->state, JOB_ENQUEUED);
    assert_text(rig.op.jobs[0].result, "");
    assert_int_equal(rig_claim(&rig, "", 8, 0), 1);
    assert_int_equal(rig.op.jobs[0].fence, 2);
    ops_deinit();
    rig_deinit(&rig);
}

static void numbers_of_any_size_come_back(void **state)
{
    static const int64_t numbers[] = {0,           1,         -1,        63,
                                      64,          -64,       -65,       STORE_FRONT,
                                      STORE_NEVER, INT64_MAX, INT64_MIN, 1700000000000000};
    Rig rig;

    (void)state;
    rig_init(&rig);
    (void)rig_add_one(&rig);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        StoreRow row;
        StoreRow back;
        bool found = false;

        begin(&rig);
        assert_int_equal(store_row_get(rig.store, 1, &row, &found), 0);
        assert_true(found);
        row.seq = row.fence = row.n_attempts = row.lease_us = row.end_us = numbers[i];
        row.span_ms = row.started_us = row.keep_ms = numbers[i];
        row.beat_us = numbers[sizeof(numbers) / sizeof(numbers[0]) - 1 - i];
        row.due_us = STORE_NEVER; /* not among those that are ready */
        assert_int_equal(store_row_set(rig.store, &row, JOB_ENQUEUED, row.flags), 0);
        commit(&rig);
        store_cache_clear(rig.store);
        assert_int_equal(store_row_get(rig.store, 1, &back, &found), 0);
        assert_true(found);
        assert_memory_equal(&back.secret, &row.secret, sizeof(row.secret));
        assert_true(back.seq == numbers[i] && back.fence == numbers[i] &&
                    back.n_attempts == numbers[i] && back.lease_us == numbers[i] &&
                    back.end_us == numbers[i] && back.span_ms == numbers[i] &&
                    back.started_us == numbers[i] && back.keep_ms == numbers[i]);
        assert_true(back.beat_us == row.beat_us && back.changed_us == row.changed_us &&
                    back.version == row.version);
    }
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_rows_than_wait_at_once_are_all_written),
        cmocka_unit_test(a_whole_life_may_be_in_one_batch),
        cmocka_unit_test(what_is_asked_in_the_same_batch_sees_them),
        cmocka_unit_test(a_key_that_waits_is_known),
        cmocka_unit_test(what_is_undone_is_not_written_later),
        cmocka_unit_test(a_retry_comes_behind_the_end_that_waits),
        cmocka_unit_test(numbers_of_any_size_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
