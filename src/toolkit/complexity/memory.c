#include "toolkit/complexity/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <tree_sitter/api.h>

#include "base/compiler.h"
#include "base/error.h"
#include "toolkit/complexity/measure.h"

/* What stays for the next file: the trees of most of them fit. */
#define MEMORY_KEPT_BYTES ((size_t)8 * 1024 * 1024)

/* Mutable and not an argument, because tree-sitter's functions have none for it. */
static _Thread_local ComplexityMemory *memory_current;

/* ---- what tree-sitter calls ---- */

/* tree-sitter goes on with what it gets and would write to NULL: ending here is what its own
 * allocator does. */
TW_INLINE void *memory_must(void *p)
{
    if (TW_UNLIKELY(p == NULL)) {
        abort();
    }
    return p;
}

static void *memory_malloc(size_t n)
{
    return memory_must(complexity_pool_alloc(&memory_current->pool, n));
}

static void *memory_calloc(size_t count, size_t size)
{
    return memory_must(complexity_pool_alloc_zeroed(&memory_current->pool, count, size));
}

static void *memory_realloc(void *p, size_t n)
{
    return memory_must(complexity_pool_realloc(&memory_current->pool, p, n));
}

static void memory_free(void *p)
{
    complexity_pool_free(&memory_current->pool, p);
}

/* ---- accounts ---- */

void complexity_memory_install(void)
{
    enum {
        NONE,
        BEGUN,
        DONE
    };
    static atomic_int state = NONE;
    int expected = NONE;

    if (atomic_compare_exchange_strong(&state, &expected, BEGUN)) {
        ts_set_allocator(memory_malloc, memory_calloc, memory_realloc, memory_free);
        atomic_store(&state, DONE);
    }
    /* Four stores of another thread. */
    while (atomic_load(&state) != DONE) {
    }
}

ComplexityMemory *complexity_memory_enter(ComplexityMemory *memory)
{
    ComplexityMemory *before = memory_current;

    memory_current = memory;
    return before;
}

void complexity_memory_leave(ComplexityMemory *before)
{
    memory_current = before;
}

int complexity_memory_begin(ComplexityMemory *memory, size_t n)
{
    return err_pass(complexity_pool_ready(&memory->pool, n));
}

void complexity_memory_end(ComplexityMemory *memory)
{
    /* There is too little of it: others may need what would stay. */
    bool is_scarce = complexity_memory_check(memory) != 0;

    complexity_pool_reset(&memory->pool, is_scarce ? 0 : MEMORY_KEPT_BYTES);
}

void complexity_memory_deinit(ComplexityMemory *memory)
{
    complexity_pool_deinit(&memory->pool);
}

int complexity_memory_check(const ComplexityMemory *memory)
{
    if (memory->pool.is_out) {
        return COMPLEXITY_E_NO_MEMORY;
    }
    return memory->max_bytes != 0 && memory->pool.bytes > memory->max_bytes ? COMPLEXITY_E_TOO_BIG
                                                                            : 0;
}
