/* io/process.h: child processes: started without a shell, in a group of their own, always reaped.
 *
 * Ending one means its whole group: TERM, and KILL for what is left after the grace time. A child
 * that was started is never forgotten: freeing an IoProcess that still runs kills its group, and
 * the loop reaps it. Thread: loop.
 *
 * We may be killed ourselves, and then end nothing. A child can be made to die with us
 * (dies_with_thread): on Linux the system kills it at once; what it has started in its group, a
 * program that is setuid, setgid or has capabilities of its own, and elsewhere than on Linux the
 * child itself, are ended by a guard (io/guard.h), by TERM and KILL, as far as it may. What is left
 * is in groups of its own.
 *
 * On Windows the group is a job: nothing leaves it, and it dies with us in any case. There
 * Ctrl-Break stands for TERM, which reaches only what shares our console; what cannot be told to
 * end is killed at once. Batch files are not started: a shell would read the arguments.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "io/confine.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    IO_PROCESS_E_CANNOT_START = 1, /* no such program, no permission…; the Diag says */
};

typedef struct IoProcess IoProcess;

typedef enum IoProcessWire {
    IO_PROCESS_PIPES,  /* what scripts expect: /dev/stdin and /dev/stdout can be opened */
    IO_PROCESS_SOCKETS /* faster from 64 KiB up; what MCP servers are used to from Node. stderr is a
                          pipe all the same */
} IoProcessWire;

typedef struct IoProcessSpec {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH of `environment` */
    const char *const *environment; /* NULL-terminated "NAME=value"; NULL: ours */
    const char *folder;             /* NULL: ours */
    IoProcessWire wire;
    bool inherit_stderr; /* else its stderr comes as a descriptor too */
    /* All that it is to read. On Linux it lies there, with its end, before the program begins: in
     * the pipe if it fits (64 KiB), else in a file without a name; so a program that outlives us
     * cannot take the end of our pipe for the end of its input. Then *ret_stdin_fd is -1; where it
     * is not, and where p is NULL, the caller writes. */
    Span input;
    /* KILL when the thread that started it ends, in whatever way, and the end of its group when the
     * process does: for the thread of a loop that is
     * there as long as the process is. A thread that may end before its children must not ask for
     * it: the system looks at the thread, not at the process. */
    bool dies_with_thread;
    const IoConfine *confine; /* what it may reach; NULL: what we may. Not on Windows */
} IoProcessSpec;

/* How it ended. */
typedef struct IoProcessExit {
    int status; /* exit status; -1 if a signal ended it, or if that is not known: somebody else in
                   this program has reaped it */
    int signum; /* 0 if none did */
} IoProcessExit;

/* Starts a child; borrows spec until return. exited comes once, after the process ended (its output
 * may still be unread in the descriptors). The three descriptors (ours: to its stdin, from its
 * stdout, from its stderr; *ret_stderr_fd is -1 if inherited, *ret_stdin_fd if there is nothing to
 * write) are non-blocking and the caller's. 0,
 * -ENOMEM, another errno, IO_PROCESS_E_CANNOT_START. Gives *ret. */
int io_process_spawn(IoProcess **ret, IoLoop *loop, const IoProcessSpec *spec,
                     void (*exited)(void *context, IoProcessExit exit), void *context,
                     int *ret_stdin_fd, int *ret_stdout_fd, int *ret_stderr_fd, Diag *reterr_diag);

/* TERM to the group now, KILL after grace_ms; exited still comes. Twice does nothing more, nor does
 * it after the child has exited. What is left of the group when the child has exited gets the rest
 * of its time, or until free, and does not keep the loop running. */
void io_process_end(IoProcess *process, int64_t grace_ms);

/* No callback comes any more. What an exited child has left in its group is killed if the child was
 * told to end, and else stays. */
IoProcess *io_process_free(IoProcess *process);

/* As free; but what an exited child has left in its group is ended in order: TERM now, KILL after
 * grace_ms, or when the loop is freed. Nobody waits for it, and it does not keep the loop running.
 * What has moved to a group of its own (a daemon) stays. */
IoProcess *io_process_retire(IoProcess *process, int64_t grace_ms);

/* "TERM" of SIGTERM; NULL if the signal has no name. Thread: any. */
const char *io_process_signal_name(int signum);

int io_process_pid(const IoProcess *process);
