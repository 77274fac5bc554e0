/* io/child.h: runs a program to its end and streams what it prints, on the thread that calls.
 *
 * For work threads and commands, which have no loop to give. The child is started without a shell,
 * in a group of its own, and reaped before the call returns. When it has ended its output has: what
 * it has left behind is not waited for, nor ended unless that is asked for. Thread: any.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "io/confine.h"
#include "io/process.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    IO_CHILD_E_CANNOT_START = 1, /* no such program…; Diag */
    IO_CHILD_E_CANCELLED,        /* its group was told to end, and killed 20 ms later */
    IO_CHILD_E_STOPPED,          /* the same, since output returned something else than 0 */
};

typedef struct IoChildSpec {
    const char *const *argv;        /* NULL-terminated; argv[0] is looked up in PATH */
    const char *const *environment; /* NULL: ours; io_environment_with makes another */
    const char *folder;             /* NULL: ours */
    Span input;                     /* to its stdin, then closed; it need not read it all */
    /* Each piece of its stdout; borrows p until return. Other than 0 ends the child. */
    int (*output)(void *context, const char *p, size_t n);
    void *context;
    const atomic_bool *cancel; /* may be NULL; seen within 20 ms */
    const IoConfine *confine;  /* what it may reach (io/confine.h); NULL: what we may */
    bool ends_group; /* what it has left running in its group is killed. Not on Windows, nor is
                        confine */
} IoChildSpec;

/* errors (may be NULL): gets the beginning of its stderr, as far as it may grow; the rest is read
 * and forgotten. 0 (the child has ended, *ret_exit says how), a negative errno, IO_CHILD_E_*. In
 * every case it has gone when this returns, or was never started. */
int io_child_run(const IoChildSpec *spec, Bytes *errors, IoProcessExit *ret_exit,
                 Diag *reterr_diag);
