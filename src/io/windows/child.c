/* A program run to its end, as Windows has it; declared in io/child.h.
 *
 * The thread that calls waits for the wires, by overlapped calls, and for the process. The child is
 * in a job (io/windows/process_start.h), which is terminated when it is not to run on. */
#include "io/child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/loop_internal.h"
#include "io/windows/process_start.h"

#define CHILD_TICK_MS       10
#define CHILD_STEP          ((size_t)64 * 1024)
#define CHILD_KILLED_STATUS 137

/* One wire: at most one call is under way on it. */
typedef struct ChildWire {
    int fd; /* ours; -1: closed */
    HANDLE event;
    OVERLAPPED call;
    char *buffer; /* CHILD_STEP bytes, of what is read */
    bool is_busy;
} ChildWire;

typedef struct Child {
    const IoChildSpec *spec;
    Bytes *errors;
    ChildWire wires[3];
    int theirs[3];
    Span input;
    HANDLE job;
    WinChild process;
} Child;

static void child_close_wire(ChildWire *wire)
{
    if (wire->fd < 0) {
        return;
    }
    if (wire->is_busy) {
        DWORD n;

        /* The system has the buffer until the call is over. */
        (void)CancelIoEx(win_handle(wire->fd), &wire->call);
        (void)GetOverlappedResult(win_handle(wire->fd), &wire->call, &n, TRUE);
        wire->is_busy = false;
    }
    io_fd_close(wire->fd);
    wire->fd = -1;
}

static void child_close_theirs(Child *child)
{
    for (int i = 0; i < 3; i++) {
        io_fd_close(child->theirs[i]);
        child->theirs[i] = -1;
    }
}

static void child_deinit(Child *child)
{
    for (int i = 0; i < 3; i++) {
        child_close_wire(&child->wires[i]);
        win_close(&child->wires[i].event);
        (void)mem_free(child->wires[i].buffer);
    }
    child_close_theirs(child);
    win_close(&child->process.process);
    win_close(&child->job);
}

/* ---- beginning ---- */

static int child_open_wire(Child *child, int index)
{
    ChildWire *wire = &child->wires[index];
    int ours = index == 0 ? 1 : 0;
    uv_file fds[2];
    int r = uv_pipe(fds, ours == 0 ? UV_NONBLOCK_PIPE : 0, ours == 1 ? UV_NONBLOCK_PIPE : 0);

    if (r != 0) {
        /* Some of its failures come as Windows has said them. */
        return err_raise(r > 0 ? win_error_of((DWORD)r) : io_uv_result(r));
    }
    wire->fd = fds[ours];
    child->theirs[index] = fds[1 - ours];
    wire->event = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (wire->event == NULL) {
        return err_raise(win_error());
    }
    if (index != 0) {
        wire->buffer = mem_alloc(CHILD_STEP);
        if (wire->buffer == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    return 0;
}

/* Its end of all the wires in a job that dies with us. Without input, or a place for its errors,
 * the pipe is closed at once, or read and forgotten. */
static int child_prepare(Child *child)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
        .BasicLimitInformation = {.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE}};
    int r = 0;

    for (int i = 0; r == 0 && i < 3; i++) {
        r = child_open_wire(child, i);
    }
    if (r != 0) {
        return err_pass(r);
    }
    child->job = CreateJobObjectW(NULL, NULL);
    if (child->job == NULL ||
        !SetInformationJobObject(child->job, JobObjectExtendedLimitInformation, &limits,
                                 sizeof(limits))) {
        return err_raise(win_error());
    }
    return 0;
}

static int child_start(Child *child, Diag *reterr_diag)
{
    IoProcessSpec spec = {
        .argv = child->spec->argv,
        .environment = child->spec->environment,
        .folder = child->spec->folder,
    };
    HANDLE theirs[3];
    int r = child_prepare(child);

    if (r != 0) {
        return err_pass(r);
    }
    for (int i = 0; i < 3; i++) {
        theirs[i] = win_handle(child->theirs[i]);
    }
    r = win_process_start(&spec, child->job, theirs, &child->process, reterr_diag);
    child_close_theirs(child);
    if (r == IO_PROCESS_E_CANNOT_START) {
        return IO_CHILD_E_CANNOT_START;
    }
    return r;
}

/* ---- what passes through the wires ---- */

/* Begins the next call on a wire that has none. The other end may be closed, which is no fault. */
static int child_begin(Child *child, int index)
{
    ChildWire *wire = &child->wires[index];
    HANDLE handle = win_handle(wire->fd);
    DWORD n = child->input.n < CHILD_STEP ? (DWORD)child->input.n : (DWORD)CHILD_STEP;
    BOOL is_done;

    if (index == 0 && child->input.n == 0) {
        child_close_wire(wire);
        return 0;
    }
    wire->call = (OVERLAPPED){.hEvent = wire->event};
    is_done = index == 0 ? WriteFile(handle, child->input.p, n, NULL, &wire->call)
                         : ReadFile(handle, wire->buffer, CHILD_STEP, NULL, &wire->call);
    if (!is_done && GetLastError() != ERROR_IO_PENDING) {
        int r = win_error();

        child_close_wire(wire);
        return r == -EPIPE ? 0 : err_raise(r);
    }
    wire->is_busy = true;
    return 0;
}

/* What a call has brought. 0, a negative errno, IO_CHILD_E_STOPPED. */
static int child_take(Child *child, int index, DWORD n)
{
    const ChildWire *wire = &child->wires[index];
    int r = 0;

    if (index == 0) {
        child->input.p += n;
        child->input.n -= n;
    } else if (index == 1 && n > 0) {
        r = child->spec->output(child->spec->context, wire->buffer, n) == 0 ? 0
                                                                            : IO_CHILD_E_STOPPED;
    } else if (index == 2 && child->errors != NULL) {
        size_t room = child->errors->max_bytes - child->errors->n;

        r = bytes_append(child->errors, wire->buffer, n < room ? n : room);
        r = r == 0 ? 0 : err_fold(r);
    }
    return r;
}

/* Ends the calls that are over and begins the next; *ret_any: one was over. */
static int child_step(Child *child, int index, bool *ret_any)
{
    ChildWire *wire = &child->wires[index];
    DWORD n = 0;
    int r = 0;

    if (wire->fd < 0) {
        return 0;
    }
    if (wire->is_busy) {
        if (!GetOverlappedResult(win_handle(wire->fd), &wire->call, &n, FALSE)) {
            if (GetLastError() == ERROR_IO_INCOMPLETE) {
                return 0;
            }
            r = win_error();
            wire->is_busy = false;
            child_close_wire(wire);
            return r == -EPIPE ? 0 : err_raise(r);
        }
        wire->is_busy = false;
        *ret_any = true;
        r = child_take(child, index, n);
    }
    return r == 0 ? child_begin(child, index) : r;
}

static bool child_is_cancelled(const Child *child)
{
    return child->spec->cancel != NULL && atomic_load(child->spec->cancel);
}

/* Waits for a wire or the process, a tick at the most. True if the process has ended. */
static bool child_wait(const Child *child)
{
    HANDLE handles[4];
    DWORD n = 0;

    handles[n++] = child->process.process;
    for (int i = 0; i < 3; i++) {
        if (child->wires[i].fd >= 0 && child->wires[i].is_busy) {
            handles[n++] = child->wires[i].event;
        }
    }
    (void)WaitForMultipleObjects(n, handles, FALSE, CHILD_TICK_MS);
    return WaitForSingleObject(child->process.process, 0) == WAIT_OBJECT_0;
}

/* Until the child has ended and all that it has printed is read. */
static int child_serve(Child *child)
{
    bool has_ended = false;
    bool has_more = true;
    int r = 0;

    while (r == 0 && (!has_ended || has_more)) {
        if (child_is_cancelled(child)) {
            return IO_CHILD_E_CANCELLED;
        }
        has_more = false;
        /* Once it has ended nobody reads its input. */
        for (int i = has_ended ? 1 : 0; r == 0 && i < 3; i++) {
            r = child_step(child, i, &has_more);
        }
        if (r == 0 && !has_ended) {
            has_ended = child_wait(child);
            has_more = true; /* looked at once more after its end */
        }
    }
    return r;
}

/* ---- its end ---- */

static IoProcessExit child_exit(const Child *child)
{
    DWORD status = 0;

    (void)GetExitCodeProcess(child->process.process, &status);
    /* The system's own codes of failure have the two highest bits set. */
    return status >= 0xC0000000u ? (IoProcessExit){.status = -1, .signum = SIGABRT}
                                 : (IoProcessExit){.status = (int)status};
}

int io_child_run(const IoChildSpec *spec, Bytes *errors, IoProcessExit *ret_exit, Diag *reterr_diag)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION none = {.BasicLimitInformation = {.LimitFlags = 0}};
    Child child = {
        .spec = spec,
        .errors = errors,
        .wires = {{.fd = -1}, {.fd = -1}, {.fd = -1}},
        .theirs = {-1, -1, -1},
        .input = spec->input,
    };
    int r = child_start(&child, reterr_diag);

    if (r == 0) {
        r = child_serve(&child);
        if (r != 0) {
            (void)TerminateJobObject(child.job, CHILD_KILLED_STATUS);
            (void)WaitForSingleObject(child.process.process, INFINITE);
        } else {
            /* What it has left stays. */
            (void)SetInformationJobObject(child.job, JobObjectExtendedLimitInformation, &none,
                                          sizeof(none));
            *ret_exit = child_exit(&child);
        }
    }
    child_deinit(&child);
    return r;
}
