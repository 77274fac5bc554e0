#include "io/wake.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"

struct IoWake {
    uv_async_t async;
    void (*fn)(void *context);
    void *context;
};

static void wake_on_async(uv_async_t *async)
{
    IoWake *wake = async->data;

    wake->fn(wake->context);
}

static void wake_on_closed(uv_handle_t *handle)
{
    (void)mem_free(handle->data);
}

int io_wake_new(IoWake **ret, IoLoop *loop, void (*fn)(void *context), void *context)
{
    IoWake *wake = mem_alloc_array(1, sizeof(*wake));
    int r;

    if (wake == NULL) {
        return err_raise(-ENOMEM);
    }
    wake->fn = fn;
    wake->context = context;
    r = io_uv_result(uv_async_init(&loop->uv, &wake->async, wake_on_async));
    if (r != 0) {
        (void)mem_free(wake);
        return err_raise(r);
    }
    wake->async.data = wake;
    uv_unref((uv_handle_t *)&wake->async);
    *ret = wake;
    return 0;
}

IoWake *io_wake_free(IoWake *wake)
{
    if (wake != NULL) {
        uv_close((uv_handle_t *)&wake->async, wake_on_closed);
    }
    return NULL;
}

/* uv_async_send is documented to be safe in a signal handler, but for errno. */
void io_wake_send(IoWake *wake)
{
    int saved = errno;

    (void)uv_async_send(&wake->async);
    errno = saved;
}
