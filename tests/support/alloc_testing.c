/* Replaces base/alloc.c in tests: counts the calls, keeps a balance, and fails the n-th on request.
 */
#include "support/alloc_testing.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

static _Thread_local AllocTesting state = {.fail_at = ALLOC_TESTING_NEVER};

AllocTesting *alloc_testing(void)
{
    return &state;
}

void alloc_testing_reset(size_t fail_at)
{
    state.n_calls = 0;
    state.fail_at = fail_at;
    state.n_failed = 0;
}

/* True if this call is to fail. Once one has failed all later ones do: memory does not come back.
 */
static bool alloc_testing_refuses(void)
{
    state.n_calls++;
    if (state.n_calls > state.fail_at) {
        state.n_failed++;
        return true;
    }
    return false;
}

/* A block comes, or goes. */
static void alloc_testing_count(const void *p, long by)
{
    if (p != NULL) {
        state.n_live += by;
        state.n_bytes += by * (long)mem_size_of(p);
    }
}

void *mem_alloc(size_t n)
{
    void *p = alloc_testing_refuses() ? NULL : malloc(n == 0 ? 1 : n);

    alloc_testing_count(p, 1);
    return p;
}

void *mem_alloc_array(size_t count, size_t size)
{
    size_t n;
    void *p = NULL;

    /* Checked first: under a sanitizer calloc ends the program where it should return NULL. */
    if (mem_size_mul(count, size, &n) && !alloc_testing_refuses()) {
        p = calloc(1, n == 0 ? 1 : n);
    }

    alloc_testing_count(p, 1);
    return p;
}

void *mem_realloc(void *p, size_t n)
{
    void *fresh;

    if (alloc_testing_refuses()) {
        return NULL;
    }
    alloc_testing_count(p, -1);
    fresh = realloc(p, n == 0 ? 1 : n);
    alloc_testing_count(fresh == NULL ? p : fresh, 1);
    return fresh;
}

void *mem_free(void *p)
{
    alloc_testing_count(p, -1);
    free(p);
    return NULL;
}

/* For who counts bytes, and not for who writes them. */
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
    state.n_trims++;
}
