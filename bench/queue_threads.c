/* The public functions: 64 threads that enqueue, 64 that claim and complete, each waiting for its
 * own acknowledgement. */
#include "queue_sides.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <toolwire/queue.h>
#include <unistd.h>

#include "base/clock.h"

typedef struct Threads {
    TwQueue *queue;
    size_t n_jobs;
    atomic_size_t n_begun;
    atomic_size_t n_done;
} Threads;

static void *produce(void *context)
{
    const TwJobSpec spec = {.method = SIDE_METHOD, .params_json = SIDE_PARAMS};
    Threads *threads = context;
    char id[TW_JOB_ID_SIZE];

    while (atomic_fetch_add(&threads->n_begun, 1) < threads->n_jobs) {
        side_require(tw_queue_enqueue(threads->queue, &spec, id, NULL, NULL) == TW_OK, "enqueue");
    }
    return NULL;
}

static void *work(void *context)
{
    const TwJobClaim claim = {.wait_ms = TW_WAIT_FOREVER, .worker = "bench"};
    Threads *threads = context;
    TwJobs *jobs = NULL;
    int r = tw_queue_claim(threads->queue, &claim, &jobs, NULL);

    while (jobs != NULL) {
        const TwJob *job = tw_jobs_at(jobs, 0);
        TwJobs *next = NULL;

        /* Whoever ends the last one does not wait for more. */
        if (atomic_fetch_add(&threads->n_done, 1) + 1 == threads->n_jobs) {
            r = tw_queue_complete(threads->queue, job->id, job->fence, SIDE_RESULT, NULL);
            tw_queue_stop(threads->queue);
        } else {
            r = tw_queue_complete_and_claim(threads->queue, job->id, job->fence, SIDE_RESULT,
                                            &claim, &next, NULL);
        }
        side_require(r == TW_OK, "complete");
        tw_jobs_free(jobs);
        jobs = next;
    }
    side_require(r == TW_OK || r == TW_ERROR_CLOSED, "claim");
    return NULL;
}

SideRun side_threads(const char *folder, size_t n_jobs)
{
    static Threads threads;
    pthread_t all[2 * SIDE_PRODUCERS];
    TwQueueError error = {.message = ""};
    char path[256];
    size_t n_syncs;
    uint64_t start_ns;
    SideRun run;

    (void)snprintf(path, sizeof(path), "%s/threads.db", folder);
    threads.n_jobs = n_jobs;
    atomic_store(&threads.n_begun, 0);
    atomic_store(&threads.n_done, 0);
    side_require(tw_queue_open(&threads.queue, path, NULL, &error) == TW_OK, error.message);
    n_syncs = side_n_syncs();
    start_ns = clock_monotonic_ns();
    for (size_t i = 0; i < 2 * SIDE_PRODUCERS; i++) {
        side_require(pthread_create(&all[i], NULL, i % 2 == 0 ? produce : work, &threads) == 0,
                     "thread");
    }
    for (size_t i = 0; i < 2 * SIDE_PRODUCERS; i++) {
        (void)pthread_join(all[i], NULL);
    }
    run.seconds = (double)(clock_monotonic_ns() - start_ns) / 1e9;
    run.syncs = (double)(side_n_syncs() - n_syncs);
    tw_queue_free(threads.queue);
    (void)unlink(path);
    return run;
}
