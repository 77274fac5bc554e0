/* Child processes; declared in io/process.h.
 *
 * The group of a child is a job: whatever it starts is in it, and dies when the job's last handle
 * is closed, which the system does for us if we are killed. There is no TERM: a child that shares
 * our console is sent Ctrl-Break, which ends a program that does nothing about it; one that cannot
 * be told anything is not waited for either, and its job is terminated at once.
 */
#include "io/process.h"

#include <errno.h>
#include <io.h>
#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/loop_internal.h"
#include "io/windows/handle_wait.h"
#include "io/windows/process_start.h"

/* The exit status of what we kill: as shells say SIGKILL. Nobody sees it but those who look at the
 * processes that the child has started. */
#define PROCESS_KILLED_STATUS 137

struct IoProcess {
    uv_timer_t killer; /* after Ctrl-Break */
    IoLoop *loop;
    WinWait *wait;
    HANDLE job;
    WinChild child;
    void (*exited)(void *context, IoProcessExit exit);
    void *context;
    IoProcess *next; /* among the orphans */
    IoProcess *prev;
    bool is_running;
    bool is_ending;
    bool is_killed;
    bool is_orphan; /* freed or retired by its owner */
};

typedef struct ProcessWires {
    int ours[3];
    int theirs[3];
} ProcessWires;

/* ---- the job ---- */

static int job_limit(HANDLE job, DWORD flags)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation = {.LimitFlags = flags}};

    return SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits))
               ? 0
               : err_raise(win_error());
}

static int job_new(HANDLE *ret)
{
    HANDLE job = CreateJobObjectW(NULL, NULL);
    int r;

    if (job == NULL) {
        return err_raise(win_error());
    }
    r = job_limit(job, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE);
    if (r != 0) {
        win_close(&job);
        return err_pass(r);
    }
    *ret = job;
    return 0;
}

static bool job_has_members(HANDLE job)
{
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION counts = {.ActiveProcesses = 0};

    return QueryInformationJobObject(job, JobObjectBasicAccountingInformation, &counts,
                                     sizeof(counts), NULL) &&
           counts.ActiveProcesses > 0;
}

static void process_kill(IoProcess *process)
{
    process->is_killed = process->is_killed || process->is_running;
    (void)TerminateJobObject(process->job, PROCESS_KILLED_STATUS);
}

/* True if there was a way to say it. */
static bool process_tell_to_end(const IoProcess *process)
{
    return process->child.has_console &&
           GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, process->child.pid);
}

/* ---- life ---- */

static void process_on_closed(uv_handle_t *handle)
{
    (void)mem_free(handle->data);
}

static void process_close(IoProcess *process)
{
    if (process->is_orphan) {
        if (process->prev != NULL) {
            process->prev->next = process->next;
        } else {
            process->loop->first_orphan = process->next;
        }
        if (process->next != NULL) {
            process->next->prev = process->prev;
        }
        process->is_orphan = false;
    }
    process->wait = win_wait_free(process->wait);
    win_close(&process->child.process);
    win_close(&process->job);
    uv_close((uv_handle_t *)&process->killer, process_on_closed);
}

static void process_make_orphan(IoProcess *process)
{
    IoLoop *loop = process->loop;

    process->is_orphan = true;
    process->next = loop->first_orphan;
    if (process->next != NULL) {
        process->next->prev = process;
    }
    loop->first_orphan = process;
}

/* What a signal would have done elsewhere is told as that signal. */
static IoProcessExit process_explain_exit(const IoProcess *process, DWORD status)
{
    IoProcessExit by_signal = {.status = -1, .signum = SIGABRT};

    if (process->is_killed && status == PROCESS_KILLED_STATUS) {
        by_signal.signum = SIGKILL;
        return by_signal;
    }
    switch (status) {
    case (DWORD)STATUS_CONTROL_C_EXIT:
        by_signal.signum = process->is_ending ? SIGTERM : SIGINT;
        return by_signal;
    case (DWORD)STATUS_ACCESS_VIOLATION:
    case (DWORD)STATUS_STACK_OVERFLOW:
        by_signal.signum = SIGSEGV;
        return by_signal;
    case (DWORD)STATUS_ILLEGAL_INSTRUCTION:
    case (DWORD)STATUS_PRIVILEGED_INSTRUCTION:
        by_signal.signum = SIGILL;
        return by_signal;
    case (DWORD)STATUS_INTEGER_DIVIDE_BY_ZERO:
        by_signal.signum = SIGFPE;
        return by_signal;
    default:
        /* The system's own codes of failure have the two highest bits set. */
        return status >= 0xC0000000u ? by_signal : (IoProcessExit){.status = (int)status};
    }
}

static void process_on_exit(void *context)
{
    IoProcess *process = context;
    DWORD status = 0;

    (void)GetExitCodeProcess(process->child.process, &status);
    process->is_running = false;
    if (process->is_orphan) {
        process_close(process);
        return;
    }
    win_wait_set_background(process->wait, true);
    if (process->is_ending) {
        uv_unref((uv_handle_t *)&process->killer);
        if (!job_has_members(process->job)) {
            (void)uv_timer_stop(&process->killer);
        }
    }
    process->exited(process->context, process_explain_exit(process, status));
}

static void process_on_grace_over(uv_timer_t *timer)
{
    IoProcess *process = timer->data;

    process_kill(process);
    if (process->is_orphan) {
        process_close(process);
    }
}

static void process_start_killer(IoProcess *process, int64_t grace_ms)
{
    (void)uv_timer_start(&process->killer, process_on_grace_over,
                         grace_ms > 0 ? (uint64_t)grace_ms : 0, 0);
}

/* ---- the wires ---- */

static void process_close_wires(int fds[3])
{
    for (int i = 0; i < 3; i++) {
        io_fd_close(fds[i]);
        fds[i] = -1;
    }
}

/* One wire; index 0 flows to the child, the others from it. Our end alone is for overlapped calls:
 * a program does not expect that of its standard input. */
static int process_open_wire(ProcessWires *wires, int index)
{
    int ours = index == 0 ? 1 : 0;
    uv_file fds[2]; /* [0] is read */
    int r = uv_pipe(fds, ours == 0 ? UV_NONBLOCK_PIPE : 0, ours == 1 ? UV_NONBLOCK_PIPE : 0);

    if (r != 0) {
        /* Some of its failures come as Windows has said them. */
        return err_raise(r > 0 ? win_error_of((DWORD)r) : io_uv_result(r));
    }
    wires->ours[index] = fds[ours];
    wires->theirs[index] = fds[1 - ours];
    return 0;
}

static int process_open_wires(ProcessWires *wires, const IoProcessSpec *spec)
{
    int r = process_open_wire(wires, 0);

    if (r == 0) {
        r = process_open_wire(wires, 1);
    }
    if (r == 0 && !spec->inherit_stderr) {
        r = process_open_wire(wires, 2);
    }
    return r;
}

/* ---- the door ---- */

static int process_new(IoProcess **ret, IoLoop *loop,
                       void (*exited)(void *context, IoProcessExit exit), void *context)
{
    IoProcess *process = mem_alloc_array(1, sizeof(*process));
    int r;

    if (process == NULL) {
        return err_raise(-ENOMEM);
    }
    process->loop = loop;
    process->exited = exited;
    process->context = context;
    (void)uv_timer_init(&loop->uv, &process->killer);
    process->killer.data = process;
    r = job_new(&process->job);
    if (r == 0) {
        r = win_wait_new(&process->wait, loop, process_on_exit, process);
    }
    if (r != 0) {
        process_close(process);
        return err_pass(r);
    }
    *ret = process;
    return 0;
}

static int process_start(IoProcess *process, const IoProcessSpec *spec, const ProcessWires *wires,
                         Diag *reterr_diag)
{
    HANDLE theirs[3];
    int r;

    for (int i = 0; i < 3; i++) {
        theirs[i] = wires->theirs[i] < 0 ? NULL : win_handle(wires->theirs[i]);
    }
    r = win_process_start(spec, process->job, theirs, &process->child, reterr_diag);
    if (r != 0) {
        return r;
    }
    process->is_running = true;
    r = win_wait_start(process->wait, process->child.process);
    if (r != 0) {
        process_kill(process);
        process->is_running = false;
        return err_pass(r);
    }
    return 0;
}

int io_process_spawn(IoProcess **ret, IoLoop *loop, const IoProcessSpec *spec,
                     void (*exited)(void *context, IoProcessExit exit), void *context,
                     int *ret_stdin_fd, int *ret_stdout_fd, int *ret_stderr_fd, Diag *reterr_diag)
{
    ProcessWires wires = {{-1, -1, -1}, {-1, -1, -1}};
    IoProcess *process = NULL;
    int r = process_open_wires(&wires, spec);

    if (r == 0) {
        r = process_new(&process, loop, exited, context);
    }
    if (r == 0) {
        r = process_start(process, spec, &wires, reterr_diag);
    }
    process_close_wires(wires.theirs);
    if (r != 0) {
        process_close_wires(wires.ours);
        if (process != NULL) {
            process_close(process);
        }
        return r;
    }
    *ret = process;
    *ret_stdin_fd = wires.ours[0];
    *ret_stdout_fd = wires.ours[1];
    *ret_stderr_fd = wires.ours[2];
    return 0;
}

void io_process_end(IoProcess *process, int64_t grace_ms)
{
    if (!process->is_running || process->is_ending) {
        return;
    }
    process->is_ending = true;
    if (process_tell_to_end(process)) {
        process_start_killer(process, grace_ms);
    } else {
        process_kill(process);
    }
}

IoProcess *io_process_free(IoProcess *process)
{
    if (process == NULL) {
        return NULL;
    }
    if (!process->is_running) {
        if (!process->is_ending) {
            (void)job_limit(process->job, 0); /* what it has left stays */
        }
        process_close(process);
        return NULL;
    }
    (void)uv_timer_stop(&process->killer);
    process_kill(process);
    process_make_orphan(process);
    return NULL;
}

IoProcess *io_process_retire(IoProcess *process, int64_t grace_ms)
{
    if (process == NULL || process->is_running) {
        return io_process_free(process);
    }
    if (!uv_is_active((uv_handle_t *)&process->killer)) {
        if (process->is_ending || !job_has_members(process->job) || !process_tell_to_end(process)) {
            process_close(process); /* which ends what is left */
            return NULL;
        }
        process_start_killer(process, grace_ms);
        uv_unref((uv_handle_t *)&process->killer);
    }
    process_make_orphan(process);
    return NULL;
}

void io_process_abandon_orphans(IoLoop *loop)
{
    while (loop->first_orphan != NULL) {
        process_close(loop->first_orphan);
    }
}

const char *io_process_signal_name(int signum)
{
    switch (signum) {
    case SIGINT:
        return "INT";
    case SIGILL:
        return "ILL";
    case SIGFPE:
        return "FPE";
    case SIGKILL:
        return "KILL";
    case SIGSEGV:
        return "SEGV";
    case SIGTERM:
        return "TERM";
    case SIGABRT:
        return "ABRT";
    default:
        return NULL;
    }
}

int io_process_pid(const IoProcess *process)
{
    return (int)process->child.pid;
}
