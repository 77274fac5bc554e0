/* io/loop_internal.h: what the files of this layer share and nobody else sees. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/compiler.h"
#include "io/loop.h"

typedef struct IoProcess IoProcess;
typedef struct IoTurnName IoTurnName;
typedef struct IoWatchdog IoWatchdog;

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
    bool is_unsettled; /* stopped, and the hooks have not been called since */
    bool is_leaving;   /* in the hooks of the end of a run */
    bool stopping;

    /* turns of peers (watchdog.c); the atomic ones are the watchdog's, too */
    IoWatchdog *watchdog; /* NULL: none */
    IoTurnName *first_turn_name;
    unsigned turn_depth;
    _Atomic(const IoTurnName *) turn; /* NULL: nobody's */
    atomic_uint_least32_t turn_number;
    atomic_uint_least32_t turn_over; /* the number of one that has taken too long; 0: none has */
    atomic_bool watchdog_rests;      /* it is to be woken by the next turn */
    atomic_uint_least32_t asked;     /* whether the loop comes round */
    atomic_uint_least32_t answered;
};

/* Joins its thread, if there is one. */
void io_watchdog_stop(IoLoop *loop);

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
