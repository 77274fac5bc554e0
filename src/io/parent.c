/* The watch on the parent; declared in io/loop.h.
 *
 * Where the kernel has pidfd_open (Linux 5.3), the parent's end is an event like any other, and no
 * timer runs. Elsewhere, and where a sandbox forbids the call, getppid is asked every period.
 */
#include "io/loop.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"

struct IoParentWatch {
    union {
        uv_handle_t handle;
        uv_poll_t poll;
        uv_timer_t timer;
    } uv;
    void (*fn)(void *context);
    void *context;
    pid_t parent;
    int fd; /* of the parent; -1 where the timer looks */
};

static void parent_on_closed(uv_handle_t *handle)
{
    IoParentWatch *watch = handle->data;

    if (watch->fd >= 0) {
        (void)close(watch->fd);
    }
    (void)mem_free(watch);
}

static void parent_on_event(uv_poll_t *poll, int status, int events)
{
    IoParentWatch *watch = poll->data;

    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    watch->fn(watch->context);
}

static void parent_on_look(uv_timer_t *timer)
{
    IoParentWatch *watch = timer->data;

    if (getppid() != watch->parent) {
        (void)uv_timer_stop(timer);
        watch->fn(watch->context);
    }
}

/* The parent as a descriptor; -1 if there is none to be had. */
static int parent_open(pid_t parent)
{
#ifdef SYS_pidfd_open
    int fd = (int)syscall(SYS_pidfd_open, parent, 0);

    /* Had it ended before, the descriptor may be of another process with its number. */
    if (fd >= 0 && getppid() != parent) {
        (void)close(fd);
        return -1;
    }
    return fd;
#else
    (void)parent;
    return -1;
#endif
}

/* True if its end will be an event. */
static bool parent_watch_events(IoParentWatch *watch, IoLoop *loop)
{
    watch->fd = parent_open(watch->parent);
    if (watch->fd < 0) {
        return false;
    }
    if (uv_poll_init(&loop->uv, &watch->uv.poll, watch->fd) != 0) {
        (void)close(watch->fd);
        watch->fd = -1;
        return false;
    }
    (void)uv_poll_start(&watch->uv.poll, UV_READABLE, parent_on_event);
    return true;
}

int io_parent_watch_new(IoParentWatch **ret, IoLoop *loop, int64_t period_ms,
                        void (*fn)(void *context), void *context)
{
    IoParentWatch *watch = mem_alloc_array(1, sizeof(*watch));

    if (watch == NULL) {
        return err_raise(-ENOMEM);
    }
    watch->fn = fn;
    watch->context = context;
    watch->parent = getppid();
    watch->fd = -1;
    /* 1: started by init, or the parent had gone before we could look. The two cannot be told
     * apart, and a service must not end itself. */
    if (watch->parent == 1 || !parent_watch_events(watch, loop)) {
        (void)uv_timer_init(&loop->uv, &watch->uv.timer);
        if (watch->parent != 1) {
            (void)uv_timer_start(&watch->uv.timer, parent_on_look, (uint64_t)period_ms,
                                 (uint64_t)period_ms);
        }
    }
    watch->uv.handle.data = watch;
    uv_unref(&watch->uv.handle);
    *ret = watch;
    return 0;
}

IoParentWatch *io_parent_watch_free(IoParentWatch *watch)
{
    if (watch != NULL) {
        uv_close(&watch->uv.handle, parent_on_closed);
    }
    return NULL;
}
