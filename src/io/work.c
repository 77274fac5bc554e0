#include "io/work.h"

#include <errno.h>

#include <uv.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"

/* ---- several at once ---- */

typedef struct WorkFan {
    void (*fn)(void *context, size_t i);
    void *context;
    size_t i;
    uv_thread_t thread;
    bool is_started;
} WorkFan;

static void work_on_fan(void *context)
{
    WorkFan *one = context;

    one->fn(one->context, one->i);
}

void io_work_fan(size_t n, void (*fn)(void *context, size_t i), void *context)
{
    CLEANUP(mem_freep) WorkFan *fan = NULL;

    if (n > 1) {
        fan = mem_alloc_array(n - 1, sizeof(*fan));
    }
    for (size_t i = 0; fan != NULL && i + 1 < n; i++) {
        fan[i] = (WorkFan){.fn = fn, .context = context, .i = i};
        fan[i].is_started = uv_thread_create(&fan[i].thread, work_on_fan, &fan[i]) == 0;
    }
    if (n > 0) {
        fn(context, n - 1);
    }
    for (size_t i = 0; i + 1 < n; i++) {
        if (fan == NULL || !fan[i].is_started) {
            fn(context, i);
        }
    }
    for (size_t i = 0; fan != NULL && i + 1 < n; i++) {
        if (fan[i].is_started) {
            (void)uv_thread_join(&fan[i].thread);
        }
    }
}

size_t io_work_cores(void)
{
    return uv_available_parallelism();
}

/* ---- one beside the loop ---- */

/* A thread of its own and not one of libuv's pool: those are few, and work that takes minutes would
 * keep whatever else waits for one. */
typedef struct Work {
    IoTask task;
    IoLoop *loop;
    uv_thread_t thread;
    void (*work)(void *context);
    void (*done)(void *context);
    void *context;
} Work;

static void work_on_thread(void *context)
{
    Work *work = context;

    work->work(work->context);
    io_loop_post(work->loop, &work->task);
}

static void work_on_done(IoTask *task)
{
    Work *work = (Work *)(void *)task; /* its first member */
    void (*done)(void *context) = work->done;
    void *context = work->context;

    (void)uv_thread_join(&work->thread);
    io_loop_release(work->loop);
    (void)mem_free(work);
    done(context);
}

int io_work_start(IoLoop *loop, void (*work)(void *context), void (*done)(void *context),
                  void *context)
{
    Work *made = mem_alloc_array(1, sizeof(*made));
    int r;

    if (made == NULL) {
        return err_raise(-ENOMEM);
    }
    *made = (Work){
        .task = {.fn = work_on_done}, .loop = loop, .work = work, .done = done, .context = context};
    io_loop_hold(loop);
    r = io_uv_result(uv_thread_create(&made->thread, work_on_thread, made));
    if (r != 0) {
        io_loop_release(loop);
        (void)mem_free(made);
        return err_raise(r);
    }
    return 0;
}
