#include "io/windows/handle_wait.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"

struct WinWait {
    uv_async_t async;
    void (*fn)(void *context);
    void *context;
    HANDLE registration; /* NULL: none */
};

/* On one of the system's threads. */
static void CALLBACK wait_on_signal(void *context, BOOLEAN is_timeout)
{
    WinWait *wait = context;

    (void)is_timeout; /* there is none */
    (void)uv_async_send(&wait->async);
}

static void wait_stop(WinWait *wait)
{
    if (wait->registration != NULL) {
        /* Returns when the other thread is through with it. */
        (void)UnregisterWaitEx(wait->registration, INVALID_HANDLE_VALUE);
        wait->registration = NULL;
    }
}

static void wait_on_async(uv_async_t *async)
{
    WinWait *wait = async->data;

    wait_stop(wait);
    wait->fn(wait->context);
}

static void wait_on_closed(uv_handle_t *handle)
{
    (void)mem_free(handle->data);
}

int win_wait_new(WinWait **ret, IoLoop *loop, void (*fn)(void *context), void *context)
{
    WinWait *wait = mem_alloc_array(1, sizeof(*wait));
    int r;

    if (wait == NULL) {
        return err_raise(-ENOMEM);
    }
    wait->fn = fn;
    wait->context = context;
    r = io_uv_result(uv_async_init(&loop->uv, &wait->async, wait_on_async));
    if (r != 0) {
        (void)mem_free(wait);
        return err_raise(r);
    }
    wait->async.data = wait;
    *ret = wait;
    return 0;
}

WinWait *win_wait_free(WinWait *wait)
{
    if (wait != NULL) {
        wait_stop(wait);
        uv_close((uv_handle_t *)&wait->async, wait_on_closed);
    }
    return NULL;
}

void win_wait_set_background(WinWait *wait, bool is_background)
{
    if (is_background) {
        uv_unref((uv_handle_t *)&wait->async);
    } else {
        uv_ref((uv_handle_t *)&wait->async);
    }
}

int win_wait_start(WinWait *wait, HANDLE handle)
{
    wait_stop(wait);
    if (!RegisterWaitForSingleObject(&wait->registration, handle, wait_on_signal, wait, INFINITE,
                                     WT_EXECUTEINWAITTHREAD | WT_EXECUTEONLYONCE)) {
        wait->registration = NULL;
        return err_raise(win_error());
    }
    return 0;
}

void win_wait_fire(WinWait *wait)
{
    (void)uv_async_send(&wait->async);
}
