#include "e2e/queue_thread.h"

#include "support/cmocka.h"

#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/futex.h>
#include <linux/ptrace.h>

/* More than the hub's other threads write while the job is enqueued. */
#define LARGE_BYTES ((size_t)1024 * 1024)
#define MAX_THREADS 64

/* ---- what threads write ---- */

typedef struct ThreadWrites {
    pid_t tid;
    unsigned long long n;
} ThreadWrites;

static bool read_writes(pid_t pid, ThreadWrites *thread)
{
    char path[64];
    char line[128];
    bool is_there = false;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/io", (int)pid, (int)thread->tid);
    file = fopen(path, "r");
    while (file != NULL && !is_there && fgets(line, sizeof(line), file) != NULL) {
        is_there = strncmp(line, "wchar: ", 7) == 0;
        thread->n = is_there ? strtoull(line + 7, NULL, 10) : 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return is_there;
}

static size_t read_threads(pid_t pid, ThreadWrites threads[MAX_THREADS])
{
    char path[64];
    size_t n = 0;
    DIR *folder;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; n < MAX_THREADS && (entry = readdir(folder)) != NULL;) {
        threads[n].tid = (pid_t)strtol(entry->d_name, NULL, 10);
        n += threads[n].tid > 0 && threads[n].tid != pid && read_writes(pid, &threads[n]);
    }
    (void)closedir(folder);
    return n;
}

static void enqueue_large(const QueueHub *hub)
{
    static const char before[] = "{\"method\":\"large.job\",\"params\":{\"text\":\"";
    char *body = malloc(sizeof(before) + LARGE_BYTES + 4);
    QueueReply reply;

    assert_non_null(body);
    memcpy(body, before, sizeof(before) - 1);
    memset(body + sizeof(before) - 1, 'x', LARGE_BYTES);
    memcpy(body + sizeof(before) - 1 + LARGE_BYTES, "\"}}", 4);
    queue_ask(hub, &reply, 200, "POST /enqueue", body);
    queue_reply_deinit(&reply);
    free(body);
}

/* ---- its steps ---- */

#define LOOK_US 200

/* Until it stops. False: it has ended, or there is nothing that makes it. */
static bool try_wait(QueueThread *thread, int *ret_status)
{
    pid_t tid = 0;

    for (long waited_us = 0; tid == 0 && waited_us < QUEUE_HANG_MS * 1000L; waited_us += LOOK_US) {
        tid = waitpid(thread->tid, ret_status, __WALL | WNOHANG);
        (void)usleep(tid == 0 ? LOOK_US : 0);
    }
    thread->is_stopped = tid == thread->tid && WIFSTOPPED(*ret_status);
    return thread->is_stopped;
}

static int wait_stopped(QueueThread *thread)
{
    int status = 0;

    if (!try_wait(thread, &status)) {
        thread->tid = 0;
        fail_msg("the hub has ended, or its queue has nothing to do (%d)", status);
    }
    return status;
}

/* It waits for something to do: on a condition, since the wait of a mutex is another call. A wait
 * with an end that was interrupted goes on by a call of its own. */
static bool is_idle(const struct ptrace_syscall_info *info)
{
    return info->op == PTRACE_SYSCALL_INFO_ENTRY &&
           (info->entry.nr == SYS_restart_syscall ||
            (info->entry.nr == SYS_futex &&
             ((int)info->entry.args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET));
}

/* To the beginning or end of its next call of the system. Signals are passed on: it may be the one
 * thread that gets them. */
static struct ptrace_syscall_info go_to_call(QueueThread *thread)
{
    struct ptrace_syscall_info info = {.op = PTRACE_SYSCALL_INFO_NONE};
    intptr_t signal = 0;

    do {
        int status;

        thread->is_stopped = false;
        assert_int_equal(ptrace(PTRACE_SYSCALL, thread->tid, NULL, signal), 0);
        status = wait_stopped(thread);
        signal = status >> 16 == 0 ? WSTOPSIG(status) : 0; /* else an interruption has ended */
        if (signal == (SIGTRAP | 0x80)) {
            signal = 0;
            assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, thread->tid, sizeof(info), &info) > 0);
        }
    } while (info.op == PTRACE_SYSCALL_INFO_NONE);
    return info;
}

/* It holds no lock there, which the loop would wait for. */
static void stop_where_it_waits(QueueThread *thread)
{
    struct ptrace_syscall_info info;

    assert_int_equal(ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL), 0);
    (void)wait_stopped(thread);
    do {
        info = go_to_call(thread);
    } while (!is_idle(&info));
    thread->is_in_step = false;
}

void queue_thread_stop(QueueThread *thread)
{
    assert_int_equal(ptrace(PTRACE_SEIZE, thread->tid, NULL, PTRACE_O_TRACESYSGOOD), 0);
    stop_where_it_waits(thread);
}

/* The calls of the queue's files. The memory's own are left out, where it may hold the heap's lock,
 * and so is the word to the loop (a write), for whose end the loop waits. */
static bool is_step(unsigned long long nr)
{
    static const long steps[] = {SYS_pread64, SYS_pwrite64, SYS_fsync,    SYS_fdatasync,
                                 SYS_fcntl,   SYS_lseek,    SYS_ftruncate};
    bool is_one = false;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        is_one = is_one || (unsigned long long)steps[i] == nr;
    }
    return is_one;
}

bool queue_thread_step(QueueThread *thread)
{
    for (;;) {
        struct ptrace_syscall_info info = go_to_call(thread);

        if (is_idle(&info)) {
            queue_thread_go(thread);
            return false;
        }
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY && is_step(info.entry.nr)) {
            thread->is_in_step = true;
            return true;
        }
        if (info.op == PTRACE_SYSCALL_INFO_EXIT && thread->is_in_step) {
            thread->is_in_step = false;
            return true;
        }
    }
}

void queue_thread_go(QueueThread *thread)
{
    if (thread->is_stopped) {
        thread->is_stopped = false;
        assert_int_equal(ptrace(PTRACE_DETACH, thread->tid, NULL, NULL), 0);
    }
}

/* ---- which one it is ---- */

bool queue_thread_find(QueueThread *thread, const QueueHub *hub)
{
    ThreadWrites threads[MAX_THREADS];
    size_t n;

    *thread = (QueueThread){.tid = 0};
    n = read_threads(hub->pid, threads);
    enqueue_large(hub);
    for (size_t i = 0; i < n && thread->tid == 0; i++) {
        ThreadWrites now = threads[i];

        if (read_writes(hub->pid, &now) && now.n >= threads[i].n + LARGE_BYTES) {
            thread->tid = now.tid;
        }
    }
    if (thread->tid != 0 && ptrace(PTRACE_SEIZE, thread->tid, NULL, PTRACE_O_TRACESYSGOOD) == 0) {
        stop_where_it_waits(thread);
        queue_thread_go(thread);
        return true;
    }
    return false;
}
