/* tests/support/guard.h: a buffer whose last byte lies before an unreadable page.
 *
 * One byte read too far is a crash, with any compiler and without a sanitizer. */
#pragma once

#include <stddef.h>

typedef struct GuardBuffer {
    void *map;
    size_t map_size;
    char *p; /* n bytes, ending at the unreadable page */
    size_t n;
} GuardBuffer;

/* Copies n bytes of data (may be NULL when n is 0) into a new guarded buffer. Fails the test if it
 * cannot. */
GuardBuffer guard_copy(const void *data, size_t n);

void guard_free(GuardBuffer *g);
