/* tests/unit/queue/queue_rig.h: a queue in a folder of its own; what it tells is counted. */
#pragma once

#include "queue/queue.h"

#include "support/cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/thread.h"
#include "support/queue_op.h"

/* A change that was told. */
typedef struct RigChange {
    JobState state;
    char id[QUEUE_ID_BYTES];
    char pool[16];
    char method[16];
} RigChange;

#define RIG_CHANGES 2048

typedef struct Rig {
    char folder[64];
    char path[96];
    Queue *queue;
    QueueConfig config;

    /* One post for each that was told; the reader takes them in turn. */
    RigChange changes[RIG_CHANGES];
    size_t n_told;  /* the queue's thread's */
    size_t n_heard; /* the test's */
    IoSemaphore changed;

    /* While held, the queue's thread stops at "taken". */
    atomic_bool is_held;
    IoSemaphore held; /* a post when it has stopped */
    IoSemaphore release;

    _Atomic(int64_t) wall_us;
} Rig;

static inline void rig_on_changed(void *context, const QueueJob *job)
{
    Rig *rig = context;
    RigChange *change = &rig->changes[rig->n_told++ % RIG_CHANGES];

    change->state = job->state;
    memcpy(change->id, job->id, sizeof(change->id));
    (void)snprintf(change->pool, sizeof(change->pool), "%.*s", (int)job->pool.n,
                   job->pool.n == 0 ? "" : job->pool.p);
    (void)snprintf(change->method, sizeof(change->method), "%.*s", (int)job->method.n,
                   job->method.n == 0 ? "" : job->method.p);
    io_semaphore_post(&rig->changed);
}

/* The next change; waits for it. */
static inline const RigChange *rig_next_change(Rig *rig)
{
    io_semaphore_wait(&rig->changed);
    return &rig->changes[rig->n_heard++ % RIG_CHANGES];
}

static inline void rig_on_step(void *context, const char *name)
{
    Rig *rig = context;

    if (strcmp(name, "taken") == 0 && atomic_exchange(&rig->is_held, false)) {
        io_semaphore_post(&rig->held);
        io_semaphore_wait(&rig->release);
    }
}

static inline void rig_open(Rig *rig)
{
    Diag diag = DIAG_NULL;
    int r = queue_open(&rig->queue, &rig->config, &diag);

    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
}

static inline void rig_init(Rig *rig)
{
    *rig = (Rig){.queue = NULL};
    (void)snprintf(rig->folder, sizeof(rig->folder), "/tmp/tw-queue-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    (void)snprintf(rig->path, sizeof(rig->path), "%s/queue.db", rig->folder);
    assert_int_equal(io_semaphore_init(&rig->changed), 0);
    assert_int_equal(io_semaphore_init(&rig->held), 0);
    assert_int_equal(io_semaphore_init(&rig->release), 0);
    rig->config = (QueueConfig){
        .path = rig->path, .changed = rig_on_changed, .step = rig_on_step, .context = rig};
    rig_open(rig);
}

static inline void rig_deinit(Rig *rig)
{
    char log[112];

    rig->queue = queue_close(rig->queue);
    io_semaphore_deinit(&rig->changed);
    io_semaphore_deinit(&rig->held);
    io_semaphore_deinit(&rig->release);
    (void)snprintf(log, sizeof(log), "%s-wal", rig->path);
    (void)unlink(log);
    assert_int_equal(unlink(rig->path), 0);
    assert_int_equal(rmdir(rig->folder), 0);
}

static inline void on_nothing(QueueOp *op)
{
    (void)op;
}

/* The queue's thread stops with `op` (a count) in its hands; what is submitted from now on waits
 * together. */
static inline void rig_hold(Rig *rig, QueueOp *op)
{
    queue_op_init(op);
    op->verb = QUEUE_COUNT;
    op->done = on_nothing;
    atomic_store(&rig->is_held, true);
    queue_submit(rig->queue, op);
    io_semaphore_wait(&rig->held);
}

static inline void rig_release(Rig *rig)
{
    io_semaphore_post(&rig->release);
}

static inline int rig_enqueue(Rig *rig, QueueSpec spec, char id[QUEUE_ID_BYTES])
{
    QueueOp op;
    int r;

    queue_op_init(&op);
    op.verb = QUEUE_ENQUEUE;
    OP_SET(&op, spec, spec);
    OP_SET(&op, spec.method, spec.method.n > 0 ? spec.method : SPAN("m"));
    r = queue_run(rig->queue, &op);
    if (r == 0 && id != NULL) {
        memcpy(id, op.jobs[0].id, QUEUE_ID_BYTES);
    }
    queue_op_deinit(&op);
    return r;
}

/* GET, CANCEL, RETRY; *ret_state may be NULL. */
static inline int rig_do(Rig *rig, QueueVerb verb, const char *id, JobState *ret_state)
{
    QueueOp op;
    int r;

    queue_op_init(&op);
    op.verb = verb;
    OP_SET(&op, id, span_from_str(id));
    r = queue_run(rig->queue, &op);
    if (ret_state != NULL && op.n_jobs > 0) {
        *ret_state = op.jobs[0].state;
    }
    queue_op_deinit(&op);
    return r;
}

/* One job; its fence. */
static inline uint64_t rig_claim(Rig *rig, int64_t lease_ms)
{
    QueueOp op;
    uint64_t fence;

    queue_op_init(&op);
    op.verb = QUEUE_CLAIM;
    OP_SET(&op, claim, (QueueClaim){.max = 1, .lease_ms = lease_ms});
    assert_int_equal(queue_run(rig->queue, &op), 0);
    assert_int_equal(op.n_jobs, 1);
    fence = op.jobs[0].fence;
    queue_op_deinit(&op);
    return fence;
}
