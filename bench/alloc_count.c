/* Counts the allocations of a program that it is preloaded into; the driver reads the count while
 * the program runs.
 *
 * The count lies in a page that both share: the descriptor in BENCH_ALLOC_FD, mapped before main.
 * Whatever is allocated before that is counted too, and so is what its children allocate, or
 * another program that takes its place. realloc counts even where it grows in place, free does not
 * count. glibc only: its own names for the functions that are replaced here. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

void *__libc_malloc(size_t n);              /* NOLINT(bugprone-reserved-identifier) */
void *__libc_calloc(size_t n, size_t size); /* NOLINT(bugprone-reserved-identifier) */
void *__libc_realloc(void *p, size_t n);    /* NOLINT(bugprone-reserved-identifier) */
void *__libc_memalign(size_t a, size_t n);  /* NOLINT(bugprone-reserved-identifier) */
void *memalign(size_t alignment, size_t n);

static atomic_ulong early;
static atomic_ulong *counter = &early;

static void count(void)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

__attribute__((constructor)) static void share(void)
{
    const char *text = getenv("BENCH_ALLOC_FD");
    int fd = text == NULL ? -1 : (int)strtol(text, NULL, 10);
    void *page;

    if (fd < 0) {
        return;
    }
    page = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) {
        counter = page;
        atomic_fetch_add(counter, atomic_load(&early));
    }
}

void *malloc(size_t n)
{
    count();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    count();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    count();
    return __libc_realloc(p, n);
}

void *memalign(size_t alignment, size_t n)
{
    count();
    return __libc_memalign(alignment, n);
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
