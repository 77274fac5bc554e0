#include "queue/queue.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "queue/queue_impl.h"

#define NS_PER_US 1000

const char *const queue_steps[] = {
    [QUEUE_STEP_TAKEN] = "taken",
    [QUEUE_STEP_BEGUN] = "batch begun",
    [QUEUE_STEP_SWEPT] = "swept",
    [QUEUE_STEP_RUN] = "operation run",
    [QUEUE_STEP_COMMIT] = "before commit",
    [QUEUE_STEP_COMMITTED] = "after commit",
    [QUEUE_STEP_TOLD] = "told",
    [QUEUE_STEP_SETTLE] = "before settling",
    [QUEUE_STEP_SETTLED] = "settled",
    [QUEUE_STEP_RECOVERED] = "recovered",
    [QUEUE_STEP_CLOSE] = "closing",
    [QUEUE_N_STEPS] = NULL,
};

void queue_step(Queue *queue, QueueStep step)
{
    if (queue->step != NULL) {
        queue->step(queue->context, queue_steps[step]);
    }
}

void queue_ops_push(QueueOps *ops, QueueOp *op)
{
    op->next = NULL;
    if (ops->last != NULL) {
        ops->last->next = op;
    } else {
        ops->first = op;
    }
    ops->last = op;
}

QueueOp *queue_ops_pop(QueueOps *ops)
{
    QueueOp *op = ops->first;

    if (op != NULL) {
        ops->first = op->next;
        ops->last = ops->first == NULL ? NULL : ops->last;
        op->next = NULL;
    }
    return op;
}

void queue_ops_move(QueueOps *to, QueueOps *from)
{
    if (from->first == NULL) {
        return;
    }
    if (to->last != NULL) {
        to->last->next = from->first;
    } else {
        to->first = from->first;
    }
    to->last = from->last;
    *from = (QueueOps){NULL, NULL};
}

/* ---- clocks ---- */

/* A wall clock that is behind by more has been set back, and the stamp goes on by itself: standing
 * still until the clock is there again would give every job meanwhile a duration of nothing. For
 * less it is the two clocks that were not read at the same moment: there it waits. */
#define QUEUE_SET_BACK_US ((int64_t)1000 * 1000)

static int64_t queue_wall_us(const Queue *queue)
{
    return queue->wall_us != NULL ? queue->wall_us(queue->context) : clock_now_us();
}

StoreNow queue_now(Queue *queue)
{
    uint64_t passed_ns = clock_monotonic_ns() - queue->start_ns;
    int64_t line_us = queue->line_start_us + (int64_t)(passed_ns / NS_PER_US);
    int64_t wall_us = queue_wall_us(queue);

    if (wall_us >= queue->stamp_us) {
        queue->stamp_us = wall_us;
    } else if (queue->stamp_us - wall_us > QUEUE_SET_BACK_US) {
        queue->stamp_us += line_us - queue->stamp_line_us;
    }
    queue->stamp_line_us = line_us;
    return (StoreNow){.line_us = line_us, .stamp_us = queue->stamp_us, .wall_us = wall_us};
}

/* ---- the thread ---- */

static size_t queue_op_bytes(const QueueOp *op)
{
    const QueueOrder *order = queue_op_order(op);

    return order->spec.params.n + order->spec.note.n + order->finish.result.n +
           order->finish.message.n + order->asks.n + order->inputs.n;
}

/* What goes on, and what has come since, as much as one commit takes. */
static void queue_take(Queue *queue)
{
    QueueOp *op;
    size_t n_bytes = 0;
    size_t n = 0;

    while ((op = queue_ops_pop(&queue->again)) != NULL) {
        queue_ops_push(&queue->batch, op);
        n++;
    }
    while (queue->taken.first != NULL && n < LIMIT_QUEUE_BATCH &&
           n_bytes < LIMIT_QUEUE_BATCH_BYTES) {
        op = queue_ops_pop(&queue->taken);
        n_bytes += queue_op_bytes(op);
        queue_ops_push(&queue->batch, op);
        n++;
    }
}

/* With the lock. Waits until there is something to do; false: nothing more will come. */
static bool queue_wait(Queue *queue)
{
    for (;;) {
        uint64_t wait_ns;

        if (queue->ops.first != NULL || queue->taken.first != NULL || queue->again.first != NULL) {
            return true;
        }
        if (queue->is_closing) {
            return queue->late.first != NULL;
        }
        wait_ns = queue_batch_wait_ns(queue);
        if (wait_ns == 0) {
            return true;
        }
        queue->is_waiting = true;
        if (wait_ns == UINT64_MAX) {
            io_condition_wait(&queue->wake, &queue->lock);
        } else {
            (void)io_condition_wait_for(&queue->wake, &queue->lock, wait_ns);
        }
        queue->is_waiting = false;
    }
}

static void queue_refuse(QueueOps *late)
{
    QueueOp *op;

    while ((op = queue_ops_pop(late)) != NULL) {
        op->r = QUEUE_E_CLOSED;
        op->done(op);
    }
}

static void queue_main(void *context)
{
    Queue *queue = context;

    io_mutex_lock(&queue->lock);
    while (queue_wait(queue)) {
        QueueOps late = queue->late;
        bool is_closing = queue->is_closing;

        queue->late = (QueueOps){NULL, NULL};
        queue_ops_move(&queue->taken, &queue->ops);
        io_mutex_unlock(&queue->lock);
        queue_take(queue);
        queue_step(queue, QUEUE_STEP_TAKEN);
        if (!is_closing || queue->batch.first != NULL) {
            queue_batch_run(queue);
        }
        queue_refuse(&late);
        io_mutex_lock(&queue->lock);
    }
    io_mutex_unlock(&queue->lock);
}

/* ---- life ---- */

/* Everything but the thread. */
static int queue_init(Queue *queue, const QueueConfig *config, Diag *reterr_diag)
{
    int r = io_mutex_init(&queue->lock);

    queue->has_lock = r == 0;
    if (r == 0) {
        r = io_condition_init(&queue->wake);
        queue->has_wake = r == 0;
    }
    if (r != 0) {
        return err_pass(r);
    }
    r = store_open(&queue->store, config, reterr_diag);
    if (r != 0) {
        return r;
    }
    queue->start_ns = clock_monotonic_ns();
    queue->line_start_us = store_line_start(queue->store, queue_wall_us(queue));
    r = queue_batch_recover(queue);
    if (r != 0) {
        if (r == QUEUE_E_DAMAGED) {
            return diag_set(reterr_diag, r, "the queue at %s is damaged: " QUEUE_REMEDY,
                            config->path, config->path);
        }
        return diag_set(reterr_diag, r == QUEUE_E_DISK_FULL ? -ENOSPC : r,
                        "the queue at %s cannot be taken up: %s", config->path,
                        r == QUEUE_E_DISK_FULL ? "the disk is full"
                                               : "reading or writing it fails");
    }
    return 0;
}

int queue_open(Queue **ret, const QueueConfig *config, Diag *reterr_diag)
{
    Queue *queue = mem_alloc_array(1, sizeof(*queue));
    int r;

    if (queue == NULL) {
        return err_raise(-ENOMEM);
    }
    queue->changed = config->changed;
    queue->step = config->step;
    queue->wall_us = config->wall_us;
    queue->context = config->context;
    queue->log = config->log;
    queue->news_end = &queue->news;
    arena_init(&queue->arena, LIMIT_QUEUE_OP_BYTES);
    r = queue_init(queue, config, reterr_diag);
    if (r == 0) {
        r = io_thread_start(&queue->thread, queue_main, queue);
        queue->has_thread = r == 0;
    }
    if (r != 0) {
        (void)queue_close(queue);
        return r;
    }
    *ret = queue;
    return 0;
}

Queue *queue_close(Queue *queue)
{
    if (queue == NULL) {
        return NULL;
    }
    if (queue->has_thread) {
        assert(!io_thread_is_self(&queue->thread));
        io_mutex_lock(&queue->lock);
        queue->is_closing = true;
        io_condition_signal(&queue->wake);
        io_mutex_unlock(&queue->lock);
        io_thread_join(&queue->thread);
        /* What came while the thread was ending. */
        queue_refuse(&queue->late);
        queue_step(queue, QUEUE_STEP_CLOSE);
    }
    queue->store = store_close(queue->store);
    if (queue->has_wake) {
        io_condition_deinit(&queue->wake);
    }
    if (queue->has_lock) {
        io_mutex_deinit(&queue->lock);
    }
    arena_deinit(&queue->arena);
    return mem_free(queue);
}

/* ---- operations ---- */

void queue_submit(Queue *queue, QueueOp *op)
{
    op->next = NULL;
    queue_submit_all(queue, op);
}

void queue_submit_all(Queue *queue, QueueOp *first)
{
    QueueOps ops = {.first = first};

    for (QueueOp *op = first; op != NULL; op = op->next) {
        op->r = 0;
        op->is_known = false;
        op->jobs = NULL;
        op->n_jobs = 0;
        op->n_changed = 0;
        op->at = 0;
        if (op->arena.max_bytes == 0) {
            arena_init(&op->arena, LIMIT_QUEUE_OP_BYTES);
        }
        ops.last = op;
    }
    io_mutex_lock(&queue->lock);
    queue_ops_move(queue->is_closing ? &queue->late : &queue->ops, &ops);
    if (queue->is_waiting) {
        queue->is_waiting = false; /* once: a second word may wait until the first was heard */
        io_condition_signal(&queue->wake);
    }
    io_mutex_unlock(&queue->lock);
}

static void queue_on_ran(QueueOp *op)
{
    io_semaphore_post(op->context);
}

int queue_run(Queue *queue, QueueOp *op)
{
    IoSemaphore semaphore;
    int r = io_thread_is_self(&queue->thread) ? err_raise(-EDEADLK) : 0;

    if (r == 0) {
        r = io_semaphore_init(&semaphore);
    }
    if (r != 0) {
        op->r = r;
        op->jobs = NULL;
        op->n_jobs = 0;
        return r;
    }
    op->done = queue_on_ran;
    op->context = &semaphore;
    queue_submit(queue, op);
    io_semaphore_wait(&semaphore);
    io_semaphore_deinit(&semaphore);
    return op->r;
}

QueueFigures queue_figures(Queue *queue)
{
    QueueFigures figures;

    io_mutex_lock(&queue->lock);
    figures = queue->figures;
    io_mutex_unlock(&queue->lock);
    return figures;
}

const char *queue_file(const Queue *queue)
{
    return store_file(queue->store);
}
