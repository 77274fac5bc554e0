#include "io/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"
#include "io/process_start.h"
#include "io/process_wires.h"

/* The child leads a session of its own, not only a group: so its group is known by its pid before
 * it runs a single instruction of its program, and the terminal's Ctrl-C and hang-up reach us
 * alone, who then end it in order. */
struct IoProcess {
    uv_timer_t killer; /* after TERM */
    IoLoop *loop;
    void (*exited)(void *context, IoProcessExit exit);
    void *context;
    IoProcess *next; /* among the orphans */
    IoProcess *prev;
    IoProcess *next_child; /* among those whose exit was not told yet */
    IoProcess *prev_child;
    IoProcessExit how;
    IoGuardEntry *guarded; /* its group, if it dies with us */
    pid_t pid;
    bool is_child;   /* in that list */
    bool is_awaited; /* keeps the loop running */
    bool is_running; /* not reaped */
    bool is_ending;
    bool is_orphan; /* freed or retired by its owner */
};

/* ---- The children of a loop: one watch on SIGCHLD, which runs while there are some ---- */

static void process_on_child_signal(uv_signal_t *watch, int signum);

static void process_set_awaited(IoProcess *process, bool is_awaited)
{
    IoLoop *loop = process->loop;

    if (process->is_awaited == is_awaited) {
        return;
    }
    process->is_awaited = is_awaited;
    loop->n_awaited = is_awaited ? loop->n_awaited + 1 : loop->n_awaited - 1;
    if (loop->n_awaited > 0) {
        uv_ref((uv_handle_t *)&loop->child_signal);
    } else {
        uv_unref((uv_handle_t *)&loop->child_signal);
    }
}

/* Before it is started: its end may come at once. 0, or a negative errno. */
static int process_link_child(IoProcess *process)
{
    IoLoop *loop = process->loop;

    if (loop->first_child == NULL) {
        int r = uv_signal_start(&loop->child_signal, process_on_child_signal, SIGCHLD);

        if (r != 0) {
            return err_raise(r);
        }
    }
    process->next_child = loop->first_child;
    if (process->next_child != NULL) {
        process->next_child->prev_child = process;
    }
    loop->first_child = process;
    process->is_child = true;
    process_set_awaited(process, true);
    return 0;
}

static void process_unlink_child(IoProcess *process)
{
    IoLoop *loop = process->loop;

    if (!process->is_child) {
        return;
    }
    if (process->prev_child != NULL) {
        process->prev_child->next_child = process->next_child;
    } else {
        loop->first_child = process->next_child;
    }
    if (process->next_child != NULL) {
        process->next_child->prev_child = process->prev_child;
    }
    process->next_child = NULL;
    process->prev_child = NULL;
    process->is_child = false;
    process_set_awaited(process, false);
    if (loop->first_child == NULL) {
        (void)uv_signal_stop(&loop->child_signal);
    }
}

/* True if somebody of the group was there to get it.
 *
 * While the child is not reaped its number is its own. Afterwards the group may have others in it,
 * or be gone and its number given to a stranger; the two can be told apart. As long as a group has
 * a member the system gives its number to no new process, so what is left of ours has no leader: no
 * process has the group's number as its pid. Somebody who got the number anew has it as his pid, is
 * found by it, and left alone. The number cannot change hands between the two calls: numbers are
 * given out in turn, so a free one comes up again only after all the others. */
static bool process_signal_group(const IoProcess *process, int signum)
{
    if (!process->is_running && (kill(process->pid, 0) == 0 || errno != ESRCH)) {
        return false;
    }
    return kill(-process->pid, signum) == 0;
}

/* Of a child that was reaped just now: its number is free if its group has nobody else. */
static void process_guard_rest(IoProcess *process)
{
    if (process->guarded == NULL) {
        return;
    }
    if (process_signal_group(process, 0)) {
        io_guard_set_leaderless(process->guarded);
    } else {
        process->guarded = io_guard_release(process->guarded);
    }
}

/* Reaps it if it has ended. */
static void process_reap(IoProcess *process)
{
    int status = 0;
    pid_t pid;

    do {
        pid = waitpid(process->pid, &status, WNOHANG);
    } while (pid < 0 && errno == EINTR);
    if (pid == 0) {
        return;
    }
    process->is_running = false;
    process_guard_rest(process);
    if (pid < 0) {
        /* Somebody else in this program has reaped it: how it ended is not known. */
        process->how = (IoProcessExit){.status = -1};
    } else if (WIFSIGNALED(status)) {
        process->how = (IoProcessExit){.status = -1, .signum = WTERMSIG(status)};
    } else {
        process->how = (IoProcessExit){.status = WEXITSTATUS(status)};
    }
}

static void process_on_closed(uv_handle_t *handle)
{
    (void)mem_free(handle->data);
}

static void process_close(IoProcess *process)
{
    process_unlink_child(process);
    process->guarded = io_guard_release(process->guarded);
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

static void process_on_exit(IoProcess *process)
{
    if (process->is_orphan) {
        process_close(process);
        return;
    }
    /* The child is reaped. If others of its group are left they keep the number taken, and get the
     * rest of their time; if none is, the number may soon be a stranger's. The loop does not wait
     * for them: they may be dead already, and not reaped by whoever inherited them. */
    if (process->is_ending) {
        uv_unref((uv_handle_t *)&process->killer);
        if (!process_signal_group(process, 0)) {
            (void)uv_timer_stop(&process->killer);
        }
    }
    process->exited(process->context, process->how);
}

/* First all are reaped, then each is told of: whoever is told may free any of the others, so the
 * search begins anew every time. */
static void process_on_child_signal(uv_signal_t *watch, int signum)
{
    IoLoop *loop = watch->data;
    IoProcess *process;

    (void)signum;
    for (process = loop->first_child; process != NULL; process = process->next_child) {
        if (process->is_running) {
            process_reap(process);
        }
    }
    process = loop->first_child;
    while (process != NULL) {
        if (process->is_running) {
            process = process->next_child;
            continue;
        }
        process_unlink_child(process);
        process_on_exit(process);
        process = loop->first_child;
    }
}

static void process_on_grace_over(uv_timer_t *timer)
{
    IoProcess *process = timer->data;

    (void)process_signal_group(process, SIGKILL);
    if (process->is_orphan) {
        process_close(process); /* retired: nothing is left to wait for */
    }
}

static void process_start_killer(IoProcess *process, int64_t grace_ms)
{
    (void)uv_timer_start(&process->killer, process_on_grace_over,
                         grace_ms > 0 ? (uint64_t)grace_ms : 0, 0);
}

/* What could not be started, and why. */
static int process_explain(const IoProcessSpec *spec, int r, Diag *reterr_diag)
{
    struct stat info;

    if (r == -ENOMEM || r == -EMFILE || r == -ENFILE) {
        return err_raise(r);
    }
    if (spec->folder != NULL && (stat(spec->folder, &info) != 0 || !S_ISDIR(info.st_mode))) {
        return diag_set(reterr_diag, IO_PROCESS_E_CANNOT_START,
                        "cannot start %s: its folder %s cannot be entered (%s)", spec->argv[0],
                        spec->folder, uv_strerror(r));
    }
    return diag_set(reterr_diag, IO_PROCESS_E_CANNOT_START, "cannot start %s: %s", spec->argv[0],
                    uv_strerror(r));
}

static IoProcess *process_new(IoLoop *loop, void (*exited)(void *context, IoProcessExit exit),
                              void *context)
{
    IoProcess *process = mem_alloc_array(1, sizeof(*process));

    if (process != NULL) {
        process->loop = loop;
        process->exited = exited;
        process->context = context;
        (void)uv_timer_init(&loop->uv, &process->killer);
        process->killer.data = process;
    }
    return process;
}

int io_process_spawn(IoProcess **ret, IoLoop *loop, const IoProcessSpec *spec,
                     void (*exited)(void *context, IoProcessExit exit), void *context,
                     int *ret_stdin_fd, int *ret_stdout_fd, int *ret_stderr_fd, Diag *reterr_diag)
{
    IoProcessWires wires = {{-1, -1, -1}, {-1, -1, -1}};
    IoProcess *process;
    int r = io_process_open_wires(&wires, spec);

    if (r != 0) {
        io_process_close_wires(wires.ours);
        io_process_close_wires(wires.theirs);
        return err_pass(r);
    }
    process = process_new(loop, exited, context);
    if (process == NULL) {
        io_process_close_wires(wires.ours);
        io_process_close_wires(wires.theirs);
        return err_raise(-ENOMEM);
    }
    r = process_link_child(process);
    if (r == 0) {
        r = io_process_start(spec, wires.theirs, &process->pid, &process->guarded);
    }
    io_process_close_wires(wires.theirs);
    if (r != 0) {
        io_process_close_wires(wires.ours);
        process_close(process);
        return process_explain(spec, r, reterr_diag);
    }
    process->is_running = true;
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
    (void)process_signal_group(process, SIGTERM);
    process_start_killer(process, grace_ms);
}

IoProcess *io_process_free(IoProcess *process)
{
    if (process == NULL) {
        return NULL;
    }
    if (!process->is_running) {
        if (uv_is_active((uv_handle_t *)&process->killer)) {
            (void)process_signal_group(process, SIGKILL);
        }
        process_close(process);
        return NULL;
    }
    /* Killed, but to be reaped: the handle stays until the system reports the end. One that may not
     * be killed (it runs as another user) must not keep the loop running for ever. */
    (void)uv_timer_stop(&process->killer);
    if (!process_signal_group(process, SIGKILL)) {
        process_set_awaited(process, false);
    }
    process_make_orphan(process);
    return NULL;
}

IoProcess *io_process_retire(IoProcess *process, int64_t grace_ms)
{
    if (process == NULL || process->is_running) {
        return io_process_free(process);
    }
    if (!uv_is_active((uv_handle_t *)&process->killer)) {
        /* Told to end before, and its time is over; or nobody is left. */
        if (process->is_ending || !process_signal_group(process, SIGTERM)) {
            process_close(process);
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
        IoProcess *process = loop->first_orphan;

        if (uv_is_active((uv_handle_t *)&process->killer)) {
            (void)process_signal_group(process, SIGKILL);
        }
        process_close(process);
    }
}

const char *io_process_signal_name(int signum)
{
    return sigabbrev_np(signum);
}

int io_process_pid(const IoProcess *process)
{
    return process->pid;
}
