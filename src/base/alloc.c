#include "base/alloc.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

/* From here on a block has pages of its own, and many of them. */
#define MEM_LARGE_BYTES ((size_t)16 * 1024 * 1024)

/* Of most processors; where it is another, the system does what it can. */
#define MEM_HUGE_PAGE ((uintptr_t)2 * 1024 * 1024)

/* Asks for huge pages, where the system gives them on request: giving 1 GiB back takes it 70 ms in
 * small ones, and one in huge ones. Memory that nobody touches is none in these either. */
static void *mem_with_large_pages(void *p, size_t n)
{
#ifdef MADV_HUGEPAGE
    uintptr_t first;
    uintptr_t last;

    if (p == NULL || n < MEM_LARGE_BYTES) {
        return p;
    }
    first = ((uintptr_t)p + MEM_HUGE_PAGE - 1) / MEM_HUGE_PAGE * MEM_HUGE_PAGE;
    last = ((uintptr_t)p + n) / MEM_HUGE_PAGE * MEM_HUGE_PAGE;
    /* Without them it is memory as well. */
    (void)madvise((char *)p + (first - (uintptr_t)p), last - first, MADV_HUGEPAGE);
#else
    (void)n;
#endif
    return p;
}

void *mem_alloc(size_t n)
{
    return mem_with_large_pages(malloc(n == 0 ? 1 : n), n);
}

void *mem_alloc_array(size_t count, size_t size)
{
    size_t n;

    /* calloc checks this too, but a sanitizer's ends the program where the contract says NULL. */
    if (!mem_size_mul(count, size, &n)) {
        return NULL;
    }
    return calloc(1, n == 0 ? 1 : n);
}

void *mem_realloc(void *p, size_t n)
{
    return mem_with_large_pages(realloc(p, n == 0 ? 1 : n), n);
}

void *mem_free(void *p)
{
    free(p);
    return NULL;
}

size_t mem_size_of(const void *p)
{
#ifdef _WIN32
    return _msize((void *)(uintptr_t)p);
#else
    return malloc_usable_size((void *)(uintptr_t)p);
#endif
}

void mem_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}
