/* Counts the bytes that a program has allocated and not freed; preloaded into it, read by a test
 * while it runs.
 *
 * Resident memory cannot tell a leak from what the allocator keeps for later; this can. The count
 * lies in a page that both share: the descriptor in TW_LIVE_BYTES_FD, mapped before main. glibc
 * only: its own names for the functions that are replaced here. */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

void *__libc_malloc(size_t n);              /* NOLINT(bugprone-reserved-identifier) */
void *__libc_calloc(size_t n, size_t size); /* NOLINT(bugprone-reserved-identifier) */
void *__libc_realloc(void *p, size_t n);    /* NOLINT(bugprone-reserved-identifier) */
void *__libc_memalign(size_t a, size_t n);  /* NOLINT(bugprone-reserved-identifier) */
void __libc_free(void *p);                  /* NOLINT(bugprone-reserved-identifier) */

static atomic_long early;
static atomic_long *live = &early;

static void count(size_t more, size_t less)
{
    atomic_fetch_add_explicit(live, (long)more - (long)less, memory_order_relaxed);
}

static void *counted(void *p)
{
    count(malloc_usable_size(p), 0);
    return p;
}

__attribute__((constructor)) static void share(void)
{
    const char *text = getenv("TW_LIVE_BYTES_FD");
    int fd = text == NULL ? -1 : (int)strtol(text, NULL, 10);
    void *page = MAP_FAILED;

    if (fd >= 0) {
        page = mmap(NULL, sizeof(*live), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (page != MAP_FAILED) {
        live = page;
        atomic_fetch_add(live, atomic_load(&early));
    }
}

void *malloc(size_t n)
{
    return counted(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    return counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t n)
{
    size_t before = malloc_usable_size(p);
    void *now = __libc_realloc(p, n);

    if (now != NULL || n == 0) {
        count(malloc_usable_size(now), before);
    }
    return now;
}

void *memalign(size_t alignment, size_t n)
{
    return counted(__libc_memalign(alignment, n));
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n)
{
    void *block = memalign(alignment, n);

    if (block == NULL) {
        return ENOMEM;
    }
    *p = block;
    return 0;
}

void free(void *p)
{
    count(0, malloc_usable_size(p));
    __libc_free(p);
}
