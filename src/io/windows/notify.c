/* The manager of services here is asked in other ways; nobody is told anything. */
#include "io/notify.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"

struct IoNotify {
    char nothing;
};

int io_notify_new(IoNotify **ret)
{
    IoNotify *notify = mem_alloc_array(1, sizeof(*notify));

    if (notify == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret = notify;
    return 0;
}

IoNotify *io_notify_free(IoNotify *notify)
{
    return mem_free(notify);
}

bool io_notify_is_on(const IoNotify *notify)
{
    (void)notify;
    return false;
}

void io_notify_ready(IoNotify *notify, const char *status)
{
    (void)notify;
    (void)status;
}

void io_notify_reloading(IoNotify *notify)
{
    (void)notify;
}

void io_notify_stopping(IoNotify *notify)
{
    (void)notify;
}

void io_notify_status(IoNotify *notify, const char *status)
{
    (void)notify;
    (void)status;
}
