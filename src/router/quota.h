/* router/quota.h: what one session may use: calls in flight, and a token bucket for the rate.
 *
 * The bucket holds up to `burst` tokens and is refilled evenly; a call takes one. Exact in
 * integers: it counts thousandths of a token, and time that was too short to earn one is not lost.
 * Thread: loop.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ROUTER_QUOTA_E_BUSY = 1, /* max_in_flight calls are running */
    ROUTER_QUOTA_E_RATE      /* the bucket is empty */
};

typedef struct RouterLimits {
    uint32_t max_in_flight;      /* 0: LIMIT_CALLS_IN_FLIGHT */
    bool rate_off;               /* no bucket at all */
    uint32_t rate_burst;         /* 0: LIMIT_RATE_BURST */
    uint32_t rate_per_s;         /* 0: LIMIT_RATE_PER_S */
    int64_t call_timeout_ms;     /* 0: LIMIT_CALL_MS */
    int64_t call_timeout_max_ms; /* 0: LIMIT_CALL_MAX_MS; progress cannot move a deadline past it */
} RouterLimits;

typedef struct RouterQuota {
    uint32_t n_running;
    uint32_t max_in_flight;
    bool rate_off;
    uint32_t burst;
    uint32_t per_s;
    int64_t millitokens;
    int64_t filled_ms; /* when millitokens was right */
} RouterQuota;

void router_quota_init(RouterQuota *quota, const RouterLimits *limits, int64_t now_ms);

/* Takes a place and a token. 0; ROUTER_QUOTA_E_BUSY (nothing was taken); ROUTER_QUOTA_E_RATE
 * (nothing was taken; *ret_retry_ms is when a token will be there). */
int router_quota_enter(RouterQuota *quota, int64_t now_ms, int64_t *ret_retry_ms);

/* Gives the place back. */
void router_quota_leave(RouterQuota *quota);
