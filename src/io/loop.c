#include "io/loop.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"

struct IoBeforeWait {
    IoLoop *loop;
    void (*fn)(void *context);
    void *context;
    IoBeforeWait *next;
    IoBeforeWait *prev;
    bool is_dead; /* freed while the hooks were being called: released after the round */
};

/* Calls everything that was posted until now; what is posted meanwhile waits for the next round,
 * so that tasks that post themselves again cannot keep the loop from its descriptors. */
static bool loop_run_tasks(IoLoop *loop)
{
    IoTask *task;

    uv_mutex_lock(&loop->mutex);
    task = loop->first_task;
    loop->first_task = NULL;
    loop->last_task = NULL;
    uv_mutex_unlock(&loop->mutex);
    if (task == NULL) {
        return false;
    }
    while (task != NULL) {
        IoTask *next = task->next; /* the memory is not ours any more once fn runs */

        task->next = NULL;
        task->fn(task);
        task = next;
    }
    return true;
}

static void loop_on_async(uv_async_t *async)
{
    IoLoop *loop = async->data;

    atomic_store_explicit(&loop->answered, atomic_load_explicit(&loop->asked, memory_order_relaxed),
                          memory_order_relaxed);
    (void)loop_run_tasks(loop);
}

static void loop_remove_hook(IoLoop *loop, IoBeforeWait *hook)
{
    if (hook->prev != NULL) {
        hook->prev->next = hook->next;
    } else {
        loop->first_hook = hook->next;
    }
    if (hook->next != NULL) {
        hook->next->prev = hook->prev;
    }
    (void)mem_free(hook);
    if (loop->first_hook == NULL) {
        (void)uv_prepare_stop(&loop->prepare);
    }
}

bool io_loop_is_settling(const IoLoop *loop)
{
    return loop->in_hooks;
}

static void loop_call_hooks(IoLoop *loop)
{
    loop->in_hooks = true;
    loop->is_unsettled = false;
    for (IoBeforeWait *hook = loop->first_hook; hook != NULL; hook = hook->next) {
        if (!hook->is_dead) {
            hook->fn(hook->context);
        }
    }
    loop->in_hooks = false;
    for (IoBeforeWait *hook = loop->first_hook; hook != NULL;) {
        IoBeforeWait *next = hook->next;

        if (hook->is_dead) {
            loop_remove_hook(loop, hook);
        }
        hook = next;
    }
}

static void loop_on_prepare(uv_prepare_t *prepare)
{
    loop_call_hooks(prepare->data);
}

/* The handles that every loop has; none of them keeps it running by itself. */
static int loop_init_handles(IoLoop *loop)
{
    int r = uv_async_init(&loop->uv, &loop->async, loop_on_async);

    if (r != 0) {
        return err_raise(io_uv_result(r));
    }
    (void)uv_prepare_init(&loop->uv, &loop->prepare);
    /* Fails only if it cannot make the loop's pipe for signals, which uv_loop_init has made. */
    (void)uv_signal_init(&loop->uv, &loop->child_signal);
    loop->async.data = loop;
    loop->prepare.data = loop;
    loop->child_signal.data = loop;
    uv_unref((uv_handle_t *)&loop->async);
    uv_unref((uv_handle_t *)&loop->prepare);
    uv_unref((uv_handle_t *)&loop->child_signal);
    return 0;
}

int io_loop_new(IoLoop **ret)
{
    IoLoop *loop;
    int r = io_take_standard_descriptors();

    if (r != 0) {
        return err_pass(r);
    }
    loop = mem_alloc_array(1, sizeof(*loop));
    if (loop == NULL) {
        return err_raise(-ENOMEM);
    }
    r = io_uv_result(uv_mutex_init(&loop->mutex));
    if (r != 0) {
        (void)mem_free(loop);
        return err_raise(r);
    }
    r = io_uv_result(uv_loop_init(&loop->uv));
    if (r == 0) {
        r = loop_init_handles(loop);
        if (r == 0) {
            *ret = loop;
            return 0;
        }
        (void)uv_loop_close(&loop->uv);
    }
    uv_mutex_destroy(&loop->mutex);
    (void)mem_free(loop);
    return err_raise(r);
}

IoLoop *io_loop_free(IoLoop *loop)
{
    if (loop == NULL) {
        return NULL;
    }
    while (loop_run_tasks(loop)) {
    }
    /* What is freed still closes, and killed children are still to be reaped. (A stop that nobody
     * ran into ends only the first round.) */
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0) {
    }
    io_process_abandon_orphans(loop);
    io_watchdog_stop(loop);
    uv_close((uv_handle_t *)&loop->async, NULL);
    uv_close((uv_handle_t *)&loop->prepare, NULL);
    uv_close((uv_handle_t *)&loop->child_signal, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop->uv);
    uv_mutex_destroy(&loop->mutex);
    return mem_free(loop);
}

int io_loop_run(IoLoop *loop)
{
    /* A turn that looks at the descriptors. libuv 1.45 and later call what is due before they look
     * for the first time: a timer that is due at once and stops the loop would keep it from them in
     * every run. */
    if (!loop->stopping) {
        (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
    while (!loop->stopping) {
        (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
        if (loop->stopping) {
            break;
        }
        /* Nothing is left to wait for; but libuv leaves without a last round of hooks, and does not
         * count what the loop's own thread has posted. Either may give it more to do. */
        if (!loop_run_tasks(loop)) {
            loop_call_hooks(loop);
            if (uv_loop_alive(&loop->uv) == 0 && !loop_run_tasks(loop)) {
                break;
            }
        }
    }
    /* Where libuv calls timers behind the descriptors (1.45 and later), what they stop ends without
     * another round of hooks; so does, with all versions, what a descriptor stops. */
    if (loop->is_unsettled) {
        loop->is_leaving = true;
        loop_call_hooks(loop);
        loop->is_leaving = false;
    }
    loop->stopping = false;
    return 0;
}

void io_loop_stop(IoLoop *loop)
{
    loop->stopping = true;
    loop->is_unsettled = !loop->in_hooks;
    if (!loop->is_leaving) { /* else it would stop the next run before that has begun */
        uv_stop(&loop->uv);
    }
}

int64_t io_loop_now_ms(const IoLoop *loop)
{
    return (int64_t)uv_now(&loop->uv);
}

void io_loop_update_now(IoLoop *loop)
{
    uv_update_time(&loop->uv);
}

void io_loop_post(IoLoop *loop, IoTask *task)
{
    task->next = NULL;
    uv_mutex_lock(&loop->mutex);
    if (loop->last_task != NULL) {
        loop->last_task->next = task;
    } else {
        loop->first_task = task;
        /* Inside the lock: once the loop thread has seen the task it may free the loop. */
        (void)uv_async_send(&loop->async);
    }
    loop->last_task = task;
    uv_mutex_unlock(&loop->mutex);
}

void io_loop_hold(IoLoop *loop)
{
    if (loop->n_holds++ == 0) {
        uv_ref((uv_handle_t *)&loop->async);
    }
}

void io_loop_release(IoLoop *loop)
{
    if (--loop->n_holds == 0) {
        uv_unref((uv_handle_t *)&loop->async);
    }
}

int io_before_wait_new(IoBeforeWait **ret, IoLoop *loop, void (*fn)(void *context), void *context)
{
    IoBeforeWait *hook = mem_alloc_array(1, sizeof(*hook));

    if (hook == NULL) {
        return err_raise(-ENOMEM);
    }
    *hook = (IoBeforeWait){.loop = loop, .fn = fn, .context = context, .next = loop->first_hook};
    if (loop->first_hook != NULL) {
        loop->first_hook->prev = hook;
    } else {
        (void)uv_prepare_start(&loop->prepare, loop_on_prepare);
    }
    loop->first_hook = hook;
    *ret = hook;
    return 0;
}

IoBeforeWait *io_before_wait_free(IoBeforeWait *hook)
{
    if (hook == NULL) {
        return NULL;
    }
    if (hook->loop->in_hooks) {
        hook->is_dead = true;
    } else {
        loop_remove_hook(hook->loop, hook);
    }
    return NULL;
}
