/* tests/support/oom_sweep.h: runs one scenario with the 1st, 2nd, 3rd… allocation failing. */
#pragma once

/* Returns 0 when it succeeded and < 0 when it failed for want of memory; asserts everything else
 * itself and must release all that it took, in either case. */
typedef int (*OomScenarioFn)(void *context);

/* Runs the scenario once for every n until it succeeds; asserts that each failure is -ENOMEM, that
 * nothing leaks, and that at least one run failed (else the scenario allocates nothing and proves
 * nothing). */
void test_oom_sweep(OomScenarioFn scenario, void *context);
