#include "queue_sides.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/thread.h"
#include "queue/queue.h"

/* All of it is the queue's thread's, but for the start and the end. */
typedef struct Library Library;

typedef struct Hand {
    Library *library;
    QueueOp op;
    char id[QUEUE_ID_BYTES];
    struct Hand *next; /* of those without work */
} Hand;

struct Library {
    Queue *queue;
    Hand producers[SIDE_PRODUCERS];
    Hand workers[SIDE_PRODUCERS];
    Hand *idle;
    size_t n_jobs;
    size_t n_enqueued; /* begun */
    size_t n_done;
    size_t n_ready; /* told, and nobody was free */
    IoSemaphore done;
};

static void enqueue(Hand *hand)
{
    Library *library = hand->library;

    if (library->n_enqueued == library->n_jobs) {
        return;
    }
    library->n_enqueued++;
    queue_op_set(&hand->op, QUEUE_ENQUEUE,
                 &(QueueOrder){.spec = {.method = SPAN(SIDE_METHOD), .params = SPAN(SIDE_PARAMS)}});
    arena_reset(&hand->op.arena, 65536);
    queue_submit(library->queue, &hand->op);
}

static void on_enqueued(QueueOp *op)
{
    side_require(op->r == 0, "enqueue");
    enqueue(op->context);
}

static void claim(Hand *hand)
{
    queue_op_set(&hand->op, QUEUE_CLAIM,
                 &(QueueOrder){.claim = {.max = 1, .worker = SPAN("bench")}});
    arena_reset(&hand->op.arena, 65536);
    queue_submit(hand->library->queue, &hand->op);
}

static void rest(Hand *hand)
{
    Library *library = hand->library;

    if (library->n_ready > 0) {
        library->n_ready--;
        claim(hand);
        return;
    }
    hand->next = library->idle;
    library->idle = hand;
}

static void on_worked(QueueOp *op)
{
    Hand *hand = op->context;
    Library *library = hand->library;
    size_t at = op->verb == QUEUE_COMPLETE ? 1 : 0;

    if (op->r == QUEUE_E_CLOSED) {
        return; /* looked for more when all was done */
    }
    side_require(op->r == 0, "claim or complete");
    if (op->verb == QUEUE_COMPLETE && ++library->n_done == library->n_jobs) {
        io_semaphore_post(&library->done);
    }
    if (op->n_jobs == at) {
        rest(hand);
        return;
    }
    if (at == 1 && library->n_ready > 0) {
        library->n_ready--; /* found without being told */
    }
    op->fence = op->jobs[at].fence;
    queue_op_set(op, QUEUE_COMPLETE,
                 &(QueueOrder){.id = span_from_str(op->jobs[at].id),
                               .finish = {.state = JOB_SUCCEEDED, .result = SPAN(SIDE_RESULT)},
                               .claim = {.max = 1, .worker = SPAN("bench")}});
    arena_reset(&op->arena, 65536);
    queue_submit(library->queue, op);
}

static void on_changed(void *context, const QueueJob *job)
{
    Library *library = context;
    Hand *hand = library->idle;

    (void)job;
    if (hand == NULL) {
        library->n_ready++;
        return;
    }
    library->idle = hand->next;
    claim(hand);
}

/* All producers begin at once, however long it takes until this program's first thread runs again.
 */
static void on_start(QueueOp *op)
{
    Hand *starter = op->context;

    for (size_t i = 0; i < SIDE_PRODUCERS; i++) {
        enqueue(&starter->library->producers[i]);
    }
}

SideRun side_library(const char *folder, size_t n_jobs)
{
    static Library library;
    static Hand starter;
    char path[256];
    QueueConfig config = {.path = path, .changed = on_changed, .context = &library};
    Diag diag = DIAG_NULL;
    size_t n_syncs;
    uint64_t start_ns;
    SideRun run;

    (void)snprintf(path, sizeof(path), "%s/library.db", folder);
    library = (Library){.n_jobs = n_jobs};
    starter = (Hand){.library = &library,
                     .op = {.verb = QUEUE_COUNT, .done = on_start, .context = &starter}};
    side_require(io_semaphore_init(&library.done) == 0, "semaphore");
    for (size_t i = 0; i < SIDE_PRODUCERS; i++) {
        Hand *producer = &library.producers[i];
        Hand *worker = &library.workers[i];

        producer->library = worker->library = &library;
        queue_op_init(&producer->op);
        producer->op.done = on_enqueued;
        producer->op.context = producer;
        queue_op_init(&worker->op);
        worker->op.done = on_worked;
        worker->op.context = worker;
        worker->next = library.idle;
        library.idle = worker;
    }
    side_require(queue_open(&library.queue, &config, &diag) == 0, diag.message);
    n_syncs = side_n_syncs();
    start_ns = clock_monotonic_ns();
    queue_submit(library.queue, &starter.op);
    io_semaphore_wait(&library.done);
    run.seconds = (double)(clock_monotonic_ns() - start_ns) / 1e9;
    run.syncs = (double)(side_n_syncs() - n_syncs);
    (void)queue_close(library.queue);
    for (size_t i = 0; i < SIDE_PRODUCERS; i++) {
        queue_op_deinit(&library.producers[i].op);
        queue_op_deinit(&library.workers[i].op);
    }
    queue_op_deinit(&starter.op);
    io_semaphore_deinit(&library.done);
    (void)unlink(path);
    return run;
}
