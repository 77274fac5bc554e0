/* Sides that can only be waited in: a worker per direction does one call at a time.
 *
 *     loop                              worker
 *     gives a task, sets `work`    →    reads or writes, and waits in that
 *     takes the result             ←    sets `is_done`, wakes the loop
 *
 * Closing calls the worker's call off. Should the system not let go of it, the worker is left to
 * itself: it then owns all that it uses, and frees that when it gets so far.
 */
#include "io/windows/side.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"
#include "io/stream.h"

/* Milliseconds to wait for a worker whose call was called off. */
#define SIDE_STOP_MS 200

typedef struct SideWorker {
    uv_async_t *async; /* the side's; used under the lock, while not left */
    CRITICAL_SECTION lock;
    HANDLE file;
    HANDLE work; /* there is a task, or an end */
    uv_thread_t thread;
    char *p; /* the task */
    size_t n;
    int64_t result;
    bool is_pipe;
    bool writes;
    bool is_busy; /* has a task whose result the loop has not taken; loop's */
    bool is_done;
    bool is_stopping;
    bool is_left; /* nobody waits for it any more */
} SideWorker;

typedef struct ThreadSide {
    WinSide side; /* first: the two are cast into each other */
    uv_async_t async;
    SideWorker *reader;
    SideWorker *writer;
    char *input; /* the reader's; what was read */
    size_t at;   /* of it handed over */
    size_t n;
    int64_t end;  /* 0 or a negative errno, if has_end */
    bool has_end; /* nothing is read any more */
    bool is_told; /* of that end */
    bool is_on;   /* reading is wanted */
} ThreadSide;

/* ---- the worker's thread ---- */

static int64_t worker_read(SideWorker *worker)
{
    for (;;) {
        DWORD n = 0;

        if (!ReadFile(worker->file, worker->p, (DWORD)worker->n, &n, NULL)) {
            DWORD code = GetLastError();

            return code == ERROR_BROKEN_PIPE || code == ERROR_HANDLE_EOF ? 0 : win_error_of(code);
        }
        /* From a pipe, nothing may mean that somebody has written nothing; but under Wine it is how
         * the end of a pipe of the host looks. */
        if (n > 0 || !worker->is_pipe || !PeekNamedPipe(worker->file, NULL, 0, NULL, NULL, NULL)) {
            return n;
        }
    }
}

static int64_t worker_write(SideWorker *worker)
{
    size_t at = 0;

    while (at < worker->n) {
        DWORD n = 0;

        if (!WriteFile(worker->file, worker->p + at, (DWORD)(worker->n - at), &n, NULL)) {
            return win_error();
        }
        at += n;
    }
    return 0;
}

static void worker_free(SideWorker *worker)
{
    win_close(&worker->file);
    win_close(&worker->work);
    DeleteCriticalSection(&worker->lock);
    (void)mem_free(worker);
}

static void worker_run(void *context)
{
    SideWorker *worker = context;
    bool is_left = false;

    for (;;) {
        bool is_stopping;

        (void)WaitForSingleObject(worker->work, INFINITE);
        EnterCriticalSection(&worker->lock);
        is_stopping = worker->is_stopping;
        is_left = worker->is_left;
        LeaveCriticalSection(&worker->lock);
        if (is_stopping) {
            break;
        }
        worker->result = worker->writes ? worker_write(worker) : worker_read(worker);
        EnterCriticalSection(&worker->lock);
        worker->is_done = true;
        if (!worker->is_left) {
            (void)uv_async_send(worker->async);
        }
        LeaveCriticalSection(&worker->lock);
    }
    if (is_left) {
        (void)mem_free(worker->p);
        worker_free(worker);
    }
}

/* ---- the loop's thread ---- */

static int worker_new(SideWorker **ret, uv_async_t *async, HANDLE file, bool writes)
{
    SideWorker *worker = mem_alloc_array(1, sizeof(*worker));
    int r = 0;

    if (worker == NULL) {
        return err_raise(-ENOMEM);
    }
    InitializeCriticalSection(&worker->lock);
    worker->async = async;
    worker->writes = writes;
    worker->is_pipe = GetFileType(file) == FILE_TYPE_PIPE;
    worker->work = CreateEventW(NULL, FALSE, FALSE, NULL);
    if (worker->work == NULL || !DuplicateHandle(GetCurrentProcess(), file, GetCurrentProcess(),
                                                 &worker->file, 0, FALSE, DUPLICATE_SAME_ACCESS)) {
        r = win_error();
    } else {
        r = io_uv_result(uv_thread_create(&worker->thread, worker_run, worker));
    }
    if (r != 0) {
        worker_free(worker);
        return err_raise(r);
    }
    *ret = worker;
    return 0;
}

static void worker_give(SideWorker *worker, char *p, size_t n)
{
    worker->p = p;
    worker->n = n;
    worker->is_busy = true;
    (void)SetEvent(worker->work);
}

/* True once for every task that is done. */
static bool worker_take(SideWorker *worker, int64_t *ret_result)
{
    bool is_done;

    if (worker == NULL || !worker->is_busy) {
        return false;
    }
    EnterCriticalSection(&worker->lock);
    is_done = worker->is_done;
    worker->is_done = false;
    LeaveCriticalSection(&worker->lock);
    if (is_done) {
        worker->is_busy = false;
        *ret_result = worker->result;
    }
    return is_done;
}

/* Ends it; *buffer is what it reads into or writes from, and is the worker's if it does not end. */
static void worker_stop(SideWorker *worker, char **buffer)
{
    bool has_ended = false;

    if (worker == NULL) {
        return;
    }
    EnterCriticalSection(&worker->lock);
    worker->is_stopping = true;
    LeaveCriticalSection(&worker->lock);
    (void)SetEvent(worker->work);
    for (int i = 0; i < SIDE_STOP_MS && !has_ended; i++) {
        /* Again and again: it may be between two calls. */
        (void)CancelSynchronousIo(worker->thread);
        has_ended = WaitForSingleObject(worker->thread, 1) == WAIT_OBJECT_0;
    }
    (void)CloseHandle(worker->thread);
    if (has_ended) {
        worker_free(worker);
        return;
    }
    EnterCriticalSection(&worker->lock);
    worker->is_left = true;
    worker->p = *buffer;
    LeaveCriticalSection(&worker->lock);
    *buffer = NULL;
}

/* Keeps the loop running while something can come. */
static void side_update_ref(ThreadSide *thread)
{
    bool is_wanted = thread->side.is_writing || (thread->is_on && !thread->is_told);

    if (is_wanted) {
        uv_ref((uv_handle_t *)&thread->async);
    } else {
        uv_unref((uv_handle_t *)&thread->async);
    }
}

/* Hands over what was read, and has more read. */
static void side_deliver(ThreadSide *thread)
{
    WinSide *side = &thread->side;

    while (!side->is_closed && thread->is_on && thread->at < thread->n) {
        size_t n_left = thread->n - thread->at;
        char *p = NULL;
        size_t n_room = 0;

        side->ops->room(side->context, &p, &n_room);
        if (side->is_closed) {
            return;
        }
        if (n_room == 0) {
            thread->has_end = true;
            thread->end = -ENOBUFS;
            break;
        }
        n_room = n_room < n_left ? n_room : n_left;
        memcpy(p, thread->input + thread->at, n_room);
        thread->at += n_room;
        side->ops->got(side->context, (int64_t)n_room);
    }
    if (side->is_closed || !thread->is_on) {
        return;
    }
    if (!thread->has_end) {
        if (!thread->reader->is_busy) {
            worker_give(thread->reader, thread->input, IO_STREAM_READ_BYTES);
        }
    } else if (!thread->is_told) {
        thread->is_told = true;
        side->ops->got(side->context, thread->end);
    }
}

static void side_on_async(uv_async_t *async)
{
    ThreadSide *thread = async->data;
    WinSide *side = &thread->side;
    int64_t result = 0;

    if (side->is_closed) {
        return;
    }
    if (worker_take(thread->writer, &result)) {
        side->is_writing = false;
        side->ops->written(side->context, (int)result);
    }
    if (!side->is_closed && worker_take(thread->reader, &result)) {
        thread->at = 0;
        thread->n = result > 0 ? (size_t)result : 0;
        thread->has_end = result <= 0;
        thread->end = result;
    }
    if (!side->is_closed && thread->reader != NULL) {
        side_deliver(thread);
    }
    if (!side->is_closed) {
        side_update_ref(thread);
    }
}

static int thread_side_read(WinSide *side, bool is_on)
{
    ThreadSide *thread = (ThreadSide *)side;

    if (thread->is_on == is_on) {
        return 0;
    }
    thread->is_on = is_on;
    side_update_ref(thread);
    if (is_on) {
        (void)uv_async_send(&thread->async); /* not from in here: the owner is calling us */
    }
    return 0;
}

static int thread_side_write(WinSide *side, size_t n)
{
    ThreadSide *thread = (ThreadSide *)side;

    side->is_writing = true;
    worker_give(thread->writer, side->buffer, n);
    side_update_ref(thread);
    return 0;
}

static bool thread_side_has_taken(const WinSide *side)
{
    (void)side;
    return false;
}

static bool thread_side_has_bytes(const WinSide *side)
{
    const ThreadSide *thread = (const ThreadSide *)side;

    return thread->at < thread->n;
}

/* While the worker waits in a read the system answers no question about the handle; but then the
 * read will tell. */
static bool thread_side_has_hung_up(const WinSide *side)
{
    const ThreadSide *thread = (const ThreadSide *)side;

    return thread->reader != NULL && thread->reader->is_pipe && !thread->reader->is_busy &&
           win_pipe_is_closing(thread->reader->file);
}

static void side_on_closed(uv_handle_t *handle)
{
    ThreadSide *thread = handle->data;
    const WinSideOps *ops = thread->side.ops;
    void *context = thread->side.context;

    (void)mem_free(thread->side.buffer);
    (void)mem_free(thread->input);
    (void)mem_free(thread);
    if (ops != NULL) {
        ops->closed(context);
    }
}

static void thread_side_close(WinSide *side)
{
    ThreadSide *thread = (ThreadSide *)side;

    worker_stop(thread->reader, &thread->input);
    worker_stop(thread->writer, &side->buffer);
    thread->reader = NULL;
    thread->writer = NULL;
    uv_close((uv_handle_t *)&thread->async, side_on_closed);
}

static const WinSideKind thread_side_kind = {
    .read = thread_side_read,
    .write = thread_side_write,
    .has_taken = thread_side_has_taken,
    .has_bytes = thread_side_has_bytes,
    .has_hung_up = thread_side_has_hung_up,
    .close = thread_side_close,
};

static int side_start(ThreadSide *thread, HANDLE handle, bool reads, bool writes)
{
    int r = 0;

    if (reads) {
        thread->input = mem_alloc(IO_STREAM_READ_BYTES);
        r = thread->input == NULL ? err_raise(-ENOMEM)
                                  : worker_new(&thread->reader, &thread->async, handle, false);
    }
    if (r == 0 && writes) {
        r = worker_new(&thread->writer, &thread->async, handle, true);
    }
    return r;
}

int win_side_open_thread(WinSide **ret, IoLoop *loop, HANDLE handle, bool reads, bool writes)
{
    ThreadSide *thread = mem_alloc_array(1, sizeof(*thread));
    int r = thread == NULL ? err_raise(-ENOMEM)
                           : io_uv_result(uv_async_init(&loop->uv, &thread->async, side_on_async));

    if (r != 0) {
        win_close(&handle);
        (void)mem_free(thread);
        return err_pass(r);
    }
    thread->side.kind = &thread_side_kind;
    thread->async.data = thread;
    uv_unref((uv_handle_t *)&thread->async);
    r = side_start(thread, handle, reads, writes);
    win_close(&handle); /* each worker has its own */
    if (r != 0) {
        thread->side.is_closed = true;
        thread_side_close(&thread->side);
        return err_pass(r);
    }
    *ret = &thread->side;
    return 0;
}
