/* The thread of the store: who waits, and who is told. */
#include "agent/store.h"

#include <assert.h>
#include <errno.h>

#include "agent/store_impl.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/thread.h"
#include "io/wake.h"

typedef struct StoreOps {
    AgentStoreOp *first;
    AgentStoreOp *last;
} StoreOps;

struct AgentStore {
    StoreFile file; /* the thread's, while there is one */
    IoLoop *loop;
    IoWake *wake;
    IoThread thread;
    IoMutex lock;
    IoCondition news;
    bool has_thread;
    bool has_lock;
    bool has_news;
    int64_t (*wall_ms)(void *context);
    void *context;

    /* With the lock. */
    StoreOps waiting;
    StoreOps done; /* to be told of */
    bool is_closing;
};

static void ops_push(StoreOps *ops, AgentStoreOp *op)
{
    op->next = NULL;
    *(ops->last != NULL ? &ops->last->next : &ops->first) = op;
    ops->last = op;
}

static AgentStoreOp *ops_pop(StoreOps *ops)
{
    AgentStoreOp *op = ops->first;

    if (op != NULL) {
        ops->first = op->next;
        ops->last = ops->first == NULL ? NULL : ops->last;
        op->next = NULL;
    }
    return op;
}

const char *agent_store_word(int r)
{
    switch (r) {
    case 0:
        return "done";
    case AGENT_STORE_E_MISSING:
        return "there is no such conversation";
    case AGENT_STORE_E_TOO_LARGE:
        return "too large to be kept, or without an id";
    case AGENT_STORE_E_FULL:
        return "the disk is full";
    case AGENT_STORE_E_BUSY:
        return "another process holds the conversations";
    case AGENT_STORE_E_CLOSED:
        return "the conversations are being closed";
    case -ENOMEM:
        return "out of memory";
    default:
        return "the conversations cannot be read or written";
    }
}

/* ---- the thread ---- */

static int64_t store_now_ms(const AgentStore *store)
{
    return store->wall_ms != NULL ? store->wall_ms(store->context) : clock_now_ms();
}

/* With the lock: as many as one commit takes. */
static StoreOps store_take(AgentStore *store)
{
    StoreOps batch = {NULL, NULL};

    for (size_t n = 0; n < LIMIT_AGENT_STORE_BATCH && store->waiting.first != NULL; n++) {
        ops_push(&batch, ops_pop(&store->waiting));
    }
    return batch;
}

static void store_main(void *context)
{
    AgentStore *store = context;

    io_mutex_lock(&store->lock);
    for (;;) {
        StoreOps batch;
        AgentStoreOp *op;

        while (store->waiting.first == NULL && !store->is_closing) {
            io_condition_wait(&store->news, &store->lock);
        }
        batch = store_take(store);
        if (batch.first == NULL) {
            break;
        }
        io_mutex_unlock(&store->lock);
        agent_store_run(&store->file, batch.first, store_now_ms(store));
        io_mutex_lock(&store->lock);
        while ((op = ops_pop(&batch)) != NULL) {
            ops_push(&store->done, op);
        }
        io_wake_send(store->wake);
    }
    io_mutex_unlock(&store->lock);
}

/* ---- the loop ---- */

/* One at a time: who is told may submit the next, or read what others got. */
static void store_tell(AgentStore *store)
{
    for (;;) {
        AgentStoreOp *op;

        io_mutex_lock(&store->lock);
        op = ops_pop(&store->done);
        io_mutex_unlock(&store->lock);
        if (op == NULL) {
            return;
        }
        io_loop_release(store->loop);
        op->done(op);
    }
}

static void store_on_wake(void *context)
{
    store_tell(context);
}

void agent_store_submit(AgentStore *store, AgentStoreOp *op)
{
    io_loop_hold(store->loop);
    io_mutex_lock(&store->lock);
    if (store->is_closing) {
        op->r = AGENT_STORE_E_CLOSED;
        ops_push(&store->done, op); /* close tells of it */
    } else {
        ops_push(&store->waiting, op);
        io_condition_signal(&store->news);
    }
    io_mutex_unlock(&store->lock);
}

void agent_store_op_deinit(AgentStoreOp *op)
{
    arena_deinit(&op->arena);
    op->loaded = NULL;
    op->n_loaded = 0;
    op->conversations = NULL;
    op->n_conversations = 0;
}

/* ---- the beginning and the end ---- */

static int store_start(AgentStore *store)
{
    int r = io_mutex_init(&store->lock);

    store->has_lock = r == 0;
    if (r == 0) {
        r = io_condition_init(&store->news);
        store->has_news = r == 0;
    }
    if (r == 0) {
        r = io_wake_new(&store->wake, store->loop, store_on_wake, store);
    }
    if (r == 0) {
        r = io_thread_start(&store->thread, store_main, store);
        store->has_thread = r == 0;
    }
    return r;
}

int agent_store_open(AgentStore **ret, const AgentStoreConfig *config, Diag *reterr_diag)
{
    AgentStore *store = mem_alloc_array(1, sizeof(*store));
    int r;

    if (store == NULL) {
        return err_raise(-ENOMEM);
    }
    store->loop = config->loop;
    store->wall_ms = config->wall_ms;
    store->context = config->context;
    store->file.log = config->log;
    r = store_file_open(&store->file, config->path, reterr_diag);
    r = r != 0 ? r : store_start(store);
    if (r != 0) {
        (void)agent_store_close(store);
        return r;
    }
    *ret = store;
    return 0;
}

AgentStore *agent_store_close(AgentStore *store)
{
    if (store == NULL) {
        return NULL;
    }
    if (store->has_thread) {
        assert(!io_thread_is_self(&store->thread));
        io_mutex_lock(&store->lock);
        store->is_closing = true;
        io_condition_signal(&store->news);
        io_mutex_unlock(&store->lock);
        io_thread_join(&store->thread);
        store_tell(store);
    }
    store->wake = io_wake_free(store->wake);
    store_file_close(&store->file);
    if (store->has_news) {
        io_condition_deinit(&store->news);
    }
    if (store->has_lock) {
        io_mutex_deinit(&store->lock);
    }
    return mem_free(store);
}
