/* io/loop_internal.h: what the files of this layer share and nobody else sees. */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "base/compiler.h"
#include "io/loop.h"

typedef struct IoProcess IoProcess;

struct IoLoop {
    uv_loop_t uv;
    uv_async_t async;     /* wakes the loop for posted tasks; referenced while held */
    uv_prepare_t prepare; /* calls the hooks; runs only while there are some */
    uv_mutex_t mutex;     /* guards the two below */
    IoTask *first_task;
    IoTask *last_task;
    IoBeforeWait *first_hook;
    uv_signal_t child_signal; /* SIGCHLD; runs while there are children (process.c) */
    IoProcess *first_child;   /* whose exit was not told yet */
    unsigned n_awaited;       /* of these, how many keep the loop running */
    IoProcess *first_orphan;  /* freed, but not reaped or not all ended yet (process.c) */
    unsigned n_holds;
    bool in_hooks;
    bool stopping;
};

/* Lets go of the children that could not be killed, and kills what retired ones have left: a loop
 * that ends cannot wait for either. */
void io_process_abandon_orphans(IoLoop *loop);

/* Takes the standard descriptors (0, 1, 2) that are closed. 0, or a negative errno. */
int io_take_standard_descriptors(void);

/* In a child, before exec: undoes io_allow_many_descriptors. */
void io_allow_given_descriptors(void);

/* What a function of libuv returned, as a negative errno: the same number but on Windows, where
 * libuv has numbers of its own. */
#ifdef _WIN32
int io_uv_result(int r);
#else
TW_INLINE int io_uv_result(int r)
{
    return r;
}
#endif
