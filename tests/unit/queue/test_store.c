/* What submitters and workers ask for: enqueue, claim, beat, complete, cancel, retry, get. */
#include "queue/store.h"

#include <errno.h>

#include "support/queue_op.h"
#include "unit/queue/store_rig.h"

/* ---- enqueue ---- */

static void a_new_job_is_read_back_as_it_was_given(void **state)
{
    Rig rig;
    RigId id;
    const QueueJob *job;

    (void)state;
    rig_init(&rig);
    id = rig_add(&rig, (QueueSpec){.method = SPAN("do it"),
                                   .params = SPAN("{ \"a\" : 1.0 }"),
                                   .pool = SPAN("pull"),
                                   .owner = SPAN("me"),
                                   .source = SPAN("http"),
                                   .rpc_id = SPAN("\"7\""),
                                   .idempotency_key = SPAN("k"),
                                   .note = SPAN("{\"n\":1}"),
                                   .priority = 5,
                                   .timeout_ms = 1500,
                                   .keep_ms = 60000,
                                   .max_attempts = 9,
                                   .is_idempotent = true});
    assert_true(rig.wrote);
    job = rig_get(&rig, &id);
    assert_int_equal(job->state, JOB_ENQUEUED);
    assert_text(job->method, "do it");
    assert_text(job->params, "{ \"a\" : 1.0 }");
    assert_text(job->pool, "pull");
    assert_text(job->owner, "me");
    assert_text(job->source, "http");
    assert_text(job->rpc_id, "\"7\"");
    assert_text(job->idempotency_key, "k");
    assert_text(job->note, "{\"n\":1}");
    assert_int_equal(job->priority, 5);
    assert_int_equal(job->timeout_ms, 1500);
    assert_int_equal(job->keep_ms, 60000);
    assert_int_equal(job->max_attempts, 9);
    assert_true(job->is_idempotent);
    assert_int_equal(job->enqueued_us, rig.now.stamp_us);
    assert_int_equal(job->changed_us, rig.now.stamp_us);
    assert_int_equal(job->started_us + job->beat_us + job->finished_us, 0);
    assert_int_equal(job->n_attempts, 0);
    assert_int_equal(job->version, 1);
    assert_int_equal(job->result.n + job->code.n + job->worker.n + job->asks.n, 0);
    rig_deinit(&rig);
}

static void defaults_are_taken_for_what_is_not_said(void **state)
{
    Rig rig;
    RigId id;
    const QueueJob *job;

    (void)state;
    rig_init(&rig);
    id = rig_add(&rig, (QueueSpec){.method = SPAN("m")});
    job = rig_get(&rig, &id);
    assert_text(job->params, "{}");
    assert_int_equal(job->priority, 100);
    assert_int_equal(job->max_attempts, LIMIT_QUEUE_ATTEMPTS);
    assert_int_equal(job->timeout_ms, 0);
    assert_true(job->keep_ms < 0);
    assert_false(job->is_idempotent);
    rig_deinit(&rig);
}

static void a_job_needs_a_method(void **state)
{
    Rig rig;

    (void)state;
    rig_init(&rig);
    (void)rig_op(&rig, QUEUE_ENQUEUE);
    assert_int_equal(rig_run(&rig), -EINVAL);
    assert_false(rig.wrote);
    rig_deinit(&rig);
}

static void bodies_and_names_have_their_limits(void **state)
{
    static char name[LIMIT_QUEUE_NAME_BYTES + 1];
    char *body = malloc(LIMIT_QUEUE_BODY_BYTES + 1);
    Rig rig;
    RigId id;
    const QueueJob *job;

    (void)state;
    assert_non_null(body);
    memset(name, 'n', sizeof(name));
    memset(body, ' ', LIMIT_QUEUE_BODY_BYTES + 1);
    body[0] = '{';
    body[LIMIT_QUEUE_BODY_BYTES - 1] = '}';
    rig_init(&rig);
    id = RIG_ADD(&rig, .params = {body, LIMIT_QUEUE_BODY_BYTES});
    job = rig_get(&rig, &id);
    assert_int_equal(job->params.n, LIMIT_QUEUE_BODY_BYTES);
    assert_memory_equal(job->params.p, body, LIMIT_QUEUE_BODY_BYTES);

    OP_SET(rig_op(&rig, QUEUE_ENQUEUE), spec,
           (QueueSpec){.method = SPAN("m"), .params = {body, LIMIT_QUEUE_BODY_BYTES + 1}});
    assert_int_equal(rig_run(&rig), QUEUE_E_TOO_LARGE);
    OP_SET(rig_op(&rig, QUEUE_ENQUEUE), spec, (QueueSpec){.method = {name, sizeof(name)}});
    assert_int_equal(rig_run(&rig), QUEUE_E_TOO_LARGE);
    OP_SET(rig_op(&rig, QUEUE_ENQUEUE), spec,
           (QueueSpec){.method = SPAN("m"), .idempotency_key = {name, sizeof(name)}});
    assert_int_equal(rig_run(&rig), QUEUE_E_TOO_LARGE);
    OP_SET(rig_op(&rig, QUEUE_ENQUEUE), spec,
           (QueueSpec){.method = {name, LIMIT_QUEUE_NAME_BYTES}, .owner = {name, 10}});
    assert_int_equal(rig_run(&rig), 0);

    /* A result, too. */
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    OP_SET(rig_op(&rig, QUEUE_COMPLETE), id, span_from_str(id.text));
    rig.op.fence = 1;
    OP_SET(&rig.op, finish,
           (QueueFinish){.state = JOB_SUCCEEDED, .result = {body, LIMIT_QUEUE_BODY_BYTES + 1}});
    assert_int_equal(rig_run(&rig), QUEUE_E_TOO_LARGE);
    assert_int_equal(rig_state(&rig, &id), JOB_RUNNING);
    rig_deinit(&rig);
    free(body);
}

static void only_so_many_wait(void **state)
{
    Rig rig;
    RigId first;

    (void)state;
    rig_init(&rig);
    rig.store = store_close(rig.store);
    rig.config.max_waiting = 2;
    rig_open(&rig);
    first = rig_add_one(&rig);
    (void)rig_add_one(&rig);
    OP_SET(rig_op(&rig, QUEUE_ENQUEUE), spec, (QueueSpec){.method = SPAN("m")});
    assert_int_equal(rig_run(&rig), QUEUE_E_FULL);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1); /* it still counts */
    OP_SET(rig_op(&rig, QUEUE_ENQUEUE), spec, (QueueSpec){.method = SPAN("m")});
    assert_int_equal(rig_run(&rig), QUEUE_E_FULL);
    assert_int_equal(rig_complete(&rig, &first, 1, JOB_FAILED), 0);
    (void)rig_add_one(&rig);
    assert_int_equal(rig_do(&rig, QUEUE_RETRY, &first), QUEUE_E_FULL);
    rig_deinit(&rig);
}

static int add_with_key(Rig *rig, Span owner, Span method, Span params)
{
    OP_SET(rig_op(rig, QUEUE_ENQUEUE), spec,
           (QueueSpec){
               .method = method, .params = params, .owner = owner, .idempotency_key = SPAN("key")});
    return rig_run(rig);
}

static void a_key_gives_the_same_job_to_the_same_question(void **state)
{
    Rig rig;
    RigId id;
    RigId other;

    (void)state;
    rig_init(&rig);
    assert_int_equal(add_with_key(&rig, SPAN("a"), SPAN("m"), SPAN("{\"x\":1}")), 0);
    assert_false(rig.op.is_known);
    id = rig_id(&rig.op.jobs[0]);

    assert_int_equal(add_with_key(&rig, SPAN("a"), SPAN("m"), SPAN("{\"x\":1}")), 0);
    assert_true(rig.op.is_known);
    assert_false(rig.wrote);
    assert_string_equal(rig.op.jobs[0].id, id.text);

    assert_int_equal(add_with_key(&rig, SPAN("a"), SPAN("m"), SPAN("{\"x\":2}")), QUEUE_E_KEY);
    assert_int_equal(add_with_key(&rig, SPAN("a"), SPAN("n"), SPAN("{\"x\":1}")), QUEUE_E_KEY);

    /* Another owner's key is another key. */
    assert_int_equal(add_with_key(&rig, SPAN("b"), SPAN("n"), SPAN_NULL), 0);
    other = rig_id(&rig.op.jobs[0]);
    assert_string_not_equal(other.text, id.text);
    assert_int_equal(add_with_key(&rig, SPAN("b"), SPAN("n"), SPAN("{}")), 0);
    assert_true(rig.op.is_known);

    /* The job of a key may be over; it is still that job. */
    assert_int_equal(rig_do(&rig, QUEUE_CANCEL, &id), 0);
    assert_int_equal(add_with_key(&rig, SPAN("a"), SPAN("m"), SPAN("{\"x\":1}")), 0);
    assert_int_equal(rig.op.jobs[0].state, JOB_CANCELLED);
    rig_deinit(&rig);
}

static void the_same_key_twice_in_one_batch_is_one_job(void **state)
{
    QueueOp ops[2];
    bool wrote;
    Rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(store_begin(rig.store, rig.now), 0);
    for (size_t i = 0; i < 2; i++) {
        queue_op_init(&ops[i]);
        ops[i].verb = QUEUE_ENQUEUE;
        OP_SET(&ops[i], spec, (QueueSpec){.method = SPAN("m"), .idempotency_key = SPAN("k")});
        assert_int_equal(store_run(rig.store, &ops[i]), 0);
        assert_int_equal(ops[i].r, 0);
    }
    assert_int_equal(store_commit(rig.store, &wrote), 0);
    assert_false(ops[0].is_known);
    assert_true(ops[1].is_known);
    assert_string_equal(ops[0].jobs[0].id, ops[1].jobs[0].id);
    queue_op_deinit(&ops[0]);
    queue_op_deinit(&ops[1]);
    rig_deinit(&rig);
}

/* ---- ids ---- */

static void what_is_no_id_is_said_to_be_none(void **state)
{
    static const char *const bad[] = {"",
                                      "job-",
                                      "job-1",
                                      "1",
                                      "job-1-",
                                      "job-g-00000000000000000000000000000000",
                                      "job-01-00000000000000000000000000000000",
                                      "job-1-0000000000000000000000000000000",
                                      "job-1-000000000000000000000000000000000",
                                      "job-1-0000000000000000000000000000000G",
                                      "JOB-1-00000000000000000000000000000000",
                                      "job-1-0000000000000000000000000000000A",
                                      "job-1111111111111111-00000000000000000000000000000000",
                                      "job--00000000000000000000000000000000"};
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = rig_add_one(&rig);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        OP_SET(rig_op(&rig, QUEUE_GET), id, span_from_str(bad[i]));
        if (rig_run(&rig) != QUEUE_E_BAD_ID) {
            fail_msg("%s: %d", bad[i], rig.op.r);
        }
    }
    /* A number that is there, with a secret that is not its. */
    OP_SET(rig_op(&rig, QUEUE_GET), id, SPAN("job-1-00000000000000000000000000000000"));
    assert_int_equal(rig_run(&rig), QUEUE_E_MISSING);
    OP_SET(rig_op(&rig, QUEUE_GET), id, SPAN("job-2-00000000000000000000000000000000"));
    assert_int_equal(rig_run(&rig), QUEUE_E_MISSING);
    id.text[strlen(id.text) - 1] ^= 1; /* another digit: '0' and '1', 'a' and '`'… */
    assert_true(rig_do(&rig, QUEUE_GET, &id) == QUEUE_E_MISSING || rig.op.r == QUEUE_E_BAD_ID);
    rig_deinit(&rig);
}

static void jobs_of_another_owner_are_not_there(void **state)
{
    static const QueueVerb verbs[] = {QUEUE_GET, QUEUE_CANCEL, QUEUE_ANSWER, QUEUE_RETRY};
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = RIG_ADD(&rig, .owner = SPAN("me"));
    for (size_t i = 0; i < 4; i++) {
        OP_SET(rig_op(&rig, verbs[i]), id, span_from_str(id.text));
        OP_SET(&rig.op, owner, SPAN("you"));
        assert_int_equal(rig_run(&rig), QUEUE_E_MISSING);
    }
    OP_SET(rig_op(&rig, QUEUE_GET), id, span_from_str(id.text));
    OP_SET(&rig.op, owner, SPAN("me"));
    assert_int_equal(rig_run(&rig), 0);
    rig_deinit(&rig);
}

/* ---- claim ---- */

static void claims_go_by_priority_then_age_within_a_pool(void **state)
{
    RigId ids[5];
    Rig rig;

    (void)state;
    rig_init(&rig);
    ids[0] = RIG_ADD(&rig, .priority = 100);
    ids[1] = RIG_ADD(&rig, .priority = 7);
    ids[2] = rig_add_one(&rig); /* 100 */
    ids[3] = RIG_ADD(&rig, .priority = -3);
    ids[4] = RIG_ADD(&rig, .pool = SPAN("pull"), .priority = -100);
    assert_int_equal(rig_claim(&rig, "", 2, 0), 2);
    assert_string_equal(rig.op.jobs[0].id, ids[3].text);
    assert_string_equal(rig.op.jobs[1].id, ids[1].text);
    assert_int_equal(rig_claim(&rig, "", 9, 0), 2);
    assert_string_equal(rig.op.jobs[0].id, ids[0].text);
    assert_string_equal(rig.op.jobs[1].id, ids[2].text);
    assert_int_equal(rig_claim(&rig, "", 9, 0), 0);
    assert_false(rig.wrote);
    assert_int_equal(rig_claim(&rig, "pull", 9, 1000), 1);
    assert_string_equal(rig.op.jobs[0].id, ids[4].text);
    rig_deinit(&rig);
}

/* What is to become of jobs, by their method: "away", "unknown", or any other. */
static int64_t look(void *context, const QueueJob *job)
{
    size_t *n_asked = context;

    ++*n_asked;
    return span_equals(job->method, SPAN("away"))      ? 1000
           : span_equals(job->method, SPAN("unknown")) ? -1
                                                       : 0;
}

static size_t claim_looking(Rig *rig, size_t max, size_t *n_asked)
{
    *n_asked = 0;
    OP_SET(rig_op(rig, QUEUE_CLAIM), claim,
           (QueueClaim){.max = max, .look = look, .context = n_asked});
    assert_int_equal(rig_run(rig), 0);
    return rig->op.n_jobs;
}

static void a_job_whose_worker_is_away_stays_where_it_is(void **state)
{
    RigId ids[4];
    size_t n_asked;
    Rig rig;

    (void)state;
    rig_init(&rig);
    ids[0] = RIG_ADD(&rig, .method = SPAN("away"));
    ids[1] = RIG_ADD(&rig, .method = SPAN("m"));
    ids[2] = RIG_ADD(&rig, .method = SPAN("away"));
    ids[3] = RIG_ADD(&rig, .method = SPAN("n"));
    assert_int_equal(claim_looking(&rig, 9, &n_asked), 2);
    assert_int_equal(n_asked, 4);
    assert_int_equal(rig.op.n_changed, 2);
    assert_string_equal(rig.op.jobs[0].id, ids[1].text);
    assert_string_equal(rig.op.jobs[1].id, ids[3].text);
    OP_SET(rig_op(&rig, QUEUE_GET), id, span_from_str(ids[2].text));
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.jobs[0].state, JOB_ENQUEUED);
    assert_int_equal(rig.op.jobs[0].n_attempts, 0);
    assert_int_equal(rig.op.jobs[0].fence, 0);
    /* Nobody is asked again until something happens. */
    assert_int_equal(claim_looking(&rig, 9, &n_asked), 0);
    assert_int_equal(n_asked, 0);
    assert_false(rig.wrote);
    rig_op(&rig, QUEUE_WAKE);
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_changed, 2);
    assert_int_equal(rig_claim(&rig, "", 9, 0), 2);
    assert_string_equal(rig.op.jobs[0].id, ids[0].text);
    assert_int_equal(rig.op.jobs[0].n_attempts, 1);
    rig_deinit(&rig);
}

static void what_nobody_knows_yet_is_not_touched(void **state)
{
    size_t n_asked;
    RigId first;
    Rig rig;

    (void)state;
    rig_init(&rig);
    first = RIG_ADD(&rig, .method = SPAN("m"));
    (void)RIG_ADD(&rig, .method = SPAN("unknown"));
    (void)RIG_ADD(&rig, .method = SPAN("m"));
    assert_int_equal(claim_looking(&rig, 9, &n_asked), 1);
    assert_string_equal(rig.op.jobs[0].id, first.text);
    assert_int_equal(n_asked, 2);
    assert_int_equal(claim_looking(&rig, 9, &n_asked), 0);
    assert_int_equal(n_asked, 1);
    assert_false(rig.wrote);
    assert_int_equal(rig_claim(&rig, "", 9, 0), 2);
    rig_deinit(&rig);
}

/* Others wait for the commit: there are as many in one claim as it takes at the most. */
static void those_who_are_away_are_put_by_a_few_at_a_time(void **state)
{
    size_t n_asked;
    Rig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < LIMIT_QUEUE_CLAIM + 3; i++) {
        (void)RIG_ADD(&rig, .method = SPAN("away"));
    }
    (void)RIG_ADD(&rig, .method = SPAN("m"));
    assert_int_equal(claim_looking(&rig, 1, &n_asked), 0);
    assert_int_equal(rig.op.n_changed, LIMIT_QUEUE_CLAIM);
    assert_int_equal(claim_looking(&rig, 1, &n_asked), 1);
    assert_int_equal(rig.op.n_changed, 3);
    rig_deinit(&rig);
}

static void a_claim_says_all_that_the_worker_needs(void **state)
{
    const QueueJob *job;
    Rig rig;

    (void)state;
    rig_init(&rig);
    (void)RIG_ADD(&rig, .params = SPAN("{\"p\":1}"), .note = SPAN("[1]"), .owner = SPAN("o"),
                  .timeout_ms = 5000);
    rig_pass(&rig, 10);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    job = &rig.op.jobs[0];
    assert_int_equal(job->state, JOB_RUNNING);
    assert_text(job->params, "{\"p\":1}");
    assert_text(job->note, "[1]");
    assert_text(job->owner, "o");
    assert_text(job->worker, "w");
    assert_int_equal(job->fence, 1);
    assert_int_equal(job->n_attempts, 1);
    assert_int_equal(job->timeout_ms, 5000);
    assert_int_equal(job->started_us, rig.now.stamp_us);
    assert_int_equal(job->version, 2);
    rig_deinit(&rig);
}

static void only_the_methods_that_are_named_are_claimed(void **state)
{
    const Span methods[] = {SPAN("c"), SPAN("a"), SPAN("c"), SPAN("z")};
    const Span *wanted = methods;
    RigId ids[5];
    Rig rig;

    (void)state;
    rig_init(&rig);
    ids[0] = rig_add(&rig, (QueueSpec){.method = SPAN("a"), .pool = SPAN("p")});
    ids[1] = rig_add(&rig, (QueueSpec){.method = SPAN("b"), .pool = SPAN("p")});
    ids[2] = rig_add(&rig, (QueueSpec){.method = SPAN("c"), .pool = SPAN("p"), .priority = 9});
    ids[3] = rig_add(&rig, (QueueSpec){.method = SPAN("a"), .pool = SPAN("p"), .priority = 8});
    ids[4] = rig_add(&rig, (QueueSpec){.method = SPAN("c"), .pool = SPAN("p")});
    (void)rig_add(&rig, (QueueSpec){.method = SPAN("a"), .pool = SPAN("q")});
    OP_SET(rig_op(&rig, QUEUE_CLAIM), claim,
           (QueueClaim){.pool = SPAN("p"), .max = 3, .methods = wanted, .n_methods = 4});
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_jobs, 3);
    assert_string_equal(rig.op.jobs[0].id, ids[3].text);
    assert_string_equal(rig.op.jobs[1].id, ids[2].text);
    assert_string_equal(rig.op.jobs[2].id, ids[0].text);
    OP_SET(rig_op(&rig, QUEUE_CLAIM), claim,
           (QueueClaim){.pool = SPAN("p"), .max = 3, .methods = wanted, .n_methods = 4});
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_jobs, 1);
    assert_string_equal(rig.op.jobs[0].id, ids[4].text);
    OP_SET(rig_op(&rig, QUEUE_CLAIM), claim,
           (QueueClaim){.pool = SPAN("p"), .max = 3, .methods = wanted, .n_methods = 0});
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_jobs, 0);
    OP_SET(rig_op(&rig, QUEUE_CLAIM), claim,
           (QueueClaim){.pool = SPAN(""), .max = 3, .methods = wanted, .n_methods = 1});
    assert_int_equal(rig_run(&rig), -EINVAL);
    rig_deinit(&rig);
}

static void a_claim_takes_as_many_as_fit(void **state)
{
    static char body[5 * 1024 * 1024];
    Rig rig;

    (void)state;
    memset(body, ' ', sizeof(body));
    rig_init(&rig);
    for (int i = 0; i < 3; i++) {
        (void)RIG_ADD(&rig, .params = {body, sizeof(body)});
    }
    assert_int_equal(rig_claim(&rig, "", 3, 0), 2); /* 8 MiB are passed with the second */
    assert_int_equal(rig_claim(&rig, "", 3, 0), 1);

    /* An arena that is too small for one job: nothing is claimed. */
    (void)RIG_ADD(&rig, .params = {body, sizeof(body)});
    (void)rig_op(&rig, QUEUE_CLAIM);
    arena_deinit(&rig.op.arena);
    arena_init(&rig.op.arena, 1024 * 1024);
    OP_SET(&rig.op, claim, (QueueClaim){.max = 2});
    assert_int_equal(rig_run(&rig), -ENOMEM);
    assert_false(rig.wrote);
    assert_int_equal(rig_claim(&rig, "", 3, 0), 1);
    rig_deinit(&rig);
}

static void a_lease_makes_it_dispatching_until_it_beats(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = rig_add_one(&rig);
    assert_int_equal(rig_claim(&rig, "", 1, 1000), 1);
    assert_int_equal(rig.op.jobs[0].state, JOB_DISPATCHING);
    rig_pass(&rig, 100);
    assert_int_equal(rig_beat(&rig, &id, 1, 0), 0);
    assert_int_equal(rig.op.jobs[0].state, JOB_RUNNING);
    assert_int_equal(rig.op.jobs[0].beat_us, rig.now.stamp_us);
    assert_text(rig.op.jobs[0].method, "m");
    rig_deinit(&rig);
}

/* ---- complete ---- */

static void the_result_is_kept_as_it_was_given(void **state)
{
    const QueueJob *job;
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = rig_add_one(&rig);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    OP_SET(rig_op(&rig, QUEUE_COMPLETE), id, span_from_str(id.text));
    rig.op.fence = 1;
    OP_SET(&rig.op, finish,
           (QueueFinish){.state = JOB_FAILED,
                         .code = SPAN("E1"),
                         .message = SPAN("broke"),
                         .result = SPAN("{ \"r\": 1e2 }")});
    rig_pass(&rig, 5);
    assert_int_equal(rig_run(&rig), 0);
    assert_text(rig.op.jobs[0].code, "E1");
    assert_text(rig.op.jobs[0].message, "broke");
    job = rig_get(&rig, &id);
    assert_int_equal(job->state, JOB_FAILED);
    assert_text(job->code, "E1");
    assert_text(job->message, "broke");
    assert_text(job->result, "{ \"r\": 1e2 }");
    assert_text(job->worker, "w");
    assert_int_equal(job->finished_us, rig.now.stamp_us);
    rig_deinit(&rig);
}

static void each_end_has_its_code(void **state)
{
    static const struct {
        JobState end;
        const char *code;
    } ends[] = {{JOB_SUCCEEDED, "OK"},
                {JOB_FAILED, "FAILED"},
                {JOB_TIMEOUT, "TIMEOUT"},
                {JOB_CANCELLED, "CANCELLED"}};
    static const JobState no_ends[] = {JOB_DISPATCHING, JOB_RUNNING, JOB_DEAD, JOB_N_STATES};
    QueueCounts counts;
    Rig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < 4; i++) {
        RigId id = rig_add_one(&rig);
        const QueueJob *job;

        assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
        assert_int_equal(rig_complete(&rig, &id, 1, no_ends[i]), -EINVAL);
        assert_int_equal(rig_complete(&rig, &id, 1, ends[i].end), 0);
        job = rig_get(&rig, &id);
        assert_int_equal(job->state, ends[i].end);
        assert_true(span_equals(job->code, span_from_str(ends[i].code)));
    }
    rig_count(&rig, &counts);
    assert_int_equal(counts.n[JOB_SUCCEEDED], 1);
    assert_int_equal(counts.n[JOB_RUNNING] + counts.n[JOB_ENQUEUED] + counts.n_asking, 0);
    rig_deinit(&rig);
}

static void completing_and_claiming_the_next_is_one_operation(void **state)
{
    RigId ids[3];
    Rig rig;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < 3; i++) {
        ids[i] = rig_add_one(&rig);
    }
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    OP_SET(rig_op(&rig, QUEUE_COMPLETE), id, span_from_str(ids[0].text));
    rig.op.fence = 1;
    OP_SET(&rig.op, finish, (QueueFinish){.state = JOB_SUCCEEDED});
    OP_SET(&rig.op, claim, (QueueClaim){.max = 1, .worker = SPAN("w")});
    assert_int_equal(rig_run(&rig), 0);
    assert_int_equal(rig.op.n_jobs, 2);
    assert_string_equal(rig.op.jobs[0].id, ids[0].text);
    assert_int_equal(rig.op.jobs[0].state, JOB_SUCCEEDED);
    assert_string_equal(rig.op.jobs[1].id, ids[1].text);
    assert_int_equal(rig.op.jobs[1].state, JOB_RUNNING);

    /* Without right to complete there is no claim either. */
    OP_SET(rig_op(&rig, QUEUE_COMPLETE), id, span_from_str(ids[1].text));
    rig.op.fence = 2;
    OP_SET(&rig.op, finish, (QueueFinish){.state = JOB_SUCCEEDED});
    OP_SET(&rig.op, claim, (QueueClaim){.max = 1});
    assert_int_equal(rig_run(&rig), QUEUE_E_LEASE);
    assert_int_equal(rig_state(&rig, &ids[2]), JOB_ENQUEUED);
    rig_deinit(&rig);
}

static void an_attempt_that_did_not_begin_is_made_again_until_it_is_dead(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = RIG_ADD(&rig, .max_attempts = 2);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    assert_int_equal(rig_complete(&rig, &id, 1, JOB_ENQUEUED), 0);
    assert_int_equal(rig.op.jobs[0].state, JOB_ENQUEUED);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 0); /* its time has not come */
    rig_pass(&rig, LIMIT_QUEUE_BACKOFF_MS);
    rig_sweep(&rig);
    assert_int_equal(rig.n_told, 1);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    assert_int_equal(rig.op.jobs[0].fence, 2);
    assert_int_equal(rig_complete(&rig, &id, 2, JOB_ENQUEUED), 0);
    assert_int_equal(rig.op.jobs[0].state, JOB_DEAD);
    assert_text(rig_get(&rig, &id)->code, "NOT_STARTED");
    rig_deinit(&rig);
}

static void whoever_has_it_not_cannot_speak_for_it(void **state)
{
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = RIG_ADD(&rig, .is_idempotent = true);
    assert_int_equal(rig_complete(&rig, &id, 0, JOB_SUCCEEDED), QUEUE_E_LEASE); /* nobody has it */
    assert_int_equal(rig_claim(&rig, "", 1, 1000), 1);
    assert_int_equal(rig_complete(&rig, &id, 2, JOB_SUCCEEDED), QUEUE_E_LEASE);
    assert_int_equal(rig_beat(&rig, &id, 0, 1000), QUEUE_E_LEASE);
    rig_pass(&rig, 1000);
    rig_sweep(&rig); /* lost */
    assert_int_equal(rig_beat(&rig, &id, 1, 1000), QUEUE_E_LEASE);
    assert_int_equal(rig_complete(&rig, &id, 1, JOB_SUCCEEDED), QUEUE_E_LEASE);
    rig_pass(&rig, LIMIT_QUEUE_BACKOFF_MS);
    rig_sweep(&rig);
    assert_int_equal(rig_claim(&rig, "", 1, 1000), 1);
    assert_int_equal(rig_complete(&rig, &id, 1, JOB_SUCCEEDED), QUEUE_E_LEASE);
    assert_int_equal(rig_complete(&rig, &id, 2, JOB_SUCCEEDED), 0);
    assert_int_equal(rig_complete(&rig, &id, 2, JOB_FAILED), QUEUE_E_OVER);
    assert_int_equal(rig.op.jobs[0].state, JOB_SUCCEEDED);
    assert_int_equal(rig_beat(&rig, &id, 2, 1000), QUEUE_E_OVER);
    rig_deinit(&rig);
}

/* The end of a job, from a worker whose lease may have ended. */
static int complete_late(Rig *rig, const RigId *id, uint64_t fence)
{
    QueueOp *op = rig_op(rig, QUEUE_COMPLETE);

    OP_SET(op, id, span_from_str(id->text));
    op->fence = fence;
    OP_SET(op, finish, (QueueFinish){.state = JOB_SUCCEEDED, .may_be_late = true});
    return rig_run(rig);
}

static void a_late_answer_is_taken_while_nobody_else_has_the_job(void **state)
{
    QueueCounts counts;
    RigId ids[3];
    Rig rig;

    (void)state;
    rig_init(&rig);
    ids[0] = RIG_ADD(&rig, .is_idempotent = false);
    ids[1] = RIG_ADD(&rig, .is_idempotent = true);
    ids[2] = RIG_ADD(&rig, .is_idempotent = true);
    assert_int_equal(rig_claim(&rig, "", 3, 1000), 3);
    assert_int_equal(complete_late(&rig, &ids[0], 0), QUEUE_E_LEASE);
    rig_pass(&rig, 1000);
    rig_sweep(&rig); /* FAILED, and ENQUEUED again */
    assert_int_equal(complete_late(&rig, &ids[0], 1), 0);
    assert_int_equal(complete_late(&rig, &ids[1], 1), 0);
    assert_int_equal(complete_late(&rig, &ids[1], 1), QUEUE_E_OVER);
    assert_text(rig_get(&rig, &ids[0])->code, "OK");
    rig_pass(&rig, LIMIT_QUEUE_BACKOFF_MS);
    rig_sweep(&rig);
    assert_int_equal(rig_claim(&rig, "", 3, 1000), 1); /* the last one, and none of the others */
    assert_int_equal(complete_late(&rig, &ids[2], 1), QUEUE_E_LEASE);
    assert_int_equal(complete_late(&rig, &ids[2], 2), 0);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n[JOB_SUCCEEDED], 3);
    assert_int_equal(counts.n[JOB_FAILED] + counts.n[JOB_ENQUEUED] + counts.n[JOB_DISPATCHING], 0);
    rig_deinit(&rig);
}

/* ---- cancel and retry ---- */

static void a_job_is_cancelled_once_wherever_it_is(void **state)
{
    QueueCounts counts;
    RigId ids[3];
    Rig rig;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < 3; i++) {
        ids[i] = RIG_ADD(&rig, .priority = i + 1);
    }
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    assert_int_equal(rig_claim(&rig, "", 1, 1000), 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_do(&rig, QUEUE_CANCEL, &ids[i]), 0);
        assert_int_equal(rig.op.jobs[0].state, JOB_CANCELLED);
        assert_text(rig.op.jobs[0].code, "CANCELLED");
        assert_int_equal(rig_do(&rig, QUEUE_CANCEL, &ids[i]), QUEUE_E_OVER);
        assert_int_equal(rig.op.jobs[0].state, JOB_CANCELLED);
    }
    /* Its worker is told when it speaks. */
    assert_int_equal(rig_complete(&rig, &ids[0], 1, JOB_SUCCEEDED), QUEUE_E_OVER);
    assert_int_equal(rig_claim(&rig, "", 9, 0), 0);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n[JOB_CANCELLED], 3);
    rig_deinit(&rig);
}

static void what_failed_may_be_tried_again_what_succeeded_not(void **state)
{
    RigId id;
    Rig rig;
    const QueueJob *job;

    (void)state;
    rig_init(&rig);
    id = rig_add_one(&rig);
    assert_int_equal(rig_do(&rig, QUEUE_RETRY, &id), QUEUE_E_NOT_OVER);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    assert_int_equal(rig_do(&rig, QUEUE_RETRY, &id), QUEUE_E_NOT_OVER);
    assert_int_equal(rig_complete(&rig, &id, 1, JOB_FAILED), 0);
    assert_int_equal(rig_do(&rig, QUEUE_RETRY, &id), 0);
    job = rig_get(&rig, &id);
    assert_int_equal(job->state, JOB_ENQUEUED);
    assert_int_equal(job->n_attempts, 0);
    assert_int_equal(job->code.n + job->message.n + job->result.n, 0);
    assert_int_equal(job->finished_us, 0);
    assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
    assert_int_equal(rig.op.jobs[0].fence, 2); /* goes on: the first worker is still not heard */
    assert_int_equal(rig_complete(&rig, &id, 2, JOB_SUCCEEDED), 0);
    assert_int_equal(rig_do(&rig, QUEUE_RETRY, &id), QUEUE_E_SUCCEEDED);
    rig_deinit(&rig);
}

static void a_verb_that_is_none_is_refused(void **state)
{
    Rig rig;

    (void)state;
    rig_init(&rig);
    (void)rig_op(&rig, QUEUE_N_VERBS);
    assert_int_equal(rig_run(&rig), -EINVAL);
    rig_deinit(&rig);
}

static void a_batch_that_is_undone_has_never_been(void **state)
{
    QueueCounts counts;
    RigId id;
    Rig rig;

    (void)state;
    rig_init(&rig);
    id = rig_add_one(&rig);
    assert_int_equal(store_begin(rig.store, rig.now), 0);
    OP_SET(rig_op(&rig, QUEUE_CLAIM), claim, (QueueClaim){.max = 1, .lease_ms = 10});
    assert_int_equal(store_run(rig.store, &rig.op), 0);
    store_rollback(rig.store);
    store_rollback(rig.store); /* twice is once */
    assert_int_equal(rig_state(&rig, &id), JOB_ENQUEUED);
    rig_count(&rig, &counts);
    assert_int_equal(counts.n[JOB_ENQUEUED], 1);
    assert_int_equal(counts.n[JOB_DISPATCHING], 0);
    assert_int_equal(store_next_us(rig.store), INT64_MAX);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_job_is_read_back_as_it_was_given),
        cmocka_unit_test(defaults_are_taken_for_what_is_not_said),
        cmocka_unit_test(a_job_needs_a_method),
        cmocka_unit_test(bodies_and_names_have_their_limits),
        cmocka_unit_test(only_so_many_wait),
        cmocka_unit_test(a_key_gives_the_same_job_to_the_same_question),
        cmocka_unit_test(the_same_key_twice_in_one_batch_is_one_job),
        cmocka_unit_test(what_is_no_id_is_said_to_be_none),
        cmocka_unit_test(jobs_of_another_owner_are_not_there),
        cmocka_unit_test(claims_go_by_priority_then_age_within_a_pool),
        cmocka_unit_test(a_job_whose_worker_is_away_stays_where_it_is),
        cmocka_unit_test(what_nobody_knows_yet_is_not_touched),
        cmocka_unit_test(those_who_are_away_are_put_by_a_few_at_a_time),
        cmocka_unit_test(a_claim_says_all_that_the_worker_needs),
        cmocka_unit_test(only_the_methods_that_are_named_are_claimed),
        cmocka_unit_test(a_claim_takes_as_many_as_fit),
        cmocka_unit_test(a_lease_makes_it_dispatching_until_it_beats),
        cmocka_unit_test(the_result_is_kept_as_it_was_given),
        cmocka_unit_test(each_end_has_its_code),
        cmocka_unit_test(completing_and_claiming_the_next_is_one_operation),
        cmocka_unit_test(an_attempt_that_did_not_begin_is_made_again_until_it_is_dead),
        cmocka_unit_test(whoever_has_it_not_cannot_speak_for_it),
        cmocka_unit_test(a_late_answer_is_taken_while_nobody_else_has_the_job),
        cmocka_unit_test(a_job_is_cancelled_once_wherever_it_is),
        cmocka_unit_test(what_failed_may_be_tried_again_what_succeeded_not),
        cmocka_unit_test(a_verb_that_is_none_is_refused),
        cmocka_unit_test(a_batch_that_is_undone_has_never_been),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
