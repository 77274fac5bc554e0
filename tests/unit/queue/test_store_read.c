/* Lists and pages; and that no question walks through all jobs. */
#include "queue/store_sqlite.h"

#include "base/arena.h"
#include "support/queue_op.h"
#include "unit/queue/store_rig.h"

static size_t list(Rig *rig, QueueList what)
{
    OP_SET(rig_op(rig, QUEUE_LIST), list, what);
    assert_int_equal(rig_run(rig), 0);
    assert_false(rig->wrote);
    return rig->op.n_jobs;
}

static void lists_are_newest_first_in_pages(void **state)
{
    RigId ids[7];
    RigId at;
    size_t n = 0;
    Rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(list(&rig, (QueueList){.limit = 3}), 0);
    for (int i = 0; i < 7; i++) {
        ids[i] = RIG_ADD(&rig, .params = SPAN("{\"big\":1}"));
    }
    assert_int_equal(list(&rig, (QueueList){.limit = 3}), 3);
    for (;;) {
        for (size_t i = 0; i < rig.op.n_jobs; i++, n++) {
            assert_string_equal(rig.op.jobs[i].id, ids[6 - n].text);
            assert_int_equal(rig.op.jobs[i].params.n, 0);
        }
        at = rig_id(&rig.op.jobs[rig.op.n_jobs - 1]);
        if (list(&rig, (QueueList){.limit = 3, .before = span_from_str(at.text)}) == 0) {
            break;
        }
    }
    assert_int_equal(n, 7);
    assert_int_equal(list(&rig, (QueueList){.with_bodies = true}), 7);
    assert_text(rig.op.jobs[0].params, "{\"big\":1}");
    OP_SET(rig_op(&rig, QUEUE_LIST), list.before, SPAN("job-x"));
    assert_int_equal(rig_run(&rig), QUEUE_E_BAD_ID);
    rig_deinit(&rig);
}

static void lists_may_be_of_a_state_an_owner_and_a_source(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    (void)RIG_ADD(&rig, .owner = SPAN("a"), .source = SPAN("cli"));
    (void)RIG_ADD(&rig, .owner = SPAN("b"), .source = SPAN("cli"), .delay_ms = 1000);
    id = RIG_ADD(&rig, .owner = SPAN("a"), .source = SPAN("http"), .priority = 1);
    (void)RIG_ADD(&rig, .source = SPAN("http"));
    assert_int_equal(rig_claim(&rig, "", 1, 100), 1);
    assert_int_equal(list(&rig, (QueueList){.owner = SPAN("a")}), 2);
    assert_int_equal(list(&rig, (QueueList){.owner = SPAN("c")}), 0);
    assert_int_equal(list(&rig, (QueueList){.source = SPAN("cli")}), 2);
    assert_int_equal(list(&rig, (QueueList){.source = SPAN("cli"), .owner = SPAN("b")}), 1);
    assert_int_equal(list(&rig, (QueueList){.has_state = true, .state = JOB_ENQUEUED}), 3);
    assert_int_equal(list(&rig, (QueueList){.has_state = true, .state = JOB_DISPATCHING}), 1);
    assert_string_equal(rig.op.jobs[0].id, id.text);
    assert_int_equal(
        list(&rig, (QueueList){.has_state = true, .state = JOB_ENQUEUED, .owner = SPAN("a")}), 1);
    assert_int_equal(rig_do(&rig, QUEUE_CANCEL, &id), 0);
    assert_int_equal(list(&rig, (QueueList){.has_state = true, .state = JOB_CANCELLED}), 1);
    assert_int_equal(list(&rig, (QueueList){.has_state = true, .state = JOB_RUNNING}), 0);
    rig_deinit(&rig);
}

/* ---- plans ---- */

/* What SQLite would do for a statement, in its own words. */
static void plan_of(Rig *rig, StoreSql which, char *out, size_t n)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3_stmt *plan = NULL;
    char sql[2048];
    int r;

    stmt = store_sql(rig->store, which, &r);
    if (stmt == NULL) {
        fail_msg("statement %d: %s", (int)which, sqlite3_errmsg(rig->store->db));
        return;
    }
    (void)snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", sqlite3_sql(stmt));
    assert_int_equal(sqlite3_prepare_v2(rig->store->db, sql, -1, &plan, NULL), SQLITE_OK);
    out[0] = '\0';
    while (sqlite3_step(plan) == SQLITE_ROW) {
        size_t used = strlen(out);

        (void)snprintf(out + used, n - used, "%s; ", (const char *)sqlite3_column_text(plan, 3));
    }
    (void)sqlite3_finalize(plan);
}

static void no_statement_of_the_daily_work_walks_or_sorts(void **state)
{
    /* And with what it finds its way. */
    static const struct {
        StoreSql which;
        const char *by;
    } ways[] = {
        {STORE_SQL_META, "INTEGER PRIMARY KEY"},
        {STORE_SQL_FIND_KEY, "spec_key"},
        {STORE_SQL_READY, "COVERING INDEX job_ready (pool=?)"},
        {STORE_SQL_READY_METHOD, "COVERING INDEX job_method (pool=? AND method=?)"},
        {STORE_SQL_SPEC, "INTEGER PRIMARY KEY"},
        {STORE_SQL_ROW, "INTEGER PRIMARY KEY"},
        {STORE_SQL_SET_ROW, "INTEGER PRIMARY KEY"},
        {STORE_SQL_JOB, "INTEGER PRIMARY KEY"},
        {STORE_SQL_ABOUT, "INTEGER PRIMARY KEY"},
        {STORE_SQL_OUTCOME_SIZE, "INTEGER PRIMARY KEY"},
        {STORE_SQL_DROP_RESULT, "INTEGER PRIMARY KEY"},
        {STORE_SQL_DROP_OUTCOME, "INTEGER PRIMARY KEY"},
        {STORE_SQL_DROP_SPEC, "INTEGER PRIMARY KEY"},
        {STORE_SQL_DROP_JOB, "INTEGER PRIMARY KEY"},
        {STORE_SQL_DROP_ASK, "INTEGER PRIMARY KEY"},
        {STORE_SQL_GET_ASK, "INTEGER PRIMARY KEY"},
        {STORE_SQL_LIST_OWNER, "spec_owner (owner=? AND id<?)"},
        {STORE_SQL_LIST_ALL, "INTEGER PRIMARY KEY"},
        {STORE_SQL_DUE, "job_due (due_us<?)"},
        {STORE_SQL_FIRST_DUE, "job_due"},
        {STORE_SQL_LATER, "job_due (due_us>? AND due_us<?)"},
        {STORE_SQL_OLD, "job_keep (keep_us<?)"},
        {STORE_SQL_FIRST_OLD, "job_keep"},
        {STORE_SQL_OLD_RESULTS, "job_keep"},
        {STORE_SQL_OVER, "INTEGER PRIMARY KEY"},
    };
    char plan[1024];
    Rig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        plan_of(&rig, ways[i].which, plan, sizeof(plan));
        if (strstr(plan, ways[i].by) == NULL || strstr(plan, "SCAN") != NULL ||
            strstr(plan, "TEMP B-TREE") != NULL) {
            fail_msg("statement %d: %s", (int)ways[i].which, plan);
        }
    }
    rig_deinit(&rig);
}

static void a_set_of_rows_is_gone_through_once_and_nothing_else_is(void **state)
{
    static const struct {
        StoreSql which;
        const char *plan;
    } sets[] = {
        {STORE_SQL_ADD_SPEC, "SCAN put_spec VIRTUAL TABLE INDEX 0:; "},
        {STORE_SQL_ADD_JOB, "SCAN put_job VIRTUAL TABLE INDEX 0:; "},
        {STORE_SQL_CLAIM_ROW, "SCAN put_claim VIRTUAL TABLE INDEX 0:; "},
        {STORE_SQL_SET_OUTCOME, "SCAN put_outcome VIRTUAL TABLE INDEX 0:; "},
        {STORE_SQL_END_ROW, "SCAN put_end VIRTUAL TABLE INDEX 0:; "},
    };
    char plan[1024];
    Rig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        plan_of(&rig, sets[i].which, plan, sizeof(plan));
        assert_string_equal(plan, sets[i].plan);
    }
    rig_deinit(&rig);
}

static void every_statement_can_be_prepared(void **state)
{
    Rig rig;
    int r;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < STORE_N_SQL; i++) {
        assert_non_null(store_sql(rig.store, (StoreSql)i, &r));
    }
    rig_deinit(&rig);
}

/* The virtual machine's steps to look for the next jobs: they do not grow with the number of jobs.
 */
static int claim_steps(Rig *rig)
{
    int r;
    sqlite3_stmt *sql = store_sql(rig->store, STORE_SQL_READY, &r);
    int n;

    assert_non_null(sql);
    (void)RIG_ADD(rig, .priority = 1); /* in front: what was read ahead is of no use */
    (void)sqlite3_stmt_status(sql, SQLITE_STMTSTATUS_VM_STEP, 1);
    assert_int_equal(rig_claim(rig, "", 1, 1000), 1);
    assert_int_equal(rig->op.jobs[0].priority, 1);
    n = sqlite3_stmt_status(sql, SQLITE_STMTSTATUS_VM_STEP, 0);
    assert_int_equal(sqlite3_stmt_status(sql, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0), 0);
    return n;
}

static void a_claim_among_many_takes_as_many_steps_as_among_few(void **state)
{
    int few;
    int many;
    Rig rig;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < 200; i++) {
        (void)RIG_ADD(&rig, .priority = 10 + i % 7);
    }
    few = claim_steps(&rig);
    for (int i = 0; i < 20000; i++) {
        (void)RIG_ADD(&rig, .priority = 10 + i % 7);
    }
    many = claim_steps(&rig);
    assert_true(few > 0);
    assert_int_equal(many, few);
    rig_deinit(&rig);
}

/* What is read ahead, and what is remembered, is what a look at the file would give. */
static void what_is_read_ahead_is_never_out_of_date(void **state)
{
    static const char *const pools[] = {"", "a", "b"};
    RigId ids[600];
    uint64_t random = 88172645463325252u;
    size_t n = 0;
    Rig rig;

    (void)state;
    rig_init(&rig);
    for (int round = 0; round < 4000; round++) {
        sqlite3_stmt *look = NULL;
        Span pool;
        int64_t first = 0;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        pool = span_from_str(pools[random % 3]);
        switch (random >> 8 & 7) {
        case 0:
        case 1:
        case 2:
            if (n < 600) {
                ids[n++] = RIG_ADD(&rig, .pool = pool, .priority = 1 + (int)(random >> 16 & 7),
                                   .delay_ms = (random >> 24 & 7) == 0 ? 3 : 0,
                                   .is_idempotent = true, .max_attempts = 1000);
            }
            break;
        case 3:
            if (n > 0) {
                (void)rig_do(&rig, random >> 40 & 1 ? QUEUE_CANCEL : QUEUE_RETRY,
                             &ids[(random >> 16) % n]);
            }
            break;
        case 4:
            rig_pass(&rig, 50);
            rig_sweep(&rig);
            break;
        case 5: { /* undone */
            assert_int_equal(store_begin(rig.store, rig.now), 0);
            OP_SET(rig_op(&rig, QUEUE_CLAIM), claim, (QueueClaim){.pool = pool, .max = 3});
            assert_int_equal(store_run(rig.store, &rig.op), 0);
            store_rollback(rig.store);
            break;
        }
        default:
            assert_int_equal(sqlite3_prepare_v2(rig.store->db,
                                                "SELECT id FROM job NOT INDEXED WHERE state = 0 AND"
                                                " due_us = 0 AND pool = ? ORDER BY priority, ready",
                                                -1, &look, NULL),
                             SQLITE_OK);
            (void)sqlite3_bind_text(look, 1, pool.p, (int)pool.n, SQLITE_STATIC);
            if (sqlite3_step(look) == SQLITE_ROW) {
                first = sqlite3_column_int64(look, 0);
            }
            (void)sqlite3_finalize(look);
            OP_SET(rig_op(&rig, QUEUE_CLAIM), claim,
                   (QueueClaim){.pool = pool, .max = 1, .lease_ms = random >> 50 & 1 ? 40 : 0});
            assert_int_equal(rig_run(&rig), 0);
            assert_int_equal(rig.op.n_jobs, first != 0 ? 1 : 0);
            if (first != 0) {
                int64_t id = 0;
                uint8_t secret[STORE_SECRET_BYTES];
                RigId claimed = rig_id(&rig.op.jobs[0]);

                assert_true(store_id_parse(span_from_str(claimed.text), &id, secret));
                assert_int_equal(id, first);
                if ((random >> 51 & 1) != 0) {
                    assert_int_equal(rig_complete(&rig, &claimed, rig.op.jobs[0].fence, JOB_FAILED),
                                     0);
                }
            }
        }
    }
    assert_int_equal(n, 600);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_newest_first_in_pages),
        cmocka_unit_test(lists_may_be_of_a_state_an_owner_and_a_source),
        cmocka_unit_test(no_statement_of_the_daily_work_walks_or_sorts),
        cmocka_unit_test(a_set_of_rows_is_gone_through_once_and_nothing_else_is),
        cmocka_unit_test(every_statement_can_be_prepared),
        cmocka_unit_test(a_claim_among_many_takes_as_many_steps_as_among_few),
        cmocka_unit_test(what_is_read_ahead_is_never_out_of_date),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
