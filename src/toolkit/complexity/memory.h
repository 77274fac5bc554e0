/* toolkit/complexity/memory.h: what tree-sitter takes of the heap, counted and bounded. Private.
 *
 * tree-sitter cannot be told that there is no memory: its own allocator ends the process. Ours
 * counts what one meter holds, and where the heap gives nothing more it goes on out of a reserve
 * that was taken before; both show in the parser's next look at its progress callback, which stops
 * it. Its functions have no argument for whom they work, so the account of the running call is
 * found through a variable of the thread: the one place that has such a thing. Thread: any; an
 * account belongs to one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ComplexityMemory {
    size_t bytes;     /* held now */
    size_t max_bytes; /* 0: no limit */
    char *reserve;
    size_t n_reserve;
    size_t used;     /* of the reserve */
    bool has_failed; /* the heap gave nothing: what is made now lies in the reserve */
} ComplexityMemory;

/* Makes tree-sitter use the functions here; at every call but the first it does nothing. To be
 * called before tree-sitter allocates anything. */
void complexity_memory_install(void);

/* Between these two the thread's allocations are the account's; returns whose they were before.
 * Whatever was allocated for an account is to be freed for it. */
ComplexityMemory *complexity_memory_enter(ComplexityMemory *memory);
void complexity_memory_leave(ComplexityMemory *before);

/* Nothing may be in use of the reserve that there was. 0, -ENOMEM. */
int complexity_memory_reserve(ComplexityMemory *memory, size_t n);
void complexity_memory_deinit(ComplexityMemory *memory);

/* 0, or COMPLEXITY_E_TOO_BIG or COMPLEXITY_E_NO_MEMORY: end soon. */
int complexity_memory_check(const ComplexityMemory *memory);
