/* base/alloc.h: the only door to the heap.
 *
 * Tests link another implementation of these functions (tests/support/alloc_testing.c), which
 * counts calls and fails the n-th; production code carries no hook and no global for it.
 * Thread: any.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

/* n bytes, aligned for any type; NULL when there is no memory. n may be 0. Gives: release with
 * mem_free. */
TW_NODISCARD void *mem_alloc(size_t n);

/* As mem_alloc, zeroed, for count objects of size bytes; NULL also when the product overflows. */
TW_NODISCARD void *mem_alloc_array(size_t count, size_t size);

/* Resizes p (may be NULL); on failure returns NULL and p is untouched. */
TW_NODISCARD void *mem_realloc(void *p, size_t n);

/* Releases p (may be NULL). Returns NULL, so that `p = mem_free(p)` leaves nothing dangling. */
void *mem_free(void *p);

/* What p (not NULL) takes of the heap: at least the size that was asked for. */
size_t mem_size_of(const void *p);

/* Gives memory that is free back to the system, where the allocator would keep it: after many
 * objects have gone at once. Takes about a millisecond for 30 MiB. */
void mem_trim(void);

/* a * b into *ret; false, with *ret untouched, when it does not fit. */
TW_NODISCARD TW_INLINE bool mem_size_mul(size_t a, size_t b, size_t *ret)
{
    size_t product;

    if (__builtin_mul_overflow(a, b, &product)) {
        return false;
    }
    *ret = product;
    return true;
}

/* a + b into *ret; false, with *ret untouched, when it does not fit. */
TW_NODISCARD TW_INLINE bool mem_size_add(size_t a, size_t b, size_t *ret)
{
    size_t sum;

    if (__builtin_add_overflow(a, b, &sum)) {
        return false;
    }
    *ret = sum;
    return true;
}

/* For CLEANUP: releases the pointer that p points at. */
TW_INLINE void mem_freep(void *p)
{
    void **slot = (void **)p;

    *slot = mem_free(*slot);
}
