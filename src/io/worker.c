#include "io/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/process_start.h"
#include "io/worker_confine.h"

/* How long a call waits for the wire before it looks whether it is still wanted. */
#define WORKER_TICK_US 10000

/* A worker that neither runs nor answers waits for something that will not come. The clock's time,
 * since its own does not pass then; a machine may have much else to do, so there is plenty of it.
 */
#define WORKER_SILENT_MS ((int64_t)10 * 60 * 1000)

/* Milliseconds between the end of the wire and that of the process. */
#define WORKER_END_NAPS 1000

/* Kept of the buffers of a worker between requests. */
#define WORKER_KEEP_BYTES ((size_t)1024 * 1024)

/* Its wire, where a program has its standard input. */
#define WORKER_FD STDIN_FILENO

/* In front of every message: how long it is, in this machine's order. */
typedef uint64_t WorkerLength;

struct IoWorker {
    int fd;
    pid_t pid;
    IoGuardEntry *guarded;
    clockid_t clock; /* its own time */
};

/* ---- its life ---- */

static int worker_pair(int ours_theirs[2])
{
    const struct timeval tick = {.tv_usec = WORKER_TICK_US};

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ours_theirs) != 0) {
        return err_raise(-errno);
    }
    if (setsockopt(ours_theirs[0], SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof(tick)) != 0 ||
        setsockopt(ours_theirs[0], SOL_SOCKET, SO_SNDTIMEO, &tick, sizeof(tick)) != 0) {
        return err_raise(-errno);
    }
    return 0;
}

static int worker_spawn(IoWorker *worker, const char *const *argv, int their_fd)
{
    IoProcessSpec spec = {.argv = argv, .dies_with_thread = true};
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    /* What a sanitizer has to say is for people. */
    int theirs[3] = {their_fd, null_fd, TW_IS_SANITIZED ? -1 : null_fd};
    int r = null_fd < 0 ? err_raise(-errno)
                        : io_process_start(&spec, theirs, &worker->pid, &worker->guarded);

    if (null_fd >= 0) {
        (void)close(null_fd);
    }
    return r;
}

int io_worker_start(IoWorker **ret, const char *const *argv)
{
    IoWorker *worker = mem_alloc_array(1, sizeof(*worker));
    int fds[2] = {-1, -1};
    int r;

    if (worker == NULL) {
        return err_raise(-ENOMEM);
    }
    r = worker_pair(fds);
    worker->fd = fds[0];
    r = r != 0 ? r : worker_spawn(worker, argv, fds[1]);
    if (fds[1] >= 0) {
        (void)close(fds[1]);
    }
    if (r == 0 && clock_getcpuclockid(worker->pid, &worker->clock) != 0) {
        worker->clock = CLOCK_MONOTONIC; /* it has ended already */
    }
    if (r != 0) {
        (void)io_worker_free(worker);
        return err_pass(r);
    }
    *ret = worker;
    return 0;
}

/* Waits for its end; 0, or the signal that ended it. */
static int worker_reap(IoWorker *worker)
{
    int status = 0;
    pid_t pid;

    if (worker->pid <= 0) {
        return 0;
    }
    worker->guarded = io_guard_release(worker->guarded);
    do {
        pid = waitpid(worker->pid, &status, 0);
    } while (pid < 0 && errno == EINTR);
    worker->pid = 0;
    return pid > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void worker_kill(IoWorker *worker)
{
    if (worker->pid > 0) {
        (void)kill(worker->pid, SIGKILL);
    }
}

IoWorker *io_worker_free(IoWorker *worker)
{
    if (worker == NULL) {
        return NULL;
    }
    if (worker->fd >= 0) {
        (void)close(worker->fd);
    }
    worker_kill(worker);
    (void)worker_reap(worker);
    return mem_free(worker);
}

/* ---- a request ---- */

typedef struct WorkerCall {
    IoWorker *worker;
    const IoWorkerLimits *limits;
    int64_t start_us; /* of its time */
    int64_t start_ms; /* of the clock */
} WorkerCall;

static int64_t worker_us(const IoWorker *worker)
{
    struct timespec now;

    return clock_gettime(worker->clock, &now) == 0
               ? (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000
               : 0;
}

static int64_t worker_now_ms(void)
{
    return (int64_t)(clock_monotonic_ns() / 1000000);
}

/* Between two looks at the wire. */
static int worker_look(const WorkerCall *call)
{
    if (stop_is_asked(call->limits->stop)) {
        worker_kill(call->worker);
        return IO_WORKER_E_CANCELLED;
    }
    if (worker_us(call->worker) - call->start_us > call->limits->max_us ||
        worker_now_ms() - call->start_ms > WORKER_SILENT_MS) {
        worker_kill(call->worker);
        return IO_WORKER_E_LATE;
    }
    return 0;
}

/* The wire is closed, which the system does at its end: how did it? One that closed it otherwise is
 * killed, and so is not waited for. */
static int worker_gone(IoWorker *worker)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    siginfo_t info = {.si_pid = 0};

    for (int i = 0; i < WORKER_END_NAPS && info.si_pid == 0; i++) {
        if (waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
            break;
        }
        if (info.si_pid == 0) {
            (void)nanosleep(&nap, NULL);
        }
    }
    if (info.si_pid == 0) {
        worker_kill(worker);
        return IO_WORKER_E_ENDED;
    }
    return worker_reap(worker) == SIGKILL ? IO_WORKER_E_KILLED : IO_WORKER_E_ENDED;
}

/* What a call of the wire that moved nothing means: 0 to try again, or the outcome. */
static int worker_wire_failed(const WorkerCall *call, ssize_t n)
{
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return worker_look(call);
    }
    if (n == 0 || errno == EPIPE || errno == ECONNRESET) {
        return worker_gone(call->worker);
    }
    return err_raise(-errno);
}

static int worker_send(const WorkerCall *call, Span head, Span body)
{
    WorkerLength length = head.n + body.n;
    Span parts[3] = {span_make((const char *)&length, sizeof(length)), head, body};
    int r = 0;

    for (size_t at = 0; r == 0 && at < TW_ARRAY_SIZE(parts);) {
        struct iovec vectors[3];
        struct msghdr message = {.msg_iov = vectors};
        ssize_t n;

        for (size_t i = at; i < TW_ARRAY_SIZE(parts); i++) {
            /* The system does not change what it sends. */
            memcpy(&vectors[message.msg_iovlen].iov_base, &parts[i].p, sizeof(parts[i].p));
            vectors[message.msg_iovlen++].iov_len = parts[i].n;
        }
        n = sendmsg(call->worker->fd, &message, MSG_NOSIGNAL);
        if (n <= 0) {
            r = worker_wire_failed(call, n);
            continue;
        }
        while (at < TW_ARRAY_SIZE(parts) && (size_t)n >= parts[at].n) {
            n -= (ssize_t)parts[at++].n;
        }
        if (at < TW_ARRAY_SIZE(parts)) {
            parts[at] = span_make(parts[at].p + n, parts[at].n - (size_t)n);
        }
    }
    return r;
}

static int worker_receive(const WorkerCall *call, char *p, size_t n)
{
    int r = 0;

    while (r == 0 && n > 0) {
        ssize_t n_got = recv(call->worker->fd, p, n, 0);

        if (n_got <= 0) {
            r = worker_wire_failed(call, n_got);
        } else {
            p += n_got;
            n -= (size_t)n_got;
        }
    }
    return r;
}

int io_worker_ask(IoWorker *worker, Span head, Span body, const IoWorkerLimits *limits,
                  Bytes *answer)
{
    WorkerCall call = {.worker = worker,
                       .limits = limits,
                       .start_us = worker_us(worker),
                       .start_ms = worker_now_ms()};
    WorkerLength length = 0;
    int r = worker_send(&call, head, body);

    r = r != 0 ? r : worker_receive(&call, (char *)&length, sizeof(length));
    if (r != 0) {
        return r;
    }
    if (length > answer->max_bytes - answer->n) {
        return IO_WORKER_E_ENDED;
    }
    r = bytes_reserve(answer, (size_t)length);
    if (r != 0) {
        return err_fold(r);
    }
    r = worker_receive(&call, answer->data + answer->n, (size_t)length);
    answer->n += r == 0 ? (size_t)length : 0;
    return r;
}

/* ---- in the child ---- */

/* 0, 1: the other end has gone, or a negative errno. */
static int serve_read(char *p, size_t n)
{
    while (n > 0) {
        ssize_t n_got = recv(WORKER_FD, p, n, 0);

        if (n_got == 0) {
            return 1;
        }
        if (n_got < 0 && errno != EINTR) {
            return err_raise(-errno);
        }
        p += n_got > 0 ? n_got : 0;
        n -= n_got > 0 ? (size_t)n_got : 0;
    }
    return 0;
}

static int serve_write(Span data)
{
    while (data.n > 0) {
        ssize_t n = send(WORKER_FD, data.p, data.n, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR) {
            return err_raise(-errno);
        }
        data.p += n > 0 ? n : 0;
        data.n -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* The answer lies behind its length, so that both are one piece. */
static int serve_answer(const IoWorkerServe *serve, const Bytes *request, Bytes *out)
{
    WorkerLength length = 0;
    int r;

    bytes_clear_keep(out, WORKER_KEEP_BYTES);
    r = bytes_append(out, &length, sizeof(length));
    r = r != 0 ? err_fold(r) : serve->answer(serve->context, bytes_span(request), out);
    if (r != 0) {
        return r;
    }
    length = out->n - sizeof(length);
    memcpy(out->data, &length, sizeof(length));
    return serve_write(bytes_span(out));
}

static int serve_next(const IoWorkerServe *serve, Bytes *request, Bytes *out)
{
    WorkerLength length = 0;
    int r = serve_read((char *)&length, sizeof(length));

    if (r != 0) {
        return r;
    }
    if (length > serve->max_request) {
        return err_raise(-EMSGSIZE);
    }
    bytes_clear_keep(request, WORKER_KEEP_BYTES);
    r = bytes_reserve(request, (size_t)length);
    r = r != 0 ? err_fold(r) : serve_read(request->data, (size_t)length);
    request->n = r == 0 ? (size_t)length : 0;
    return r != 0 ? r : serve_answer(serve, request, out);
}

int io_worker_serve(const IoWorkerServe *serve)
{
    Bytes request;
    Bytes out;
    int r = serve->begin != NULL ? serve->begin(serve->context) : 0;

    bytes_init(&request, serve->max_request);
    bytes_init(&out, serve->max_memory);
    r = r != 0 ? r : worker_confine(serve->max_memory);
    while (r == 0) {
        r = serve_next(serve, &request, &out);
    }
    bytes_deinit(&request);
    bytes_deinit(&out);
    return r > 0 ? 0 : r;
}
