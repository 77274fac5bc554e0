/* agent/model_retry.h: how long a service asks to be left alone. Performs no I/O. Private to
 * agent/model*. Thread: any. */
#pragma once

#include "base/span.h"

#include <stdint.h>

/* Retry-After: seconds, or a date as HTTP writes them now (Sun, 06 Nov 1994 08:49:37 GMT). date:
 * the answer's Date, so that our clocks need not agree; now_ms (since 1970) where it says none. In
 * milliseconds, 0 for what has passed; < 0: it is neither. */
int64_t model_retry_after_ms(Span value, Span date, int64_t now_ms);
