/* A disk that is full, or fails: nothing is acknowledged, what can be read is read, and it goes on
 * when the disk does. */
#include "queue/queue_impl.h"

#include <errno.h>

#include "support/queue_op.h"
#include "support/sqlite_vfs.h"
#include "unit/queue/queue_rig.h"

static void count_jobs(Rig *rig, QueueCounts *ret)
{
    QueueOp op;

    queue_op_init(&op);
    op.verb = QUEUE_COUNT;
    assert_int_equal(queue_run(rig->queue, &op), 0);
    *ret = op.counts;
    queue_op_deinit(&op);
}

/* With a disk that says no to writing or to settling, and what then comes of an operation. */
static void fails_and_goes_on(atomic_int *result, int code, int wanted)
{
    char id[QUEUE_ID_BYTES];
    char lost[QUEUE_ID_BYTES];
    QueueCounts counts;
    JobState now = JOB_N_STATES;
    Rig rig;

    rig_init(&rig);
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 1}, id), 0);
    atomic_store(result, code);
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 2}, lost), wanted);
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 2}, lost), wanted);
    assert_int_equal(rig_do(&rig, QUEUE_CANCEL, id, NULL), wanted);
    assert_int_equal(rig_do(&rig, QUEUE_GET, id, &now), 0); /* reading goes on */
    assert_int_equal(now, JOB_ENQUEUED);
    atomic_store(result, SQLITE_OK);
    count_jobs(&rig, &counts);
    assert_int_equal(counts.n[JOB_ENQUEUED], 1);
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 3}, NULL), 0);
    rig.queue = queue_close(rig.queue);
    rig_open(&rig);
    count_jobs(&rig, &counts);
    assert_int_equal(counts.n[JOB_ENQUEUED], 2);
    assert_int_equal(rig_do(&rig, QUEUE_GET, id, &now), 0);
    rig_deinit(&rig);
}

static void a_full_disk_refuses_and_takes_again(void **state)
{
    (void)state;
    fails_and_goes_on(&sqlite_vfs.write_result, SQLITE_FULL, QUEUE_E_DISK_FULL);
}

static void a_disk_that_cannot_write_refuses_and_takes_again(void **state)
{
    (void)state;
    fails_and_goes_on(&sqlite_vfs.write_result, SQLITE_IOERR_WRITE, -EIO);
}

static void a_disk_that_cannot_sync_refuses_and_takes_again(void **state)
{
    (void)state;
    fails_and_goes_on(&sqlite_vfs.sync_result, SQLITE_IOERR_FSYNC, -EIO);
}

static void on_done(QueueOp *op)
{
    io_semaphore_post(op->context);
}

static void what_reads_in_a_batch_that_fails_is_read_all_the_same(void **state)
{
    char id[QUEUE_ID_BYTES];
    IoSemaphore done;
    QueueOp holder;
    QueueOp ops[3];
    Rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(io_semaphore_init(&done), 0);
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.params = SPAN("{\"a\":1}")}, id), 0);
    rig_hold(&rig, &holder);
    for (int i = 0; i < 3; i++) {
        queue_op_init(&ops[i]);
        ops[i].done = on_done;
        ops[i].context = &done;
    }
    ops[0].verb = QUEUE_GET;
    OP_SET(&ops[0], id, span_from_str(id));
    ops[1].verb = QUEUE_CLAIM;
    OP_SET(&ops[1], claim, (QueueClaim){.max = 1});
    ops[2].verb = QUEUE_GET; /* would have seen it running */
    OP_SET(&ops[2], id, span_from_str(id));
    for (int i = 0; i < 3; i++) {
        queue_submit(rig.queue, &ops[i]);
    }
    atomic_store(&sqlite_vfs.write_result, SQLITE_FULL);
    rig_release(&rig);
    for (int i = 0; i < 3; i++) {
        io_semaphore_wait(&done);
    }
    atomic_store(&sqlite_vfs.write_result, SQLITE_OK);
    assert_int_equal(ops[0].r, 0);
    assert_int_equal(ops[1].r, QUEUE_E_DISK_FULL);
    assert_int_equal(ops[1].n_jobs, 0);
    assert_int_equal(ops[2].r, 0);
    assert_int_equal(ops[2].jobs[0].state, JOB_ENQUEUED);
    assert_true(span_equals(ops[2].jobs[0].params, SPAN("{\"a\":1}")));
    for (int i = 0; i < 3; i++) {
        queue_op_deinit(&ops[i]);
    }
    queue_op_deinit(&holder);
    io_semaphore_deinit(&done);
    rig_deinit(&rig);
}

static void what_is_due_while_the_disk_is_full_is_seen_to_later(void **state)
{
    const RigChange *change;
    char id[QUEUE_ID_BYTES];
    Rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 1}, id), 0);
    (void)rig_claim(&rig, 1);
    atomic_store(&sqlite_vfs.write_result, SQLITE_FULL);
    /* Whether the sweep came before or comes now: it is told in the end. */
    (void)rig_enqueue(&rig, (QueueSpec){.priority = 1}, NULL);
    atomic_store(&sqlite_vfs.write_result, SQLITE_OK);
    do {
        change = rig_next_change(&rig);
    } while (change->state != JOB_FAILED);
    assert_string_equal(change->id, id);
    rig_deinit(&rig);
}

/* Lines of a log, and the last of them. */
typedef struct Lines {
    atomic_int n;
    char last[512];
} Lines;

static void on_line(void *context, const char *line, size_t n)
{
    Lines *lines = context;

    (void)snprintf(lines->last, sizeof(lines->last), "%.*s", (int)n, line);
    atomic_fetch_add(&lines->n, 1);
}

static void a_full_disk_is_logged_once_and_so_is_its_end(void **state)
{
    Lines lines = {.n = 0};
    const LogSink log = {.level = LOGSINK_LEVEL_WARN, .write_fn = on_line, .context = &lines};
    Rig rig;

    (void)state;
    rig_init(&rig);
    rig.queue = queue_close(rig.queue);
    rig.config.log = &log;
    rig_open(&rig);
    atomic_store(&sqlite_vfs.write_result, SQLITE_FULL);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 1}, NULL), QUEUE_E_DISK_FULL);
    }
    assert_int_equal(atomic_load(&lines.n), 1);
    assert_non_null(strstr(lines.last, "queue.db is full"));
    /* Another reason is news. */
    atomic_store(&sqlite_vfs.write_result, SQLITE_IOERR_WRITE);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 1}, NULL), -EIO);
    }
    assert_int_equal(atomic_load(&lines.n), 2);
    atomic_store(&sqlite_vfs.write_result, SQLITE_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 1}, NULL), 0);
    }
    assert_int_equal(atomic_load(&lines.n), 3);
    assert_non_null(strstr(lines.last, "is written again; 100 commits have failed"));
    rig_deinit(&rig);
}

static void failures_between_successes_are_logged_once(void **state)
{
    Lines lines = {.n = 0};
    const LogSink log = {.level = LOGSINK_LEVEL_WARN, .write_fn = on_line, .context = &lines};
    Rig rig;

    (void)state;
    rig_init(&rig);
    rig.queue = queue_close(rig.queue);
    rig.config.log = &log;
    rig_open(&rig);
    for (int i = 0; i < 20; i++) {
        atomic_store(&sqlite_vfs.write_result, SQLITE_FULL);
        assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 1}, NULL), QUEUE_E_DISK_FULL);
        atomic_store(&sqlite_vfs.write_result, SQLITE_OK);
        assert_int_equal(rig_enqueue(&rig, (QueueSpec){.priority = 1}, NULL), 0);
    }
    assert_int_equal(atomic_load(&lines.n), 2); /* it is full, it is written again */
    assert_non_null(strstr(lines.last, "is written again; 1 commits have failed"));
    rig_deinit(&rig);
}

static void opening_on_a_full_disk_says_so(void **state)
{
    Diag diag = DIAG_NULL;
    Rig rig;
    int r;

    (void)state;
    rig_init(&rig);
    rig.queue = queue_close(rig.queue);
    atomic_store(&sqlite_vfs.write_result, SQLITE_FULL);
    r = queue_open(&rig.queue, &rig.config, &diag);
    atomic_store(&sqlite_vfs.write_result, SQLITE_OK);
    assert_int_equal(r, -ENOSPC);
    assert_string_not_equal(diag.message, "");
    rig_open(&rig);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_refuses_and_takes_again),
        cmocka_unit_test(a_disk_that_cannot_write_refuses_and_takes_again),
        cmocka_unit_test(a_disk_that_cannot_sync_refuses_and_takes_again),
        cmocka_unit_test(what_reads_in_a_batch_that_fails_is_read_all_the_same),
        cmocka_unit_test(what_is_due_while_the_disk_is_full_is_seen_to_later),
        cmocka_unit_test(a_full_disk_is_logged_once_and_so_is_its_end),
        cmocka_unit_test(failures_between_successes_are_logged_once),
        cmocka_unit_test(opening_on_a_full_disk_says_so),
    };

    if (sqlite_vfs_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
