/* tests/unit/queue/store_rig.h: a store, a clock that the test sets, and one operation per batch.
 */
#pragma once

#include "queue/store.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "support/queue_op.h"

typedef struct Rig {
    Store *store;
    StoreNow now;
    char folder[64];
    char path[96];
    QueueConfig config;
    QueueOp op; /* the last one */
    bool wrote; /* what its commit said */
    JobState told[64];
    size_t n_told;
} Rig;

/* A new store: its line begins where the wall clock is. */
#define RIG_START ((StoreNow){.line_us = 2000000, .stamp_us = 2000000, .wall_us = 2000000})

static inline void rig_pass(Rig *rig, int64_t ms)
{
    rig->now.line_us += ms * 1000;
    rig->now.stamp_us += ms * 1000;
    rig->now.wall_us += ms * 1000;
}

static inline void rig_open(Rig *rig)
{
    Diag diag = DIAG_NULL;
    int r = store_open(&rig->store, &rig->config, &diag);
    bool wrote;

    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
    assert_int_equal(store_begin(rig->store, rig->now), 0);
    assert_int_equal(store_recover(rig->store), 0);
    assert_int_equal(store_commit(rig->store, &wrote), 0);
}

/* In memory. */
static inline void rig_init(Rig *rig)
{
    *rig = (Rig){.now = RIG_START};
    rig->config.path = ":memory:";
    queue_op_init(&rig->op);
    rig_open(rig);
}

static inline void rig_init_file(Rig *rig)
{
    *rig = (Rig){.now = RIG_START};
    (void)snprintf(rig->folder, sizeof(rig->folder), "/tmp/tw-store-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    (void)snprintf(rig->path, sizeof(rig->path), "%s/queue.db", rig->folder);
    rig->config.path = rig->path;
    queue_op_init(&rig->op);
    rig_open(rig);
}

static inline void rig_deinit(Rig *rig)
{
    rig->store = store_close(rig->store);
    queue_op_deinit(&rig->op);
    if (rig->folder[0] != '\0') {
        char path[112];

        (void)unlink(rig->path);
        (void)snprintf(path, sizeof(path), "%s-wal", rig->path);
        (void)unlink(path);
        (void)snprintf(path, sizeof(path), "%s-shm", rig->path);
        (void)unlink(path);
        assert_int_equal(rmdir(rig->folder), 0);
    }
}

/* As a process that ends and one that starts. */
static inline void rig_reopen(Rig *rig)
{
    rig->store = store_close(rig->store);
    rig_open(rig);
}

/* A new operation; what the last one gave is gone. */
static inline QueueOp *rig_op(Rig *rig, QueueVerb verb)
{
    queue_op_deinit(&rig->op);
    queue_op_init(&rig->op);
    rig->op.verb = verb;
    return &rig->op;
}

/* Runs rig->op in batches of its own. */
static inline int rig_run(Rig *rig)
{
    int r = STORE_E_MORE;

    while (r == STORE_E_MORE) {
        assert_int_equal(store_begin(rig->store, rig->now), 0);
        r = store_run(rig->store, &rig->op);
        assert_true(r == 0 || r == STORE_E_MORE);
        assert_int_equal(store_commit(rig->store, &rig->wrote), 0);
    }
    return rig->op.r;
}

typedef struct RigId {
    char text[QUEUE_ID_BYTES];
} RigId;

static inline RigId rig_id(const QueueJob *job)
{
    RigId id;

    memcpy(id.text, job->id, sizeof(id.text));
    return id;
}

static inline RigId rig_add(Rig *rig, QueueSpec spec)
{
    if (spec.method.n == 0) {
        spec.method = SPAN("m");
    }
    OP_SET(rig_op(rig, QUEUE_ENQUEUE), spec, spec);
    assert_int_equal(rig_run(rig), 0);
    assert_int_equal(rig->op.n_jobs, 1);
    return rig_id(&rig->op.jobs[0]);
}

#define RIG_ADD(rig, ...) rig_add((rig), (QueueSpec){__VA_ARGS__})

static inline RigId rig_add_one(Rig *rig)
{
    return rig_add(rig, (QueueSpec){.priority = 0});
}

/* How many were claimed; they are in rig->op.jobs. */
static inline size_t rig_claim(Rig *rig, const char *pool, size_t max, int64_t lease_ms)
{
    OP_SET(rig_op(rig, QUEUE_CLAIM), claim,
           (QueueClaim){
               .pool = span_from_str(pool), .worker = SPAN("w"), .max = max, .lease_ms = lease_ms});
    assert_int_equal(rig_run(rig), 0);
    return rig->op.n_jobs;
}

static inline int rig_complete(Rig *rig, const RigId *id, uint64_t fence, JobState state)
{
    QueueOp *op = rig_op(rig, QUEUE_COMPLETE);

    OP_SET(op, id, span_from_str(id->text));
    op->fence = fence;
    OP_SET(op, finish, (QueueFinish){.state = state});
    return rig_run(rig);
}

/* GET, CANCEL, RETRY. */
static inline int rig_do(Rig *rig, QueueVerb verb, const RigId *id)
{
    OP_SET(rig_op(rig, verb), id, span_from_str(id->text));
    return rig_run(rig);
}

static inline int rig_beat(Rig *rig, const RigId *id, uint64_t fence, int64_t lease_ms)
{
    QueueOp *op = rig_op(rig, QUEUE_BEAT);

    OP_SET(op, id, span_from_str(id->text));
    op->fence = fence;
    op->lease_ms = lease_ms;
    return rig_run(rig);
}

/* The job as it is; in rig->op. */
static inline const QueueJob *rig_get(Rig *rig, const RigId *id)
{
    assert_int_equal(rig_do(rig, QUEUE_GET, id), 0);
    assert_false(rig->wrote);
    assert_int_equal(rig->op.n_jobs, 1);
    return &rig->op.jobs[0];
}

static inline JobState rig_state(Rig *rig, const RigId *id)
{
    return rig_get(rig, id)->state;
}

static inline void rig_on_told(void *context, const QueueJob *job)
{
    Rig *rig = context;

    assert_true(rig->n_told < 64);
    rig->told[rig->n_told++] = job->state;
}

/* All that is due, told in rig->told. */
static inline void rig_sweep(Rig *rig)
{
    int r = STORE_E_MORE;

    rig->n_told = 0;
    for (int i = 0; r == STORE_E_MORE; i++) {
        assert_true(i < 1000);
        assert_int_equal(store_begin(rig->store, rig->now), 0);
        r = store_sweep(rig->store, 16, rig_on_told, rig);
        assert_true(r == 0 || r == STORE_E_MORE);
        assert_int_equal(store_commit(rig->store, &rig->wrote), 0);
    }
}

static inline void rig_count(Rig *rig, QueueCounts *ret)
{
    (void)rig_op(rig, QUEUE_COUNT);
    assert_int_equal(rig_run(rig), 0);
    *ret = rig->op.counts;
}

#define assert_text(span, literal)                                                                 \
    do {                                                                                           \
        Span text_ = (span);                                                                       \
        assert_int_equal(text_.n, sizeof(literal) - 1);                                            \
        assert_memory_equal(text_.n == 0 ? "" : text_.p, literal, sizeof(literal) - 1);            \
    } while (0)
