/* Questions to the queue: gathered for a turn of the loop, and answered on it. */
#include "unit/app/jobs_rig.h"

#include "io/loop.h"
#include "support/queue_op.h"

enum {
    N_ASKS = 5
};

/* Several who ask, and one who listens. */
typedef struct Askers {
    Rig *rig;
    JobsAsk asks[N_ASKS];
    size_t n_told;
    size_t n_heard;
    char heard[QUEUE_ID_BYTES]; /* the last */
    JobsListener listener;
    bool asks_at_the_end;
} Askers;

static Askers askers;

static void on_told(JobsAsk *ask)
{
    assert_int_equal(ask->op.r, 0);
    assert_int_equal(ask->op.n_jobs, 1);
    /* Whoever listens has heard of it by now. */
    assert_string_equal(askers.heard, ask->op.jobs[0].id);
    askers.n_told++;
    assert_int_equal(askers.n_heard, askers.n_told);
    if (askers.n_told == N_ASKS || askers.asks_at_the_end) {
        io_loop_stop(hub_loop(askers.rig->hub));
    }
}

static void on_changed(JobsListener *listener, const QueueJob *job)
{
    (void)listener;
    assert_int_equal(job->state, JOB_ENQUEUED);
    assert_true(span_equals(job->method, SPAN("theirs")));
    assert_true(span_equals(job->pool, SPAN(JOBS_POOL_PULL)));
    assert_true(span_equals(job->source, SPAN("http")));
    askers.n_heard++;
    memcpy(askers.heard, job->id, sizeof(askers.heard));
}

static void askers_init(Rig *rig)
{
    askers = (Askers){.rig = rig, .listener = {.changed = on_changed}};
    jobs_listen(rig->jobs, &askers.listener);
    for (size_t i = 0; i < N_ASKS; i++) {
        queue_op_init(&askers.asks[i].op);
        askers.asks[i].told = on_told;
        askers.asks[i].op.verb = QUEUE_ENQUEUE;
        OP_SET(&askers.asks[i].op, spec,
               (QueueSpec){
                   .method = SPAN("theirs"), .pool = SPAN(JOBS_POOL_PULL), .source = SPAN("http")});
    }
}

static void askers_deinit(void)
{
    jobs_unlisten(askers.rig->jobs, &askers.listener);
    for (size_t i = 0; i < N_ASKS; i++) {
        queue_op_deinit(&askers.asks[i].op);
    }
}

static void what_is_asked_in_one_turn_shares_one_commit(void **state)
{
    Rig *rig = *state;
    uint64_t n_commits;

    askers_init(rig);
    n_commits = jobs_figures(rig->jobs).n_commits;
    for (size_t i = 0; i < N_ASKS; i++) {
        jobs_ask(rig->jobs, &askers.asks[i]);
    }
    rig_run(rig);
    assert_int_equal(askers.n_told, N_ASKS);
    assert_int_equal(jobs_figures(rig->jobs).n_commits - n_commits, 1);
    askers_deinit();
}

static void at_the_end_of_the_turn(void *context)
{
    (void)context;
    if (askers.asks_at_the_end) {
        return;
    }
    askers.asks_at_the_end = true;
    jobs_ask(askers.rig->jobs, &askers.asks[0]);
}

/* By a hook that is called after those of the jobs: no turn may come behind it. */
static void what_is_asked_when_the_turn_is_over_goes_at_once(void **state)
{
    Rig *rig = *state;
    IoBeforeWait *hook = NULL;
    Diag diag = DIAG_NULL;

    rig->jobs = jobs_free(rig->jobs);
    assert_int_equal(io_before_wait_new(&hook, hub_loop(rig->hub), at_the_end_of_the_turn, NULL),
                     0);
    assert_int_equal(jobs_new(&rig->jobs, &rig->config, &diag), 0);
    askers_init(rig);
    rig_run(rig);
    assert_int_equal(askers.n_told, 1);
    hook = io_before_wait_free(hook);
    askers_deinit();
}

static void what_was_asked_before_the_end_is_answered(void **state)
{
    Rig *rig = *state;
    Diag diag = DIAG_NULL;

    askers_init(rig);
    for (size_t i = 0; i < N_ASKS; i++) {
        jobs_ask(rig->jobs, &askers.asks[i]);
    }
    rig->jobs = jobs_free(rig->jobs); /* without another turn */
    assert_int_equal(askers.n_told, N_ASKS);
    for (size_t i = 0; i < N_ASKS; i++) {
        queue_op_deinit(&askers.asks[i].op);
    }
    assert_int_equal(jobs_new(&rig->jobs, &rig->config, &diag), 0);
}

#define JOBS_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(what_is_asked_in_one_turn_shares_one_commit),
        JOBS_TEST(what_is_asked_when_the_turn_is_over_goes_at_once),
        JOBS_TEST(what_was_asked_before_the_end_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
