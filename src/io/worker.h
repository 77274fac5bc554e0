/* io/worker.h: a child that answers requests, one at a time, and can do nothing else.
 *
 * For work that may go wrong: code of others over bytes of strangers. When it crashes, or is lost
 * in a loop, the child is what ends. It is a program that was started with io_worker_start and has
 * called io_worker_serve, which first takes from it all but memory, time and its wire: no file, no
 * socket, no process can be opened, made or reached from then on (Linux: a seccomp filter that
 * lists what is allowed; and limits). A request and an answer are bytes with their length in front.
 *
 * Thread: any, one at a time. The child dies with the thread that started it. Not on Windows.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "base/stop.h"

#include <stddef.h>
#include <stdint.h>

enum {
    IO_WORKER_E_ENDED = 1, /* before it had answered: a crash, as a rule */
    IO_WORKER_E_KILLED,    /* the same, by SIGKILL: somebody ended it, or there was no memory */
    IO_WORKER_E_LATE,      /* it needed more time than it may, and was killed */
    IO_WORKER_E_CANCELLED, /* .stop was asked for, and it was killed */
};

typedef struct IoWorker IoWorker;

typedef struct IoWorkerLimits {
    int64_t max_us; /* of its own time, not the clock's, for one request */
    Stop stop;      /* asked every 10 ms */
} IoWorkerLimits;

/* argv as of IoProcessSpec. 0, -ENOMEM, -ENOSYS: not on this system; another negative errno. Gives
 * *ret. */
int io_worker_start(IoWorker **ret, const char *const *argv);

/* Kills it if it runs, and reaps it. Takes NULL. */
IoWorker *io_worker_free(IoWorker *worker);

/* Sends head and body as one request, waits for the answer and appends it (BYTES_E_FULL counts as
 * IO_WORKER_E_ENDED: it is not what it was asked for). 0, a negative errno, IO_WORKER_E_*: after
 * anything but 0 the worker can only be freed. */
int io_worker_ask(IoWorker *worker, Span head, Span body, const IoWorkerLimits *limits,
                  Bytes *answer);

/* ---- in the child ---- */

typedef struct IoWorkerServe {
    size_t max_request; /* bytes of one request */
    size_t max_memory;  /* addresses of the whole process */
    /* Before the program is confined: what it needs to open. May be NULL. */
    int (*begin)(void *context);
    /* Appends the answer; what it returns other than 0 ends the program. */
    int (*answer)(void *context, Span request, Bytes *out);
    void *context;
} IoWorkerServe;

/* Until the wire ends. 0, or a negative errno. */
int io_worker_serve(const IoWorkerServe *serve);
