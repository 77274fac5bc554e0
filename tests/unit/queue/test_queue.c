/* One commit for many, what is told, and how it ends. */
#include "queue/queue.h"

#include <errno.h>

#include "base/clock.h"
#include "support/oom_sweep.h"
#include "support/queue_op.h"
#include "support/sqlite_vfs.h"
#include "unit/queue/queue_rig.h"

static void a_job_is_enqueued_claimed_completed_and_survives(void **state)
{
    char id[QUEUE_ID_BYTES];
    QueueOp op;
    Rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(
        rig_enqueue(&rig, (QueueSpec){.method = SPAN("echo"), .params = SPAN("{\"a\":1}")}, id), 0);
    queue_op_init(&op);
    op.verb = QUEUE_CLAIM;
    OP_SET(&op, claim, (QueueClaim){.max = 4, .worker = SPAN("w")});
    assert_int_equal(queue_run(rig.queue, &op), 0);
    assert_int_equal(op.n_jobs, 1);
    assert_string_equal(op.jobs[0].id, id);
    assert_int_equal(op.jobs[0].state, JOB_RUNNING);
    assert_true(span_equals(op.jobs[0].params, SPAN("{\"a\":1}")));
    op.verb = QUEUE_COMPLETE;
    OP_SET(&op, id, span_from_str(id));
    op.fence = op.jobs[0].fence;
    OP_SET(&op, finish, (QueueFinish){.state = JOB_SUCCEEDED, .result = SPAN("{\"x\":2}")});
    assert_int_equal(queue_run(rig.queue, &op), 0);
    assert_int_equal(op.jobs[0].state, JOB_SUCCEEDED);
    queue_op_deinit(&op);

    rig.queue = queue_close(rig.queue);
    rig_open(&rig);
    queue_op_init(&op);
    op.verb = QUEUE_GET;
    OP_SET(&op, id, span_from_str(id));
    assert_int_equal(queue_run(rig.queue, &op), 0);
    assert_int_equal(op.jobs[0].state, JOB_SUCCEEDED);
    assert_true(span_equals(op.jobs[0].method, SPAN("echo")));
    assert_true(span_equals(op.jobs[0].params, SPAN("{\"a\":1}")));
    assert_true(span_equals(op.jobs[0].result, SPAN("{\"x\":2}")));
    assert_true(span_equals(op.jobs[0].code, SPAN("OK")));
    op.without_bodies = true;
    assert_int_equal(queue_run(rig.queue, &op), 0);
    assert_int_equal(op.jobs[0].result.n + op.jobs[0].params.n, 0);
    queue_op_deinit(&op);
    rig_deinit(&rig);
}

/* ---- group commit ---- */

typedef struct Many {
    QueueOp *ops;
    size_t n;
    atomic_size_t n_done;
    IoSemaphore all;
} Many;

static void on_one_of_many(QueueOp *op)
{
    Many *many = op->context;

    if (atomic_fetch_add(&many->n_done, 1) + 1 == many->n) {
        io_semaphore_post(&many->all);
    }
}

static void many_init(Many *many, size_t n)
{
    *many = (Many){.n = n};
    assert_int_equal(io_semaphore_init(&many->all), 0);
    many->ops = calloc(n, sizeof(*many->ops));
    assert_non_null(many->ops);
    for (size_t i = 0; i < n; i++) {
        queue_op_init(&many->ops[i]);
        many->ops[i].verb = QUEUE_ENQUEUE;
        OP_SET(&many->ops[i], spec.method, SPAN("m"));
        many->ops[i].done = on_one_of_many;
        many->ops[i].context = many;
    }
}

static void many_deinit(Many *many)
{
    for (size_t i = 0; i < many->n; i++) {
        queue_op_deinit(&many->ops[i]);
    }
    free(many->ops);
    io_semaphore_deinit(&many->all);
}

/* Submits all while the thread is held, and waits for all. */
static void many_run(Many *many, Rig *rig)
{
    QueueOp holder;

    rig_hold(rig, &holder);
    for (size_t i = 0; i < many->n; i++) {
        queue_submit(rig->queue, &many->ops[i]);
    }
    rig_release(rig);
    io_semaphore_wait(&many->all);
    queue_op_deinit(&holder);
}

static void what_comes_meanwhile_shares_one_commit(void **state)
{
    QueueFigures before;
    QueueFigures after;
    size_t n_syncs;
    Many many;
    Rig rig;

    (void)state;
    rig_init(&rig);
    many_init(&many, 100);
    before = queue_figures(rig.queue);
    n_syncs = atomic_load(&sqlite_vfs.n_syncs);
    many_run(&many, &rig);
    n_syncs = atomic_load(&sqlite_vfs.n_syncs) - n_syncs;
    after = queue_figures(rig.queue);
    for (size_t i = 0; i < many.n; i++) {
        assert_int_equal(many.ops[i].r, 0);
        assert_int_equal(many.ops[i].n_jobs, 1);
    }
    assert_int_equal(after.n_commits - before.n_commits, 1);
    assert_int_equal(after.n_ops - before.n_ops, 101);
    assert_int_equal(after.n_writes - before.n_writes, 100);
    assert_int_equal(n_syncs, 1);
    many_deinit(&many);
    rig_deinit(&rig);
}

/* One after another, and before what another thread submits later. */
static void several_are_submitted_at_once_and_in_order(void **state)
{
    QueueFigures before;
    int64_t last = 0;
    Many many;
    Rig rig;

    (void)state;
    rig_init(&rig);
    many_init(&many, LIMIT_QUEUE_BATCH + 3);
    for (size_t i = 0; i + 1 < many.n; i++) {
        many.ops[i].next = &many.ops[i + 1];
    }
    before = queue_figures(rig.queue);
    queue_submit_all(rig.queue, many.ops);
    io_semaphore_wait(&many.all);
    assert_int_equal(queue_figures(rig.queue).n_commits - before.n_commits, 2);
    for (size_t i = 0; i < many.n; i++) {
        int64_t number = strtoll(many.ops[i].jobs[0].id + sizeof("job-") - 1, NULL, 16);

        assert_int_equal(many.ops[i].r, 0);
        assert_true(number > last);
        last = number;
    }
    many_deinit(&many);
    rig_deinit(&rig);
}

static void a_batch_has_its_bounds(void **state)
{
    static char body[3 * 1024 * 1024];
    QueueFigures before;
    Many many;
    Rig rig;

    (void)state;
    rig_init(&rig);
    many_init(&many, LIMIT_QUEUE_BATCH + 1);
    before = queue_figures(rig.queue);
    many_run(&many, &rig);
    assert_int_equal(queue_figures(rig.queue).n_commits - before.n_commits, 2);
    many_deinit(&many);

    memset(body, ' ', sizeof(body));
    many_init(&many, 4);
    for (size_t i = 0; i < 4; i++) {
        OP_SET(&many.ops[i], spec.params, span_make(body, sizeof(body)));
    }
    before = queue_figures(rig.queue);
    many_run(&many, &rig);
    assert_int_equal(queue_figures(rig.queue).n_commits - before.n_commits, 2);
    many_deinit(&many);
    rig_deinit(&rig);
}

static void one_bad_operation_does_not_touch_the_others_of_its_batch(void **state)
{
    Many many;
    Rig rig;

    (void)state;
    rig_init(&rig);
    many_init(&many, 3);
    many.ops[1].verb = QUEUE_CANCEL;
    OP_SET(&many.ops[1], id, SPAN("nonsense"));
    many_run(&many, &rig);
    assert_int_equal(many.ops[0].r, 0);
    assert_int_equal(many.ops[1].r, QUEUE_E_BAD_ID);
    assert_int_equal(many.ops[2].r, 0);
    many_deinit(&many);
    rig_deinit(&rig);
}

static void a_lone_producer_waits_for_the_disk_once_for_each_job(void **state)
{
    static const int n = 1000;
    size_t n_syncs;
    Rig rig;

    (void)state;
    rig_init(&rig);
    n_syncs = atomic_load(&sqlite_vfs.n_syncs);
    for (int i = 0; i < n; i++) {
        assert_int_equal(rig_enqueue(&rig, (QueueSpec){.params = SPAN("{}")}, NULL), 0);
    }
    n_syncs = atomic_load(&sqlite_vfs.n_syncs) - n_syncs;
    assert_in_range(n_syncs, n, n + n / 5);
    rig_deinit(&rig);
}

typedef struct Told {
    IoSemaphore done;
    size_t n_unsynced; /* writes that the disk did not have when it was told */
} Told;

static void on_told(QueueOp *op)
{
    Told *told = op->context;

    told->n_unsynced += atomic_load(&sqlite_vfs.n_unsynced);
    io_semaphore_post(&told->done);
}

static void nothing_is_told_before_the_disk_has_it(void **state)
{
    Told told = {.n_unsynced = 0};
    QueueOp op;
    Rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(io_semaphore_init(&told.done), 0);
    queue_op_init(&op);
    op.done = on_told;
    op.context = &told;
    for (int i = 0; i < 20; i++) {
        size_t n_writes = atomic_load(&sqlite_vfs.n_writes);

        op.verb = i % 2 == 0 ? QUEUE_ENQUEUE : QUEUE_CLAIM;
        OP_SET(&op, spec.method, SPAN("m"));
        OP_SET(&op, claim.max, 1);
        queue_submit(rig.queue, &op);
        io_semaphore_wait(&told.done);
        assert_int_equal(op.r, 0);
        assert_true(atomic_load(&sqlite_vfs.n_writes) > n_writes);
    }
    assert_int_equal(told.n_unsynced, 0);
    queue_op_deinit(&op);
    io_semaphore_deinit(&told.done);
    rig_deinit(&rig);
}

static void completing_and_the_next_claim_are_one_commit(void **state)
{
    char ids[2][QUEUE_ID_BYTES];
    QueueFigures before;
    QueueOp op;
    Rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 1}, ids[0]), 0);
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 2}, ids[1]), 0);
    queue_op_init(&op);
    op.fence = rig_claim(&rig, 0);
    op.verb = QUEUE_COMPLETE;
    OP_SET(&op, id, span_from_str(ids[0]));
    OP_SET(&op, finish, (QueueFinish){.state = JOB_SUCCEEDED});
    OP_SET(&op, claim, (QueueClaim){.max = 1});
    before = queue_figures(rig.queue);
    assert_int_equal(queue_run(rig.queue, &op), 0);
    assert_int_equal(queue_figures(rig.queue).n_commits - before.n_commits, 1);
    assert_int_equal(op.n_jobs, 2);
    assert_string_equal(op.jobs[1].id, ids[1]);
    queue_op_deinit(&op);
    rig_deinit(&rig);
}

/* ---- threads ---- */

#define PRODUCERS 8
#define EACH      50

static void produce(void *context)
{
    Rig *rig = context;

    for (int i = 0; i < EACH; i++) {
        char id[QUEUE_ID_BYTES];

        if (rig_enqueue(rig, (QueueSpec){.params = SPAN("{}")}, id) != 0 ||
            rig_do(rig, QUEUE_GET, id, NULL) != 0) {
            abort();
        }
    }
}

static atomic_size_t n_consumed;

static void consume(void *context)
{
    Rig *rig = context;
    QueueOp op;

    queue_op_init(&op);
    while (atomic_load(&n_consumed) < (size_t)PRODUCERS * EACH) {
        char id[QUEUE_ID_BYTES];

        op.verb = QUEUE_CLAIM;
        OP_SET(&op, claim, (QueueClaim){.max = 1});
        if (queue_run(rig->queue, &op) != 0) {
            abort();
        }
        if (op.n_jobs == 0) {
            arena_reset(&op.arena, 4096);
            continue;
        }
        memcpy(id, op.jobs[0].id, sizeof(id));
        op.fence = op.jobs[0].fence;
        op.verb = QUEUE_COMPLETE;
        OP_SET(&op, id, span_from_str(id));
        OP_SET(&op, claim.max, 0);
        OP_SET(&op, finish, (QueueFinish){.state = JOB_SUCCEEDED});
        if (queue_run(rig->queue, &op) != 0) {
            abort();
        }
        atomic_fetch_add(&n_consumed, 1);
        arena_reset(&op.arena, 4096);
    }
    queue_op_deinit(&op);
}

static void every_job_of_many_threads_runs_once(void **state)
{
    IoThread producers[PRODUCERS];
    IoThread consumers[3];
    QueueOp op;
    Rig rig;

    (void)state;
    rig_init(&rig);
    atomic_store(&n_consumed, 0);
    for (int i = 0; i < PRODUCERS; i++) {
        assert_int_equal(io_thread_start(&producers[i], produce, &rig), 0);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(io_thread_start(&consumers[i], consume, &rig), 0);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        io_thread_join(&producers[i]);
    }
    for (int i = 0; i < 3; i++) {
        io_thread_join(&consumers[i]);
    }
    queue_op_init(&op);
    op.verb = QUEUE_COUNT;
    assert_int_equal(queue_run(rig.queue, &op), 0);
    assert_int_equal(op.counts.n[JOB_SUCCEEDED], PRODUCERS * EACH);
    assert_int_equal(op.counts.n[JOB_ENQUEUED] + op.counts.n[JOB_RUNNING], 0);
    queue_op_deinit(&op);
    rig_deinit(&rig);
}

typedef struct Chain {
    Rig *rig;
    int n;
    int deadlock; /* what queue_run said on the queue's thread */
    int last;
    IoSemaphore done;
} Chain;

static void on_chain(QueueOp *op)
{
    Chain *chain = op->context;
    QueueOp inner;

    queue_op_init(&inner);
    inner.verb = QUEUE_COUNT;
    chain->deadlock = queue_run(chain->rig->queue, &inner);
    queue_op_deinit(&inner);
    if (--chain->n > 0) {
        queue_submit(chain->rig->queue, op);
    } else {
        io_semaphore_post(&chain->done);
    }
}

static void done_may_submit_again_but_not_wait(void **state)
{
    Chain chain = {.n = 5};
    QueueOp op;
    Rig rig;

    (void)state;
    rig_init(&rig);
    chain.rig = &rig;
    assert_int_equal(io_semaphore_init(&chain.done), 0);
    queue_op_init(&op);
    op.verb = QUEUE_ENQUEUE;
    OP_SET(&op, spec.method, SPAN("m"));
    op.done = on_chain;
    op.context = &chain;
    queue_submit(rig.queue, &op);
    io_semaphore_wait(&chain.done);
    assert_int_equal(op.r, 0);
    assert_int_equal(chain.deadlock, -EDEADLK);
    queue_op_deinit(&op);
    op = (QueueOp){.verb = QUEUE_COUNT}; /* without init */
    assert_int_equal(queue_run(rig.queue, &op), 0);
    assert_int_equal(op.counts.n[JOB_ENQUEUED], 5);
    queue_op_deinit(&op);
    io_semaphore_deinit(&chain.done);
    rig_deinit(&rig);
}

/* ---- the end ---- */

static void on_until_closed(QueueOp *op)
{
    Chain *chain = op->context;

    chain->n++;
    chain->last = op->r;
    if (op->r == 0) {
        queue_submit(chain->rig->queue, op);
    }
}

static void what_was_submitted_is_done_and_what_comes_later_is_told_so(void **state)
{
    Chain chain = {.n = 0};
    QueueOp holder;
    QueueOp op;
    Many many;
    Rig rig;

    (void)state;
    rig_init(&rig);
    chain.rig = &rig;
    many_init(&many, 2 * LIMIT_QUEUE_BATCH);
    queue_op_init(&op);
    op.verb = QUEUE_COUNT;
    op.done = on_until_closed;
    op.context = &chain;
    rig_hold(&rig, &holder);
    for (size_t i = 0; i < many.n; i++) {
        queue_submit(rig.queue, &many.ops[i]);
    }
    queue_submit(rig.queue, &op); /* asks again until it is told */
    rig_release(&rig);
    rig.queue = queue_close(rig.queue);
    for (size_t i = 0; i < many.n; i++) {
        assert_int_equal(many.ops[i].r, 0);
    }
    assert_int_equal(chain.last, QUEUE_E_CLOSED);
    assert_true(chain.n >= 2);
    many_deinit(&many);
    queue_op_deinit(&op);
    queue_op_deinit(&holder);
    assert_null(queue_close(NULL));
    rig_open(&rig);
    rig_deinit(&rig);
}

/* ---- what is told ---- */

static void a_quiet_job_is_told_by_its_answer_alone(void **state)
{
    const RigChange *change;
    char id[QUEUE_ID_BYTES];
    QueueOp op;
    Rig rig;

    (void)state;
    rig_init(&rig);
    queue_op_init(&op);
    op.verb = QUEUE_ENQUEUE;
    OP_SET(&op, spec.method, SPAN("m"));
    op.is_quiet = true;
    assert_int_equal(queue_run(rig.queue, &op), 0);
    assert_int_equal(op.n_jobs, 1);
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.method = SPAN("mm")}, id), 0);
    change = rig_next_change(&rig); /* the first that is told is the second job's */
    assert_string_equal(change->id, id);
    queue_op_deinit(&op);
    rig_deinit(&rig);
}

static void changes_that_nobody_here_asked_for_are_told(void **state)
{
    const RigChange *change;
    char id[QUEUE_ID_BYTES];
    JobState now;
    Rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.method = SPAN("mm"), .pool = SPAN("pull")}, id),
                     0);
    change = rig_next_change(&rig);
    assert_int_equal(change->state, JOB_ENQUEUED);
    assert_string_equal(change->id, id);
    assert_string_equal(change->pool, "pull");
    assert_string_equal(change->method, "mm");

    assert_int_equal(rig_do(&rig, QUEUE_CANCEL, id, NULL), 0);
    change = rig_next_change(&rig);
    assert_int_equal(change->state, JOB_CANCELLED);
    assert_string_equal(change->pool, "pull");

    assert_int_equal(rig_do(&rig, QUEUE_RETRY, id, NULL), 0);
    change = rig_next_change(&rig);
    assert_int_equal(change->state, JOB_ENQUEUED);

    /* By itself: a delay that is over, and a lease. */
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.delay_ms = 5}, id), 0);
    change = rig_next_change(&rig);
    assert_int_equal(change->state, JOB_ENQUEUED);
    assert_string_equal(change->id, id);
    (void)rig_claim(&rig, 5);
    change = rig_next_change(&rig);
    assert_int_equal(change->state, JOB_FAILED);
    assert_string_equal(change->id, id);
    assert_int_equal(rig_do(&rig, QUEUE_GET, id, &now), 0);
    assert_int_equal(now, JOB_FAILED);
    rig_deinit(&rig);
}

static void a_purge_of_many_lets_others_in_between(void **state)
{
    QueueOp ops[2];
    Many many;
    Rig rig;

    (void)state;
    rig_init(&rig);
    many_init(&many, 600);
    many_run(&many, &rig);
    for (size_t i = 0; i < many.n; i++) {
        assert_int_equal(rig_do(&rig, QUEUE_CANCEL, many.ops[i].jobs[0].id, NULL), 0);
    }
    many_deinit(&many);
    for (size_t i = 0; i < 2; i++) {
        queue_op_init(&ops[i]);
    }
    ops[0].verb = QUEUE_PURGE;
    assert_int_equal(queue_run(rig.queue, &ops[0]), 0);
    assert_int_equal(ops[0].n_changed, 600);
    ops[1].verb = QUEUE_COUNT;
    assert_int_equal(queue_run(rig.queue, &ops[1]), 0);
    assert_int_equal(ops[1].counts.n[JOB_CANCELLED], 0);
    queue_op_deinit(&ops[0]);
    queue_op_deinit(&ops[1]);
    rig_deinit(&rig);
}

/* ---- clocks ---- */

static int64_t rig_wall_us(void *context)
{
    Rig *rig = context;

    return atomic_load(&rig->wall_us);
}

static void stamps_do_not_go_back_with_the_clock(void **state)
{
    static const int64_t start_us = (int64_t)1700000000 * 1000000;
    int64_t last_us = 0;
    uint64_t began_ns;
    QueueOp op;
    Rig rig;

    (void)state;
    rig_init(&rig);
    rig.queue = queue_close(rig.queue);
    assert_int_equal(unlink(rig.path), 0);
    rig.config.wall_us = rig_wall_us;
    atomic_store(&rig.wall_us, start_us);
    rig_open(&rig);
    queue_op_init(&op);
    op.verb = QUEUE_ENQUEUE;
    OP_SET(&op, spec.method, SPAN("m"));
    for (int i = 0; i < 4; i++) {
        static const int64_t steps_s[] = {0, 10, -3600, 5};

        atomic_fetch_add(&rig.wall_us, steps_s[i] * 1000000);
        assert_int_equal(queue_run(rig.queue, &op), 0);
        assert_true(op.jobs[0].enqueued_us >= last_us);
        last_us = op.jobs[0].enqueued_us;
    }
    /* By what has passed, not by the hour: there is no telling how long the test takes. */
    assert_in_range(last_us - start_us, 10 * 1000000, (int64_t)1800 * 1000000);

    /* The wall clock stands for the queue, and time goes on in spite of it. */
    began_ns = clock_monotonic_ns();
    while (clock_monotonic_ns() - began_ns < 2000000) {
        /* 2 ms */
    }
    assert_int_equal(queue_run(rig.queue, &op), 0);
    assert_true(op.jobs[0].enqueued_us - last_us >= 2000);
    queue_op_deinit(&op);

    /* A lease of 5 ms ends in spite of it. */
    (void)rig_claim(&rig, 5);
    while (rig_next_change(&rig)->state != JOB_FAILED) {
        /* those that were enqueued */
    }
    rig_deinit(&rig);
}

/* ---- opening ---- */

static int open_and_close(void *context)
{
    QueueConfig config = {.path = ":memory:"};
    Queue *queue = NULL;
    Diag diag = DIAG_NULL;
    int r = queue_open(&queue, &config, &diag);

    (void)context;
    (void)queue_close(queue);
    return r;
}

static void failed_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    test_oom_sweep(open_and_close, NULL);
}

static void an_open_that_fails_says_why(void **state)
{
    QueueConfig config = {.path = "/nowhere/at/all"};
    Queue *queue = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_true(queue_open(&queue, &config, &diag) != 0);
    assert_null(queue);
    assert_string_not_equal(diag.message, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_enqueued_claimed_completed_and_survives),
        cmocka_unit_test(what_comes_meanwhile_shares_one_commit),
        cmocka_unit_test(several_are_submitted_at_once_and_in_order),
        cmocka_unit_test(a_batch_has_its_bounds),
        cmocka_unit_test(one_bad_operation_does_not_touch_the_others_of_its_batch),
        cmocka_unit_test(a_lone_producer_waits_for_the_disk_once_for_each_job),
        cmocka_unit_test(nothing_is_told_before_the_disk_has_it),
        cmocka_unit_test(completing_and_the_next_claim_are_one_commit),
        cmocka_unit_test(every_job_of_many_threads_runs_once),
        cmocka_unit_test(done_may_submit_again_but_not_wait),
        cmocka_unit_test(what_was_submitted_is_done_and_what_comes_later_is_told_so),
        cmocka_unit_test(a_quiet_job_is_told_by_its_answer_alone),
        cmocka_unit_test(changes_that_nobody_here_asked_for_are_told),
        cmocka_unit_test(a_purge_of_many_lets_others_in_between),
        cmocka_unit_test(stamps_do_not_go_back_with_the_clock),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
        cmocka_unit_test(an_open_that_fails_says_why),
    };

    if (sqlite_vfs_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
