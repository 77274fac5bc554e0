/* toolkit/churn/score.h: the two numbers by which files are ranked. Thread: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* min(1, 0.6 commits/max_commits + 0.4 changes/max_changes); a part whose maximum is 0 is 0. */
double churn_score(uint32_t commits, uint32_t max_commits, uint64_t changes, uint64_t max_changes);

/* The place of value among n sorted ones, 0 (the lowest) to 1 (the highest); equal ones share the
 * middle of their places. Of a single one 1. */
double churn_rank(const uint64_t *sorted, size_t n, uint64_t value);

/* Sorts ascending. */
void churn_rank_sort(uint64_t *values, size_t n);

/* The decimal with the fewest digits that is the same number in single precision, 0 to 1. */
double churn_single(double score);
