/* The watch on the parent; declared in io/loop.h.
 *
 * A process keeps the number of its parent for good, whoever has it now: so the one that is found
 * under it counts only if it is older than we are.
 */
#include "io/loop.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"
#include "io/windows/handle_wait.h"

struct IoParentWatch {
    WinWait *wait; /* NULL: there is nobody to wait for */
    HANDLE parent;
    void (*fn)(void *context);
    void *context;
};

/* When it was started, on the system's clock; 0 if that is not told. */
static uint64_t parent_started(HANDLE process)
{
    FILETIME started;
    FILETIME other;

    if (!GetProcessTimes(process, &started, &other, &other, &other)) {
        return 0;
    }
    return (uint64_t)started.dwHighDateTime << 32 | started.dwLowDateTime;
}

/* NULL if it has gone, or is not for us to watch. */
static HANDLE parent_open(void)
{
    uv_pid_t pid = uv_os_getppid();
    HANDLE parent;

    if (pid <= 0) {
        return NULL;
    }
    parent = OpenProcess(SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
    if (parent != NULL && parent_started(parent) > parent_started(GetCurrentProcess())) {
        win_close(&parent);
    }
    return parent;
}

static void parent_on_end(void *context)
{
    IoParentWatch *watch = context;

    watch->fn(watch->context);
}

int io_parent_watch_new(IoParentWatch **ret, IoLoop *loop, int64_t period_ms,
                        void (*fn)(void *context), void *context)
{
    IoParentWatch *watch = mem_alloc_array(1, sizeof(*watch));
    int r = 0;

    (void)period_ms; /* its end is an event */
    if (watch == NULL) {
        return err_raise(-ENOMEM);
    }
    watch->fn = fn;
    watch->context = context;
    watch->parent = parent_open();
    if (watch->parent != NULL) {
        r = win_wait_new(&watch->wait, loop, parent_on_end, watch);
        if (r == 0) {
            win_wait_set_background(watch->wait, true);
            r = win_wait_start(watch->wait, watch->parent);
        }
    }
    if (r != 0) {
        (void)io_parent_watch_free(watch);
        return err_pass(r);
    }
    *ret = watch;
    return 0;
}

IoParentWatch *io_parent_watch_free(IoParentWatch *watch)
{
    if (watch != NULL) {
        watch->wait = win_wait_free(watch->wait);
        win_close(&watch->parent);
        (void)mem_free(watch);
    }
    return NULL;
}
