/* queue/params.h: parameters of jobs, compared. Thread: any. */
#pragma once

#include "base/span.h"

#include <stdbool.h>

/* The same values, however they are written: blanks, the order of members, escapes and the spelling
 * of numbers do not count. Texts that are no JSON, or that there is no memory for, are the same
 * only byte by byte. */
bool queue_params_same(Span a, Span b);
