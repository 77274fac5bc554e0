/* Windows has no way to take all from a process but its wire (io/worker.h). */
#include "io/worker.h"

#include <errno.h>

#include "base/error.h"

int io_worker_start(IoWorker **ret, const char *const *argv)
{
    (void)ret;
    (void)argv;
    return err_raise(-ENOSYS);
}

IoWorker *io_worker_free(IoWorker *worker)
{
    (void)worker;
    return NULL;
}

int io_worker_ask(IoWorker *worker, Span head, Span body, const IoWorkerLimits *limits,
                  Bytes *answer)
{
    (void)worker;
    (void)head;
    (void)body;
    (void)limits;
    (void)answer;
    return err_raise(-ENOSYS);
}

int io_worker_serve(const IoWorkerServe *serve)
{
    (void)serve;
    return err_raise(-ENOSYS);
}
