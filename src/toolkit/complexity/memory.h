/* toolkit/complexity/memory.h: the memory that tree-sitter works in, bounded. Private.
 *
 * tree-sitter cannot be told that there is no memory: its own allocator ends the process. Ours
 * takes everything for one file out of the meter's pool (pool.h), which counts, and which goes on
 * out of a reserve where the heap gives nothing more; both show in the parser's next look at its
 * progress callback, which stops it. Behind the file the whole pool is emptied: no parser, tree or
 * cursor has to be deleted, which would take as long as a third of making them. tree-sitter's
 * functions have no argument for whom they work, so the account of the running call is found
 * through a variable of the thread: the one place that has such a thing. Thread: any; an account
 * belongs to one at a time.
 */
#pragma once

#include <stddef.h>

#include "toolkit/complexity/pool.h"

typedef struct ComplexityMemory {
    ComplexityPool pool;
    size_t max_bytes; /* 0: no limit */
} ComplexityMemory;

/* Makes tree-sitter use the functions here; at every call but the first it does nothing. To be
 * called before tree-sitter allocates anything. */
void complexity_memory_install(void);

/* Between these two the thread's allocations are the account's, and tree-sitter may allocate at
 * all; returns whose they were before. */
ComplexityMemory *complexity_memory_enter(ComplexityMemory *memory);
void complexity_memory_leave(ComplexityMemory *before);

/* Before each file; n: the reserve. 0, -ENOMEM. */
int complexity_memory_begin(ComplexityMemory *memory, size_t n);
/* Whatever was made since then is gone. */
void complexity_memory_end(ComplexityMemory *memory);
void complexity_memory_deinit(ComplexityMemory *memory);

/* 0, or COMPLEXITY_E_TOO_BIG or COMPLEXITY_E_NO_MEMORY: end soon. */
int complexity_memory_check(const ComplexityMemory *memory);
