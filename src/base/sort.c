#include "base/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* What is sorted at once, in less than a millisecond. */
#define SORT_RUN ((size_t)4096)

typedef struct Sort {
    size_t n;
    size_t size;
    int (*compare)(const void *, const void *);
    Stop stop;
} Sort;

/* Two runs of `from`, [a, b) and [b, end), into the same places of `to`. False: stopped. */
static bool sort_merge(const Sort *sort, const char *from, char *to, size_t a, size_t b, size_t end)
{
    size_t size = sort->size;
    size_t middle = b;

    for (size_t at = a; at < end; at++) {
        bool is_left =
            b == end || (a < middle && sort->compare(from + a * size, from + b * size) <= 0);
        size_t *source = is_left ? &a : &b;

        if (stop_is_asked_at(sort->stop, at)) {
            return false;
        }
        memcpy(to + at * size, from + *source * size, size);
        (*source)++;
    }
    return true;
}

/* All runs of that length, two by two. */
static bool sort_merge_all(const Sort *sort, const char *from, char *to, size_t run)
{
    for (size_t a = 0; a < sort->n; a += 2 * run) {
        size_t b = sort->n - a > run ? a + run : sort->n;
        size_t end = sort->n - a > 2 * run ? a + 2 * run : sort->n;

        if (!sort_merge(sort, from, to, a, b, end)) {
            return false;
        }
    }
    return true;
}

/* To and fro between the items and the scratch of the same size; nothing is lost when it is
 * stopped, as one of the two is whole. */
static int sort_runs(const Sort *sort, char *items, char *scratch)
{
    char *from = items;
    char *to = scratch;
    bool goes_on = true;

    for (size_t run = SORT_RUN; goes_on && run < sort->n; run *= 2) {
        goes_on = sort_merge_all(sort, from, to, run);
        if (goes_on) {
            char *swap = from;

            from = to;
            to = swap;
        }
    }
    if (from != items) {
        memcpy(items, from, sort->n * sort->size);
    }
    return goes_on ? 0 : err_raise(-ECANCELED);
}

int sort_items(void *items, size_t n, size_t size, int (*compare)(const void *, const void *),
               Stop stop)
{
    const Sort sort = {.n = n, .size = size, .compare = compare, .stop = stop};
    CLEANUP(mem_freep) char *scratch = NULL;

    for (size_t at = 0; at < n; at += SORT_RUN) {
        size_t n_run = n - at < SORT_RUN ? n - at : SORT_RUN;

        if (stop_is_asked(stop)) {
            return err_raise(-ECANCELED);
        }
        qsort((char *)items + at * size, n_run, size, compare);
    }
    if (n <= SORT_RUN) {
        return 0;
    }
    scratch = mem_alloc_array(n, size);
    return scratch == NULL ? err_raise(-ENOMEM) : sort_runs(&sort, items, scratch);
}
