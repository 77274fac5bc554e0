#include "router/quota.h"

#include <assert.h>

#include "base/limits.h"

/* A token, in the unit of the bucket. A rate of one a second earns one unit in a millisecond, so
 * that whole milliseconds at whole rates are exact. */
#define QUOTA_TOKEN 1000

void router_quota_init(RouterQuota *quota, const RouterLimits *limits, int64_t now_ms)
{
    static const RouterLimits defaults = {.max_in_flight = 0};
    const RouterLimits *given = limits == NULL ? &defaults : limits;

    *quota = (RouterQuota){
        .max_in_flight = given->max_in_flight == 0 ? LIMIT_CALLS_IN_FLIGHT : given->max_in_flight,
        .rate_off = given->rate_off,
        .burst = given->rate_burst == 0 ? LIMIT_RATE_BURST : given->rate_burst,
        .per_s = given->rate_per_s == 0 ? LIMIT_RATE_PER_S : given->rate_per_s,
        .filled_ms = now_ms,
    };
    if (quota->max_in_flight > LIMIT_CALLS_IN_FLIGHT_MAX) {
        quota->max_in_flight = LIMIT_CALLS_IN_FLIGHT_MAX;
    }
    quota->millitokens = (int64_t)quota->burst * QUOTA_TOKEN;
}

static void quota_refill(RouterQuota *quota, int64_t now_ms)
{
    int64_t room = (int64_t)quota->burst * QUOTA_TOKEN - quota->millitokens;
    int64_t elapsed_ms = now_ms - quota->filled_ms;

    if (elapsed_ms <= 0) {
        return;
    }
    quota->filled_ms = now_ms;
    /* Compared by division: a session may sleep for years. */
    if (elapsed_ms > room / quota->per_s) {
        quota->millitokens += room;
    } else {
        quota->millitokens += elapsed_ms * quota->per_s;
    }
}

int router_quota_enter(RouterQuota *quota, int64_t now_ms, int64_t *ret_retry_ms)
{
    if (quota->n_running >= quota->max_in_flight) {
        return ROUTER_QUOTA_E_BUSY;
    }
    if (!quota->rate_off) {
        quota_refill(quota, now_ms);
        if (quota->millitokens < QUOTA_TOKEN) {
            int64_t missing = QUOTA_TOKEN - quota->millitokens;

            *ret_retry_ms = (missing + quota->per_s - 1) / quota->per_s;
            return ROUTER_QUOTA_E_RATE;
        }
        quota->millitokens -= QUOTA_TOKEN;
    }
    quota->n_running++;
    return 0;
}

void router_quota_leave(RouterQuota *quota)
{
    assert(quota->n_running > 0);
    quota->n_running--;
}
