/* tests/support/counted_stop.h: a stop that is asked for at the n-th question. */
#pragma once

#include "base/stop.h"

#include <stddef.h>
#include <stdint.h>

typedef struct CountedStop {
    size_t n_questions;
    size_t at; /* the first question that is answered with yes; SIZE_MAX: none is */
    Stop stop; /* for the work */
    struct CountedStop *self;
} CountedStop;

static inline bool counted_stop_is_asked(const void *context)
{
    CountedStop *counted = *(CountedStop *const *)context;

    return counted->n_questions++ >= counted->at;
}

/* Questions are counted from 0. Must stay where it is. */
static inline void counted_stop_init(CountedStop *counted, size_t at)
{
    *counted = (CountedStop){.at = at, .self = counted};
    counted->stop = (Stop){.is_asked = counted_stop_is_asked, .context = &counted->self};
}
