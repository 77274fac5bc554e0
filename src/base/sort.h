/* base/sort.h: qsort that can be stopped. Thread: any. */
#pragma once

#include "base/stop.h"

#include <stddef.h>

/* As qsort, for orders in which no two items are the same. 0, -ENOMEM, -ECANCELED: the stop was
 * asked for, and the items are in any order, but all there. */
int sort_items(void *items, size_t n, size_t size, int (*compare)(const void *, const void *),
               Stop stop);
