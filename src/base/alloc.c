#include "base/alloc.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

void *mem_alloc(size_t n)
{
    return malloc(n == 0 ? 1 : n);
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
    return realloc(p, n == 0 ? 1 : n);
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
