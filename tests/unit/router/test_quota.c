#include "support/cmocka.h"

#include "base/limits.h"
#include "router/quota.h"

static void no_limits_mean_the_documented_ones(void **state)
{
    RouterQuota quota;

    (void)state;
    router_quota_init(&quota, NULL, 5);
    assert_int_equal(quota.max_in_flight, LIMIT_CALLS_IN_FLIGHT);
    assert_int_equal(quota.burst, LIMIT_RATE_BURST);
    assert_int_equal(quota.per_s, LIMIT_RATE_PER_S);
    assert_false(quota.rate_off);
}

static void places_are_taken_and_given_back(void **state)
{
    RouterQuota quota;
    int64_t retry_ms = -1;

    (void)state;
    router_quota_init(&quota, &(RouterLimits){.max_in_flight = 2, .rate_burst = 3}, 0);
    assert_int_equal(router_quota_enter(&quota, 0, &retry_ms), 0);
    assert_int_equal(router_quota_enter(&quota, 0, &retry_ms), 0);
    /* Busy takes no token: the third is still there afterwards. */
    assert_int_equal(router_quota_enter(&quota, 0, &retry_ms), ROUTER_QUOTA_E_BUSY);
    router_quota_leave(&quota);
    assert_int_equal(router_quota_enter(&quota, 0, &retry_ms), 0);
    assert_int_equal(retry_ms, -1);
    router_quota_leave(&quota);
    assert_int_equal(router_quota_enter(&quota, 0, &retry_ms), ROUTER_QUOTA_E_RATE);
    assert_int_equal(quota.n_running, 1);
}

static void empty_bucket_says_when_a_token_is_there(void **state)
{
    RouterQuota quota;
    int64_t retry_ms = 0;

    (void)state;
    router_quota_init(
        &quota, &(RouterLimits){.max_in_flight = 100, .rate_burst = 2, .rate_per_s = 3}, 1000);
    assert_int_equal(router_quota_enter(&quota, 1000, &retry_ms), 0);
    assert_int_equal(router_quota_enter(&quota, 1000, &retry_ms), 0);
    assert_int_equal(router_quota_enter(&quota, 1000, &retry_ms), ROUTER_QUOTA_E_RATE);
    assert_int_equal(retry_ms, 334);
    /* Asked often, time is not lost. */
    for (int64_t now = 1001; now < 1334; now++) {
        assert_int_equal(router_quota_enter(&quota, now, &retry_ms), ROUTER_QUOTA_E_RATE);
        assert_int_equal(retry_ms, 1334 - now);
    }
    assert_int_equal(router_quota_enter(&quota, 1334, &retry_ms), 0);
    assert_int_equal(router_quota_enter(&quota, 1334, &retry_ms), ROUTER_QUOTA_E_RATE);
}

static void rate_is_exact_over_a_long_time(void **state)
{
    RouterQuota quota;
    int64_t retry_ms;
    int n = 0;

    (void)state;
    router_quota_init(&quota, &(RouterLimits){.rate_burst = 10, .rate_per_s = 7}, 0);
    for (int64_t now = 0; now <= 100000; now++) {
        if (router_quota_enter(&quota, now, &retry_ms) == 0) {
            router_quota_leave(&quota);
            n++;
        }
    }
    assert_int_equal(n, 10 + 700);
}

static void bucket_never_holds_more_than_its_burst(void **state)
{
    RouterQuota quota;
    int64_t retry_ms;

    (void)state;
    router_quota_init(&quota, &(RouterLimits){.rate_burst = 2, .rate_per_s = 4000000000u}, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(router_quota_enter(&quota, INT64_MAX, &retry_ms), 0);
    }
    assert_int_equal(router_quota_enter(&quota, INT64_MAX, &retry_ms), ROUTER_QUOTA_E_RATE);
    assert_int_equal(retry_ms, 1);
    /* A clock that goes back gives nothing and takes nothing. */
    assert_int_equal(router_quota_enter(&quota, 0, &retry_ms), ROUTER_QUOTA_E_RATE);
}

static void rate_can_be_switched_off(void **state)
{
    RouterQuota quota;
    int64_t retry_ms;

    (void)state;
    router_quota_init(&quota, &(RouterLimits){.rate_off = true, .rate_burst = 1}, 0);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(router_quota_enter(&quota, 0, &retry_ms), 0);
        router_quota_leave(&quota);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_limits_mean_the_documented_ones),
        cmocka_unit_test(places_are_taken_and_given_back),
        cmocka_unit_test(empty_bucket_says_when_a_token_is_there),
        cmocka_unit_test(rate_is_exact_over_a_long_time),
        cmocka_unit_test(bucket_never_holds_more_than_its_burst),
        cmocka_unit_test(rate_can_be_switched_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
