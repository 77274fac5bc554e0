/* base/clock.h: the time, for the layers that may ask; pure code is handed a now_ms. Thread: any.
 */
#pragma once

#include <stdint.h>

/* Milliseconds since 1970 UTC. May jump when somebody sets the clock: for time stamps only. */
int64_t clock_now_ms(void);
int64_t clock_now_us(void);

/* Since an arbitrary start, never going back: for deadlines and measurements. */
int64_t clock_monotonic_ms(void);
uint64_t clock_monotonic_ns(void);

/* What this thread has worked, in user and system time; where the system does not tell, time. */
uint64_t clock_thread_ns(void);
