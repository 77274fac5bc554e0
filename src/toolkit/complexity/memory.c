#include "toolkit/complexity/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <tree_sitter/api.h>

#include "base/alloc.h"
#include "base/error.h"
#include "toolkit/complexity/measure.h"

/* In front of each block of the reserve; keeps the alignment of the heap. */
typedef union MemoryHead {
    size_t n;
    max_align_t align;
} MemoryHead;

/* Mutable and not an argument, because tree-sitter's functions have none for it. */
static _Thread_local ComplexityMemory *memory_current;

/* ---- the reserve ---- */

static bool memory_is_reserve(const ComplexityMemory *memory, const void *p)
{
    return memory != NULL && memory->reserve != NULL &&
           (uintptr_t)p - (uintptr_t)memory->reserve < memory->n_reserve;
}

static size_t memory_reserve_size(const void *p)
{
    return ((const MemoryHead *)p - 1)->n;
}

/* tree-sitter goes on with what it gets and would write to NULL: ending here is what its own
 * allocator does. */
static void *memory_take_reserve(ComplexityMemory *memory, size_t n)
{
    size_t whole;
    MemoryHead *head;

    if (memory == NULL || !mem_size_add(n, 2 * sizeof(*head) - 1, &whole)) {
        abort();
    }
    whole -= whole % sizeof(*head);
    if (whole > memory->n_reserve - memory->used) {
        abort();
    }
    head = (MemoryHead *)(void *)(memory->reserve + memory->used);
    head->n = n;
    memory->used += whole;
    memory->has_failed = true;
    return head + 1;
}

/* ---- what tree-sitter calls ---- */

static void *memory_count(ComplexityMemory *memory, void *p)
{
    if (memory != NULL) {
        memory->bytes += mem_size_of(p);
    }
    return p;
}

static void *memory_malloc(size_t n)
{
    ComplexityMemory *memory = memory_current;
    void *p = mem_alloc(n);

    return p != NULL ? memory_count(memory, p) : memory_take_reserve(memory, n);
}

static void *memory_calloc(size_t count, size_t size)
{
    ComplexityMemory *memory = memory_current;
    void *p = mem_alloc_array(count, size);
    size_t n;

    if (p != NULL) {
        return memory_count(memory, p);
    }
    p = memory_take_reserve(memory, mem_size_mul(count, size, &n) ? n : SIZE_MAX);
    memset(p, 0, memory_reserve_size(p));
    return p;
}

static void memory_free(void *p)
{
    ComplexityMemory *memory = memory_current;

    /* What lies in the reserve stays there until all of it is done with. */
    if (p == NULL || memory_is_reserve(memory, p)) {
        return;
    }
    if (memory != NULL) {
        memory->bytes -= mem_size_of(p);
    }
    (void)mem_free(p);
}

/* Into another block, since the old one cannot be made longer where it is. */
static void *memory_move(ComplexityMemory *memory, void *p, size_t n_old, size_t n)
{
    void *fresh = memory_is_reserve(memory, p) ? memory_malloc(n) : memory_take_reserve(memory, n);

    memcpy(fresh, p, n_old < n ? n_old : n);
    memory_free(p);
    return fresh;
}

static void *memory_realloc(void *p, size_t n)
{
    ComplexityMemory *memory = memory_current;
    size_t n_old;
    void *fresh;

    if (p == NULL) {
        return memory_malloc(n);
    }
    if (memory_is_reserve(memory, p)) {
        return memory_move(memory, p, memory_reserve_size(p), n);
    }
    n_old = mem_size_of(p);
    fresh = mem_realloc(p, n);
    if (fresh == NULL) {
        return memory_move(memory, p, n_old, n);
    }
    if (memory != NULL) {
        memory->bytes -= n_old;
    }
    return memory_count(memory, fresh);
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

int complexity_memory_reserve(ComplexityMemory *memory, size_t n)
{
    memory->used = 0;
    memory->has_failed = false;
    if (n != memory->n_reserve) {
        memory->reserve = mem_free(memory->reserve);
        memory->n_reserve = 0;
        memory->reserve = mem_alloc(n);
        if (memory->reserve == NULL) {
            return err_raise(-ENOMEM);
        }
        memory->n_reserve = n;
    }
    return 0;
}

void complexity_memory_deinit(ComplexityMemory *memory)
{
    memory->reserve = mem_free(memory->reserve);
    memory->n_reserve = 0;
}

int complexity_memory_check(const ComplexityMemory *memory)
{
    if (memory->has_failed) {
        return COMPLEXITY_E_NO_MEMORY;
    }
    return memory->max_bytes != 0 && memory->bytes > memory->max_bytes ? COMPLEXITY_E_TOO_BIG : 0;
}
