/* base/stop.h: whether a piece of work is still wanted.
 *
 * Work that may take long is given one of these, asks it every few hundred kilobytes or every
 * thousand steps, and ends when it is told to; what it has made by then is thrown away. Thread:
 * any.
 */
#pragma once

#include "base/compiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct Stop {
    bool (*is_asked)(const void *context); /* from then on, always; NULL: never */
    const void *context;                   /* borrowed */
} Stop;

#define STOP_NEVER ((Stop){.is_asked = NULL})

/* How much is done between two questions: some tens of microseconds. */
#define STOP_BYTES ((size_t)64 * 1024)
#define STOP_STEPS ((size_t)1024)

TW_INLINE bool stop_is_asked(Stop stop)
{
    return stop.is_asked != NULL && stop.is_asked(stop.context);
}

/* In a loop, at its i-th step. */
TW_INLINE bool stop_is_asked_at(Stop stop, size_t i)
{
    return i % STOP_STEPS == 0 && stop_is_asked(stop);
}

/* In a text that is read from its beginning: *next is the place to ask at again, 0 at first. */
TW_INLINE bool stop_is_asked_in(Stop stop, size_t at, size_t *next)
{
    if (TW_LIKELY(at < *next)) {
        return false;
    }
    *next = at + STOP_BYTES;
    return stop_is_asked(stop);
}

/* When that is true; borrows it. */
Stop stop_at_flag(const atomic_bool *flag);
