/* Claims that name methods: jobs come into the index of those when the first such claim is made. */
#include "store_rig.h"

#include "queue/store_sqlite.h"
#include "support/queue_op.h"

/* Claims up to max jobs of the pool "p" with that method; they are in rig->op.jobs. */
static size_t claim_method(Rig *rig, const char *method, size_t max)
{
    const Span wanted = span_from_str(method);

    OP_SET(rig_op(rig, QUEUE_CLAIM), claim,
           (QueueClaim){.pool = SPAN("p"),
                        .worker = SPAN("w"),
                        .max = max,
                        .lease_ms = 1000,
                        .methods = &wanted,
                        .n_methods = 1});
    assert_int_equal(rig_run(rig), 0);
    return rig->op.n_jobs;
}

static int64_t count(Rig *rig, const char *text)
{
    sqlite3_stmt *sql = NULL;
    int64_t n;

    assert_int_equal(sqlite3_prepare_v2(rig->store->db, text, -1, &sql, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(sql), SQLITE_ROW);
    n = sqlite3_column_int64(sql, 0);
    assert_int_equal(sqlite3_finalize(sql), SQLITE_OK);
    return n;
}

#define COUNT_NAMED "SELECT count(*) FROM job WHERE method IS NOT NULL"

static void nobody_pays_for_methods_that_nobody_names(void **state)
{
    Rig rig;

    (void)state;
    rig_init(&rig);
    (void)RIG_ADD(&rig, .method = SPAN("a"), .pool = SPAN("p"));
    (void)RIG_ADD(&rig, .method = SPAN("a"));
    assert_int_equal(rig_claim(&rig, "p", 1, 1000), 1);
    assert_int_equal(count(&rig, COUNT_NAMED), 0);
    rig_deinit(&rig);
}

static void what_waits_is_found_by_the_first_claim(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    (void)RIG_ADD(&rig, .method = SPAN("b"), .pool = SPAN("p"));
    id = RIG_ADD(&rig, .method = SPAN("a"), .pool = SPAN("p"));
    (void)RIG_ADD(&rig, .method = SPAN("a"));
    assert_int_equal(claim_method(&rig, "a", 9), 1);
    assert_string_equal(rig.op.jobs[0].id, id.text);
    assert_int_equal(count(&rig, COUNT_NAMED), 2); /* not that of this process's own pool */
    id = RIG_ADD(&rig, .method = SPAN("a"), .pool = SPAN("p"));
    assert_int_equal(claim_method(&rig, "a", 9), 1);
    assert_string_equal(rig.op.jobs[0].id, id.text);
    rig_deinit(&rig);
}

static void what_is_taken_back_later_is_found(void **state)
{
    const QueueSpec spec = {.method = SPAN("a"), .pool = SPAN("p"), .is_idempotent = true};
    QueueSpec later = spec;
    RigId ids[2];
    Rig rig;

    (void)state;
    rig_init(&rig);
    ids[0] = rig_add(&rig, spec); /* ends, is tried again */
    ids[1] = rig_add(&rig, spec); /* is given back */
    assert_int_equal(rig_claim(&rig, "p", 2, 1000), 2);
    later.delay_ms = 10;
    (void)rig_add(&rig, later);
    assert_int_equal(rig_complete(&rig, &ids[0], 1, JOB_FAILED), 0);
    assert_int_equal(claim_method(&rig, "a", 9), 0);
    assert_int_equal(count(&rig, COUNT_NAMED), 0);
    assert_int_equal(rig_do(&rig, QUEUE_RETRY, &ids[0]), 0);
    assert_int_equal(claim_method(&rig, "a", 9), 1);
    assert_string_equal(rig.op.jobs[0].id, ids[0].text);
    assert_int_equal(rig_complete(&rig, &ids[1], 1, JOB_ENQUEUED), 0);
    for (int i = 0; i < 3; i++) {
        rig_pass(&rig, 60000); /* the lease is over, and then the pause before the next attempt */
        rig_sweep(&rig);
    }
    assert_int_equal(count(&rig, "SELECT count(*) FROM job INDEXED BY job_method"
                                 " WHERE ready IS NOT NULL AND method IS NOT NULL"),
                     3);
    assert_int_equal(claim_method(&rig, "a", 9), 3);
    rig_deinit(&rig);
}

static void a_restart_forgets_no_job(void **state)
{
    RigId ids[2];
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    (void)RIG_ADD(&rig, .method = SPAN("b"), .pool = SPAN("p"));
    assert_int_equal(claim_method(&rig, "a", 9), 0);
    ids[0] = RIG_ADD(&rig, .method = SPAN("a"), .pool = SPAN("p"));
    rig_reopen(&rig);
    ids[1] = RIG_ADD(&rig, .method = SPAN("a"), .pool = SPAN("p"));
    assert_int_equal(claim_method(&rig, "a", 9), 2);
    assert_string_equal(rig.op.jobs[0].id, ids[0].text);
    assert_string_equal(rig.op.jobs[1].id, ids[1].text);
    rig_deinit(&rig);
}

/* The claim that names them is undone with its batch: the next one names them again. */
static void what_is_undone_is_done_again(void **state)
{
    const Span wanted = SPAN("a");
    Rig rig;

    (void)state;
    rig_init(&rig);
    (void)RIG_ADD(&rig, .method = SPAN("a"), .pool = SPAN("p"));
    OP_SET(rig_op(&rig, QUEUE_CLAIM), claim,
           (QueueClaim){.pool = SPAN("p"), .max = 1, .methods = &wanted, .n_methods = 1});
    assert_int_equal(store_begin(rig.store, rig.now), 0);
    assert_int_equal(store_run(rig.store, &rig.op), 0);
    assert_int_equal(rig.op.n_jobs, 1);
    store_rollback(rig.store);
    assert_int_equal(count(&rig, COUNT_NAMED), 0);
    assert_int_equal(claim_method(&rig, "a", 9), 1);
    rig_deinit(&rig);
}

/* More than one batch names: others have their turn between. */
static void many_are_named_a_few_at_a_time(void **state)
{
    const Span wanted = SPAN("z");
    enum {
        N = 10000
    };
    bool wrote;
    RigId last;
    Rig rig;
    int n_batches = 0;
    int r;

    (void)state;
    rig_init(&rig);
    assert_int_equal(store_begin(rig.store, rig.now), 0);
    OP_SET(rig_op(&rig, QUEUE_ENQUEUE), spec, (QueueSpec){.method = SPAN("a"), .pool = SPAN("p")});
    for (int i = 0; i < N; i++) {
        assert_int_equal(store_run(rig.store, &rig.op), 0);
        assert_int_equal(rig.op.r, 0);
    }
    assert_int_equal(store_commit(rig.store, &wrote), 0);
    last = RIG_ADD(&rig, .method = SPAN("z"), .pool = SPAN("p"));
    OP_SET(rig_op(&rig, QUEUE_CLAIM), claim,
           (QueueClaim){.pool = SPAN("p"), .max = 1, .methods = &wanted, .n_methods = 1});
    do {
        assert_int_equal(store_begin(rig.store, rig.now), 0);
        r = store_run(rig.store, &rig.op);
        assert_int_equal(store_commit(rig.store, &wrote), 0);
        n_batches++;
    } while (r == STORE_E_MORE);
    assert_int_equal(r, 0);
    assert_in_range(n_batches, 2, 5);
    assert_int_equal(rig.op.n_jobs, 1);
    assert_string_equal(rig.op.jobs[0].id, last.text);
    assert_int_equal(count(&rig, COUNT_NAMED), N + 1);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_pays_for_methods_that_nobody_names),
        cmocka_unit_test(what_waits_is_found_by_the_first_claim),
        cmocka_unit_test(what_is_taken_back_later_is_found),
        cmocka_unit_test(a_restart_forgets_no_job),
        cmocka_unit_test(what_is_undone_is_done_again),
        cmocka_unit_test(many_are_named_a_few_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
