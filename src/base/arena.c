#include "base/arena.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

struct ArenaBlock {
    ArenaBlock *older;
    size_t n_bytes; /* of data */
    _Alignas(ARENA_ALIGN) char data[];
};

/* A message of a kilobyte and its index fit in the first block; the doubling below reaches a
 * megabyte in eight steps. */
#define ARENA_FIRST_BLOCK 4096

void arena_init(Arena *a, size_t max_bytes)
{
    *a = (Arena){.max_bytes = max_bytes};
}

static void arena_drop_blocks(Arena *a)
{
    ArenaBlock *block = a->block;

    while (block != NULL) {
        ArenaBlock *older = block->older;

        (void)mem_free(block);
        block = older;
    }
    a->block = NULL;
    a->at = NULL;
    a->end = NULL;
    a->n_held = 0;
}

void arena_deinit(Arena *a)
{
    arena_drop_blocks(a);
    *a = ARENA_NULL;
}

/* Opens a block with room for at least n bytes; false if that is not to be had. */
static bool arena_open_block(Arena *a, size_t n)
{
    size_t left = a->max_bytes - a->n_held;
    size_t want = a->n_held < ARENA_FIRST_BLOCK ? ARENA_FIRST_BLOCK : a->n_held;
    ArenaBlock *block;
    size_t total;

    if (n > left) {
        return false;
    }
    if (want < n) {
        want = n;
    }
    if (want > left) {
        want = left;
    }
    if (!mem_size_add(want, sizeof(ArenaBlock), &total)) {
        return false;
    }
    block = mem_alloc(total);
    if (block == NULL) {
        return false;
    }
    block->older = a->block;
    block->n_bytes = want;
    a->block = block;
    a->n_held += want;
    a->at = block->data;
    a->end = block->data + want;
    return true;
}

static bool arena_round_up(size_t n, size_t *ret)
{
    size_t padded;

    if (!mem_size_add(n, ARENA_ALIGN - 1, &padded)) {
        return false;
    }
    *ret = padded & ~(size_t)(ARENA_ALIGN - 1);
    return true;
}

void *arena_alloc(Arena *a, size_t n)
{
    size_t rounded;
    void *p;

    if (!arena_round_up(n == 0 ? 1 : n, &rounded)) {
        return NULL;
    }
    if (rounded > (size_t)(a->end - a->at) && !arena_open_block(a, rounded)) {
        return NULL;
    }
    p = a->at;
    a->at += rounded;
    return p;
}

void *arena_alloc_array(Arena *a, size_t count, size_t size)
{
    size_t n;
    void *p;

    if (!mem_size_mul(count, size, &n)) {
        return NULL;
    }
    p = arena_alloc(a, n);
    if (p != NULL) {
        memset(p, 0, n);
    }
    return p;
}

/* Makes the current block n bytes large (more than it is), wherever that puts it. False, with the
 * block untouched, if that is not to be had. */
static bool arena_stretch_block(Arena *a, size_t n)
{
    size_t extra = n - a->block->n_bytes;
    ArenaBlock *block;
    size_t total;

    if (extra > a->max_bytes - a->n_held || !mem_size_add(n, sizeof(ArenaBlock), &total)) {
        return false;
    }
    block = mem_realloc(a->block, total);
    if (block == NULL) {
        return false;
    }
    block->n_bytes = n;
    a->block = block;
    a->n_held += extra;
    a->end = block->data + n;
    return true;
}

void *arena_grow(Arena *a, void *p, size_t old_n, size_t new_n)
{
    size_t old_rounded;
    size_t new_rounded;
    void *fresh;

    assert(new_n >= old_n);
    if (!arena_round_up(old_n == 0 ? 1 : old_n, &old_rounded) ||
        !arena_round_up(new_n == 0 ? 1 : new_n, &new_rounded)) {
        return NULL;
    }
    if (p != NULL && (char *)p + old_rounded == a->at) {
        if (new_rounded - old_rounded <= (size_t)(a->end - a->at)) {
            a->at += new_rounded - old_rounded;
            return p;
        }
        /* Alone in its block, the block grows: else every step of a large array would leave its
         * last copy behind, and a text of n bytes could need room for twice its index. */
        if (p == a->block->data && arena_stretch_block(a, new_rounded)) {
            a->at = a->block->data + new_rounded;
            return a->block->data;
        }
    }
    fresh = arena_alloc(a, new_n);
    if (fresh != NULL && p != NULL && old_n > 0) {
        memcpy(fresh, p, old_n);
    }
    return fresh;
}

void arena_shrink(Arena *a, void *p, size_t old_n, size_t new_n)
{
    size_t old_rounded;
    size_t new_rounded;

    assert(new_n <= old_n);
    if (arena_round_up(old_n == 0 ? 1 : old_n, &old_rounded) &&
        arena_round_up(new_n == 0 ? 1 : new_n, &new_rounded) && (char *)p + old_rounded == a->at) {
        a->at -= old_rounded - new_rounded;
    }
}

Span arena_copy(Arena *a, Span s)
{
    char *p;
    size_t with_nul;

    if (!mem_size_add(s.n, 1, &with_nul)) {
        return SPAN_NULL;
    }
    p = arena_alloc(a, with_nul);
    if (p == NULL) {
        return SPAN_NULL;
    }
    if (s.n > 0) {
        memcpy(p, s.p, s.n);
    }
    p[s.n] = '\0';
    return span_make(p, s.n);
}

void arena_reset(Arena *a, size_t keep_bytes)
{
    size_t used = a->n_held;

    if (a->block == NULL) {
        return;
    }
    if (a->block->older == NULL && used <= keep_bytes) {
        a->at = a->block->data;
        return;
    }
    /* Several blocks become one of their joint size: the next round of the same kind fits without a
     * single allocation. If that one cannot be had, the arena is merely empty. */
    arena_drop_blocks(a);
    if (used <= keep_bytes) {
        (void)arena_open_block(a, used);
    }
}

int arena_keep_string(Arena *a, const char **s)
{
    if (*s != NULL) {
        *s = arena_copy(a, span_from_str(*s)).p;
        return *s == NULL ? err_raise(-ENOMEM) : 0;
    }
    return 0;
}

int arena_keep_strings(Arena *a, const char *const **list)
{
    const char **copy;
    size_t n = 0;

    if (*list == NULL) {
        return 0;
    }
    while ((*list)[n] != NULL) {
        n++;
    }
    copy = arena_alloc_array(a, n + 1, sizeof(*copy));
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i <= n; i++) {
        copy[i] = (*list)[i];
        if (arena_keep_string(a, &copy[i]) != 0) {
            return err_raise(-ENOMEM);
        }
    }
    *list = copy;
    return 0;
}
