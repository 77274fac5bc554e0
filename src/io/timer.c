/* Timers and signals; declared in io/loop.h. */
#include "io/loop.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"

struct IoTimer {
    uv_timer_t uv;
    void (*fn)(void *context);
    void *context;
    int64_t due_ms; /* of the running one */
};

struct IoSignal {
    uv_signal_t uv;
    void (*fn)(void *context, int signum);
    void *context;
};

/* Both begin with their handle, so one function releases either. */
static void watch_on_closed(uv_handle_t *handle)
{
    (void)mem_free(handle->data);
}

static void timer_on_fire(uv_timer_t *uv)
{
    IoTimer *timer = uv->data;

    timer->fn(timer->context);
}

int io_timer_new(IoTimer **ret, IoLoop *loop, bool background, void (*fn)(void *context),
                 void *context)
{
    IoTimer *timer = mem_alloc_array(1, sizeof(*timer));

    if (timer == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)uv_timer_init(&loop->uv, &timer->uv);
    timer->uv.data = timer;
    timer->fn = fn;
    timer->context = context;
    if (background) {
        uv_unref((uv_handle_t *)&timer->uv);
    }
    *ret = timer;
    return 0;
}

IoTimer *io_timer_free(IoTimer *timer)
{
    if (timer != NULL) {
        uv_close((uv_handle_t *)&timer->uv, watch_on_closed);
    }
    return NULL;
}

void io_timer_start_at(IoTimer *timer, int64_t due_ms)
{
    int64_t now_ms = (int64_t)uv_now(timer->uv.loop);

    if (due_ms == INT64_MAX) {
        io_timer_stop(timer);
        return;
    }
    if (uv_is_active((uv_handle_t *)&timer->uv) && timer->due_ms == due_ms) {
        return;
    }
    timer->due_ms = due_ms;
    (void)uv_timer_start(&timer->uv, timer_on_fire,
                         due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0, 0);
}

void io_timer_stop(IoTimer *timer)
{
    (void)uv_timer_stop(&timer->uv);
}

static void signal_on_arrival(uv_signal_t *uv, int signum)
{
    IoSignal *signal = uv->data;

    signal->fn(signal->context, signum);
}

int io_signal_new(IoSignal **ret, IoLoop *loop, int signum, void (*fn)(void *context, int signum),
                  void *context)
{
    IoSignal *signal = mem_alloc_array(1, sizeof(*signal));
    int r;

    if (signal == NULL) {
        return err_raise(-ENOMEM);
    }
    r = io_uv_result(uv_signal_init(&loop->uv, &signal->uv));
    if (r != 0) {
        (void)mem_free(signal);
        return err_raise(r);
    }
    signal->uv.data = signal;
    signal->fn = fn;
    signal->context = context;
    uv_unref((uv_handle_t *)&signal->uv);
    r = io_uv_result(uv_signal_start(&signal->uv, signal_on_arrival, signum));
    if (r != 0) {
        (void)io_signal_free(signal);
        return err_raise(r);
    }
    *ret = signal;
    return 0;
}

IoSignal *io_signal_free(IoSignal *signal)
{
    if (signal != NULL) {
        uv_close((uv_handle_t *)&signal->uv, watch_on_closed);
    }
    return NULL;
}
