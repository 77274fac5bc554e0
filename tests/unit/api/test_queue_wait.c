/* Many threads on one queue: who waits, who is woken, what they share. */
#include "unit/api/queue_place.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "api/tw_queue.h"
#include "queue/queue_impl.h"
#include "support/queue_op.h"

#define N_PRODUCERS 64
#define N_WORKERS   8
#define N_EACH      10

/* A thread that asks for one thing. */
typedef struct Asker {
    pthread_t thread;
    TwQueue *queue;
    TwJobClaim claim;
    TwJobSpec spec;
    char id[TW_JOB_ID_SIZE];
    int r;
    TwJobs *jobs;
} Asker;

static void *claim_main(void *context)
{
    Asker *asker = context;

    asker->r = tw_queue_claim(asker->queue, &asker->claim, &asker->jobs, NULL);
    return NULL;
}

static void *get_main(void *context)
{
    Asker *asker = context;

    asker->r = tw_queue_get(asker->queue, asker->id, asker->claim.wait_ms, &asker->jobs, NULL);
    return NULL;
}

static void *enqueue_main(void *context)
{
    Asker *asker = context;

    asker->r = tw_queue_enqueue(asker->queue, &asker->spec, asker->id, NULL, NULL);
    return NULL;
}

static void asker_start(Asker *asker, void *(*run)(void *context))
{
    assert_int_equal(pthread_create(&asker->thread, NULL, run, asker), 0);
}

/* Until so many wait in vain: what they are told afterwards must wake them. */
static void until_waiting(TwQueue *queue, size_t n)
{
    size_t n_waiting;

    do {
        (void)sched_yield();
        io_mutex_lock(&queue->lock);
        n_waiting = queue->n_waiting;
        io_mutex_unlock(&queue->lock);
    } while (n_waiting < n);
}

static void a_claim_waits_for_a_job(void **state)
{
    Place *place = *state;
    Asker asker = {.queue = place->queue, .claim = {.wait_ms = TW_WAIT_FOREVER}};
    char id[TW_JOB_ID_SIZE];

    asker_start(&asker, claim_main);
    until_waiting(place->queue, 1);
    place_enqueue(place->queue, (TwJobSpec){.method = "m"}, id);
    assert_int_equal(pthread_join(asker.thread, NULL), 0);
    assert_int_equal(asker.r, TW_OK);
    assert_string_equal(tw_jobs_at(asker.jobs, 0)->id, id);
    tw_jobs_free(asker.jobs);
}

static void a_job_wakes_one_who_takes_its_method(void **state)
{
    static const char *const red[] = {"red", NULL};
    static const char *const blue[] = {"green", "blue", NULL};
    Place *place = *state;
    Asker askers[2] = {
        {.queue = place->queue, .claim = {.wait_ms = TW_WAIT_FOREVER, .methods = red}},
        {.queue = place->queue, .claim = {.wait_ms = TW_WAIT_FOREVER, .methods = blue}},
    };
    char id[TW_JOB_ID_SIZE];

    asker_start(&askers[0], claim_main);
    until_waiting(place->queue, 1);
    asker_start(&askers[1], claim_main);
    until_waiting(place->queue, 2);
    place_enqueue(place->queue, (TwJobSpec){.method = "blue"}, id);
    assert_int_equal(pthread_join(askers[1].thread, NULL), 0);
    assert_string_equal(tw_jobs_at(askers[1].jobs, 0)->id, id);
    until_waiting(place->queue, 1);
    place_enqueue(place->queue, (TwJobSpec){.method = "red"}, id);
    assert_int_equal(pthread_join(askers[0].thread, NULL), 0);
    assert_string_equal(tw_jobs_at(askers[0].jobs, 0)->id, id);
    tw_jobs_free(askers[0].jobs);
    tw_jobs_free(askers[1].jobs);
}

static void on_put(QueueOp *op)
{
    io_semaphore_post(op->context);
}

/* The first is woken for the one job and finds a better one; the other job is the second's. */
static void what_one_leaves_another_is_told_of(void **state)
{
    static const char *const both[] = {"plain", "urgent", NULL};
    static const char *const plain[] = {"plain", NULL};
    Place *place = *state;
    Asker askers[2] = {
        {.queue = place->queue, .claim = {.wait_ms = PLACE_WAIT_MS, .methods = both}},
        {.queue = place->queue, .claim = {.wait_ms = PLACE_WAIT_MS, .methods = plain}},
    };
    QueueOp ops[2];
    IoSemaphore done;

    asker_start(&askers[0], claim_main);
    until_waiting(place->queue, 1);
    asker_start(&askers[1], claim_main);
    until_waiting(place->queue, 2);
    assert_int_equal(io_semaphore_init(&done), 0);
    for (size_t i = 0; i < 2; i++) {
        queue_op_init(&ops[i]);
        ops[i].verb = QUEUE_ENQUEUE;
        OP_SET(&ops[i], spec,
               (QueueSpec){.method = i == 0 ? SPAN("plain") : SPAN("urgent"),
                           .priority = i == 0 ? 100 : 1,
                           .pool = SPAN(API_QUEUE_POOL)});
        ops[i].done = on_put;
        ops[i].context = &done;
    }
    ops[0].next = &ops[1];
    queue_submit_all(place->queue->queue, &ops[0]); /* one commit for both */
    for (size_t i = 0; i < 2; i++) {
        io_semaphore_wait(&done);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        assert_int_equal(askers[i].r, TW_OK);
        queue_op_deinit(&ops[i]);
    }
    assert_string_equal(tw_jobs_at(askers[0].jobs, 0)->method, "urgent");
    assert_string_equal(tw_jobs_at(askers[1].jobs, 0)->method, "plain");
    tw_jobs_free(askers[0].jobs);
    tw_jobs_free(askers[1].jobs);
    io_semaphore_deinit(&done);
}

static void an_end_is_waited_for(void **state)
{
    Place *place = *state;
    Asker askers[2] = {{.queue = place->queue, .claim = {.wait_ms = TW_WAIT_FOREVER}},
                       {.queue = place->queue, .claim = {.wait_ms = TW_WAIT_FOREVER}}};
    TwJobs *jobs;

    place_enqueue(place->queue, (TwJobSpec){.method = "m"}, askers[0].id);
    memcpy(askers[1].id, askers[0].id, sizeof(askers[1].id));
    asker_start(&askers[0], get_main);
    asker_start(&askers[1], get_main);
    until_waiting(place->queue, 2);
    jobs = place_claim(place->queue, (TwJobClaim){.max = 1});
    assert_int_equal(
        tw_queue_complete(place->queue, askers[0].id, tw_jobs_at(jobs, 0)->fence, "7", NULL),
        TW_OK);
    tw_jobs_free(jobs);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        assert_string_equal(tw_jobs_at(askers[i].jobs, 0)->result_json, "7");
        tw_jobs_free(askers[i].jobs);
    }
    /* One that does not end is given as it is. */
    place_enqueue(place->queue, (TwJobSpec){.method = "m"}, askers[0].id);
    assert_int_equal(tw_queue_get(place->queue, askers[0].id, 1, &jobs, NULL), TW_OK);
    assert_int_equal(tw_jobs_at(jobs, 0)->state, TW_JOB_ENQUEUED);
    tw_jobs_free(jobs);
}

static void cancelling_and_timing_out_are_ends(void **state)
{
    Place *place = *state;
    Asker asker = {.queue = place->queue, .claim = {.wait_ms = TW_WAIT_FOREVER}};
    TwJobs *jobs;

    place_enqueue(place->queue, (TwJobSpec){.method = "m"}, asker.id);
    asker_start(&asker, get_main);
    until_waiting(place->queue, 1);
    assert_int_equal(tw_queue_cancel(place->queue, asker.id, NULL), TW_OK);
    assert_int_equal(pthread_join(asker.thread, NULL), 0);
    assert_int_equal(tw_jobs_at(asker.jobs, 0)->state, TW_JOB_CANCELLED);
    tw_jobs_free(asker.jobs);

    place_enqueue(place->queue, (TwJobSpec){.method = "m", .timeout_ms = 1}, asker.id);
    jobs = place_claim(place->queue, (TwJobClaim){.max = 1});
    tw_jobs_free(jobs);
    assert_int_equal(tw_queue_get(place->queue, asker.id, PLACE_WAIT_MS, &jobs, NULL), TW_OK);
    assert_int_equal(tw_jobs_at(jobs, 0)->state, TW_JOB_TIMEOUT);
    tw_jobs_free(jobs);
}

static void a_stopped_queue_wakes_all_and_takes_what_is_done(void **state)
{
    Place *place = *state;
    Asker askers[3];
    char id[TW_JOB_ID_SIZE];
    char other[TW_JOB_ID_SIZE];
    TwJobs *jobs;
    TwJobs *next = NULL;

    place_enqueue(place->queue, (TwJobSpec){.method = "m"}, id);
    jobs = place_claim(place->queue, (TwJobClaim){.max = 1});
    for (size_t i = 0; i < 3; i++) {
        askers[i] = (Asker){.queue = place->queue, .claim = {.wait_ms = TW_WAIT_FOREVER}};
        memcpy(askers[i].id, id, sizeof(id));
        asker_start(&askers[i], i == 2 ? get_main : claim_main);
    }
    until_waiting(place->queue, 3);
    tw_queue_stop(place->queue);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        assert_int_equal(askers[i].r, i == 2 ? TW_OK : TW_ERROR_CLOSED);
    }
    assert_int_equal(tw_jobs_at(askers[2].jobs, 0)->state, TW_JOB_RUNNING);
    tw_jobs_free(askers[2].jobs);
    place_enqueue(place->queue, (TwJobSpec){.method = "m"}, other);
    assert_int_equal(tw_queue_claim(place->queue, NULL, &next, NULL), TW_ERROR_CLOSED);
    assert_int_equal(tw_queue_complete_and_claim(place->queue, id, tw_jobs_at(jobs, 0)->fence, "1",
                                                 &askers[0].claim, &next, NULL),
                     TW_OK);
    assert_null(next);
    tw_jobs_free(jobs);
    assert_int_equal(place_state(place->queue, id), TW_JOB_SUCCEEDED);
    assert_int_equal(place_state(place->queue, other), TW_JOB_ENQUEUED);
}

/* ---- group commit ---- */

/* Holds the queue's thread. */
typedef struct Held {
    IoSemaphore is_held;
    IoSemaphore let_go;
} Held;

static void on_held(QueueOp *op)
{
    Held *held = op->context;

    io_semaphore_post(&held->is_held);
    io_semaphore_wait(&held->let_go);
}

static size_t n_submitted(Queue *queue)
{
    size_t n = 0;

    io_mutex_lock(&queue->lock);
    for (const QueueOp *op = queue->ops.first; op != NULL; op = op->next) {
        n++;
    }
    io_mutex_unlock(&queue->lock);
    return n;
}

static void what_comes_at_once_shares_a_commit(void **state)
{
    Place *place = *state;
    Queue *queue = place->queue->queue;
    static Asker askers[N_PRODUCERS];
    Held held;
    QueueOp op;
    uint64_t n_commits;
    uint64_t n_jobs = 0;

    assert_int_equal(io_semaphore_init(&held.is_held), 0);
    assert_int_equal(io_semaphore_init(&held.let_go), 0);
    queue_op_init(&op);
    op.verb = QUEUE_COUNT;
    op.done = on_held;
    op.context = &held;
    n_commits = queue_figures(queue).n_commits;
    queue_submit(queue, &op);
    io_semaphore_wait(&held.is_held);
    for (size_t i = 0; i < N_PRODUCERS; i++) {
        askers[i] = (Asker){.queue = place->queue, .spec = {.method = "m"}};
        asker_start(&askers[i], enqueue_main);
    }
    while (n_submitted(queue) < N_PRODUCERS) {
        (void)sched_yield();
    }
    io_semaphore_post(&held.let_go);
    for (size_t i = 0; i < N_PRODUCERS; i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        assert_int_equal(askers[i].r, TW_OK);
    }
    assert_int_equal(queue_figures(queue).n_commits - n_commits, 1);
    assert_int_equal(tw_queue_count(place->queue, TW_JOB_ENQUEUED, &n_jobs, NULL), TW_OK);
    assert_int_equal(n_jobs, N_PRODUCERS);
    queue_op_deinit(&op);
    io_semaphore_deinit(&held.is_held);
    io_semaphore_deinit(&held.let_go);
}

/* ---- everybody at once ---- */

typedef struct Crowd {
    TwQueue *queue;
    atomic_uint next; /* producer */
    atomic_uint runs[N_PRODUCERS * N_EACH];
    atomic_uint n_wrong;
} Crowd;

#define CROWD_CHECK(crowd, ok)                                                                     \
    do {                                                                                           \
        if (!(ok)) {                                                                               \
            atomic_fetch_add(&(crowd)->n_wrong, 1);                                                \
        }                                                                                          \
    } while (0)

static void *produce_main(void *context)
{
    Crowd *crowd = context;
    unsigned who = atomic_fetch_add(&crowd->next, 1);

    for (unsigned i = 0; i < N_EACH; i++) {
        char params[32];
        char id[TW_JOB_ID_SIZE];
        TwJobs *jobs = NULL;

        (void)snprintf(params, sizeof(params), "{\"n\":%u}", who * N_EACH + i);
        CROWD_CHECK(crowd, tw_queue_enqueue(crowd->queue,
                                            &(TwJobSpec){.method = "m", .params_json = params}, id,
                                            NULL, NULL) == TW_OK);
        CROWD_CHECK(crowd, tw_queue_get(crowd->queue, id, PLACE_WAIT_MS, &jobs, NULL) == TW_OK &&
                               tw_jobs_at(jobs, 0)->state == TW_JOB_SUCCEEDED &&
                               strcmp(tw_jobs_at(jobs, 0)->result_json, params) == 0);
        tw_jobs_free(jobs);
    }
    return NULL;
}

static void *work_main(void *context)
{
    Crowd *crowd = context;
    const TwJobClaim claim = {.wait_ms = TW_WAIT_FOREVER, .worker = "one of many"};
    TwJobs *jobs = NULL;
    int r = tw_queue_claim(crowd->queue, &claim, &jobs, NULL);

    while (r == TW_OK && jobs != NULL) {
        const TwJob *job = tw_jobs_at(jobs, 0);
        TwJobs *next = NULL;
        unsigned n = (unsigned)strtoul(job->params_json + strlen("{\"n\":"), NULL, 10);

        CROWD_CHECK(crowd, n < N_PRODUCERS * N_EACH);
        atomic_fetch_add(&crowd->runs[n % (N_PRODUCERS * N_EACH)], 1);
        r = tw_queue_complete_and_claim(crowd->queue, job->id, job->fence, job->params_json, &claim,
                                        &next, NULL);
        tw_jobs_free(jobs);
        jobs = next;
    }
    CROWD_CHECK(crowd, r == TW_OK || r == TW_ERROR_CLOSED);
    return NULL;
}

static void every_job_of_a_crowd_runs_once(void **state)
{
    Place *place = *state;
    static Crowd crowd;
    pthread_t producers[N_PRODUCERS];
    pthread_t workers[N_WORKERS];
    uint64_t n_done = 0;

    crowd.queue = place->queue;
    for (size_t i = 0; i < N_WORKERS; i++) {
        assert_int_equal(pthread_create(&workers[i], NULL, work_main, &crowd), 0);
    }
    for (size_t i = 0; i < N_PRODUCERS; i++) {
        assert_int_equal(pthread_create(&producers[i], NULL, produce_main, &crowd), 0);
    }
    for (size_t i = 0; i < N_PRODUCERS; i++) {
        assert_int_equal(pthread_join(producers[i], NULL), 0);
    }
    tw_queue_stop(place->queue);
    for (size_t i = 0; i < N_WORKERS; i++) {
        assert_int_equal(pthread_join(workers[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&crowd.n_wrong), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(crowd.runs); i++) {
        assert_int_equal(atomic_load(&crowd.runs[i]), 1);
    }
    assert_int_equal(tw_queue_count(place->queue, TW_JOB_SUCCEEDED, &n_done, NULL), TW_OK);
    assert_int_equal(n_done, N_PRODUCERS * N_EACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_set_up, place_tear_down)
        IN_PLACE(a_claim_waits_for_a_job),
        IN_PLACE(a_job_wakes_one_who_takes_its_method),
        IN_PLACE(what_one_leaves_another_is_told_of),
        IN_PLACE(an_end_is_waited_for),
        IN_PLACE(cancelling_and_timing_out_are_ends),
        IN_PLACE(a_stopped_queue_wakes_all_and_takes_what_is_done),
        IN_PLACE(what_comes_at_once_shares_a_commit),
        IN_PLACE(every_job_of_a_crowd_runs_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
