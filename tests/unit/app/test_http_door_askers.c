#include "app/http_door_internal.h"

#include "support/cmocka.h"

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static const HashSeed seed = {1, 2};

static HttpAsker *get(HttpAskers *askers, uint64_t id)
{
    HttpAsker *asker = NULL;

    assert_int_equal(http_askers_get(askers, &(HttpGrant){.id = id}, 0, &asker), 0);
    assert_int_equal(asker->grant.id, id);
    return asker;
}

static void the_same_credentials_are_the_same_asker(void **state)
{
    RouterLimits limits = {.max_in_flight = 3};
    HttpAskers askers;
    HttpAsker *a;
    HttpAsker *b;

    (void)state;
    http_askers_init(&askers, &limits, true, seed);
    a = get(&askers, 7);
    assert_int_equal(a->quota.max_in_flight, 3);
    assert_ptr_equal(get(&askers, 7), a);
    b = get(&askers, 8);
    assert_ptr_not_equal(b, a);
    (void)http_askers_unref(&askers, a);
    (void)http_askers_unref(&askers, a);
    http_askers_sweep(&askers);
    /* It is known although nobody is there: who reconnects has no new rate. */
    a->quota.n_running = 2;
    assert_int_equal(get(&askers, 7)->quota.n_running, 2);
    (void)http_askers_unref(&askers, a);
    (void)http_askers_unref(&askers, b);
    http_askers_deinit(&askers);
}

static void without_credentials_each_is_one_of_its_own(void **state)
{
    HttpAskers askers;
    HttpAsker *a;
    HttpAsker *b;

    (void)state;
    http_askers_init(&askers, NULL, false, seed);
    a = get(&askers, 0);
    b = get(&askers, 0);
    assert_ptr_not_equal(a, b);
    (void)http_askers_unref(&askers, http_asker_ref(a));
    (void)http_askers_unref(&askers, a);
    a->quota.n_running = 0; /* it can be read until the end of the turn */
    (void)http_askers_unref(&askers, b);
    assert_null(http_askers_unref(&askers, NULL));
    http_askers_deinit(&askers);
}

static void of_too_many_the_unused_are_forgotten(void **state)
{
    HttpAskers askers;
    HttpAsker *used;
    HttpAsker *more[3];
    long n_live;

    (void)state;
    http_askers_init(&askers, NULL, true, seed);
    used = get(&askers, 1);
    used->quota.n_running = 5;
    for (uint64_t id = 2; id <= LIMIT_HTTP_ASKERS; id++) {
        (void)http_askers_unref(&askers, get(&askers, id));
    }
    n_live = alloc_testing()->n_live;
    for (uint64_t id = LIMIT_HTTP_ASKERS + 1; id <= 2 * LIMIT_HTTP_ASKERS; id++) {
        (void)http_askers_unref(&askers, get(&askers, id));
        http_askers_sweep(&askers);
    }
    assert_int_equal(alloc_testing()->n_live, n_live);
    assert_ptr_equal(get(&askers, 1), used);
    (void)http_askers_unref(&askers, used);
    /* Where all are in use, one more is served without being kept. */
    for (uint64_t id = LIMIT_HTTP_ASKERS + 2; id <= 2 * LIMIT_HTTP_ASKERS; id++) {
        (void)get(&askers, id);
    }
    for (size_t i = 0; i < 3; i++) {
        more[i] = get(&askers, 3);
    }
    assert_ptr_not_equal(more[0], more[1]);
    for (size_t i = 0; i < 3; i++) {
        (void)http_askers_unref(&askers, more[i]);
    }
    for (uint64_t id = LIMIT_HTTP_ASKERS + 2; id <= 2 * LIMIT_HTTP_ASKERS; id++) {
        HttpAsker *asker = get(&askers, id);

        (void)http_askers_unref(&askers, asker);
        (void)http_askers_unref(&askers, asker);
    }
    (void)http_askers_unref(&askers, used);
    http_askers_deinit(&askers);
}

static int scenario(void *context)
{
    HttpAskers askers;
    HttpAsker *asker = NULL;
    int r;

    (void)context;
    http_askers_init(&askers, NULL, true, seed);
    r = http_askers_get(&askers, &(HttpGrant){.id = 1}, 0, &asker);
    (void)http_askers_unref(&askers, asker);
    http_askers_deinit(&askers);
    return r;
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_credentials_are_the_same_asker),
        cmocka_unit_test(without_credentials_each_is_one_of_its_own),
        cmocka_unit_test(of_too_many_the_unused_are_forgotten),
        cmocka_unit_test(want_of_memory_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
