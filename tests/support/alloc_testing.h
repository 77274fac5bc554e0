/* tests/support/alloc_testing.h: control over the allocator that every test is linked with. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ALLOC_TESTING_NEVER SIZE_MAX

typedef struct AllocTesting {
    size_t n_calls;  /* allocations asked for since the last reset */
    size_t fail_at;  /* so many succeed, all later ones fail */
    size_t n_failed; /* refused since the last reset */
    long n_live;     /* blocks not yet freed, over the thread's life */
    long n_bytes;    /* and what they take of the heap */
    long n_trims;    /* calls of mem_trim, over the thread's life */
} AllocTesting;

/* The calling thread's state. */
AllocTesting *alloc_testing(void);

/* Starts counting anew; fail_at = ALLOC_TESTING_NEVER lets everything succeed. */
void alloc_testing_reset(size_t fail_at);
