#include "support/oom_sweep.h"

#include "support/cmocka.h"

#include <errno.h>

#include "support/alloc_testing.h"

/* No scenario comes near this many allocations; one that does is looping. */
#define OOM_SWEEP_MAX 100000

void test_oom_sweep(OomScenarioFn scenario, void *context)
{
    long live_before = alloc_testing()->n_live;

    for (size_t n = 0; n < OOM_SWEEP_MAX; n++) {
        size_t n_failed;
        int r;

        alloc_testing_reset(n);
        r = scenario(context);
        n_failed = alloc_testing()->n_failed;
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_int_equal(alloc_testing()->n_live, live_before);
        if (r == 0) {
            assert_int_equal(n_failed, 0);
            assert_true(n > 0);
            return;
        }
        assert_int_equal(r, -ENOMEM);
    }
    fail_msg("still failing after %d allocations", OOM_SWEEP_MAX);
}
