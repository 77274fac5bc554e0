#include "base/clock.h"

#include <time.h>

#define CLOCK_MS_PER_S  1000
#define CLOCK_US_PER_S  1000000
#define CLOCK_NS_PER_US 1000
#define CLOCK_NS_PER_MS 1000000
#define CLOCK_NS_PER_S  1000000000u

static struct timespec clock_read(clockid_t id)
{
    struct timespec ts = {0};

    /* Cannot fail: both clocks exist on every system that we build for, and ts is ours. */
    (void)clock_gettime(id, &ts);
    return ts;
}

static int64_t clock_to_ms(struct timespec ts)
{
    return (int64_t)ts.tv_sec * CLOCK_MS_PER_S + ts.tv_nsec / CLOCK_NS_PER_MS;
}

int64_t clock_now_ms(void)
{
    return clock_to_ms(clock_read(CLOCK_REALTIME));
}

int64_t clock_now_us(void)
{
    struct timespec ts = clock_read(CLOCK_REALTIME);

    return (int64_t)ts.tv_sec * CLOCK_US_PER_S + ts.tv_nsec / CLOCK_NS_PER_US;
}

int64_t clock_monotonic_ms(void)
{
    return clock_to_ms(clock_read(CLOCK_MONOTONIC));
}

uint64_t clock_monotonic_ns(void)
{
    struct timespec ts = clock_read(CLOCK_MONOTONIC);

    return (uint64_t)ts.tv_sec * CLOCK_NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_thread_ns(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
    struct timespec ts = {0};

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) == 0) {
        return (uint64_t)ts.tv_sec * CLOCK_NS_PER_S + (uint64_t)ts.tv_nsec;
    }
#endif
    return clock_monotonic_ns();
}
