#include "toolkit/churn/score.h"

#include <math.h>
#include <stdlib.h>

/* Digits that any number of single precision needs at most. */
#define SCORE_DIGITS 9

double churn_score(uint32_t commits, uint32_t max_commits, uint64_t changes, uint64_t max_changes)
{
    double by_commits = max_commits == 0 ? 0 : (double)commits / (double)max_commits;
    double by_changes = max_changes == 0 ? 0 : (double)changes / (double)max_changes;
    double score = 0.6 * by_commits + 0.4 * by_changes;

    return score < 1 ? score : 1;
}

/* How many of the sorted values are below (or equal to) value. */
static size_t rank_count(const uint64_t *sorted, size_t n, uint64_t value, int with_equal)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (sorted[middle] < value || (with_equal && sorted[middle] == value)) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return low;
}

double churn_rank(const uint64_t *sorted, size_t n, uint64_t value)
{
    size_t below = rank_count(sorted, n, value, 0);
    size_t to = rank_count(sorted, n, value, 1);

    if (n < 2) {
        return 1;
    }
    return ((double)below + (double)(to - below - 1) / 2) / (double)(n - 1);
}

static int rank_by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x;
    uint64_t b = *(const uint64_t *)y;

    return a < b ? -1 : a > b;
}

void churn_rank_sort(uint64_t *values, size_t n)
{
    if (n > 0) {
        qsort(values, n, sizeof(*values), rank_by_value);
    }
}

double churn_single(double score)
{
    double scale = 1;

    for (unsigned digits = 0; digits <= SCORE_DIGITS; digits++, scale *= 10) {
        double rounded = round(score * scale) / scale;

        if ((float)rounded == (float)score) {
            return rounded;
        }
    }
    return score;
}
